"""Non-negative least squares, and conic optimisation."""

from collections.abc import Sequence
from typing import Any

import clarabel
import numpy as np
import scipy
from scipy import sparse

from sampled_metrics._base.array_types import Float

_BVLS_STEPS = 200  # per unknown; generous, as this solver runs only where NNLS did not converge


def nonnegative_least_squares(matrix: Float, target: Float, max_steps: int) -> Float:
    """Return the weights >= 0 that minimise |matrix @ weights - target|, the Euclidean norm.

    The active-set method of `scipy.optimize.nnls` does not converge for some matrices within
    `max_steps`. Bounded-variable least squares does, and also returns exact zeros at the bound.

    Parameters
    ----------
    matrix, target
        Shapes (equations, weights) and (equations,).
    max_steps
        Maximum number of steps of the active-set method.

    Examples
    --------
    >>> nonnegative_least_squares(np.eye(3), np.array([2.0, -1.0, 3.0]), 1)
    array([2., 0., 3.])
    """
    try:
        weights, _ = scipy.optimize.nnls(matrix, target, maxiter=max_steps)
        return weights
    except RuntimeError:
        bounds = (0.0, np.inf)
        solution = scipy.optimize.lsq_linear(
            matrix, target, bounds, method="bvls", max_iter=_BVLS_STEPS * target.size
        )
        return np.maximum(solution.x, 0.0)  # rounding may put a weight below its bound


def solve_cone_programme(
    cost: Float,
    matrix: Float,
    right: Float,
    cones: Sequence[Any],
    accuracy: float,
    *,
    refinements: int | None = None,
) -> Any:
    """Minimise cost @ x such that right - matrix @ x lies in the cones; return clarabel's solution.

    Parameters
    ----------
    cost, matrix, right
        Shapes (unknowns,), (rows, unknowns) and (rows,).
    cones
        Cones of clarabel, such as `clarabel.NonnegativeConeT(2)`, for consecutive rows.
    accuracy
        Absolute and relative tolerance of the duality gap and of feasibility.
    refinements
        Maximum number of iterative refinements in each step; None for clarabel's default. They take
        a third of the time, and a step need not be more accurate than the solution.
    """
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = accuracy
    settings.tol_gap_rel = accuracy
    settings.tol_feas = accuracy
    if refinements is not None:
        settings.iterative_refinement_enable = refinements > 0
        settings.iterative_refinement_max_iter = refinements
    no_quadratic_term = sparse.csc_array((cost.size, cost.size))
    solver = clarabel.DefaultSolver(
        no_quadratic_term, cost, sparse.csc_array(matrix), right, list(cones), settings
    )
    return solver.solve()
