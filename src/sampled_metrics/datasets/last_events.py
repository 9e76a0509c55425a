"""Each user's last event by time, and the rules that pick one of several.

Many users have several events at their last timestamp, so the rule decides the numbers and is part
of the split:

- `ncf`: as in the split published with Neural Collaborative Filtering (He et al., WWW 2017),
  which the paper uses: the user's rows in file order, sorted by `std::sort`, the last one taken;
- `first`, `last`: the first or the last of them in file order;
- `random`: one of them, each equally likely.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.settings import TieBreak

_THRESHOLD = 16  # longest range that libstdc++ leaves to the final insertion sort


def last_events(
    timestamp: NDArray[np.generic],
    bounds: Int,
    tie_break: TieBreak,
    rng: np.random.Generator | None,
) -> tuple[Int, int]:
    """Return the place of each user's last event, and how many users have several.

    Events are in order of users, those of user u from bounds[u] to bounds[u + 1], and in file order
    for each user. `rng` is for `random` only.
    """
    begin = bounds[:-1]
    latest = np.repeat(np.maximum.reduceat(timestamp, begin), np.diff(bounds))
    places = np.flatnonzero(timestamp == latest)
    offset = np.searchsorted(places, begin)
    count = np.diff(np.append(offset, places.size))
    tied = np.flatnonzero(count > 1)
    if tie_break == "first":
        picked = places[offset]
    elif tie_break == "random":
        if rng is None:
            raise InputError("tie_break random needs a random generator")
        picked = places[offset + rng.integers(0, count)]
    else:
        picked = places[offset + count - 1]
    if tie_break == "ncf":
        for user in tied:
            first, end = bounds[user : user + 2]
            picked[user] = first + sorted_tail(timestamp[first:end], 1)[0]
    return picked, tied.size


def sorted_tail(keys: ArrayLike, size: int | None = None) -> NDArray[np.int64]:
    """Return the positions, in `keys`, of the last `size` elements (default all) after `std::sort`.

    GNU libstdc++'s sort (introsort) is not stable, so the order of equal elements depends on its
    exact steps, which are followed here: partitions around the median of three while a range is
    longer than 16, heap sort where the depth limit 2 floor(log2 n) is used up, one final insertion
    sort over everything. Only the ranges that reach into the tail are sorted, so a short tail takes
    linear time.

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
