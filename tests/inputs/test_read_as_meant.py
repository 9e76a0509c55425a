"""Data read as its owner means it, by values worked out by hand or by brute force."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics.cli import app
from sampled_metrics.inputs.roles import ROLES, find_roles
from sampled_metrics.ranks import large_files
from tests.helpers.caught_warnings import warns_about
from tests.helpers.results import values


def labelled_ranks(n_users=60, n=30, seed=1):
    """Rank 1 to n for each user, one item of which is relevant; and the ranks of those."""
    rng = np.random.default_rng(seed)
    held = np.ceil(n * rng.random(n_users) ** 3).astype(int)
    rank = np.tile(np.arange(1, n + 1), n_users)
    user = np.repeat(np.arange(n_users), n)
    return pd.DataFrame(
        {"user_id": user, "rank": rank, "label": (rank == held[user]) * 1}
    ), held


def test_rows_of_label_0_are_no_relevant_ranks():
    table = pd.DataFrame(
        {
            "user_id": list("aaabbb"),
            "rank": [1, 2, 3] * 2,
            "label": [0, 1, 0, 0, 0, 1],
        }
    )
    # (1/2 + 1/3) / 2, and nobody at rank 1
    right = pytest.approx([5 / 12, 0.0])
    assert values(sm.evaluate(table, "rr, hit@1", n_items=4)) == right
    for name in ("target", "is_relevant", "clicked"):
        other = table.rename(columns={"label": name})
        assert values(sm.evaluate(other, "rr, hit@1", n_items=4)) == right
    sizes = table.assign(n_candidates=4)
    assert values(sm.evaluate(sizes, "rr, hit@1")) == right
    assert values(sm.evaluate(sm.Ranks.from_ranks(table, 4), "rr, hit@1")) == right
    counts = sizes.assign(n_better=table["rank"] - 1, n_tied=0).drop(columns="rank")
    assert values(sm.evaluate(counts, "rr, hit@1")) == right
    assert (
        values(sm.evaluate(counts.sample(frac=1, random_state=0), "rr, hit@1"))
        == right
    )


def test_many_users_with_labelled_ranks(tmp_path):
    table, held = labelled_ranks()
    right = pytest.approx([np.mean(1 / held), np.mean(held <= 5)])
    assert values(sm.evaluate(table, "rr, hit@5", n_items=30)) == right
    table.to_csv(tmp_path / "ranks.csv", index=False)
    assert (
        values(sm.evaluate(tmp_path / "ranks.csv", "rr, hit@5", n_items=30)) == right
    )


def test_labels_of_ranks_may_be_grades():
    table = pd.DataFrame({"user_id": 1, "rank": [1, 2, 3], "label": [1, 0, 3]})
    # gains 1 at rank 1 and 3 at rank 3; best 3 at rank 1 and 1 at rank 2
    right = (1 + 3 / 2) / (3 + 1 / np.log2(3))
    assert values(sm.evaluate(table, "ndcg@3", n_items=3)) == pytest.approx([right])


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_labelled_ranks_called_predictions_are_told():
    table, held = labelled_ranks()
    predicted = table.rename(columns={"rank": "prediction"})
    found = sm.evaluate(predicted, "rr", complete=True)
    assert any("are they ranks" in note for note in found.notes)
    found = sm.evaluate(table, "rr", n_items=30)  # as the warning says
    assert values(found) == pytest.approx([np.mean(1 / held)])


def test_users_without_a_label_above_0_are_told():
    table = pd.DataFrame(
        {"user_id": [1, 1, 2, 2], "rank": [1, 2] * 2, "label": [0, 1, 0, 0]}
    )
    with warns_about("1 of 2 users"):
        assert values(sm.evaluate(table, "rr", n_items=9)) == [0.5]
    with pytest.raises(sm.InputError, match="label"):
        sm.evaluate(table.assign(label=0), "rr", n_items=9)


def test_lists_with_ranks_and_labels_are_their_own_relevant_items():
    table, held = labelled_ranks()
    table["item_id"] = table["rank"] * 37 % 101
    with pytest.raises(sm.InputError, match="label"):
        sm.evaluate(table, "rr")
    found = sm.evaluate(table, "rr", relevant=table)
    assert values(found) == pytest.approx([np.mean(1 / held)])


def test_rows_of_label_0_are_no_sampled_ranks():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"user_id": np.arange(40), "sampled_rank": rng.integers(1, 12, 40)}
    )
    options = {
        "metrics": "recall@5",
        "estimators": "sampled",
        "n_items": 99,
        "n_negatives": 10,
    }
    right = np.mean(table["sampled_rank"] <= 5)
    others = table.assign(label=0, sampled_rank=1)
    both = pd.concat([table.assign(label=1), others]).sample(frac=1, random_state=1)
    assert values(sm.correct(both, **options)) == pytest.approx([right])


IDS = np.array([[3, 7, 10], [5, 8, 1]])


@pytest.mark.parametrize(
    ("relevant", "metric", "right"),
    [
        (np.array([[7, 9], [8, 5]]), "recall@3", (1 / 2 + 2 / 2) / 2),
        (np.array([[7, 9], [8, -1]]), "recall@3", (1 / 2 + 1) / 2),
        ([[7, 9], [8, None]], "recall@3", (1 / 2 + 1) / 2),
        ([[7, 9], [8, -1]], "recall@3", (1 / 2 + 1) / 2),
        (np.array([[7], [5]]), "hit@3", 1.0),
        (np.array([[7], [5]]), "rr@3", (1 / 2 + 1) / 2),
        (np.array([7, 5]), "rr@3", (1 / 2 + 1) / 2),
        (np.array([["7"], ["5"]]), "rr@3", (1 / 2 + 1) / 2),
    ],
)
def test_arrays_beside_lists_hold_ids(relevant, metric, right, tmp_path):
    scores = np.array([[3.0, 2, 1]] * 2)
    table = pd.DataFrame({"user_id": [0, 1], "item_id": IDS.tolist()}).explode(
        "item_id"
    )
    forms = [sm.Ranks.from_top_k(IDS, relevant), (scores, IDS), (IDS, scores)]
    forms += [sm.Ranks.from_top_k(IDS, relevant, users=["anna", "bert"])]
    forms += [dict(enumerate(IDS.tolist())), table.astype({"item_id": int})]
    for data in forms:
        options = {} if isinstance(data, sm.Ranks) else {"relevant": relevant}
        assert values(sm.evaluate(data, metric, **options)) == pytest.approx([right])
    if isinstance(relevant, np.ndarray) and relevant.dtype.kind == "i":
        np.save(tmp_path / "held.npy", relevant)
        found = sm.evaluate((scores, IDS), metric, relevant=tmp_path / "held.npy")
        assert values(found) == pytest.approx([right])


def test_many_ids_of_neighbours():
    rng = np.random.default_rng(0)
    ids = np.array([rng.permutation(1682)[:10] for _ in range(300)])
    true = np.array(
        [
            rng.permutation(np.r_[row[:3], rng.integers(2000, 9000, 4)])[:5]
            for row in ids
        ]
    )
    right = np.mean(
        [np.isin(own, row).mean() for own, row in zip(true, ids, strict=True)]
    )
    found = sm.evaluate(sm.Ranks.from_top_k(ids, true), "recall@10")
    assert values(found) == pytest.approx([right])
    for one in (true[:, :1], true[:, 0], true[:, 0].tolist()):
        found = sm.evaluate(sm.Ranks.from_top_k(ids, one), "recall@10")
        right = np.mean([own[0] in row for own, row in zip(true, ids, strict=True)])
        assert values(found) == pytest.approx([right])


def test_seen_ids_beside_lists():
    seen = np.array([[3, 2], [8, -1]])
    ranks = sm.Ranks.from_top_k(IDS, np.array([[7], [1]]), seen=seen)
    assert ranks.best_rank.tolist() == [1, 2]


@pytest.mark.parametrize(
    "relevant",
    [
        np.array([[7, 5]]),  # users and ids exchanged
        np.array([[7], [5], [1]]),
        np.array([[7, 0, 0], [5, 0, 0]]),  # filled with an item
        [[7, 0, 0], [5, 0, 0]],
        np.eye(2, 11, dtype=int),  # marks of items
        np.array([[7.0, 9.0], [8.0, 5.0]]),
        np.zeros((2, 2, 2), int),
    ],
)
def test_other_arrays_beside_lists_are_refused(relevant):
    with pytest.raises(sm.InputError, match="csr_array"):
        sm.Ranks.from_top_k(IDS, relevant)


def test_marks_of_items_are_given_as_a_sparse_matrix():
    marks = np.zeros((2, 11), int)
    marks[[0, 0, 1, 1], [7, 9, 8, 5]] = [1, 3, 1, 1]
    for relevant in (csr_array(marks), marks > 0):
        ranks = sm.Ranks.from_top_k(IDS, relevant)
        assert values(sm.evaluate(ranks, "recall@3")) == pytest.approx([0.75])


@pytest.mark.parametrize("users", [["anna", "bert"], [1, 2], [0, 2]])
def test_rows_without_ids_do_not_go_with_users_who_have_some(users):
    lists = dict(zip(users, IDS.tolist(), strict=True))
    for missing in ("refuse", "last"):
        with pytest.raises(sm.InputError, match="relevant has 2 rows"):
            sm.evaluate(lists, "hit@3", relevant=[[7], [5]], missing=missing)
    relevant = dict(zip(users, [[7], [5]], strict=True))
    assert values(sm.evaluate(lists, "rr@3", relevant=relevant)) == [0.75]


def test_texts_by_row():
    ids, relevant = [["a", "b", "c"], ["c", "d", "a"]], [["b"], ["x", "c"]]
    found = sm.evaluate(sm.Ranks.from_top_k(ids, relevant), "mrr@3, recall@3")
    assert values(found) == [0.75, 0.75]
    with pytest.raises(sm.InputError, match="from_top_k"):
        sm.evaluate(ids, "mrr@3", relevant=relevant)


def scores_and_held(n_users=40, n_items=12, n_held=3, seed=3):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n_users, n_items))
    held = np.array(
        [rng.choice(n_items, n_held, replace=False) for _ in range(n_users)]
    )
    np.put_along_axis(scores, held, np.take_along_axis(scores, held, 1) + 1, 1)
    return scores, held


def recall_by_hand(scores, held, k):
    top = np.argsort(-scores, axis=1)[:, :k]
    shares = [np.isin(own, best).mean() for own, best in zip(held, top, strict=True)]
    return pytest.approx([np.mean(shares)])


@pytest.mark.filterwarnings("ignore:.*items seen in training")
def test_one_column_of_held_out_items_beside_scores():
    scores, held = scores_and_held(n_held=1)
    right = recall_by_hand(scores, held, 3)
    vectors = (np.eye(len(scores)), scores.T.copy())
    for relevant in (held, held[:, 0], held.tolist(), held.astype(np.uint8)):
        for data in (scores, vectors, lambda rows: scores[rows]):
            assert values(sm.evaluate(data, "recall@3", relevant=relevant)) == right


@pytest.mark.filterwarnings("ignore:.*items seen in training")
def test_several_columns_beside_scores_are_refused_as_an_array():
    scores, held = scores_and_held()
    with pytest.raises(sm.InputError, match="lists of columns"):
        sm.evaluate(scores, "recall@3", relevant=held)
    some = held.copy()
    some[::2, 2] = -1
    for array in (held, some):
        relevant = [row[row >= 0].tolist() for row in array]
        right = recall_by_hand(scores, relevant, 3)
        assert values(sm.evaluate(scores, "recall@3", relevant=relevant)) == right


@pytest.mark.parametrize("scores", [np.zeros((2, 5)), (np.eye(2), np.eye(5, 2))])
def test_columns_of_a_user_are_different(scores):
    with pytest.raises(sm.InputError, match="twice"):
        sm.evaluate(scores, "hit@1", relevant=[[3, 0, 0], [4, 0, 0]])


def test_lists_that_may_be_columns_or_grades_are_refused():
    scores = [[3.0, 1.0, 2.0]]
    for relevant in ([[0, 1, 2]], [[0, 2, -1]]):
        with pytest.raises(sm.InputError, match="columns or grades"):
            sm.evaluate(scores, "ap", relevant=relevant)
    # as grades: gains 2 at rank 2 and 1 at rank 3
    assert values(sm.evaluate(scores, "ap", relevant=np.array([[0, 1, 2]]))) == [
        pytest.approx((1 / 2 + 2 / 3) / 2)
    ]
    # as columns: items 0 and 2 at ranks 1 and 2
    assert values(sm.evaluate(scores, "ap", relevant={0: [0, 2]})) == [1.0]


def permuted(kind, seed=4):
    """Scores, ids of rows and columns in another order, held-out and seen items by id."""
    scores, held = scores_and_held(n_held=1, seed=seed)
    scores += np.linspace(4, 0, scores.shape[1])  # popularity hides a wrong order
    rng = np.random.default_rng(seed)
    users, items = (rng.permutation(n) for n in scores.shape)
    seen = (held[:, 0] + 5) % scores.shape[1]
    if kind == "text":
        users, items = (
            [f"{name}{n}" for n in ids] for name, ids in (("u", users), ("i", items))
        )
    users, items = np.array(users), np.array(items)
    tables = [
        pd.DataFrame({"user_id": users, "item_id": items[column]}).sample(
            frac=1, random_state=0
        )
        for column in (held[:, 0], seen)
    ]
    allowed = scores.copy()
    allowed[np.arange(len(scores)), seen] = -np.inf
    own = np.take_along_axis(allowed, held, 1)
    right = np.mean((allowed > own).sum(1) < 3)
    return scores, users, items, *tables, right


@pytest.mark.parametrize("kind", ["numbers", "text"])
def test_users_and_items_say_which_ids_tables_hold(kind):
    scores, users, items, held, seen, right = permuted(kind)
    ids = {"users": users, "items": items}
    vectors = (np.eye(len(scores)), scores.T.copy())
    dictionaries = [
        {
            user: [item]
            for user, item in zip(table["user_id"], table["item_id"], strict=True)
        }
        for table in (held, seen)
    ]
    frames = (
        pd.DataFrame(vectors[0], index=users),
        pd.DataFrame(vectors[1], index=items),
    )
    for relevant, taken in ((held, seen), dictionaries):
        ranks = [
            sm.Ranks.from_scores(scores, relevant, seen=taken, **ids),
            sm.Ranks.from_factors(*vectors, relevant, seen=taken, **ids),
            sm.Ranks.from_factors(*frames, relevant, seen=taken),
            sm.Ranks.from_function(
                lambda rows: scores[rows], relevant, seen=taken, **ids
            ),
            sm.rank(scores, taken, relevant, **ids),
            sm.rank(vectors, taken, relevant, **ids),
            sm.rank(lambda rows: scores[rows], taken, relevant, **ids),
        ]
        for each in ranks:
            assert values(sm.evaluate(each, "hit@3")) == pytest.approx([right])
            assert set(each.users) == set(users)
        for data in (frames, pd.DataFrame(scores, index=users, columns=items)):
            found = sm.evaluate(data, "hit@3", relevant=relevant, seen=taken)
            assert values(found) == pytest.approx([right])


def test_ids_given_twice_are_the_same():
    frame = pd.DataFrame(np.eye(2), index=["a", "b"], columns=["x", "y"])
    relevant = {"a": ["x"], "b": ["x"]}
    same = sm.Ranks.from_scores(frame, relevant, users=["a", "b"])
    assert same.best_rank.tolist() == [1, 2]
    with pytest.raises(sm.InputError, match="users differ"):
        sm.Ranks.from_scores(frame, relevant, users=["b", "a"])
    assert sm.Ranks.from_scores(
        frame.to_numpy(), {"b": [0], "a": [0]}, users=["b", "a"]
    ).best_rank.tolist() == [1, 2]


def test_a_column_of_ids_is_no_part_of_a_vector():
    users = pd.DataFrame({"user_id": [7, 8], "x": [1.0, 0.0], "y": [0.0, 1.0]})
    items = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(sm.InputError, match="user_id"):
        sm.Ranks.from_factors(users, items, {7: [0], 8: [1]})
    vectors = users[["x", "y"]]
    ranks = sm.Ranks.from_factors(
        vectors, items, {7: [0], 8: [1]}, users=users["user_id"]
    )
    assert ranks.best_rank.tolist() == [1, 1]


@pytest.mark.filterwarnings("ignore:seen")
def test_ids_from_1_beside_rows_from_0():
    """Users 1 to 12 of whom each has the item of the same number; user 12 has none to test."""
    vectors = np.eye(12), np.eye(13, 12)
    ids = np.arange(1, 12)
    relevant = pd.DataFrame({"user_id": ids, "item_id": ids})
    with warns_about("from 1"):
        sm.evaluate(vectors, "hit@1", relevant=relevant)
    users, items = np.arange(1, 13), np.arange(1, 14)
    ranks = sm.Ranks.from_factors(*vectors, relevant, users=users, items=items)
    assert ranks.best_rank.tolist() == [1] * 11


def test_numbers_of_which_none_is_0_are_noted():
    """Of few rows nothing tells ids from 1 from numbers of rows; the note says what they are."""
    vectors = np.array([[1.0, 0], [0, 1]]), np.array([[1, 0.1], [0.2, 1], [0.5, 0.5]])
    relevant = pd.DataFrame({"user_id": [1], "item_id": [2]})
    found = sm.evaluate(vectors, "hit@1", relevant=relevant)
    assert values(found) == [0.0]  # row 1 has .1, 1, .5
    assert any("numbers of rows" in note for note in found.notes)
    assert "relevant: read as numbers of rows" in str(found)
    ranks = sm.Ranks.from_factors(*vectors, relevant, users=[1, 2], items=[1, 2, 3])
    assert ranks.best_rank.tolist() == [3]  # user 1, the first row, has 1, .2, .5
    for first in ({"user_id": [0]}, {"item_id": [0]}):
        found = sm.evaluate(vectors, "hit@1", relevant=relevant.assign(**first))
        assert found.notes == []


LISTS = pd.DataFrame(
    {
        "user_id": 1,
        "visit": [7, 7, 8, 8],
        "item_id": [10, 11, 20, 10],
        "score": [9.0, 8.0, 2.0, 1.0],
    }
)
HELD = pd.DataFrame({"user_id": 1, "visit": [7, 8], "item_id": [11, 20]})
VISITS = [
    "session_id",
    "impression_id",
    "request_id",
    "visit_id",
    "row_id",
    "SessionId",
]


@pytest.mark.parametrize("name", VISITS)
def test_lists_of_visits_are_not_merged(name, tmp_path):
    lists, held = (table.rename(columns={"visit": name}) for table in (LISTS, HELD))
    lists.to_csv(tmp_path / "lists.csv", index=False)
    ranked = lists.drop(columns="score").assign(rank=[1, 2, 1, 2])
    # two lists, in which the items are at places 2 and 1
    for data in (lists, tmp_path / "lists.csv", ranked):
        found = sm.evaluate(data, "mrr@2, recall@2", relevant=held)
        assert values(found) == [0.75, 1]
        assert (found[0].n_users, found[0].n_visits) == (1, 2)
    lists, ranked, held = (
        table.drop(columns="user_id") for table in (lists, ranked, held)
    )
    for data in (lists, ranked):
        found = sm.evaluate(data, "mrr@2, recall@2", relevant=held)
        assert values(found) == [0.75, 1]
        assert (found[0].n_users, found[0].n_visits) == (2, None)
    dictionary = {7: [11], 8: [20]}
    assert values(sm.evaluate(lists, "mrr@2", relevant=dictionary)) == [0.75]
    with pytest.raises(sm.InputError, match="visit_id"):
        sm.evaluate(lists, "mrr@2", relevant=HELD[["user_id", "item_id"]])


def test_a_visit_of_each_user_is_no_matter():
    lists = LISTS.assign(user_id=LISTS["visit"]).rename(
        columns={"visit": "session_id"}
    )
    held = HELD.assign(user_id=[7, 8]).drop(columns="visit")
    assert values(sm.evaluate(lists, "mrr@2", relevant=held)) == [0.75]
    # and visits of relevant items alone are of one list
    held = held.assign(user_id=8, item_id=[10, 20], session_id=[1, 2])
    assert values(sm.evaluate(lists, "recall@2", relevant=held)) == [1.0]


def several_lists(n_users=20):
    """Two lists of five items for each user, of two days; the first item is relevant."""
    rng = np.random.default_rng(0)
    rows = [
        (user, day, item, 5.5 - 0.7 * place)
        for user in range(n_users)
        for day in ("Mon", "Tue")
        for place, item in enumerate(rng.permutation(50)[:5] + 100 * (day == "Tue"))
    ]
    return pd.DataFrame(rows, columns=["user_id", "day", "item_id", "score"])


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_an_unknown_column_that_tells_lists_apart_is_refused(is_shuffled):
    lists = several_lists()
    held = lists[lists["score"] == 5.5][["user_id", "item_id"]]
    if is_shuffled:
        lists = lists.sample(frac=1, random_state=0)
    with pytest.raises(sm.InputError, match="column day"):
        sm.evaluate(lists, "rr@5", relevant=held)
    one = lists[lists["day"] == "Tue"]
    assert values(sm.evaluate(one, "rr@5", relevant=held[held["item_id"] > 99])) == [
        1.0
    ]
    joined = lists.assign(user_id=lists["user_id"].astype(str) + lists["day"]).drop(
        columns="day"
    )
    by_day = held.assign(
        user_id=held["user_id"].astype(str)
        + np.where(held["item_id"] > 99, "Tue", "Mon")
    )
    assert values(sm.evaluate(joined, "rr@5", relevant=by_day)) == [1.0]


def test_columns_that_tell_no_lists_apart():
    lists = several_lists()
    lists = lists[lists["day"] == "Mon"].drop(columns="day")
    held = lists[lists["score"] == 5.5][["user_id", "item_id"]]
    rng = np.random.default_rng(1)
    others = {
        "genre": rng.choice(["x", "y", "z"], len(lists)),
        "year": rng.integers(1990, 1995, len(lists)),
        "title": [f"t{item}" for item in lists["item_id"]],
        "country": lists["user_id"].astype(str),
        "is_new": rng.random(len(lists)) < 0.5,
    }
    for name, column in others.items():
        found = sm.evaluate(lists.assign(**{name: column}), "rr@5", relevant=held)
        assert values(found) == [1.0]


@pytest.mark.parametrize("name", VISITS)
def test_labelled_pairs_of_visits(name):
    pairs = LISTS.rename(columns={"visit": name}).assign(label=[0, 1, 1, 0])
    assert values(sm.evaluate(pairs, "mrr", complete=True)) == [0.75]
    # two users count their visits alike
    pairs["user_id"], pairs[name] = [1, 1, 2, 2], 1
    assert values(sm.evaluate(pairs, "mrr", complete=True)) == [0.75]


def test_ranks_of_visits():
    table = pd.DataFrame(
        {"user_id": [1, 1, 2], "session_id": [4, 5, 6], "rank": [2, 1, 4]}
    )
    found = sm.evaluate(table, "rr", n_items=9)
    assert values(found) == pytest.approx([(1 / 2 + 1 + 1 / 4) / 3])
    assert (found[0].n_users, found[0].n_visits) == (2, 3)
    table = table.drop(columns="user_id")
    right = pytest.approx([(1 / 2 + 1 + 1 / 4) / 3])
    assert values(sm.evaluate(table, "rr", n_items=9)) == right
    # two items of one visit
    table["session_id"] = [4, 4, 6]
    right = pytest.approx([(1 + 1 / 4) / 2])
    assert values(sm.evaluate(table, "rr", n_items=9)) == right


def test_candidates_of_visits_are_not_merged():
    rows = [
        (u, v, 1000 * u + 100 * v + i, float(i), i == 2)
        for u in (1, 2)
        for v in (1, 2)
        for i in range(6)
    ]
    table = pd.DataFrame(
        rows, columns=["user_id", "session_id", "item_id", "score", "label"]
    )
    # of 5 negatives 3 are above
    options = {"n_items": 99, "estimators": "sampled"}
    assert values(sm.correct(table, "recall@3, recall@4", **options)) == [0, 1]
    held = table[table["label"]][["user_id", "session_id", "item_id"]]
    lists = table.drop(columns="label")
    found = sm.correct(lists, "recall@3, recall@4", relevant=held, **options)
    assert values(found) == [0, 1]
    assert (found[0].n_users, found[0].n_visits) == (2, 4)


RATED = pd.DataFrame(
    {"user_id": [1, 1, 2], "item_id": [10, 20, 30], "rating": [5.0, 3, 4]}
)
PREDICTED = RATED.rename(columns={"rating": "prediction"}).assign(
    prediction=[4.0, 4.5, 4.0]
)
# errors 1, 1.5 and 0
RMSE, MAE = ((1 + 2.25) / 3) ** 0.5, 2.5 / 3


def rated(frame, value):
    by_user = {}
    for user, item, number in frame[["user_id", "item_id", value]].itertuples(
        index=False
    ):
        by_user.setdefault(user, {})[item] = number
    return by_user


@pytest.mark.parametrize(
    ("true", "predicted"),
    [
        (RATED, PREDICTED),
        (RATED, PREDICTED.iloc[::-1]),
        (RATED.iloc[[1, 2, 0]], PREDICTED),
        (RATED.assign(timestamp=[9, 8, 7]), PREDICTED.assign(rating=RATED["rating"])),
        (RATED.astype({"item_id": str}), PREDICTED.astype({"item_id": str})),
        (pa.table(RATED), pa.table(PREDICTED.iloc[::-1])),
        (RATED.set_index(["user_id", "item_id"]), PREDICTED),
        (RATED.to_dict("list"), PREDICTED.to_dict("list")),
        (RATED.to_dict("records"), PREDICTED.to_dict("records")[::-1]),
        (rated(RATED, "rating"), rated(PREDICTED.iloc[::-1], "prediction")),
        (RATED, PREDICTED["prediction"]),
        (RATED["rating"], PREDICTED["prediction"].tolist()),
        (RATED[["rating"]], PREDICTED[["prediction"]]),
        (
            RATED.set_axis(["uid", "iid", "r_ui"], axis=1),
            PREDICTED.set_axis(["uid", "iid", "est"], axis=1).assign(r_ui=0.0),
        ),
        (
            RATED,
            pd.concat(
                [
                    PREDICTED,
                    PREDICTED.assign(item_id=77).iloc[:2].assign(user_id=[3, 4]),
                ]
            ),
        ),
    ],
)
def test_errors_of_tables_of_ratings(true, predicted):
    assert sm.rmse(true, predicted) == pytest.approx(RMSE)
    assert sm.mae(true, predicted) == pytest.approx(MAE)


def test_ratings_without_a_prediction_are_told():
    with warns_about("1 of 3 ratings"):
        assert sm.mae(RATED, PREDICTED.iloc[:2]) == pytest.approx((1 + 1.5) / 2)


@pytest.mark.parametrize("error", [sm.rmse, sm.mae])
@pytest.mark.parametrize(
    ("true", "predicted", "words"),
    [
        (RATED, PREDICTED[["prediction"]], "user_id and item_id in both"),
        (RATED, pd.concat([PREDICTED] * 2), "predicted, row 4: duplicate"),
        (RATED, PREDICTED.assign(user_id=[7, 8, 9]), "in common"),
        (
            RATED.drop(columns=["user_id", "item_id"]).assign(b=1),
            [1, 2, 3],
            "rating, b",
        ),
        (pd.DataFrame(np.eye(2)), pd.DataFrame(np.eye(2)), "columns of numbers"),
        (RATED.assign(rating=[1, None, 2]), PREDICTED, "true, row 2"),
        (
            [*RATED.itertuples(index=False)],
            [*PREDICTED.itertuples(index=False)],
            "tuples",
        ),
        (RATED.to_numpy(), PREDICTED.to_numpy(), "the first two alike"),
        (RATED.to_numpy(), PREDICTED.to_numpy()[::-1], "the first two alike"),
        ({1: 2.0}, {1: 3.0}, "dictionary"),
    ],
)
def test_tables_that_hold_no_ratings(error, true, predicted, words):
    with pytest.raises(sm.InputError, match=words):
        error(true, predicted)


def ranked_lists(n_users=60, k=8, n_items=40, seed=5):
    """Best first lists of users, held-out items, and recall@3 by hand."""
    rng = np.random.default_rng(seed)
    lists = np.array([rng.permutation(n_items)[:k] for _ in range(n_users)])
    held = np.array([row[min(int(rng.exponential(3)), k - 1)] for row in lists])
    held[::3] = n_items + 1
    right = np.mean([own in row[:3] for own, row in zip(held, lists, strict=True)])
    frame = pd.DataFrame(
        {
            "user_id": np.repeat(np.arange(n_users), k),
            "item_id": lists.ravel(),
            "place": np.tile(np.arange(k), n_users),
        }
    )
    frame["strength"] = 1000 - 100 * frame["place"] + rng.integers(0, 50, len(frame))
    return (
        frame,
        pd.DataFrame({"user_id": np.arange(n_users), "item_id": held}),
        right,
    )


UNKNOWN = ["count", "votes", "bm25", "similarity", "distance"]


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize("kind", [int, str, "uint16", "category"])
def test_whole_numbers_beside_shuffled_lists_are_not_dropped(name, kind):
    frame, held, right = ranked_lists()
    lists = frame[["user_id", "item_id"]].assign(**{name: frame["strength"]})
    assert values(sm.evaluate(lists, "hit@3", relevant=held)) == pytest.approx(
        [right]
    )
    lists[name] = lists[name].astype(kind)
    mixed = lists.sample(frac=1, random_state=0)
    with pytest.raises(sm.InputError, match=name):
        sm.evaluate(mixed, "hit@3", relevant=held)
    renamed = mixed.rename(columns={name: "score"}).astype({"score": int})
    assert values(sm.evaluate(renamed, "hit@3", relevant=held)) == pytest.approx(
        [right]
    )
    by_user = mixed.sort_values("user_id")
    with warns_about(name):
        sm.evaluate(by_user, "hit@3", relevant=held)


def test_rows_of_users_that_are_mixed():
    frame, held, right = ranked_lists()
    lists = frame[["user_id", "item_id"]]
    by_place = lists.loc[frame.sort_values("place", kind="stable").index]
    assert values(sm.evaluate(by_place, "hit@3", relevant=held)) == pytest.approx(
        [right]
    )
    with warns_about("mixed"):
        sm.evaluate(lists.sample(frac=1, random_state=0), "hit@3", relevant=held)


def test_an_unknown_column_of_items():
    frame, held, right = ranked_lists()
    lists = frame.assign(rank=frame["place"] + 1)[["user_id", "item_id", "rank"]]
    lists, held = (
        table.rename(columns={"item_id": "thing"}) for table in (lists, held)
    )
    with pytest.raises(sm.InputError, match="user_id, thing, rank"):
        sm.evaluate(
            lists, "hit@3", relevant=held.rename(columns={"thing": "item_id"})
        )
    for options in ({"n_items": 60}, {"n_items": 60, "missing": "refuse"}):
        with pytest.raises(sm.InputError, match="thing"):
            sm.evaluate(lists, "hit@3", **options)
    renamed = [table.rename(columns={"thing": "item_id"}) for table in (lists, held)]
    assert values(
        sm.evaluate(renamed[0], "hit@3", relevant=renamed[1])
    ) == pytest.approx([right])


@pytest.mark.parametrize(
    "name",
    [
        *(
            "docno",
            "asin",
            "parent_asin",
            "video_id",
            "article_id",
            "news_id",
            "track_id",
        ),
        *("song_id", "product_id", "business_id", "doc_id", "movieId", "ItemID"),
    ],
)
@pytest.mark.parametrize("user", ["customer_id", "visitorid", "reviewerID", "qid"])
def test_names_of_users_and_items(name, user):
    frame, held, right = ranked_lists()
    names = {"item_id": name, "user_id": user}
    lists = frame.assign(rank=frame["place"] + 1)[["user_id", "item_id", "rank"]]
    lists, held = (table.rename(columns=names) for table in (lists, held))
    assert values(sm.evaluate(lists, "hit@3", relevant=held)) == pytest.approx(
        [right]
    )
    with pytest.raises(sm.InputError, match="give relevant"):
        sm.evaluate(lists, "hit@3", n_items=60)


def test_two_columns_of_items_are_refused_by_name():
    table = pd.DataFrame(
        {"user_id": [1], "asin": ["a"], "parent_asin": ["b"], "rank": [1]}
    )
    with pytest.raises(sm.InputError, match="asin and parent_asin"):
        sm.evaluate(table, "hit@1", relevant={1: ["a"]})


def test_all_places_are_relevant():
    table = pd.DataFrame(
        {"user_id": np.repeat(np.arange(12), 3), "rank": [1, 2, 3] * 12}
    )
    with warns_about("1, 2, 3"):
        assert values(sm.evaluate(table, "recall@3", n_items=60)) == [1.0]


@pytest.mark.filterwarnings("ignore:.*from 1")
@pytest.mark.parametrize("name", ["relevant", "seen"])
@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"user_id": [1], "item_id": [None]}),
        pd.DataFrame({"user_id": [1, 1], "item_id": [1, 0], "relevance": [1, None]}),
        pd.DataFrame({"user": [1], "thing": [5]}),
        pd.DataFrame({"user_id": [], "item_id": []}),
        pd.DataFrame({"user_id": [1], "item_id": [1], "label": ["maybe"]}),
    ],
)
def test_errors_about_relevant_and_seen_name_these(name, table):
    for data, held in (({1: [1, 0]}, {1: [1]}), (np.eye(2), [0, 1])):
        given = {"relevant": held} | {name: table}
        for function, argument in (
            (sm.evaluate, data),
            (sm.compare, {"a": data, "b": data}),
        ):
            with pytest.raises(sm.InputError) as caught:
                function(argument, "hit@1", **given)
            assert name in str(caught.value)
            assert "data" not in str(caught.value)


def test_duplicates_are_those_of_relevant():
    twice = pd.DataFrame({"user_id": [1, 1, 1], "item_id": [1, 2, 1]})
    with pytest.raises(sm.InputError, match=r"^relevant, row 3: duplicate of row 1"):
        sm.evaluate({1: [1, 2, 3]}, "ap@3", relevant=twice)
    with pytest.raises(
        sm.InputError, match=r"^relevant, row 1, column user_id: found 7"
    ):
        sm.evaluate(np.eye(2), "hit@1", relevant=twice.assign(user_id=7))


def test_columns_that_are_not_read_are_noted(tmp_path):
    frame, held, right = ranked_lists()
    lists = frame.assign(rank=frame["place"] + 1, title="t").drop(
        columns=["place", "strength"]
    )
    held["day"] = 3
    path = tmp_path / "lists.csv"
    lists.to_csv(path)  # whose first column is the index, without a name
    for data, name, of in ((lists, "data", ""), (path, path, f"{path}, ")):
        found = sm.evaluate(data, "hit@3", relevant=held)
        assert values(found) == pytest.approx([right])
        assert found.notes == [
            f"{name}: not read: title",
            f"{of}relevant: not read: day",
        ]
        assert "title" in str(found)
        assert "question" not in str(found)
    compared = sm.compare(
        {"a": lists, "b": lists.assign(x=1, rank=9 - lists["rank"])},
        "hit@3",
        relevant=held,
    )
    assert {"a, data: not read: title", "b, data: not read: title, x"} <= {
        *compared.notes
    }
    for named in (lists.drop(columns="title"), lists[["user_id", "item_id"]]):
        found = sm.evaluate(named, "hit@3", relevant=held[["user_id", "item_id"]])
        assert found.notes == []


def test_unread_columns_of_every_kind_of_table():
    ranks = pd.DataFrame({"user_id": [1, 2], "rank": [1, 4], "title": ["a", "b"]})
    found = sm.evaluate(ranks, "rr", n_items=9)
    assert found.notes == ["data: not read: title"]
    counts = ranks.assign(n_candidates=9, n_better=[0, 3], n_tied=0)
    assert sm.evaluate(counts, "rr").notes == ["data: not read: rank, title"]
    pairs = pd.DataFrame(
        {"user_id": 1, "score": [2.0, 1.0], "label": [1, 0], "day": 5}
    )
    assert sm.evaluate(pairs, "rr", complete=True).notes == ["data: not read: day"]
    sampled = pd.DataFrame({"user_id": [1, 2], "sampled_rank": [1, 2], "n": 4})
    found = sm.correct(sampled, "hr@1", "sampled", n_items=90, n_negatives=5)
    assert found.notes == ["data: not read: n"]
    lists = pd.DataFrame(
        {"user_id": 1, "item_id": [5, 6], "score": [2.0, 1.5], "label": [0, 1]}
    )
    found = sm.evaluate(lists, "rr@2", relevant=lists)
    assert found.notes == ["data: not read: label", "relevant: not read: score"]


@pytest.mark.filterwarnings("ignore:.*the largest rank is")
@pytest.mark.parametrize("kind", ["ranks", "counts"])
def test_unread_columns_of_a_file_that_is_read_in_parts(tmp_path, monkeypatch, kind):
    rank = np.arange(200) % 90 + 1
    ranks = pd.DataFrame({"user_id": np.arange(200), "rank": rank, "title": "t"})
    if kind == "counts":
        ranks = ranks.assign(n_candidates=97, n_better=rank - 1, n_tied=0)
    path = tmp_path / "ranks.parquet"
    ranks.to_parquet(path)
    whole = sm.evaluate(path, "rr", n_items=97)
    monkeypatch.setattr(large_files, "LARGE_FILE_ROWS", 100)
    monkeypatch.setattr(large_files, "ROWS_AT_A_TIME", 70)
    in_parts = sm.evaluate(path, "rr", n_items=97)
    unread = {"ranks": "title", "counts": "rank, title"}[kind]
    for found in (whole, in_parts):
        assert f"{path}: not read: {unread}" in found.notes
        assert values(found) == pytest.approx([np.mean(1 / rank)])


def test_the_command_prints_all_names(capsys):
    app(["columns", "--format", "json"], standalone_mode=False)
    rows = {
        row["column"]: row["names"] for row in json.loads(capsys.readouterr().out)
    }
    assert rows.keys() == ROLES.keys()
    for column, names in rows.items():
        for name in filter(None, names.split(", ")):
            assert find_roles([name]) == [column]


def test_scores_of_one_user_are_a_row():
    scores, held = np.array([0.2, 0.9, 0.5]), np.array([1, 0, 1])
    with pytest.raises(sm.InputError, match="one user"):
        sm.evaluate(scores, "precision@2", relevant=held)
    found = sm.evaluate(scores[None], "precision@2", relevant=held[None])
    assert values(found) == [0.5]


def test_arrays_of_ids_beside_a_catalogue():
    held, seen = np.array([[4], [0]]), np.array([[3, 2], [1, 3]])
    for given in ((held, seen.tolist()), (held.tolist(), seen)):
        with pytest.raises(sm.InputError, match="csr_array"):
            sm.negatives(*given, 2)
    drawn = sm.negatives(held.tolist(), seen.tolist(), 2, items=5)
    assert drawn.groupby("user_id")["item_id"].agg(set).tolist() == [{0, 1}, {2, 4}]
