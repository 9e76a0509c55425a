"""Moments of estimates: hand arithmetic, exact convolutions, simulation."""

from functools import reduce
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.inference.moments import (
    Moments,
    count_less,
    deviations,
    estimates,
    expected_moments,
    order_probability,
    probability_less,
    simulated_moments,
)
from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import histograms, sampled_rank_distribution


def generators(count, seed):
    return [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(count)]


def records(seed, users=300, scale=150):
    rng = np.random.default_rng(seed)
    n = rng.integers(900, 1001, users)
    better = np.minimum(rng.exponential(scale, users).astype(int), 800)
    return Ranks(n, better, rng.integers(0, 2, users) * rng.integers(0, 90, users))


VECTORS = estimator_matrix(
    [parse_estimator(name) for name in ("sampled", "rank-estimate", "cls", "bv:0.1", "bv:0.001")],
    [parse_measure(name) for name in ("recall@10", "ap", "auc")],
    950,
    50,
    sampling="with-replacement",
)


class TestExpectedMoments:
    def test_by_hand(self):
        # user 1: 1 or 0 with 1/2 each, variance 1/4; user 2: 2 or 0 with 1/4, 3/4, variance 3/4
        distribution = np.array([[0.5, 0.5, 0.0], [0.0, 0.75, 0.25]])
        moments = expected_moments(distribution, np.array([1.0, 0.0, 2.0]))
        assert moments.mean == pytest.approx((1 / 2 + 2 / 4) / 2)
        assert moments.sd == pytest.approx(np.sqrt(1 / 4 + 3 / 4) / 2)

    @settings(derandomize=True, deadline=None, max_examples=50)
    @given(
        arrays(float, (3, 3), elements=st.floats(0.01, 1)),
        arrays(float, 3, elements=st.floats(-10, 10)),
    )
    def test_all_outcomes_listed(self, weights, vector):
        p = weights / weights.sum(axis=1, keepdims=True)
        outcomes = list(product(range(3), repeat=3))
        chance = np.array([np.prod([p[u, i] for u, i in enumerate(o)]) for o in outcomes])
        value = np.array([np.mean([vector[i] for i in o]) for o in outcomes])
        mean = chance @ value
        ours = expected_moments(p, vector)
        assert ours.mean == pytest.approx(mean, abs=1e-12)
        assert ours.sd == pytest.approx(np.sqrt(chance @ (value - mean) ** 2), abs=1e-11)

    def test_no_spread_is_exactly_none(self):
        certain = np.eye(4)[[0, 2, 2]]
        moments = expected_moments(certain, np.array([0.3, 0.1, -7.7, 5.0]))
        assert moments.sd == 0.0
        spread = np.random.default_rng(0).dirichlet(np.ones(50), size=40)
        constant = np.array([[0.1] * 50, [0.0] * 50])
        assert (expected_moments(spread, constant).sd == 0.0).all()

    def test_auc_is_unbiased(self):
        data = Ranks([101] * 3, [0, 50, 77], [0, 0, 0])
        auc = parse_measure("auc")
        moments = expected_moments(sampled_rank_distribution(data, 9), auc.at(np.arange(1, 11), 10))
        assert moments.mean == pytest.approx(auc.at([1, 51, 78], 101).mean(), rel=1e-13)

    @pytest.mark.parametrize("shape", [(0, 3), (2, 4), (3,)])
    def test_refuses(self, shape):
        with pytest.raises(InputError, match=r"table of shape .* and vectors of shape \(3,\)"):
            expected_moments(np.ones(shape), np.ones(3))


class TestEstimates:
    def test_by_hand(self):
        vectors = np.array([[1.0, 0.5, 0.0], [3.0, 0.0, -1.0]])
        ours = estimates([[2, 1, 1], [0, 4, 0], [0, 0, 4]], vectors)
        by_hand = [[(2 + 0.5) / 4, 4 * 0.5 / 4, 0], [(6 - 1) / 4, 0, -1]]
        assert ours == pytest.approx(np.array(by_hand))

    def test_deviation_of_a_sample(self):
        # ddof = 1: (0.1^2 + 0.1^2) / (2 - 1)
        found = simulated_moments(np.array([[0.3, 0.5]]))
        assert found.mean == pytest.approx([0.4])
        assert found.sd == pytest.approx([np.sqrt(0.02)])

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: estimates([[1, 1], [1, 2]], np.ones(2)), "histograms of 2 to 3 users"),
            (lambda: estimates([[0, 0]], np.ones(2)), "histograms of 0 to 0 users"),
            (lambda: estimates([[1, 1]], np.ones(3)), r"table of shape \(1, 2\) and vectors"),
            (lambda: simulated_moments(np.ones((2, 1))), "1 repetitions; .* at least 2"),
            (lambda: count_less(np.ones(2), np.ones(3)), r"shapes \(2,\) and \(3,\)"),
        ],
    )
    def test_refuses(self, call, message):
        with pytest.raises(InputError, match=message):
            call()


class TestOrdering:
    def test_by_hand(self):
        # difference 3 with deviation sqrt(3^2 + 4^2) = 5: Phi(3/5) = 0.7257
        a = Moments(np.array(1.0), np.array(3.0))
        b = Moments(np.array(4.0), np.array(4.0))
        assert probability_less(a, b) == pytest.approx(0.725747, abs=1e-6)
        assert probability_less(a, b) + probability_less(b, a) == pytest.approx(1)

    def test_without_spread(self):
        still = np.zeros(4)
        a = Moments(np.array([1.0, 1.0, 1.0, 0.1 + 0.2]), still)
        b = Moments(np.array([0.9, 1.1, 1.0, 0.3]), still)
        assert probability_less(a, b).tolist() == [0.0, 1.0, 0.5, 0.5]

    def test_counts_only_strictly_below(self):
        a = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
        b = np.array([[2.0, 2.0, 2.0], [1.0, 1.0, -1.0]])
        assert count_less(a, b).tolist() == [1, 2]
        assert count_less(b, a).tolist() == [1, 1]

    @pytest.mark.parametrize(("users", "tolerance"), [(100, 0.01), (2000, 1e-3)])
    def test_against_the_exact_distribution(self, users, tolerance):
        # the number of users at sampled rank 1 is a sum of unequal coins: convolve them
        first = np.eye(51)[0]
        tables = [sampled_rank_distribution(records(seed, users), 50) for seed in (3, 4)]
        count_a, count_b = (
            reduce(np.convolve, [np.array([1 - p, p]) for p in table[:, 0]]) for table in tables
        )
        below = count_b @ np.concatenate([[0], np.cumsum(count_a)[:-1]])
        exact = below + count_a @ count_b / 2
        ours = probability_less(*(expected_moments(table, first) for table in tables))
        assert ours == pytest.approx(exact, abs=tolerance)

    def test_simulation_agrees_within_four_standard_errors(self):
        repetitions, (a, b) = 2000, (records(5, 100), records(6, 100, scale=140))
        tables = [sampled_rank_distribution(data, 50) for data in (a, b)]
        drawn = [
            histograms(data, 50, generators(repetitions, seed)) for seed, data in enumerate((a, b))
        ]
        expected = probability_less(*(expected_moments(table, VECTORS) for table in tables))
        values = [estimates(histogram, VECTORS) for histogram in drawn]
        less, more = count_less(*values), count_less(*values[::-1])
        found = (less + (repetitions - less - more) / 2) / repetitions
        error = np.sqrt(expected * (1 - expected) / repetitions)
        assert (np.abs(found - expected) <= 4 * error + 0.01).all()


def test_a_difference_without_error_is_certain_and_none_is_even():
    # (1, -1, 0) / 0, then 0 / 2 and 4 / 2
    found = deviations([1.0, -1.0, 0.0, 0.0, 4.0], [0.0, 0.0, 0.0, 2.0, 2.0])
    assert found.tolist() == [np.inf, -np.inf, 0.0, 0.0, 2.0]
    assert order_probability(found[:4]).tolist() == [1.0, 0.0, 0.5, 0.5]
