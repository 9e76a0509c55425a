"""Columns that the ranks are made of, checked: counts and ids."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arrays import Float, Ids, Int, first_duplicate, fits_int64, integers
from sampled_metrics._base.errors import InputError


def count_column(name: str, values: ArrayLike) -> Int:
    """Return whole numbers as int64, shape (rows,); anything else raises InputError."""
    array = integers(name, values)
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; expected one dimension")
    return array


def id_column(name: str, values: ArrayLike, rows: int) -> Ids:
    """Return ids as integers or numpy's str, shape (rows,); anything else raises InputError."""
    array = np.asarray(values)
    if array.dtype.kind == "O":
        other = [each for each in array.flat if not isinstance(each, str | int | np.integer)]
        if other:
            raise InputError(f"{name} holds {other[0]!r}; expected integers or text")
    if array.dtype.kind == "O" or not array.size:
        array = array.astype(np.str_ if array.dtype.kind == "O" else np.int64)
    if array.dtype.kind not in "iuU":
        raise InputError(f"{name} has dtype {array.dtype}; expected integers or text")
    if array.shape != (rows,):
        raise InputError(f"{name} has shape {array.shape}; expected {(rows,)}")
    if not fits_int64(array):
        raise InputError(f"{name} holds {array.max()}, too large for int64; turn them into text")
    return array


def require_unique(name: str, ids: Ids) -> None:
    """Raise InputError for the first row that repeats an id."""
    row = first_duplicate(ids)
    if row is not None:
        raise InputError(f"duplicate {name} {ids[row]}", row=row + 1)


def require(column: str, values: Float | Int, good: NDArray[np.bool_], expected: str) -> None:
    """Raise InputError for the first row that is not `good`; rows are counted from 1."""
    if not good.all():
        row = int(np.argmin(good))
        raise InputError(f"{values[row]}, expected {expected}", row=row + 1, column=column)


def require_same_items(found: Int, given: int | None) -> None:
    """Raise InputError if a number of items was given and not all of those found equal it."""
    if given is None or (found == given).all():
        return
    least, most = int(found.min()), int(found.max())
    said = f"{least}" if least == most else f"{least} to {most}"
    raise InputError(f"found n_candidates {said}, but n_items (--n-items) is {given}; leave it out")
