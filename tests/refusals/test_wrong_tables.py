"""Wrong tables and files are refused in one line that names the place and the first fault."""

import gzip
from pathlib import Path
from typing import Any, NamedTuple
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


class Wrong(NamedTuple):
    """Wrong data, the place that its error names, if any, and what the error shows."""

    content: Any
    shows: str
    row: int | None = None
    column: str | None = None


def place_of(error: InputError) -> tuple[Path | str | None, int | None, str | None]:
    return error.path, error.row, error.column


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong("rank\n", "no rows"),
        Wrong("rank\n5\n7\n0\n", "found 0", row=3, column="rank"),
        Wrong("\nrank\n\n5\n\n0\n", "found 0", row=2, column="rank"),  # empty lines do not count
        Wrong("rank\n1\nabc\n", "found abc", row=2, column="rank"),
        Wrong("rank,rank\n1,2\n", "duplicate column rank"),
        Wrong("rank,x\n1,2\n3,4,5\n", "got 3"),
        Wrong("place\n1\n", "found columns place"),
        Wrong("place;rank\n1;x\n", "found x", row=1, column="rank"),
        Wrong("17,a\n18,b\n", "no header"),
        Wrong("n_candidates,n_better\n5,0\n", "lacks column n_tied"),
        Wrong("user_id,rank\n7,5\n7,5\n", "found 5", row=2, column="rank"),
        Wrong("rank,n_candidates\n5,4\n", "1 to 4", row=1, column="rank"),
        Wrong("rank,n_candidates\n1,1\n", "found 1", row=1, column="n_candidates"),
        Wrong("n_candidates,n_better,n_tied\n5,5,0\n", "0 to 4", row=1, column="n_better"),
        Wrong("n_candidates,n_better,n_tied\n5,2,3\n", "0 to 2", row=1, column="n_tied"),
        Wrong("n_candidates,n_better,n_tied\n1000000001,0,0\n", "found 1000000001",
              row=1, column="n_candidates"),
        Wrong("user_id,n_candidates,n_better,n_tied\na,5,0,0\nb,5,0,0\na,6,1,0\n",
              "expected 5, as in row 1", row=3, column="n_candidates"),
    ],
)  # fmt: skip
def test_wrong_ranks_name_row_and_column(tmp_path, wrong):
    path = tmp_path / "r.csv"
    path.write_text(wrong.content)
    error = refusal(as_ranks, path, n_items=3541)
    assert place_of(error) == (path, wrong.row, wrong.column)
    assert wrong.shows in error.problem


def test_values_of_a_file_without_header_stay_private(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("17,secret\n18,secret\n")
    error = refusal(as_ranks, path, n_items=3541)
    assert "secret" not in error.problem


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong("user_id,item_id,rank\n1,7,1\n1,8,3\n", "expected 1, 2, 3", row=2, column="rank"),
        Wrong("user_id,item_id,rank\n1,7,1\n1,7,2\n", "duplicate of row 1", row=2),
        Wrong("user_id,item_id,rank\n2,7,1\n", "no list for any relevant user"),
        Wrong("user_id,item_id,rank\n1,,1\n", "found nothing", row=1, column="item_id"),
        Wrong("user_id,item_id,score\n1,7,1\n1,8,nan\n", "found nan", row=2, column="score"),
        Wrong("user_id,item_id,score\n1,7,high\n", "found high", row=1, column="score"),
        Wrong("item_id,score\n1,7\n", "lacks column user_id"),
        Wrong("rank\n1\n", "relevant cannot be used with ranks"),
        # runs of trec_eval
        Wrong("1 Q0 7 1 2.0 t\n1 Q0 8 2 x t\n", "found x", row=2, column="score"),
        Wrong("1 Q0 7 1 2.0 t\n1 Q0 7 2 1.0 t\n", "duplicate of row 1", row=2),
        Wrong("1 Q0 7 1 2.0 t\n1 Q0 7 2 1.0 t x\n", "saw 7"),
    ],
)
def test_wrong_lists_name_row_and_column(tmp_path, wrong):
    lists, relevant = tmp_path / "r.csv", tmp_path / "t.csv"
    lists.write_text(wrong.content)
    relevant.write_text("user_id,item_id\n1,7\n")
    error = refusal(as_ranks, lists, relevant=relevant)
    assert place_of(error) == (lists, wrong.row, wrong.column)
    assert wrong.shows in error.problem


@pytest.mark.parametrize(
    ("lists", "relevant"),
    [
        ("user_id,item_id,rank\n1,7,1\n", "user_id,item_id\n1,7\nmia,7\n"),
        ("1 Q0 7 1 2.0 t\n", "1 0 7 1\nmia 0 7 1\n"),  # of trec_eval
    ],
)
def test_user_without_a_list_is_named(tmp_path, lists, relevant):
    lists_path, relevant_path = tmp_path / "r.csv", tmp_path / "t.csv"
    lists_path.write_text(lists)
    relevant_path.write_text(relevant)
    error = refusal(as_ranks, lists_path, relevant=relevant_path)
    assert place_of(error) == (lists_path, None, None)
    assert "no list for user mia" in error.problem


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong("user_id,item_id\n1,7\n1,7\n", "duplicate of row 1", row=2),
        Wrong("user_id,item_id\na,7\n,8\n", "found nothing", row=2, column="user_id"),
        Wrong("user_id,item_id,relevance\n1,7,0\n", "no relevance above 0"),
        Wrong("user_id,item_id\n", "no rows"),
        Wrong("q 0 d 1\nq 0 e\n", "found nothing", row=2, column="relevance"),  # qrels
    ],
)
def test_wrong_relevant_items_name_row_and_column(tmp_path, wrong):
    lists, relevant = tmp_path / "r.csv", tmp_path / "t.csv"
    lists.write_text("user_id,item_id,score\n1,7,1\n")
    relevant.write_text(wrong.content)
    error = refusal(as_ranks, lists, relevant=relevant)
    assert place_of(error) == (relevant, wrong.row, wrong.column)
    assert wrong.shows in error.problem


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong("sampled_rank\n1\n0\n", "found 0", row=2, column="sampled_rank"),
        Wrong("sampled_rank\n101\n", "1 to 100", row=1, column="sampled_rank"),
        Wrong("sampled_rank\n1\nx\n", "found x", row=2, column="sampled_rank"),
        Wrong("sampled_rank,n_candidates\n1,99\n", "found 99", row=1, column="n_candidates"),
        Wrong("sampled_rank,user_id,repetition\n1,a,-1\n", "found -1", row=1, column="repetition"),
        Wrong("sampled_rank,repetition\n1,0\n2,1\n", "lacks column user_id"),
        Wrong("rank\n1\n", "evaluate"),
        Wrong("user_id,place\n1,1\n", "lacks column sampled_rank"),
        Wrong("user_id,score,label\nu,9,0\n", "no held-out item among the candidates of user u"),
        Wrong("user_id,score,label\nu,9,1\n", "no negatives for user u"),
        Wrong("user_id,score,label\nu,9,2\nu,1,0\n", "found 2", row=1, column="label"),
        Wrong("user_id,score\nu,9\n", "label"),
        Wrong("user_id,repetition,sampled_rank\na,0,1\nb,0,2\na,1,1\na,0,3\n", "user a", row=4),
        Wrong("user_id,item_id,repetition,sampled_rank\na,x,0,1\na,x,0,3\n", "user a", row=2),
    ],
)
def test_wrong_sampled_ranks_name_row_and_column(tmp_path, wrong):
    path = tmp_path / "s.csv"
    path.write_text(wrong.content)
    error = refusal(as_sampled_ranks, path, n_negatives=99, n_items=200)
    assert place_of(error) == (path, wrong.row, wrong.column)
    assert wrong.shows in error.problem


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("r.csv", Wrong(b"", "empty")),
        ("r.csv", Wrong(b"\x00\x01\x02", "null bytes")),
        ("r.csv", Wrong(b"rank\n\xff\n", "found bytes", column="rank")),
        ("r.csv.gz", Wrong(b"rank\n1\n", "not ranks")),
        ("r.csv.gz", Wrong(gzip.compress(b"rank\n5\n0\n"), "found 0", row=2, column="rank")),
        ("r.parquet", Wrong(b"rank\n1\n", "not ranks")),
        ("r.run", Wrong(b"q1 Q0 d1 1 2.0\n", "found columns")),
        ("r.npy", Wrong(b"no numbers", "not ranks")),
        ("r.npz", Wrong(b"no archive", "not arrays")),
    ],
)
def test_unreadable_file_is_refused(tmp_path, name, wrong):
    path = tmp_path / name
    path.write_bytes(wrong.content)
    error = refusal(as_ranks, path, n_items=3541)
    assert place_of(error) == (path, wrong.row, wrong.column)
    assert wrong.shows in error.problem


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong({"rank": [5, None]}, "found nothing", row=2, column="rank"),
        Wrong({"rank": [5, 2**63]}, "found 9.22337203685478e+18", row=2, column="rank"),
        Wrong({"rank": [[5], [6]]}, "found type list", column="rank"),
        Wrong({"n_candidates": [5], "n_better": [0], "n_tied": [0], "user_id": [1.5]},
              "found 1.5", row=1, column="user_id"),
    ],
)  # fmt: skip
def test_wrong_columns_of_parquet_are_refused(tmp_path, wrong):
    path = tmp_path / "r.parquet"
    pd.DataFrame(wrong.content).to_parquet(path)
    error = refusal(as_ranks, path, n_items=3541)
    assert place_of(error) == (path, wrong.row, wrong.column)
    assert wrong.shows in error.problem


# Scores of three users and four items, in a file; user 0 likes item 0, user 1 item 1, user 2 item 2

SCORES, OF_DIAGONAL = np.ones((3, 4)), [0, 1, 2]
NAN_OF_USER_2, NONE_OF_USER_1 = SCORES.copy(), SCORES.copy()
NAN_OF_USER_2[2, 3] = np.nan
NONE_OF_USER_1[1, 1] = -np.inf


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong(np.ones(4), "relevant cannot be used with ranks"),
        Wrong(np.array([[None]]), "not ranks, lists or scores"),
        Wrong(NAN_OF_USER_2, "item 3 for user 2 is nan"),
        Wrong(NONE_OF_USER_1, "item 1 of user 1 has score -inf"),
    ],
)
def test_wrong_matrix_of_scores_is_refused(tmp_path, wrong):
    path = tmp_path / "s.npy"
    np.save(path, wrong.content)
    error = refusal(as_ranks, path, relevant=OF_DIAGONAL)
    assert place_of(error) == (path, None, None)
    assert wrong.shows in error.problem


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong({"x": SCORES}, "expected scores"),
        Wrong({"user_ids": [0, 1, 2]}, "no scores"),
        Wrong({"scores": SCORES, "seen": [1, 2]}, "found an array seen"),
        Wrong({"scores": SCORES, "item_ids": [1, 2, 1, 3]}, "id 1, at positions 0 and 2"),
    ],
)
def test_wrong_archive_of_arrays_is_refused(tmp_path, wrong):
    path = tmp_path / "s.npz"
    np.savez(path, **wrong.content)
    error = refusal(as_ranks, path, relevant=OF_DIAGONAL)
    assert place_of(error) == (path, None, None)
    assert wrong.shows in error.problem


def test_scores_without_relevant_items_are_refused(tmp_path):
    path = tmp_path / "s.npy"
    np.save(path, SCORES)
    error = refusal(as_ranks, path)
    assert place_of(error) == (path, None, None)
    assert "pass relevant" in error.problem


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong([0, 0, 4], "found 4", row=3, column="relevant"),
        Wrong([0, 0], "int64 of shape"),
    ],
)
def test_wrong_array_of_relevant_columns_is_refused(tmp_path, wrong):
    path = tmp_path / "t.npy"
    np.save(path, wrong.content)
    error = refusal(as_ranks, SCORES, relevant=path)
    assert place_of(error) == (path, wrong.row, wrong.column)
    assert wrong.shows in error.problem


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong("user_id,item_id\n0,4\n", "found 4", row=1, column="item_id"),
        Wrong("user_id,item_id\nanna,0\n", "found anna", row=1, column="user_id"),
        Wrong("user_id,item_id\n0,0\n0,0\n", "duplicate of row 1", row=2),
    ],
)
def test_wrong_table_of_relevant_columns_is_refused(tmp_path, wrong):
    path = tmp_path / "t.csv"
    path.write_text(wrong.content)
    error = refusal(as_ranks, SCORES, relevant=path)
    assert place_of(error) == (path, wrong.row, wrong.column)
    assert wrong.shows in error.problem


def test_seen_item_that_is_relevant_is_refused(tmp_path):
    scores, seen = tmp_path / "s.npy", tmp_path / "seen.csv"
    np.save(scores, SCORES)
    seen.write_text("user_id,item_id\n1,1\n")
    error = refusal(as_ranks, scores, relevant=OF_DIAGONAL, seen=seen)
    assert place_of(error) == (scores, None, None)
    assert "among the seen items" in error.problem


def test_seen_item_without_a_column_is_refused(tmp_path):
    seen = tmp_path / "seen.csv"
    seen.write_text("user_id,item_id\n0,5\n")
    error = refusal(as_ranks, SCORES, relevant=OF_DIAGONAL, seen=seen)
    assert place_of(error) == (seen, 1, "item_id")
    assert "found 5" in error.problem


def test_seen_items_of_another_number_of_columns_are_refused(tmp_path):
    seen = tmp_path / "seen.npy"
    np.save(seen, np.zeros((3, 5), bool))
    error = refusal(as_ranks, SCORES, relevant=OF_DIAGONAL, seen=seen)
    assert place_of(error) == (seen, None, None)
    assert "bool of shape (3, 5)" in error.problem


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy", "npz", "run", "csv.gz", ""])
@pytest.mark.parametrize(
    ("read", "content"),
    [
        (as_ranks, "ranks, lists or scores"),
        (lambda path: items_by_id(path, "relevant"), "relevant items"),
        (lambda path: as_sampled_ranks(path, n_negatives=9), "sampled ranks"),
    ],
    ids=["ranks", "relevant", "sampled ranks"],
)
def test_missing_file_is_named(tmp_path, suffix, read, content):
    path = tmp_path / f"missing.{suffix}"
    message = refusal_message(read, path)
    assert message.startswith(f"{path}: no such file")
    assert content in message


@pytest.mark.parametrize("suffix", ["csv", "parquet", "npy", "npz", "run", "csv.gz", ""])
def test_folder_in_place_of_a_file_is_refused(tmp_path, suffix):
    path = tmp_path / f"folder.{suffix}"
    path.mkdir()
    assert "a folder" in refusal(as_ranks, path).problem


def test_line_break_in_a_name_is_a_blank_in_the_message(tmp_path):
    path = tmp_path / "a\nb.csv"
    path.write_text("\ufeff\r\nrank,x\r\n\r\n1,a\r\n\r\n\r\nx,b\r\n")
    message = refusal_message(as_ranks, path, n_items=9)
    assert message.startswith(f"{tmp_path}/a b.csv, row 2, column rank: found x")


def test_cell_of_many_lines_is_cut_in_the_message(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text('rank,n_candidates\n"' + "1,9\n" * 1000 + '",9\n')
    assert len(str(refusal(as_ranks, path))) < 250


def test_last_of_many_rows_is_named(tmp_path):
    """A reader guesses types from the first rows; the last row contradicts the guess."""
    path = tmp_path / "r.csv"
    path.write_text("rank\n" + "7\n" * 300_000 + "oops\n")
    error = refusal(as_ranks, path, n_items=9)
    assert (error.row, error.column) == (300_001, "rank")


def sound_files(folder):
    """Return the content of files that can be read, by their names."""
    pd.DataFrame({"user_id": ["a", "b"], "rank": [1, 2]}).to_parquet(folder / "r.parquet")
    np.save(folder / "s.npy", SCORES)
    np.savez(folder / "s.npz", scores=SCORES, user_ids=[0, 1, 2])
    written = {name: (folder / name).read_bytes() for name in ("r.parquet", "s.npy", "s.npz")}
    return written | {
        "r.csv": b"user_id,n_candidates,n_better,n_tied\nanna,9,4,0\nbert,7,0,2\nanna,9,1,0\n",
        "list.csv": b"user_id,item_id,score\n1,7,0.5\n1,8,0.25\n2,7,1e3\n",
        "r.csv.gz": gzip.compress(b"rank\n5\n6\n", mtime=0),
        "a.run": b"q1 Q0 d1 1 2.5 t\nq1 Q0 d2 2 1.5 t\n",
        "s.csv": b"sampled_rank,user_id\n1,a\n2,b\n",
    }


def draw_damage(data, content):
    """Return the content of a file with one to four parts of 0 to 3 bytes replaced by others."""
    damaged = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(damaged)))
        damaged[place : place + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    return bytes(damaged)


@given(data=st.data())
@settings(max_examples=100)
def test_damaged_file_is_read_or_refused_in_one_line(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("damaged")
    files = sound_files(folder)
    path, relevant = folder / data.draw(st.sampled_from(sorted(files))), folder / "t.csv"
    path.write_bytes(draw_damage(data, files[path.name]))
    relevant.write_text("user_id,item_id\n1,7\n2,7\nq1,d2\n")
    for read in (
        lambda: as_ranks(path, n_items=9),
        lambda: as_ranks(path, relevant=relevant),
        lambda: as_sampled_ranks(path, n_negatives=9),
        lambda: items_by_id(path, "relevant"),
    ):
        message = ""
        try:
            read()
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
