"""The number to quote beside a range, with an interval about the exact metric."""

import math
from typing import NamedTuple

from scipy.special import ndtri

from sampled_metrics._base.defaults import MAX_WIDTH_RATIO
from sampled_metrics.intervals.ranges import Range

TOO_WIDE = f"whose high end is more than {MAX_WIDTH_RATIO:g} times the low one"


class Quoted(NamedTuple):
    """A number to quote, and its interval about the exact metric; nan if none is quoted.

    The interval holds the number, and is in the range.
    """

    value: float
    low: float
    high: float

    @property
    def is_quoted(self) -> bool:
        """Whether there is a number."""
        return not math.isnan(self.value)


def none_if_nan(number: float) -> float | None:
    """Return a number, or None in place of nan."""
    return None if math.isnan(number) else number


NOT_QUOTED = Quoted(math.nan, math.nan, math.nan)


def quote(estimate: float, log_error: float, allowed: Range, confidence: float) -> Quoted:
    """Quote an estimate of a metric: the nearest value in its range, if its interval is not wide.

    `log_error` is the standard deviation of the log of the exact metric; nan for an unbiased
    estimate, whose range is its interval.
    """
    value = allowed.nearest(estimate)
    low, high = allowed.low, allowed.high
    if not math.isnan(log_error):
        reach = math.exp(float(ndtri((1.0 + confidence) / 2.0)) * log_error)
        low = max(low, value / reach)
        high = min(high, value * reach)
    if high > MAX_WIDTH_RATIO * low:
        return NOT_QUOTED
    return Quoted(value, low, high)


def quote_difference(difference: float, a: Quoted, b: Quoted, allowed: Range) -> Quoted:
    """Quote a difference b - a in its range, with an interval from those of both.

    As if their errors were independent. What is usual errs alike for both, so that the interval is
    rather too wide.
    """
    if not (a.is_quoted and b.is_quoted):
        return NOT_QUOTED
    value = allowed.nearest(difference)
    below = math.hypot(b.value - b.low, a.high - a.value)
    above = math.hypot(b.high - b.value, a.value - a.low)
    return Quoted(value, max(allowed.low, value - below), min(allowed.high, value + above))
