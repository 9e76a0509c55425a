"""Training data and held-out items of a study."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sampled_metrics._base.arrays import Ids
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_arrays, replacing
from sampled_metrics._base.sparse import from_structure, structure, structure_names


@dataclass(frozen=True)
class Split:
    """Training data and one held-out item per evaluated user; users and items count from 0.

    The evaluated users come first, in the order of their ids, then those that only train. Items
    are numbered in the order of their first event in the file.

    Attributes
    ----------
    train
        1 where a user interacted with an item; float64, shape (users, items).
    held_out
        The held-out item of each evaluated user, int64; never among the user's training items.
    user_ids, item_ids
        Published ids by number: int32, int64 or text.
    tied_users
        Number of users with several events at the time of the held-out one, 0 if times are not
        used.
    left_out_users, left_out_events
        Users without training events, and events that are neither in training nor evaluated.
    later_training_events
        Share of the training events, or of every second, third ... of some millions of them, that
        are later than a held-out one; mean over the held-out ones, None without times.
    """

    train: csr_array
    held_out: NDArray[np.int64]
    user_ids: Ids
    item_ids: Ids
    tied_users: int
    left_out_users: int = 0
    left_out_events: int = 0
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


def require_candidates(split: Split, name: str) -> None:
    """Raise InputError for a user who has no candidate beside the held-out item.

    `name` is that of the file, for the message.

    Examples
    --------
    >>> split = Split(csr_array([[1.0, 0.0]]), np.array([1]), np.array([7]), np.array([1, 3]), 0)
    >>> require_candidates(split, "mine.csv")
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
    names = (
        *(*structure_names(), "held_out", "user_ids", "item_ids", "counted"),
        "later_training_events",
    )
    data = read_arrays(path, "a split", names)
    tied_users, left_out_users, left_out_events = map(int, data["counted"])
    later = float(data["later_training_events"])
    return Split(
        from_structure(data),
        data["held_out"],
        data["user_ids"],
        data["item_ids"],
        tied_users,
        left_out_users,
        left_out_events,
        None if np.isnan(later) else later,
    )
