"""The last event of each user.

Many users have several events at their latest time, so the rule that picks one, the tie-break,
decides the numbers and is part of a split:

- `ncf`: as in the split published with Neural Collaborative Filtering (He et al., WWW 2017),
  which the paper uses: the user's rows in file order, sorted by `std::sort`, the last one taken;
- `first`, `last`: the first or the last of them in file order;
- `random`: one of them, each equally likely.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.study.datasets.settings import TieBreak

_THRESHOLD = 16  # longest range that libstdc++ leaves to the final insertion sort


def last_events(
    timestamp: NDArray[Any], bounds: Int, tie_break: TieBreak, rng: np.random.Generator | None
) -> tuple[Int, int]:
    """Return the place of each user's last event, and how many users have several.

    Events are in order of users, from bounds[u] to bounds[u + 1] for user u, and in file order for
    each user.
    """
    begin = bounds[:-1]
    latest = np.repeat(np.maximum.reduceat(timestamp, begin), np.diff(bounds))
    places = np.flatnonzero(timestamp == latest)
    offset = np.searchsorted(places, begin)
    count = np.diff(offset, append=places.size)
    tied = np.flatnonzero(count > 1)
    if tie_break == "first":
        return places[offset], tied.size
    if tie_break == "random":
        if rng is None:
            raise InputError("tie_break random needs a random generator")
        return places[offset + rng.integers(0, count)], tied.size
    picked = places[offset + count - 1]
    if tie_break == "ncf":
        for user in tied:
            first, end = bounds[user : user + 2]
            # Elements are compared one by one, which is faster in lists than in arrays.
            picked[user] = first + last_sorted(timestamp[first:end].tolist())
    return picked, tied.size


def last_sorted(keys: Sequence[Any]) -> int:
    """Return the position, in `keys`, of the last element after `std::sort`.

    GNU libstdc++'s sort (introsort) is not stable, so the order of equal elements depends on its
    exact steps, which are followed here: partitions around the median of three while a range is
    longer than 16, then one insertion sort over everything. Only the ranges at the end are
    followed, which takes linear time. Its heap sort, of ranges that took more than 2 floor(log2 n)
    partitions, is an InputError; times of MovieLens never come to it.

    Examples
    --------
    >>> last_sorted([3, 1, 2])
    0
    >>> last_sorted([5] * 17)  # a stable sort would say 16
    1
    """
    order = list(range(len(keys)))
    first = 0
    depth = 2 * len(keys).bit_length() - 2
    while len(keys) - first > _THRESHOLD:
        if depth == 0:
            raise InputError("tie_break ncf would need a heap sort; use another, such as last")
        depth -= 1
        first = _partition(keys, order, first)
    # The final insertion sort keeps equal elements in order, as does the stable sort used here.
    return sorted(order[first:], key=keys.__getitem__)[-1]


def _partition(keys: Sequence[Any], order: list[int], first: int) -> int:
    """Partition all after `first` around the median of three, moved there; return the cut."""
    last = len(order)
    # Among equal keys, the one that libstdc++ takes: a stable sort from the last place on.
    middle = first + (last - first) // 2
    three = sorted((last - 1, middle, first + 1), key=lambda place: keys[order[place]])
    median = three[1]
    order[first], order[median] = order[median], order[first]
    pivot = keys[order[first]]
    left = first + 1
    right = last - 1
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
