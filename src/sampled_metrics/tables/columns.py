"""Columns of a table: numbers, times and ids, with errors that name the row and the line."""

import io
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from sampled_metrics._base.arrays import EXACT, Float, Ids, Int, ordered_floats
from sampled_metrics._base.errors import InputError

USER, ITEM = "user_id", "item_id"
Codes: TypeAlias = NDArray[np.int32]

_IDS = "whole numbers or text"
_TIMES = "numbers, or ISO 8601 dates and times, of one kind in all rows"
_LONGEST_ID = 200
_LONGEST = 80  # characters of a value in a message
# 007 and +7 are not canonical: as numbers they would be the same id as 7.
_CANONICAL = r"^(0|-?[1-9]\d{0,18})$"
_LARGEST = np.iinfo(np.int64).max
_TIME_TYPES = (
    *(pa.int64(), pa.float64()),
    *(pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("s", "us", "ns")),
)


@dataclass(frozen=True)
class Table:
    """Columns of a file, checked when they are asked for.

    Examples
    --------
    >>> table = Table(Path("r.parquet"), {"rank": pa.chunked_array([[3, 0]])}, ("rank",))
    >>> table.whole("rank", 1, 9)
    Traceback (most recent call last):
    sampled_metrics.InputError: r.parquet, row 2, column rank: found 0; expected 1 to 9
    """

    path: Path
    columns: dict[str, pa.ChunkedArray]  # all of one length
    names: tuple[str, ...]  # all columns of the file, also those not read
    header: int | None = None  # lines before the first row; None for parquet, which has no lines
    metadata: dict[bytes, bytes] = field(default_factory=dict)  # of parquet

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def require(self, *names: str) -> None:
        """Raise InputError for the first of `names` that is missing."""
        for name in names:
            if name not in self.columns:
                found = ", ".join(self.names)
                raise InputError(f"lacks column {name}; found {found}", path=self.path)

    def whole(self, name: str, least: int, most: int | Int | None = None) -> Int:
        """Return a column of whole numbers from `least` to `most` as int64.

        `most` is one number, an array with one per row, or None for no bound. Floats that are
        whole numbers are accepted.
        """
        per_row = isinstance(most, np.ndarray)
        bound = f"at least {least}" if per_row or most is None else f"{least} to {most}"
        values = self._whole(name, f"whole numbers, {bound}")
        limits = np.broadcast_to(_LARGEST if most is None else most, values.shape)
        bad = (values < least) | (values > limits)
        self.refuse(name, bad, values, lambda r: f"{least} to {limits[r]}" if per_row else bound)
        return values

    def finite(self, name: str) -> Float:
        """Return a column of finite numbers as float64."""
        values = self._numbers(name, "finite numbers").astype(np.float64, copy=False)
        self.refuse(name, ~np.isfinite(values), values, "finite numbers")
        return values

    def ordered(self, name: str) -> NDArray[np.floating[Any]]:
        """Return finite numbers as floats in the same order, large integers by their places."""
        column = self._complete(name, "finite numbers")
        whole = pa.types.is_integer(column.type)
        return ordered_floats(as_numpy(column)) if whole else self.finite(name)

    def times(self, name: str) -> tuple[Int | Float, str | None]:
        """Return a column of times as numbers in the same order, and their unit.

        Numbers stay as they are, of unit None. Dates and times become the number of seconds, or of
        a finer unit if the column needs it, since 1970; the unit is numpy's.
        """
        column = self._complete(name, _TIMES)
        if is_text(column.type):  # all of one type: the first that fits all, or the first value
            kinds = [kind for kind in _TIME_TYPES if _fits(column[:1], kind)] or [pa.float64()]
            kind = next((kind for kind in kinds if _fits(column, kind)), kinds[-1])
            column = self._cast(name, column, kind, _TIMES)
        elif pa.types.is_date(column.type):
            column = column.cast(pa.timestamp("s"))
        if pa.types.is_timestamp(column.type):
            return as_numpy(column.cast(pa.int64())), str(column.type.unit)
        values = self._numbers(name, _TIMES, column)
        self.refuse(name, ~np.isfinite(values), values, _TIMES)
        return values, None

    def ids(self, name: str) -> pa.ChunkedArray:
        """Return a column of ids: int64 if all are whole numbers as usually written, else text.

        `007` is not written as a number usually is, so a column that holds it stays text and it
        differs from `7`.
        """
        codes, names = self.codes(name)
        return pa.chunked_array([names.take(as_arrow(codes))])

    def codes(self, name: str) -> tuple[Codes, pa.Array]:
        """Encode a column of ids: int32 codes of the rows, and the id of each code.

        Codes count from 0 in the order in which the ids first appear; the ids are those of `ids`.
        """
        column = self._complete(name, _IDS, decode=False)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_floating(kind) or kind == pa.uint64():
            kind, column = pa.int64(), pa.chunked_array([as_arrow(self._whole(name, _IDS))])
        if not (is_text(kind) or pa.types.is_integer(kind)):
            raise self._wrong_type(name, column, _IDS)
        codes, names = encoded(column)
        if not is_text(kind):
            return codes, names.cast(pa.int64())
        length = as_numpy(compute.utf8_length(names))
        control = as_numpy(compute.match_substring_regex(names, r"[\x00-\x1f\x7f]").cast("uint8"))
        for bad, problem in (
            (length == 0, f"found nothing; expected {_IDS}"),
            (length > _LONGEST_ID, f"found an id of more than {_LONGEST_ID} characters"),
            (control == 1, "found an id with control characters"),
        ):
            if bad.any():
                raise self.error_at(int(np.argmax(bad[codes])), problem, name)
        if compute.all(compute.match_substring_regex(names, _CANONICAL)).as_py():
            names = names.cast(pa.int64()) if _fits(names, pa.int64()) else names
        return codes, names

    def places(self, name: str, among: Ids, expected: str) -> Int:
        """Return the place of each id of a column in `among`; a missing one raises InputError."""
        ids = self.ids(name)
        place = places(ids, among)
        self.refuse(name, place < 0, ids, expected)
        return place

    def refuse(
        self, name: str, bad: NDArray[np.bool_], values: Any, expected: str | Callable[[int], str]
    ) -> None:
        """Raise InputError for the first bad row; what is expected may depend on the row."""
        if bad.any():
            row = int(np.argmax(bad))
            wanted = expected if isinstance(expected, str) else expected(row)
            raise self.error(name, row, values[row], wanted)

    def error(self, name: str, row: int, found: object, expected: str) -> InputError:
        """Make the error for a value; `row` counts from 0."""
        shown = f"{found:.15g}" if isinstance(found, np.floating) else str(found)
        if len(shown) > _LONGEST:  # a stray quote makes one value of many lines
            shown = f"{shown[:_LONGEST]}..."
        return self.error_at(row, f"found {shown}; expected {expected}", name)

    def error_at(self, row: int, problem: str, column: str | None = None) -> InputError:
        """Make the error for a row, which counts from 0."""
        line = None
        if self.header is not None:
            filled = [number for number, text in lines(self.path) if text.rstrip("\r\n")]
            line = filled[self.header + row]
        return InputError(problem, path=self.path, row=row + 1, line=line, column=column)

    def _whole(self, name: str, expected: str) -> Int:
        values = self._numbers(name, expected)
        if values.dtype.kind == "f":
            whole = (np.floor(values) == values) & (np.abs(values) < EXACT)
            self.refuse(name, ~whole, values, expected)
        return values.astype(np.int64, copy=False)

    def _numbers(self, name: str, expected: str, column: Any = None) -> NDArray[Any]:
        """Return a column of any numbers, or of text that holds numbers, as int64 or float64."""
        column = self._complete(name, expected) if column is None else column
        kind = column.type
        if pa.types.is_integer(kind):
            large = kind == pa.uint64() and compute.max(column).as_py() >= 1 << 63
            return as_numpy(column.cast(pa.float64() if large else pa.int64(), safe=False))
        if not (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            if pa.types.is_duration(kind) or not _fits(column, pa.string()):
                raise self._wrong_type(name, column, expected)
            text = compute.utf8_trim_whitespace(column.cast(pa.string()))
            column = self._cast(name, text, pa.float64(), expected)
        return as_numpy(column.cast(pa.float64(), safe=False))

    def _cast(self, name: str, text: Any, kind: Any, expected: str) -> Any:
        """Cast text, or raise InputError for the first value that does not fit."""
        if _fits(text, kind):
            return text.cast(kind)
        row = bisect_left(range(len(text)), True, key=lambda row: not _fits(text[: row + 1], kind))
        raise self.error(name, row, repr(text[row].as_py()), expected)

    def _complete(self, name: str, expected: str, decode: bool = True) -> Any:
        """Return a column, or raise InputError where it is missing or a value is."""
        self.require(name)
        column = self.columns[name]
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy()))
            raise self.error(name, row, "nothing", expected)
        dictionary = decode and pa.types.is_dictionary(column.type)
        return column.cast(column.type.value_type) if dictionary else column

    def _wrong_type(self, name: str, column: Any, expected: str) -> InputError:
        found = "bytes, not UTF-8" if pa.types.is_binary(column.type) else f"type {column.type}"
        return InputError(f"found {found}; expected {expected}", path=self.path, column=name)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbers, from 1, and the text of the lines of a file, which may be compressed."""
    with pa.input_stream(str(path)) as stream:
        text = io.TextIOWrapper(io.BufferedReader(stream), "utf-8-sig", errors="replace")
        yield from enumerate(text, start=1)


def is_text(kind: Any) -> bool:
    """Return whether a type is one of text."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def as_numpy(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return numbers or text without missing values as an array, which may be read-only."""
    if is_text(column.type):
        return np.asarray(column.to_pylist(), dtype=object)
    # pyarrow's own conversions import pandas, which takes longer than to read most files.
    return np.from_dlpack(column.combine_chunks() if hasattr(column, "chunks") else column)


def as_arrow(values: NDArray[Any]) -> pa.Array:
    """Return an array of numbers or text as one of pyarrow."""
    if values.dtype.kind == "U":
        return pa.array(values, pa.string())
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), values.size, [None, buffer])


def places(ids: Any, among: Any) -> Int:
    """Return the place of each id in `among`, -1 where it is missing; both of pyarrow or numpy.

    Numbers are compared with text as they are usually written.
    """
    ids, among = (as_arrow(c) if isinstance(c, np.ndarray) else c for c in (ids, among))
    if ids.type != among.type:
        ids, among = ids.cast(pa.string()), among.cast(pa.string())
    return as_numpy(compute.fill_null(compute.index_in(ids, among), -1)).astype(np.int64)


def encoded(column: Any) -> tuple[Codes, pa.Array]:
    """Encode ids, an array of pyarrow or numpy: int32 codes, and the distinct ids."""
    column = as_arrow(column) if isinstance(column, np.ndarray) else column
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    is_encoded = pa.types.is_dictionary(column.type)
    column = (column if is_encoded else column.dictionary_encode()).unify_dictionaries()
    names = column.chunk(0).dictionary
    codes = np.concatenate([as_numpy(chunk.indices) for chunk in column.chunks])
    if is_encoded:  # a dictionary may hold values that no row has
        used = np.bincount(codes, minlength=len(names)) > 0
        codes, names = (np.cumsum(used) - 1)[codes], names.filter(pa.array(used))
    return codes.astype(np.int32, copy=False), names


def _fits(column: Any, kind: Any) -> bool:
    """Return whether all values can be cast to a type."""
    try:
        column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True
