"""Several events of one user with one item."""

import numpy as np
from numpy.typing import NDArray

from sampled_metrics.datasets.interactions import Interactions


def _pairs(interactions: Interactions) -> NDArray[np.int64]:
    """One number for each pair of user and item."""
    pairs = interactions.user.astype(np.int64) << 32
    pairs |= interactions.item.astype(np.int64) & 0xFFFFFFFF
    return pairs


def refuse_duplicates(interactions: Interactions) -> None:
    """Raise InputError for the first event whose user and item were there before."""
    pairs = _pairs(interactions)
    if (pairs[1:] > pairs[:-1]).all():  # as MovieLens is mostly sorted
        return
    ordered = np.sort(pairs)
    if (ordered[1:] != ordered[:-1]).all():
        return
    order = np.argsort(pairs, kind="stable")
    repeats = np.flatnonzero(pairs[order[1:]] == pairs[order[:-1]])
    at = repeats[np.argmin(order[repeats + 1])]
    first, again = int(order[at]), int(order[at + 1])
    place = interactions.place(first).rpartition(", ")[2]
    raise interactions.error(
        again,
        f"{interactions.text(again)}, user and item of {place} again",
        "each user and item once (or the filter duplicates: first or last)",
    )


def repeated(interactions: Interactions, last: bool) -> NDArray[np.bool_]:
    """Whether another event of its user and item is to be kept instead of an event.

    That is the last of them by time if `last`, else the first; where times are equal or missing,
    file order decides.

    >>> repeated(Interactions(np.array([1, 1, 1]), np.array([7, 8, 7])), last=True)
    array([ True, False, False])
    """
    pairs = _pairs(interactions)
    order = np.argsort(pairs, kind="stable")
    same = pairs[order[1:]] == pairs[order[:-1]]
    several = np.zeros(pairs.size, dtype=bool)
    several[order[1:][same]] = several[order[:-1][same]] = True
    events = np.flatnonzero(several)
    time = np.zeros(pairs.size) if interactions.timestamp is None else interactions.timestamp
    events = events[np.lexsort((events, time[events], pairs[events]))]
    same = pairs[events[1:]] == pairs[events[:-1]]
    several[events] = np.append(same, False) if last else np.insert(same, 0, False)
    return several
