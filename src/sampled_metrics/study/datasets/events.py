"""The events of a study: read from a table, and filtered.

Any rating is an interaction (section 6 of the paper); its value is checked, and kept only if a
filter needs it.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int, first_duplicate, select_rows
from sampled_metrics._base.errors import InputError
from sampled_metrics.inputs.tables import TYPE, Codes, as_numpy, read_table
from sampled_metrics.study.datasets.settings import Columns, FilterSettings
from sampled_metrics.study.datasets.times import times_of

_COLUMNS = ("user", "item", "timestamp", "rating")
Names: TypeAlias = NDArray[np.str_] | NDArray[np.int64]


class Origin(Protocol):
    """A file of events, for errors."""

    @property
    def path(self) -> Path | str:
        """The file."""

    def error_at(self, row: int, problem: str) -> InputError:
        """Make the error for a row, which counts from 0."""


@dataclass(frozen=True)
class Interactions:
    """Events, each of one user with one item; arrays of shape (events,) in file order."""

    user: NDArray[np.int32]  # ids as published, or places in `user_names`
    item: NDArray[np.int32]
    timestamp: Int | Float | None = None  # numbers that order the events; None without times
    rating: NDArray[np.float32] | None = None  # None where there are none or they are not needed
    user_names: Names | None = None  # published ids in ascending order, where `user` are places
    item_names: Names | None = None
    rows: Int | None = None  # row of each event in the file, from 0; None if none was left out
    origin: Origin | None = None  # the file; None for events from memory
    time_unit: str | None = None  # numpy's, of timestamps since 1970; None if not known

    def __len__(self) -> int:
        return self.user.size

    def take(self, kept: NDArray[np.bool_]) -> Self:
        """Return the events where `kept` is true."""
        columns: Any = {name: select_rows(getattr(self, name), kept) for name in _COLUMNS}
        rows = self.rows
        if rows is None:
            rows = np.arange(len(self))
        return replace(self, rows=rows[kept], **columns)

    def times(self, method: str) -> NDArray[Any]:
        """Return the timestamps, which a method of splitting needs."""
        if self.timestamp is None:
            raise self.error(f"no timestamps; {method} needs a column of them, random does not")
        return self.timestamp

    def pairs(self) -> Int:
        """Encode the user and the item of each event as one number."""
        return (self.user.astype(np.int64) << 32) | (self.item.astype(np.int64) & 0xFFFFFFFF)

    def ids(self, event: int) -> tuple[Any, Any]:
        """Return the published ids of an event's user and item."""
        user = self.user[event]
        item = self.item[event]
        return published(user, self.user_names), published(item, self.item_names)

    def row(self, event: int) -> int:
        """Return the row, from 0, of an event in its file."""
        if self.rows is None:
            return event
        return int(self.rows[event])

    def error(self, problem: str, event: int | None = None) -> InputError:
        """Make an error that names the file and, where given, the row of an event."""
        row = path = None
        if event is not None:
            row = self.row(event)
            if self.origin is not None:
                return self.origin.error_at(row, problem)
            row += 1
        elif self.origin is not None:
            path = self.origin.path
        return InputError(problem, path=path, row=row)


def as_int32(codes: Codes, names: pa.Array) -> tuple[Codes, Names | None]:
    """Encode ids as int32: themselves if they fit, else places in a table of them, ascending."""
    table = as_numpy(names)
    if table.dtype.kind == "i" and table.min() >= -(1 << 31) and table.max() < 1 << 31:
        return table.astype(np.int32)[codes], None
    table, place = np.unique(table, return_inverse=True)
    return place.astype(np.int32)[codes], table


def published(ids: NDArray[np.int32] | np.int32, names: Names | None) -> Any:
    """Return the published ids for ids of `Interactions`."""
    if names is None:
        return ids
    return names[ids]


def read_interactions(
    path: Path,
    columns: Columns | None = None,
    separator: str | None = None,
    with_rating: bool = False,
) -> Interactions:
    """Read the events of a table (CSV, TSV or parquet) without any filter.

    By default the columns are `user`, `item` and, where they are present, `rating` and `timestamp`,
    and their separator is a tab if the first line has one, else a comma. `with_rating` keeps the
    ratings, which are checked in any case.
    """
    names = {}
    for role, name in columns or Columns():
        if name is not None:
            names[role] = TYPE.sub("", name.strip())
    ids = [names["user"], names["item"]]
    noun = "a table of interactions"
    table = read_table(path, noun, [*names.values()], ids=ids, separator=separator)
    table.require(*ids, *(name for role, name in names.items() if name != role))
    rating = timestamp = unit = None
    # A column is freed as soon as it is an array, because long tables are to fit in memory.
    if names.get("rating") in table.columns:
        with np.errstate(over="ignore"):
            rating = table.finite(names["rating"]).astype(np.float32)
        del table.columns[names["rating"]]
    encoded = []
    for name in ids:
        encoded.append(as_int32(*table.codes(name)))
        del table.columns[name]
    (user, user_names), (item, item_names) = encoded
    if names.get("timestamp") in table.columns:
        timestamp, unit = times_of(table, names["timestamp"])
        del table.columns[names["timestamp"]]
    kept = rating if with_rating else None
    return Interactions(
        user, item, timestamp, kept, user_names, item_names, origin=table, time_unit=unit
    )


def apply_filters(
    interactions: Interactions, filters: FilterSettings | None = None, least: int = 2
) -> tuple[Interactions, dict[str, int]]:
    """Return the events that pass all filters, and how many events each filter removed.

    The filters are applied in the order of the settings. `duplicates` goes by time, and by file
    order where times are equal or missing. Users and items with too few events are left out in
    turn, users first, until both minima hold; this leaves the largest set of events in which they
    do (the k-core).

    Duplicates that no filter removes, users with fewer than `least` events, and a result without
    events are errors, because they cannot be split.

    Examples
    --------
    >>> events = Interactions(np.array([1, 1, 2, 2, 3]), np.array([7, 8, 7, 8, 8]))
    >>> kept, removed = apply_filters(events, FilterSettings(min_user_events=2))
    >>> kept.user.tolist(), removed
    ([1, 1, 2, 2], {'min_user_events': 1})
    """
    filters = filters or FilterSettings()
    kept = interactions
    removed = dict[str, int]()
    values = filters.on

    def leave_out(**out: NDArray[np.bool_]) -> None:
        """Leave out the events that filters remove, by name of the filter."""
        nonlocal kept
        names = [name for name in out if name in values]
        removed.update({name: int(out[name].sum()) for name in names})
        passing = ~np.logical_or.reduce(list(out.values()))
        if not passing.any():
            applied = ", ".join(f"{name}: {values[name]}" for name in names)
            raise kept.error(f"no events remain after {applied}")
        if not passing.all():
            kept = kept.take(passing)

    if (lowest := filters.min_rating) is not None:
        if kept.rating is None:
            raise kept.error(f"no ratings; min_rating {lowest:g} needs a column of ratings")
        leave_out(min_rating=~(kept.rating >= np.float32(lowest)))
    if filters.duplicates == "refuse":
        _refuse_duplicates(kept)
    else:
        leave_out(duplicates=_superseded(kept, filters.duplicates == "last"))
    if filters.min_user_events is not None or filters.min_item_events is not None:
        by_user, by_item = _core(kept, filters.min_user_events or 1, filters.min_item_events or 1)
        leave_out(min_user_events=by_user, min_item_events=by_item)
    _check_enough_events(kept, least)
    return replace(kept, rating=None), removed


def _refuse_duplicates(interactions: Interactions) -> None:
    """Raise InputError for the first event that repeats a pair of user and item."""
    pairs = interactions.pairs()
    again = first_duplicate(pairs)
    if again is not None:
        first = int(np.argmax(pairs == pairs[again]))
        user, item = interactions.ids(again)
        raise interactions.error(
            f"duplicate of row {interactions.row(first) + 1} (user {user}, item {item}); "
            "the filter duplicates can keep the first or the last",
            again,
        )


def _superseded(interactions: Interactions, last: bool) -> NDArray[np.bool_]:
    """Return which events give way to the last, or else the first, of their user and item.

    They are in order of time, and of the file where times are equal or missing.
    """
    pairs = interactions.pairs()
    keys: list[Any] = [pairs]
    if interactions.timestamp is not None:
        keys.insert(0, interactions.timestamp)
    order = np.lexsort(keys)  # stable
    if not last:
        order = order[::-1]
    superseded = np.zeros(pairs.size, dtype=bool)
    superseded[order[:-1]] = pairs[order[1:]] == pairs[order[:-1]]
    return superseded


def _core(interactions: Interactions, *least: int) -> NDArray[np.bool_]:
    """Return which events to leave out because their user, or their item, has too few.

    Shape (2, events); `least` are the fewest events of a user and of an item.
    """
    both = (interactions.user, interactions.item)
    codes = [np.unique(ids, return_inverse=True)[1] for ids in both]
    left_out = np.zeros((2, len(interactions)), dtype=bool)
    events = np.arange(len(interactions))
    before = -1
    while events.size != before:
        before = events.size
        for code, fewest, out in zip(codes, least, left_out, strict=True):
            few = np.bincount(code[events])[code[events]] < fewest
            out[events[few]] = True
            events = events[~few]
    return left_out


def _check_enough_events(interactions: Interactions, least: int) -> None:
    _, first, counts = np.unique(interactions.user, return_index=True, return_counts=True)
    few = np.flatnonzero(counts < least)
    if few.size:
        event = int(first[few[0]])
        raise interactions.error(
            f"user {interactions.ids(event)[0]} has {counts[few[0]]} of the {least} events needed; "
            f"the filter min_user_events: {least} leaves such users out",
            event,
        )
