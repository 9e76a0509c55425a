"""The `likely` estimator: metrics under the likeliest smooth distribution of true ranks.

Let x be the log of a rank and g(x) the log of the probability of that rank. The estimate of g
maximises the penalised log likelihood

    log P(data | g) - STIFFNESS / 2 int (g' - SLOPE)^2 + (g'')^2 dx,   SLOPE = -0.3, STIFFNESS = 4.

The penalty is the log density of a Gaussian process: slopes vary about -0.3 with a standard
deviation of 1 / sqrt(2 STIFFNESS) = 0.35, and slopes at ranks a factor of e apart are almost
independent. A slope of -0.3 means that the share of users at ranks up to k grows as k^0.7.
For D users with a share f_i of them at sampled rank i + 1,

    log P(data | g) = D sum_i f_i log q_i,   q_i = sum_r p(r) P(i | r);

for printed means of sampled metrics see `printed.likely`. The density is constant within each of
about 100 cells of ranks; 400 cells change the estimates by less than 0.2 % (tests).

SLOPE and STIFFNESS minimise the root mean square of the log errors of Recall@10, NDCG@10 and AP
with 20, 100 and 500 negatives on MovieLens 1M and six other data sets, 64 recommenders in all
(`make measure PAGE=estimators`). The minimum is flat from -0.25 to -0.35 and from 3 to 8.
docs/estimators.md shows where the assumption fails: a random order, a flat top, and rules that
decide the top ranks.

Penalised likelihood is a standard method for densities and for mixing distributions (Good and
Gaskins, "Nonparametric Roughness Penalties for Probability Densities", 1971; Efron, "Empirical
Bayes Deconvolution Estimates", 2016). For sampled ranks we know of publications on maximum
likelihood and on maximum entropy only (Jin, Li, Mudrak, Gao and Liu, AAAI 2021).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics.estimators.least_squares import mean_up_to
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.probability import sampled_rank_distribution

SLOPE = -0.3  # prior mean of g', see above
STIFFNESS = 4.0  # 1 / (2 * 0.35^2), see above
CELLS = 100  # cells of ranks, each wider than the one before by the same factor
_MAX_STEPS = 500  # steps of the optimiser; synthetic data takes at most 50, real data 10
_LARGEST_STEP = 2.0  # change of a log probability in one step
_SMALLEST_STEP = 1e-8  # change at which the optimiser stops
_LEAST_PROBABILITY = 1e-300  # keeps the log of an impossible sampled rank finite
_LEAST_GAIN = 1e-8  # of the log likelihood; rounding hides whether a step gains less
_ARMIJO = 1e-4  # least share of the gain predicted by the gradient that a step must achieve


class Cells(NamedTuple):
    """Cells of ranks, of about equal width in the log of the rank.

    Attributes
    ----------
    widths
        Number of ranks in each cell, shape (cells,).
    probabilities
        Mean probability of each sampled rank over the ranks of a cell, shape (cells, m + 1).
    values
        Mean metrics over the ranks of a cell, shape (cells, measures).
    usual_log_density
        g with the slope SLOPE everywhere, shape (cells,); the penalty is 0 there.
    stiffness
        Second derivatives of the penalty by g, shape (cells, cells).
    """

    widths: Int
    probabilities: Float
    values: Float
    usual_log_density: Float
    stiffness: Float

    def share(self, log_density: Float) -> Float:
        """Return the share of users in each cell, from the log probability of a rank there."""
        share = self.widths * np.exp(log_density - log_density.max())
        return share / share.sum()


class Derivatives(NamedTuple):
    """Derivatives of a log likelihood by g in each cell."""

    gradient: Float  # shape (cells,)
    curvature: Float  # second derivatives times -1, shape (cells, cells)
    information: Float  # expectation of `curvature`, which is positive semidefinite


class Likelihood(Protocol):
    """The likelihood of data as a function of the share of users in each cell."""

    def log(self, share: Float) -> float:
        """Return the log likelihood, up to a constant."""

    def derivatives(self, share: Float) -> Derivatives:
        """Return the derivatives of the log likelihood."""


class Fit(NamedTuple):
    """The likeliest smooth distribution of true ranks."""

    share: Float  # of users in each cell
    curvature: Float  # second derivatives of the penalised log likelihood times -1
    log_density: Float  # g in each cell

    def gradients(self, values: Float) -> Float:
        """Return the derivatives of mean metrics by g in each cell, shape (cells, measures)."""
        return self.share[:, None] * (values - self.share @ values)

    def log_errors(self, values: Float) -> Float:
        """Return the posterior standard deviation of the log of each mean metric."""
        gradients = self.gradients(values)
        variances = (gradients * np.linalg.solve(self.curvature, gradients)).sum(axis=0)
        return np.sqrt(np.maximum(variances, 0.0)) / (self.share @ values)


@dataclass(frozen=True, eq=False)
class SampledRankLikelihood:
    """The likelihood of sampled ranks: D sum_i f_i log q_i."""

    probabilities: Float  # of sampled ranks in each cell, shape (cells, m + 1)
    shares: Float  # f, of users at each sampled rank, shape (m + 1,)
    n_users: float  # D

    def log(self, share: Float) -> float:
        """Return the log likelihood, up to a constant."""
        is_observed = self.shares > 0.0
        logs = np.log(self._expected(share)[is_observed])
        return self.n_users * float(self.shares[is_observed] @ logs)

    def derivatives(self, share: Float) -> Derivatives:
        """Return the derivatives of the log likelihood by g.

        With the slopes a_ci of log q_i by g in cell c, and s the share of users in each cell, D
        users have

        - the gradient D e, where e = sum_i f_i a_i;
        - the curvature D (sum_i f_i a_i a_i' - diag(e) + e s' + s e');
        - the information D sum_i q_i a_i a_i', as e is 0 where f = q.
        """
        slopes = self.slopes(share)
        excess = slopes @ self.shares  # e
        crossed = np.outer(excess, share)
        curvature = (slopes * self.shares) @ slopes.T - np.diag(excess) + crossed + crossed.T
        information = (slopes * self._expected(share)) @ slopes.T
        return Derivatives(
            gradient=self.n_users * excess,
            curvature=self.n_users * curvature,
            information=self.n_users * information,
        )

    def slopes(self, share: Float) -> Float:
        """Return the derivatives of log q by g in each cell, shape (cells, m + 1)."""
        return share[:, None] * (self.probabilities / self._expected(share) - 1.0)

    def _expected(self, share: Float) -> Float:
        """Return q, the expected share of users at each sampled rank."""
        return np.maximum(share @ self.probabilities, _LEAST_PROBABILITY)


@lru_cache(maxsize=4)
def rank_cells(measures: tuple[Measure, ...], n: int, m: int, sampling: Sampling | str) -> Cells:
    """Divide the ranks 1 ... n into cells, and average probabilities and metrics over each.

    The result is cached, so its arrays must not be changed.
    """
    last = np.unique(np.geomspace(1, n, CELLS).round().astype(np.int64))  # rank of each cell
    widths = np.diff(last, prepend=0)
    # A held-out item that is tied with all others of a cell has each of its ranks equally often.
    tied = Ranks(np.full(last.size, n), n_better=last - widths, n_tied=widths - 1)
    sums_to_last = [last * mean_up_to(last, measure, n) for measure in measures]
    sums = [np.diff(sums_of_metric, prepend=0) for sums_of_metric in sums_to_last]
    log_middle = np.log(last - (widths - 1) / 2)
    stiffness = smoothness(log_middle)
    stiffness[0, 0] += 1.0  # fixes the level of g, which probabilities do not determine
    return Cells(
        widths=widths,
        probabilities=sampled_rank_distribution(tied, m, sampling),
        values=np.array(sums).T / widths[:, None],
        usual_log_density=SLOPE * log_middle,
        stiffness=stiffness,
    )


def smoothness(x: Float) -> Float:
    """Return the second derivatives of STIFFNESS / 2 int (g')^2 + (g'')^2 dx by g at points `x`.

    Derivatives of g are finite differences: those of first order between neighbouring points, and
    those of second order at the inner points, each counted with its step h of x:

        (g')^2 h = (difference of g)^2 / h,   (g'')^2 h = (difference of g')^2 / h.

    Shape (points, points).
    """
    steps = np.diff(x)
    slopes = np.diff(np.eye(x.size), axis=0) / steps[:, None]  # g' = slopes @ g
    slope_changes = np.diff(slopes, axis=0)
    inner_steps = (steps[1:] + steps[:-1]) / 2
    of_slopes = (slopes.T * steps) @ slopes
    of_bends = (slope_changes.T / inner_steps) @ slope_changes
    return np.asarray(STIFFNESS * (of_slopes + of_bends))


def maximise(
    cells: Cells, likelihood: Likelihood, start: Float | None = None, least_gain: float = 0.0
) -> Fit:
    """Maximise the penalised log likelihood over g, the log density in each cell.

    Steps are those of Newton's method, curvature^-1 gradient, where the curvature is positive
    definite, and of Fisher scoring, information^-1 gradient, elsewhere. A step that gains too
    little is halved, so the penalised likelihood rises at every step. Fisher scoring alone fails
    where nearly all of many users have one sampled rank.

    Parameters
    ----------
    cells, likelihood
        The cells with the penalty, and the likelihood of the data.
    start
        g to begin with; by default the usual slope.
    least_gain
        The maximum is taken as found where the next step would gain less.
    """
    log_density = cells.usual_log_density if start is None else start
    for _ in range(_MAX_STEPS):
        unpenalised = likelihood.derivatives(cells.share(log_density))
        deviation = log_density - cells.usual_log_density
        gradient = unpenalised.gradient - cells.stiffness @ deviation
        curvature = unpenalised.curvature + cells.stiffness
        information = unpenalised.information + cells.stiffness
        step = _solve_positive_definite(curvature, information, gradient)
        gain = float(gradient @ step)  # predicted for a whole step
        if np.ptp(step) < _SMALLEST_STEP or 0.0 <= gain < least_gain:
            break
        log_density = _go_uphill(cells, likelihood, log_density, step, gain)
    return Fit(cells.share(log_density), curvature, log_density)


def _go_uphill(
    cells: Cells, likelihood: Likelihood, start: Float, step: Float, gain: float
) -> Float:
    """Return g after a fraction of a step from `start`, halved until it gains enough.

    The penalised likelihood must rise by at least a small part of what the gradient predicts for
    this fraction (the rule of Armijo). Where rounding hides whether it rises, the step is taken as
    it is.

    Parameters
    ----------
    cells, likelihood
        As for `maximise`.
    start, step
        g, and a direction in which the penalised likelihood rises; shape (cells,).
    gain
        Predicted for the whole step.
    """

    def penalised(log_density: Float) -> float:
        deviation = log_density - cells.usual_log_density
        penalty = float(deviation @ cells.stiffness @ deviation) / 2.0
        return likelihood.log(cells.share(log_density)) - penalty

    start_value = penalised(start)
    fraction = min(1.0, _LARGEST_STEP / float(np.ptp(step)))
    while True:
        moved = start + fraction * step
        is_rounding = gain < _LEAST_GAIN or fraction * gain < _LEAST_GAIN * _LEAST_GAIN
        if is_rounding or penalised(moved) >= start_value + _ARMIJO * fraction * gain:
            return moved
        fraction /= 2.0


def _solve_positive_definite(matrix: Float, substitute: Float, right: Float) -> Float:
    """Solve linear equations; with `substitute` if the matrix is not positive definite."""
    try:
        factor = scipy.linalg.cho_factor(matrix)
    except scipy.linalg.LinAlgError:
        factor = scipy.linalg.cho_factor(substitute)
    return np.asarray(scipy.linalg.cho_solve(factor, right), np.float64)


def likely_vectors(
    shares: Float,
    n_users: float,
    *,
    measures: Sequence[Measure],
    n: int,
    m: int,
    sampling: Sampling | str,
) -> Float:
    """Return mean metrics under the likeliest smooth distribution as vectors over sampled ranks.

    A vector is the derivative of the estimate by the shares f of users at the sampled ranks, plus a
    constant so that its mean over users is the estimate. At the maximum, gradient(g, f) = 0. Its
    derivatives are -curvature by g, and D a by f, a the slopes of log q (see
    `SampledRankLikelihood`). So for a metric with the derivatives v by g,

        derivative by f = (D a)' curvature^-1 v.

    For AUC the vector is the unbiased estimator instead.

    Parameters
    ----------
    shares, n_users
        Share of the users at each sampled rank, shape (m + 1,), and their number.
    measures, n, m, sampling
        As for `estimator_matrix`.

    Returns
    -------
    float64, shape (measures, m + 1).
    """
    cells = rank_cells(tuple(measures), n, m, sampling)
    likelihood = SampledRankLikelihood(cells.probabilities, shares, n_users)
    fit = maximise(cells, likelihood)
    by_log_density = fit.gradients(cells.values)  # v, shape (cells, measures)
    solved = np.linalg.solve(fit.curvature, by_log_density)
    vectors = (n_users * likelihood.slopes(fit.share).T @ solved).T
    estimates = fit.share @ cells.values
    # A constant changes no derivative, as the shares sum to 1.
    vectors += (estimates - vectors @ shares)[:, None]
    for i, measure in enumerate(measures):
        is_auc = measure.metric.needs_candidates
        if is_auc:
            vectors[i] = measure.sampled_values(m)
    return vectors


def likely_estimates(
    histograms: Int, measures: Sequence[Measure], n: int, m: int, sampling: Sampling | str
) -> Float:
    """Estimate by `likely` from several samples of the same users, without computing vectors.

    As in `likely_vectors`, the unbiased estimator takes its place for AUC.

    `histograms` counts the users at each sampled rank, shape (samples, m + 1). Returns float64 of
    shape (measures, samples).
    """
    n_users = float(histograms[0].sum())
    shares = histograms / n_users
    cells = rank_cells(tuple(measures), n, m, sampling)
    likelihoods = [SampledRankLikelihood(cells.probabilities, row, n_users) for row in shares]
    fits = [maximise(cells, likelihood) for likelihood in likelihoods]
    estimates = np.column_stack([cells.values.T @ fit.share for fit in fits])
    for i, measure in enumerate(measures):
        is_auc = measure.metric.needs_candidates
        if is_auc:
            estimates[i] = shares @ measure.sampled_values(m)
    return estimates


def likely_log_errors(
    histogram: ArrayLike, measures: Sequence[Measure], n: int, m: int, sampling: Sampling | str
) -> Float:
    """Return the standard error of the log of each metric estimated by `likely`.

    It is the posterior standard deviation to first order, which covers both chance and the shape of
    the distribution above rank n/m. The exact metric is within a factor of exp(1.96 x error) of the
    estimate in about 95 % of the cases. It is nan for AUC, whose estimate is unbiased and has the
    usual confidence interval.

    `histogram` counts the users at each sampled rank, shape (m + 1,). Returns float64 of shape
    (measures,).
    """
    counts = np.asarray(histogram, dtype=np.float64)
    n_users = float(counts.sum())
    cells = rank_cells(tuple(measures), n, m, sampling)
    likelihood = SampledRankLikelihood(cells.probabilities, counts / n_users, n_users)
    errors = maximise(cells, likelihood).log_errors(cells.values)
    is_unbiased = [measure.metric.needs_candidates for measure in measures]
    return np.where(is_unbiased, np.nan, errors)
