"""Columns of a table: numbers, times and ids, with errors that name the row and the line."""

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sampled_metrics._base.arrays import EXACT, Float, Ids, Int, ordered_floats
from sampled_metrics._base.errors import InputError
from sampled_metrics.tables.casts import (
    as_arrow,
    as_numpy,
    first_misfit,
    fits,
    is_text,
    plain,
    time_type,
    unit_of,
)
from sampled_metrics.tables.ids import Codes, as_numbers, encoded, places

IDS = "whole numbers or text"
TIMES = "numbers, or ISO 8601 dates and times, of one kind in all rows"
LONGEST_ID = 200
_LONGEST = 80  # characters of a value in a message


@dataclass(frozen=True)
class Table:
    """Columns of a file, checked when they are asked for.

    Examples
    --------
    >>> table = Table(Path("r.parquet"), {"rank": pa.chunked_array([[3, 0]])}, ("rank",), None)
    >>> table.whole("rank", 1, 9)
    Traceback (most recent call last):
    sampled_metrics.InputError: r.parquet, row 2, column rank: found 0; expected 1 to 9
    """

    path: Path
    columns: dict[str, pa.ChunkedArray]  # all of one length
    names: tuple[str, ...]  # all columns of the file, also those not read
    header: int | None  # lines before the first row; None for parquet, which has no lines

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def require(self, *names: str) -> None:
        """Raise InputError for the first of `names` that is missing."""
        for name in names:
            if name not in self.columns:
                raise InputError(
                    f"lacks column {name}; found {', '.join(self.names)}", path=self.path
                )

    def whole(self, name: str, least: int, most: int | Int | None = None) -> Int:
        """Return a column of whole numbers from `least` to `most` as int64.

        `most` is one number, an array with one per row, or None for no bound. Floats that are
        whole numbers are accepted.
        """
        expected = _range(least, None if isinstance(most, np.ndarray) else most)
        values = self._whole(name, f"whole numbers, {expected}")
        bad = values < least
        if isinstance(most, np.ndarray):
            self.refuse(name, bad | (values > most), values, lambda row: _range(least, most[row]))
        else:
            self.refuse(name, bad if most is None else bad | (values > most), values, expected)
        return values

    def finite(self, name: str) -> Float:
        """Return a column of finite numbers as float64."""
        expected = "finite numbers"
        values = self._numbers(name, expected).astype(np.float64, copy=False)
        self.refuse(name, ~np.isfinite(values), values, expected)
        return values

    def ordered(self, name: str) -> NDArray[np.floating[Any]]:
        """Return finite numbers as floats in the same order, large integers by their places."""
        column = plain(self._complete(name, "finite numbers"))
        whole = pa.types.is_integer(column.type)
        return ordered_floats(as_numpy(column)) if whole else self.finite(name)

    def times(self, name: str) -> tuple[Int | Float, str | None]:
        """Return a column of times as numbers in the same order, and their unit.

        Numbers stay as they are, of unit None. Dates become days, dates with times the number of
        seconds, or of a finer unit if the column needs it, since 1970; the unit is numpy's.
        """
        column = plain(self._complete(name, TIMES))
        if is_text(column.type):
            column = self._cast(name, column, time_type(column), TIMES)
        kind = column.type
        if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
            small = pa.types.is_date32(kind) or pa.types.is_time32(kind)
            numbers = as_numpy((column.cast(pa.int32()) if small else column).cast(pa.int64()))
            return numbers, unit_of(kind)
        values = self._as_numbers(name, column, TIMES)
        self.refuse(name, ~np.isfinite(values), values, TIMES)
        return values, None

    def ids(self, name: str) -> pa.ChunkedArray:
        """Return a column of ids: int64 where all are whole numbers as usually written, else text.

        `007` is not written as a number usually is, so a column that holds it stays text and it
        differs from `7`.
        """
        codes, names = self.codes(name)
        return pa.chunked_array([names.take(as_arrow(codes))])

    def codes(self, name: str) -> tuple[Codes, pa.Array]:
        """Encode a column of ids: int32 codes of the rows, and the id of each code.

        Codes count from 0 in the order in which the ids first appear; the ids are those of `ids`.
        """
        column = self._complete(name, IDS)
        is_encoded = pa.types.is_dictionary(column.type)
        kind = column.type.value_type if is_encoded else column.type
        if pa.types.is_floating(kind) or kind == pa.uint64():
            kind, column = pa.int64(), pa.chunked_array([as_arrow(self._whole(name, IDS))])
        if not (is_text(kind) or pa.types.is_integer(kind)):
            raise self._wrong_type(name, column, IDS)
        codes, names = encoded(column)
        if not is_text(kind):
            return codes, names.cast(pa.int64())
        self._check_text(name, codes, names)
        return codes, as_numbers(names)

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

    def line(self, row: int) -> int | None:
        """Return the line, from 1, of a row, from 0; None where the file has no lines."""
        if self.header is None:
            return None
        place = self.header + row
        filled = (number for number, line in lines(self.path) if line.rstrip("\r\n"))
        return next(number for count, number in enumerate(filled) if count == place)

    def error(self, name: str, row: int, found: object, expected: str) -> InputError:
        """Make the error for a value; `row` counts from 0."""
        if isinstance(found, np.floating):
            found = f"{found:.15g}"
        shown = str(found)
        if len(shown) > _LONGEST:  # a stray quote makes one value of many lines
            shown = f"{shown[:_LONGEST]}..."
        return self.error_at(row, f"found {shown}; expected {expected}", name)

    def error_at(self, row: int, problem: str, column: str | None = None) -> InputError:
        """Make the error for a row, which counts from 0."""
        line = self.line(row)
        return InputError(problem, path=self.path, row=row + 1, line=line, column=column)

    def _whole(self, name: str, expected: str) -> Int:
        values = self._numbers(name, expected)
        if values.dtype.kind == "f":
            whole = (np.floor(values) == values) & (np.abs(values) < EXACT)
            self.refuse(name, ~whole, values, expected)
        return values.astype(np.int64, copy=False)

    def _numbers(self, name: str, expected: str) -> NDArray[Any]:
        return self._as_numbers(name, plain(self._complete(name, expected)), expected)

    def _as_numbers(self, name: str, column: Any, expected: str) -> NDArray[Any]:
        from pyarrow import compute

        kind = column.type
        if pa.types.is_integer(kind):
            large = kind == pa.uint64() and compute.max(column).as_py() >= 1 << 63
            return as_numpy(column.cast(pa.float64() if large else pa.int64(), safe=False))
        if not (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            if pa.types.is_duration(kind) or not fits(column, pa.string()):
                raise self._wrong_type(name, column, expected)
            text = compute.utf8_trim_whitespace(column.cast(pa.string()))
            column = self._cast(name, text, pa.float64(), expected)
        return as_numpy(column.cast(pa.float64(), safe=False))

    def _cast(self, name: str, text: Any, kind: Any, expected: str) -> Any:
        """Cast text, or raise InputError for the first value that does not fit."""
        row = first_misfit(text, kind)
        if row is None:
            return text.cast(kind)
        value = text[row].as_py()
        raise self.error(name, row, repr(value) if value else "nothing", expected)

    def _check_text(self, name: str, codes: Codes, names: Any) -> None:
        """Refuse ids without a character, very long ones, and those of more than one line."""
        from pyarrow import compute

        length = as_numpy(compute.utf8_length(names))
        control = compute.match_substring_regex(names, r"[\x00-\x1f\x7f]").cast("uint8")
        bad = (length == 0) | (length > LONGEST_ID) | (as_numpy(control) == 1)
        if bad.any():
            row = int(np.argmax(bad[codes]))
            code = int(codes[row])
            if not length[code]:
                raise self.error(name, row, "nothing", IDS)
            if length[code] > LONGEST_ID:
                problem = f"found an id of {length[code]} characters; expected at most {LONGEST_ID}"
                raise self.error_at(row, problem, name)
            value = repr(names[code].as_py())
            raise self.error(name, row, value, "text without control characters")

    def _complete(self, name: str, expected: str) -> pa.ChunkedArray:
        """Return a column, or raise InputError where it is missing or a value is."""
        self.require(name)
        column = self.columns[name]
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy()))
            raise self.error(name, row, "nothing", expected)
        return column

    def _wrong_type(self, name: str, column: Any, expected: str) -> InputError:
        problem = f"found type {column.type}; expected {expected}"
        return InputError(problem, path=self.path, column=name)


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbers, from 1, and the text of the lines of a file, which may be compressed."""
    with pa.input_stream(str(path)) as stream:
        text = io.TextIOWrapper(io.BufferedReader(stream), "utf-8-sig", errors="replace")
        yield from enumerate(text, start=1)


def _range(least: int, most: Any) -> str:
    return f"at least {least}" if most is None else f"{least} to {most}"
