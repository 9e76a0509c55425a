"""Planning against covariances by hand, the paper's toy reversal and simulation."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.inference.assumed import assumed_pairs, population_with
from sampled_metrics.inference.deciding import decidable, decision
from sampled_metrics.inference.pair import Pair
from sampled_metrics.inference.plan import orders, plan, vectors_of
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.sampling import sampled_rank_distribution
from tests.conftest import difference_ranges

N, M = 40, 6
A_RANKS, B_RANKS = np.array([1, 5, 5, 20, 40, 2]), np.array([1, 2, 9, 30, 12, 2])
VECTOR = np.array([1.0, 0.4, 0.0, -0.2, 0.1, 0.0, 0.0])


def of_ranks(ranks, n=N):
    ranks = np.asarray(ranks)
    return Population.of_users(Ranks(np.full(ranks.size, n), ranks - 1, np.zeros_like(ranks)))


def moments(ranks):
    """Expectation and variance over negatives of each user's estimate."""
    records = Ranks(np.full(ranks.size, N), ranks - 1, np.zeros_like(ranks))
    given = sampled_rank_distribution(records, M)
    mean = given @ VECTOR
    return mean, given @ VECTOR**2 - mean**2


class TestDifference:
    means = tuple(moments(ranks)[0] for ranks in (A_RANKS, B_RANKS))
    noises = tuple(moments(ranks)[1] for ranks in (A_RANKS, B_RANKS))

    def check(self, variance, **options):
        pair = Pair(of_ranks(A_RANKS), of_ranks(B_RANKS), n_users=11, **options)
        mean, sd = pair.difference(VECTOR)
        assert mean == pytest.approx(self.means[1].mean() - self.means[0].mean())
        assert sd == pytest.approx(math.sqrt(variance / 11))

    def test_only_the_negatives_vary(self):
        self.check(self.noises[0].mean() + self.noises[1].mean())

    def test_users_drawn_independently(self):
        users = self.means[0].var() + self.means[1].var()
        self.check(self.noises[0].mean() + self.noises[1].mean() + users, drawn=True)

    def test_pairs_of_users_drawn(self):
        a, b = self.means
        users = a.var() + b.var() - 2 * np.cov(a, b, ddof=0)[0, 1]
        noise = self.noises[0].mean() + self.noises[1].mean()
        self.check(noise + users, drawn=True, paired=True)

    def test_populations_without_users_cannot_be_paired(self):
        a, b = Population.power(N, 0.3), Population.power(N, 0.4)
        pairs = [Pair(a, b, 5, drawn=True, paired=paired) for paired in (False, True)]
        sds = [pair.difference(VECTOR)[1] for pair in pairs]
        assert sds[0] == sds[1]

    def test_candidates(self):
        a = Population.of_users(Ranks(np.array([10, 30]), np.array([0, 1]), np.array([0, 0])))
        pair = Pair(a, of_ranks([1, 2, 3], 25), 3)
        assert (pair.n_items, pair.most_negatives) == (22, 9)  # (20 + 25)/2 = 22.5, to even

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"sampling": "urn"}, "unknown sampling 'urn'; known: without-replacement"),
            ({"n_users": 0}, "n_users is 0; it must be"),
        ],
    )
    def test_wrong_pairs(self, options, words):
        with pytest.raises(InputError, match=words):
            Pair(**({"a": of_ranks([1]), "b": of_ranks([2]), "n_users": 3} | options))


class TestPlan:
    @pytest.mark.parametrize("paired", [False, True])
    @pytest.mark.parametrize("drawn", [False, True])
    def test_probability_is_how_often_a_simulation_is_right(self, drawn, paired):
        rng = np.random.default_rng(5)
        n, m, users, experiments = 300, 15, 120, 3000
        a_ranks = np.minimum(1 + rng.geometric(0.02, users), n)
        b_ranks = np.maximum(1, a_ranks - rng.integers(0, 12, users))
        a, b = of_ranks(a_ranks, n), of_ranks(b_ranks, n)
        pair = Pair(a, b, users, drawn=drawn, paired=paired)
        _, planned = plan(pair, ["ndcg@10"], ["bv:0.1"], largest=m)
        vector = vectors_of(
            n, [parse_measure("ndcg@10")], [parse_estimator("bv:0.1")], m, pair.sampling
        )[0, 0]
        cumulated = [
            np.cumsum(sampled_rank_distribution(each.ranks.take(each.kind), m), axis=1)[:, :-1]
            for each in (a, b)
        ]
        everyone = np.broadcast_to(np.arange(users), (experiments, users))
        who = rng.integers(users, size=(2, experiments, users)) if drawn else [everyone, everyone]
        sums = []
        for table, rows in zip(cumulated, [who[0], who[0 if paired else 1]], strict=True):
            uniform = rng.random((experiments, users))
            ranks = sum((table[:, i][rows] < uniform).astype(np.int8) for i in range(m))
            sums.append(vector[ranks].sum(axis=1))
        right = (sums[1] > sums[0]).sum()
        error = math.sqrt(planned.at_largest * (1 - planned.at_largest) / experiments)
        assert 0.6 < planned.at_largest < 0.995
        # The estimates are normal but for 1/sqrt(users) of skewness.
        assert right / experiments == pytest.approx(planned.at_largest, abs=4 * error + 0.01)

    def test_from_there_on_the_probability_is_reached(self):
        pair = Pair(Population.power(500, 0.4), Population.power(500, 0.37), 2000, drawn=True)
        names = ["recall@10", "ap"], ["sampled", "bv:0.1", "cls"]
        planned = plan(pair, *names, probability=0.9, largest=60)
        assert [(each.metric, each.estimator) for each in planned] == [
            (metric, estimator) for metric in names[0] for estimator in ["range", *names[1]]
        ]
        estimates = [each for each in planned if each.estimator != "range"]
        for number, each in enumerate(estimates):
            at = orders([pair], [parse_measure(each.metric)], [parse_estimator(each.estimator)])

            def probability(m, at=at):
                return NormalDist().cdf(float(at(m).deviations[0, 0, 0]))

            assert all(probability(m) >= 0.9 for m in range(each.n_negatives, 61, 3)), number
            just_below = int(each.n_negatives * 0.95) - 1
            assert just_below < 1 or probability(just_below) < 0.9
            assert (each.n_items, each.n_users, each.largest) == (500, 2000, 60)
            assert each.exact_a < each.exact_b

    def test_sampled_orders_wrongly_until_all_are_drawn(self):
        """A hits the top for few users, B is never bad: recall@5 of few negatives prefers B."""
        a = of_ranks([1] * 20 + [90] * 80, 100)
        b = of_ranks([1] * 10 + [12] * 90, 100)
        pair = Pair(a, b, 1000)
        _, sampled, corrected = plan(pair, ["recall@5"], ["sampled", "bv:0.01"])
        assert (sampled.exact_a, sampled.exact_b) == (0.2, 0.1)
        assert sampled.largest == corrected.largest == 99
        assert sampled.n_negatives > 40
        assert corrected.n_negatives < sampled.n_negatives
        at = orders([pair], [parse_measure("recall@5")], [parse_estimator("sampled")])
        assert at(10).deviations[0, 0, 0] < -10
        assert at(99).deviations[0, 0, 0] == math.inf
        assert sampled.at_largest == 1.0

    def test_never(self):
        a, b = of_ranks([1, 20], 30), of_ranks([2, 20], 30)
        for planned in plan(Pair(a, b, 2), ["auc"], ["sampled"], largest=3):
            assert (planned.n_negatives, planned.largest) == (None, 3)
            assert planned.at_largest < 0.95

    def test_equal_metrics_have_no_order(self):
        same = of_ranks([1, 7], 30)
        by_range, planned = plan(Pair(same, same, 50), ["ap"], ["bv:0.1"], largest=10)
        assert (planned.n_negatives, planned.at_largest) == (None, 0.5)
        assert (by_range.n_negatives, by_range.at_largest) == (None, 0.0)

    def test_an_estimator_that_is_not_determined_does_not_count(self):
        pair = Pair(Population.power(2000, 0.4), Population.power(2000, 0.3), 500, drawn=True)
        both = plan(pair, ["ap"], ["bv:0", "bv:0.1"], largest=60)
        assert (both[1].n_negatives, both[1].at_largest) == (None, 0.0)
        assert both[2] == plan(pair, ["ap"], ["bv:0.1"], largest=60)[1]

    @pytest.mark.parametrize("probability", [0.49, 1.0, -1, math.nan])
    def test_wrong_probability(self, probability):
        pair = Pair(of_ranks([1]), of_ranks([2]), 3)
        with pytest.raises(InputError, match=r"probability is .*; it must be from 0\.5"):
            plan(pair, ["ap"], ["sampled"], probability=probability)

    def test_an_even_chance_is_a_probability(self):
        pair = Pair(of_ranks([1]), of_ranks([2]), 3)
        assert plan(pair, ["ap"], ["sampled"], probability=0.5, largest=1)[1].probability == 0.5

    def test_a_float_is_no_number_of_negatives(self):
        with pytest.raises(InputError, match=r"largest is 16\.0, expected a whole number"):
            plan(Pair(of_ranks([1]), of_ranks([2]), 3), ["ap"], ["sampled"], largest=16.0)

    def test_wrong_largest(self):
        with pytest.raises(InputError, match="largest number of negatives is 0;"):
            plan(Pair(of_ranks([1]), of_ranks([2]), 3), ["ap"], ["sampled"], largest=0)

    def test_more_users_need_fewer_negatives(self):
        measure = parse_measure("ndcg@10")
        a, b = (population_with(measure, level, 2000) for level in (0.1, 0.11))
        needed = [
            plan(Pair(a, b, users, drawn=True), ["ndcg@10"], ["sampled"])[1].n_negatives
            for users in (5000, 10_000, 40_000)
        ]
        assert needed == sorted(needed, reverse=True)
        assert needed[0] > needed[-1]


class TestAssumed:
    """Of ML-1M's size, as RANGES of differences say it."""

    recall = parse_measure("recall@10")

    def test_metrics_are_those_asked_for(self):
        for metric in ("recall@10", "ap"):
            for pair in assumed_pairs(parse_measure(metric), 0.077, 0.011, 3541, 6040):
                levels = [each.exact([parse_measure(metric)])[0] for each in (pair.a, pair.b)]
                assert levels == pytest.approx([0.077, 0.088])
                assert pair.drawn

    def test_some_cross(self):
        crossing = 0
        for pair in assumed_pairs(self.recall, 0.077, 0.011, 3541, 6040):
            later = [each.exact([parse_measure("recall@200")])[0] for each in (pair.a, pair.b)]
            crossing += later[1] < later[0]
        assert crossing

    def test_never_fewer_than_the_resolution_allows(self):
        """Two recommenders that do not cross would seem to need 3 or 9 negatives."""
        pairs = assumed_pairs(self.recall, 0.077, 0.011, 3541, 6040)
        optimistic = plan(pairs[0], ["recall@10"], ["cls", "bv:0.1"], largest=60)
        assert [each.n_negatives for each in optimistic[1:]] == [3, 9]
        found = plan(pairs, ["recall@10"], ["sampled", "cls", "bv:0.1"], largest=400)
        assert [each.n_negatives for each in found] == [None] * 4  # a range needs more than 1,000

    def test_ranges_decide_a_difference_of_half(self):
        """In trials, a difference of 50 % took about 350 negatives."""
        pairs = assumed_pairs(self.recall, 0.0775, 0.03875, 3541, 6040)
        (by_range,) = plan(pairs, ["recall@10"], [], largest=1000)
        assert 175 <= by_range.n_negatives <= 700
        assert by_range.exact_b / by_range.exact_a == pytest.approx(1.5)

    def test_the_worst_pair_counts(self):
        pairs = assumed_pairs(self.recall, 0.2, 0.1, 500, 300)
        options = {"metrics": ["recall@10"], "estimators": ["bv:0.1", "sampled"], "largest": 300}
        together = plan(pairs, **options)
        alone = [plan(pair, **options) for pair in pairs]
        for one, parts in zip(together, zip(*alone, strict=True), strict=True):
            most = max(math.inf if part.n_negatives is None else part.n_negatives for part in parts)
            if one.n_negatives is None:
                assert most == math.inf
            else:
                assert one.n_negatives == pytest.approx(most, rel=0.1)
            assert one.at_largest == min(part.at_largest for part in parts)

    @pytest.mark.parametrize(
        ("level", "effect", "where"),
        [(0.001, 0.1, "--level:"), (0.9, 0.2, "--level plus --effect:")],
    )
    def test_levels_that_no_recommender_has(self, level, effect, where):
        with pytest.raises(InputError, match=f"^{where} recall@10 is"):
            assumed_pairs(self.recall, level, effect, 500, 100)


class TestDecision:
    def simulated(self, pair, measure, m, drawn, repetitions=80):
        """How often the range of the difference is on the right side of 0."""
        rng = np.random.default_rng(8)
        decided = 0
        given = [
            np.cumsum(sampled_rank_distribution(each.ranks, m), axis=1)[:, :-1]
            for each in (pair.a, pair.b)
        ]
        for _ in range(repetitions):
            samples = []
            for each, table in zip((pair.a, pair.b), given, strict=True):
                kind = each.kind
                if drawn:
                    kind = rng.choice(each.share.size, pair.n_users, p=each.share)
                uniform = rng.random((pair.n_users, 1))
                ranks = 1 + (table[kind] < uniform).sum(axis=1)
                samples.append(SampledRanks(ranks, pair.n_items, m))
            (found,) = difference_ranges([measure], *samples)
            decided += found.low > 0.0
        return decided / repetitions

    @pytest.mark.parametrize("metric", ["recall@10", "auc"])
    @pytest.mark.parametrize("drawn", [True, False])
    def test_probability_is_how_often_ranges_are_decided(self, drawn, metric):
        measure = parse_measure(metric)
        n, users = 300, 400
        better = 0.32 if metric == "recall@10" else 0.47
        a, b = (
            of_ranks(np.ceil(n * ((np.arange(users) + 0.5) / users) ** (1 / power)).astype(int), n)
            for power in (0.6, better)
        )
        pair = Pair(a, b, users, drawn=drawn)
        lead = decision(pair, measure)
        m = next(m for m in range(10, 290, 10) if lead(m) > 0.3)
        predicted = NormalDist().cdf(lead(m))
        assert 0.5 < predicted < 0.95
        assert self.simulated(pair, measure, m, drawn) == pytest.approx(predicted, abs=0.2)

    @pytest.mark.parametrize("metric", ["recall@10", "auc"])
    def test_decidable_difference_is_half_the_width_of_the_range(self, metric):
        measure, rng = parse_measure(metric), np.random.default_rng(3)
        pair = Pair(Population.power(300, 0.6), Population.power(300, 0.32), 400, drawn=True)
        widths = []
        for _ in range(10):
            samples = []
            for each in (pair.a, pair.b):
                shares = each.sampled_shares(40, pair.sampling)
                ranks = 1 + rng.choice(41, 400, p=shares / shares.sum())
                samples.append(SampledRanks(ranks, 300, 40))
            (found,) = difference_ranges([measure], *samples)
            widths.append((found.high - found.low) / 2)
        found = decidable(pair, measure, 40)
        assert found == pytest.approx(np.mean(widths), rel=0.15)
        turned = Pair(pair.b, pair.a, 400, drawn=True)
        assert decidable(turned, measure, 40) == pytest.approx(found, rel=1e-6)

    def test_smallest_number_that_decides(self):
        pair = Pair(Population.power(300, 0.6), Population.power(300, 0.32), 400, drawn=True)
        (found,) = plan(pair, ["recall@10"], [], probability=0.5)
        lead = decision(pair, parse_measure("recall@10"))
        assert lead(found.n_negatives) > 0.0 >= lead(int(0.9 * found.n_negatives) - 1)
        (without,) = plan(pair, ["recall@10"], [], probability=0.5, shape="none")
        assert without.n_negatives > found.n_negatives

    def test_true_ranks_that_do_not_have_the_shape(self):
        """The vectors are those of the closest distribution that has it, as for a sample."""
        measure = parse_measure("recall@10")
        a = of_ranks(np.repeat([2, 3, 90, 400], 25), 500)
        b = of_ranks(np.repeat([2, 300, 310, 400], 25), 500)
        lead = decision(Pair(b, a, 2000), measure)
        leads = [lead(m) for m in (20, 100, 400)]
        assert leads == sorted(leads)
        assert leads[-1] > 5.0

    def test_fixed_users_do_not_narrow_the_range(self):
        """Ranges allow for the variation over users, whether or not the users vary."""
        measure = parse_measure("recall@10")
        a, b = (of_ranks(np.repeat([1, 200], [k, 100 - k]), 300) for k in (40, 60))
        drawn, fixed = (decision(Pair(a, b, 100, drawn=one), measure) for one in (True, False))
        m = 250
        assert np.sign(drawn(m)) == np.sign(fixed(m))
        assert abs(fixed(m)) > abs(drawn(m))
