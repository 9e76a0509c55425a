"""The estimator from counts by stratum: identities, enumerations and made-up recommenders."""

import numpy as np
import pytest
from scipy.stats import poisson

from sampled_metrics.estimators.smooth import likely_estimates
from sampled_metrics.estimators.tastes import (
    better_probabilities,
    estimate_by_tastes,
    fit_tastes,
    mean_credit,
)
from sampled_metrics.metrics import parse_measures
from sampled_metrics.ranks.strata import StratumCounts, strata_of_items, sums_by_stratum

MEASURES = parse_measures("hr@10, ndcg@10, ap")


def made_up(n_users=600, n=300, seed=0):
    """Return popularities, which items beat the held-out item, and which are candidates."""
    rng = np.random.default_rng(seed)
    popularity = np.round(2000 / (np.arange(n) + 2.0)) + 1
    tastes = np.log(popularity) + rng.normal(size=(n_users, n))
    own = (tastes + rng.gumbel(size=tastes.shape)).argmax(axis=1)
    scores = tastes + 0.7 * rng.normal(size=tastes.shape)
    rows = np.arange(n_users)
    is_candidate = np.ones(scores.shape, bool)
    is_candidate[rows, own] = False
    return popularity, (scores > scores[rows, own][:, None]) & is_candidate, is_candidate


def draw(weights, is_candidate, m, seed):
    """Draw m candidates of each user without replacement, one after the other by weight."""
    keys = np.log(weights) + np.random.default_rng(seed).gumbel(size=is_candidate.shape)
    keys[~is_candidate] = -np.inf
    chosen = np.argpartition(-keys, m - 1, axis=1)[:, :m]
    is_drawn = np.zeros(is_candidate.shape, bool)
    np.put_along_axis(is_drawn, chosen, True, axis=1)
    return is_drawn


def count(popularity, is_better, is_drawn, is_candidate):
    stratum = strata_of_items(popularity)
    better, drawn, candidates = (
        sums_by_stratum(*np.nonzero(each), stratum, len(each))
        for each in (is_better & is_drawn, is_drawn, is_candidate)
    )
    size = np.bincount(stratum)
    return StratumCounts(better, drawn, candidates, np.bincount(stratum, np.log(popularity)) / size)


def exact_values(is_better):
    n = is_better.shape[1]
    return [measure.value_at(1 + is_better.sum(axis=1), n).mean() for measure in MEASURES]


def test_items_without_taste_are_better_with_one_probability():
    phi = better_probabilities(np.array([0.5]), np.array([0.0, 0.0]), np.array([5.0, 120.0]))
    assert phi == pytest.approx(0.5 / 125, rel=1e-9)


@pytest.mark.parametrize(("known", "unseen"), [(0, 3.7), (4, 9.0), (9, 0.2), (2, 180.0)])
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_mean_credit_is_the_poisson_mean(measure, known, unseen):
    credit = measure.value_at(np.arange(1, 501), 500)
    number = np.arange(500 - known)
    exact = poisson.pmf(number, unseen) @ credit[known:]
    mean = mean_credit(credit, np.array([known]), np.array([[unseen]]))[0, 0]
    assert mean == pytest.approx(exact, rel=0.02, abs=1e-9)


def test_all_candidates_give_the_exact_metrics():
    popularity, is_better, is_candidate = made_up(n_users=200, n=100)
    counts = count(popularity, is_better, is_candidate, is_candidate)
    estimates = estimate_by_tastes(counts, MEASURES, 100)
    assert estimates.values == pytest.approx(exact_values(is_better), rel=1e-3)


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_estimates_of_each_design_are_near_the_exact_metrics(power):
    popularity, is_better, is_candidate = made_up(n_users=1500, n=400)
    is_drawn = draw(popularity**power, is_candidate, 60, seed=1)
    counts = count(popularity, is_better, is_drawn, is_candidate)
    estimates = estimate_by_tastes(counts, MEASURES, 400)
    log_ratio = np.log(estimates.values / exact_values(is_better))
    assert (np.abs(log_ratio) < 3.0 * estimates.log_errors).all()
    assert np.abs(log_ratio).max() < 0.2


def test_fit_is_where_small_changes_gain_nothing():
    popularity, is_better, is_candidate = made_up(n_users=300, n=200)
    is_drawn = draw(popularity, is_candidate, 30, seed=2)
    fit = fit_tastes(count(popularity, is_better, is_drawn, is_candidate))
    gradient = fit.likelihood.derivatives(fit.fit.share).gradient
    rng = np.random.default_rng(0)
    share = fit.fit.share
    step = 1e-6 * rng.normal(size=share.size)
    moved = share * np.exp(step) / (share @ np.exp(step))
    change = fit.likelihood.log(moved) - fit.likelihood.log(share)
    assert change == pytest.approx(gradient @ step, rel=1e-3)


def test_counts_by_stratum_tell_as_much_as_items():
    """The posterior of a user's cell from each drawn item is that from the counts."""
    popularity, is_better, is_candidate = made_up(n_users=40, n=60)
    is_drawn = draw(popularity, is_candidate, 15, seed=3)
    fit = fit_tastes(count(popularity, is_better, is_drawn, is_candidate))
    phi = fit.probabilities[:, strata_of_items(popularity)]  # of each item
    by_user = np.ones((40, len(phi)))
    for user, item in zip(*np.nonzero(is_drawn), strict=True):
        by_user[user] *= phi[:, item] if is_better[user, item] else 1.0 - phi[:, item]
    joint = by_user * fit.fit.share
    posterior = joint / joint.sum(axis=1, keepdims=True)
    assert fit.likelihood.posterior(fit.fit.share) == pytest.approx(posterior, rel=1e-6)


def test_estimate_is_the_mean_of_posterior_means():
    popularity, is_better, is_candidate = made_up(n_users=40, n=60)
    is_drawn = draw(popularity, is_candidate, 15, seed=3)
    counts = count(popularity, is_better, is_drawn, is_candidate)
    fit = fit_tastes(counts)
    posterior = fit.likelihood.posterior(fit.fit.share)
    credit = MEASURES[1].value_at(np.arange(1, 61), 60)
    means = []
    for user in range(40):
        known = counts.better[user].sum()
        unseen = fit.probabilities @ (counts.candidates[user] - counts.drawn[user])
        number = np.arange(60 - known)
        law = poisson.pmf(number, unseen[:, None])  # of unseen better candidates, by cell
        means.append(posterior[user] @ (law @ credit[known:]))
    values = estimate_by_tastes(counts, MEASURES, 60, fit).values
    assert values[1] == pytest.approx(np.mean(means), rel=5e-3)


def test_uniform_negatives_of_one_stratum_give_nearly_the_usual_estimate():
    _, is_better, is_candidate = made_up(n_users=1500, n=400)
    same = np.ones(400)
    is_drawn = draw(same, is_candidate, 60, seed=5)
    counts = count(same, is_better, is_drawn, is_candidate)
    histogram = np.bincount(counts.better.sum(axis=1), minlength=61)
    usual = likely_estimates(histogram[None], MEASURES, 400, 60, "without-replacement")[:, 0]
    assert estimate_by_tastes(counts, MEASURES, 400).values == pytest.approx(usual, rel=0.08)


def test_weights_count_rows_like_copies():
    popularity, is_better, is_candidate = made_up(n_users=200, n=100)
    counts = count(popularity, is_better, draw(popularity, is_candidate, 20, 6), is_candidate)
    times = np.arange(200) % 3
    copies = counts.take(np.repeat(np.arange(200), times))
    expected = estimate_by_tastes(copies, MEASURES, 100)
    weighted = estimate_by_tastes(counts, MEASURES, 100, weights=times.astype(float))
    assert weighted.values == pytest.approx(expected.values, rel=1e-3)
    assert weighted.log_errors == pytest.approx(expected.log_errors, rel=1e-2)


def simulate_strata(attraction, drawn, seed, n_users=1500):
    """Return counts by stratum and exact metrics where better items have a given attraction.

    Each item of stratum h is better with probability 1 - exp(-c attraction_h), whatever a probit
    curve would say; c differs between users. `drawn` is the number of negatives in each stratum.
    """
    rng = np.random.default_rng(seed)
    sizes = np.round(600 / np.arange(1, 21) ** 0.7).astype(np.int64)
    c = np.exp(rng.normal(-5.5, 2.0, n_users))
    better = rng.binomial(sizes, -np.expm1(-np.outer(c, attraction)))
    drawn = np.broadcast_to(np.minimum(drawn, sizes), better.shape)
    drawn_better = rng.hypergeometric(better, sizes - better, drawn)
    candidates = np.broadcast_to(sizes, better.shape)
    counts = StratumCounts(drawn_better, drawn, candidates, 0.3 * np.arange(20))
    n = int(sizes.sum()) + 1
    exact = [measure.value_at(1 + better.sum(axis=1), n).mean() for measure in MEASURES]
    return counts, n, np.array(exact)


STRATA = np.arange(20)
ATTRACTIONS = {
    "power": np.exp(0.2 * STRATA),
    "step": np.where(STRATA >= 12, 1.0, 0.05),
    "hump": np.exp(-(((STRATA - 12) / 3.0) ** 2)) + 0.02,
    "against": np.exp(-0.15 * STRATA),
}
DRAWN = {
    "uniform": np.round(30 / np.arange(1, 21) ** 0.7).astype(np.int64),
    "even": np.full(20, 5),
    "popular": np.round(1.0 + 12.0 * (STRATA / 19.0) ** 2).astype(np.int64),
}


@pytest.mark.long
@pytest.mark.parametrize("design", DRAWN)
@pytest.mark.parametrize("shape", ATTRACTIONS)
def test_errors_cover_tastes_that_are_no_probit_curves(shape, design):
    logs, errors = [], []
    for seed in range(2):
        counts, n, exact = simulate_strata(ATTRACTIONS[shape], DRAWN[design], seed)
        estimates = estimate_by_tastes(counts, MEASURES, n)
        logs.append(np.log(estimates.values / exact))
        errors.append(estimates.log_errors)
    is_inside = np.abs(logs) < 1.96 * np.array(errors)
    assert is_inside.mean() >= 0.8
    assert np.abs(logs).max() < 0.5


def test_bend_follows_the_counts_of_strata():
    """With all candidates drawn, better ones by stratum and level are as often as expected."""
    counts, _, _ = simulate_strata(ATTRACTIONS["hump"], np.full(20, 10_000), seed=0)
    fit = fit_tastes(counts)
    posterior = fit.likelihood.posterior(fit.fit.share)
    expected = (posterior @ fit.probabilities * counts.drawn).sum(axis=0)
    observed = counts.better.sum(axis=0)
    assert np.average(np.abs(np.log(expected / observed)), weights=observed) < 0.15
