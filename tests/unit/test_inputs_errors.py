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

# A file of ranks, ranks out of 3541 items: name, content, message.
RANKS = [
    ("r.csv", "", "r.csv: empty; expected ranks, lists or scores"),
    ("r.csv", "rank\n", "r.csv: no rows; expected ranks, lists or scores"),
    ("r.csv", "\n\n", "r.csv: empty; expected ranks, lists or scores"),
    ("r.csv", "rank\n5\n7\n0\n", "r.csv, row 3 (line 4), column rank: found 0; expected 1 to 3541"),
    (
        "r.csv",
        "\nrank\n\n5\n\n0\n",
        "r.csv, row 2 (line 6), column rank: found 0; expected 1 to 3541",
    ),
    ("r.csv", "rank\n3542\n", "r.csv, row 1 (line 2), column rank: found 3542; expected 1 to 3541"),
    ("r.csv", "rank\n-1\n", "r.csv, row 1 (line 2), column rank: found -1; expected 1 to 3541"),
    (
        "r.csv",
        "rank\n1\n2.5\n",
        "r.csv, row 2 (line 3), column rank: found 2.5; expected whole numbers, 1 to 3541",
    ),
    (
        "r.csv",
        "rank\n3.0\n0.0\n",
        "r.csv, row 2 (line 3), column rank: found 0; expected 1 to 3541",
    ),
    (
        "r.csv",
        "rank\n1\nNaN\n",
        "r.csv, row 2 (line 3), column rank: found nan; expected whole numbers, 1 to 3541",
    ),
    (
        "r.csv",
        "rank\n1\ninf\n",
        "r.csv, row 2 (line 3), column rank: found inf; expected whole numbers, 1 to 3541",
    ),
    (
        "r.csv",
        "rank\n1e30\n",
        "r.csv, row 1 (line 2), column rank: found 1e+30; expected whole numbers, 1 to 3541",
    ),
    (
        "r.csv",
        "rank\n99999999999999999999\n",
        "r.csv, row 1 (line 2), column rank: found 1e+20; expected whole numbers, 1 to 3541",
    ),
    (
        "r.csv",
        "rank\n1\nabc\n",
        "r.csv, row 2 (line 3), column rank: found 'abc'; expected whole numbers, 1 to 3541",
    ),
    (
        "r.csv",
        "rank,x\n1,2\n,2\n",
        "r.csv, row 2 (line 3), column rank: found nothing; expected whole numbers, 1 to 3541",
    ),
    (
        "r.csv",
        "rank,x\na,2\n,2\n",
        "r.csv, row 1 (line 2), column rank: found 'a'; expected whole numbers, 1 to 3541",
    ),
    (
        "r.csv",
        'rank,x\n1,2\n"",2\nb,2\n',
        "r.csv, row 2 (line 3), column rank: found nothing; expected whole numbers, 1 to 3541",
    ),
    (
        "r.csv",
        "rank\n2020-01-01\n",
        "r.csv, row 1 (line 2), column rank: found '2020-01-01'; expected whole numbers, 1 to 3541",
    ),
    (
        "r.csv",
        "rank\ntrue\n",
        "r.csv, row 1 (line 2), column rank: found 'true'; expected whole numbers, 1 to 3541",
    ),
    ("r.csv", "rank,rank\n1,2\n", "r.csv: duplicate column rank"),
    ("r.csv", "rank:float,rank\n1,2\n", "r.csv: duplicate column rank"),
    ("r.csv", "rank,x\n1,2\n3\n", "r.csv, line 3: found 1 columns; expected 2"),
    ("r.csv", "rank,x\n1,2\n3,4,5\n", "r.csv, line 3: found 3 columns; expected 2"),
    (
        "r.csv",
        "1\n2\n3\n",
        "r.csv: found columns 1; expected ranks, lists or scores" + KNOWN,
    ),
    (
        "r.csv",
        "place\n1\n",
        "r.csv: found columns place; expected ranks, lists or scores" + KNOWN,
    ),
    (
        "r.csv",
        "rank;user_id\n1;2\n",
        "r.csv: found columns rank;user_id; expected ranks, lists or scores" + KNOWN,
    ),
    ("r.csv", b"\x00\x01\x02", "r.csv: not text; expected ranks, lists or scores"),
    ("r.csv", b"rank\n\xff\n", "r.csv, column rank: found bytes; expected UTF-8 text"),
    ("r.csv", b"r\xffnk\n1\n", "r.csv: not text (…"),
    ("r.csv", b"PK\x03\x04\x14\x00\x06", "r.csv: not text; expected ranks, lists or scores"),
    ("r.csv.gz", b"rank\n1\n", "r.csv.gz: not text (…"),
    (
        "r.csv.gz",
        gzip.compress(b"rank\n5\n0\n", mtime=0),
        "r.csv.gz, row 2 (line 3), column rank: found 0; expected 1 to 3541",
    ),
    ("r.parquet", b"rank\n1\n", "r.parquet: not parquet (…"),
    ("r.parquet", {"rank": [5, 0]}, "r.parquet, row 2, column rank: found 0; expected 1 to 3541"),
    (
        "r.parquet",
        {"rank": [5, None]},
        "r.parquet, row 2, column rank: found nothing; expected whole numbers, 1 to 3541",
    ),
    (
        "r.parquet",
        {"rank": [5, 2**63]},
        "r.parquet, row 2, column rank: found 9.22337203685478e+18; "
        "expected whole numbers, 1 to 3541",
    ),
    (
        "r.parquet",
        {"rank": ["5", "x"]},
        "r.parquet, row 2, column rank: found 'x'; expected whole numbers, 1 to 3541",
    ),
    (
        "r.parquet",
        {"rank": [[5], [6]]},
        "r.parquet, column rank: found type list<element: int64>; "
        "expected whole numbers, 1 to 3541",
    ),
    ("r.parquet", {"rank": []}, "r.parquet: no rows; expected ranks, lists or scores"),
    (
        "r.parquet",
        {"place": [1]},
        "r.parquet: found columns place; expected ranks, lists or scores" + KNOWN,
    ),
    (
        "r.csv",
        "user_id,rank\n7,5\n7,5\n",
        "r.csv, row 2 (line 3), column rank: found 5; expected each rank once per user",
    ),
    (
        "r.csv",
        "user_id,rank\n,5\n",
        "r.csv, row 1 (line 2), column user_id: found nothing; expected whole numbers or text",
    ),
    (
        "r.csv",
        "rank,n_candidates\n5,4\n",
        "r.csv, row 1 (line 2), column rank: found 5; expected 1 to 4",
    ),
    (
        "r.csv",
        "rank,n_candidates\n1,1\n",
        "r.csv, row 1 (line 2), column n_candidates: found 1; expected at least 2",
    ),
    (
        "r.csv",
        "rank,n_candidates\n1,\n",
        "r.csv, row 1 (line 2), column n_candidates: found nothing; "
        "expected whole numbers, at least 2",
    ),
    (
        "r.csv",
        "sampled_rank\n1\n",
        "r.csv holds sampled ranks: `sampled-metrics correct` takes them, as does "
        "`compare` with --n-negatives",
    ),
    (
        "r.csv",
        RECORDS + "5,5,0\n",
        "r.csv, row 1 (line 2), column n_better: found 5; expected 0 to 4",
    ),
    (
        "r.csv",
        RECORDS + "9,0,0\n5,-1,0\n",
        "r.csv, row 2 (line 3), column n_better: found -1; expected 0 to 4",
    ),
    (
        "r.csv",
        RECORDS + "5,2,3\n",
        "r.csv, row 1 (line 2), column n_tied: found 3; expected 0 to 2",
    ),
    (
        "r.csv",
        RECORDS + "5,2,-3\n",
        "r.csv, row 1 (line 2), column n_tied: found -3; expected 0 to 2",
    ),
    (
        "r.csv",
        RECORDS + "1,0,0\n",
        "r.csv, row 1 (line 2), column n_candidates: found 1; expected at least 2",
    ),
    (
        "r.csv",
        "n_candidates,n_better\n5,0\n",
        "r.csv: lacks column n_tied; found n_candidates, n_better",
    ),
    (
        "r.csv",
        OF_USERS + "a,5,0,0\nb,5,0,0\na,6,1,0\n",
        "r.csv, row 3 (line 4), column n_candidates: found 6; "
        "expected 5, as in row 1 of the same user",
    ),
    (
        "r.parquet",
        {"user_id": [[1]], "n_candidates": [5], "n_better": [0], "n_tied": [0]},
        "r.parquet, column user_id: found type list<element: int64>; "
        "expected whole numbers or text",
    ),
    (
        "r.parquet",
        {"user_id": [1.5], "n_candidates": [5], "n_better": [0], "n_tied": [0]},
        "r.parquet, row 1, column user_id: found 1.5; expected whole numbers or text",
    ),
    ("r.run", "q1 Q0 d1 1 2.0\n", "r.run, line 1: found 5 columns; expected 6"),
    (
        "r.run",
        "q1 Q0 d1 1 2.0 t\nq1 Q0 d2 2 1.0 t x\n",
        "r.run, line 2: found 7 columns; expected 6",
    ),
    ("r.npy", b"", "r.npy: empty; expected ranks, lists or scores"),
    (
        "r.npy",
        b"no numbers",
        "r.npy: not a matrix of scores, users x items: no whole .npy file of numbers",
    ),
    ("r.npz", b"no archive", "r.npz: not arrays with scores: no .npz archive"),
]

# Lists with relevant items: their name and content, the relevant items, the message.
LISTS = [
    (
        "r.csv",
        BY_RANK + "1,7,1\n1,8,3\n",
        PAIRS + "1,7\n",
        "r.csv, row 2 (line 3), column rank: found 3; expected 1 to 2 of user 1, each once",
    ),
    (
        "r.csv",
        BY_RANK + "1,7,1\n1,8,1\n",
        PAIRS + "1,7\n",
        "r.csv, row 2 (line 3), column rank: found 1; expected 1 to 2 of user 1, each once",
    ),
    (
        "r.csv",
        BY_RANK + "1,7,0\n1,8,1\n",
        PAIRS + "1,7\n",
        "r.csv, row 1 (line 2), column rank: found 0; expected at least 1",
    ),
    (
        "r.csv",
        BY_RANK + "1,7,1\n1,7,2\n",
        PAIRS + "1,7\n",
        "r.csv, row 2 (line 3): duplicate of row 1 (user 1, item 7)",
    ),
    (
        "r.csv",
        BY_RANK + "1,7,1\n",
        PAIRS + "1,7\n2,7\n3,7\n",
        "r.csv: no list of user 2; allowed: a list of every user with relevant items "
        "(2 of 3 have none)",
    ),
    (
        "r.csv",
        BY_RANK + "1,,1\n",
        PAIRS + "1,7\n",
        "r.csv, row 1 (line 2), column item_id: found nothing; expected whole numbers or text",
    ),
    (
        "r.csv",
        BY_SCORE + "1,7,1\n1,8,nan\n",
        PAIRS + "1,7\n",
        "r.csv, row 2 (line 3), column score: found nan; expected finite numbers",
    ),
    (
        "r.csv",
        BY_SCORE + "1,7,1\n1,8,-inf\n",
        PAIRS + "1,7\n",
        "r.csv, row 2 (line 3), column score: found -inf; expected finite numbers",
    ),
    (
        "r.csv",
        BY_SCORE + "1,7,high\n",
        PAIRS + "1,7\n",
        "r.csv, row 1 (line 2), column score: found 'high'; expected finite numbers",
    ),
    (
        "r.csv",
        BY_SCORE + "1,7,1\n",
        PAIRS + "1,7\n1,8\n1,7\n",
        "t.csv, row 3 (line 4): duplicate of row 1 (user 1, item 7)",
    ),
    (
        "r.csv",
        BY_SCORE + "1,7,1\n",
        PAIRS + "a,7\n,8\n",
        "t.csv, row 2 (line 3), column user_id: found nothing; expected whole numbers or text",
    ),
    (
        "r.csv",
        BY_SCORE + "1,7,1\n",
        "user_id,relevance\n1,7\n",
        "t.csv: lacks column item_id; found user_id, relevance",
    ),
    (
        "r.csv",
        BY_SCORE + "1,7,1\n",
        "user_id,item_id,relevance\n1,7,0\n",
        "t.csv: no pair has a relevance above 0; expected relevant items",
    ),
    (
        "r.csv",
        BY_SCORE + "1,7,1\n",
        "user_id,item_id,relevance\n1,7,yes\n",
        "t.csv, row 1 (line 2), column relevance: found 'yes'; expected finite numbers",
    ),
    ("r.csv", BY_SCORE + "1,7,1\n", PAIRS, "t.csv: no rows; expected relevant items"),
    ("r.csv", BY_SCORE + "1,7,1\n", "", "t.csv: empty; expected relevant items"),
    (
        "r.csv",
        "item_id,score\n1,7\n",
        PAIRS + "1,7\n",
        "r.csv: lacks column user_id; found item_id, score",
    ),
    (
        "r.csv",
        "rank\n1\n",
        PAIRS + "1,7\n",
        "r.csv holds ranks: relevant items (t.csv) are of no use",
    ),
    (
        "r.run",
        "q Q0 d 1 2.0 t\nq Q0 e 2 x t\n",
        "q 0 d 1\n",
        "r.run, row 2 (line 2), column score: found 'x'; expected finite numbers",
    ),
    (
        "r.run",
        "q Q0 d 1 2.0 t\nq Q0 d 2 1.0 t\n",
        "q 0 d 1\n",
        "r.run, row 2 (line 2): duplicate of row 1 (user q, item d)",
    ),
    (
        "r.run",
        "q Q0 d 1 2.0 t\n",
        "q 0 d 0\n",
        "t.csv: no pair has a relevance above 0; expected relevant items",
    ),
    (
        "r.run",
        "q Q0 d 1 2.0 t\n",
        "q 0 d 1\np 0 d 1\n",
        "r.run: no list of user p; allowed: a list of every user with relevant items "
        "(1 of 2 have none)",
    ),
    (
        "r.run",
        "q Q0 d 1 2.0 t\n",
        "q 0 d 1\nq 0 e high\n",
        "t.csv, row 2 (line 2), column relevance: found 'high'; expected finite numbers",
    ),
    ("r.run", "q Q0 d 1 2.0 t\n", "q 0 d 1\nq 0 e\n", "t.csv, line 2: found 3 columns; expected 4"),
]

ONES = np.ones((3, 4))
NAN = np.where(np.eye(3, 4, 1) * [[0], [0], [1]] > 0, np.nan, ONES)
MASKED = np.where(np.eye(3, 4) > 0, -np.inf, ONES)
# Scores of 3 users and 4 items, relevant items, seen items, message.
MATRICES = [
    (
        ONES,
        "user_id,item_id,relevance\n0,1,0\n",
        None,
        "t.csv: no pair has a relevance above 0; expected relevant items",
    ),
    (
        np.ones(4),
        [0, 0, 0],
        None,
        "s.npy: scores are float64 of shape (4,); allowed: numbers, users x items",
    ),
    (
        np.ones((0, 4)),
        [0, 0, 0],
        None,
        "s.npy: scores are float64 of shape (0, 4); allowed: numbers, users x items",
    ),
    (
        np.full((3, 4), "a"),
        [0, 0, 0],
        None,
        "s.npy: scores are <U1 of shape (3, 4); allowed: numbers, users x items",
    ),
    (
        np.array([[None]]),
        [0, 0, 0],
        None,
        "s.npy: not a matrix of scores, users x items: no whole .npy file of numbers",
    ),
    (ONES, None, None, "s.npy holds scores: a file of relevant items is needed"),
    (
        NAN,
        [0, 0, 0],
        None,
        "s.npy: score of item 3 for user 2 is nan; "
        "expected a finite number, or -inf for an item that is no candidate",
    ),
    (
        np.where(np.isnan(NAN), np.inf, NAN),
        [0, 0, 0],
        None,
        "s.npy: score of item 3 for user 2 is inf; "
        "expected a finite number, or -inf for an item that is no candidate",
    ),
    (
        MASKED,
        [1, 1, 1],
        None,
        "s.npy: relevant item 1 of user 1 has score -inf, so it is no candidate",
    ),
    (ONES, [0, 0, 4], None, "t.npy: the vector, user 2: found 4; allowed: 0 to 3"),
    (ONES, [0, -1, 0], None, "t.npy: the vector, user 1: found -1; allowed: 0 to 3"),
    (
        ONES,
        [0, 0],
        None,
        "t.npy: the vector is int64 of shape (2,); allowed: whole numbers, one for each of 3 users",
    ),
    (
        ONES,
        [0.0, 0.0, 0.0],
        None,
        "t.npy: the vector is float64 of shape (3,); "
        "allowed: whole numbers, one for each of 3 users",
    ),
    (
        ONES,
        PAIRS + "0,4\n",
        None,
        "t.csv, row 1 (line 2), column item_id: found 4; expected 0 to 3",
    ),
    (
        ONES,
        PAIRS + "0,0\n3,0\n",
        None,
        "t.csv, row 2 (line 3), column user_id: found 3; expected 0 to 2",
    ),
    (
        ONES,
        PAIRS + "anna,0\n",
        None,
        "t.csv, row 1 (line 2), column user_id: found 'anna'; expected whole numbers, 0 to 2",
    ),
    (
        ONES,
        PAIRS + "0,0\n0,0\n",
        None,
        "t.csv, row 2 (line 3): duplicate of row 1 (user 0, item 0)",
    ),
    (
        ONES,
        [0, 1, 2],
        PAIRS + "0,1\n1,1\n",
        "s.npy: relevant item 1 of user 1 is among the seen items, so it is no candidate",
    ),
    (
        ONES,
        [0, 1, 2],
        PAIRS + "0,5\n",
        "seen.csv, row 1 (line 2), column item_id: found 5; expected 0 to 3",
    ),
    (ONES, [0, 1, 2], "item_id\n5\n", "seen.csv: lacks column user_id; found item_id"),
    (
        ONES,
        [0, 1, 2],
        np.zeros((3, 5), dtype=bool),
        "seen.npy: seen items are bool of shape (3, 5); allowed: bool or numbers of shape (3, 4)",
    ),
    (
        ONES,
        [0, 1, 2],
        {"x": ONES},
        "seen.npz: not seen items, users x items, as scipy.sparse.save_npz writes "
        "(it holds no format)",
    ),
    ({"x": ONES}, [0, 1, 2], None, "s.npz: not arrays with scores (it holds no scores)"),
    (
        {"scores": ONES, "held_out": [0, 1, 2]},
        [0, 1, 2],
        None,
        "s.npz holds held_out already; allowed: one of it and t.npy",
    ),
    (
        {"scores": ONES, "held_out": [0, 1, 9]},
        None,
        None,
        "s.npz: held_out, user 2: found 9; allowed: 0 to 3",
    ),
    (
        {"scores": ONES, "seen": ONES > 0},
        [0, 1, 2],
        PAIRS + "0,1\n",
        "s.npz holds seen already; allowed: one of it and seen.csv",
    ),
    (
        {"scores": ONES, "seen": [1, 2]},
        [0, 1, 2],
        None,
        "s.npz: seen items are int64 of shape (2,); allowed: bool or numbers of shape (3, 4)",
    ),
    (
        {"scores": ONES, "seen_indptr": [0, 0, 0, 0]},
        [0, 1, 2],
        None,
        "s.npz: lacks array seen_indices; allowed: both of seen_indptr and seen_indices",
    ),
    (
        {"scores": ONES, "seen_indptr": [0, 1, 1, 1], "seen_indices": [7]},
        [0, 1, 2],
        None,
        "s.npz: seen_indptr and seen_indices do not fit…",
    ),
    (
        {"scores": ONES, "seen_indptr": [0, 1], "seen_indices": [1]},
        [0, 1, 2],
        None,
        "s.npz: seen_indptr and seen_indices do not fit…",
    ),
]

# Sampled ranks among 99 negatives.
SAMPLED = [
    (
        "sampled_rank\n1\n0\n",
        "s.csv, row 2 (line 3), column sampled_rank: found 0; expected 1 to 100",
    ),
    (
        "sampled_rank\n101\n",
        "s.csv, row 1 (line 2), column sampled_rank: found 101; expected 1 to 100",
    ),
    (
        "sampled_rank\n1\nx\n",
        "s.csv, row 2 (line 3), column sampled_rank: found 'x'; expected whole numbers, 1 to 100",
    ),
    (
        "sampled_rank,n_candidates\n1,99\n",
        "s.csv, row 1 (line 2), column n_candidates: found 99; expected at least 100",
    ),
    (
        "sampled_rank,repetition\n1,-1\n",
        "s.csv, row 1 (line 2), column repetition: found -1; expected at least 0",
    ),
    (
        "sampled_rank,user_id\n1,\n",
        "s.csv, row 1 (line 2), column user_id: found nothing; expected whole numbers or text",
    ),
    (
        "rank\n1\n",
        "s.csv: found exact ranks (column rank), not sampled ones; `sampled-metrics evaluate` "
        "takes them, as does `compare` without --n-negatives",
    ),
    (
        RECORDS + "5,1,0\n",
        "s.csv: found exact ranks (column n_better), not sampled ones; `sampled-metrics evaluate` "
        "takes them, as does `compare` without --n-negatives",
    ),
    ("user_id,place\n1,1\n", "s.csv: lacks column sampled_rank; found user_id, place"),
    ("", "s.csv: empty; expected sampled ranks"),
    ("sampled_rank\n", "s.csv: no rows; expected sampled ranks"),
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


def check(message, expected):
    """Compare; after `…` come words of a library, which are its own."""
    assert "\n" not in message
    start, more, _ = expected.partition("…")
    assert message.startswith(start) if more else message == expected


def message_of(folder, read, *args, **options):
    with pytest.raises(InputError) as caught:
        read(*args, **options)
    return str(caught.value).replace(f"{folder}/", "")


@pytest.mark.parametrize(("name", "content", "expected"), RANKS)
def test_wrong_ranks(tmp_path, name, content, expected):
    path = made(tmp_path, name, content)
    check(message_of(tmp_path, Ranks.read, path, n_items=3541), expected)


@pytest.mark.parametrize(("name", "content", "relevant", "expected"), LISTS)
def test_wrong_lists(tmp_path, name, content, relevant, expected):
    path, relevant = made(tmp_path, name, content), made(tmp_path, "t.csv", relevant)
    check(message_of(tmp_path, Ranks.read, path, relevant=relevant), expected)


@pytest.mark.parametrize(("scores", "relevant", "seen", "expected"), MATRICES)
def test_wrong_matrices(tmp_path, scores, relevant, seen, expected):
    path, *others = (
        None if content is None else made(tmp_path, name, content)
        for name, content in (("s.npy", scores), ("t.csv", relevant), ("seen.csv", seen))
    )
    relevant, seen = others
    check(message_of(tmp_path, Ranks.read, path, relevant=relevant, seen=seen), expected)


@pytest.mark.parametrize(("content", "expected"), SAMPLED)
def test_wrong_sampled_ranks(tmp_path, content, expected):
    path = made(tmp_path, "s.csv", content)
    check(message_of(tmp_path, SampledRanks.read, path, 99, 200), expected)


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


def test_files_and_numbers_that_do_not_go_with_the_ranking(tmp_path):
    lists, ranks = made(tmp_path, "r.csv", BY_RANK + "1,7,1\n1,8,2\n"), tmp_path / "ranks.csv"
    relevant = made(tmp_path, "t.csv", PAIRS + "1,7\n")
    ranks.write_text("rank\n3\n")
    for options, expected in (
        ({}, "r.csv holds lists: a file of relevant items (--relevant) is needed"),
        ({"n_items": 40}, "r.csv holds lists: a file of relevant items (--relevant) is needed"),
        ({"n_items": 1}, "n_items is 1; allowed: at least 2"),
        (
            {"relevant": relevant, "seen": relevant},
            "r.csv holds no matrix of scores: seen items (t.csv) are of no use",
        ),
    ):
        assert message_of(tmp_path, Ranks.read, lists, **options) == expected
    assert message_of(tmp_path, Ranks.read, ranks) == (
        "ranks.csv: found ranks, but not among how many items; give n_items (--n-items) or add a "
        "column n_candidates"
    )
    longer = made(tmp_path, "long.csv", BY_RANK + "1,7,1\n1,8,2\n1,9,3\n")
    assert message_of(tmp_path, Ranks.read, longer, relevant=relevant, n_items=2) == (
        "long.csv: the list of user 1 has 3 items; allowed: at most 2"
    )
    scores = made(tmp_path, "s.npy", ONES)
    assert message_of(tmp_path, Ranks.read, scores, relevant=relevant, n_items=5) == (
        "s.npy: scores of 4 items; allowed: 5"
    )


def test_numbers_of_negatives_and_items():
    assert message_of("", SampledRanks.read, "s.csv", 0, None) == (
        "n_negatives is 0, expected at least 1"
    )
    assert message_of("", SampledRanks.read, "s.csv", 99, 99) == (
        "n_items (--n-items) is 99, expected more than the 99 negatives"
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
@settings(max_examples=300)
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
