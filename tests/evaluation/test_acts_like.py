"""What an estimate acts like, in words."""

import pytest

from sampled_metrics.evaluation.acts_like import ActsLike


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
