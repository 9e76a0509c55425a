"""Sampled evaluations: what is refused, and that counts and rows tell the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.inference.sampled_evaluation import SampledRanks
from sampled_metrics.metrics.measures import parse_measure


@given(st.data())
def test_counts_and_values_agree(data):
    rows, m = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 6))
    ranks = data.draw(st.lists(st.integers(1, m + 1), min_size=rows, max_size=rows))
    items = data.draw(st.lists(st.sampled_from([10, 20, 30]), min_size=rows, max_size=rows))
    each = SampledRanks(ranks, items, m, per_user=True)
    together = SampledRanks(ranks, items, m)
    assert together.counts.tolist() == [[ranks.count(i + 1) for i in range(m + 1)]]
    assert each.counts.sum(axis=0).tolist() == together.counts[0].tolist()
    assert each.kinds[0].tolist() == sorted(set(items))
    vectors = np.random.default_rng(0).normal(size=(len(set(items)), m + 1))
    values = [
        vectors[sorted(set(items)).index(n)][rank - 1] for n, rank in zip(items, ranks, strict=True)
    ]
    assert each.values(vectors).tolist() == values
    found = each.estimate(vectors)
    assert (found.value, found.n_users) == (pytest.approx(np.mean(values), abs=1e-12), rows)
    if rows > 1:
        assert found.std_error == pytest.approx(np.std(values, ddof=1) / np.sqrt(rows), abs=1e-12)


def test_vectors_of_every_kind():
    estimators = [parse_estimator(name) for name in ("sampled", "bv:0.1")]
    measures = [parse_measure("ap")]
    for sampling in ("without-replacement", "with-replacement", "distinct"):
        evaluation = SampledRanks([1, 2, 1], [30, 20, 30], 4, sampling, per_user=True)
        vectors = evaluation.vectors(estimators, measures)
        assert vectors.shape == (1, 2, 2, 5)
        for kind, n in enumerate((20, 30)):
            expected = estimator_matrix(estimators, measures, n, 4, sampling=sampling)
            assert (vectors[:, :, kind] == expected).all()


def test_users_are_ordered_and_counted():
    evaluation = SampledRanks([1, 2, 3, 1], 20, 4, users=["z", "b", "z", "a"])
    assert evaluation.n_users == 3
    assert evaluation.by_user[0].tolist() == ["a", "b", "z"]
    values = evaluation.values(np.array([[10.0, 20.0, 30.0, 0.0, 0.0]]))
    assert values.tolist() == [10.0, 20.0, 20.0]
    found = evaluation.estimate(np.array([[10.0, 20.0, 30.0, 0.0, 0.0]]))
    assert (found.value, found.n_users) == (pytest.approx(50 / 3), 3)


def test_the_mean_of_n():
    assert SampledRanks([1, 1], [20, 21], 4).mean_candidates == 20
    assert SampledRanks([1, 1, 1], [20, 21, 21], 4).mean_candidates == 21
    assert SampledRanks([1, 1], 33, 4, per_user=True).kinds[0].tolist() == [33]
