"""Upper confidence bounds of means of bounded variables, by empirical likelihood."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import stdtrit

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics.intervals.means import collapse_visits

_NEAR, _FAR = -45.0, 45.0  # logarithms of distances from the largest value, relative to the span


class End(NamedTuple):
    """Lower or upper bracketing vectors of one metric, averaged for users of each kind."""

    values: Float
    users: Int  # number of each kind
    extreme: float  # least entry of lower vectors, greatest of upper ones
    limit: float = math.nan  # least or greatest value of the metric in the class
    owner: Int | None = None  # user of each kind, if these are visits of which users have several

    @property
    def mean(self) -> float:
        """Mean over users."""
        return float(self.users @ self.values / self.users.sum())

    def __neg__(self) -> "End":
        return End(-self.values, self.users, -self.extreme, owner=self.owner)

    def by_user(self) -> "End":
        """Return values of independent users, see `means`; what visits may add is scaled too."""
        if self.owner is None:
            return self
        values = collapse_visits(self.values, self.owner)
        most = np.bincount(self.owner).max() * values.size / self.values.size
        extreme = self.mean + most * (self.extreme - self.mean)
        return End(values, np.ones(values.size, np.int64), extreme, self.limit)


def upper_bound(end: End) -> Callable[[float], float]:
    """Return the upper end of a confidence interval of a mean, as a function of the confidence.

    By empirical likelihood: the values are far from normal, most of a metric may rest on a handful
    of users, and a sample may hold none of them. The bound is the largest mean of a distribution
    that puts weights w on the values observed, with shares f, and possibly a weight on the largest
    possible value, where D sum f log(f / w) <= t^2 / 2, for D users and t the quantile of Student's
    distribution. For large samples it is the mean plus t standard errors.

    The weights are proportional to f / (distance + below), `below` being how far values are below
    the largest. From the smallest distance, `_NEAR`, to the greatest, `_FAR`, the divergence
    sum f log(f / w) falls to 0. If `_NEAR` leaves some of it, the largest value takes the rest.
    """
    end = end.by_user()
    is_found = end.users > 0
    points, place = np.unique(end.values[is_found], return_inverse=True)
    n_users = int(end.users.sum())
    share = np.bincount(place, end.users[is_found]) / n_users
    largest = max(end.extreme, float(points[-1]))
    span = largest - float(points[0])
    below = (largest - points) / max(span, np.finfo(float).tiny)

    def tilted(log_distance: float) -> tuple[float, float]:
        """Divergence of the weights at a distance, and their mean of `below`."""
        distance = np.exp(log_distance) + below
        weight = share / distance
        total = weight.sum()
        return float(share @ np.log(distance) + np.log(total)), float(weight @ below / total)

    def bound(confidence: float) -> float:
        quantile = float(stdtrit(max(n_users - 1, 1), (1.0 + confidence) / 2.0))
        allowed = quantile**2 / (2.0 * n_users)
        divergence, mean = tilted(_NEAR)
        if divergence <= allowed:
            return largest - span * mean * math.exp(divergence - allowed)
        if tilted(_FAR)[0] >= allowed:
            return end.mean
        root = brentq(lambda at: tilted(at)[0] - allowed, _NEAR, _FAR)
        return largest - span * tilted(root)[1]

    return bound


def bound_of_sum(ends: Sequence[End]) -> Callable[[float], float]:
    """Return the upper bound of a sum of independent means, as a function of the confidence."""
    bounds = [upper_bound(end) for end in ends]
    means = [end.mean for end in ends]

    def bound(confidence: float) -> float:
        margins = [of_one(confidence) - mean for of_one, mean in zip(bounds, means, strict=True)]
        return sum(means) + math.hypot(*margins)

    return bound
