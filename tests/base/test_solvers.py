"""Least squares with signs, against scipy.optimize."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from sampled_metrics._base.solvers import nonnegative_least_squares


@given(st.integers(0, 10**6), st.integers(2, 12), st.integers(2, 12), st.booleans())
def test_nonnegative_least_squares_equals_nnls(seed, rows, unknowns, doubled):
    rng = np.random.default_rng(seed)
    matrix = np.abs(rng.normal(size=(rows, unknowns)))
    if doubled:
        matrix = np.c_[matrix, matrix]
    target = matrix @ np.abs(rng.normal(size=matrix.shape[1])) + 0.1 * rng.normal(
        size=rows
    )
    weights = nonnegative_least_squares(matrix, target, max_steps=1)
    assert weights.min() >= 0.0
    assert np.linalg.norm(matrix @ weights - target) == pytest.approx(
        nnls(matrix, target)[1], abs=1e-9
    )
