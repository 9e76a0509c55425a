"""Ranges of exact metrics from counts by stratum, whatever the tastes for popularity are.

Question: which exact metrics do negatives of any design allow, if near the top no rank is likelier
than a better one?

The class of distributions is that of `intervals.kernels` for each taste of `estimators.tastes`:
mixtures of extreme points, which are uniform on the levels up to L for L <= `last_shaped`, and a
single level beyond. Nothing is smooth, and tastes may depend on the rank. With weights w of the
extreme points, an end of the range is the largest or smallest mean metric theta @ w with

    sum_u log(sum_e w_e l_ue) >= maximum - z^2 / 2,                                          (1)

a profile likelihood, where l_ue is the likelihood of the counts of user u at extreme point e, and z
the normal quantile of the confidence. The left side is concave, so the set is convex. Each end is
found by solving (1) with the second-order expansion at the last solution, ROUNDS times.
"""

from __future__ import annotations

from typing import NamedTuple

import clarabel
import numpy as np
from scipy.special import ndtri

from sampled_metrics._base.array_types import Float
from sampled_metrics._base.solvers import solve_cone_programme
from sampled_metrics.estimators.tastes import TASTES, TasteFit
from sampled_metrics.intervals.ranges import Range

ROUNDS = 4  # expansions; a fifth one moves no end by more than 1 % (tests)
_EM_STEPS = 300  # of expectation maximisation, before the steps of Newton's method
_NEWTON_STEPS = 8
_ACCURACY = 1e-7  # of cone programmes
_LEAST_GAIN = 1e-3  # of the log likelihood, at which the maximum is found
_SLACK = 0.02  # by which the log likelihood of an end may miss (1)
_SHRINKAGE = 0.8  # of a step that leads outside of (1)


class Mixture(NamedTuple):
    """The extreme points of a class of distributions, and the likeliest weights of them.

    Attributes
    ----------
    likelihood
        Likelihood of the counts of each user at each extreme point, shape (users, points).
    to_levels
        Share of each level in each extreme point of one taste, shape (levels, levels).
    weights
        Weights of the largest likelihood, shape (points,).
    """

    likelihood: Float
    to_levels: Float
    weights: Float

    def expand(self, by_cell: Float) -> Float:
        """Average a function of cells, shape (..., cells), over each extreme point."""
        return _expand(self.to_levels, by_cell)

    def log(self, weights: Float) -> float:
        """Return the log likelihood of weights."""
        return float(np.log(np.maximum(self.likelihood @ weights, 1e-300)).sum())


def _expand(to_levels: Float, by_cell: Float) -> Float:
    levels = by_cell.reshape(*by_cell.shape[:-1], len(to_levels), TASTES.size)
    return np.einsum("kl,...lt->...kt", to_levels, levels).reshape(by_cell.shape)


def fit_mixture(fit: TasteFit, last_shaped: int) -> Mixture:
    """Find the likeliest mixture of the extreme points whose shape ends at rank `last_shaped`."""
    levels = fit.levels
    edges = np.sqrt(levels[1:] * levels[:-1])
    widths = np.diff(np.concatenate([[0.0], edges, levels[-1:]]))
    to_levels = np.eye(levels.size)
    for k in np.flatnonzero(levels <= last_shaped):
        to_levels[k, : k + 1] = widths[: k + 1] / widths[: k + 1].sum()
    likelihood = _expand(to_levels, fit.likelihood.by_user)
    n_users, n_points = likelihood.shape
    weights = np.full(n_points, 1.0 / n_points)
    for _ in range(_EM_STEPS):
        weights = weights * (likelihood.T @ (1.0 / (likelihood @ weights))) / n_users
    mixture = Mixture(likelihood, to_levels, weights / weights.sum())
    for _ in range(_NEWTON_STEPS):
        best = mixture.log(mixture.weights)
        target = _solve_expansion(mixture, mixture.weights)
        step = 1.0
        while step > _LEAST_GAIN:
            moved = mixture.weights + step * (target - mixture.weights)
            if mixture.log(moved) > best:
                break
            step /= 2.0
        if step <= _LEAST_GAIN or mixture.log(moved) - best < _LEAST_GAIN:
            break
        mixture = mixture._replace(weights=moved)
    return mixture


def profile_ranges(mixture: Mixture, values: Float, confidence: float) -> list[Range]:
    """Return the range of each metric that the profile likelihood (1) allows.

    `values` are metrics given the cell, shape (measures, cells).
    """
    z = float(ndtri((1.0 + confidence) / 2.0))
    least = mixture.log(mixture.weights) - z**2 / 2.0
    ranges = []
    for theta in mixture.expand(values):
        low, high = (_find_end(mixture, theta, sign, least) for sign in (-1.0, 1.0))
        ranges.append(Range(low, high))
    return ranges


def _find_end(mixture: Mixture, theta: Float, sign: float, least: float) -> float:
    """Return the smallest (`sign` -1) or largest mean of theta that (1) allows."""
    weights = mixture.weights
    for _ in range(ROUNDS):
        weights = _move_to_end(mixture, weights, sign * theta, least)
    return float(theta @ weights)


def _move_to_end(mixture: Mixture, weights: Float, theta: Float, least: float) -> Float:
    """Maximise theta @ w where the expansion of the log likelihood at `weights` is >= `least`."""
    target = _solve_expansion(mixture, weights, theta, least)
    if mixture.log(weights) < least:
        return target
    # The expansion is not exact: go back where the likelihood is too low.
    step = 1.0
    while mixture.log(weights + step * (target - weights)) < least - _SLACK and step > _LEAST_GAIN:
        step *= _SHRINKAGE
    return weights + step * (target - weights)


def _solve_expansion(
    mixture: Mixture, weights: Float, theta: Float | None = None, least: float = 0.0
) -> Float:
    """Maximise theta @ x, or without it the likelihood, with its expansion at `weights`.

    With y = x - weights, the expansion is value + g @ y - |F y|^2 / 2, where F'F is the sum of the
    outer products of the scores. It is bounded in a second-order cone:
    t >= |F y|^2 / 2 if and only if |(sqrt(2) F y, t - 1)| <= t + 1.
    """
    expected = mixture.likelihood @ weights
    scores = mixture.likelihood / expected[:, None]
    gradient = scores.sum(axis=0)
    eigenvalues, vectors = np.linalg.eigh(scores.T @ scores)
    is_used = eigenvalues > 1e-9 * eigenvalues.max()
    root = (vectors[:, is_used] * np.sqrt(eigenvalues[is_used])).T
    n, r = weights.size, len(root)
    has_bound = theta is not None
    n_unknown = n if has_bound else n + 1  # t is unknown if the likelihood is maximised
    matrix = np.zeros((n + r + 3, n_unknown))
    right = np.zeros(n + r + 3)
    matrix[0, :n], right[0] = 1.0, 1.0
    matrix[1 : n + 1, :n] = -np.eye(n)
    matrix[n + 2 : n + 2 + r, :n] = -np.sqrt(2.0) * root
    right[n + 2 : n + 2 + r] = -np.sqrt(2.0) * (root @ weights)
    if theta is not None:  # t = value - least + g @ y
        constant = float(np.log(expected).sum()) - least - float(gradient @ weights)
        matrix[n + 1], matrix[-1] = -gradient, -gradient
        right[n + 1], right[-1] = constant + 1.0, constant - 1.0
        cost = -theta
    else:
        matrix[n + 1, n], matrix[-1, n] = -1.0, -1.0
        right[n + 1], right[-1] = 1.0, -1.0
        cost = np.append(-gradient, 1.0)
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n), clarabel.SecondOrderConeT(r + 2)]
    solution = np.array(solve_cone_programme(cost, matrix, right, cones, _ACCURACY).x)[:n]
    if not np.isfinite(solution).all():
        return weights
    solution = np.maximum(solution, 0.0)
    return solution / solution.sum()
