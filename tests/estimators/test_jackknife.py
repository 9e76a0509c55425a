"""Errors of rows that depend on each other: identities, and spreads over simulated sets."""

import numpy as np
import pytest

from sampled_metrics.estimators.jackknife import jackknife_log_errors, jackknife_over_negatives
from sampled_metrics.estimators.tastes import estimate_by_tastes, fit_tastes
from sampled_metrics.ranks.strata import JACKKNIFE_GROUPS, deal_in_groups
from tests.estimators.test_tastes import MEASURES, count, draw, exact_values, made_up


def test_groups_have_about_equal_sums():
    sizes = np.random.default_rng(0).lognormal(0.0, 1.0, 200)
    sums = np.bincount(deal_in_groups(sizes, 10), sizes)
    assert np.ptp(sums) < sizes.max()


@pytest.fixture(scope="module")
def sample():
    popularity, is_better, is_candidate = made_up(n_users=300, n=200)
    is_drawn = draw(popularity, is_candidate, 30, seed=1)
    return count(popularity, is_better, is_drawn, is_candidate)


def test_copies_of_rows_in_one_cluster_tell_nothing_new(sample):
    clusters = np.arange(300) // 10
    copied = np.repeat(np.arange(300), 3)
    errors = jackknife_log_errors(sample, clusters, MEASURES, 200)
    errors_of_copies = jackknife_log_errors(
        sample.take(copied), clusters[copied], MEASURES, 200, weights=np.full(900, 1.0 / 3.0)
    )
    assert errors_of_copies == pytest.approx(errors, rel=1e-3)


def test_errors_of_dependent_rows_are_no_smaller(sample):
    fit = fit_tastes(sample)
    independent = estimate_by_tastes(sample, MEASURES, 200, fit).log_errors
    of_clusters = jackknife_log_errors(sample, np.arange(300) // 10, MEASURES, 200, fit=fit)
    of_negatives = jackknife_over_negatives(
        [sample] * JACKKNIFE_GROUPS, sample, MEASURES, 200, fit=fit
    )
    assert (of_clusters >= independent).all()
    # Sets without a group that tell the same have no error of their own.
    assert of_negatives == pytest.approx(independent, rel=1e-6)


def test_too_few_clusters_are_refused(sample):
    with pytest.raises(ValueError, match="groups"):
        jackknife_log_errors(sample, np.zeros(300, int), MEASURES, 200)


def shared_set(popularity, is_better, is_candidate, items):
    is_drawn = np.zeros(is_candidate.shape, bool)
    is_drawn[:, items] = is_candidate[:, items]
    return count(popularity, is_better, is_drawn, is_candidate)


@pytest.mark.long
def test_errors_of_one_set_for_all_users_cover_the_spread_of_sets():
    popularity, is_better, is_candidate = made_up(n_users=600, n=400)
    popularity = np.ones_like(popularity) + 1e-9 * popularity  # counts that tell nothing
    logs, errors = [], []
    for seed in range(12):
        items = np.random.default_rng(seed).choice(400, 40, replace=False)
        counts = shared_set(popularity, is_better, is_candidate, items)
        group = deal_in_groups(popularity[items], JACKKNIFE_GROUPS)
        without = [
            shared_set(popularity, is_better, is_candidate, items[group != each])
            for each in range(JACKKNIFE_GROUPS)
        ]
        fit = fit_tastes(counts)
        logs.append(np.log(estimate_by_tastes(counts, MEASURES, 400, fit).values))
        errors.append(jackknife_over_negatives(without, counts, MEASURES, 400, fit=fit))
    spread = np.std(logs, axis=0, ddof=1)
    assert (np.median(errors, axis=0) > 0.8 * spread).all()
    is_inside = np.abs(logs - np.log(exact_values(is_better))) < 1.96 * np.array(errors)
    assert is_inside.mean() >= 0.85


@pytest.mark.long
def test_errors_of_batches_cover_the_spread_of_batches():
    popularity, is_better, is_candidate = made_up(n_users=600, n=400)
    held_out = np.argmin(is_candidate, axis=1)
    logs, errors = [], []
    for seed in range(8):
        batch = np.random.default_rng(seed).permutation(600) // 30
        is_drawn = np.array([np.isin(np.arange(400), held_out[batch == each]) for each in batch])
        counts = count(popularity, is_better, is_drawn & is_candidate, is_candidate)
        fit = fit_tastes(counts)
        logs.append(np.log(estimate_by_tastes(counts, MEASURES, 400, fit).values))
        errors.append(jackknife_log_errors(counts, batch, MEASURES, 400, fit=fit))
    assert (np.median(errors, axis=0) > 0.8 * np.std(logs, axis=0, ddof=1)).all()
    is_inside = np.abs(logs - np.log(exact_values(is_better))) < 1.96 * np.array(errors)
    assert is_inside.mean() >= 0.85
