"""What people hold, as public reports show it: the right number, or a refusal or a question."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from tests.helpers.results import refusal_message, values_and_warnings
from tests.helpers.retriever import (
    HELD_OUT,
    HIT_RATE,
    ITEM_SCORES,
    N_USERS,
    TOP_ITEMS,
    TOP_SCORES,
)

RNG = np.random.default_rng(0)
# Lists b 0.3, 0.2, 0.5 of user 0, and 0.1 to 0.5 of user 1; relevant are 3, and 2 and 4.
LISTS = pd.DataFrame(
    {
        "user_id": [0, 0, 0, 1, 1, 1, 1],
        "item_id": [1, 2, 3, 1, 2, 3, 4],
        "score": [0.2, 0.3, 0.5, 0.1, 0.3, 0.5, 0.2],
    }
)
LABEL = np.array([0, 0, 1, 0, 1, 0, 1])
NDCG = (1 + (1 / np.log2(3) + 1 / 2) / (1 + 1 / np.log2(3))) / 2
NAMES = (
    "relevance",
    "label",
    "clicked",
    "target",
    "rel",
    "relevant",
    "is_relevant",
    "label:float",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [int, float, bool, "signs"])
def test_rows_of_label_0_are_not_relevant(name, kind):
    values = 2 * LABEL - 1 if kind == "signs" else LABEL.astype(kind)
    relevant = LISTS[["user_id", "item_id"]].assign(**{name: values})
    found, asked = values_and_warnings(
        sm.evaluate, LISTS, "ndcg@3, recall@1", relevant=relevant
    )
    assert found == pytest.approx([NDCG, 0.5])
    assert not asked


def test_labels_in_files_of_any_form(tmp_path):
    rows = zip(LISTS.user_id, LISTS.item_id, LABEL, strict=True)
    (tmp_path / "a.qrels").write_text("".join(f"{u} 0 {i} {y}\n" for u, i, y in rows))
    table = LISTS[["user_id", "item_id"]].assign(label=LABEL)
    table.rename(
        columns={"user_id": "user_id:token", "item_id": "item_id:token"}
    ).to_csv(tmp_path / "a.inter", sep="\t", index=False)
    table.rename(
        columns={"user_id": "query-id", "item_id": "corpus-id", "label": "score"}
    ).to_csv(tmp_path / "qrels.tsv", sep="\t", index=False)
    for name in ("a.qrels", "a.inter", "qrels.tsv"):
        call = lambda: sm.evaluate(LISTS, "ndcg@3", relevant=tmp_path / name)  # noqa: B023, E731
        assert values_and_warnings(call)[0] == pytest.approx([NDCG])


def test_an_unknown_column_of_zeros_and_ones_is_asked_about():
    for values in (LABEL, LABEL.astype(bool), 2.0 * LABEL - 1):
        relevant = LISTS[["user_id", "item_id"]].assign(bought=values)
        _, asked = values_and_warnings(
            sm.evaluate, LISTS, "recall@1", relevant=relevant
        )
        assert "column bought" in asked
    days = LISTS[["user_id", "item_id"]].assign(day=np.arange(7))
    assert not values_and_warnings(sm.evaluate, LISTS, "recall@1", relevant=days)[1]


def test_ratings_are_grades_with_a_least_one():
    rated = LISTS[["user_id", "item_id"]].assign(rating=1 + 4 * LABEL)
    call = partial(sm.evaluate, LISTS, "recall@1", relevant=rated)
    assert values_and_warnings(partial(call, min_relevance=4))[0] == pytest.approx(
        [0.5]
    )
    assert "rating is not read" in values_and_warnings(call)[1]


def test_labels_of_seen_items_and_of_negatives():
    held, seen = {0: [3], 1: [4]}, LISTS[LISTS.item_id < 3][["user_id", "item_id"]]
    marked = LISTS[["user_id", "item_id"]].assign(
        label=(LISTS.item_id < 3).astype(int)
    )
    for given in (seen, marked):
        with warnings.catch_warnings(action="ignore"):
            found = sm.negatives(held, given, 1, items=6)
        assert found.item_id.isin([3, 4, 5, 0]).all()
    pairs = pd.DataFrame(
        {"user_id": [0, 0, 1, 1], "item_id": [3, 5, 4, 5], "label": [1, 0, 1, 0]}
    )
    checks = sm.check_negatives(pairs, held, seen, items=range(6))
    assert {check.name: check.passed for check in checks}["held-out item"]


@pytest.mark.parametrize("order", ["ids first", "scores first"])
@pytest.mark.parametrize("kind", ["f8", "f4"])
def test_arrays_of_a_retriever(order, kind):
    shuffled = RNG.permuted(np.tile(np.arange(10), (N_USERS, 1)), axis=1)
    for place in (
        np.tile(np.arange(10), (N_USERS, 1)),
        shuffled,
    ):  # the scores decide
        ids, scores = (
            np.take_along_axis(array, place, axis=1)
            for array in (TOP_ITEMS, TOP_SCORES)
        )
        data = (ids, scores.astype(kind))
        if order == "scores first":
            data = data[::-1]
        found, _ = values_and_warnings(sm.evaluate, data, "hit@5", relevant=HELD_OUT)
        assert found == [pytest.approx(HIT_RATE)]

        def value(ids, scores):
            ranks = sm.Ranks.from_top_k(ids, HELD_OUT, scores=scores)
            return sm.evaluate(ranks, "hit@5")

        again, _ = values_and_warnings(partial(value, ids, scores))
        assert again == found


def test_a_retriever_that_ends_a_list_by_minus_1():
    ids = np.array([[4, 2, -1], [3, -1, -1]])
    ranks = sm.Ranks.from_top_k(ids, [2, 0], missing="last")
    assert ranks.n_missing == 0
    assert sm.evaluate(ranks, "recall@3")[0].value == 0.5
    assert "list" in refusal_message(
        sm.evaluate, sm.Ranks.from_top_k(ids, [2, 0]), "recall@3"
    )


def test_distances_and_ranks_as_scores_are_asked_about():
    assert (
        "contradict"
        in values_and_warnings(
            sm.evaluate, (TOP_ITEMS, -TOP_SCORES), "hit@5", relevant=HELD_OUT
        )[1]
    )
    lists = pd.DataFrame(
        {"user_id": np.repeat(np.arange(N_USERS), 10), "item_id": TOP_ITEMS.ravel()}
    )
    relevant = pd.DataFrame({"user_id": np.arange(N_USERS), "item_id": HELD_OUT})
    for score, words in (
        (-TOP_SCORES.ravel(), "are they distances"),
        (np.tile(np.arange(10), N_USERS), "are they ranks"),
        (np.tile(np.arange(1.0, 11), N_USERS), "are they ranks"),
    ):
        data = lists.assign(score=score)
        assert (
            words
            in values_and_warnings(sm.evaluate, data, "hit@5", relevant=relevant)[1]
        )
    right = lists.assign(score=TOP_SCORES.ravel())
    found, asked = values_and_warnings(sm.evaluate, right, "hit@5", relevant=relevant)
    assert (found, asked) == ([pytest.approx(HIT_RATE)], "")


@pytest.mark.parametrize("form", ["frame", "dictionary", "arrays"])
def test_lists_sorted_by_item_are_asked_about(form):
    items = np.sort(TOP_ITEMS, axis=1)
    held = {user: [int(item)] for user, item in enumerate(HELD_OUT)}
    data = {user: row.tolist() for user, row in enumerate(items)}
    if form == "frame":
        data = pd.DataFrame(
            {"user_id": np.repeat(np.arange(N_USERS), 10), "item_id": items.ravel()}
        )
    elif form == "arrays":
        _, asked = values_and_warnings(
            sm.evaluate, sm.Ranks.from_top_k(items, HELD_OUT), "hit@5"
        )
        assert "ascend" in asked or not asked
        return
    assert (
        "ascend" in values_and_warnings(sm.evaluate, data, "hit@5", relevant=held)[1]
    )


@pytest.mark.parametrize(
    "ids",
    [[[1, 2, 0, 4, 3, 5]], np.array([[7, 3, 9]]), TOP_ITEMS, TOP_ITEMS.tolist()],
)
def test_rows_of_ids_are_no_scores(ids):
    problem = refusal_message(sm.evaluate, ids, "recall@2", relevant=[0] * len(ids))
    assert "Ranks.from_top_k" in problem
    assert "floats" in problem
    as_floats = np.asarray(ids, float)
    assert (
        sm.Ranks.from_scores(as_floats, [0] * len(ids)).n_candidates[0]
        == as_floats.shape[1]
    )


def test_ids_best_first_by_their_constructor():
    assert (
        sm.evaluate(sm.Ranks.from_top_k([[1, 2, 0, 4, 3, 5]], [[0, 3]]), "recall@2")[
            0
        ].value
        == 0
    )
    assert (
        sm.evaluate(sm.Ranks.from_top_k([[1, 2, 0, 4, 3, 5]], [[0, 2]]), "recall@2")[
            0
        ].value
        == 0.5
    )


def test_two_arrays_that_could_be_either_are_refused():
    for data in ((TOP_ITEMS, TOP_ITEMS), (TOP_ITEMS.astype(float), TOP_SCORES)):
        problem = refusal_message(sm.evaluate, data, "hit@5", relevant=HELD_OUT)
        assert "Ranks.from_top_k" in problem
        assert "Ranks.from_factors" in problem


@pytest.mark.parametrize(
    ("kind", "large"), [("f2", 2**11), ("f4", 2**24), ("f8", 2**53)]
)
def test_ids_in_floats_that_are_too_narrow(kind, large):
    lists = pd.DataFrame({"user_id": [1, 1], "item_id": [large + 2, large + 6]})
    relevant = pd.DataFrame({"user_id": [1], "item_id": np.array([large + 2], kind)})
    assert "item_id" in refusal_message(
        sm.evaluate, lists, "hit@1", relevant=relevant
    )
    small = pd.DataFrame({"user_id": [1], "item_id": np.array([6], kind)})
    assert (
        sm.evaluate(lists.assign(item_id=[6, 8]), "hit@1", relevant=small)[0].value
        == 1
    )


@pytest.mark.parametrize(
    "cells",
    [["5 7", "6"], ["5,7", "6"], ["[5, 7]", "6"], ["0706016003 5", "0706016003"]],
)
def test_ids_joined_in_a_cell_are_asked_about(cells):
    lists = {"u": [cells[1], "5"], "v": [cells[1], "7"]}
    relevant = pd.DataFrame({"user_id": ["u", "v"], "item_id": cells})
    call = lambda: sm.evaluate(lists, "hit@1", relevant=relevant)  # noqa: E731
    assert "several ids" in values_and_warnings(call)[1]


# What lists and answers lack


@pytest.mark.parametrize(
    ("lists", "metric", "expected"),
    [
        ({"u": [], "v": [1, 2]}, "recall@1", 0.5),
        ({"u": [], "v": [1, 2]}, "ndcg@2", 0.5),
        ({"v": [1, 2]}, "recall@1", 0.5),
        ({"u": [2, 1], "v": [1]}, "recall@5", 1.0),
        ({"u": [2], "v": [3, 1]}, "rr@5", 0.25),
        ({"u": [2], "v": [3, 1]}, "ap@5", 0.25),
        ({"u": [2], "v": [3, 1]}, "precision@5", 0.1),
    ],
)
def test_what_lists_lack_counts_as_not_found(lists, metric, expected):
    relevant = {"u": [1], "v": [1]}
    (found,) = sm.evaluate(lists, metric, relevant=relevant, missing="last")
    assert found.value == pytest.approx(expected)
    ranks = sm.Ranks.from_lists(lists, relevant, missing="last")
    assert ranks.n_missing == len(relevant) - len([x for x in lists.values() if x])
    if metric == "recall@1":
        assert "missing='last'" in refusal_message(
            sm.evaluate, lists, metric, relevant=relevant
        )


def test_results_say_how_many_users_are_without_a_list():
    lists = {user: [2, 1] for user in range(20)}
    relevant = {user: [1] for user in range(23)}
    given = {"relevant": relevant, "missing": "last"}
    assert "3 users" in str(sm.evaluate(lists, "recall@2", **given))
    by_user = sm.values_by_user(lists, "recall@2", **given)["recall@2"]
    assert by_user.sum() == 20
    assert by_user.size == 23
    other = {user: [4, 3] for user in range(23)}
    compared = sm.compare({"A": lists, "B": other}, "recall@2", **given)
    assert (compared[0].value_a, compared[0].value_b) == (pytest.approx(20 / 23), 0)
    assert "3 users" in str(compared)


def test_lists_that_lack_a_held_out_item_of_sampled_candidates():
    """The held-out item of user 0 is left out by the answer, so it is behind 9 negatives."""
    rows = [(user, item, -item) for user in range(3) for item in range(10)]
    lists = pd.DataFrame(rows, columns=["user_id", "item_id", "score"])
    lists = lists[(lists.user_id != 0) | (lists.item_id != 2)]
    lists.loc[len(rows)] = [0, 10, -10]
    relevant = {user: [2] for user in range(3)}
    given = {"n_items": 90, "shape": "none"}
    call = partial(
        sm.correct, lists, "recall@3", "sampled", relevant=relevant, **given
    )
    assert "missing='last'" in refusal_message(call)
    with warnings.catch_warnings(action="ignore"):
        ranks = call(missing="last")
    assert ranks[0].value == pytest.approx(2 / 3)
    assert "without" in str(ranks)


@pytest.mark.parametrize("door", ["meter", "correct"])
def test_held_out_items_without_a_score(door):
    scores = np.array(
        [[-np.inf, 0.5, 0.2, 0.1], [0.9, -np.inf, 0.3, 0.2], [0.4, 0.5, 0.1, 0.2]]
    )
    given = {"n_items": 90, "missing": "last"}

    def ranks(**options):
        if door == "correct":
            return sm.SampledRanks.from_scores(scores, 0, **options)
        meter = sm.RankMeter("auc", **options)
        meter.update(scores)
        return meter.ranks()

    assert ranks(**given).sampled_ranks.tolist() == [4, 1, 2]
    assert ranks(**given).n_missing == 1
    assert "missing='last'" in refusal_message(ranks, n_items=90)
    if door == "meter":
        with warnings.catch_warnings(action="ignore"):
            full = ranks(missing="last")
        assert full.n_candidates.tolist() == [
            4,
            3,
            4,
        ]  # other items of -inf are no candidates
        assert full.n_better.tolist() == [3, 0, 1]


# Several held-out items


def test_rows_of_users_with_negatives_of_their_own():
    rows = []
    for user in range(40):
        for row in range(2):
            score = RNG.normal(size=11)
            score[0] += 1.5
            rows += [
                (user, 2 * user + row, k, s, int(k == 0)) for k, s in enumerate(score)
            ]
    pairs = pd.DataFrame(
        rows, columns=["user_id", "row_id", "item_id", "score", "label"]
    )
    own = pairs[pairs.label == 1].set_index("row_id").score
    above = pairs.score > pairs.row_id.map(own)
    right = (above.groupby(pairs.row_id).sum() < 3).mean()
    options = {"n_items": 500, "shape": "none"}
    for name in ("row_id", "impression_id"):
        data = pairs.rename(columns={"row_id": name}).drop(columns="item_id")
        found, _ = values_and_warnings(
            sm.correct, data, "recall@3", "sampled", **options
        )
        assert found == [pytest.approx(right)]
    pooled = pairs.drop(columns=["row_id", "item_id"])
    _, asked = values_and_warnings(
        sm.correct, pooled, "recall@3", "sampled", **options
    )
    assert "visit_id" in asked


def test_impressions_stand_for_users():
    """As in MIND: a row for each candidate of an impression, clicked or not."""
    data = LISTS.rename(columns={"user_id": "impression_id"}).assign(clicked=LABEL)
    expected = pytest.approx([NDCG, 0.5])
    by_relevant = partial(sm.evaluate, data.drop(columns="clicked"), relevant=data)
    for call in (by_relevant, partial(sm.evaluate, data, complete=True)):
        assert values_and_warnings(partial(call, "ndcg@3, recall@1"))[0] == expected


def test_labels_of_rows_instead_of_columns():
    one_hot = np.zeros(ITEM_SCORES.shape, int)
    one_hot[np.arange(N_USERS), HELD_OUT] = 1
    for labels in (one_hot, one_hot.astype(bool), one_hot.astype(float)):
        meter = sm.RankMeter("recall@10")
        meter.update(ITEM_SCORES, positive=labels)
        expected = np.mean(
            [
                (ITEM_SCORES[u] > ITEM_SCORES[u, HELD_OUT[u]]).sum() < 10
                for u in range(N_USERS)
            ]
        )
        assert values_and_warnings(meter.compute)[0] == [pytest.approx(expected)]


def test_several_labels_of_a_row():
    """Full rankings count all candidates above an item, samples only the negatives above it."""
    scores = np.array([[0.9, 0.5, 0.7, 0.1], [0.2, 0.8, 0.3, 0.4]])
    labels = np.array([[1, 1, 0, 0], [0, 0, 1, 0]])
    meter = sm.RankMeter("ap")
    meter.update(scores, positive=labels)
    assert meter.compute()[0].value == pytest.approx(((1 + 2 / 3) / 2 + 1 / 3) / 2)
    same = sm.evaluate(scores, "ap", relevant=[[0, 1], [2]])
    assert same[0].value == meter.compute()[0].value
    among = np.array([[0.9, 0.5, 0.7, 0.1], [0.2, 0.8, 0.3, 0.4]])
    both = sm.SampledRanks.from_scores(
        among, np.array([[1, 1, 0, 0]] * 2), n_items=90
    )
    assert both.sampled_ranks.tolist() == [1, 2, 3, 1]
    assert both.users.tolist() == [0, 0, 1, 1]
    assert both.n_negatives == 2
    assert "row 2" in refusal_message(
        meter.update, scores, positive=np.array([[1, 0, 0, 0], [0] * 4])
    )


# Files


def test_files_without_a_header_are_no_qrels(tmp_path):
    path = tmp_path / "test.tsv"
    for times in (1, 881250949):
        rows = [
            (user, int(item), 5, times + user) for user, item in enumerate(HELD_OUT)
        ]
        path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
        problem = refusal_message(
            sm.evaluate, dict(enumerate(TOP_ITEMS.tolist())), relevant=path
        )
        assert "user_id" in problem


def test_comment_lines_of_trec_eval(tmp_path):
    run, qrels = tmp_path / "run.txt", tmp_path / "a.qrels"
    lines = ["q1 Q0 d2 1 3.0 run", "q1 Q0 d1 2 2.0 run", "q2 Q0 d3 1 1.0 run"]
    qrels.write_text("# judged\nq1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\n")
    for places in ([0], [0, 0]):
        kept = list(lines)
        for place in reversed(places):
            kept.insert(place, "# a comment")
        run.write_text("\n".join(kept) + "\n")
        assert sm.evaluate(run, "rr@1", relevant=qrels)[0].value == 0.5
    (tmp_path / "l.csv").write_text("# lists\nuser_id,item_id\nq1,d1\nq2,d1\n")
    assert sm.evaluate(tmp_path / "l.csv", "rr@1", relevant=qrels)[0].value == 0.5


def test_numbers_and_columns_that_files_do_not_mean(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("rank,rank\n3,4\n")
    assert "rank" in refusal_message(sm.evaluate, path, "auc", n_items=90)
    frame = pd.DataFrame([[1, 2, 3]], columns=["user_id", "rank", "rank"])
    assert "rank" in refusal_message(sm.evaluate, frame, "auc", n_items=90)


def test_ids_in_the_index_of_a_frame():
    lists = LISTS.set_index("user_id")
    by_column = sm.evaluate(LISTS, "recall@1", relevant={0: [3], 1: [3]})
    assert (
        sm.evaluate(lists, "recall@1", relevant={0: [3], 1: [3]})[0] == by_column[0]
    )


def test_ids_beside_factors_are_numbers_of_rows():
    vectors = RNG.normal(size=(4, 2)), RNG.normal(size=(5, 2))
    relevant = pd.DataFrame({"user_id": [1, 2, 3, 4], "item_id": [0, 1, 2, 3]})
    problem = refusal_message(sm.evaluate, vectors, "hr@1", relevant=relevant)
    assert "scores" in problem


def test_new_items_of_a_cold_split_are_no_error():
    lists = {f"u{user}": [3, *range(20, 9, -1)] for user in range(12)}
    given = {"relevant": {user: [3] for user in lists}}
    seen = {user: list(range(50, 70)) for user in lists}
    found, asked = values_and_warnings(
        sm.evaluate, lists, "recall@1", seen=seen, **given
    )
    assert found == [1.0]
    assert "items" in asked


def test_stored_zeros_of_seen_items_are_seen():
    seen = csr_array((np.array([0.0]), np.array([1]), np.array([0, 1])), shape=(1, 3))
    ranks = sm.Ranks.from_scores([[0.3, 0.9, 0.5]], [0], seen=seen)
    assert (ranks.n_candidates[0], ranks.n_better[0]) == (2, 1)


# Options and answers


def good(users=30):
    return sm.Ranks(np.full(users, 40), np.arange(users) % 7, np.zeros(users, int))


def test_odd_options_are_asked_about():
    ranks = good()
    assert (
        "0.95" in values_and_warnings(sm.evaluate, ranks, "hit@5", confidence=0.05)[1]
    )
    assert "all 40 candidates" in values_and_warnings(sm.evaluate, ranks, "hit@40")[1]
    assert (
        "all 40 candidates"
        in values_and_warnings(sm.evaluate, ranks, "recall@5000")[1]
    )
    assert not values_and_warnings(sm.evaluate, ranks, "hit@39, ndcg@40")[1]
    same = {"A": ranks, "B": good()}
    assert (
        "A and B have the same ranks"
        in values_and_warnings(sm.compare, same, "hit@5")[1]
    )


def test_numbers_that_are_none():
    for call in (
        lambda: sm.plan(
            metrics="hit@3", effect="x", value=0.2, n_items=100, n_users=50
        ),
        lambda: sm.plan(
            metrics="hit@3", effect=0.1, value="x", n_items=100, n_users=50
        ),
        lambda: sm.RankMeter("hit@3", n_items=np.arange(6)),
        lambda: sm.RankMeter("hit@3", n_items=9, n_negatives="5"),
        lambda: sm.RankMeter("hit@3", missing="first"),
    ):
        refusal_message(call)


def test_an_empty_batch_adds_nothing():
    meter = sm.RankMeter("hit@5", n_items=40)
    meter.update(np.zeros((0, 40)), positive=np.zeros(0, int))
    assert len(meter) == 0
    meter.update(ranks=[3, 9])
    meter.update(ranks=[])
    assert meter.compute()[0].value == 0.5


def test_ranges_of_too_many_items_are_refused():
    ranks = sm.SampledRanks([1, 2, 3], 10**9, 9)
    assert "10,000,000" in refusal_message(sm.correct, ranks, "ap", "sampled")


def test_pages_are_not_written_over_data(tmp_path):
    ranks = tmp_path / "r.csv"
    ranks.write_text("rank\n3\n1\n")
    before = ranks.read_text()
    for path in (ranks, tmp_path / "model.py", tmp_path / "s.npy"):
        assert "suffix" in refusal_message(sm.report, {"A": ranks}, path, n_items=90)
    page = tmp_path / "r.html"
    page.write_text(before)
    assert "written" in refusal_message(sm.report, {"A": page}, page, n_items=90)
    assert ranks.read_text() == page.read_text() == before


def test_percent_is_read_as_printed():
    about = {"n_items": 3416, "n_negatives": 100}
    as_share = sm.reported({"HR@10": "0.8245"}, "HR@10", **about)[0]
    found = sm.reported({"HR@10": "82.45 %"}, "HR@10", **about)[0]
    assert (found.range_low, found.range_high) == (
        as_share.range_low,
        as_share.range_high,
    )
    assert found.reported == 0.8245


def test_numbers_that_no_share_of_the_users_is_are_asked_about():
    """5/17 is .2941 and 6/17 is .3529."""
    about = {"n_items": 3416, "n_negatives": 100}
    for n_users, is_asked in ((17, True), (100, False), (6040, False)):
        call = partial(
            sm.reported, {"HR@10": "0.3200"}, "HR@10", n_users=n_users, **about
        )
        assert ("is no share of" in values_and_warnings(call)[1]) == is_asked


def test_users_are_named_by_their_ids():
    held, seen = {"anna": ["y"], "bert": ["x"]}, {"anna": ["x"], "bert": ["y"]}
    assert "user anna" in refusal_message(sm.negatives, held, seen, 1)


@pytest.mark.parametrize(
    "items",
    [
        6,
        range(6),
        [0, 1, 2, 3, 4, 5],
        np.arange(6),
        pd.DataFrame({"item_id": range(6)}),
        {"item_id": [*range(6)]},
    ],
)
def test_items_are_a_number_or_ids_in_any_form(items):
    held, seen = {0: [3], 1: [4]}, {0: [1], 1: [2]}
    drawn = sm.negatives(held, seen, 4, items=items)
    assert sorted(drawn[drawn.user_id == 0].item_id) == [0, 2, 4, 5]
    assert len(sm.check_negatives(drawn, held, seen, items=items)) > 2


def test_labelled_pairs_name_the_two_ways():
    pairs = pd.DataFrame(
        {"user_id": [1, 1, 1], "score": [0.5, 0.9, 0.1], "label": [1, 0, 0]}
    )
    problem = refusal_message(sm.evaluate, pairs, "rr")
    assert "complete=True" in problem
    assert "correct" in problem
    for ranks in (sm.Ranks.from_pairs(pairs), pairs):
        options = {} if isinstance(ranks, sm.Ranks) else {"complete": True}
        assert sm.evaluate(ranks, "rr", **options)[0].value == 0.5


def test_toy_data_get_one_line():
    ranks = sm.Ranks([9, 9], [0, 4], [0, 0])
    text = str(sm.evaluate(ranks, "ndcg, rr, ap, auc"))
    assert text.count("fewer than 10 users") == 1
    assert "carry most" not in text


def test_memory_that_is_short_is_no_damaged_file(tmp_path, monkeypatch):
    import pyarrow as pa

    from sampled_metrics.inputs import tables

    path = tmp_path / "l.csv"
    LISTS.to_csv(path, index=False)
    for error in (
        pa.ArrowInvalid("In CSV column #1: malloc of size 9 failed"),
        pa.ArrowMemoryError(),
    ):

        def broken(*_, error=error):
            raise error

        monkeypatch.setattr(tables.pyarrow_csv, "read_csv", broken)
        assert "enough" in refusal_message(sm.evaluate, path, relevant={0: [3]})


def test_ranks_of_users_in_catalogues_of_their_own(tmp_path):
    ranks = sm.Ranks.from_ranks([2, 1, 3], [5, 6, 5], users=[7, 8, 7])
    assert ranks.users.tolist() == [7, 8]
    assert ranks.n_candidates.tolist() == [5, 6]
    assert ranks.n_better.tolist() == [1, 2, 0]
    assert ranks.n_found.tolist() == [2, 1]
    path = tmp_path / "s.parquet"
    sampled = sm.SampledRanks([2, 1, 3], 50, 9)
    sampled.write(path)
    read = sm.SampledRanks.read(path)
    assert read.sampled_ranks.tolist() == [2, 1, 3]
    assert (set(read.n_items.tolist()), read.n_negatives) == ({50}, 9)
