"""Split events into training data and one held-out item per user; write and read splits.

- `leave-last-out` holds out the last event of each user by time;
- `global-time` holds out all events from one time on, and evaluates the first of them of each user;
- `given` reads training and held-out events from two files, and evaluates in the same way;
- `random` holds out one event of each user; all are equally likely.

Held-out events that are not evaluated are not used for training either; their items remain
candidates.

All methods but `random` choose by time. Many users have several events at their latest time, and
which of them is held out changes the results. The rule, called tie-break, is part of a split:

- `ncf`: as in the split published with Neural Collaborative Filtering (He et al., WWW 2017),
  which the paper uses: the last event after the user's rows, in file order, were sorted by
  `std::sort`;
- `first`, `last`: the first or the last of them in file order;
- `random`: one of them; all are equally likely.
"""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sampled_metrics import InputError
from sampled_metrics._base.array_types import Ids, Int
from sampled_metrics._base.arrays import first_duplicate
from sampled_metrics._base.arrow import arrow_to_numpy, encode
from sampled_metrics._base.files import read_npz, replace_file
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.text import join_names
from sampled_metrics_study.data.events import Interactions, as_int32, published_ids, read_dataset
from sampled_metrics_study.data.filters import apply_filters
from sampled_metrics_study.data.settings import (
    DatasetSettings,
    FilterSettings,
    SplitSettings,
    TieBreak,
)
from sampled_metrics_study.files import SPARSE_ARRAYS, sparse_from_arrays, sparse_to_arrays

_log = logging.getLogger(__name__)
_INSERTION_SORT_SIZE = 16  # longest range that libstdc++ leaves to its insertion sort


@dataclass(frozen=True)
class Split:
    """Training data and one held-out item per evaluated user; users and items count from 0.

    Evaluated users come first, in the order of their ids; users with training events only come
    after them. Items are numbered in the order of their first event in the file.
    """

    train: csr_array  # 1 where a user interacted with an item; float64, shape (users, items)
    held_out: Int  # item of each evaluated user; never one of the user's training items
    user_ids: Ids  # published ids by number: int32, int64 or text
    item_ids: Ids
    tied_users: int  # with several events at the time of the held-out one; 0 without times
    left_out_users: int = 0  # users without training events
    left_out_events: int = 0  # events that are neither in training nor evaluated

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
        """Number of items that each evaluated user has not seen in training; int64."""
        seen = np.diff(self.train.indptr[: self.held_out.size + 1])
        return self.item_ids.size - seen.astype(np.int64)

    @property
    def held_out_ids(self) -> Ids:
        """Published id of the held-out item of each evaluated user."""
        return self.item_ids[self.held_out]

    def counts(self) -> dict[str, int]:
        """Return the numbers of users, items and events, in total and by use."""
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


def make_split(
    paths: Sequence[Path],
    dataset: DatasetSettings,
    filters: FilterSettings,
    settings: SplitSettings,
) -> tuple[Split, dict[str, Any]]:
    """Read, filter and split the events of an archive, or of one or two tables.

    Returns the split and the content of `split.json`.
    """
    removed = Counter[str]()
    parts = []
    for path in paths:
        events = read_dataset(path, dataset)
        interactions, removed_here = apply_filters(events, filters, settings.least_events)
        parts.append(interactions)
        removed.update(removed_here)
    rng = generator(settings.seed, "split")
    if settings.method == "given":
        split = given_split(parts[0], parts[1], settings.tie_break, rng)
    else:
        split = hold_out(parts[0], settings, rng)
    if settings.users is not None:
        split = sample_users(split, settings.users, generator(settings.seed, "users"))
    counts = split.counts()
    expected = as_expected = read = None
    if dataset.published is not None:  # then it is one file
        expected = dataset.published.counts
        read = events.counts()
        as_expected = read == expected
        if not as_expected:
            _log.warning("WARNING: %s", _describe_other_counts(dataset.name, read, expected))
    record = {
        "method": settings.method,
        "tie_break": None if settings.method == "random" else settings.tie_break,
        **counts,
        "filters": {name: {"value": v, "removed": removed[name]} for name, v in filters.on.items()},
        "expected": expected,
        "as_expected": as_expected,
        "read": read,
    }
    _log.info("split: %s", ", ".join(f"{count} {name}" for name, count in counts.items()))
    return split, record


def _describe_other_counts(name: str, read: Mapping[str, int], published: Mapping[str, int]) -> str:
    """Say that the data is not as large as the published dataset of its name."""
    counts = [f"{read[kind]:,} {kind} for {count:,}" for kind, count in published.items()]
    return f"this is not the published {name}: {join_names(counts)}"


def hold_out(
    interactions: Interactions, settings: SplitSettings, rng: np.random.Generator
) -> Split:
    """Split by the method of the settings; random choices use `rng`, not the seed of the settings.

    A cut between 0 and 1 is the share of events before it, or slightly less if several events have
    the same time. Any other number is a time as in the file, where dates are seconds since 1970.
    """
    if settings.method == "leave-last-out":
        return leave_last_out(interactions, settings.tie_break, rng)
    if settings.method == "random":
        return _hold_out_one(interactions, None, "random", rng)
    times = interactions.times("global-time")
    cut = settings.cut_number
    if 0 < cut < 1 and not isinstance(settings.cut, str):
        place = int(cut * times.size)
        cut = np.partition(times, place)[place].item()
    split = _hold_out_one(interactions, times, settings.tie_break, rng, times >= cut)
    if not split.held_out.size:
        first, last = (_format_time(time, settings.cut) for time in (times.min(), times.max()))
        shown = settings.cut if isinstance(settings.cut, str) else f"{cut:.15g}"
        raise interactions.error(
            f"no user has events both before and from split.cut {shown}; choose another time "
            f"from {first} to {last}, or a share of the events such as 0.9"
        )
    return split


def _format_time(time: float, cut: float | str | None) -> str:
    """Format a time like the cut: as a date if the cut is one, or else as a number."""
    if isinstance(cut, str):
        with suppress(OverflowError, ValueError):
            written = datetime.fromtimestamp(float(time), UTC).isoformat()
            return written.removesuffix("+00:00").removesuffix("T00:00:00")
    return str(time)


def leave_last_out(
    interactions: Interactions, tie_break: TieBreak = "ncf", rng: np.random.Generator | None = None
) -> Split:
    """Hold out the last event of each user.

    Each user needs at least two events, of different items. Only `tie_break` random uses `rng`.
    """
    return _hold_out_one(interactions, interactions.times("leave-last-out"), tie_break, rng)


def given_split(
    train: Interactions,
    test: Interactions,
    tie_break: TieBreak = "first",
    rng: np.random.Generator | None = None,
) -> Split:
    """Train on the events of one file, and evaluate each user's first event in another.

    The first event is the earliest if the second file has times, or else the first in file order.
    The items of both files are candidates. Users of the first file only are trained on; users of
    the second file only are dropped.
    """
    name = train.path or "the training events"
    parts = (train, test)
    # If only one of the files has text ids, numpy converts the numbers of the other to text.
    users = np.concatenate([published_ids(part.user, part.user_names) for part in parts])
    items = np.concatenate([published_ids(part.item, part.item_names) for part in parts])
    user, user_names = as_int32(*encode(users))
    item, item_names = as_int32(*encode(items))
    times = None
    if test.timestamp is not None:
        times = np.concatenate([np.zeros(len(train), test.timestamp.dtype), test.timestamp])
    both = Interactions(user, item, times, user_names=user_names, item_names=item_names)
    again = first_duplicate(both.user, both.item)
    if again is not None:
        user_id, item_id = both.ids(again)
        raise test.error(
            f"user {user_id} has item {item_id} also in {name}; "
            "keep each pair in one of the two files"
        )
    split = _hold_out_one(both, times, tie_break, rng, np.arange(len(both)) >= len(train))
    if not split.held_out.size:
        raise test.error(f"no user is also in {name}; spell ids the same way in both files")
    return split


def sample_users(split: Split, users: float, rng: np.random.Generator) -> Split:
    """Evaluate only some users, drawn at random; all of them remain in the training data.

    `users` is their number, or their share if it is below 1.
    """
    n_users = split.held_out.size
    count = int(users)
    if users < 1:
        count = max(1, round(users * n_users))
    if count > n_users:
        raise InputError(
            f"split.users is {count:,} but only {n_users:,} users can be evaluated; "
            "lower it, or set null for all"
        )
    evaluated = np.sort(rng.choice(n_users, count, replace=False))
    order = np.append(evaluated, np.delete(np.arange(split.user_ids.size), evaluated))
    return replace(
        split,
        train=split.train[order],
        held_out=split.held_out[evaluated],
        user_ids=split.user_ids[order],
        left_out_events=split.left_out_events + n_users - count,
    )


def save_split(path: Path, split: Split) -> None:
    """Write a split as `.npz`."""
    with replace_file(path) as temporary, temporary.open("wb") as file:
        np.savez(
            file,
            **sparse_to_arrays(split.train),
            held_out=split.held_out,
            user_ids=split.user_ids,
            item_ids=split.item_ids,
            counted=[split.tied_users, split.left_out_users, split.left_out_events],
        )


def load_split(path: Path) -> Split:
    """Read a split written by `save_split`."""
    names = ("held_out", "user_ids", "item_ids", "counted")
    data = read_npz(path, "a split", (*SPARSE_ARRAYS, *names))
    held_out, user_ids, item_ids, counted = (data[name] for name in names)
    train = sparse_from_arrays(data)
    if train.shape != (user_ids.size, item_ids.size) or held_out.size > user_ids.size:
        raise InputError("not a split (the shapes of its arrays disagree)", path=path)
    return Split(train, held_out, user_ids, item_ids, *counted.tolist())


def _hold_out_one(
    interactions: Interactions,
    times: NDArray[Any] | None,
    tie_break: TieBreak,
    rng: np.random.Generator | None,
    is_later: NDArray[np.bool_] | None = None,
) -> Split:
    """Hold out the last event of each user, or the first one that `is_later` marks.

    Parameters
    ----------
    interactions
        The events.
    times
        Their times; None if `tie_break` alone decides.
    tie_break
        Which of several events at the same time to hold out. `ncf` is defined for last events only;
        for first events it is the same as `first`.
    rng
        Generator for `tie_break` random.
    is_later
        Events that are not trained on; None to hold out last events.
    """
    user_ids, code = np.unique(interactions.user, return_inverse=True)
    order = np.argsort(code, kind="stable")
    bounds = np.append(0, np.cumsum(np.bincount(code)))  # of the events of each user
    del code  # so that long files fit in memory
    item, item_ids = encode(interactions.item)
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
        # The first by time is the last by negative time.
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
        published_ids(user_ids, interactions.user_names),
        published_ids(arrow_to_numpy(item_ids), interactions.item_names),
        tied_users,
        left_out_users=evaluated.size - user_ids.size,
        left_out_events=item.size - train.nnz - held_out.size,
    )


def last_events(
    timestamp: NDArray[Any], bounds: Int, tie_break: TieBreak, rng: np.random.Generator | None
) -> tuple[Int, int]:
    """Return the index of each user's last event, and how many users have several last events.

    Events are sorted by user, those of user u from bounds[u] to bounds[u + 1], and in file order
    within each user.
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
    places_of_last = places[offset + count - 1]
    if tie_break == "ncf":
        for user in tied:
            first, end = bounds[user : user + 2]
            # Single elements are compared faster in lists than in arrays.
            places_of_last[user] = first + last_after_std_sort(timestamp[first:end].tolist())
    return places_of_last, tied.size


def last_after_std_sort(keys: Sequence[Any]) -> int:
    """Return the index in `keys` of the element that `std::sort` would put last.

    The sort of GNU libstdc++ (introsort) is not stable: the order of equal elements depends on its
    steps, which this function repeats. It partitions around the median of three while a range is
    longer than 16, then sorts everything by insertion. Only the range at the end matters here, so
    the function takes linear time. After more than 2 floor(log2 n) partitions libstdc++ would use a
    heap sort; this raises InputError, and never happens with the times of MovieLens.

    Examples
    --------
    >>> last_after_std_sort([3, 1, 2])
    0
    >>> last_after_std_sort([5] * 17)  # a stable sort would say 16
    1
    """
    order = list(range(len(keys)))
    first = 0
    depth = 2 * len(keys).bit_length() - 2
    while len(keys) - first > _INSERTION_SORT_SIZE:
        if depth == 0:
            raise InputError("tie_break ncf would need a heap sort; use another, such as last")
        depth -= 1
        first = _partition(keys, order, first)
    # The final insertion sort keeps equal elements in order, as does the stable sort used here.
    return sorted(order[first:], key=keys.__getitem__)[-1]


def _partition(keys: Sequence[Any], order: list[int], first: int) -> int:
    """Partition all elements after `first` around the median of three; return the cut.

    The median is moved to `first`, as in `std::__unguarded_partition_pivot`.
    """
    last = len(order)
    # Of equal keys, libstdc++ takes the one that a stable sort of these places puts second.
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
