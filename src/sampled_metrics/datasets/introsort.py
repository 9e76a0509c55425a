"""The order in which GNU libstdc++'s `std::sort` leaves elements that compare equal.

The published split of MovieLens 1M took each user's last event after such a sort by timestamp.
The sort (introsort) is not stable, so which of several last events comes last depends on its
exact steps, which are followed here: partitions around the median of three while a range is
longer than 16, heap sort where the depth limit 2 floor(log2 n) is used up, one final insertion
sort over everything.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

_THRESHOLD = 16


def sorted_tail(keys: ArrayLike, size: int | None = None) -> NDArray[np.int64]:
    """Return the positions, in `keys`, of the last `size` elements after `std::sort`.

    Only the ranges that reach into the tail are sorted, so a short tail takes linear time.

    Parameters
    ----------
    keys
        Numbers to sort by in ascending order, shape (n,).
    size
        Length of the tail, 0 ... n; by default n.

    Examples
    --------
    >>> sorted_tail([3, 1, 2])
    array([1, 2, 0])
    >>> sorted_tail([5] * 17, 1)  # a stable sort would say 16
    array([1])
    """
    # Elements are compared one by one, which is faster in lists than in arrays.
    values = np.asarray(keys).tolist()
    first_wanted = len(values) - (len(values) if size is None else size)
    order = list(range(len(values)))
    begin = _sort_ranges(values, order, first_wanted)
    # What is left to the final insertion sort are ranges of at most 16 elements whose values do
    # not overlap. Insertion keeps equal elements in order, as does the stable sort used here.
    tail = sorted(order[begin:], key=values.__getitem__)
    return np.array(tail[first_wanted - begin :], dtype=np.int64)


def _sort_ranges(keys: Sequence[Any], order: list[int], first_wanted: int) -> int:
    """Partition and heap-sort the ranges that reach `first_wanted`; return where they begin.

    The stack replaces the recursion of the original: ranges do not overlap, so their order does
    not matter.
    """
    begin = len(order)
    stack = [(0, len(order), 2 * len(order).bit_length() - 2)]
    while stack:
        first, last, depth = stack.pop()
        while last - first > _THRESHOLD and last > first_wanted:
            if depth == 0:
                _heap_sort(keys, order, first, last)
                break
            depth -= 1
            cut = _partition(keys, order, first, last)
            stack.append((cut, last, depth))
            last = cut
        if last > first_wanted:
            begin = min(begin, first)
    return begin


def _partition(keys: Sequence[Any], order: list[int], first: int, last: int) -> int:
    """Partition [first + 1, last) around the median of three, moved to `first`; return the cut."""
    median = _median(keys, order, first + 1, first + (last - first) // 2, last - 1)
    order[first], order[median] = order[median], order[first]
    pivot = keys[order[first]]
    left, right = first + 1, last - 1
    while True:
        while keys[order[left]] < pivot:
            left += 1
        while pivot < keys[order[right]]:
            right -= 1
        if left >= right:
            return left
        order[left], order[right] = order[right], order[left]
        left += 1
        right -= 1


def _median(keys: Sequence[Any], order: list[int], a: int, b: int, c: int) -> int:
    """Return which of three places holds the median key; among equal ones as libstdc++ does."""
    at_a, at_b, at_c = (keys[order[place]] for place in (a, b, c))
    if at_a < at_b:
        return b if at_b < at_c else c if at_a < at_c else a
    return a if at_a < at_c else c if at_b < at_c else b


def _heap_sort(keys: Sequence[Any], order: list[int], first: int, last: int) -> None:
    """Follow `std::partial_sort(first, last, last)`: make a heap, then pop until it is empty."""
    heap = order[first:last]
    for parent in range((len(heap) - 2) // 2, -1, -1):
        _sift(keys, heap, parent, len(heap))
    for end in range(len(heap) - 1, 0, -1):
        heap[0], heap[end] = heap[end], heap[0]
        _sift(keys, heap, 0, end)
    order[first:last] = heap


def _sift(keys: Sequence[Any], heap: list[int], hole: int, length: int) -> None:
    """Follow `std::__adjust_heap`: move the hole down to a leaf, then its element up again."""
    element, top = heap[hole], hole
    while 2 * hole + 2 <= length:
        child = 2 * hole + 2
        if child == length or keys[heap[child]] < keys[heap[child - 1]]:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    while hole > top and keys[heap[(hole - 1) // 2]] < keys[element]:
        heap[hole] = heap[(hole - 1) // 2]
        hole = (hole - 1) // 2
    heap[hole] = element
