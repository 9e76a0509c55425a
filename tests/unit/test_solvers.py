"""Roots and least squares with signs, against scipy.optimize."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq, nnls
from scipy.stats import binom

from sampled_metrics._base.solvers import nearest_weights, nonnegative_least_squares, root_between


@given(st.floats(-40.0, 40.0), st.floats(1e-3, 1e3), st.floats(0.0, 10.0))
def test_roots_are_those_of_scipy(root, scale, bend):
    def function(x):
        return float(np.tanh(scale * (x - root)) + bend * (x - root) ** 3)

    assert root_between(function, -45.0, 45.0) == brentq(function, -45.0, 45.0)


def test_roots_at_the_ends_are_found():
    assert root_between(lambda x: x, 0.0, 3.0) == 0.0
    assert root_between(lambda x: x, -3.0, 0.0) == 0.0


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 12), st.booleans())
def test_least_squares_fit_as_those_of_scipy(seed, rows, unknowns, positive):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(rows, unknowns))
    if positive:
        matrix = np.abs(matrix)
    target = rng.normal(size=rows)
    found = nonnegative_least_squares(matrix, target, 30 * unknowns)
    expected, distance = nnls(matrix, target)
    assert found.min() >= 0.0
    assert np.linalg.norm(matrix @ found - target) == pytest.approx(distance, abs=1e-9)
    if rows >= unknowns:
        assert found == pytest.approx(expected, abs=1e-7)


def test_sets_that_do_not_settle_in_time_are_an_error():
    with pytest.raises(RuntimeError):
        nonnegative_least_squares(np.eye(5), np.ones(5), 3)


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 12), st.booleans())
def test_weights_are_the_nearest_where_sets_do_not_settle(seed, rows, unknowns, doubled):
    rng = np.random.default_rng(seed)
    matrix = np.abs(rng.normal(size=(rows, unknowns)))
    if doubled:
        matrix = np.c_[matrix, matrix]
    target = matrix @ np.abs(rng.normal(size=matrix.shape[1])) + 0.1 * rng.normal(size=rows)
    found = nearest_weights(matrix, target, turns=1)
    assert found.min() >= 0.0
    assert np.linalg.norm(matrix @ found - target) == pytest.approx(
        nnls(matrix, target)[1], abs=1e-9
    )


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(5, 9), st.integers(1, 4), st.booleans())
def test_columns_that_depend_on_each_other(seed, rows, unknowns, is_shifted):
    """Repeated columns and zeros: any of the fits that are as close."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(rows, unknowns)) + 2.0 * is_shifted
    matrix = np.c_[matrix, matrix[:, ::-1], np.zeros(rows)]
    target = rng.normal(size=rows) + is_shifted
    found = nonnegative_least_squares(matrix, target, 30 * matrix.shape[1])
    assert found.min() >= 0.0
    distance = nnls(matrix, target)[1]
    assert np.linalg.norm(matrix @ found - target) == pytest.approx(distance, abs=1e-9)


def test_columns_that_nearly_depend_on_each_other_end_where_nothing_is_gained():
    """Of binomial distributions with similar parameters, whose fits rounding changes for ever."""
    successes = np.arange(25)
    matrix = binom.pmf(successes[:, None], 24, np.linspace(0.4, 0.6, 60))
    target = np.random.default_rng(0).normal(binom.pmf(successes, 24, 0.5), 1e-3)
    found = nonnegative_least_squares(matrix, target, 60 * 30)
    distance = np.linalg.norm(matrix @ found - target)
    assert distance == pytest.approx(nnls(matrix, target)[1], rel=1e-6)
