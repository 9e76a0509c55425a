"""Tables of interactions as text and parquet, and what is said of those that are none."""

import csv
import gzip
import re

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from sampled_metrics._base.errors import InputError
from sampled_metrics.inputs.tables import positions
from sampled_metrics_study.data.events import read_interactions
from sampled_metrics_study.data.settings import Columns


@pytest.fixture
def read(tmp_path):
    """Write a table, text or columns by name, and read it."""

    def reader(content, name="mine.csv", columns=None, separator=None, **options):
        path = tmp_path / name
        if isinstance(content, dict):
            parquet.write_table(pa.table(content), path)
        else:
            path.write_bytes(
                content if isinstance(content, bytes) else content.encode()
            )
        return read_interactions(path, Columns(**columns or {}), separator, **options)

    return reader


def listed(events):
    """Published ids and times of the events."""
    user, item = events.user, events.item
    user = user if events.user_names is None else events.user_names[user]
    item = item if events.item_names is None else events.item_names[item]
    return list(zip(user.tolist(), item.tolist(), strict=True))


def test_default_columns(read):
    events = read("timestamp,item,other,user,rating\n9,20,x,1,3.5\n5,10,y,1,0\n")
    assert listed(events) == [(1, 20), (1, 10)]
    assert events.timestamp.tolist() == [9, 5]
    assert events.rating.tolist() == [3.5, 0]
    assert (events.user.dtype, events.rating.dtype) == (np.int32, np.float32)
    assert events.user_names is None
    assert events.item_names is None


@pytest.mark.parametrize(
    ("name", "separator", "between"),
    [
        ("a.txt", None, "\t"),
        ("a.txt", "|", "|"),
        ("a.csv", ";", ";"),
        ("a.csv", None, ","),
    ],
)
def test_separators(read, name, separator, between):
    text = "user,item,timestamp\nann,x,1\nbob,y,2\n".replace(",", between)
    assert listed(read(text, name, separator=separator)) == [
        ("ann", "x"),
        ("bob", "y"),
    ]


def test_empty_lines_and_columns_that_are_not_read(read):
    events = read("\n\n,user,,item\n\n0,1,x,20\n1,2,,30\n")
    assert listed(events) == [(1, 20), (2, 30)]


class TestIds:
    def test_large_numbers_are_kept_as_numbers(self, read):
        events = read(f"user,item\n{2**40},1\n7,1\n")
        assert listed(events) == [(2**40, 1), (7, 1)]
        assert events.user_names.tolist() == [7, 2**40]
        assert events.user_names.dtype == np.int64

    @pytest.mark.parametrize(
        "odd", ["007", "+7", "-0", "7.0", "0x7", "9" * 30, "NA", "null"]
    )
    def test_other_spellings_make_text_of_all(self, read, odd):
        events = read(f"user,item\n{odd},1\n7,1\n12,1\n")
        assert listed(events) == [(odd, 1), ("7", 1), ("12", 1)]
        assert events.user_names.tolist() == sorted([odd, "7", "12"])
        assert events.user.dtype == np.int32

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([7, 12, 7], pa.uint8()),
            pa.array([7, 2**63 - 1, 7], pa.uint64()),
            pa.array([7, 2**40, 7], pa.uint64()).dictionary_encode(),
            pa.array(["b", "a", "b"], pa.large_string()),
            pa.array(["b", "a", "b"]).dictionary_encode(),
            pa.DictionaryArray.from_arrays([2, 1, 2], ["unused", "a", "b"]),
            pa.array(["07", "7", "07"]),
        ],
    )
    def test_columns_of_parquet(self, read, column):
        events = read({"user": column, "item": [1, 2, 3]}, "a.parquet")
        assert listed(events) == list(zip(column.to_pylist(), [1, 2, 3], strict=True))
        if events.user_names is not None:
            assert events.user_names.tolist() == sorted(set(column.to_pylist()))


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cc", "Cs", "Z"]), min_size=1),
                          st.integers(-(2**62), 2**62)), min_size=1))  # fmt: skip
def test_ids_survive(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("ids") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("user", "item"), *rows])
    users, items = zip(*rows, strict=True)
    found = listed(read_interactions(path))
    canonical = all(re.fullmatch("0|-?[1-9][0-9]{0,17}", user) for user in users)
    assert [item for _, item in found] == list(items)
    assert [user for user, _ in found] == (
        list(map(int, users)) if canonical else list(users)
    )


MANY = "user,item,rating,timestamp\n1,20,4.5,7\n\n2,30,5,8\n"


def test_files_and_ids_are_named(read):
    events = read('user,item\n\n1,20\n"2",30\n')
    assert str(events.error("wrong")).endswith("mine.csv: wrong")
    rows = read({"user": ["a", "b"], "item": [1, 2]}, "a.parquet")
    assert str(rows.error("wrong")).endswith("a.parquet: wrong")
    assert rows.ids(1) == ("b", 2)


def test_compressed_with_a_byte_order_mark_and_quotes(read):
    plain = b'\xef\xbb\xbf"user"\titem\r\n"a,b"\tx\r\n"say ""no"""\ty'
    assert listed(read(gzip.compress(plain), "a.tsv.gz")) == [
        ("a,b", "x"),
        ('say "no"', "y"),
    ]


@pytest.mark.parametrize(
    ("content", "place", "problem"),
    [
        ("user,item\n", (None, None), "no rows"),
        ("uid,item\n1,2\n", (None, None), "lacks column user; found uid, item"),
        (f"{MANY}1,2,3\n", (None, None), "not a table"),
        (f"{MANY},2,3,4\n", (3, "user"), "found nothing"),
        (f"{MANY}1,2,good,4\n", (3, "rating"), "found good"),
        (
            f"{MANY}1,2,3,\n",
            (3, "timestamp"),
            "found nothing; expected numbers, or ISO 8601",
        ),
        (f"{MANY}{'x' * 201},2,3,4\n", (3, "user"), "found 'xxx"),
        (
            MANY.encode() + b"\xff,2,3,4\n",
            (None, None),
            "not a table of interactions",
        ),
        ('user,item\n1,"2\n3,4\n', (1, "item"), "found '2\\n"),
        ({"user": ["a", ""], "item": [1, 2]}, (2, "user"), "found nothing"),
        (
            {"user": pa.array([2**63], pa.uint64()), "item": [1]},
            (1, "user"),
            "found 9.22337",
        ),
        ({"user": [1], "item": [1], "rating": [np.inf]}, (1, "rating"), "found inf"),
        # more than the reader takes at once, so that it finds half a row
        ("user,item\n" + '1,"two\nlines"\n' * 100_000, (None, None), "not a table"),
    ],
)
def test_no_table_of_interactions(read, content, place, problem):
    with pytest.raises(InputError) as caught:
        read(content, "a.parquet" if isinstance(content, dict) else "a.csv")
    error = caught.value
    assert (error.row, error.column) == place
    assert error.problem.startswith(problem)
    assert "\n" not in str(error)


def test_places_of_ids():
    assert positions(np.array([3, 7]), np.array(["7", "x", "07"])).tolist() == [-1, 0]
