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
from sampled_metrics.datasets.reading import read_interactions
from sampled_metrics.datasets.settings import Columns


@pytest.fixture
def read(tmp_path):
    """Write a table, text or columns by name, and read it."""

    def reader(content, name="mine.csv", columns=None, separator=None, **options):
        path = tmp_path / name
        if isinstance(content, dict):
            parquet.write_table(pa.table(content), path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_interactions(path, Columns(**columns or {}), separator, **options)

    return reader


@pytest.fixture
def refused(read):
    """Write and read a table; return the error."""

    def reader(*arguments, **options):
        with pytest.raises(InputError) as caught:
            read(*arguments, **options)
        assert "\n" not in str(caught.value)
        return caught.value

    return reader


def listed(events):
    """Published ids and times of the events."""
    user, item = events.user, events.item
    user = user if events.user_names is None else events.user_names[user]
    item = item if events.item_names is None else events.item_names[item]
    return list(zip(user.tolist(), item.tolist(), strict=True))


def test_default_columns(read):
    events = read("timestamp,item,other,user,rating\n9,20,x,1,3.5\n5,10,y,1,0\n", with_rating=True)
    assert listed(events) == [(1, 20), (1, 10)]
    assert events.timestamp.tolist() == [9, 5]
    assert events.rating.tolist() == [3.5, 0]
    assert (events.user.dtype, events.rating.dtype) == (np.int32, np.float32)
    assert events.user_names is None
    assert events.item_names is None


def test_user_and_item_suffice(read):
    events = read("user,item\n1,20\n")
    assert (listed(events), events.timestamp, events.rating) == ([(1, 20)], None, None)


@pytest.mark.parametrize("ending", ["", "\n", "\n\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_ends_of_lines(read, newline, ending):
    text = "user,item\n1,20\n2,30".replace("\n", newline) + ending.replace("\n", newline)
    assert listed(read(text)) == [(1, 20), (2, 30)]


@pytest.mark.parametrize(
    ("name", "separator", "between"),
    [("a.txt", None, "\t"), ("a.txt", "|", "|"), ("a.csv", ";", ";"), ("a.csv", None, ",")],
)
def test_separators(read, name, separator, between):
    text = "user,item,timestamp\nann,x,1\nbob,y,2\n".replace(",", between)
    assert listed(read(text, name, separator=separator)) == [("ann", "x"), ("bob", "y")]


def test_compressed(read):
    plain = b"user\titem\n1\t20\n2\t30\n"
    assert listed(read(gzip.compress(plain), "a.tsv.gz")) == [(1, 20), (2, 30)]


def test_byte_order_mark_and_quotes(read):
    text = b'\xef\xbb\xbf"user",item\n"a,b",x\n"say ""no""",y\n'
    assert listed(read(text)) == [("a,b", "x"), ('say "no"', "y")]


def test_empty_lines_and_columns_that_are_not_read(read):
    events = read("\n\n,user,,item\n\n0,1,x,20\n1,2,,30\n")
    assert listed(events) == [(1, 20), (2, 30)]
    error = events.error("wrong", 0)
    assert (error.path.name, error.row, error.line) == ("mine.csv", 1, 5)


def test_named_columns(read):
    columns = {"user": "uid", "item": "iid", "timestamp": "when", "rating": None}
    events = read("uid,iid,when,timestamp\n1,20,7,x\n", columns=columns)
    assert (listed(events), events.timestamp.tolist()) == ([(1, 20)], [7])


def test_places_mean_no_header(read):
    columns = {"user": 0, "item": 1, "timestamp": 3}
    events = read("1,20,5,7\n2,30,4,8\n", columns=columns)
    assert (listed(events), events.timestamp.tolist()) == ([(1, 20), (2, 30)], [7, 8])
    assert events.rating is None


class TestIds:
    def test_small_numbers_serve_as_published(self, read):
        events = read(f"user,item\n{2**31 - 1},{-(2**31)}\n-5,0\n")
        assert listed(events) == [(2**31 - 1, -(2**31)), (-5, 0)]
        assert events.user_names is None

    def test_large_numbers_are_kept_as_numbers(self, read):
        events = read(f"user,item\n{2**40},1\n7,1\n")
        assert listed(events) == [(2**40, 1), (7, 1)]
        assert events.user_names.tolist() == [7, 2**40]
        assert events.user_names.dtype == np.int64

    @pytest.mark.parametrize("odd", ["007", "+7", "-0", " 7", "7.0", "0x7", "9" * 30, "NA", "null"])
    def test_other_spellings_make_text_of_all(self, read, odd):
        events = read(f"user,item\n{odd},1\n7,1\n12,1\n")
        assert listed(events) == [(odd, 1), ("7", 1), ("12", 1)]
        assert events.user_names.tolist() == sorted([odd, "7", "12"])
        assert events.user.dtype == np.int32

    def test_order_of_names_is_that_of_numbers(self, read):
        events = read("user,item\nb,z\na,y\nb,ä\n")
        assert events.user.tolist() == [1, 0, 1]
        assert events.item_names.tolist() == ["y", "z", "ä"]

    @pytest.mark.parametrize(
        "column",
        [
            pa.array([7, 12, 7], pa.int64()),
            pa.array([7, 12, 7], pa.uint8()),
            pa.array([7, 2**63 - 1, 7], pa.uint64()),
            pa.array([7, 2**40, 7], pa.uint64()).dictionary_encode(),
            pa.array([7, 2**40, 7], pa.int64()),
            pa.array(["b", "a", "b"], pa.large_string()),
            pa.array(["b", "a", "b"]).dictionary_encode(),
            pa.array([7, 12, 7]).dictionary_encode(),
            pa.DictionaryArray.from_arrays([2, 1, 2], ["unused", "a", "b"]),
            pa.array(["07", "7", "07"]),
        ],
    )
    def test_columns_of_parquet(self, read, column):
        events = read({"user": column, "item": [1, 2, 3]}, "a.parquet")
        assert listed(events) == list(zip(column.to_pylist(), [1, 2, 3], strict=True))
        if events.user_names is not None:
            assert events.user_names.tolist() == sorted(set(column.to_pylist()))


@given(st.lists(st.tuples(st.text(st.characters(exclude_categories=["Cc", "Cs"]), min_size=1),
                          st.integers(-(2**62), 2**62)), min_size=1))  # fmt: skip
def test_ids_survive(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("ids") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("user", "item"), *rows])
    users, items = zip(*rows, strict=True)
    found = listed(read_interactions(path))
    canonical = all(re.fullmatch("0|-?[1-9][0-9]{0,17}", user) for user in users)
    assert [item for _, item in found] == list(items)
    assert [user for user, _ in found] == (list(map(int, users)) if canonical else list(users))


def test_columns_that_are_not_wanted_are_not_read(read):
    unread = {"rating": None, "timestamp": None}
    for content in (
        "user,item,rating,timestamp\n1,2,good,noon\n",
        {"user": [1], "item": [2], "rating": ["good"], "timestamp": ["noon"]},
    ):
        name = "a.csv" if isinstance(content, str) else "a.parquet"
        events = read(content, name, unread, with_rating=True)
        assert (listed(events), events.timestamp, events.rating) == ([(1, 2)], None, None)


def test_ratings_below_zero(read):
    events = read("user,item,rating\n1,2,-1\n1,3,-9.5\n1,4,+1\n", with_rating=True)
    assert events.rating.tolist() == [-1, -9.5, 1]


MANY = "user,item,rating,timestamp\n1,20,4.5,7\n\n2,30,5,8\n"


@pytest.mark.parametrize(
    ("content", "place", "problem"),
    [
        ("", (None, None, None), "empty; expected a table of interactions"),
        ("user,item\n", (None, None, None), "no rows; expected a table of interactions"),
        ("uid,item\n1,2\n", (None, None, None), "lacks column user; found uid, item"),
        ("user;item\n1;2\n", (None, None, None), "columns are separated by semicolons"),
        ("user,item,user\n1,2,3\n", (None, None, None), "duplicate column user"),
        (f"{MANY}1,2,3\n", (None, 5, None), "found 3 columns; expected 4"),
        (f"{MANY},2,3,4\n", (3, 5, "user"), "found nothing; expected whole numbers or text"),
        (f"{MANY}1,,3,4\n", (3, 5, "item"), "found nothing; expected whole numbers or text"),
        (f"{MANY}1,2,,4\n", (3, 5, "rating"), "found nothing; expected finite numbers"),
        (f"{MANY}1,2,nan,4\n", (3, 5, "rating"), "found nan; expected finite numbers"),
        (f"{MANY}1,2,good,4\n", (3, 5, "rating"), "found 'good'; expected finite numbers"),
        (f"{MANY}1,2,3,\n", (3, 5, "timestamp"), "found nothing; expected numbers, or ISO 8601"),
        (f"{MANY}{'x' * 201},2,3,4\n", (3, 5, "user"), "found an id of 201 characters; expected "),
        (MANY.encode() + b"\xff,2,3,4\n", (None, None, None), "not a table of interactions (In CS"),
        (b"user,item\xff\n1,2\n", (None, None, None), "not text ("),
        (b"PK\x03\x04\0\0rest", (None, None, None), "found a spreadsheet"),
        ('user,item\n1,"2\n3,4\n', (1, 2, "item"), "found '2\\n3,4\\n'; expected text without"),
        ("user,item\na\0,2\n", (None, None, None), "not text; expected a table"),
    ],
)
def test_text_that_is_no_table(refused, content, place, problem):
    error = refused(content)
    assert (error.path.name, error.row, error.line, error.column) == ("mine.csv", *place)
    assert error.problem.startswith(problem)


def test_message_of_a_value(refused):
    error = refused(f"{MANY}1,2,good,4\n")
    told = "mine.csv, row 3 (line 5), column rating: found 'good'; expected finite numbers"
    assert str(error).endswith(told)


def test_rows_of_several_lines(refused):
    # more than the reader takes at once, so that it finds half a row
    error = refused("user,item\n" + '1,"two\nlines"\n' * 100_000)
    assert (error.line, error.problem) == (3, "found 1 columns; expected 2")


@pytest.mark.parametrize(
    ("content", "place", "problem"),
    [
        ({"user": [1]}, (None, None), "lacks column item; found user"),
        ({"user": [1, None], "item": [1, 2]}, (2, "user"), "found nothing; expected whole numbers"),
        ({"user": ["a", ""], "item": [1, 2]}, (2, "user"), "found nothing; expected whole numbers"),
        ({"user": [1.5], "item": [1]}, (1, "user"), "found 1.5; expected whole numbers or text"),
        ({"user": [[1]], "item": [1]}, (None, "user"), "found type list<"),
        ({"user": pa.array([2**63], pa.uint64()), "item": [1]}, (1, "user"), "found 9.2233720"),
        ({"user": [1], "item": [1], "rating": ["x"]}, (1, "rating"), "found 'x'; expected finite"),
        ({"user": [1], "item": [1], "rating": [np.inf]}, (1, "rating"), "found inf; expected fin"),
        ({"user": [], "item": []}, (None, None), "no rows; expected a table of interactions"),
        (b"user,item\n1,2\n", (None, None), "not parquet ("),
    ],
)
def test_parquet_that_is_no_table(refused, content, place, problem):
    error = refused(content, "a.parquet")
    assert (error.path.name, error.row, error.column) == ("a.parquet", *place)
    assert error.problem.startswith(problem)
    assert error.line is None


def test_missing_and_damaged_files(refused, tmp_path):
    for name in ("gone.csv", "gone.parquet"):
        with pytest.raises(InputError, match=rf"{name}: no such file; expected a table"):
            read_interactions(tmp_path / name)
    whole = gzip.compress(b"user,item\n" + b"1,2\n" * 9)
    for content in (whole[:-12], b"user,item\n1,2\n"):
        error = refused(content, "a.csv.gz")
        assert error.path.name == "a.csv.gz"
        assert error.problem.startswith("not ")


def test_places_beyond_the_columns(refused):
    columns = {"user": 0, "item": 2}
    assert refused("1,2\n", columns=columns).problem == "lacks column 2; found 0, 1"
    assert "use names, not places" in refused({"user": [1]}, "a.parquet", columns=columns).problem


def test_typed_headers_of_recbole(read):
    text = "user_id:token\titem_id:token\ttimestamp:float\nann\tx\t1.5\n"
    for suffix in ("", ":token"):
        columns = {"user": f"user_id{suffix}", "item": f"item_id{suffix}"}
        assert listed(read(text, "a.inter", columns)) == [("ann", "x")]


def test_rows_name_their_lines(read):
    events = read('user,item\n\n1,20\n"2",30\n')
    assert str(events.error("wrong", 1)).endswith("mine.csv, row 2 (line 4): wrong")
    rows = read({"user": ["a", "b"], "item": [1, 2]}, "a.parquet")
    assert str(rows.error("wrong", 1)).endswith("a.parquet, row 2: wrong")
    assert rows.ids(1) == ("b", 2)
