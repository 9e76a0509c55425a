"""The `likely` estimator from counts by stratum: the likeliest ranks and tastes for popularity.

A user belongs to a cell (L, t). L is the expected number of candidates that are better than the
held-out item, and t tells how much popular items are preferred among them: a candidate of stratum h
is better with probability

    phi_h(L, t) = Phi(a + t x_h),                                                            (1)

where x_h is the log popularity, Phi the distribution function of the normal distribution, and a
such that the probabilities of all candidates sum to L. Given the cell, candidates are better
independently of each other. A taste of 0 does not look at popularity, and a large one orders items
by it.

The share of users in the cells is exp(g), and g maximises

    sum_u log sum_c share_c prod_h Binomial(better_uh; drawn_uh, phi_hc) - penalty(g),       (2)

with the penalty of `estimators.smooth` along log L, weighted by the share of each taste, and
ROUGHNESS / 2 times the squared second differences of g across tastes. The estimate is the mean over
users of the posterior mean of the metric at rank 1 + (better negatives) + (better ones among the
candidates that were not drawn), whose number is about Poisson distributed.

The tastes and ROUGHNESS were chosen on MovieLens 100K and 1M, and so was the probit (1), which
halves the bias of a logistic curve there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.special import gammaln, ndtr, xlogy

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics.estimators.smooth import SLOPE, STIFFNESS, Cells, Derivatives, Fit, maximise
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks.strata import StratumCounts

TASTES = np.array([-0.5, -0.15, 0.15, 0.4, 0.7, 1.2, 2.5])  # t, see above
ROUGHNESS = 0.3  # of g across tastes, see above
N_LEVELS = 44  # cells of L
_LEAST_LEVEL = 0.03  # smallest L; fewer better candidates than this are rank 1 as well
_LARGEST_LEVEL = 0.98  # largest L, as a share of the candidates
_BISECTIONS = 60  # steps that find a in (1) to the precision of float64
_LARGEST_LOGIT = 60.0  # of a at the start
_ROUNDS = 2  # fits that adapt the penalty to the tastes of the recommender
_LEAST_WEIGHT = 0.3  # of the tastes together, however few users have one
_TABULATED = 400  # numbers of unseen better candidates in the tables of metrics
_GRID_POINTS = 200  # means in these tables, on a logarithmic scale


@dataclass(frozen=True, eq=False)
class CellLikelihood:
    """The likelihood of each user's counts in each cell, up to a factor for the user.

    Attributes
    ----------
    by_user
        Likelihood divided by the largest of the user, shape (users, cells).
    """

    by_user: Float

    def posterior(self, share: Float) -> Float:
        """Return the probability of each cell given the user's counts, shape (users, cells)."""
        joint = self.by_user * share
        return joint / joint.sum(axis=1, keepdims=True)

    def log(self, share: Float) -> float:
        """Return the log likelihood, up to a constant."""
        return float(np.log(np.maximum(self.by_user @ share, 1e-300)).sum())

    def derivatives(self, share: Float) -> Derivatives:
        """Return the derivatives of the log likelihood by g."""
        posterior = self.posterior(share)
        n_users = float(len(posterior))
        expected = posterior.sum(axis=0)
        excess = expected - n_users * share
        crossed = np.outer(expected, share)
        information = posterior.T @ posterior - crossed - crossed.T
        information += n_users * np.outer(share, share)
        mixed = np.outer(excess, share)
        return Derivatives(excess, information - np.diag(excess) + mixed + mixed.T, information)


class TasteEstimates(NamedTuple):
    """Estimates of metrics from counts by stratum.

    Attributes
    ----------
    values, log_errors
        Estimate of each metric, and the standard error of its log from the curvature.
    share
        Share of users by L and taste, shape (levels, tastes).
    """

    values: Float
    log_errors: Float
    share: Float


def better_probabilities(levels: Float, log_popularity: Float, n_candidates: Float) -> Float:
    """Return phi of equation (1), shape (levels, tastes, strata).

    `n_candidates` is the number of candidates in each stratum.

    Examples
    --------
    >>> sizes = np.array([5.0, 20, 100])
    >>> phi = better_probabilities(np.array([30.0]), np.array([3.0, 1, 0]), sizes)
    >>> (phi @ sizes).round(9)
    array([[30., 30., 30., 30., 30., 30., 30.]])
    """
    mean = np.average(log_popularity, weights=n_candidates)
    slope = TASTES[None, :, None] * (log_popularity - mean)
    low = np.full((levels.size, TASTES.size, 1), -_LARGEST_LOGIT)
    high = -low
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        is_above = (ndtr(middle + slope) @ n_candidates > levels[:, None])[..., None]
        high = np.where(is_above, middle, high)
        low = np.where(is_above, low, middle)
    return np.clip(ndtr((low + high) / 2.0 + slope), 1e-12, 1.0 - 1e-9)


def _penalty(log_level: Float, weights: Float) -> Float:
    """Return the second derivatives of the penalty by g, in the order (levels, tastes).

    `weights` of the tastes sum to 1, so that a change of g that all tastes share costs as much as
    in `estimators.smooth`.
    """
    steps = np.diff(log_level)
    first = np.diff(np.eye(log_level.size), axis=0) / steps[:, None]
    bend = np.diff(first, axis=0)
    between = (steps[1:] + steps[:-1]) / 2.0
    along = STIFFNESS * ((first.T * steps) @ first + (bend.T / between) @ bend)
    second = np.diff(np.eye(weights.size), 2, axis=0)
    across = ROUGHNESS * second.T @ second + 1e-3 * np.eye(weights.size)
    penalty = np.kron(along, np.diag(weights))
    penalty += np.kron(np.eye(log_level.size) * steps.mean(), across)
    penalty[0, 0] += 1.0  # fixes the level of g, which probabilities do not determine
    return np.asarray(penalty)


@dataclass(frozen=True, eq=False)
class TasteFit:
    """The likeliest shares of users by L and taste.

    Attributes
    ----------
    levels
        L of the cells, shape (levels,).
    probabilities
        phi of each cell, shape (cells, strata); cells are in the order (levels, tastes).
    likelihood
        The likelihood of the users in each cell.
    fit
        The shares of users, and the curvature of the penalised log likelihood.
    """

    levels: Float
    probabilities: Float
    likelihood: CellLikelihood
    fit: Fit

    @property
    def level_of_cell(self) -> Float:
        """L of each cell, shape (cells,)."""
        return np.repeat(self.levels, TASTES.size)


def fit_tastes(counts: StratumCounts) -> TasteFit:
    """Maximise the penalised likelihood (2) of counts by stratum.

    A recommender with one taste would have only a part of the penalty along L. So the weights of
    the tastes are then set to their shares, and the fit is repeated.
    """
    n_candidates = counts.candidates.mean(axis=0).astype(np.float64)
    levels = np.geomspace(_LEAST_LEVEL, _LARGEST_LEVEL * n_candidates.sum(), N_LEVELS)
    phi = better_probabilities(levels, counts.log_popularity, n_candidates)
    phi = phi.reshape(-1, phi.shape[-1])
    logs = counts.better.astype(np.float64) @ np.log(phi).T
    logs += (counts.drawn - counts.better).astype(np.float64) @ np.log1p(-phi).T
    likelihood = CellLikelihood(np.exp(logs - logs.max(axis=1, keepdims=True)))
    log_level = np.log(levels)
    weights = np.full(TASTES.size, 1.0 / TASTES.size)
    cells = Cells(
        widths=np.ones(len(phi), np.int64),
        probabilities=phi,
        values=np.zeros((len(phi), 0)),
        usual_log_density=np.repeat((SLOPE + 1.0) * log_level, TASTES.size),
        stiffness=_penalty(log_level, weights),
    )
    fit = maximise(cells, likelihood)
    for _ in range(_ROUNDS):
        share = fit.share.reshape(levels.size, -1).sum(axis=0)
        weights = (1.0 - _LEAST_WEIGHT) * share + _LEAST_WEIGHT / share.size
        fit = maximise(cells._replace(stiffness=_penalty(log_level, weights)), likelihood)
    return TasteFit(levels, phi, likelihood, fit)


def estimate_by_tastes(
    counts: StratumCounts, measures: Sequence[Measure], n: int, fit: TasteFit | None = None
) -> TasteEstimates:
    """Estimate metrics from counts by stratum of one held-out item of each user.

    Parameters
    ----------
    counts
        Better and drawn negatives, and candidates, by row and stratum.
    measures, n
        Metrics of one held-out item, and the number of candidates with it.
    fit
        The result of `fit_tastes`, if it is known.
    """
    if fit is None:
        fit = fit_tastes(counts)
    posterior = fit.likelihood.posterior(fit.fit.share)
    known = counts.better.sum(axis=1)
    unseen = (counts.candidates - counts.drawn).astype(np.float64) @ fit.probabilities.T
    values, errors = [], []
    for measure in measures:
        credit = measure.value_at(np.arange(1, n + 1), n)
        by_user = (posterior * mean_credit(credit, known, unseen)).sum(axis=1)
        of_cell = mean_credit(credit, np.zeros(1, np.int64), fit.level_of_cell[None])[0]
        gradient = fit.fit.share * (of_cell - fit.fit.share @ of_cell)
        variance = float(gradient @ _solve(fit.fit.curvature, gradient))
        values.append(by_user.mean())
        errors.append(np.sqrt(max(variance, 0.0)) / (fit.fit.share @ of_cell))
    share = fit.fit.share.reshape(fit.levels.size, -1)
    return TasteEstimates(np.array(values), np.array(errors), share)


def mean_credit(credit: Float, known: Int, unseen: Float) -> Float:
    """Return E credit[known + X] for X Poisson distributed with the mean `unseen`.

    `credit` holds a metric at the ranks 1 ... n, `known` better negatives of each user, shape
    (users,), and `unseen` is of shape (users, cells). Interpolated in tables: the error is below
    2 %, and below 0.1 % for metrics without a cut-off (tests).
    """
    n = credit.size
    means = np.concatenate([[0.0], np.geomspace(1e-4, n, _GRID_POINTS)])
    depth = int(np.flatnonzero(credit > 1e-12 * credit[0]).max()) + 1  # last rank with credit
    size = min(depth, _TABULATED)
    number = np.arange(size)
    law = np.exp(xlogy(number, means[:, None]) - means[:, None] - gammaln(number + 1.0))
    beyond = np.maximum(1.0 - law.sum(axis=1), 0.0)
    place = np.interp(unseen, means, np.arange(means.size))
    left = np.minimum(place.astype(np.int64), means.size - 2)
    weight = place - left
    result = np.empty(unseen.shape)
    known = np.minimum(known, n - 1)
    for first in np.unique(known):
        rows = known == first
        values = np.zeros(size)
        values[: n - first] = credit[first : first + size]
        table = law @ values
        if depth > size:  # at large means the number of better ones is about its mean
            far = first + np.maximum(means, size).astype(np.int64)
            table = table + beyond * credit[np.minimum(far, n - 1)]
        result[rows] = (
            table[left[rows]] * (1.0 - weight[rows]) + table[left[rows] + 1] * weight[rows]
        )
    return result


def _solve(matrix: Float, right: Float) -> Float:
    """Solve linear equations by Cholesky's method, or by least squares if it fails."""
    try:
        return np.asarray(cho_solve(cho_factor(matrix), right), np.float64)
    except LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0], np.float64)
