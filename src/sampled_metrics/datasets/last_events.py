"""Each user's last event by time, and the rules that pick one of several.

Many users have several events at their last timestamp, so the rule decides the numbers and is part
of the split:

- `ncf`: as in the split published with Neural Collaborative Filtering (He et al., WWW 2017),
  which the paper uses: the user's rows in file order, sorted by `std::sort`, the last one taken;
- `first`, `last`: the first or the last of them in file order;
- `random`: one of them, each equally likely.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.introsort import sorted_tail


class LastEvents:
    """The events at each user's last timestamp.

    Attributes
    ----------
    timestamp
        Of all events, by user and in file order within each user; shape (events,).
    bounds
        Events of user u are bounds[u] to bounds[u + 1]; shape (users + 1,).
    places
        Places in `timestamp` of the last events of all users, in order.
    offset, count
        Of each user, where in `places` they begin and how many they are; shape (users,).
    """

    def __init__(self, timestamp: NDArray[np.generic], bounds: Int) -> None:
        self.timestamp = timestamp
        self.bounds = bounds
        begin = bounds[:-1]
        last = np.maximum.reduceat(timestamp, begin)
        self.places = np.flatnonzero(timestamp == np.repeat(last, np.diff(bounds)))
        self.offset = np.searchsorted(self.places, begin)
        self.count = np.diff(np.append(self.offset, self.places.size))


Pick = Callable[[LastEvents, np.random.Generator | None], Int]


def _first(events: LastEvents, _: np.random.Generator | None) -> Int:
    return events.places[events.offset]


def _last(events: LastEvents, _: np.random.Generator | None) -> Int:
    return events.places[events.offset + events.count - 1]


def _random(events: LastEvents, rng: np.random.Generator | None) -> Int:
    if rng is None:
        raise InputError("tie_break 'random' needs a random generator")
    return events.places[events.offset + rng.integers(0, events.count)]


def _ncf(events: LastEvents, _: np.random.Generator | None) -> Int:
    picked = _last(events, None)
    for user in np.flatnonzero(events.count > 1):
        begin, end = events.bounds[user : user + 2]
        picked[user] = begin + sorted_tail(events.timestamp[begin:end], 1)[0]
    return picked


PICKS: dict[str, Pick] = {"ncf": _ncf, "first": _first, "last": _last, "random": _random}
TIE_BREAKS = tuple(PICKS)
