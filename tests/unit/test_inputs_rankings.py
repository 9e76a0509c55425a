"""Every kind of file that Ranks.read takes, by hand."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array, save_npz

from sampled_metrics._base.errors import InputError, InputWarning
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.relevant_items import read_relevant
from sampled_metrics.ranks.trec import QRELS as QRELS_FORMAT
from sampled_metrics.ranks.trec import RUN as RUN_FORMAT

COLUMNS = ("n_found", "n_better", "n_tied", "n_relevant", "n_candidates", "depth")


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def arrays(ranks):
    return {name: getattr(ranks, name).tolist() for name in COLUMNS}


# Records of two users. Anna has two relevant items, in rows 1 and 3.
RECORDS = [
    ("user_id", "n_candidates", "n_better", "n_tied"),
    ("anna", 9, 4, 0),
    ("bert", 7, 0, 2),
    ("anna", 9, 1, 0),
]
OF_RECORDS = {
    "n_found": [2, 1],
    "n_better": [1, 4, 0],
    "n_tied": [0, 0, 2],
    "n_relevant": [2, 1],
    "n_candidates": [9, 7],
    "depth": [9, 7],
}


def joined(rows, delimiter=",", end="\n"):
    return "".join(delimiter.join(map(str, row)) + end for row in rows)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.csv", joined(RECORDS)),
        ("r.tsv", joined(RECORDS, "\t")),
        ("r.csv", joined(RECORDS, end="\r\n")),
        ("r.csv", "\ufeff" + joined(RECORDS)),
        ("r.csv", joined(RECORDS).rstrip("\n")),
        ("r.csv", "\n" + joined(RECORDS, end="\n\n")),
        ("r.csv", joined([(*row, "more") for row in RECORDS])),
        ("r.csv", joined(RECORDS).replace("anna", '"anna"').replace("9", "9.0")),
        ("r.inter", joined(RECORDS, "\t").replace("user_id", "user_id:token", 1)),
        ("r.txt", joined(RECORDS)),
    ],
)
def test_records_as_text(tmp_path, name, text):
    ranking = Ranks.read(write(tmp_path, name, text))
    assert arrays(ranking) == OF_RECORDS
    assert ranking.users.tolist() == ["anna", "bert"]


def test_records_as_parquet_and_compressed(tmp_path):
    frame = pd.DataFrame(RECORDS[1:], columns=RECORDS[0])
    frame.to_parquet(tmp_path / "r.parquet", index=False)
    frame.astype({"user_id": "category", "n_better": "float32", "n_tied": "uint8"}).to_parquet(
        tmp_path / "typed.parquet"
    )
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(joined(RECORDS).encode()))
    for name in ("r.parquet", "typed.parquet", "r.csv.gz"):
        ranking = Ranks.read(tmp_path / name)
        assert arrays(ranking) == OF_RECORDS
        assert ranking.users.tolist() == ["anna", "bert"]


def test_records_without_users(tmp_path):
    ranking = Ranks.read(write(tmp_path, "r.csv", "n_candidates,n_better,n_tied\n5,0,4\n9,2,0\n"))
    assert ranking.users is None
    records = ranking.single()
    assert records.n_candidates.tolist() == [5, 9]
    assert records.n_tied.tolist() == [4, 0]


@given(
    st.lists(
        st.integers(2, 10**6).flatmap(
            lambda n: st.integers(0, n - 1).flatmap(
                lambda b: st.tuples(st.just(n), st.just(b), st.integers(0, n - 1 - b))
            )
        ),
        min_size=1,
        max_size=20,
    )
)
def test_records_come_back_as_written(tmp_path_factory, rows):
    records = Ranks(*np.array(rows).T)
    path = tmp_path_factory.mktemp("records") / "r.parquet"
    user = np.arange(len(rows))[::-1] + 7
    records.replace(users=user, source="test").write(path)
    text = joined([("user_id", "n_candidates", "n_better", "n_tied")])
    text += joined([(u, *row) for u, row in zip(user, rows, strict=True)])
    for file in (path, write(path.parent, "r.csv", text)):
        ranking = Ranks.read(file)
        assert ranking.users.tolist() == user.tolist()
        assert arrays(ranking) == arrays(records)


def test_plain_ranks(tmp_path):
    path = write(tmp_path, "ranks.csv", "rank\n1\n40\n7\n")
    ranking = Ranks.read(path, n_items=40)
    assert arrays(ranking) == {
        "n_found": [1, 1, 1],
        "n_better": [0, 39, 6],
        "n_tied": [0, 0, 0],
        "n_relevant": [1, 1, 1],
        "n_candidates": [40, 40, 40],
        "depth": [40, 40, 40],
    }
    path = write(
        tmp_path, "own.csv", "user_id,item_id,rank,n_candidates\n5,8,2,3\n4,8,2,9\n4,7,1,9\n"
    )
    with pytest.raises(InputError, match=r"found n_candidates 3 to 9, but n_items .* is 40"):
        Ranks.read(path, n_items=40)
    ranking = Ranks.read(path)
    assert ranking.users.tolist() == [5, 4]
    assert arrays(ranking) == {
        "n_found": [1, 2],
        "n_better": [1, 0, 1],
        "n_tied": [0, 0, 0],
        "n_relevant": [1, 2],
        "n_candidates": [3, 9],
        "depth": [3, 9],
    }


# User 1 likes items 10, 11 and 12, of which the list of three has 12 first and 10 third.
# User 2 likes item 10, which its list of two has not. User 3 likes nothing and is left out.
RELEVANT = "user_id,item_id\n2,10\n1,10\n1,11\n1,12\n"
LISTED = {
    "n_found": [0, 2],
    "n_better": [0, 2],
    "n_tied": [0, 0],
    "n_relevant": [1, 3],
    "n_candidates": [0, 0],
    "depth": [2, 3],
}
RECO = [
    ("user_id", "item_id", "score", "rank"),
    (1, 10, 0.5, 3),
    (3, 10, 0.5, 1),
    (1, 12, 0.9, 1),
    (2, 11, 7.0, 1),
    (2, 12, 6.0, 2),
    (1, 99, 0.7, 2),
]


@pytest.mark.parametrize("kept", [(0, 1, 2, 3), (0, 1, 3), (0, 1, 2)])
def test_lists_by_rank_or_score(tmp_path, kept):
    path = write(tmp_path, "reco.csv", joined([[row[i] for i in kept] for row in RECO]))
    ranking = Ranks.read(path, relevant=write(tmp_path, "relevant.csv", RELEVANT))
    assert arrays(ranking) == LISTED
    assert ranking.users.tolist() == [2, 1]


def test_list_length_is_the_number_of_candidates_where_it_is_said(tmp_path):
    path, relevant = write(tmp_path, "r.csv", joined(RECO)), write(tmp_path, "t.csv", RELEVANT)
    ranks = Ranks.read(path, relevant=relevant, n_items=50)
    assert arrays(ranks) == {**LISTED, "n_candidates": [50, 50]}


def test_rank_decides_where_scores_are_there_too(tmp_path):
    # The scores are the other way round, as distances are.
    reco = "user_id,item_id,score,rank\n1,10,0.1,1\n1,11,0.2,2\n"
    relevant = write(tmp_path, "t.csv", "user_id,item_id\n1,10\n")
    assert Ranks.read(write(tmp_path, "r.csv", reco), relevant=relevant).n_better == [0]


def test_lists_with_tied_scores(tmp_path):
    # Scores of u: b 3, a and c and d 2, e 1. Of v: a 5 and b 5.
    scores = "user_id,item_id,score\nu,a,2\nu,b,3\nv,a,5\nu,c,2\nu,e,1\nu,d,2\nv,b,5\n"
    relevant = write(tmp_path, "t.tsv", "user_id\titem_id\nu\tc\nu\te\nu\tb\nv\ta\nu\tz\n")
    ranks = Ranks.read(write(tmp_path, "s.csv", scores), relevant=relevant)
    assert arrays(ranks) == {
        "n_found": [3, 1],
        "n_better": [0, 1, 4, 0],
        "n_tied": [0, 2, 0, 1],
        "n_relevant": [4, 1],
        "n_candidates": [0, 0],
        "depth": [5, 2],
    }


def test_score_table_of_recbole(tmp_path):
    text = (
        "user_id:token\titem_id:token\tscore:float\n1\t10\t0.5\n1\t12\t0.9\n1\t99\t0.7\n2\t3\t1\n"
    )
    relevant = write(
        tmp_path, "test.inter", RELEVANT.replace(",", "\t").replace("_id", "_id:token")
    )
    ranks = Ranks.read(write(tmp_path, "topk.inter", text), relevant=relevant)
    assert arrays(ranks) == {**LISTED, "depth": [1, 3]}


def test_ids_are_the_same_in_whatever_type(tmp_path):
    # Whole numbers in one file meet text in the other, where one id makes the column text.
    reco = write(tmp_path, "r.csv", "user_id,item_id,rank\n1,10,1\n1,x,2\n1,010,3\n")
    frame = pd.DataFrame({"user_id": [1.0, 1.0], "item_id": ["10", "x"]})
    frame.to_parquet(tmp_path / "t.parquet")
    ranks = Ranks.read(reco, relevant=tmp_path / "t.parquet")
    assert ranks.n_better.tolist() == [0, 1]
    frame.assign(item_id=["010", "y"]).to_parquet(tmp_path / "t.parquet")
    assert Ranks.read(reco, relevant=tmp_path / "t.parquet").n_better.tolist() == [2]


RUN = """\
q2 Q0 d1 1 0.5 tag
q1 Q0 d1 1 3.0 tag
q1 Q0 d2 2 2.0 tag
q1 Q0 d3 3 2.0 tag
q1 Q0 d4 4 9e0 tag
"""
QRELS = "q1 0 d2 1\nq1 0 d4 2\nq1 0 d1 0\nq1 0 d9 1\nq2 0 d1 -1\nq2 0 d2 1\n"
# q1 by score: d4 9, d1 3, d2 and d3 2. Relevant are d2, d4 and d9, which is not retrieved.
OF_RUN = {
    "n_found": [2, 0],
    "n_better": [0, 2],
    "n_tied": [0, 1],
    "n_relevant": [3, 1],
    "n_candidates": [0, 0],
    "depth": [4, 1],
}


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("a.run", RUN),
        ("a.trec", RUN.replace(" ", "\t")),
        ("a.txt", RUN.replace(" ", "  ").replace("\n", " \r\n")),
        ("results", RUN.replace("q1 Q0 d1 1", "q1 Q0 d1 77")),
    ],
)
def test_trec_run(tmp_path, name, run):
    qrels = write(tmp_path, "qrels.txt", QRELS)
    ranking = Ranks.read(write(tmp_path, name, run), relevant=qrels)
    assert arrays(ranking) == OF_RUN
    assert ranking.users.tolist() == ["q1", "q2"]


@pytest.mark.parametrize(
    ("line", "run", "qrels"),
    [
        ("q1 Q0 d7 1 12.5 bm25", True, False),
        ("q1 Q0 d7 1 12.5 bm25 more", False, False),
        ("q1 Q0 d7 first 12.5 bm25", False, False),
        ("q1 Q0 d7 1 high bm25", False, False),
        ("q1 0 d7 1", False, True),
        ("q1 0 d7 1 more", False, False),
        ("q1 0 d7 yes", False, False),
        ("", False, False),
    ],
)
def test_files_of_trec_are_known_by_their_first_line(line, run, qrels):
    assert (RUN_FORMAT.fits(line), QRELS_FORMAT.fits(line)) == (run, qrels)


def test_trec_run_and_a_table_of_relevant_items(tmp_path):
    table = write(tmp_path, "t.csv", "user_id,item_id,rating\nq1,d2,1\nq1,d4,0\nq1,d9,3\nq2,d2,1\n")
    assert arrays(Ranks.read(write(tmp_path, "a.run", RUN), relevant=table)) == OF_RUN


def test_relevant_items(tmp_path):
    with_zero = write(tmp_path, "t.csv", "user_id,item_id,relevance\n1,7,0\n1,8,0.5\n2,7,-1\n")
    relevant = read_relevant(with_zero)
    assert (relevant.user_ids.to_pylist(), relevant.item_ids.to_pylist()) == ([1], [8])
    assert len(read_relevant(write(tmp_path, "a.qrels", QRELS)).user) == 4


# User 0 has seen item 0 and likes 2, tied with 3 and 4, below 1.
# User 1 has seen 1 and 3 and likes 4, below 0; item 2 is masked.
SCORES = np.array([[9, 7, 5, 5, 5], [3, 8, -np.inf, 2, 2]])
SEEN = np.array([[1, 0, 0, 0, 0], [0, 1, 0, 1, 0]], dtype=bool)
OF_SCORES = {
    "n_found": [1, 1],
    "n_better": [1, 1],
    "n_tied": [2, 0],
    "n_relevant": [1, 1],
    "n_candidates": [4, 2],
    "depth": [4, 2],
}


def seen_files(folder):
    save_npz(folder / "seen.npz", csr_array(SEEN))
    np.save(folder / "seen.npy", SEEN)
    write(folder, "seen.csv", "user_id,item_id\n0,0\n1,1\n1,3\n1,1\n")
    return [folder / f"seen.{suffix}" for suffix in ("npz", "npy", "csv")]


def relevant_files(folder):
    np.save(folder / "relevant.npy", np.array([2, 4], dtype=np.int32))
    write(folder, "relevant.csv", "user_id,item_id,relevance\n1,4,1\n0,2,1\n0,3,0\n")
    write(folder, "relevant.qrels", "0 0 2 1\n1 0 4 1\n")
    return [folder / f"relevant.{suffix}" for suffix in ("npy", "csv", "qrels")]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("order", ["C", "F"])
def test_score_matrix(tmp_path, dtype, order):
    np.save(tmp_path / "scores.npy", np.asarray(SCORES, dtype=dtype, order=order))
    np.savez(tmp_path / "scores.npz", scores=SCORES.astype(dtype))
    for path in (tmp_path / "scores.npy", tmp_path / "scores.npz"):
        for seen in seen_files(tmp_path):
            for relevant in relevant_files(tmp_path):
                ranking = Ranks.read(path, relevant=relevant, seen=seen, n_items=5)
                assert arrays(ranking) == OF_SCORES
                assert ranking.users.tolist() == [0, 1]


def test_score_matrix_with_all_in_one_file(tmp_path):
    triple = csr_array(SEEN)
    held_out = np.array([2, 4])
    np.savez(tmp_path / "bool.npz", scores=SCORES, held_out=held_out, seen=SEEN)
    np.savez(
        tmp_path / "triple.npz",
        scores=SCORES,
        held_out=held_out,
        seen_indptr=triple.indptr,
        seen_indices=triple.indices,
    )
    for name in ("bool.npz", "triple.npz"):
        assert arrays(Ranks.read(tmp_path / name)) == OF_SCORES


@pytest.mark.parametrize("seed", range(3))
def test_score_matrix_agrees_with_comparing_one_by_one(tmp_path, seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 5, (30, 12)).astype(np.float32)
    seen = rng.random(scores.shape) < 0.2
    relevant = (rng.random(scores.shape) < 0.15) & ~seen
    np.save(tmp_path / "scores.npy", scores)
    save_npz(tmp_path / "seen.npz", csr_array(seen))
    pairs = rng.permutation(np.argwhere(relevant))
    pd.DataFrame(pairs, columns=["user_id", "item_id"]).to_csv(tmp_path / "r.csv", index=False)
    ranking = Ranks.read(
        tmp_path / "scores.npy", relevant=tmp_path / "r.csv", seen=tmp_path / "seen.npz"
    )
    users = np.flatnonzero(relevant.any(axis=1))
    assert ranking.users.tolist() == users.tolist()
    expected = [
        (
            sum(scores[user, j] > scores[user, item] for j in range(12) if not seen[user, j]),
            sum(scores[user, j] == scores[user, item] for j in range(12) if not seen[user, j]) - 1,
        )
        for user in users
        for item in sorted(np.flatnonzero(relevant[user]), key=lambda i: -scores[user, i])
    ]
    found = zip(ranking.n_better.tolist(), ranking.n_tied.tolist(), strict=True)
    assert list(found) == expected


def test_score_matrix_and_score_table_say_the_same(tmp_path):
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 9, (20, 15)).astype(float)
    table = pd.DataFrame(
        [(u, i, scores[u, i]) for u, i in rng.permutation(list(np.ndindex(scores.shape)))],
        columns=["user_id", "item_id", "score"],
    )
    table.to_csv(tmp_path / "scores.csv", index=False)
    np.save(tmp_path / "scores.npy", scores)
    pairs = sorted({(int(u), int(i)) for u, i in rng.integers(0, 15, (40, 2))})
    relevant = write(tmp_path, "r.csv", "user_id,item_id\n" + joined(pairs))
    with pytest.warns(InputWarning, match="scores of all 15 items"):
        by_matrix = Ranks.read(tmp_path / "scores.npy", relevant=relevant)
    with pytest.warns(InputWarning, match="scores of all 15 items"):
        by_table = Ranks.read(tmp_path / "scores.csv", relevant=relevant, n_items=15)
    assert by_matrix.users.tolist() == by_table.users.tolist()
    for name in ("n_found", "n_better", "n_tied"):
        assert getattr(by_matrix, name).tolist() == getattr(by_table, name).tolist()


@pytest.mark.parametrize("name", ["s.csv", "s.parquet"])
def test_large_integer_scores_of_a_list_do_not_tie(tmp_path, name):
    frame = pd.DataFrame(
        {"user_id": 1, "item_id": [1, 2, 3], "score": [2**62, 2**62 + 1, 2**62 + 1]}
    )
    path = tmp_path / name
    frame.to_csv(path, index=False) if name == "s.csv" else frame.to_parquet(path)
    ranks = Ranks.read(path, relevant=write(tmp_path, "r.csv", "user_id,item_id\n1,1\n"))
    assert (ranks.n_better.tolist(), ranks.n_tied.tolist()) == ([2], [0])
