"""Recall of all users together: the batch of a tutorial by hand, its error, where it is refused."""

import numpy as np
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics import parse_measure

# Three examples with 3 + 1 + 2 = 6 labels, at places 1, 3, 4; 2; and 1, 4 of 6.
BATCH = sm.Ranks(
    [6] * 3,
    [0, 2, 3, 1, 0, 3],
    [0] * 6,
    n_found=[3, 1, 2],
    users=["first", "second", "third"],
)


@pytest.mark.parametrize(("k", "hits"), [(1, 2), (2, 3), (3, 4), (4, 6), (6, 6)])
def test_hits_by_labels_of_the_batch(k, hits):
    names = [f"recall-micro@{k}", f"precision-micro@{k}", f"recall@{k}"]
    micro, precision, macro = sm.evaluate(BATCH, names)
    assert micro.value == pytest.approx(hits / (3 + 1 + 2), rel=1e-15)
    assert precision.value == pytest.approx(hits / (3 * k), rel=1e-15)
    of_users = [
        sum(place <= k for place in places) for places in ((1, 3, 4), (2,), (1, 4))
    ]
    assert macro.value == pytest.approx(
        np.mean(np.divide(of_users, [3, 1, 2])), rel=1e-15
    )


@pytest.mark.filterwarnings("ignore:.*held-out items are above")  # of random scores
def test_error_is_that_of_resampled_users():
    rng = np.random.default_rng(0)
    scores = rng.random((300, 22))
    relevant = csr_array(rng.random((300, 22)) < rng.random((300, 1)) / 2)
    ranks = sm.rank(scores, None, relevant)
    (found,) = sm.evaluate(ranks, "recall-micro@5")
    hits = np.zeros(len(ranks))
    np.add.at(
        hits, np.repeat(np.arange(len(ranks)), ranks.n_found), ranks.n_better < 5
    )
    rows = rng.integers(0, len(ranks), (4000, len(ranks)))
    resampled = hits[rows].sum(axis=1) / ranks.n_relevant[rows].sum(axis=1)
    assert found.value == pytest.approx(
        hits.sum() / ranks.n_relevant.sum(), rel=1e-12
    )
    assert found.std_error == pytest.approx(resampled.std(), rel=0.05)


def test_pairs_are_compared_on_the_users_that_both_have():
    other = sm.Ranks(
        [6] * 2, [0, 4, 5], [0] * 3, n_found=[1, 2], users=["third", "first"]
    )
    (found,) = sm.compare({"batch": BATCH, "other": other}, "recall-micro@2")
    assert found.n_users == 2
    assert found.value_a == pytest.approx((1 + 1) / (3 + 2), rel=1e-15)
    assert found.value_b == pytest.approx((1 + 0) / (1 + 2), rel=1e-15)


def test_no_user_has_a_value_of_it():
    with pytest.raises(InputError, match="recall@2"):
        sm.values_by_user(BATCH, "recall-micro@2")


def test_sampled_ranks_of_one_item_per_user_give_recall_and_of_several_none():
    one = sm.SampledRanks([1, 2, 5, 30], 200, 50)
    micro, recall = (
        sm.correct(one, name) for name in ("recall-micro@10", "recall@10")
    )
    for ours, theirs in zip(micro, recall, strict=True):
        assert (ours.value, ours.range_low, ours.range_high) == (
            theirs.value,
            theirs.range_low,
            theirs.range_high,
        )
    several = sm.SampledRanks(
        [1, 2, 5, 30], 200, 50, users=[1, 1, 2, 3], several_items=True
    )
    with pytest.raises(InputError, match="together"):
        sm.correct(several, "recall-micro@10")


def test_accuracy_is_the_share_of_users_with_a_hit():
    """As of BEIR and of classes, of which each row has one."""
    ranks = sm.Ranks([9] * 3, [0, 1, 3, 5, 0], [0] * 5, n_found=[3, 1, 1])
    (first, second) = sm.evaluate(ranks, "accuracy@1, Accuracy@6")
    assert (first.metric, first.value, second.value) == ("accuracy@1", 2 / 3, 1.0)
    with pytest.raises(InputError, match="needs a cut-off"):
        parse_measure("accuracy")
