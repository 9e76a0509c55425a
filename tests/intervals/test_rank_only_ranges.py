"""Ranges from ranks alone among negatives by popularity: enumerations, and the extreme worlds."""

from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

import sampled_metrics as sm
from sampled_metrics.intervals.rank_only_ranges import (
    item_draws,
    means_of_likeliest,
    rank_only_ranges,
)
from sampled_metrics.metrics.measures import parse_measures

N, M = 400, 40
COUNTS = 500 / np.arange(1, N) ** 0.9
MEASURES = parse_measures("HR@1, HR@10, NDCG@10, MRR")


def laws(draws, ranks):
    """Return the distribution of the number of better negatives at each rank."""
    return means_of_likeliest(draws, np.asarray(ranks), np.eye(draws.m + 1)).T


def laws_by_set(counts, m, n_better):
    """Enumerate successive draws: for each set of better items, probabilities of 0 ... m drawn."""
    sets = [set(each) for each in combinations(range(len(counts)), n_better)]
    found = np.zeros((len(sets), m + 1))
    for order in permutations(range(len(counts)), m):
        chance, left = 1.0, sum(counts)
        for item in order:
            chance *= counts[item] / left
            left -= counts[item]
        for place, better in enumerate(sets):
            found[place, len(better & {*order})] += chance
    return found  # the first set is that of the first items


@pytest.mark.parametrize("m", [1, 2, 4])
def test_uniform_negatives_have_hypergeometric_numbers(m):
    draws = item_draws(np.full(9, 3.0), 1.0, 10, m, "without-replacement")
    exact = [hypergeom(9, better, m).pmf(np.arange(m + 1)) for better in range(10)]
    assert laws(draws, range(1, 11)) == pytest.approx(np.array(exact), abs=1e-6)


@pytest.mark.parametrize("n_better", [1, 2, 3])
def test_average_extreme_is_that_of_a_random_set(n_better):
    """Whatever the design is, the mean over all sets of items is hypergeometric."""
    counts = [9.0, 5.0, 4.0, 2.0, 1.0, 1.0]
    exact = laws_by_set(counts, 3, n_better).mean(axis=0)
    draws = item_draws(np.array(counts), 1.0, 7, 3, "without-replacement")
    (found,) = laws(draws.of_average, [n_better + 1])
    assert found == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("n_better", [1, 2, 3])
def test_likeliest_extreme_is_that_of_the_first_items(n_better):
    """A race of a fixed time has the probabilities of successive draws up to terms of 1 / m."""
    counts = [9.0, 5.0, 4.0, 2.0, 1.0, 1.0, 1.0]
    by_set = laws_by_set(counts, 3, n_better)
    draws = item_draws(np.array(counts), 1.0, 8, 3, "without-replacement")
    (found,) = laws(draws, [n_better + 1])
    assert found == pytest.approx(by_set[0], abs=0.08)
    at_most = np.cumsum(by_set, axis=1)
    assert (at_most >= at_most[0] - 1e-12).all()  # the first items have the most draws
    assert (at_most >= np.cumsum(found) - 0.01).all()


def test_draws_with_replacement_are_binomial():
    """Of 4, 3, 2 and 1 events, two draws; the likeliest two items have 7 of 10 events."""
    draws = item_draws(np.array([1.0, 3.0, 2.0, 4.0]), 1.0, 5, 2, "with-replacement")
    assert laws(draws, [1, 3]) == pytest.approx(np.array([[1, 0, 0], [0.09, 0.42, 0.49]]))
    assert laws(draws.of_average, [3])[0] == pytest.approx([0.25, 0.5, 0.25])


def test_distinct_items_of_draws_with_replacement():
    """The 30 likeliest items among 40 draws."""
    rng = np.random.default_rng(1)
    draws = item_draws(COUNTS, 1.0, N, M, "distinct")
    sample = rng.choice(N - 1, (20_000, M), p=COUNTS / COUNTS.sum())
    found = np.stack([(sample == item).any(axis=1) for item in range(30)]).sum(axis=0)
    law = laws(draws, [31])[0]
    assert np.bincount(found, minlength=M + 1) / 20_000 == pytest.approx(law, abs=0.025)


def test_seen_items_make_others_likelier():
    """Users have seen 60 of 400 items, the popular ones most often."""
    rng = np.random.default_rng(3)
    counts = np.append(COUNTS, COUNTS[-1])
    n, users = 340, np.arange(4000)[:, None]
    keys = np.log(counts) + rng.gumbel(size=(4000, N))
    is_seen = np.zeros(keys.shape, bool)
    is_seen[users, np.argpartition(-keys, N - n, axis=1)[:, : N - n + 1]] = True  # and held out
    keys = np.where(is_seen, -np.inf, np.log(counts) + rng.gumbel(size=(4000, N)))
    drawn = np.zeros(keys.shape, bool)
    drawn[users, np.argpartition(-keys, M, axis=1)[:, :M]] = True
    draws = item_draws(counts, 1.0, n, M, "without-replacement")
    for better in (3, 10, 30):
        is_likeliest = ~is_seen & (np.cumsum(~is_seen, axis=1) <= better)
        found = (drawn & is_likeliest).sum(axis=1)
        at_most = np.cumsum(laws(draws, [better + 1])[0])
        for limit in range(0, better, 2):
            assert (found <= limit).mean() > at_most[limit] - 0.02


def world(which, power, seed):
    """Return true ranks, and ranks among negatives by popularity, of 2,000 users."""
    rng = np.random.default_rng(seed)
    n_better = np.minimum(rng.geometric(0.03, size=2000) - 1, N - 1)
    order = {
        "likeliest": np.tile(np.arange(N - 1), (2000, 1)),
        "random": rng.permuted(np.tile(np.arange(N - 1), (2000, 1)), axis=1),
        "popular": np.argsort(-0.7 * np.log(COUNTS) - rng.gumbel(size=(2000, N - 1)), axis=1),
    }[which]
    keys = power * np.log(COUNTS) + rng.gumbel(size=order.shape)
    drawn = np.zeros(order.shape, bool)
    np.put_along_axis(drawn, np.argpartition(-keys, M, axis=1)[:, :M], values=True, axis=1)
    is_drawn = np.take_along_axis(drawn, order, axis=1)
    sampled = (is_drawn & (np.arange(N - 1) < n_better[:, None])).sum(axis=1)
    return 1 + n_better, 1 + sampled


@pytest.mark.parametrize("power", [1.0, 0.5])
@pytest.mark.parametrize("which", ["likeliest", "random", "popular"])
def test_range_contains_the_exact_metric_of_extreme_worlds(which, power):
    draws = item_draws(COUNTS, power, N, M, "without-replacement")
    true, sampled = world(which, power, seed=4)
    ranges = rank_only_ranges(sampled, draws, MEASURES, 50, 0.95)
    for measure, allowed in zip(MEASURES, ranges, strict=True):
        exact = measure.value_at(true, N).mean()
        assert allowed.low < exact < allowed.high
        assert not allowed.is_inverted


@pytest.mark.long
@pytest.mark.parametrize("which", ["likeliest", "random"])
def test_ranges_contain_the_metric_in_most_samples(which):
    """At the edges of what is assumed; 30 samples of 500 users, at 80 %."""
    draws = item_draws(COUNTS, 1.0, N, M, "without-replacement")
    true, sampled = world(which, 1.0, seed=5)
    rng = np.random.default_rng(6)
    exact = [measure.value_at(true, N).mean() for measure in MEASURES]
    held = np.zeros(len(MEASURES))
    for _ in range(30):
        users = rng.integers(0, true.size, 500)
        found = rank_only_ranges(sampled[users], draws, MEASURES, 50, 0.8)
        held += [each.low <= value <= each.high for each, value in zip(found, exact, strict=True)]
    assert (held / 30 >= binom.ppf(0.001, 30, 0.9) / 30).all()  # one end at a time is at risk


def test_equal_counts_allow_what_uniform_negatives_do():
    true, _ = world("random", 1.0, seed=7)
    rng = np.random.default_rng(8)
    sampled = 1 + rng.hypergeometric(true - 1, N - true, M)
    draws = item_draws(np.ones(N - 1), 1.0, N, M, "without-replacement")
    ranges = rank_only_ranges(sampled, draws, MEASURES, 50, 0.95)
    uniform = sm.correct(sampled, "HR@1, HR@10, NDCG@10, MRR", "likely", n_items=N, n_negatives=M)
    for allowed, result in zip(ranges, uniform, strict=True):
        assert allowed.low <= result.range_low * 1.03
        assert allowed.high >= result.range_high / 1.03
        assert allowed.high - allowed.low < 2.0 * (result.range_high - result.range_low)


def test_many_better_items_leave_a_hypergeometric_number():
    """200 of 2,000 items are drawn, 1,900 are better: at least 100 better ones, and 190 on average.

    Small numbers are so unlikely that they are dropped on the way.
    """
    draws = item_draws(np.ones(2000), 1.0, n=2001, m=200, sampling="without-replacement")
    number = np.arange(201.0)
    functions = np.stack([number, number >= 190])
    mean, share = means_of_likeliest(draws, np.array([901, 1901]), functions)[:, 1]
    assert mean == pytest.approx(200 * 1900 / 2000, rel=1e-9)
    assert share == pytest.approx(hypergeom(2000, 1900, 200).sf(189), rel=1e-6)
