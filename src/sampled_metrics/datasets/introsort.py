"""The order in which GNU libstdc++'s `std::sort` leaves elements that compare equal.

The published split of MovieLens 1M took each user's last event after such a sort by timestamp.
The sort (introsort) is not stable, so which of several last events comes last depends on its
exact steps. They are followed here: partitions around the median of three while a range is
longer than 16, heap sort where the depth limit 2 floor(log2 n) is used up, one final insertion
sort over everything. Only the order of equal keys depends on them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

THRESHOLD = 16


def sorted_tail(keys: ArrayLike, size: int | None = None) -> NDArray[np.int64]:
    """Positions, in `keys`, of the last `size` elements after `std::sort` in ascending order.

    Only the ranges that reach into the wanted tail are sorted, so one element costs a few
    passes over the keys. `size` None sorts everything.

    Parameters
    ----------
    keys
        Numbers to sort by, shape (n,).
    size
        How many of the last places to return, 0 ... n.

    Returns
    -------
    int64, shape (size,): `keys[sorted_tail(keys)]` is ascending.

    >>> sorted_tail([3, 1, 2])
    array([1, 2, 0])
    >>> sorted_tail([5] * 17, 1)  # a stable sort would say 16
    array([1])
    """
    values = np.asarray(keys)
    first_wanted = values.size - (values.size if size is None else size)
    state = _Range(values.copy(), np.arange(values.size))
    sorted_from = _sort_tail(state, first_wanted)
    # What is left to the final insertion sort lies in ranges of at most 16 whose values do not
    # overlap, and insertion keeps equal elements in order: a stable sort of the tail is the same.
    order = np.argsort(state.keys[sorted_from:], kind="stable")
    return state.positions[sorted_from:][order][first_wanted - sorted_from :]


@dataclass(frozen=True)
class _Range:
    """Keys being sorted and, moved with them, the positions they came from."""

    keys: NDArray[np.generic]
    positions: NDArray[np.int64]

    def swap(self, i: int | NDArray[np.int64], j: int | NDArray[np.int64]) -> None:
        for array in (self.keys, self.positions):
            array[i], array[j] = array[j], array[i]


def _sort_tail(state: _Range, first_wanted: int) -> int:
    """Partition and heap-sort all ranges that reach beyond `first_wanted`; return where they begin.

    The stack replaces the recursion of the original; ranges do not overlap, so their order does
    not matter.
    """
    n = state.keys.size
    depth_limit = 2 * (n.bit_length() - 1) if n else 0
    stack = [(0, n, depth_limit)]
    begin = n
    while stack:
        first, last, depth = stack.pop()
        while last - first > THRESHOLD and last > first_wanted:
            if depth == 0:
                _heap_sort(state, first, last)
                break
            depth -= 1
            cut = _partition(state, first, last)
            stack.append((cut, last, depth))
            last = cut
        if last > first_wanted:
            begin = min(begin, first)
    return begin


def _partition(state: _Range, first: int, last: int) -> int:
    """Hoare's partition of [first + 1, last) around the median of three, moved to `first`.

    The two pointers of the original stop at the places that hold a key >= pivot, from the left,
    and <= pivot, from the right; what they exchange they never see again. So the exchanged pairs
    are the k-th such places from either side, for as long as they have not crossed.
    """
    keys = state.keys
    _move_median_to_first(state, first, first + 1, first + (last - first) // 2, last - 1)
    pivot = keys[first]
    left = np.flatnonzero(keys[first + 1 : last] >= pivot) + first + 1
    right = np.flatnonzero(keys[first:last] <= pivot)[::-1] + first
    pairs = min(left.size, right.size)
    crossed = left[:pairs] >= right[:pairs]
    swaps = int(np.argmax(crossed)) if crossed.any() else pairs
    state.swap(left[:swaps], right[:swaps])
    stops = [int(left[swaps])] if swaps < left.size else []
    stops += [int(right[swaps - 1])] if swaps else []
    return min(stops)


def _move_median_to_first(state: _Range, first: int, a: int, b: int, c: int) -> None:
    keys = state.keys
    if keys[a] < keys[b]:
        median = b if keys[b] < keys[c] else c if keys[a] < keys[c] else a
    else:
        median = a if keys[a] < keys[c] else c if keys[b] < keys[c] else b
    state.swap(first, median)


def _heap_sort(state: _Range, first: int, last: int) -> None:
    """`std::partial_sort(first, last, last)`: make a heap, then pop it until it is empty."""
    n = last - first
    for parent in range((n - 2) // 2, -1, -1):
        _sift(state, first, parent, n)
    for end in range(n - 1, 0, -1):
        state.swap(first, first + end)
        _sift(state, first, 0, end)


def _sift(state: _Range, first: int, hole: int, length: int) -> None:
    """`std::__adjust_heap`: move the hole down to a leaf, then its element up again."""
    keys, positions = state.keys, state.positions
    key, position = keys[first + hole], positions[first + hole]
    top = hole

    def fill(target: int, source: int) -> None:
        keys[first + target] = keys[first + source]
        positions[first + target] = positions[first + source]

    while 2 * hole + 2 <= length:
        child = 2 * hole + 2
        if child == length or keys[first + child] < keys[first + child - 1]:
            child -= 1
        fill(hole, child)
        hole = child
    while hole > top and keys[first + (hole - 1) // 2] < key:
        fill(hole, (hole - 1) // 2)
        hole = (hole - 1) // 2
    keys[first + hole], positions[first + hole] = key, position
