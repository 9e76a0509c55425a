"""Bracketing vectors: estimators that never expect less, or never more, than the exact metric.

With Q_k(s) the distribution of the sampled rank and M_k the exact metric under extreme point k of a
class of true ranks (see `kernels`), a vector u with

    sum over s of u(s) Q_k(s) >= M_k   for all k

has an expectation of at least the exact metric, whatever distribution of the class the true ranks
have. Among all such vectors, the one with the least expected upper end,

    f.u + z sqrt(Var_f(u) / D),

is a second-order cone programme; f is the likely distribution of sampled ranks, D the number of
users. The programme is solved for some extreme points; violated ones join until none is left, and a
remaining violation is added to the vector, so that it is valid however badly f is known.
"""

from typing import NamedTuple

import clarabel
import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.solvers import solve_cone_programme
from sampled_metrics.intervals.kernels import Kernel, peaks, spread_rows
from sampled_metrics.metrics.measures import Measure

LOWER, UPPER = -1.0, 1.0  # signs of vectors; lower ones are upper ones of the negative

_STARTING_POINTS = (30, 60)  # points at the start: small k singly, and larger ones
_STARTING_POINTS_OF_FACTOR = (12, 40)  # the same for a factor, where some join in any case
_FIT_POINTS = (100, 100)
_SOLVER_ACCURACY = 1e-6
_NEGLIGIBLE = 1e-14  # probabilities that the solver takes as 0
_TOLERANCE = 2e-5  # violations, by the metric's span, that are added to the vector
_CUTTING_ROUNDS = 20
_FIT_ITERATIONS = 400
_PSEUDO_USERS = 0.5


class Mixture(NamedTuple):
    """The mixture of extreme points that is likeliest for some sampled ranks."""

    rows: Int  # in a kernel, one for each extreme point
    weights: Float  # shape (..., points)
    shares: Float  # probability of every bin, with half a user of a uniform rank; all positive


def likely_mixture(counts: Float, table: Kernel) -> Mixture:
    """Fit a mixture of extreme points to counts of users in every bin of sampled ranks.

    Maximum likelihood by expectation maximisation, with half a user of a uniformly random rank.
    Counts of several samples, shape (..., bins), are fitted each on its own.
    """
    rows = spread_rows(table, *_FIT_POINTS)
    uniform = _PSEUDO_USERS * table.widths / (table.m + 1)
    given = table.given[rows]
    observed = counts + uniform
    observed /= observed.sum(axis=-1, keepdims=True)
    weights = np.full((*counts.shape[:-1], rows.size), 1.0 / rows.size)
    for _ in range(_FIT_ITERATIONS):
        ratio = observed / (weights @ given)
        weights *= ratio @ given.T
    weights /= weights.sum(axis=-1, keepdims=True)
    n_users = counts.sum(axis=-1, keepdims=True)
    shares = n_users * (weights @ given) + uniform
    shares /= shares.sum(axis=-1, keepdims=True)
    return Mixture(rows, weights, shares)


def bracketing_vectors(
    measure: Measure, table: Kernel, shares: Float, n_users: int, z: float, sign: float
) -> Float:
    """Compute one bracketing vector for each row of `shares`, shape (rows, m + 1).

    An upper vector (`sign` is `UPPER`) never has an expectation below the metric, a lower one never
    above; among these it has the smallest expected upper, or the largest expected lower, end. A row
    of `shares` is a likely distribution of sampled ranks in the bins of `table`. `z` is the weight
    of the standard error of means over `n_users`.
    """
    low, high = measure.value_at(np.array([table.n, 1]), table.n).tolist()
    if high <= low:
        return np.full((len(shares), table.m + 1), low)
    span = max(high - low, np.finfo(float).tiny)
    target = sign * ((table.metric(measure) - low) / span)
    programme = _Programme(target, table, measure.cutoff)
    found = np.empty(shares.shape)
    for place, likely in enumerate(shares):
        found[place] = programme.vector(likely, z / np.sqrt(n_users))
    return low + span * np.repeat(sign * found, table.widths, axis=1)


class _Programme:
    """The programme of upper vectors, stated for some extreme points; violated ones join."""

    def __init__(self, target: Float, table: Kernel, cutoff: int | None) -> None:
        first = _STARTING_POINTS if table.is_complete else _STARTING_POINTS_OF_FACTOR
        self.table = table
        self.rows = spread_rows(table, *first, cutoff)
        self.points = np.column_stack([table.given, target])  # bins, and the metric
        self.stated = self.points[self.rows]

    def vector(self, shares: Float, weight: float) -> Float:
        """Solve for an upper vector in the bins by cutting planes."""
        table = self.table
        for _ in range(_CUTTING_ROUNDS):
            vector = _solve(self.stated, shares, weight)
            lacking = self.points @ np.append(-vector, 1.0)
            added = peaks(table.heaviest(lacking), _TOLERANCE)
            if table.is_complete:
                added = np.setdiff1d(added, self.rows)
            if not added.size:
                break
            self.rows = np.append(self.rows, added)
            joined = table.heaviest(lacking, self.points)[added]
            self.stated = np.concatenate([self.stated, joined])
        return vector + max(_most_lacking(lacking, table), 0.0)


def _most_lacking(lacking: Float, table: Kernel) -> float:
    """Greatest violation at any extreme point, or a bound on it where the points are a grid."""
    most = table.greatest(lacking)
    if table.points.size == table.n:
        return most
    left = lacking - most
    worst = table.heaviest(left)
    bound = worst + _between(worst, table)
    if table.is_complete:
        return most + float(bound.max())
    bound += _within_blocks(left, table)
    # A weighted mean is bounded by one whose weights are larger by the factor at most.
    return most + max(table.factor * float(bound.max()), 0.0)


def _solve(stated: Float, shares: Float, weight: float) -> Float:
    """Minimise shares.u + weight t over u, t and a centre c, with |sqrt(shares) (u - c)| <= t."""
    given = stated[:, :-1]
    target = stated[:, -1]
    points, bins = given.shape
    root = np.sqrt(shares)
    matrix = np.zeros((points + 1 + bins, bins + 2))  # columns: u, c, t
    np.negative(given, out=matrix[:points, :bins], where=given > _NEGLIGIBLE)
    matrix[points, bins + 1] = -1.0
    np.fill_diagonal(matrix[points + 1 :, :bins], -root)
    matrix[points + 1 :, bins] = root
    right = np.concatenate([-target, np.zeros(1 + bins)])
    cones = [clarabel.NonnegativeConeT(points), clarabel.SecondOrderConeT(bins + 1)]
    cost = np.concatenate([shares, [0.0, weight]])
    solution = solve_cone_programme(cost, matrix, right, cones, _SOLVER_ACCURACY, refinements=1)
    vector = np.array(solution.x)[:bins]
    if np.isfinite(vector).all():
        return vector
    return np.full(bins, target.max())


def _between(lacking: Float, table: Kernel) -> Float:
    """Bound how much a violation grows between neighbouring points of a grid.

    A quarter of the second derivative times the squared step, twice as much as for a
    parabola. On both sides of a cut-off, neighbouring k are points, so that no second difference
    that counts spans it.
    """
    step = np.diff(table.points).astype(np.float64)
    slope = np.diff(lacking) / step
    bend = 2.0 * np.abs(np.diff(slope)) / (step[1:] + step[:-1])
    bend = np.pad(bend, 1, mode="edge")
    steepest = np.maximum(bend[:-1], bend[1:])
    growth = np.where(step > 1, np.square(step) * steepest / 4.0, 0.0)
    growth = np.append(growth, 0.0)
    growth[1:-1] = np.maximum(growth[1:-1], growth[:-2])
    return growth


def _within_blocks(lacking: Float, table: Kernel) -> Float:
    """Bound how much more is lacking where the weight changes within a block of ranks.

    Twice the bound for a straight line through 0 in the middle of the block.
    """
    found = np.zeros(lacking.size)
    sums, sizes = table.block_sums(lacking)
    beside = np.pad(sums / sizes, 1, mode="edge")
    left = beside[:-2]
    right = beside[2:]
    crossed = np.where((left > 0.0) == (right > 0.0), 0.0, np.abs(right - left))
    crossed[sizes == 1.0] = 0.0
    more = (table.factor - 1.0) * sizes * crossed / 8.0
    found[: sums.size] = np.cumsum(more) / np.cumsum(sizes)
    return found
