"""Ranges without tastes: enumerations, all ranks and splits, and recommenders of odd tastes."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

from sampled_metrics.intervals.thinned_ranges import (
    RankClass,
    Split,
    StatisticMoments,
    VectorProgramme,
    inclusion_probabilities,
    kept_distribution,
    thinned_difference,
    thinned_ranges,
    thinned_statistics,
)
from sampled_metrics.ranks.strata import StratumCounts
from tests.estimators.test_tastes import MEASURES, count, draw, exact_values, made_up

STARTS = np.arange(4)  # of bins of one number each, the last one open


def test_thinned_head_and_tail_have_the_stated_means():
    """Over all samples of independent draws, E[P(s kept) t] = Binomial(s; b1, pi_0) b2."""
    probabilities = np.array([0.9, 0.6, 0.5, 0.2, 0.1])  # one item in each stratum
    is_better = np.array([True, True, False, True, True])  # b1 = 2, b2 = 2
    kept_mean, joint_mean = np.zeros(4), np.zeros(4)
    for sample in product((0, 1), repeat=5):
        is_drawn = np.array(sample)
        chance = np.where(is_drawn == 1, probabilities, 1.0 - probabilities).prod()
        better = (is_better * is_drawn)[None]
        kept, tail = thinned_statistics(better, probabilities[None], 0.5, STARTS)
        kept_mean += chance * kept[0]
        joint_mean += chance * kept[0] * tail[0]
    law = binom.pmf(np.arange(4), 2, 0.5)
    assert kept_mean == pytest.approx(law)
    assert joint_mean == pytest.approx(2.0 * law)


def test_distribution_of_the_kept_is_that_of_their_enumeration():
    """Five better negatives of two strata, kept with probabilities 1 and 1/4."""
    keep = [1.0, 1.0, 0.25, 0.25, 0.25]
    exact = np.zeros(6)
    for is_kept in product((0, 1), repeat=5):
        chances = [p if each else 1.0 - p for p, each in zip(keep, is_kept, strict=True)]
        exact[sum(is_kept)] += np.prod(chances)
    kept, tail = thinned_statistics(
        np.array([[2, 3]]), np.array([[0.1, 0.4]]), 0.1, np.array([0, 2, 3, 5])
    )
    assert kept[0] == pytest.approx([exact[:2].sum(), exact[2], exact[3:5].sum(), exact[5]])
    assert tail == 0.0


def test_kept_numbers_of_uniform_negatives_are_hypergeometric():
    kept, with_tail = kept_distribution(np.array([0, 7, 40]), 10, 10 / 40, np.arange(11))
    exact = [hypergeom(40, better, 10).pmf(np.arange(11)) for better in (0, 7, 40)]
    assert kept == pytest.approx(np.array(exact), abs=1e-12)
    # That one of the 33 others is drawn leaves 9 draws of 39 items.
    assert with_tail[1] == pytest.approx(hypergeom(39, 7, 9).pmf(np.arange(11)), abs=1e-12)


@pytest.mark.parametrize("rate", [0.94, 0.7, 0.233, 0.01])
def test_mean_of_the_kept_is_theirs_by_the_rate(rate):
    """Also where m / rate is not whole: one better item is drawn with this probability."""
    heads = np.array([1, 3, 10])
    kept, _ = kept_distribution(heads, 10, rate, np.arange(11))
    assert kept @ np.arange(11) == pytest.approx(rate * heads)
    assert kept[0, 1] == pytest.approx(rate)


def test_inclusion_probabilities_are_those_of_clocks():
    """Draws by weight without replacement: each row's probabilities sum to its negatives."""
    popularity = np.repeat([8.0, 4.0, 2.0, 1.0], 15)
    is_candidate = np.ones((4000, 60), bool)
    is_candidate[:2000, :12] = False  # seen by half of the users
    is_drawn = draw(popularity, is_candidate, 12, seed=3)
    counts = count(popularity, is_drawn, is_drawn, is_candidate)
    probabilities = inclusion_probabilities(counts)
    assert (probabilities * counts.candidates).sum(axis=1) == pytest.approx(12.0, abs=1e-3)
    rows = np.s_[:2000], np.s_[2000:]
    for part in rows:  # pooled rates would miss by a factor
        expected = (probabilities * counts.candidates)[part].sum(axis=0)
        drawn = counts.drawn[part].sum(axis=0)
        assert (np.abs(drawn - expected) < 4.0 * np.sqrt(expected)).all()


def test_uniform_negatives_are_one_stratum():
    popularity, is_better, is_candidate = made_up(n_users=300, n=100)
    is_drawn = draw(np.ones(100), is_candidate, 20, seed=3)
    probabilities = inclusion_probabilities(count(popularity, is_better, is_drawn, is_candidate))
    assert probabilities == pytest.approx(20 / 99, rel=1e-6)


def recommender(taste, n_users, n, seed):
    """Return popularities and better items of a recommender with a taste, as `made_up`."""
    rng = np.random.default_rng(seed)
    popularity = np.round(2000 / (np.arange(n) + 2.0)) + 1
    log_popularity = np.log(popularity)
    liked = rng.normal(size=(n_users, n))
    own = (log_popularity + 1.5 * liked + rng.gumbel(size=liked.shape)).argmax(axis=1)
    by_popularity = {
        "popular": 1.2 * log_popularity,
        "averse": -0.7 * log_popularity,
        "middle": -1.5 * np.abs(log_popularity - np.median(log_popularity) - 1.0),
    }[taste]
    scores = by_popularity + 1.5 * liked + 0.3 * rng.normal(size=liked.shape)
    rows = np.arange(n_users)
    is_candidate = np.ones(scores.shape, bool)
    is_candidate[rows, own] = False
    return popularity, (scores > scores[rows, own][:, None]) & is_candidate, is_candidate


def draw_half(popularity, is_candidate, m, seed):
    by_popularity = draw(popularity, is_candidate, m // 2, seed)
    uniform = draw(np.ones(popularity.size), is_candidate & ~by_popularity, m - m // 2, seed + 1)
    return by_popularity | uniform


DESIGNS = {
    "uniform": lambda popularity, *others: draw(np.ones(popularity.size), *others),
    "popularity": draw,
    "half": draw_half,
}


@pytest.mark.long
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("taste", ["popular", "averse", "middle"])
def test_ranges_hold_the_exact_metrics(taste, design):
    """Two samples of users, three metrics; at 95 %, one of the six may miss."""
    popularity, is_better, is_candidate = recommender(taste, n_users=6000, n=300, seed=1)
    exact = exact_values(is_better)
    held = []
    for seed in range(2):
        users = np.random.default_rng(seed).choice(6000, 500, replace=False)
        candidates = is_candidate[users]
        is_drawn = DESIGNS[design](popularity, candidates, 40, seed)
        counts = count(popularity, is_better[users], is_drawn, candidates)
        found = thinned_ranges(counts, MEASURES, 300, 40, 0.95)
        held += [
            x.allowed.low <= value <= x.allowed.high for x, value in zip(found, exact, strict=True)
        ]
    assert sum(held) >= 5


def test_ends_are_means_of_the_rows_values_with_chance():
    n_users, n = 300, 100
    popularity, is_better, is_candidate = made_up(n_users=n_users, n=n)
    is_drawn = draw(popularity, is_candidate, 20, seed=2)
    counts = count(popularity, is_better, is_drawn, is_candidate)
    (found,) = thinned_ranges(counts, MEASURES[:1], n, 30, 0.95)
    assert found.allowed.low < found.lower.mean() < found.upper.mean() < found.allowed.high
    # About 1.96 standard errors, and more where a rare value might be missing from the sample.
    errors = [values.std() / np.sqrt(n_users) for values in (found.lower, found.upper)]
    assert found.lower.mean() - found.allowed.low > 1.8 * errors[0]
    assert found.allowed.high - found.upper.mean() > 1.8 * errors[1]


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_means_are_above_the_metric_for_all_ranks_and_splits(measure, sign):
    """With 30 items in the head, drawn with probability 1/4, and 89 in the tail."""
    n, m, last, n_head, n_tail = 120, 15, 40, 30, 89
    size = int(m / 0.25)
    starts = np.array([0, 1, 2, 3, 5, 8])

    def laws(head):
        """Return the distributions of s and, given that an other item is drawn, of s, in bins."""
        both = hypergeom(size, head, m), hypergeom(size - 1, head, m - 1)
        return [np.add.reduceat(law.pmf(np.arange(m + 1)), starts) for law in both]

    kept, kept_with_tail = np.array([laws(head) for head in range(n_head + 1)]).swapaxes(0, 1)
    split = Split(np.arange(n_head + 1), kept, kept_with_tail, n_head, n_tail)
    metric = measure.value_at(np.arange(1, n + 1), n)
    # Rows with one to three better items in the head, and as many in the tail.
    better = np.array([1, 2, 3])
    statistics = np.hstack([kept[better], kept_with_tail[better] * better[:, None] / 10.0])
    mean = statistics.mean(axis=0)
    spread = np.sqrt(np.abs(np.diag(statistics.T @ statistics / 3 - np.outer(mean, mean))) + 0.01)
    programme = VectorProgramme(RankClass(metric, last, measure.cutoff, sign), split)
    vector, _ = programme.solve(StatisticMoments(mean, np.diag(spread)), 0.1)
    constant, per_ten = np.split(vector, 2)
    lowest = np.full(n, np.inf)
    for head, tail in product(range(n_head + 1), range(n_tail + 1)):
        value = kept[head] @ constant + tail / 10.0 * (kept_with_tail[head] @ per_ten)
        lowest[head + tail] = min(lowest[head + tail], value)
    excess = lowest - sign * metric
    means = np.cumsum(excess)[:last] / np.arange(1, last + 1)  # of ranks 1 ... k
    assert means.min() > -1e-3
    assert excess[last:].min() > -1e-3


def test_ties_of_identical_recommenders_are_not_decided():
    popularity, is_better, is_candidate = made_up(n_users=300, n=100)
    counts = count(popularity, is_better, draw(popularity, is_candidate, 20, 2), is_candidate)
    (found,) = thinned_ranges(counts, MEASURES[:1], 100, 30, 0.95)
    difference = thinned_difference(found, found, 0.95)
    assert difference.low < 0.0 < difference.high


def test_a_clearly_better_recommender_is_decided():
    popularity, is_better, is_candidate = made_up(n_users=600, n=100)
    is_drawn = draw_half(popularity, is_candidate, 40, seed=2)
    # The second one has a quarter of the better items above the held-out item.
    fewer = is_better & (np.random.default_rng(0).random(is_better.shape) < 0.25)
    first, second = (
        thinned_ranges(count(popularity, each, is_drawn, is_candidate), MEASURES[:1], 100, 30, 0.95)
        for each in (is_better, fewer)
    )
    difference = thinned_difference(first[0], second[0], 0.95)
    exact = exact_values(fewer)[0] - exact_values(is_better)[0]
    assert 0.0 < difference.low <= exact <= difference.high
    assert thinned_difference(second[0], first[0], 0.95).high < 0.0


def test_rows_of_half_a_weight_are_half_the_users():
    """Each row twice with a weight of 1/2: as many users, and about the same ends."""
    popularity, is_better, is_candidate = made_up(n_users=300, n=80)
    counts = count(popularity, is_better, draw(popularity, is_candidate, 30, 2), is_candidate)
    twice = StratumCounts(*(np.repeat(each, 2, axis=0) for each in counts[:3]), counts[3])
    (once,) = thinned_ranges(counts, MEASURES[:1], 80, 30, 0.95)
    (again,) = thinned_ranges(twice, MEASURES[:1], 80, 30, 0.95, weights=np.full(600, 0.5))
    assert again.allowed.low == pytest.approx(once.allowed.low, abs=0.05)
    assert again.allowed.high == pytest.approx(once.allowed.high, abs=0.05)
