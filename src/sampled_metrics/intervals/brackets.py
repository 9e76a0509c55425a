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

    With f(s) the observed share of users in bin s, and Q_k(s) its probability under extreme point
    k, expectation maximisation repeats for the weights w_k, from equal ones on,

        w_k <- w_k sum over s of Q_k(s) f(s) / q(s),   q(s) = sum over k of w_k Q_k(s).

    Half a user with a uniformly random rank is added to the observed ones.

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
    observed = _scale_to_one(counts + pseudo_counts)
    weights = np.full((*counts.shape[:-1], rows.size), 1.0 / rows.size)
    for _ in range(FIT_STEPS):
        expected = weights @ probabilities
        weights *= (observed / expected) @ probabilities.T
    weights = _scale_to_one(weights)
    n_users = counts.sum(axis=-1, keepdims=True)
    expected_counts = n_users * (weights @ probabilities)
    return LikelyMixture(rows, weights, _scale_to_one(expected_counts + pseudo_counts))


def _scale_to_one(values: Float) -> Float:
    """Divide values by their sum over the last axis."""
    return np.asarray(values / values.sum(axis=-1, keepdims=True))


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
    scaled_vectors = np.empty(shares.shape)
    for row, shares_of_row in enumerate(shares):
        scaled_vectors[row] = programme.solve(shares_of_row, z / np.sqrt(n_users))
    return low + span * np.repeat(sign * scaled_vectors, table.widths, axis=1)


class _UpperVectorProgramme:
    """The programme of upper vectors of a metric, for the extreme points met so far.

    Points that joined for one distribution of sampled ranks stay for the next.
    """

    def __init__(self, exact_metric: Float, table: Kernel, cutoff: int | None) -> None:
        n_points = START_POINTS if table.is_complete else START_POINTS_OF_FACTOR
        self._table = table
        self._rows = spread_rows(table, *n_points, cutoff)
        # Rows (Q_k, M_k): the columns are the bins, and the exact metric.
        self._all_points = np.column_stack([table.probabilities, exact_metric])
        self._points = self._all_points[self._rows]

    def solve(self, shares: Float, weight: float) -> Float:
        """Return the upper vector u for a distribution of sampled ranks; shape (bins,).

        By cutting planes: the programme is solved for the extreme points met so far, and others
        join where their violation of (1),

            v_k = M_k - sum over s of u(s) Q_k(s),

        has a local maximum above the tolerance, until there is none. The greatest violation that
        remains is added to u.

        Parameters
        ----------
        shares
            The likely distribution f of sampled ranks; shape (bins,).
        weight
            z / sqrt(D), that of the standard deviation.
        """
        table = self._table
        for _ in range(MOST_CUTTING_ROUNDS):
            vector = _solve_upper_vector(self._points, shares, weight)
            violations = self._all_points @ np.append(-vector, 1.0)
            greatest_up_to = table.weighted_means(violations, violations)
            joining = local_maxima(greatest_up_to, above=VECTOR_TOLERANCE)
            if table.is_complete:  # each point is listed once, and has joined or not
                joining = np.setdiff1d(joining, self._rows)
            if not joining.size:
                break
            self._rows = np.append(self._rows, joining)
            weighted_points = table.weighted_means(self._all_points, violations)
            self._points = np.concatenate([self._points, weighted_points[joining]])
        return vector + max(_greatest_violation(violations, table), 0.0)


def _solve_upper_vector(points: Float, shares: Float, weight: float) -> Float:
    """Find the upper vector u with the least mean plus a multiple of its standard deviation t.

    With the likely distribution f, and c the mean of u,

        minimise f @ u + weight t
        where    Q_k @ u >= M_k for each extreme point k,
                 |sqrt(f) (u - c)| <= t, a second-order cone.

    Parameters
    ----------
    points
        A row (Q_k, M_k) for each extreme point; shape (points, bins + 1).
    shares
        f; shape (bins,).
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
    coefficients = np.where(probabilities > ZERO_PROBABILITY, probabilities, 0.0)
    root = np.sqrt(shares)
    no_c_t = np.zeros((n_points, 2))
    no_u = np.zeros((1, n_bins))
    no_t = np.zeros((n_bins, 1))
    matrix = np.vstack(  # the unknowns are u, c and t
        [
            np.hstack([-coefficients, no_c_t]),
            np.hstack([no_u, [[0.0, -1.0]]]),
            np.hstack([-np.diag(root), root[:, np.newaxis], no_t]),
        ]
    )
    right = np.concatenate([-exact_metric, np.zeros(1 + n_bins)])
    cones = [clarabel.NonnegativeConeT(n_points), clarabel.SecondOrderConeT(n_bins + 1)]
    cost = np.concatenate([shares, [0.0, weight]])
    solution = solve_cone_programme(cost, matrix, right, cones, VECTOR_ACCURACY, refinements=1)
    vector = np.array(solution.x)[:n_bins]
    if np.isfinite(vector).all():
        return vector
    return np.full(n_bins, exact_metric.max())  # a constant is valid too


def _greatest_violation(violations: Float, table: Kernel) -> float:
    """Return the greatest violation in the class, or a bound on it if a grid skips ranks.

    A violation v_k is the metric less the mean of the vector under extreme point k. A grid misses
    extreme points on ranks 1 ... k with k between its points, and those whose weight changes from 1
    to the factor at a rank between them. The bound adds what v may grow there.

    Parameters
    ----------
    violations
        v_k under the extreme points that the kernel lists; shape (points,).
    table
        The kernel of the class.
    """
    greatest_listed = table.greatest_mean(violations)
    has_all_ranks = table.points.size == table.n
    if has_all_ranks:
        return greatest_listed
    excess = violations - greatest_listed  # at most 0 in the mean under what the grid has
    weighted_excess = table.weighted_means(excess, excess)
    bound = weighted_excess + _growth_between_points(weighted_excess, table)
    if table.is_complete:
        return greatest_listed + float(bound.max())
    bound += _growth_within_blocks(excess, table)
    # Other weights differ by the factor at most, and so does a mean with other weights.
    return greatest_listed + max(table.factor * float(bound.max()), 0.0)


def _growth_between_points(violations: Float, table: Kernel) -> Float:
    """Bound how much a violation may grow between a point of a grid and its neighbours.

    Over a step h, a parabola with second derivative b exceeds the straight line between its ends by
    h^2 b / 8. The bound is twice that, with the larger b of both ends, by second differences. Both
    sides of a cut-off are points, so no second difference that counts reaches across it.

    Parameters
    ----------
    violations
        Under each point of the grid; shape (points,), like the result.
    table
        The kernel of the class.
    """
    step = np.diff(table.points).astype(np.float64)
    slope = np.diff(violations) / step
    bend_inside = 2.0 * np.abs(np.diff(slope)) / (step[1:] + step[:-1])
    bend = np.pad(bend_inside, 1, mode="edge")  # at each point
    larger_bend = np.maximum(bend[:-1], bend[1:])
    growth = np.where(step > 1, np.square(step) * larger_bend / 4.0, 0.0)  # over each step
    return np.maximum(np.append(0.0, growth), np.append(growth, 0.0))


def _growth_within_blocks(violations: Float, table: Kernel) -> Float:
    """Bound how much a violation may grow if the weight of ranks changes within a block.

    The worst weights are the factor G where the violation is positive, and 1 elsewhere. In a block
    of w ranks it may change its sign. If it rises by c along a straight line through 0 in the
    middle, its positive half has the sum w c / 8, which then counts G - 1 times more. The bound is
    twice that: c is the difference of the means of both neighbouring blocks.

    Parameters
    ----------
    violations
        Under each point of the grid; shape (points,).
    table
        The kernel of a class with a factor.

    Returns
    -------
    ndarray
        Growth of means over the ranks 1 ... k; shape (points,), 0 where rank k is alone.
    """
    sums, sizes = table.block_sums(violations)
    padded_means = np.pad(sums / sizes, 1, mode="edge")
    mean_before = padded_means[:-2]
    mean_after = padded_means[2:]
    may_change_sign = ((mean_before > 0.0) != (mean_after > 0.0)) & (sizes > 1.0)
    change = np.where(may_change_sign, np.abs(mean_after - mean_before), 0.0)
    growth_of_sum = (table.factor - 1.0) * sizes * change / 8.0
    growth = np.zeros(violations.size)
    growth[: sums.size] = np.cumsum(growth_of_sum) / np.cumsum(sizes)
    return growth
