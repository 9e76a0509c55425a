"""Range of an exact metric, and of a difference, that sampled ranks allow; ranks that are refused.

Sampled ranks determine the distribution of true ranks in part only, so they allow a range of
values of an exact metric. Its ends are bracketing vectors (see `brackets`) averaged over users,
plus or minus the error of that average: whichever distribution of the class the true ranks have,
each end is on the right side of the exact metric with a probability of about (1 + confidence)/2 or
more. The exact metric is the population's from which the users are drawn.

Users are split in two folds at random, and the vectors for each fold come from the sampled ranks
of the second: a vector that suits the chance deviations of a sample is biased on it. AUC is linear
in the sampled rank, so its range is the interval of an unbiased estimate.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import first_duplicate
from sampled_metrics._base.defaults import DEFAULT_CONFIDENCE
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator
from sampled_metrics.intervals.brackets import LOWER, UPPER, bracketing_vectors, likely_mixture
from sampled_metrics.intervals.kernels import Kernel, kernel
from sampled_metrics.intervals.likelihood import End, bound_of_sum, upper_bound
from sampled_metrics.intervals.misfit import CAUSES, refuse_unexplained
from sampled_metrics.intervals.shapes import (
    MOST_FACTOR,
    NON_INCREASING,
    NONE,
    shape_factor,
    shape_name,
)
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.sampling.probability import distinct_items

_GROUPS = 3  # groups of rows with about the same n
_SAME_N = 0.02  # share of it by which n must differ for that
_INVERSION = 0.99  # least confidence of ends that are inverted
_ROUNDING = 1e-9
_LEAST_P = 1e-6
_MOST_P = 1.0 - 1e-3

_FACTOR_ERROR = 0.05  # relative, of a factor that an order holds up to
_OF_ITEMS = ("recall", "auc")  # the mean over a user's items is the metric of the user


class Range(NamedTuple):
    """Values of an exact metric, or of a difference, that sampled ranks allow."""

    low: float
    high: float
    inverted: bool = False  # a metric's low is above its high even at 99 %: no distribution fits

    def nearest(self, value: float) -> float:
        """Return the value in the range that is nearest to one."""
        return min(max(value, self.low), self.high)


class Ends(NamedTuple):
    """Both ends of one metric."""

    lower: End
    upper: End


class Bracketed(NamedTuple):
    """Bracketing vectors of some metrics, averaged for each user of a sample."""

    rows: "Grouped"
    ends: list[Ends]
    confidence: float

    def range(self, place: int) -> Range:
        """Range of one of the metrics."""
        lower, upper = self.ends[place]
        least = lower.limit
        most = upper.limit
        below = upper_bound(-lower)
        above = upper_bound(upper)
        low, high = _in_order(-below(self.confidence), above(self.confidence), least, most)
        level = max(self.confidence, _INVERSION)
        rounding = _ROUNDING * (most - least)
        is_inverted = max(-below(level), least) > min(above(level), most) + rounding
        return Range(low, high, bool(is_inverted))


def _in_order(low: float, high: float, least: float, most: float) -> tuple[float, float]:
    """Return the ends of a range in order, between the least and the most that are possible.

    Each end is the mean of a vector of its own, and these are in order in expectation, under a
    distribution of the class. Users who by chance are just outside of it invert them if the
    margins are small, as at a low confidence. The range is then the values between them.
    """
    first, last = np.sort(np.clip([low, high], least, most)).tolist()
    return first, last


@dataclass(frozen=True, eq=False)
class Grouped:
    """Rows of a sample by user, fold and number of candidates.

    Users are of one kind if their only rows have one sampled rank and are in one fold and group.
    Where a user has several rows, every user is a kind. Visits of users stand for users here, and
    have an `owner`.
    """

    users: Any  # different ids in order; None without ids, where each row is a user
    user: Int  # place of each row's user among them
    fold: Int  # 0 or 1, of each row
    group: Int  # for each row, by about the same n
    kind: Int  # for each user
    sizes: list[int]  # mean n of each group
    counts: Float  # users of the other fold at every sampled rank; shape (folds, m + 1)
    likely: dict[tuple[int, int], Float]  # shares of users, by n and last rank of a class
    owner: Int | None = None  # number of the user of each visit; None without visits

    @property
    def n_independent(self) -> int:
        """Number of users, whose visits are not independent."""
        return self.kind.size if self.owner is None else int(self.owner.max()) + 1


@lru_cache(maxsize=8)
def grouped(sample: SampledRanks) -> Grouped:
    """Group the rows of a sample; users are split in two folds at random."""
    ids, user = sample.different_units()
    owner = sample.user_of_units()
    rows = np.bincount(user)
    n = np.broadcast_to(sample.n_items, user.shape)
    groups = _GROUPS if n.max() - n.min() > _SAME_N * n.mean() else 1
    edges = np.unique(np.quantile(n, np.arange(1, groups) / groups, method="nearest"))
    _, group = np.unique(np.searchsorted(edges, n, side="right"), return_inverse=True)
    sizes = np.rint(np.bincount(group, n) / np.bincount(group)).astype(np.int64)
    independent = user if owner is None else owner[user]
    n_users = int(independent.max()) + 1
    fold_of_users = generator(0, "folds").permutation(n_users) % 2
    fold = fold_of_users[independent]
    counts = np.zeros((2, sample.n_negatives + 1))
    np.add.at(counts, (1 - fold, sample.sampled_ranks - 1), 1.0 / rows[user])
    kind = np.arange(rows.size)
    if rows.size == user.size and owner is None:
        places = (group, fold, sample.sampled_ranks - 1)
        kind[user] = np.ravel_multi_index(places, (sizes.size, *counts.shape))
    return Grouped(ids, user, fold, group, kind, sizes.tolist(), counts, {}, owner)


@lru_cache(maxsize=64)
def ends_of_users(
    measure: Measure,
    samples: tuple[SampledRanks, ...],
    shape: str | float,
    confidence: float,
    sign: float,
) -> list[End]:
    """Solve for the lower or upper bracketing vectors of a metric, and average them for users.

    The samples are draws of one evaluation, with the same numbers of users and candidates.
    """
    of_samples = list(map(grouped, samples))
    rows = of_samples[0]
    m = samples[0].n_negatives
    sampling = samples[0].sampling
    n_users = rows.n_independent
    z = float(stdtrit(max(n_users - 1, 1), (1.0 + confidence) / 2.0))
    of_groups = []
    limit = float(measure.metric.needs_candidates and sign == UPPER)
    for size, share in zip(rows.sizes, np.bincount(rows.group) / rows.group.size, strict=True):
        if measure.metric.needs_candidates:
            of_groups.append(np.tile(auc_vector(size, m, sampling), (len(samples), 2, 1)))
            continue
        table = kernel(size, m, sampling, shape, measure.cutoff)
        shares = _likely_shares(of_samples, size, table)
        vectors = bracketing_vectors(measure, table, np.concatenate(shares), n_users, z, sign)
        of_groups.append(vectors.reshape(len(samples), 2, m + 1))
        limit += sign * share * table.greatest(sign * table.metric(measure))
    entries = np.stack(of_groups, axis=1)
    return [
        _end_of_users(sample, of_sample, entries[place], sign, limit)
        for place, (sample, of_sample) in enumerate(zip(samples, of_samples, strict=True))
    ]


def _likely_shares(of_samples: Sequence[Grouped], size: int, table: Kernel) -> list[Float]:
    """Fit mixtures to the sampled ranks of both folds, unless they are known already."""
    key = (size, table.last)
    unknown = [rows for rows in of_samples if key not in rows.likely]
    if unknown:
        counts = table.binned(np.stack([rows.counts for rows in unknown]))
        for rows, shares in zip(unknown, likely_mixture(counts, table).shares, strict=True):
            rows.likely[key] = shares
    return [rows.likely[key] for rows in of_samples]


def _end_of_users(
    sample: SampledRanks, rows: Grouped, entries: Float, sign: float, limit: float
) -> End:
    """Average the entries of vectors, shape (groups, folds, m + 1), for each user."""
    n_users = rows.kind.size
    extreme = sign * float((sign * entries).max())
    if n_users == rows.user.size and rows.owner is None:
        users = np.bincount(rows.kind, minlength=entries.size)
        return End(entries.ravel(), users, extreme, limit)
    of_rows = entries[rows.group, rows.fold, sample.sampled_ranks - 1]
    number = np.bincount(rows.user)
    values = np.bincount(rows.user, of_rows) / number
    return End(values, np.ones_like(number), extreme, limit, rows.owner)


@lru_cache(maxsize=8)  # a page needs those of a sample several times
def bracket_users(
    measures: tuple[Measure, ...],
    sample: SampledRanks,
    shape: str | float = NON_INCREASING,
    confidence: float = DEFAULT_CONFIDENCE,
) -> Bracketed:
    """Solve for the bracketing vectors of some metrics, and average them for each user.

    Rows of one user are averaged first, and the exact metric is the average user's. `shape`
    is the assumption about the distribution of true ranks, see `shapes`.
    """
    ends = []
    for measure in measures:
        (lower,) = ends_of_users(measure, (sample,), shape, confidence, LOWER)
        (upper,) = ends_of_users(measure, (sample,), shape, confidence, UPPER)
        ends.append(Ends(lower, upper))
    return Bracketed(grouped(sample), ends, confidence)


def checked_ranges(
    measures: Sequence[Measure], sample: SampledRanks, shape: str | float, confidence: float
) -> tuple[Bracketed, list[Range]]:
    """Compute the range of each metric that the sampled ranks allow.

    Raises InputError for a metric other than recall and AUC if users have several held-out items,
    and for sampled ranks that no distribution of the class explains: a misfit with p < 0.005, or a
    lower end above the upper end.
    """
    wrong = [str(measure) for measure in measures if measure.kind not in _OF_ITEMS]
    users = sample.unit_ids if sample.several_items else None
    if wrong and users is not None and first_duplicate(users) is not None:
        raise InputError(
            f"users have several held-out items; {wrong[0]} needs them together, and sampled ranks "
            "give recall and auc only; number rows with negatives of their own as visits, in a "
            "column visit_id (visits=), for means over rows"
        )
    refuse_unexplained(sample, shape)
    bracketed = bracket_users(tuple(measures), sample, shape, confidence)
    ranges = [bracketed.range(place) for place in range(len(measures))]
    for measure, found in zip(measures, ranges, strict=True):
        if found.inverted:
            raise InputError(
                f"the lower end of the range of {measure} is above the upper end, "
                f"{found.high:.4f} and {found.low:.4f}: {_contradicted(shape)}{CAUSES}"
            )
    return bracketed, ranges


def _contradicted(shape: str | float) -> str:
    """Name the shape as a cause of a misfit, to be followed by further causes."""
    if shape_name(shape) == NONE:
        return ""
    return "the top ranks are less likely than assumed (try shape=3 (--shape 3) or none), or "


def difference_range(a: Bracketed, b: Bracketed, place: int) -> Range:
    """Compute the range of the difference B - A of one metric."""
    of_a = a.ends[place]
    of_b = b.ends[place]
    least = of_b.lower.limit - of_a.upper.limit
    most = of_b.upper.limit - of_a.lower.limit
    return Range(*_in_order(*_difference(a, b, place)(a.confidence), least, most))


def _difference(a: Bracketed, b: Bracketed, place: int) -> Callable[[float], tuple[float, float]]:
    """Return a function of the confidence that gives both ends of B - A."""
    common = _common_kinds(a.rows, b.rows)
    of_a = a.ends[place]
    of_b = b.ends[place]
    low = _least(of_a.upper, of_b.lower, common)
    high = _least(-of_a.lower, -of_b.upper, common)
    return lambda level: (low(level), -high(level))


def _least(upper: End, lower: End, common: "_Common | None") -> Callable[[float], float]:
    """Return the lower end of B - A, from the upper end of A and the lower one of B."""
    ends = [upper, -lower]
    if common is not None:
        sums = upper.values[common.of_a] - lower.values[common.of_b]
        extreme = upper.extreme - lower.extreme
        ends = [End(sums, common.users, extreme, owner=common.owner)]
    bound = bound_of_sum(ends)
    return lambda level: -bound(level)


def lower_ends_of_differences(
    pairs: Sequence[tuple[SampledRanks, SampledRanks]],
    measure: Measure,
    shape: str | float,
    confidence: float,
    level: float,
) -> list[float]:
    """Compute the lower ends of the range of B - A of one metric, at confidence `level`.

    The pairs A, B are draws of one evaluation. `confidence` is that for which vectors are made. The
    ends are not clipped to possible values.
    """
    of_a, of_b = zip(*pairs, strict=True)
    upper = ends_of_users(measure, of_a, shape, confidence, UPPER)
    lower = ends_of_users(measure, of_b, shape, confidence, LOWER)
    return [
        _least(above, below, _common_kinds(grouped(a), grouped(b)))(level)
        for (a, b), above, below in zip(pairs, upper, lower, strict=True)
    ]


def order_p_value(a: Bracketed, b: Bracketed, place: int) -> float:
    """Find the largest confidence at which the range of a difference excludes 0; return 1 less it.

    To within 1 %, at least 1e-6; 1 where no confidence of at least 1e-3 does.
    """
    ends = _difference(a, b, place)

    def decided(p: float) -> bool:
        low, high = sorted(ends(1.0 - p))
        return low > 0.0 or high < 0.0

    least = _LEAST_P
    most = _MOST_P
    if not decided(most):
        return 1.0
    if decided(least):
        return least
    while most > least * 1.01:
        middle = (least * most) ** 0.5
        least, most = (least, middle) if decided(middle) else (middle, most)
    return most


def order_holds_up_to(
    better: SampledRanks,
    worse: SampledRanks,
    measure: Measure,
    shape: str | float,
    confidence: float,
    level: float,
) -> float:
    """Find the largest factor of a shape at which a decided order stays so.

    To within 5 %, at most 16. The order must be decided for `shape`; `level` is the confidence at
    which it must be, `confidence` that for which vectors are made.
    """
    least = shape_factor(shape)
    if least >= MOST_FACTOR or measure.metric.needs_candidates:
        return MOST_FACTOR

    def margin(factor: float) -> float:
        (low,) = lower_ends_of_differences([(worse, better)], measure, factor, confidence, level)
        return low

    if margin(MOST_FACTOR) > 0.0:
        return MOST_FACTOR
    steps = int(np.ceil(np.log(MOST_FACTOR / least) / np.log(1.0 + _FACTOR_ERROR)))
    factors = np.geomspace(least, MOST_FACTOR, steps + 1).tolist()
    lost = bisect_left(factors, True, 1, steps, key=lambda factor: margin(factor) <= 0.0)
    return float(factors[lost - 1])


def common_users(a: ArrayLike | None, b: ArrayLike | None) -> tuple[Int, Int] | None:
    """Find the users that two evaluations have in common: their rows in both.

    None if ids are missing or no user is common. Numbers are compared to text as text.
    """
    if a is None or b is None:
        return None
    a = np.asarray(a)
    b = np.asarray(b)
    if a.dtype.kind != b.dtype.kind:
        a = a.astype(str)
        b = b.astype(str)
    if a.size and np.array_equal(a, b) and (a[1:] > a[:-1]).all():
        return np.arange(a.size), np.arange(a.size)
    _, first, second = np.intersect1d(a, b, assume_unique=True, return_indices=True)
    return (first, second) if first.size else None


def auc_vector(n: int, m: int, sampling: str) -> Float:
    """Vector of the unbiased estimate of AUC, shape (m + 1,); fewer distinct items are ranked."""
    ranked = float(m)
    if Sampling(sampling) is Sampling.DISTINCT:
        ranked = float(distinct_items(n - 1, m) @ np.arange(m + 1))
    return 1.0 - np.arange(m + 1) / ranked


class _Common(NamedTuple):
    """Users that two samples have in common, by the kinds that they are of in both."""

    of_a: Int
    of_b: Int
    users: Int  # number of each pair of kinds
    owner: Int | None = None  # user of each pair, if these are visits


@lru_cache(maxsize=8)
def _common_kinds(a: Grouped, b: Grouped) -> _Common | None:
    """Count the users in common by their kinds; None without any."""
    common = common_users(a.users, b.users)
    if common is None:
        return None
    n_kinds = int(b.kind.max()) + 1
    both = a.kind[common[0]] * n_kinds + b.kind[common[1]]
    found, users = np.unique(both, return_counts=True)
    of_a = found // n_kinds
    owner = None if a.owner is None else a.owner[of_a]
    return _Common(of_a, found % n_kinds, users, owner)
