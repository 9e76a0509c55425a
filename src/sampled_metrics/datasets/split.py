"""Holding out one event of each user and training on the others.

`leave-last-out` holds out the last event by time, with a tie-break where a user has several;
`random` holds out any event, each equally likely, and needs no times.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sampled_metrics._base.arrays import Ids, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_arrays, replacing
from sampled_metrics.datasets.interactions import Interactions, published
from sampled_metrics.datasets.last_events import last_events
from sampled_metrics.datasets.settings import SplitSettings, TieBreak
from sampled_metrics.tables.ids import encoded


@dataclass(frozen=True)
class Split:
    """Training data and held-out items; users and items are numbered from 0.

    Users are numbered in the order of their ids, items in the order of their first event in the
    file.

    Attributes
    ----------
    train
        1 where a user interacted with an item; float64, shape (users, items).
    held_out
        The held-out item of each user, int64, shape (users,); never among its training items.
    user_ids, item_ids
        Published ids by number: int32, int64 or text.
    tied_users
        Number of users with several events at their last timestamp; 0 in a random split.
    """

    train: csr_array
    held_out: NDArray[np.int64]
    user_ids: Ids
    item_ids: Ids
    tied_users: int

    @property
    def n_candidates(self) -> NDArray[np.int64]:
        """Items that each user has not seen in training; int64, shape (users,)."""
        return self.item_ids.size - np.diff(self.train.indptr).astype(np.int64)

    @property
    def held_out_ids(self) -> Ids:
        """Published id of each user's held-out item, shape (users,)."""
        return self.item_ids[self.held_out]

    def counts(self) -> dict[str, int]:
        """Sizes worth reporting: users, items, interactions, training events, tied users."""
        return {
            "users": self.user_ids.size,
            "items": self.item_ids.size,
            "interactions": self.train.nnz + self.held_out.size,
            "training_events": self.train.nnz,
            "tied_users": self.tied_users,
        }


def hold_out(
    interactions: Interactions, settings: SplitSettings, rng: np.random.Generator
) -> Split:
    """Hold out one event of each user; the generator replaces the seed of the settings."""
    if settings.method == "random":
        return leave_random_out(interactions, rng)
    return leave_last_out(interactions, settings.tie_break, rng)


def leave_last_out(
    interactions: Interactions, tie_break: TieBreak = "ncf", rng: np.random.Generator | None = None
) -> Split:
    """Hold out each user's last event.

    Parameters
    ----------
    interactions
        Events in file order, at least two per user, without duplicates of user and item.
    tie_break
        Which of several last events: `ncf`, `first`, `last` or `random` (see `last_events`).
    rng
        Random generator, for `random` only.

    Examples
    --------
    >>> events = Interactions(*np.array([[7, 7, 7], [1, 2, 3], [5, 9, 9]]))
    >>> split = leave_last_out(events, "last")
    >>> int(split.item_ids[split.held_out[0]]), split.tied_users
    (3, 1)
    """
    if interactions.timestamp is None:
        raise interactions.error(
            "no timestamps; leave-last-out needs a column of timestamps, method random does not"
        )
    rows, ids, bounds = _by_user(interactions.user)
    held_out, tied_users = last_events(interactions.timestamp[rows], bounds, tie_break, rng)
    return _assemble(interactions, rows, ids, bounds, held_out, tied_users)


def leave_random_out(interactions: Interactions, rng: np.random.Generator) -> Split:
    """Hold out one event of each user, each equally likely; timestamps are ignored.

    Examples
    --------
    >>> events = Interactions(np.array([7, 7, 4, 4]), np.array([1, 2, 1, 3]))
    >>> leave_random_out(events, np.random.default_rng(0)).counts()["training_events"]
    2
    """
    rows, ids, bounds = _by_user(interactions.user)
    held_out = bounds[:-1] + rng.integers(0, np.diff(bounds))
    return _assemble(interactions, rows, ids, bounds, held_out)


def require_candidates(split: Split, name: str) -> None:
    """Raise InputError for a user who has no candidate beside the held-out item.

    `name` is that of the file, for the message.

    Examples
    --------
    >>> events = Interactions(np.array([7, 7]), np.array([1, 3]))
    >>> require_candidates(leave_random_out(events, np.random.default_rng(0)), "mine.csv")
    Traceback (most recent call last):
    sampled_metrics.InputError: mine.csv: user 7 has an event with each of the 2 items; ...
    """
    full = np.flatnonzero(split.n_candidates < 2)
    if full.size:
        raise InputError(
            f"user {split.user_ids[full[0]]} has an event with each of the "
            f"{split.item_ids.size:,} items; ranking needs an item beside the held-out one",
            path=name,
        )


def require_all(path: Path, kind: str, present: NDArray[np.bool_], ids: Ids) -> None:
    """Raise InputError unless a file has every user or item of a split.

    Examples
    --------
    >>> require_all(Path("r.csv"), "user", np.array([True, False]), np.array([7, 9]))
    Traceback (most recent call last):
    sampled_metrics.InputError: r.csv: user 9 is missing; every user of the split is needed (...)
    """
    if not present.all():
        missing = np.flatnonzero(~present)
        raise InputError(
            f"{kind} {ids[missing[0]]} is missing; every {kind} of the split is needed "
            f"({missing.size:,} of {ids.size:,} are missing)",
            path=path,
        )


def _by_user(user: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32], Int]:
    """Group rows by user; return rows, user ids, and bounds.

    The rows of user ids[u] are rows[bounds[u] : bounds[u + 1]], in file order.
    """
    code, names = encoded(user)
    ids = names.to_numpy()
    order = np.argsort(ids)
    code = np.argsort(order).astype(np.int32)[code]
    bounds = np.append(0, np.cumsum(np.bincount(code)))
    rows = np.arange(code.size, dtype=np.int32)
    if (code[1:] < code[:-1]).any():
        # csr_array groups entries by row with a counting sort, which is stable.
        entries = (np.ones(code.size, dtype=np.int8), (code, rows))
        rows = csr_array(entries, shape=(order.size, code.size)).indices
    return rows, ids[order], bounds


def _assemble(
    interactions: Interactions,
    rows: NDArray[np.int32],
    user_ids: NDArray[np.int32],
    bounds: Int,
    held_out: Int,
    tied_users: int = 0,
) -> Split:
    """Make the split that holds out the places `held_out` of the rows by user."""
    code, item_ids = encoded(interactions.item)
    item = code[rows]
    training = np.ones(item.size, dtype=bool)
    training[held_out] = False
    starts = (bounds - np.arange(bounds.size)).astype(np.int32)
    entries = (np.ones(item.size - held_out.size), item[training], starts)
    train = csr_array(entries, shape=(user_ids.size, len(item_ids)))
    train.sort_indices()
    return Split(
        train,
        item[held_out].astype(np.int64),
        published(user_ids, interactions.user_names),
        published(item_ids.to_numpy(), interactions.item_names),
        tied_users,
    )


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
    """Read a split written by `save_split`."""
    names = ("indptr", "indices", "held_out", "user_ids", "item_ids", "tied_users")
    data = read_arrays(path, "a split", names)
    shape = (data["user_ids"].size, data["item_ids"].size)
    ones = np.ones(data["indices"].size)
    train = csr_array((ones, data["indices"], data["indptr"]), shape=shape)
    return Split(
        train, data["held_out"], data["user_ids"], data["item_ids"], int(data["tied_users"])
    )
