"""RMSE and MAE of predicted ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.array_types import Float
from sampled_metrics._base.conversion import to_array
from sampled_metrics._base.errors import InputError
from sampled_metrics.inputs.ratings import align_ratings
from sampled_metrics.inputs.roles import NamesByRole, naming


def rmse(true: ArrayLike, predicted: ArrayLike, *, columns: NamesByRole = None) -> float:
    """Calculate the root mean squared error of predicted ratings.

    The square root of the mean of (r - p)^2 over all pairs of a user and an item that have a
    rating r and a prediction p.

    Parameters
    ----------
    true, predicted
        Ratings and their predictions in the same order: finite numbers of the same shape. Tables
        of user_id, item_id and a number, or nested dictionaries, are matched by ids.
    columns
        Names of columns of tables by role, such as {"rating": "stars"}; see `evaluate`.

    Returns
    -------
    float
        The error, in the unit of the ratings.

    Raises
    ------
    InputError
        If the data or an option cannot be used; the message says where, why and what to give.

    See Also
    --------
    mae : Mean absolute error.

    Examples
    --------
    >>> rmse([3, 5], [3, 1])  # sqrt((0 + 16) / 2)
    2.8284271247461903
    """
    errors = _errors(true, predicted, columns)
    largest = float(np.abs(errors).max())
    if largest == 0.0:
        return 0.0
    scaled = errors / largest  # so that squares neither overflow nor underflow
    return largest * float(np.sqrt(np.mean(scaled * scaled)))


def mae(true: ArrayLike, predicted: ArrayLike, *, columns: NamesByRole = None) -> float:
    """Calculate the mean absolute error of predicted ratings.

    The mean of abs(r - p) over all pairs of a user and an item that have a rating r and a
    prediction p; never above `rmse`.

    Parameters
    ----------
    true, predicted, columns
        As for `rmse`.

    Returns
    -------
    float
        The error, in the unit of the ratings.

    Raises
    ------
    InputError
        If the data or an option cannot be used; the message says where, why and what to give.

    See Also
    --------
    rmse : Root mean squared error.

    Examples
    --------
    >>> mae([3, 5], [3, 1])  # (0 + 4) / 2
    2.0
    """
    return float(np.mean(np.abs(_errors(true, predicted, columns))))


def _errors(true: ArrayLike, predicted: ArrayLike, columns: NamesByRole) -> Float:
    with naming(columns):
        true_values, predicted_values, is_matched = align_ratings(true, predicted)
    ratings = _finite_numbers("true", true_values)
    predictions = _finite_numbers("predicted", predicted_values)
    if ratings.shape != predictions.shape:
        raise InputError(
            f"true has shape {ratings.shape}, predicted {predictions.shape}; "
            "expected a prediction for each rating"
        )
    if not ratings.size:
        raise InputError("true is empty; expected at least one rating")
    true_index: Any = getattr(true, "index", None)
    predicted_index: Any = getattr(predicted, "index", None)
    have_index = hasattr(true_index, "equals") and hasattr(predicted_index, "equals")
    if have_index and not is_matched and not true_index.equals(predicted_index):
        raise InputError(
            "true and predicted have different indexes; sort both alike, or give arrays "
            "(to_numpy()) if rows belong together by position"
        )
    return ratings - predictions


def _finite_numbers(name: str, values: ArrayLike) -> Float:
    if isinstance(values, str | Path):
        raise InputError(
            f"{name} is a path; give the table, such as pandas.read_csv({str(values)!r})"
        )
    array = to_array(name, values)
    if array.size and array.dtype.kind not in "iuf":
        raise InputError(f"{name} has dtype {array.dtype}; expected numbers")
    numbers = array.astype(np.float64)
    is_finite = np.isfinite(numbers)
    if not is_finite.all():
        place = int(np.argmin(is_finite.ravel()))
        raise InputError(
            f"{name} holds {numbers.flat[place]} at place {place}; "
            "expected finite numbers, without pairs that have no rating"
        )
    return numbers
