"""The number to quote beside a range, with an interval about the exact metric.

Question: which single number may stand for the exact metric, and how far may it be off?

The estimate and the standard deviation of its logarithm come from a smooth distribution of true
ranks (`estimators.smooth`). The number is the value in the range that is nearest to the estimate,
and its interval [value / e, value e], with e = exp(z log_error), is cut to the range. No number is
quoted where the interval is too wide to be useful.
"""

import math
from typing import NamedTuple

from scipy.special import ndtri

from sampled_metrics._base.defaults import MAX_WIDTH_RATIO
from sampled_metrics.intervals.ranges import Range

TOO_WIDE = f"whose high end is more than {MAX_WIDTH_RATIO:g} times the low one"


class Quoted(NamedTuple):
    """A number to quote, and its interval about the exact metric; nan if none is quoted.

    The number is in the interval, and the interval in the range.
    """

    value: float
    low: float
    high: float

    @property
    def is_quoted(self) -> bool:
        """Whether there is a number."""
        return not math.isnan(self.value)


NOT_QUOTED = Quoted(math.nan, math.nan, math.nan)


def none_if_nan(value: float) -> float | None:
    """Return a value, or None in place of nan."""
    return None if math.isnan(value) else value


def quote(estimate: float, log_error: float, allowed: Range, confidence: float) -> Quoted:
    """Quote an estimate of a metric: the nearest value in its range, if its interval is not wide.

    Parameters
    ----------
    estimate, log_error
        The estimate, and the standard deviation of the log of the exact metric; nan for an unbiased
        estimate, whose range is its interval.
    allowed
        Range of the exact metric.
    confidence
        Nominal coverage of the interval.

    Examples
    --------
    >>> round(quote(0.1, 0.2, Range(0.08, 0.5), 0.95).high, 3)
    0.148
    """
    value = allowed.nearest(estimate)
    low, high = allowed.low, allowed.high
    if not math.isnan(log_error):
        z = float(ndtri((1.0 + confidence) / 2.0))
        factor = math.exp(z * log_error)
        low = max(low, value / factor)
        high = min(high, value * factor)
    if high > MAX_WIDTH_RATIO * low:
        return NOT_QUOTED
    return Quoted(value, low, high)


def quote_difference(difference: float, a: Quoted, b: Quoted, allowed: Range) -> Quoted:
    """Quote a difference b - a in its range, with an interval from the intervals of both.

    Their errors are taken as independent. Errors that both recommenders share cancel in fact, so
    the interval tends to be too wide.
    """
    if not (a.is_quoted and b.is_quoted):
        return NOT_QUOTED
    value = allowed.nearest(difference)
    downward = math.hypot(b.value - b.low, a.high - a.value)
    upward = math.hypot(b.high - b.value, a.value - a.low)
    return Quoted(value, max(allowed.low, value - downward), min(allowed.high, value + upward))
