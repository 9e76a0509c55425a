"""Training data and held-out items of a study: made from events, and as a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sampled_metrics._base.arrays import Ids, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_arrays, replacing
from sampled_metrics._base.sparse import from_structure, structure, structure_names
from sampled_metrics.datasets.interactions import Interactions, published
from sampled_metrics.tables.casts import as_numpy
from sampled_metrics.tables.ids import encoded

_ENOUGH = 1_000_000  # training events whose times are compared with those of held-out ones


@dataclass(frozen=True)
class Split:
    """Training data and one held-out item per evaluated user; users and items count from 0.

    The evaluated users come first, in the order of their ids, then those that only train. Items
    are numbered in the order of their first event in the file.
    """

    train: csr_array  # 1 where a user interacted with an item; float64, shape (users, items)
    held_out: Int  # item of each evaluated user, never among the user's training items
    user_ids: Ids  # published ids by number: int32, int64 or text
    item_ids: Ids
    tied_users: int  # with several events at the time of the held-out one; 0 if times are not used
    left_out_users: int = 0  # without training events
    left_out_events: int = 0  # neither in training nor evaluated
    # Share of the training events (or of every second, third ... of some millions of them) that are
    # later than a held-out one, on average over the held-out ones; None without times.
    later_training_events: float | None = None

    @property
    def seen(self) -> csr_array:
        """The rows of `train` that are of evaluated users."""
        n_users = self.held_out.size
        return self.train if n_users == self.train.shape[0] else self.train[:n_users]

    @property
    def evaluated_ids(self) -> Ids:
        """Published ids of the evaluated users."""
        return self.user_ids[: self.held_out.size]

    @property
    def n_candidates(self) -> NDArray[np.int64]:
        """Items that each evaluated user has not seen in training; int64."""
        seen = np.diff(self.train.indptr[: self.held_out.size + 1])
        return self.item_ids.size - seen.astype(np.int64)

    @property
    def held_out_ids(self) -> Ids:
        """Published id of the held-out item of each evaluated user."""
        return self.item_ids[self.held_out]

    def counts(self) -> dict[str, int]:
        """Return how many users, items and events there are, and how they are used."""
        return {
            "users": self.user_ids.size + self.left_out_users,
            "items": self.item_ids.size,
            "interactions": self.train.nnz + self.held_out.size + self.left_out_events,
            "training_events": self.train.nnz,
            "tied_users": self.tied_users,
            "evaluated_users": self.held_out.size,
            **({"left_out_users": self.left_out_users} if self.left_out_users else {}),
            **({"left_out_events": self.left_out_events} if self.left_out_events else {}),
        }


class Users(NamedTuple):
    """Events by user: those of user ids[u] are rows[bounds[u] : bounds[u + 1]], in file order."""

    rows: NDArray[np.int32]
    ids: NDArray[np.int32]
    bounds: Int


def by_user(user: NDArray[np.int32]) -> Users:
    """Group events by user, in ascending order of ids."""
    code, names = encoded(user)
    ids = as_numpy(names)
    order = np.argsort(ids)
    code = np.argsort(order).astype(np.int32)[code]
    bounds = np.append(0, np.cumsum(np.bincount(code)))
    rows = np.arange(code.size, dtype=np.int32)
    if (code[1:] < code[:-1]).any():
        # csr_array groups entries by row with a counting sort, which is stable.
        entries = (np.ones(code.size, dtype=np.int8), (code, rows))
        rows = csr_array(entries, shape=(order.size, code.size)).indices
    return Users(rows, ids[order], bounds)


def assemble(
    interactions: Interactions,
    users: Users,
    training: NDArray[np.bool_],
    held_out: Int,
    tied_users: int = 0,
) -> Split:
    """Make a split of events by user: whether each trains, and the one held out (-1: none)."""
    code, item_ids = encoded(interactions.item)
    item = code[users.rows]
    counts = np.add.reduceat(training, users.bounds[:-1], dtype=np.int64)
    starts = np.append(0, np.cumsum(counts)).astype(np.int32)
    entries = (np.ones(starts[-1]), item[training], starts)
    train = csr_array(entries, shape=(users.ids.size, len(item_ids)))
    is_evaluated = held_out >= 0
    order = np.concatenate(
        [np.flatnonzero(is_evaluated), np.flatnonzero((counts > 0) & ~is_evaluated)]
    )
    if not is_evaluated.all():
        train = train[order]
    train.sort_indices()
    held_out = held_out[is_evaluated]
    return Split(
        train,
        item[held_out].astype(np.int64),
        published(users.ids[order], interactions.user_names),
        published(as_numpy(item_ids), interactions.item_names),
        tied_users,
        left_out_users=users.ids.size - order.size,
        left_out_events=item.size - train.nnz - held_out.size,
        later_training_events=_share_later(interactions, users.rows, training, held_out),
    )


def require_candidates(split: Split, name: str) -> None:
    """Raise InputError for a user who has no candidate beside the held-out item.

    `name` is that of the file, for the message.
    """
    full = np.flatnonzero(split.n_candidates < 2)
    if full.size:
        raise InputError(
            f"user {split.user_ids[full[0]]} has an event with each of the "
            f"{split.item_ids.size:,} items; ranking needs an item beside the held-out one",
            path=name,
        )


def require_all(path: Path, kind: str, present: NDArray[np.bool_], ids: Ids) -> None:
    """Raise InputError unless a file has every user or item of a split."""
    if not present.all():
        missing = np.flatnonzero(~present)
        raise InputError(
            f"{kind} {ids[missing[0]]} is missing; every {kind} of the split is needed "
            f"({missing.size:,} of {ids.size:,} are missing)",
            path=path,
        )


def save_split(path: Path, split: Split) -> None:
    """Write a split as `.npz`."""
    later = split.later_training_events
    with replacing(path) as temporary:
        np.savez(
            temporary,
            **structure(split.train),
            held_out=split.held_out,
            user_ids=split.user_ids,
            item_ids=split.item_ids,
            counted=[split.tied_users, split.left_out_users, split.left_out_events],
            later_training_events=np.nan if later is None else later,
        )


def load_split(path: Path) -> Split:
    """Read a split written by `save_split`."""
    names = ("held_out", "user_ids", "item_ids", "counted", "later_training_events")
    data = read_arrays(path, "a split", (*structure_names(), *names))
    held_out, user_ids, item_ids, counted, later = (data[name] for name in names)
    try:
        tied, left_out_users, left_out_events = counted.tolist()
        later = None if np.isnan(later) else float(later)
        train = from_structure(data)
        fit = train.shape == (*user_ids.shape, *item_ids.shape) and held_out.ndim == 1
    except (TypeError, ValueError):
        fit = False
    if not fit or held_out.size > user_ids.size:
        raise InputError("not a split (its arrays do not fit together)", path=path)
    return Split(train, held_out, user_ids, item_ids, tied, left_out_users, left_out_events, later)


def _share_later(
    interactions: Interactions, rows: NDArray[np.int32], training: NDArray[np.bool_], held_out: Int
) -> float | None:
    """Return the mean share of training events later than a held-out one; None without times."""
    times = interactions.timestamp
    if times is None or not held_out.size:
        return None
    trained = rows[training]
    trained = np.sort(times[trained[:: 1 + trained.size // _ENOUGH]])
    later = trained.size - np.searchsorted(trained, times[rows[held_out]], side="right")
    return float(later.mean()) / trained.size
