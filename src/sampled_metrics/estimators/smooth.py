"""A likely distribution of true ranks: a smooth one, of a usual slope.

With g the log of the probability of a rank as a function of x, the log of the rank, it is the one
of the greatest penalised log likelihood

    log P(data | g) - STIFFNESS / 2 int (g' - SLOPE)^2 + (g'')^2 dx,   SLOPE = -0.3, STIFFNESS = 4.

The penalty is the log density of a Gaussian process: slopes scatter by 1 / sqrt(2 STIFFNESS) = 0.35
about -0.3, and forget what they were over a factor of e in the rank. A slope of -0.3 is a share
like k^0.7 of the users at ranks up to k. Of the sampled ranks of D users, with a share f_i at rank
i + 1,

    log P(data | g) = D sum_i f_i log q_i,   q_i = sum_r p(r) P(i | r),

and of printed means of sampled metrics see `printed.likely`. The density is a constant in each of
about 100 cells of ranks; with 400 cells the estimates are the same to .2 % (tests).

Both constants were chosen by the least root mean square of log errors of Recall@10, NDCG@10 and AP
with 20, 100 and 500 negatives on MovieLens 1M and six other data sets, 64 recommenders; the optimum
is flat from -0.25 to -0.35 and from 3 to 8. docs/estimators.md says where it fails: a random order,
a flat top, and ranks at the top that rules fill.

Penalised likelihoods of densities and of mixing distributions are well known (Good and Gaskins,
"Nonparametric Roughness Penalties for Probability Densities", 1971; Efron, "Empirical Bayes
Deconvolution Estimates", 2016). For sampled ranks maximum likelihood and maximum entropy alone are
in print, as far as is known (Jin, Li, Mudrak, Gao and Liu, AAAI 2021).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics.estimators.least_squares import mean_up_to
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.probability import sampled_rank_distribution

SLOPE = -0.3  # usual, of the log of the probability of a rank by the log of the rank
STIFFNESS = 4.0  # of slopes: 1 / (2 * 0.35^2)
CELLS = 100  # of ranks, in equal proportions
_MOST_STEPS = 500  # made-up data takes at most 50, real data 10
_MOST_CHANGE = 2.0  # of the log of a probability by a step
_LEAST_CHANGE = 1e-8  # at which it stops
_LEAST_PROBABILITY = 1e-300
_LEAST_GAIN = 1e-8  # of the log likelihood; below it rounding hides whether a step gains anything
_PART_OF_GAIN = 1e-4  # that a step must have of what its slope promises (Armijo's rule)


class Cells(NamedTuple):
    """Ranks in cells of about equal width in the log of the rank."""

    widths: Int  # ranks in each cell
    given: Float  # mean probabilities of sampled ranks, shape (cells, m + 1)
    values: Float  # mean metrics, shape (cells, measures)
    usual: Float  # log of the probability of a rank, with the usual slope
    stiffness: Float  # second derivatives of the penalty

    def share(self, density: Float) -> Float:
        """Share of users in each cell, from the log of the probability of a rank there."""
        share = self.widths * np.exp(density - density.max())
        return share / share.sum()


class Derivatives(NamedTuple):
    """Derivatives of a log likelihood by the log of the probability of a rank in each cell."""

    gradient: Float
    curvature: Float  # second derivatives, with the other sign
    information: Float  # likewise in expectation, and thus never negative


class Likelihood(Protocol):
    """What data says of the share of users in each cell of ranks."""

    def log(self, share: Float) -> float:
        """Log likelihood, but for a constant."""

    def derivatives(self, share: Float) -> Derivatives:
        """Derivatives of it."""


class Fit(NamedTuple):
    """The likeliest smooth distribution of true ranks."""

    share: Float  # of users in each cell
    curvature: Float  # of the penalised log likelihood, with the other sign

    def gradients(self, values: Float) -> Float:
        """Derivatives of mean metrics by the log of the probability of a rank in each cell."""
        return self.share[:, None] * (values - self.share @ values)

    def log_errors(self, values: Float) -> Float:
        """Standard deviation of the log of each mean metric, under the posterior distribution."""
        gradients = self.gradients(values)
        variances = (gradients * np.linalg.solve(self.curvature, gradients)).sum(axis=0)
        return np.sqrt(np.maximum(variances, 0.0)) / (self.share @ values)


@dataclass(frozen=True, eq=False)
class SampledRankLikelihood:
    """The likelihood of sampled ranks."""

    given: Float  # probabilities of sampled ranks, shape (cells, m + 1)
    shares: Float  # of users at each sampled rank
    n_users: float

    def log(self, share: Float) -> float:
        """Log likelihood, but for a constant."""
        is_observed = self.shares > 0.0
        return self.n_users * float(
            self.shares[is_observed] @ np.log(self._expected(share)[is_observed])
        )

    def derivatives(self, share: Float) -> Derivatives:
        """Derivatives of it."""
        slopes = self.slopes(share)
        excess = slopes @ self.shares
        crossed = np.outer(excess, share)
        curvature = (slopes * self.shares) @ slopes.T - np.diag(excess) + crossed + crossed.T
        information = (slopes * self._expected(share)) @ slopes.T
        return Derivatives(
            self.n_users * excess, self.n_users * curvature, self.n_users * information
        )

    def slopes(self, share: Float) -> Float:
        """Derivatives of the log probabilities of sampled ranks; shape (cells, m + 1)."""
        return share[:, None] * (self.given / self._expected(share) - 1.0)

    def _expected(self, share: Float) -> Float:
        return np.maximum(share @ self.given, _LEAST_PROBABILITY)


@lru_cache(maxsize=4)
def rank_cells(measures: tuple[Measure, ...], n: int, m: int, sampling: Sampling | str) -> Cells:
    """Cells of the ranks 1 ... n; not to be changed, because they are cached."""
    last = np.unique(np.geomspace(1, n, CELLS).round().astype(np.int64))
    widths = np.diff(last, prepend=0)
    tied = Ranks(np.full(last.size, n), last - widths, widths - 1)
    given = sampled_rank_distribution(tied, m, sampling)
    sums = [np.diff(last * mean_up_to(last, measure, n), prepend=0) for measure in measures]
    x = np.log(last - (widths - 1) / 2)
    steps = np.diff(x)
    slope = np.diff(np.eye(x.size), axis=0) / steps[:, None]
    bend = np.diff(slope, axis=0)
    between = (steps[1:] + steps[:-1]) / 2
    stiffness = STIFFNESS * ((slope.T * steps) @ slope + (bend.T / between) @ bend)
    stiffness[0, 0] += 1.0  # the level is free: probabilities are normalised
    return Cells(widths, given, np.array(sums).T / widths[:, None], SLOPE * x, stiffness)


def maximise(cells: Cells, likelihood: Likelihood) -> Fit:
    """Maximise the penalised log likelihood from the usual slope.

    By Newton's method where the curvature is positive, else by Fisher scoring; a step that gains
    too little is halved. So the penalised likelihood rises at every step, also where nearly all of
    many users are at one sampled rank, which Fisher scoring alone does not solve.
    """

    def height(share: Float, density: Float) -> float:
        away = density - cells.usual
        return likelihood.log(share) - float(away @ cells.stiffness @ away) / 2.0

    density = cells.usual
    share = cells.share(density)
    reached = height(share, density)
    for _ in range(_MOST_STEPS):
        gradient, curvature, information = likelihood.derivatives(share)
        gradient = gradient - cells.stiffness @ (density - cells.usual)
        curvature = curvature + cells.stiffness
        step = _solve_positive(curvature, information + cells.stiffness, gradient)
        size = float(np.ptp(step))
        if size < _LEAST_CHANGE:
            break
        gain = float(gradient @ step)
        part = min(1.0, _MOST_CHANGE / size)
        while True:
            moved = density + part * step
            share = cells.share(moved)
            higher = height(share, moved)
            if gain < _LEAST_GAIN or higher >= reached + _PART_OF_GAIN * part * gain:
                break
            if part * gain < _LEAST_GAIN * _LEAST_GAIN:
                break
            part /= 2.0
        density, reached = moved, higher
    return Fit(share, curvature)


def _solve_positive(first: Float, second: Float, right: Float) -> Float:
    """Solve linear equations with the first of two symmetric matrices that is positive definite."""
    try:
        return np.asarray(cho_solve(cho_factor(first), right), np.float64)
    except LinAlgError:
        return np.asarray(cho_solve(cho_factor(second), right), np.float64)


def likely_vectors(
    shares: Float,
    n_users: float,
    measures: Sequence[Measure],
    n: int,
    m: int,
    sampling: Sampling | str,
) -> Float:
    """Mean metrics under the likeliest smooth distribution, as vectors over sampled ranks.

    A vector is the derivative of the estimate in the shares of users, by differentiating the
    equation of the maximum, and its mean is the estimate. For AUC the estimate is unbiased. Shape
    (measures, m + 1).
    """
    cells = rank_cells(tuple(measures), n, m, sampling)
    likelihood = SampledRankLikelihood(cells.given, shares, n_users)
    fit = maximise(cells, likelihood)
    change = np.linalg.solve(fit.curvature, fit.gradients(cells.values))
    vectors = (n_users * likelihood.slopes(fit.share).T @ change).T
    vectors += (fit.share @ cells.values - vectors @ shares)[:, None]
    for place, measure in enumerate(measures):
        if measure.metric.needs_candidates:
            vectors[place] = measure.sampled_values(m)
    return vectors


def likely_estimates(
    histograms: Int, measures: Sequence[Measure], n: int, m: int, sampling: Sampling | str
) -> Float:
    """Estimate by `likely` from each of several samples of the same users, without vectors.

    `histograms` counts users at every sampled rank, shape (samples, m + 1). Returns shape
    (measures, samples).
    """
    n_users = float(histograms[0].sum())
    shares = histograms / n_users
    cells = rank_cells(tuple(measures), n, m, sampling)
    fits = [
        maximise(cells, SampledRankLikelihood(cells.given, of_one, n_users)) for of_one in shares
    ]
    estimates = np.column_stack([cells.values.T @ fit.share for fit in fits])
    for place, measure in enumerate(measures):
        if measure.metric.needs_candidates:
            estimates[place] = shares @ measure.sampled_values(m)
    return estimates


def likely_log_errors(
    histogram: ArrayLike, measures: Sequence[Measure], n: int, m: int, sampling: Sampling | str
) -> Float:
    """Standard deviation of the log of each exact metric about `likely`, shape (measures,).

    It is that of the posterior distribution, to first order: of chance, and of what is usual above
    rank n/m. The exact metric is within a factor of exp(1.96 x) in about 95 % of the cases. It is
    nan for AUC, of which the interval of the unbiased estimate is about the exact metric.
    """
    counts = np.asarray(histogram, dtype=np.float64)
    n_users = float(counts.sum())
    cells = rank_cells(tuple(measures), n, m, sampling)
    fit = maximise(cells, SampledRankLikelihood(cells.given, counts / n_users, n_users))
    errors = fit.log_errors(cells.values)
    is_unbiased = [measure.metric.needs_candidates for measure in measures]
    return np.where(is_unbiased, np.nan, errors)
