"""Columns of a table, checked when they are asked for; each failure is one InputError.

Errors name the row, from 1 without the header, and the line. Columns hold numbers, times or ids.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sampled_metrics._base.arrays import (
    EXACT,
    Array,
    Bool,
    Float,
    Floats,
    Ids,
    Int,
    ordered_floats,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.packages import pyarrow as pa
from sampled_metrics.tables import arrow
from sampled_metrics.tables.lines import filled_lines, shortened
from sampled_metrics.tables.names import KNOWN, Names, named

Expected: TypeAlias = str | Callable[[int], str]  # in words, or those of a row

_IDS = "whole numbers or text"
_TIMES = "numbers, or ISO 8601 dates and times, of one kind in all rows"
_FINITE = "finite numbers"
_NO_IDS = {  # regular expressions of texts
    r"^$": f"found nothing; expected {_IDS}",
    r"(?s:^.{201})": "found an id of more than 200 characters",
    r"[\x00-\x1f\x7f]": "found an id with control characters",
}
_INT64 = np.iinfo(np.int64)


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
    floats: tuple[str, ...] = ()  # other columns, which hold numbers with decimals

    @classmethod
    def of(
        cls,
        path: Path,
        names: Names,
        read: Mapping[str, pa.ChunkedArray] | pa.Table,
        header: int | None = None,
        metadata: dict[bytes, bytes] | None = None,
    ) -> Table:
        """Take the wanted columns of what was read; a row with their names raises InputError."""
        columns = {known: read[name] for name, known in names.wanted.items()}
        table = cls(path, columns, names.all, header, metadata or {}, names.floats)
        row = arrow.row_of_texts(list(columns.values()), list(names.wanted))
        if row is not None:
            raise table.error_at(row, "the header again; remove this row")
        return table

    @classmethod
    def of_columns(cls, path: Path, columns: Mapping[str, arrow.Values]) -> Table:
        """Take arrays of pyarrow or numpy under the names that they have for people."""
        arrays = {name: arrow.chunked(values) for name, values in columns.items()}
        is_float = [pa.types.is_floating(array.type) for array in arrays.values()]
        names = named(path, list(arrays), KNOWN, is_float)
        known = {own: arrays[name] for name, own in names.wanted.items()}
        return cls(path, known, names.all, floats=names.floats)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def require(self, *names: str) -> None:
        """Raise InputError for the first of `names` that is missing."""
        for name in names:
            if name not in self.columns:
                found = ", ".join(self.names)
                raise InputError(f"lacks column {name}; found {found}", path=self.path)

    def whole(
        self, name: str, least: int, most: int | Int | None = None, expected: str | None = None
    ) -> Int:
        """Return a column of whole numbers from `least` to `most` as int64.

        `most` is one number, an array with one per row, or None for no bound. Floats that are
        whole numbers are accepted. `expected` are such numbers in words.
        """
        of_rows = np.asarray(most)
        bound = f"at least {least}"
        if most is not None and not of_rows.ndim:
            bound = f"{least} to {most}"
        words = expected or f"whole numbers, {bound}"
        values = self._numbers(name, words)
        if values.dtype.kind == "f":
            is_whole = (np.floor(values) == values) & (np.abs(values) < EXACT)
            self.refuse(name, ~is_whole, values, words)
        values = values.astype(np.int64, copy=False)
        bad = values < least
        if most is not None:
            bad |= values > most
        if of_rows.ndim and bad.any():
            bound = f"{least} to {of_rows[np.argmax(bad)]}"
        self.refuse(name, bad, values, bound)
        return values

    def marks(self, name: str) -> Bool:
        """Return a column of 1 or 0, or of true or false."""
        column = self._complete(name, "1 or 0")
        if pa.types.is_boolean(column.type):
            return arrow.booleans(column)
        return self.whole(name, 0, 1) == 1

    def finite(self, name: str) -> Float:
        """Return a column of finite numbers as float64."""
        values = self._numbers(name, _FINITE).astype(np.float64, copy=False)
        self.refuse(name, ~np.isfinite(values), values, _FINITE)
        return values

    def is_whole(self, name: str) -> bool:
        """Return whether a column holds whole numbers only, not decimals."""
        return bool(pa.types.is_integer(self.columns[name].type))

    def ordered(self, name: str) -> Floats:
        """Return finite numbers as floats in the same order, large integers by their places."""
        column = self._complete(name, _FINITE)
        if pa.types.is_integer(column.type):
            return ordered_floats(arrow.as_numpy(column))
        return self.finite(name)

    def times(self, name: str) -> tuple[Int | Float, str | None]:
        """Return a column of times as numbers in the same order, and their unit.

        Numbers stay as they are, of unit None. Dates and times become the number of seconds, or of
        a finer unit if the column needs it, since 1970; the unit is numpy's.
        """
        column = self._complete(name, _TIMES)
        if arrow.is_text(column.type):
            column = self._cast(name, column, _type_of_times(column), _TIMES)
        elif pa.types.is_date(column.type):
            column = arrow.cast(column, pa.timestamp("s"))
        if pa.types.is_timestamp(column.type):
            values = arrow.as_numpy(arrow.int64(column))
            return values, str(column.type.unit)
        values = self._numbers(name, _TIMES, column)
        self.refuse(name, ~np.isfinite(values), values, _TIMES)
        return values, None

    def ids(self, name: str) -> pa.Array:
        """Return a column of ids: int64 if all are whole numbers as usually written, else text.

        `007` is not written as a number usually is, so a column that holds it stays text and it
        differs from `7`.
        """
        codes, names = self.codes(name)
        return arrow.take(names, codes)

    def codes(self, name: str) -> tuple[arrow.Codes, pa.Array]:
        """Encode a column of ids: int32 codes of the rows, and the id of each code.

        Codes count from 0 in the order in which the ids first appear; the ids are those of `ids`.
        """
        column = self._present(name, _IDS)
        kind = column.type
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        if pa.types.is_floating(kind) or kind == pa.uint64():
            column = arrow.chunked(self.whole(name, _INT64.min, expected=_IDS))
            kind = pa.int64()
        if not (arrow.is_text(kind) or pa.types.is_integer(kind)):
            raise self._wrong_type(name, column, _IDS)
        codes, names = arrow.encoded(column)
        if pa.types.is_integer(kind):
            return codes, arrow.int64(names)
        self._refuse_no_ids(name, codes, names)
        return codes, arrow.as_whole_numbers(names)

    def _refuse_no_ids(self, name: str, codes: arrow.Codes, texts: pa.Array) -> None:
        """Raise InputError for the first row whose text is no id."""
        if not arrow.matches(texts, "|".join(_NO_IDS)).any():
            return
        for pattern, problem in _NO_IDS.items():
            bad = arrow.matches(texts, pattern)
            if bad.any():
                raise self.error_at(int(np.argmax(bad[codes])), problem, name)

    def places(self, name: str, among: Ids, expected: str) -> Int:
        """Return the place of each id of a column in `among`; a missing one raises InputError."""
        ids = self.ids(name)
        place = arrow.places(ids, among)
        self.refuse(name, place < 0, ids, expected)
        return place

    def refuse(self, name: str, bad: Bool, values: arrow.Values, expected: Expected) -> None:
        """Raise InputError for the first bad row; what is expected may depend on the row."""
        if not bad.any():
            return
        row = int(np.argmax(bad))
        if callable(expected):
            expected = expected(row)
        raise self.error(name, row, values[row], expected)

    def error(self, name: str, row: int, found: object, expected: str) -> InputError:
        """Make the error for a value; `row` counts from 0."""
        shown = str(found)
        if isinstance(found, np.floating):
            shown = f"{found:.15g}"
        # A stray quote makes one value of many lines.
        return self.error_at(row, f"found {shortened(shown)}; expected {expected}", name)

    def error_at(self, row: int, problem: str, column: str | None = None) -> InputError:
        """Make the error for a row, which counts from 0."""
        line = None
        if self.header is not None:
            numbers = [number for number, _ in filled_lines(self.path)]
            line = numbers[self.header + row]
        return InputError(problem, path=self.path, row=row + 1, line=line, column=column)

    def _numbers(self, name: str, expected: str, column: arrow.Column | None = None) -> Array:
        """Return any numbers, or text that holds numbers, as int64 or float64."""
        if column is None:
            column = self._complete(name, expected)
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            if pa.types.is_duration(kind) or not arrow.fits(column, pa.string()):
                raise self._wrong_type(name, column, expected)
            text = arrow.call("utf8_trim_whitespace", arrow.cast(column, pa.string()))
            column = self._cast(name, text, pa.float64(), expected)
        return arrow.numbers(column)

    def _cast(self, name: str, text: arrow.Column, kind: pa.DataType, expected: str) -> Any:
        """Cast text, or raise InputError for the first value that does not fit."""
        if arrow.fits(text, kind):
            return arrow.cast(text, kind)
        rows = range(len(text))
        row = bisect_left(rows, True, key=lambda row: not arrow.fits(text[: row + 1], kind))
        raise self.error(name, row, repr(text[row].as_py()), expected)

    def _complete(self, name: str, expected: str) -> Any:
        """Return a column without categories, or raise InputError where a value is missing."""
        column = self._present(name, expected)
        if pa.types.is_dictionary(column.type):
            return arrow.cast(column, column.type.value_type)
        return column

    def _present(self, name: str, expected: str) -> Any:
        """Return a column, or raise InputError where it is missing or a value is."""
        self.require(name)
        column = self.columns[name]
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy()))
            raise self.error(name, row, "nothing", expected)
        return column

    def _wrong_type(self, name: str, column: arrow.Column, expected: str) -> InputError:
        found = f"type {column.type}"
        if pa.types.is_binary(column.type):
            found = "bytes, not UTF-8"
        return InputError(f"found {found}; expected {expected}", path=self.path, column=name)


def _type_of_times(column: arrow.Column) -> Any:
    """Return the first type that fits all texts, or else one that fits the first of them."""
    kinds = [pa.int64(), pa.float64()]
    for zone in (None, "UTC"):
        kinds += [pa.timestamp(unit, zone) for unit in ("s", "us", "ns")]
    of_first = pa.float64()
    for kind in kinds:
        if arrow.fits(column[:1], kind):
            if arrow.fits(column, kind):
                return kind
            of_first = kind
    return of_first
