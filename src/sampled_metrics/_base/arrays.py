"""Operations on arrays of numpy that numpy does not have, or does more slowly."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sampled_metrics._base.arguments import require_known
from sampled_metrics._base.array_types import Bool, Codes, Float, Floats, Int, RowSelection

MAX_EXACT_INTEGER = 1 << 53  # float64 holds every whole number up to this one
CACHE_ENTRIES = 131_072  # float64 numbers that stay in a processor's cache: 1 MB
MEMORY_ENTRIES = 1_048_576  # float64 numbers that one step may allocate: 8 MB
CORRECTIONS = ("none", "holm")
_ROWS_TO_CHOOSE = 1000  # at the beginning of a matrix; they show which columns have many values
_KEY_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that keys of different pairs mostly differ


def blocks(rows: int, columns: int, entries: int = MEMORY_ENTRIES) -> Iterator[slice]:
    """Cut the rows of a (rows, columns) table into slices of at most `entries` numbers."""
    step = max(1, entries // max(1, columns))
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))


def ceil_divide(dividend: int, divisor: int) -> int:
    """Return the quotient of whole numbers, rounded up.

    Examples
    --------
    >>> ceil_divide(6, 3), ceil_divide(7, 3)
    (2, 3)
    """
    return -(-dividend // divisor)


def run_starts(counts: Int) -> Int:
    """Return where each run starts if runs of these lengths follow each other.

    Examples
    --------
    >>> run_starts(np.array([2, 3, 1]))
    array([0, 2, 5])
    """
    return np.cumsum(counts) - counts


def concatenate_ranges(first: Int | int, counts: Int) -> Int:
    """Concatenate the ranges first[i], first[i] + 1, ..., each of length counts[i].

    Examples
    --------
    >>> concatenate_ranges(np.array([7, 0]), np.array([2, 3]))
    array([7, 8, 0, 1, 2])
    """
    return np.arange(counts.sum()) + np.repeat(first - run_starts(counts), counts)


def first_duplicate(*columns: NDArray[Any]) -> int | None:
    """Return the first row that equals an earlier row in all columns; None if all rows differ."""
    rows = pd.Index(columns[0])
    if len(columns) > 1:
        rows = pd.MultiIndex.from_arrays(columns)
    if rows.is_unique:
        return None
    return int(np.argmax(rows.duplicated()))


def sorted_unique(values: Int) -> Int:
    """Return the distinct values in ascending order, several times as fast as `numpy.unique`."""
    if (values[1:] > values[:-1]).all():
        return values
    ascending = np.sort(values)
    is_new = np.ones(ascending.size, bool)
    is_new[1:] = ascending[1:] > ascending[:-1]
    return ascending[is_new]


def is_among(values: Int, ascending: Int) -> Bool:
    """Return whether each value is among ascending ones.

    Faster than `numpy.isin` where neighbours in `values` have about the same position.

    Examples
    --------
    >>> is_among(np.array([7, 2, 9]), np.array([2, 3, 9]))
    array([False,  True,  True])
    """
    if not ascending.size:
        return np.zeros(values.shape, bool)
    position = ascending.searchsorted(values)
    position[position == ascending.size] = 0  # a value above all, so not equal to the first
    return np.asarray(ascending[position] == values)


def count_copies(rows: NDArray[Any], least_distinct: int) -> int:
    """Count the rows of a matrix that equal an earlier one.

    Rows with fewer than `least_distinct` different values are not counted.

    Examples
    --------
    >>> count_copies(np.array([[1, 2], [3, 4], [1, 2], [0, 0], [0, 0]]), least_distinct=2)
    1
    """
    # Rows of another key than all others equal none; the few that are left are compared as a whole.
    candidates = rows[_is_repeated(_row_keys(rows))]
    ascending = np.sort(candidates, axis=1)
    n_distinct = 1 + np.count_nonzero(ascending[:, 1:] != ascending[:, :-1], axis=1)
    counted = np.ascontiguousarray(candidates[n_distinct >= least_distinct])
    if not counted.size:
        return 0
    bytes_of_row = np.dtype((np.void, counted.itemsize * counted.shape[1]))
    n_distinct_rows = np.unique(counted.view(bytes_of_row)).size  # a row is one value of many bytes
    return len(counted) - n_distinct_rows


def _is_repeated(keys: NDArray[np.uint64]) -> Bool:
    """Return whether each key occurs more than once."""
    ascending = np.sort(keys)
    repeated = ascending[1:][ascending[1:] == ascending[:-1]]
    return np.isin(keys, np.unique(repeated))


def _row_keys(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a hash of each row: equal for equal rows, and different for most others.

    Of the two columns with the most different values, the bits of a row's values are read as whole
    numbers a and b; its hash is a * _KEY_FACTOR + b, modulo 2^64.
    """
    n_distinct = [np.unique(column).size for column in rows[:_ROWS_TO_CHOOSE].T]
    most_distinct = np.argsort(n_distinct)[-2:]
    keys = np.zeros(len(rows), np.uint64)
    for position in most_distinct:
        column = np.ascontiguousarray(rows[:, position])
        bits = column.view(f"u{column.itemsize}")
        keys = keys * _KEY_FACTOR + bits
    return keys


def pair_codes(first: Int | Codes, second: Int | Codes, width: int) -> Int:
    """Return first * width + second: a different number for each pair if 0 <= second < width."""
    codes = first.astype(np.int64)
    codes *= width
    codes += second
    return codes


def select_rows(values: NDArray[Any] | None, rows: RowSelection) -> NDArray[Any] | None:
    """Return values[rows]; None stays None."""
    if values is None:
        return None
    return values[rows]


def best_first_order(
    users: Int | Codes, score: Floats | Int, *, is_stable: bool = True
) -> Int | slice:
    """Return the order that sorts rows by user, and each user's rows by descending score.

    Rows that are sorted already are not sorted again: the order is then a slice of all rows.
    If the order of equal scores does not matter, `is_stable=False` takes a fraction of the time.
    """
    if _are_best_first(users, score):
        return slice(None)
    if is_stable:
        return np.lexsort((-score, users))
    by_score = np.argsort(-score)
    smallest_type = np.min_scalar_type(users.max(initial=0))  # sorts faster than int64
    users_by_score = users[by_score].astype(smallest_type)
    by_user = np.argsort(users_by_score, kind="stable")  # keeps the scores of a user descending
    return by_score[by_user]


def _are_best_first(users: Int | Codes, score: Floats | Int) -> bool:
    """Return whether users ascend, and the scores of each user never rise."""
    is_in_order = score[1:] <= score[:-1]  # whether each row may follow the one before it
    is_in_order &= users[1:] == users[:-1]
    is_in_order |= users[1:] > users[:-1]
    return bool(is_in_order.all())


def count_by_score(users: Int | Codes, score: Floats | Int) -> tuple[Int, Int]:
    """Count, for each row, the rows of the same user with a higher and with an equal score.

    The row itself is not counted. Arguments and results have one entry for each row.

    Examples
    --------
    >>> count_by_score(np.array([0, 0, 0, 1]), np.array([1.0, 3.0, 1.0, 2.0]))
    (array([1, 0, 1, 0]), array([1, 0, 1, 0]))
    """
    best_first = best_first_order(users, score, is_stable=False)
    user = users[best_first]
    descending = score[best_first]
    # A level is a run of rows of one user with the same score. All rows of its user that come
    # before its first row are better.
    is_new_level = (user[1:] != user[:-1]) | (descending[1:] != descending[:-1])
    has_rows = score.size > 0
    level_starts = np.flatnonzero(np.append(has_rows, is_new_level))
    level_sizes = np.diff(level_starts, append=score.size)
    position_in_user = concatenate_ranges(0, np.bincount(users))  # of each row, best first
    better_than_level = position_in_user[level_starts]
    n_better = np.empty(score.size, np.int64)
    n_tied = np.empty(score.size, np.int64)
    n_better[best_first] = np.repeat(better_than_level, level_sizes)
    n_tied[best_first] = np.repeat(level_sizes - 1, level_sizes)
    return n_better, n_tied


def nontrivial_grades(relevance: Float) -> Float | None:
    """Return the relevance of items as grades; None if it is 1 for all, as without grades."""
    if (relevance == 1.0).all():
        return None
    return relevance


def order_preserving_floats(values: NDArray[Any]) -> NDArray[np.floating[Any]]:
    """Return floats in the same order as some numbers.

    Integers that float64 cannot hold are replaced by their positions among the distinct values.
    """
    if values.dtype.kind == "f":
        return values
    if not values.size:
        return values.astype(np.float64)
    if values.max() > MAX_EXACT_INTEGER or values.min() < -MAX_EXACT_INTEGER:
        _, positions = np.unique(values, return_inverse=True)
        values = positions.reshape(values.shape)
    return values.astype(np.float64)


def adjust_p_values(p_values: Sequence[float], correction: str) -> list[float]:
    """Adjust p-values for the number of tests by Holm's method, or not at all (`none`).

    If p_1 <= ... <= p_n are the p-values in ascending order, the adjusted one of p_i is the
    maximum of (n - j + 1) p_j over j = 1 ... i, and at most 1. Holm's method bounds the
    probability of one or more wrong rejections. (Holm, A simple
    sequentially rejective multiple test procedure, Scandinavian Journal of Statistics 6, 1979.)
    """
    require_known("correction", correction, CORRECTIONS)
    adjusted = np.array(p_values, dtype=np.float64)
    if correction == "holm":
        ascending = np.argsort(adjusted)
        n_remaining = np.arange(adjusted.size, 0, -1)  # n - j + 1: this test and those after it
        adjusted[ascending] = np.maximum.accumulate(adjusted[ascending] * n_remaining)
    return np.minimum(adjusted, 1.0).tolist()


def geometric_sizes(smallest: int, largest: int, number: int) -> list[int]:
    """Space at most `number` whole numbers evenly on a logarithmic scale."""
    sizes = np.geomspace(smallest, largest, number)
    return np.unique(sizes.round().astype(np.int64)).tolist()


def keep_apart(places: Float, size: float) -> Float:
    """Move positions so that neighbours are at least `size` apart.

    If there is room, all stay between `size` / 2 and 1 - `size` / 2, and positions beyond are moved
    there. Of positions that are equal to a thousandth, the first ends up highest.

    Examples
    --------
    >>> keep_apart(np.array([0.5, 0.5, 0.9]), 0.2).round(2)
    array([0.6, 0.4, 0.9])
    """
    order = np.lexsort((-np.arange(len(places)), places.round(3)))
    # After `size` is subtracted for each position below, neighbours are far enough apart if the
    # sequence does not decrease. The upper limit leaves room for the offset of the highest
    # position; if there is none, positions are stacked from `size` / 2 upwards.
    offsets = size * np.arange(len(places))
    free = (places[order] - offsets).clip(size / 2, max(1 - size / 2 - offsets[-1], size / 2))
    # `up` is the lowest non-decreasing sequence above `free`, and `down` the highest one below it.
    # Of all non-decreasing sequences, their mean has the smallest maximum distance from `free`.
    up = np.maximum.accumulate(free)
    down = np.minimum.accumulate(free[::-1])[::-1]
    moved = np.empty(len(places))
    moved[order] = (up + down) / 2 + offsets
    return moved
