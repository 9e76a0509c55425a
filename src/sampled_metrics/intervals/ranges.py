"""Range of an exact metric, or of a difference of two, that sampled ranks allow.

Question: which values of an exact metric are compatible with sampled ranks?

Sampled ranks determine the distribution of true ranks only in part, so they allow a range of values
of an exact metric. Its ends are

    lower end = mean of l(sampled rank) - error,   upper end = mean of u(sampled rank) + error

over users, with bracketing vectors l and u (see `brackets`) and errors from confidence bounds of
these means (see `likelihood`). Whichever distribution of the class the true ranks have (see
`shapes`), each end is on the right side of the exact metric with a probability of about
(1 + confidence) / 2 or more. The exact metric is that of the population from which users are drawn.

Users are split into two folds at random, and the vectors for each fold are fitted to the sampled
ranks of the other: a vector that suits the chance deviations of a sample is biased on it. AUC is
linear in the sampled rank, so its range is the interval of an unbiased estimate.

The difference B - A has the lower end l_B - u_A and the upper end u_B - l_A, paired by user where
users are known.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import stdtrit

from sampled_metrics._base.array_types import Float
from sampled_metrics._base.caches import cache_with_owner
from sampled_metrics._base.defaults import DEFAULT_CONFIDENCE
from sampled_metrics._base.errors import InputError
from sampled_metrics.intervals.brackets import LOWER, UPPER, bracketing_vectors
from sampled_metrics.intervals.constants import (
    FACTOR_ACCURACY,
    INVERSION_CONFIDENCE,
    INVERSION_ROUNDING,
    LARGEST_P,
    P_ACCURACY,
    SMALLEST_P,
)
from sampled_metrics.intervals.groups import (
    N_FOLDS,
    CommonCohorts,
    UserGroups,
    common_cohorts,
    group_units,
    likely_shares,
)
from sampled_metrics.intervals.kernels import kernel
from sampled_metrics.intervals.likelihood import UpperBound, UpperBoundOfSum, UserValues
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

_MEANS_OF_ITEMS = ("recall", "auc")  # the mean over a user's items is the metric of the user


class Range(NamedTuple):
    """Values of an exact metric, or of a difference, that sampled ranks allow.

    Attributes
    ----------
    low, high
        The smallest and the largest of these values.
    is_inverted
        Whether the lower end is above the upper end even at 99 % confidence: no distribution of
        the class fits. `low` and `high` are then the upper and the lower end.
    """

    low: float
    high: float
    is_inverted: bool = False

    def nearest(self, value: float) -> float:
        """Return the value in the range that is nearest to one."""
        return min(max(value, self.low), self.high)


@dataclass(frozen=True, eq=False)
class Bracket:
    """Lower and upper bracketing vectors of one metric, averaged for each user."""

    lower: UserValues
    upper: UserValues

    @cached_property
    def _bounds(self) -> tuple[UpperBound, UpperBound]:
        """Upper bounds of the negative lower mean, and of the upper mean."""
        return UpperBound(-self.lower), UpperBound(self.upper)

    def ends(self, confidence: float) -> tuple[float, float]:
        """Return the lower and the upper end of the range, clipped to the possible values.

        The lower end may be above the upper one: they are means of different vectors, and in order
        only in expectation. Users who by chance are just outside of the class invert them if the
        errors are small, as at a low confidence.
        """
        of_lower, of_upper = self._bounds
        ends = [-of_lower.at(confidence), of_upper.at(confidence)]
        lower_end, upper_end = np.clip(ends, self.lower.limit, self.upper.limit).tolist()
        return lower_end, upper_end

    def range(self, confidence: float) -> Range:
        """Return the values between the ends."""
        low, high = sorted(self.ends(confidence))
        return Range(low, high, self._is_inverted(max(confidence, INVERSION_CONFIDENCE)))

    def _is_inverted(self, confidence: float) -> bool:
        """Whether no possible value is between the ends, rounding aside."""
        least, most = self.lower.limit, self.upper.limit
        of_lower, of_upper = self._bounds
        lower_end = max(-of_lower.at(confidence), least)
        upper_end = min(of_upper.at(confidence), most)
        return bool(lower_end > upper_end + INVERSION_ROUNDING * (most - least))


class UserBrackets(NamedTuple):
    """Brackets of some metrics for the users of a sample, at a confidence."""

    groups: UserGroups
    by_metric: list[Bracket]
    confidence: float

    def range(self, index: int) -> Range:
        """Return the range of one of the metrics."""
        return self.by_metric[index].range(self.confidence)


@cache_with_owner  # a page needs those of a sample several times
def bracket_users(
    sample: SampledRanks,
    measures: tuple[Measure, ...],
    shape: str | float = NON_INCREASING,
    confidence: float = DEFAULT_CONFIDENCE,
) -> UserBrackets:
    """Compute the bracketing vectors of some metrics, and average them for each user.

    The exact metric is that of the average user: rows of one user are averaged first.

    Examples
    --------
    >>> sample = SampledRanks([1] * 60 + [2] * 30 + [5] * 10, n_items=100, n_negatives=10)
    >>> low, high, _ = bracket_users(sample, (Measure("recall", 10),)).range(0)
    >>> round(low, 2), round(high, 2)
    (0.93, 0.96)
    """
    by_metric = []
    for measure in measures:
        lower = _average_vector(sample, measure, shape=shape, confidence=confidence, sign=LOWER)
        upper = _average_vector(sample, measure, shape=shape, confidence=confidence, sign=UPPER)
        by_metric.append(Bracket(lower, upper))
    return UserBrackets(group_units(sample), by_metric, confidence)


@cache_with_owner  # comparisons with several others need those of a sample
def _average_vector(
    sample: SampledRanks, measure: Measure, *, shape: str | float, confidence: float, sign: float
) -> UserValues:
    """Compute the lower or upper vectors of a metric, averaged for each user of one sample."""
    (values,) = average_vectors([sample], measure, shape=shape, confidence=confidence, sign=sign)
    return values


def average_vectors(
    samples: Sequence[SampledRanks],
    measure: Measure,
    *,
    shape: str | float,
    confidence: float,
    sign: float,
) -> list[UserValues]:
    """Compute the lower or upper vectors of a metric, and average their entries for each user.

    Parameters
    ----------
    samples
        Draws of one evaluation, with the same numbers of users and candidates.
    measure
        The exact metric.
    shape
        Assumption about true ranks, see `shapes`.
    confidence
        Confidence for which the vectors are narrow.
    sign
        `LOWER` or `UPPER`.

    Returns
    -------
    list of UserValues
        Of each sample.
    """
    groups = [group_units(sample) for sample in samples]
    design = samples[0]  # like that of the others
    vectors_by_n = [
        _vectors_of_group(design, groups, n, measure, shape=shape, confidence=confidence, sign=sign)
        for n in groups[0].n_of_group
    ]
    vectors = np.stack(vectors_by_n, axis=1)  # shape (samples, groups, folds, m + 1)
    limit = _limit_of_metric(design, groups[0], measure, shape, sign)
    return [
        _average_for_users(sample, of_sample, vectors_of_sample, sign, limit)
        for sample, of_sample, vectors_of_sample in zip(samples, groups, vectors, strict=True)
    ]


def _vectors_of_group(
    sample: SampledRanks,
    groups: Sequence[UserGroups],
    n: int,
    measure: Measure,
    *,
    shape: str | float,
    confidence: float,
    sign: float,
) -> Float:
    """Compute the vectors of users with n candidates; shape (samples, folds, m + 1).

    Those of a fold are narrow for the sampled ranks that the other fold makes likely.

    Parameters
    ----------
    sample
        One of the samples, which have the same numbers of candidates, negatives and users.
    groups
        Of each sample.
    n, measure, shape, confidence, sign
        As in `average_vectors`.
    """
    m = sample.n_negatives
    is_auc = measure.metric.needs_candidates
    if is_auc:
        return np.tile(auc_vector(n, m, sample.sampling), (len(groups), N_FOLDS, 1))
    table = kernel(n, m, sample.sampling, shape, measure.cutoff)
    n_users = groups[0].n_users
    z = float(stdtrit(max(n_users - 1, 1), (1.0 + confidence) / 2.0))
    shares = np.concatenate(likely_shares(groups, n, table))  # shape (samples x folds, bins)
    vectors = bracketing_vectors(measure, table, shares, n_users=n_users, z=z, sign=sign)
    return vectors.reshape(len(groups), N_FOLDS, m + 1)


def _limit_of_metric(
    sample: SampledRanks, groups: UserGroups, measure: Measure, shape: str | float, sign: float
) -> float:
    """Return the least (`LOWER`) or the greatest (`UPPER`) value of a metric in the class.

    It is the mean over the size groups, weighted by their rows, of the value in the class for their
    n: the greatest mean of the metric under an extreme point, or minus that of the negative metric.
    """
    is_auc = measure.metric.needs_candidates
    if is_auc:
        return 1.0 if sign == UPPER else 0.0
    group_shares = np.bincount(groups.group_of_row) / groups.group_of_row.size
    limit = 0.0
    for n, group_share in zip(groups.n_of_group, group_shares, strict=True):
        table = kernel(n, sample.n_negatives, sample.sampling, shape, measure.cutoff)
        limit += sign * group_share * table.greatest_mean(sign * table.exact_metric(measure))
    return limit


def _average_for_users(
    sample: SampledRanks, groups: UserGroups, vectors: Float, sign: float, limit: float
) -> UserValues:
    """Average the entries of vectors at the sampled ranks of each user, or of each visit.

    Parameters
    ----------
    sample, groups
        Sampled ranks, and their size groups, folds and cohorts.
    vectors
        Entry for each sampled rank, of each size group and fold; shape (groups, folds, m + 1).
    sign
        `UPPER`, or `LOWER` for lower vectors.
    limit
        Greatest value of the metric, or the least one for lower vectors.
    """
    extreme = sign * float((sign * vectors).max())
    if groups.has_shared_cohorts:
        # A cohort has one entry, and cohorts are numbered like the entries of `vectors`.
        n_units = np.bincount(groups.cohort_of_unit, minlength=vectors.size)
        return UserValues(vectors.ravel(), n_units, extreme, limit)
    entry_of_row = vectors[groups.group_of_row, groups.fold_of_row, sample.sampled_ranks - 1]
    n_rows_of_unit = np.bincount(groups.unit_of_row)
    mean_of_unit = np.bincount(groups.unit_of_row, entry_of_row) / n_rows_of_unit
    one_each = np.ones_like(n_rows_of_unit)
    return UserValues(mean_of_unit, one_each, extreme, limit, groups.user_of_unit)


def auc_vector(n: int, m: int, sampling: str) -> Float:
    """Return the vector of the unbiased estimate of AUC, shape (m + 1,).

    Sampled rank s gives 1 - (s - 1) / m; where repeated negatives count once, the expected number
    of distinct ones takes the place of m.
    """
    n_ranked = float(m)
    if Sampling(sampling) is Sampling.DISTINCT:
        n_ranked = float(distinct_items(n - 1, m) @ np.arange(m + 1))
    return 1.0 - np.arange(m + 1) / n_ranked


def refuse_joint_metrics(measures: Sequence[Measure], sample: SampledRanks) -> None:
    """Raise InputError for a metric of several held-out items that needs them together.

    NDCG of a user, for example, depends on the ranks of all their held-out items in one ranking.
    Each sampled rank comes from a ranking of one item, so only means over items can be estimated.
    """
    joint = [measure for measure in measures if measure.kind not in _MEANS_OF_ITEMS]
    units = sample.units if sample.several_items else None
    has_several_items = units is not None and units.first_duplicate() is not None
    if joint and has_several_items:
        raise InputError(
            f"users have several held-out items; {joint[0]} needs them together, "
            "and sampled ranks determine recall and auc only; number rows with negatives of their "
            "own as visits, in a column visit_id (visits=), for means over rows"
        )


def checked_ranges(
    measures: Sequence[Measure], sample: SampledRanks, shape: str | float, confidence: float
) -> tuple[UserBrackets, list[Range]]:
    """Compute the range of each metric that the sampled ranks allow.

    Raises
    ------
    InputError
        For a metric other than recall and AUC if users have several held-out items, and for sampled
        ranks that no distribution of the class explains: a misfit with p < 0.005, or a lower end
        above the upper end.
    """
    refuse_joint_metrics(measures, sample)
    refuse_unexplained(sample, shape)
    brackets = bracket_users(sample, tuple(measures), shape, confidence)
    ranges = [brackets.range(index) for index in range(len(measures))]
    for measure, bracket, allowed in zip(measures, brackets.by_metric, ranges, strict=True):
        if allowed.is_inverted:
            lower_end, upper_end = bracket.ends(confidence)
            raise InputError(
                f"the lower end of the range of {measure} is above the upper end, "
                f"{lower_end:.4f} and {upper_end:.4f}: {_describe_violation(shape)}{CAUSES}"
            )
    return brackets, ranges


def _describe_violation(shape: str | float) -> str:
    """Name a violated shape as a possible cause, before others."""
    if shape_name(shape) == NONE:
        return ""
    weaker_shapes = "shape='none' (--shape none)"
    if shape_factor(shape) < 3.0:
        weaker_shapes = "shape=3 (--shape 3) or none"
    return f"the top ranks are less likely than assumed (try {weaker_shapes}), or "


class Differences:
    """The differences B - A of the metrics of two recommenders, paired by their common users."""

    def __init__(self, a: UserBrackets, b: UserBrackets) -> None:
        self._a = a
        self._b = b
        self._common = common_cohorts(a.groups, b.groups)

    def range(self, index: int) -> Range:
        """Return the range of the difference of one metric."""
        a = self._a.by_metric[index]
        b = self._b.by_metric[index]
        least = b.lower.limit - a.upper.limit
        most = b.upper.limit - a.lower.limit
        ends = self._bounds(index).ends(self._a.confidence)
        low, high = sorted(np.clip(ends, least, most).tolist())
        return Range(low, high)

    def p_value(self, index: int) -> float:
        """Return 1 minus the largest confidence at which the range of a metric excludes 0.

        To within 1 %, and at least 1e-6; 1 where no confidence of at least 0.001 decides the order.
        A larger confidence gives a wider range, so the p-value is found by bisection of its log.
        """
        bounds = self._bounds(index)
        if not bounds.decide(1.0 - LARGEST_P):
            return 1.0
        if bounds.decide(1.0 - SMALLEST_P):
            return SMALLEST_P
        undecided_p = SMALLEST_P
        decided_p = LARGEST_P
        while decided_p > undecided_p * P_ACCURACY:
            middle_p = (undecided_p * decided_p) ** 0.5
            if bounds.decide(1.0 - middle_p):
                decided_p = middle_p
            else:
                undecided_p = middle_p
        return decided_p

    def _bounds(self, index: int) -> _DifferenceBounds:
        # A - B is at most u_A - l_B, and B - A is at most u_B - l_A.
        a = self._a.by_metric[index]
        b = self._b.by_metric[index]
        return _DifferenceBounds(
            _bound_of_sum(a.upper, -b.lower, self._common),
            _bound_of_sum(-a.lower, b.upper, self._common),
        )


class _DifferenceBounds(NamedTuple):
    """Upper bounds of A - B and of B - A, at any confidence."""

    a_minus_b: UpperBoundOfSum
    b_minus_a: UpperBoundOfSum

    def ends(self, confidence: float) -> tuple[float, float]:
        """Return the lower and the upper end, which may be inverted as in `Bracket.ends`."""
        return -self.a_minus_b.at(confidence), self.b_minus_a.at(confidence)

    def decide(self, confidence: float) -> bool:
        """Whether the range excludes 0."""
        low, high = sorted(self.ends(confidence))
        return low > 0.0 or high < 0.0


def _bound_of_sum(a: UserValues, b: UserValues, common: CommonCohorts | None) -> UpperBoundOfSum:
    """Return the upper bound of the sum of two means, paired by user if there are common ones."""
    if common is None:
        return UpperBoundOfSum([a, b])
    sums = a.values[common.cohort_in_a] + b.values[common.cohort_in_b]
    extreme = a.extreme + b.extreme
    paired = UserValues(sums, common.n_units, extreme, user_of_cohort=common.user_of_pair)
    return UpperBoundOfSum([paired])


def lower_ends_of_differences(
    pairs: Sequence[tuple[SampledRanks, SampledRanks]],
    measure: Measure,
    *,
    shape: str | float,
    vector_confidence: float,
    confidence: float,
) -> list[float]:
    """Compute the lower ends of the range of B - A of one metric, not clipped.

    Parameters
    ----------
    pairs
        Sampled ranks of A and B, in draws of one evaluation.
    measure, shape
        The exact metric, and the assumption about true ranks.
    vector_confidence
        Confidence for which the vectors are narrow.
    confidence
        Confidence of the ends.
    """
    samples_a, samples_b = zip(*pairs, strict=True)
    upper_of_a = average_vectors(
        samples_a, measure, shape=shape, confidence=vector_confidence, sign=UPPER
    )
    lower_of_b = average_vectors(
        samples_b, measure, shape=shape, confidence=vector_confidence, sign=LOWER
    )
    lower_ends = []
    for (a, b), upper, lower in zip(pairs, upper_of_a, lower_of_b, strict=True):
        common = common_cohorts(group_units(a), group_units(b))
        lower_ends.append(-_bound_of_sum(upper, -lower, common).at(confidence))
    return lower_ends


def order_holds_up_to(
    better: SampledRanks,
    worse: SampledRanks,
    measure: Measure,
    *,
    shape: str | float,
    vector_confidence: float,
    confidence: float,
) -> float:
    """Find the largest factor G of a shape up to which a decided order stays decided.

    It is found by bisection of a grid with steps of 5 % from the factor of `shape`, for which the
    order must be decided, to 16. A larger G gives a wider range.

    Parameters
    ----------
    better, worse
        Sampled ranks of the two recommenders, by the order.
    measure
        The exact metric.
    shape
        Assumption about true ranks.
    vector_confidence, confidence
        As in `lower_ends_of_differences`.
    """
    first = shape_factor(shape)
    depends_on_factor = not measure.metric.needs_candidates  # AUC has no vectors of a class
    if first >= MOST_FACTOR or not depends_on_factor:
        return MOST_FACTOR
    common = common_cohorts(group_units(worse), group_units(better))

    def is_undecided(factor: float) -> bool:
        upper_of_worse = _average_vector(
            worse, measure, shape=factor, confidence=vector_confidence, sign=UPPER
        )
        lower_of_better = _average_vector(
            better, measure, shape=factor, confidence=vector_confidence, sign=LOWER
        )
        return _bound_of_sum(upper_of_worse, -lower_of_better, common).at(confidence) >= 0.0

    if not is_undecided(MOST_FACTOR):
        return MOST_FACTOR
    n_steps = int(np.ceil(np.log(MOST_FACTOR / first) / np.log(1.0 + FACTOR_ACCURACY)))
    factors = np.geomspace(first, MOST_FACTOR, n_steps + 1).tolist()
    first_undecided = bisect_left(factors, True, 1, n_steps, key=is_undecided)
    return float(factors[first_undecided - 1])
