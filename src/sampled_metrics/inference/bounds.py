"""Confidence bound of a mean by empirical likelihood.

The values averaged are far from normal: most of a metric may rest on a handful of users, and a
sample may hold none of them. The bound is the largest mean of a distribution that puts weights w
on the values observed, with shares f, and possibly a weight on the largest value that can occur,
among those with

    D sum over values of f log(f / w) <= t^2 / 2,

D users and t the quantile of Student's distribution. For large samples it is the mean plus t
standard errors; for shares of successes it is the likelihood-ratio interval of a probability, so
that no success in D users leaves about t^2/2D possible.
"""

import numpy as np
import scipy  # `scipy.optimize` takes long to import, so only where it is used

from sampled_metrics._base.arrays import Float

_NEAR, _FAR = -45.0, 45.0  # logarithms of distances from the largest value, relative to the span


def upper_bound(values: Float, largest: float, quantile: float) -> float:
    """Return the upper confidence bound of the mean of independent values.

    Parameters
    ----------
    values
        float64, shape (users,), not empty.
    largest
        The largest value that can occur.
    quantile
        t, the one-sided quantile of the confidence.

    Examples
    --------
    >>> round(upper_bound(np.zeros(100), 1.0, 1.96), 4)  # 1 - exp(-1.96^2 / 200)
    0.019
    """
    points, counts = np.unique(values, return_counts=True)
    share = counts / values.size
    largest = max(largest, float(points[-1]))
    span = largest - float(points[0])
    allowed = quantile**2 / (2.0 * values.size)
    if span == 0.0:
        return largest
    below = (largest - points) / span

    def tilted(log_distance: float) -> tuple[float, float]:
        """Divergence, and mean below the largest, with weights f / (distance + below)."""
        distance = np.exp(log_distance) + below
        weight = share / distance
        total = weight.sum()
        return float(share @ np.log(distance) + np.log(total)), float(weight @ below / total)

    divergence, mean = tilted(_NEAR)
    if divergence <= allowed:
        return largest - span * mean * float(np.exp(divergence - allowed))
    if tilted(_FAR)[0] >= allowed:
        return float(values.mean())
    root = scipy.optimize.brentq(
        lambda log_distance: tilted(log_distance)[0] - allowed, _NEAR, _FAR
    )
    return largest - span * tilted(root)[1]
