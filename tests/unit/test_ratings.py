import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.ratings import mae, rmse

TRUE, PREDICTED = [4, 3, 5, 1], [3.5, 3, 4, 3]  # errors 0.5, 0, 1, -2


def test_by_hand():
    assert rmse(TRUE, PREDICTED) == pytest.approx(((0.25 + 0 + 1 + 4) / 4) ** 0.5, rel=1e-15)
    assert mae(TRUE, PREDICTED) == pytest.approx((0.5 + 0 + 1 + 2) / 4, rel=1e-15)
    assert isinstance(rmse(TRUE, PREDICTED), float)
    assert isinstance(mae(TRUE, PREDICTED), float)


def test_unsigned_ratings_do_not_wrap_around():
    assert mae(np.array([1], np.uint8), np.array([3], np.uint8)) == 2


ratings = st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=1, max_size=20)


@given(ratings)
def test_mae_never_exceeds_rmse_and_scikit_learn_agrees(pairs):
    true, predicted = np.array(pairs).T
    assert 0 <= mae(true, predicted) <= rmse(true, predicted) * (1 + 1e-12) + 1e-300
    assert mae(true, predicted) == pytest.approx(mean_absolute_error(true, predicted), rel=1e-12)
    assert rmse(true, predicted) == pytest.approx(
        root_mean_squared_error(true, predicted), rel=1e-12
    )


@pytest.mark.parametrize("error", [rmse, mae])
@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        ([1, 2], [1], r"ratings have shape \(2,\), predictions \(1,\)"),
        ([], [], "no ratings; expected at least one"),
        ([1, np.nan], [1, 2], "1 ratings are not finite, such as nan"),
        ([1, 2], [np.inf, 2], "1 predictions are not finite, such as inf"),
        (["five"], [5], "ratings have dtype <U4; expected numbers"),
    ],
)
def test_wrong_input(error, true, predicted, message):
    with pytest.raises(InputError, match=message):
        error(true, predicted)
