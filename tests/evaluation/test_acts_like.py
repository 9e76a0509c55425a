"""What an estimate acts like, in words."""

import numpy as np
import pytest

from sampled_metrics.evaluation.acts_like import ActsLike, acts_like_rank
from sampled_metrics.sampling.probability import pmf_at
from tests.helpers.rank_draws import each_sampling


@pytest.mark.parametrize(
    ("metric", "rank", "words"),
    [
        ("recall@10", 17, "recall@17"),
        ("f1@10", 8, "f1@8"),
        ("ap", 5, "rank 5 (not 2)"),
        ("ndcg@10", 17, "rank 17 (not 3)"),
        ("rr@1", 4, "rank 4 (not 2)"),
        ("auc", None, "auc"),
        ("ap", None, "no rank"),
    ],
)
def test_acts_like_in_words(metric, rank, words):
    assert str(ActsLike.from_rank(metric, rank, 1000)) == words


@pytest.mark.parametrize(("n_items", "exact_rank"), [(3, 3), (2, 2)])
def test_exact_rank_is_at_most_n_items(n_items, exact_rank):
    assert ActsLike.from_rank("ndcg", 9, n_items).exact_rank == exact_rank


class TestActsLikeRank:
    @each_sampling
    @pytest.mark.parametrize("n", [60, 5000])
    def test_against_all_ranks(self, n, sampling):
        points = pmf_at(np.arange(1, n + 1), n, 20, sampling)
        vectors = np.random.default_rng(8).exponential(size=(20, 21))
        for vector in np.sort(vectors)[:, ::-1]:
            fallen = np.flatnonzero(points @ vector <= vector[0] / 2)
            expected = fallen[0] + 1 if fallen.size else None
            assert acts_like_rank(vector, n, sampling) == expected

    def test_linear_credit_falls_to_half_in_the_middle(self):
        """From 1 at rank 1 to 0 at the last of a million ranks."""
        credit, n = np.linspace(1, 0, 1001), 10**6
        middle = 1 + n / 2
        assert acts_like_rank(credit, n) == middle

    @pytest.mark.parametrize("vector", [[1.0, 0.9, 0.8], [0.0, 0.0], [-1.0, 0.0]])
    def test_credit_that_does_not_fall_to_half(self, vector):
        assert acts_like_rank(np.array(vector), 100) is None
