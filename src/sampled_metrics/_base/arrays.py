"""Array types, and loops over the rows of large tables."""

import operator
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.errors import InputError

Float: TypeAlias = NDArray[np.float64]
Int: TypeAlias = NDArray[np.int64]
Ids: TypeAlias = NDArray[np.integer] | NDArray[np.str_]

EXACT = 1 << 53  # largest whole number up to which float64 holds all
CACHE = 1 << 17  # float64 numbers that stay in a processor's cache: 1 MB
_LARGEST = np.iinfo(np.int64).max
MEMORY = 1 << 20  # float64 numbers that a step may hold: 8 MB


def blocks(rows: int, columns: int, entries: int = MEMORY) -> Iterator[slice]:
    """Cut the rows of a (rows, columns) table into slices of at most `entries` numbers.

    Examples
    --------
    >>> list(blocks(5, 10, entries=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, entries // max(1, columns))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def starts(counts: Int) -> Int:
    """Return where each run begins if runs of these lengths follow each other."""
    return np.cumsum(counts) - counts


def count_rows(marked: NDArray[np.bool_]) -> Int:
    """Count the true values of each row, several times as fast as `numpy.count_nonzero`.

    Examples
    --------
    >>> count_rows(np.array([[True, False], [True, True]]))
    array([1, 2])
    """
    narrow = np.min_scalar_type(marked.shape[1])
    return marked.view(np.uint8).sum(axis=1, dtype=narrow).astype(np.int64)


def ranges(first: Int | int, counts: Int) -> Int:
    """Concatenate ranges, of which range i is first[i], first[i] + 1 ... of length counts[i].

    Examples
    --------
    >>> ranges(np.array([7, 3]), np.array([2, 3]))
    array([7, 8, 3, 4, 5])
    """
    return np.arange(counts.sum()) + np.repeat(first - starts(counts), counts)


def first_duplicate(*columns: NDArray[Any]) -> int | None:
    """Return the first row with the values of an earlier row in all columns; None if all differ.

    Examples
    --------
    >>> first_duplicate(np.array([7, 4, 9, 4]))
    3
    """
    several = len(columns) > 1
    order = np.lexsort(columns[::-1]) if several else np.argsort(columns[0], kind="stable")
    same = [values[order[1:]] == values[order[:-1]] for values in columns]
    again = order[1:][np.logical_and.reduce(same)]
    return int(again.min()) if again.size else None


def integers(name: str, values: ArrayLike) -> Int:
    """Convert whole numbers to int64; floats, text and bool raise an InputError with the name.

    Examples
    --------
    >>> integers("rank", [3, 1])
    array([3, 1])
    """
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {array.dtype}; expected integers")
    if not fits_int64(array):
        raise InputError(f"{name} holds {array.max()}; expected at most {_LARGEST}")
    return array.astype(np.int64)


def fits_int64(array: NDArray[Any]) -> bool:
    """Return whether int64 can hold all whole numbers of an array."""
    return not (array.dtype.kind == "u" and array.size and array.max() > _LARGEST)


def whole_number(name: str, value: Any) -> int:
    """Convert a whole number to int; floats, text and bool raise an InputError with the name.

    Examples
    --------
    >>> whole_number("n_negatives", 16.0)
    Traceback (most recent call last):
    sampled_metrics.InputError: n_negatives is 16.0, expected a whole number
    """
    if isinstance(value, bool) or not hasattr(value, "__index__") or np.ndim(value):
        raise InputError(f"{name} is {value!r}, expected a whole number")
    return operator.index(value)


def ordered_floats(values: NDArray[Any]) -> NDArray[np.floating[Any]]:
    """Return numbers as floats in the same order.

    Integers of which float64 does not hold all are replaced by their places in ascending order.

    Examples
    --------
    >>> ordered_floats(np.array([7, 3])), ordered_floats(np.array([2**62 + 1, 2**62]))
    (array([7., 3.]), array([1., 0.]))
    """
    if values.dtype.kind == "f":
        return values
    if values.size and (values.max() > EXACT or values.min() < -EXACT):
        values = np.unique(values, return_inverse=True)[1].reshape(values.shape)
    return values.astype(np.float64)
