"""The last element of each of many ranges after GNU libstdc++'s `std::sort`, all at once.

The same steps as `introsort.sorted_tail(keys, 1)`, which follows one range: only the part that
reaches the end is partitioned further, until 16 elements or fewer are left. Here one round
partitions that part of every range together, so a hundred thousand users take some ten rounds
instead of as many calls.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sampled_metrics.datasets.introsort import THRESHOLD, sorted_tail

_BATCH = 1 << 20

Places = NDArray[np.int64]


def last_of_ranges(keys: NDArray[np.int64], begin: Places, end: Places) -> Places:
    """Place of the element that `std::sort` in ascending order leaves last in each range.

    Parameters
    ----------
    keys
        Numbers to sort by, shape (n,).
    begin, end
        Bounds of the ranges in `keys`, shape (ranges,), none empty.

    Returns
    -------
    int64, shape (ranges,): places in `keys`, of a greatest key of each range.

    >>> keys = np.array([5] * 17 + [1, 9, 9])
    >>> last_of_ranges(keys, np.array([0, 17]), np.array([17, 20]))
    array([ 1, 19])
    """
    chosen = np.empty(begin.size, dtype=np.int64)
    batch = np.cumsum(end - begin) // _BATCH
    cuts = np.flatnonzero(np.diff(batch)) + 1
    for some in np.split(np.arange(begin.size), cuts):
        chosen[some] = _last_of_batch(keys, begin[some], end[some])
    return chosen


@dataclass(frozen=True)
class _Ranges:
    """Copies of ranges, one after another, being sorted; `first` moves on as they are cut."""

    keys: NDArray[np.int64]
    places: Places
    first: Places
    last: Places

    def swap(self, i: Places, j: Places) -> None:
        """Exchange elements; no place occurs twice."""
        for array in (self.keys, self.places):
            array[i], array[j] = array[j], array[i]


def _last_of_batch(keys: NDArray[np.int64], begin: Places, end: Places) -> Places:
    places, sizes = _spread(begin, end), end - begin
    last = np.cumsum(sizes)
    ranges = _Ranges(keys[places], places, last - sizes, last)
    depth_limit = 2 * np.frexp(sizes)[1].astype(np.int64) - 2
    rounds = 0
    exhausted = np.zeros(begin.size, dtype=bool)
    while True:
        active = np.flatnonzero((last - ranges.first > THRESHOLD) & ~exhausted)
        exhausted[active[depth_limit[active] == rounds]] = True
        active = active[depth_limit[active] > rounds]
        if not active.size:
            break
        ranges.first[active] = _partition(ranges, active)
        rounds += 1
    chosen = _last_greatest(ranges, ~exhausted)
    for each in np.flatnonzero(exhausted):  # left to heap sort
        chosen[each] = begin[each] + sorted_tail(keys[begin[each] : end[each]], 1)[0]
    return chosen


def _spread(begin: Places, end: Places) -> Places:
    """All places of the ranges, range by range."""
    sizes = end - begin
    return np.arange(sizes.sum()) + np.repeat(begin - np.cumsum(sizes) + sizes, sizes)


def _partition(ranges: _Ranges, active: Places) -> Places:
    """Hoare's partition of each active range around the median of three; return where it is cut.

    As `introsort._partition`, whose names are used: the k-th stop from the left is exchanged with
    the k-th from the right until they have crossed.
    """
    first, last = ranges.first[active], ranges.last[active]
    middle = _median(ranges.keys, first + 1, first + (last - first) // 2, last - 1)
    ranges.swap(first, middle)
    at, owner = _spread(first, last), np.repeat(np.arange(active.size), last - first)
    values, pivots = ranges.keys[at], np.repeat(ranges.keys[first], last - first)
    stops_left = values >= pivots
    stops_left[np.cumsum(last - first) - (last - first)] = False  # the pivot itself
    stops_right = values <= pivots
    left, right = at[stops_left], at[stops_right]
    n_left = np.bincount(owner[stops_left], minlength=active.size)
    n_right = np.bincount(owner[stops_right], minlength=active.size)
    end_of_left, end_of_right = np.cumsum(n_left), np.cumsum(n_right)
    pairs = np.minimum(n_left, n_right)
    of, k = np.repeat(np.arange(active.size), pairs), _spread(np.zeros_like(pairs), pairs)
    lower, upper = left[(end_of_left - n_left)[of] + k], right[end_of_right[of] - 1 - k]
    apart = lower < upper
    swaps = np.bincount(of[apart], minlength=active.size)
    ranges.swap(lower[apart], upper[apart])
    nowhere = ranges.keys.size
    from_left = np.append(left, nowhere)[end_of_left - n_left + swaps]
    from_right = np.append(right, nowhere)[end_of_right - swaps]
    return np.minimum(
        np.where(swaps < n_left, from_left, nowhere), np.where(swaps > 0, from_right, nowhere)
    )


def _median(keys: NDArray[np.int64], a: Places, b: Places, c: Places) -> Places:
    """Which of three places holds the median key, with the choices of libstdc++ among equals."""
    at_a, at_b, at_c = keys[a], keys[b], keys[c]
    rising = np.where(at_b < at_c, b, np.where(at_a < at_c, c, a))
    falling = np.where(at_a < at_c, a, np.where(at_b < at_c, c, b))
    return np.where(at_a < at_b, rising, falling)


def _last_greatest(ranges: _Ranges, wanted: NDArray[np.bool_]) -> Places:
    """Place of the last of the greatest keys in what is left of each range.

    The final insertion sort keeps equal elements in order.
    """
    sizes = ranges.last - ranges.first
    at = _spread(ranges.first, ranges.last)
    values = ranges.keys[at]
    greatest = np.maximum.reduceat(values, np.cumsum(sizes) - sizes)
    hits = np.flatnonzero(values == np.repeat(greatest, sizes))
    last_hit = hits[np.searchsorted(hits, np.cumsum(sizes)) - 1]
    return np.where(wanted, ranges.places[at[last_hit]], -1)
