"""Array types, and loops over the rows of large tables."""

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.errors import InputError

Float: TypeAlias = NDArray[np.float64]
Int: TypeAlias = NDArray[np.int64]
Ids: TypeAlias = NDArray[np.integer] | NDArray[np.str_]

CACHE = 1 << 17  # float64 numbers that stay in a processor's cache: 1 MB
MEMORY = 1 << 20  # float64 numbers that a step may hold: 8 MB


def blocks(rows: int, columns: int, entries: int = MEMORY) -> Iterator[slice]:
    """Cut the rows of a (rows, columns) table into slices of at most `entries` numbers.

    >>> list(blocks(5, 10, entries=25))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(1, entries // max(1, columns))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def starts(counts: Int) -> Int:
    """Return where each run begins if runs of these lengths follow each other."""
    return np.cumsum(counts) - counts


def ranges(first: Int | int, counts: Int) -> Int:
    """Concatenate ranges, of which range i is first[i], first[i] + 1 ... of length counts[i].

    >>> ranges(np.array([7, 3]), np.array([2, 3]))
    array([7, 8, 3, 4, 5])
    """
    return np.arange(counts.sum()) + np.repeat(first - starts(counts), counts)


def first_duplicate(values: NDArray[Any]) -> int | None:
    """Return the first row with a value of an earlier row; None if all differ.

    >>> first_duplicate(np.array([7, 4, 9, 4]))
    3
    """
    order = np.argsort(values, kind="stable")
    again = order[1:][values[order[1:]] == values[order[:-1]]]
    return int(again.min()) if again.size else None


def integers(name: str, values: ArrayLike) -> Int:
    """Convert whole numbers to int64; floats, text and bool raise an InputError with the name.

    >>> integers("rank", [3, 1])
    array([3, 1])
    """
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {array.dtype}; expected integers")
    return array.astype(np.int64)
