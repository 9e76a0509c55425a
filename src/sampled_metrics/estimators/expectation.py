"""Expectation maximisation for the distribution of true ranks, and its derivative.

One step takes a distribution p to

    p(r) <- p(r) sum over i of f_i P(i | r) / c_i,    c_i = sum over r of p(r) P(i | r),

with f_i the share of users at sampled rank i (Jin, Li, Mudrak, Gao, Liu, "On Estimating
Recommendation Evaluation Metrics under Sampling", AAAI 2021). m + 1 shares do not determine n
probabilities: the number of steps is a hidden regulariser.
"""

from itertools import pairwise

import numpy as np

from sampled_metrics._base.arrays import CACHE, Float, blocks


def em_path(given: Float, start: Float, shares: Float, iterations: int) -> Float:
    """Distributions of the true rank from the start to the last step.

    Parameters
    ----------
    given
        P(i | r), shape (ranks, columns).
    start
        Distribution to start from, shape (ranks,).
    shares
        f, shape (columns,), summing to 1.
    iterations
        Number of steps.

    Returns
    -------
    float64, shape (iterations + 1, ranks).

    Examples
    --------
    >>> em_path(np.eye(2), np.array([0.5, 0.5]), np.array([0.9, 0.1]), 1)
    array([[0.5, 0.5],
           [0.9, 0.1]])
    """
    path = np.empty((iterations + 1, start.size))
    path[0] = start
    expected = given.T @ start
    for before, after in pairwise(path):
        ratio, expected = _over(shares, expected), np.zeros(expected.shape)
        # Both products while the rows are in the cache.
        for rows in blocks(len(given), shares.size, CACHE):
            after[rows] = before[rows] * (given[rows] @ ratio)
            expected += given[rows].T @ after[rows]
    return path


def em_step(given: Float, share: Float, shares: Float) -> Float:
    """Take one step; several problems may be columns of `share` and `shares`."""
    return share * (given @ _over(shares, given.T @ share))


def em_gradient(given: Float, path: Float, shares: Float, weights: Float) -> Float:
    """Derivative in the shares of `weights.T @ path[-1]`, shape (columns, measures).

    The chain rule backwards through the steps. The value is homogeneous of degree 1 in the shares,
    so shares @ gradient is the value itself.
    """
    gradient, weights = np.zeros((shares.size, weights.shape[1])), weights.copy()
    forward = given.T @ _with_weighted(path[-2], weights)
    for earlier in path[-3::-1]:
        ratio, relative = _ratios(shares, forward)
        gradient += relative
        factors, forward = np.hstack([ratio, relative * ratio]), np.zeros(forward.shape)
        for rows in blocks(len(given), shares.size, CACHE):
            backward = given[rows] @ factors
            weights[rows] = weights[rows] * backward[:, :1] - backward[:, 1:]
            forward += given[rows].T @ _with_weighted(earlier[rows], weights[rows])
    return gradient + _ratios(shares, forward)[1]


def _with_weighted(share: Float, weights: Float) -> Float:
    return np.column_stack([share, weights * share[:, np.newaxis]])


def _ratios(shares: Float, forward: Float) -> tuple[Float, Float]:
    """Divide the shares, and the weighted expectations, by the expected shares."""
    expected = forward[:, :1]
    return _over(shares[:, np.newaxis], expected), _over(forward[:, 1:], expected)


def _over(above: Float, below: Float) -> Float:
    """Divide, 0 where the divisor is."""
    shape = np.broadcast_shapes(above.shape, below.shape)
    return np.divide(above, below, out=np.zeros(shape), where=below > 0.0)
