"""Checks of columns of whole numbers and of ids; an error names the first bad row, from 1."""

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.array_types import Bool, Float, Ids, Int
from sampled_metrics._base.arrays import first_duplicate
from sampled_metrics._base.conversion import to_array
from sampled_metrics._base.errors import InputError, format_value

_LARGEST = np.iinfo(np.int64).max


def integer_array(name: str, values: ArrayLike, is_column: bool = False) -> Int:
    """Convert whole numbers, but not bool, to int64; a column must have one dimension."""
    array = to_array(name, values)
    if is_column and array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; expected one dimension")
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {array.dtype}; expected integers")
    if array.dtype.kind == "u" and array.max(initial=0) > _LARGEST:
        raise InputError(f"{name} holds {array.max()}, too large for int64")
    return array.astype(np.int64)


def id_column(name: str, values: ArrayLike, rows: int) -> Ids:
    """Convert ids to an array of integers or of text, shape (rows,)."""
    array = to_array(name, values)
    if array.dtype.kind == "O":
        for value in array.flat:
            if not isinstance(value, str | int | np.integer):
                raise InputError(f"{name} holds {format_value(value)}; expected integers or text")
        array = array.astype(np.str_)
    if array.shape != (rows,):
        raise InputError(f"{name} has shape {array.shape}; expected {(rows,)}")
    if array.dtype.kind == "U":
        return array
    return integer_array(name, array)


def unique_ids(name: str, values: ArrayLike, rows: int) -> Ids:
    """Convert ids as `id_column` does, and require that they differ."""
    ids = id_column(name, values, rows)
    require_unique(name, ids)
    return ids


def require_unique(name: str, ids: Ids) -> None:
    """Raise InputError for the first row that repeats an id."""
    row = first_duplicate(ids)
    if row is not None:
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
