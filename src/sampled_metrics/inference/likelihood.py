"""Upper confidence bound of the mean of a bounded variable, by empirical likelihood."""

from typing import NamedTuple, Self

import numpy as np
from scipy.special import stdtrit

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.solvers import root_between


class End(NamedTuple):
    """Lower or upper bracketing vectors of one metric, averaged for users of each kind."""

    values: Float
    users: Int  # of each kind
    extreme: float  # least entry of lower vectors, greatest of upper ones

    def negative(self) -> "End":
        """Return the end of the negative metric."""
        return End(-self.values, self.users, -self.extreme)


class Observed(NamedTuple):
    """Different values of a variable in order, and how many users have each."""

    points: Float
    users: Int
    largest: float  # that can occur

    @classmethod
    def of(cls, end: End) -> Self:
        """Sort the values of one end of a metric."""
        is_found = end.users > 0
        points, place = np.unique(end.values[is_found], return_inverse=True)
        users = np.bincount(place, end.users[is_found]).astype(np.int64)
        return cls(points, users, max(end.extreme, float(points[-1])))

    @property
    def mean(self) -> float:
        """Mean over users."""
        return float(self.users @ self.points / self.users.sum())

    def upper_bound(self, confidence: float) -> float:
        """Return the upper end of a confidence interval of the mean of independent values.

        By empirical likelihood: the values are far from normal, most of a metric may rest on a
        handful of users, and a sample may hold none of them. The bound is the largest mean of a
        distribution that puts weights w on the values observed, with shares f, and possibly a
        weight on the largest value that can occur, among those with D sum f log(f / w) <= t^2 / 2,
        for D users and t the quantile of Student's distribution. For large samples it is the mean
        plus t standard errors.
        """
        n_users = int(self.users.sum())
        quantile = float(stdtrit(max(n_users - 1, 1), (1.0 + confidence) / 2.0))
        share = self.users / n_users
        largest = self.largest
        span = largest - float(self.points[0])
        allowed = quantile**2 / (2.0 * n_users)
        if span == 0.0:
            return largest
        below = (largest - self.points) / span

        def tilted(log_distance: float) -> tuple[float, float]:
            """Divergence, and mean below the largest, with weights f / (distance + below)."""
            distance = np.exp(log_distance) + below
            weight = share / distance
            total = weight.sum()
            return float(share @ np.log(distance) + np.log(total)), float(weight @ below / total)

        near = -45.0  # logarithm of a distance from the largest value, relative to the span
        far = 45.0
        divergence, mean = tilted(near)
        if divergence <= allowed:
            return largest - span * mean * float(np.exp(divergence - allowed))
        if tilted(far)[0] >= allowed:
            return self.mean
        root = root_between(lambda at: tilted(at)[0] - allowed, near, far)
        return largest - span * tilted(root)[1]


def upper_bound(values: Float, largest: float, confidence: float) -> float:
    """Return the upper bound of the mean of values, one of each user, see `Observed`."""
    return Observed.of(End(values, np.ones(values.size, np.int64), largest)).upper_bound(confidence)
