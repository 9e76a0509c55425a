import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics.datasets.times import as_times, first_wrong


def times(values, kind=None):
    found = as_times(pa.chunked_array([pa.array(values, kind)]))
    return None if found is None else found.tolist()


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["5", "-7", "+9", "007"], [5, -7, 9, 7]),
        (["1.5", ".25", "-2", "3."], [150, 25, -200, 300]),
        # 19 digits, of which a float keeps 16
        (["1588888888.123456789", "1588888888.123456788"],
         [1588888888123456789, 1588888888123456788]),
        (["2020-01-01", "2020-01-01T00:00:01", "2020-01-01 00:01"],
         [1577836800, 1577836801, 1577836860]),
        (["1970-01-01T00:00:00.5", "1970-01-01"], [500_000, 0]),
        (["1970-01-01T00:00:00.123456789"], [123456789]),
        (["1970-01-01T02:00:00+02:00", "1970-01-01T00:00:01Z"], [0, 1]),
    ],
)  # fmt: skip
def test_text(values, expected):
    assert times(values) == expected


def test_exponents_are_ordered_as_floats():
    of_1000, of_2_5, of_minus_10 = times(["1e3", "2.5", "-1E1"])
    assert of_minus_10 < of_2_5 < of_1000


@pytest.mark.parametrize(
    ("values", "row"),
    [
        (["5", "x", "7"], 1),
        (["5", "6", "2020-01-01"], 2),
        (["2020-01-01", "2020-01-01T00:00Z"], 1),
        (["2020-02-30"], 0),
        (["99999999999999999999"], 0),
        (["1.5", "nan"], 1),
        (["1.5", "1e999"], 1),
        (["yesterday", "5"], 0),
    ],
)
def test_what_is_no_time_is_found(values, row):
    assert times(values) is None
    assert first_wrong(pa.chunked_array([values])) == row


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([3, -1], pa.int16(), [3, -1]),
        ([2**63], pa.uint64(), None),
        ([5.0, -2.0], pa.float64(), [5, -2]),
        ([float("nan")], pa.float64(), None),
        ([dt.date(1970, 1, 2)], pa.date32(), [1]),
        ([dt.datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("ms"), [1000]),
        ([Decimal("1.25"), Decimal("-3")], pa.decimal128(9, 2), [125, -300]),
        ([True], pa.bool_(), None),
        ([dt.timedelta(1)], pa.duration("s"), None),
    ],
)
def test_columns_of_parquet(values, kind, expected):
    assert times(values, kind) == expected


def same_order(found, values):
    found, values = np.array(found), np.array(values)
    np.testing.assert_array_equal(found[:, None] < found, values[:, None] < values)
    np.testing.assert_array_equal(found[:, None] == found, values[:, None] == values)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_order_of_floats_is_kept(values):
    same_order(times(values, pa.float64()), values)


@given(st.lists(st.decimals(-(10**20), 10**20, allow_nan=False, places=6), min_size=1))
def test_order_of_decimals_is_kept(values):
    found = times([f"{value:f}" for value in values])
    if max(map(abs, values)) < 9 * 10**12:  # what int64 holds of six places
        assert found == [int(value * 10**6) for value in values]
    else:
        same_order(found, [float(value) for value in values])


def test_chunks_and_slices():
    column = pa.chunked_array([["0.5", "1.5"], ["2.5"]])
    assert as_times(column).tolist() == [5, 15, 25]
    assert as_times(column.slice(1)).tolist() == [15, 25]
