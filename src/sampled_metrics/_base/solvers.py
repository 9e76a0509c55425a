"""Least squares with weights of at least 0."""

import numpy as np
from scipy import optimize

from sampled_metrics._base.arrays import Float

_BOUNDED_TURNS = 200  # per unknown


def nearest_weights(matrix: Float, target: Float, turns: int) -> Float:
    """Minimise |A x - b| over x >= 0, also where active sets do not settle.

    Then by scipy's bounded least squares, whose unknowns at the bound are exactly 0 as well.

    Examples
    --------
    >>> nearest_weights(np.eye(3), np.array([2.0, -1.0, 3.0]), 1)
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
