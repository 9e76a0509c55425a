"""RMSE and MAE of predicted ratings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.array_types import Float
from sampled_metrics._base.conversion import (
    as_array,
    is_records,
    refuse_unconverted,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics.read.kinds import is_arrow_table

# A rating without a prediction is left as nan, which is refused, and no pair is counted twice.
_MERGE = (
    "match tables by merged = pandas.merge(true, predicted, how='left', on=['user_id', 'item_id'], "
    "validate='1:1'), and pass merged['rating'], merged['prediction']"
)


def rmse(true: ArrayLike, predicted: ArrayLike) -> float:
    """Calculate the root mean squared error of predicted ratings.

    The square root of the mean of (r - p)^2 over all pairs of a user and an item that have a
    rating r and a prediction p.

    Parameters
    ----------
    true, predicted
        Ratings and their predictions in the same order: finite numbers of the same shape, as an
        array or a Series. Two Series must have the same index.

    Returns
    -------
    float
        The error, in the unit of the ratings.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

    See Also
    --------
    mae : Mean absolute error.

    Examples
    --------
    >>> rmse([3, 5], [3, 1])  # sqrt((0 + 16) / 2)
    2.8284271247461903

    Rows of tables are matched by ids first:

    >>> import pandas
    >>> true = pandas.DataFrame({"user_id": [1, 2], "item_id": [7, 7], "rating": [3, 5]})
    >>> predicted = pandas.DataFrame({"user_id": [2, 1], "item_id": 7, "prediction": [1, 3]})
    >>> merged = pandas.merge(
    ...     true, predicted, how="left", on=["user_id", "item_id"], validate="1:1"
    ... )
    >>> rmse(merged["rating"], merged["prediction"])
    2.8284271247461903
    """
    errors = _errors(true, predicted)
    largest = float(np.abs(errors).max())
    if largest == 0.0:
        return 0.0
    scaled = errors / largest  # so that squares neither overflow nor underflow
    return largest * float(np.sqrt(np.mean(scaled * scaled)))


def mae(true: ArrayLike, predicted: ArrayLike) -> float:
    """Calculate the mean absolute error of predicted ratings.

    The mean of abs(r - p) over all pairs of a user and an item that have a rating r and a
    prediction p; never above `rmse`.

    Parameters
    ----------
    true, predicted
        As for `rmse`.

    Returns
    -------
    float
        The error, in the unit of the ratings.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

    See Also
    --------
    rmse : Root mean squared error.

    Examples
    --------
    >>> mae([3, 5], [3, 1])  # (0 + 4) / 2
    2.0
    """
    return float(np.mean(np.abs(_errors(true, predicted))))


def _errors(true: ArrayLike, predicted: ArrayLike) -> Float:
    """Return ratings minus predictions, of the shape of both.

    Refused is what cannot belong together: different shapes, rows of ids whose order differs, and
    Series with different indexes.
    """
    ratings = _finite_numbers("true", true)
    predictions = _finite_numbers("predicted", predicted)
    if ratings.shape != predictions.shape:
        raise InputError(
            f"true has shape {ratings.shape}, predicted {predictions.shape}; "
            "expected a prediction for each rating"
        )
    if not ratings.size:
        raise InputError("true is empty; expected at least one rating")
    _refuse_rows_of_ids(ratings, predictions)
    true_index: Any = getattr(true, "index", None)
    predicted_index: Any = getattr(predicted, "index", None)
    have_index = hasattr(true_index, "equals") and hasattr(predicted_index, "equals")
    if have_index and not true_index.equals(predicted_index):
        raise InputError(
            "true and predicted have different indexes; sort both alike, or pass arrays "
            "(to_numpy()) if rows belong together by position"
        )
    return ratings - predictions


def _finite_numbers(name: str, values: ArrayLike) -> Float:
    """Return the numbers of an array or a Series as float64; refuse tables, and nan or infinity.

    `name` is that of the argument in messages.
    """
    _refuse_table(name, values)
    array = as_array(values, name)
    if array.size and array.dtype.kind not in "iuf":
        raise InputError(f"{name} has dtype {array.dtype}; expected numbers")
    numbers = array.astype(np.float64)
    is_finite = np.isfinite(numbers)
    if not is_finite.all():
        position = int(np.argmin(is_finite.ravel()))
        raise InputError(
            f"{name} contains {numbers.flat[position]} at place {position}; "
            "expected finite numbers, without pairs that have no rating"
        )
    return numbers


def _refuse_table(name: str, data: Any) -> None:
    """Raise InputError for rows with ids, whose order may differ from that of the other rows.

    These are paths of files, records or tuples, Arrow tables and mappings. Data that has to be
    converted first, such as a DataFrame, has an error of its own.
    """
    how_to_read = ""
    if isinstance(data, str | Path):
        how_to_read = f", whose table is pandas.read_csv({str(data)!r})"
    elif is_records(data) or _is_list_of_tuples(data):
        how_to_read = f", whose table is pandas.DataFrame({name})"
    else:
        refuse_unconverted(data, name)
        is_table = is_arrow_table(data) or isinstance(data, Mapping)
        if not is_table:
            return
    raise InputError(
        f"{name}: found {type(data).__name__}{how_to_read}; expected an array of numbers, such as "
        f"to_numpy() of a matrix; {_MERGE}"
    )


def _is_list_of_tuples(data: Any) -> bool:
    return isinstance(data, list) and bool(data) and all(isinstance(row, tuple) for row in data)


def _refuse_rows_of_ids(true: Float, predicted: Float) -> None:
    """Raise InputError for rows of user, item and rating, whose first two numbers are the same.

    `true` and `predicted` are of the same shape. As matrices of ratings, three users or more would
    not have the same numbers in two columns, and others in the rest.
    """
    n_columns = true.shape[-1] if true.ndim == 2 else 0
    may_have_ids = 3 <= n_columns <= 4 and len(true) >= 3
    if not may_have_ids:
        return
    true_by_ids = _sort_by_first_two_columns(true)
    predicted_by_ids = _sort_by_first_two_columns(predicted)
    have_same_ids = (true_by_ids[:, :2] == predicted_by_ids[:, :2]).all()
    if have_same_ids and (true_by_ids != predicted_by_ids).any():
        raise InputError(
            f"true and predicted are rows of {n_columns} numbers, the first two alike; if these "
            f"are ids, make a DataFrame of each and {_MERGE}"
        )


def _sort_by_first_two_columns(table: Float) -> Float:
    """Return the rows of a table in ascending order of the first column, then of the second."""
    return table[np.lexsort((table[:, 1], table[:, 0]))]
