"""RMSE and MAE by hand, against scikit-learn, and wrong ratings."""

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_absolute_error, root_mean_squared_error

import sampled_metrics as sm

IDS = ["user_id", "item_id"]
RATED = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [5, 6, 5], "rating": [5.0, 3, 4]})
# of the same pairs in another order: the errors are 1, -2 and 0
GUESSED = pd.DataFrame({"user_id": [2, 1, 1], "item_id": [5, 5, 6], "prediction": [4.0, 4, 5]})
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
        ([1, float("nan")], [1, 2], "true contains nan at place 1"),
        ([1, 2], [np.inf, 2], "predicted contains inf at place 0"),
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


def as_file(frame, folder):
    path = folder / f"{frame.columns[-1]}.csv"
    frame.to_csv(path, index=False)
    return path


TABLES = {
    "DataFrame": lambda frame, _: frame,
    "index of ids": lambda frame, _: frame.set_index(IDS),
    "one column": lambda frame, _: frame.iloc[:, 2:],
    "Arrow": lambda frame, _: pa.table(frame),
    "columns": lambda frame, _: frame.to_dict("list"),
    "dictionaries": lambda frame, _: frame.to_dict("records"),
    "tuples": lambda frame, _: [*frame.itertuples(index=False, name=None)],
    "records": lambda frame, _: frame.to_records(index=False),
    "numbers by item": lambda frame, _: {1: frame.set_index("item_id").iloc[:, 1].to_dict()},
    "file": as_file,
}


@pytest.mark.parametrize("error", [sm.rmse, sm.mae])
@pytest.mark.parametrize("form", TABLES)
def test_tables_are_refused(error, form, tmp_path):
    true, predicted = (TABLES[form](frame, tmp_path) for frame in (RATED, GUESSED))
    for pair in ((true, predicted), (true, GUESSED["prediction"]), (RATED["rating"], predicted)):
        with pytest.raises(sm.InputError, match=r"(true|predicted): found .*pandas.merge"):
            error(*pair)


def follow(message, **names):
    """Run the assignment that a message suggests, and return its variable."""
    code = re.search(r"merged = (pandas\.merge\(.*\)), and pass", message)[1]
    return eval(code, {"pandas": pd, **names})  # noqa: S307


@pytest.mark.parametrize(("error", "right"), [(sm.rmse, (5 / 3) ** 0.5), (sm.mae, 3 / 3)])
def test_merged_tables_give_the_right_number(error, right):
    with pytest.raises(sm.InputError) as refusal:
        error(RATED, GUESSED)
    merged = follow(str(refusal.value), true=RATED, predicted=GUESSED)
    assert error(merged["rating"], merged["prediction"]) == pytest.approx(right)


@pytest.mark.parametrize("rows", ["file", "dictionaries"])
def test_rows_become_tables_as_suggested(rows, tmp_path):
    true, predicted = (TABLES[rows](frame, tmp_path) for frame in (RATED, GUESSED))
    tables = []
    for pair in ((true, predicted), (RATED["rating"], predicted)):
        with pytest.raises(sm.InputError) as refusal:
            sm.mae(*pair)
        code = re.search(r"whose table is (pandas\.\w+\(.*?\));", str(refusal.value))[1]
        tables.append(eval(code, {"pandas": pd, "true": true, "predicted": predicted}))  # noqa: S307
    merged = follow(str(refusal.value), true=tables[0], predicted=tables[1])
    assert sm.mae(merged["rating"], merged["prediction"]) == (1 + 2 + 0) / 3


def test_merged_rating_without_a_prediction_is_refused():
    merged = RATED.merge(GUESSED.iloc[:2], how="left", on=IDS, validate="1:1")
    with pytest.raises(sm.InputError, match="predicted contains nan"):
        sm.mae(merged["rating"], merged["prediction"])


@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0]])
def test_rows_of_ids_and_numbers_are_refused(order):
    with pytest.raises(sm.InputError, match="the first two alike"):
        sm.rmse(RATED.to_numpy(), GUESSED.to_numpy()[order])
