"""Expectation maximisation for the distribution of true ranks, and its derivative.

One step takes a distribution p to

    p(r) <- p(r) sum over i of f_i P(i | r) / c_i,    c_i = sum over r of p(r) P(i | r),

with f_i the share of users at sampled rank i (Jin, Li, Mudrak, Gao, Liu, "On Estimating
Recommendation Evaluation Metrics under Sampling", AAAI 2021). m + 1 shares do not determine n
probabilities: the number of steps is a hidden regulariser.
"""

import numpy as np

from sampled_metrics._base.arrays import Float


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
    for step in range(iterations):
        path[step + 1] = em_step(given, path[step], shares)
    return path


def em_step(given: Float, share: Float, shares: Float) -> Float:
    """Take one step; several problems may be columns of `share` and `shares`."""
    return share * (given @ _over(shares, given.T @ share))


def em_gradient(given: Float, path: Float, shares: Float, weights: Float) -> Float:
    """Derivative in the shares of `weights.T @ path[-1]`, shape (columns, measures).

    The chain rule backwards through the steps. The value is homogeneous of degree 1 in the shares,
    so shares @ gradient is the value itself.
    """
    gradient = np.zeros((shares.size, weights.shape[1]))
    for share in path[-2::-1]:
        # One product with all columns, because reading `given` takes most of the time.
        forward = given.T @ np.column_stack([share, weights * share[:, np.newaxis]])
        expected = forward[:, :1]
        ratio, relative = _over(shares[:, np.newaxis], expected), _over(forward[:, 1:], expected)
        gradient += relative
        backward = given @ np.hstack([ratio, relative * ratio])
        weights = weights * backward[:, :1] - backward[:, 1:]
    return gradient


def _over(above: Float, below: Float) -> Float:
    """Divide, 0 where the divisor is."""
    shape = np.broadcast_shapes(above.shape, below.shape)
    return np.divide(above, below, out=np.zeros(shape), where=below > 0.0)
