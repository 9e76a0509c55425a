"""Bracketing vectors: estimators that never expect less, or never more, than the exact metric.

With Q_k(s) the distribution of the sampled rank and M_k the exact metric under extreme point k of
a class (see `kernels`), a vector u with

    sum over s of u(s) Q_k(s) >= M_k   for all k

has an expectation of at least the exact metric, whatever distribution of the class the true ranks
have. Of all such vectors, the one with the least expected upper end,

    f.u + z sqrt(Var_f(u) / D),

is a second-order cone programme; f is the likely distribution of sampled ranks, D the number of
users. Vectors are constant over bins of sampled ranks, and the programme is solved for some k;
those that turn out violated join until none is, and what remains of a violation is added to the
vector. So a vector is valid however badly f is known or the programme is solved.
"""

from functools import lru_cache
from typing import NamedTuple

import clarabel
import numpy as np
from scipy import sparse

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.kernels import ALL_POINTS, Kernel
from sampled_metrics.metrics.measures import Measure

_OF_PROGRAMME = (30, 60)  # points from which it starts: small k singly, and larger ones
_OF_FIT = (100, 100)
_ACCURACY = 1e-6  # of the solver
_NEGLIGIBLE = 1e-14  # probabilities that the solver takes as 0
_TOLERANCE = 2e-5  # of the metric's span; violations up to it are added to the vector
_ROUNDS = 20
_PSEUDO_USERS = 0.5
_ITERATIONS = 400


class Bracket(NamedTuple):
    """Vectors over sampled ranks whose expectations enclose the exact metric.

    Attributes
    ----------
    lower, upper
        float64, shape (..., m + 1); the last axis is sampled rank - 1.
    """

    lower: Float
    upper: Float


def likely_shares(counts: Float, table: Kernel) -> Float:
    """Fit the distribution of sampled ranks, in bins, among those that a class allows.

    Maximum likelihood by expectation maximisation over the extreme points, with half a user of a
    uniformly random rank, so that every bin has a positive probability. `counts` are the users at
    every sampled rank, not necessarily whole. Returns shares of the bins, summing to 1.
    """
    points, weights = likely_points(counts, table)
    given = table.given[np.searchsorted(table.points, points)]
    fitted = counts.sum() * (weights @ given) + _pseudo_users(table)
    return np.asarray(fitted / fitted.sum(), dtype=np.float64)


def likely_points(counts: Float, table: Kernel) -> tuple[Int, Float]:
    """Fit a mixture of extreme points; return their k and their weights, which sum to 1."""
    rows = spread_rows(table, *_OF_FIT)
    given = table.given[rows]
    observed = table.binned(counts) + _pseudo_users(table)
    observed /= observed.sum()
    weights = np.full(rows.size, 1.0 / rows.size)
    for _ in range(_ITERATIONS):
        weights *= given @ (observed / (weights @ given))
    return table.points[rows], weights / weights.sum()


def _pseudo_users(table: Kernel) -> Float:
    return _PSEUDO_USERS * table.widths / (table.m + 1)


def bracket(measure: Measure, table: Kernel, shares: Float, n_users: int, z: float) -> Bracket:
    """Compute the bracketing vectors of a metric that are narrowest where they are likely used.

    Each row of `shares`, likely distributions of sampled ranks in the bins of `table`, has vectors
    of its own, to be averaged over `n_users`; `z` is the weight of the standard error.
    """
    exact = table.metric(measure)
    low, high = (float(value) for value in measure.at(np.array([table.n, 1]), table.n))
    span = high - low
    if span <= 0.0:
        constant = np.full((len(shares), table.m + 1), low)
        return Bracket(constant, constant)
    target, weight = (exact - low) / span, z / np.sqrt(n_users)
    upper = _one_sided(target, table, measure.cutoff, shares, weight)
    lower = -_one_sided(-target, table, measure.cutoff, shares, weight)
    return Bracket(*(low + span * np.repeat(u, table.widths, axis=1) for u in (lower, upper)))


def _one_sided(
    target: Float, table: Kernel, cutoff: int | None, shares: Float, weight: float
) -> Float:
    """Least expected upper ends among vectors of the bins with expectations above the target."""
    rows = spread_rows(table, *_OF_PROGRAMME, cutoff)
    vectors = np.empty(shares.shape)
    for place, likely in enumerate(shares):
        for _ in range(_ROUNDS):
            vector = _solve(table.given[rows], target[rows], likely, weight)
            lacking = target - table.given @ vector
            if lacking.max() <= _TOLERANCE:
                break
            rows = np.union1d(rows, _peaks(lacking))
        vectors[place] = vector + max(float((lacking + _between(lacking, table)).max()), 0.0)
    return vectors


def _solve(given: Float, target: Float, shares: Float, weight: float) -> Float:
    """Minimise shares.u + weight t over u, t and a centre c, with |sqrt(shares) (u - c)| <= t."""
    points, bins = given.shape
    block = np.zeros((bins + 2, points + 1 + bins))  # transposed
    np.negative(given.T, out=block[:bins, :points], where=given.T > _NEGLIGIBLE)
    block[bins + 1, points] = -1.0
    np.fill_diagonal(block[:bins, points + 1 :], -np.sqrt(shares))
    block[bins, points + 1 :] = np.sqrt(shares)
    right = np.concatenate([-target, np.zeros(1 + bins)])
    cones = [clarabel.NonnegativeConeT(points), clarabel.SecondOrderConeT(bins + 1)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _ACCURACY
    settings.iterative_refinement_max_iter = 1  # of steps that need no more accuracy
    objective = np.concatenate([shares, [0.0, weight]])
    solver = clarabel.DefaultSolver(
        _nothing(bins + 2), objective, _columns(block), right, cones, settings
    )
    solution = np.array(solver.solve().x)[:bins]
    return solution if np.isfinite(solution).all() else np.full(bins, target.max())


def _columns(transposed: Float) -> sparse.csc_array:
    """Return the columns of a matrix, its rows given, as a sparse matrix."""
    filled = np.flatnonzero(transposed)
    column, row = np.divmod(filled.astype(np.int32), np.int32(transposed.shape[1]))
    ends = np.searchsorted(column, np.arange(len(transposed) + 1)).astype(np.int32)
    return sparse.csc_array((transposed.ravel()[filled], row, ends), shape=transposed.shape[::-1])


@lru_cache
def _nothing(size: int) -> sparse.csc_array:
    """Return a square matrix of zeros."""
    return sparse.csc_array((size, size))


def spread_rows(table: Kernel, singly: int, wide: int, cutoff: int | None = None) -> Int:
    """Rows of some points: the first k singly, then k in equal proportions, and a cut-off."""
    larger = np.geomspace(min(singly, table.n), table.n, wide)
    points = np.r_[1 : singly + 1, larger.round().astype(np.int64)]
    if cutoff is not None:
        points = np.r_[points, cutoff, cutoff + 1]
    return np.unique(np.searchsorted(table.points, points[points <= table.n]))


def _peaks(lacking: Float) -> Int:
    """Where a constraint is violated more than beside it."""
    beside = np.pad(lacking, 1, constant_values=-np.inf)
    peak = (lacking >= beside[:-2]) & (lacking > beside[2:]) & (lacking > _TOLERANCE)
    return np.flatnonzero(peak)


def _between(lacking: Float, table: Kernel) -> Float:
    """Bound how much a violation grows between a point and the next.

    A quarter of the second derivative times the squared step, twice that of a parabola. On both
    sides of a cut-off, neighbouring k are points, so no second difference spans it that counts.
    """
    growth = np.zeros(lacking.size)
    if table.n <= ALL_POINTS:
        return growth
    step = np.diff(table.points).astype(np.float64)
    slope = np.diff(lacking) / step
    second = np.zeros(lacking.size)
    second[1:-1] = 2.0 * np.abs(np.diff(slope)) / (step[1:] + step[:-1])
    second[[0, -1]] = second[[1, -2]]
    growth[:-1] = np.where(step > 1, np.square(step) * np.maximum(second[:-1], second[1:]) / 4, 0)
    growth[1:-1] = np.maximum(growth[1:-1], growth[:-2])
    return growth
