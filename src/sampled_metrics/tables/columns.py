"""Columns of a table, checked: numbers, ids, and errors that name the row and its line."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

USER, ITEM = "user_id", "item_id"
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_IDS = "whole numbers or text"
_EXACT = 2.0**53


@dataclass(frozen=True)
class Table:
    """Columns of a file, which say where they are wrong.

    Attributes
    ----------
    path
        The file.
    columns
        pyarrow's chunked arrays by name, all of one length of at least 1.
    names
        All columns of the file, also those not read.
    header
        Lines before the first row in a text file; None where the file has no lines.
    first
        Rows of the file before those held here.

    >>> import pyarrow as pa
    >>> table = Table(Path("r.parquet"), {"rank": pa.chunked_array([[3, 0]])}, ("rank",), None)
    >>> table.whole("rank", 1, 9)
    Traceback (most recent call last):
    sampled_metrics.InputError: r.parquet: column rank, row 2: found 0; allowed: 1 to 9
    """

    path: Path
    columns: "dict[str, pa.ChunkedArray]"
    names: tuple[str, ...]
    header: int | None
    first: int = 0

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def require(self, *names: str) -> None:
        """Raise InputError for the first of `names` that is no column."""
        for name in names:
            if name not in self.columns:
                raise InputError(f"{self.path}: lacks column {name}; found {', '.join(self.names)}")

    def whole(self, name: str, least: int, most: int | Int | None = None) -> Int:
        """Return a column of whole numbers, int64, each from `least` to `most`.

        `most` is one number, or one a row, or None for no bound. Floats that are whole pass.

        Raises
        ------
        InputError
            The column is missing, or a value is none or out of range; the message names the row.
        """
        kind = f"whole numbers, {_range(least, None if isinstance(most, np.ndarray) else most)}"
        values = self._whole(name, kind)
        bad = values < least if most is None else (values < least) | (values > most)
        if bad.any():
            row = int(np.argmax(bad))
            allowed = _range(least, most[row] if isinstance(most, np.ndarray) else most)
            raise self.error(name, row, values[row], allowed)
        return values

    def finite(self, name: str) -> NDArray[np.float64]:
        """Return a column of finite numbers, float64.

        Raises
        ------
        InputError
            The column is missing or a value is no finite number; the message names the row.
        """
        values = self._numbers(name, "finite numbers").astype(np.float64, copy=False)
        self._refuse(name, ~np.isfinite(values), values, "finite numbers")
        return values

    def ids(self, name: str) -> "pa.ChunkedArray":
        """Return a column of ids: int64 where all are whole numbers as usually written, else text.

        `007` is no such number, so a column that holds it stays text and it differs from `7`.

        Raises
        ------
        InputError
            The column is missing, or an id is empty or neither a whole number nor text.
        """
        import pyarrow as pa
        from pyarrow import compute

        self.require(name)
        column = self._complete(name, _IDS)
        if pa.types.is_integer(column.type) or pa.types.is_floating(column.type):
            return pa.chunked_array([pa.array(self._whole(name, _IDS))])
        column = self._cast(name, column, pa.string(), _IDS)
        self._refuse_where(name, compute.equal(compute.binary_length(column), 0), _IDS)
        return _as_integers(column)

    def row(self, number: int) -> str:
        """Name a row, counted here from 0; where the file has lines, with its line."""
        place = self.first + number
        line = "" if self.header is None else f" (line {_line(self.path, self.header + place)})"
        return f"row {place + 1}{line}"

    def error(self, name: str, row: int, found: object, allowed: str) -> InputError:
        """Make the error for a value; `row` counts from 0."""
        if isinstance(found, np.floating):
            found = f"{found:.15g}"
        return InputError(
            f"{self.path}: column {name}, {self.row(row)}: found {found}; allowed: {allowed}"
        )

    def _whole(self, name: str, allowed: str) -> Int:
        values = self._numbers(name, allowed)
        if values.dtype.kind == "f":
            whole = (np.floor(values) == values) & (np.abs(values) < _EXACT)
            self._refuse(name, ~whole, values, allowed)
        return values.astype(np.int64, copy=False)

    def _numbers(self, name: str, allowed: str) -> NDArray[Any]:
        import pyarrow as pa

        self.require(name)
        column = self._complete(name, allowed)
        kind = column.type
        if pa.types.is_integer(kind) and kind != pa.uint64():
            return column.cast(pa.int64()).to_numpy()
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            column = self._parse(name, column, allowed)
        return column.cast(pa.float64(), safe=False).to_numpy()

    def _parse(self, name: str, column: Any, allowed: str) -> Any:
        """Take text for numbers, or name the first that is none."""
        import pyarrow as pa
        from pyarrow import compute

        text = self._cast(name, column, pa.string(), allowed)
        wrong = np.flatnonzero(~compute.match_substring_regex(text, _NUMBER).to_numpy())
        if wrong.size:
            value = text[int(wrong[0])].as_py()
            raise self.error(name, int(wrong[0]), repr(value) if value else "nothing", allowed)
        return compute.utf8_trim_whitespace(text).cast(pa.float64())

    def _cast(self, name: str, column: Any, kind: Any, allowed: str) -> Any:
        import pyarrow as pa

        try:
            return column.cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise InputError(
                f"{self.path}: column {name} is of type {column.type}; allowed: {allowed}"
            ) from None

    def _complete(self, name: str, allowed: str) -> Any:
        from pyarrow import compute

        column = self.columns[name]
        if column.null_count:
            self._refuse_where(name, compute.is_null(column), allowed)
        return column

    def _refuse_where(self, name: str, empty: Any, allowed: str) -> None:
        rows = np.flatnonzero(empty.to_numpy())
        if rows.size:
            raise self.error(name, int(rows[0]), "nothing", allowed)

    def _refuse(self, name: str, bad: NDArray[np.bool_], values: Any, allowed: str) -> None:
        if bad.any():
            row = int(np.argmax(bad))
            raise self.error(name, row, values[row], allowed)


def _as_integers(text: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    padded = compute.or_(
        compute.and_(
            compute.starts_with(text, "0"), compute.greater(compute.binary_length(text), 1)
        ),
        compute.starts_with(text, "-0"),
    )
    try:
        return text if compute.any(padded).as_py() else text.cast(pa.int64())
    except pa.ArrowInvalid:
        return text


def _range(least: int, most: Any) -> str:
    return f"at least {least}" if most is None else f"{least} to {most}"


def _line(path: Path, place: int) -> int:
    """Number of the line, from 1, of a row; the reader skips lines that are empty."""
    return [number for number, line in enumerate(lines(path), start=1) if line][place]


def lines(path: Path) -> list[bytes]:
    """Return the lines of a text file, which may be compressed."""
    import pyarrow as pa

    with pa.input_stream(str(path)) as stream:
        return stream.read().removeprefix(b"\xef\xbb\xbf").splitlines()
