"""The least-squares problem behind eq. 21-26, reduced to a triangle.

With D = diag(sqrt(p(r))), A = D p(sampled rank | r) and b = D M(r) (eq. 23), the columns of
[A b] are rotated to an upper triangle: ||A x - b|| differs from ||R x - z|| by a constant.
The rows are taken in blocks, each stacked on the triangle so far, so that the n x (m + 1) grid
never exists as a whole and A^T A, whose condition number is the square of A's, is formed only for
estimators that regularise it.
Under a uniform prior, many ranks are summed by quadrature, so large n cost no more than small.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float, blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators.quadrature import rank_rule
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import checked, pmf_at

_BLOCK_ROWS = 2048
_NEIGHBOURS = 256  # ranks
_IMPROBABLE = 1e-20
_PRIOR_SUM_ERROR = 1e-9
MOST_NEGATIVES = 10_000  # so that the matrices of a problem take some GB


class ConditioningError(InputError):
    """The problem is too ill-conditioned to be solved in double precision."""


@dataclass(frozen=True)
class Reduced:
    """Least squares for several metrics at once, in m + 1 equations.

    Attributes
    ----------
    triangle
        R, upper triangular; float64, shape (m + 1, m + 1).
    targets
        z, one column a metric; float64, shape (m + 1, measures).
    marginal
        c of eq. 25, the probability of every sampled rank; float64, shape (m + 1,), positive.
    """

    triangle: Float
    targets: Float
    marginal: Float


def reduced(
    measures: Sequence[Measure], n: int, m: int, sampling: Sampling | str, prior: ArrayLike | None
) -> Reduced:
    """Set up eq. 21 for some metrics and reduce it to a triangle.

    Time is proportional to n m^2 up to n = 16,384 or with a prior, else to about 1,000 m^2;
    memory to m^2.

    Examples
    --------
    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> reduced([parse_measure("auc")], 3, 1, "with-replacement", None).marginal
    array([0.5, 0.5])
    """
    checked(1, n, m, sampling)
    return reduced_at(*_terms(measures, n, m, prior), measures, n, m, sampling)


@dataclass(frozen=True)
class Normal:
    """Normal equations in y = sqrt(c) x, for all metrics at once.

    Attributes
    ----------
    matrix
        B^T B with B = A / sqrt(c); float64, shape (m + 1, m + 1).
    targets
        B^T b, one column a metric; float64, shape (m + 1, measures).
    marginal
        c, as in `Reduced`.
    """

    matrix: Float
    targets: Float
    marginal: Float


def normal_equations(
    measures: Sequence[Measure], n: int, m: int, sampling: Sampling | str, prior: ArrayLike | None
) -> Normal:
    """Set up the normal equations of eq. 21 for some metrics.

    Neighbouring ranks have few sampled ranks in common that are not improbable, so time is
    proportional to n m, and little besides.

    Examples
    --------
    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> normal_equations([parse_measure("auc")], 3, 1, "with-replacement", None).targets.round(4)
    array([[0.5893],
           [0.1179]])
    """
    checked(1, n, m, sampling)
    require_solvable(m)
    marginal, targets = np.zeros(m + 1), np.zeros((m + 1, len(measures)))
    matrix = np.zeros((m + 1, m + 1))
    ranks, weights = _terms(measures, n, m, prior)
    for weight, grid, values in _grids(ranks, weights, measures, n, m, sampling, _NEIGHBOURS):
        marginal += weight @ grid
        grid *= np.sqrt(weight)[:, None]
        add_products(matrix, grid, _IMPROBABLE)
        targets += grid.T @ (values * np.sqrt(weight)[:, None])
    _refuse_impossible(marginal)
    root = np.sqrt(marginal)
    return Normal(matrix / np.multiply.outer(root, root), targets / root[:, None], marginal)


def reduced_at(
    ranks: Float,
    weights: Float,
    measures: Sequence[Measure],
    n: int,
    m: int,
    sampling: Sampling | str,
) -> Reduced:
    """Set up eq. 21 with p(r) at some ranks and reduce it to a triangle."""
    require_solvable(m)
    marginal = np.zeros(m + 1)
    system = np.zeros((0, m + 1 + len(measures)))
    size = max(_BLOCK_ROWS, 2 * m)
    for weight, grid, values in _grids(ranks, weights, measures, n, m, sampling, size):
        marginal += weight @ grid
        weighted = np.hstack([grid, values]) * np.sqrt(weight)[:, None]
        system = upper_triangle(np.vstack([system, weighted]))
    _refuse_impossible(marginal)
    square = np.zeros((m + 1, m + 1 + len(measures)))
    square[: len(system)] = system[: m + 1]
    return Reduced(square[:, : m + 1], square[:, m + 1 :], marginal)


def _grids(
    ranks: Float,
    weights: Float,
    measures: Sequence[Measure],
    n: int,
    m: int,
    sampling: Sampling | str,
    size: int,
) -> Iterator[tuple[Float, Float, Float]]:
    """Yield p(r), p(sampled rank | r) and M(r) of blocks of ranks."""
    for rows in blocks(ranks.size, 1, size):
        values = np.column_stack([measure.at(ranks[rows], n) for measure in measures])
        yield weights[rows], pmf_at(ranks[rows], n, m, sampling), values


def _refuse_impossible(marginal: Float) -> None:
    impossible = np.flatnonzero(marginal <= np.finfo(np.float64).tiny)
    if impossible.size:
        raise InputError(
            f"the prior gives sampled rank {impossible[0] + 1} of {marginal.size} probability 0; "
            "every sampled rank must be possible"
        )


def add_products(matrix: Float, rows: Float, negligible: float) -> None:
    """Add rows.T @ rows to a matrix, but for columns at both ends without an entry above a limit.

    Rows of neighbouring ranks have few sampled ranks in common that are not improbable.
    """
    probable = np.flatnonzero(rows.max(axis=0) > negligible)
    if probable.size:
        at = slice(probable[0], probable[-1] + 1)
        matrix[at, at] += rows[:, at].T @ rows[:, at]


def require_solvable(m: int) -> None:
    """Raise an InputError for more negatives than can be solved for."""
    if m > MOST_NEGATIVES:
        raise InputError(
            f"estimators but sampled and rank-estimate take at most {MOST_NEGATIVES:,} negatives, "
            f"not {m:,}; name these two (--estimator)"
        )


def upper_triangle(matrix: Float) -> Float:
    """Rotate the columns of a matrix to an upper triangle: R of its QR factorisation."""
    return np.asarray(np.linalg.qr(matrix, mode="r"), dtype=np.float64)


def _terms(
    measures: Sequence[Measure], n: int, m: int, prior: ArrayLike | None
) -> tuple[Float, Float]:
    """Return ranks and p(r) for the sums over ranks.

    Quadrature replaces the uniform prior only, because another one need not be smooth.
    """
    if prior is None:
        cutoffs = [measure.cutoff for measure in measures if measure.cutoff is not None]
        ranks, weights = rank_rule(n, m, cutoffs)
        return ranks, weights / n
    weights = np.asarray(prior, dtype=np.float64)
    if weights.shape != (n,):
        raise InputError(
            f"the prior has shape {weights.shape}; it must have one value per rank, shape ({n},)"
        )
    if not (weights >= 0.0).all() or abs(weights.sum() - 1.0) > _PRIOR_SUM_ERROR:
        raise InputError(
            f"the prior sums to {weights.sum():.10g} with least value {weights.min():.3g}; "
            "it must consist of probabilities that sum to 1"
        )
    return np.arange(1.0, n + 1.0), weights
