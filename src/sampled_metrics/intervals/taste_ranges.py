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
is this bound: it is never too near, and `END_ACCURACY` too far at most where the rounds suffice.
"""

from __future__ import annotations

from typing import NamedTuple

import clarabel
import numpy as np
from scipy.special import ndtri

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.solvers import solve_cone_programme
from sampled_metrics.estimators.tastes import TASTES, TasteFit
from sampled_metrics.intervals.constants import (
    AVERSE_TASTE,
    CHANCE,
    END_ACCURACY,
    FIT_ACCURACY,
    JOINING_POINTS,
    LEAST_EIGENVALUE,
    LEAST_LIKELIHOOD,
    LEAST_WEIGHT,
    MOST_AVERSE,
    SHAPED_NEGATIVES,
    SHRINKAGE,
    SMALLEST_STEP,
    TASTE_ACCURACY,
    TASTE_EM_STEPS,
    TASTE_NEWTON_STEPS,
    TASTE_ROUNDS,
    UNIFORM_SHARE,
)
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.ranks.strata import StratumCounts


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
    row_weights
        How much each row counts, shape (rows,). They sum to the number of independent users.
    """

    likelihood: Float
    to_levels: Float
    weights: Float
    row_weights: Float

    def expand(self, by_cell: Float) -> Float:
        """Average a function of cells, shape (..., cells), over each extreme point."""
        return _expand(self.to_levels, by_cell)

    def log(self, weights: Float) -> float:
        """Return the log likelihood of weights."""
        expected = np.maximum(self.likelihood @ weights, LEAST_LIKELIHOOD)
        return float(self.row_weights @ np.log(expected))

    def gradient(self, weights: Float) -> Float:
        """Return the derivatives of the log likelihood by the weights; weights @ it is sum(f)."""
        expected = np.maximum(self.likelihood @ weights, LEAST_LIKELIHOOD)
        return np.asarray(self.likelihood.T @ (self.row_weights / expected))


def _expand(to_levels: Float, by_cell: Float) -> Float:
    """Average a function of cells, that is levels x tastes, over extreme points of each taste."""
    by_level = by_cell.reshape(*by_cell.shape[:-1], len(to_levels), TASTES.size)
    by_point = np.einsum("kl,...lt->...kt", to_levels, by_level, optimize=True)
    return by_point.reshape(by_cell.shape)


def fit_mixture(fit: TasteFit, last_shaped: int, weights: Float | None = None) -> Mixture:
    """Find the likeliest mixture of the extreme points whose shape ends at rank `last_shaped`.

    Steps of expectation maximisation, w_e <- w_e g_e / sum(f) with the gradient g of log P(w), come
    near, and steps of Newton's method follow. The maximum is found to `FIT_ACCURACY`: by (2), no
    weights are likelier than w by more than max(g) - sum(f).

    Parameters
    ----------
    fit
        Levels of the rank, and the likelihood of the counts of each row given level and taste.
    last_shaped
        Down to this rank no rank is likelier than a better one.
    weights
        How much each row counts; None: all 1.
    """
    to_levels = _extreme_points(fit.levels, last_shaped)
    likelihood = _expand(to_levels, fit.likelihood.by_user)
    n_rows, n_points = likelihood.shape
    row_weights = np.ones(n_rows) if weights is None else weights
    equal = np.full(n_points, 1.0 / n_points)
    mixture = Mixture(likelihood, to_levels, equal, row_weights)
    return _climb_by_newton(_climb_by_em(mixture))


def _climb_by_em(mixture: Mixture) -> Mixture:
    """Return a mixture after some steps of expectation maximisation, see `fit_mixture`."""
    total = float(mixture.row_weights.sum())
    weights = mixture.weights
    for _ in range(TASTE_EM_STEPS):
        weights = weights * mixture.gradient(weights) / total
    return mixture._replace(weights=weights / weights.sum())


def _climb_by_newton(mixture: Mixture) -> Mixture:
    """Return the mixture at the maximum of the likelihood, to `FIT_ACCURACY`, see `fit_mixture`.

    Each step maximises the second-order expansion of log P over the points with a weight or much to
    gain, and goes towards this maximum as far as log P rises.
    """
    total = float(mixture.row_weights.sum())
    for _ in range(TASTE_NEWTON_STEPS):
        gradient = mixture.gradient(mixture.weights)
        most_to_gain = gradient.max() - total
        if most_to_gain < FIT_ACCURACY:
            break
        points = _active_points(mixture.weights, gradient)
        target = _maximise_likelihood(mixture, points)
        likelier = _likelier(mixture, target)
        if likelier is None:
            break
        mixture = mixture._replace(weights=likelier)
    return mixture


def _extreme_points(levels: Float, last_shaped: int) -> Float:
    """Return the share of each level in each extreme point of one taste, shape (levels, levels).

    A level stands for the ranks up to the geometric middle between it and the next. Point k is
    uniform on the ranks of the levels up to k where level k is at most `last_shaped`, and level k
    alone beyond.

    Examples
    --------
    Levels 1, 4 and 9 stand for the ranks up to 2, up to 6 and up to 9.

    >>> _extreme_points(np.array([1.0, 4.0, 9.0]), 4).round(3)
    array([[1.   , 0.   , 0.   ],
           [0.333, 0.667, 0.   ],
           [0.   , 0.   , 1.   ]])
    """
    edges = np.sqrt(levels[1:] * levels[:-1])
    widths = np.diff(np.concatenate([[0.0], edges, levels[-1:]]))
    to_levels = np.eye(levels.size)
    for k in np.flatnonzero(levels <= last_shaped):
        to_levels[k, : k + 1] = widths[: k + 1] / widths[: k + 1].sum()
    return to_levels


def _likelier(mixture: Mixture, target: Float) -> Float | None:
    """Go from the weights of a mixture towards others, as far as the likelihood is higher.

    The step to `target` is halved until it is; None if a small one is not either.
    """
    best = mixture.log(mixture.weights)
    step = 1.0
    while step > SMALLEST_STEP:
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
    least = mixture.log(mixture.weights) - drop  # the right side of (1)
    return [
        Range(-_find_end(mixture, -theta, least), _find_end(mixture, theta, least))
        for theta in mixture.expand(values)
    ]


def _find_end(mixture: Mixture, theta: Float, least: float) -> float:
    """Return the largest theta @ x that (1) allows for weights x, or slightly more.

    (1) says that log P(x) is at least `least`. Each round bounds theta @ x by the tangent of log P
    at the last weights w, which allows more,

        log P(w) + g @ (x - w) >= least,   g the gradient,

    and moves w to the largest mean for the expanded log P, until bound and mean nearly agree.

    Parameters
    ----------
    mixture
        The likeliest mixture, whose weights are the first ones.
    theta
        Value at each extreme point; shape (points,).
    least
        Least log likelihood, the right side of (1).
    """
    weights = mixture.weights
    total = float(mixture.row_weights.sum())  # g @ w for all weights w
    end = float(theta.max())
    for _ in range(TASTE_ROUNDS):
        gradient = mixture.gradient(weights)
        least_gradient_mean = total + least - mixture.log(weights)  # of g @ x in (2)
        bound, multiplier = _greatest_mean(theta, gradient, least_gradient_mean)
        end = min(end, bound)
        if end - theta @ weights <= END_ACCURACY * abs(end):
            break
        points = _active_points(weights, theta + multiplier * gradient)
        target = _maximise_mean(mixture, weights, points, theta, least)
        weights = _step_inside(mixture, weights, target, least)
    return end


def _step_inside(mixture: Mixture, weights: Float, target: Float, least: float) -> Float:
    """Go towards weights as far as (1) holds: the expansion is not exact."""
    step = 1.0
    moved = target
    while mixture.log(moved) < least and step > SMALLEST_STEP:
        step *= SHRINKAGE
        moved = weights + step * (target - weights)
    return moved


def _greatest_mean(theta: Float, gradient: Float, least: float) -> tuple[float, float]:
    """Return the largest theta @ x with gradient @ x >= least, and the constraint's multiplier.

    x are weights that sum to 1. There is a solution with at most two points: i inside, with
    gradient_i >= least, and j outside, which has the share s that just satisfies the constraint,

        s = (gradient_i - least) / (gradient_i - gradient_j).

    The multiplier tells by how much the largest mean rises where `least` falls by 1.

    Examples
    --------
    >>> _greatest_mean(np.array([1.0, 3, 0]), np.array([4.0, 0, 5]), 3.0)
    (1.5, 0.5)
    """
    is_inside = gradient >= least
    if not is_inside.any():  # rounding, where only the maximum satisfies the constraint
        is_inside = gradient == gradient.max()
    inside, outside = np.flatnonzero(is_inside), np.flatnonzero(~is_inside)
    best_alone = float(theta[inside].max())
    if not outside.size:
        return best_alone, 0.0
    # All pairs of a point inside (rows) and one outside (columns).
    distance = np.maximum(gradient[inside, None], least) - gradient[outside]
    share_outside = np.maximum(gradient[inside, None] - least, 0.0) / distance
    means = theta[inside, None] * (1.0 - share_outside) + theta[outside] * share_outside
    i, j = np.unravel_index(int(means.argmax()), means.shape)
    if means[i, j] <= best_alone:
        return best_alone, 0.0
    multiplier = (theta[outside[j]] - theta[inside[i]]) / distance[i, j]
    return float(means[i, j]), float(multiplier)


def _active_points(weights: Float, gains: Float) -> Int:
    """Return the extreme points that have a weight, and those that gain most."""
    joining = np.argsort(-gains, kind="stable")[:JOINING_POINTS]
    return np.union1d(np.flatnonzero(weights > LEAST_WEIGHT), joining)


class _Expansion(NamedTuple):
    """The second-order expansion of the log likelihood at weights w of some extreme points.

    At weights x of these points, with y = x - w, it is value + g @ y - |F y|^2 / 2. F'F is minus
    the matrix of second derivatives, sum over rows u of f_u s_u s_u' with the scores
    s_ue = l_ue / (sum over e of w_e l_ue), and g the gradient, sum over u of f_u s_u.

    Attributes
    ----------
    start, value, gradient
        w, the log likelihood there, and g; w and g of shape (points,).
    root
        F; shape (directions, points).
    """

    start: Float
    value: float
    gradient: Float
    root: Float


def _expand_likelihood(mixture: Mixture, weights: Float, points: Int) -> _Expansion:
    """Expand the log likelihood at weights, of which only those of `points` are not 0.

    The root F comes from the eigenvalues of the information; directions in which the likelihood
    hardly changes are dropped.
    """
    start = weights[points] / weights[points].sum()
    likelihood = mixture.likelihood[:, points]
    expected = np.maximum(likelihood @ start, LEAST_LIKELIHOOD)
    scores = likelihood / expected[:, None]
    information = (scores.T * mixture.row_weights) @ scores
    eigenvalues, eigenvectors = np.linalg.eigh(information)
    matters = eigenvalues > LEAST_EIGENVALUE * eigenvalues.max()
    return _Expansion(
        start=start,
        value=float(mixture.row_weights @ np.log(expected)),
        gradient=mixture.row_weights @ scores,
        root=(eigenvectors[:, matters] * np.sqrt(eigenvalues[matters])).T,
    )


def _maximise_likelihood(mixture: Mixture, points: Int) -> Float:
    """Return the weights, of `points` only, that maximise the expanded log likelihood.

    With a further unknown t >= |F y|^2 / 2, minimise t - g @ x.
    """
    expansion = _expand_likelihood(mixture, mixture.weights, points)
    return _solve_expansion(
        mixture.weights,
        points,
        expansion,
        cost=np.append(-expansion.gradient, 1.0),
        t_row=np.append(np.zeros(points.size), 1.0),
        t_constant=0.0,
    )


def _maximise_mean(
    mixture: Mixture, weights: Float, points: Int, theta: Float, least: float
) -> Float:
    """Return the weights, of `points` only, with the largest theta @ x that (1) allows.

    The log likelihood in (1) is expanded at `weights`, so that t = value - least + g @ y is at
    least |F y|^2 / 2; `least` is the right side of (1).
    """
    expansion = _expand_likelihood(mixture, weights, points)
    gradient = expansion.gradient
    return _solve_expansion(
        weights,
        points,
        expansion,
        cost=-theta[points],
        t_row=gradient,
        t_constant=expansion.value - least - float(gradient @ expansion.start),
    )


def _solve_expansion(
    weights: Float,
    points: Int,
    expansion: _Expansion,
    *,
    cost: Float,
    t_row: Float,
    t_constant: float,
) -> Float:
    """Minimise a linear cost of weights x and further unknowns, where t >= |F (x - w)|^2 / 2.

    With the unknowns z, of which x are the first,

        minimise cost @ z
        where    sum of x = 1,  x >= 0,
                 |(sqrt(2) F (x - w), t - 1)| <= t + 1, a second-order cone,
                 t = t_row @ z + t_constant.

    Parameters
    ----------
    weights, points, expansion
        All weights, the points that may have a weight, and the expansion at their weights w.
    cost, t_row, t_constant
        Shapes (unknowns,), (unknowns,) and ().

    Returns
    -------
    ndarray
        All weights; `weights` themselves if the solver fails.
    """
    n = points.size
    n_directions = len(expansion.root)
    n_others = cost.size - n  # unknowns that are no weights
    root = np.sqrt(2.0) * expansion.root
    root_of_start = np.sqrt(2.0) * (expansion.root @ expansion.start)
    matrix = np.vstack(
        [
            np.append(np.ones(n), np.zeros(n_others)),
            -np.eye(n, cost.size),
            -t_row,
            np.hstack([-root, np.zeros((n_directions, n_others))]),
            -t_row,
        ]
    )
    right = np.concatenate(
        [[1.0], np.zeros(n), [t_constant + 1.0], -root_of_start, [t_constant - 1.0]]
    )
    cones = [
        clarabel.ZeroConeT(1),
        clarabel.NonnegativeConeT(n),
        clarabel.SecondOrderConeT(n_directions + 2),
    ]
    solution = np.array(solve_cone_programme(cost, matrix, right, cones, TASTE_ACCURACY).x)[:n]
    if not np.isfinite(solution).all():
        return weights
    result = np.zeros(weights.size)
    result[points] = np.where(solution > LEAST_WEIGHT, solution, 0.0)
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
    drawn = counts.drawn.sum(axis=0)  # of each stratum
    candidates = counts.candidates.sum(axis=0)
    least_drawn = UNIFORM_SHARE * candidates * drawn.sum() / candidates.sum()
    chance = CHANCE * np.sqrt(least_drawn)
    are_half_uniform = (drawn >= least_drawn - chance).all()
    if are_half_uniform:
        return True
    is_near_top = fit.levels < SHAPED_NEGATIVES * n / counts.mean_negatives
    share_by_taste = fit.fit.share.reshape(fit.levels.size, TASTES.size)[is_near_top]
    averse = float(share_by_taste[:, TASTES < AVERSE_TASTE].sum())
    return averse <= MOST_AVERSE * float(share_by_taste.sum())
