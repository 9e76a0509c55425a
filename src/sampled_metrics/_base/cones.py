"""Cone programmes, by clarabel."""

from collections.abc import Sequence
from typing import Any

import clarabel
from scipy import sparse

from sampled_metrics._base.arrays import Float


def cone_programme(
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
    return clarabel.DefaultSolver(
        none, cost, sparse.csc_array(matrix), right, [*cones], settings
    ).solve()
