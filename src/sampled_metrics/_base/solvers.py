"""Least squares with weights of at least 0, and cone programmes."""

from collections.abc import Sequence
from typing import Any

import clarabel
import numpy as np
from scipy import optimize, sparse

from sampled_metrics._base.array_types import Float

_BOUNDED_TURNS = 200  # per unknown


def nonnegative_least_squares(matrix: Float, target: Float, turns: int) -> Float:
    """Minimise |A x - b| over x >= 0, also where active sets do not settle.

    Then by scipy's bounded least squares, whose unknowns at the bound are exactly 0 as well.

    Examples
    --------
    >>> nonnegative_least_squares(np.eye(3), np.array([2.0, -1.0, 3.0]), 1)
    array([2., 0., 3.])
    """
    try:
        weights, _ = optimize.nnls(matrix, target, maxiter=turns)
        return weights
    except RuntimeError:
        found = optimize.lsq_linear(
            matrix, target, (0.0, np.inf), method="bvls", max_iter=_BOUNDED_TURNS * target.size
        )
        return np.maximum(found.x, 0.0)


def solve_cone_programme(
    cost: Float,
    matrix: Float,
    right: Float,
    cones: Sequence[Any],
    accuracy: float,
    refinements: int | None = None,
) -> Any:
    """Minimise cost.x, where right - matrix x lies in the cones; return clarabel's solution.

    `refinements` limits the refinements of each step, which take a third of the time; steps need
    not be more accurate than the solution.
    """
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    if refinements is not None:
        settings.iterative_refinement_enable = refinements > 0
        settings.iterative_refinement_max_iter = refinements
    none = sparse.csc_array((cost.size, cost.size))
    columns = sparse.csc_array(matrix)
    return clarabel.DefaultSolver(none, cost, columns, right, list(cones), settings).solve()
