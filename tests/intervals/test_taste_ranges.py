"""Ranges from counts by stratum: they hold the exact metrics, and satisfy what defines them."""

import clarabel
import numpy as np
import pytest
from scipy import sparse
from scipy.special import ndtr, ndtri

from sampled_metrics.estimators.tastes import fit_tastes, mean_credit
from sampled_metrics.intervals.taste_ranges import fit_mixture, profile_ranges, tastes_are_safe
from sampled_metrics.ranks.strata import StratumCounts
from tests.estimators.test_tastes import MEASURES, count, draw, exact_values, made_up


def metrics_of_cells(fit, n):
    none = np.zeros(1, np.int64)
    of_ranks = [measure.value_at(np.arange(1, n + 1), n) for measure in MEASURES]
    return np.array([mean_credit(each, none, fit.level_of_cell[None])[0] for each in of_ranks])


@pytest.fixture(scope="module")
def sample():
    popularity, is_better, is_candidate = made_up(n_users=1000, n=300)
    is_drawn = draw(popularity, is_candidate, 50, seed=4)
    fit = fit_tastes(count(popularity, is_better, is_drawn, is_candidate))
    return fit, exact_values(is_better)


def solve_with_exponential_cones(likelihood, of_row, theta=None, least=None):
    """Maximise sum(of_row t), or theta @ x with sum(of_row t) >= least, where t <= log(L x).

    x are weights that sum to 1. A row is (t, 1, L x) in the cone of exp(t) <= L x.
    """
    n_rows, n = likelihood.shape
    blocks = np.zeros((n_rows, 3, n + n_rows))
    blocks[:, 2, :n] = -likelihood
    blocks[np.arange(n_rows), 0, n + np.arange(n_rows)] = -1.0
    total = np.concatenate([np.zeros(n), -of_row])
    simplex = np.concatenate([np.ones(n), np.zeros(n_rows)])
    matrix = [simplex, -np.eye(n, n + n_rows), blocks.reshape(-1, n + n_rows)]
    right = [[1.0], np.zeros(n), np.tile([0.0, 1.0, 0.0], n_rows)]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)]
    cones += [clarabel.ExponentialConeT()] * n_rows
    cost = total
    if theta is not None:
        matrix.append(total)
        right.append([-least])
        cones.append(clarabel.NonnegativeConeT(1))
        cost = np.concatenate([-theta, np.zeros(n_rows)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    problem = sparse.csc_array((cost.size, cost.size)), cost, sparse.csc_array(np.vstack(matrix))
    solution = clarabel.DefaultSolver(*problem, np.concatenate(right), cones, settings).solve()
    return -solution.obj_val


def test_ends_are_those_of_a_general_solver():
    popularity, is_better, is_candidate = made_up(n_users=60, n=60)
    fit = fit_tastes(
        count(popularity, is_better, draw(popularity, is_candidate, 15, 1), is_candidate)
    )
    of_row = np.repeat([1.0, 0.5], [20, 40])
    mixture = fit_mixture(fit, 20, of_row)
    likeliest = solve_with_exponential_cones(mixture.likelihood, of_row)
    assert mixture.log(mixture.weights) == pytest.approx(likeliest, abs=0.02)
    values = metrics_of_cells(fit, 60)
    ranges = profile_ranges(mixture, values, 0.95, design_effect=1.5, share_of_drop=0.5)
    least = likeliest - 1.959964**2 / 2 * 1.5 * 0.5
    for (low, high, _), theta in zip(ranges, mixture.expand(values), strict=True):
        exact_high = solve_with_exponential_cones(mixture.likelihood, of_row, theta, least)
        exact_low = -solve_with_exponential_cones(mixture.likelihood, of_row, -theta, least)
        assert exact_high - 1e-5 <= high <= 1.005 * exact_high
        assert 0.99 * exact_low <= low <= exact_low + 1e-5


def test_ranges_hold_the_exact_metrics_and_grow_with_the_confidence(sample):
    fit, exact = sample
    mixture = fit_mixture(fit, 30)
    values = metrics_of_cells(fit, 300)
    narrow, wide = (profile_ranges(mixture, values, confidence) for confidence in (0.7, 0.95))
    for (low, high, _), (lowest, highest, _), value in zip(narrow, wide, exact, strict=True):
        assert lowest <= low <= high <= highest
        assert lowest <= value <= highest


def test_no_mixture_is_likelier(sample):
    """The gradient of the log likelihood is n at used extreme points, and n or less at others."""
    fit, _ = sample
    mixture = fit_mixture(fit, 30)
    n_users = len(mixture.likelihood)
    gradient = mixture.likelihood.T @ (1.0 / (mixture.likelihood @ mixture.weights))
    assert gradient.max() < n_users + 0.02
    assert gradient @ mixture.weights == pytest.approx(n_users)


def test_a_design_effect_is_a_higher_confidence(sample):
    """A drop of 4 z^2 / 2 is one of (2 z)^2 / 2."""
    fit, _ = sample
    mixture = fit_mixture(fit, 30)
    values = metrics_of_cells(fit, 300)
    doubled = 2.0 * ndtr(2.0 * ndtri(0.975)) - 1.0
    ranges = profile_ranges(mixture, values, 0.95, design_effect=4.0)
    assert np.allclose(ranges, profile_ranges(mixture, values, doubled), rtol=1e-4)


def test_rows_of_half_a_weight_count_half(sample):
    fit, _ = sample
    mixture = fit_mixture(fit, 30)
    halves = fit_mixture(fit, 30, np.full(1000, 0.5))
    values = metrics_of_cells(fit, 300)
    # Half of the log likelihood drops by half as much.
    ranges = profile_ranges(halves, values, 0.95)
    assert np.allclose(ranges, profile_ranges(mixture, values, 0.95, design_effect=2.0), rtol=3e-3)


def averse(seed=0):
    """Return popularities and a recommender that puts popular items last."""
    popularity, _, is_candidate = made_up(n_users=600, n=300)
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=is_candidate.shape) - np.log(popularity)
    own = ~is_candidate
    scores[own] += 4.0
    return popularity, (scores > scores[own][:, None]) & is_candidate, is_candidate


@pytest.mark.parametrize(("uniform", "is_safe"), [(0, False), (25, True)])
def test_tastes_against_popularity_need_uniform_negatives(uniform, is_safe):
    popularity, is_better, is_candidate = averse()
    is_drawn = draw(popularity, is_candidate, 50 - uniform, seed=1)
    if uniform:
        is_drawn |= draw(np.ones(300), is_candidate & ~is_drawn, uniform, seed=2)
    counts = count(popularity, is_better, is_drawn, is_candidate)
    assert tastes_are_safe(fit_tastes(counts), counts, 300) is is_safe


def test_tastes_for_popularity_are_safe():
    popularity, is_better, is_candidate = made_up(n_users=600, n=300)
    counts = count(popularity, is_better, draw(popularity, is_candidate, 50, 1), is_candidate)
    mean_rate = 50 / 299  # negatives by other items
    rate_of_stratum = counts.drawn.sum(axis=0) / counts.candidates.sum(axis=0)
    assert rate_of_stratum.min() < mean_rate / 2  # so that tastes are not safe by the draws alone
    assert tastes_are_safe(fit_tastes(counts), counts, 300)


def test_uniform_negatives_are_safe():
    counts = StratumCounts(
        better=np.array([[1, 0], [0, 0]] * 30),
        drawn=np.array([[2, 2], [3, 1]] * 30),
        candidates=np.array([[10, 10], [10, 10]] * 30),
        log_popularity=np.array([0.0, 1.0]),
    )
    assert tastes_are_safe(fit_tastes(counts), counts, 21)
