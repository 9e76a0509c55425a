"""Eq. 7-13 by hand. n = 5 candidates, ranks 1 to 5."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics.metrics import formulas as metrics

RANKS = np.array([1, 2, 3, 4, 5])


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (metrics.auc(RANKS, 5), [4 / 4, 3 / 4, 2 / 4, 1 / 4, 0 / 4]),
        (metrics.recall(RANKS, 3), [1, 1, 1, 0, 0]),
        (metrics.precision(RANKS, 3), [1 / 3, 1 / 3, 1 / 3, 0, 0]),
        # precision 1/3 and recall 1: 2 * (1/3 * 1) / (1/3 + 1) = 1/2
        (metrics.f1(RANKS, 3), [1 / 2, 1 / 2, 1 / 2, 0, 0]),
        # 1/3 and 1 again, recall twice: 5 * (1/3 * 1) / (4 * 1/3 + 1) = 5/7
        (metrics.f_beta(RANKS, 3, 2), [5 / 7, 5 / 7, 5 / 7, 0, 0]),
        (metrics.ap(RANKS), [1 / 1, 1 / 2, 1 / 3, 1 / 4, 1 / 5]),
        (metrics.ap(RANKS, 3), [1 / 1, 1 / 2, 1 / 3, 0, 0]),
        (metrics.ndcg(RANKS), 1 / np.log2([2, 3, 4, 5, 6])),
        (metrics.ndcg(RANKS, 3), [1 / np.log2(2), 1 / np.log2(3), 1 / np.log2(4), 0, 0]),
        # the ideal list gains 1/log2(2) + 1/log2(3)
        (metrics.ndcg_by_k(RANKS, 2), [*(1 / np.log2([2, 3]) / (1 + 1 / np.log2(3))), 0, 0, 0]),
    ],
)
def test_by_hand(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-15)
    assert found.dtype == np.float64


def test_auc_takes_candidates_of_each_user():
    # user 1: (10 - 4)/(10 - 1) = 6/9; user 2: (3 - 3)/(3 - 1) = 0
    np.testing.assert_allclose(metrics.auc([4, 3], [10, 3]), [6 / 9, 0])


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [  # Table 1: AUC, AP, NDCG, Recall@10 of recommenders A, B and C, n = 10,000
        ([100, 100, 100, 100, 100], ["0.990", "0.010", "0.150", "0.000"]),
        ([40, 40, 8437, 9266, 4482], ["0.555", "0.010", "0.122", "0.000"]),
        ([212, 2, 743, 5342, 1548], ["0.843", "0.101", "0.208", "0.200"]),
    ],
)
def test_the_papers_toy_recommenders(ranks, expected):
    values = (
        metrics.auc(ranks, 10_000),
        metrics.ap(ranks),
        metrics.ndcg(ranks),
        metrics.recall(ranks, 10),
    )
    assert [f"{value.mean():.3f}" for value in values] == expected


@given(st.integers(2, 10**7).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n))))
def test_auc_is_the_share_of_irrelevant_items_below(rank_and_n):
    rank, n = rank_and_n
    assert metrics.auc(rank, n) == pytest.approx((n - rank) / (n - 1), rel=1e-15)


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_never_better_at_a_worse_rank(rank, k):
    for metric in (
        metrics.ap,
        metrics.ndcg,
        metrics.recall,
        metrics.precision,
        metrics.f1,
        metrics.ndcg_by_k,
    ):
        better, worse = metric([rank, rank + 1], k)
        assert 0 <= worse <= better <= 1
