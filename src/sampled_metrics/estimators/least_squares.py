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
import scipy
from numpy.typing import ArrayLike

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

    The equations are sqrt(p(r)) (sum over i of P(i | r) x_i - M(r)) = 0 for all true ranks r, with
    the unknown values x_i of the sampled ranks i. A QR decomposition, of a block of ranks after the
    other, leaves m + 1 equations R x = z.

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
    ranks, weights = _weighted_ranks(measures, n, m, prior)
    n_unknown = m + 1
    marginal = np.zeros(n_unknown)
    system = np.zeros((0, n_unknown + len(measures)))  # [R z], triangular after each block
    for rows in blocks(ranks.size, 1, max(_BLOCK_ROWS, 2 * m)):
        probabilities = pmf_at(ranks[rows], n, m, sampling)
        values = np.column_stack([measure.value_at(ranks[rows], n) for measure in measures])
        marginal += weights[rows] @ probabilities
        equations = np.hstack([probabilities, values]) * np.sqrt(weights[rows])[:, None]
        system = np.asarray(np.linalg.qr(np.vstack([system, equations]), mode="r"))
    _require_possible_ranks(marginal, n, has_prior=prior is not None)
    # With fewer possible ranks than unknowns the triangle has fewer rows; zeros complete it. Rows
    # after the first m + 1 hold the part of the metrics that no vector can fit, a constant.
    square = np.zeros((n_unknown, system.shape[1]))
    square[: len(system)] = system[:n_unknown]
    return ReducedSystem(
        triangle=square[:, :n_unknown], targets=square[:, n_unknown:], marginal=marginal
    )


def _weighted_ranks(
    measures: Sequence[Measure], n: int, m: int, prior: ArrayLike | None
) -> tuple[Float, Float]:
    """Return the true ranks of the equations, and p(r) of each, which sum to 1.

    Without a prior they are nodes, see `rank_rule`; with a prior, all ranks that it makes possible.
    """
    if prior is None:
        nodes, counts = rank_rule(measures, n, m)
        return nodes, counts / n
    _require_few_negatives(m)
    shares = _scale_prior(prior, n)
    possible = np.flatnonzero(shares)
    return np.asarray(possible + 1, np.float64), shares[possible]


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

    Solved is least squares in y = sqrt(c) x, c the probability of each sampled rank, see this
    module's docstring.

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
    n_unknown = system.marginal.size
    matrix_and_targets = np.hstack(_stack_variance(system, gamma))
    triangle = np.asarray(np.linalg.qr(matrix_and_targets, mode="r"))
    left, right = triangle[:n_unknown, :n_unknown], triangle[:n_unknown, n_unknown:]
    # The condition number is at most 1/sqrt(gamma), and in the 1-norm at most `n_unknown` times
    # that, so it need not be estimated for large gamma.
    may_be_ill = n_unknown > _MAX_CONDITION * np.sqrt(gamma)
    if may_be_ill and _reciprocal_condition(left) * _MAX_CONDITION < 1.0:
        raise ConditioningError(
            f"gamma {gamma:g} with {n_unknown - 1} negatives is ill-conditioned; "
            "use fewer negatives or a larger gamma"
        )
    y = np.linalg.solve(left, right)
    return y.T / np.sqrt(system.marginal)


def _reciprocal_condition(triangle: Float) -> float:
    """Estimate 1 / (condition number in the 1-norm) of an upper triangle."""
    reciprocal, _ = scipy.linalg.lapack.dtrcon(triangle)
    return float(reciprocal)


def solve_monotone(system: ReducedSystem, nonnegative: bool = True) -> Float:
    """Minimise the average squared bias among non-increasing vectors, eq. 21.

    With the steps d_j = x_j - x_(j+1) and d_(m+1) = x_(m+1), so that x_j = d_j + ... + d_(m+1),
    this is least squares subject to d >= 0, which an active-set method solves on the triangle of
    the system. Many vectors fit equally well in double precision; a weight gamma = 1e-12 of the
    variance (eq. 24) selects the one of least variance.

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
    n_unknown = system.marginal.size
    matrix, targets = _stack_variance(system, _TIE_BREAK)  # in y = sqrt(c) x
    # Step d_j is in x_1 ... x_j, so its column is the sum of theirs.
    columns_of_steps = np.cumsum(matrix * np.sqrt(system.marginal), axis=1)
    # The unknowns are d_(m+1), d_1, d_2 ...: the one that may be free comes first.
    last_first = np.hstack([columns_of_steps[:, -1:], columns_of_steps[:, :-1]])
    triangle = np.asarray(np.linalg.qr(np.hstack([last_first, targets]), mode="r"))[:n_unknown]
    left, right = triangle[:, :n_unknown], triangle[:, n_unknown:]
    unconstrained = np.linalg.solve(left, right)
    vectors = []
    for target, solution in zip(right.T, unconstrained.T, strict=True):
        d = _nonnegative_steps(left, target, solution, n_free=0 if nonnegative else 1)
        vectors.append(_sum_later_steps(np.roll(d, -1)))
    return np.array(vectors)


def _sum_later_steps(d: Float) -> Float:
    """Return x_j = d_j + ... + d_(m+1) from the steps d_1, d_2 ... d_(m+1)."""
    return np.cumsum(d[::-1])[::-1]


def _nonnegative_steps(left: Float, target: Float, solution: Float, n_free: int) -> Float:
    """Minimise ||left d - target|| with d >= 0, except for the first `n_free` (0 or 1) entries.

    Parameters
    ----------
    left, target
        An upper triangle, shape (unknowns, unknowns), and shape (unknowns,).
    solution
        left @ solution = target. If it satisfies the constraint, as it does for AUC, it is the
        answer; the active-set method would take m + 1 steps to find it.
    n_free
        1 if the first entry may be negative.
    """
    d = solution
    has_negative = d[n_free:].min() < -_STEP_ROUNDING * np.abs(d).max()
    if has_negative:
        constrained = left[n_free:, n_free:]
        try:
            d, _ = scipy.optimize.nnls(
                constrained, target[n_free:], maxiter=_NNLS_STEPS * target.size
            )
        except RuntimeError:
            raise ConditioningError(
                f"constrained least squares with {target.size} unknowns does not converge; use "
                "fewer negatives"
            ) from None
        if n_free:  # only the first equation has the free entry, so it is then satisfied exactly
            free_entry = (target[0] - left[0, 1:] @ d) / left[0, 0]
            d = np.append(free_entry, d)
    return np.concatenate([d[:n_free], np.maximum(d[n_free:], 0.0)])


def _stack_variance(system: ReducedSystem, gamma: float) -> tuple[Float, Float]:
    """Return matrix and targets of eq. 24 in y: rows of the bias above those of the variance.

    With B = R / sqrt(c), the rows of the bias are sqrt(1 - gamma) (B y - z), and those of the
    variance sqrt(gamma) (y - B'z).
    """
    weight_of_bias = np.sqrt(1.0 - gamma)
    weight_of_variance = np.sqrt(gamma)
    scaled = system.triangle / np.sqrt(system.marginal)
    matrix = np.vstack([weight_of_bias * scaled, weight_of_variance * np.eye(len(scaled))])
    targets = np.vstack(
        [weight_of_bias * system.targets, weight_of_variance * (scaled.T @ system.targets)]
    )
    return matrix, targets


def rank_rule(measures: Sequence[Measure], n: int, m: int) -> tuple[Float, Float]:
    """Return nodes and weights with which sum of weight f(node) is the sum of f over ranks 1 ... n.

    f may be a smooth function times the probability of a sampled rank among m negatives, and may
    jump after the cut-offs of the metrics. Ranks are cut into blocks, each of which is summed by a
    Gauss rule. Nodes increase and need not be whole; up to n = 16,384 they are all ranks, with
    weight 1.

    Examples
    --------
    >>> ranks, weights = rank_rule([], 10**6, 100)
    >>> ranks.size, round(float(weights.sum()), 6), round(float(weights @ ranks), 3)
    (596, 1000000.0, 500000500000.0)
    """
    _require_few_negatives(m)
    if n <= ONE_BY_ONE:
        return np.arange(1.0, n + 1.0), np.ones(n)
    all_are_ends = m >= _LARGE_SAMPLE * n
    n_at_ends = n if all_are_ends else _RANKS_AT_ENDS
    cutoffs = [measure.cutoff for measure in measures if measure.cutoff is not None]
    last_ranks = [n - n_at_ends, *cutoffs]  # where blocks must end
    rules = []
    first = 1
    while first <= n:
        is_between_ends = n_at_ends < first <= n - n_at_ends
        size = _block_size(first, n, m, last_ranks) if is_between_ends else 1
        rules.append(_gauss_rule(first, size))
        first += size
    nodes, weights = zip(*rules, strict=True)
    return np.concatenate(nodes), np.concatenate(weights)


def _block_size(first: int, n: int, m: int, last_ranks: Sequence[int]) -> int:
    """Return how many ranks from `first` on are summed together, at most up to a last rank.

    From its first to its last rank the expected sampled rank moves by at most three standard
    deviations of a sampled rank: by w m / n over w ranks r, where the variance is about
    m (r / n) (1 - r / n). A block is no wider than its distance to the nearer of 1 and n.
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

    Returns
    -------
    shape (ends,), or (ends, ...) for rows

    Examples
    --------
    >>> sums_up_to(np.array([1, 2, 2, 4, 1000]), np.square).round().astype(int)
    array([        1,         5,         5,        30, 333833500])
    """
    sizes = np.diff(ends, prepend=0)  # of the blocks of ranks after one end and up to the next
    is_single = sizes == 1
    single_values = values(ends[is_single])
    sums_of_blocks = np.zeros((ends.size, *single_values.shape[1:]))
    sums_of_blocks[is_single] = single_values
    for block in np.flatnonzero(sizes > 1):
        size = int(sizes[block])
        nodes, weights = _gauss_rule(first=int(ends[block]) - size + 1, count=size)
        sums_of_blocks[block] = weights @ values(nodes)
    return np.cumsum(sums_of_blocks, axis=0)


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
    nodes, vectors = scipy.linalg.eigh_tridiagonal(diagonal, off_diagonal)
    return nodes, count * np.square(vectors[0])
