"""Ranges of exact metrics from counts by stratum, whatever the tastes for popularity are.

Question: which exact metrics do negatives of any design allow, if near the top no rank is likelier
than a better one?

The class of distributions is that of `intervals.kernels` for each taste of `estimators.tastes`:
mixtures of extreme points, which are uniform on the levels up to L for L <= `last_shaped`, and a
single level beyond. Nothing is smooth, and tastes may depend on the rank. With weights w of the
extreme points, an end of the range is the largest or smallest mean metric theta @ w with

    log P(w) = sum_u f_u log(sum_e w_e l_ue) >= maximum - drop,   drop = z^2 / 2,             (1)

a profile likelihood, where l_ue is the likelihood of the counts of row u at extreme point e, f_u
how much the row counts, and z the normal quantile of the confidence. The left side is concave, so
the set is convex.

The weights w of an end are found by solving (1) with the second-order expansion at the last ones,
again and again, as Kim, Carbonetto, Stephens and Anitescu (2020, "A Fast Algorithm for Maximum
Likelihood Estimation of Mixture Proportions Using Sequential Quadratic Programming") do for the
maximum. Few extreme points have a weight, so each programme contains only those that have one or
may gain one. As (1) is concave, all weights x that satisfy it also satisfy its tangent at any w,

    g @ (x - w) >= maximum - drop - log P(w),   g the gradient at w,                          (2)

and the largest theta @ x with (2) is a bound, which is exact at the end. The end that is returned
is this bound: it is never too near, and `_END_ACCURACY` too far at most where the rounds suffice.
"""

from __future__ import annotations

from typing import NamedTuple

import clarabel
import numpy as np
from scipy.special import ndtri

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.solvers import solve_cone_programme
from sampled_metrics.estimators.tastes import TASTES, TasteFit
from sampled_metrics.intervals.kernels import SHAPED_NEGATIVES
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.ranks.strata import StratumCounts

_EM_STEPS = 30  # of expectation maximisation, before the steps of Newton's method
_NEWTON_STEPS = 30
_ROUNDS = 12  # expansions for an end; most take 4 to 6
_JOINING = 60  # extreme points that join those with a weight
_ACCURACY = 1e-7  # of cone programmes
_LEAST_WEIGHT = 1e-7  # smaller weights in a solution are the solver's rounding
_FIT_ACCURACY = 0.02  # of the log likelihood, by which the maximum may be missed
_END_ACCURACY = 1e-3  # relative, by which an end may be missed
_SHRINKAGE = 0.8  # of a step that leads outside of (1)
_SMALLEST_STEP = 1e-3
_LOG_ZERO = 1e-300  # keeps the log of an impossible count finite
# Negatives by popularity tell little about unpopular items. Ranges with tastes held on MovieLens
# 100K for all recommenders, except one that avoids popular items: it had .25 of the users near the
# top with such a taste, and recommenders with right and sharp ranges had .03 at most.
_AVERSE = 0.3  # tastes below it do not look at popularity, or avoid it
_MOST_AVERSE = 0.08  # share of the users near the top with such a taste
_UNIFORM_SHARE = 0.5  # of negatives; then all ranges held, whatever the taste
_CHANCE = 3.0  # standard deviations by which a stratum may miss this share


class Mixture(NamedTuple):
    """The extreme points of a class of distributions, and the likeliest weights of them.

    Attributes
    ----------
    likelihood
        Likelihood of the counts of each row at each extreme point, shape (rows, points).
    to_levels
        Share of each level in each extreme point of one taste, shape (levels, levels).
    weights
        Weights of the largest likelihood, shape (points,).
    of_row
        How much each row counts, shape (rows,). They sum to the number of independent users.
    """

    likelihood: Float
    to_levels: Float
    weights: Float
    of_row: Float

    def expand(self, by_cell: Float) -> Float:
        """Average a function of cells, shape (..., cells), over each extreme point."""
        return _expand(self.to_levels, by_cell)

    def log(self, weights: Float) -> float:
        """Return the log likelihood of weights."""
        expected = np.maximum(self.likelihood @ weights, _LOG_ZERO)
        return float(self.of_row @ np.log(expected))

    def gradient(self, weights: Float) -> Float:
        """Return the derivatives of the log likelihood by the weights; weights @ it is sum(f)."""
        expected = np.maximum(self.likelihood @ weights, _LOG_ZERO)
        return np.asarray(self.likelihood.T @ (self.of_row / expected))


def _expand(to_levels: Float, by_cell: Float) -> Float:
    levels = by_cell.reshape(*by_cell.shape[:-1], len(to_levels), TASTES.size)
    return np.einsum("kl,...lt->...kt", to_levels, levels, optimize=True).reshape(by_cell.shape)


def fit_mixture(fit: TasteFit, last_shaped: int, weights: Float | None = None) -> Mixture:
    """Find the likeliest mixture of the extreme points whose shape ends at rank `last_shaped`.

    `weights` tell how much each row counts; None: all 1. The maximum is found to `_FIT_ACCURACY`:
    by (2), no weights are likelier than w by more than max(g) - sum(f).
    """
    levels = fit.levels
    edges = np.sqrt(levels[1:] * levels[:-1])
    widths = np.diff(np.concatenate([[0.0], edges, levels[-1:]]))
    to_levels = np.eye(levels.size)
    for k in np.flatnonzero(levels <= last_shaped):
        to_levels[k, : k + 1] = widths[: k + 1] / widths[: k + 1].sum()
    likelihood = _expand(to_levels, fit.likelihood.by_user)
    n_rows, n_points = likelihood.shape
    of_row = np.ones(n_rows) if weights is None else weights
    total = float(of_row.sum())
    start = Mixture(likelihood, to_levels, np.full(n_points, 1.0 / n_points), of_row)
    mixture_weights = start.weights
    for _ in range(_EM_STEPS):
        mixture_weights = mixture_weights * start.gradient(mixture_weights) / total
    mixture = start._replace(weights=mixture_weights / mixture_weights.sum())
    for _ in range(_NEWTON_STEPS):
        gradient = mixture.gradient(mixture.weights)
        if gradient.max() - total < _FIT_ACCURACY:
            break
        points = _active_points(mixture.weights, gradient)
        target = _solve_expansion(mixture, mixture.weights, points)
        moved = _likelier(mixture, target)
        if moved is None:
            break
        mixture = mixture._replace(weights=moved)
    return mixture


def _likelier(mixture: Mixture, target: Float) -> Float | None:
    """Go towards weights until the likelihood is higher; None where no step is."""
    best = mixture.log(mixture.weights)
    step = 1.0
    while step > _SMALLEST_STEP:
        moved = mixture.weights + step * (target - mixture.weights)
        if mixture.log(moved) > best:
            return np.asarray(moved)
        step /= 2.0
    return None


def profile_ranges(
    mixture: Mixture,
    values: Float,
    confidence: float,
    *,
    design_effect: float = 1.0,
    share_of_drop: float = 1.0,
) -> list[Range]:
    """Return the range of each metric that the profile likelihood (1) allows.

    Parameters
    ----------
    mixture
        The likeliest mixture, see `fit_mixture`.
    values
        Metrics given the cell, shape (measures, cells).
    confidence
        Of each range.
    design_effect
        By which the variance is larger than that of independent rows. It multiplies the drop in
        (1).
    share_of_drop
        Of the drop in (1). The difference of two recommenders is between those of the ends of
        ranges that have half of it each: the log likelihoods of both add up.
    """
    z = float(ndtri((1.0 + confidence) / 2.0))
    drop = z**2 / 2.0 * design_effect * share_of_drop
    least = mixture.log(mixture.weights) - drop
    ranges = []
    for theta in mixture.expand(values):
        low, high = (sign * _find_end(mixture, sign * theta, least) for sign in (-1.0, 1.0))
        ranges.append(Range(low, high))
    return ranges


def _find_end(mixture: Mixture, theta: Float, least: float) -> float:
    """Return the largest mean of theta that (1) allows, or slightly more."""
    weights = mixture.weights
    total = float(mixture.of_row.sum())
    end = float(theta.max())
    for _ in range(_ROUNDS):
        gradient = mixture.gradient(weights)
        bound, multiplier = _greatest_mean(theta, gradient, total + least - mixture.log(weights))
        end = min(end, bound)
        if end - theta @ weights <= _END_ACCURACY * abs(end):
            break
        points = _active_points(weights, theta + multiplier * gradient)
        target = _solve_expansion(mixture, weights, points, theta, least)
        weights = _step_inside(mixture, weights, target, least)
    return end


def _step_inside(mixture: Mixture, weights: Float, target: Float, least: float) -> Float:
    """Go towards weights as far as (1) holds: the expansion is not exact."""
    step = 1.0
    moved = target
    while mixture.log(moved) < least and step > _SMALLEST_STEP:
        step *= _SHRINKAGE
        moved = weights + step * (target - weights)
    return moved


def _greatest_mean(theta: Float, gradient: Float, least: float) -> tuple[float, float]:
    """Return the largest theta @ x with gradient @ x >= least, and the constraint's multiplier.

    x are weights that sum to 1. There is a solution with at most two points, one on each side of
    the constraint.

    Examples
    --------
    >>> _greatest_mean(np.array([1.0, 3, 0]), np.array([4.0, 0, 5]), 3.0)
    (1.5, 0.5)
    """
    is_inside = gradient >= least
    if not is_inside.any():  # rounding, where only the maximum satisfies the constraint
        is_inside = gradient == gradient.max()
    inside, outside = np.flatnonzero(is_inside), np.flatnonzero(~is_inside)
    alone = float(theta[inside].max())
    if not outside.size:
        return alone, 0.0
    distance = np.maximum(gradient[inside, None], least) - gradient[outside]
    share = np.maximum(gradient[inside, None] - least, 0.0) / distance  # of the point outside
    means = theta[inside, None] * (1.0 - share) + theta[outside] * share
    best = int(means.argmax())
    if means.flat[best] <= alone:
        return alone, 0.0
    i, j = np.unravel_index(best, means.shape)
    multiplier = (theta[outside[j]] - theta[inside[i]]) / distance[i, j]
    return float(means[i, j]), float(multiplier)


def _active_points(weights: Float, gains: Float) -> Int:
    """Return the extreme points that have a weight, and those that gain most."""
    joining = np.argsort(-gains, kind="stable")[:_JOINING]
    return np.union1d(np.flatnonzero(weights > _LEAST_WEIGHT), joining)


def _solve_expansion(
    mixture: Mixture, weights: Float, points: Int, theta: Float | None = None, least: float = 0.0
) -> Float:
    """Maximise theta @ x, or without it the likelihood, with its expansion at `weights`.

    Only `points` have a weight in x. With y = x - weights, the expansion is
    value + g @ y - |F y|^2 / 2, where F'F is the sum of the outer products of the scores. It is
    bounded in a second-order cone: t >= |F y|^2 / 2 if and only if |(sqrt(2) F y, t - 1)| <= t + 1.
    """
    start = weights[points] / weights[points].sum()
    likelihood = mixture.likelihood[:, points]
    expected = np.maximum(likelihood @ start, _LOG_ZERO)
    scores = likelihood / expected[:, None]
    gradient = mixture.of_row @ scores
    eigenvalues, vectors = np.linalg.eigh((scores.T * mixture.of_row) @ scores)
    is_used = eigenvalues > 1e-10 * eigenvalues.max()
    root = (vectors[:, is_used] * np.sqrt(eigenvalues[is_used])).T
    n, r = points.size, len(root)
    has_bound = theta is not None
    n_unknown = n if has_bound else n + 1  # t is unknown if the likelihood is maximised
    matrix = np.zeros((n + r + 3, n_unknown))
    right = np.zeros(n + r + 3)
    matrix[0, :n], right[0] = 1.0, 1.0
    matrix[1 : n + 1, :n] = -np.eye(n)
    matrix[n + 2 : n + 2 + r, :n] = -np.sqrt(2.0) * root
    right[n + 2 : n + 2 + r] = -np.sqrt(2.0) * (root @ start)
    if theta is not None:  # t = value - least + g @ y
        value = float(mixture.of_row @ np.log(expected))
        constant = value - least - float(gradient @ start)
        matrix[n + 1], matrix[-1] = -gradient, -gradient
        right[n + 1], right[-1] = constant + 1.0, constant - 1.0
        cost = -theta[points]
    else:
        matrix[n + 1, n], matrix[-1, n] = -1.0, -1.0
        right[n + 1], right[-1] = 1.0, -1.0
        cost = np.append(-gradient, 1.0)
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n), clarabel.SecondOrderConeT(r + 2)]
    solution = np.array(solve_cone_programme(cost, matrix, right, cones, _ACCURACY).x)[:n]
    if not np.isfinite(solution).all():
        return weights
    result = np.zeros(weights.size)
    result[points] = np.where(solution > _LEAST_WEIGHT, solution, 0.0)
    return np.asarray(result / result.sum())


def tastes_are_safe(fit: TasteFit, counts: StratumCounts, n: int) -> bool:
    """Tell whether a range with tastes can be quoted.

    It can if at least half of the negatives are uniform, so that each stratum is drawn at half of
    the mean rate at least, or if few users near the top avoid popular items.

    Parameters
    ----------
    fit
        The likeliest shares of users by L and taste.
    counts
        The counts it is fitted to.
    n
        Number of candidates, the held-out item included.
    """
    drawn = counts.drawn.sum(axis=0)
    candidates = counts.candidates.sum(axis=0)
    expected = _UNIFORM_SHARE * candidates * drawn.sum() / candidates.sum()
    if (drawn >= expected - _CHANCE * np.sqrt(expected)).all():
        return True
    m = counts.mean_negatives
    share = fit.fit.share.reshape(fit.levels.size, -1)[fit.levels < SHAPED_NEGATIVES * n / m]
    return float(share[:, TASTES < _AVERSE].sum()) <= _MOST_AVERSE * float(share.sum())
