"""Standard errors and confidence intervals of a mean over users.

The values averaged are far from normal: most of the weight of a corrected Recall@10 lies on the
few users whose sampled rank is 1. A t-interval then covers too rarely, and not at all if no such
user is in the sample. The interval here is a score interval, as Wilson's is for a share of
successes: it holds every mean mu that the observed one is compatible with, taking the variance
that belongs to mu instead of the one observed,

    (mean - mu)^2 <= t^2 V(mu) / D,   V(mu) = v + k3/v (mu - mean) + c/2 (mu - mean)^2,

with D users, t the quantile of Student's distribution and V the variance along the exponential
family through the observed distribution (v, k3, k4 its cumulants, c = k4/v^2 - k3^2/v^3, at
least -2). For shares of successes V(mu) is mu (1 - mu) and the interval Wilson's. Values that did
not occur remain possible: the cumulants are those of the observed users and half a user with a
uniformly random rank, and under sampling also fifty users of a smooth distribution fitted to the
observed one, because sampled ranks 1 and 2 have similar probabilities even if a small sample
suggests otherwise. `make coverage` measures how often the interval covers the expectation.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.defaults import CONFIDENCE
from sampled_metrics._base.errors import InputError

_PRIOR_USERS = 0.5
_LIKELY_USERS = 50.0
_LEAST_CURVATURE = -2.0  # that of a share of successes, V(mu) = mu (1 - mu)


class Shape(NamedTuple):
    """Mean, central moments and range of a distribution of values."""

    mean: float
    second: float
    third: float
    fourth: float
    low: float
    high: float

    @classmethod
    def of(cls, values: ArrayLike, weights: ArrayLike | None = None) -> "Shape":
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
    def of_means(cls, a: "Shape", n_a: int, b: "Shape", n_b: int) -> tuple["Shape", int]:
        """Return shape and number of values whose mean varies like mean(b) - mean(a).

        For independent samples. The cumulants of the difference of the means, k2 = v_a/n_a +
        v_b/n_b and so on, are those of a mean of as many values as the smaller sample has.
        """
        n = min(n_a, n_b)
        second = n * (b.second / n_b + a.second / n_a)
        third = n**2 * (b.third / n_b**2 - a.third / n_a**2)
        excess = n**3 * (
            (b.fourth - 3.0 * b.second**2) / n_b**3 + (a.fourth - 3.0 * a.second**2) / n_a**3
        )
        low, high = b.low - a.high, b.high - a.low
        return cls(b.mean - a.mean, second, third, excess + 3.0 * second**2, low, high), n

    def about(self, centre: float) -> Float:
        """Second to fourth moments about a centre; shape (3,)."""
        d = self.mean - centre
        third = self.third + 3.0 * d * self.second + d**3
        fourth = self.fourth + 4.0 * d * self.third + 6.0 * d**2 * self.second + d**4
        return np.array([self.second + d**2, third, fourth])

    def difference(self) -> "Shape":
        """Shape of the difference of two independent values of this shape."""
        fourth = 2.0 * self.fourth + 6.0 * self.second**2
        width = self.high - self.low
        return Shape(0.0, 2.0 * self.second, 0.0, fourth, -width, width)


class Estimate(NamedTuple):
    """A mean over users with standard error and interval, which are nan for one user."""

    value: float
    std_error: float
    ci_low: float
    ci_high: float
    n_users: int


def estimate(
    observed: Shape,
    n_users: int,
    prior: Shape,
    confidence: float = CONFIDENCE,
    likely: Shape | None = None,
) -> Estimate:
    """Estimate a mean from the shape `observed` of the values of independent users.

    `prior` is the shape of the values at a uniformly random rank, to whose range the interval
    keeps; `likely` that under a smooth distribution fitted to the users, if there is one.
    """
    if n_users < 1:
        raise InputError("no users to average over")
    if not 0.0 < confidence < 1.0:
        raise InputError(f"confidence is {confidence}; it must be between 0 and 1")
    if n_users == 1:
        return Estimate(observed.mean, math.nan, math.nan, math.nan, 1)
    pseudo = [(prior, _PRIOR_USERS)] + ([] if likely is None else [(likely, _LIKELY_USERS)])
    mixed, users = n_users * observed.about(observed.mean), float(n_users)
    for shape, number in pseudo:
        mixed, users = mixed + number * shape.about(observed.mean), users + number
    second, third, fourth = (float(moment) for moment in mixed / users)
    below, above = 0.0, 0.0
    if second > 0.0:
        # Roots of (1 - t^2 c/2D) x^2 - t^2 (k3/v)/D x - t^2 v/D, the distance from the mean.
        curvature = fourth / second**2 - 3.0 - third**2 / second**3
        step = float(stdtrit(n_users - 1, (1.0 + confidence) / 2.0)) ** 2 / n_users
        # A heavy tail would make the parabola open the wrong way for few users.
        leading = max(1.0 - step * max(curvature, _LEAST_CURVATURE) / 2.0, 0.5)
        middle, variance = step * third / second, second * n_users / (n_users - 1)
        root = math.sqrt(middle**2 + 4.0 * leading * step * variance)
        below, above = (middle - root) / (2.0 * leading), (middle + root) / (2.0 * leading)
    low = max(observed.mean + below, min(prior.low, observed.mean))
    high = min(observed.mean + above, max(prior.high, observed.mean))
    std_error = math.sqrt(observed.second / (n_users - 1))
    return Estimate(observed.mean, std_error, low, high, n_users)
