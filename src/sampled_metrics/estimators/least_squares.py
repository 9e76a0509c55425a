"""Least squares behind eq. 21-26: bias-variance trade-off and constrained least squares.

With D = diag(sqrt(p(r))), A = D p(sampled rank | r) and b = D M(r) (eq. 23), a QR decomposition
turns [A b] into an upper triangle [R z], and ||A x - b||^2 is ||R x - z||^2 plus a constant. Rows
are decomposed block by block, each stacked on the triangle of those before it. So the matrix of
n x (m + 1) probabilities is never held as a whole, and A^T A, whose condition number is the square
of that of A, is not computed. p(r) is uniform by default.

With y = sqrt(c) x and B = A / sqrt(c), c being the probability of each sampled rank, eq. 24 is, up
to a constant,

    (1 - gamma) ||B y - b||^2 + gamma ||y - B^T b||^2,

because sum_r p(r) E[x^2 | r] = ||y||^2. Setting its gradient to 0 gives eq. 25, which is eq. 22 for
gamma = 0 and eq. 26, y = B^T b, for gamma = 1. The largest singular value of B is 1, so the
condition number of the stacked matrix is at most 1/sqrt(gamma).

A sum over millions of ranks is computed from a few thousand values. The probability of a sampled
rank (section 4.3) is a polynomial of degree m in the true rank, and a metric is smooth up to its
cut-off. A block of neighbouring ranks is therefore summed by the Gauss rule for equally spaced
points. It has 20 nodes, which are not whole ranks, and is exact for polynomials up to degree 39.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, optimize

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import blocks
from sampled_metrics._base.conversion import as_array
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import pmf_at, require_ranks

MAX_UNKNOWNS = 10_000  # negatives; matrices of more would take several GB of memory
_BLOCK_ROWS = 2048  # of a QR decomposition, or 2 m if more: few decompositions, little memory
_MAX_CONDITION = 1e8  # half of the 16 digits of float64 remain
_TIE_BREAK = 1e-12  # gamma of constrained least squares; decides among equally good vectors
_NNLS_STEPS = 30  # per unknown; ten times scipy's default, so that only a system that cycles fails
_STEP_ROUNDING = 1e-13  # relative to the largest step; smaller negative ones are rounding errors
ONE_BY_ONE = 1 << 14  # up to this many ranks, as in the paper, sums are over each rank
_NODES = 20  # of a Gauss rule, which is then exact up to degree 39
# Ranks summed one by one at both ends, where probabilities change fastest, the share of candidates
# drawn above which all are, and the standard deviations by which a block may move the sampled rank.
# Chosen together: sums agree with those over all ranks to a relative 1e-12, as the tests require,
# with a fifth of the nodes of the values before (512 ranks, blocks a quarter as wide).
_RANKS_AT_ENDS = 128
_LARGE_SAMPLE = 0.25
_BLOCK_DEVIATIONS = 3.0


class ConditioningError(InputError):
    """The least-squares problem is too ill-conditioned to be solved in double precision."""


@dataclass(frozen=True)
class ReducedSystem:
    """A least-squares problem for several metrics, reduced to m + 1 equations."""

    triangle: Float  # R, upper triangular; shape (m + 1, m + 1)
    targets: Float  # z, one column per metric; shape (m + 1, measures)
    marginal: Float  # c of eq. 25, the probability of each sampled rank, above 0; shape (m + 1,)


def reduce_system(
    measures: Sequence[Measure],
    n: int,
    m: int,
    sampling: Sampling | str,
    prior: ArrayLike | None = None,
) -> ReducedSystem:
    """Set up the least-squares problem of eq. 21 and reduce it to a triangle.

    The time is proportional to n m^2 up to n = 16,384 or with a prior, and to about 1,000 m^2
    otherwise.

    Parameters
    ----------
    measures
        Metrics with one relevant item, each a right-hand side.
    n, m, sampling
        Candidates of a full ranking, negatives, and how they are drawn.
    prior
        Weight of each true rank, shape (n,); all the same by default.

    Examples
    --------
    >>> reduce_system([Measure("auc")], 3, 1, "with-replacement").marginal
    array([0.5, 0.5])
    """
    require_ranks(1, n, m, sampling)
    if prior is None:
        ranks, counts = rank_rule(measures, n, m)
        weights = counts / n
    else:
        _require_few_negatives(m)
        shares = _scale_prior(prior, n)
        possible = np.flatnonzero(shares)
        ranks = np.asarray(possible + 1, np.float64)
        weights = shares[possible]
    marginal = np.zeros(m + 1)
    system = np.zeros((0, m + 1 + len(measures)))  # [R z], triangular after each block
    for rows in blocks(ranks.size, 1, max(_BLOCK_ROWS, 2 * m)):
        probabilities = pmf_at(ranks[rows], n, m, sampling)
        values = np.column_stack([measure.value_at(ranks[rows], n) for measure in measures])
        marginal += weights[rows] @ probabilities
        block = np.hstack([probabilities, values]) * np.sqrt(weights[rows])[:, None]
        system = np.asarray(np.linalg.qr(np.vstack([system, block]), mode="r"))
    _require_possible_ranks(marginal, n, has_prior=prior is not None)
    # With fewer possible ranks than unknowns the triangle has fewer rows; zeros complete it. Rows
    # after the first m + 1 hold the part of the metrics that no vector can fit, a constant.
    square = np.zeros((m + 1, system.shape[1]))
    square[: len(system)] = system[: m + 1]
    return ReducedSystem(square[:, : m + 1], square[:, m + 1 :], marginal)


def _require_possible_ranks(marginal: Float, n: int, *, has_prior: bool) -> None:
    """Raise InputError if a sampled rank has the probability 0, so that eq. 25 divides by it."""
    impossible = np.flatnonzero(marginal <= np.finfo(np.float64).tiny)
    if impossible.size:
        with_prior = " and this prior" if has_prior else ""
        raise InputError(
            f"sampled rank {impossible[0] + 1} of {marginal.size} has probability 0 with {n} "
            f"candidates{with_prior}"
        )


def _scale_prior(prior: ArrayLike, n: int) -> Float:
    """Check the weights of all true ranks, and scale them to a sum of 1."""
    weights = as_array(prior, "prior")
    if weights.shape != (n,) or weights.dtype.kind not in "iuf":
        raise InputError(
            f"prior is {weights.dtype} of shape {weights.shape}; "
            f"expected a weight for each of {n} ranks"
        )
    shares = weights.astype(np.float64)
    total = float(shares.sum())
    if not (shares >= 0.0).all() or not 0.0 < total < np.inf:
        raise InputError("prior has a weight that is negative or not finite, or only zeros")
    return shares / total


def _require_few_negatives(m: int) -> None:
    if m > MAX_UNKNOWNS:
        raise InputError(f"cls, bv and em accept at most {MAX_UNKNOWNS:,} negatives, not {m:,}")


def solve_bias_variance(system: ReducedSystem, gamma: float) -> Float:
    """Minimise (1 - gamma) bias^2 + gamma variance, eq. 25, for all metrics of a system.

    Parameters
    ----------
    system
        The problem from `reduce_system`.
    gamma
        Weight of the variance, from 0 (least squares, eq. 22) to 1 (eq. 26).

    Returns
    -------
    float64, shape (measures, m + 1); column i is the value for sampled rank i + 1.

    Raises
    ------
    ConditioningError
        If the condition number of the stacked matrix, estimated in the 1-norm, exceeds 1e8.

    Examples
    --------
    >>> system = reduce_system([Measure("auc")], 3, 2, "with-replacement")
    >>> solve_bias_variance(system, 0.0).round(6) + 0
    array([[1. , 0.5, 0. ]])
    """
    size = system.marginal.size
    triangle = np.asarray(np.linalg.qr(np.hstack(_stack_variance(system, gamma)), mode="r"))
    left = triangle[:size, :size]
    # The condition number is at most 1/sqrt(gamma), and in the 1-norm at most `size` times that.
    may_fail = size > _MAX_CONDITION * np.sqrt(gamma)
    if may_fail and _reciprocal_condition(left) * _MAX_CONDITION < 1.0:
        raise ConditioningError(
            f"gamma {gamma:g} with {size - 1} negatives is ill-conditioned; "
            "use fewer negatives or a larger gamma"
        )
    y = np.linalg.solve(left, triangle[:size, size:])
    return y.T / np.sqrt(system.marginal)


def _reciprocal_condition(triangle: Float) -> float:
    """Estimate 1 / (condition number in the 1-norm) of an upper triangle."""
    reciprocal, _ = linalg.lapack.dtrcon(triangle)
    return float(reciprocal)


def solve_monotone(system: ReducedSystem, nonnegative: bool = True) -> Float:
    """Minimise the average squared bias among non-increasing vectors, eq. 21.

    With the steps d_j = x_j - x_(j+1) and d_(m+1) = x_(m+1) this is least squares subject to
    d >= 0, which an active-set method solves on the triangle of the system. Many vectors fit
    equally well in double precision; a weight gamma = 1e-12 of the variance (eq. 24) selects the
    one of least variance.

    Parameters
    ----------
    system
        The problem from `reduce_system`.
    nonnegative
        Whether values must be at least 0. Otherwise d_(m+1) is free, as in Table 3 of the paper.

    Returns
    -------
    float64, shape (measures, m + 1); column i is the value for sampled rank i + 1.

    Raises
    ------
    ConditioningError
        If the active-set method does not converge.

    Examples
    --------
    >>> system = reduce_system([Measure("recall", 10)], 3541, 100, "with-replacement")
    >>> solve_monotone(system)[0, :3].round(5) + 0
    array([0.48764, 0.     , 0.     ])
    """
    size = system.marginal.size
    matrix, targets = _stack_variance(system, _TIE_BREAK)
    matrix_of_steps = np.cumsum(matrix * np.sqrt(system.marginal), axis=1)
    # The unknowns are d_(m+1), d_1, d_2 ...: the one that may be free comes first.
    columns = np.hstack([matrix_of_steps[:, -1:], matrix_of_steps[:, :-1], targets])
    triangle = np.asarray(np.linalg.qr(columns, mode="r"))[:size]
    left = triangle[:, :size]
    targets = triangle[:, size:]
    vectors = []
    for target, solution in zip(targets.T, np.linalg.solve(left, targets).T, strict=True):
        d = _nonnegative_steps(left, target, solution, n_free=0 if nonnegative else 1)
        steps = np.roll(d, -1)  # d_1, d_2 ... d_(m+1)
        vectors.append(np.cumsum(steps[::-1])[::-1])  # x_j = d_j + ... + d_(m+1)
    return np.array(vectors)


def _nonnegative_steps(left: Float, target: Float, solution: Float, n_free: int) -> Float:
    """Minimise ||left d - target|| with d >= 0, except for the first `n_free` (0 or 1) entries.

    `left` is an upper triangle, and left @ solution = target. If that satisfies the constraint, as
    it does for AUC, it is the answer; the active-set method would take m + 1 steps to find it.
    """
    d = solution
    if d[n_free:].min() < -_STEP_ROUNDING * np.abs(d).max():
        constrained = left[n_free:, n_free:]
        try:
            d, _ = optimize.nnls(constrained, target[n_free:], maxiter=_NNLS_STEPS * target.size)
        except RuntimeError:
            raise ConditioningError(
                f"constrained least squares with {target.size} unknowns does not converge; use "
                "fewer negatives"
            ) from None
        if n_free:  # the first equation, which no other needs, gives the free entry
            d = np.append((target[0] - left[0, 1:] @ d) / left[0, 0], d)
    d[n_free:] = np.maximum(d[n_free:], 0.0)
    return d


def _stack_variance(system: ReducedSystem, gamma: float) -> tuple[Float, Float]:
    """Return matrix and targets of eq. 24 in y: rows of the bias above those of the variance."""
    bias = np.sqrt(1.0 - gamma)
    spread = np.sqrt(gamma)
    scaled = system.triangle / np.sqrt(system.marginal)
    matrix = np.vstack([bias * scaled, spread * np.eye(system.marginal.size)])
    targets = np.vstack([bias * system.targets, spread * (scaled.T @ system.targets)])
    return matrix, targets


def rank_rule(measures: Sequence[Measure], n: int, m: int) -> tuple[Float, Float]:
    """Return nodes and weights that sum a function over the ranks 1 ... n.

    The function may jump after the cut-offs of the metrics. Nodes increase and need not be whole;
    up to n = 16,384 they are all ranks, with weight 1.

    Examples
    --------
    >>> ranks, weights = rank_rule([], 10**6, 100)
    >>> ranks.size, round(float(weights.sum()), 6), round(float(weights @ ranks), 3)
    (596, 1000000.0, 500000500000.0)
    """
    _require_few_negatives(m)
    if n <= ONE_BY_ONE:
        return np.arange(1.0, n + 1.0), np.ones(n)
    n_at_ends = n if m >= _LARGE_SAMPLE * n else _RANKS_AT_ENDS
    cutoffs = [measure.cutoff for measure in measures if measure.cutoff is not None]
    last_ranks = [n - n_at_ends, *cutoffs]  # where blocks must end
    nodes = []
    weights = []
    first = 1
    while first <= n:
        size = 1
        if n_at_ends < first <= n - n_at_ends:
            size = _block_size(first, n, m, last_ranks)
        block_nodes, block_weights = _gauss_rule(first, size)
        nodes.append(block_nodes)
        weights.append(block_weights)
        first += size
    return np.concatenate(nodes), np.concatenate(weights)


def _block_size(first: int, n: int, m: int, last_ranks: Sequence[int]) -> int:
    """Return how many ranks from `first` on are summed together, at most up to a last rank.

    From its first to its last rank the expected sampled rank moves by at most three standard
    deviations of a sampled rank. A block is no wider than its distance to the nearer of 1 and n.
    """
    spread = _BLOCK_DEVIATIONS * np.sqrt(first * (n - first) / m)
    width = int(min(first, n - first, spread))
    n_left = min(last - first + 1 for last in last_ranks if last >= first)
    return min(max(1, width), n_left)


def sums_up_to(ends: Int, values: Callable[[Float], Float]) -> Float:
    """Sum a smooth function over the ranks from 1 up to each of several ends.

    Parameters
    ----------
    ends
        Whole numbers in non-decreasing order, close to each other where the function changes fast.
    values
        The function: from ranks, which need not be whole, to a number or a row for each.

    Examples
    --------
    >>> sums_up_to(np.array([1, 2, 2, 4, 1000]), np.square).round().astype(int)
    array([        1,         5,         5,        30, 333833500])
    """
    sizes = np.diff(ends, prepend=0)  # of the blocks of ranks between the ends
    is_single = sizes == 1
    single_values = values(ends[is_single])
    sums = np.zeros((ends.size, *single_values.shape[1:]))
    sums[is_single] = single_values
    for i in np.flatnonzero(sizes > 1):
        size = int(sizes[i])
        nodes, weights = _gauss_rule(int(ends[i]) - size + 1, size)
        sums[i] = weights @ values(nodes)
    return np.cumsum(sums, axis=0)


def mean_up_to(ends: Int, measure: Measure, n: int) -> Float:
    """Return the mean of a metric over the ranks 1 ... k, for each k in `ends`, which increase."""
    ends_with_credit = ends if measure.cutoff is None else np.minimum(ends, measure.cutoff)
    return sums_up_to(ends_with_credit, lambda ranks: measure.value_at(ranks, n)) / ends


def _gauss_rule(first: int, count: int) -> tuple[Float, Float]:
    """Return nodes and weights for sums over `count` whole numbers from `first` on.

    They are the eigenvalues and the squared first entries of the eigenvectors of the tridiagonal
    matrix of the recurrence of discrete Chebyshev polynomials (Golub and Welsch, 1969).
    """
    if count <= _NODES:
        return np.arange(first, first + count, dtype=np.float64), np.ones(count)
    k = np.arange(1.0, _NODES)
    diagonal = np.full(_NODES, first + (count - 1.0) / 2.0)
    off_diagonal = np.sqrt(k**2 * (count**2 - k**2) / (4.0 * (4.0 * k**2 - 1.0)))
    nodes, vectors = linalg.eigh_tridiagonal(diagonal, off_diagonal)
    return nodes, count * np.square(vectors[0])
