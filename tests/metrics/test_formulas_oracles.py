"""Metrics of several relevant items against every order of the ties, and other packages."""

from collections import Counter
from math import fsum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score, roc_auc_score

from sampled_metrics.metrics.formulas import reciprocals
from sampled_metrics.ranks import Ranks
from tests.helpers.relevance import (
    metric_by_definition,
    metric_names,
    metric_values,
    orders_with_ties,
    ranks_by_user,
    ranks_of_scores,
)


def user_of(scores, least_irrelevant=1):
    most = len(scores) - least_irrelevant
    items = st.sets(st.integers(0, len(scores) - 1), min_size=1, max_size=most)
    return st.tuples(st.just(scores), items.map(sorted))


scored = st.lists(st.integers(0, 2), min_size=2, max_size=6)


one_user = scored.flatmap(user_of)


untied_user = st.permutations(range(7)).flatmap(user_of)


def row_of(order, relevant):
    return [int(item in relevant) for item in order]


@settings(max_examples=80)
@given(user=one_user, k=st.integers(1, 7))
def test_expected_matches_mean_over_all_orders(user, k):
    scores, relevant = user
    rows = Counter(tuple(row_of(order, relevant)) for order in orders_with_ties(scores))
    total, ranks = sum(rows.values()), ranks_of_scores([user])
    for name in metric_names(k):
        mean = fsum(metric_by_definition(name, row) * times / total for row, times in rows.items())
        assert metric_values(name, ranks).item() == pytest.approx(mean, abs=1e-13), name


@settings(max_examples=40)
@given(user=one_user, k=st.integers(1, 7))
def test_extreme_policies_match_extreme_orders(user, k):
    scores, relevant = user
    rows = {tuple(row_of(order, relevant)) for order in orders_with_ties(scores)}
    ranks = ranks_of_scores([user])
    for policy, sign, extreme in (("optimistic", -1, max), ("pessimistic", 1, min)):
        order = sorted(range(len(scores)), key=lambda i: (-scores[i], sign * (i in relevant)))
        for name in metric_names(k):
            value = metric_values(name, ranks, policy).item()
            assert value == pytest.approx(
                metric_by_definition(name, row_of(order, relevant)), abs=1e-13
            )
            bound = extreme(metric_by_definition(name, row) for row in rows)
            assert value == pytest.approx(bound, abs=1e-13), name


@settings(max_examples=40)
@given(user=one_user, k=st.integers(1, 7), seed=st.integers(0, 99))
def test_random_matches_one_order_for_all_metrics(user, k, seed):
    scores, relevant = user
    rows = {tuple(row_of(order, relevant)) for order in orders_with_ties(scores)}
    names, ranks = metric_names(k), ranks_of_scores([user])
    values_by_name = [
        metric_values(name, ranks, "random", np.random.default_rng(seed)).item() for name in names
    ]
    assert any(
        np.allclose(values_by_name, [metric_by_definition(name, row) for name in names], atol=1e-13)
        for row in rows
    )


@settings(max_examples=30)
@given(users=st.lists(untied_user, min_size=1, max_size=5), k=st.integers(1, 7), more=st.data())
def test_list_cut_at_k_or_below_matches_full_ranking(users, k, more):
    full = ranks_of_scores(users)
    cut = ranks_of_scores(users, depth=more.draw(st.integers(k, 7)))
    unknown = Ranks(
        0 * cut.n_candidates,
        cut.n_better,
        cut.n_tied,
        n_found=cut.n_found,
        n_relevant=cut.n_relevant,
        depth=cut.depth,
    )
    for name in (name for name in metric_names(k) if "@" in name):
        expected = metric_values(name, full)
        np.testing.assert_array_equal(metric_values(name, cut), expected)
        np.testing.assert_array_equal(metric_values(name, unknown), expected)


def test_random_orders_average_to_expectation():
    # one user 20,000 times: 2 above, then 3 of 7 tied relevant, then a relevant item far below
    copies = 20_000
    ranks = ranks_by_user(
        np.repeat(np.arange(copies), 4),
        np.tile([2, 2, 2, 15], copies),
        np.tile([6, 6, 6, 3], copies),
        *(np.full(copies, value) for value in (4, 20, 20)),
    )
    rng = np.random.default_rng(7)
    for name in metric_names(5, 17):
        values = metric_values(name, ranks, "random", rng)
        error = values.std() / np.sqrt(copies)
        assert abs(values.mean() - metric_values(name, ranks)[0]) < 4 * error + 1e-12, name


@pytest.mark.parametrize("above", [0, 1, 30, 63, 64, 65, 1000, 10**6])
def test_reciprocals_match_sums(above):
    # sums up to 64 are from a table, and beyond from an expansion
    places = np.array([1, 2, 10, 64, 65, 5000])
    expected = [fsum(1 / (above + 1 + place) for place in range(count)) for count in places]
    sums = reciprocals(np.full(places.size, above), places)
    np.testing.assert_allclose(sums, expected, rtol=2e-14)


def test_expected_in_large_catalogue_is_accurate():
    # 900,000 above, then 3 of 40 tied candidates relevant, none found before
    above, size, hits = 900_000, 40, 3
    n = [1_000_000]
    ranks = ranks_by_user([0] * hits, [above] * hits, [size - 1] * hits, [hits], n, n)
    ap = fsum(
        hits / size * (1 + i * (hits - 1) / (size - 1)) / (above + 1 + i) for i in range(size)
    )
    assert metric_values("ap", ranks).item() == pytest.approx(ap / hits, rel=1e-9, abs=0)
    ndcg = fsum(hits / size / np.log2(above + 2 + i) for i in range(size))
    ideal = 1 + 1 / np.log2(3) + 1 / np.log2(4)
    assert metric_values("ndcg", ranks).item() == pytest.approx(ndcg / ideal, rel=1e-8, abs=0)


def test_expected_of_many_hits_in_one_level():
    # 1000 of 2000 tied; the chance of no hit in the first 1000 is 1/C(2000, 1000), below 1e-600
    n, hits = 2000, 1000
    ranks = ranks_by_user([0] * hits, [0] * hits, [n - 1] * hits, [hits], [n], [n])
    assert metric_values("hit@1000", ranks).item() == 1
    assert metric_values("recall@1000", ranks).item() == 1 / 2
    # places of the first hit, weighed by hand: 1/2, 1/2 * 1000/1999, ...
    chance, rr = hits / n, 0.0
    for place in range(1, n - hits + 2):
        rr += chance / place
        chance *= (n - hits - place + 1) / (n - place)
    assert metric_values("rr", ranks).item() == pytest.approx(rr, rel=1e-12)


class TestAgainstOtherPackages:
    ITEMS = 30

    def users(self, tied, seed):
        rng = np.random.default_rng(seed)
        for _ in range(25):
            scores = rng.integers(0, 8, self.ITEMS) if tied else rng.permutation(self.ITEMS)
            size = rng.integers(1, 9)
            yield (scores.tolist(), sorted(rng.choice(self.ITEMS, size, replace=False).tolist()))

    def labels(self, relevant):
        return [int(item in relevant) for item in range(self.ITEMS)]

    @pytest.mark.parametrize("tied", [True, False])
    def test_scikit_learn(self, tied):
        # its ideal list ends at k, as in eq. 6, and it averages over ties
        users = list(self.users(tied, seed=1))
        theirs = {
            "auc": [roc_auc_score(self.labels(items), scores) for scores, items in users],
            "ndcg@5": [ndcg_score([self.labels(items)], [scores], k=5) for scores, items in users],
        }
        if not tied:  # it uses one threshold for all tied items instead of an order
            theirs["ap"] = [
                average_precision_score(self.labels(items), scores) for scores, items in users
            ]
        for name, expected in theirs.items():
            np.testing.assert_allclose(
                metric_values(name, ranks_of_scores(users)), expected, rtol=1e-12
            )
