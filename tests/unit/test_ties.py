import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sampled_metrics.metrics import parse_measure, values
from sampled_metrics.metrics.levels import TIES, random_rank
from sampled_metrics.ranks import Ranks

MEASURES = ["recall@10", "recall@3", "precision@3", "f1@3", "ap@3", "ap", "ndcg@3", "ndcg", "auc"]

one_record = st.integers(2, 60).flatmap(
    lambda n: st.integers(0, n - 1).flatmap(
        lambda b: st.tuples(st.just(n), st.just(b), st.integers(0, n - 1 - b))
    )
)


def value_by_definition(name: str, rank: int, n: int) -> float:
    """The metric of one rank, written out anew."""
    metric, _, k = name.partition("@")
    if metric == "auc":
        return (n - rank) / (n - 1)
    if k and rank > int(k):
        return 0.0
    return {
        "recall": lambda: 1.0,
        "precision": lambda: 1 / int(k),
        "f1": lambda: 2 / (int(k) + 1),
        "ap": lambda: 1 / rank,
        "ndcg": lambda: 1 / np.log2(rank + 1),
    }[metric]()


def test_every_order_of_three_tied_items_by_hand():
    # 1 better, the held-out item H tied with P and Q: H is at rank 2, 3 or 4 in two of six orders.
    orders = list(itertools.permutations("HPQ"))
    ranks = [2 + order.index("H") for order in orders]
    assert sorted(ranks) == [2, 2, 3, 3, 4, 4]
    records = Ranks([6], [1], [2])
    expected = np.mean([1 / rank for rank in ranks])  # (1/2 + 1/3 + 1/4) / 3
    assert values(parse_measure("ap"), records).item() == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize("name", MEASURES)
@settings(max_examples=30)
@given(records=st.lists(one_record, min_size=1, max_size=8))
def test_expected_is_the_mean_over_all_places(name, records):
    oracle = [
        np.mean([value_by_definition(name, b + 1 + place, n) for place in range(e + 1)])
        for n, b, e in records
    ]
    found = values(parse_measure(name), Ranks(*zip(*records, strict=True)))
    np.testing.assert_allclose(found, oracle, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", MEASURES)
@settings(max_examples=30)
@given(records=st.lists(one_record, min_size=1, max_size=8))
def test_policies_bracket_the_expectation(name, records):
    measure, ranks = parse_measure(name), Ranks(*zip(*records, strict=True))
    rng = np.random.default_rng(0)
    by_policy = {policy: values(measure, ranks, policy, rng) for policy in TIES}
    for policy in ("expected", "random"):
        assert (by_policy["pessimistic"] <= by_policy[policy] + 1e-12).all()
        assert (by_policy[policy] <= by_policy["optimistic"] + 1e-12).all()
    untied = ranks.n_tied == 0
    for policy in TIES:
        np.testing.assert_array_equal(by_policy[policy][untied], by_policy["optimistic"][untied])


def test_expected_stays_accurate_in_a_large_catalogue():
    # the mean of 1/r over the ranks 900,001 ... 900,011, summed by itself
    records = Ranks([1_000_000], [900_000], [10])
    oracle = sum(1 / rank for rank in range(900_001, 900_012)) / 11
    found = values(parse_measure("ap"), records).item()
    assert found == pytest.approx(oracle, rel=1e-8)


def test_random_places_are_uniform():
    # 30,000 users with 2 ties: three places, each expected 10,000 times; 4 sd = 4 * 82
    records = Ranks(np.full(30_000, 9), np.full(30_000, 3), np.full(30_000, 2))
    ranks, counts = np.unique(random_rank(records, np.random.default_rng(1)), return_counts=True)
    np.testing.assert_array_equal(ranks, [4, 5, 6])
    assert (abs(counts - 10_000) < 4 * np.sqrt(30_000 * (1 / 3) * (2 / 3))).all()


def test_same_seed_same_values():
    records = Ranks(np.full(50, 99), np.zeros(50, int), np.arange(50))
    measure = parse_measure("ap")
    one, two = (values(measure, records, "random", np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(one, two)
