"""Constrained least squares: eq. 21 among estimators that do not increase with the sampled rank.

(Section 5.2 prints the inequality the other way round; its words and section 6.3 mean this.)
"""

import numpy as np

from sampled_metrics._base.arrays import Float
from sampled_metrics.estimators.bias_variance import augmented
from sampled_metrics.estimators.system import ConditioningError, Reduced, upper_triangle

_TIE_BREAK = 1e-12
_ITERATIONS = 30


def monotone(system: Reduced, nonnegative: bool = True) -> Float:
    """Minimiser of the average squared bias among non-increasing vectors, eq. 21.

    Steps down d_j = x_j - x_(j+1), d_(m+1) = x_(m+1) turn it into least squares with d >= 0 (the
    last one free without `nonnegative`), solved by active sets on the triangle of the problem.
    Many vectors fit equally well to the precision of the machine; a weight gamma = 1e-12 of the
    variance (eq. 24) picks the steadiest and makes the solution well determined.

    Parameters
    ----------
    system
        The reduced least-squares problem.
    nonnegative
        Whether estimates must be at least 0, as in the paper's Table 3.

    Returns
    -------
    float64, shape (measures, m + 1), indexed by sampled rank - 1. The conditions of optimality
    of eq. 21 hold to 1e-12 times the size of the metric; AUC, whose solution is known, comes out
    to 1e-9, and to 3e-6 with replacement and m close to n, which hardly determines it.

    Raises
    ------
    ConditioningError
        The active sets do not settle.

    Examples
    --------
    >>> from sampled_metrics.estimators.system import reduced
    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> system = reduced([parse_measure("recall@10")], 3541, 100, "with-replacement", None)
    >>> monotone(system)[0, :3].round(5) + 0
    array([0.48764, 0.     , 0.     ])
    """
    root = np.sqrt(system.marginal)
    matrix, targets = augmented(system, _TIE_BREAK)
    steps = np.cumsum(matrix * root, axis=1)
    ordered = np.hstack([steps[:, -1:], steps[:, :-1], targets])
    triangle = upper_triangle(ordered)[: root.size]
    solutions = (
        _differences(triangle[:, : root.size], target, nonnegative)
        for target in triangle[:, root.size :].T
    )
    return np.array([np.cumsum(d[::-1])[::-1] for d in solutions])


def _differences(triangle: Float, target: Float, nonnegative: bool) -> Float:
    """Solve for the steps d, columns being ordered (last, first, second ...)."""
    if nonnegative:
        return np.roll(_nnls(triangle, target), -1)
    steps = _nnls(triangle[1:, 1:], target[1:])
    last = (target[0] - triangle[0, 1:] @ steps) / triangle[0, 0]
    return np.append(steps, last)


def _nnls(matrix: Float, target: Float) -> Float:
    from scipy.optimize import nnls

    try:
        solution, _ = nnls(matrix, target, maxiter=_ITERATIONS * len(target))
    except RuntimeError as error:
        raise ConditioningError(
            f"constrained least squares with {len(target)} unknowns does not settle within "
            f"{_ITERATIONS * len(target)} iterations; use fewer negatives"
        ) from error
    return np.asarray(solution, dtype=np.float64)
