"""Metrics of one relevant item by hand (eq. 7-13), and how a metric is added."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics import Measure, known_measures, measures, parse_measure, values
from sampled_metrics.metrics.sums import gains
from sampled_metrics.ranks import Ranks
from tests.unit.relevance import orders, ranks_of

RANKS = np.array([1, 2, 3, 4, 5])  # of n = 5 candidates


def at(name, rank=RANKS, n=5):
    return parse_measure(name).at(rank, n)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("auc", [4 / 4, 3 / 4, 2 / 4, 1 / 4, 0 / 4]),
        ("recall@3", [1, 1, 1, 0, 0]),
        ("hit@3", [1, 1, 1, 0, 0]),
        ("precision@3", [1 / 3, 1 / 3, 1 / 3, 0, 0]),
        # precision 1/3 and recall 1: 2 * (1/3 * 1) / (1/3 + 1) = 1/2
        ("f1@3", [1 / 2, 1 / 2, 1 / 2, 0, 0]),
        # 5 P R / (4 P + R), and 1.25 P R / (0.25 P + R)
        ("f2@3", [5 / 7, 5 / 7, 5 / 7, 0, 0]),
        ("f0.5@3", [*[1.25 / 3 / (0.25 / 3 + 1)] * 3, 0, 0]),
        ("ap", [1 / 1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
        ("ap@3", [1 / 1, 1 / 2, 1 / 3, 0, 0]),
        ("ap-by-relevant@3", [1 / 1, 1 / 2, 1 / 3, 0, 0]),
        ("ap-by-hits@3", [1 / 1, 1 / 2, 1 / 3, 0, 0]),
        ("rr@3", [1 / 1, 1 / 2, 1 / 3, 0, 0]),
        ("ndcg", 1 / np.log2([2, 3, 4, 5, 6])),
        ("ndcg@3", [1 / np.log2(2), 1 / np.log2(3), 1 / np.log2(4), 0, 0]),
        ("ndcg-by-relevant@3", [1 / np.log2(2), 1 / np.log2(3), 1 / np.log2(4), 0, 0]),
        # the ideal list gains 1/log2(2) + 1/log2(3)
        ("ndcg-by-k@2", [*(1 / np.log2([2, 3]) / (1 + 1 / np.log2(3))), 0, 0, 0]),
    ],
)
def test_one_relevant_item_by_hand(name, expected):
    found = at(name)
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert found.dtype == np.float64


def test_auc_takes_candidates_of_each_user():
    # user 1: (10 - 4)/(10 - 1) = 6/9; user 2: (3 - 3)/(3 - 1) = 0
    np.testing.assert_allclose(at("auc", [4, 3], [10, 3]), [6 / 9, 0])


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [  # Table 1: AUC, AP, NDCG, Recall@10 of recommenders A, B and C, n = 10,000
        ([100, 100, 100, 100, 100], ["0.990", "0.010", "0.150", "0.000"]),
        ([40, 40, 8437, 9266, 4482], ["0.555", "0.010", "0.122", "0.000"]),
        ([212, 2, 743, 5342, 1548], ["0.843", "0.101", "0.208", "0.200"]),
    ],
)
def test_the_papers_toy_recommenders(ranks, expected):
    names = ("auc", "ap", "ndcg", "recall@10")
    assert [f"{at(name, ranks, 10_000).mean():.3f}" for name in names] == expected


@given(st.integers(2, 10**7).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))))
def test_auc_is_the_share_of_irrelevant_items_below(rank_and_n):
    rank, n = rank_and_n
    assert at("auc", rank, n) == pytest.approx((n - rank) / (n - 1), rel=1e-15)


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_never_better_at_a_worse_rank(rank, k):
    for name in known_measures():
        name = name.replace("@k", f"@{k}").replace("BETA", "2")
        better, worse = at(name, [rank, rank + 1], 1001)
        assert 0 <= worse <= better <= 1


@pytest.fixture
def rank_biased_precision():
    """Moffat and Zobel, 2008, declared as any metric is."""

    @measures.register("rbp", "RBP", cutoff="optional", aliases=["rank-biased-precision"])
    def rbp(levels, users, measure):
        k = measure.cutoff or levels.last_place
        return levels.per_user(users, gains(levels, k, lambda place: 0.2 * 0.8 ** (place - 1)))

    yield
    del measures.METRICS["rbp"], measures._KINDS["rbp"], measures._KINDS["rank-biased-precision"]


@pytest.mark.usefixtures("rank_biased_precision")
class TestOneDeclaration:
    def test_is_enough_for_names_and_labels(self):
        measure = parse_measure("rbp@4")
        assert measure == parse_measure("rank-biased-precision@4") == Measure("rbp", 4)
        assert (str(measure), measure.label) == ("rbp@4", "RBP@4")
        assert {"rbp@k", "rbp"} < set(known_measures())

    def test_is_enough_for_one_relevant_item(self):
        np.testing.assert_allclose(at("rbp@2"), [0.2, 0.16, 0, 0, 0], rtol=1e-15)
        np.testing.assert_allclose(at("rbp"), 0.2 * 0.8 ** (RANKS - 1), rtol=1e-15)
        tied = values(parse_measure("rbp"), Ranks([5], [1], [2])).item()
        assert tied == pytest.approx(0.2 * (0.8 + 0.8**2 + 0.8**3) / 3, rel=1e-15)

    def test_is_enough_for_several_relevant_items_and_ties(self):
        scores, relevant = [3, 2, 2, 2, 1], [0, 2, 4]
        places = [
            [place for place, item in enumerate(order) if item in relevant and place < 4]
            for order in orders(scores)
        ]
        by_order = [sum(0.2 * 0.8**place for place in order) for order in places]
        ranks, measure = ranks_of([(scores, relevant)]), parse_measure("rbp@4")
        found = {ties: values(measure, ranks, ties).item() for ties in ("expected", "optimistic")}
        assert found["expected"] == pytest.approx(np.mean(by_order), rel=1e-14)
        assert found["optimistic"] == pytest.approx(max(by_order), rel=1e-14)

    def test_names_are_declared_once(self):
        with pytest.raises(InputError, match="metric 'rbp' is already registered"):
            measures.register("rbp", "RBP")(lambda *_: None)
        with pytest.raises(InputError, match="metric 'ap' is already registered"):
            measures.register("other", "Other", aliases=["ap"])(lambda *_: None)
