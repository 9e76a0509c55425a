"""Leave-last-out: each user's last event is held out, the rest is for training.

Many users have several events at their last timestamp, so the rule that picks among those
decides the numbers; it is part of the split, under a name:

- `ncf`: as in the split published with Neural Collaborative Filtering (He et al., WWW 2017),
  which the paper uses: the user's rows in file order, sorted by `std::sort`, the last one taken;
- `first`, `last`: the first, the last of them in file order;
- `random`: one of them, each equally likely.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.introsort import sorted_tail
from sampled_metrics.errors import InputError
from sampled_metrics.files import read_arrays, replacing


@dataclass(frozen=True)
class Split:
    """Training data and held-out items, by running numbers of users and items.

    Users are numbered in the order of their ids, items in the order of their first event in the
    file.

    Attributes
    ----------
    train
        1 where a user interacted with an item; float64, shape (users, items).
    held_out
        The held-out item of each user, int64, shape (users,); never among its training items.
    user_ids, item_ids
        Published ids by running number, int32.
    tied_users
        Users with more than one event at their last timestamp.
    """

    train: csr_array
    held_out: NDArray[np.int64]
    user_ids: NDArray[np.int32]
    item_ids: NDArray[np.int32]
    tied_users: int

    def counts(self) -> dict[str, int]:
        """Sizes worth reporting: users, items, interactions, training events, tied users."""
        return {
            "users": self.user_ids.size,
            "items": self.item_ids.size,
            "interactions": self.train.nnz + self.held_out.size,
            "training_events": self.train.nnz,
            "tied_users": self.tied_users,
        }


def leave_last_out(
    interactions: Interactions, tie_break: str = "ncf", rng: np.random.Generator | None = None
) -> Split:
    """Hold out each user's last event.

    Parameters
    ----------
    interactions
        Events in file order; at least two a user, each user and item once.
    tie_break
        Which of several last events: `ncf`, `first`, `last` or `random` (see the module).
    rng
        Source of the choice; only `random` uses it.

    Raises
    ------
    InputError
        The tie-break is not known, or `random` has no generator.

    >>> events = Interactions(*np.array([[7, 7, 7], [1, 2, 3], [5, 9, 9]]))
    >>> split = leave_last_out(events, "last")
    >>> int(split.item_ids[split.held_out[0]]), split.tied_users
    (3, 1)
    """
    if tie_break not in _TIE_BREAKS:
        raise InputError(f"unknown tie_break {tie_break!r}; known: {', '.join(TIE_BREAKS)}")
    rows = np.argsort(interactions.user, kind="stable")
    user_ids, begin = np.unique(interactions.user[rows], return_index=True)
    last_events = _LastEvents(interactions.timestamp[rows], np.append(begin, rows.size))
    held_out_rows = rows[_TIE_BREAKS[tie_break](last_events, rng)]
    return _assemble(interactions, user_ids, held_out_rows, int((last_events.count > 1).sum()))


class _LastEvents:
    """The events at each user's last timestamp, in file order."""

    def __init__(self, timestamp: NDArray[np.int64], bounds: NDArray[np.int64]) -> None:
        self.timestamp = timestamp
        self.bounds = bounds
        begin = bounds[:-1]
        last = np.maximum.reduceat(timestamp, begin)
        self.places = np.flatnonzero(timestamp == np.repeat(last, np.diff(bounds)))
        self.offset = np.searchsorted(self.places, begin)
        self.count = np.diff(np.append(self.offset, self.places.size))


_Pick = Callable[[_LastEvents, np.random.Generator | None], NDArray[np.int64]]


def _first(events: _LastEvents, _: np.random.Generator | None) -> NDArray[np.int64]:
    return events.places[events.offset]


def _last(events: _LastEvents, _: np.random.Generator | None) -> NDArray[np.int64]:
    return events.places[events.offset + events.count - 1]


def _random(events: _LastEvents, rng: np.random.Generator | None) -> NDArray[np.int64]:
    if rng is None:
        raise InputError("tie_break 'random' needs a random generator")
    return events.places[events.offset + rng.integers(0, events.count)]


def _ncf(events: _LastEvents, _: np.random.Generator | None) -> NDArray[np.int64]:
    chosen = _last(events, None)
    for user in np.flatnonzero(events.count > 1):
        begin, end = events.bounds[user], events.bounds[user + 1]
        chosen[user] = begin + sorted_tail(events.timestamp[begin:end], 1)[0]
    return chosen


_TIE_BREAKS: dict[str, _Pick] = {"ncf": _ncf, "first": _first, "last": _last, "random": _random}
TIE_BREAKS = tuple(_TIE_BREAKS)


def _assemble(
    interactions: Interactions,
    user_ids: NDArray[np.int32],
    held_out_rows: NDArray[np.int64],
    tied_users: int,
) -> Split:
    user = np.searchsorted(user_ids, interactions.user)
    item_ids, item = _number_by_first_event(interactions.item)
    training = np.ones(len(interactions), dtype=bool)
    training[held_out_rows] = False
    shape = (user_ids.size, item_ids.size)
    train = csr_array((np.ones(training.sum()), (user[training], item[training])), shape=shape)
    train.sort_indices()
    return Split(train, item[held_out_rows], user_ids, item_ids, tied_users)


def _number_by_first_event(
    item: NDArray[np.int32],
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    ids, first, code = np.unique(item, return_index=True, return_inverse=True)
    order = np.argsort(first)
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    return ids[order], number[code]


def save_split(path: Path, split: Split) -> None:
    """Write a split as `.npz`."""
    with replacing(path) as temporary:
        np.savez(
            temporary,
            indptr=split.train.indptr,
            indices=split.train.indices,
            held_out=split.held_out,
            user_ids=split.user_ids,
            item_ids=split.item_ids,
            tied_users=split.tied_users,
        )


def load_split(path: Path) -> Split:
    """Read a split written by `save_split`.

    Raises
    ------
    InputError
        The file is missing or is none.
    """
    names = ("indptr", "indices", "held_out", "user_ids", "item_ids", "tied_users")
    data = read_arrays(path, "a split", names)
    shape = (data["user_ids"].size, data["item_ids"].size)
    ones = np.ones(data["indices"].size)
    train = csr_array((ones, data["indices"], data["indptr"]), shape=shape)
    return Split(
        train, data["held_out"], data["user_ids"], data["item_ids"], int(data["tied_users"])
    )
