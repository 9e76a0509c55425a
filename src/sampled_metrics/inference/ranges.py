"""Range of an exact metric, and of a difference, that sampled ranks allow; ranks that are refused.

Sampled ranks determine the distribution of true ranks in part only, so they allow a range of
values of an exact metric. Its ends are bracketing vectors (see `brackets`) averaged over users,
plus or minus the error of that average: whichever distribution of the class the true ranks have,
each end is on the right side of the exact metric with a probability of about (1 + confidence)/2 or
more. The exact metric is that of the population from which the users are drawn.

Users are split in two folds at random, and the vectors for either come from the sampled ranks of
the other: a vector that suits the chance deviations of a sample is biased on it. AUC is linear in
the sampled rank, so its range is the interval of an unbiased estimate.

The chi-square test looks for errors in how sampled ranks were made. It cannot confirm an
assumption: many distributions outside of a class, and many ways to draw negatives, give sampled
ranks that a distribution inside explains.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import chdtrc, stdtrit, xlogy

from sampled_metrics._base.arrays import Float, Int, first_duplicate, generator
from sampled_metrics._base.defaults import CONFIDENCE
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.solvers import nonnegative_least_squares, root_between
from sampled_metrics.inference.brackets import (
    NON_INCREASING,
    bracket,
    kernel,
    likely_mixture,
)
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.sampling.probability import distinct_items

OfLevel: TypeAlias = Callable[[float], tuple[float, float]]  # both ends, by the confidence
_GROUPS, _SAME_N = 3, 0.02  # of rows with about the same n, where n differs by so much
_INVERSION = 0.99  # least confidence of ends that are inverted
_ROUNDING, _LEAST_P, _MOST_P = 1e-9, 1e-6, 1.0 - 1e-3

_REFUSED = 0.005  # p below which sampled ranks are refused
_LEAST_EXPECTED, _LEAST_VARIANCE = 5.0, 0.5  # users in a cell
_REWEIGHTINGS, _TURNS = 3, 30  # of fits, and of active sets per unknown
_OF_ITEMS = ("recall", "auc")  # the mean over a user's items is the metric of the user


class Range(NamedTuple):
    """Values of an exact metric, or of a difference, that sampled ranks allow."""

    low: float
    high: float
    inverted: bool = False  # a metric's low is above its high even at 99 %: no distribution fits

    @property
    def middle(self) -> float | None:
        """Geometric mean of the ends, None if the lower one is 0."""
        return (self.low * self.high) ** 0.5 if self.low > 0.0 else None


class Ends(NamedTuple):
    """Bracketing vectors of one metric averaged for each user; shape (users,) each."""

    lower: Float
    upper: Float
    least: float  # entry of the lower vectors
    most: float  # entry of the upper vectors
    possible: tuple[float, float]  # least and greatest value of the metric in the class


class Bracketed(NamedTuple):
    """Bracketing vectors of some metrics averaged for each user of a sample."""

    users: Any  # different ids in order; None without ids, where each row is a user
    user: Int  # place of each row's user among them
    ends: list[Ends]
    confidence: float

    def range(self, place: int) -> Range:
        """Range of one of the metrics."""
        lower, upper, least, most, (lowest, highest) = self.ends[place]
        levels = (self.confidence, max(self.confidence, _INVERSION))
        low, least_low = (-upper_bound(-lower, -least, level) for level in levels)
        high, most_high = (upper_bound(upper, most, level) for level in levels)
        rounding = _ROUNDING * (highest - lowest)
        inverted = max(least_low, lowest) > min(most_high, highest) + rounding
        low, high = np.clip([low, high], lowest, highest).tolist()
        return Range(low, high, bool(inverted))


@lru_cache(maxsize=8)  # a page needs those of a sample several times
def bracket_users(
    measures: tuple[Measure, ...],
    sample: SampledRanks,
    shape: str = NON_INCREASING,
    confidence: float = CONFIDENCE,
) -> Bracketed:
    """Solve for the bracketing vectors of some metrics, and average them for each user.

    Rows of one user are averaged first, and the exact metric is that of the average user. `shape`
    is the assumption about the distribution of true ranks: `non-increasing`, no rank near the top
    is more probable than the one before it; or `none`.
    """
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence is {confidence}; it must be above 0 and below 1")
    m, sampling = sample.n_negatives, sample.sampling
    ids, user = None, np.arange(sample.sampled_ranks.size)
    if sample.users is not None:
        ids, user = np.unique(sample.users, return_inverse=True)
    rows, place = np.bincount(user), sample.sampled_ranks - 1
    n = np.broadcast_to(sample.n_items, user.shape)
    groups = _GROUPS if n.max() - n.min() > _SAME_N * n.mean() else 1
    edges = np.unique(np.quantile(n, np.arange(1, groups) / groups, method="nearest"))
    _, group = np.unique(np.searchsorted(edges, n, side="right"), return_inverse=True)
    sizes = np.rint(np.bincount(group, n) / np.bincount(group)).astype(np.int64)
    fold = (generator(0, "folds").permutation(rows.size) % 2)[user]
    counts = np.zeros((2, m + 1))
    np.add.at(counts, (1 - fold, place), 1.0 / rows[user])
    z = float(stdtrit(max(rows.size - 1, 1), (1.0 + confidence) / 2.0))
    ends: list[Ends] = []
    likely: dict[tuple[int, int], Float] = {}  # by n and the last rank of the class
    for measure in measures:
        brackets, possible = [], []
        for size in sizes.tolist():
            if measure.metric.needs_candidates:
                auc = np.tile(unbiased_auc(size, m, sampling), (2, 1))
                brackets.append((auc, auc))
                possible.append((0.0, 1.0))
                continue
            table = kernel(size, m, sampling, shape, measure.cutoff)
            exact, key = table.metric(measure), (size, table.last)
            if key not in likely:
                likely[key] = np.stack([likely_mixture(x, table).shares for x in counts])
            possible.append((float(exact.min()), float(exact.max())))
            brackets.append(bracket(measure, table, likely[key], rows.size, z))
        lower, upper = (np.stack(both) for both in zip(*brackets, strict=True))
        below, above = (np.bincount(user, x[group, fold, place]) / rows for x in (lower, upper))
        least, most = np.bincount(group) / user.size @ np.array(possible)
        ends.append(Ends(below, above, float(lower.min()), float(upper.max()), (least, most)))
    return Bracketed(ids, user, ends, confidence)


def checked_ranges(
    measures: Sequence[Measure], sample: SampledRanks, shape: str, confidence: float
) -> tuple[Bracketed, list[Range]]:
    """Compute the range of each metric, or raise an InputError where there is none.

    That is if a metric is no mean over the held-out items of a user, or if no distribution of the
    class explains the sampled ranks: misfit with p < 0.005, or inverted ends.
    """
    wrong = [str(measure) for measure in measures if measure.kind not in _OF_ITEMS]
    users = sample.users if sample.several_items else None
    if wrong and users is not None and first_duplicate(users) is not None:
        raise InputError(
            f"users have several held-out items; {wrong[0]} needs them together, and sampled ranks "
            "give recall and auc only"
        )
    causes = (
        "the negatives are not uniform or not distinct, ranks do not start at 1, or the number of "
        "negatives or items is wrong"
    )
    if shape == NON_INCREASING:
        causes += ", or low ranks are likelier than high ones (try --shape none)"
    test = misfit(sample, shape)
    if test.p_value < _REFUSED:
        raise InputError(
            f"no distribution of true ranks explains these sampled ranks (chi-square "
            f"{test.statistic:.0f} with {test.degrees} degrees of freedom, "
            f"p = {test.p_value:.1g}); {causes}"
        )
    bracketed = bracket_users(tuple(measures), sample, shape, confidence)
    ranges = [bracketed.range(place) for place in range(len(measures))]
    for measure, found in zip(measures, ranges, strict=True):
        if found.inverted:
            raise InputError(
                f"the lower end of the range of {measure} is above the upper end, "
                f"{found.low:.4f} and {found.high:.4f}; {causes}"
            )
    return bracketed, ranges


def difference_range(a: Bracketed, b: Bracketed, place: int) -> Range:
    """Compute the range of the difference B - A of one metric."""
    (least_a, most_a), (least_b, most_b) = a.ends[place].possible, b.ends[place].possible
    ends = _difference(a, b, place)(a.confidence)
    low, high = np.clip(ends, least_b - most_a, most_b - least_a).tolist()
    return Range(low, high)


def order_p_value(a: Bracketed, b: Bracketed, place: int) -> float:
    """Find the largest confidence at which the range of a difference excludes 0; return 1 less it.

    To within 1 %, at least 1e-6; 1 where no confidence of at least 1e-3 does.
    """
    ends = _difference(a, b, place)

    def decided(p: float) -> bool:
        low, high = ends(1.0 - p)
        return low > 0.0 or high < 0.0

    least, most = _LEAST_P, _MOST_P
    if not decided(most):
        return 1.0
    if decided(least):
        return least
    while most > least * 1.01:
        middle = (least * most) ** 0.5
        least, most = (least, middle) if decided(middle) else (middle, most)
    return most


def upper_bound(values: Float, largest: float, confidence: float) -> float:
    """Return the upper end of a confidence interval of the mean of independent values.

    By empirical likelihood: the values are far from normal, most of a metric may rest on a handful
    of users, and a sample may hold none of them. The bound is the largest mean of a distribution
    that puts weights w on the values observed, with shares f, and possibly a weight on the largest
    value that can occur, among those with D sum f log(f / w) <= t^2 / 2, for D users and t the
    quantile of Student's distribution. For large samples it is the mean plus t standard errors.
    """
    quantile = float(stdtrit(max(values.size - 1, 1), (1.0 + confidence) / 2.0))
    points, counts = np.unique(values, return_counts=True)
    share, largest = counts / values.size, max(largest, float(points[-1]))
    span, allowed = largest - float(points[0]), quantile**2 / (2.0 * values.size)
    if span == 0.0:
        return largest
    below = (largest - points) / span

    def tilted(log_distance: float) -> tuple[float, float]:
        """Divergence, and mean below the largest, with weights f / (distance + below)."""
        distance = np.exp(log_distance) + below
        weight = share / distance
        total = weight.sum()
        return float(share @ np.log(distance) + np.log(total)), float(weight @ below / total)

    near, far = -45.0, 45.0  # logarithms of distances from the largest value, relative to the span
    divergence, mean = tilted(near)
    if divergence <= allowed:
        return largest - span * mean * float(np.exp(divergence - allowed))
    if tilted(far)[0] >= allowed:
        return float(values.mean())
    root = root_between(lambda at: tilted(at)[0] - allowed, near, far)
    return largest - span * tilted(root)[1]


def common_users(a: ArrayLike | None, b: ArrayLike | None) -> tuple[Int, Int] | None:
    """Find the users that two evaluations have in common: their rows in both.

    None if ids are missing or no user is common. Numbers are compared to text as text.
    """
    if a is None or b is None:
        return None
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.kind != b.dtype.kind:
        a, b = a.astype(str), b.astype(str)
    _, first, second = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    return (first, second) if first.size else None


def unbiased_auc(n: int, m: int, sampling: str) -> Float:
    """Vector of the unbiased estimate of AUC, shape (m + 1,); fewer distinct items are ranked."""
    ranked = float(m)
    if Sampling(sampling) is Sampling.DISTINCT:
        ranked = float(distinct_items(n - 1, m) @ np.arange(m + 1))
    return 1.0 - np.arange(m + 1) / ranked


class Misfit(NamedTuple):
    """Chi-square test of sampled ranks against the closest distribution of a class."""

    statistic: float  # likelihood ratio
    degrees: int  # of freedom
    p_value: float  # probability of such a statistic or a larger one if the class holds


def misfit(sample: SampledRanks, shape: str = NON_INCREASING) -> Misfit:
    """Test sampled ranks against the closest distribution of a class.

    Users are counted in cells of sampled ranks in which at least five are expected. Of several
    rows of a user, one is taken at random (with a fixed seed), because they are not independent.
    Degrees of freedom are the cells less extreme points in the closest mixture, and one more, which
    keeps the test from refusing too much where users are few.
    """
    ranks, m = sample.sampled_ranks, sample.n_negatives
    if sample.users is not None:
        order = generator(0, "misfit").permutation(ranks.size)
        ranks = ranks[order[np.unique(sample.users[order], return_index=True)[1]]]
    table = kernel(round(float(np.mean(sample.n_items))), m, sample.sampling, shape, None)
    counts = np.bincount(ranks - 1, minlength=m + 1).astype(np.float64)
    mixture = likely_mixture(counts, table)
    likely = mixture.shares * ranks.size
    starts, total = [0], 0.0  # first bins of cells: neighbouring bins joined until enough is there
    for place, value in enumerate(likely[:-1]):
        total += value
        if total >= _LEAST_EXPECTED:
            starts.append(place + 1)
            total = 0.0
    if len(starts) > 1 and likely[starts[-1] :].sum() < _LEAST_EXPECTED:
        starts.pop()
    cells = np.array(starts)
    observed = np.add.reduceat(counts, table.starts[cells])
    given = ranks.size * np.add.reduceat(table.given[mixture.rows], cells, axis=1)
    expected = np.add.reduceat(likely, cells)
    for _ in range(_REWEIGHTINGS):
        root = np.sqrt(np.maximum(expected, _LEAST_VARIANCE))
        turns = _TURNS * len(given)
        weights = nonnegative_least_squares(given.T / root[:, None], observed / root, turns)
        expected = weights @ given
    statistic = 2.0 * float((xlogy(observed, observed / expected) - observed + expected).sum())
    degrees = max(cells.size - int(np.count_nonzero(weights)) + 1, 1)
    return Misfit(statistic, degrees, float(chdtrc(degrees, max(statistic, 0.0))))


def _difference(a: Bracketed, b: Bracketed, place: int) -> OfLevel:
    """Return a function of the confidence that gives both ends of B - A."""
    paired, x, y = common_users(a.users, b.users), a.ends[place], b.ends[place]

    def bound(of_b: Float, most_b: float, of_a: Float, most_a: float, level: float) -> float:
        """Upper confidence bound of the mean of b plus that of a."""
        if paired is not None:
            return upper_bound(of_b[paired[1]] + of_a[paired[0]], most_b + most_a, level)
        parts = ((of_a, most_a), (of_b, most_b))
        margins = [upper_bound(values, most, level) - values.mean() for values, most in parts]
        return float(of_a.mean() + of_b.mean() + np.hypot(*margins))

    return lambda level: (
        -bound(-y.lower, -y.least, x.upper, x.most, level),
        bound(y.upper, y.most, -x.lower, -x.least, level),
    )
