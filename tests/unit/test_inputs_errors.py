"""Wrong files and the one line that each of them gives."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.ranks.relevant_items import read_relevant

RECORDS = "n_candidates,n_better,n_tied\n"
OF_USERS = "user_id,n_candidates,n_better,n_tied\n"
PAIRS = "user_id,item_id\n"
BY_RANK = "user_id,item_id,rank\n"
KNOWN = (
    ": some of user_id, item_id, rank, score, relevance, n_candidates, n_better, n_tied, "
    "sampled_rank, repetition"
)
BY_SCORE = "user_id,item_id,score\n"

# Ranks out of 3541 items: name, content, place of the error, problem.
RANKS = [
    ("r.csv", "", ("r.csv", None, None), "empty"),
    ("r.csv", "rank\n", ("r.csv", None, None), "no rows"),
    ("r.csv", "rank\n5\n7\n0\n", ("r.csv", 3, "rank"), "found 0"),
    ("r.csv", "\nrank\n\n5\n\n0\n", ("r.csv", 2, "rank"), "found 0"),
    ("r.csv", "rank\n1\n2.5\n", ("r.csv", 2, "rank"), "found 2.5"),
    ("r.csv", "rank\n1\nNaN\n", ("r.csv", 2, "rank"), "found nan"),
    ("r.csv", "rank\n1e30\n", ("r.csv", 1, "rank"), "found 1e+30"),
    ("r.csv", "rank\n1\nabc\n", ("r.csv", 2, "rank"), "found 'abc'"),
    ("r.csv", "rank,x\n1,2\n,2\n", ("r.csv", 2, "rank"), "found nothing"),
    ("r.csv", "rank,rank\n1,2\n", ("r.csv", None, None), "duplicate column rank"),
    ("r.csv", "rank,x\n1,2\n3\n", ("r.csv", None, None), "found 1 columns"),
    ("r.csv", "rank,x\n1,2\n3,4,5\n", ("r.csv", None, None), "found 3 columns"),
    ("r.csv", "place\n1\n", ("r.csv", None, None), "found columns place"),
    ("r.csv", b"\x00\x01\x02", ("r.csv", None, None), "not text"),
    ("r.csv", b"rank\n\xff\n", ("r.csv", None, "rank"), "found bytes"),
    ("r.csv", b"r\xffnk\n1\n", ("r.csv", None, None), "not text"),
    ("r.csv", b"PK\x03\x04\x14\x00\x06", ("r.csv", None, None), "found a spreadsheet"),
    ("r.csv.gz", b"rank\n1\n", ("r.csv.gz", None, None), "not text"),
    ("r.csv.gz", gzip.compress(b"rank\n5\n0\n", mtime=0), ("r.csv.gz", 2, "rank"), "found 0"),
    ("r.parquet", b"rank\n1\n", ("r.parquet", None, None), "not parquet"),
    ("r.parquet", {"rank": [5, 0]}, ("r.parquet", 2, "rank"), "found 0"),
    ("r.parquet", {"rank": [5, None]}, ("r.parquet", 2, "rank"), "found nothing"),
    ("r.parquet", {"rank": [5, 2**63]}, ("r.parquet", 2, "rank"), "found 9.22337203685478e+18"),
    ("r.parquet", {"rank": ["5", "x"]}, ("r.parquet", 2, "rank"), "found 'x'"),
    (
        "r.parquet",
        {"rank": [[5], [6]]},
        ("r.parquet", None, "rank"),
        "found type list<element: int64>",
    ),
    ("r.parquet", {"rank": []}, ("r.parquet", None, None), "no rows"),
    ("r.parquet", {"place": [1]}, ("r.parquet", None, None), "found columns place"),
    ("r.csv", "user_id,rank\n7,5\n7,5\n", ("r.csv", 2, "rank"), "found 5"),
    ("r.csv", "user_id,rank\n,5\n", ("r.csv", 1, "user_id"), "found nothing"),
    ("r.csv", "rank,n_candidates\n5,4\n", ("r.csv", 1, "rank"), "found 5"),
    ("r.csv", "rank,n_candidates\n1,4\n0,4\n", ("r.csv", 2, "rank"), "found 0"),
    ("r.csv", "rank,n_candidates\n1,1\n", ("r.csv", 1, "n_candidates"), "found 1"),
    ("r.csv", "rank,n_candidates\n1,\n", ("r.csv", 1, "n_candidates"), "found nothing"),
    ("r.csv", "sampled_rank\n1\n", ("r.csv", None, None), "found sampled ranks"),
    ("r.csv", RECORDS + "5,5,0\n", ("r.csv", 1, "n_better"), "found 5"),
    ("r.csv", RECORDS + "9,0,0\n5,-1,0\n", ("r.csv", 2, "n_better"), "found -1"),
    ("r.csv", RECORDS + "5,2,3\n", ("r.csv", 1, "n_tied"), "found 3"),
    ("r.csv", RECORDS + "5,2,-3\n", ("r.csv", 1, "n_tied"), "found -3"),
    ("r.csv", RECORDS + "1,0,0\n", ("r.csv", 1, "n_candidates"), "found 1"),
    ("r.csv", RECORDS + "1000000001,0,0\n", ("r.csv", 1, "n_candidates"), "found 1000000001"),
    ("r.csv", "rank,n_candidates\n1,9007199254740991\n", ("r.csv", 1, "n_candidates"), "found 9"),
    ("r.run", "\n", ("r.run", None, None), "no rows; expected a TREC run"),
    ("r.csv", "n_candidates,n_better\n5,0\n", ("r.csv", None, None), "lacks column n_tied"),
    (
        *("r.csv", OF_USERS + "a,5,0,0\nb,5,0,0\na,6,1,0\n", ("r.csv", 3, "n_candidates")),
        "found 6; expected 5, as in row 1 of the same user",
    ),
    (
        "r.parquet",
        {"user_id": [[1]], "n_candidates": [5], "n_better": [0], "n_tied": [0]},
        ("r.parquet", None, "user_id"),
        "found type list<element: int64>",
    ),
    (
        "r.parquet",
        {"user_id": [1.5], "n_candidates": [5], "n_better": [0], "n_tied": [0]},
        ("r.parquet", 1, "user_id"),
        "found 1.5",
    ),
    ("r.run", "q1 Q0 d1 1 2.0\n", ("r.run", None, None), "found 5 columns"),
    ("r.run", "q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.0 t x\n", ("r.run", None, None), "found 7 columns"),
    ("r.npy", b"", ("r.npy", None, None), "empty"),
    (
        "r.npy",
        b"no numbers",
        ("r.npy", None, None),
        "not a matrix of scores, users x items: no whole .npy file of numbers",
    ),
    ("r.npz", b"no archive", ("r.npz", None, None), "not arrays with scores: no .npz archive"),
]

# Lists: name, content, relevant items, place of the error, problem.
LISTS = [
    ("r.csv", BY_RANK + "1,7,1\n1,8,3\n", PAIRS + "1,7\n", ("r.csv", 2, "rank"), "found 3"),
    ("r.csv", BY_RANK + "1,7,1\n1,8,1\n", PAIRS + "1,7\n", ("r.csv", 2, "rank"), "found 1"),
    ("r.csv", BY_RANK + "1,7,0\n1,8,1\n", PAIRS + "1,7\n", ("r.csv", 1, "rank"), "found 0"),
    (
        "r.csv",
        BY_RANK + "1,7,1\n1,7,2\n",
        PAIRS + "1,7\n",
        ("r.csv", 2, None),
        "duplicate of row 1",
    ),
    (
        "r.csv",
        BY_RANK + "1,7,1\n",
        PAIRS + "1,7\n2,7\n3,7\n",
        ("r.csv", None, None),
        "no list for user 2, who has relevant items",
    ),
    ("r.csv", BY_RANK + "1,,1\n", PAIRS + "1,7\n", ("r.csv", 1, "item_id"), "found nothing"),
    ("r.csv", BY_SCORE + "1,7,1\n1,8,nan\n", PAIRS + "1,7\n", ("r.csv", 2, "score"), "found nan"),
    ("r.csv", BY_SCORE + "1,7,1\n1,8,-inf\n", PAIRS + "1,7\n", ("r.csv", 2, "score"), "found -inf"),
    ("r.csv", BY_SCORE + "1,7,high\n", PAIRS + "1,7\n", ("r.csv", 1, "score"), "found 'high'"),
    (
        "r.csv",
        BY_SCORE + "1,7,1\n",
        PAIRS + "1,7\n1,8\n1,7\n",
        ("t.csv", 3, None),
        "duplicate of row 1",
    ),
    ("r.csv", BY_SCORE + "1,7,1\n", PAIRS + "a,7\n,8\n", ("t.csv", 2, "user_id"), "found nothing"),
    (
        "r.csv",
        BY_SCORE + "1,7,1\n",
        "user_id,relevance\n1,7\n",
        ("t.csv", None, None),
        "lacks column item_id",
    ),
    (
        "r.csv",
        BY_SCORE + "1,7,1\n",
        "user_id,item_id,relevance\n1,7,0\n",
        ("t.csv", None, None),
        "no relevance above 0",
    ),
    (
        "r.csv",
        BY_SCORE + "1,7,1\n",
        "user_id,item_id,relevance\n1,7,yes\n",
        ("t.csv", 1, "relevance"),
        "found 'yes'",
    ),
    ("r.csv", BY_SCORE + "1,7,1\n", PAIRS, ("t.csv", None, None), "no rows"),
    ("r.csv", BY_SCORE + "1,7,1\n", "", ("t.csv", None, None), "empty"),
    (
        "r.csv",
        "item_id,score\n1,7\n",
        PAIRS + "1,7\n",
        ("r.csv", None, None),
        "lacks column user_id",
    ),
    (
        "r.csv",
        "rank\n1\n",
        PAIRS + "1,7\n",
        ("r.csv", None, None),
        "--relevant needs lists or scores, found ranks",
    ),
    ("r.run", "q Q0 d 1 2.0 t\nq Q0 e 2 x t\n", "q 0 d 1\n", ("r.run", 2, "score"), "found 'x'"),
    (
        "r.run",
        "q Q0 d 1 2.0 t\nq Q0 d 2 1.0 t\n",
        "q 0 d 1\n",
        ("r.run", 2, None),
        "duplicate of row 1",
    ),
    ("r.run", "q Q0 d 1 2.0 t\n", "q 0 d 0\n", ("t.csv", None, None), "no relevance above 0"),
    (
        "r.run",
        "q Q0 d 1 2.0 t\n",
        "q 0 d 1\np 0 d 1\n",
        ("r.run", None, None),
        "no list for user p, who has relevant items",
    ),
    (
        "r.run",
        "q Q0 d 1 2.0 t\n",
        "q 0 d 1\nq 0 e high\n",
        ("t.csv", 2, "relevance"),
        "found 'high'",
    ),
    ("r.run", "q Q0 d 1 2.0 t\n", "q 0 d 1\nq 0 e\n", ("t.csv", None, None), "found 3 columns"),
]

ONES = np.ones((3, 4))
NAN = np.where(np.eye(3, 4, 1) * [[0], [0], [1]] > 0, np.nan, ONES)
MASKED = np.where(np.eye(3, 4) > 0, -np.inf, ONES)
# Scores of 3 users and 4 items, relevant items, seen items, place of the error, problem.
MATRICES = [
    (
        ONES,
        "user_id,item_id,relevance\n0,1,0\n",
        None,
        ("t.csv", None, None),
        "no relevance above 0",
    ),
    (np.ones(4), [0, 0, 0], None, ("s.npy", None, None), "scores are float64 of shape"),
    (np.ones((0, 4)), [0, 0, 0], None, ("s.npy", None, None), "scores are float64 of shape"),
    (np.full((3, 4), "a"), [0, 0, 0], None, ("s.npy", None, None), "scores are <U1 of shape"),
    (
        np.array([[None]]),
        [0, 0, 0],
        None,
        ("s.npy", None, None),
        "not a matrix of scores, users x items: no whole .npy file of numbers",
    ),
    (ONES, None, None, ("s.npy", None, None), "scores need a file of relevant items, --relevant"),
    (NAN, [0, 0, 0], None, ("s.npy", None, None), "score of item 3 for user 2 is nan"),
    (
        np.where(np.isnan(NAN), np.inf, NAN),
        [0, 0, 0],
        None,
        ("s.npy", None, None),
        "score of item 3 for user 2 is inf",
    ),
    (
        MASKED,
        [1, 1, 1],
        None,
        ("s.npy", None, None),
        "relevant item 1 of user 1 has score -inf, so it is no candidate",
    ),
    (ONES, [0, 0, 4], None, ("t.npy", 3, "relevant items"), "4, expected 0 to 3"),
    (ONES, [0, -1, 0], None, ("t.npy", 2, "relevant items"), "-1, expected 0 to 3"),
    (ONES, [0, 0], None, ("t.npy", None, None), "relevant items: int64 of shape"),
    (ONES, [0.0, 0.0, 0.0], None, ("t.npy", None, None), "relevant items: float64 of shape"),
    (ONES, PAIRS + "0,4\n", None, ("t.csv", 1, "item_id"), "found 4"),
    (ONES, PAIRS + "0,0\n3,0\n", None, ("t.csv", 2, "user_id"), "found 3"),
    (ONES, PAIRS + "anna,0\n", None, ("t.csv", 1, "user_id"), "found 'anna'"),
    (ONES, PAIRS + "0,0\n0,0\n", None, ("t.csv", 2, None), "duplicate of row 1"),
    (
        ONES,
        [0, 1, 2],
        PAIRS + "0,1\n1,1\n",
        ("s.npy", None, None),
        "relevant item 1 of user 1 is among the seen items, so it is no candidate",
    ),
    (ONES, [0, 1, 2], PAIRS + "0,5\n", ("seen.csv", 1, "item_id"), "found 5"),
    (ONES, [0, 1, 2], "item_id\n5\n", ("seen.csv", None, None), "lacks column user_id"),
    (
        ONES,
        [0, 1, 2],
        np.zeros((3, 5), dtype=bool),
        ("seen.npy", None, None),
        "seen items are bool of shape",
    ),
    (
        ONES,
        [0, 1, 2],
        {"x": ONES},
        ("seen.npz", None, None),
        "not seen items, users x items, as scipy.sparse.save_npz writes",
    ),
    ({"x": ONES}, [0, 1, 2], None, ("s.npz", None, None), "not arrays with scores"),
    (
        {"scores": ONES, "held_out": [0, 1, 2]},
        [0, 1, 2],
        None,
        ("s.npz", None, None),
        "both give relevant items",
    ),
    (
        {"scores": ONES, "held_out": [0, 1, 9]},
        None,
        None,
        ("s.npz", 3, "held_out"),
        "9, expected 0 to 3",
    ),
    (
        {"scores": ONES, "seen": ONES > 0},
        [0, 1, 2],
        PAIRS + "0,1\n",
        ("s.npz", None, None),
        "both give seen items",
    ),
    (
        {"scores": ONES, "seen": [1, 2]},
        [0, 1, 2],
        None,
        ("s.npz", None, None),
        "seen items are int64 of shape",
    ),
    (
        {"scores": ONES, "seen_indptr": [0, 0, 0, 0]},
        [0, 1, 2],
        None,
        ("s.npz", None, None),
        "missing array seen_indices",
    ),
    (
        {"scores": ONES, "seen_indptr": [0, 1, 1, 1], "seen_indices": [7]},
        [0, 1, 2],
        None,
        ("s.npz", None, None),
        "seen_indptr and seen_indices do not fit",
    ),
    (
        {"scores": ONES, "seen_indptr": [0, 1], "seen_indices": [1]},
        [0, 1, 2],
        None,
        ("s.npz", None, None),
        "seen_indptr and seen_indices do not fit",
    ),
]

# Sampled ranks among 99 negatives.
SAMPLED = [
    ("sampled_rank\n1\n0\n", ("s.csv", 2, "sampled_rank"), "found 0"),
    ("sampled_rank\n101\n", ("s.csv", 1, "sampled_rank"), "found 101"),
    ("sampled_rank\n1\nx\n", ("s.csv", 2, "sampled_rank"), "found 'x'"),
    ("sampled_rank,n_candidates\n1,99\n", ("s.csv", 1, "n_candidates"), "found 99"),
    ("sampled_rank,n_candidates\n1,2000000000\n", ("s.csv", 1, "n_candidates"), "found 2000000000"),
    ("sampled_rank,repetition\n1,-1\n", ("s.csv", 1, "repetition"), "found -1"),
    ("sampled_rank,user_id\n1,\n", ("s.csv", 1, "user_id"), "found nothing"),
    ("rank\n1\n", ("s.csv", None, None), "found exact ranks"),
    (RECORDS + "5,1,0\n", ("s.csv", None, None), "found exact ranks"),
    ("user_id,place\n1,1\n", ("s.csv", None, None), "lacks column sampled_rank"),
    ("", ("s.csv", None, None), "empty"),
    ("sampled_rank\n", ("s.csv", None, None), "no rows"),
]


def made(folder, name, content):
    """Write a file of a name, of what its content is."""
    path = folder / name
    if isinstance(content, str):
        path.write_text(content, encoding="utf-8", newline="")
    elif isinstance(content, bytes):
        path.write_bytes(content)
    elif path.suffix == ".parquet":
        pd.DataFrame(content).to_parquet(path)
    elif isinstance(content, dict):
        path = path.with_suffix(".npz")
        np.savez(path, **{key: np.asarray(value) for key, value in content.items()})
    else:
        path = path.with_suffix(".npy")
        np.save(path, np.asarray(content))
    return path


def require(error, place, problem):
    """Compare the file, row and column of an error, and the beginning of what is wrong."""
    name = None if error.path is None else error.path.name
    assert (name, error.row, error.column) == place
    assert problem in str(error)
    assert "\n" not in str(error)


def error_of(read, *args, **options):
    with pytest.raises(InputError) as caught:
        read(*args, **options)
    return caught.value


def message_of(folder, read, *args, **options):
    with pytest.raises(InputError) as caught:
        read(*args, **options)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize(("name", "content", "place", "problem"), RANKS)
def test_wrong_ranks(tmp_path, name, content, place, problem):
    path = made(tmp_path, name, content)
    require(error_of(Ranks.read, path, n_items=3541), place, problem)


@pytest.mark.parametrize(("name", "content", "relevant", "place", "problem"), LISTS)
def test_wrong_lists(tmp_path, name, content, relevant, place, problem):
    path, relevant = made(tmp_path, name, content), made(tmp_path, "t.csv", relevant)
    require(error_of(Ranks.read, path, relevant=relevant), place, problem)


@pytest.mark.parametrize(("scores", "relevant", "seen", "place", "problem"), MATRICES)
def test_wrong_matrices(tmp_path, scores, relevant, seen, place, problem):
    path, *others = (
        None if content is None else made(tmp_path, name, content)
        for name, content in (("s.npy", scores), ("t.csv", relevant), ("seen.csv", seen))
    )
    relevant, seen = others
    require(error_of(Ranks.read, path, relevant=relevant, seen=seen), place, problem)


@pytest.mark.parametrize(("content", "place", "problem"), SAMPLED)
def test_wrong_sampled_ranks(tmp_path, content, place, problem):
    path = made(tmp_path, "s.csv", content)
    require(error_of(SampledRanks.read, path, 99, 200), place, problem)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy", "npz", "run", "csv.gz", ""])
def test_no_file(tmp_path, suffix):
    folder = tmp_path / f"folder.{suffix}"
    folder.mkdir()
    assert message_of(tmp_path, Ranks.read, folder) == (
        f"folder.{suffix}: a folder; expected ranks, lists or scores"
    )
    missing = tmp_path / f"missing.{suffix}"
    for read, args, what in (
        (Ranks.read, (), "ranks, lists or scores"),
        (read_relevant, (), "relevant items"),
        (SampledRanks.read, (9, None), "sampled ranks"),
    ):
        assert message_of(tmp_path, read, missing, *args) == (
            f"missing.{suffix}: no such file; expected {what}"
        )


def test_files_and_numbers_that_do_not_go_with_the_ranks(tmp_path):
    lists = made(tmp_path, "r.csv", BY_RANK + "1,7,1\n1,8,2\n")
    longer = made(tmp_path, "long.csv", BY_RANK + "1,7,1\n1,8,2\n1,9,3\n")
    ranks, scores = made(tmp_path, "ranks.csv", "rank\n3\n"), made(tmp_path, "s.npy", ONES)
    relevant = made(tmp_path, "t.csv", PAIRS + "1,7\n")
    for path, options, problem in (
        (lists, {}, "lists need a file of relevant items, --relevant"),
        (lists, {"n_items": 1}, "n_items is 1, expected at least 2"),
        (
            lists,
            {"relevant": relevant, "seen": relevant},
            "item 7 of user 1 is both relevant and seen",
        ),
        (ranks, {}, "found ranks, but not among how many items; give n_items (--n-items)"),
        (longer, {"relevant": relevant, "n_items": 2}, "user 1 has 3 items, expected at most 2"),
        (scores, {"relevant": relevant, "n_items": 5}, "scores of 4 items, expected 5"),
    ):
        assert problem in str(error_of(Ranks.read, path, **options))


def test_a_value_of_many_lines_is_cut_short(tmp_path):
    path = made(tmp_path, "r.csv", 'rank,n_candidates\n"' + "1,9\n" * 1000 + '",9\n')
    assert len(str(error_of(Ranks.read, path))) < 250


def test_an_error_in_full(tmp_path):
    path = made(tmp_path, "r.csv", "rank\n5\n7\n0\n")
    expected = "r.csv, row 3 (line 4), column rank: found 0; expected 1 to 9"
    assert message_of(tmp_path, Ranks.read, path, n_items=9) == expected


def test_numbers_of_negatives_and_items():
    assert message_of("", SampledRanks.read, "s.csv", 0, None) == (
        "n_negatives is 0, expected at least 1"
    )
    assert message_of("", SampledRanks.read, "s.csv", 99, 99) == (
        "n_items is 99, expected more than n_negatives, 99"
    )


FUZZED = {
    "r.csv": (OF_USERS + "anna,9,4,0\nbert,7,0,2\nanna,9,1,0\n").encode(),
    "list.csv": (BY_SCORE + "1,7,0.5\n1,8,0.25\n2,7,1e3\n").encode(),
    "r.csv.gz": gzip.compress(b"rank\n5\n6\n", mtime=0),
    "a.run": b"q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\n",
    "s.csv": b"sampled_rank,user_id\n1,a\n2,b\n",
}


def binary_files(folder):
    """Return contents of the formats that are no text."""
    frame = pd.DataFrame({"user_id": ["a", "b"], "rank": [1, 2]})
    contents = {"r.parquet": frame, "s.npy": ONES, "s.npz": {"scores": ONES, "held_out": [0, 1, 2]}}
    return {name: made(folder, name, each).read_bytes() for name, each in contents.items()}


@given(data=st.data())
@settings(max_examples=100)
def test_damaged_files_are_read_or_refused_in_one_line(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damaged")
    files = {**FUZZED, **binary_files(folder)}
    name = data.draw(st.sampled_from(sorted(files)))
    content = bytearray(files[name])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content)))
        length = data.draw(st.integers(0, 3))
        content[place : place + length] = data.draw(st.binary(max_size=4))
    path = made(folder, name, bytes(content))
    relevant = made(folder, "t.csv", PAIRS + "1,7\n2,7\nq1,d2\n")
    for read, options in (
        (Ranks.read, {"n_items": 9}),
        (Ranks.read, {"relevant": relevant}),
        (SampledRanks.read, {"n_negatives": 9, "n_items": None}),
        (read_relevant, {}),
    ):
        message = ""
        try:
            read(path, **options)
        except InputError as error:
            message = str(error)
        assert "\n" not in message


def test_line_numbers_count_what_the_reader_skips(tmp_path):
    text = "\ufeff\r\nrank,x\r\n\r\n1,a\r\n\r\n\r\nx,b\r\n"
    assert message_of(tmp_path, Ranks.read, made(tmp_path, "r.csv", text), n_items=9) == (
        "r.csv, row 2 (line 7), column rank: found 'x'; expected whole numbers, 1 to 9"
    )


def test_text_far_below_numbers(tmp_path):
    # The reader guesses types from the beginning of a file: here it must change its mind.
    rows = [str(1 + row % 9) for row in range(300_000)]
    rows[299_990] = "oops"
    path = made(tmp_path, "r.csv", "\n".join(["rank", *rows]))
    assert message_of(tmp_path, Ranks.read, path, n_items=9) == (
        "r.csv, row 299991 (line 299992), column rank: found 'oops'; expected whole numbers, 1 to 9"
    )
