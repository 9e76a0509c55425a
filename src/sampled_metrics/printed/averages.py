"""Averages of functions of the true rank under the extreme points of a class.

The class is as in `kernels`, with its shape at all ranks: the ranks 1 ... k, equally likely, or
rank k alone. Among more than 100,000 candidates, k grows by a 50,000th of its distance from the
nearer end where that is more than 1.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.interpolate import make_interp_spline

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import sorted_unique
from sampled_metrics.intervals.kernels import ALL_POINTS, spread
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import pmf_at

_MANY = 0.25  # share of candidates drawn: more determine true ranks too well for splines
_EDGE = 512  # ranks at both ends that are knots of splines, and others
_KNOTS = 1000
_FINE = 50_000  # extreme points at both ends, and steps in the distance of others from them


@lru_cache(maxsize=2)  # often the same for all rows of a table
def sampled_moments(
    measures: tuple[Measure, ...], n: int, m: int, kind: Sampling, alone: bool, runs: int = 1
) -> tuple[Float, Float]:
    """Expected sampled metrics (eq. 16) and products of each two, under each extreme point.

    A user's metrics are means over `runs`, each with negatives of its own. Shapes (metrics, points)
    and (metrics, metrics, points).
    """
    credit = np.stack([measure.sampled_values(m) for measure in measures], axis=1)
    first, second = np.triu_indices(len(measures))
    squares = credit[:, first] * credit[:, second]

    def values(ranks: Int) -> Float:
        chances = pmf_at(ranks, n, m, kind)
        means = chances @ credit
        products = means[:, first] * means[:, second]
        variance = chances @ squares - products
        return np.hstack([means, products + variance / runs])

    means, above = np.split(_of_points(values, n, m, alone), [len(measures)])
    products = np.empty((len(measures), *means.shape))
    products[first, second] = above
    products[second, first] = above
    return means, products


def exact_metric(measure: Measure, n: int, alone: bool) -> Float:
    """Exact metric under each extreme point; shape (points,)."""
    points = last_ranks(n)
    if alone:
        return measure.value_at(points, n)
    last = min(measure.cutoff or n, n)  # that has any credit
    sums = np.cumsum(measure.value_at(np.arange(1, last + 1), n))
    return sums[np.minimum(points, last) - 1] / points


def _of_points(values: Callable[[Int], Float], n: int, m: int, alone: bool) -> Float:
    """Mean of some functions of the rank under extreme points; shape (functions, points).

    `values` returns a row for each rank. For large n a spline of degree 5 interpolates them, and
    its sums are by the formula of Euler and Maclaurin.
    """
    points = last_ranks(n)
    if n <= ALL_POINTS or m >= _MANY * n:
        of_all = values(np.arange(1, n + 1))
        if not alone:
            of_all = np.cumsum(of_all, axis=0) / np.arange(1, n + 1)[:, None]
        return of_all[points - 1].T
    knots = _from_both_ends(n, _EDGE, _KNOTS)
    of_knots = values(knots)
    spline = make_interp_spline(knots, of_knots, 5)
    if alone:
        return spline(points).T
    integral = spline.antiderivative()
    slope = spline.derivative()
    third = spline.derivative(3)

    def sums(ranks: Int | int) -> Float:
        """Sum of the values of ranks up to each, but for a constant."""
        end = ranks + 0.5
        return integral(end) - slope(end) / 24.0 + 7.0 * third(end) / 5760.0

    first = np.cumsum(of_knots[:_EDGE], axis=0)
    rest = first[-1] + sums(points[_EDGE:]) - sums(_EDGE)
    return np.concatenate([first, rest]).T / points


def last_ranks(n: int) -> Int:
    """Ranks k of the extreme points: all near both ends, and some far from them."""
    growth = np.log(max(n / 2 / _FINE, 1.0))
    return _from_both_ends(n, _FINE, int(_FINE * growth) + 1)


def _from_both_ends(n: int, singly: int, wide: int) -> Int:
    """Some of the ranks 1 ... n, as dense at one end as at the other; see `spread`."""
    ranks = spread((n + 1) // 2, singly, wide)
    return sorted_unique(np.concatenate([ranks, n + 1 - ranks]))
