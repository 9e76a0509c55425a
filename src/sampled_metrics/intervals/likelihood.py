"""Upper confidence bounds of means of bounded values, by empirical likelihood.

Question: how large may the mean over all users be, given the values of some of them?

The values of a bracketing vector are far from normal: most of a metric may rest on a handful of
users, and a sample may contain none of them. The bound is therefore the largest mean of a
distribution with weights w on the observed values, and possibly a weight on the largest possible
value, with

    D sum of f log(f / w) <= t^2 / 2,

f the shares of the observed values, D the number of users, and t the quantile of Student's
distribution. For large samples it is the mean plus t standard errors. The only assumption is that
users are independent. (A. B. Owen, "Empirical Likelihood", 2001.)
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy
from scipy.special import stdtrit

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics.intervals.constants import LARGEST_LOG_TILT, SMALLEST_LOG_TILT
from sampled_metrics.intervals.means import collapse_visits


class UserValues(NamedTuple):
    """Values of a lower or an upper bracketing vector, averaged for each user.

    Units, that is users or their visits, are counted in cohorts: units with the same value, see
    `groups`.

    Attributes
    ----------
    values, n_units
        Value of each cohort, and the number of its units, or how many users a row counts for; shape
        (cohorts,).
    extreme
        Least possible value for lower vectors, greatest for upper ones.
    limit
        Least or greatest value of the metric in the class; nan if not needed.
    user_of_cohort
        Number of the user of each cohort if the units are visits, each its own cohort; else None.
    """

    values: Float
    n_units: Int | Float
    extreme: float
    limit: float = math.nan
    user_of_cohort: Int | None = None

    @property
    def mean(self) -> float:
        """Mean over units."""
        return float(self.n_units @ self.values / self.n_units.sum())

    def __neg__(self) -> "UserValues":
        return UserValues(
            -self.values, self.n_units, -self.extreme, user_of_cohort=self.user_of_cohort
        )

    def collapse_visits(self) -> "UserValues":
        """Return values of independent users, see `means`; the extreme is scaled likewise."""
        if self.user_of_cohort is None:
            return self
        values = collapse_visits(self.values, self.user_of_cohort)
        most_visits = np.bincount(self.user_of_cohort).max()
        factor = most_visits * values.size / self.values.size  # most visits, relative to the mean
        extreme = self.mean + factor * (self.extreme - self.mean)
        return UserValues(values, np.ones(values.size, np.int64), extreme, self.limit)


class UpperBound:
    """Upper confidence bound of a mean, for any confidence.

    The distinct values have the shares f of users, and gaps g, their distances from the largest
    possible value relative to the span. The weights that give the largest mean for a divergence
    sum of f log(f / w) are, for some tilt h > 0,

        w = f / (h + g) / W,   W = sum of f / (h + g).

    From the smallest h to the largest the divergence falls to 0. If the smallest h does not use up
    the divergence that is allowed, the largest value takes the rest of the weight.

    Examples
    --------
    >>> bound = UpperBound(UserValues(np.array([0.0, 1.0]), np.array([43, 7]), extreme=1.0))
    >>> round(bound.at(0.95), 3)  # of a share of 0.14
    0.256
    """

    def __init__(self, values: UserValues) -> None:
        values = values.collapse_visits()
        occurs = values.n_units > 0
        distinct, index_of_cohort = np.unique(values.values[occurs], return_inverse=True)
        n_users_of_value = np.bincount(index_of_cohort, values.n_units[occurs])
        self._mean = values.mean
        self._n_users = float(values.n_units.sum())
        self._shares = n_users_of_value / self._n_users
        self._largest = max(values.extreme, float(distinct[-1]))
        self._span = self._largest - float(distinct[0])
        self._gaps = (self._largest - distinct) / max(self._span, np.finfo(float).tiny)

    def at(self, confidence: float) -> float:
        """Return the upper end of the two-sided interval with this confidence.

        The divergence of the weights may be t^2 / (2 D), for D users and Student's quantile t.
        """
        freedom = max(self._n_users - 1.0, 1.0)
        t = float(stdtrit(freedom, (1.0 + confidence) / 2.0))
        allowed = t**2 / (2.0 * self._n_users)
        divergence, mean_gap = self._tilt(SMALLEST_LOG_TILT)
        if divergence <= allowed:
            # The largest value, without a gap, takes the weight 1 - exp(divergence - allowed).
            return self._largest - self._span * mean_gap * math.exp(divergence - allowed)
        least_divergence, _ = self._tilt(LARGEST_LOG_TILT)
        if least_divergence >= allowed:
            return self._mean

        def excess(log_tilt: float) -> float:
            divergence, _ = self._tilt(log_tilt)
            return divergence - allowed

        _, mean_gap = self._tilt(scipy.optimize.brentq(excess, SMALLEST_LOG_TILT, LARGEST_LOG_TILT))
        return self._largest - self._span * mean_gap

    def _tilt(self, log_tilt: float) -> tuple[float, float]:
        """Return the divergence of the weights for log h, and the mean gap under them.

        As f / w = (h + g) W, the divergence is sum of f log(h + g) + log W.
        """
        distance = np.exp(log_tilt) + self._gaps
        unscaled = self._shares / distance
        total = unscaled.sum()
        divergence = float(self._shares @ np.log(distance) + np.log(total))
        mean_gap = float(unscaled @ self._gaps / total)
        return divergence, mean_gap


class UpperBoundOfSum:
    """Upper confidence bound of a sum of independent means, for any confidence.

    The distances of the bounds from their means are added as the legs of a right angle.
    """

    def __init__(self, terms: Sequence[UserValues]) -> None:
        self._bounds = [UpperBound(term) for term in terms]
        self._means = [term.mean for term in terms]

    def at(self, confidence: float) -> float:
        """Return the upper end of the two-sided interval with this confidence."""
        bounds_and_means = zip(self._bounds, self._means, strict=True)
        margins = [bound.at(confidence) - mean for bound, mean in bounds_and_means]
        return sum(self._means) + math.hypot(*margins)
