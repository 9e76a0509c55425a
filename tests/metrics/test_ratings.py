"""RMSE and MAE by hand, against scikit-learn, and wrong ratings."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

import sampled_metrics as sm

TRUE = [4, 3.5, 5, 1]
PREDICTED = [3, 3.5, 3, 5]  # errors 1, 0, 2, -4
ratings = st.lists(st.tuples(*[st.floats(-5, 5)] * 2), min_size=1, max_size=20)


def test_rmse_and_mae_by_hand():
    assert sm.rmse(TRUE, PREDICTED) == pytest.approx(((1 + 0 + 4 + 16) / 4) ** 0.5, rel=1e-15)
    assert sm.mae(TRUE, PREDICTED) == (1 + 0 + 2 + 4) / 4
    assert sm.rmse(TRUE, TRUE) == sm.mae(TRUE, TRUE) == 0


def test_rmse_and_mae_of_unsigned_matrices():
    assert sm.mae(np.array([[1, 5]], np.uint8), np.array([[3, 1]], np.uint8)) == 3
    assert sm.rmse(np.array([[1, 5]], np.uint8), np.array([[4, 1]], np.uint8)) == pytest.approx(
        12.5**0.5, rel=1e-15
    )


def test_rmse_of_extreme_numbers():
    assert sm.rmse([1e200, 0], [0, 0]) == pytest.approx(1e200 / 2**0.5, rel=1e-15)
    assert sm.rmse([1e-200, 0], [0, 0]) == pytest.approx(1e-200 / 2**0.5, rel=1e-15)


@given(ratings)
def test_rmse_and_mae_match_scikit_learn(pairs):
    true, predicted = zip(*pairs, strict=True)
    rmse, mae = sm.rmse(true, predicted), sm.mae(true, predicted)
    assert rmse == pytest.approx(root_mean_squared_error(true, predicted), rel=1e-12, abs=1e-150)
    assert mae == pytest.approx(mean_absolute_error(true, predicted), rel=1e-12)
    assert mae <= rmse * (1 + 1e-12)


@pytest.mark.parametrize("error", [sm.rmse, sm.mae])
@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        ([], [], "true is empty"),
        ([1, 2], [1], "shape"),
        ([[1], [2]], [1, 2], "shape"),  # which numpy would broadcast to four errors
        ([1, float("nan")], [1, 2], "true holds nan at place 1"),
        ([1, 2], [np.inf, 2], "predicted holds inf at place 0"),
        (["4", "5"], [4, 5], "true has dtype"),
        ([[1], [1, 2]], [1, 2], "differ in length"),
        (pd.Series([1, 2], [0, 1]), pd.Series([2, 1], [1, 0]), "different indexes"),
        (np.ma.masked_array([1, 2], [True, False]), [1, 2], "mask"),
    ],
)
def test_wrong_ratings_are_refused(error, true, predicted, message):
    with pytest.raises(sm.InputError, match=message):
        error(true, predicted)


def test_series_and_list_are_paired_by_position():
    true = pd.Series([1.0, 2.0], index=[5, 3])
    assert sm.mae(true, [2.0, 4.0]) == 1.5  # (1 + 2) / 2
    assert sm.mae([2.0, 4.0], true) == 1.5
