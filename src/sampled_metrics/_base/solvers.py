"""Roots of functions and least squares with signs."""

import numpy as np
from scipy import optimize

from sampled_metrics._base.arrays import Float

_TURNS = 200  # of bounded least squares, per unknown


def nearest_weights(matrix: Float, target: Float, turns: int) -> Float:
    """Minimise |A x - b| over x >= 0, also where active sets do not settle.

    There by the bounded least squares of scipy, whose unknowns at the bound are exactly 0 as well.

    Examples
    --------
    >>> nearest_weights(np.eye(3), np.array([2.0, -1.0, 3.0]), 1)
    array([2., 0., 3.])
    """
    try:
        weights, _ = optimize.nnls(matrix, target, maxiter=turns)
        return weights
    except RuntimeError:
        bounds = (0.0, np.inf)
        most = _TURNS * target.size
        found = optimize.lsq_linear(matrix, target, bounds, method="bvls", max_iter=most)
        return np.maximum(found.x, 0.0)
