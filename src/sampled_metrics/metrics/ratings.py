"""Errors of predicted ratings, in the unit of the ratings."""

from __future__ import annotations

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
        Ratings and their predictions in the same order: finite numbers, of one shape. Tables of
        user_id, item_id and a number, or dictionaries of dictionaries, are matched by their ids.
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
    scaled = errors / largest  # whose squares neither overflow nor vanish
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
    rmse : Root mean square error.

    Examples
    --------
    >>> mae([3, 5], [3, 1])  # (0 + 4) / 2
    2.0
    """
    return float(np.mean(np.abs(_errors(true, predicted, columns))))


def _errors(true: ArrayLike, predicted: ArrayLike, columns: NamesByRole) -> Float:
    with naming(columns):
        first, second, is_matched = align_ratings(true, predicted)
    ratings = _numbers("true", first)
    predictions = _numbers("predicted", second)
    if ratings.shape != predictions.shape:
        found = f"true has shape {ratings.shape}, predicted {predictions.shape}"
        raise InputError(f"{found}; expected a prediction for each rating")
    if not ratings.size:
        raise InputError("true is empty; expected at least one rating")
    index: Any = getattr(true, "index", None)
    other: Any = getattr(predicted, "index", None)
    has_both = hasattr(index, "equals") and hasattr(other, "equals")
    if has_both and not is_matched and not index.equals(other):
        raise InputError("true and predicted have different indexes; sort both alike")
    return ratings - predictions


def _numbers(name: str, values: ArrayLike) -> Float:
    array = to_array(name, values)
    if array.size and array.dtype.kind not in "iuf":
        raise InputError(f"{name} has dtype {array.dtype}; expected numbers")
    numbers = array.astype(np.float64)
    finite = np.isfinite(numbers)
    if not finite.all():
        place = int(np.argmin(finite.ravel()))
        found = f"{name} holds {numbers.flat[place]} at place {place}"
        raise InputError(f"{found}; expected finite numbers, pairs without a rating left out")
    return numbers
