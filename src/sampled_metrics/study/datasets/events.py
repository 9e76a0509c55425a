"""The events of a study: read from a table, and filtered.

Any rating is an interaction (section 6 of the paper); its value is kept until the filters are
applied.
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Codes, Float, Int, select_rows
from sampled_metrics._base.errors import InputError
from sampled_metrics.inputs.tables import TYPE, Table, as_numpy, fits, is_text, plain, read_table
from sampled_metrics.study.datasets.settings import Columns, FilterSettings

_TIMES = "numbers, or ISO 8601 dates and times, of one kind in all rows"
_COLUMNS = ("user", "item", "timestamp", "rating")
Names: TypeAlias = NDArray[np.str_] | NDArray[np.int64]
LeftOut: TypeAlias = dict[str, NDArray[np.bool_]]  # by filter, whether it removes each event


@dataclass(frozen=True)
class Interactions:
    """Events, each of one user with one item; arrays of shape (events,) in file order."""

    user: NDArray[np.int32]  # ids as published, or places in `user_names`
    item: NDArray[np.int32]
    timestamp: Int | Float | None = None  # numbers that order the events; None without times
    rating: NDArray[np.float32] | None = None  # None where there are none, and after filters
    user_names: Names | None = None  # published ids in ascending order, where `user` are places
    item_names: Names | None = None
    path: Path | str | None = None  # the file, for errors; None for events from memory

    def __len__(self) -> int:
        return self.user.size

    def take(self, kept: NDArray[np.bool_]) -> Self:
        """Return the events where `kept` is true."""
        columns: Any = {name: select_rows(getattr(self, name), kept) for name in _COLUMNS}
        return replace(self, **columns)

    def times(self, method: str) -> NDArray[Any]:
        """Return the timestamps, which a method of splitting needs."""
        if self.timestamp is None:
            raise self.error(f"no timestamps; {method} needs a column of them, random does not")
        return self.timestamp

    def ids(self, event: int) -> tuple[Any, Any]:
        """Return the published ids of an event's user and item."""
        user = self.user[event]
        item = self.item[event]
        return published(user, self.user_names), published(item, self.item_names)

    def error(self, problem: str) -> InputError:
        """Make an error that names the file."""
        return InputError(problem, path=self.path)


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
    path: Path, columns: Columns | None = None, separator: str | None = None
) -> Interactions:
    """Read the events of a table (CSV, TSV or parquet) without any filter.

    By default the columns are `user`, `item` and, where they are present, `rating` and `timestamp`,
    and their separator is a tab if the first line has one, else a comma.
    """
    names = {}
    for role, name in columns or Columns():
        if name is not None:
            names[role] = TYPE.sub("", name.strip())
    ids = [names["user"], names["item"]]
    noun = "a table of interactions"
    table = read_table(path, noun, [*names.values()], ids=ids, separator=separator)
    table.require(*ids, *(name for role, name in names.items() if name != role))
    rating = timestamp = None
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
        timestamp = times_of(table, names["timestamp"])
        del table.columns[names["timestamp"]]
    return Interactions(user, item, timestamp, rating, user_names, item_names, path)


def times_of(table: Table, name: str) -> Int | Float:
    """Return a column of times as numbers in the same order.

    Numbers stay as they are. Dates and times, in UTC where they name no zone, become seconds since
    1970.
    """
    column = plain(table.present(name, _TIMES))
    if pa.types.is_integer(column.type):
        return np.asarray(column.cast(pa.int64()))
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    is_dated = pa.types.is_timestamp(column.type)
    if is_text(column.type):
        is_dated = not fits(column[:1], pa.float64())
    if not is_dated:
        return table.finite(name)
    times = pd.to_datetime(column.to_pandas(), format="ISO8601", errors="coerce", utc=True)
    table.refuse(name, times.isna().to_numpy(), column, _TIMES)
    since_1970 = times - pd.Timestamp(0, tz="UTC")
    return since_1970.dt.total_seconds().to_numpy()


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
    for step in (_low_ratings, _duplicates, _few_events):
        left_out = step(kept, filters)
        if not left_out:
            continue
        removed.update({name: int(events.sum()) for name, events in left_out.items()})
        passing = ~np.logical_or.reduce(list(left_out.values()))
        if not passing.any():
            applied = ", ".join(f"{name}: {filters.on[name]}" for name in left_out)
            raise kept.error(f"no events remain after {applied}")
        if not passing.all():
            kept = kept.take(passing)
    _check_enough_events(kept, least)
    return replace(kept, rating=None), removed


def _low_ratings(interactions: Interactions, filters: FilterSettings) -> LeftOut:
    lowest = filters.min_rating
    if lowest is None:
        return {}
    if interactions.rating is None:
        raise interactions.error(f"no ratings; min_rating {lowest:g} needs a column of ratings")
    return {"min_rating": ~(interactions.rating >= np.float32(lowest))}


def _duplicates(interactions: Interactions, filters: FilterSettings) -> LeftOut:
    """Return which events give way to the first, or the last, of their user and item.

    They are in order of time, and of the file where times are equal or missing.
    """
    pairs = pd.DataFrame({"user": interactions.user, "item": interactions.item})
    if filters.duplicates == "refuse":
        again = pairs.duplicated()
        if again.any():
            user, item = interactions.ids(int(again.argmax()))
            raise interactions.error(
                f"user {user} has item {item} more than once; "
                "the filter duplicates can keep the first or the last"
            )
        return {}
    if interactions.timestamp is not None:
        pairs = pairs.iloc[np.argsort(interactions.timestamp, kind="stable")]
    return {"duplicates": pairs.duplicated(keep=filters.duplicates).sort_index().to_numpy()}


def _few_events(interactions: Interactions, filters: FilterSettings) -> LeftOut:
    """Return which events to leave out because their user, or their item, has too few."""
    ids = {"min_user_events": interactions.user, "min_item_events": interactions.item}
    least: dict[str, Any] = {name: filters.on[name] for name in ids if name in filters.on}
    left_out = {name: np.zeros(len(interactions), dtype=bool) for name in least}
    events = pd.DataFrame(ids)
    before = -1
    while len(events) != before:
        before = len(events)
        for name, fewest in least.items():
            few = events.groupby(name)[name].transform("size") < fewest
            left_out[name][events.index[few]] = True
            events = events[~few]
    return left_out


def _check_enough_events(interactions: Interactions, least: int) -> None:
    _, first, counts = np.unique(interactions.user, return_index=True, return_counts=True)
    few = np.flatnonzero(counts < least)
    if few.size:
        user, _ = interactions.ids(first[few[0]])
        raise interactions.error(
            f"user {user} has {counts[few[0]]} of the {least} events needed; "
            f"the filter min_user_events: {least} leaves such users out"
        )
