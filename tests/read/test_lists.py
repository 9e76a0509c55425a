"""Lists of items, by hand and against loops over their rows."""

import warnings
from functools import partial
from itertools import chain

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics._base.arrays import count_by_score
from sampled_metrics.read import tables
from sampled_metrics.read.options import as_ranks
from tests.helpers.caught_warnings import warns_about
from tests.helpers.files import rank_counts, write_file
from tests.helpers.labelled_lists import SCORED_LISTS
from tests.helpers.results import (
    refusal_message,
    values,
    values_and_warnings,
    values_by_metric,
)
from tests.helpers.retriever import HELD_OUT, HIT_RATE, N_USERS, TOP_ITEMS, TOP_SCORES

# User 1 likes items 10, 11 and 12; the list has 12 first and 10 third.
# User 2 likes item 10, which is not in the list. User 3 likes nothing and is left out.
RELEVANT = "user_id,item_id\n2,10\n1,10\n1,11\n1,12\n"
LISTS = pd.DataFrame(
    [(1, 10, 0.5, 3), (3, 10, 0.5, 1), (1, 12, 0.9, 1),
     (2, 11, 7.0, 1), (2, 12, 6.0, 2), (1, 99, 0.7, 2)],
    columns=["user_id", "item_id", "score", "rank"],
)  # fmt: skip
LIST_COUNTS = {  # of user 2 and of user 1; of items 12 and 10
    "n_found": [0, 2], "n_relevant": [1, 3], "n_candidates": [0, 0], "depth": [2, 3],
    "n_better": [0, 2], "n_tied": [0, 0],
}  # fmt: skip


@pytest.mark.parametrize("unread", [[], ["score"], ["rank"]], ids=["all", "rank", "score"])
@pytest.mark.parametrize("n_items", [None, 50])
def test_lists_with_rank_or_score_are_read(tmp_path, unread, n_items):
    LISTS.drop(columns=unread).to_csv(tmp_path / "r.csv", index=False)
    relevant = write_file(tmp_path, "t.csv", RELEVANT)
    ranks = as_ranks(tmp_path / "r.csv", relevant=relevant, n_items=n_items)
    assert ranks.users.tolist() == [2, 1]
    assert rank_counts(ranks) == LIST_COUNTS | {"n_candidates": [n_items or 0] * 2}


def test_lists_in_an_atomic_file_of_recbole_are_read(tmp_path):
    """Columns are separated by tabs, and their names end with a type."""
    header = "user_id:token\titem_id:token\tscore:float\n"
    rows = LISTS.drop(columns="rank").to_csv(sep="\t", index=False, header=False)
    path = write_file(tmp_path, "r.inter", header + rows)
    relevant = write_file(tmp_path, "t.csv", RELEVANT)
    assert rank_counts(as_ranks(path, relevant=relevant)) == LIST_COUNTS


def test_rank_decides_beside_score(tmp_path):
    """The scores are distances, so that the best item has the lowest."""
    path = write_file(tmp_path, "r.csv", "user_id,item_id,score,rank\n1,10,0.1,1\n1,11,0.2,2\n")
    relevant = write_file(tmp_path, "t.csv", "user_id,item_id\n1,10\n")
    assert as_ranks(path, relevant=relevant).n_better == [0]


def test_scores_that_no_float_can_hold_are_compared_exactly(tmp_path):
    """Item 2 is above item 10, and item 3 is tied with it."""
    scores = pd.DataFrame({"user_id": 1, "item_id": [10, 2, 3], "score": [2**62, 2**62 + 1, 2**62]})
    path = write_file(tmp_path, "s.csv", scores.to_csv(index=False))
    ranks = as_ranks(path, relevant={1: [10]})
    assert (ranks.n_better.tolist(), ranks.n_tied.tolist()) == ([1], [1])


def test_tied_scores_in_lists_are_counted(tmp_path):
    # Scores of u: b 3, a and c and d 2, e 1. Of v: a 5 and b 5. Item z is in no list.
    scores = "user_id,item_id,score\nu,a,2\nu,b,3\nv,a,5\nu,c,2\nu,e,1\nu,d,2\nv,b,5\n"
    relevant = write_file(tmp_path, "t.tsv", "user_id\titem_id\nu\tc\nu\te\nu\tb\nv\ta\nu\tz\n")
    ranks = as_ranks(write_file(tmp_path, "s.csv", scores), relevant=relevant)
    assert rank_counts(ranks) == {
        "n_found": [3, 1],
        "n_relevant": [4, 1],
        "n_candidates": [0, 0],
        "depth": [5, 2],
        "n_better": [0, 1, 4, 0],
        "n_tied": [0, 2, 0, 1],  # of b, c and e of u, and of a of v
    }


RUN = """\
q2 Q0 d1 1 0.5 tag
q1 Q0 d1 1 3.0 tag
q1 Q0 d2 2 2.0 tag
q1 Q0 d3 3 2.0 tag
q1 Q0 d4 4 9e0 tag
"""
QRELS = "q1 0 d2 1\nq1 0 d4 1\nq1 0 d1 0\nq1 0 d9 1\nq2 0 d1 -1\nq2 0 d2 1\n"
# q1 by score: d4 9, d1 3, d2 and d3 2. Relevant are d2, d4 and d9, which is not retrieved.
RUN_COUNTS = {
    "n_found": [2, 0], "n_relevant": [3, 1], "n_candidates": [0, 0], "depth": [4, 1],
    "n_better": [0, 2], "n_tied": [0, 1],  # of d4 and d2
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("a.run", RUN),
        ("a.txt", RUN.replace(" ", "  ").replace("\n", " \r\n")),
        ("results", RUN.replace("q1 Q0 d1 1", "q1 Q0 d1 77")),
    ],
)
def test_trec_run_is_read(tmp_path, name, run):
    path = write_file(tmp_path, name, run)
    qrels = write_file(tmp_path, "qrels.txt", QRELS)
    table = write_file(
        tmp_path, "t.csv", "user_id,item_id,day\nq1,d2,1\nq1,d4,2\nq1,d9,3\nq2,d2,1\n"
    )
    for relevant in (qrels, table):
        ranks = as_ranks(path, relevant=relevant)
        assert rank_counts(ranks) == RUN_COUNTS
        assert ranks.users.tolist() == ["q1", "q2"]


def test_other_table_of_six_numbers_is_no_run(tmp_path):
    """Item u leads the list of user u, and item u % 3 is relevant: users 0, 1 and 2 have a hit."""
    lines = [f"{user} {user} 0.9 7 0.5 {user}\n{user} 50 0.4 7 0.5 {user}\n" for user in range(12)]
    relevant = {user: [user % 3] for user in range(12)}
    path = write_file(tmp_path, "r.txt", "".join(lines))
    with pytest.raises(sm.InputError, match="header"):
        sm.evaluate(path, "hit@1", relevant=relevant, missing="last")
    text = "user_id,item_id,score,a,b,c\n" + "".join(lines).replace(" ", ",")
    named = write_file(tmp_path, "n.csv", text)
    assert sm.evaluate(named, "hit@1", relevant=relevant)[0].value == 3 / 12


@pytest.mark.parametrize(
    "line",
    [
        "q1 Q0 d7 1 12.5 bm25 x",
        "q1 Q0 d7 first 12.5 b",
        "q1 Q0 d7 1 high b",
        "q1 0 d7 1",
    ],
)
def test_line_that_is_not_a_run_is_refused(tmp_path, line):
    with pytest.raises(sm.InputError, match=r"file.txt: (not|found)"):
        as_ranks(write_file(tmp_path, "file.txt", line))


@pytest.fixture(scope="module")
def study():
    """Return scores of 30 users and 60 items, seen items, which score high, and held-out ones."""
    rng = np.random.default_rng(0)
    scores, held_out = rng.normal(size=(30, 60)), rng.integers(60, size=30)
    seen = (rng.random(scores.shape) < 0.2) & ~np.equal.outer(held_out, np.arange(60))
    scores[np.arange(30), held_out] += 1.5
    scores[seen] += 2.0
    user, item = np.nonzero(np.ones_like(seen))
    table = pd.DataFrame({"user_id": user, "item_id": item, "score": scores.ravel()})
    filtered = table[~seen.ravel()].sort_values(["user_id", "score"], ascending=[True, False])
    filtered = filtered.assign(rank=filtered.groupby("user_id").cumcount() + 1)
    user, item = np.nonzero(seen)
    held_out_score = scores[np.arange(30), held_out]
    others = (~seen).sum(axis=1) - 1
    better = np.sum((scores > held_out_score[:, None]) & ~seen, axis=1)
    return {
        "scores": table.sample(frac=1, random_state=0),
        "filtered": filtered.drop(columns="score"),
        "relevant": pd.DataFrame({"user_id": range(30), "item_id": held_out}),
        # one event is repeated, and one user has no held-out item
        "seen": pd.DataFrame(
            {"user_id": [*user, *user[:9], 999], "item_id": [*item, *item[:9], 7]}
        ),
        "exact": {
            "recall@10": np.mean(better < 10),
            "auc": np.mean(1 - better / others),
        },
    }


def test_complete_lists_beside_seen_items_are_exact(study):
    values = values_by_metric(
        study["scores"], "recall@10,auc", complete=True,
        relevant=study["relevant"], seen=study["seen"],
    )  # fmt: skip
    assert values == pytest.approx(study["exact"], rel=1e-14)


def test_complete_lists_without_seen_items_are_exact(study):
    values = values_by_metric(
        study["filtered"], "recall@10,auc", complete=True, relevant=study["relevant"]
    )
    assert values == pytest.approx(study["exact"], rel=1e-14)


def test_lists_with_seen_items_are_noted_and_have_another_value(study):
    """Seen items have high scores, so that fewer held-out items are among the first ten."""
    (result,) = results = sm.evaluate(study["scores"], "recall@10", relevant=study["relevant"])
    assert result.value < study["exact"]["recall@10"]
    assert any(note.startswith("seen: read as none") for note in results.notes)


def test_candidates_of_n_items_are_more_than_those_not_seen(study):
    """The items that were seen count as candidates at the end of each list."""
    values = values_by_metric(study["filtered"], "auc", relevant=study["relevant"], n_items=60)
    assert values["auc"] > study["exact"]["auc"]


def test_relevant_items_that_are_seen_are_refused(study):
    relevant = study["relevant"]
    with pytest.raises(sm.InputError, match="user 0"):
        sm.evaluate(study["filtered"], "recall@10", relevant=relevant, seen=relevant)


@pytest.fixture
def top_10(study):
    return study["filtered"][study["filtered"]["rank"] <= 10]


def test_metrics_that_need_all_items_are_skipped_for_cut_lists(top_10, study):
    with warns_about("skipped: a") as caught:
        values = values_by_metric(top_10, "recall@10,ap,ndcg@5,auc", relevant=study["relevant"])
    assert list(values) == ["recall@10", "ndcg@5"]
    assert values["recall@10"] == study["exact"]["recall@10"]
    of_ap, of_auc = caught
    assert "ap@10" in of_ap
    assert "@10" not in of_auc


@pytest.mark.filterwarnings("ignore:.*have the same ranks")
@pytest.mark.parametrize("function", ["evaluate", "compare"])
def test_skipped_metric_is_a_note_of_the_result(top_10, study, function):
    data = {"evaluate": top_10, "compare": {"a": top_10, "b": top_10}}[function]
    with warns_about("skipped: auc"):
        results = getattr(sm, function)(data, "hr@10,auc", relevant=study["relevant"])
    assert [result.metric for result in results] == ["hr@10"]
    note = results.notes[-1]
    assert note.startswith("metrics: skipped: auc")
    assert note in " ".join(str(results).split())


def test_auc_alone_is_refused_for_cut_lists(top_10, study):
    with pytest.raises(sm.InputError, match="n_candidates"):
        sm.evaluate(top_10, "auc", relevant=study["relevant"])


def test_cut_lists_that_are_called_complete_are_refused(top_10, study):
    with pytest.raises(sm.InputError, match="drop complete"):
        sm.evaluate(top_10, "recall@10", relevant=study["relevant"], complete=True)


# Against loops


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=12))
def test_better_and_tied_rows_match_a_loop(rows):
    users, scores = np.array(rows).T
    users = np.unique(users, return_inverse=True)[1]
    better, tied = count_by_score(users, scores.astype(float))
    for place, (user, score) in enumerate(zip(users, scores, strict=True)):
        user_scores = [s for u, s in zip(users, scores, strict=True) if u == user]
        assert better[place] == sum(s > score for s in user_scores)
        assert tied[place] == user_scores.count(score) - 1


def random_lists_with_relevant_and_seen_items(rng, by_rank, complete):
    """Return rows of user, item and score or rank, and pairs of relevant and of seen items.

    Each of 12 users has a list of 14 to 19 of 30 items, of which the first one to three are
    relevant, and up to three others are seen. Incomplete lists lack up to two relevant items.
    """
    rows, relevant, seen = [], [], []
    for user in range(12):
        items = rng.choice(30, rng.integers(14, 20), replace=False)
        scores = rng.integers(0, 9, items.size)
        if by_rank:
            scores = 1 + rng.permutation(items.size)
        rows += [(f"u{user}", f"i{item}", score) for item, score in zip(items, scores, strict=True)]
        others = np.setdiff1d(np.arange(30), items)
        lacking = others[: 0 if complete else rng.integers(0, 3)]
        relevant_items = rng.permutation([*items[: rng.integers(1, 4)], *lacking])
        relevant += [(f"u{user}", f"i{item}") for item in relevant_items]
        seen += [(f"u{user}", f"i{item}") for item in items[4 : 4 + rng.integers(0, 4)]]
    return rows, relevant, seen


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "options", [{}, {"complete": True}, {"n_items": 40}], ids=["cut", "complete", "n_items"]
)
@pytest.mark.parametrize("by_rank", [False, True])
def test_lists_match_a_loop_over_rows(seed, options, by_rank):
    rng = np.random.default_rng(seed)
    complete = "complete" in options
    rows, relevant, seen = random_lists_with_relevant_and_seen_items(rng, by_rank, complete)
    lists = pd.DataFrame(rows, columns=["user_id", "item_id", "rank" if by_rank else "score"])
    relevant_pairs, seen_pairs = (
        pd.DataFrame(pairs, columns=["user_id", "item_id"]) for pairs in (relevant, seen)
    )
    shuffled = lists.sample(frac=1, random_state=seed)
    ranks = as_ranks(shuffled, relevant=relevant_pairs, seen=seen_pairs, **options)
    users = list(dict.fromkeys(user for user, _ in relevant))
    counts, depth = [], []
    for user in users:
        own = {
            item: -score if by_rank else score
            for owner, item, score in rows
            if owner == user and (owner, item) not in seen
        }
        counts.append(sorted(
            (sum(other > score for other in own.values()), list(own.values()).count(score) - 1)
            for item, score in own.items() if (user, item) in relevant
        ))  # fmt: skip
        depth.append(len(own))
    assert ranks.users.tolist() == users
    assert ranks.n_found.tolist() == [len(of_user) for of_user in counts]
    assert ranks.n_relevant.tolist() == [sum(u == user for u, _ in relevant) for user in users]
    assert ranks.depth.tolist() == depth
    assert list(zip(ranks.n_better, ranks.n_tied, strict=True)) == [*chain(*counts)]
    assert ranks.n_candidates.tolist() == (depth if complete else [options.get("n_items", 0)] * 12)


# Many users

USERS, K, ITEMS = 60, 5, 40
METRICS = "hr@3, ndcg@5, precision@4"


@pytest.mark.filterwarnings("ignore")
@settings(deadline=None)
@given(st.lists(st.integers(-3, 30), min_size=1, max_size=60), st.integers(1, 3))
def test_encoded_numbers_keep_their_order(ids, run):
    column = np.repeat(ids, run)
    distinct = list(dict.fromkeys(column.tolist()))
    expected = [distinct.index(number) for number in column]
    chunks = pa.chunked_array([column[:1], column[1:]])
    for numbers in (column, column.astype(np.int16), chunks):
        codes, names = tables.encode(numbers)
        assert codes.dtype == np.int32
        assert codes.tolist() == expected
        assert names.to_pylist() == distinct


def random_lists(rng, several):
    listed = np.array([rng.permutation(ITEMS)[:K] for _ in range(USERS)])
    frame = pd.DataFrame(
        {
            "user_id": np.repeat(rng.permutation(USERS) + 7, K),
            "item_id": listed.ravel(),
            "rank": np.tile(np.arange(1, K + 1), USERS),
        }
    )
    n = 3 if several else 1
    items = np.array([rng.permutation(ITEMS)[:n] for _ in range(USERS)])
    relevant = pd.DataFrame(
        {"user_id": np.repeat(np.arange(USERS) + 7, n), "item_id": items.ravel()}
    )
    return frame, relevant


def hit_rate_by_hand(frame, relevant):
    """Return the share of users with a relevant item in the first three places."""
    first = frame[frame["rank"] <= 3]
    pairs = set(zip(relevant.user_id, relevant.item_id, strict=True))
    hits = {user for user, item in zip(first.user_id, first.item_id, strict=True)
            if (user, item) in pairs}  # fmt: skip
    return len(hits) / USERS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_order_of_rows_does_not_matter(seed, several):
    rng = np.random.default_rng(seed)
    frame, relevant = random_lists(rng, several)
    expected = list(sm.evaluate(frame, METRICS, relevant=relevant))
    assert expected[0].value == hit_rate_by_hand(frame, relevant)
    scores = frame.assign(score=-1.5 * frame["rank"]).drop(columns="rank")
    for other in (frame, scores):
        for table in (other, other.sample(frac=1.0, random_state=seed)):
            assert list(sm.evaluate(table, METRICS, relevant=relevant)) == expected
    text = frame.assign(user_id="u" + frame.user_id.astype(str))
    relevant_text = relevant.assign(user_id="u" + relevant.user_id.astype(str))
    assert list(sm.evaluate(text, METRICS, relevant=relevant_text)) == expected


@pytest.mark.filterwarnings("ignore")
def test_item_twice_in_a_list_is_refused():
    """Rows 21 to 25 are of one user, counted from 1."""
    frame, relevant = random_lists(np.random.default_rng(1), several=False)
    frame.loc[24 - 1, "item_id"] = frame.loc[22 - 1, "item_id"]
    with pytest.raises(sm.InputError, match="row 24: duplicate of row 22"):
        sm.evaluate(frame, METRICS, relevant=relevant)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rank", [7, 1])
def test_ranks_of_a_list_other_than_1_to_5_are_refused(rank):
    """The last of five items of a user has another rank than 5."""
    frame, relevant = random_lists(np.random.default_rng(1), several=False)
    frame.loc[25 - 1, "rank"] = rank
    with pytest.raises(sm.InputError, match="expected 1, 2, 3") as caught:
        sm.evaluate(frame, METRICS, relevant=relevant)
    assert caught.value.column == "rank"


@pytest.mark.filterwarnings("ignore")
def test_relevant_item_twice_is_refused():
    frame, relevant = random_lists(np.random.default_rng(1), several=False)
    with pytest.raises(sm.InputError, match="row 3"):
        sm.evaluate(frame, METRICS, relevant=pd.concat([relevant, relevant[2:3]]))


@pytest.mark.filterwarnings("ignore")
def test_relevant_user_without_a_list_is_refused():
    frame, relevant = random_lists(np.random.default_rng(1), several=False)
    first_user = frame.loc[0, "user_id"]
    with pytest.raises(sm.InputError, match=f"user {first_user}"):
        sm.evaluate(frame[frame["user_id"] != first_user], METRICS, relevant=relevant)


@pytest.mark.filterwarnings("ignore")
def test_rows_of_users_may_alternate():
    """Scores fall from row to row, and the rows of three users alternate."""
    table = pd.DataFrame(
        {
            "user_id": [5, 3, 4, 3, 5, 4, 5, 3, 4],
            "item_id": [1, 2, 3, 4, 5, 6, 7, 8, 9],
            "score": np.arange(9.0, 0.0, -1.0),
        }
    )
    result = sm.Ranks.from_lists(table, {3: [4], 4: [3], 5: [7]}, complete=True)
    by_user = dict(zip(result.users, result.best_rank, strict=True))
    assert by_user == {3: 2, 4: 1, 5: 3}


@pytest.mark.filterwarnings("ignore")
def test_lists_hold_all_candidates_only_if_complete():
    lists = {"a": [1, 2, 3], "b": [4, 5, 6]}
    relevant = {"a": [2], "b": [4]}
    whole = sm.Ranks.from_lists(lists, relevant, complete=True)
    assert whole.n_candidates.tolist() == [3, 3]
    assert sm.evaluate(whole, "auc")[0].value == 0.75
    with pytest.raises(sm.InputError, match="auc"):
        sm.evaluate(sm.Ranks.from_lists(lists, relevant), "auc")


# Missing items and users


@pytest.mark.parametrize(
    ("lists", "metric", "of_u", "of_v"),
    [
        ({"u": [], "v": [1, 2]}, "recall@1", 0, 1),
        ({"u": [], "v": [1, 2]}, "ndcg@2", 0, 1),
        ({"v": [1, 2]}, "recall@1", 0, 1),
        ({"u": [2, 1], "v": [1]}, "recall@5", 1, 1),
        ({"u": [2], "v": [3, 1]}, "rr@5", 0, 1 / 2),
        ({"u": [2], "v": [3, 1]}, "ap@5", 0, 1 / 2),
        ({"u": [2], "v": [3, 1]}, "precision@5", 0, 1 / 5),
    ],
)
def test_missing_item_counts_as_not_found(lists, metric, of_u, of_v):
    relevant = {"u": [1], "v": [1]}
    (result,) = sm.evaluate(lists, metric, relevant=relevant, missing="last")
    assert result.value == pytest.approx((of_u + of_v) / 2)


@pytest.mark.parametrize("lists", [{"u": [], "v": [1, 2]}, {"v": [1, 2]}])
def test_user_without_a_list_is_refused_or_counted_as_missing(lists):
    relevant = {"u": [1], "v": [1]}
    assert "missing='last'" in refusal_message(sm.evaluate, lists, "recall@1", relevant=relevant)
    assert sm.Ranks.from_lists(lists, relevant, missing="last").n_missing == 1


def test_user_with_a_list_is_not_missing():
    lists, relevant = {"u": [2], "v": [3, 1]}, {"u": [1], "v": [1]}
    assert sm.Ranks.from_lists(lists, relevant, missing="last").n_missing == 0


def test_user_without_a_complete_list_finds_nothing():
    """Of the items x, y, z of all lists, y is the last one for user v."""
    lists, relevant = {"u": ["x", "y", "z"]}, {"u": ["x"], "v": ["y"]}
    results = sm.evaluate(
        lists, "recall@1, rr, auc", relevant=relevant, complete=True, missing="last"
    )
    assert values(results) == pytest.approx([1 / 2, (1 + 1 / 3) / 2, (1 + 0) / 2])


# Lists of 20 users, who all find item 1, and relevant items of 23.
LISTS_OF_20 = {user: [2, 1] for user in range(20)}
OF_23 = {"relevant": {user: [1] for user in range(23)}, "missing": "last"}


def test_users_without_a_list_are_counted_below_the_result():
    assert "3 users" in str(sm.evaluate(LISTS_OF_20, "recall@2", **OF_23))


def test_users_without_a_list_have_the_value_0():
    by_user = sm.values_by_user(LISTS_OF_20, "recall@2", **OF_23)["recall@2"]
    assert sorted(by_user) == [0] * 3 + [1] * 20


def test_users_without_a_list_are_compared():
    without_item_1 = {user: [4, 3] for user in range(23)}
    results = sm.compare({"A": LISTS_OF_20, "B": without_item_1}, "recall@2", **OF_23)
    assert (results[0].value_a, results[0].value_b) == (pytest.approx(20 / 23), 0)
    assert "3 users" in str(results)


def test_sampled_list_without_its_held_out_item_counts_it_last():
    """The list of user 0 lacks the held-out item, which therefore ranks below 9 negatives."""
    rows = [(user, item, -item) for user in range(3) for item in range(10)]
    lists = pd.DataFrame(rows, columns=["user_id", "item_id", "score"])
    lists = lists[(lists.user_id != 0) | (lists.item_id != 2)]
    lists.loc[len(rows)] = [0, 10, -10]
    relevant = {user: [2] for user in range(3)}
    options = {"n_items": 90, "shape": "none"}
    call = partial(sm.correct, lists, "recall@3", "sampled", relevant=relevant, **options)
    assert "missing='last'" in refusal_message(call)
    with warnings.catch_warnings(action="ignore"):
        ranks = call(missing="last")
    assert ranks[0].value == pytest.approx(2 / 3)
    assert "without" in str(ranks)


# Arrays and files of a retriever

RNG = np.random.default_rng(0)


PLACES = RNG.permuted(np.tile(np.arange(10), (N_USERS, 1)), axis=1)
SHUFFLED_ITEMS, SHUFFLED_SCORES = (
    np.take_along_axis(array, PLACES, axis=1) for array in (TOP_ITEMS, TOP_SCORES)
)
IN_ANY_ORDER = pytest.mark.parametrize(
    ("ids", "scores"),
    [(TOP_ITEMS, TOP_SCORES), (SHUFFLED_ITEMS, SHUFFLED_SCORES)],
    ids=["best first", "shuffled"],
)


@IN_ANY_ORDER
@pytest.mark.parametrize("kind", ["f8", "f4"])
@pytest.mark.parametrize("order", [1, -1], ids=["ids first", "scores first"])
def test_arrays_of_a_retriever_are_read(ids, scores, kind, order):
    """The scores decide the order of the items."""
    data = (ids, scores.astype(kind))[::order]
    value, _ = values_and_warnings(sm.evaluate, data, "hit@5", relevant=HELD_OUT)
    assert value == [pytest.approx(HIT_RATE)]


@IN_ANY_ORDER
@pytest.mark.filterwarnings("ignore:.*scores rise from one rank to the next")
def test_scores_of_top_k_decide_the_order(ids, scores):
    ranks = sm.Ranks.from_top_k(ids, HELD_OUT, scores=scores)
    value, _ = values_and_warnings(sm.evaluate, ranks, "hit@5")
    assert value == [pytest.approx(HIT_RATE)]


def test_minus_1_ends_a_list():
    """Item 2 is second of the first list, and item 0 is not in the second, which has one item."""
    ids, relevant = np.array([[4, 2, -1], [3, -1, -1]]), [2, 0]
    ranks = sm.Ranks.from_top_k(ids, relevant, missing="last")
    assert sm.evaluate(ranks, "recall@3")[0].value == (1 + 0) / 2
    assert ranks.n_missing == 0


def test_cut_off_below_a_list_that_ends_is_refused():
    ranks = sm.Ranks.from_top_k(np.array([[4, 2, -1], [3, -1, -1]]), [2, 0])
    assert "list" in refusal_message(sm.evaluate, ranks, "recall@3")


@pytest.mark.parametrize(
    "ids",
    [[[1, 2, 0, 4, 3, 5]], np.array([[7, 3, 9]]), TOP_ITEMS, TOP_ITEMS.tolist()],
)
def test_rows_of_ids_are_not_read_as_scores(ids):
    message = refusal_message(sm.evaluate, ids, "recall@2", relevant=[0] * len(ids))
    assert "Ranks.from_top_k" in message
    assert "convert them to float" in message
    as_floats = np.asarray(ids, float)
    ranks = sm.Ranks.from_scores(as_floats, [0] * len(ids))
    assert ranks.n_candidates[0] == as_floats.shape[1]


def test_ambiguous_pair_of_arrays_is_refused():
    for data in ((TOP_ITEMS, TOP_ITEMS), (TOP_ITEMS.astype(float), TOP_SCORES)):
        message = refusal_message(sm.evaluate, data, "hit@5", relevant=HELD_OUT)
        assert "Ranks.from_top_k" in message
        assert "Ranks.from_factors" in message


def test_file_without_header_is_not_read_as_qrels(tmp_path):
    path = tmp_path / "test.tsv"
    for times in (1, 881250949):
        rows = [(user, int(item), 5, times + user) for user, item in enumerate(HELD_OUT)]
        path.write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
        message = refusal_message(sm.evaluate, dict(enumerate(TOP_ITEMS.tolist())), relevant=path)
        assert "user_id" in message


JUDGED = "# judged\nq1 0 d1 1\nq1 0 d2 0\nq2 0 d3 1\n"


@pytest.mark.parametrize("comments", ["# one\n", "# one\n# two\n"])
def test_comment_lines_of_trec_eval_are_skipped(comments, tmp_path):
    """Of q1, d1 is second; of q2, d3 is first."""
    run = write_file(
        tmp_path, "run.txt",
        f"{comments}q1 Q0 d2 1 3.0 run\nq1 Q0 d1 2 2.0 run\nq2 Q0 d3 1 1.0 run\n",
    )  # fmt: skip
    qrels = write_file(tmp_path, "a.qrels", JUDGED)
    assert sm.evaluate(run, "rr@1", relevant=qrels)[0].value == (0 + 1) / 2


def test_comment_line_of_a_table_is_skipped(tmp_path):
    lists = write_file(tmp_path, "l.csv", "# lists\nuser_id,item_id\nq1,d1\nq2,d1\n")
    qrels = write_file(tmp_path, "a.qrels", JUDGED)
    assert sm.evaluate(lists, "rr@1", relevant=qrels)[0].value == (1 + 0) / 2


def test_ids_in_the_index_are_read():
    lists = SCORED_LISTS.set_index("user_id")
    by_column = sm.evaluate(SCORED_LISTS, "recall@1", relevant={0: [3], 1: [3]})
    by_index = sm.evaluate(lists, "recall@1", relevant={0: [3], 1: [3]})
    assert by_index[0] == by_column[0]


# Ids of relevant items beside lists

ID_ROWS = np.array([[3, 7, 10], [5, 8, 1]])


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
def test_relevant_array_beside_lists_holds_ids(relevant, metric, right):
    scores = np.array([[3.0, 2, 1]] * 2)
    table = pd.DataFrame({"user_id": [0, 1], "item_id": ID_ROWS.tolist()}).explode("item_id")
    for data in (
        (scores, ID_ROWS),
        (ID_ROWS, scores),
        dict(enumerate(ID_ROWS.tolist())),
        table.astype({"item_id": int}),
    ):
        results = sm.evaluate(data, metric, relevant=relevant)
        assert values(results) == pytest.approx([right])
    for users in (None, ["anna", "bert"]):
        ranks = sm.Ranks.from_top_k(ID_ROWS, relevant, users=users)
        assert values(sm.evaluate(ranks, metric)) == pytest.approx([right])


def test_relevant_array_beside_lists_may_be_in_a_file(tmp_path):
    np.save(tmp_path / "held.npy", np.array([[7, 9], [8, -1]]))
    data = np.array([[3.0, 2, 1]] * 2), ID_ROWS
    results = sm.evaluate(data, "recall@3", relevant=tmp_path / "held.npy")
    assert values(results) == pytest.approx([(1 / 2 + 1) / 2])


def test_many_ids_of_neighbours_are_read():
    rng = np.random.default_rng(0)
    ids = np.array([rng.permutation(1682)[:10] for _ in range(300)])
    new_ids = rng.integers(2000, 9000, (300, 4))
    true = rng.permuted(np.column_stack([ids[:, :3], new_ids]), axis=1)[:, :5]
    is_listed = (true[:, :, None] == ids[:, None, :]).any(axis=2)
    for relevant, right in (
        (true, is_listed.mean()),
        (true[:, :1], is_listed[:, 0].mean()),
        (true[:, 0], is_listed[:, 0].mean()),
        (true[:, 0].tolist(), is_listed[:, 0].mean()),
    ):
        results = sm.evaluate(sm.Ranks.from_top_k(ids, relevant), "recall@10")
        assert values(results) == pytest.approx([right])


def test_seen_ids_beside_lists_are_read():
    seen = np.array([[3, 2], [8, -1]])
    ranks = sm.Ranks.from_top_k(ID_ROWS, np.array([[7], [1]]), seen=seen)
    assert ranks.best_rank.tolist() == [1, 2]


@pytest.mark.parametrize(
    "relevant",
    [
        np.array([[7, 5]]),  # transposed
        np.array([[7], [5], [1]]),
        np.array([[7, 0, 0], [5, 0, 0]]),  # filled up with item 0
        [[7, 0, 0], [5, 0, 0]],
        np.eye(2, 11, dtype=int),  # marks of items
        np.array([[7.0, 9.0], [8.0, 5.0]]),
        np.zeros((2, 2, 2), int),
    ],
)
def test_wrong_array_beside_lists_is_refused(relevant):
    with pytest.raises(sm.InputError, match="csr_array"):
        sm.Ranks.from_top_k(ID_ROWS, relevant)


TEXT_IDS = [["a", "b", "c"], ["c", "d", "a"]], [["b"], ["x", "c"]]
MARKS = np.zeros((2, 11), int)
MARKS[[0, 0, 1, 1], [7, 9, 8, 5]] = [1, 3, 1, 1]


@pytest.mark.parametrize(
    ("ids", "relevant", "metric", "value"),
    [
        pytest.param([[1, 2, 0, 4, 3, 5]], [[0, 3]], "recall@2", 0, id="none found"),
        pytest.param([[1, 2, 0, 4, 3, 5]], [[0, 2]], "recall@2", 0.5, id="one found"),
        pytest.param(ID_ROWS, csr_array(MARKS), "recall@3", 0.75, id="sparse marks"),
        pytest.param(ID_ROWS, MARKS > 0, "recall@3", 0.75, id="true marks"),
        pytest.param(*TEXT_IDS, "mrr@3", 0.75, id="texts"),
        pytest.param(*TEXT_IDS, "recall@3", 0.75, id="texts, two items"),
    ],
)
def test_rows_of_ids_best_first_are_read(ids, relevant, metric, value):
    ranks = sm.Ranks.from_top_k(ids, relevant)
    assert values(sm.evaluate(ranks, metric)) == [value]


@pytest.mark.parametrize("users", [["anna", "bert"], [1, 2], [0, 2]])
def test_rows_without_ids_beside_named_users_are_refused(users):
    lists = dict(zip(users, ID_ROWS.tolist(), strict=True))
    for missing in ("refuse", "last"):
        with pytest.raises(sm.InputError, match="relevant has 2 rows"):
            sm.evaluate(lists, "hit@3", relevant=[[7], [5]], missing=missing)
    relevant = dict(zip(users, [[7], [5]], strict=True))
    assert values(sm.evaluate(lists, "rr@3", relevant=relevant)) == [0.75]


def test_lists_of_texts_without_a_name_are_refused():
    ids, relevant = TEXT_IDS
    with pytest.raises(sm.InputError, match="from_top_k"):
        sm.evaluate(ids, "mrr@3", relevant=relevant)
