"""One exact metric that is likely if some sampled ones are printed.

Of the mixtures of extreme points (see `means`) that have the printed numbers, the one of greatest
entropy beside equal weights: w_k is proportional to exp(l . E_k), E_k the expected sampled metrics
under extreme point k. The numbers may be off by their sampling error, with D users and variances
v (1 - v), so that l is the least of

    log sum_k exp(l . (E_k - v)) + sum_i l_i^2 v_i (1 - v_i) / 2D.

One number says too little about another metric: of 525 published values, 80 % lay within a factor
of 3.6.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.defaults import MOST_WIDTH
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.printed.statement import Printed, exact_metric_of

NONE_QUOTED = (
    "as one printed number says too little, and so does one no better than a random order's, the "
    f"shape none, or a range whose high end is more than {MOST_WIDTH:g} times the low one."
)
_FEWEST = 2  # printed numbers
_MANY_USERS = 1e6  # where their number is not known


def likely(problem: Printed, measure: Measure, allowed: Range) -> float | None:
    """Calculate an exact metric under the distribution of greatest entropy, within its range.

    None with one printed number, if one is not above a random order's, which is at the edge of the
    class, if true ranks may have any distribution, and if the range is too wide.
    """
    means = problem.means
    of_random = means.moments[:, -1]
    if len(problem.names) < _FEWEST or not np.isfinite(means.extremes.factor):
        return None
    if (of_random <= 0.0).any() or allowed.is_wide:
        return None
    weights = _tilted(problem)
    value = float(exact_metric_of(problem, measure) @ weights)
    return allowed.nearest(value)


def _tilted(problem: Printed) -> Float:
    """Weights of the extreme points; shape (points,)."""
    means = problem.means
    points = means.extremes.points
    start = np.log(np.diff(points, prepend=0))
    scale = np.sqrt(np.maximum(means.values * (1.0 - means.values), 1.0 / _MANY_USERS))
    away = -means.moments / scale[:, None]
    n_users = problem.about.n_users or _MANY_USERS

    def dual(tilt: Float) -> tuple[float, Float]:
        logs = start + tilt @ away
        value = float(logsumexp(logs)) + float(tilt @ tilt) / (2.0 * n_users)
        return value, away @ softmax(logs) + tilt / n_users

    found = minimize(dual, np.zeros(scale.size), jac=True, method="BFGS")
    return np.asarray(softmax(start + found.x @ away), np.float64)
