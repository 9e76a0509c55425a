"""Comparisons by hand, and orders that sampled ranks decide or leave undecided."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

from sampled_metrics._base.errors import InputError
from sampled_metrics.evaluation.compare import (
    Compared,
    compare,
    decide_orders,
    mean_difference,
    strict_level,
    t_test,
    users_needed,
)
from sampled_metrics.evaluation.correct import correct
from sampled_metrics.intervals.means import Moments
from sampled_metrics.intervals.population import Population
from sampled_metrics.intervals.ranges import Differences, bracket_users
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks, Sampling
from sampled_metrics.read.options import as_ranks
from sampled_metrics.sampling import draw_sampled_ranks, sampled_rank_distribution
from tests.conftest import ROOT
from tests.helpers.caught_warnings import warns_about
from tests.helpers.comparisons import make_compared

N, USERS, RECALL = 3541, 6040, (parse_measure("recall@10"),)


def ranks_of(ranks, n=100, users=None):
    return Ranks([n] * len(ranks), np.array(ranks) - 1, [0] * len(ranks), users=users)


def sampled(ranks, users=None, n=300, m=10):
    return SampledRanks(np.array(ranks), n, m, users=users)


def named(*evaluations):
    return dict(zip("ABCD", evaluations, strict=False))


class TestExact:
    a, b = (1, 2, 4, 50), (2, 1, 1, 10)
    ap = 1 / np.array([a, b])

    @pytest.fixture
    def paired(self):
        """The same four users, in opposite orders."""
        a = ranks_of(self.a, users=[1, 2, 3, 4])
        b = ranks_of(self.b[::-1], users=[4, 3, 2, 1])
        return named(a, b)

    def test_paired_by_hand(self, paired):
        (result,) = compare(paired, "ap")
        of_a, of_b = self.ap
        differences = of_b - of_a
        mean, error = differences.mean(), math.sqrt(differences.var(ddof=1) / 4)
        assert (result.value_a, result.value_b) == pytest.approx((of_a.mean(), of_b.mean()))
        assert (result.difference, result.std_error) == pytest.approx((mean, error))
        assert result.p_value == pytest.approx(2 * stats.t(df=3).sf(abs(mean) / error))

    def test_exact_difference_has_no_range_of_its_own(self, paired):
        (result,) = compare(paired, "ap")
        assert (result.range_low, result.range_high) == (result.ci_low, result.ci_high)
        assert (result.estimator, result.acts_like, result.n_negatives) == ("exact", None, None)

    def test_users_and_items_of_a_pair_are_counted(self, paired):
        (result,) = compare(paired, "ap")
        assert (result.paired, result.n_users, result.n_items) == (True, 4, 100)

    @pytest.mark.filterwarnings("ignore:confidence")  # of 0.4
    def test_order_is_decided_if_the_p_value_is_below_the_risk(self, paired):
        (result,) = compare(paired, "ap")
        assert 1 - 0.6 < result.p_value < 1 - 0.4
        (at_40,), (at_60,) = (compare(paired, "ap", confidence=level) for level in (0.4, 0.6))
        assert (at_40.order, at_60.order) == ("b", "undecided")

    def test_exchanged_recommenders_have_the_opposite_difference(self):
        a, b = ranks_of(self.a, users=range(4)), ranks_of(self.b, users=range(4))
        (forth,), (back,) = compare(named(a, b), "ap"), compare(named(b, a), "ap")
        assert (back.difference, back.p_value) == (-forth.difference, forth.p_value)
        assert (back.ci_low, back.ci_high) == pytest.approx((-forth.ci_high, -forth.ci_low))

    def test_unpaired_by_hand(self):
        a, b = ranks_of(self.a, users=range(4)), ranks_of(self.b[:3], users=range(4, 7))
        with warns_about("0 of 3"):
            (result,) = compare(named(a, b), ["ap"])
        a, b = self.ap[0], self.ap[1, :3]
        assert result.difference == pytest.approx(b.mean() - a.mean())
        # The error of n = 3 values with the variance of the difference: second moment / (n - 1).
        assert result.std_error == pytest.approx(math.sqrt(3 * (b.var() / 3 + a.var() / 4) / 2))
        assert (result.paired, result.n_users) == (False, 3)

    def test_other_users_are_left_out(self):
        """r and s are the last two users of A and the first two of B."""
        a, b = ranks_of(self.a, users=list("pqrs")), ranks_of(self.b, users=list("rstu"))
        (result,) = compare(named(a, b), ["ap"])
        of_a, of_b = self.ap[0, 2:], self.ap[1, :2]
        assert result.n_users == 2
        assert result.value_a == pytest.approx(of_a.mean())
        assert result.difference == pytest.approx((of_b - of_a).mean())

    @pytest.mark.parametrize("metric", ["recall@10", "ap"])
    def test_swapped_pair_has_opposite_interval(self, metric):
        a, b = (ranks_of(self.a, n, users=[1, 2, 3, 4]) for n in (50, 5000))
        with warns_about("candidates"):
            (one,), (other,) = (compare(named(a, b), metric), compare(named(b, a), metric))
        assert (other.ci_low, other.ci_high) == (-one.ci_high, -one.ci_low)
        assert one.n_items is None

    def test_equal_ranks_are_undecided(self):
        ranks = ranks_of([3, 4], users=[1, 2])
        (equal,) = compare(named(ranks, ranks), ["ap"])
        assert (equal.difference, equal.std_error, equal.p_value) == (0.0, 0.0, 1.0)
        assert equal.order == "undecided"

    def test_single_users_are_undecided(self):
        (single,) = compare(named(ranks_of([3], users=[1]), ranks_of([4], users=[1])), ["ap"])
        assert all(map(math.isnan, (single.std_error, single.ci_low, single.ci_high)))
        assert (single.order, single.p_value) == ("undecided", 1.0)

    @pytest.fixture
    def three(self):
        """Ranks of 60 users up to 60, 40 and 35."""
        rng = np.random.default_rng(3)
        return named(*(ranks_of(rng.integers(1, top, 60), users=range(60)) for top in (60, 40, 35)))

    def test_each_pair_has_a_result_for_each_metric(self, three):
        results = compare(three, ["ap", "recall@10"])
        assert [(one.a, one.b, one.metric) for one in results] == [
            ("A", "B", "ap"), ("A", "B", "recall@10"), ("A", "C", "ap"), ("A", "C", "recall@10"),
            ("B", "C", "ap"), ("B", "C", "recall@10"),
        ]  # fmt: skip

    @pytest.mark.parametrize("metric", ["ap", "recall@10"])
    def test_holm_correction_by_hand(self, three, metric):
        """The other metric does not count: the least of three p-values is multiplied by 3."""
        plain, holm = (
            [
                one
                for one in compare(three, "ap, recall@10", correction=correction)
                if one.metric == metric
            ]
            for correction in ("none", "holm")
        )
        corrected = {one.p_value: other.p_value for one, other in zip(plain, holm, strict=True)}
        least, middle, most = sorted(corrected)
        first = min(1, 3 * least)
        second = max(first, min(1, 2 * middle))
        by_hand = {least: first, middle: second, most: max(second, most)}
        assert corrected == pytest.approx(by_hand)
        assert [one.order != "undecided" for one in holm] == [one.p_value < 0.05 for one in holm]


@pytest.mark.parametrize("paired", [True, False])
def test_t_test_matches_scipy(paired):
    a, b = np.array([0.1, 0.4, 0.2, 0.9, 0.3]), np.array([0.3, 0.4, 0.7, 1.0, 0.2])
    expected = stats.ttest_rel(a, b) if paired else stats.ttest_ind(a, b, equal_var=False)
    assert t_test(a, b, paired=paired) == pytest.approx(expected.pvalue, rel=1e-12)


@pytest.mark.parametrize("paired", [True, False])
def test_t_test_without_variance(paired):
    same, more = np.full(4, 0.5), np.full(4, 0.75)
    assert t_test(same, same, paired=paired) == 1.0
    assert t_test(same, more, paired=paired) == 0.0
    assert t_test(same[:1], more[:1], paired=paired) == 1.0  # a single user decides nothing


@pytest.mark.parametrize(
    ("data", "options", "word"),
    [
        ({}, {}, "0 recommender"),
        ({"A": ranks_of([1])}, {}, "1 recommender"),
        ([[1], [2]], {}, "dictionary"),
        (named(ranks_of([1]), ranks_of([2])), {"correction": "sidak"}, "correction"),
        (named(ranks_of([1]), ranks_of([2])), {"ties": ""}, "tie policy ''"),
        (named(sampled([1]), sampled([2])), {"ties": ""}, "tie policy ''"),
        (named(ranks_of([1]), ranks_of([2])), {"estimators": "cls"}, "estimators"),
        (named(sampled([1]), sampled([2], m=20)), {}, "sampled differently: n_negatives"),
        (
            named(sampled([1]), replace(sampled([1]), sampling="distinct")),
            {},
            "sampled differently: sampling",
        ),
    ],
)
def test_wrong_data_or_options_are_refused(data, options, word):
    with pytest.raises(InputError, match=word):
        compare(data, "ap", **options)


class TestSampled:
    def test_paired_by_hand(self):
        """Rows of a user are averaged before pairing."""
        a = sampled([1, 4, 2, 8], users=[5, 5, 6, 7])
        b = sampled([2, 1, 5], users=[6, 5, 7])
        (result,) = compare(named(a, b), ["ap"], ["sampled"])
        differences = np.array([1 - (1 + 1 / 4) / 2, 1 / 2 - 1 / 2, 1 / 5 - 1 / 8])
        assert result.value_b == pytest.approx((1 + 1 / 2 + 1 / 5) / 3)
        assert result.difference == pytest.approx(differences.mean())
        assert result.std_error == pytest.approx(math.sqrt(differences.var(ddof=1) / 3))
        assert (result.paired, result.n_users, result.n_items) == (True, 3, 300)
        assert (result.n_negatives, result.sampling) == (10, a.sampling)

    @pytest.mark.parametrize("sampling", Sampling)
    @pytest.mark.parametrize("ids", [True, False])
    @pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")  # 60 candidates
    def test_two_users_decide_nothing(self, ids, sampling):
        users, ranks = 2, (2, 1) if sampling == "without-replacement" else (20, 19)
        names = range(users) if ids else None
        both = (SampledRanks([rank] * users, 60, 59, sampling, users=names) for rank in ranks)
        for one in compare(named(*both), ["recall@10", "auc"], ["sampled"]):
            assert one.order == "undecided"
            assert one.range_low <= 0.0 <= one.range_high
            assert (one.paired, one.n_users) == (True, users)


@cache
def records(name):
    return as_ranks(ROOT / f"results/reference/ranks/{name}.parquet")


def expected_sample(population, m, first=0):
    """Return the expected number of users at each sampled rank, with ids from `first`."""
    expected = USERS * population.share @ sampled_rank_distribution(population.ranks, m)
    ranks = np.repeat(np.arange(1, m + 2), np.round(expected).astype(int))
    return SampledRanks(ranks, N, m, users=first + np.arange(ranks.size))


def mixture(share, k):
    """Return a population with a share of uniform ranks from 1 to k, the others from 1 to n."""
    ranks = Ranks(np.full(2, N), np.zeros(2, int), np.array([k - 1, N - 1]))
    return Population(ranks, np.array([share, 1 - share]))


def zipf_sample(offset, rng, n=N, users=6000, m=500):
    """Sampled ranks of users whose true rank is k in proportion to 1 / (k + offset)."""
    weights = 1.0 / (np.arange(1, n + 1) + offset)
    true = 1 + rng.choice(n, users, p=weights / weights.sum())
    return SampledRanks(1 + rng.hypergeometric(true - 1, n - true, m), n, m)


class TestOrder:
    head = mixture(0.12, 10)  # recall@10 .12
    broad = mixture(0.8, 400)  # recall@10 .02, and higher from about rank 70 on

    @pytest.fixture
    def truth(self):
        """The true difference B - A of recall@10, about .02 - .12."""
        truth = self.broad.exact(*RECALL) - self.head.exact(*RECALL)
        assert truth < -0.09
        return truth

    @pytest.mark.filterwarnings("ignore:.*A and B have 0 of")
    @pytest.mark.parametrize("estimator", ["cls", "bv:0.1"])
    def test_estimates_may_be_significant_in_wrong_order(self, truth, estimator):
        """Among 10 negatives, estimates put B above A; the range knows that it does not know."""
        data = named(expected_sample(self.head, 10), expected_sample(self.broad, 10, 10**6))
        (result,) = compare(data, ["recall@10"], estimator)
        assert result.ci_low > 0.0
        assert result.range_low <= truth <= result.range_high
        assert (result.order, result.p_value > 0.05) == ("undecided", True)
        assert f"B is above A at about recall@{result.acts_like}" in result.verdict

    @pytest.mark.filterwarnings("ignore:.*A and B have 0 of")
    def test_many_negatives_decide_the_true_order(self, truth):
        """Although the sampled metric still has the opposite order."""
        data = named(expected_sample(self.head, 300), expected_sample(self.broad, 300, 10**6))
        (result,) = compare(data, ["recall@10"], ["sampled"])
        assert result.difference > 0.0 > truth
        assert (result.order, result.p_value < 0.05) == ("a", True)

    @pytest.mark.parametrize("m", [5, pytest.param(100, marks=pytest.mark.long)])
    def test_decided_orders_are_never_wrong(self, m):
        """Section 6: full rankings put Z above Y above X, few negatives put X first."""
        wrong = 0
        for seed in range(2):
            rng, samples = np.random.default_rng([seed, m]), {}
            for name in "XYZ":
                sampled_ranks = draw_sampled_ranks(records(name), m, rng)
                samples[name] = sampled(sampled_ranks, np.arange(sampled_ranks.size), N, m)
            for one in compare(samples, ["recall@10", "ap"], ["sampled"], correction="none"):
                measure, both = ([parse_measure(one.metric)], map(records, (one.a, one.b)))
                a, b = (Population.from_ranks(each).exact(*measure) for each in both)
                right = "b" if b > a else "a"
                assert one.order in ("undecided", right)
                assert one.range_low <= b - a <= one.range_high
                wrong += one.ci_low > 0 if right == "a" else one.ci_high < 0
        assert wrong  # sampled metrics often are significantly wrong

    @pytest.fixture
    def zipf(self):
        """Samples of two recommenders, of which A has more users at the top."""
        a, b = (zipf_sample(offset, np.random.default_rng(offset)) for offset in (5, 20))
        return named(a, b)

    @pytest.mark.long
    def test_order_holds_up_to_a_shape(self, zipf):
        """`shape` allows ranks to be that many times as likely as the one before."""
        (result,) = compare(zipf, "recall@10", "sampled")
        (at_limit,) = compare(zipf, "recall@10", "sampled", shape=result.holds_up_to)
        (beyond,) = compare(zipf, "recall@10", "sampled", shape=1.06 * result.holds_up_to)
        assert (result.order, at_limit.order, beyond.order) == ("a", "a", "undecided")

    @pytest.mark.long
    def test_shape_does_not_change_what_order_holds_up_to(self, zipf):
        (result,) = compare(zipf, "recall@10", "sampled")
        assert 1.0 < result.holds_up_to < 16.0
        (at_limit,) = compare(zipf, "recall@10", "sampled", shape=result.holds_up_to)
        assert at_limit.holds_up_to == pytest.approx(result.holds_up_to, rel=0.06)

    @pytest.mark.long
    def test_order_by_recall_needs_a_shape(self, zipf):
        (result,) = compare(zipf, "recall@10", "sampled", shape="none")
        assert result.order == "undecided"

    @pytest.mark.long
    def test_order_by_auc_holds_up_to_the_largest_factor(self, zipf):
        (result,) = compare(zipf, "auc", "sampled")
        assert result.holds_up_to == 16.0

    @pytest.mark.long
    @pytest.mark.filterwarnings("ignore:.*have the same ranks")
    def test_order_of_one_of_three_pairs_holds_up_to_less(self, zipf):
        (alone,) = compare(zipf, "recall@10", "sampled")
        of_three, *_ = compare({**zipf, "C": zipf["B"]}, "recall@10", "sampled")
        assert of_three.order == "a"
        assert 1.0 < of_three.holds_up_to < alone.holds_up_to

    def test_p_value_is_where_range_includes_zero(self):
        samples = (expected_sample(self.head, 20), expected_sample(self.broad, 20, 10**6))
        bracketed = [bracket_users(sample, RECALL) for sample in samples]
        p = Differences(*bracketed).p_value(0)
        assert 1e-6 < p < 0.5
        for factor, decided in ((0.95, False), (1.05, True)):
            ends = (one._replace(confidence=1 - factor * p) for one in bracketed)
            allowed = Differences(*ends).range(0)
            assert (not allowed.low <= 0.0 <= allowed.high) is decided


BROKEN = {  # sampled ranks that do not fit their description
    "every negative twice": lambda true, draw: 2 * draw(true, 50) - 1,
    "10 negatives said to be 100": lambda true, draw: draw(true, 10),
    "from 2": lambda true, draw: np.minimum(draw(true, 100) + 1, 101),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.filterwarnings("ignore:.*the largest rank")
def test_misfit_is_refused_with_chi_square(case):
    rng = np.random.default_rng(5)
    true = np.ceil(N * rng.random(4000) ** 4).astype(int)
    ranks = BROKEN[case](true, lambda x, m: 1 + rng.hypergeometric(x - 1, N - x, m))
    broken = SampledRanks(ranks, N, 100, users=range(4000))
    with pytest.raises(InputError, match="chi-square"):
        correct(broken, ["recall@10"], ["cls"])
    valid = sampled(1 + np.arange(50) % 20, range(50), N, 100)
    with pytest.raises(InputError) as caught:
        compare({"first": valid, "second": broken}, ["recall@10"], ["cls"])
    assert caught.value.path == "second"


@pytest.fixture
def fifteen_differ():
    """Of 100 users, 10 have a hit by B only, 5 by A only, and 85 by both.

    Differences have the mean (10 - 5) / 100 and the variance (10 + 5) / 100 - .05^2.
    """
    none, a, b = np.zeros((3, 100), int)
    a[:10], b[10:15] = 1, 1  # at rank 2
    return {"A": Ranks(none + 9, a, none), "B": Ranks(none + 9, b, none)}


NEEDED = 100 * (1.959964 * math.sqrt((0.15 - 0.05**2) / 99) / 0.05) ** 2  # 228.9


def test_users_needed_by_hand(fifteen_differ):
    """Written with two digits, upwards."""
    (result,) = compare(fifteen_differ, "hr@1")
    assert 220 < NEEDED < 230
    assert result.users_needed == 230


@pytest.mark.filterwarnings("ignore:.*have the same ranks")
def test_more_users_are_needed_for_one_of_three_pairs(fifteen_differ):
    """Holm's method compares the least of three p-values with a third of the risk."""
    of_three, *_ = compare({**fifteen_differ, "C": fifteen_differ["A"]}, "hr@1")
    wider = stats.norm.isf(0.05 / 3 / 2) / stats.norm.isf(0.05 / 2)
    assert of_three.users_needed == pytest.approx(NEEDED * wider**2, rel=0.05)


@pytest.mark.parametrize(
    ("users", "ratio", "needed"),
    [
        (50, 1.0, 200),  # 50 * 1.96^2 = 192.07, to two digits upwards
        (50, 3.0, 51),  # 21.3 by the formula, but 50 users did not decide
        (98, 9.0, 99),
        (99, 9.0, 100),
        (1234, 9.0, 1300),
        (50, 0.0, None),
        (50, -1.0, 200),
    ],
)
def test_users_needed_exceed_users(users, ratio, needed):
    numbers = dict.fromkeys(("value_a", "value_b", "ci_low", "ci_high"), 0.0)
    result = Compared(
        a="A", b="B", metric="ap", estimator="exact", **numbers, range_low=-1.0, range_high=1.0,
        difference=0.01 * ratio, std_error=0.01, p_value=0.5, paired=True, n_users=users,
    )  # fmt: skip
    assert users_needed(result, 0.95) == needed
    assert users_needed(replace(result, std_error=0.0), 0.95) is None


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")  # in random order
def test_users_needed_beyond_ten_million():
    a = np.random.default_rng(0).integers(0, 90, 1000)
    b = np.roll(a, 1)
    b[0] += 1  # one user is one rank lower
    results = compare(named(ranks_of(a + 1), ranks_of(b + 1)), "auc")
    assert results[0].users_needed > 10**9
    assert "10,000,000" in results[0].verdict
    (row,) = results.parts()[0]
    assert row["order"] == "undecided"  # without a number


@pytest.mark.parametrize("offset", [26, pytest.param(40, marks=pytest.mark.long)])
def test_holds_up_to_is_within_five_percent(offset):
    rng = np.random.default_rng(7)
    data = named(*(zipf_sample(each, rng, n=400, users=3000, m=60) for each in (5, offset)))
    (result,) = compare(data, "recall@10", "sampled")
    assert (result.order, 1.0 < result.holds_up_to < 16.0) == ("a", True)
    (at,), (beyond,) = (
        compare(data, "recall@10", "sampled", shape=factor * result.holds_up_to)
        for factor in (1.0, 1.055)
    )
    assert (at.order, beyond.order) == ("a", "undecided")


PRIOR = Moments.from_values([0.0, 1.0])


def pairs(p_values, metric="ap", low=0.1, high=0.3):
    """Return results of A and B, A and C, B and C."""
    names = (("A", "B"), ("A", "C"), ("B", "C"))
    return [
        make_compared(a=a, b=b, metric=metric, p_value=p, range_low=low, range_high=high)
        for (a, b), p in zip(names, p_values, strict=True)
    ]


@pytest.mark.parametrize(
    ("correction", "p_values"),
    [
        ("none", [0.01, 0.04, 0.03]),
        ("holm", [3 * 0.01, 0.06, 2 * 0.03]),  # 0.04 is raised to the one before it
    ],
)
@pytest.mark.parametrize("confidence", [0.98, 0.95, 0.9])
def test_orders_are_decided_by_corrected_p_value(correction, p_values, confidence):
    other = pairs([0.2, 0.3, 0.001], "auc")
    results = [*pairs([0.01, 0.04, 0.03]), *other]
    decided = decide_orders(results, correction, confidence)
    assert [each.p_value for each in decided[:3]] == pytest.approx(p_values)
    orders = ["b" if p < 1 - confidence else "undecided" for p in p_values]
    assert [each.order for each in decided[:3]] == orders
    assert [each.order for each in decided[3:]] == ["undecided", "undecided", "b"]
    assert [(each.a, each.b, each.metric) for each in decided] == [
        (each.a, each.b, each.metric) for each in results
    ]


def test_holm_counts_pairs_not_estimators():
    """Two results of each pair, by two estimators: Holm's factor is 3, not 6."""
    twice = [each for each in pairs([0.01, 0.2, 0.3]) for _ in range(2)]
    decided = decide_orders(twice, "holm", 0.95)
    assert [each.p_value for each in decided] == pytest.approx([0.03] * 2 + [0.4] * 4)
    assert [each.order for each in decided] == ["b"] * 2 + ["undecided"] * 4


@pytest.mark.parametrize(
    ("low", "high", "order"),
    [
        (0.1, 0.3, "b"), (-0.3, -0.1, "a"), (-0.1, 0.1, "undecided"), (0.0, 0.1, "undecided"),
        (-0.1, 0.0, "undecided"),
    ],
)  # fmt: skip
def test_order_is_sign_of_range(low, high, order):
    (decided,) = decide_orders([make_compared(range_low=low, range_high=high)], "none", 0.95)
    assert decided.order == order
    assert make_compared(ci_low=low, ci_high=high).order_of_estimates == order


@pytest.mark.parametrize(
    ("alone", "corrected", "level"),
    [(0.01, 0.03, 1 - 0.05 / 3), (0.01, 0.01, 0.95), (0.0, 0.0, 0.95), (1.0, 1.0, 0.95)],
)
def test_strict_level_by_hand(alone, corrected, level):
    assert strict_level(corrected, alone, 0.95) == pytest.approx(level)


@pytest.mark.parametrize(("n_a", "n_b"), [(40, 40), (40, 25)])
def test_mean_difference_by_hand(n_a, n_b):
    rng = np.random.default_rng(3)
    a, b = rng.random(n_a), rng.random(n_b)
    mean = mean_difference(a, b, paired=False, prior=PRIOR, confidence=0.95)
    n = min(n_a, n_b)
    error = np.sqrt((a.var() / n_a + b.var() / n_b) * n / (n - 1))
    assert mean[:2] == pytest.approx((b.mean() - a.mean(), error))
    assert mean.n_users == n
    assert mean.ci_low < mean.value < mean.ci_high


def test_mean_of_paired_differences_by_hand():
    a, b = np.random.default_rng(3).random((2, 40))
    paired = mean_difference(a, b, paired=True, prior=PRIOR, confidence=0.95)
    assert paired[:2] == pytest.approx(((b - a).mean(), (b - a).std() / np.sqrt(40 - 1)))
    rounded = mean_difference(a, a + 1e-15, paired=True, prior=PRIOR, confidence=0.95)
    assert rounded[:2] == (0.0, 0.0)
