"""Comparisons by hand, orders that sampled ranks decide and that they leave open, and refusals."""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

from sampled_metrics._base.errors import InputError
from sampled_metrics.evaluation.compare import Compared, compare, t_test, users_needed
from sampled_metrics.evaluation.correct import correct
from sampled_metrics.intervals.population import Population
from sampled_metrics.intervals.ranges import (
    bracket_users,
    common_users,
    difference_range,
    order_p_value,
)
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks, SampledRanks, Sampling
from sampled_metrics.ranks.data import as_ranks, as_sampled, rank
from sampled_metrics.sampling import draw_sampled_ranks, sampled_rank_distribution
from tests.conftest import ROOT
from tests.helpers.caught_warnings import full_messages, warns_about


def read_sampled(path, n_negatives=None, n_items=None, sampling=None, **options):
    return as_sampled(
        path, n_negatives=n_negatives, n_items=n_items, sampling=sampling, **options
    )


N, USERS, RECALL = 3541, 6040, (parse_measure("recall@10"),)


def ranks_of(ranks, n=100, users=None):
    return Ranks([n] * len(ranks), np.array(ranks) - 1, [0] * len(ranks), users=users)


def sampled(ranks, users=None, n=300, m=10):
    return SampledRanks(np.array(ranks), n, m, users=users)


def named(*evaluations):
    return dict(zip("ABCD", evaluations, strict=False))


@pytest.mark.parametrize(
    ("a", "b", "rows"),
    [
        (["x", "y", "z"], ["z", "q", "x"], [[0, 2], [2, 0]]),
        ([7, 8], ["8", "007"], [[1], [0]]),
        (np.array(["8", "9"], dtype=object), np.array([9]), [[1], [0]]),
        *(
            (a, b, None)
            for a, b in ((None, [1]), ([1], None), (None, None), ([1], [2]))
        ),
    ],
)
def test_common_users(a, b, rows):
    found = common_users(a, b)
    assert (found and [each.tolist() for each in found]) == rows


class TestExact:
    a, b = (1, 2, 4, 50), (2, 1, 1, 10)
    ap = 1 / np.array([a, b])

    @pytest.mark.filterwarnings("ignore:confidence")  # of 0.4
    def test_paired_by_hand(self):
        a, b = (
            ranks_of(self.a, users=[1, 2, 3, 4]),
            ranks_of(self.b[::-1], users=[4, 3, 2, 1]),
        )
        (found,), (back,) = compare(named(a, b), "ap"), compare(named(b, a), "ap")
        differences = self.ap[1] - self.ap[0]
        error = math.sqrt(differences.var(ddof=1) / 4)
        assert (found.value_a, found.value_b) == pytest.approx(
            tuple(self.ap.mean(axis=1))
        )
        assert (found.difference, found.std_error) == pytest.approx(
            (differences.mean(), error)
        )
        assert found.p_value == pytest.approx(
            2 * stats.t(3).sf(abs(differences.mean()) / error)
        )
        assert (found.range_low, found.range_high) == (found.ci_low, found.ci_high)
        assert (found.paired, found.n_users, found.n_items) == (True, 4, 100)
        assert (found.estimator, found.acts_like, found.n_negatives) == (
            "exact",
            None,
            None,
        )
        assert (back.difference, back.p_value) == (-found.difference, found.p_value)
        assert (back.ci_low, back.ci_high) == pytest.approx(
            (-found.ci_high, -found.ci_low)
        )
        orders = [
            compare(named(a, b), "ap", confidence=c)[0].order for c in (0.4, 0.6)
        ]
        assert orders == ["b", "undecided"]  # the p-value is 0.503

    def test_unpaired_by_hand(self):
        a, b = (
            ranks_of(self.a, users=range(4)),
            ranks_of(self.b[:3], users=range(4, 7)),
        )
        with warns_about("0 of 3"):
            (found,) = compare(named(a, b), ["ap"])
        a, b = self.ap[0], self.ap[1, :3]
        assert found.difference == pytest.approx(b.mean() - a.mean())
        # of n = 3 values that scatter as the difference does: second moment / (n - 1)
        assert found.std_error == pytest.approx(
            math.sqrt(3 * (b.var() / 3 + a.var() / 4) / 2)
        )
        assert (found.paired, found.n_users) == (False, 3)

    def test_only_common_users_count(self):
        a, b = (
            ranks_of(self.a, users=list("pqrs")),
            ranks_of(self.b, users=list("rstu")),
        )
        (found,) = compare(named(a, b), ["ap"])
        assert found.difference == pytest.approx(
            (self.ap[1, :2] - self.ap[0, 2:]).mean()
        )
        assert (found.value_a, found.n_users) == (
            pytest.approx(self.ap[0, 2:].mean()),
            2,
        )
        assert "2 users" in str(compare(named(a, b), "ap"))

    @pytest.mark.parametrize("metric", ["recall@10", "ap"])
    def test_the_other_way_round_with_another_catalogue(self, metric):
        a, b = (ranks_of(self.a, n, users=[1, 2, 3, 4]) for n in (50, 5000))
        with warns_about("candidates"):
            (one,), (other,) = (
                compare(named(a, b), metric),
                compare(named(b, a), metric),
            )
        assert (other.ci_low, other.ci_high) == (-one.ci_high, -one.ci_low)
        assert one.n_items is None

    def test_equal_and_single_users(self):
        ranks = ranks_of([3, 4], users=[1, 2])
        (found,) = compare(named(ranks, ranks), ["ap"])
        assert (found.difference, found.std_error, found.p_value) == (0.0, 0.0, 1.0)
        assert (found.order, found.verdict) == ("undecided", "undecided with 2 users")
        (one,) = compare(
            named(ranks_of([3], users=[1]), ranks_of([4], users=[1])), ["ap"]
        )
        assert all(map(math.isnan, (one.std_error, one.ci_low, one.ci_high)))
        assert (one.p_value, one.verdict) == (1.0, "undecided with 1 user")

    def test_all_pairs_with_correction(self):
        rng = np.random.default_rng(3)
        ranks = [
            ranks_of(rng.integers(1, top, 60), users=range(60))
            for top in (60, 40, 35)
        ]
        plain, holm = (
            compare(named(*ranks), ["ap", "recall@10"], correction=correction)
            for correction in ("none", "holm")
        )
        pairs = [(one.a, one.b, one.metric) for one in holm]
        assert pairs == [
            (*pair, x) for pair in ("AB", "AC", "BC") for x in ("ap", "recall@10")
        ]
        for place in (0, 1):  # each metric is a family of its own
            raw = [one.p_value for one in plain[place::2]]
            by_hand, least = [0.0] * 3, 0.0
            for step, index in enumerate(np.argsort(raw)):
                least = max(least, min(1.0, (3 - step) * raw[index]))
                by_hand[index] = least
            assert [one.p_value for one in holm[place::2]] == pytest.approx(by_hand)
        assert all((one.order != "undecided") == (one.p_value < 0.05) for one in holm)


@pytest.mark.parametrize("paired", [True, False])
def test_p_value_against_scipy(paired):
    a, b = np.array([0.1, 0.4, 0.2, 0.9, 0.3]), np.array([0.3, 0.4, 0.7, 1.0, 0.2])
    expected = (
        stats.ttest_rel(a, b) if paired else stats.ttest_ind(a, b, equal_var=False)
    )
    assert t_test(a, b, paired=paired) == pytest.approx(expected.pvalue, rel=1e-12)
    same, more = np.full(4, 0.5), np.full(4, 0.75)
    assert (t_test(same, same, paired=paired), t_test(same, more, paired=paired)) == (
        1.0,
        0.0,
    )
    assert t_test(same[:1], more[:1], paired=paired) == 1.0


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
        (
            named(sampled([1]), sampled([2], m=20)),
            {},
            "n_negatives is 10 for A and 20 for B",
        ),
        (
            named(sampled([1]), replace(sampled([1]), sampling="distinct")),
            {},
            "sampling is without-replacement for A and distinct",
        ),
    ],
)
def test_errors(data, options, word):
    with pytest.raises(InputError, match=word):
        compare(data, "ap", **options)


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (
            sampled([1] * 9, range(9)),
            sampled([1] * 95, range(5, 100)),
            "have 4 of 9 users",
        ),
        (sampled([1], [1]), sampled([1], [2]), "have 0 of 1 users"),
        (sampled([1] * 10, [1] * 9 + [2]), sampled([1] * 11, [1] * 9 + [3, 4]), None),
        (
            sampled([1] * 9),
            sampled([1] * 9, range(9)),
            None,
        ),  # nobody knows who they are
        (sampled([1] * 9, range(9)), sampled([1] * 9), None),
        (sampled([1], [1], 1000), sampled([1], [1], 990), None),
        (
            sampled([1], [1], 1000),
            sampled([1], [1], 989),
            "1,000 candidates and B has 989",
        ),
    ],
)
def test_evaluations_that_are_unlike_are_questioned(a, b, words, recwarn):
    compare(named(a, b), "recall@10", correction="none")
    asked = [text for text in full_messages(recwarn) if "same data" in text]
    assert [words in each for each in asked] == ([] if words is None else [True])


SCORES = np.random.default_rng(0).normal(size=(9, 30))


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (lambda rows: SCORES[rows], {"positive": 0, "n_items": 99}),
        (
            lambda rows: rank(
                lambda users: SCORES[rows][users], None, SCORES[rows] > 1.5
            ),
            {},
        ),
        (lambda rows: np.arange(1, 10)[rows], {"n_items": 99}),
        (lambda rows: ranks_of(np.arange(1, 10)[rows]), {}),
        (lambda rows: sampled(np.arange(1, 10)[rows]), {}),
        (
            lambda rows: rank(
                lambda users: SCORES[rows][users], None, range(9)[rows]
            ),
            {},
        ),
    ],
)
def test_users_without_ids_are_paired_by_row(make, options):
    whole, part = make(slice(None)), make(slice(1, None))
    found = compare(named(whole, whole), "auc", **options)
    assert found[0].paired
    assert "by row" in str(found)
    with pytest.raises(InputError, match="8 users"):
        compare(named(whole, part), "auc", **options)


class TestSampled:
    def test_paired_by_hand(self):
        """Rows of a user are averaged before pairing."""
        a = sampled([1, 4, 2, 8], users=[5, 5, 6, 7])
        b = sampled([2, 1, 5], users=[6, 5, 7])
        (found,) = compare(named(a, b), ["ap"], ["sampled"])
        differences = np.array([1 - (1 + 1 / 4) / 2, 1 / 2 - 1 / 2, 1 / 5 - 1 / 8])
        assert found.value_b == pytest.approx((1 + 1 / 2 + 1 / 5) / 3)
        assert found.difference == pytest.approx(differences.mean())
        assert found.std_error == pytest.approx(
            math.sqrt(differences.var(ddof=1) / 3)
        )
        assert (found.paired, found.n_users, found.n_items) == (True, 3, 300)
        assert (found.n_negatives, found.sampling) == (10, a.sampling)

    @pytest.mark.parametrize("sampling", Sampling)
    @pytest.mark.parametrize("ids", [True, False])
    @pytest.mark.filterwarnings(
        "ignore::sampled_metrics.InputWarning"
    )  # 60 candidates
    def test_few_users_decide_nothing(self, ids, sampling):
        users, ranks = 2, (2, 1) if sampling == "without-replacement" else (20, 19)
        names = range(users) if ids else None
        both = (
            SampledRanks([rank] * users, 60, 59, sampling, users=names)
            for rank in ranks
        )
        for one in compare(named(*both), ["recall@10", "auc"], ["sampled"]):
            assert one.order == "undecided"
            assert one.range_low <= 0.0 <= one.range_high
            assert (one.paired, one.n_users) == (True, users)


@cache
def records(name):
    return as_ranks(ROOT / f"results/reference/ranks/{name}.parquet")


def expected_sample(population, m, first=0):
    """As many users, with ids from `first`, at every sampled rank as are expected there."""
    expected = (
        USERS * population.share @ sampled_rank_distribution(population.ranks, m)
    )
    ranks = np.repeat(np.arange(1, m + 2), np.round(expected).astype(int))
    return SampledRanks(ranks, N, m, users=first + np.arange(ranks.size))


def mixture(share, k):
    """Population with a share of uniform ranks on 1 ... k, and others on 1 ... n."""
    ranks = Ranks(np.full(2, N), np.zeros(2, int), np.array([k - 1, N - 1]))
    return Population(ranks, np.array([share, 1 - share]))


class TestOrder:
    head = mixture(0.12, 10)  # recall@10 .12
    broad = mixture(0.8, 400)  # recall@10 .02, and higher from about rank 70 on

    @pytest.mark.filterwarnings("ignore:.*A and B have 0 of")
    def test_estimates_may_be_sure_of_the_wrong_order(self):
        few, many = (
            named(
                expected_sample(self.head, m), expected_sample(self.broad, m, 10**6)
            )
            for m in (10, 300)
        )
        truth = self.broad.exact(*RECALL) - self.head.exact(*RECALL)
        assert truth < -0.09
        for found in compare(few, ["recall@10"], "cls, bv:0.1"):
            assert found.ci_low > 0.0
            assert (found.order, found.p_value > 0.05) == ("undecided", True)
            assert found.range_low <= truth <= found.range_high
            start, _, end = found.verdict.partition("; ")
            assert start.startswith(
                "undecided: 10 uniform negatives leave recall@10 between "
            )
            assert end == f"B is above A at about recall@{found.acts_like}"
        (found,) = compare(many, ["recall@10"], ["sampled"])
        assert (found.order, found.p_value < 0.05) == ("a", True)
        assert found.verdict.startswith("A is above B, unless ")
        assert found.difference > 0.0  # the sampled metric still says the opposite

    @pytest.mark.parametrize("m", [5, 100])
    def test_never_wrong(self, m):
        """Section 6: Z above Y above X by full rankings, X above both by few negatives."""
        wrong = 0
        for seed in range(2):
            rng, samples = np.random.default_rng([seed, m]), {}
            for name in "XYZ":
                drawn = draw_sampled_ranks(records(name), m, rng)
                samples[name] = sampled(drawn, np.arange(drawn.size), N, m)
            for one in compare(
                samples, ["recall@10", "ap"], ["sampled"], correction="none"
            ):
                measure, both = (
                    [parse_measure(one.metric)],
                    map(records, (one.a, one.b)),
                )
                a, b = (Population.from_ranks(each).exact(*measure) for each in both)
                right = "b" if b > a else "a"
                assert one.order in ("undecided", right)
                assert one.range_low <= b - a <= one.range_high
                wrong += one.ci_low > 0 if right == "a" else one.ci_high < 0
        assert wrong  # sampled metrics are, with certainty

    @pytest.mark.filterwarnings("ignore:.*have the same ranks")
    def test_decided_orders_hold_up_to_a_factor(self):
        rng = np.random.default_rng(7)
        samples = []
        for offset in (5, 20):
            weights = 1.0 / (np.arange(1, 3542) + offset)
            true = 1 + rng.choice(3541, 6000, p=weights / weights.sum())
            drawn = 1 + rng.hypergeometric(true - 1, 3541 - true, 500)
            samples.append(SampledRanks(drawn, 3541, 500))
        found = compare(named(*samples), "recall@10, auc", "sampled")
        base, of_auc = found
        factor = base.holds_up_to
        assert (base.order, of_auc.holds_up_to) == ("a", 16.0)
        assert 1.0 < factor < 16.0
        shown = float(str(found).splitlines()[2].split()[-1])
        assert shown <= factor < shown + 0.1 + 1e-9
        assert f"{shown} times" in base.verdict
        orders = [
            compare(named(*samples), "recall@10", "sampled", shape=shape)[0]
            for shape in (factor, 1.06 * factor, "none")
        ]
        assert [x.order for x in orders] == ["a", "undecided", "undecided"]
        assert orders[1].holds_up_to is None
        assert orders[0].holds_up_to == pytest.approx(factor, rel=0.06)
        # Of three equal pairs, a correction asks more of each.
        samples.append(samples[1])
        strict = compare(named(*samples), "recall@10", "sampled")[0]
        assert strict.order == "a"
        assert 1.0 < strict.holds_up_to < factor

    def test_p_value_is_where_the_range_begins_to_hold_zero(self):
        samples = (
            expected_sample(self.head, 20),
            expected_sample(self.broad, 20, 10**6),
        )
        bracketed = [bracket_users(RECALL, sample) for sample in samples]
        p = order_p_value(*bracketed, 0)
        assert 1e-6 < p < 0.5
        for factor, decided in ((0.95, False), (1.05, True)):
            ends = (one._replace(confidence=1 - factor * p) for one in bracketed)
            found = difference_range(*ends, 0)
            assert (not found.low <= 0.0 <= found.high) is decided


BROKEN = {  # sampled ranks that were not made as said
    "every negative twice": lambda true, draw: 2 * draw(true, 50) - 1,
    "10 negatives said to be 100": lambda true, draw: draw(true, 10),
    "from 2": lambda true, draw: np.minimum(draw(true, 100) + 1, 101),
}


@pytest.mark.parametrize("case", BROKEN)
@pytest.mark.filterwarnings("ignore:.*the largest rank")
def test_refused_with_the_statistic(case):
    rng = np.random.default_rng(5)
    true = np.ceil(N * rng.random(4000) ** 4).astype(int)
    ranks = BROKEN[case](true, lambda x, m: 1 + rng.hypergeometric(x - 1, N - x, m))
    broken = SampledRanks(ranks, N, 100, users=range(4000))
    with pytest.raises(InputError, match=r"chi-square \d+ with \d+ degrees"):
        correct(broken, ["recall@10"], ["cls"])
    valid = sampled(1 + np.arange(50) % 20, range(50), N, 100)
    with pytest.raises(InputError) as caught:
        compare({"first": valid, "second": broken}, ["recall@10"], ["cls"])
    assert caught.value.path == "second"


@pytest.mark.filterwarnings("ignore:.*have the same ranks")
def test_users_that_would_decide_an_order():
    # Of 100 users, 10 are right by b alone and 5 by a alone: mean .05, variance .15 - .05^2.
    a, b, none = np.zeros((3, 100), int)
    a[:10], b[10:15] = 1, 1
    (found,) = compare(
        {"a": Ranks(none + 9, a, none), "b": Ranks(none + 9, b, none)}, "hr@1"
    )
    needed = 100 * (1.959964 * math.sqrt(0.1475 / 99) / 0.05) ** 2
    assert 220 < needed < 230
    assert found.verdict == "undecided with 100 users; about 230 would do"
    assert found.users_needed == 230
    # Holm's method asks of the least p-value of three pairs a third of the risk.
    ranks = {"a": Ranks(none + 9, a, none), "b": Ranks(none + 9, b, none)}
    most, *_ = compare({**ranks, "c": ranks["a"]}, "hr@1")
    wanted = stats.norm.isf(0.05 / 3 / 2) / 1.959964
    assert most.users_needed == pytest.approx(needed * wanted**2, rel=0.05)


@pytest.mark.parametrize(
    ("users", "ratio", "needed"),
    [
        (50, 1.0, 200),  # 50 * 1.96^2 = 192.07, to two digits upwards
        (50, 3.0, 51),  # 21.3 would do, but these 50 did not
        (98, 9.0, 99),
        (99, 9.0, 100),
        (1234, 9.0, 1300),
        (50, 0.0, None),
        (50, -1.0, 200),
    ],
)
def test_users_needed_are_more_than_there_are(users, ratio, needed):
    numbers = dict.fromkeys(("value_a", "value_b", "ci_low", "ci_high"), 0.0)
    result = Compared(
        a="A", b="B", metric="ap", estimator="exact", **numbers, range_low=-1.0, range_high=1.0,
        difference=0.01 * ratio, std_error=0.01, p_value=0.5, paired=True, n_users=users,
    )  # fmt: skip
    assert users_needed(result, 0.95) == needed
    assert users_needed(replace(result, std_error=0.0), 0.95) is None


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")  # a perfect order
def test_users_needed_are_not_read_from_names():
    high, low = (Ranks([100] * 400, [better] * 400, [0] * 400) for better in (0, 50))
    results = compare({"A; about 7 would": high, "B": low, "undecided (": low}, "ap")
    table, _, words = str(results).partition("\n\n")
    orders = [
        "A; about 7 would above B",
        "A; about 7 would above undecided (",
        "undecided",
    ]
    assert [line.rpartition("  ")[2] for line in table.splitlines()[2:]] == orders
    assert "in brackets" not in words
    assert [result.users_needed for result in results] == [None] * 3


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")  # in random order
def test_more_users_than_anybody_has():
    a = np.random.default_rng(0).integers(0, 90, 1000)
    b = np.roll(a, 1)
    b[0] += 1  # one user is one rank lower
    results = compare(named(ranks_of(a + 1), ranks_of(b + 1)), "auc")
    assert results[0].users_needed > 10**9
    assert results[0].verdict.endswith("; more than 10,000,000 would be needed")
    assert "undecided\n" in str(results)


@pytest.mark.filterwarnings("ignore:.*the largest rank")
def test_what_estimates_act_like_is_below_the_name_of_the_metric():
    samples = named(sampled([1, 3, 2, 4] * 9), sampled([2, 1, 5, 3] * 9))
    lines = str(compare(samples, "f1@3, ap, auc", "sampled")).splitlines()
    rows = [line.split()[2:] for line in lines if line.startswith("acts like")]
    ranks = [result.acts_like for result in compare(samples, "f1@3, ap", "sampled")]
    assert rows == [[f"@{ranks[0]}"], ["(not", "2)", "rank", str(ranks[1])], []]


@pytest.mark.parametrize("offset", [26, 40])
def test_orders_hold_up_to_a_factor_within_five_percent(offset):
    rng = np.random.default_rng(7)
    samples = []
    for each in (5, offset):
        weights = 1.0 / (np.arange(1, 401) + each)
        true = 1 + rng.choice(400, 3000, p=weights / weights.sum())
        drawn = 1 + rng.hypergeometric(true - 1, 400 - true, 60)
        samples.append(SampledRanks(drawn, 400, 60))
    (found,) = compare(named(*samples), "recall@10", "sampled")
    assert found.order == "a"
    assert 1.0 < found.holds_up_to < 16.0
    for shape, order in (
        (found.holds_up_to, "a"),
        (1.055 * found.holds_up_to, "undecided"),
    ):
        assert (
            compare(named(*samples), "recall@10", "sampled", shape=shape)[0].order
            == order
        )


class TestCandidatesOfTheSameUser:
    """Validation items masked in one of two rankings by the same scores."""

    RNG = np.random.default_rng(5)
    ALL = RNG.normal(size=(400, 500))
    HELD = RNG.integers(500, size=400)
    TRAIN = (RNG.random(ALL.shape) < 0.03) & (np.arange(500) != HELD[:, None])

    def masked(self, users):
        """Ranks where the best other item of the first `users` is masked too."""
        scores = np.where(self.TRAIN, -np.inf, self.ALL)
        scores[np.arange(400), self.HELD] = -np.inf
        best = scores.argmax(axis=1)[:users]
        also = self.TRAIN.copy()
        also[np.arange(users), best] = True
        return rank(self.ALL, also, self.HELD)

    @pytest.mark.parametrize(
        ("users", "is_asked"), [(400, True), (40, True), (39, False)]
    )
    def test_other_masks_of_a_tenth_of_the_users_are_asked_about(
        self, users, is_asked, recwarn
    ):
        a, b = self.masked(users), self.masked(0)
        assert (a.n_candidates != b.n_candidates).sum() == users
        compare({"A": a, "B": b}, "mrr")
        asked = [
            text for text in full_messages(recwarn) if "numbers of candidates" in text
        ]
        assert len(asked) == is_asked
        assert all(
            f"{users} of 400 users" in each and "seen" in each for each in asked
        )

    def test_the_remedy_gives_equal_values(self, recwarn):
        (found,) = compare({"A": self.masked(0), "B": self.masked(0)}, "mrr")
        assert found.difference == 0.0
        assert not any(
            "numbers of candidates" in text for text in full_messages(recwarn)
        )
