"""Times of a table, as text and as columns of parquet."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics_study.data.events import read_interactions


@pytest.fixture
def read(tmp_path):
    def reader(values, kind=None, form="parquet"):
        path, items = tmp_path / f"t.{form}", range(len(values))
        if form == "csv":
            rows = [
                f"1,{item},{value}" for item, value in zip(items, values, strict=True)
            ]
            path.write_text("\n".join(["user,item,timestamp", *rows]))
        else:
            columns = ([1] * len(values), items, pa.array(values, kind))
            pq.write_table(
                pa.table(columns, names=["user", "item", "timestamp"]), path
            )
        return read_interactions(path).timestamp.tolist()

    return reader


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["5", "-7", "007"], [5, -7, 7]),
        (["1.5", ".25", "+2", "3."], [1.5, 0.25, 2, 3]),
        (["1e3", "2.5", "-1E1"], [1000, 2.5, -10]),
        (["2020-01-01T00:00:00", "2020-01-01 00:01:00"], [1577836800, 1577836860]),
        (["1970-01-01T00:00:00.123456789"], [0.123456789]),
        (["1970-01-01T02:00:00+02:00", "1970-01-01T00:00:01Z"], [0, 1]),
    ],
)
def test_text(read, values, expected, form):
    assert read(values, None, form) == expected


@pytest.mark.parametrize(
    ("values", "row"),
    [
        (["5", "x", "7"], 2),
        (["5", "6", "2020-01-01"], 3),
        (["2020-02-30"], 1),
        (["2020-01-01", "2020-01-01T00:00:00.123456", "never"], 3),
        (["1.5", "nan"], 2),
        (["1.5", "1e999"], 2),
        (["5", ""], 2),
    ],
)
def test_first_invalid_value_is_named(read, values, row):
    for form in ("csv", "parquet"):
        with pytest.raises(InputError) as caught:
            read(values, None, form)
        assert (caught.value.row, caught.value.column) == (row, "timestamp")


@pytest.mark.parametrize(
    ("values", "kind", "expected"),
    [
        ([3, -1], pa.int16(), [3, -1]),
        ([2**53 + 1, -(2**63)], pa.int64(), [2**53 + 1, -(2**63)]),
        ([5.5, -2.0, 1e300], pa.float64(), [5.5, -2, 1e300]),
        ([dt.date(1970, 1, 2)], pa.date32(), [86400]),
        ([dt.datetime(1970, 1, 1, 0, 0, 1)], pa.timestamp("ms"), [1]),
        ([Decimal("1.25"), Decimal(-3)], pa.decimal128(9, 2), [1.25, -3]),
        ([float("nan")], pa.float64(), None),
        ([dt.timedelta(1)], pa.duration("s"), None),
    ],
)
def test_columns_of_parquet(read, values, kind, expected):
    if expected is None:
        with pytest.raises(InputError) as caught:
            read(values, kind)
        assert caught.value.column == "timestamp"
    else:
        np.testing.assert_array_equal(read(values, kind), expected)
