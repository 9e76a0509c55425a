"""Ranges from counts by stratum: they hold the exact metrics, and satisfy what defines them."""

import numpy as np
import pytest

from sampled_metrics.estimators.tastes import fit_tastes, mean_credit
from sampled_metrics.intervals.taste_ranges import fit_mixture, profile_ranges
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
    assert gradient.max() < 1.01 * n_users
    assert gradient @ mixture.weights == pytest.approx(n_users)
