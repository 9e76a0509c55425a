"""Least squares behind eq. 21-26: bias-variance trade-off and constrained least squares.

With D = diag(sqrt(p(r))), A = D p(sampled rank | r) and b = D M(r) (eq. 23), the columns of
[A b] are rotated to an upper triangle: ||A x - b|| differs from ||R x - z|| by a constant. Rows are
taken in blocks, each stacked on the triangle so far, so that neither the n x (m + 1) grid exists as
a whole nor A^T A, whose condition number is the square of A's. p(r) is uniform unless given.

With y = sqrt(c) x and B = A / sqrt(c), c being the probability of each sampled rank, eq. 24 is, up
to a constant,

    (1 - gamma) ||B y - b||^2 + gamma ||y - B^T b||^2,

because sum_r p(r) E[x^2 | r] = ||y||^2. Its gradient is eq. 25; gamma = 0 leaves eq. 22 and
gamma = 1 leaves y = B^T b, eq. 26. The largest singular value of B is 1, so the stacked matrix
has a condition number of at most 1/sqrt(gamma).

Sums over millions of ranks are taken at a few thousand places: given a sampled rank, the
probability of section 4.3 is a polynomial of degree m in the true rank, and a metric without its
cut-off is smooth. So a block of neighbouring ranks is summed by the Gauss rule for equally spaced
points, whose nodes, not whole ranks, and weights give the sum of every polynomial of degree 39.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, optimize

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import blocks
from sampled_metrics._base.conversion import to_array
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import checked, pmf_at

MOST_NEGATIVES = 10_000  # so that the matrices of a problem take some GB
_BLOCK_ROWS = 2048
_MAX_CONDITION = 1e8
_TIE_BREAK = 1e-12  # gamma of constrained least squares
_ITERATIONS = 30  # per unknown, in constrained least squares
_ROUNDING = 1e-13  # in steps down, as a share of the largest
ONE_BY_ONE = 1 << 14  # up to so many ranks, each is taken by itself; those of the paper are
_NODES = 20
_EDGE = 128  # ranks taken one by one at both ends
_MANY = 0.25  # share of candidates drawn: more determine true ranks too well for blocks
_DEVIATIONS = 3.0  # that a block moves the sampled rank at most


class ConditioningError(InputError):
    """The problem is too ill-conditioned to be solved in double precision."""


@dataclass(frozen=True)
class ReducedSystem:
    """Least squares for several metrics at once, in m + 1 equations."""

    triangle: Float  # R, upper triangular; shape (m + 1, m + 1)
    targets: Float  # z, one column a metric; shape (m + 1, measures)
    marginal: Float  # c of eq. 25, the probability of every sampled rank; shape (m + 1,), positive


def reduce_system(
    measures: Sequence[Measure],
    n: int,
    m: int,
    sampling: Sampling | str,
    prior: ArrayLike | None = None,
) -> ReducedSystem:
    """Set up eq. 21 for some metrics and reduce it to a triangle.

    Time is proportional to n m^2 up to n = 16,384 and for a `prior`, else to about 1,000 m^2. A
    prior has a weight for each true rank, shape (n,); by default all have the same.

    Examples
    --------
    >>> reduce_system([Measure("auc")], 3, 1, "with-replacement").marginal
    array([0.5, 0.5])
    """
    checked(1, n, m, sampling)
    if prior is None:
        ranks, counts = rank_rule(measures, n, m)
        weights = counts / n
    else:
        _require_few(m)
        shares = _shares(prior, n)
        possible = np.flatnonzero(shares)
        ranks = np.asarray(possible + 1, np.float64)
        weights = shares[possible]
    marginal = np.zeros(m + 1)
    system = np.zeros((0, m + 1 + len(measures)))
    for rows in blocks(ranks.size, 1, max(_BLOCK_ROWS, 2 * m)):
        grid = pmf_at(ranks[rows], n, m, sampling)
        values = np.column_stack([measure.value_at(ranks[rows], n) for measure in measures])
        marginal += weights[rows] @ grid
        weighted = np.hstack([grid, values]) * np.sqrt(weights[rows])[:, None]
        system = np.asarray(np.linalg.qr(np.vstack([system, weighted]), mode="r"))
    impossible = np.flatnonzero(marginal <= np.finfo(np.float64).tiny)
    if impossible.size:
        place = f"sampled rank {impossible[0] + 1} of {m + 1}"
        cause = f"{n} candidates"
        if prior is not None:
            cause += " and this prior"
        raise InputError(f"{place} has probability 0 with {cause}")
    square = np.zeros((m + 1, system.shape[1]))
    square[: len(system)] = system[: m + 1]
    return ReducedSystem(square[:, : m + 1], square[:, m + 1 :], marginal)


def _shares(prior: ArrayLike, n: int) -> Float:
    """Check the weights of all true ranks, and scale them to a sum of 1."""
    weights = to_array("prior", prior)
    if weights.shape != (n,) or weights.dtype.kind not in "iuf":
        found = f"{weights.dtype} of shape {weights.shape}"
        raise InputError(f"prior is {found}; expected a weight for each of {n} ranks")
    shares = weights.astype(np.float64)
    total = float(shares.sum())
    if not (shares >= 0.0).all() or not 0.0 < total < np.inf:
        raise InputError("prior has a weight that is negative or not finite, or only zeros")
    return shares / total


def _require_few(m: int) -> None:
    if m > MOST_NEGATIVES:
        raise InputError(f"cls, bv and em take at most {MOST_NEGATIVES:,} negatives, not {m:,}")


def solve_bias_variance(system: ReducedSystem, gamma: float) -> Float:
    """Minimiser of bias^2 + gamma variance, eq. 25, for all metrics of `system`.

    `gamma`, the weight of the variance, is from 0 (least squares, eq. 22) to 1 (eq. 26). Returns
    float64 of shape (measures, m + 1), indexed by sampled rank - 1. Raises ConditioningError where
    the condition number of the stacked matrix, estimated in the 1-norm, exceeds 1e8.

    Examples
    --------
    >>> system = reduce_system([Measure("auc")], 3, 2, "with-replacement")
    >>> solve_bias_variance(system, 0.0).round(6) + 0
    array([[1. , 0.5, 0. ]])
    """
    size = system.marginal.size
    triangle = np.asarray(np.linalg.qr(np.hstack(_augmented(system, gamma)), mode="r"))
    left = triangle[:size, :size]
    # The condition number in the 1-norm is at most `size` times the other, at most 1/sqrt(gamma).
    may_fail = size > _MAX_CONDITION * np.sqrt(gamma)
    if may_fail and linalg.lapack.dtrcon(left)[0] * _MAX_CONDITION < 1.0:
        problem = f"gamma {gamma:g} with {size - 1} negatives is ill-conditioned"
        raise ConditioningError(f"{problem}; use fewer negatives or a larger gamma")
    scaled = np.linalg.solve(left, triangle[:size, size:])
    return scaled.T / np.sqrt(system.marginal)


def solve_monotone(system: ReducedSystem, nonnegative: bool = True) -> Float:
    """Minimiser of the average squared bias among non-increasing vectors, eq. 21.

    Steps down d_j = x_j - x_(j+1), d_(m+1) = x_(m+1) turn it into least squares with d >= 0, solved
    by active sets on the triangle of the problem. Many vectors fit equally well to the precision of
    the machine; a weight gamma = 1e-12 of the variance (eq. 24) picks the steadiest. Unless
    estimates must be at least 0 (`nonnegative`), as in the paper's Table 3, d_(m+1) is free.

    Returns float64 of shape (measures, m + 1), indexed by sampled rank - 1. Raises
    ConditioningError where the active sets do not settle.

    Examples
    --------
    >>> system = reduce_system([Measure("recall", 10)], 3541, 100, "with-replacement")
    >>> solve_monotone(system)[0, :3].round(5) + 0
    array([0.48764, 0.     , 0.     ])
    """
    size = system.marginal.size
    matrix, targets = _augmented(system, _TIE_BREAK)
    steps = np.cumsum(matrix * np.sqrt(system.marginal), axis=1)
    # The unknowns are d_(m+1), d_1, d_2 ...
    columns = np.hstack([steps[:, -1:], steps[:, :-1], targets])
    triangle = np.asarray(np.linalg.qr(columns, mode="r"))[:size]
    first = int(not nonnegative)  # unknown that must be at least 0
    left = triangle[:, :size]
    targets = triangle[:, size:]
    vectors = []
    try:
        for z, d in zip(targets.T, np.linalg.solve(left, targets).T, strict=True):
            # A vector that falls all the way, as of AUC, would take active sets m + 1 turns.
            if d[first:].min() < -_ROUNDING * np.abs(d).max():
                most = _ITERATIONS * size
                d, _ = optimize.nnls(left[first:, first:], z[first:], maxiter=most)
                if not nonnegative:
                    d = np.append((z[0] - left[0, 1:] @ d) / left[0, 0], d)
            d[first:] = np.maximum(d[first:], 0.0)
            vectors.append(np.cumsum(np.roll(d, -1)[::-1])[::-1])
    except RuntimeError:
        problem = f"constrained least squares with {size} unknowns does not settle"
        raise ConditioningError(f"{problem}; use fewer negatives") from None
    return np.array(vectors)


def _augmented(system: ReducedSystem, gamma: float) -> tuple[Float, Float]:
    """Return matrix and targets of the problem in y."""
    bias = np.sqrt(1.0 - gamma)
    spread = np.sqrt(gamma)
    scaled = system.triangle / np.sqrt(system.marginal)
    matrix = np.vstack([bias * scaled, spread * np.eye(system.marginal.size)])
    targets = np.vstack([bias * system.targets, spread * (scaled.T @ system.targets)])
    return matrix, targets


def rank_rule(measures: Sequence[Measure], n: int, m: int) -> tuple[Float, Float]:
    """Nodes and weights for sums of metrics over the ranks 1 ... n.

    The summands may jump after the cut-offs. Returns increasing ranks, not necessarily whole, and
    their weights; whole ranks with weight 1 where n is at most 16,384.

    Examples
    --------
    >>> ranks, weights = rank_rule([], 10**6, 100)
    >>> ranks.size, round(float(weights.sum()), 6), round(float(weights @ ranks), 3)
    (596, 1000000.0, 500000500000.0)
    """
    _require_few(m)
    if n <= ONE_BY_ONE:
        return np.arange(1.0, n + 1.0), np.ones(n)
    edge = _EDGE
    if m >= _MANY * n:
        edge = n
    cutoffs = [measure.cutoff for measure in measures if measure.cutoff is not None]
    ends = [n - edge, *cutoffs]  # the last ranks of blocks
    ranks = []
    weights = []
    first = 1
    while first <= n:
        count = 1
        if edge < first <= n - edge:
            count = _size_of_block(first, n, m, ends)
        nodes, weights_of_nodes = _rule(first, count)
        ranks.append(nodes)
        weights.append(weights_of_nodes)
        first += count
    return np.concatenate(ranks), np.concatenate(weights)


def _size_of_block(first: int, n: int, m: int, ends: Sequence[int]) -> int:
    """Return how many ranks from `first` on may be summed together, up to the next end."""
    spread = _DEVIATIONS * np.sqrt(first * (n - first) / m)
    width = int(min(first, n - first, spread))
    until_end = min(end - first + 1 for end in ends if end >= first)
    return min(max(1, width), until_end)


def sums_up_to(ends: Int, values: Callable[[Float], Float]) -> Float:
    """Sum a smooth function over the ranks up to each of some ends, in non-decreasing order.

    Ends must be close where values change fast. The function may return rows, one for each rank.

    Examples
    --------
    >>> sums_up_to(np.array([1, 2, 2, 4, 1000]), np.square).round().astype(int)
    array([        1,         5,         5,        30, 333833500])
    """
    counts = np.diff(ends, prepend=0)
    single = counts == 1
    by_rank = values(ends[single])
    sums = np.zeros((ends.size, *by_rank.shape[1:]))
    sums[single] = by_rank
    for place in np.flatnonzero(counts > 1):
        ranks, weights = _rule(int(ends[place] - counts[place]) + 1, int(counts[place]))
        sums[place] = weights @ values(ranks)
    return np.cumsum(sums, axis=0)


def mean_up_to(ends: Int, measure: Measure, n: int) -> Float:
    """Mean of a metric over the ranks 1 ... k, for each k of some ends in increasing order."""
    credited = ends if measure.cutoff is None else np.minimum(ends, measure.cutoff)
    return sums_up_to(credited, lambda ranks: measure.value_at(ranks, n)) / ends


def _rule(first: int, count: int) -> tuple[Float, Float]:
    """Gauss rule for sums over `count` whole numbers from `first` on (Golub and Welsch 1969)."""
    if count <= _NODES:
        return np.arange(first, first + count, dtype=np.float64), np.ones(count)
    k = np.arange(1.0, _NODES)
    middle = np.full(_NODES, first + (count - 1.0) / 2.0)
    beside = np.sqrt(k**2 * (count**2 - k**2) / (4.0 * (4.0 * k**2 - 1.0)))
    nodes, vectors = linalg.eigh_tridiagonal(middle, beside)
    return nodes, count * np.square(vectors[0])
