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
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.defaults import CONFIDENCE
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.brackets import Bracket, bracket, likely_shares
from sampled_metrics.inference.kernels import NON_INCREASING, kernel
from sampled_metrics.inference.sampled_evaluation import SampledRanks
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.sampling.distinct import distinct_items

_GROUPS = 3  # of rows with about the same n, where n differs
_SAME_N = 0.02
_INVERTED = 1e-9  # of the metric's span


@dataclass(frozen=True)
class Range:
    """Values of an exact metric, or of a difference, that sampled ranks allow.

    Attributes
    ----------
    low, high
        Its ends, as fractions, within what the class allows.
    inverted
        Whether the lower end is above the upper one: no distribution of the class explains the
        sampled ranks, and the ends mean nothing.
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

    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> sample = SampledRanks([1] * 40 + [2] * 20 + [5] * 20 + [40] * 20, 3541, 100)
    >>> for shape in ("non-increasing", "none"):
    ...     (recall,) = metric_ranges([parse_measure("recall@10")], sample, shape=shape)
    ...     print(round(recall.low, 2), round(recall.high, 2))
    0.17 0.51
    0.0 0.66
    """
    fit = _fit(sample, shape, confidence)
    ranges = []
    for measure in measures:
        lower, upper = _user_values(measure, fit)
        ends = _below([lower], confidence), -_below([-upper], confidence)
        ranges.append(_range(*ends, *_possible(measure, fit)))
    return ranges


def difference_ranges(
    measures: Sequence[Measure],
    a: SampledRanks,
    b: SampledRanks,
    *,
    shape: str = NON_INCREASING,
    confidence: float = CONFIDENCE,
) -> list[Range]:
    """Compute the range of each difference B - A of exact metrics that sampled ranks allow.

    Users whose ids are in both samples are paired, the others left out; pairs are worth most
    where both recommenders ranked the same negatives. Samples without ids, or without common
    ones, are taken as independent.

    Parameters
    ----------
    measures
        The metrics.
    a, b
        Sampled ranks of the two recommenders. The numbers of negatives may differ.
    shape, confidence
        See `metric_ranges`; the assumption is made for both recommenders.

    Returns
    -------
    One range for each metric.
    """
    fits = [_fit(sample, shape, confidence) for sample in (a, b)]
    paired = _common_users(*fits)
    ranges = []
    for measure in measures:
        (low_a, high_a), (low_b, high_b) = (_user_values(measure, fit) for fit in fits)
        (least_a, most_a), (least_b, most_b) = (_possible(measure, fit) for fit in fits)
        if paired is None:
            ends = _below([low_b, -high_a], confidence), -_below([low_a, -high_b], confidence)
        else:
            in_a, in_b = paired
            low, high = low_b[in_b] - high_a[in_a], high_b[in_b] - low_a[in_a]
            ends = _below([low], confidence), -_below([-high], confidence)
        ranges.append(_range(*ends, least_b - most_a, most_b - least_a))
    return ranges


class _Fit(NamedTuple):
    """A sample, its users and the likely distribution of its sampled ranks."""

    sample: SampledRanks
    shape: str
    quantile: float
    ids: np.ndarray | None
    user: Int  # of every row, from 0
    sizes: Int  # n of every group of rows
    group: Int  # of every row
    shares: list[Float]  # of every group


def _fit(sample: SampledRanks, shape: str, confidence: float) -> _Fit:
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence is {confidence}, expected between 0 and 1")
    rows = sample.sampled_ranks.size
    ids, user = None, np.arange(rows)
    if sample.users is not None:
        ids, user = np.unique(sample.users, return_inverse=True)
    sizes, group = _groups(np.broadcast_to(sample.n_items, rows))
    weight = 1.0 / np.bincount(user)[user]
    counts = np.bincount(sample.sampled_ranks - 1, weight, sample.n_negatives + 1)
    shares = []
    for n in sizes.tolist():
        table = kernel(n, sample.n_negatives, sample.sampling, shape)
        shares.append(likely_shares(counts, table))
    quantile = float(stdtrit(max(user.max(), 1), (1.0 + confidence) / 2.0))
    return _Fit(sample, shape, quantile, ids, user, sizes, group, shares)


def _groups(n: Int) -> tuple[Int, Int]:
    """Mean n of each group of rows with about the same n, and the group of every row.

    One group where n differs by less than 2 %.
    """
    groups = _GROUPS if n.max() - n.min() > _SAME_N * n.mean() else 1
    edges = np.unique(np.quantile(n, np.arange(1, groups) / groups, method="nearest"))
    _, group = np.unique(np.searchsorted(edges, n, side="right"), return_inverse=True)
    return np.rint(np.bincount(group, n) / np.bincount(group)).astype(np.int64), group


def _user_values(measure: Measure, fit: _Fit) -> tuple[Float, Float]:
    """Average the lower and upper vectors over the rows of each user."""
    brackets = [_bracket(measure, fit, *each) for each in zip(fit.sizes.tolist(), fit.shares)]
    places = fit.group, fit.sample.sampled_ranks - 1
    rows = np.bincount(fit.user)
    lower, upper = (
        np.bincount(fit.user, np.stack(vectors)[places]) / rows
        for vectors in zip(*((one.lower, one.upper) for one in brackets), strict=True)
    )
    return lower, upper


def _bracket(measure: Measure, fit: _Fit, n: int, shares: Float) -> Bracket:
    m, sampling = fit.sample.n_negatives, fit.sample.sampling
    if measure.needs_candidates:
        linear = 1.0 - np.arange(m + 1) / _expected_negatives(n, m, sampling)
        return Bracket(linear, linear)
    table = kernel(n, m, sampling, fit.shape, measure.cutoff)
    return bracket(measure, table, shares, int(fit.user.max()) + 1, fit.quantile)


def _expected_negatives(n: int, m: int, sampling: str) -> float:
    """Mean number of negatives that are ranked: fewer than m where duplicates are dropped."""
    if Sampling(sampling) is not Sampling.DISTINCT:
        return float(m)
    return float(distinct_items(n - 1, m) @ np.arange(m + 1))


def _possible(measure: Measure, fit: _Fit) -> tuple[float, float]:
    """Least and greatest value of the metric in the class."""
    share = np.bincount(fit.group) / fit.group.size
    extremes = np.empty((fit.sizes.size, 2))
    for row, n in zip(extremes, fit.sizes.tolist(), strict=True):
        exact = kernel(n, fit.sample.n_negatives, fit.sample.sampling, fit.shape).metric(measure)
        row[:] = exact.min(), exact.max()
    least, most = share @ extremes
    return float(least), float(most)


def _below(samples: Sequence[Float], confidence: float) -> float:
    """Lower confidence bound of the sum of the means of independent samples."""
    mean = sum(float(values.mean()) for values in samples)
    if min(values.size for values in samples) < 2:
        return -np.inf
    square = sum(float(values.var(ddof=1)) / values.size for values in samples)
    degrees = min(values.size for values in samples) - 1
    return float(mean - stdtrit(degrees, (1.0 + confidence) / 2.0) * np.sqrt(square))


def _range(low: float, high: float, least: float, most: float) -> Range:
    margin = _INVERTED * (most - least)
    inverted = low > high + margin or low > most + margin or high < least - margin
    low, high = (float(np.clip(end, least, most)) for end in (low, high))
    return Range(low, high, inverted)


def _common_users(a: _Fit, b: _Fit) -> tuple[Int, Int] | None:
    if a.ids is None or b.ids is None:
        return None
    ids = [a.ids, b.ids]
    if ids[0].dtype.kind != ids[1].dtype.kind:
        ids = [values.astype(str) for values in ids]
    _, first, second = np.intersect1d(*ids, assume_unique=True, return_indices=True)
    return (first, second) if first.size else None
