"""Each user's last event by time, and the rules that pick one of several.

Many users have several events at their last timestamp, so the rule decides the numbers and is part
of the split:

- `ncf`: as in the split published with Neural Collaborative Filtering (He et al., WWW 2017),
  which the paper uses: the user's rows in file order, sorted by `std::sort`, the last one taken;
- `first`, `last`: the first or the last of them in file order;
- `random`: one of them, each equally likely.
"""

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.introsort import sorted_tail
from sampled_metrics.datasets.settings import TieBreak


def last_events(
    timestamp: NDArray[np.generic],
    bounds: Int,
    tie_break: TieBreak,
    rng: np.random.Generator | None,
) -> tuple[Int, int]:
    """Return the place of each user's last event, and how many users have several.

    Parameters
    ----------
    timestamp
        Of all events, by user and in file order within each user; shape (events,).
    bounds
        Events of user u are bounds[u] to bounds[u + 1]; shape (users + 1,).
    tie_break
        Which of several last events.
    rng
        Random generator, for `random` only.

    Examples
    --------
    >>> last_events(np.array([5, 9, 9, 3]), np.array([0, 3, 4]), "first", None)
    (array([1, 3]), 1)
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
