"""Cone programmes, by clarabel, without the import of scipy.sparse.

That import, and its checks, take longer than a solution of a small programme.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import clarabel
import numpy as np

from sampled_metrics._base.arrays import Float, Int


class _Columns(NamedTuple):
    """Nonzeros of a matrix by columns: what clarabel reads of an array of scipy.sparse."""

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


def cone_programme(
    cost: Float,
    matrix: Float,
    right: Float,
    cones: Sequence[Any],
    accuracy: float,
    refinements: int | None = None,
) -> Any:
    """Minimise cost.x, where right - matrix x lies in the cones; return clarabel's solution.

    `refinements` limits those of each step, which take a third of the time; steps need not be more
    accurate than the solution.
    """
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = accuracy
    if refinements is not None:
        settings.iterative_refinement_enable = refinements > 0
        settings.iterative_refinement_max_iter = refinements
    none = _Columns.of(np.zeros((cost.size, cost.size)))
    columns = _Columns.of(matrix)
    return clarabel.DefaultSolver(none, cost, columns, right, list(cones), settings).solve()
