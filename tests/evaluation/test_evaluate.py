"""Exact metrics with error bars, by hand, and metrics pooled over users."""

import itertools
import json
import math
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics._base.errors import InputError
from sampled_metrics.evaluation.evaluate import evaluate
from sampled_metrics.intervals.means import prior_moments
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks
from tests.helpers.caught_warnings import warns_about
from tests.helpers.relevance import ranks_by_user


def ranks_of(n, better, tied=None):
    return Ranks([n] * len(better), better, [0] * len(better) if tied is None else tied)


@pytest.mark.parametrize(
    ("metric", "values"),
    [
        ("ap", [1, 1 / 3, 1 / 6, 1 / 11]),
        ("recall@3", [1, 1, 0, 0]),
        ("auc", [1, 8 / 10, 5 / 10, 0]),
    ],
)
def test_ranks_1_3_6_and_11_of_11(metric, values):
    values = np.array(values)
    (result,) = evaluate(ranks_of(11, [0, 2, 5, 10]), metric)
    assert result.value == pytest.approx(values.mean())
    assert result.std_error == pytest.approx(math.sqrt(values.var(ddof=1) / 4))
    assert result.ci_low < result.value < result.ci_high
    assert result.effective_users == pytest.approx(values.sum() ** 2 / (values**2).sum())
    assert (result.ties, result.n_users, result.n_items) == ("expected", 4, 11)


def test_results_are_plain_values():
    (result,) = evaluate(ranks_of(11, [0, 2]), "ap")
    assert json.loads(json.dumps(asdict(result))) == asdict(result)


@pytest.mark.parametrize(
    ("ties", "first"),
    [("expected", (1 + 1 / 2 + 1 / 3) / 3), ("optimistic", 1), ("pessimistic", 1 / 3)],
)
def test_item_that_ties_with_two_others_has_rank_1_2_or_3(ties, first):
    """The other user's item is at rank 2."""
    (result,) = evaluate(ranks_of(9, better=[0, 1], tied=[2, 0]), ["ap"], ties=ties)
    assert (result.value, result.ties) == (pytest.approx((first + 1 / 2) / 2), ties)


def test_recall_of_several_items_by_hand():
    """One user has items at ranks 1 and 4, another one at rank 2, of 6 candidates each."""
    ranks = Ranks([6, 6], [0, 3, 1], [0, 0, 0], n_found=[2, 1])
    (result,) = evaluate(ranks, ["recall@2"])
    assert (result.value, result.n_users) == ((1 / 2 + 1) / 2, 2)


# Lists of ten items of two users: one item is at rank 4, and another is in none.
CUT = ranks_by_user([0], [3], [0], n_relevant=[1, 1], n_candidates=[0, 0], depth=[10, 10])


def test_item_that_is_in_no_list_counts_0():
    (result,) = evaluate(CUT, ["ndcg@10"])
    assert result.value == pytest.approx((1 / math.log2(1 + 4) + 0) / 2)
    assert result.n_items is None


def test_auc_of_lists_that_end_is_refused():
    with pytest.raises(InputError, match="auc"):
        evaluate(CUT, ["auc"])


def prior_of(name, ranks):
    (shape,) = prior_moments([parse_measure(name)], ranks).values()
    return shape


def test_prior_has_the_moments_of_uniform_ranks():
    values = 1 / np.arange(1, 41)
    shape = prior_of("ap", ranks_of(40, [3]))
    assert shape.mean == pytest.approx(values.mean())
    assert shape.fourth == pytest.approx(((values - values.mean()) ** 4).mean())
    assert (shape.low, shape.high) == (1 / 40, 1.0)


def test_prior_of_recall_among_a_million_items():
    """A share 10 / 10^6 of users has a hit; the variance of a share p is p (1 - p)."""
    shape = prior_of("recall@10", ranks_of(10**6, [3]))
    assert shape.mean == pytest.approx(1e-5)
    assert shape.second == pytest.approx(1e-5 * (1 - 1e-5))


@pytest.mark.parametrize("name", ["precision@3", "ndcg-by-k@3"])
def test_prior_of_several_items_is_within_random_orders(name):
    """All places of two relevant items among five candidates."""
    pairs = list(itertools.combinations(range(1, 6), 2))
    dcg = [sum((rank <= 3) / math.log2(rank + 1) for rank in pair) for pair in pairs]
    ideal = sum(1 / math.log2(rank + 1) for rank in (1, 2, 3))
    values = {
        "precision@3": [sum(rank <= 3 for rank in pair) / 3 for pair in pairs],
        "ndcg-by-k@3": [each / ideal for each in dcg],
    }[name]
    shape = prior_of(name, Ranks([5] * 500, [1, 3] * 500, [0] * 1000, n_found=[2] * 500))
    assert min(values) <= shape.mean <= max(values)
    assert (shape.low, shape.high) == (0.0, 1.0)


def test_prior_of_two_items_of_2000_in_random_order():
    """Precision@10 is 1 / 10 with a probability of about 2 * 10 / 2000."""
    ranks = Ranks([2000] * 500, [1, 3] * 500, [0] * 1000, n_found=[2] * 500)
    shape = prior_of("precision@10", ranks)
    assert shape.mean == pytest.approx(2 * 10 / 2000 / 10, rel=0.1)
    assert shape.second == pytest.approx(2 * 10 / 2000 / 10**2, rel=0.15)


RANDOM_SCORES = np.random.default_rng(0).random((50, 300))


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")  # random, item 0 for all
@pytest.mark.parametrize(
    "data",
    [
        RANDOM_SCORES,
        pd.DataFrame(RANDOM_SCORES),
        pd.DataFrame(
            {"user_id": np.repeat(np.arange(50), 300), "item_id": np.tile(np.arange(300), 50),
             "score": RANDOM_SCORES.ravel()}
        ),
    ],
    ids=["array", "frame", "pairs"],
)  # fmt: skip
def test_scores_without_seen_items_are_noted(data):
    relevant = {user: [0] for user in range(50)}
    (result,) = results = evaluate(data, "ap", relevant=relevant)
    assert any(note.startswith("seen: read as none") for note in results.notes)
    rank = (RANDOM_SCORES[:, :1] <= RANDOM_SCORES).sum(axis=1)
    assert result.value == pytest.approx((1 / rank).mean())


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_101_columns_beside_seen_items_of_nobody_warn():
    with warns_about("candidates"):
        evaluate(RANDOM_SCORES[:, :101], "ap", relevant=[0] * 50, seen=np.zeros((50, 101)))


@pytest.mark.filterwarnings("ignore:data: ")  # most users have the same rank
@pytest.mark.parametrize(("carry", "is_narrow"), [(29, True), (30, False), (1, True)])
def test_fewer_than_30_effective_users_are_noted(carry, is_narrow):
    """All others of 400 users have an average precision of nearly 0."""
    better = np.full(400, 10**8)
    better[:carry] = 0
    (result,) = results = evaluate(ranks_of(10**9, better), "ap")
    assert result.effective_users == pytest.approx(carry, rel=1e-5)
    assert (f"about {carry} of 400 users" in str(results)) == is_narrow


@pytest.mark.filterwarnings("ignore:data: ")
def test_interval_of_a_share_of_users_is_not_too_narrow():
    better = [0] * 29 + [10**8] * 371
    assert "carry" not in str(evaluate(ranks_of(10**9, better), "recall@10"))


def test_mean_of_0_has_no_effective_users():
    nobody = evaluate(ranks_of(99, [50] * 3), "ndcg@10, recall@10")
    assert [(result.value, result.effective_users) for result in nobody] == [(0.0, 0.0)] * 2
    assert "carry" not in str(nobody)


# Three examples with 3 + 1 + 2 = 6 labels, at places 1, 3, 4; 2; and 1, 4 of 6.
BATCH = sm.Ranks(
    [6] * 3, [0, 2, 3, 1, 0, 3], [0] * 6, n_found=[3, 1, 2], users=["first", "second", "third"]
)


@pytest.mark.parametrize(("k", "hits"), [(1, 2), (2, 3), (3, 4), (4, 6), (6, 6)])
def test_pooled_recall_counts_hits_of_all_users(k, hits):
    names = [f"recall-micro@{k}", f"precision-micro@{k}", f"recall@{k}"]
    micro, precision, macro = sm.evaluate(BATCH, names)
    assert micro.value == pytest.approx(hits / (3 + 1 + 2), rel=1e-15)
    assert precision.value == pytest.approx(hits / (3 * k), rel=1e-15)
    of_users = [sum(place <= k for place in places) for places in ((1, 3, 4), (2,), (1, 4))]
    assert macro.value == pytest.approx(np.mean(np.divide(of_users, [3, 1, 2])), rel=1e-15)


@pytest.mark.filterwarnings("ignore:.*held-out items are above")  # of random scores
def test_pooled_recall_error_matches_bootstrap():
    rng = np.random.default_rng(0)
    scores = rng.random((300, 22))
    relevant = csr_array(rng.random((300, 22)) < rng.random((300, 1)) / 2)
    ranks = sm.rank(scores, None, relevant)
    (result,) = sm.evaluate(ranks, "recall-micro@5")
    hits = np.zeros(len(ranks))
    np.add.at(hits, np.repeat(np.arange(len(ranks)), ranks.n_found), ranks.n_better < 5)
    rows = rng.integers(0, len(ranks), (4000, len(ranks)))
    resampled = hits[rows].sum(axis=1) / ranks.n_relevant[rows].sum(axis=1)
    assert result.value == pytest.approx(hits.sum() / ranks.n_relevant.sum(), rel=1e-12)
    assert result.std_error == pytest.approx(resampled.std(), rel=0.05)


def test_pooled_recall_compares_common_users():
    other = sm.Ranks([6] * 2, [0, 4, 5], [0] * 3, n_found=[1, 2], users=["third", "first"])
    (result,) = sm.compare({"batch": BATCH, "other": other}, "recall-micro@2")
    assert result.n_users == 2
    assert result.value_a == pytest.approx((1 + 1) / (3 + 2), rel=1e-15)
    assert result.value_b == pytest.approx((1 + 0) / (1 + 2), rel=1e-15)


def test_pooled_recall_has_no_value_by_user():
    with pytest.raises(InputError, match="recall@2"):
        sm.values_by_user(BATCH, "recall-micro@2")


def test_pooled_recall_of_one_item_per_user_is_recall():
    sample = sm.SampledRanks([1, 2, 5, 30], 200, 50)
    pooled, recall = (
        [(one.value, one.range_low, one.range_high) for one in sm.correct(sample, name)]
        for name in ("recall-micro@10", "recall@10")
    )
    assert pooled == recall


def test_pooled_recall_of_samples_of_several_items_is_refused():
    several = sm.SampledRanks([1, 2, 5, 30], 200, 50, users=[1, 1, 2, 3], several_items=True)
    with pytest.raises(InputError, match="together"):
        sm.correct(several, "recall-micro@10")


def test_accuracy_is_share_of_users_with_hit():
    """As in BEIR, and as for classifiers, where each row has one class.

    The users have items at ranks 1, 2 and 4; at rank 6; and at rank 1.
    """
    ranks = sm.Ranks([9] * 3, [0, 1, 3, 5, 0], [0] * 5, n_found=[3, 1, 1])
    (first, second) = sm.evaluate(ranks, "accuracy@1, Accuracy@6")
    assert (first.metric, first.value, second.value) == ("accuracy@1", 2 / 3, 3 / 3)


def test_accuracy_without_a_cut_off_is_refused():
    with pytest.raises(InputError, match="cut-off"):
        parse_measure("accuracy")
