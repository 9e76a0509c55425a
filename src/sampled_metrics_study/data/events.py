"""Read the events of a study from an archive of MovieLens or from a table.

Any rating is an interaction (section 6 of the paper); its value is only used by the filters.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from sampled_metrics import InputError
from sampled_metrics._base.array_types import Codes, Float, Int
from sampled_metrics._base.arrays import select_rows
from sampled_metrics._base.arrow import arrow_to_numpy, can_cast, decode_categories, is_text
from sampled_metrics._base.errors import format_names
from sampled_metrics._base.text import join_names
from sampled_metrics.read.roles import TYPE_SUFFIX
from sampled_metrics.read.tables import HeaderError, Table, read_table
from sampled_metrics_study.data.archive import read_member
from sampled_metrics_study.data.movielens import ML_1M, MovieLens
from sampled_metrics_study.data.settings import Columns, DatasetSettings

_TYPES = {"user": pa.int32(), "item": pa.int32(), "rating": pa.float32(), "timestamp": pa.int64()}
_QUOTED_BYTES = 60  # bytes of a wrong line that its error message shows
_TIMES = "numbers, or ISO 8601 dates and times, of one kind in all rows"
# Seconds since 1970 from 1985 to 2128; other units are 1000, 1000**2 and 1000**3 times as large.
_FIRST_SECOND, _LAST_SECOND = 5e8, 5e9
_UNITS = ("seconds", "milliseconds", "microseconds", "nanoseconds")
_COLUMNS = ("user", "item", "timestamp", "rating")
Names: TypeAlias = NDArray[np.str_] | NDArray[np.int64]


@dataclass(frozen=True)
class Interactions:
    """Events of one user and one item each; arrays of shape (events,) in file order."""

    user: NDArray[np.int32]  # published ids, or indices into `user_names`
    item: NDArray[np.int32]
    timestamp: Int | Float | None = None  # numbers that order the events in time; None without them
    rating: NDArray[np.float32] | None = None  # None if there are none, and after the filters
    user_names: Names | None = None  # published ids in ascending order, if `user` has indices
    item_names: Names | None = None
    path: Path | str | None = None  # the file, for error messages; None for events from memory

    def __len__(self) -> int:
        return self.user.size

    def take(self, is_selected: NDArray[np.bool_]) -> Self:
        """Return the selected events."""
        columns: Any = {name: select_rows(getattr(self, name), is_selected) for name in _COLUMNS}
        return replace(self, **columns)

    def counts(self) -> dict[str, int]:
        """Return the numbers of users, items and events, as `MovieLens.counts` does."""
        users, items = (pd.unique(ids).size for ids in (self.user, self.item))
        return {"users": users, "items": items, "interactions": len(self)}

    def times(self, method: str) -> NDArray[Any]:
        """Return the timestamps; raise InputError that `method` needs them if there are none."""
        if self.timestamp is None:
            raise self.error(f"no timestamps; {method} needs a column of them, random does not")
        return self.timestamp

    def ids(self, event: int) -> tuple[Any, Any]:
        """Return the published ids of the user and the item of an event."""
        user = self.user[event]
        item = self.item[event]
        return published_ids(user, self.user_names), published_ids(item, self.item_names)

    def error(self, problem: str) -> InputError:
        """Return an error that names the file of the events."""
        return InputError(problem, path=self.path)


def as_int32(codes: Codes, names: pa.Array) -> tuple[Codes, Names | None]:
    """Encode ids as int32: the ids themselves if they fit, or else indices into a sorted table."""
    table = arrow_to_numpy(names)
    if table.dtype.kind == "i" and table.min() >= -(1 << 31) and table.max() < 1 << 31:
        return table.astype(np.int32)[codes], None
    table, place = np.unique(table, return_inverse=True)
    return place.astype(np.int32)[codes], table


def published_ids(ids: NDArray[np.int32] | np.int32, names: Names | None) -> Any:
    """Return the published ids of users or items of `Interactions`."""
    if names is None:
        return ids
    return names[ids]


def read_dataset(path: Path, settings: DatasetSettings) -> Interactions:
    """Read the events of an archive or a table; no filter is applied."""
    if settings.published is not None:
        return read_ratings(path, settings.published)
    return read_interactions(path, settings.columns, settings.separator, settings.header)


def read_ratings(path: Path, dataset: MovieLens = ML_1M) -> Interactions:
    """Read the events of an archive of MovieLens.

    A line that does not follow the dataset's layout raises InputError with its number and content.
    """
    content = read_member(path, dataset)
    place = f"{path}:{dataset.member}"
    layout = dataset.layout
    match = re.match(layout.pattern.encode(), content)
    if match is None:
        raise _wrong_line(content, 0, place, f"the header {layout.header}")
    if match.end() < len(content):
        raise _wrong_line(content, match.end(), place, layout.line)
    if match.start(1) == len(content):
        raise InputError(f"no ratings; expected lines of {layout.line}", path=place)
    # Separators of pyarrow have a single character.
    content = content.replace(layout.separator.encode(), b",")
    table = pyarrow.csv.read_csv(
        pa.BufferReader(content),
        pyarrow.csv.ReadOptions(column_names=list(_TYPES), skip_rows=bool(layout.header)),
        convert_options=pyarrow.csv.ConvertOptions(column_types=_TYPES),
    )
    columns = {name: table[name].to_numpy() for name in _TYPES}
    return Interactions(**columns, path=place)


def _wrong_line(content: bytes, start: int, place: str, expected: str) -> InputError:
    """Return an error about the line that contains the byte at `start`."""
    start = content.rfind(b"\n", 0, start) + 1  # the match of Python 3.11.2 may end within a line
    number = content.count(b"\n", 0, start) + 1
    end = content.find(b"\n", start)
    if end < 0:
        expected += ", and a line feed at the end, so the file is cut off"
        end = len(content)
    quoted = content[start : min(end, start + _QUOTED_BYTES)].decode("latin-1")
    return InputError(f"found {quoted!r}; expected {expected}", path=place, line=number)


def read_interactions(
    path: Path,
    columns: Columns | None = None,
    separator: str | None = None,
    header: Sequence[str] | None = None,
) -> Interactions:
    """Read the events of a table (CSV, TSV or parquet); no filter is applied.

    By default the columns are `user`, `item` and, if present, `rating` and `timestamp`. They are
    separated by tabs if the first line has a tab, or else by commas. `header` has the names of the
    columns of a text file whose first line is an event.
    """
    names = {}
    for role, name in columns or Columns():
        if name is not None:
            names[role] = TYPE_SUFFIX.sub("", name.strip())
    ids = [names["user"], names["item"]]
    noun = "a table of interactions"
    roles = [*names.values()]
    required = [name for role, name in names.items() if role in ("user", "item") or name != role]
    try:
        table = read_table(path, noun, roles, ids=ids, separator=separator, header=header or ())
    except HeaderError as error:
        raise _columns_error(path, required, error.names, error.is_missing) from None
    missing = [name for name in required if name not in table.columns]
    if missing:
        raise _columns_error(path, missing, table.names)
    rating = timestamp = None
    # Each column is freed once it is an array, so that long tables fit in memory.
    if names.get("rating") in table.columns:
        with np.errstate(over="ignore"):
            rating = table.finite_numbers(names["rating"]).astype(np.float32)
        del table.columns[names["rating"]]
    encoded = []
    for name in ids:
        encoded.append(as_int32(*table.codes(name)))
        del table.columns[name]
    (user, user_names), (item, item_names) = encoded
    if names.get("timestamp") in table.columns:
        timestamp = read_times(table, names["timestamp"])
        del table.columns[names["timestamp"]]
    return Interactions(user, item, timestamp, rating, user_names, item_names, path)


def _columns_error(
    path: Path, missing: Sequence[str], found: Sequence[str], is_header_missing: bool = False
) -> InputError:
    """Make the error for a table that lacks columns, or a header."""
    noun = "column" if len(missing) == 1 else "columns"
    if is_header_missing:  # the names are values, which are not shown
        return InputError(
            f"no header; expected {noun} {join_names(missing)}; name all {len(found)} columns in "
            "their order, such as dataset.header: [user, item, timestamp]",
            path=path,
        )
    return InputError(
        f"lacks {noun} {join_names(missing)}; found {format_names(found)}; set dataset.columns, "
        "such as {user: NAME, item: NAME, timestamp: NAME}, or dataset.header if the first line is "
        "an event",
        path=path,
    )


def read_times(table: Table, name: str) -> Int | Float:
    """Return a column of times as numbers that are in the same order.

    Numbers stay as they are. Dates and times become seconds since 1970; they are in UTC unless they
    name a time zone.
    """
    column = decode_categories(table.complete_column(name, _TIMES))
    if pa.types.is_integer(column.type):
        numbers = np.asarray(column.cast(pa.int64()))
        _refuse_several_units(table, name, numbers)
        return numbers
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    is_dated = pa.types.is_timestamp(column.type)
    if is_text(column.type):
        is_dated = not can_cast(column[:1], pa.float64())
    if not is_dated:
        times = table.finite_numbers(name)
        _refuse_several_units(table, name, times)
        return times
    times = pd.to_datetime(column.to_pandas(), format="ISO8601", errors="coerce", utc=True)
    table.refuse(name, times.isna().to_numpy(), column, _TIMES)
    since_1970 = times - pd.Timestamp(0, tz="UTC")
    return since_1970.dt.total_seconds().to_numpy()


def _refuse_several_units(table: Table, name: str, times: Int | Float) -> None:
    """Raise InputError if some times are seconds since 1970 and others milliseconds, or finer.

    Numbers between those of two units show that all are numbers of another kind.
    """
    unit = np.full(times.shape, -1)
    for power in range(len(_UNITS)):
        factor = 1000.0**power
        unit[(times >= _FIRST_SECOND * factor) & (times < _LAST_SECOND * factor)] = power
    is_known = unit >= 0
    is_other_kind = ~is_known & (times >= _LAST_SECOND)
    if not is_known.any() or is_other_kind.any():
        return
    first = int(np.argmax(is_known))
    is_other_unit = is_known & (unit != unit[first])
    if is_other_unit.any():
        row = int(np.argmax(is_other_unit))
        raise table.error(
            name,
            row,
            times[row],
            f"one unit of time in all rows, but row {first + 1} is in {_UNITS[unit[first]]} since "
            f"1970 and this row in {_UNITS[unit[row]]}; convert one of them",
        )
