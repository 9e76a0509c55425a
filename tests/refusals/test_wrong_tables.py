"""Wrong tables and files are refused in one line that names the place and the first fault."""

import gzip
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sampled_metrics as sm
from sampled_metrics._base.errors import InputError
from sampled_metrics.read import tables
from sampled_metrics.read.items import items_by_id
from sampled_metrics.read.options import as_ranks, as_sampled_ranks
from sampled_metrics.sampling.catalogue import read_catalogue
from tests.helpers.cases import (
    Case,
    assert_ends_as_expected,
    call_of,
    correct,
    each_case,
    evaluate,
)
from tests.helpers.labelled_lists import SCORED_LISTS
from tests.helpers.results import refusal, refusal_message

# In these tables | ends a line of a file, and - means that no row or column is named.
WRONG_RANKS = """\
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
WRONG_LISTS = """\
user_id,item_id,rank|1,7,1|1,8,3      user_id,item_id|1,7         r 2 rank found 3; expected 1, 2, 3
user_id,item_id,rank|1,7,1|1,7,2      user_id,item_id|1,7         r 2 - duplicate of row 1
user_id,item_id,rank|1,7,1            user_id,item_id|1,7|2,7     r - - no list for user 2
user_id,item_id,rank|1,,1             user_id,item_id|1,7         r 1 item_id found nothing
user_id,item_id,score|1,7,1|1,8,nan   user_id,item_id|1,7         r 2 score found nan
user_id,item_id,score|1,7,high        user_id,item_id|1,7         r 1 score high
item_id,score|1,7                     user_id,item_id|1,7         r - - lacks column user_id
rank|1                                user_id,item_id|1,7         r - - cannot be used with ranks
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
WRONG_SAMPLED_RANKS = """\
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


def parse_cases(table, fields):
    return [tuple(line.split(maxsplit=fields)) for line in table.splitlines()]


def write_content(folder, name, content):
    """Write text, bytes, a table or an array to a file."""
    path = folder / name
    if isinstance(content, str):
        path.write_text(content.replace("|", "\n").replace("_Q0_", " Q0 "), encoding="utf-8")
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


def with_blanks(text):
    """Return a line of trec_eval with blanks in place of underscores."""
    return text.replace("_", " ") if text.startswith("q_") else text


def place_of(error):
    """Return the file, the row and the column that an error names, where - stands for none."""
    place = (error.path.name.partition(".")[0], error.row, error.column)
    return tuple("-" if part is None else str(part) for part in place)


@pytest.mark.parametrize(("content", "row", "column", "message"), parse_cases(WRONG_RANKS, 3))
def test_wrong_ranks_name_row_and_column(tmp_path, content, row, column, message):
    path = write_content(tmp_path, "r.csv", content)
    error = refusal(as_ranks, path, n_items=3541)
    assert place_of(error) == ("r", str(row), column)
    assert message in str(error)
    assert "secret" not in str(error).replace(str(path), "")


@pytest.mark.parametrize(
    ("lists", "relevant", "name", "row", "column", "message"),
    parse_cases(WRONG_LISTS, 5),
)
def test_wrong_lists_name_row_and_column(tmp_path, lists, relevant, name, row, column, message):
    path = write_content(tmp_path, "r.csv", with_blanks(lists))
    relevant = write_content(tmp_path, "t.csv", with_blanks(relevant))
    error = refusal(as_ranks, path, relevant=relevant)
    assert place_of(error) == (name, str(row), column)
    assert message in str(error)


@pytest.mark.parametrize(
    ("content", "row", "column", "message"), parse_cases(WRONG_SAMPLED_RANKS, 3)
)
def test_wrong_sampled_ranks_name_row_and_column(tmp_path, content, row, column, message):
    path = write_content(tmp_path, "s.csv", content)
    error = refusal(as_sampled_ranks, path, n_negatives=99, n_items=200)
    assert place_of(error) == ("s", str(row), column)
    assert message in str(error)


COUNTS = {"n_candidates": [5], "n_better": [0], "n_tied": [0]}


@pytest.mark.parametrize(
    ("name", "content", "row", "column", "message"),
    [
        ("r.csv", b"", "-", "-", "empty"),
        ("r.csv", b"\x00\x01\x02", "-", "-", "null bytes"),
        ("r.csv", b"rank\n\xff\n", "-", "rank", "found bytes"),
        ("r.csv.gz", b"rank\n1\n", "-", "-", "not ranks"),
        ("r.csv.gz", gzip.compress(b"rank\n5\n0\n", mtime=0), 2, "rank", "found 0"),
        ("r.parquet", b"rank\n1\n", "-", "-", "not ranks"),
        ("r.parquet", {"rank": [5, None]}, 2, "rank", "found nothing"),
        ("r.parquet", {"rank": [5, 2**63]}, 2, "rank", "found 9.22337203685478e+18"),
        ("r.parquet", {"rank": [[5], [6]]}, "-", "rank", "found type list"),
        ("r.parquet", COUNTS | {"user_id": [1.5]}, 1, "user_id", "found 1.5"),
        ("r.run", b"q1 Q0 d1 1 2.0\n", "-", "-", "found columns"),
        ("r.npy", b"no numbers", "-", "-", "not ranks, lists or scores"),
        ("r.npz", b"no archive", "-", "-", "not arrays with scores"),
    ],
)
def test_unreadable_file_is_refused(tmp_path, name, content, row, column, message):
    path = write_content(tmp_path, name, content)
    error = refusal(as_ranks, path, n_items=3541)
    assert place_of(error) == ("r", str(row), column)
    assert message in str(error)
    assert "secret" not in str(error).replace(str(path), "")


SCORES = np.ones((3, 4))
SCORES_WITH_NAN = np.where(np.eye(3, 4, 1) * [[0], [0], [1]] > 0, np.nan, SCORES)
SCORES_WITHOUT_DIAGONAL = np.where(np.eye(3, 4) > 0, -np.inf, SCORES)
DIAGONAL = [0, 1, 2]


@pytest.mark.parametrize(
    ("scores", "relevant", "seen", "name", "row", "column", "message"),
    [
        (np.ones(4), DIAGONAL, None, "s", "-", "-", "relevant cannot be used with ranks"),
        (np.array([[None]]), DIAGONAL, None, "s", "-", "-", "not ranks, lists or scores"),
        (SCORES, None, None, "s", "-", "-", "found scores; pass relevant"),
        (SCORES_WITH_NAN, [0, 0, 0], None, "s", "-", "-", "score of item 3 for user 2 is nan"),
        (SCORES_WITHOUT_DIAGONAL, [1, 1, 1], None, "s", "-", "-",
         "item 1 of user 1 has score -inf"),
        (SCORES, [0, 0, 4], None, "t", 3, "relevant", "found 4"),
        (SCORES, [0, 0], None, "t", "-", "-", "relevant items are int64 of shape"),
        (SCORES, "user_id,item_id|0,4", None, "t", 1, "item_id", "found 4"),
        (SCORES, "user_id,item_id|anna,0", None, "t", 1, "user_id", "anna"),
        (SCORES, "user_id,item_id|0,0|0,0", None, "t", 2, "-", "duplicate of row 1"),
        (SCORES, DIAGONAL, "user_id,item_id|1,1", "s", "-", "-", "is among the seen items"),
        (SCORES, DIAGONAL, "user_id,item_id|0,5", "seen", 1, "item_id", "found 5"),
        (SCORES, DIAGONAL, np.zeros((3, 5), bool), "seen", "-", "-",
         "seen items are bool of shape"),
        ({"x": SCORES}, DIAGONAL, None, "s", "-", "-", "expected scores"),
        ({"user_ids": DIAGONAL}, DIAGONAL, None, "s", "-", "-", "no scores"),
        ({"scores": SCORES, "seen": [1, 2]}, DIAGONAL, None, "s", "-", "-", "found an array seen"),
        ({"scores": SCORES, "item_ids": [1, 2, 1, 3]}, DIAGONAL, None, "s", "-", "-",
         "duplicate id 1, at positions 0 and 2"),
    ],
)  # fmt: skip
def test_wrong_matrix_is_refused(tmp_path, scores, relevant, seen, name, row, column, message):
    path, relevant, seen = (
        None if content is None else write_content(tmp_path, file, content)
        for file, content in (
            ("s.npy", scores),
            ("t.csv", relevant),
            ("seen.csv", seen),
        )
    )
    error = refusal(as_ranks, path, relevant=relevant, seen=seen)
    assert place_of(error) == (name, str(row), column)
    assert message in str(error)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy", "npz", "run", "csv.gz", ""])
def test_missing_file_is_named(tmp_path, suffix):
    path = tmp_path / f"missing.{suffix}"
    for message, content in (
        (refusal_message(as_ranks, path), "ranks, lists or scores"),
        (refusal_message(items_by_id, path, "relevant"), "relevant items"),
        (refusal_message(as_sampled_ranks, path, n_negatives=9), "sampled ranks"),
    ):
        assert message.startswith(f"{path}: no such file")
        assert content in message
    path.mkdir()
    assert "a folder" in str(refusal(as_ranks, path))


def test_message_is_one_short_line(tmp_path):
    text = "\ufeff\r\nrank,x\r\n\r\n1,a\r\n\r\n\r\nx,b\r\n"
    path = write_content(tmp_path, "a\nb.csv", text)
    place = f"{tmp_path}/a b.csv, row 2, column rank: found x"
    assert refusal_message(as_ranks, path, n_items=9).startswith(place)
    path = write_content(tmp_path, "r.csv", 'rank,n_candidates|"' + "1,9|" * 1000 + '",9|')
    assert len(str(refusal(as_ranks, path))) < 250  # a long value is cut
    # The reader guesses types from the first rows; the last row contradicts the guess.
    path = write_content(tmp_path, "r.csv", "|".join(["rank", *["7"] * 300_000, "oops"]))
    error = refusal(as_ranks, path, n_items=9)
    assert (error.row, error.column) == (300_001, "rank")


SOUND_FILES = {
    "r.csv": b"user_id,n_candidates,n_better,n_tied\nanna,9,4,0\nbert,7,0,2\nanna,9,1,0\n",
    "list.csv": b"user_id,item_id,score\n1,7,0.5\n1,8,0.25\n2,7,1e3\n",
    "r.csv.gz": gzip.compress(b"rank\n5\n6\n", mtime=0),
    "a.run": b"q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\n",
    "s.csv": b"sampled_rank,user_id\n1,a\n2,b\n",
}


@given(data=st.data())
@settings(max_examples=100)
def test_damaged_file_is_read_or_refused_in_one_line(tmp_path_factory, data):
    folder, files = tmp_path_factory.mktemp("damaged"), dict(SOUND_FILES)
    frame = pd.DataFrame({"user_id": ["a", "b"], "rank": [1, 2]})
    arrays = {"scores": SCORES, "user_ids": DIAGONAL}
    for name, content in (("r.parquet", frame), ("s.npy", SCORES), ("s.npz", arrays)):
        files[name] = write_content(folder, name, content).read_bytes()
    name = data.draw(st.sampled_from(sorted(files)))
    content = bytearray(files[name])
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content)))
        content[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    path = write_content(folder, name, bytes(content))
    relevant = write_content(folder, "t.csv", "user_id,item_id|1,7|2,7|q1,d2")
    for reader, options in (
        (as_ranks, {"n_items": 9}),
        (as_ranks, {"relevant": relevant}),
        (as_sampled_ranks, {"n_negatives": 9}),
        (lambda data: items_by_id(data, "relevant"), {}),
    ):
        message = ""
        try:
            reader(path, **options)
        except InputError as error:
            message = str(error)
        assert "\n" not in message


# The first of several faults, and their number

USER_LISTS = {"ann": ["a", "b", "c"], "bob": ["a", "d", "c"], "eve": ["d", "b", "a"]}
RISING_SCORES = np.arange(12.0).reshape(3, 4)
TWICE = pd.DataFrame({"user_id": [1, 1, 1], "item_id": [1, 2, 1]})
TWELVE_IDS = {"u8": [f"i{number}" for number in range(12)]}
TWELVE_NAMES = {"u8": [f"film {number}" for number in range(12)]}
SIZES = pd.DataFrame({"rank": [3, 1], "n_candidates": [9, 3]})
TWO_RANKS = pd.DataFrame([[1, 2, 3]], columns=["user_id", "rank", "rank"])


def recall(data, relevant, **options):
    return evaluate(data, "recall@2", relevant=relevant, **options)


def labelled_pairs(*labels):
    """Return the correction of two scored items for each of three users."""
    table = pd.DataFrame({"user_id": list("aabbcc"), "score": range(6), "label": labels})
    return correct(table, n_items=9)


FAULTS = [
    Case("relevant item not in a complete list",
         recall(USER_LISTS, {"ann": ["a"], "bob": ["b"], "eve": ["c"]}, complete=True),
         "item b .*user bob.*drop complete"),
    Case("user without a list", recall(USER_LISTS, {"ann": ["a"], "joe": ["b"], "zoe": ["c"]}),
         r"user joe \(2 users"),
    Case("relevant item that is seen", recall(USER_LISTS, {"bob": ["d"], "ann": ["c"]},
         seen={"ann": ["c"], "bob": ["d"]}), "item d .*user bob .*seen"),
    Case("one item", recall({"ann": ["a"], "bob": ["b", "c"]}, {"ann": ["a"]}, n_items=1),
         "n_items is 1, .*2"),
    Case("list longer than n_items", recall({**USER_LISTS, "ann": ["a"]}, {"ann": ["a"]},
         n_items=2), "user bob has 3 items, .*2"),
    Case("held-out item that is seen", call_of(read_catalogue, {"ann": ["b", "c"], "bob": ["d"]},
         {"bob": ["d"], "ann": ["c", "b", "a"]}), "user ann, item c .*3 pairs of 2 users"),
    Case("users without overlap",
         recall({"ann": {"a": 1.0}, "bob": {"b": 1.0}}, {"x": ["a"], "y": ["b"]}),
         "no list .*user ann"),
    Case("column too large", recall(RISING_SCORES, [3, 4, 5]),
         "row 2, column relevant: found 4"),
    Case("column too small", recall(RISING_SCORES, [3, -2, -3]),
         "row 2, column relevant: found -2; .*columns"),
    Case("no held-out item", labelled_pairs(1, 0, 0, 0, 0, 0), r"held-out item .*user b \(2 users"),
    Case("no negatives", labelled_pairs(1, 0, 1, 1, 1, 1), r"negatives .*user b \(2 users"),
    Case("nan as score", correct([[1.0, 2.0], [np.nan, 1.0], [1.0, np.inf]], positive=0),
         "row 2: .*column 0 is nan; .*finite"),
    Case("duplicate", recall({1: [1, 2, 3]}, TWICE), "^relevant, row 3: duplicate of row 1"),
    Case("unknown row of scores", recall(np.eye(2), TWICE.assign(user_id=7)),
         "^relevant, row 1, column user_id: found 7"),
    Case("ids without overlap", recall(TWELVE_IDS, TWELVE_NAMES), "such as 'film 0' and 'i0'"),
    Case("sizes in the table and by n_items", evaluate(SIZES, n_items=9),
         "found n_candidates 3 to 9"),
    Case("number of columns and n_items", recall(RISING_SCORES, [0, 1, 2], n_items=5),
         "number of items 4, but n_items is 5"),
    Case("column twice", evaluate(TWO_RANKS, n_items=90), "rank"),
    Case("user without negatives",
         call_of(sm.negatives, {"anna": ["y"], "bert": ["x"]}, {"anna": ["x"], "bert": ["y"]}, 1),
         "user anna"),
]  # fmt: skip


@each_case(FAULTS)
def test_first_of_several_faults_is_named(case):
    assert_ends_as_expected(case)


@pytest.mark.parametrize(
    ("listed", "relevant", "is_refused"),
    [(10, 10, True), (9, 10, False), (10, 9, False), (30, 10, True)],
)
def test_ten_ids_without_overlap_are_refused(listed, relevant, is_refused):
    """Fewer ids may be missing from all lists by chance; then no item is found."""
    lists = {"ann": [f"i{number}" for number in range(listed)]}
    relevant_items = {"ann": [f"j{number}" for number in range(relevant)]}
    call = recall(lists, relevant_items, n_items=100)
    if is_refused:
        with pytest.raises(sm.InputError, match="relevant"):
            call()
    else:
        assert call() == 0.0


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
def test_error_names_relevant_or_seen(name, table):
    lists, of_lists = {1: [1, 0]}, {"relevant": {1: [1]}} | {name: table}
    scores, of_scores = np.eye(2), {"relevant": [0, 1]} | {name: table}
    for call in (
        lambda: sm.evaluate(lists, "hit@1", **of_lists),
        lambda: sm.evaluate(scores, "hit@1", **of_scores),
        lambda: sm.compare({"a": lists, "b": lists}, "hit@1", **of_lists),
    ):
        message = refusal_message(call)
        assert name in message
        assert "data" not in message


@pytest.mark.parametrize(
    "error",
    [
        pa.ArrowInvalid("In CSV column #1: malloc of size 9 failed"),
        pa.ArrowMemoryError(),
    ],
)
def test_short_memory_is_not_reported_as_damage(error, tmp_path, monkeypatch):
    path = tmp_path / "l.csv"
    SCORED_LISTS.to_csv(path, index=False)
    monkeypatch.setattr(tables.pyarrow_csv, "read_csv", Mock(side_effect=error))
    assert "enough" in refusal_message(sm.evaluate, path, relevant={0: [3]})
