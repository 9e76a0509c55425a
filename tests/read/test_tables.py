"""Columns of tables and files, by hand: numbers, texts, ids, and records of ranks."""

import gzip
import math
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sampled_metrics as sm
from sampled_metrics._base.errors import InputError
from sampled_metrics.read.options import as_ranks
from sampled_metrics.read.tables import QRELS, RUN, Table, read_table
from tests.helpers.files import join_rows, one_column, rank_counts, write_file
from tests.helpers.results import refusal

PATH = Path("t")
COLUMNS = ("user_id", "item_id", "score", "rank", "n_tied")


@pytest.mark.parametrize(
    "values",
    [
        [2, 9, 5],
        [2.0, 9.0, 5.0],
        ["2", " 9 ", "5.0"],
        pa.array([2, 9, 5], pa.uint64()),
        pa.array([2, 9, 5], pa.int8()),
        [Decimal("2"), Decimal("9.0"), Decimal("5")],
        pa.array(["2", "9", "5"]).dictionary_encode(),
    ],
)
@pytest.mark.parametrize("most", [9, None, np.array([2, 9, 5])])
def test_whole_numbers_are_read_within_bounds(values, most):
    """`most` may be one bound, none, or one for each row."""
    result = one_column(values).whole_numbers("rank", 2, most)
    assert (result.dtype, result.tolist()) == (np.int64, [2, 9, 5])


@pytest.mark.parametrize(
    ("least", "most", "row", "expected"),
    [
        (3, 9, 1, "3 to 9"),
        (2, 8, 2, "2 to 8"),
        (6, None, 1, "at least 6"),
        (0, np.array([2, 9, 4]), 3, "0 to 4"),
        (0, np.array([1, 9, 5]), 1, "0 to 1"),
    ],
)
@pytest.mark.parametrize("values", [[2, 9, 5], [2.0, 9.0, 5.0], ["2", " 9 ", "5.0"]])
def test_whole_number_out_of_bounds_is_refused(values, least, most, row, expected):
    error = refusal(one_column(values).whole_numbers, "rank", least, most)
    assert (error.row, error.column) == (row, "rank")
    assert error.problem.endswith(expected)


@pytest.mark.parametrize(
    ("values", "row", "shown"),
    [
        ([1, 2.5], 2, "2.5"),
        ([1.0, math.nan], 2, "nan"),
        ([1.0, 2.0**53], 2, "9.00719925474099e+15"),
        ([1, None], 2, "nothing"),
        (["1", "2", "x", "y"], 3, "x"),
        (["1", ""], 2, "nothing"),
        ([str(number) for number in range(9)] + ["0x10", "z"], 10, "0x10"),
        ([b"\xff"], None, "bytes, not UTF-8"),
        ([timedelta(1)], None, "type duration"),
        ([[1]], None, "type list"),
        (["1", "y" * 100], 2, f"{'y' * 80};"),
    ],
)
def test_value_that_is_not_a_whole_number_is_refused(values, row, shown):
    error = refusal(one_column(values).whole_numbers, "rank", 0)
    assert (error.row, error.column) == (row, "rank")
    assert error.problem.startswith(f"found {shown}")
    assert "whole numbers" in error.problem


def test_semicolon_separates_columns(tmp_path):
    (tmp_path / "t.csv").write_text("a;rank\n1;2\n")
    assert read_table(tmp_path / "t.csv", "ranks").whole_numbers("rank", 1).tolist() == [2]


def test_largest_whole_numbers_of_floats_are_exact():
    """From 2**53 on, floats skip whole numbers."""
    values = one_column([1 - 2.0**53, 2.0**53 - 1]).whole_numbers("rank", 1 - 2**53)
    assert values.tolist() == [1 - 2**53, 2**53 - 1]


def test_largest_whole_number_of_64_bits_is_exact():
    table = one_column(pa.array([2**63 - 1, 0], pa.uint64()))
    assert table.whole_numbers("rank", 0).tolist() == [2**63 - 1, 0]


def test_whole_number_beyond_64_bits_is_refused():
    error = refusal(one_column(pa.array([2**63], pa.uint64())).whole_numbers, "rank", 0)
    assert "found 9.22337203685478e+18" in error.problem


def test_refused_number_is_beside_what_is_expected():
    error = refusal(one_column([0, 5]).whole_numbers, "rank", 1, 9, "ranks of mine")
    assert error.problem == "found 0; expected ranks of mine, 1 to 9"


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_float_of_any_width_keeps_its_value(kind):
    narrow = kind.to_pandas_dtype()
    values = np.array([0.1, 2 / 3, -1e-3]).astype(narrow)
    result = one_column(pa.array(values, kind)).finite_numbers("rank")
    assert result.dtype == np.float64
    assert result.tolist() == values.astype(np.float64).tolist()


@pytest.mark.parametrize(
    "values", [[1, 0, 1], [True, False, True], [1.0, 0.0, 1.0], ["1", "0", "1"], [1, -1, 1]]
)
def test_zeros_and_ones_are_marks(values):
    """-1 stands for 0, as in some click logs."""
    assert one_column(values).zeros_and_ones("rank").tolist() == [True, False, True]


@pytest.mark.parametrize("wrong", [2, -2, None])
def test_other_numbers_are_no_marks(wrong):
    assert refusal(one_column([1, wrong]).zeros_and_ones, "rank").row == 2


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([2**60 + 1, 2**60, 5], [2, 1, 0]),  # no float can hold them
        ([7, 5], [7, 5]),
        ([0.5, -2.0], [0.5, -2]),
    ],
)
def test_ordered_numbers_keep_their_order(values, expected):
    assert one_column(values).ordered_numbers("rank").tolist() == expected


def test_finite_numbers_are_read():
    assert one_column(["0.5", "-1e3"]).finite_numbers("rank").tolist() == [0.5, -1000]


@pytest.mark.parametrize("method", [Table.finite_numbers, Table.ordered_numbers])
@pytest.mark.parametrize("values", [[0.0, math.inf], [0.0, math.nan], ["1", "nan"], [1.0, None]])
def test_number_that_is_not_finite_is_refused(method, values):
    assert refusal(method, one_column(values), "rank").row == 2


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([7, 5, 7], [7, 5, 7]),
        ([7.0, -5.0], [7, -5]),
        (["7", "-5", "0"], [7, -5, 0]),
        (["7", "007"], ["7", "007"]),
        (["7", "-0"], ["7", "-0"]),
        (["9223372036854775807", "1"], [2**63 - 1, 1]),
        (["9223372036854775808", "1"], ["9223372036854775808", "1"]),
        (["x" * 200, "ω"], ["x" * 200, "ω"]),
        (pa.array([2**63 - 1, 3], pa.uint64()), [2**63 - 1, 3]),
        (pa.DictionaryArray.from_arrays([2, 1], ["x", "5", "4"]), [4, 5]),
        (pa.array([3, 200], pa.uint8()).dictionary_encode(), [3, 200]),
    ],
)
def test_ids_are_read_with_their_codes(values, expected):
    table = one_column(values)
    assert table.ids("rank").to_pylist() == expected
    codes, names = table.codes("rank")
    assert codes.dtype == np.int32
    distinct = list(dict.fromkeys(expected))
    assert [names.to_pylist()[code] for code in codes] == expected
    assert sorted(names.to_pylist()) == sorted(distinct)


@pytest.mark.parametrize(
    ("values", "row", "message"),
    [
        (["a", "b", "x" * 201], 3, "xxx"),
        (["a", ""], 2, "found nothing"),
        (["a", "b", None], 3, "found nothing"),
        (["a", "b", "a", "c\td"], 4, "c\\td"),
        (["a", "\x7f"], 2, "x7f"),
        ([1.0, 2.5], 2, "found 2.5"),
        ([True], None, "found type bool"),
        ([date(1970, 1, 1)], None, "found type date32"),
    ],
)
def test_value_that_is_not_an_id_is_refused(values, row, message):
    error = refusal(one_column(values).ids, "rank")
    assert (error.row, error.column) == (row, "rank")
    assert message in error.problem


def test_positions_of_ids_are_found():
    table = one_column(["5", "a", "5"])
    assert table.positions("rank", np.array(["a", "5"]), "ids").tolist() == [1, 0, 1]


def test_id_without_a_position_is_refused():
    error = refusal(one_column(["5", "a"]).positions, "rank", np.array(["5", "b"]), "mine")
    assert (error.row, error.problem) == (2, "found a; expected mine")


@pytest.mark.parametrize("read", [Table.require, Table.finite_numbers])
def test_missing_column_is_refused(read):
    assert refusal(read, one_column([1, 2]), "score").problem == "lacks column score; found rank"


def test_table_has_its_rows_and_columns():
    table = one_column([1, 2])
    table.require("rank")
    assert len(table) == 2
    assert len(Table(PATH, {}, ())) == 0


ROWS = {
    "user_id": ["a", "b"],
    "noise": [0.5, 1.0],
    "rank": [1, 2],
    "text": ["x", "y"],
}
ROWS |= {"count": [3, 4], "more": [-1.5e-3, 2.0]}


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "frame", "arrow", "columns"])
def test_table_holds_its_other_columns(tmp_path, kind):
    frame = pd.DataFrame(ROWS)
    path = tmp_path / f"t.{kind}"
    if kind == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="\t" if kind == "tsv" else ",")
    arrays = {name: np.array(values) for name, values in ROWS.items()}
    data = {"frame": frame, "arrow": pa.table(ROWS), "columns": arrays}.get(kind, path)
    table = read_table(data, "ranks")
    assert table.unknown_columns["noise"].to_pylist() == [0.5, 1.0]
    assert list(table.unknown_columns) == ["noise", "text", "count", "more"]
    assert table.names == tuple(ROWS)
    assert list(table.columns) == ["user_id", "rank"]
    assert table.whole_numbers("rank", 1).tolist() == [1, 2]
    assert table.ids("user_id").to_pylist() == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "trec", "column_names"),
    [
        ("q Q0 d 1 0.5 t\n", RUN, {"user_id", "item_id", "score"}),
        ("  q \t Q0 d 1 0.5 t  \nr Q0 e 1 0.4 t\n", RUN, {"user_id", "item_id", "score"}),
        ("q 0 d 1\n", QRELS, {"user_id", "item_id", "relevance"}),
        ("rank,user_id\n1,a\n", RUN, {"user_id", "rank"}),  # a table
    ],
)
def test_file_of_trec_eval_is_recognised(tmp_path, text, trec, column_names):
    path = write_file(tmp_path, "t.txt", text)
    assert read_table(path, "lists", trec=trec).columns.keys() == column_names


@pytest.mark.parametrize(
    ("text", "trec"),
    [
        ("q Q0 d x 0.5 t\n", RUN),  # the rank is no number
        ("q 0 d 1\n", RUN),
        ("q 0 d 1\n", None),
    ],
)
def test_text_that_is_not_in_the_format_of_trec_eval_is_refused(tmp_path, text, trec):
    path = write_file(tmp_path, "t.txt", text)
    with pytest.raises(InputError, match="lists"):
        read_table(path, "lists", trec=trec)


@pytest.mark.parametrize(
    ("text", "n_fields"),
    [
        ("a,rank\n1,2\n1,2,3\n", 3),
        ("a,rank\n\n1,2\n\n7\n1,2,3\n", 1),
        ("a\trank\n1\t2\n1\t2\t3\t4\n", 4),
    ],
)
def test_row_of_other_length_is_refused(tmp_path, text, n_fields):
    path = tmp_path / "t.csv"
    path.write_text(text)
    error = refusal(read_table, path, "ranks")
    assert f"got {n_fields}" in error.problem


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PK\x03\x04\x00", "zip archive; unpack"),
        (b' {"a": 1}\n1', "found columns"),
        (b"rank\n\x00", "null bytes"),
        (b"\xef\xbb\xbf\n\r\n", "empty"),
        (b"", "empty"),
        (b"\xff\xfe", "UTF-16; save it as UTF-8"),
        ("rank\n1\n".encode("utf-16-be"), "UTF-16"),
        (b"\x1f\x8b\x08", "gzip file; rename it to end in .gz"),
        ("user_id,rank\n\xe9,1\n".encode("latin-1"), "UTF-8"),
        ("r\xe9gion,rank\nx,1\n".encode("latin-1"), "UTF-8"),
        (b"1,2\n3,4\n", "no header"),
        (b"-1,b\n3,4\n", "no header"),
        (b"a,b\n3,4\n", "found columns a, b; expected ranks: some of"),
        (b"rank\n", "no rows"),
    ],
)
def test_file_without_table_is_refused(tmp_path, content, message):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    assert message in refusal(read_table, path, "ranks", COLUMNS).problem


# The mark before "six" opens a cell; a reader of CSV joins its line with all lines up to the next
# mark, also where the column is not read.
TITLES = """# films
user_id,item_id,title
1,10,"five, or
2,20,six
3,30,seven"
4,40,eight
"""


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r", "\n\n"])
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".csv.bz2"])
@pytest.mark.parametrize("separator", [",", "\t", ";"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_cell_with_line_break_is_refused_with_its_line(tmp_path, line_end, suffix, separator, mark):
    text = mark + TITLES.replace(",", separator).replace("\n", line_end)
    path = tmp_path / f"titles{suffix}"
    with pa.output_stream(str(path)) as stream:
        stream.write(text.encode())
    error = refusal(sm.evaluate, {1: [10], 2: [20], 3: [30], 4: [40]}, "hit@1", relevant=path)
    assert (error.path, error.line) == (path, 1 + 2 * len(line_end.replace("\r\n", "\n")))
    assert "quotation mark" in error.problem


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        pytest.param('1,10,a,x\n2,20,"b,x\n', 3, id="last line"),
        pytest.param('1,10,a,x\n2,20,b,"x', 3, id="last line, without a line break at the end"),
        pytest.param('1,10,"a,x\n2,20,b",x\n', 2, id="column in the middle"),
        pytest.param('1,"10,a,x\n2,20",b,x\n', 2, id="column of ids"),
        pytest.param('1,10,a,"x\n' + "2,20,b,x\n" * 200_000, 2, id="many rows"),
        pytest.param("1,10,a,x\n" * 200_000 + '2,20,b,"\xe9\n', 200_002, id="not UTF-8"),
    ],
)
def test_quotation_mark_that_is_not_closed_is_refused(tmp_path, rows, line):
    path = tmp_path / "items.csv"
    path.write_text(f"user_id,item_id,title,genre\n{rows}", encoding="latin-1")
    error = refusal(read_table, path, "items")
    assert error.line == line
    assert "quotation mark" in error.problem


def test_line_break_in_header_is_refused(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text('user_id,item_id,"title\n1,10,a"\n2,20,b\n')
    assert refusal(read_table, path, "items").line == 1


def test_quotation_marks_within_a_line_are_read(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text('user_id,item_id,title\n1,"10",12" Mix\n2,20,"b, ""c"""\n3,30,"d" e\n')
    table = read_table(path, "items")
    assert table.ids("item_id").to_pylist() == [10, 20, 30]
    assert table.unknown_columns["title"].to_pylist() == ['12" Mix', 'b, "c"', "d e"]


def test_id_with_line_break_is_asked_about():
    with pytest.raises(InputError, match="quotation mark"):
        read_table(pd.DataFrame({"item_id": ["a", "b\n2\tc"]}), "items").ids("item_id")


@pytest.mark.parametrize(
    ("path", "shown", "problem"),
    [
        ("x" * 300, "x" * 300, "not ranks"),
        ("a\0b", "a\\x00b", "not ranks"),
        ("no-file", "no-file", "no such file"),
        (Path(__file__).parent, str(Path(__file__).parent), "a folder"),
        (Path("/dev/null"), "/dev/null", "device"),
    ],
)
def test_path_that_is_not_a_file_is_refused(path, shown, problem):
    error = refusal(read_table, path, "ranks")
    assert str(error).startswith(f"{shown}: ")
    assert problem in error.problem


def test_number_in_place_of_a_table_is_refused():
    with pytest.raises(InputError, match="ranks"):
        read_table(7, "ranks")


THREE_ROWS = "rank\n\n1\n1\n\n1\n"  # rows are counted without empty lines


@pytest.mark.parametrize("row", [1, 3])
def test_error_names_the_file_the_row_and_the_column(tmp_path, row):
    path = write_file(tmp_path, "t.csv", THREE_ROWS)
    error = read_table(path, "ranks").error_at(row - 1, "wrong", "rank")
    assert (error.path, error.row, error.column) == (path, row, "rank")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.1 + 0.2, "0.30000000000000004"),
        (np.float64(1 / 3), "0.333333333333333"),
        ("z" * 80, "z" * 80),
        ("z" * 81, "z" * 80),
    ],
)
def test_refused_value_is_shown_with_80_characters_at_most(value, shown):
    error = refusal(one_column([5]).refuse, "rank", np.array([True]), [value], "none")
    assert error.problem == f"found {shown}; expected none"


def test_expected_value_may_depend_on_the_row():
    is_wrong = np.array([False, False, True])
    refuse = one_column([5, 6, 7]).refuse
    error = refusal(refuse, "rank", is_wrong, [5, 6, 7], lambda row: f"less than {row}")
    assert error.problem == "found 7; expected less than 2"


def test_nothing_is_refused_without_a_wrong_row():
    one_column([1, 2, 3]).refuse("rank", np.zeros(3, bool), [1, 2, 3], "none")


TEXTS = ["a", "user", "a"]
CODES = pa.array([0, 1, 0], pa.uint32())


@pytest.mark.parametrize(
    "users",
    [
        pa.array(TEXTS, pa.string_view()),
        pa.array(TEXTS, pa.large_string()),
        pa.array(TEXTS).dictionary_encode(),
        pa.DictionaryArray.from_arrays(CODES, pa.array(["a", "user"], pa.string_view())),
        pa.DictionaryArray.from_arrays(CODES, pa.array(["a", "user"], pa.large_string())),
    ],
    ids=["views", "large", "codes", "codes of views", "codes of large"],
)
def test_texts_of_any_arrow_type_are_ids(users):
    table = read_table(pa.table({"user": users, "rank": [1, 2, 3]}), "ranks")
    assert table.ids("user_id").to_pylist() == TEXTS


def test_long_header_is_read(tmp_path):
    path = tmp_path / "t.csv"
    names = [f"column{number:05}" for number in range(5000)]
    path.write_text(",".join([*names, "rank"]) + "\n" + "1," * 5000 + "7\n")
    assert read_table(path, "ranks").whole_numbers("rank", 1).tolist() == [7]
    assert 60_000 <= path.read_text().index("\n") < 65_536


# Records of ranks

# Records of two users. Anna has two relevant items, in rows 1 and 3.
RECORDS = [
    ("user_id", "n_candidates", "n_better", "n_tied"),
    ("anna", 9, 4, 0),
    ("bert", 7, 0, 2),
    ("anna", 9, 1, 0),
]
RECORD_COUNTS = {
    "n_found": [2, 1], "n_relevant": [2, 1], "n_candidates": [9, 7], "depth": [9, 7],
    "n_better": [1, 4, 0], "n_tied": [0, 0, 2],
}  # fmt: skip


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
def test_records_in_text_are_read(tmp_path, name, text):
    (tmp_path / "r.csv.gz").write_bytes(gzip.compress(text.encode()))
    paths = [write_file(tmp_path, name, text), tmp_path / "r.csv.gz"]
    for ranks in map(as_ranks, paths):
        assert rank_counts(ranks) == RECORD_COUNTS
        assert ranks.users.tolist() == ["anna", "bert"]


@pytest.mark.parametrize(
    "types",
    [{}, {"user_id": "category", "n_better": "float32", "n_tied": "uint8"}],
)
def test_records_in_parquet_are_read(tmp_path, types):
    frame = pd.DataFrame(RECORDS[1:], columns=RECORDS[0]).astype(types)
    frame.to_parquet(tmp_path / "r.parquet")
    ranks = as_ranks(tmp_path / "r.parquet")
    assert rank_counts(ranks) == RECORD_COUNTS
    assert ranks.users.tolist() == ["anna", "bert"]


def test_ranks_without_ties_are_read(tmp_path):
    path = write_file(tmp_path, "r.csv", "rank\n1\n40\n7\n")
    assert rank_counts(as_ranks(path, n_items=40)) == {
        "n_found": [1] * 3,
        "n_relevant": [1] * 3,
        "n_candidates": [40] * 3,
        "depth": [40] * 3,
        "n_better": [0, 39, 6],
        "n_tied": [0] * 3,
    }
    text = "user_id,item_id,rank,n_candidates\n5,8,2,3\n4,8,2,9\n4,7,1,9\n"
    ranks = as_ranks(write_file(tmp_path, "r.csv", text))
    assert ranks.users.tolist() == [5, 4]
    assert rank_counts(ranks) == {
        "n_found": [1, 2],
        "n_relevant": [1, 2],
        "n_candidates": [3, 9],
        "depth": [3, 9],
        "n_better": [1, 0, 1],
        "n_tied": [0, 0, 0],
    }


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_last_rank_is_read():
    """Ranks 1 and 2 of 2 candidates, and 3 of 3."""
    ranks = as_ranks(pd.DataFrame({"rank": [1, 2, 3], "n_candidates": [2, 2, 3]}))
    assert ranks.n_candidates.tolist() == [2, 2, 3]
    assert ranks.n_better.tolist() == [0, 1, 2]


def test_fewer_candidates_than_the_rank_are_refused():
    error = refusal(as_ranks, pd.DataFrame({"rank": [1, 2, 3], "n_candidates": [2, 2, 1]}))
    assert (error.row, error.column) == (3, "n_candidates")


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.float32, None])
def test_array_of_ranks_is_read(kind):
    numbers = [1, 3, 10]
    ranks = as_ranks(numbers if kind is None else np.array(numbers, kind), n_items=10)
    assert ranks.n_better.tolist() == [0, 2, 9]
    assert ranks.n_tied.tolist() == [0, 0, 0]
    assert ranks.n_candidates.tolist() == [10] * 3


@pytest.mark.parametrize(("ranks", "row"), [([1, 0], 2), ([1, 2, 11], 3), ([1.5, 2.0], 1)])
def test_array_with_a_wrong_rank_is_refused(ranks, row):
    error = refusal(as_ranks, np.array(ranks), n_items=10)
    assert (error.row, error.column) == (row, "rank")


@pytest.mark.parametrize("data", [[True, False], [[1, 2]]], ids=["bool", "two axes"])
def test_array_that_has_no_ranks_is_refused(data):
    with pytest.raises(sm.InputError):
        as_ranks(np.array(data), n_items=10)


def test_array_of_ranks_needs_the_number_of_items():
    with pytest.raises(sm.InputError, match="n_items"):
        as_ranks(np.array([1, 2]))


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_tables_of_another_byte_order_are_read():
    """Ranks 1, 2, 9 and 4 of users 0 to 3, as HDF5 and FITS store them: three are up to 4."""
    ranks = np.array([1, 2, 9, 4], ">i8")
    users = np.arange(4).astype(">i4")
    frame = pd.DataFrame({"user_id": users, "rank": ranks})
    columns = {"user_id": users, "rank": ranks.astype(">f8")}
    for data in (frame, frame.set_index("user_id"), columns):
        assert sm.evaluate(data, "hit@4", n_items=50)[0].value == 3 / 4
    from_ranks = sm.Ranks.from_ranks(ranks, np.full(4, 50, ">i8"), users=users)
    assert from_ranks.n_better.tolist() == [0, 1, 8, 3]


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
@pytest.mark.parametrize(
    "ranks",
    [[3, 1], pd.DataFrame({"rank": [3, 1]}), pa.table({"rank": [3, 1]})],
    ids=["list", "frame", "arrow"],
)
def test_ranks_in_a_list_or_a_table_are_read(ranks):
    assert sm.Ranks.from_ranks(ranks, 30).n_better.tolist() == [2, 0]


RANKS_OF_USERS = pd.DataFrame({"user_id": ["b", "a"], "rank": [3, 1]})


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_users_of_a_table_of_ranks_are_read():
    assert sm.Ranks.from_ranks(RANKS_OF_USERS, 30).users.tolist() == ["b", "a"]


def test_users_beside_those_of_a_table_are_refused():
    with pytest.raises(InputError, match="user_id"):
        sm.Ranks.from_ranks(RANKS_OF_USERS, 30, users=["b", "a"])


def test_ranks_of_users_with_own_catalogues_are_read():
    """User 7 has the ranks 2 and 3 of 5 candidates, and user 8 rank 1 of 6."""
    ranks = sm.Ranks.from_ranks([2, 1, 3], [5, 6, 5], users=[7, 8, 7])
    assert ranks.users.tolist() == [7, 8]
    assert ranks.n_candidates.tolist() == [5, 6]
    assert ranks.n_found.tolist() == [2, 1]
    assert ranks.n_better.tolist() == [1, 2, 0]  # of both items of 7, and of 8


def test_written_sampled_ranks_are_read(tmp_path):
    sm.SampledRanks([2, 1, 3], n_items=50, n_negatives=9).write(tmp_path / "s.parquet")
    sample = sm.SampledRanks.read(tmp_path / "s.parquet")
    assert sample.sampled_ranks.tolist() == [2, 1, 3]
    assert sample.n_items.tolist() == [50] * 3
    assert sample.n_negatives == 9


@pytest.mark.long
def test_process_that_refuses_a_file_ends_with_its_status(tmp_path):
    """A thread that waited for Python aborted 1 of 15 processes when several ran at a time."""
    path = write_file(tmp_path, "lists.csv", "user_id,item_id,score\n1,2,0.5\n1,3,0.4\n")
    script = (
        "import sys, sampled_metrics as sm\n"
        "try:\n    sm.evaluate(sys.argv[1], 'hit@1')\n"
        "except sm.InputError:\n    sys.exit(2)\n"
    )
    command = [sys.executable, "-c", script, str(path)]
    with ThreadPoolExecutor(6) as pool:
        ended = [*pool.map(lambda _: subprocess.run(command, check=False), range(60))]
    assert {process.returncode for process in ended} == {2}
