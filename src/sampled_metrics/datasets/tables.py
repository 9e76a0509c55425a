"""Tables of interactions: user and item, maybe rating and time, as text or parquet."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, parquet

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.delimited import Delimited
from sampled_metrics.datasets.interactions import Interactions, Names
from sampled_metrics.datasets.labels import IDS, as_ids, fault
from sampled_metrics.datasets.table_format import TableFormat
from sampled_metrics.datasets.times import TIMES, as_times, first_wrong

_PARQUET = (".parquet", ".pq")
_ID = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True)
class _Rows:
    """A parquet file, which has rows where text has lines."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)

    def place(self, row: int) -> str:
        return f"{self.path}, row {row + 1}"

    def text(self, row: int) -> None:  # noqa: ARG002 - a row of parquet is no text
        return None


def read_interactions(
    path: Path, form: TableFormat | None = None, with_rating: bool = False
) -> Interactions:
    """Read the events of a table, no filter applied.

    Parameters
    ----------
    path
        Parquet if its name ends so, else text.
    form
        How it is written; by default columns `user`, `item` and maybe `rating`, `timestamp`.
    with_rating
        Whether to keep the ratings, which are checked in any case.

    Raises
    ------
    InputError
        The file is none, lacks a column, or a value is missing or not what it should be. The
        message names file, line (or row), what was found and what was expected.
    """
    form = form or TableFormat()
    read = _from_parquet if path.suffix.lower() in _PARQUET else _from_text
    origin, columns = read(path, form)
    if not len(columns["user"]):
        raise InputError(f"{path}: no events; expected a table of interactions")
    for role, column in columns.items():
        _refuse_missing(origin, role, column)
    # Popped, so that a column is freed once it is one array.
    user, user_names = _ids(origin, "user", columns.pop("user"))
    item, item_names = _ids(origin, "item", columns.pop("item"))
    rating = _ratings(origin, columns.pop("rating")) if "rating" in columns else None
    timestamp = _times(origin, columns.pop("timestamp")) if "timestamp" in columns else None
    return Interactions(
        user, item, timestamp, rating if with_rating else None, user_names, item_names,
        origin=origin,
    )  # fmt: skip


_Origin = Delimited | _Rows
_Columns = dict[str, pa.ChunkedArray]


def _from_text(path: Path, form: TableFormat) -> tuple[_Origin, _Columns]:
    separator = form.separator or ("\t" if ".tsv" in path.suffixes[-2:] else ",")
    file = Delimited(path, separator, form.header)
    line, names = file.head()
    chosen = form.chosen(names, f"{path}, line {line}, by the separator {separator!r}")
    # Times are mostly whole numbers; if not, they are read as text and understood later.
    for time in (pa.int64(), pa.string()):
        kinds = {"user": _ID, "item": _ID, "rating": pa.float32(), "timestamp": time}
        table = file.read(line, names, {name: kinds[role] for role, name in chosen.items()})
        if table is not None:
            return file, {role: table[name] for role, name in chosen.items()}
    raise file.bad_row(names, chosen.get("rating"))


def _from_parquet(path: Path, form: TableFormat) -> tuple[_Origin, _Columns]:
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if not form.header:
                raise InputError(f"{path}: parquet names its columns; expected names, no places")
            chosen = form.chosen(names, str(path))
            table = file.read(columns=list(chosen.values()))
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; expected a table of interactions") from None
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: not parquet ({reason}); expected a table") from error
    return _Rows(path), {role: table[name] for role, name in chosen.items()}


def _refuse_missing(origin: _Origin, role: str, column: pa.ChunkedArray) -> None:
    missing = compute.is_null(column) if column.null_count else None
    if missing is None and _is_text(column.type):
        text = column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        missing = compute.equal(compute.binary_length(text), 0)
    if missing is not None and compute.any(missing).as_py():
        row = int(np.argmax(missing.to_numpy()))
        raise _wrong(origin, row, f"no {role}", "one in every row")


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _ids(
    origin: _Origin, role: str, column: pa.ChunkedArray
) -> tuple[NDArray[np.int32], Names | None]:
    unfit = fault(column)
    if unfit:
        raise InputError(f"{origin}: column {role}: found {unfit}")
    ids = as_ids(column)
    if ids is None:
        raise InputError(f"{origin}: column {role} is of type {column.type}; expected {IDS}")
    return ids


def _ratings(origin: _Origin, column: pa.ChunkedArray) -> NDArray[np.float32]:
    kind, allowed = column.type, "a finite number"
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise InputError(f"{origin}: column rating is of type {kind}; expected numbers")
    rating: NDArray[np.float32] = column.cast(pa.float32(), safe=False).to_numpy()
    bad = ~np.isfinite(rating)
    if bad.any():
        row = int(np.argmax(bad))
        raise _wrong(origin, row, f"rating {rating[row]:g}", allowed)
    return rating


def _times(origin: _Origin, column: pa.ChunkedArray) -> NDArray[np.int64]:
    times = as_times(column)
    if times is None:
        row = first_wrong(column)
        raise _wrong(origin, row, f"timestamp {str(column[row].as_py())!r}", TIMES)
    return times


def _wrong(origin: _Origin, row: int, found: str, expected: str) -> InputError:
    return InputError(f"{origin.place(row)}: found {found}; expected {expected}")
