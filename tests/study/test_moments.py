"""Moments of estimates, compared with hand arithmetic, convolutions and simulation."""

from functools import reduce
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sampled_metrics.ranks import Ranks
from sampled_metrics.sampling import sampled_rank_distribution
from sampled_metrics_study.experiment import (
    MeanAndSd,
    divide_by_sd,
    expected_moments,
    probability_less,
    repeated_estimates,
)


def records(seed, users=300, scale=150):
    rng = np.random.default_rng(seed)
    n = rng.integers(900, 1001, users)
    better = np.minimum(rng.exponential(scale, users).astype(int), 800)
    return Ranks(n, better, rng.integers(0, 2, users) * rng.integers(0, 90, users))


def test_expected_moments_by_hand():
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
def test_expected_moments_match_all_outcomes(weights, vector):
    p = weights / weights.sum(axis=1, keepdims=True)
    outcomes = list(product(range(3), repeat=3))
    chance = np.array([np.prod([p[u, i] for u, i in enumerate(o)]) for o in outcomes])
    value = np.array([np.mean([vector[i] for i in o]) for o in outcomes])
    mean = chance @ value
    actual = expected_moments(p, vector)
    assert actual.mean == pytest.approx(mean, abs=1e-12)
    assert actual.sd == pytest.approx(
        np.sqrt(chance @ (value - mean) ** 2), abs=1e-11
    )


def test_expected_moments_without_spread_are_0():
    certain = np.eye(4)[[0, 2, 2]]
    assert expected_moments(certain, np.array([0.3, 0.1, -7.7, 5.0])).sd == 0.0
    spread = np.random.default_rng(0).dirichlet(np.ones(50), size=40)
    constant = np.array([[0.1] * 50, [0.0] * 50])
    assert (expected_moments(spread, constant).sd == 0.0).all()


def test_estimates_by_hand():
    vectors = np.array([[1.0, 0.5, 0.0], [3.0, 0.0, -1.0]])
    actual = repeated_estimates([[2, 1, 1], [0, 4, 0], [0, 0, 4]], vectors)
    assert actual == pytest.approx(
        np.array([[(2 + 0.5) / 4, 0.5, 0], [(6 - 1) / 4, 0, -1]])
    )
    assert repeated_estimates([[3, 1], [2, 2]], vectors[:, None, :2]).shape == (
        2,
        1,
        2,
    )


def test_probability_less_by_hand():
    # difference 3 with deviation sqrt(3^2 + 4^2) = 5: Phi(3/5) = 0.7257
    a, b = (
        MeanAndSd(np.array(1.0), np.array(3.0)),
        MeanAndSd(np.array(4.0), np.array(4.0)),
    )
    assert probability_less(a, b) == pytest.approx(0.725747, abs=1e-6)
    assert probability_less(a, b) + probability_less(b, a) == pytest.approx(1)
    a = MeanAndSd(np.array([1.0, 1.0, 1.0, 0.1 + 0.2]), np.zeros(4))
    b = MeanAndSd(np.array([0.9, 1.1, 1.0, 0.3]), np.zeros(4))
    assert probability_less(a, b).tolist() == [0.0, 1.0, 0.5, 0.5]
    # (1, -1, 0) / 0, then 0 / 2 and 4 / 2
    actual = divide_by_sd([1.0, -1.0, 0.0, 0.0, 4.0], [0.0, 0.0, 0.0, 2.0, 2.0])
    assert actual.tolist() == [np.inf, -np.inf, 0.0, 0.0, 2.0]


@pytest.mark.parametrize(("users", "tolerance"), [(100, 0.01), (2000, 1e-3)])
def test_probability_less_matches_convolution(users, tolerance):
    # the number of users at sampled rank 1 is a sum of independent 0-1 variables
    tables = [sampled_rank_distribution(records(seed, users), 50) for seed in (3, 4)]
    count_a, count_b = (
        reduce(np.convolve, [np.array([1 - p, p]) for p in table[:, 0]])
        for table in tables
    )
    below = count_b @ np.concatenate([[0], np.cumsum(count_a)[:-1]])
    actual = probability_less(
        *(expected_moments(table, np.eye(51)[0]) for table in tables)
    )
    assert actual == pytest.approx(below + count_a @ count_b / 2, abs=tolerance)
