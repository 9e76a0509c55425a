"""Times of a table, as text and as columns of parquet."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.reading import read_interactions
from sampled_metrics.tables.columns import Table


def times(values, kind=None):
    column = pa.chunked_array([pa.array(values, kind)])
    return Table(Path("t.parquet"), {"when": column}, ("when",), None).times("when")[0].tolist()


@pytest.fixture
def read(tmp_path):
    def reader(values):
        path = tmp_path / "t.csv"
        rows = [f"1,{item},{value}" for item, value in enumerate(values)]
        path.write_text("\n".join(["user,item,timestamp", *rows]))
        return read_interactions(path).timestamp.tolist()

    return reader


TEXT = [
    (["5", "-7", "007"], [5, -7, 7]),
    (["1.5", ".25", "+2", "3."], [1.5, 0.25, 2, 3]),
    (["1e3", "2.5", "-1E1"], [1000, 2.5, -10]),
    (
        ["2020-01-01T00:00:00", "2020-01-01T00:00:01", "2020-01-01 00:01:00"],
        [1577836800, 1577836801, 1577836860],
    ),
    (["1970-01-01T00:00:00.123456789"], [123456789]),
    (["1970-01-01T02:00:00+02:00", "1970-01-01T00:00:01Z"], [0, 1]),
]


@pytest.mark.parametrize(("values", "expected"), TEXT)
def test_text_of_csv_and_of_parquet(read, values, expected):
    assert times(values) == read(values) == expected


def test_fractions_of_seconds_are_kept(read):
    for found in (times, read):
        later, earlier = found(["1970-01-01T00:00:01.5", "1970-01-01 00:00:01"])
        assert 0 < earlier < later


@pytest.mark.parametrize(
    ("values", "row"),
    [
        (["5", "x", "7"], 2),
        (["5", "6", "2020-01-01"], 3),
        (["2020-01-01", "2020-01-01T00:00Z"], 2),
        (["2020-02-30"], 1),
        (["1.5", "nan"], 2),
        (["1.5", "1e999"], 2),
        (["5", ""], 2),
        (["yesterday", "5"], 1),
    ],
)
def test_first_invalid_value_is_named(read, values, row):
    for found in (times, read) if values[-1] else (read,):
        with pytest.raises(InputError) as caught:
            found(values)
        assert (caught.value.row, caught.value.column) in [(row, "when"), (row, "timestamp")]
        assert "expected numbers, or ISO 8601" in caught.value.problem


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([3, -1], pa.int16(), [3, -1]),
        ([5.5, -2.0], pa.float64(), [5.5, -2]),
        ([dt.date(1970, 1, 2)], pa.date32(), [1]),
        ([dt.datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("ms"), [1000]),
        ([Decimal("1.25"), Decimal(-3)], pa.decimal128(9, 2), [1.25, -3]),
    ],
)
def test_columns_of_parquet(values, kind, expected):
    assert times(values, kind) == expected


@pytest.mark.parametrize(
    ("values", "kind"),
    [([float("nan")], pa.float64()), ([True], pa.bool_()), ([dt.timedelta(1)], pa.duration("s"))],
)
def test_columns_of_parquet_that_hold_no_times(values, kind):
    with pytest.raises(InputError) as caught:
        times(values, kind)
    assert caught.value.column == "when"


@given(st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1))
def test_integers_are_exact(values):
    assert times(values, pa.int64()) == times([str(value) for value in values]) == values


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_order_of_floats_is_kept(values):
    np.testing.assert_array_equal(np.argsort(times(values, pa.float64())), np.argsort(values))
