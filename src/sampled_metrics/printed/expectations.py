"""Expected sampled metrics, and exact ones, under the extreme points of a class of true ranks.

The class is that of `intervals.kernels` with its shape at all ranks: extreme point k is uniform on
the ranks 1 ... k, or is rank k alone for the shape `none`. A sampled metric with the value c(s) at
sampled rank s has the expectation (equation 16 of the paper)

    E(r) = sum over s of P(s | r) c(s)

at true rank r; under extreme point k it is E(k), or the mean of E(1) ... E(k). With more than
20,000 candidates E is interpolated by a spline, because it is smooth in r, and its sums follow from
the formula of Euler and Maclaurin. With more than 100,000 candidates some k are skipped.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import scipy

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import sorted_unique
from sampled_metrics.intervals.constants import ALL_POINTS
from sampled_metrics.intervals.kernels import spread_ranks
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import pmf_at

# Knots of splines: the interpolated values are exact to 1e-11 (tests compare them with sums). If
# many candidates are drawn, sampled ranks follow true ranks too closely for that.
_MANY_SAMPLED = 0.25  # share of the candidates
_SINGLE_KNOTS = 512  # ranks at either end that are all knots
_SPREAD_KNOTS = 1000  # further knots from there to the middle
_SPLINE_DEGREE = 5
# Extreme points: the first and the last 50,000, and beyond a step of a 50,000th of the distance
# from the nearer end. What is skipped changes an end of a range by a relative error of this order.
_SINGLE_POINTS = 50_000


@lru_cache(maxsize=2)  # often the same for all rows of a table
def sampled_moments(
    measures: tuple[Measure, ...],
    n: int,
    m: int,
    *,
    sampling: Sampling,
    single_ranks: bool,
    runs: int = 1,
) -> tuple[Float, Float]:
    """Return expectations of sampled metrics, and of products of each two of them.

    At a true rank, the product of two means over R runs has the expectation
    E(x) E(y) + Cov(x, y) / R.

    Parameters
    ----------
    measures
        The metrics.
    n, m, sampling
        Numbers of candidates and negatives, and how the negatives were drawn.
    single_ranks
        Whether extreme points are single ranks, as for the shape `none`, or uniform on 1 ... k.
    runs
        A user's metrics are means over this many runs, each with negatives of its own.

    Returns
    -------
    means, products
        Shapes (metrics, points) and (metrics, metrics, points).

    Examples
    --------
    HR@1 against one negative of three, for true ranks 1 to 4.

    >>> means, _ = sampled_moments(
    ...     (Measure("recall", 1),), 4, 1, sampling=Sampling("distinct"), single_ranks=True
    ... )
    >>> means.round(3)
    array([[1.   , 0.667, 0.333, 0.   ]])
    """
    credit = np.stack([measure.sampled_values(m) for measure in measures], axis=1)
    x, y = np.triu_indices(len(measures))  # the metrics of each pair, which occurs once
    products_of_credit = credit[:, x] * credit[:, y]

    def moments_at(ranks: Int) -> Float:
        """Return the means, and the products of pairs, at single ranks; a row for each rank."""
        probabilities = pmf_at(ranks, n, m, sampling)
        means = probabilities @ credit
        products_of_means = means[:, x] * means[:, y]
        covariances = probabilities @ products_of_credit - products_of_means
        return np.hstack([means, products_of_means + covariances / runs])

    moments = _values_at_points(moments_at, n, m, single_ranks)
    means, products_of_pairs = np.split(moments, [len(measures)])
    products = np.empty((len(measures), *means.shape))  # symmetric in both metrics
    products[x, y] = products_of_pairs
    products[y, x] = products_of_pairs
    return means, products


@lru_cache(maxsize=2)  # often the same for all rows of a table
def exact_metric(measure: Measure, n: int, single_ranks: bool) -> Float:
    """Return an exact metric under each extreme point; shape (points,).

    It is the metric at rank k, or its mean over the ranks 1 ... k. No rank below the cut-off adds
    to the sum.
    """
    points = extreme_ranks(n)
    if single_ranks:
        return measure.value_at(points, n)
    last_credited = min(measure.cutoff or n, n)
    sums_up_to = np.cumsum(measure.value_at(np.arange(1, last_credited + 1), n))
    return sums_up_to[np.minimum(points, last_credited) - 1] / points


def _values_at_points(
    values_at: Callable[[Int], Float], n: int, m: int, single_ranks: bool
) -> Float:
    """Return some functions of the true rank under each extreme point; shape (functions, points).

    `values_at` returns a row of values for each of the ranks that it gets. Above `ALL_POINTS`
    candidates it is called at knots only, and its values are interpolated.
    """
    points = extreme_ranks(n)
    is_exact = n <= ALL_POINTS or m >= _MANY_SAMPLED * n
    if is_exact:
        ranks = np.arange(1, n + 1)
        values = values_at(ranks)
        if not single_ranks:
            values = np.cumsum(values, axis=0) / ranks[:, None]  # means over 1 ... k
        return values[points - 1].T
    knots = _dense_at_both_ends(n, _SINGLE_KNOTS, _SPREAD_KNOTS)
    values_at_knots = values_at(knots)
    spline = scipy.interpolate.make_interp_spline(knots, values_at_knots, _SPLINE_DEGREE)
    if single_ranks:
        return spline(points).T
    # The first points are knots too, so that their sums need no spline. Further sums add the
    # difference of two sums of the spline, in which the unknown constant cancels.
    first_sums = np.cumsum(values_at_knots[:_SINGLE_KNOTS], axis=0)
    spline_sum_of_first = _sums_up_to(_SINGLE_KNOTS, spline)
    spline_sums = _sums_up_to(points[_SINGLE_KNOTS:], spline)
    further_sums = first_sums[-1] + spline_sums - spline_sum_of_first
    return np.concatenate([first_sums, further_sums]).T / points


def _sums_up_to(ranks: Int | int, spline: "scipy.interpolate.BSpline") -> Float:
    """Sum a smooth function f over the ranks up to each rank k, but for a constant.

    With the integral F, the first derivative f1 and the third derivative f3, all at k + 1/2, the
    formula of Euler and Maclaurin is F - f1 / 24 + 7 f3 / 5760.
    """
    ends = ranks + 0.5
    third_order = 7.0 * spline.derivative(3)(ends) / 5760.0
    return spline.antiderivative()(ends) - spline.derivative()(ends) / 24.0 + third_order


def extreme_ranks(n: int) -> Int:
    """Return the ranks k of the extreme points: all near both ends, some far from them.

    Examples
    --------
    >>> extreme_ranks(7), len(extreme_ranks(10_000_000))
    (array([1, 2, 3, 4, 5, 6, 7]), 560516)
    """
    growth = np.log(max(n / 2 / _SINGLE_POINTS, 1.0))
    return _dense_at_both_ends(n, _SINGLE_POINTS, int(_SINGLE_POINTS * growth) + 1)


def _dense_at_both_ends(n: int, n_single: int, n_spread: int) -> Int:
    """Return some of the ranks 1 ... n, as dense at one end as at the other."""
    ranks = spread_ranks((n + 1) // 2, n_single, n_spread)
    return sorted_unique(np.concatenate([ranks, n + 1 - ranks]))
