"""Checks of columns of whole numbers and of ids; an error names the first bad row, from 1."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.array_types import Bool, Float, Ids, Int
from sampled_metrics._base.arrays import first_duplicate
from sampled_metrics._base.conversion import as_array
from sampled_metrics._base.errors import InputError, format_value

_LARGEST = np.iinfo(np.int64).max
# Numbers that stand for no item and no target: pandas.factorize writes -1 for an unknown value,
# faiss fills up lists with it; loss functions of PyTorch ignore targets of -100.
NO_ITEM = (-1, -100)
NO_LABEL = -100  # grades of -1 and -2 are those of items that are not relevant
NO_ITEM_NAMES = " or ".join(map(str, NO_ITEM))  # in messages


def integer_array(values: ArrayLike, name: str, is_column: bool = False) -> Int:
    """Convert whole numbers, but not bool, to int64; a column must have one dimension."""
    array = as_array(values, name)
    if is_column and array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; expected one dimension")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {array.dtype}; expected integers")
    if array.dtype.kind == "u" and array.max(initial=0) > _LARGEST:
        raise InputError(f"{name} contains {array.max()}, too large for int64")
    return array.astype(np.int64)


def is_no_item(ids: NDArray[Any]) -> Bool:
    """Mark the numbers that stand for no item, see `NO_ITEM`; texts are ids.

    Examples
    --------
    >>> is_no_item(np.array([7, -1, -100, -2]))
    array([False,  True,  True, False])
    """
    if ids.dtype.kind not in "iu":
        return np.zeros(ids.shape, bool)
    return np.logical_or.reduce([ids == number for number in NO_ITEM])


def id_column(values: ArrayLike, name: str, rows: int) -> Ids:
    """Convert ids to an array of integers or of text, shape (rows,)."""
    array = as_array(values, name)
    if array.dtype.kind == "O":
        for value in array.flat:
            if not isinstance(value, str | int | np.integer):
                raise InputError(
                    f"{name} contains {format_value(value)}; expected integers or text"
                )
        array = array.astype(np.str_)
    if array.shape != (rows,):
        raise InputError(f"{name} has shape {array.shape}; expected {(rows,)}")
    if array.dtype.kind == "U":
        return array
    return integer_array(array, name)


def unique_ids(values: ArrayLike, name: str, rows: int) -> Ids:
    """Convert ids as `id_column` does, and require that they differ."""
    ids = id_column(values, name, rows)
    require_unique(name, ids)
    return ids


def index_ids(table: object) -> Any:
    """Return the ids in the index of a Series or DataFrame; None if it only numbers the rows.

    Only `RangeIndex(0, n)` without a name numbers rows: pandas also makes a `RangeIndex` of evenly
    spaced ids, such as 1, 2, 3, and of the rows of a slice.

    Examples
    --------
    >>> index_ids(pd.Series([0.3, 0.9]))
    >>> index_ids(pd.Series([0.3, 0.9], index=pd.RangeIndex(1, 3)))
    RangeIndex(start=1, stop=3, step=1)
    """
    return _ids_of_axis(getattr(table, "index", None))


def column_ids(frame: pd.DataFrame) -> Any:
    """Return the names of the columns of a DataFrame as ids; None if they are only numbered."""
    return _ids_of_axis(frame.columns)


def _ids_of_axis(axis: Any) -> Any:
    is_unnamed_range = isinstance(axis, pd.RangeIndex) and axis.name is None
    if is_unnamed_range and axis.equals(pd.RangeIndex(len(axis))):
        return None
    return axis


def refuse_numbered_series(name: str, data: object, row_ids: Any) -> None:
    """Raise InputError for a Series numbered from 0 if rows have these numbers as ids, shuffled.

    Its index may number the rows, or contain their ids: each entry could belong to two rows.
    """
    if row_ids is None or not isinstance(data, pd.Series) or index_ids(data) is not None:
        return
    ids = np.asarray(row_ids)
    numbers = np.arange(len(data))
    are_numbers = np.array_equal(np.sort(ids), numbers)
    is_same_order = np.array_equal(ids, numbers)
    if are_numbers and not is_same_order:
        raise InputError(
            f"{name} is numbered from 0, and users have these ids in another order; pass "
            f"{name}.rename_axis('user_id') by user, or {name}.to_numpy() in the order of rows"
        )


def require_unique(name: str, ids: Ids) -> None:
    """Raise InputError for the first row that repeats an id."""
    row = first_duplicate(ids)
    if row is None:
        return
    if name in ("items", "item_ids"):  # of columns of scores, or of rows of vectors
        first = int(np.argmax(ids == ids[row]))
        raise InputError(
            f"{name}: duplicate id {ids[row]}, at positions {first} and {row}, from 0; keep one "
            "column of the scores, or one row of the item vectors, for each item"
        )
    raise InputError(f"duplicate {name} {ids[row]}", row=row + 1)


def require_all(column: str, values: Float | Int, is_good: Bool, expected: str) -> None:
    """Raise InputError for the first row that is not good."""
    if not is_good.all():
        row = int(np.argmin(is_good))
        raise InputError(f"found {values[row]}; expected {expected}", row=row + 1, column=column)


def id_kind(ids: Ids | None) -> str:
    """Return `numbers` or `text`, or `none` without ids."""
    if ids is None:
        return "none"
    if ids.dtype.kind == "U":
        return "text"
    return "numbers"
