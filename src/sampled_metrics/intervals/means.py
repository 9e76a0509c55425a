"""Intervals of means over users, and over their visits.

Question: which expectations of a metric, or of an estimate, does the mean over some users allow?

Values averaged over users are far from normal. For example, most of the weight of a corrected
Recall@10 lies on the few users whose sampled rank is 1: a t-interval covers too rarely, and not at
all if no such user is in the sample. The interval here is a score interval, like Wilson's for a
share of successes. It contains every mean mu that the observed mean x is compatible with, by the
variance that belongs to mu instead of the observed one:

    (x - mu)^2 <= t^2 V(mu) / D,   V(mu) = v + (k3 / v)(mu - x) + (c / 2)(mu - x)^2,

for D users and the quantile t of Student's distribution. V is the variance along the exponential
family through the observed distribution, with cumulants v, k3, k4 and c = k4 / v^2 - k3^2 / v^3, at
least -2. For shares of successes V(mu) = mu (1 - mu), and the interval is Wilson's.

Values that did not occur remain possible. The cumulants include half a user of a uniformly random
rank, and with sampled ranks also fifty users of a smooth distribution fitted to the observed one,
because sampled ranks 1 and 2 have similar probabilities even where a small sample suggests
otherwise. `make measure PAGE=coverage` measures how often the interval covers the expectation.

Users are taken to be independent; visits of one user are not. The error of a mean over V visits of
U users sums the residuals of each user before squaring them (a sandwich estimate, clustered by
user):

    Var(mean) = U / (U - 1)  sum over users u of (sum over visits j of u of (x_j - mean))^2 / V^2.

The values z_u = mean + (U / V) sum over visits j of u of (x_j - mean), one per user, have the same
mean, and taken as independent they give this variance. So intervals, tests and bounds for visits
are computed from the z_u (`collapse_visits`). If all users have equally many visits, z_u is the
mean of user u.
"""

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from sampled_metrics import metrics
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import run_starts
from sampled_metrics._base.defaults import DEFAULT_CONFIDENCE
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators.least_squares import rank_rule
from sampled_metrics.intervals.constants import (
    LEAST_CURVATURE,
    LEAST_LEADING,
    PRIOR_USERS,
    SMOOTH_USERS,
    UNKNOWN_N,
)
from sampled_metrics.metrics.levels import random_positions
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks


class Moments(NamedTuple):
    """Mean, central moments and range of a distribution of values."""

    mean: float
    second: float
    third: float
    fourth: float
    low: float
    high: float

    @classmethod
    def from_values(cls, values: ArrayLike, weights: ArrayLike | None = None) -> "Moments":
        """Calculate the moments of values of any shape; weights are equal by default.

        Examples
        --------
        >>> Moments.from_values([0, 0, 0, 1])
        Moments(mean=0.25, second=0.1875, third=0.09375, fourth=0.08203125, low=0.0, high=1.0)
        """
        x = np.asarray(values, dtype=np.float64).ravel()
        weight = np.ones(x.size) if weights is None else np.asarray(weights, float).ravel()
        total = weight.sum()
        mean = float(weight @ x / total)
        deviation = x - mean
        square = np.square(deviation)
        powers = (square, square * deviation, np.square(square))
        second, third, fourth = (float(weight @ power / total) for power in powers)
        return cls(mean, second, third, fourth, low=float(x.min()), high=float(x.max()))

    @classmethod
    def pooled(cls, moments: Sequence["Moments"], sizes: Sequence[int]) -> "Moments":
        """Return the moments of all values of several sets, from the moments and sizes of each.

        They are the means, weighted by size, of the moments of each set about the common mean.
        """
        if len(moments) == 1:
            return moments[0]
        mean = float(np.average([each.mean for each in moments], weights=sizes))
        about_mean = [each.moments_about(mean) for each in moments]
        second, third, fourth = np.average(about_mean, axis=0, weights=sizes).tolist()
        low = min(each.low for each in moments)
        high = max(each.high for each in moments)
        return cls(mean, second, third, fourth, low, high)

    @classmethod
    def from_mean_difference(
        cls, a: "Moments", n_a: int, b: "Moments", n_b: int
    ) -> tuple["Moments", int]:
        """Return moments, and a number of values, whose mean varies like mean(b) - mean(a).

        For independent samples of `n_a` and `n_b` values. The r-th cumulant of the difference of
        means, with the cumulants k_r of a and b, is

            k_r(b) / n_b^(r - 1) + (-1)^r k_r(a) / n_a^(r - 1).

        It is written as that of a mean of n values, K_r / n^(r - 1), n of the smaller sample; K_r
        is returned in terms of moments. Cumulants are the second and the third central moment, and
        the fourth less 3 times the squared second one.
        """
        n = min(n_a, n_b)
        second = n * (b.second / n_b + a.second / n_a)
        third = n**2 * (b.third / n_b**2 - a.third / n_a**2)
        fourth_cumulant = n**3 * (
            (b.fourth - 3.0 * b.second**2) / n_b**3 + (a.fourth - 3.0 * a.second**2) / n_a**3
        )
        fourth = fourth_cumulant + 3.0 * second**2
        difference = cls(
            b.mean - a.mean, second, third, fourth, low=b.low - a.high, high=b.high - a.low
        )
        return difference, n

    def moments_about(self, centre: float) -> Float:
        """Return the second to fourth moments about a centre; shape (3,)."""
        d = self.mean - centre
        third = self.third + 3.0 * d * self.second + d**3
        fourth = self.fourth + 4.0 * d * self.third + 6.0 * d**2 * self.second + d**4
        return np.array([self.second + d**2, third, fourth])

    def of_difference(self) -> "Moments":
        """Return the moments of the difference of two independent values."""
        fourth = 2.0 * self.fourth + 6.0 * self.second**2
        width = self.high - self.low
        return Moments(0.0, 2.0 * self.second, 0.0, fourth, -width, width)


class MeanInterval(NamedTuple):
    """A mean over users with standard error and interval, which are nan for one user."""

    value: float
    std_error: float
    ci_low: float
    ci_high: float
    n_users: int


def mean_interval(
    observed: Moments,
    n_users: int,
    prior: Moments,
    confidence: float = DEFAULT_CONFIDENCE,
    smooth: Moments | None = None,
) -> MeanInterval:
    """Compute the score interval of a mean over independent users.

    Parameters
    ----------
    observed, n_users
        Moments of the users' values, and the number of users.
    prior
        Moments of the values at a uniformly random rank. The interval stays within their range.
    confidence
        Nominal coverage.
    smooth
        Moments of the values under a smooth distribution fitted to the users, if there is one.

    Examples
    --------
    >>> share = Moments.from_values([0.0] * 90 + [1.0] * 10)
    >>> interval = mean_interval(share, 100, prior=share)
    >>> round(interval.ci_low, 3), round(interval.ci_high, 3)  # Wilson: 0.055 to 0.174
    (0.055, 0.176)
    """
    if n_users < 1:
        raise InputError("no users to average over")
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence is {confidence}; it must be between 0 and 1")
    if n_users == 1:
        return MeanInterval(observed.mean, math.nan, math.nan, math.nan, 1)
    t = float(stdtrit(n_users - 1, (1.0 + confidence) / 2.0))
    mixed = _mixed_moments(observed, n_users, prior, smooth)
    downward, upward = _score_distances(mixed, n_users, t)
    low = max(observed.mean + downward, min(prior.low, observed.mean))
    high = min(observed.mean + upward, max(prior.high, observed.mean))
    std_error = math.sqrt(observed.second / (n_users - 1))
    return MeanInterval(observed.mean, std_error, low, high, n_users)


def _mixed_moments(
    observed: Moments, n_users: int, prior: Moments, smooth: Moments | None
) -> list[float]:
    """Return the second to fourth moments, about the observed mean, of users of several kinds.

    To the observed users join half a user of a random rank (`prior`), and fifty of the smooth
    distribution, if there is one.
    """
    kinds = [observed, prior]
    n_of_kind = [float(n_users), PRIOR_USERS]
    if smooth is not None:
        kinds.append(smooth)
        n_of_kind.append(SMOOTH_USERS)
    about_mean = [kind.moments_about(observed.mean) for kind in kinds]
    moments: list[float] = np.average(about_mean, axis=0, weights=n_of_kind).tolist()
    return moments


def _score_distances(moments: Sequence[float], n_users: int, t: float) -> tuple[float, float]:
    """Return the ends of the score interval, as distances mu - x from the mean.

    They are the roots d of

        (1 - t^2 c / (2 D)) d^2 - (t^2 / D) (k3 / v) d - (t^2 / D) v D / (D - 1) = 0

    for D users, where v is the variance, k3 the third moment, and c = k4 / v^2 - k3^2 / v^3 tells
    how much the variance bends as a function of the mean, see this module's docstring.

    Parameters
    ----------
    moments
        Second to fourth central moments.
    n_users, t
        D, and the quantile of Student's distribution.
    """
    v, k3, fourth = moments
    if not v > 0.0:
        return 0.0, 0.0
    skewness = k3 / v / math.sqrt(v)  # in this order, because values may be tiny
    c = fourth / v / v - 3.0 - skewness**2
    step = t**2 / n_users
    quadratic = max(1.0 - step * max(c, LEAST_CURVATURE) / 2.0, LEAST_LEADING)
    linear = step * k3 / v
    variance = v * n_users / (n_users - 1)
    root = math.sqrt(linear**2 + 4.0 * quadratic * step * variance)
    return (linear - root) / (2.0 * quadratic), (linear + root) / (2.0 * quadratic)


def prior_moments(measures: Collection[Measure], ranks: Ranks) -> dict[Measure, Moments]:
    """Calculate the moments of metrics for the users of `ranks` if their rankings were random.

    For users with one relevant item all ranks are averaged over. With several, one of them takes
    each rank in turn, the others have random ranks (fixed seed), and the range is that of the
    metric.

    Examples
    --------
    >>> (prior,) = prior_moments([Measure("recall", 4)], Ranks([8, 8], [0, 1], [0, 0])).values()
    >>> prior.mean, prior.low, prior.high
    (0.5, 0.0, 1.0)
    """
    n = ranks.mean_candidates or UNKNOWN_N
    nodes, weights = rank_rule(list(measures), n, 1)  # some ranks stand for all of 1 ... n
    has_one_item_each = (ranks.n_relevant == 1).all()
    if has_one_item_each:
        return {
            measure: Moments.from_values(measure.value_at(nodes, n), weights)
            for measure in measures
        }
    random_ranks = _rank_at_random(ranks, nodes)
    by_measure = {}
    for measure in measures:
        moments = Moments.from_values(metrics.values(measure, random_ranks), weights)
        low, high = measure.metric.bounds
        by_measure[measure] = moments._replace(low=low, high=high)
    return by_measure


def _rank_at_random(ranks: Ranks, first_ranks: Float) -> Ranks:
    """Give one item of some user each of the ranks, and the user's other items random ranks.

    Grades are those of the user, in random order. The seed is fixed.

    Parameters
    ----------
    ranks
        Users, as many of whom are taken as there are ranks, evenly spaced.
    first_ranks
        Rank of one item of each of these users, rounded; shape (users,).
    """
    rng = np.random.default_rng(0)
    evenly_spaced = np.linspace(0, len(ranks) - 1, first_ranks.size).astype(np.int64)
    users = ranks.take(evenly_spaced)
    n_relevant = users.n_relevant
    n = np.maximum(ranks.mean_candidates or UNKNOWN_N, n_relevant + 1)
    above_first = np.minimum(np.rint(first_ranks).astype(np.int64), n) - 1
    above = _draw_items_above(above_first, n, n_relevant, rng)
    grades = users.relevance
    if grades is not None:
        user_of_item = np.repeat(np.arange(len(users)), n_relevant)
        shuffled_within_user = np.lexsort((rng.random(user_of_item.size), user_of_item))
        grades = grades[shuffled_within_user]
    random_ranks = Ranks(n, above, np.zeros_like(above), n_found=n_relevant, relevance=grades)
    if ranks.min_relevance > 0.0:
        return random_ranks.at_least(ranks.min_relevance)
    return random_ranks


def _draw_items_above(above_first: Int, n: Int, n_relevant: Int, rng: np.random.Generator) -> Int:
    """Draw how many candidates are above each relevant item of users, one of which is fixed.

    Parameters
    ----------
    above_first
        Candidates above the first relevant item of each user; shape (users,).
    n, n_relevant
        Candidates and relevant items of each user; shape (users,).
    rng
        Draws the positions of the other items.

    Returns
    -------
    ndarray
        User by user, with the first item before the others; shape (sum of n_relevant,).
    """
    first_rows = run_starts(n_relevant)
    is_other = np.ones(int(n_relevant.sum()), bool)
    is_other[first_rows] = False
    # Others take positions among the n - 1 candidates that are not the first item, whose own
    # position moves those after it down by one.
    position = random_positions(n - 1, n_relevant - 1, rng)
    is_below_first = position >= np.repeat(above_first, n_relevant - 1)
    above = np.empty(is_other.size, np.int64)
    above[first_rows] = above_first
    above[is_other] = position + is_below_first
    return above


def collapse_visits(values: Float, user_of_visit: Int | None) -> Float:
    """Return one value per user from the values of visits: the z_u of this module's docstring.

    Parameters
    ----------
    values
        Value of each visit; shape (visits,).
    user_of_visit
        Number of each visit's user; None if each value is of a user of its own, and stays.

    Returns
    -------
    ndarray
        Shape (users,), without users who have no visit.

    Examples
    --------
    >>> collapse_visits(np.array([1.0, 0.0, 1.0, 0.5]), np.array([0, 0, 1, 1]))
    array([0.5 , 0.75])
    """
    if user_of_visit is None or not values.size:
        return values
    _, user = np.unique(user_of_visit, return_inverse=True)  # without users who have no visit
    n_users = int(user.max()) + 1
    mean = values.mean()
    return mean + n_users / values.size * np.bincount(user, values - mean)
