"""Comparisons by hand, orders that sampled ranks decide and that they leave open, and refusals."""

import json
import math
import re
from dataclasses import asdict, replace
from functools import cache
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.p_values import adjusted
from sampled_metrics.inference.advice import advice
from sampled_metrics.inference.compare_exact import compare_exact
from sampled_metrics.inference.compare_sampled import compare_sampled
from sampled_metrics.inference.correct import correct
from sampled_metrics.inference.intervals import Estimate
from sampled_metrics.inference.pairing import common_users, unlike
from sampled_metrics.inference.population import Population
from sampled_metrics.inference.ranges import (
    Range,
    bracket_users,
    difference_range,
    order_p_value,
)
from sampled_metrics.inference.significance import p_value
from sampled_metrics.inference.verdict import (
    estimate_says,
    exact_verdict,
    resolution,
    sampled_verdict,
)
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.sampling import draw_sampled_ranks
from tests.conftest import ROOT

AB = ("A", "B")
N, USERS = 3541, 6040


def ranks_of(ranks, n=100, users=None):
    return Ranks([n] * len(ranks), np.array(ranks) - 1, [0] * len(ranks), users=users)


def named(*evaluations):
    return dict(zip("ABC", evaluations, strict=False))


class TestCommonUsers:
    def test_by_hand(self):
        a, b = common_users(["x", "y", "z"], ["z", "q", "x"])
        assert (a.tolist(), b.tolist()) == ([0, 2], [2, 0])

    def test_numbers_and_texts(self):
        a, b = common_users([7, 8], ["8", "007"])
        assert (a.tolist(), b.tolist()) == ([1], [0])
        texts = np.array(["8", "9"], dtype=object)
        assert [each.tolist() for each in common_users(texts, np.array([9]))] == [[1], [0]]

    @pytest.mark.parametrize("users", [(None, [1]), ([1], None), (None, None), ([1], [2])])
    def test_none_in_common(self, users):
        assert common_users(*users) is None


class TestExact:
    a, b = (1, 2, 4, 50), (2, 1, 1, 10)
    ap = np.array([[1, 1 / 2, 1 / 4, 1 / 50], [1 / 2, 1, 1, 1 / 10]])

    def test_paired_by_hand(self):
        (found,) = compare_exact(
            named(ranks_of(self.a, users=[1, 2, 3, 4]), ranks_of(self.b[::-1], users=[4, 3, 2, 1])),
            ["ap"],
        )
        differences = self.ap[1] - self.ap[0]
        error = math.sqrt(differences.var(ddof=1) / 4)
        assert (found.value_a, found.value_b) == pytest.approx(tuple(self.ap.mean(axis=1)))
        assert found.difference == pytest.approx(differences.mean())
        assert found.std_error == pytest.approx(error)
        student = stats.t(3).sf(abs(differences.mean()) / error)
        assert found.p_value == pytest.approx(2 * student)
        assert (found.range_low, found.range_high) == (found.ci_low, found.ci_high)
        assert found.behaves_like is None
        assert (found.paired, found.n_users, found.n_items) == (True, 4, 100)
        assert (found.estimator, found.n_negatives, found.sampling) == ("exact", None, None)

    def test_low_confidence_decides_more(self):
        both = named(*(ranks_of(ranks, users=range(4)) for ranks in (self.a, self.b)))
        orders = {
            confidence: compare_exact(both, ["ap"], confidence=confidence)[0].order
            for confidence in (0.4, 0.6)  # the p-value is 0.503
        }
        assert orders == {0.4: "b", 0.6: "undecided"}

    def test_unpaired_by_hand(self):
        (found,) = compare_exact(named(ranks_of(self.a), ranks_of(self.b[:3])), ["ap"])
        a, b = self.ap[0], self.ap[1, :3]
        assert found.difference == pytest.approx(b.mean() - a.mean())
        # of n = 3 values that scatter as the difference does: second moment / (n - 1)
        second = 3 * (b.var() / 3 + a.var() / 4)
        assert found.std_error == pytest.approx(math.sqrt(second / 2))
        assert (found.paired, found.n_users) == (False, 3)

    def test_only_common_users_count(self):
        (found,) = compare_exact(
            named(ranks_of(self.a, users=list("pqrs")), ranks_of(self.b, users=list("rstu"))),
            ["ap"],
        )
        differences = self.ap[1, :2] - self.ap[0, 2:]
        assert found.difference == pytest.approx(differences.mean())
        assert found.value_a == pytest.approx(self.ap[0, 2:].mean())
        assert found.n_users == 2

    def test_the_other_way_round(self):
        a, b = (ranks_of(ranks, users=[1, 2, 3, 4]) for ranks in (self.a, self.b))
        (one,) = compare_exact(named(a, b), ["ap"])
        (other,) = compare_exact(named(b, a), ["ap"])
        assert other.difference == -one.difference
        assert (other.ci_low, other.ci_high) == pytest.approx((-one.ci_high, -one.ci_low))
        assert other.p_value == one.p_value

    @pytest.mark.parametrize("metric", ["recall@10", "ap"])
    def test_the_other_way_round_with_another_catalogue(self, metric):
        a, b = (ranks_of(self.a, n, users=[1, 2, 3, 4]) for n in (50, 5000))
        (one,) = compare_exact(named(a, b), [metric])
        (other,) = compare_exact(named(b, a), [metric])
        assert (other.ci_low, other.ci_high) == (-one.ci_high, -one.ci_low)

    def test_equal(self):
        ranks = ranks_of([3, 4], users=[1, 2])
        (found,) = compare_exact(named(ranks, ranks), ["ap"])
        assert (found.difference, found.std_error, found.p_value) == (0.0, 0.0, 1.0)
        assert (found.order, found.verdict) == ("undecided", "undecided with 2 users")

    def test_different_catalogues(self):
        (found,) = compare_exact(named(ranks_of([3, 4]), ranks_of([3, 4], 50)), ["ap"])
        assert found.n_items is None

    def test_one_user(self):
        (found,) = compare_exact(named(ranks_of([3], users=[1]), ranks_of([4], users=[1])), ["ap"])
        assert all(map(math.isnan, (found.std_error, found.ci_low, found.ci_high)))
        assert (found.order, found.p_value) == ("undecided", 1.0)
        assert found.verdict == "undecided with 1 user"

    def test_all_pairs_with_correction(self):
        rng = np.random.default_rng(3)
        rankings = {
            name: ranks_of(rng.integers(1, top, 60), users=range(60))
            for name, top in (("x", 60), ("y", 40), ("z", 35))
        }
        plain = compare_exact(rankings, ["ap", "recall@10"], correction="none")
        holm = compare_exact(rankings, ["ap", "recall@10"])
        assert [(one.a, one.b, one.metric) for one in holm] == [
            (a, b, metric) for a, b in ("xy", "xz", "yz") for metric in ("ap", "recall@10")
        ]
        for place in (0, 1):  # each metric is a family of its own
            raw = [one.p_value for one in plain[place::2]]
            by_hand, least = [0.0] * 3, 0.0
            for step, index in enumerate(np.argsort(raw)):
                least = max(least, min(1.0, (3 - step) * raw[index]))
                by_hand[index] = least
            assert [one.p_value for one in holm[place::2]] == pytest.approx(by_hand)
        for one in holm:
            assert (one.order != "undecided") == (one.p_value < 0.05)

    def test_undecided_because_of_the_correction_is_not_nearly_decided(self):
        """As many more users are advised as decide it at the level that Holm asks of the pair."""
        base = np.full(400, 50)
        worse = base + np.tile([-9, 11], 200)  # 2.0 standard errors
        names = "xyzw"
        rankings = {
            name: ranks_of(np.roll(ranks, i // 2), users=range(400))
            for i, (name, ranks) in enumerate(zip(names, [base, worse, base, worse], strict=True))
        }
        corrected = compare_exact(rankings, ["auc"])
        plain = compare_exact(rankings, ["auc"], correction="none")
        (here,) = [i for i, one in enumerate(corrected) if (one.a, one.b) == ("x", "y")]
        assert plain[here].order == "a"
        assert corrected[here].order == "undecided"
        advised = int(corrected[here].verdict.partition("about ")[2].split()[0])
        asked = 0.05 * plain[here].p_value / corrected[here].p_value
        z = -NormalDist().inv_cdf(asked / 2)
        one = plain[here]
        assert advised == pytest.approx(400 * (z * one.std_error / one.difference) ** 2, rel=0.1)
        assert advised > 410

    @pytest.mark.parametrize("number", [0, 1])
    def test_fewer_than_two(self, number):
        with pytest.raises(InputError, match=f"^{number} recommender to compare"):
            compare_exact(dict.fromkeys("A"[:number], ranks_of([1])), ["ap"])


class TestSignificance:
    a, b = np.array([0.1, 0.4, 0.2, 0.9, 0.3]), np.array([0.3, 0.4, 0.7, 1.0, 0.2])
    rows = (np.arange(5), np.arange(5))

    def test_against_scipy(self):
        for rows, test in (
            (self.rows, stats.ttest_rel(self.a, self.b)),
            (None, stats.ttest_ind(self.a, self.b, equal_var=False)),
        ):
            assert p_value(self.a, self.b, rows, "t") == pytest.approx(test.pvalue, rel=1e-12)
        assert p_value(self.a, self.b, None, "wilcoxon") == (
            stats.mannwhitneyu(self.a, self.b).pvalue
        )

    def test_permutations_by_enumeration(self):
        d = self.b - self.a
        signs = np.array(np.meshgrid(*[[1, -1]] * 5)).reshape(5, -1)
        extreme = np.abs(d @ signs) >= abs(d.sum()) - 1e-12
        assert p_value(self.a, self.b, self.rows, "permutation") == pytest.approx(extreme.mean())

    @pytest.mark.parametrize("test", ["t", "wilcoxon", "permutation"])
    def test_values_that_do_not_vary(self, test):
        same, more = np.full(4, 0.5), np.full(4, 0.75)
        rows = (np.arange(4), np.arange(4))
        for pairs in (rows, None):
            assert p_value(same, same, pairs, test) == 1.0
            assert 0.0 <= p_value(same, more, pairs, test) < 0.15
        assert p_value(same[:1], more, None, test) == 1.0

    def test_corrections_by_hand(self):
        raw = [0.03, 0.01, 0.04, 0.2]
        assert adjusted(raw, "none") == raw
        assert adjusted(raw, "bonferroni") == pytest.approx([0.12, 0.04, 0.16, 0.8])
        assert adjusted(raw, "holm") == pytest.approx([0.09, 0.04, 0.09, 0.2])
        assert adjusted(raw, "bh") == pytest.approx([0.16 / 3, 0.04, 0.16 / 3, 0.2])
        assert adjusted([0.03], "holm") == [0.03]

    def test_unknown(self):
        with pytest.raises(InputError, match="unknown test 'z'"):
            p_value(self.a, self.b, None, "z")
        with pytest.raises(InputError, match="unknown correction 'sidak'"):
            adjusted([0.1, 0.2], "sidak")


class TestSampled:
    def evaluation(self, ranks, users=True, m=10):
        names = np.arange(len(ranks)) if users else None
        return SampledRanks(np.array(ranks), 300, m, users=names)

    def test_paired_by_hand(self):
        a, b = self.evaluation([1, 2, 4]), self.evaluation([1, 1, 2])
        (found,) = compare_sampled(named(a, b), ["ap"], ["sampled"])
        differences = np.array([0, 1 / 2, 1 / 4])
        assert found.difference == pytest.approx(differences.mean())
        assert found.std_error == pytest.approx(math.sqrt(differences.var(ddof=1) / 3))
        assert (found.n_items, found.n_negatives, found.sampling) == (300, 10, a.sampling)
        assert json.loads(json.dumps(asdict(found))) == asdict(found)

    def test_pairing_cancels_what_users_share(self):
        rng = np.random.default_rng(0)
        records = Ranks([300] * 400, rng.geometric(0.02, 400) % 300, [0] * 400)
        ranks = [draw_sampled_ranks(records, 100, rng) for _ in range(2)]
        paired, unpaired = (
            compare_sampled(
                named(*(self.evaluation(each, users, 100) for each in ranks)),
                ["auc", "ndcg@10"],
                ["bv:0.1"],
            )
            for users in (True, False)
        )
        for one, other in zip(paired, unpaired, strict=True):
            assert one.difference == pytest.approx(other.difference)
            assert one.std_error < 0.7 * other.std_error
            assert (one.paired, other.paired) == (True, False)

    def test_repeated_rows_are_averaged_before_pairing(self):
        a = SampledRanks(np.array([1, 4, 2]), 300, 10, users=np.array([5, 5, 6]))
        b = SampledRanks(np.array([2, 1]), 300, 10, users=np.array([6, 5]))
        (found,) = compare_sampled(named(a, b), ["ap"], ["sampled"])
        assert found.value_a == pytest.approx(((1 + 1 / 4) / 2 + 1 / 2) / 2)
        assert found.difference == pytest.approx((1 - 5 / 8 + 1 / 2 - 1 / 2) / 2)
        assert found.n_users == 2

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"n_negatives": 20}, "n_negatives is 10 for A and 20 for B"),
            ({"sampling": "distinct"}, "sampling is without-replacement for A and distinct for B"),
        ],
    )
    def test_not_sampled_alike(self, options, words):
        a = self.evaluation([1, 2])
        with pytest.raises(InputError, match=words):
            compare_sampled(named(a, replace(a, **options)))

    def test_another_spelling_of_a_metric(self):
        a, b = self.evaluation([1, 2, 4]), self.evaluation([1, 1, 2])
        (found,) = compare_sampled(named(a, b), ["f1.0@3"], ["sampled"])
        assert found.metric == "f1@3"
        assert found.order == "undecided"

    @pytest.mark.parametrize("sampling", ["without-replacement", "with-replacement", "distinct"])
    @pytest.mark.parametrize("users", [1, 2])
    @pytest.mark.parametrize("ids", [True, False])
    def test_few_users_decide_nothing(self, users, ids, sampling):
        names = range(users) if ids else None
        a, b = (
            SampledRanks([rank] * users, 300, 299, sampling, users=names)
            for rank in ((2, 1) if sampling == "without-replacement" else (20, 19))
        )
        for one in compare_sampled(named(a, b), ["recall@10", "auc"], ["sampled"]):
            assert one.order == "undecided"
            assert one.range_low <= 0.0 <= one.range_high
            assert (one.paired, one.n_users) == (ids, users)

    def test_other_numbers_of_users_and_candidates(self):
        rng = np.random.default_rng(1)
        a = SampledRanks(rng.integers(1, 12, 80), rng.integers(200, 300, 80), 10)
        b = SampledRanks(rng.integers(1, 5, 50), 260, 10)
        (found,) = compare_sampled(named(a, b), ["auc"], ["sampled"], per_user=True)
        assert (found.paired, found.n_users, found.order) == (False, 50, "b")
        assert found.n_items == round((a.mean_candidates + 260) / 2)

    def test_no_common_users(self):
        a = SampledRanks([1, 2, 3, 5] * 3, 300, 10, users=range(12))
        b = SampledRanks([3, 2, 5, 7] * 3, 300, 10, users=range(100, 112))
        (found,) = compare_sampled(named(a, b), ["ap"], ["sampled"])
        assert not found.paired
        assert found.difference == pytest.approx(
            (1 / 3 + 1 / 2 + 1 / 5 + 1 / 7 - 1 - 1 / 2 - 1 / 3 - 1 / 5) / 4
        )


class TestUnlike:
    def sample(self, users, n=300):
        ids = np.array(users)
        return SampledRanks(np.ones(ids.size, int), n, 10, users=ids)

    def test_few_common_users(self):
        few = {"A": self.sample(range(9)), "B": self.sample(range(5, 100))}
        assert unlike(few) == ["A and B have 4 of 9 users in common"]
        assert unlike(few | {"B": self.sample(range(4, 100))}) == []
        assert unlike({"A": self.sample([1]), "B": self.sample([2])}) == [
            "A and B have 0 of 1 users in common"
        ]

    def test_rows_of_one_user_count_once(self):
        several = {"A": self.sample([1] * 9 + [2]), "B": self.sample([1] * 9 + [3, 4])}
        assert unlike(several) == []

    def test_other_candidates(self):
        assert unlike({"A": self.sample([1], 1000), "B": self.sample([1], 990)}) == []
        assert unlike({"A": self.sample([1], 1000), "B": self.sample([1], 989)}) == [
            "A has 1,000 candidates and B has 989"
        ]

    def test_without_ids(self):
        assert unlike({"A": ranks_of([1]), "B": ranks_of([2, 3])}) == []


class TestExactVerdict:
    @pytest.mark.parametrize(
        ("difference", "words"),
        [
            (Estimate(0.0, 0.0, 0.0, 0.0, 50), "undecided with 50 users"),
            (Estimate(0.0, 0.1, -0.2, 0.2, 50), "undecided with 50 users"),
            # 1000 (1.96/1)^2 = 3841.6, rounded up to two digits
            (
                Estimate(-0.01, 0.01, -0.03, 0.01, 1000),
                "undecided with 1,000 users; about 3,900 would do",
            ),
            # 1.95 deviations: 50 (1.96/1.95)^2 = 50.5, of which 51 are more than 50
            (Estimate(0.195, 0.1, -0.01, 0.4, 50), "undecided with 50 users; about 51 would do"),
            (
                Estimate(1e-6, 0.1, -0.2, 0.2, 50),
                "undecided with 50 users; more than 10,000,000 would be needed",
            ),
            (Estimate(0.1, math.nan, math.nan, math.nan, 1), "undecided with 1 user"),
        ],
    )
    def test_undecided(self, difference, words):
        assert exact_verdict(difference, AB, "undecided") == words

    def test_decided(self):
        difference = Estimate(0.2, 0.05, 0.1, 0.3, 50)
        assert exact_verdict(difference, AB, "b") == "B is above A"
        assert exact_verdict(difference, AB, "a") == "A is above B"

    @pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999999])
    def test_advice_follows_the_confidence(self, confidence):
        """As many users as place the difference at the end of its normal interval."""
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        difference = Estimate(0.001, 0.01, -9.0, 9.0, 1000)
        verdict = exact_verdict(difference, AB, "undecided", confidence)
        advised = int(verdict.partition("about ")[2].split()[0].replace(",", ""))
        needed = 1000 * (10 * z) ** 2
        assert needed <= advised <= 1.1 * needed


def expected_sample(population, m, users=USERS):
    """As many users at every sampled rank as are expected there."""
    expected = users * population.sampled_shares(m, "without-replacement")
    return SampledRanks(np.repeat(np.arange(1, m + 2), np.round(expected).astype(int)), N, m)


def mixture(*parts):
    """Population with a share of uniform ranks on 1 ... k for each (share, k)."""
    shares, k = (np.array(each) for each in zip(*parts, strict=True))
    return Population(Ranks(np.full(k.size, N), k * 0, k - 1), shares)


class TestOrder:
    head = mixture((0.12, 10), (0.88, N))  # recall@10 .12
    broad = mixture((0.8, 400), (0.2, N))  # recall@10 .02, and higher from about rank 70 on

    def test_two_that_cross_are_undecided_though_estimates_are_sure_of_the_wrong_one(self):
        samples = {
            "head": expected_sample(self.head, 10),
            "broad": expected_sample(self.broad, 10),
        }
        measures = [parse_measure("recall@10")]
        truth = self.broad.exact(measures) - self.head.exact(measures)
        assert truth < -0.09
        for found in compare_sampled(samples, ["recall@10"]):
            assert found.ci_low > 0.0  # the wrong order, with certainty
            assert found.order == "undecided"
            assert found.range_low <= truth <= found.range_high
            assert found.p_value > 0.05
            start, _, end = found.verdict.partition("; ")
            assert start.startswith("undecided: 10 uniform negatives leave recall@10 between ")
            assert end == f"broad is above head at about recall@{found.behaves_like}"

    def test_more_negatives_decide_it(self):
        samples = {
            "head": expected_sample(self.head, 300),
            "broad": expected_sample(self.broad, 300),
        }
        (found,) = compare_sampled(samples, ["recall@10"], ["sampled"])
        assert (found.order, found.verdict) == ("a", "head is above broad")
        assert found.difference > 0.0  # the sampled metric still says the opposite
        assert found.p_value < 0.05

    @cache  # noqa: B019 (the class lives as long as the tests)
    def records(self, name):
        return Ranks.read(ROOT / f"results/reference/ranks/{name}.parquet")

    def samples(self, m, seed, names="XYZ"):
        rng = np.random.default_rng([seed, m])
        found = {}
        for name in names:
            ranks = self.records(name)
            drawn = draw_sampled_ranks(ranks, m, rng)
            found[name] = SampledRanks(drawn, N, m, users=np.arange(len(ranks)))
        return found

    @pytest.mark.parametrize("m", [5, 20, 100, 500])
    def test_never_wrong(self, m):
        """Section 6: Z above Y above X by full rankings, X above both by few negatives."""
        wrong = 0
        for seed in range(2):
            results = compare_sampled(
                self.samples(m, seed), ["recall@10", "ap"], ["sampled"], correction="none"
            )
            for one in results:
                truth = [
                    Population.of_users(self.records(name)).exact([parse_measure(one.metric)])[0]
                    for name in (one.a, one.b)
                ]
                right = "b" if truth[1] > truth[0] else "a"
                assert one.order in ("undecided", right)
                assert one.range_low <= truth[1] - truth[0] <= one.range_high
                wrong += one.ci_low > 0 if right == "a" else one.ci_high < 0
        assert wrong  # sampled metrics are, with certainty

    def test_exact(self):
        rankings = {name: self.records(name) for name in "XY"}
        (found,) = compare_exact(rankings, ["recall@10"])
        assert (found.order, found.verdict) == ("b", "Y is above X")

    def test_p_value_is_where_the_range_begins_to_hold_zero(self):
        a, b = expected_sample(self.head, 20), expected_sample(self.broad, 20)
        measures = [parse_measure("recall@10")]
        bracketed = [bracket_users(measures, sample) for sample in (a, b)]
        p = order_p_value(*bracketed, 0)
        assert 1e-6 < p < 0.5
        for factor, decided in ((0.95, False), (1.05, True)):
            found = difference_range(
                *(one._replace(confidence=1 - factor * p) for one in bracketed), 0
            )
            assert (not found.low <= 0.0 <= found.high) is decided

    def test_same_recommender(self):
        (sample,) = self.samples(20, 0, "X").values()
        (found,) = compare_sampled({"A": sample, "B": sample}, ["recall@10"], ["cls"])
        assert (found.order, found.difference, found.p_value) == ("undecided", 0.0, 1.0)
        assert estimate_says(found) == "not distinguishable at about recall@122 either"

    def test_advice(self):
        """Of a difference of .011, full rankings barely tell the order, 1,000 negatives do not."""
        samples = self.samples(100, 0, "XY")
        (found,) = compare_sampled(samples, ["recall@10"], ["cls"])
        words = advice(found, samples, "non-increasing", 0.95)
        here, more, full = (float(number) for number in re.findall(r"0\.\d+", words))
        assert here == pytest.approx((found.range_high - found.range_low) / 2, rel=0.1)
        exact = [self.records(name).best_rank <= 10 for name in "XY"]
        error = math.sqrt(sum(each.var() for each in exact) / USERS)
        assert full == pytest.approx(1.96 * error, rel=0.2)
        assert here > more > full


class TestSampledVerdict:
    def result(self, **more):
        (found,) = compare_sampled(
            named(SampledRanks([1, 2, 3], 300, 10), SampledRanks([1, 1, 2], 300, 10)),
            ["recall@10"],
            ["cls"],
        )
        return replace(found, **({"n_negatives": 10} | more))

    ranges = ({"recall@10": Range(0.059, 0.115, False)}, {"recall@10": Range(0.064, 0.129, False)})

    def test_words(self):
        undecided = self.result(ci_low=0.1, ci_high=0.2, behaves_like=133)
        assert sampled_verdict(undecided, *self.ranges) == (
            "undecided: 10 uniform negatives leave recall@10 between 0.059 and 0.115 for A and "
            "between 0.064 and 0.129 for B; B is above A at about recall@133"
        )
        one = sampled_verdict(replace(undecided, n_negatives=1), *self.ranges)
        assert one.startswith("undecided: 1 uniform negative leaves recall@10")
        assert sampled_verdict(replace(undecided, order="a"), *self.ranges) == "A is above B"

    @pytest.mark.parametrize(
        ("metric", "rank", "words"),
        [
            ("recall@10", 17, "A is above B at about recall@17"),
            ("ndcg@10", 26, "A is above B with half credit at rank 26"),
            ("recall@10", None, "A is above B with half credit at no rank"),
            ("auc", None, "A is above B at auc"),
        ],
    )
    def test_resolution(self, metric, rank, words):
        result = self.result(ci_low=-0.2, ci_high=-0.1, metric=metric, behaves_like=rank)
        assert estimate_says(result) == words
        assert resolution(metric, rank) in words

    def test_interval_that_is_not_known(self):
        result = self.result(ci_low=math.nan, ci_high=math.nan, behaves_like=17)
        assert estimate_says(result) == "not distinguishable at about recall@17 either"


class TestRefusals:
    """Sampled ranks that were not made as said; of 4,000 users."""

    def true(self, rng):
        return np.ceil(N * rng.random(4000) ** 4).astype(int)

    def sample(self, case):
        rng = np.random.default_rng(5)
        true = self.true(rng)
        draw = lambda ranks, m: 1 + rng.hypergeometric(ranks - 1, N - ranks, m)  # noqa: E731
        return {
            "every negative twice": lambda: 2 * draw(true, 50) - 1,
            "10 negatives said to be 100": lambda: draw(true, 10),
            "reversed": lambda: draw(N + 1 - true, 100),
            "from 2": lambda: np.minimum(draw(true, 100) + 1, 101),
        }[case]()

    @pytest.mark.parametrize(
        "case", ["every negative twice", "10 negatives said to be 100", "reversed", "from 2"]
    )
    @pytest.mark.filterwarnings("ignore:the largest sampled rank is 11")
    def test_refused_with_the_statistic(self, case):
        sample = SampledRanks(self.sample(case), N, 100)
        words = r"chi-square \d+ with \d+ degrees of freedom, p = \S+\); the negatives are not"
        with pytest.raises(InputError, match=words):
            correct(sample, ["recall@10"], ["cls"])
        valid = SampledRanks(
            1 + np.random.default_rng(0).binomial(100, 0.3, 50) % 20, N, 100, users=range(50)
        )
        with pytest.raises(InputError, match=r"^second: no distribution"):
            compare_sampled({"first": valid, "second": sample}, ["recall@10"], ["cls"])

    def test_reversed_is_not_refused_without_a_shape(self):
        sample = SampledRanks(self.sample("reversed"), N, 100)
        (found,) = correct(sample, ["recall@10"], ["cls"], shape="none")
        assert found.range_low == 0.0
