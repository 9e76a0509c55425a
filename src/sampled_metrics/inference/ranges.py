"""Range of an exact metric, and of a difference, that sampled ranks allow.

Sampled ranks determine the distribution of true ranks in part only, so they allow a range of
values of an exact metric. Its ends are bracketing vectors (see `brackets`) averaged over users,
plus or minus the standard error of that average: whichever distribution of the class the true
ranks have, each end is on the right side of the exact metric with a probability of about
(1 + confidence)/2 or more. The exact metric is that of the population from which the users are
drawn, so a range includes the variation over users; that of the sampled users themselves, which
full rankings would show, varies about it.

AUC is linear in the sampled rank, so that an unbiased estimate of it exists; its range is the
interval of that estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.defaults import CONFIDENCE
from sampled_metrics.inference.bounds import upper_bound
from sampled_metrics.inference.crossfit import (
    Fit,
    Values,
    common_users,
    fitted,
    possible,
    user_values,
)
from sampled_metrics.inference.kernels import NON_INCREASING
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import SampledRanks

_INVERSION = 0.99  # least confidence of ends that are inverted
_ROUNDING = 1e-9
_LEAST_P = 1e-6


@dataclass(frozen=True)
class Range:
    """Values of an exact metric, or of a difference, that sampled ranks allow.

    Attributes
    ----------
    low, high
        Its ends, as fractions, within what the class allows.
    inverted
        Whether the lower end is above the upper one even at a confidence of 99 %: no distribution
        of the class explains the sampled ranks, and the ends mean nothing.
    """

    low: float
    high: float
    inverted: bool


def metric_ranges(
    measures: Sequence[Measure],
    sample: SampledRanks,
    *,
    shape: str = NON_INCREASING,
    confidence: float = CONFIDENCE,
) -> list[Range]:
    """Compute the range of each exact metric that sampled ranks allow.

    Parameters
    ----------
    measures
        The metrics.
    sample
        Sampled ranks. Rows of one user are averaged first, and the exact metric is that of the
        average user.
    shape
        Assumption about the distribution of true ranks: `non-increasing`, no rank is more
        probable than the one before it; or `none`.
    confidence
        Probability with which a range holds the exact metric, at least.

    Returns
    -------
    One range for each metric.

    Examples
    --------
    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> sample = SampledRanks([1] * 40 + [2] * 20 + [5] * 20 + [40] * 20, 3541, 100)
    >>> for shape in ("non-increasing", "none"):
    ...     (recall,) = metric_ranges([parse_measure("recall@10")], sample, shape=shape)
    ...     print(round(recall.low, 2), round(recall.high, 2))
    0.11 0.57
    0.0 0.72
    """
    bracketed = bracket_users(measures, sample, shape=shape, confidence=confidence)
    return [bracketed.range(place) for place in range(len(measures))]


class Bracketed(NamedTuple):
    """Bracketing vectors of some metrics averaged for each user of a sample.

    Attributes
    ----------
    fit
        The sample.
    lower, upper
        Values per user of each metric whose means enclose the exact metric.
    possible
        Least and greatest value of each metric.
    confidence
        That of the ranges.
    """

    fit: Fit
    lower: list[Values]
    upper: list[Values]
    possible: list[tuple[float, float]]
    confidence: float

    def range(self, place: int) -> Range:
        """Range of one of the metrics."""
        lower, upper = self.lower[place], self.upper[place]
        ends, outer = (
            (-_upper_end(_negative(lower), level), _upper_end(upper, level))
            for level in (self.confidence, max(self.confidence, _INVERSION))
        )
        return _range(ends, outer, self.possible[place])


def bracket_users(
    measures: Sequence[Measure],
    sample: SampledRanks,
    *,
    shape: str = NON_INCREASING,
    confidence: float = CONFIDENCE,
) -> Bracketed:
    """Solve for the bracketing vectors of some metrics, and average them for each user.

    Parameters are those of `metric_ranges`. The result serves all ranges of the sample and of its
    differences from others, and is kept for a few samples.
    """
    return _bracketed(tuple(measures), sample, shape, confidence)


@lru_cache(maxsize=8)
def _bracketed(
    measures: tuple[Measure, ...], sample: SampledRanks, shape: str, confidence: float
) -> Bracketed:
    fit = fitted(sample, shape, confidence)
    values = [user_values(measure, fit) for measure in measures]
    lower, upper = ([ends[which] for ends in values] for which in (0, 1))
    return Bracketed(fit, lower, upper, [possible(each, fit) for each in measures], confidence)


def difference_range(a: Bracketed, b: Bracketed, place: int) -> Range:
    """Compute the range of the difference B - A of one metric."""
    paired = common_users(a.fit, b.fit)
    ends, outer = (
        _difference_ends(a, b, place, paired, level)
        for level in (a.confidence, max(a.confidence, _INVERSION))
    )
    (least_a, most_a), (least_b, most_b) = a.possible[place], b.possible[place]
    return _range(ends, outer, (least_b - most_a, most_b - least_a))


def order_p_value(a: Bracketed, b: Bracketed, place: int) -> float:
    """Find the largest confidence at which the range of a difference excludes 0; return 1 less it.

    To within 1e-6; 1 where no confidence of at least 1e-3 does.
    """
    paired = common_users(a.fit, b.fit)

    def decided(confidence: float) -> bool:
        low, high = _difference_ends(a, b, place, paired, confidence)
        return low > 0.0 or high < 0.0

    if not decided(1e-3):
        return 1.0
    least, most = _LEAST_P, 1.0 - 1e-3
    if decided(1.0 - least):
        return least
    while most > least * 1.01:
        middle = (least * most) ** 0.5
        least, most = (least, middle) if decided(1.0 - middle) else (middle, most)
    return most


def _difference_ends(
    a: Bracketed, b: Bracketed, place: int, paired: tuple[Int, Int] | None, level: float
) -> tuple[float, float]:
    return (
        -_difference_end(_negative(b.lower[place]), a.upper[place], paired, level),
        _difference_end(b.upper[place], _negative(a.lower[place]), paired, level),
    )


def _negative(values: Values) -> Values:
    return Values(-values.of_users, -values.most, -values.least)


def _upper_end(values: Values, confidence: float) -> float:
    degrees = max(values.of_users.size - 1, 1)
    quantile = float(stdtrit(degrees, (1.0 + confidence) / 2.0))
    return upper_bound(values.of_users, values.most, quantile)


def _difference_end(
    b: Values, a: Values, paired: tuple[Int, Int] | None, confidence: float
) -> float:
    """Upper confidence bound of the mean of b plus that of a."""
    if paired is not None:
        in_a, in_b = paired
        both = b.of_users[in_b] + a.of_users[in_a]
        return _upper_end(Values(both, b.least + a.least, b.most + a.most), confidence)
    means = [float(values.of_users.mean()) for values in (a, b)]
    margins = [
        _upper_end(values, confidence) - mean for values, mean in zip((a, b), means, strict=True)
    ]
    return means[0] + means[1] + float(np.hypot(margins[0], margins[1]))


def _range(
    ends: tuple[float, float], outer: tuple[float, float], possible: tuple[float, float]
) -> Range:
    least, most = possible
    inverted = max(outer[0], least) > min(outer[1], most) + _ROUNDING * (most - least)
    low, high = (float(np.clip(end, least, most)) for end in ends)
    return Range(low, high, inverted)
