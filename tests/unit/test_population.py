"""Populations against enumeration of users, of negatives and of steps of the EM."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.inference.assumed import population_with
from sampled_metrics.inference.population import Population, rank_blocks
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks
from tests.conftest import ROOT

MEASURES = [parse_measure(name) for name in ("recall@2", "ap", "ndcg@3", "auc")]
SAMPLING = ("without-replacement", "with-replacement", "distinct")


def sampled_ranks(n, rank, m, sampling):
    """Every draw of m of the other n - 1 places and the sampled rank that it gives."""
    places = [place for place in range(1, n + 1) if place != rank]
    if sampling == "without-replacement":
        draws = list(itertools.permutations(places, m))
    else:
        draws = list(itertools.product(places, repeat=m))
    if sampling == "distinct":
        draws = [set(draw) for draw in draws]
    return [1 + sum(place < rank for place in draw) for draw in draws]


@pytest.mark.parametrize("sampling", SAMPLING)
def test_outlook_is_what_all_users_and_all_draws_give(sampling):
    n, m = 5, 3
    ranks = [1, 2, 2, 5]
    records = Ranks(np.full(4, n), np.array(ranks) - 1, np.zeros(4, int))
    vector = np.array([1.3, 0.2, -0.4, 0.1])
    population = Population.of_users(records)
    outlook = population.outlook(np.array([vector, 2 * vector]), sampling)
    estimates = [vector[np.array(sampled_ranks(n, rank, m, sampling)) - 1] for rank in ranks]
    everything = np.concatenate(estimates)  # all users have as many draws
    assert outlook.mean == pytest.approx(everything.mean() * np.array([1, 2]))
    assert outlook.total == pytest.approx(everything.var() * np.array([1, 4]))
    within = np.mean([each.var() for each in estimates])
    assert outlook.within == pytest.approx(within * np.array([1, 4]))
    by_user = outlook.by_kind[0, population.kind]
    assert by_user == pytest.approx([each.mean() for each in estimates])
    assert by_user.var() + within == pytest.approx(everything.var())


def test_outlook_of_tied_users_averages_their_ranks():
    n, vector = 6, np.array([1.0, 0.3, 0.0])
    tied = Population.of_users(Ranks(np.array([n]), np.array([1]), np.array([2])))
    estimates = [vector[np.array(sampled_ranks(n, rank, 2, SAMPLING[0])) - 1] for rank in (2, 3, 4)]
    assert tied.outlook(vector).mean == pytest.approx(np.mean(estimates))
    assert tied.outlook(vector).total == pytest.approx(np.var(estimates))


def test_outlook_in_blocks():
    """A million numbers are held at a time, which is 500 of the thousand kinds here."""
    population = Population.power(1000, 0.4)
    vectors = np.random.default_rng(0).normal(size=(2, 3, 2001))
    whole = population.outlook(vectors, "with-replacement")
    assert whole.mean.shape == (2, 3)
    assert whole.by_kind.shape == (2, 3, 1000)
    for place in (0, 700):
        one = Population(population.ranks.take([place]), np.ones(1))
        alone = one.outlook(vectors, "with-replacement")
        np.testing.assert_allclose(alone.mean, whole.by_kind[..., place], rtol=1e-9)
    np.testing.assert_allclose(whole.by_kind @ population.share, whole.mean, rtol=1e-9)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=20))
def test_of_users_counts_them(ranks):
    records = Ranks(np.full(len(ranks), 6), np.array(ranks) - 1, np.zeros(len(ranks), dtype=int))
    population = Population.of_users(records)
    count = Counter(ranks)
    found = population.ranks.best_rank.tolist()
    assert dict(zip(found, population.share, strict=True)) == pytest.approx(
        {rank: number / len(ranks) for rank, number in count.items()}
    )
    assert population.ranks.best_rank[population.kind].tolist() == ranks
    exact = [np.mean([measure.at(rank, 6) for rank in ranks]) for measure in MEASURES]
    assert population.exact(MEASURES) == pytest.approx(exact)
    for measure in MEASURES:
        assert population.sd_of_exact(measure) == pytest.approx(
            np.std([measure.at(rank, 6) for rank in ranks]), abs=1e-7
        )


@given(st.integers(2, 10**7))
def test_blocks_hold_every_rank_once(n):
    blocks = rank_blocks(n)
    assert blocks.n_better[0] == 0
    assert (blocks.worst_rank[:-1] == blocks.n_better[1:]).all()
    assert blocks.worst_rank[-1] == n
    assert (blocks.n_tied[: min(n, 1000)] == 0).all()
    wide = blocks.n_tied > 0
    assert (blocks.n_tied[wide] <= 0.0051 * blocks.worst_rank[wide] + 1).all()


@pytest.mark.parametrize("exponent", [0.1, 0.5, 1.0, 2.0])
def test_power_family(exponent):
    population = Population.power(5000, exponent)
    below = np.cumsum(population.share)
    assert below == pytest.approx((population.ranks.worst_rank / 5000) ** exponent)
    (recall,) = population.exact([parse_measure("recall@20")])
    assert recall == pytest.approx((20 / 5000) ** exponent)


class TestEstimated:
    @pytest.mark.parametrize("sampling", SAMPLING)
    def test_one_step_is_the_estimator_with_gamma_1(self, sampling):
        """From uniform ranks, so bv:1 is the plug-in of p(r | sampled rank)."""
        n, counts = 50, np.array([40, 20, 0, 10, 3, 7])
        population = Population.estimated(counts, n, sampling, iterations=1)
        vectors = estimator_matrix([parse_estimator("bv:1")], MEASURES, n, 5, sampling=sampling)
        expected = vectors[:, 0] @ counts / counts.sum()
        assert population.exact(MEASURES) == pytest.approx(expected, abs=1e-12)

    def test_the_next_step_is_that_with_the_prior_found(self):
        n, counts = 50, np.array([40, 20, 1, 10, 3, 7])
        one, two = (Population.estimated(counts, n, SAMPLING[0], steps) for steps in (1, 2))
        vectors = estimator_matrix(
            [parse_estimator("bv:1")], MEASURES, n, 5, sampling=SAMPLING[0], prior=one.share
        )
        expected = vectors[:, 0] @ counts / counts.sum()
        assert two.exact(MEASURES) == pytest.approx(expected, abs=1e-12)

    def test_steps_by_hand(self):
        """n = 3, m = 1: P(sampled rank 1 | rank) = 1, 1/2, 0; two thirds of users have it."""
        share = np.full(3, 1 / 3)
        given = np.array([[1, 0], [1 / 2, 1 / 2], [0, 1]])
        for steps in range(1, 4):
            share = sum(
                f * share * given[:, i] / (share @ given[:, i]) for i, f in [(0, 2 / 3), (1, 1 / 3)]
            )
            found = Population.estimated([2, 1], 3, SAMPLING[0], steps).share
            assert found == pytest.approx(share)

    def test_likelihood_grows(self):
        n, counts = 2000, np.random.default_rng(0).multinomial(500, np.arange(21, 0, -1) / 231)

        def likelihood(steps):
            population = Population.estimated(counts, n, SAMPLING[1], steps)
            marginal = population.outlook(np.eye(21), SAMPLING[1]).mean
            return counts @ np.log(marginal)

        values = [likelihood(steps) for steps in (1, 2, 5, 20, 100)]
        assert values == sorted(values)

    def test_sums_to_one_over_blocks(self):
        population = Population.estimated([900, 60, 20, 20], 10**6, SAMPLING[0])
        assert population.share.sum() == pytest.approx(1.0)
        assert len(population.ranks) == len(rank_blocks(10**6))


@pytest.mark.parametrize("name", ["recall@10", "ndcg@10", "ap", "auc"])
@pytest.mark.parametrize("n", [30, 3000])
def test_population_with_a_metric(name, n):
    measure = parse_measure(name)
    low = float(Population.uniform(n).exact([measure])[0])
    for share in (0.05, 0.5, 0.9):
        level = low + share * (1 - low)
        found = population_with(measure, level, n)
        assert found.exact([measure])[0] == pytest.approx(level, abs=1e-9)
    recall = population_with(parse_measure("recall@3"), 0.5, n)
    exponent = math.log(0.5) / math.log(3 / n)
    assert recall.share[0] == pytest.approx((1 / n) ** exponent)


@pytest.mark.parametrize("level", [-0.1, 0.0, 0.05, 1.1, math.nan, math.inf])
def test_no_population_is_worse_than_random_or_better_than_perfect(level):
    with pytest.raises(
        InputError, match=r"recall@10 is .*; it must be from 0.1 \(a random ranking of 100"
    ):
        population_with(parse_measure("recall@10"), level, 100)


def test_one_candidate_is_no_ranking():
    with pytest.raises(InputError, match="n is 1; it must be at least 2"):
        rank_blocks(1)


RIVALS = ("recall@10", "ndcg@10")


def test_collapsed_duplicates_flatter_recall_and_ndcg_by_a_quarter_point():
    # as measured of RecBole's uni100 on MovieLens 1M: about 0.3 points more than without duplicates
    records = Ranks.read(ROOT / "results/reference/ranks/X.parquet")
    users = Population.of_users(records)
    vectors = np.array([parse_measure(name).at(np.arange(1, 102), 101) for name in RIVALS])
    plain, collapsed = (
        users.outlook(vectors, sampling).mean for sampling in ("without-replacement", "distinct")
    )
    assert 100 * (collapsed - plain) == pytest.approx([0.33, 0.25], abs=0.005)


def test_non_increasing_fit_has_the_shape_and_the_sampled_ranks():
    true = Population.power(2500, 0.3)
    shares = true.sampled_shares(60, "without-replacement")
    found = Population.non_increasing(10**6 * shares, 2500, "without-replacement")
    density = found.share / (found.ranks.n_tied + 1)
    assert (np.diff(density) <= 1e-12).all()
    assert found.share.sum() == pytest.approx(1.0)
    assert found.sampled_shares(60, "without-replacement") == pytest.approx(shares, abs=2e-3)
