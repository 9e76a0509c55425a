"""Wrong files and the one line that each of them gives."""

import gzip

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics.inputs.items import items_by_id
from sampled_metrics.ranks.data import as_ranks, as_sampled
from tests.helpers.results import refusal

# In these tables | ends a line of a file, and - is a row or column that is not named.
RANKS = """\
rank|                                       - - no rows
rank|5|7|0                                  3 rank found 0
|rank||5||0                                 2 rank found 0
rank|1|abc                                  2 rank abc
rank,rank|1,2                               - - duplicate column rank
rank,x|1,2|3,4,5                            - - got 3
place|1                                     - - found columns place
place;rank|1;x                              1 rank found x
17,secret|18,secret                         - - no header
n_candidates,n_better|5,0                   - - lacks column n_tied
user_id,rank|7,5|7,5                        2 rank found 5; expected each rank once
rank,n_candidates|5,4                       1 rank 1 to 4
rank,n_candidates|1,1                       1 n_candidates found 1
n_candidates,n_better,n_tied|5,5,0          1 n_better 0 to 4
n_candidates,n_better,n_tied|5,2,3          1 n_tied 0 to 2
n_candidates,n_better,n_tied|1000000001,0,0 1 n_candidates found 1000000001
user_id,n_candidates,n_better,n_tied|a,5,0,0|b,5,0,0|a,6,1,0 3 n_candidates expected 5, as in row 1
"""

# Lists and relevant items; the file at fault is r or t.
LISTS = """\
user_id,item_id,rank|1,7,1|1,8,3      user_id,item_id|1,7         r 2 rank found 3; expected 1, 2, 3
user_id,item_id,rank|1,7,1|1,7,2      user_id,item_id|1,7         r 2 - duplicate of row 1
user_id,item_id,rank|1,7,1            user_id,item_id|1,7|2,7     r - - no list for user 2
user_id,item_id,rank|1,,1             user_id,item_id|1,7         r 1 item_id found nothing
user_id,item_id,score|1,7,1|1,8,nan   user_id,item_id|1,7         r 2 score found nan
user_id,item_id,score|1,7,high        user_id,item_id|1,7         r 1 score high
item_id,score|1,7                     user_id,item_id|1,7         r - - lacks column user_id
rank|1                                user_id,item_id|1,7         r - - does not go with ranks
user_id,item_id,score|1,7,1           user_id,item_id|1,7|1,7     t 2 - duplicate of row 1
user_id,item_id,score|1,7,1           user_id,item_id|a,7|,8      t 2 user_id found nothing
user_id,item_id,score|1,7,1  user_id,item_id,relevance|1,7,0      t - - no relevance above 0
user_id,item_id,score|1,7,1           user_id,item_id|            t - - no rows
q_Q0_d_1_2.0_t|q_Q0_e_2_x_t           q_0_d_1                     r 2 score found x
q_Q0_d_1_2.0_t|q_Q0_d_2_1.0_t         q_0_d_1                     r 2 - duplicate of row 1
q_Q0_d_1_2.0_t|q_Q0_d_2_1.0_t_x       q_0_d_1                     r - - saw 7
q_Q0_d_1_2.0_t                        q_0_d_1|p_0_d_1             r - - no list for user p
q_Q0_d_1_2.0_t                        q_0_d_1|q_0_e               t 2 relevance nothing
"""

# Sampled ranks among 99 negatives of 200 items.
SAMPLED = """\
sampled_rank|1|0                 2 sampled_rank found 0
sampled_rank|101                 1 sampled_rank 1 to 100
sampled_rank|1|x                 2 sampled_rank found x
sampled_rank,n_candidates|1,99   1 n_candidates found 99
sampled_rank,user_id,repetition|1,a,-1 1 repetition found -1
sampled_rank,repetition|1,0|2,1  - - lacks column user_id
rank|1                           - - evaluate
user_id,place|1,1                - - lacks column sampled_rank
user_id,score,label|u,9,0        - - no held-out item among the candidates of user u
user_id,score,label|u,9,1        - - no negatives for user u
user_id,score,label|u,9,2|u,1,0  1 label found 2; expected 1 or 0
user_id,score|u,9                - - label
user_id,repetition,sampled_rank|a,0,1|b,0,2|a,1,1|a,0,3 4 - user a
user_id,item_id,repetition,sampled_rank|a,x,0,1|a,x,0,3 2 - user a
"""


def cases(table, fields):
    return [tuple(line.split(maxsplit=fields)) for line in table.splitlines()]


def made(folder, name, content):
    """Write a file of a name, of what its content is."""
    path = folder / name
    if isinstance(content, str):
        path.write_text(
            content.replace("|", "\n").replace("_Q0_", " Q0 "), encoding="utf-8"
        )
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


def trec(text):
    """Blanks for the underscores of lines of trec_eval."""
    return text.replace("_", " ") if text.startswith("q_") else text


def require(error, name, row, column, words):
    found = (error.path.name.partition(".")[0], error.row, error.column)
    place = (None if value == "-" else value for value in (row, column))
    assert tuple(map(str, found)) == (name, *map(str, place))
    assert words in str(error)


@pytest.mark.parametrize(("content", "row", "column", "words"), cases(RANKS, 3))
def test_wrong_ranks(tmp_path, content, row, column, words):
    path = made(tmp_path, "r.csv", content)
    require(error := refusal(as_ranks, path, n_items=3541), "r", row, column, words)
    assert "secret" not in str(error).replace(str(path), "")


@pytest.mark.parametrize(
    ("lists", "relevant", "name", "row", "column", "words"), cases(LISTS, 5)
)
def test_wrong_lists(tmp_path, lists, relevant, name, row, column, words):
    path = made(tmp_path, "r.csv", trec(lists))
    relevant = made(tmp_path, "t.csv", trec(relevant))
    require(refusal(as_ranks, path, relevant=relevant), name, row, column, words)


@pytest.mark.parametrize(("content", "row", "column", "words"), cases(SAMPLED, 3))
def test_wrong_sampled_ranks(tmp_path, content, row, column, words):
    path = made(tmp_path, "s.csv", content)
    error = refusal(as_sampled, path, n_negatives=99, n_items=200)
    require(error, "s", row, column, words)


RECORD = {"n_candidates": [5], "n_better": [0], "n_tied": [0]}


@pytest.mark.parametrize(
    ("name", "content", "row", "column", "words"),
    [
        ("r.csv", b"", "-", "-", "no text"),
        ("r.csv", b"\x00\x01\x02", "-", "-", "no text"),
        ("r.csv", b"rank\n\xff\n", "-", "rank", "found bytes"),
        ("r.csv.gz", b"rank\n1\n", "-", "-", "not ranks"),
        ("r.csv.gz", gzip.compress(b"rank\n5\n0\n", mtime=0), 2, "rank", "found 0"),
        ("r.parquet", b"rank\n1\n", "-", "-", "not ranks"),
        ("r.parquet", {"rank": [5, None]}, 2, "rank", "found nothing"),
        ("r.parquet", {"rank": [5, 2**63]}, 2, "rank", "found 9.22337203685478e+18"),
        ("r.parquet", {"rank": [[5], [6]]}, "-", "rank", "found type list"),
        ("r.parquet", RECORD | {"user_id": [1.5]}, 1, "user_id", "found 1.5"),
        ("r.run", b"q1 Q0 d1 1 2.0\n", "-", "-", "found columns"),
        ("r.npy", b"no numbers", "-", "-", "not ranks, lists or scores"),
        ("r.npz", b"no archive", "-", "-", "not arrays with scores"),
    ],
)
def test_other_files(tmp_path, name, content, row, column, words):
    path = made(tmp_path, name, content)
    error = refusal(as_ranks, path, n_items=3541)
    require(error, "r", row, column, words)
    assert "secret" not in str(error).replace(str(path), "")


ONES = np.ones((3, 4))
NAN = np.where(np.eye(3, 4, 1) * [[0], [0], [1]] > 0, np.nan, ONES)
MASKED = np.where(np.eye(3, 4) > 0, -np.inf, ONES)
DIAGONAL = [0, 1, 2]


@pytest.mark.parametrize(
    ("scores", "relevant", "seen", "name", "row", "column", "words"),
    [
        (
            np.ones(4),
            DIAGONAL,
            None,
            "s",
            "-",
            "-",
            "relevant (--relevant) does not go with ranks",
        ),
        (
            np.array([[None]]),
            DIAGONAL,
            None,
            "s",
            "-",
            "-",
            "not ranks, lists or scores",
        ),
        (ONES, None, None, "s", "-", "-", "found scores; give relevant (--relevant)"),
        (NAN, [0, 0, 0], None, "s", "-", "-", "score of item 3 for user 2 is nan"),
        (MASKED, [1, 1, 1], None, "s", "-", "-", "item 1 of user 1 has score -inf"),
        (ONES, [0, 0, 4], None, "t", 3, "relevant", "found 4"),
        (ONES, [0, 0], None, "t", "-", "-", "relevant items are int64 of shape"),
        (ONES, "user_id,item_id|0,4", None, "t", 1, "item_id", "found 4"),
        (ONES, "user_id,item_id|anna,0", None, "t", 1, "user_id", "anna"),
        (ONES, "user_id,item_id|0,0|0,0", None, "t", 2, "-", "duplicate of row 1"),
        (
            ONES,
            DIAGONAL,
            "user_id,item_id|1,1",
            "s",
            "-",
            "-",
            "is among the seen items",
        ),
        (ONES, DIAGONAL, "user_id,item_id|0,5", "seen", 1, "item_id", "found 5"),
        (
            ONES,
            DIAGONAL,
            np.zeros((3, 5), bool),
            "seen",
            "-",
            "-",
            "seen items are bool of shape",
        ),
        ({"x": ONES}, DIAGONAL, None, "s", "-", "-", "expected scores"),
        ({"user_ids": DIAGONAL}, DIAGONAL, None, "s", "-", "-", "no scores"),
        (
            {"scores": ONES, "seen": [1, 2]},
            DIAGONAL,
            None,
            "s",
            "-",
            "-",
            "found an array seen",
        ),
        (
            {"scores": ONES, "item_ids": [1, 2, 1, 3]},
            DIAGONAL,
            None,
            "s",
            3,
            "-",
            "duplicate item",
        ),
    ],
)
def test_wrong_matrices(tmp_path, scores, relevant, seen, name, row, column, words):
    path, relevant, seen = (
        None if content is None else made(tmp_path, file, content)
        for file, content in (
            ("s.npy", scores),
            ("t.csv", relevant),
            ("seen.csv", seen),
        )
    )
    require(
        refusal(as_ranks, path, relevant=relevant, seen=seen),
        name,
        row,
        column,
        words,
    )


@pytest.mark.parametrize(
    "suffix", ["csv", "parquet", "npy", "npz", "run", "csv.gz", ""]
)
def test_no_file(tmp_path, suffix):
    path = tmp_path / f"missing.{suffix}"
    for read, what in (
        (lambda path: as_ranks(path), "ranks, lists or scores"),
        (lambda path: items_by_id(path, "relevant"), "relevant items"),
        (lambda path: as_sampled(path, n_negatives=9), "sampled ranks"),
    ):
        message = str(refusal(read, path))
        assert message.startswith(f"{path}: no such file")
        assert what in message
    path.mkdir()
    assert "a folder" in str(refusal(as_ranks, path))


@pytest.mark.parametrize(
    ("content", "relevant", "options", "words"),
    [
        ("user_id,item_id,rank|1,7,1", None, {}, "--relevant"),
        (
            "user_id,item_id,rank|1,7,1",
            None,
            {"n_items": 1},
            "n_items is 1, expected at least 2",
        ),
        (
            "user_id,item_id,rank|1,7,1|1,8,2|1,9,3",
            "1,7",
            {"n_items": 2},
            "user 1 has 3 items",
        ),
        ("rank|3", None, {}, "give n_items (--n-items)"),
        (
            "rank|3",
            None,
            {"n_items": 9, "complete": True},
            "complete (--complete) does not go with ranks",
        ),
        (
            "rank,n_candidates|3,9|1,3",
            None,
            {"n_items": 9},
            "found n_candidates 3 to 9",
        ),
        (
            ONES,
            "0,0",
            {"n_items": 5},
            "found number of items 4, but n_items (--n-items) is 5",
        ),
        ("user_id,item_id,rank|1,7,1", "1,8", {"complete": True}, "not --complete"),
        (
            "user_id,item_id,rank|1,7,1",
            "1,7",
            {"complete": True, "n_items": 9},
            "leave --n-items",
        ),
    ],
)
def test_options_that_do_not_go_with_the_file(
    tmp_path, content, relevant, options, words
):
    path = made(tmp_path, "r.csv", content)
    if relevant:
        options = options | {
            "relevant": made(tmp_path, "t.csv", f"user_id,item_id|{relevant}")
        }
    assert words in str(refusal(as_ranks, path, **options))


def test_errors_in_full(tmp_path):
    text = "\ufeff\r\nrank,x\r\n\r\n1,a\r\n\r\n\r\nx,b\r\n"
    path = made(tmp_path, "a\nb.csv", text)
    assert str(refusal(as_ranks, path, n_items=9)) == (
        f"{tmp_path}/a b.csv, row 2, column rank: found x; expected whole numbers"
    )
    path = made(tmp_path, "r.csv", 'rank,n_candidates|"' + "1,9|" * 1000 + '",9|')
    assert (
        len(str(refusal(as_ranks, path))) < 250
    )  # a value of many lines is cut short
    # The reader guesses types from the beginning of a file: here it must change its mind.
    path = made(tmp_path, "r.csv", "|".join(["rank", *["7"] * 300_000, "oops"]))
    error = refusal(as_ranks, path, n_items=9)
    assert (error.row, error.column) == (300_001, "rank")


FUZZED = {
    "r.csv": b"user_id,n_candidates,n_better,n_tied\nanna,9,4,0\nbert,7,0,2\nanna,9,1,0\n",
    "list.csv": b"user_id,item_id,score\n1,7,0.5\n1,8,0.25\n2,7,1e3\n",
    "r.csv.gz": gzip.compress(b"rank\n5\n6\n", mtime=0),
    "a.run": b"q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\n",
    "s.csv": b"sampled_rank,user_id\n1,a\n2,b\n",
}


@given(data=st.data())
@settings(max_examples=100)
def test_damaged_files_are_read_or_refused_in_one_line(tmp_path_factory, data):
    folder, files = tmp_path_factory.mktemp("damaged"), dict(FUZZED)
    frame = pd.DataFrame({"user_id": ["a", "b"], "rank": [1, 2]})
    arrays = {"scores": ONES, "user_ids": DIAGONAL}
    for name, content in (("r.parquet", frame), ("s.npy", ONES), ("s.npz", arrays)):
        files[name] = made(folder, name, content).read_bytes()
    name = data.draw(st.sampled_from(sorted(files)))
    content = bytearray(files[name])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content)))
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(
            st.binary(max_size=4)
        )
    path = made(folder, name, bytes(content))
    relevant = made(folder, "t.csv", "user_id,item_id|1,7|2,7|q1,d2")
    for read, options in (
        (as_ranks, {"n_items": 9}),
        (as_ranks, {"relevant": relevant}),
        (as_sampled, {"n_negatives": 9}),
        (lambda data: items_by_id(data, "relevant"), {}),
    ):
        message = ""
        try:
            read(path, **options)
        except InputError as error:
            message = str(error)
        assert "\n" not in message
