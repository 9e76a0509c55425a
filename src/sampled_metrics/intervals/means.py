"""Intervals of means over users, and over their visits.

Values averaged over users are far from normal: most of the weight of a corrected Recall@10 lies on
the few users whose sampled rank is 1. A t-interval then covers too rarely, and not at all if no
such user is in the sample. The interval here is a score interval, as Wilson's is for a share of
successes: it holds every mean mu that is compatible with the observed mean, taking the variance
that belongs to mu instead of the observed variance,

    (mean - mu)^2 <= t^2 V(mu) / D,   V(mu) = v + k3/v (mu - mean) + c/2 (mu - mean)^2,

with D users, t the quantile of Student's distribution and V the variance along the exponential
family through the observed distribution (v, k3, k4 its cumulants, c = k4/v^2 - k3^2/v^3, at
least -2). For shares of successes V(mu) is mu (1 - mu) and the interval Wilson's. Values that did
not occur remain possible: the cumulants include half a user with a uniformly random rank beside the
observed users, and under sampling also fifty users of a smooth distribution fitted to the
observed one, because sampled ranks 1 and 2 have similar probabilities even if a small sample
suggests otherwise. `make measure PAGE=coverage` measures how often the interval covers the
expectation.

The visits of a user are alike, so that a mean over V visits is known less well than one of V
independent values. Its error sums the residuals of each user before it squares them (a sandwich
estimate, clustered by user):

    Var(mean) = U/(U - 1) sum over users u of (sum over visits v of u of (x_v - mean))^2 / V^2

for U users. The values z_u = mean + U/V sum over v of (x_v - mean), one for each user, have the
same mean, and as of independent values the variance of their mean is this one. So whatever is
computed from independent values of users, such as intervals, tests and bounds, is computed of
these. With as many visits for each user they are the means of the users.
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
from sampled_metrics.metrics.levels import random_places
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks

_PRIOR_USERS = 0.5
_LIKELY_USERS = 50.0
_UNKNOWN_SIZE = 1000  # candidates of a prior, if their number is not known
_LEAST_CURVATURE = -2.0  # a share of successes has it: V(mu) = mu (1 - mu)


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
        """Calculate the moments of values of any shape; weights are equal by default."""
        flat = np.asarray(values, dtype=np.float64).ravel()
        share = np.ones(flat.size) if weights is None else np.asarray(weights, float).ravel()
        total = share.sum()
        mean = float(share @ flat / total)
        deviation = flat - mean
        square = np.square(deviation)
        powers = (square, square * deviation, np.square(square))
        second, third, fourth = (float(share @ power / total) for power in powers)
        return cls(mean, second, third, fourth, float(flat.min()), float(flat.max()))

    @classmethod
    def pooled(cls, parts: Sequence["Moments"], sizes: Sequence[int]) -> "Moments":
        """Return the shape of all values of several parts of these sizes."""
        if len(parts) == 1:
            return parts[0]
        mean = float(np.average([part.mean for part in parts], weights=sizes))
        about = [part.moments_about(mean) for part in parts]
        second, third, fourth = np.average(about, axis=0, weights=sizes).tolist()
        low = min(part.low for part in parts)
        high = max(part.high for part in parts)
        return cls(mean, second, third, fourth, low, high)

    @classmethod
    def from_mean_difference(
        cls, a: "Moments", n_a: int, b: "Moments", n_b: int
    ) -> tuple["Moments", int]:
        """Return shape and number of values whose mean varies like mean(b) - mean(a).

        For independent samples. The cumulants of the difference of the means, k2 = v_a/n_a +
        v_b/n_b and so on, belong to a mean of as many values as the smaller sample has.
        """
        n = min(n_a, n_b)
        second = n * (b.second / n_b + a.second / n_a)
        third = n**2 * (b.third / n_b**2 - a.third / n_a**2)
        excess = n**3 * (
            (b.fourth - 3.0 * b.second**2) / n_b**3 + (a.fourth - 3.0 * a.second**2) / n_a**3
        )
        low = b.low - a.high
        high = b.high - a.low
        return cls(b.mean - a.mean, second, third, excess + 3.0 * second**2, low, high), n

    def moments_about(self, centre: float) -> Float:
        """Second to fourth moments about a centre; shape (3,)."""
        d = self.mean - centre
        third = self.third + 3.0 * d * self.second + d**3
        fourth = self.fourth + 4.0 * d * self.third + 6.0 * d**2 * self.second + d**4
        return np.array([self.second + d**2, third, fourth])

    def of_difference(self) -> "Moments":
        """Moments of the difference of two independent values of this shape."""
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
    likely: Moments | None = None,
) -> MeanInterval:
    """Estimate a mean from the shape `observed` of the values of independent users.

    `prior` is the shape of the values at a uniformly random rank, to whose range the interval
    keeps; `likely` their shape under a smooth distribution fitted to the users, if there is one.
    """
    if n_users < 1:
        raise InputError("no users to average over")
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence is {confidence}; it must be between 0 and 1")
    if n_users == 1:
        return MeanInterval(observed.mean, math.nan, math.nan, math.nan, 1)
    mixed = [observed, prior]
    users = [float(n_users), _PRIOR_USERS]
    if likely is not None:
        mixed.append(likely)
        users.append(_LIKELY_USERS)
    about = [shape.moments_about(observed.mean) for shape in mixed]
    second, third, fourth = np.average(about, axis=0, weights=users).tolist()
    below = 0.0
    above = 0.0
    if second > 0.0:
        # Roots of (1 - t^2 c/2D) x^2 - t^2 (k3/v)/D x - t^2 v/D, the distance from the mean.
        skewness = third / second / math.sqrt(second)  # in this order, because values may be tiny
        curvature = fourth / second / second - 3.0 - skewness**2
        step = float(stdtrit(n_users - 1, (1.0 + confidence) / 2.0)) ** 2 / n_users
        # A heavy tail would make the parabola open the wrong way for few users.
        leading = max(1.0 - step * max(curvature, _LEAST_CURVATURE) / 2.0, 0.5)
        middle = step * third / second
        variance = second * n_users / (n_users - 1)
        root = math.sqrt(middle**2 + 4.0 * leading * step * variance)
        below = (middle - root) / (2.0 * leading)
        above = (middle + root) / (2.0 * leading)
    low = max(observed.mean + below, min(prior.low, observed.mean))
    high = min(observed.mean + above, max(prior.high, observed.mean))
    std_error = math.sqrt(observed.second / (n_users - 1))
    return MeanInterval(observed.mean, std_error, low, high, n_users)


def prior_moments(measures: Collection[Measure], ranks: Ranks) -> dict[Measure, Moments]:
    """Calculate the shapes of metrics of the users of `ranks` in a uniformly random ranking.

    The ranks of one relevant item are summed over; further relevant items of its user have ranks
    drawn with a fixed seed, and the range is then from 0 to 1.

    Examples
    --------
    >>> (shape,) = prior_moments([Measure("recall", 4)], Ranks([8, 8], [0, 1], [0, 0])).values()
    >>> shape.mean, shape.low, shape.high
    (0.5, 0.0, 1.0)
    """
    n = ranks.mean_candidates or _UNKNOWN_SIZE
    places, weights = rank_rule(list(measures), n, 1)
    if (ranks.n_relevant == 1).all():
        return {
            measure: Moments.from_values(measure.value_at(places, n), weights)
            for measure in measures
        }
    drawn = _at_places(ranks, places)
    shapes = {}
    for measure in measures:
        shape = Moments.from_values(metrics.values(measure, drawn), weights)
        shapes[measure] = shape._replace(low=0.0, high=1.0)
    return shapes


def _at_places(ranks: Ranks, places: Float) -> Ranks:
    """Rank an item of some user at each place, and the user's remaining items at random."""
    rng = np.random.default_rng(0)
    users = ranks.take(np.linspace(0, len(ranks) - 1, places.size).astype(np.int64))
    n_relevant = users.n_relevant
    n = np.maximum(ranks.mean_candidates or _UNKNOWN_SIZE, n_relevant + 1)
    first = np.minimum(np.rint(places).astype(np.int64), n) - 1
    begins = run_starts(n_relevant)
    is_other = np.ones(int(n_relevant.sum()), bool)
    is_other[begins] = False
    above = np.empty(is_other.size, np.int64)
    above[begins] = first
    others = random_places(n - 1, n_relevant - 1, rng)
    above[is_other] = others + (others >= np.repeat(first, n_relevant - 1))
    grades = users.relevance
    if grades is not None:
        user = np.repeat(np.arange(len(users)), n_relevant)
        grades = grades[np.lexsort((rng.random(user.size), user))]
    drawn = Ranks(n, above, np.zeros_like(above), n_found=n_relevant, relevance=grades)
    if ranks.min_relevance > 0.0:
        return drawn.at_least(ranks.min_relevance)
    return drawn


def collapse_visits(values: Float, user: Int | None) -> Float:
    """Return one value for each user from those of visits; `user` numbers the users of these.

    Without numbers each value is of another user, and stays. Users without a visit are left out.

    Examples
    --------
    >>> collapse_visits(np.array([1.0, 0.0, 1.0, 0.5]), np.array([0, 0, 1, 1]))
    array([0.5 , 0.75])
    """
    if user is None or not values.size:
        return values
    _, user = np.unique(user, return_inverse=True)
    n_visits = np.bincount(user)
    mean = values.mean()
    return mean + n_visits.size / values.size * np.bincount(user, values - mean)
