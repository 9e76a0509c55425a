"""Errors of predicted ratings, in every form of tables, by hand."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import warns_about

RATED = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [10, 20, 30], "rating": [5.0, 3, 4]})
PREDICTED = RATED.rename(columns={"rating": "prediction"}).assign(prediction=[4.0, 4.5, 4.0])
# the errors are 1, 1.5 and 0
RMSE, MAE = ((1 + 2.25) / 3) ** 0.5, 2.5 / 3


def ratings_by_user(frame, value):
    by_user = {}
    for user, item, number in frame[["user_id", "item_id", value]].itertuples(index=False):
        by_user.setdefault(user, {})[item] = number
    return by_user


@pytest.mark.parametrize(
    ("true", "predicted"),
    [
        (RATED, PREDICTED),
        (RATED, PREDICTED.iloc[::-1]),
        (RATED.iloc[[1, 2, 0]], PREDICTED),
        (RATED.assign(timestamp=[9, 8, 7]), PREDICTED.assign(rating=RATED["rating"])),
        (RATED.astype({"item_id": str}), PREDICTED.astype({"item_id": str})),
        (pa.table(RATED), pa.table(PREDICTED.iloc[::-1])),
        (RATED.set_index(["user_id", "item_id"]), PREDICTED),
        (RATED.to_dict("list"), PREDICTED.to_dict("list")),
        (RATED.to_dict("records"), PREDICTED.to_dict("records")[::-1]),
        (
            ratings_by_user(RATED, "rating"),
            ratings_by_user(PREDICTED.iloc[::-1], "prediction"),
        ),
        (RATED, PREDICTED["prediction"]),
        (RATED["rating"], PREDICTED["prediction"].tolist()),
        (RATED[["rating"]], PREDICTED[["prediction"]]),
        (
            RATED.set_axis(["uid", "iid", "r_ui"], axis=1),
            PREDICTED.set_axis(["uid", "iid", "est"], axis=1).assign(r_ui=0.0),
        ),
        (
            RATED,
            pd.concat(
                [
                    PREDICTED,
                    PREDICTED.assign(item_id=77).iloc[:2].assign(user_id=[3, 4]),
                ]
            ),
        ),
    ],
)
def test_errors_of_ratings_by_hand(true, predicted):
    assert sm.rmse(true, predicted) == pytest.approx(RMSE)
    assert sm.mae(true, predicted) == pytest.approx(MAE)


def test_ratings_without_a_prediction_warn():
    with warns_about("1 of 3 ratings"):
        assert sm.mae(RATED, PREDICTED.iloc[:2]) == pytest.approx((1 + 1.5) / 2)


@pytest.mark.parametrize("error", [sm.rmse, sm.mae])
@pytest.mark.parametrize(
    ("true", "predicted", "message"),
    [
        (RATED, PREDICTED[["prediction"]], "user_id and item_id in both"),
        (RATED, pd.concat([PREDICTED] * 2), "predicted, row 4: duplicate"),
        (RATED, PREDICTED.assign(user_id=[7, 8, 9]), "in common"),
        (
            RATED.drop(columns=["user_id", "item_id"]).assign(b=1),
            [1, 2, 3],
            "rating, b",
        ),
        (pd.DataFrame(np.eye(2)), pd.DataFrame(np.eye(2)), "columns of numbers"),
        (RATED.assign(rating=[1, None, 2]), PREDICTED, "true, row 2"),
        (
            [*RATED.itertuples(index=False)],
            [*PREDICTED.itertuples(index=False)],
            "tuples",
        ),
        (RATED.to_numpy(), PREDICTED.to_numpy(), "the first two alike"),
        (RATED.to_numpy(), PREDICTED.to_numpy()[::-1], "the first two alike"),
        ({1: 2.0}, {1: 3.0}, "dictionary"),
    ],
)
def test_table_without_ratings_is_refused(error, true, predicted, message):
    with pytest.raises(sm.InputError, match=message):
        error(true, predicted)
