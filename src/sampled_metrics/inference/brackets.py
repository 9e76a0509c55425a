"""Bracketing vectors: estimators that never expect less, or never more, than the exact metric.

A `shape` names a class of distributions of the true rank. Its extreme points are numbered by k:
for `none`, every distribution, rank k alone; for `non-increasing`, where no rank near the top is
more probable than the one before it, the uniform distribution on ranks 1 ... k, and beyond rank
5 n/m (or three times the cut-off) rank k alone: there sampled ranks are precise enough. Every
distribution of the class is a mixture of them. With Q_k(s) the distribution of the sampled rank
and M_k the exact metric under extreme point k, a vector u with

    sum over s of u(s) Q_k(s) >= M_k   for all k

has an expectation of at least the exact metric, whatever distribution of the class the true ranks
have. Of all such vectors, the one with the least expected upper end,

    f.u + z sqrt(Var_f(u) / D),

is a second-order cone programme; f is the likely distribution of sampled ranks, D the number of
users. The programme is solved for some k; those that turn out violated join until none is, and
what remains of a violation is added to the vector, so that it is valid however badly f is known.
"""

from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.arrays import MEMORY, Float, Int, blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.packages import clarabel
from sampled_metrics.estimators.least_squares import sums_up_to
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.sampling import sampled_rank_distribution
from sampled_metrics.sampling.probability import pmf_at

NON_INCREASING, NONE = SHAPES = ("non-increasing", "none")
FAILS = "; this fails where rules fill the top places: sponsored, already seen or diversified items"
ASSUMED = {
    NON_INCREASING: "assuming that near the top no rank is likelier than the one before it" + FAILS,
    NONE: "whatever the true ranks are",
}
ALL_POINTS = 20_000  # up to this n, every k is a point
MOST_NEGATIVES = 100_000  # which take some GB
_EDGE, _STEP = 512, 0.01  # beyond, the first k are points, and then k grows by this share
_SINGLE_RANKS, _RATIO = 20, 1.2  # sampled ranks that are bins of their own; growth of the others

_MONOTONE, _BEYOND = 5, 3  # down to the rank of so many sampled ones, and so many cut-offs
_OF_PROGRAMME = (30, 60)  # points from which it starts: small k singly, and larger ones
_OF_FIT = (100, 100)
_ACCURACY = 1e-6  # of the solver
_NEGLIGIBLE = 1e-14  # probabilities that the solver takes as 0
_TOLERANCE = 2e-5  # of the metric's span; violations up to it are added to the vector
_ROUNDS, _ITERATIONS, _PSEUDO_USERS = 20, 400, 0.5


class Kernel(NamedTuple):
    """Distributions of the sampled rank, in bins, under extreme points of a class."""

    n: int
    m: int
    last: int  # rank down to which extreme points are uniform on 1 ... k; beyond, k alone
    points: Int  # k of the extreme points, increasing from 1 to n; shape (points,)
    starts: Int  # first sampled rank - 1 of every bin, from 0; shape (bins,)
    widths: Int  # ranks in every bin
    given: Float  # probability of every bin under each extreme point; shape (points, bins)

    def metric(self, measure: Measure) -> Float:
        """Exact metric under each extreme point; shape (points,)."""
        values, uniform = measure.at(self.points, self.n), self.points <= self.last
        top = self.points[uniform]
        # Beyond its cut-off a metric is 0.
        ends = top if measure.cutoff is None else np.minimum(top, measure.cutoff)
        values[uniform] = sums_up_to(ends, lambda ranks: measure.at(ranks, self.n)) / top
        return values

    def by_rank(self) -> Float:
        """Distribution of the bins given each true rank, where every rank is a point."""
        top = self.points[self.points <= self.last]
        sums = top[:, None] * self.given[: top.size]
        return np.concatenate([np.diff(sums, axis=0, prepend=0.0), self.given[top.size :]])


class Mixture(NamedTuple):
    """The mixture of extreme points that is likeliest for some sampled ranks."""

    rows: Int  # of its extreme points in a kernel
    weights: Float  # of each of them
    shares: Float  # probability of every bin, with half a user of a uniform rank; all positive


class _Columns(NamedTuple):
    """Nonzeros of a matrix by columns: what clarabel reads of an array of scipy.sparse.

    Its import, and its checks, take longer than a solution.
    """

    shape: tuple[int, int]
    indptr: Int
    indices: Int
    data: Float
    nnz: int
    has_canonical_format: bool = True

    @classmethod
    def of(cls, matrix: Float) -> "_Columns":
        """Find the nonzeros."""
        by_column = matrix.T
        column, row = np.nonzero(by_column)
        ends = np.cumsum(np.bincount(column, minlength=len(by_column)))
        starts = np.concatenate([[0], ends])
        return cls(matrix.shape, starts, row, by_column[column, row], row.size)


@lru_cache(maxsize=16)
def kernel(n: int, m: int, sampling: str, shape: str, cutoff: int | None) -> Kernel:
    """Tabulate the distributions of the sampled rank under the extreme points of a class.

    Of all k up to n = 20,000, else of a grid, which has the ranks beside a metric's cut-off.
    """
    if shape not in SHAPES:
        raise InputError(f"unknown shape {shape!r}; known: {', '.join(SHAPES)}")
    if not 1 <= m < n:
        raise InputError(f"{m} negatives of {n} candidates; expected at least 1 and below n")
    if m > MOST_NEGATIVES:
        raise InputError(f"ranges take at most {MOST_NEGATIVES:,} negatives, not {m:,}")
    in_grid, kind = n > ALL_POINTS, Sampling(sampling)
    top = -(-_MONOTONE * n // m)
    if not in_grid and cutoff is not None and (_BEYOND * cutoff <= top or shape == NONE):
        return kernel(n, m, sampling, shape, None)
    last = 0 if shape == NONE else min(n, max(top, _BEYOND * (cutoff or 0)))
    points = rank_grid(n) if in_grid else np.arange(1, n + 1)
    beside = [k + np.arange(-1, 3) for k in (cutoff, last) if k]
    points = np.unique(np.concatenate([points, *beside]))
    points = points[(points >= 1) & (points <= n)]
    count = int(np.log(max(m / _SINGLE_RANKS, 1.0)) / np.log(_RATIO)) + 1
    wide = (_SINGLE_RANKS * _RATIO ** np.arange(count)).round().astype(np.int64)
    starts = np.unique(np.r_[0:_SINGLE_RANKS, wide])
    starts = starts[starts <= m]
    binned = partial(_binned, n=n, m=m, sampling=kind, starts=starts)
    first, beyond = points[points <= last], points[points > last]
    if in_grid and kind is not Sampling.WITH_REPLACEMENT:
        uniform = binned(first, up_to=True)
    else:
        uniform = sums_up_to(first, binned) / first[:, None]
    given = np.concatenate([uniform, binned(beyond)])
    return Kernel(n, m, last, points, starts, np.diff(starts, append=m + 1), given)


def _binned(
    ranks: Any, n: int, m: int, sampling: Sampling, starts: Int, up_to: bool = False
) -> Float:
    """Distribution of the bins if the true rank is given, or uniform up to it."""
    given = np.empty((ranks.size, starts.size))
    for rows in blocks(ranks.size, m + 1, MEMORY):
        if up_to:  # that of an item tied with all others
            none = np.zeros_like(ranks[rows])
            tied = Ranks.trusted(none + n, none, ranks[rows] - 1)
            shares = sampled_rank_distribution(tied, m, sampling)
        else:
            shares = pmf_at(ranks[rows], n, m, sampling)
        given[rows] = np.add.reduceat(shares, starts, axis=1)
    return given


def rank_grid(n: int) -> Int:
    """Ranks at which smooth functions of the rank show their course: dense at the ends."""
    edge = min(n, _EDGE)
    steps = int(np.log(n / edge) / _STEP) + 2
    ranks = np.r_[1 : edge + 1, np.geomspace(edge, n, steps).round().astype(np.int64)]
    return np.unique(np.r_[ranks, n + 1 - ranks])


def spread_rows(table: Kernel, singly: int, wide: int, cutoff: int | None = None) -> Int:
    """Rows of some points: the first k singly, then k in equal proportions, and a cut-off."""
    larger = np.geomspace(min(singly, table.n), table.n, wide).round().astype(np.int64)
    points = np.r_[1 : singly + 1, larger, [cutoff, cutoff + 1] if cutoff else []].astype(int)
    return np.unique(np.searchsorted(table.points, points[points <= table.n]))


def likely_mixture(counts: Float, table: Kernel) -> Mixture:
    """Fit a mixture of extreme points to counts of users at every sampled rank.

    Maximum likelihood by expectation maximisation, with half a user of a uniformly random rank.
    """
    rows, uniform = spread_rows(table, *_OF_FIT), _PSEUDO_USERS * table.widths / (table.m + 1)
    given, observed = table.given[rows], np.add.reduceat(counts, table.starts) + uniform
    observed /= observed.sum()
    weights = np.full(rows.size, 1.0 / rows.size)
    for _ in range(_ITERATIONS):
        weights *= given @ (observed / (weights @ given))
    weights /= weights.sum()
    fitted = counts.sum() * (weights @ given) + uniform
    return Mixture(rows, weights, fitted / fitted.sum())


def bracket(
    measure: Measure, table: Kernel, shares: Float, n_users: int, z: float
) -> tuple[Float, Float]:
    """Compute lower and upper vectors of a metric, two arrays of shape (rows, m + 1).

    Each row of `shares`, likely distributions of sampled ranks in the bins of `table`, has vectors
    of its own, to be averaged over `n_users`; `z` is the weight of the standard error. The upper
    vectors have the least expected upper ends among those with expectations above the metric.
    """
    low, high = (float(value) for value in measure.at(np.array([table.n, 1]), table.n))
    if high <= low:
        constant = np.full((len(shares), table.m + 1), low)
        return constant, constant
    span, weight = max(high - low, np.finfo(float).tiny), z / np.sqrt(n_users)
    ends, exact = [], (table.metric(measure) - low) / span
    for sign in (-1.0, 1.0):  # lower vectors are upper ones of the negative
        target, vectors = sign * exact, np.empty(shares.shape)
        rows = spread_rows(table, *_OF_PROGRAMME, measure.cutoff)
        for place, likely in enumerate(shares):
            for _ in range(_ROUNDS):
                vector = _solve(table.given[rows], target[rows], likely, weight)
                lacking = target - table.given @ vector
                if lacking.max() <= _TOLERANCE:
                    break
                beside = np.pad(lacking, 1, constant_values=-np.inf)
                peaks = (lacking >= beside[:-2]) & (lacking > beside[2:]) & (lacking > _TOLERANCE)
                rows = np.union1d(rows, np.flatnonzero(peaks))
            if table.points.size < table.n:
                lacking += _between(lacking, table)
            vectors[place] = vector + max(float(lacking.max()), 0.0)
        ends.append(low + span * np.repeat(sign * vectors, table.widths, axis=1))
    return ends[0], ends[1]


def _solve(given: Float, target: Float, shares: Float, weight: float) -> Float:
    """Minimise shares.u + weight t over u, t and a centre c, with |sqrt(shares) (u - c)| <= t."""
    points, bins = given.shape
    root = np.sqrt(shares)
    matrix = np.zeros((points + 1 + bins, bins + 2))  # columns: u, c, t
    np.negative(given, out=matrix[:points, :bins], where=given > _NEGLIGIBLE)
    matrix[points, bins + 1] = -1.0
    np.fill_diagonal(matrix[points + 1 :, :bins], -root)
    matrix[points + 1 :, bins] = root
    right = np.concatenate([-target, np.zeros(1 + bins)])
    cones = [clarabel.NonnegativeConeT(points), clarabel.SecondOrderConeT(bins + 1)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _ACCURACY
    settings.iterative_refinement_max_iter = 1  # of steps that need no more accuracy
    none = _Columns.of(np.zeros((bins + 2, bins + 2)))
    linear = np.concatenate([shares, [0.0, weight]])
    columns = _Columns.of(matrix)
    solver = clarabel.DefaultSolver(none, linear, columns, right, cones, settings)
    vector = np.array(solver.solve().x)[:bins]
    return vector if np.isfinite(vector).all() else np.full(bins, target.max())


def _between(lacking: Float, table: Kernel) -> Float:
    """Bound how much a violation grows between a point and the next, where k is of a grid.

    A quarter of the second derivative times the squared step, twice that of a parabola. On both
    sides of a cut-off, neighbouring k are points, so no second difference spans it that counts.
    """
    step = np.diff(table.points).astype(np.float64)
    bend = 2.0 * np.abs(np.diff(np.diff(lacking) / step)) / (step[1:] + step[:-1])
    bend = np.pad(bend, 1, mode="edge")
    growth = np.where(step > 1, np.square(step) * np.maximum(bend[:-1], bend[1:]) / 4.0, 0.0)
    growth = np.append(growth, 0.0)
    growth[1:-1] = np.maximum(growth[1:-1], growth[:-2])  # of both sides
    return growth
