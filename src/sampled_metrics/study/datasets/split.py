"""Training data and one held-out item per user: made from events, and as a file.

- `leave-last-out` holds out the last event of each user by time;
- `global-time` holds out all events from one time on and evaluates each user's first of them;
- `given` takes training and held-out events from two files, and evaluates likewise;
- `random` holds out one event of each user, each equally likely.

Held-out events that are not evaluated are not trained on; their items are candidates like any
others.

All but the last choose by time, and by a tie-break, see `last`.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sampled_metrics._base.arrays import Ids, Int, first_duplicate
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_arrays, replacing
from sampled_metrics._base.sparse import PLACES, from_structure, structure
from sampled_metrics.inputs.tables import as_numpy, encoded
from sampled_metrics.study.datasets.events import Interactions, as_int32, published
from sampled_metrics.study.datasets.last import last_events
from sampled_metrics.study.datasets.settings import SplitSettings, TieBreak


@dataclass(frozen=True)
class Split:
    """Training data and one held-out item per evaluated user; users and items count from 0.

    The evaluated users come first, in the order of their ids, then users that only train. Items
    are numbered in the order of their first event in the file.
    """

    train: csr_array  # 1 where a user interacted with an item; float64, shape (users, items)
    held_out: Int  # item of each evaluated user, never among the user's training items
    user_ids: Ids  # published ids by number: int32, int64 or text
    item_ids: Ids
    tied_users: int  # with several events at the time of the held-out one; 0 if times are not used
    left_out_users: int = 0  # without training events
    left_out_events: int = 0  # neither in training nor evaluated

    @property
    def seen(self) -> csr_array:
        """The rows of `train` for evaluated users."""
        return self.train[: self.held_out.size]

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
        left_out = {"left_out_users": self.left_out_users, "left_out_events": self.left_out_events}
        return {
            "users": self.user_ids.size + self.left_out_users,
            "items": self.item_ids.size,
            "interactions": self.train.nnz + self.held_out.size + self.left_out_events,
            "training_events": self.train.nnz,
            "tied_users": self.tied_users,
            "evaluated_users": self.held_out.size,
            **{name: count for name, count in left_out.items() if count},
        }


def hold_out(
    interactions: Interactions, settings: SplitSettings, rng: np.random.Generator
) -> Split:
    """Split by the method of the settings; the generator replaces their seed.

    A cut between 0 and 1 is the share of the events before it, or less where several are at the
    same time; any other is a time as in the file.
    """
    if settings.method == "leave-last-out":
        return leave_last_out(interactions, settings.tie_break, rng)
    if settings.method == "random":
        return _split(interactions, None, "random", rng)
    times = interactions.times("global-time")
    cut = settings.cut or 0
    if 0 < cut < 1:
        place = int(cut * times.size)
        cut = np.partition(times, place)[place].item()
    split = _split(interactions, times, settings.tie_break, rng, times >= cut)
    if not split.held_out.size:
        raise interactions.error(
            f"no user has events both before and from split.cut {cut:g}; choose another time "
            f"from {times.min()} to {times.max()}, or a share of the events such as 0.9"
        )
    return split


def leave_last_out(
    interactions: Interactions, tie_break: TieBreak = "ncf", rng: np.random.Generator | None = None
) -> Split:
    """Hold out the last event of each user.

    Each user needs two events, none a duplicate of user and item. `rng` is for `tie_break` random
    only.
    """
    return _split(interactions, interactions.times("leave-last-out"), tie_break, rng)


def given_split(
    train: Interactions,
    test: Interactions,
    tie_break: TieBreak = "first",
    rng: np.random.Generator | None = None,
) -> Split:
    """Train on the events of one file and evaluate each user's first event in a second.

    It is the first by time where the second file has times, else in file order. The items of both
    files are candidates. Users of only one file train, or are left out.
    """
    name = train.path or "the training events"
    parts = (train, test)
    # numpy turns numbers into text where one of the files has text.
    users = np.concatenate([published(part.user, part.user_names) for part in parts])
    items = np.concatenate([published(part.item, part.item_names) for part in parts])
    user, user_names = as_int32(*encoded(users))
    item, item_names = as_int32(*encoded(items))
    times = None
    if test.timestamp is not None:
        times = np.concatenate([np.zeros(len(train), test.timestamp.dtype), test.timestamp])
    both = Interactions(user, item, times, user_names=user_names, item_names=item_names)
    again = first_duplicate(both.user, both.item)
    if again is not None:
        user_id, item_id = both.ids(again)
        problem = f"user {user_id} has item {item_id} also in {name}"
        raise test.error(f"{problem}; keep each pair in one of the two files")
    split = _split(both, times, tie_break, rng, np.arange(len(both)) >= len(train))
    if not split.held_out.size:
        raise test.error(f"no user is also in {name}; write ids alike in both files")
    return split


def sample_users(split: Split, users: float, rng: np.random.Generator) -> Split:
    """Evaluate only so many users, or this share below 1, drawn at random; all still train."""
    n_users = split.held_out.size
    count = int(users)
    if users < 1:
        count = max(1, round(users * n_users))
    if count > n_users:
        problem = f"split.users is {count:,} but only {n_users:,} users can be evaluated"
        raise InputError(f"{problem}; lower it, or set null for all")
    drawn = np.sort(rng.choice(n_users, count, replace=False))
    order = np.append(drawn, np.delete(np.arange(split.user_ids.size), drawn))
    return replace(
        split,
        train=split.train[order],
        held_out=split.held_out[drawn],
        user_ids=split.user_ids[order],
        left_out_events=split.left_out_events + n_users - count,
    )


def require_candidates(split: Split, path: str) -> None:
    """Raise InputError for a user who has no candidate beside the held-out item."""
    full = np.flatnonzero(split.n_candidates < 2)
    if full.size:
        user = split.user_ids[full[0]]
        items = f"each of the {split.item_ids.size:,} items"
        problem = f"user {user} has an event with {items}; ranking needs another candidate"
        raise InputError(problem, path=path)


def require_all(path: Path, kind: str, present: NDArray[np.bool_], ids: Ids) -> None:
    """Raise InputError unless a file has every user or item of a split."""
    missing = np.flatnonzero(~present)
    if missing.size:
        count = f"{missing.size:,} of {ids.size:,} are missing"
        problem = f"{kind} {ids[missing[0]]} is missing; every {kind} of the split is needed"
        raise InputError(f"{problem} ({count})", path=path)


def save_split(path: Path, split: Split) -> None:
    """Write a split as `.npz`."""
    with replacing(path) as temporary, temporary.open("wb") as file:
        np.savez(
            file,
            **structure(split.train),
            held_out=split.held_out,
            user_ids=split.user_ids,
            item_ids=split.item_ids,
            counted=[split.tied_users, split.left_out_users, split.left_out_events],
        )


def load_split(path: Path) -> Split:
    """Read a split written by `save_split`."""
    names = ("held_out", "user_ids", "item_ids", "counted")
    data = read_arrays(path, "a split", (*PLACES, *names))
    held_out, user_ids, item_ids, counted = (data[name] for name in names)
    train = from_structure(data)
    if train.shape != (user_ids.size, item_ids.size) or held_out.size > user_ids.size:
        raise InputError("not a split (its arrays do not fit together)", path=path)
    return Split(train, held_out, user_ids, item_ids, *counted.tolist())


def _split(
    interactions: Interactions,
    times: NDArray[Any] | None,
    tie_break: TieBreak,
    rng: np.random.Generator | None,
    is_later: NDArray[np.bool_] | None = None,
) -> Split:
    """Hold out the last event of each user, or the first event that is not trained on.

    Events not trained on are `is_later`. If several have one time, or without times, `tie_break`
    takes one; `ncf`, which orders last events, is `first` for first ones.
    """
    user_ids, code = np.unique(interactions.user, return_inverse=True)
    order = np.argsort(code, kind="stable")
    bounds = np.append(0, np.cumsum(np.bincount(code)))  # first event of each user, and the end
    del code  # long files are to fit in memory
    item, item_ids = encoded(interactions.item)
    item = item[order]
    is_timed = times is not None
    if times is None:
        times = np.zeros(item.size, dtype=np.int8)
    if is_later is None:
        evaluated = np.ones(user_ids.size, dtype=bool)
        training = np.ones(item.size, dtype=bool)
        held_out, tied_users = last_events(times[order], bounds, tie_break, rng)
    else:
        training = ~is_later[order]
        later = np.flatnonzero(~training)
        n_later = np.diff(np.searchsorted(later, bounds))
        evaluated = (n_later > 0) & (n_later < np.diff(bounds))
        later = later[np.repeat(evaluated, n_later)]
        bounds_of_later = np.append(0, np.cumsum(n_later[evaluated]))
        if tie_break == "ncf":
            tie_break = "first"
        # The first by time is the last by the negative of it.
        first, tied_users = last_events(-times[order[later]], bounds_of_later, tie_break, rng)
        held_out = later[first]
    if not is_timed:
        tied_users = 0
    training[held_out] = False
    counts = np.add.reduceat(training, bounds[:-1], dtype=np.int64)
    starts = np.append(0, np.cumsum(counts)).astype(np.int32)
    entries = (np.ones(starts[-1]), item[training], starts)
    train = csr_array(entries, shape=(evaluated.size, len(item_ids)))
    if not evaluated.all():
        only_train = np.flatnonzero(~evaluated & (counts > 0))
        rows = np.append(np.flatnonzero(evaluated), only_train)
        train = train[rows]
        user_ids = user_ids[rows]
    train.sort_indices()
    return Split(
        train,
        item[held_out].astype(np.int64),
        published(user_ids, interactions.user_names),
        published(as_numpy(item_ids), interactions.item_names),
        tied_users,
        left_out_users=evaluated.size - user_ids.size,
        left_out_events=item.size - train.nnz - held_out.size,
    )
