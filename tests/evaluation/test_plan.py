"""Populations compared with enumerated users and draws, and plans compared with simulations."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.evaluation.plan import plan
from sampled_metrics.evaluation.plan_simulation import Pair
from sampled_metrics.intervals.kernels import kernel
from sampled_metrics.intervals.population import Population, rank_blocks
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks, Sampling
from sampled_metrics.sampling import sampled_rank_distribution
from tests.helpers.ranges import difference_ranges

MEASURES = [parse_measure(name) for name in ("recall@2", "ap", "ndcg@3", "auc")]
SAMPLING = "without-replacement"
each_sampling = pytest.mark.parametrize("sampling", Sampling)


def ranking(ranks, n=40, users=None):
    ranks = np.asarray(ranks)
    return Ranks(np.full(ranks.size, n), ranks - 1, np.zeros_like(ranks), users=users)


def power(n, exponent, users, first=0):
    """Return rankings in which a share (k/n)^exponent of users has a rank of at most k."""
    middle = (np.arange(users) + 0.5) / users
    return ranking(
        np.ceil(n * middle ** (1 / exponent)).astype(int), n, users=range(first, first + users)
    )


def sampled_ranks(n, rank, m, sampling):
    """Return the sampled rank of every draw of m of the other n - 1 candidates."""
    places = [place for place in range(1, n + 1) if place != rank]
    draws = itertools.product(places, repeat=m)
    if sampling == "without-replacement":
        draws = itertools.permutations(places, m)
    if sampling == "distinct":
        draws = map(set, draws)
    return np.array([1 + sum(place < rank for place in draw) for draw in draws])


def sampled_shares(population, m, sampling):
    """Return the expected share of users at each sampled rank."""
    return population.share @ sampled_rank_distribution(population.ranks, m, sampling)


class TestPopulation:
    @each_sampling
    def test_moments_match_enumeration(self, sampling):
        n, m, ranks, vector = 5, 3, [1, 2, 2, 5], np.array([1.3, 0.2, -0.4, 0.1])
        population = Population.from_ranks(ranking(ranks, n))
        moments = population.moments(np.array([vector, 2 * vector]), sampling)
        estimates = np.array([vector[sampled_ranks(n, rank, m, sampling) - 1] for rank in ranks])
        assert moments.mean == pytest.approx(estimates.mean() * np.array([1, 2]))
        assert moments.total == pytest.approx(estimates.var() * np.array([1, 4]))
        assert moments.within == pytest.approx(estimates.var(axis=1).mean() * np.array([1, 4]))
        assert moments.by_cohort[0, population.cohort_of_user] == pytest.approx(
            estimates.mean(axis=1)
        )
        outcomes = np.concatenate([sampled_ranks(n, rank, m, sampling) for rank in ranks])
        shares = np.bincount(outcomes - 1, minlength=m + 1) / outcomes.size
        assert sampled_shares(population, m, sampling) == pytest.approx(shares)

    @given(st.lists(st.integers(1, 6), min_size=1, max_size=20))
    def test_exact_metrics_of_users(self, ranks):
        population = Population.from_ranks(ranking(ranks, 6))
        best = population.ranks.best_rank
        assert best[population.cohort_of_user].tolist() == ranks
        assert population.share == pytest.approx([ranks.count(k) / len(ranks) for k in best])
        for measure, exact in zip(MEASURES, map(population.exact, MEASURES), strict=True):
            values = measure.value_at(ranks, 6)
            moments = population.exact_moments(measure)
            assert (exact, moments.mean) == pytest.approx((np.mean(values),) * 2)
            assert moments.within == 0.0
            assert moments.total == pytest.approx(np.var(values), abs=1e-12)
            assert moments.by_cohort[population.cohort_of_user] == pytest.approx(values)

    @given(st.integers(2, 10**7))
    def test_rank_blocks_hold_every_rank_once(self, n):
        blocks = rank_blocks(n)
        assert (blocks.n_better[0], blocks.worst_rank[-1]) == (0, n)
        assert (blocks.worst_rank[:-1] == blocks.n_better[1:]).all()
        assert (blocks.n_tied[: min(n, 1000)] == 0).all()
        wide = blocks.n_tied > 0
        assert (blocks.n_tied[wide] <= 0.0051 * blocks.worst_rank[wide] + 1).all()

    @each_sampling
    @pytest.mark.parametrize(("steps", "estimator"), [(1, "bv:1"), (2, "em:2"), (30, "em:30")])
    def test_steps_match_estimator(self, steps, estimator, sampling):
        """One step from uniform ranks is bv:1, which plugs in p(r | sampled rank)."""
        n, counts = 50, np.array([40, 20, 0, 10, 3, 7])
        fitted, _ = Population.from_counts(counts, n, sampling, steps)
        chosen, options = (
            [parse_estimator(estimator)],
            {"sampling": sampling, "histogram": counts},
        )
        vectors = estimator_matrix(chosen, MEASURES, n, 5, **options)[:, 0]
        assert [*map(fitted.exact, MEASURES)] == pytest.approx(
            vectors @ counts / counts.sum(), abs=1e-12
        )
        assert fitted.share.sum() == pytest.approx(1.0)

    @pytest.mark.parametrize("sampling", [SAMPLING, "distinct"])
    @pytest.mark.parametrize("shape", ["non-increasing", "none"])
    def test_binned_moments_match_sampled_ranks(self, shape, sampling):
        n, m = 2500, 90
        counts = np.r_[50, np.arange(m, 0, -1)]
        fitted, _ = Population.from_counts(counts, n, SAMPLING, 5)
        table = kernel(n, m, sampling, shape, 10)
        binned = table.sum_by_bin(sampled_shares(fitted, m, sampling))
        probabilities = fitted.bin_probabilities(m, sampling)
        assert fitted.share @ probabilities == pytest.approx(binned, rel=1e-12, abs=1e-15)
        heights = np.random.default_rng(0).normal(size=(2, table.starts.size))
        vectors = np.repeat(heights, table.widths, axis=1)
        by_bins = fitted.binned_moments(vectors, probabilities)
        for field, expected in zip(by_bins, fitted.moments(vectors, sampling), strict=True):
            assert field == pytest.approx(expected, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("is_redrawn", [False, True])
@pytest.mark.parametrize("is_paired", [False, True])
def test_pair_difference_by_hand(is_redrawn, is_paired):
    """Six users among 40 candidates and 4 negatives; an evaluation of 11 users like these.

    For given true ranks, the mean varies by the draw of negatives only; new users add the
    variance of what is expected of a user: of their difference, or of both if not paired.
    """
    credit = np.array([1.0, 0.4, 0.0, -0.2, 0.1])  # of sampled ranks 1 to 5
    ranks = (1, 5, 5, 20, 40, 2), (1, 2, 9, 30, 12, 2)  # of A and B
    a, b = (Population.from_ranks(ranking(of_one)) for of_one in ranks)
    pair = Pair(a, b, n_users=11, is_redrawn=is_redrawn, is_paired=is_paired)
    mean, variance, of_users = pair.difference(a.moments(credit), b.moments(credit))
    others, n_better = 39, np.array(ranks)[..., None] - 1
    probabilities = stats.hypergeom.pmf(np.arange(5), others, n_better, 4)
    of_a, of_b = probabilities @ credit
    assert mean == pytest.approx(of_b.mean() - of_a.mean())
    of_draws = (probabilities @ credit**2 - np.square([of_a, of_b])).mean(axis=1).sum()
    of_new_users = of_draws + ((of_b - of_a).var() if is_paired else of_a.var() + of_b.var())
    assert 11 * variance == pytest.approx(of_new_users if is_redrawn else of_draws)
    assert 11 * of_users == pytest.approx(of_new_users)


@pytest.fixture
def few_comparisons(monkeypatch):
    """Simulate four comparisons in tests whose subject is not the numbers."""
    monkeypatch.setattr("sampled_metrics.evaluation.plan_simulation.COMPARISONS", 4)


class TestPlan:
    @pytest.mark.usefixtures("few_comparisons")
    def test_sizes_up_to_fewest_candidates(self):
        results = plan(ranking([1, 7], 100), ranking([3, 4], 101), "recall@3, ap", n_users=50)
        assert [(row.metric, row.n_negatives) for row in results] == [
            (metric, m) for metric in ("recall@3", "ap") for m in (1, 2, 5, 10, 20, 50, None)
        ]
        recall, *_, ap = results
        assert (recall.exact_a, recall.exact_b) == (1 / 2, 1 / 2)
        assert ap.exact_a == pytest.approx((1 + 1 / 7) / 2)
        assert ap.exact_b == pytest.approx((1 / 3 + 1 / 4) / 2)
        assert (recall.n_items, recall.n_users, recall.sampling) == (100, 50, SAMPLING)

    def test_equal_metrics_are_never_decided(self):
        same = ranking([1, 7], 30)
        planned = plan(same, same, "ap", sizes=[1, 10])
        assert {row.n_negatives: row.probability for row in planned} == {1: 0, 10: 0, None: 0}

    @pytest.mark.parametrize("ids", [None, 0, 6])  # the first of b; none: by row
    def test_full_rankings_by_hand(self, ids):
        """The argument of Phi is (difference - 1.96 errors) / standard deviation."""
        ranks = (1, 2, 4, 30, 3, 8), (2, 1, 1, 10, 2, 3)
        exact = 1 / np.array(ranks)
        variance = exact.var(axis=1).sum() if ids else (exact[1] - exact[0]).var()
        users = [None, None] if ids is None else [range(6), range(ids, ids + 6)]
        both = (ranking(x, users=own) for x, own in zip(ranks, users, strict=True))
        (row,) = plan(*both, "ap", n_users=60, sizes=[])
        error, z = math.sqrt(variance / 60), stats.norm.ppf(0.975)
        assert row.decides_above == pytest.approx(z * error)
        lead = (exact[1].mean() - exact[0].mean()) / error - z
        assert row.probability == pytest.approx(stats.norm.cdf(lead))

    @pytest.mark.long
    @pytest.mark.parametrize(("metric", "is_redrawn"), [("recall@10", True), ("auc", False)])
    def test_probability_matches_simulated_ranges(self, is_redrawn, metric):
        n, users, better = 300, 400, 0.32 if metric == "recall@10" else 0.47
        both = power(n, 0.6, users), power(n, better, users, users)
        row, _ = plan(*both, metric, n_users=users if is_redrawn else None, sizes=[10])
        assert 0.6 < row.probability < 0.95
        rng, ranges = np.random.default_rng(8), []
        for _ in range(40):
            samples = []
            for ranks in both:
                kind = rng.integers(0, users, users) if is_redrawn else np.arange(users)
                rank = ranks.best_rank[kind]
                counts = rng.hypergeometric(rank - 1, n - rank, row.n_negatives)
                samples.append(SampledRanks(1 + counts, n, row.n_negatives))
            ranges += difference_ranges([parse_measure(metric)], *samples)
        assert np.mean([x.low > 0.0 for x in ranges]) == pytest.approx(row.probability, abs=0.2)
        width = np.mean([x.high - x.low for x in ranges])
        assert row.decides_above == pytest.approx(width / 2, rel=0.15)

    def test_full_rankings_decide_large_differences(self):
        """The shares of 200 users with a hit are 3/4 and 1/4."""
        best, worst = (ranking(ranks * 50, 30) for ranks in ([1, 1, 3, 1], [2, 3, 1, 5]))
        (of_all,) = plan(best, worst, "hit@1", n_users=200, sizes=[])
        assert of_all.probability > 0.999
        assert of_all.decides is None  # no number of negatives does

    @pytest.mark.parametrize(
        ("ranks", "options", "word"),
        [([3, 4], {"n_items": 9, "n_users": 0}, "n_users"), (0.3, {"n_items": 9}, "float")],
    )
    def test_wrong_rankings_are_refused(self, ranks, options, word):
        with pytest.raises(InputError, match=word):
            plan(ranks, ranks, **options)


ABOUT = {"effect": 0.05, "value": 0.2, "n_items": 400, "n_users": 900}


class TestWithoutRankings:
    """Power laws with the given metrics, instead of two full rankings."""

    def test_tiny_probability_is_printed_as_bound(self):
        about = {"effect": 0.02, "value": 0.1, "n_items": 3000, "n_users": 6000}
        planned = plan(metrics="recall@10", sizes=[5], **about)
        assert 0.0 < planned[0].probability < 0.001
        first, full = planned.parts()[0]
        assert first["probability"] == "< 0.001"
        assert float(full["probability"]) == pytest.approx(planned[1].probability, abs=5e-4)

    def test_certain_probability_is_printed_as_bound(self):
        about = {"effect": 0.3, "value": 0.3, "n_items": 3000, "n_users": 6000}
        (full,) = plan(metrics="recall@10", sizes=[], **about).parts()[0]
        assert full["probability"] == "> 0.999"

    @pytest.mark.parametrize("metric", ["recall@10", "ndcg@10", "ap", "auc"])
    def test_power_laws_have_given_metrics(self, metric):
        value = 0.7 if metric == "auc" else 0.2
        for row in plan(metrics=metric, **(ABOUT | {"value": value}), sizes=[5]):
            assert row.exact_a == pytest.approx(value, abs=1e-9)
            assert row.exact_b == pytest.approx(value + 0.05, abs=1e-9)
            assert (row.n_items, row.n_users) == (400, 900)

    def test_full_rankings_by_hand(self):
        """Two means of 900 zeros and ones, with a share of 0.2 and 0.25 ones."""
        (row,) = plan(metrics="hit@10", **ABOUT, sizes=[], confidence=0.9)
        error = math.sqrt((0.2 * 0.8 + 0.25 * 0.75) / 900)
        z = stats.norm.ppf(0.95)
        assert row.n_negatives is None
        assert row.decides_above == pytest.approx(z * error)
        assert row.probability == pytest.approx(stats.norm.cdf(0.05 / error - z))

    @pytest.mark.long
    def test_exponents_by_hand(self):
        """A share (10/400)^e of users has a hit, so that e = log(0.2) / log(1/40)."""
        exponents = [math.log(share) / math.log(1 / 40) for share in (0.2, 0.25)]
        users = 20_000
        a, b = (power(400, e, users, i * users) for i, e in enumerate(exponents))
        options = {"n_users": 900, "sizes": [50]}
        of_ranks = plan(a, b, "hit@10", **options)
        assumed = plan(metrics="hit@10", **(ABOUT | options))
        for one, other in zip(assumed, of_ranks, strict=True):
            assert one.probability == pytest.approx(other.probability, abs=0.01)
            assert one.decides_above == pytest.approx(other.decides_above, rel=0.01)

    @pytest.mark.long
    @pytest.mark.usefixtures("few_comparisons")
    def test_larger_studies_need_fewer_negatives(self):
        def probabilities(**changed):
            sizes = {"sizes": [50, 200]}
            return [x.probability for x in plan(metrics="hit@10", **(ABOUT | changed | sizes))]

        few = probabilities()
        assert few == sorted(few)
        assert all(x < y for x, y in zip(few, probabilities(n_users=9000), strict=True))
        assert all(x < y for x, y in zip(few, probabilities(effect=0.1), strict=True))

    @pytest.mark.parametrize(
        ("changed", "word"),
        [
            ({"value": None}, "value"),
            ({"effect": None}, "effect"),
            ({"n_items": None}, "n_items"),
            ({"n_users": None}, "n_users"),
            ({"effect": -0.1}, "effect is -0.1"),
            ({"value": 0.01}, "a random order"),
            ({"effect": 0.9}, "not between"),
            ({"metrics": "hit@10,ap"}, "one metric"),
            ({"a": [1, 2], "b": [2, 1]}, "without rankings"),
            ({"value": None, "effect": None}, "two recommenders"),
        ],
    )
    def test_wrong_assumptions_are_refused(self, changed, word):
        with pytest.raises(InputError, match=word):
            plan(**(ABOUT | {"metrics": "hit@10"} | changed))


@pytest.mark.parametrize(
    "options", [{"value": 0.2}, {"effect": 0.05}, {"effect": 0.05, "value": 0.2}]
)
def test_rankings_exclude_effect_and_value(options):
    ranks = np.arange(1, 40)
    for pair in ((ranks, ranks[::-1]), (ranks, None), (None, ranks)):
        with pytest.raises(InputError, match="rankings"):
            plan(*pair, "recall@10", n_items=100, n_users=900, **options)


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize("is_redrawn", [False, True])
@each_sampling
@pytest.mark.parametrize("m", [4, 90])
def test_drawn_samples_have_expected_distribution(paired, is_redrawn, sampling, m):
    users, table = 4000, kernel(2500, m, sampling, "non-increasing", 10)
    both = [Population.from_ranks(power(2500, exponent, users)) for exponent in (0.2, 0.5)]
    pair = Pair(*both, users, is_redrawn=is_redrawn, is_paired=paired, sampling=sampling)
    chances = [population.bin_probabilities(m, sampling) for population in both]
    samples = pair.draw_samples(m, chances, np.random.default_rng(1))
    for sample, population in zip(samples, both, strict=True):
        shares = table.sum_by_bin(np.bincount(sample.sampled_ranks - 1, minlength=m + 1) / users)
        expected = table.sum_by_bin(sampled_shares(population, m, sampling))
        assert shares == pytest.approx(expected, abs=0.03)
        assert (sample.users is not None) == paired


def test_certain_decision_stops_early(monkeypatch):
    calls = []
    draw_samples = Pair.draw_samples
    monkeypatch.setattr(Pair, "draw_samples", lambda *args: calls.append(1) or draw_samples(*args))
    (row, _) = plan(metrics="hit@10", **(ABOUT | {"effect": 0.5}), sizes=[100])
    assert (row.probability, len(calls)) == (pytest.approx(1.0), 3)
