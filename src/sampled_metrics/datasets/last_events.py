"""Each user's last event by time, and the rules that pick among several.

Many users have several events at their last timestamp, so the rule decides the numbers; it is part
of the split, under a name:

- `ncf`: as in the split published with Neural Collaborative Filtering (He et al., WWW 2017),
  which the paper uses: the user's rows in file order, sorted by `std::sort`, the last one taken;
- `first`, `last`: the first, the last of them in file order;
- `random`: one of them, each equally likely.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.last_sorted import last_of_ranges


class LastEvents:
    """The events at each user's last timestamp, in file order."""

    def __init__(self, timestamp: NDArray[np.int64], bounds: NDArray[np.int64]) -> None:
        self.timestamp = timestamp
        self.bounds = bounds
        begin = bounds[:-1]
        last = np.maximum.reduceat(timestamp, begin)
        self.places = np.flatnonzero(timestamp == np.repeat(last, np.diff(bounds)))
        self.offset = np.searchsorted(self.places, begin)
        self.count = np.diff(np.append(self.offset, self.places.size))


Pick = Callable[[LastEvents, np.random.Generator | None], NDArray[np.int64]]


def _first(events: LastEvents, _: np.random.Generator | None) -> NDArray[np.int64]:
    return events.places[events.offset]


def _last(events: LastEvents, _: np.random.Generator | None) -> NDArray[np.int64]:
    return events.places[events.offset + events.count - 1]


def _random(events: LastEvents, rng: np.random.Generator | None) -> NDArray[np.int64]:
    if rng is None:
        raise InputError("tie_break 'random' needs a random generator")
    return events.places[events.offset + rng.integers(0, events.count)]


def _ncf(events: LastEvents, _: np.random.Generator | None) -> NDArray[np.int64]:
    chosen = _last(events, None)
    tied = events.count > 1
    begin, end = events.bounds[:-1][tied], events.bounds[1:][tied]
    chosen[tied] = last_of_ranges(events.timestamp, begin, end)
    return chosen


PICKS: dict[str, Pick] = {"ncf": _ncf, "first": _first, "last": _last, "random": _random}
TIE_BREAKS = tuple(PICKS)
