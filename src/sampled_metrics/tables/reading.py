"""Tables of other people: CSV, TSV and parquet, read or refused in one line.

Columns have the names of RecTools and RecBole (`user_id`, `item_id`, `score`, `rank`); RecBole's
typed headers (`user_id:token`) lose their types. Rows are counted from 1, without the header.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sampled_metrics._base.errors import InputError
from sampled_metrics.tables.columns import ITEM, USER, Table, lines

_KNOWN = (
    *(USER, ITEM, "rank", "score", "relevance"),
    *("n_candidates", "n_better", "n_tied", "sampled_rank", "repetition"),
)
_TYPES = re.compile(r":(token|float)(_seq)?$")
_HEAD = 1 << 16


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


def text_header(path: Path, what: str) -> tuple[str, list[str]]:
    """Return what separates the columns of a text file, and their names as they stand there."""
    header = head(path, what)
    delimiter = "\t" if "\t" in header else ","
    return delimiter, next(csv.reader([header], delimiter=delimiter), [])


def parse_text(path: Path, what: str, names: Sequence[str], **options: Any) -> Any:
    """Read text by pyarrow's reader; its errors become one line each.

    `names` are the columns, the ids among them kept as text; `options` are those of pyarrow's
    ParseOptions, and `column_names` and `source` where they differ from the file's.
    """
    import pyarrow as pa
    from pyarrow import csv as reader

    source, given = options.pop("source", str(path)), options.pop("column_names", None)
    kept = [name for name in names if bare_name(name) in _KNOWN]
    try:
        table = reader.read_csv(
            source,
            reader.ReadOptions(column_names=given),
            reader.ParseOptions(**options),
            reader.ConvertOptions(
                include_columns=kept,
                column_types={
                    name: pa.string() for name in kept if bare_name(name) in (USER, ITEM)
                },
                null_values=[""],
            ),
        )
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise unreadable_text(path, what, error, options["delimiter"]) from error
    unreadable = [name for name in kept if pa.types.is_binary(table[name].type)]
    if unreadable:
        raise InputError(
            f"{path}: column {bare_name(unreadable[0])}: found bytes; allowed: UTF-8 text"
        )
    return table


def _read_text(path: Path, what: str) -> Table:
    delimiter, names = text_header(path, what)
    bare = distinct(path, names)
    if not any(name in _KNOWN for name in bare):
        return Table(path, {}, bare, 1)
    columns = parse_text(path, what, names, delimiter=delimiter)
    return Table(path, {bare_name(name): columns[name] for name in columns.column_names}, bare, 1)


def _read_parquet(path: Path, what: str) -> Table:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            bare = distinct(path, names)
            kept = [name for name in names if bare_name(name) in _KNOWN]
            columns = file.read(columns=kept)
    except (OSError, pa.ArrowException) as error:
        raise unreadable_parquet(path, what, error) from error
    plain = {bare_name(name): without_dictionary(columns[name]) for name in kept}
    return Table(path, plain, bare, None)


def unreadable_parquet(path: Path, what: str, error: Exception) -> InputError:
    """Make the error for what pyarrow cannot read as parquet."""
    return InputError(f"{path}: not parquet ({_line_of(error)}); expected {what}")


def bare_name(name: str) -> str:
    """Name of a column without the type that RecBole puts behind it."""
    return _TYPES.sub("", name.strip())


def distinct(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Return the bare names of columns, or raise InputError where one that is read recurs."""
    bare = tuple(map(bare_name, names))
    twice = [name for name in _KNOWN if bare.count(name) > 1]
    if twice:
        raise InputError(
            f"{path}: column {twice[0]} stands there {bare.count(twice[0])} times; allowed: once"
        )
    return bare


def without_dictionary(column: Any) -> Any:
    """Return a column with each value in its place."""
    import pyarrow as pa

    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def unreadable_text(path: Path, what: str, error: Exception, delimiter: str) -> InputError:
    """Make the error for text that pyarrow's reader refuses; a row of wrong length has its line."""
    found = re.search(r"Expected (\d+) columns, got (\d+)", str(error))
    if not found:
        return InputError(f"{path}: not {what} ({_line_of(error)})")
    allowed, actual = map(int, found.groups())
    for number, line in enumerate(lines(path), start=1):
        text = line.decode(errors="replace")
        # Between white space any number of blanks stands for one.
        fields = text.split() if delimiter == " " else next(csv.reader([text], delimiter=delimiter))
        if line and len(fields) == actual:
            return InputError(f"{path}: line {number}: found {actual} columns; allowed: {allowed}")
    return InputError(f"{path}: found {actual} columns in a row; allowed: {allowed}")


def _line_of(error: Exception) -> str:
    return " ".join(str(error).split())
