"""Comparisons by hand, every verdict, and the reversal of section 6."""

import json
import math
from dataclasses import asdict, replace
from functools import cache
from statistics import NormalDist

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import parse_estimator
from sampled_metrics.inference.compare import common_users, compare_exact, compare_sampled
from sampled_metrics.inference.intervals import Estimate
from sampled_metrics.inference.plan import Pair
from sampled_metrics.inference.population import Population
from sampled_metrics.inference.verdict import exact_verdict, sampled_verdict
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.sampling import draw_sampled_ranks
from tests.conftest import ROOT

AB = ("A", "B")


def ranks_of(ranks, n=100, users=None):
    return Ranks([n] * len(ranks), np.array(ranks) - 1, [0] * len(ranks), users=users)


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
            ranks_of(self.a, users=[1, 2, 3, 4]),
            ranks_of(self.b[::-1], users=[4, 3, 2, 1]),
            ["ap"],
        )
        differences = self.ap[1] - self.ap[0]
        error = math.sqrt(differences.var(ddof=1) / 4)
        assert (found.value_a, found.value_b) == pytest.approx(tuple(self.ap.mean(axis=1)))
        assert found.difference == pytest.approx(differences.mean())
        assert found.std_error == pytest.approx(error)
        assert found.probability == pytest.approx(NormalDist().cdf(differences.mean() / error))
        assert (found.paired, found.n_users, found.n_items) == (True, 4, 100)
        assert (found.estimator, found.n_negatives, found.sampling) == ("exact", None, None)

    def test_unpaired_by_hand(self):
        (found,) = compare_exact(ranks_of(self.a), ranks_of(self.b[:3]), ["ap"])
        a, b = self.ap[0], self.ap[1, :3]
        assert found.difference == pytest.approx(b.mean() - a.mean())
        # of n = 3 values that scatter as the difference does: second moment / (n - 1)
        second = 3 * (b.var() / 3 + a.var() / 4)
        assert found.std_error == pytest.approx(math.sqrt(second / 2))
        assert (found.paired, found.n_users) == (False, 3)

    def test_only_common_users_count(self):
        (found,) = compare_exact(
            ranks_of(self.a, users=list("pqrs")), ranks_of(self.b, users=list("rstu")), ["ap"]
        )
        differences = self.ap[1, :2] - self.ap[0, 2:]
        assert found.difference == pytest.approx(differences.mean())
        assert found.value_a == pytest.approx(self.ap[0, 2:].mean())
        assert found.n_users == 2

    def test_the_other_way_round(self):
        a, b = (ranks_of(ranks, users=[1, 2, 3, 4]) for ranks in (self.a, self.b))
        (one,) = compare_exact(a, b, ["ap"])
        (other,) = compare_exact(b, a, ["ap"])
        assert other.difference == -one.difference
        assert (other.ci_low, other.ci_high) == pytest.approx((-one.ci_high, -one.ci_low))
        assert other.probability == one.probability

    def test_equal(self):
        ranks = ranks_of([3, 4], users=[1, 2])
        (found,) = compare_exact(ranks, ranks, ["ap"])
        assert (found.difference, found.std_error, found.probability) == (0.0, 0.0, 0.5)
        assert found.verdict == "not distinguishable with 2 users"

    def test_different_catalogues(self):
        (found,) = compare_exact(ranks_of([3, 4]), ranks_of([3, 4], 50), ["ap"])
        assert found.n_items is None

    def test_one_user(self):
        (found,) = compare_exact(ranks_of([3], users=[1]), ranks_of([4], users=[1]), ["ap"])
        numbers = (found.std_error, found.ci_low, found.ci_high, found.probability)
        assert all(map(math.isnan, numbers))
        assert found.verdict == "not distinguishable with 1 user"


class TestSampled:
    def evaluation(self, ranks, users=True, m=10):
        names = np.arange(len(ranks)) if users else None
        return SampledRanks(np.array(ranks), 300, m, users=names)

    def test_paired_by_hand(self):
        a, b = self.evaluation([1, 2, 4]), self.evaluation([1, 1, 2])
        (found,) = compare_sampled(a, b, ["ap"], ["sampled"])
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
                self.evaluation(ranks[0], users, 100),
                self.evaluation(ranks[1], users, 100),
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
        (found,) = compare_sampled(a, b, ["ap"], ["sampled"])
        assert found.value_a == pytest.approx(((1 + 1 / 4) / 2 + 1 / 2) / 2)
        assert found.difference == pytest.approx((1 - 5 / 8 + 1 / 2 - 1 / 2) / 2)
        assert found.n_users == 2

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"n_negatives": 20}, "n_negatives is 10 for one and 20 for the other"),
            ({"sampling": "distinct"}, "sampling is without-replacement for one and distinct"),
        ],
    )
    def test_not_sampled_alike(self, options, words):
        a = self.evaluation([1, 2])
        with pytest.raises(InputError, match=words):
            compare_sampled(a, replace(a, **options))


class TestExactVerdict:
    @pytest.mark.parametrize(
        ("difference", "words"),
        [
            (Estimate(0.2, 0.05, 0.1, 0.3, 50), "B is above A"),
            (Estimate(-0.2, 0.05, -0.3, -0.1, 50), "A is above B"),
            (Estimate(0.0, 0.0, 0.0, 0.0, 50), "not distinguishable with 50 users"),
            (Estimate(0.0, 0.1, -0.2, 0.2, 50), "not distinguishable with 50 users"),
            # 1000 (1.96/1)^2 = 3841.6, rounded up to two digits
            (
                Estimate(-0.01, 0.01, -0.03, 0.01, 1000),
                "not distinguishable with 1,000 users; about 3,900 would do",
            ),
            # 1.95 deviations: 50 (1.96/1.95)^2 = 50.5, of which 51 are more than 50
            (
                Estimate(0.195, 0.1, -0.01, 0.4, 50),
                "not distinguishable with 50 users; about 51 would do",
            ),
            (
                Estimate(1e-6, 0.1, -0.2, 0.2, 50),
                "not distinguishable with 50 users; more than 10,000,000 would be needed",
            ),
            (
                Estimate(0.1, math.nan, math.nan, math.nan, 1),
                "not distinguishable with 1 user",
            ),
        ],
    )
    def test_words(self, difference, words):
        assert exact_verdict(difference, AB) == words

    @pytest.mark.parametrize("confidence", [0.5, 0.8, 0.95, 0.99, 0.999999])
    def test_advice_follows_the_confidence(self, confidence):
        """As many users as place the difference at the end of its normal interval."""
        z = NormalDist().inv_cdf((1 + confidence) / 2)
        verdict = exact_verdict(Estimate(0.001, 0.01, -9.0, 9.0, 1000), AB, confidence)
        advised = int(verdict.partition("about ")[2].split()[0].replace(",", ""))
        needed = 1000 * (10 * z) ** 2
        assert needed <= advised <= 1.1 * needed


class TestSampledVerdict:
    """Of m = 20 from 999; A is a power family's recommender, B a better one or the same."""

    @cache  # noqa: B019 (the class lives as long as the tests)
    def fitted(self, exponent, users=4000, n=1000, m=20):
        def population(exponent):
            expected = users * Population.power(n, exponent).outlook(np.eye(m + 1)).mean
            return Population.estimated(np.round(expected), n, "without-replacement")

        return Pair(population(0.5), population(exponent), n_users=1, drawn=True)

    def words(
        self, difference, exponent=0.4, measure="recall@10", estimator="bv:0.1", n=1000, **more
    ):
        return sampled_verdict(
            Estimate(*difference),
            AB,
            parse_measure(measure),
            parse_estimator(estimator),
            self.fitted(exponent, n=n),
            20,
            **more,
        )

    def test_apart(self):
        assert self.words((0.1, 0.03, 0.04, 0.16, 4000)) == "B is above A"
        assert self.words((-0.1, 0.03, -0.16, -0.04, 4000)) == "A is above B"

    def test_the_sampled_metric_is_another_one(self):
        apart, alike = (0.1, 0.03, 0.04, 0.16, 4000), (0.1, 0.06, -0.02, 0.22, 4000)
        end = " on sampled recall@10 (which need not order as recall@10 does)"
        assert self.words(apart, estimator="sampled") == "B is above A" + end
        assert self.words(alike, estimator="sampled") == (
            "not distinguishable with 20 negatives" + end
        )
        # but for AUC, of which it is an unbiased estimate
        assert self.words(apart, estimator="sampled", measure="auc") == "B is above A"

    def test_no_variation(self):
        words = "not distinguishable with 20 negatives"
        assert self.words((0.0, 0.0, 0.0, 0.0, 4000)) == words
        assert self.words((0.1, math.nan, math.nan, math.nan, 1)) == words

    def test_more_negatives(self):
        words = self.words((0.01, 0.015, -0.02, 0.04, 500))
        start = "not distinguishable with 20 negatives; about "
        assert words.startswith(start)
        assert words.endswith(" would do")
        assert 20 < int(words.removeprefix(start).split()[0]) < 999

    def test_advice_follows_the_confidence(self):
        difference = (0.01, 0.015, -0.05, 0.07, 500)
        advised = [
            int(self.words(difference, confidence=confidence).partition("about ")[2].split()[0])
            for confidence in (0.9, 0.95, 0.97)
        ]
        assert 20 < advised[0] < advised[1] < advised[2]
        verdict = self.words(difference, confidence=0.999999)
        assert verdict.endswith("500 users may be too few even for full rankings")

    def test_more_users(self):
        words = self.words((0.001, 0.05, -0.1, 0.1, 100))
        assert words == (
            "not distinguishable with 20 negatives; 100 users may be too few even for full rankings"
        )

    def test_the_same_twice(self):
        words = self.words((0.0, 0.01, -0.02, 0.02, 4000), exponent=0.5)
        assert words.endswith("; 4,000 users may be too few even for full rankings")

    def test_more_than_would_be_looked_at(self, monkeypatch):
        monkeypatch.setattr("sampled_metrics.inference.verdict.LARGEST", 30)
        words = self.words((0.01, 0.017, -0.02, 0.04, 500))
        assert words == "not distinguishable with 20 negatives; more than 40 would be needed"

    def test_no_more_negatives_than_there_are(self):
        words = self.words((0.01, 0.0001, -0.01, 0.03, 4000), n=21)
        assert words == "not distinguishable with 20 negatives"

    def test_what_would_do_is_more_than_there_was(self):
        words = self.words((0.01, 0.002, -0.01, 0.03, 4000))
        assert words == "not distinguishable with 20 negatives; about 21 would do"


class TestReversal:
    """Section 6: by Recall@10 of 100 negatives X is far above Y; by full rankings it is below."""

    @cache  # noqa: B019
    def records(self, name):
        return Ranks.read(ROOT / f"results/reference/ranks/{name}.parquet")

    def compared(self, m, estimators):
        evaluations = []
        for seed, name in enumerate("XY"):
            records = self.records(name)
            ranks = draw_sampled_ranks(records, m, np.random.default_rng(seed))
            users = np.arange(len(records))
            evaluations.append(SampledRanks(ranks, records.n_candidates, m, users=users))
        found = compare_sampled(*evaluations, ["recall@10"], estimators, names=("X", "Y"))
        return {each.estimator: each for each in found}

    def test_exact(self):
        (found,) = compare_exact(*map(self.records, "XY"), ["recall@10"], names=("X", "Y"))
        assert found.verdict == "Y is above X"
        assert found.value_a < found.value_b
        assert found.probability > 0.95

    def test_sampled_is_wrong_and_corrected_is_right(self):
        found = self.compared(500, ["sampled", "bv:0.1", "cls"])
        plain = found.pop("sampled")
        assert plain.difference < 0
        assert plain.probability > 0.999
        assert plain.verdict == (
            "X is above Y on sampled recall@10 (which need not order as recall@10 does)"
        )
        assert {each.verdict for each in found.values()} == {"Y is above X"}

    def test_an_order_of_bias_is_said_to_be_one(self):
        # with 30 negatives, cls is sure of the wrong order; as many users at every sampled rank
        # as are expected there
        evaluations = []
        for name in "XY":
            expected = Population.of_users(self.records(name)).outlook(np.eye(31)).mean
            ranks = np.repeat(np.arange(1, 32), np.round(6040 * expected).astype(int))
            evaluations.append(SampledRanks(ranks, 3541, 30))
        (found,) = compare_sampled(*evaluations, ["recall@10"], ["cls"], names=("X", "Y"))
        assert found.probability > 0.99
        assert found.verdict == (
            "X is above Y by cls but perhaps by its bias: ranks that fit the samples are ordered "
            "the other way"
        )

    def test_few_negatives_do_not_tell(self):
        found = self.compared(100, ["sampled", "bv:0.1"])
        assert found["sampled"].verdict.startswith("X is above Y on sampled recall@10")
        assert found["bv:0.1"].verdict.startswith("not distinguishable with 100 negatives")
