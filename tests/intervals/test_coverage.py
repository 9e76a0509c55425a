"""How often intervals of exact metrics hold the value of the population: all metrics, any items."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

import sampled_metrics as sm
from sampled_metrics.metrics.measures import REGISTERED_METRICS, parse_measure

N_ITEMS = 200
POPULATION = 3000
OF_RANKS = ("rr", "ap", "ap-by-relevant", "ndcg", "ndcg-by-relevant", "ndcg-by-k", "auc")


def names_of_all_metrics():
    """Yield every registered metric, at cut-off 10 and without a cut-off where possible.

    `compare` takes fractions only; for others see tests/metrics/test_formulas.py.
    """
    for kind, metric in REGISTERED_METRICS.items():
        if not metric.is_fraction:
            continue
        name = f"{kind}2" if metric.has_beta else kind
        if metric.cutoff != "none":
            yield f"{name}@10"
        if metric.cutoff != "required":
            yield name


NAMES = list(names_of_all_metrics())


def population(rng, several, tied, graded, skill):
    """Ranks of relevant items, whose scores have a random bonus."""
    n_relevant = rng.integers(1, 9, POPULATION) if several else np.ones(POPULATION, int)
    user = np.repeat(np.arange(POPULATION), n_relevant)
    column = np.concatenate([np.arange(n) for n in n_relevant])
    scores = rng.normal(size=(POPULATION, N_ITEMS))
    scores[user, column] += skill * rng.gamma(1.5, 1.0, POPULATION)[user]
    if tied:
        scores = np.round(scores * 2) / 2
    item_scores = scores[user, column]
    better = np.empty(user.size, int)
    level = np.empty(user.size, int)
    for rows in np.array_split(np.arange(user.size), 50):
        better[rows] = (scores[user[rows]] > item_scores[rows, None]).sum(axis=1)
        level[rows] = (scores[user[rows]] == item_scores[rows, None]).sum(axis=1)
    grades = rng.integers(1, 4, user.size) if graded else None
    n = np.full(POPULATION, N_ITEMS)
    return sm.Ranks(n, better, level - 1, n_found=n_relevant, relevance=grades)


KINDS = [(False, False, False), (False, True, False), (True, False, False), (True, True, True)]
ignore_warnings = pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")


@ignore_warnings
@pytest.mark.parametrize("kind", KINDS)
def test_interval_of_many_users_is_students(kind):
    """The means of 400 users are nearly normal."""
    rng = np.random.default_rng(1)
    ranks = population(rng, *kind, skill=1.5).take(np.arange(400))
    values = sm.values_by_user(ranks, [name for name in NAMES if "micro" not in name])
    for result in sm.evaluate(ranks, NAMES):
        user_values = values.get(result.metric.replace("-micro", ""))
        error = user_values.std(ddof=1) / np.sqrt(400)
        half = stats.t.ppf(0.975, 399) * error
        if "micro" not in result.metric:
            assert result.value == pytest.approx(user_values.mean(), abs=1e-12)
        assert result.value - result.ci_low == pytest.approx(half, rel=0.25)
        assert result.ci_high - result.value == pytest.approx(half, rel=0.25)


@ignore_warnings
def test_precision_interval_scales_like_recall():
    """With three relevant items per user, precision@10 is 3/10 of recall@10, also its error."""
    rng = np.random.default_rng(2)
    better = np.sort(rng.permuted(np.tile(np.arange(30), (300, 1)), axis=1)[:, :3], axis=1)
    ranks = sm.Ranks([30] * 300, better.ravel(), [0] * 900, n_found=[3] * 300)
    recall, precision, by_k = sm.evaluate(ranks, ["recall@10", "precision@10", "ndcg-by-k@10"])
    for field in ("value", "std_error", "ci_low", "ci_high"):
        assert getattr(precision, field) == pytest.approx(0.3 * getattr(recall, field), rel=1e-9)
    assert by_k.ci_low < by_k.value < by_k.ci_high
    worse = sm.Ranks([30] * 300, ((better + 9) % 30).ravel(), [0] * 900, n_found=[3] * 300)
    of_recall, of_precision = sm.compare({"a": ranks, "b": worse}, ["recall@10", "precision@10"])
    for field in ("difference", "ci_low", "ci_high"):
        scaled = 0.3 * getattr(of_recall, field)
        assert getattr(of_precision, field) == pytest.approx(scaled, rel=1e-9)


@ignore_warnings
@pytest.mark.parametrize(
    ("metric", "is_noted"),
    [("precision@10", True), ("recall@10", True), ("f1@10", True), ("hit@10", False)],
)
def test_few_users_with_hits_are_noted(metric, is_noted):
    """8 of 300 users have their three relevant items at the top, the others at the end.

    The interval of a share of users, such as hit@10, is right with few hits too.
    """
    better = np.tile([97, 98, 99], (300, 1))
    better[:8] = [0, 1, 2]
    ranks = sm.Ranks([100] * 300, better.ravel(), [0] * 900, n_found=[3] * 300)
    assert ("about 8 of 300 users" in str(sm.evaluate(ranks, metric))) == is_noted


@ignore_warnings
def test_no_hits_upper_end_is_positive():
    """The interval ends at about 4/50, like that of a share with no success in 50 trials."""
    better = np.tile([97, 98, 99], (50, 1))
    ranks = sm.Ranks([100] * 50, better.ravel(), [0] * 150, n_found=[3] * 50)
    for result in sm.evaluate(ranks, "precision@10, recall@10, hit@10, ndcg-by-k@10"):
        assert result.value == result.ci_low == 0.0
        assert 0.001 < result.ci_high < 0.1


def shares_that_hold(kind, n_users, n_samples):
    """Share of samples of users whose intervals hold the values of the whole population.

    Of `evaluate` and of `compare`, shape (2, metrics); the second recommender has other ranks of
    the same items.
    """
    a = population(np.random.default_rng(3), *kind, skill=1.5)
    b = population(np.random.default_rng(3), *kind, skill=1.0)
    values = {result.metric: result.value for result in sm.evaluate(a, NAMES)}
    differences = {
        result.metric: result.difference for result in sm.compare({"a": a, "b": b}, NAMES)
    }
    rng = np.random.default_rng(4)
    held = np.zeros((2, len(NAMES)))
    for _ in range(n_samples):
        rows = rng.integers(0, POPULATION, n_users)
        sample = {"a": a.take(rows), "b": b.take(rows)}
        alone = [(each, values[each.metric]) for each in sm.evaluate(sample["a"], NAMES)]
        pairs = [(each, differences[each.metric]) for each in sm.compare(sample, NAMES)]
        for row, actual in enumerate((alone, pairs)):
            held[row] += [x.ci_low - 1e-12 <= true <= x.ci_high + 1e-12 for x, true in actual]
    return held / n_samples


@pytest.mark.long
@ignore_warnings
@pytest.mark.parametrize(("kind", "n_users"), [(KINDS[0], 100), (KINDS[2], 100), (KINDS[3], 60)])
def test_intervals_few_samples_cover(kind, n_users):
    """19 of 20 samples are expected to hold the value; fewer than 14 have a probability of 3e-6."""
    assert shares_that_hold(kind, n_users, 20).min() >= 14 / 20


@ignore_warnings
@pytest.mark.long
@pytest.mark.parametrize(("kind", "n_users"), [*product(KINDS, (100, 1000))])
def test_intervals_cover_as_stated(kind, n_users):
    """Within 1.5 points of 95 % from 100 users on, and three standard errors of 60 samples."""
    shares = shares_that_hold(kind, n_users, 60)
    chance = 3 * np.sqrt(0.95 * 0.05 / 60)
    assert shares.min() >= 0.935 - chance
    assert shares.max() <= 0.965 + chance


@ignore_warnings
@pytest.mark.long
def test_intervals_of_ten_users_cover():
    """Differences of hits are covered less often, because all ten users may have the same hits.

    In 400 samples at least 97 % for one recommender, 77 % for differences of hits, 90 % for others.
    """
    alone, differences = shares_that_hold(KINDS[0], 10, 200)
    is_share = np.array([parse_measure(name).kind not in OF_RANKS for name in NAMES])
    chance = 3 * np.sqrt(0.95 * 0.05 / 200)
    assert alone.min() >= 0.95 - chance
    assert differences[~is_share].min() >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / 200)
    assert differences.min() >= 0.77 - 3 * np.sqrt(0.77 * 0.23 / 200)
