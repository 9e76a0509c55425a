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

from sampled_metrics._base.arrays import Float, Ids, Int
from sampled_metrics._base.defaults import CONFIDENCE
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.seeds import generator
from sampled_metrics.inference.bounds import upper_bound
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
    0.11 0.57
    0.0 0.72
    """
    fit = _fit(sample, shape, confidence)
    ranges = []
    for measure in measures:
        lower, upper = _user_values(measure, fit)
        ends = -_upper_end(_negative(lower), confidence), _upper_end(upper, confidence)
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
        above = _difference_end(high_b, _negative(low_a), paired, confidence)
        below = _difference_end(_negative(low_b), high_a, paired, confidence)
        ranges.append(_range(-below, above, least_b - most_a, most_b - least_a))
    return ranges


class _Fit(NamedTuple):
    """A sample, its users and the likely distributions of its sampled ranks.

    Users are split in two folds at random, and the vectors for either come from the sampled ranks
    of the other: a vector that suits the chance deviations of a sample is biased on it.
    """

    sample: SampledRanks
    shape: str
    quantile: float
    ids: Ids | None
    user: Int  # of every row, from 0
    fold: Int  # of every row
    sizes: Int  # n of every group of rows
    group: Int  # of every row
    shares: list[Float]  # of every group, shape (folds, bins)


class _Values(NamedTuple):
    """One value per user, and the range of values that can occur."""

    of_users: Float
    least: float
    most: float


def _fit(sample: SampledRanks, shape: str, confidence: float) -> _Fit:
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence is {confidence}, expected between 0 and 1")
    rows = sample.sampled_ranks.size
    ids, user = None, np.arange(rows)
    if sample.users is not None:
        ids, user = np.unique(sample.users, return_inverse=True)
    n_users = int(user.max()) + 1
    sizes, group = _groups(np.broadcast_to(sample.n_items, rows))
    fold = (generator(0, "folds").permutation(n_users) % 2)[user]
    weight = 1.0 / np.bincount(user)[user]
    counts = np.zeros((2, sample.n_negatives + 1))
    np.add.at(counts, (1 - fold, sample.sampled_ranks - 1), weight)
    shares = []
    for n in sizes.tolist():
        table = kernel(n, sample.n_negatives, sample.sampling, shape)
        shares.append(np.array([likely_shares(of_fold, table) for of_fold in counts]))
    quantile = float(stdtrit(max(n_users - 1, 1), (1.0 + confidence) / 2.0))
    return _Fit(sample, shape, quantile, ids, user, fold, sizes, group, shares)


def _groups(n: Int) -> tuple[Int, Int]:
    """Mean n of each group of rows with about the same n, and the group of every row.

    One group where n differs by less than 2 %.
    """
    groups = _GROUPS if n.max() - n.min() > _SAME_N * n.mean() else 1
    edges = np.unique(np.quantile(n, np.arange(1, groups) / groups, method="nearest"))
    _, group = np.unique(np.searchsorted(edges, n, side="right"), return_inverse=True)
    return np.rint(np.bincount(group, n) / np.bincount(group)).astype(np.int64), group


def _user_values(measure: Measure, fit: _Fit) -> tuple[_Values, _Values]:
    """Average the lower and upper vectors over the rows of each user."""
    brackets = [
        _bracket(measure, fit, n, shares)
        for n, shares in zip(fit.sizes.tolist(), fit.shares, strict=True)
    ]
    places = fit.group, fit.fold, fit.sample.sampled_ranks - 1
    rows = np.bincount(fit.user)
    lower, upper = (np.stack(vectors) for vectors in zip(*brackets, strict=True))
    return tuple(
        _Values(
            np.bincount(fit.user, vectors[places]) / rows,
            float(vectors.min()),
            float(vectors.max()),
        )
        for vectors in (lower, upper)
    )


def _bracket(measure: Measure, fit: _Fit, n: int, shares: Float) -> Bracket:
    m, sampling = fit.sample.n_negatives, fit.sample.sampling
    if measure.needs_candidates:
        linear = 1.0 - np.arange(m + 1) / _expected_negatives(n, m, sampling)
        vectors = np.tile(linear, (len(shares), 1))
        return Bracket(vectors, vectors)
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


def _negative(values: _Values) -> _Values:
    return _Values(-values.of_users, -values.most, -values.least)


def _upper_end(values: _Values, confidence: float) -> float:
    degrees = max(values.of_users.size - 1, 1)
    quantile = float(stdtrit(degrees, (1.0 + confidence) / 2.0))
    return upper_bound(values.of_users, values.most, quantile)


def _difference_end(
    b: _Values, a: _Values, paired: tuple[Int, Int] | None, confidence: float
) -> float:
    """Upper confidence bound of the mean of b plus that of a."""
    if paired is not None:
        in_a, in_b = paired
        both = b.of_users[in_b] + a.of_users[in_a]
        return _upper_end(_Values(both, b.least + a.least, b.most + a.most), confidence)
    means = [float(values.of_users.mean()) for values in (a, b)]
    margins = [
        _upper_end(values, confidence) - mean for values, mean in zip((a, b), means, strict=True)
    ]
    return sum(means) + float(np.hypot(*margins))


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
