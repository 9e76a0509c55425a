"""Times of events in seconds, from numbers, dates and texts."""

import math
from datetime import date, datetime

import pytest

from sampled_metrics_study.data.events import read_times
from tests.helpers.files import one_column
from tests.helpers.results import refusal


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, 1], [3, 1]),
        ([3.5, 1.0], [3.5, 1]),
        (["3", "1"], [3, 1]),
        (["3.5", "1"], [3.5, 1]),
        (["1970-01-01", "1970-01-02"], [0, 86400]),
        (["1970-01-01 00:00:01", "1970-01-02"], [1, 86400]),
        (["1970-01-01T00:00:01.5", "1970-01-02T00:00:00.0"], [1.5, 86400]),
        (["1970-01-01 00:00:00.000000001"] * 2, [1e-9, 1e-9]),
        (["1970-01-01T01:00:00+01:00", "1970-01-01T00:00:02Z"], [0, 2]),
        (["1970-01-01", "1970-01-01T00:00Z"], [0, 0]),
        ([date(1970, 1, 2), date(1970, 1, 1)], [86400, 0]),
        ([datetime(1970, 1, 1, 0, 0, 2)], [2]),
    ],
)
def test_times_are_read_in_seconds(values, expected):
    assert read_times(one_column(values), "rank").tolist() == expected


@pytest.mark.parametrize(
    ("values", "row"),
    [
        ([0.0, math.inf], 2),
        ([0.0, math.nan], 2),
        (["1", "nan"], 2),
        ([1.0, None], 2),
        # of two kinds
        (["1970-01-01", "5"], 2),
        (["5", "1970-01-01", "x"], 2),
        (["x", "5"], 1),
        (["1970-01-01", "1970-13-01"], 2),
        (["1970-01-01", None], 2),
    ],
)
def test_time_that_is_not_finite_or_of_another_kind_is_refused(values, row):
    assert refusal(read_times, one_column(values), "rank").row == row
