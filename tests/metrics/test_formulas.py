"""Formulas of metrics by hand: one relevant item, several, ties, conventions of libraries."""

import itertools
from itertools import combinations
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sampled_metrics as sm
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics import known_measures, parse_measure, values
from sampled_metrics.ranks import Ranks
from tests.helpers.caught_warnings import warns_about
from tests.helpers.relevance import metric_values, ranks_at_places, ranks_by_user, values_at


class TestOneRelevantItem:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("auc", [4 / 4, 3 / 4, 2 / 4, 1 / 4, 0 / 4]),
            ("recall@3", [1, 1, 1, 0, 0]),
            ("precision@3", [1 / 3, 1 / 3, 1 / 3, 0, 0]),
            ("f0@3", [1 / 3, 1 / 3, 1 / 3, 0, 0]),
            # precision 1/3 and recall 1: 2 * (1/3 * 1) / (1/3 + 1) = 1/2
            ("f1@3", [1 / 2, 1 / 2, 1 / 2, 0, 0]),
            # 5 P R / (4 P + R), and 1.25 P R / (0.25 P + R)
            ("f2@3", [5 / 7, 5 / 7, 5 / 7, 0, 0]),
            ("f0.5@3", [*[1.25 / 3 / (0.25 / 3 + 1)] * 3, 0, 0]),
            ("ap", [1 / 1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
            ("rr", [1 / 1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
            ("ap@3", [1 / 1, 1 / 2, 1 / 3, 0, 0]),
            ("ndcg", 1 / np.log2([2, 3, 4, 5, 6])),
            ("ndcg@3", [1 / np.log2(2), 1 / np.log2(3), 1 / np.log2(4), 0, 0]),
            # the ideal list gains 1/log2(2) + 1/log2(3)
            ("ndcg-by-k@2", [*(1 / np.log2([2, 3]) / (1 + 1 / np.log2(3))), 0, 0, 0]),
        ],
    )
    def test_by_hand(self, name, expected):
        values_by_rank = values_at(name)
        np.testing.assert_allclose(values_by_rank, expected, rtol=1e-15)
        assert values_by_rank.dtype == np.float64
        if name != "auc":
            np.testing.assert_array_equal(values_by_rank, values_at(name, n=20))

    def test_auc_depends_on_candidates_of_each_user(self):
        # user 1: (10 - 4)/(10 - 1) = 6/9; user 2: (3 - 3)/(3 - 1) = 0
        np.testing.assert_allclose(values_at("auc", [4, 3], [10, 3]), [6 / 9, 0])

    @pytest.mark.parametrize("name", ["ap", "rr", "ndcg", "recall@7", "auc"])
    def test_value_at_fractional_ranks(self, name):
        rank = np.array([1.5, 3.25, 6.75, 99.5])
        expected = {
            "ap": 1 / rank,
            "rr": 1 / rank,
            "ndcg": 1 / np.log2(rank + 1),
            "recall@7": rank <= 7,
            "auc": (100 - rank) / 99,
        }
        np.testing.assert_allclose(values_at(name, rank, 100), expected[name], rtol=1e-13)

    @given(st.integers(1, 1000), st.integers(1, 1000))
    def test_value_at_worse_rank_is_never_better(self, rank, k):
        for name in known_measures():
            name = name.replace("@k", f"@{k}").replace("BETA", "2")
            better, worse = values_at(name, [rank, rank + 1], 1001)
            assert 0 <= worse <= better <= 1


class TestTies:
    def test_expected_is_the_mean_of_all_orders(self):
        # 1 better, the held-out item H tied with P and Q: rank 2, 3 or 4 in two of six orders each
        ranks = [2 + order.index("H") for order in itertools.permutations("HPQ")]
        expected = np.mean([1 / rank for rank in ranks])  # (1/2 + 1/3 + 1/4) / 3
        value = values(parse_measure("ap"), Ranks([6], [1], [2])).item()
        assert value == pytest.approx(expected, rel=1e-15)

    def test_random_positions_are_uniform(self):
        # 30,000 users with 2 ties: three places, each expected 10,000 times; 4 sd = 4 * 82
        records = Ranks(np.full(30_000, 9), np.full(30_000, 3), np.full(30_000, 2))
        of_values = 1 / values(parse_measure("ap"), records, "random", np.random.default_rng(1))
        ranks, counts = np.unique(of_values.round(), return_counts=True)
        np.testing.assert_array_equal(ranks, [4, 5, 6])
        assert (abs(counts - 10_000) < 4 * np.sqrt(30_000 * (1 / 3) * (2 / 3))).all()

    def test_unknown_policies_are_refused(self):
        for policy in ("middle", "random"):  # the latter without a generator
            with pytest.raises(InputError, match=policy):
                values(parse_measure("ap"), Ranks([9], [3], [2]), policy)


class TestSeveralRelevantItems:
    # The paper's example of section 2, R = {3, 5}, among n = 6 candidates.
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            # irrelevant at 1, 2, 4, 6: item 3 is above two of four, item 5 above one of four
            ("auc", (2 + 1) / (2 * 4)),
            ("auc", (6 - (2 - 1) / 2 - (3 + 5) / 2) / (6 - 2)),  # the second form of eq. 2
            ("precision@4", 1 / 4),
            # P = 1/4, R = 1/2
            ("f1@4", 2 * (1 / 4 * 1 / 2) / (1 / 4 + 1 / 2)),
            ("f0.5@4", 1.25 * (1 / 4 * 1 / 2) / (0.25 * 1 / 4 + 1 / 2)),
            ("hit@3", 1),
            ("rr@3", 1 / 3),
            ("ap", (1 / 3 + 2 / 5) / 2),
            ("ap@4", (1 / 3) / 2),
            ("ndcg", (1 / log2(4) + 1 / log2(6)) / (1 / log2(2) + 1 / log2(3))),
            ("ndcg@4", (1 / log2(4)) / (1 / log2(2) + 1 / log2(3))),
        ],
    )
    def test_ranks_3_and_5_of_6(self, name, expected):
        assert metric_values(name, ranks_at_places(3, 5, n=6)).item() == pytest.approx(
            expected, rel=1e-14
        )

    # Relevant at 1, 3, 4 and 9 of 9; the top 3 hold two of four.
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("ap@3", (1 / 1 + 2 / 3) / 3),  # min(|R|, k) = 3
            ("ap-by-relevant@3", (1 / 1 + 2 / 3) / 4),
            ("ndcg@3", (1 + 1 / 2) / (1 + 1 / log2(3) + 1 / 2)),
            ("ndcg-by-relevant@3", (1 + 1 / 2) / (1 + 1 / log2(3) + 1 / 2 + 1 / log2(5))),
            ("ndcg-by-k@3", (1 + 1 / 2) / (1 + 1 / log2(3) + 1 / 2)),
            # k = 6 > |R|: the ideal lists of eq. 6 and of all |R| items are the same
            ("ap@6", (1 / 1 + 2 / 3 + 3 / 4) / 4),
            ("ap-by-relevant@6", (1 / 1 + 2 / 3 + 3 / 4) / 4),
            ("ndcg@6", (1 + 1 / 2 + 1 / log2(5)) / (1 + 1 / log2(3) + 1 / 2 + 1 / log2(5))),
            (
                "ndcg-by-relevant@6",
                (1 + 1 / 2 + 1 / log2(5)) / (1 + 1 / log2(3) + 1 / 2 + 1 / log2(5)),
            ),
            (
                "ndcg-by-k@6",
                (1 + 1 / 2 + 1 / log2(5))
                / (1 + 1 / log2(3) + 1 / 2 + 1 / log2(5) + 1 / log2(6) + 1 / log2(7)),
            ),
        ],
    )
    def test_conventions_of_ap_and_ndcg(self, name, expected):
        assert metric_values(name, ranks_at_places(1, 3, 4, 9, n=9)).item() == pytest.approx(
            expected, rel=1e-14
        )

    # One item above; then relevant A and B tied with irrelevant X at places 2-4:
    # AB at 2 3, 2 4 or 3 4, each in one third of the orders.
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            ("recall@3", (2 / 2 + 1 / 2 + 1 / 2) / 3),
            ("ap", ((1 / 2 + 2 / 3) + (1 / 2 + 2 / 4) + (1 / 3 + 2 / 4)) / 2 / 3),
            ("ap@3", ((1 / 2 + 2 / 3) + 1 / 2 + 1 / 3) / 2 / 3),
            ("rr", (1 / 2 + 1 / 2 + 1 / 3) / 3),
            ("hit@2", (1 + 1 + 0) / 3),
            # irrelevant: the one above (0 right) and X (half right)
            ("auc", (0 + 1 / 2) / 2),
        ],
    )
    def test_ties_of_two_relevant_items_and_one_other(self, name, expected):
        ranks = ranks_by_user([0, 0], [1, 1], [2, 2], [2], [4], [4])
        assert metric_values(name, ranks).item() == pytest.approx(expected, rel=1e-14)
        ends = [metric_values(name, ranks, ties).item() for ties in ("pessimistic", "optimistic")]
        assert ends[0] <= expected <= ends[1]


def test_ap_of_papachristoudis_example():
    """ "Popular evaluation metrics in recommender systems explained": mean of a batch of three.

    The labels of examples 2 and 3 are ours, and fit the text: label 0 of example 2 at place 2,
    labels 0 and 2 of example 3 at places 1 and 4. TensorFlow divides by min(3, 4) = 3 everywhere,
    eq. 5 by min(|R|, 4) with the labels that each example has.
    """
    user, place = np.array([(0, 1), (0, 3), (0, 4), (1, 2), (2, 1), (2, 4)]).T
    for n_relevant, mean in (([3, 3, 3], "0.4907"), ([3, 1, 2], "0.6852")):
        values_by_user = metric_values(
            "ap@4", ranks_by_user(user, place - 1, 0 * place, n_relevant, [6] * 3, [4] * 3)
        )
        numerators = (1 / 1 + 2 / 3 + 3 / 4, 1 / 2, 1 / 1 + 2 / 4)
        np.testing.assert_allclose(values_by_user, np.divide(numerators, n_relevant), rtol=1e-15)
        assert f"{values_by_user.mean():.4f}" == mean


@pytest.mark.parametrize("name", ["rr", "rr@4", "hit@3"])
def test_first_of_several_tied_items_matches_all_sets(name):
    """Levels of 2 to 5 candidates, 1 to all of them relevant, below 0 to 2 others."""
    cases = [(above, size, hits) for above in range(3) for size in range(2, 6)
             for hits in range(1, size + 1)]  # fmt: skip
    expected = []
    for above, size, hits in cases:
        first = [above + 1 + min(places) for places in combinations(range(size), hits)]
        credit = {
            "rr": [1 / place for place in first],
            "rr@4": [1 / place * (place <= 4) for place in first],
            "hit@3": [float(place <= 3) for place in first],
        }[name]
        expected.append(np.mean(credit))
    above, size, hits = np.array(cases).T
    items = np.repeat(np.arange(len(cases)), hits)
    ranks = Ranks(np.full(len(cases), 20), above[items], size[items] - 1, n_found=hits)
    assert metric_values(name, ranks) == pytest.approx(expected, rel=1e-12)


# Relevant items at ranks 1 and 4 of 10; at rank 3 of 10; at ranks 2, 5 and 6 of 8.
PLACES = [[1, 4], [3], [2, 5, 6]]


THREE_USERS = sm.Ranks(
    [10, 10, 8], [place - 1 for row in PLACES for place in row], [0] * 6, n_found=[2, 1, 3]
)


AUC = [(8 + 6) / 16, 7 / 9, (4 + 2 + 2) / 15]


def mean_value(ranks, metric):
    return sm.evaluate(ranks, metric)[0].value


class TestConventions:
    @pytest.mark.parametrize(
        ("metric", "expected"),
        [
            ("recall-capped@2", [1 / 2, 0, 1 / 2]),
            ("recall-capped@5", [1, 1, 2 / 3]),
            ("recall-capped@8", [1, 1, 1]),
            ("rr-by-relevant", [(1 + 1 / 4) / 2, 1 / 3, (1 / 2 + 1 / 5 + 1 / 6) / 3]),
            ("rr-by-relevant@4", [(1 + 1 / 4) / 2, 1 / 3, 1 / 6]),
            ("accuracy@1", [1, 0, 0]),
            ("map-cut@1", [1 / 2, 0, 0]),
            ("ap-by-k@4", [(1 + 2 / 4) / 4, 1 / 3 / 4, 1 / 2 / 4]),
            ("ap-by-threshold", [(1 + 2 / 4) / 2, 1 / 3, (1 / 2 + 2 / 5 + 3 / 6) / 3]),
        ],
    )
    def test_values_of_users(self, metric, expected):
        by_user = sm.values_by_user(THREE_USERS, metric)[metric]
        np.testing.assert_allclose(by_user, expected, rtol=1e-15)

    def test_r_precision_ends_at_the_number_of_relevant_items(self):
        """One of 2 is among the first 2, none of 1 is first, one of 3 is among the first 3."""
        by_user = sm.values_by_user(THREE_USERS, "r-precision")["r-precision"]
        np.testing.assert_allclose(by_user, [1 / 2, 0, 1 / 3], rtol=1e-15)
        # Items 1 and 2 are tied with two others for places 2 to 5: each is second with 1/4.
        tied = sm.Ranks([9], [1, 1], [3, 3], n_found=[2])
        assert mean_value(tied, "Rprec") == pytest.approx(2 * (1 / 4) / 2)

    def test_r_precision_of_lists(self):
        """Lists of 2 items are long enough for users with 2 relevant items, not for one with 3."""
        lists, relevant = {"a": [1, 2], "b": [3, 4]}, {"a": [1, 9], "b": [8, 9]}
        assert mean_value(sm.Ranks.from_lists(lists, relevant), "r-precision") == 1 / 4
        relevant = {**relevant, "b": [4, 8, 9]}
        with pytest.raises(sm.InputError, match=r"up to 3.*missing='last'"):
            sm.evaluate(lists, "r-precision", relevant=relevant)
        ranks = sm.Ranks.from_lists(lists, relevant, missing="last")
        assert mean_value(ranks, "r-precision") == pytest.approx((1 / 2 + 1 / 3) / 2)

    def test_mean_rank_of_users_and_amri_of_all_items(self):
        """Users with n = 10, 10 and 8 have expected ranks of 5.5, 5.5 and 4.5."""
        by_user = sm.values_by_user(THREE_USERS, "mean-rank")["mean-rank"]
        np.testing.assert_allclose(by_user, [(1 + 4) / 2, 3, (2 + 5 + 6) / 3], rtol=1e-15)
        mean = (1 + 4 + 3 + 2 + 5 + 6) / 6
        expected = (2 * 5.5 + 5.5 + 3 * 4.5) / 6
        assert mean_value(THREE_USERS, "amri") == pytest.approx(1 - (mean - 1) / (expected - 1))
        with pytest.raises(sm.InputError, match="use mean-rank"):
            sm.values_by_user(THREE_USERS, "amri")

    def test_mean_rank_and_amri_of_ties_and_extremes(self):
        """Places 2 to 4 are tied, so the realistic rank is 3: that of a random order of 5."""
        tied = sm.Ranks([5], [1], [2])
        for ties, rank in (("expected", 3), ("optimistic", 2), ("pessimistic", 4)):
            results = sm.evaluate(tied, "mean_rank, amri", ties=ties)
            assert [result.value for result in results] == [rank, 1 - (rank - 1) / (3 - 1)]
        worst = sm.Ranks([5, 9], [4, 8], [0, 0])
        assert mean_value(worst, "adjusted_mean_rank_index") == -1

    @pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")  # of random ranks
    @pytest.mark.parametrize("metric", ["mean-rank", "amri"])
    def test_interval_contains_the_mean_of_metrics_that_are_no_fractions(self, metric):
        rng = np.random.default_rng(2)
        better = np.array([np.sort(rng.choice(50, 2, replace=False)) for _ in range(200)])
        ranks = sm.Ranks([50] * 200, better.ravel(), [0] * 400, n_found=[2] * 200)
        (result,) = sm.evaluate(ranks, metric)
        by_user = better.mean(axis=1) + 1
        if metric == "amri":
            by_user = 1 - (by_user - 1) / (25.5 - 1)
        error = by_user.std() / np.sqrt(199)
        assert result.value == pytest.approx(by_user.mean())
        assert result.std_error == pytest.approx(error)
        assert result.ci_low < result.value - error < result.value + error < result.ci_high

    @pytest.mark.parametrize("metric", ["mean-rank", "amri"])
    def test_other_functions_refuse_metrics_that_are_no_fractions(self, metric):
        sampled = {"n_items": 90, "n_negatives": 2}
        calls = [
            lambda: sm.compare({"a": THREE_USERS, "b": THREE_USERS}, metric),
            lambda: sm.correct([1, 2], metric, **sampled),
            lambda: sm.plan(n_items=90, metrics=metric),
            lambda: sm.RankMeter(metric),
            lambda: sm.reported({metric: 0.5}, **sampled),
            lambda: sm.reported({"HR@1": 0.5}, metric, **sampled),
        ]
        for call in calls:
            with pytest.raises(sm.InputError, match="only `evaluate`"):
                call()
        with pytest.raises(sm.InputError, match="n_candidates"):
            sm.evaluate({"a": [1, 2]}, metric, relevant={"a": [9]}, missing="last")

    def test_auc_micro_is_weighted_by_relevant_items(self):
        assert mean_value(THREE_USERS, "auc-micro") == pytest.approx(
            np.average(AUC, weights=[2, 1, 3])
        )
        assert mean_value(THREE_USERS, "auc") == pytest.approx(np.mean(AUC))
        assert mean_value(THREE_USERS, "GAUC") == mean_value(THREE_USERS, "auc-micro")
        with pytest.raises(sm.InputError, match="use auc"):
            sm.values_by_user(THREE_USERS, "gauc")

    def test_auc_micro_omits_users_without_irrelevant_candidates(self):
        full = sm.Ranks([2], [0, 1], [0, 0], n_found=[2])
        with warns_about("1 of 4 users"):
            mean = mean_value(sm.Ranks.concatenate([THREE_USERS, full]), "auc-micro")
        assert mean == pytest.approx(np.average(AUC, weights=[2, 1, 3]))
