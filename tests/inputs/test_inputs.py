"""Every kind of full ranking, list and matrix of scores that is read, by hand."""

import gzip

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, save_npz

import sampled_metrics as sm
from sampled_metrics.inputs.items import items_by_id
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.data import as_ranks
from tests.helpers.caught_warnings import warns_about
from tests.helpers.files import join_rows, rank_counts, write_file

# Records of two users. Anna has two relevant items, in rows 1 and 3.
RECORDS = [
    ("user_id", "n_candidates", "n_better", "n_tied"),
    ("anna", 9, 4, 0),
    ("bert", 7, 0, 2),
    ("anna", 9, 1, 0),
]
OF_RECORDS = ([2, 1], [1, 4, 0], [0, 0, 2], [2, 1], [9, 7], [9, 7])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.csv", join_rows(RECORDS)),
        ("r.tsv", join_rows(RECORDS, "\t")),
        ("r.csv", "\ufeff" + join_rows(RECORDS, end="\r\n")),
        ("r.csv", join_rows(RECORDS).replace("anna", '"anna"').replace("9", "9.0")),
        ("r.inter", join_rows(RECORDS, "\t").replace("user_id", "user_id:token", 1)),
    ],
)
def test_records_as_text(tmp_path, name, text):
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(text.encode()))
    paths = [write_file(tmp_path, name, text), tmp_path / "r.csv.gz"]
    for ranks in map(as_ranks, paths):
        assert (rank_counts(ranks), ranks.users.tolist()) == (
            OF_RECORDS,
            ["anna", "bert"],
        )


def test_records_as_parquet(tmp_path):
    frame = pd.DataFrame(RECORDS[1:], columns=RECORDS[0])
    types = {"user_id": "category", "n_better": "float32", "n_tied": "uint8"}
    for each in (frame, frame.astype(types)):
        each.to_parquet(tmp_path / "r.parquet")
        ranks = as_ranks(tmp_path / "r.parquet")
        assert (rank_counts(ranks), ranks.users.tolist()) == (
            OF_RECORDS,
            ["anna", "bert"],
        )


def test_ranks_without_ties(tmp_path):
    path = write_file(tmp_path, "r.csv", "rank\n1\n40\n7\n")
    every = ([1] * 3, [0, 39, 6], [0] * 3, [1] * 3, [40] * 3, [40] * 3)
    assert rank_counts(as_ranks(path, n_items=40)) == every
    text = "user_id,item_id,rank,n_candidates\n5,8,2,3\n4,8,2,9\n4,7,1,9\n"
    ranks = as_ranks(write_file(tmp_path, "r.csv", text))
    assert ranks.users.tolist() == [5, 4]
    assert rank_counts(ranks) == (
        [1, 2],
        [1, 0, 1],
        [0, 0, 0],
        [1, 2],
        [3, 9],
        [3, 9],
    )


# User 1 likes items 10, 11 and 12, of which the list of three has 12 first and 10 third.
# User 2 likes item 10, which its list of two has not. User 3 likes nothing and is left out.
RELEVANT = "user_id,item_id\n2,10\n1,10\n1,11\n1,12\n"
LISTED = ([0, 2], [0, 2], [0, 0], [1, 3], [0, 0], [2, 3])
LISTS = [
    ("user_id", "item_id", "score", "rank"),
    (1, 10, 0.5, 3),
    (3, 10, 0.5, 1),
    (1, 12, 0.9, 1),
    (2, 11, 7.0, 1),
    (2, 12, 6.0, 2),
    (1, 99, 0.7, 2),
]


@pytest.mark.parametrize("places", [(0, 1, 2, 3), (0, 1, 3), (0, 1, 2)])
@pytest.mark.parametrize("n_items", [None, 50])
def test_lists_by_rank_or_score(tmp_path, places, n_items):
    text = join_rows([[row[place] for place in places] for row in LISTS])
    path, relevant = (
        write_file(tmp_path, "r.csv", text),
        write_file(tmp_path, "t.csv", RELEVANT),
    )
    ranks = as_ranks(path, relevant=relevant, n_items=n_items)
    assert rank_counts(ranks) == (*LISTED[:4], [n_items or 0] * 2, LISTED[5])
    assert ranks.users.tolist() == [2, 1]
    path = write_file(
        tmp_path, "r.inter", text.replace(",", "\t").replace("_id", "_id:token")
    )
    assert rank_counts(as_ranks(path, relevant=relevant)) == LISTED


def test_rank_decides_where_scores_are_there_too(tmp_path):
    # The scores are the other way round, as distances are.
    path = write_file(
        tmp_path, "r.csv", "user_id,item_id,score,rank\n1,10,0.1,1\n1,11,0.2,2\n"
    )
    relevant = write_file(tmp_path, "t.csv", "user_id,item_id\n1,10\n")
    assert as_ranks(path, relevant=relevant).n_better == [0]
    # integers that no float holds are compared as they are
    scores = pd.DataFrame(
        {"user_id": 1, "item_id": [10, 2, 3], "score": [2**62, 2**62 + 1, 2**62]}
    )
    ranks = as_ranks(
        write_file(tmp_path, "s.csv", scores.to_csv(index=False)), relevant=relevant
    )
    assert (ranks.n_better.tolist(), ranks.n_tied.tolist()) == ([1], [1])


def test_lists_with_tied_scores(tmp_path):
    # Scores of u: b 3, a and c and d 2, e 1. Of v: a 5 and b 5. Item z is in no list.
    scores = (
        "user_id,item_id,score\nu,a,2\nu,b,3\nv,a,5\nu,c,2\nu,e,1\nu,d,2\nv,b,5\n"
    )
    relevant = write_file(
        tmp_path, "t.tsv", "user_id\titem_id\nu\tc\nu\te\nu\tb\nv\ta\nu\tz\n"
    )
    ranks = as_ranks(write_file(tmp_path, "s.csv", scores), relevant=relevant)
    assert rank_counts(ranks) == (
        [3, 1],
        [0, 1, 4, 0],
        [0, 2, 0, 1],
        [4, 1],
        [0, 0],
        [5, 2],
    )


def test_ids_are_the_same_in_whatever_type(tmp_path):
    # Whole numbers in one file meet text in the other, where one id makes the column text.
    path = write_file(
        tmp_path, "r.csv", "user_id,item_id,rank\n1,10,1\n1,x,2\n1,010,3\n"
    )
    for items, n_better in ((["10", "x"], [0, 1]), (["010", "y"], [2])):
        relevant = pd.DataFrame({"user_id": [1.0, 1.0], "item_id": items})
        assert as_ranks(path, relevant=relevant).n_better.tolist() == n_better


RUN = """\
q2 Q0 d1 1 0.5 tag
q1 Q0 d1 1 3.0 tag
q1 Q0 d2 2 2.0 tag
q1 Q0 d3 3 2.0 tag
q1 Q0 d4 4 9e0 tag
"""
QRELS = "q1 0 d2 1\nq1 0 d4 1\nq1 0 d1 0\nq1 0 d9 1\nq2 0 d1 -1\nq2 0 d2 1\n"
# q1 by score: d4 9, d1 3, d2 and d3 2. Relevant are d2, d4 and d9, which is not retrieved.
OF_RUN = ([2, 0], [0, 2], [0, 1], [3, 1], [0, 0], [4, 1])


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("a.run", RUN),
        ("a.txt", RUN.replace(" ", "  ").replace("\n", " \r\n")),
        ("results", RUN.replace("q1 Q0 d1 1", "q1 Q0 d1 77")),
    ],
)
def test_trec_run(tmp_path, name, run):
    path, qrels = (
        write_file(tmp_path, name, run),
        write_file(tmp_path, "qrels.txt", QRELS),
    )
    table = write_file(
        tmp_path, "t.csv", "user_id,item_id,day\nq1,d2,1\nq1,d4,2\nq1,d9,3\nq2,d2,1\n"
    )
    for relevant in (qrels, table):
        ranks = as_ranks(path, relevant=relevant)
        assert (rank_counts(ranks), ranks.users.tolist()) == (OF_RUN, ["q1", "q2"])


@pytest.mark.parametrize(
    "line",
    [
        "q1 Q0 d7 1 12.5 bm25 x",
        "q1 Q0 d7 first 12.5 b",
        "q1 Q0 d7 1 high b",
        "q1 0 d7 1",
    ],
)
def test_first_line_that_is_of_no_run(tmp_path, line):
    with pytest.raises(sm.InputError, match=r"file.txt: (not|found)"):
        as_ranks(write_file(tmp_path, "file.txt", line))


@pytest.mark.parametrize(
    "header",
    [
        "user,item",
        "userId,movieId",
        "UserID,ItemID",
        "uid,iid",
        "user_id:token,item_id",
    ],
)
def test_names_of_other_libraries(header, tmp_path):
    path = write_file(tmp_path, "t.csv", f"{header},day\n7,3,5\n8,4,1\n")
    frame = pd.read_csv(path)
    frame.to_parquet(tmp_path / "t.parquet")
    for data in (path, frame, tmp_path / "t.parquet"):
        pairs = items_by_id(data, "relevant")
        assert (pairs.user_ids.to_pylist(), pairs.item_ids.to_pylist()) == (
            [7, 8],
            [3, 4],
        )


def test_own_names_come_first_and_relevance_above_0(tmp_path):
    path = write_file(
        tmp_path,
        "t.csv",
        "user,user_id,item_id,relevance\n1,2,3,0.5\n1,9,3,0\n1,8,3,-1\n",
    )
    with warns_about("not column user"):
        relevant = items_by_id(path, "relevant")
    assert (relevant.user_ids.to_pylist(), relevant.relevance.tolist()) == (
        [2],
        [0.5],
    )
    with pytest.raises(sm.InputError, match="column user_id"):
        items_by_id(
            write_file(tmp_path, "t.csv", "user,uid,item_id\n1,2,3\n"), "relevant"
        )


# User 0 has seen item 0 and likes 2, tied with 3 and 4, below 1.
# User 1 has seen 1 and 3 and likes 4, below 0; item 2 is masked.
SCORES = np.array([[9, 7, 5, 5, 5], [3, 8, -np.inf, 2, 2]])
SEEN = np.array([[1, 0, 0, 0, 0], [0, 1, 0, 1, 0]], dtype=bool)
OF_SCORES = ([1, 1], [1, 1], [2, 0], [1, 1], [4, 2], [4, 2])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_score_matrix(tmp_path, dtype):
    np.save(tmp_path / "c.npy", SCORES.astype(dtype))
    np.save(tmp_path / "f.npy", np.asarray(SCORES, dtype=dtype, order="F"))
    np.savez(tmp_path / "s.npz", scores=SCORES.astype(dtype))
    save_npz(tmp_path / "seen.npz", csr_array(SEEN))
    np.save(tmp_path / "seen.npy", SEEN)
    write_file(tmp_path, "seen.csv", "user_id,item_id\n0,0\n1,1\n1,3\n1,1\n")
    np.save(tmp_path / "held.npy", np.array([2, 4], dtype=np.int32))
    write_file(
        tmp_path, "held.csv", "user_id,item_id,relevance\n1,4,1\n0,2,1\n0,3,0\n"
    )
    write_file(tmp_path, "held.qrels", "0 0 2 1\n1 0 4 1\n")
    for scores in ("c.npy", "f.npy", "s.npz"):
        for seen in ("seen.npz", "seen.npy", "seen.csv"):
            for held in ("held.npy", "held.csv", "held.qrels"):
                files = {"relevant": tmp_path / held, "seen": tmp_path / seen}
                ranks = as_ranks(tmp_path / scores, n_items=5, **files)
                assert (rank_counts(ranks), ranks.users.tolist()) == (
                    OF_SCORES,
                    [0, 1],
                )


def test_ids_of_a_matrix_and_sparse_relevant_items(tmp_path):
    scores = np.array([[0.3, 0.9, 0.1], [0.2, 0.4, 0.8]])
    np.savez(
        tmp_path / "s.npz", scores=scores, user_ids=["u", "v"], item_ids=[10, 20, 30]
    )
    held = write_file(tmp_path, "held.csv", "user_id,item_id\nv,20\nu,10\n")
    seen = write_file(tmp_path, "seen.csv", "user_id,item_id\nu,20\nu,20\n")
    ranks = as_ranks(tmp_path / "s.npz", relevant=held)
    assert (ranks.users.tolist(), ranks.best_rank.tolist()) == (["u", "v"], [2, 2])
    ranks = as_ranks(tmp_path / "s.npz", relevant=held, seen=seen)
    assert (ranks.best_rank.tolist(), ranks.n_candidates.tolist()) == ([1, 2], [2, 3])
    save_npz(tmp_path / "held.npz", csr_array([[0, 5, 1], [2, 0, 0]]))
    ranks = as_ranks(tmp_path / "s.npz", relevant=tmp_path / "held.npz")
    assert ranks.best_rank.tolist() == [1, 3, 3]


def test_matrix_and_table_of_scores_agree_with_comparing_one_by_one(tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 9, (20, 15)).astype(float)
    places = rng.permutation(list(np.ndindex(scores.shape)))
    rows = [(u, i, scores[u, i]) for u, i in places]
    table = write_file(tmp_path, "s.csv", "user_id,item_id,score\n" + join_rows(rows))
    np.save(tmp_path / "s.npy", scores)
    pairs = np.argwhere(rng.random(scores.shape) < 0.15)
    text = "user_id,item_id\n" + join_rows(pairs)
    relevant, expected = write_file(tmp_path, "t.csv", text), []
    for user, item in sorted(map(tuple, pairs), key=lambda p: (p[0], -scores[*p])):
        own = scores[user, item]
        expected.append(((scores[user] > own).sum(), (scores[user] == own).sum() - 1))
    for data, options in ((tmp_path / "s.npy", {}), (table, {"n_items": 15})):
        with warns_about("15 items"):
            ranks = as_ranks(data, relevant=relevant, **options)
        assert ranks.users.tolist() == sorted(set(pairs[:, 0]))
        assert list(zip(ranks.n_better, ranks.n_tied, strict=True)) == expected


@pytest.fixture(scope="module")
def study():
    """Scores of 30 users and 60 items, seen items, which score high, and held-out ones."""
    rng = np.random.default_rng(0)
    scores, held_out = rng.normal(size=(30, 60)), rng.integers(60, size=30)
    seen = (rng.random(scores.shape) < 0.2) & ~np.equal.outer(held_out, np.arange(60))
    scores[np.arange(30), held_out] += 1.5
    scores[seen] += 2.0
    user, item = np.nonzero(np.ones_like(seen))
    table = pd.DataFrame({"user_id": user, "item_id": item, "score": scores.ravel()})
    filtered = table[~seen.ravel()].sort_values(
        ["user_id", "score"], ascending=[True, False]
    )
    filtered = filtered.assign(rank=filtered.groupby("user_id").cumcount() + 1)
    user, item = np.nonzero(seen)
    own = scores[np.arange(30), held_out]
    others = (~seen).sum(axis=1) - 1
    better = np.sum((scores > own[:, None]) & ~seen, axis=1)
    return {
        "scores": table.sample(frac=1, random_state=0),
        "filtered": filtered.drop(columns="score"),
        "relevant": pd.DataFrame({"user_id": range(30), "item_id": held_out}),
        # an event may be there twice, and users without a held-out item too
        "seen": pd.DataFrame(
            {"user_id": [*user, *user[:9], 999], "item_id": [*item, *item[:9], 7]}
        ),
        "exact": {
            "recall@10": np.mean(better < 10),
            "auc": np.mean(1 - better / others),
        },
    }


def found(data, metrics="recall@10,auc", **options):
    return {
        result.metric: result.value
        for result in sm.evaluate(data, metrics, **options)
    }


def test_seen_items_and_complete_lists(study):
    exact = study["exact"]
    relevant, seen = study["relevant"], study["seen"]
    values = found(study["scores"], complete=True, relevant=relevant, seen=seen)
    assert values == pytest.approx(exact, rel=1e-14)
    values = found(study["filtered"], complete=True, relevant=relevant)
    assert values == pytest.approx(exact, rel=1e-14)
    with warns_about("30 users"):
        assert found(study["scores"], "recall@10", relevant=relevant) != exact
    assert (
        found(study["filtered"], relevant=relevant, n_items=60)["auc"] > exact["auc"]
    )
    with pytest.raises(sm.InputError, match="user 0"):
        found(study["filtered"], relevant=relevant, seen=relevant)


@pytest.mark.filterwarnings("ignore:.*have the same ranks")
def test_cut_lists_give_the_metrics_that_they_know(study):
    top, relevant = (
        study["filtered"][study["filtered"]["rank"] <= 10],
        study["relevant"],
    )
    with warns_about("skipped: a") as caught:
        values = found(top, "recall@10,ap,ndcg@5,auc", relevant=relevant)
    assert list(values) == ["recall@10", "ndcg@5"]
    assert values["recall@10"] == study["exact"]["recall@10"]
    assert ["use ap@10" in text for text in caught] == [True, False]
    with warns_about("skipped: auc"):
        compared = sm.compare({"a": top, "b": top}, "hr@10,auc", relevant=relevant)
    assert [result.metric for result in compared] == ["hr@10"]
    with warns_about("skipped: auc"):
        evaluated = sm.evaluate(top, "hr@10,auc", relevant=relevant)
    for results in (compared, evaluated):
        note = results.notes[-1]
        assert note.startswith("metrics: skipped: auc needs n_candidates")
        assert note in " ".join(str(results).split())
    with pytest.raises(sm.InputError, match="n_candidates"):
        found(top, "auc", relevant=relevant)
    with pytest.raises(sm.InputError, match="not --complete"):
        found(top, relevant=relevant, complete=True)


def test_values_by_user():
    table = sm.values_by_user(
        Ranks([5, 5], [1, 0], [0, 0], users=["u", "v"]), "hr@1,MRR"
    )
    assert table["hr@1"].to_dict() == {"u": 0, "v": 1}
    assert table["MRR"].to_dict() == {"u": 0.5, "v": 1}
