"""Distribution of true ranks of maximum entropy, and its derivative.

Minimises over distributions p

    m' sum over i of f_i (q_i - f_i)^2 - gamma H(p),    q_i = sum over r of p(r) P(i | r),

with m' = m + 1 and f_i the share of users at sampled rank i (Jin, Li, Mudrak, Gao, Liu, AAAI 2021,
weighted as in Li, Jin, Liu, Ren, Gao, Liu, AAAI 2023). The solution is p(r) proportional to
p_0(r) exp(-sum over i of P(i | r) h_i), so the dual has m + 1 unknowns instead of n.
"""

import numpy as np
import scipy  # `scipy.optimize` takes long to import, so only where it is used
from scipy.linalg import solve
from scipy.special import logsumexp

from sampled_metrics._base.arrays import Float, blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators.system import add_products

_LAST_STEPS = 3  # of Newton, because a minimum is found to half the digits of its gradient
_ROUNDING = 1e-13  # of the gradient
_NEIGHBOURS = 64  # ranks taken together
_IMPROBABLE = 1e-17  # relative to the most probable sampled rank


def maximum_entropy(given: Float, start: Float, shares: Float, gamma: float) -> Float:
    """Find the distribution above; float64, shape (ranks,).

    Parameters
    ----------
    given
        P(i | r), shape (ranks, columns).
    start
        Number of ranks that each row stands for, as shares of all; shape (ranks,).
    shares
        f, shape (columns,), summing to 1.
    gamma
        Weight of the entropy, above 0.

    Examples
    --------
    >>> maximum_entropy(np.eye(2), np.full(2, 0.5), np.array([0.9, 0.1]), 10.0).round(2)
    array([0.54, 0.46])
    """
    if gamma <= 0.0:
        raise InputError("mes needs a gamma above 0")
    seen = shares > 0.0
    given, observed = given[:, seen], shares[seen]
    # In units in which the quadratic term has unit curvature.
    scale = np.sqrt(gamma / (2.0 * shares.size * observed))
    table, linear, logs = given / scale, observed / scale, np.log(start)

    def distribution(h: Float) -> tuple[Float, float]:
        exponent = logs - table @ h
        total = float(logsumexp(exponent))
        return np.exp(exponent - total), total

    def dual(h: Float) -> tuple[float, Float]:
        p, total = distribution(h)
        return float(total + h @ (linear + h / 2.0)), linear + h - p @ table

    def curvature(h: Float) -> Float:
        return np.eye(h.size) + _covariance(distribution(h)[0], table)

    h = scipy.optimize.minimize(
        dual, np.zeros(linear.size), jac=True, hess=curvature, method="trust-exact"
    ).x
    for _ in range(_LAST_STEPS):
        gradient = dual(h)[1]
        if np.abs(gradient).max() < _ROUNDING:
            break
        h = h - solve(curvature(h), gradient, assume_a="pos")
    return distribution(h)[0]


def entropy_gradient(given: Float, p: Float, shares: Float, gamma: float, weights: Float) -> Float:
    """Derivative in the shares of `weights.T @ p` at the solution, shape (columns, measures).

    From the conditions of optimality: h = 2 m' f (q - f) / gamma and q = p P(. | r).
    """
    factor = 2.0 * shares.size / gamma
    spread = _covariance(p, given)
    system = np.eye(shares.size) + factor * spread * shares
    fitted = p @ given
    # dq = -(system^-1) spread factor (q - 2 f) df, dh = factor (f dq + (q - 2 f) df).
    direct = factor * np.diag(fitted - 2.0 * shares)
    moved = direct - factor * shares[:, np.newaxis] * solve(system, spread @ direct)
    crossed = given.T @ (p[:, np.newaxis] * (weights - p @ weights))
    return -moved.T @ crossed


def _covariance(p: Float, table: Float) -> Float:
    mean = p @ table
    covariance = -np.outer(mean, mean)
    for rows in blocks(len(p), 1, _NEIGHBOURS):
        weighted = table[rows] * np.sqrt(p[rows])[:, np.newaxis]
        add_products(covariance, weighted, _IMPROBABLE * weighted.max())
    return covariance
