"""Bracketing vectors: estimators of a metric that are too high, or too low, on purpose.

Question: which number per sampled rank has a mean over users that is never below the exact metric
(upper vector), or never above it (lower vector), whatever the true ranks are within a class?

Let Q_k(s) be the probability of sampled rank s, and M_k the exact metric, under extreme point k of
the class (see `kernels`). Each distribution of the class is a mixture of extreme points, so under
all of them a vector u has an expectation of at least the exact metric if

    sum over s of u(s) Q_k(s) >= M_k   for all k.                                       (1)

Among the vectors with (1) the one with the lowest expected upper end is chosen:

    minimise  sum over s of f(s) u(s) + z sqrt(Var_f(u) / D),

f the likely distribution of sampled ranks (see `likely_mixture`), D the number of users and z a
quantile. A poor f makes the range wider, but not wrong. Lower vectors are upper vectors of the
negative metric, with the opposite sign.

This is a second-order cone programme (S. Boyd and L. Vandenberghe, "Convex Optimization", 2004,
section 4.4) with an unknown for each bin of sampled ranks and a row for each extreme point. It is
solved for some extreme points; those that violate (1) join until none is left. What violation
remains, also between the points of a grid, is bounded and added to the vector.
"""

from typing import NamedTuple

import clarabel
import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.solvers import solve_cone_programme
from sampled_metrics.intervals.constants import (
    FIT_POINTS,
    FIT_STEPS,
    MOST_CUTTING_ROUNDS,
    PSEUDO_USERS,
    START_POINTS,
    START_POINTS_OF_FACTOR,
    VECTOR_ACCURACY,
    VECTOR_TOLERANCE,
    ZERO_PROBABILITY,
)
from sampled_metrics.intervals.kernels import Kernel, local_maxima, spread_rows
from sampled_metrics.metrics.measures import Measure

LOWER, UPPER = -1.0, 1.0  # sign of a vector: lower ones are upper ones of the negative metric


class LikelyMixture(NamedTuple):
    """A mixture of extreme points that is likely for some sampled ranks."""

    rows: Int  # of the kernel, one for each extreme point
    weights: Float  # shape (..., points)
    shares: Float  # probability of every bin, positive; shape (..., bins)


def likely_mixture(counts: Float, table: Kernel) -> LikelyMixture:
    """Fit a mixture of extreme points to counts of users by maximum likelihood.

    Expectation maximisation takes a fixed number of steps. Half a user with a uniformly random rank
    is added to the observed ones.

    Parameters
    ----------
    counts
        Users in every bin of sampled ranks; shape (..., bins). Each sample is fitted on its own.
    table
        The kernel of the class.
    """
    rows = spread_rows(table, *FIT_POINTS)
    probabilities = table.probabilities[rows]
    pseudo_counts = PSEUDO_USERS * table.widths / (table.m + 1)
    observed = counts + pseudo_counts
    observed /= observed.sum(axis=-1, keepdims=True)
    weights = np.full((*counts.shape[:-1], rows.size), 1.0 / rows.size)
    for _ in range(FIT_STEPS):
        ratio = observed / (weights @ probabilities)
        weights *= ratio @ probabilities.T
    weights /= weights.sum(axis=-1, keepdims=True)
    n_users = counts.sum(axis=-1, keepdims=True)
    shares = n_users * (weights @ probabilities) + pseudo_counts
    shares /= shares.sum(axis=-1, keepdims=True)
    return LikelyMixture(rows, weights, shares)


def bracketing_vectors(
    measure: Measure, table: Kernel, shares: Float, *, n_users: int, z: float, sign: float
) -> Float:
    """Compute one bracketing vector for each row of `shares`; shape (rows, m + 1).

    Parameters
    ----------
    measure, table
        The exact metric, and the kernel of the class.
    shares
        Likely distributions of sampled ranks, in the bins of the kernel; shape (rows, bins).
    n_users, z
        The range is made narrow for means over this many users, with `z` standard errors.
    sign
        `UPPER` or `LOWER`.

    Examples
    --------
    One negative of four. The vector gives 1 to sampled rank 1 and -0.6 to sampled rank 2; its mean
    under extreme point k is never below the exact Recall@1, which is 1/k.

    >>> from sampled_metrics.intervals.kernels import kernel
    >>> table = kernel(5, 1, "without-replacement", "non-increasing", None)
    >>> shares = np.array([[0.8, 0.2]])
    >>> (vector,) = bracketing_vectors(
    ...     Measure("recall", 1), table, shares, n_users=100, z=1.96, sign=UPPER
    ... )
    >>> vector.round(2), (table.probabilities @ vector).round(2)
    (array([ 1. , -0.6]), array([1. , 0.8, 0.6, 0.4, 0.2]))
    """
    low, high = measure.value_at(np.array([table.n, 1]), table.n).tolist()
    if high <= low:  # the same value at every rank
        return np.full((len(shares), table.m + 1), low)
    span = max(high - low, np.finfo(float).tiny)
    scaled_metric = sign * ((table.exact_metric(measure) - low) / span)
    programme = _UpperVectorProgramme(scaled_metric, table, measure.cutoff)
    vectors = np.empty(shares.shape)
    for row, shares_of_row in enumerate(shares):
        vectors[row] = programme.solve(shares_of_row, z / np.sqrt(n_users))
    return low + span * np.repeat(sign * vectors, table.widths, axis=1)


class _UpperVectorProgramme:
    """The programme of upper vectors of a metric, for the extreme points met so far.

    Points that joined for one distribution of sampled ranks stay for the next.
    """

    def __init__(self, exact_metric: Float, table: Kernel, cutoff: int | None) -> None:
        n_points = START_POINTS if table.is_complete else START_POINTS_OF_FACTOR
        self._table = table
        self._rows = spread_rows(table, *n_points, cutoff)
        # The columns are the bins, and the exact metric.
        self._all_points = np.column_stack([table.probabilities, exact_metric])
        self._points = self._all_points[self._rows]

    def solve(self, shares: Float, weight: float) -> Float:
        """Return the upper vector, by bins, for a distribution of sampled ranks.

        `weight` is z / sqrt(D), that of the standard deviation.
        """
        table = self._table
        for _ in range(MOST_CUTTING_ROUNDS):
            vector = _solve_cone_programme(self._points, shares, weight)
            violations = self._all_points @ np.append(-vector, 1.0)
            joining = local_maxima(table.weighted_means(violations, violations), VECTOR_TOLERANCE)
            if table.is_complete:
                joining = np.setdiff1d(joining, self._rows)
            if not joining.size:
                break
            self._rows = np.append(self._rows, joining)
            weighted_points = table.weighted_means(self._all_points, violations)
            self._points = np.concatenate([self._points, weighted_points[joining]])
        return vector + max(_greatest_violation(violations, table), 0.0)


def _solve_cone_programme(points: Float, shares: Float, weight: float) -> Float:
    """Minimise shares.u + weight t, where t >= |sqrt(shares) (u - c)|, the standard deviation of u.

    The unknowns are the vector u, its mean c, and t. The constraints are condition (1) for each
    extreme point, and a second-order cone.

    Parameters
    ----------
    points
        A row (Q_k, M_k) of (1) for each extreme point; shape (points, bins + 1).
    shares
        The likely distribution f; shape (bins,).
    weight
        Of the standard deviation.

    Returns
    -------
    ndarray
        The vector u; shape (bins,).
    """
    probabilities = points[:, :-1]
    exact_metric = points[:, -1]
    n_points, n_bins = probabilities.shape
    mean_column, t_column = n_bins, n_bins + 1  # after those of u
    cone_row = n_points  # after those of the points
    root = np.sqrt(shares)
    matrix = np.zeros((n_points + 1 + n_bins, n_bins + 2))
    is_positive = probabilities > ZERO_PROBABILITY
    np.negative(probabilities, out=matrix[:n_points, :n_bins], where=is_positive)
    matrix[cone_row, t_column] = -1.0
    np.fill_diagonal(matrix[cone_row + 1 :, :n_bins], -root)
    matrix[cone_row + 1 :, mean_column] = root
    right = np.concatenate([-exact_metric, np.zeros(1 + n_bins)])
    cones = [clarabel.NonnegativeConeT(n_points), clarabel.SecondOrderConeT(n_bins + 1)]
    cost = np.concatenate([shares, [0.0, weight]])
    solution = solve_cone_programme(cost, matrix, right, cones, VECTOR_ACCURACY, refinements=1)
    vector = np.array(solution.x)[:n_bins]
    if np.isfinite(vector).all():
        return vector
    return np.full(n_bins, exact_metric.max())  # a constant is valid too


def _greatest_violation(violations: Float, table: Kernel) -> float:
    """Return the greatest violation of (1), or for a grid of points a bound on it."""
    greatest = table.greatest_mean(violations)
    if table.points.size == table.n:
        return greatest
    excess = violations - greatest
    weighted = table.weighted_means(excess, excess)
    bound = weighted + _growth_between_points(weighted, table)
    if table.is_complete:
        return greatest + float(bound.max())
    bound += _growth_within_blocks(excess, table)
    # Other weights differ by the factor at most, and so does a mean with other weights.
    return greatest + max(table.factor * float(bound.max()), 0.0)


def _growth_between_points(violations: Float, table: Kernel) -> Float:
    """Bound how much a violation may grow between neighbouring points of a grid.

    A parabola exceeds the straight line between its ends by an eighth of its second derivative
    times the squared step; the bound is twice that. Both sides of a cut-off are points, so no
    second difference that counts reaches across it.
    """
    step = np.diff(table.points).astype(np.float64)
    slope = np.diff(violations) / step
    bend = 2.0 * np.abs(np.diff(slope)) / (step[1:] + step[:-1])
    bend = np.pad(bend, 1, mode="edge")
    steepest = np.maximum(bend[:-1], bend[1:])
    growth = np.where(step > 1, np.square(step) * steepest / 4.0, 0.0)
    growth = np.append(growth, 0.0)
    growth[1:-1] = np.maximum(growth[1:-1], growth[:-2])
    return growth


def _growth_within_blocks(violations: Float, table: Kernel) -> Float:
    """Bound how much more is violated if the weight changes within a block of ranks.

    That is possible where the violation changes its sign. The bound is twice that for a straight
    line through 0 in the middle of the block.
    """
    sums, sizes = table.block_sums(violations)
    padded = np.pad(sums / sizes, 1, mode="edge")
    before = padded[:-2]
    after = padded[2:]
    change = np.where((before > 0.0) == (after > 0.0), 0.0, np.abs(after - before))
    change[sizes == 1.0] = 0.0
    growth_of_sum = (table.factor - 1.0) * sizes * change / 8.0
    growth = np.zeros(violations.size)
    growth[: sums.size] = np.cumsum(growth_of_sum) / np.cumsum(sizes)
    return growth
