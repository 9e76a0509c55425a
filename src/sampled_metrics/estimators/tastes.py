"""The `likely` estimator from counts by stratum: the likeliest ranks and tastes for popularity.

A user belongs to a cell (L, t). L is the expected number of candidates that are better than the
held-out item, and t tells how much popular items are preferred among them: a candidate of stratum h
is better with probability

    phi_h(L, t) = Phi(a + t x_h + d_h(L)),                                                   (1)

where x_h is the log popularity, Phi the distribution function of the normal distribution, and a
such that the probabilities of all candidates sum to L. Given the cell, candidates are better
independently of each other. A taste of 0 does not look at popularity, and a large one orders items
by it. The bend d, which all tastes share, is 0 at first. Where many negatives tell that popularity
acts in another way, such as most on items of middle popularity, it is fitted (`_bend_further`).

The share of users in the cells is exp(g), and g maximises

    sum_u log sum_c share_c prod_h Binomial(better_uh; drawn_uh, phi_hc) - penalty(g),       (2)

with the penalty of `estimators.smooth` along log L, weighted by the share of each taste, and
ROUGHNESS / 2 times the squared second differences of g across tastes. The estimate is the mean over
users of the posterior mean of the metric at rank 1 + (better negatives) + (better ones among the
candidates that were not drawn), whose number is about Poisson distributed.

The standard error of the log of an estimate is e with

    e^2 = ((1 + c u) e_0)^2 + log(v / v_0)^2 + f^2,                                          (3)

where e_0 follows from the curvature of (2), as in `estimators.smooth`. The share u of the metric
belongs to users of whom nobody can tell whether their rank is 1 or 10, since less than one of 10
better candidates is drawn: there the metric rests on the penalty. v_0 is the estimate without a
bend and with equal weights of the tastes. The floor f covers tastes that are no such curves;
CURVE_ERROR was chosen on MovieLens 1M. c was chosen on six made-up catalogues and MovieLens, with
five designs, 20, 100 and 500 negatives and four or five recommenders each. With two other
catalogues and other draws, intervals contain at least 85 % of the exact metrics in each of 105
groups (a catalogue, a design and a number of negatives), and 99 % in all; with the floor alone they
contain less in 9.

It fails where ranks are far from smooth. Where genres decide alone, estimates from 100 negatives
are 20 % to 50 % off, and intervals are as wide. Where mostly unpopular items are above the held-out
one, estimates from popularity negatives are 20 % to 35 % low, from half uniform ones 0 % to 20 %.
With 20 negatives, metrics can be off by half, and from 20,000 candidates, where the HR@10 of one of
four recommenders is .6, intervals from 20 uniform ones contain 75 %.

ROUGHNESS and the probit (1) were chosen on MovieLens 100K and 1M, where a logistic curve has twice
the bias. Tastes and bends were chosen on these and on four made-up catalogues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, ndtr, ndtri, xlogy

from sampled_metrics._base.array_types import Float, Int, RowSelection
from sampled_metrics._base.arrays import ceil_divide
from sampled_metrics.estimators.smooth import SLOPE, Cells, Derivatives, Fit, maximise, smoothness
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks.strata import StratumCounts

TASTES = np.array([-1.0, -0.4, 0.0, 0.35, 0.7, 1.2, 2.5, 6.0])  # t, see above
ROUGHNESS = 0.3  # of g across tastes, see above
N_LEVELS = 40  # cells of L
_LEAST_LEVEL = 0.03  # smallest L; fewer better candidates than this are rank 1 as well
_LARGEST_LEVEL = 0.98  # largest L, as a share of the candidates
_BISECTIONS = 62  # steps that find a in (1) to the precision of float64
_LARGEST_START = 300.0  # of a; popularities differ by a factor of exp(50) at most
# Of phi, so that its log, that of 1 - phi and the slope of (1) are finite.
_LEAST_PHI, _LARGEST_PHI = 1e-12, 1.0 - 1e-9
_TASTE_RIDGE = 1e-3  # of g; bounds trends across tastes, which ROUGHNESS does not
_ROUNDS = 2  # fits that adapt the penalty and the bend to the recommender
_BEND_BY_LEVEL = 0.7  # width in log L, and
_BEND_BY_POPULARITY = 0.4  # in log popularity, of the kernels that smooth the bend
_BEND_PRECISION = 10.0  # information with which the bend is 0 before counts are seen
_LEAST_WEIGHT = 0.3  # of the tastes together, however few users have one
_TABULATED = 400  # numbers of unseen better candidates in the tables of metrics
_GRID_POINTS = 200  # means in these tables, on a logarithmic scale
CURVE_ERROR = 0.07  # f in (3)
CURVE_ERROR_OF_FEW = 0.10  # with fewer negatives than FEW_NEGATIVES
FEW_NEGATIVES = 50
_INFLATION = 0.4  # c in (3)
_FEW_DRAWS = 10.0  # better candidates; if less than one of so many is drawn, a rank is not known
_LEAST_POSTERIOR = 1e-7  # of a cell, with which it counts in the estimate
_LEAST_GAIN = 1e-6  # of the log likelihood, below which a fit ends
_LEAST_LIKELIHOOD = 1e-300  # keeps the log finite if no cell with users explains a row
_BLOCK = 4096  # rows in temporary arrays of rows and cells
_PILOT = 20_000  # rows of the fit from which the fit to more rows starts
_GUESSED, _GUESS = 10_000, 2_000  # so many rows start from a fit to about so few of them


@dataclass(frozen=True, eq=False)
class CellLikelihood:
    """The likelihood of each row's counts in each cell, up to a factor for the row.

    Attributes
    ----------
    by_user
        Likelihood divided by the largest of the row, shape (rows, cells).
    weights
        How much each row counts, shape (rows,).
    """

    by_user: Float
    weights: Float

    def posterior(self, share: Float, rows: slice = slice(None)) -> Float:
        """Return the probability of each cell given the counts of rows, shape (rows, cells)."""
        joint = self.by_user[rows] * share
        return joint / joint.sum(axis=1, keepdims=True)

    def log(self, share: Float) -> float:
        """Return the log likelihood, up to a constant."""
        return float(self.weights @ np.log(self._expected(share)))

    def derivatives(self, share: Float) -> Derivatives:
        """Return the derivatives of the log likelihood by g.

        A row u with the weight w_u has the posterior p_u of the cells, and s is the share of users.

        - The gradient is e = sum_u w_u (p_u - s).
        - The information is sum_u w_u (p_u - s) (p_u - s)', the products of the terms of e.
        - The curvature is the information - diag(e) + e s' + s e'.

        The information is computed from sum_u w_u p_u p_u', in blocks of rows.
        """
        expected = self._expected(share)
        n_users = float(self.weights.sum())
        scale = np.sqrt(self.weights) / expected
        products_of_likelihoods = np.zeros((share.size, share.size))
        for rows in _blocks(len(expected)):
            scaled = self.by_user[rows] * scale[rows, None]
            products_of_likelihoods += scaled.T @ scaled
        shares = np.outer(share, share)
        products_of_posteriors = products_of_likelihoods * shares
        gradient = share * (self.by_user.T @ (self.weights / expected) - n_users)
        crossed = np.outer(gradient, share)
        information = products_of_posteriors - (crossed + crossed.T + n_users * shares)
        curvature = information - np.diag(gradient) + crossed + crossed.T
        return Derivatives(gradient, curvature, information)

    def _expected(self, share: Float) -> Float:
        """Return the likelihood of each row if the cells have these shares, shape (rows,)."""
        return np.maximum(self.by_user @ share, _LEAST_LIKELIHOOD)

    def take(self, rows: RowSelection, factor: float) -> CellLikelihood:
        """Return the likelihood of some rows, each of which counts `factor` times as much."""
        return CellLikelihood(self.by_user[rows], factor * self.weights[rows])


def _blocks(n_rows: int) -> list[slice]:
    """Divide rows into blocks whose temporary arrays are small."""
    return [slice(start, start + _BLOCK) for start in range(0, n_rows, _BLOCK)]


class TasteEstimates(NamedTuple):
    """Estimates of metrics from counts by stratum.

    Attributes
    ----------
    values, log_errors
        Estimate of each metric, and the standard error of its log.
    share
        Share of users by L and taste, shape (levels, tastes).
    by_row
        Posterior mean of each metric for each row, shape (measures, rows).
    """

    values: Float
    log_errors: Float
    share: Float
    by_row: Float


def better_probabilities(
    levels: Float, log_popularity: Float, n_candidates: Float, bend: Float | None = None
) -> Float:
    """Return the probability phi of (1) that a candidate is better than the held-out item.

    Parameters
    ----------
    levels
        L, the expected number of better candidates, shape (levels,).
    log_popularity, n_candidates
        Log popularity and number of the candidates of each stratum, shape (strata,).
    bend
        d, shape (levels, strata); 0 by default.

    Returns
    -------
    float64, shape (levels, tastes, strata).

    Examples
    --------
    >>> sizes = np.array([5.0, 20, 100])
    >>> phi = better_probabilities(np.array([30.0]), np.array([3.0, 1, 0]), sizes)
    >>> (phi @ sizes).round(6)
    array([[30., 30., 30., 30., 30., 30., 30., 30.]])
    """
    mean = np.average(log_popularity, weights=n_candidates)
    preference = TASTES[None, :, None] * (log_popularity - mean)  # t x + d
    if bend is not None:
        preference = preference + bend[:, None, :]
    phi = ndtr(_find_offsets(preference, levels, n_candidates) + preference)
    return np.clip(phi, _LEAST_PHI, _LARGEST_PHI)


def _find_offsets(preference: Float, levels: Float, n_candidates: Float) -> Float:
    """Find by bisection the a of (1): sum over h of n_h Phi(a + t x_h + d_h) = L.

    Parameters
    ----------
    preference
        t x + d, shape (levels or 1, tastes, strata).
    levels
        L, shape (levels,).
    n_candidates
        n_h, shape (strata,).

    Returns
    -------
    shape (levels, tastes, 1)
    """
    low = np.full((levels.size, TASTES.size, 1), -_LARGEST_START)
    high = -low
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        n_better = ndtr(middle + preference) @ n_candidates
        has_too_many = (n_better > levels[:, None])[..., None]
        high = np.where(has_too_many, middle, high)
        low = np.where(has_too_many, low, middle)
    return np.asarray((low + high) / 2.0)


def _penalty(log_level: Float, taste_weights: Float) -> Float:
    """Return the second derivatives of the penalty by g, shape (cells, cells).

    Cells are in the order (levels, tastes). Two penalties are added up: along log L for each taste,
    and across tastes at each level. The weights of the tastes sum to 1, so that a change of g that
    all tastes share costs as much as in `estimators.smooth`.
    """
    second_differences = np.diff(np.eye(taste_weights.size), 2, axis=0)
    across = ROUGHNESS * second_differences.T @ second_differences
    across = across + _TASTE_RIDGE * np.eye(taste_weights.size)
    mean_step = np.diff(log_level).mean()
    along_levels = np.kron(smoothness(log_level), np.diag(taste_weights))
    across_tastes = np.kron(np.eye(log_level.size) * mean_step, across)
    penalty = along_levels + across_tastes
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
    bend
        d of equation (1), shape (levels, strata).
    likelihood
        The likelihood of the rows in each cell.
    fit
        The shares of users, and the curvature of the penalised log likelihood.
    cells
        The cells with the penalty of the last fit.
    unbent_share
        The shares of users without a bend, shape (cells,).
    """

    levels: Float
    probabilities: Float
    bend: Float
    likelihood: CellLikelihood
    fit: Fit
    cells: Cells
    unbent_share: Float

    @property
    def level_of_cell(self) -> Float:
        """L of each cell, shape (cells,)."""
        return np.repeat(self.levels, TASTES.size)


def fit_tastes(counts: StratumCounts, weights: Float | None = None) -> TasteFit:
    """Maximise the penalised likelihood (2) of counts by stratum.

    A recommender whose users have one taste would have only a part of the penalty along L. So the
    weights of the tastes are then set to their shares, and the fit is repeated, with a bend.

    With many rows, a part of them is fitted first. It tells the bend and the weights of tastes, and
    the shares of users are then those of all rows.

    Parameters
    ----------
    counts
        Better and drawn negatives, and candidates, by row and stratum.
    weights
        How much each row counts, shape (rows,); all 1 by default. Rows of a user may depend on each
        other entirely, so weights should sum to the number of users: 1 over the number of rows of
        the user, or, if means are over visits, (users / visits) over the number of rows of the
        visit.
    """
    n_rows = len(counts.better)
    row_weights = np.ones(n_rows) if weights is None else weights
    every = ceil_divide(n_rows, _PILOT)
    if every == 1:
        return _fit_rounds(counts, row_weights)
    pilot_rows = slice(None, None, every)
    scale = row_weights.sum() / row_weights[pilot_rows].sum()
    pilot = _fit_rounds(counts.take(pilot_rows), row_weights[pilot_rows] * scale)
    likelihood = CellLikelihood(_likelihood(counts, pilot.probabilities), row_weights)
    fit = maximise(pilot.cells, likelihood, pilot.fit.log_density, _LEAST_GAIN)
    return replace(pilot, likelihood=likelihood, fit=fit)


def _fit_rounds(counts: StratumCounts, weights: Float) -> TasteFit:
    """Fit the shares of cells, then the bend and the penalty as well."""
    n_candidates = np.average(counts.candidates, axis=0, weights=weights).sum()
    levels = np.geomspace(_LEAST_LEVEL, _LARGEST_LEVEL * n_candidates, N_LEVELS)
    guess = _guess(counts, weights, levels) if len(weights) >= _GUESSED else None
    fit = _fit_shares(counts, weights, levels, guess=guess)
    for _ in range(_ROUNDS):
        fit = refit(fit, counts, weights)
    return fit


def _guess(counts: StratumCounts, weights: Float, levels: Float) -> Float:
    """Return g of a fit to some of many rows, each with its own weight.

    Far from the maximum, the more rows there are the more steps a fit takes, and the longer each.
    """
    some = slice(None, None, len(weights) // _GUESS)
    return _fit_shares(counts.take(some), weights[some], levels).fit.log_density


def refit(fit: TasteFit, counts: StratumCounts, weights: Float) -> TasteFit:
    """Fit counts once more, or slightly different ones, starting from a fit.

    `fit` has to be a fit of as many rows, and rows with a weight of 0 do not count.
    """
    return _fit_shares(counts, weights, fit.levels, fit)


def _fit_shares(
    counts: StratumCounts,
    weights: Float,
    levels: Float,
    start: TasteFit | None = None,
    *,
    guess: Float | None = None,
) -> TasteFit:
    """Fit the shares of cells, with the bend and the weights of tastes that `start` suggests.

    Without `start` there is no bend, and all tastes have the same weight.

    Parameters
    ----------
    counts, weights
        Counts by row and stratum, and how much each row counts.
    levels
        L of the cells.
    start
        The fit before.
    guess
        g to begin with if there is no fit before; by default the usual slope.
    """
    n_candidates = np.average(counts.candidates, axis=0, weights=weights)
    if start is None:
        bend = np.zeros((levels.size, n_candidates.size))
        share_of_taste = np.full(TASTES.size, 1.0 / TASTES.size)
    else:
        bend = _bend_further(start, counts, weights)
        share_of_taste = start.fit.share.reshape(levels.size, -1).sum(axis=0)
    phi = better_probabilities(levels, counts.log_popularity, n_candidates, bend)
    cells = _cells(levels, phi, share_of_taste)
    likelihood = CellLikelihood(_likelihood(counts, cells.probabilities), weights)
    start_log_density = guess if start is None else start.fit.log_density
    fit = maximise(cells, likelihood, start_log_density, _LEAST_GAIN)
    return TasteFit(
        levels=levels,
        probabilities=cells.probabilities,
        bend=bend,
        likelihood=likelihood,
        fit=fit,
        cells=cells,
        unbent_share=fit.share if start is None else start.unbent_share,
    )


def _cells(levels: Float, phi: Float, share_of_taste: Float) -> Cells:
    """Return the cells of levels and tastes, with the penalty of their shares.

    The usual log density has the slope SLOPE by log L for a rank, and one more for a cell, as cells
    are equally wide in log L and not in L. A taste has the weight of its share, but for a part that
    all have.

    Parameters
    ----------
    levels
        L, shape (levels,).
    phi
        Of (1), shape (levels, tastes, strata).
    share_of_taste
        Share of users with each taste, shape (tastes,).
    """
    log_level = np.log(levels)
    taste_weights = (1.0 - _LEAST_WEIGHT) * share_of_taste + _LEAST_WEIGHT / TASTES.size
    n_cells = levels.size * TASTES.size
    no_values = np.zeros((n_cells, 0))  # metrics are computed after the fit
    return Cells(
        widths=np.ones(n_cells, np.int64),
        probabilities=phi.reshape(n_cells, -1),
        values=no_values,
        usual_log_density=np.repeat((SLOPE + 1.0) * log_level, TASTES.size),
        stiffness=_penalty(log_level, taste_weights),
    )


def _bend_further(fit: TasteFit, counts: StratumCounts, weights: Float) -> Float:
    """Return the bend d of (1), shape (levels, strata), one step further than that of a fit.

    It is a step of Fisher scoring for the expected log likelihood, where the posterior of each row
    tells its cell. With the expected numbers k of better and n of drawn negatives in a cell and
    stratum, and the derivative phi' of phi by d,

        gradient = (k - n phi) phi' / (phi (1 - phi)),   information = n phi'^2 / (phi (1 - phi)).

    Both are summed over tastes, and smoothed over neighbouring levels and strata by kernels.
    """
    better, drawn = _counts_in_cells(fit, counts, weights)
    phi = fit.probabilities
    density = np.exp(-(ndtri(phi) ** 2) / 2.0) / np.sqrt(2.0 * np.pi)  # phi'
    slope = density / (phi * (1.0 - phi))

    def sum_over_tastes(of_cells: Float) -> Float:
        return np.asarray(of_cells.reshape(fit.levels.size, TASTES.size, -1).sum(axis=1))

    by_level = _kernel(np.log(fit.levels), _BEND_BY_LEVEL)
    by_stratum = _kernel(counts.log_popularity, _BEND_BY_POPULARITY)

    def smooth(of_levels: Float) -> Float:
        return np.asarray(by_level @ of_levels @ by_stratum)

    gradient = smooth(sum_over_tastes((better - drawn * phi) * slope))
    information = smooth(sum_over_tastes(drawn * density * slope))
    # The bend is 0 with a certain precision before counts are seen.
    step = (gradient - _BEND_PRECISION * fit.bend) / (information + _BEND_PRECISION)
    return np.asarray(fit.bend + step)


def _counts_in_cells(fit: TasteFit, counts: StratumCounts, weights: Float) -> tuple[Float, Float]:
    """Return the expected numbers of better and of drawn negatives, shape (cells, strata)."""
    better, drawn = np.zeros_like(fit.probabilities), np.zeros_like(fit.probabilities)
    for rows in _blocks(len(weights)):
        posterior = fit.likelihood.posterior(fit.fit.share, rows) * weights[rows, None]
        better += posterior.T @ counts.better[rows].astype(np.float64)
        drawn += posterior.T @ counts.drawn[rows].astype(np.float64)
    return better, drawn


def _kernel(x: Float, width: float) -> Float:
    """Return a Gaussian kernel of the differences of x, 1 on the diagonal."""
    return np.asarray(np.exp(-((np.subtract.outer(x, x) / width) ** 2) / 2.0))


def _likelihood(counts: StratumCounts, phi: Float) -> Float:
    """Return the likelihood of the counts in each cell over the largest one, shape (rows, cells).

    Its log is the sum over strata h of better_h log phi_h + (drawn_h - better_h) log(1 - phi_h).

    Parameters
    ----------
    counts
        Better and drawn negatives by row and stratum.
    phi
        Probability that a candidate is better, shape (cells, strata).
    """
    log_better, log_worse = np.log(phi).T, np.log1p(-phi).T
    likelihood = np.empty((len(counts.better), len(phi)))
    for rows in _blocks(len(likelihood)):
        better = counts.better[rows].astype(np.float64)
        worse = counts.drawn[rows] - better
        logs = better @ log_better + worse @ log_worse
        logs -= logs.max(axis=1, keepdims=True)
        np.exp(logs, out=likelihood[rows])
    return likelihood


def estimate_by_tastes(
    counts: StratumCounts,
    measures: Sequence[Measure],
    n: int,
    fit: TasteFit | None = None,
    *,
    weights: Float | None = None,
) -> TasteEstimates:
    """Estimate metrics from counts by stratum of one held-out item of each row.

    The estimate of a metric is the mean over rows, by their weights, of its posterior mean.

    Parameters
    ----------
    counts
        Better and drawn negatives, and candidates, by row and stratum.
    measures, n
        Metrics of one held-out item, and the number of candidates with it.
    fit
        The result of `fit_tastes`, if it is known.
    weights
        As for `fit_tastes`; those of `fit` if it is passed.
    """
    if fit is None:
        fit = fit_tastes(counts, weights)
    by_row = posterior_means(counts, fit, measures, n)
    row_weights = fit.likelihood.weights
    values = by_row @ row_weights / row_weights.sum()
    errors = log_errors(fit, counts, measures, n)
    share_of_cell = fit.fit.share  # by level, then taste
    return TasteEstimates(
        values=values,
        log_errors=errors,
        share=share_of_cell.reshape(fit.levels.size, -1),
        by_row=by_row,
    )


def posterior_means(
    counts: StratumCounts, fit: TasteFit, measures: Sequence[Measure], n: int
) -> Float:
    """Return the posterior mean of each metric for each row, shape (measures, rows).

    It is the mean over cells of the metric at rank 1 + better negatives + X, where X, the number of
    better ones among the candidates that were not drawn, is Poisson distributed. `fit` is a fit of
    these rows.
    """
    n_better = np.minimum(counts.better.sum(axis=1), n - 1)
    distinct, table_row = np.unique(n_better, return_inverse=True)
    grid = _grid_of_means(n)
    ranks = np.arange(1, n + 1)
    # Of each metric, by better negatives (rows) and the mean of X (columns).
    tables = [_credit_table(each.value_at(ranks, n), distinct, grid) for each in measures]
    result = np.zeros((len(measures), len(n_better)))
    for rows in _blocks(len(n_better)):
        posterior = fit.likelihood.posterior(fit.fit.share, rows)
        row, cell = np.nonzero(posterior > _LEAST_POSTERIOR)
        probability = posterior[row, cell]
        undrawn = counts.candidates[rows] - counts.drawn[rows]
        mean_of_x = (undrawn @ fit.probabilities.T)[row, cell]
        column = _grid_position(mean_of_x, grid)
        for i, table in enumerate(tables):
            expected = _interpolate(table, table_row[rows][row], column)
            result[i, rows] = np.bincount(row, probability * expected, len(posterior))
    return result


def log_errors(
    fit: TasteFit,
    counts: StratumCounts,
    measures: Sequence[Measure],
    n: int,
    by_groups: Float | None = None,
) -> Float:
    """Return the standard error of the log of each metric, with all terms of (3).

    Parameters
    ----------
    fit, counts
        A fit, and the counts that it is fitted to.
    measures, n
        As for `estimate_by_tastes`.
    by_groups
        Errors that a jackknife found where rows depend on each other, shape (measures,); they take
        the place of smaller ones from the curvature.
    """
    of_cells = metrics_of_cells(fit, measures, n)
    drawn = np.average(counts.drawn, axis=0, weights=fit.likelihood.weights)  # by stratum
    values = of_cells @ fit.fit.share
    # u of (3): the share of a metric that belongs to cells whose rank the negatives hardly tell.
    drawn_of_better = fit.probabilities @ drawn
    is_undetermined = _FEW_DRAWS * drawn_of_better < fit.level_of_cell
    undetermined = (of_cells * fit.fit.share)[:, is_undetermined].sum(axis=1) / values
    unbent_values = of_cells @ fit.unbent_share  # v_0
    change_by_bend = np.log(values / unbent_values)
    error = fit.fit.log_errors(of_cells.T)  # e_0
    if by_groups is not None:
        error = np.maximum(error, by_groups)
    inflated = (1.0 + _INFLATION * undetermined) * error
    floor = CURVE_ERROR if drawn.sum() >= FEW_NEGATIVES else CURVE_ERROR_OF_FEW
    return np.asarray(np.sqrt(inflated**2 + change_by_bend**2 + floor**2))


def metrics_of_cells(fit: TasteFit, measures: Sequence[Measure], n: int) -> Float:
    """Return each metric of users in each cell before counts are seen, (measures, cells)."""
    ranks = np.arange(1, n + 1)
    none = np.zeros(1, np.int64)
    level = fit.level_of_cell[None]
    return np.array([mean_credit(each.value_at(ranks, n), none, level)[0] for each in measures])


def mean_credit(credit: Float, known: Int, unseen: Float) -> Float:
    """Return E credit[known + X] for X Poisson distributed with the mean `unseen`.

    It is interpolated in a table: the error is below 2 %, and below 0.1 % for metrics without a
    cut-off (tests).

    Parameters
    ----------
    credit
        A metric at the ranks 1 to n, shape (n,).
    known
        Better negatives of each row, shape (rows,).
    unseen
        Mean number of better candidates that were not drawn, shape (rows, cells).

    Returns
    -------
    float64, shape (rows, cells).
    """
    distinct, table_row = np.unique(np.minimum(known, credit.size - 1), return_inverse=True)
    grid = _grid_of_means(credit.size)
    table = _credit_table(credit, distinct, grid)
    return _interpolate(table, table_row[:, None], _grid_position(unseen, grid))


def _grid_of_means(n: int) -> Float:
    """Return the means of X at which metrics are tabulated, in ascending order."""
    return np.concatenate([[0.0], np.geomspace(1e-4, n, _GRID_POINTS)])


def _grid_position(means: Float, grid: Float) -> Float:
    """Return where means are in the grid, as fractional positions."""
    return np.interp(means, grid, np.arange(grid.size))


def _credit_table(credit: Float, known: Int, means: Float) -> Float:
    """Return E credit[known + X] for each known number and mean of X, shape (known, means).

    X is Poisson distributed: P(X = x) = mean^x exp(-mean) / x!. Its probabilities are summed up to
    the last rank with credit, or to `_TABULATED` numbers; larger numbers are taken to be the mean.

    Parameters
    ----------
    credit
        A metric at the ranks 1 to n, shape (n,).
    known
        Better negatives.
    means
        Means of X.
    """
    n = credit.size
    has_credit = credit > 1e-12 * credit[0]
    last_with_credit = int(np.flatnonzero(has_credit).max()) + 1
    size = min(last_with_credit, _TABULATED)
    x = np.arange(size)
    probabilities = np.exp(xlogy(x, means[:, None]) - means[:, None] - gammaln(x + 1.0))
    credit_and_beyond = np.append(credit, np.zeros(size))
    table = credit_and_beyond[known[:, None] + x] @ probabilities.T
    if last_with_credit > size:
        larger = np.maximum(1.0 - probabilities.sum(axis=1), 0.0)  # probability of X >= size
        at_mean = known[:, None] + np.maximum(means, size).astype(np.int64)
        table += larger * credit[np.minimum(at_mean, n - 1)]
    return np.asarray(table)


def _interpolate(table: Float, row: Int, column: Float) -> Float:
    """Return the elements of rows of a table at fractional columns, by straight lines."""
    left = np.minimum(column.astype(np.int64), table.shape[1] - 2)
    share_of_right = column - left
    return np.asarray(
        table[row, left] * (1.0 - share_of_right) + table[row, left + 1] * share_of_right
    )
