"""Tables of other people: CSV, TSV and parquet in, checked columns or one-line errors out.

Columns have the names of RecTools and RecBole (`user_id`, `item_id`, `score`, `rank`); RecBole's
typed headers (`user_id:token`) lose their types. Rows are counted from 1, without the header.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics.errors import InputError
from sampled_metrics.ranks import Int

if TYPE_CHECKING:
    import pyarrow as pa

USER, ITEM = "user_id", "item_id"
_KNOWN = (
    *(USER, ITEM, "rank", "score", "relevance"),
    *("n_candidates", "n_better", "n_tied", "sampled_rank", "repetition"),
)
_TYPES = re.compile(r":(token|float)(_seq)?$")
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_IDS = "whole numbers or text"
_EXACT = 2.0**53
_HEAD = 1 << 16


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
    """

    path: Path
    columns: "dict[str, pa.ChunkedArray]"
    names: tuple[str, ...]
    header: int | None

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
        line = "" if self.header is None else f" (line {_line(self.path, self.header + number)})"
        return f"row {number + 1}{line}"

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


def read_table(path: Path, what: str) -> Table:
    """Read a table: parquet where the file is named so, else text with a header.

    The header tells whether commas or tabs separate the columns. Text may be compressed, as its
    name says (`.csv.gz`). Columns of names that nothing here reads are not kept.

    Raises
    ------
    InputError
        The file is missing, empty, no such table, or its rows differ in length; the message says
        it was to be `what`.
    """
    path = Path(path)
    require_file(path, what)
    table = _read_parquet(path, what) if path.suffix == ".parquet" else _read_text(path, what)
    if not table.columns:
        raise InputError(
            f"{path}: found columns {', '.join(table.names)}; expected {what}: "
            f"some of {', '.join(_KNOWN)}"
        )
    if not len(table):
        found = "no rows" if table.header is None else "a header and no rows"
        raise InputError(f"{path}: {found}; expected {what}")
    return table


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the file's name before the message of an InputError that does not know it."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def require_file(path: Path, what: str) -> None:
    """Raise InputError unless `path` is a file that holds something."""
    if path.is_dir():
        raise InputError(f"{path}: a folder; expected {what}")
    if not path.exists():
        raise InputError(f"{path}: no such file; expected {what}")
    if not path.is_file():
        raise InputError(f"{path}: a pipe or device, which cannot be read twice; expected {what}")
    if not path.stat().st_size:
        raise InputError(f"{path}: empty; expected {what}")


def head(path: Path, what: str) -> str:
    """Return the first line of a text file that is not empty.

    Raises
    ------
    InputError
        The file is no text.
    """
    import pyarrow as pa

    try:
        with pa.input_stream(str(path)) as stream:
            beginning = stream.read(_HEAD)
        if b"\0" in beginning:
            raise InputError(f"{path}: not text; expected {what}")
        text = beginning.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
        if not text:
            raise InputError(f"{path}: empty; expected {what}")
        return re.split(rb"[\r\n]", text)[0].decode()
    except (OSError, pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not text ({_line_of(error)}); expected {what}") from error


def parse_text(path: Path, what: str, names: Sequence[str], **options: Any) -> Any:
    """Read text by pyarrow's reader; its errors become one line each.

    `names` are the columns, the ids among them kept as text; `options` are those of pyarrow's
    ParseOptions, and `column_names` and `source` where they differ from the file's.
    """
    import pyarrow as pa
    from pyarrow import csv as reader

    source, given = options.pop("source", str(path)), options.pop("column_names", None)
    kept = [name for name in names if _bare(name) in _KNOWN]
    try:
        table = reader.read_csv(
            source,
            reader.ReadOptions(column_names=given),
            reader.ParseOptions(**options),
            reader.ConvertOptions(
                include_columns=kept,
                column_types={name: pa.string() for name in kept if _bare(name) in (USER, ITEM)},
                null_values=[""],
            ),
        )
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        _refuse_row(path, str(error), options["delimiter"])
        raise InputError(f"{path}: not {what} ({_line_of(error)})") from error
    unreadable = [name for name in kept if pa.types.is_binary(table[name].type)]
    if unreadable:
        raise InputError(f"{path}: column {_bare(unreadable[0])}: found bytes; allowed: UTF-8 text")
    return table


def _read_text(path: Path, what: str) -> Table:
    header = head(path, what)
    delimiter = "\t" if "\t" in header else ","
    names = next(csv.reader([header], delimiter=delimiter), [])
    bare = _distinct(path, names)
    if not any(name in _KNOWN for name in bare):
        return Table(path, {}, bare, 1)
    columns = parse_text(path, what, names, delimiter=delimiter)
    return Table(path, {_bare(name): columns[name] for name in columns.column_names}, bare, 1)


def _read_parquet(path: Path, what: str) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            bare = _distinct(path, names)
            kept = [name for name in names if _bare(name) in _KNOWN]
            columns = file.read(columns=kept)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path}: not parquet ({_line_of(error)}); expected {what}") from error
    plain = {_bare(name): _without_dictionary(columns[name]) for name in kept}
    return Table(path, plain, bare, None)


def _bare(name: str) -> str:
    return _TYPES.sub("", name.strip())


def _distinct(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    bare = tuple(map(_bare, names))
    twice = [name for name in _KNOWN if bare.count(name) > 1]
    if twice:
        raise InputError(
            f"{path}: column {twice[0]} stands there {bare.count(twice[0])} times; allowed: once"
        )
    return bare


def _without_dictionary(column: Any) -> Any:
    import pyarrow as pa

    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


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
    return [number for number, line in enumerate(_lines(path), start=1) if line][place]


def _refuse_row(path: Path, message: str, delimiter: str) -> None:
    """Raise InputError with the line, where the reader says that a row is of another length."""
    found = re.search(r"Expected (\d+) columns, got (\d+)", message)
    if not found:
        return
    allowed, actual = map(int, found.groups())
    for number, line in enumerate(_lines(path), start=1):
        text = line.decode(errors="replace")
        # Between white space any number of blanks stands for one.
        fields = text.split() if delimiter == " " else next(csv.reader([text], delimiter=delimiter))
        if line and len(fields) == actual:
            raise InputError(f"{path}: line {number}: found {actual} columns; allowed: {allowed}")


def _lines(path: Path) -> list[bytes]:
    import pyarrow as pa

    with pa.input_stream(str(path)) as stream:
        return stream.read().removeprefix(b"\xef\xbb\xbf").splitlines()


def _line_of(error: Exception) -> str:
    return " ".join(str(error).split())
