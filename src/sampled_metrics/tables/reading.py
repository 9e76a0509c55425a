"""Reading CSV, TSV and parquet; each failure is one InputError.

Columns have the names of RecTools and RecBole (`user_id`, `item_id`, `score`, `rank`); RecBole's
typed headers (`user_id:token`) lose their types. Rows are counted from 1, without the header.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv as text_reader
from pyarrow import parquet

from sampled_metrics._base.errors import InputError
from sampled_metrics.tables.columns import Table, lines
from sampled_metrics.tables.ids import ITEM, USER
from sampled_metrics.tables.naming import (
    KNOWN,
    bare_name,
    refuse_headless,
    refuse_other_kinds,
    selected,
)

PARQUET = (".parquet", ".pq")
_HEAD = 1 << 16


def read_table(
    path: Any,
    what: str,
    columns: Sequence[str] = KNOWN,
    *,
    ids: Sequence[str] = (USER, ITEM),
    likely: Mapping[str, str] | None = None,
    separator: str | None = None,
    header: bool = True,
) -> Table:
    """Read a table: parquet if the file is named so, else text, which may be compressed.

    Parameters
    ----------
    path, what
        The file, or a DataFrame, and what it should be, for messages.
    columns, ids
        Columns to read where they are present, at least one, and those of them that hold ids.
    likely
        pyarrow types of columns to try before types are inferred from text, which holds the whole
        text in memory.
    separator
        What separates columns of text; by default a tab if the first line has one, else a comma.
    header
        Whether the first line names the columns; otherwise they are called `0`, `1` and so on.
    """
    if is_frame(path):
        table = _of_frame(path, columns)
    else:
        path = Path(path)
        require_file(path, what)
        if path.suffix.lower() not in PARQUET:
            table = _read_text(path, what, columns, ids, likely, separator, header)
        elif header:
            table = _read_parquet(path, what, columns)
        else:
            raise InputError("parquet names its columns; use names, not places", path=path)
    if not table.columns:
        refuse_headless(table.path, table.names, what, columns)
    return with_rows(table, what)


def with_rows(table: Table, what: str) -> Table:
    """Return a table; InputError if it has no rows."""
    if not len(table):
        raise InputError(f"no rows; expected {what}", path=table.path)
    return table


def column_names(data: Any, what: str) -> tuple[str, ...]:
    """Return the names of all columns of a table, a file or a DataFrame."""
    if is_frame(data):
        names = list(map(str, data.columns))
    elif Path(data).suffix.lower() in PARQUET:
        with parsing(data, what):
            names = parquet.read_schema(data).names
    else:
        names = _text_header(data, what)[1]
    return tuple(map(bare_name, names))


def is_frame(data: Any) -> bool:
    """Return whether data is a DataFrame of pandas, which is not imported for the question."""
    return type(data).__name__ == "DataFrame" and hasattr(data, "columns")


def require_file(path: Path, what: str) -> None:
    """Raise InputError unless `path` is a file that is not empty."""
    problem = None
    if path.is_dir():
        problem = "a folder"
    elif not path.exists():
        problem = "no such file"
    elif not path.is_file():
        problem = "a pipe or device, which cannot be read twice"
    elif not path.stat().st_size:
        problem = "empty"
    if problem:
        raise InputError(f"{problem}; expected {what}", path=path)


def head(path: Path, what: str) -> str:
    """Return the first line of a text file that is not empty."""
    try:
        with pa.input_stream(str(path)) as stream:
            beginning = stream.read(_HEAD)
        refuse_other_kinds(path, beginning, what)
        if b"\0" in beginning:
            raise InputError(f"not text; expected {what}", path=path)
        text = beginning.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
        if not text:
            raise InputError(f"empty; expected {what}", path=path)
        return re.split(rb"[\r\n]", text)[0].decode()
    except (OSError, pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise InputError(f"not text ({error}); expected {what}", path=path) from error


def parse_text(
    path: Path,
    what: str,
    columns: Mapping[str, str],
    *,
    ids: Sequence[str] = (USER, ITEM),
    likely: Mapping[str, str] | None = None,
    source: Any = None,
    column_names: Sequence[str] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Read columns of text by pyarrow.

    `columns` has the names to use by those of the file. Where they are given, `source` is read
    instead of the file and `column_names` replace its header. `options` are those of pyarrow's
    ParseOptions.
    """
    encoded = pa.dictionary(pa.int32(), pa.string())
    types = {name: encoded for name, bare in columns.items() if bare in ids}

    def read(types: dict[str, Any]) -> Any:
        return text_reader.read_csv(
            str(path) if source is None else source,
            text_reader.ReadOptions(column_names=column_names),
            text_reader.ParseOptions(**options),
            text_reader.ConvertOptions(
                include_columns=list(columns), column_types=types, null_values=[""]
            ),
        )

    guess = {name: (likely or {}).get(bare) for name, bare in columns.items()}
    guessed = {name: pa.type_for_alias(kind) for name, kind in guess.items() if kind}
    with parsing(path, what, options["delimiter"]):
        try:
            table = read(types | guessed)
        except pa.ArrowInvalid:
            if not guessed:
                raise
            table = read(types)
    for name, bare in columns.items():
        if pa.types.is_binary(table[name].type):
            raise InputError("found bytes; expected UTF-8 text", path=path, column=bare)
    return {bare: table[name] for name, bare in columns.items()}


@contextmanager
def parsing(path: Path, what: str, delimiter: str | None = None) -> Iterator[None]:
    """Turn what pyarrow raises into an InputError, with the line if a row differs in length."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        kind = "parquet" if delimiter is None else what
        lengths = re.search(r"Expected (\d+) columns, got (\d+)", str(error))
        if delimiter and lengths:
            expected, found = map(int, lengths.groups())
            line = _line_of_length(path, delimiter, found)
            problem = f"found {found} columns; expected {expected}"
            raise InputError(problem, path=path, line=line) from error
        raise InputError(f"not {kind} ({error}); expected {what}", path=path) from error


def _of_frame(frame: Any, columns: Sequence[str]) -> Table:
    path = Path("DataFrame")
    bare, kept = selected(path, list(map(str, frame.columns)), columns)
    try:
        table = pa.Table.from_pandas(frame.rename(columns=str)[[*kept]], preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"not a table ({error})", path=path) from error
    return Table(path, {kept[name]: table[name] for name in kept}, bare, None)


def _read_parquet(path: Path, what: str, columns: Sequence[str]) -> Table:
    with parsing(path, what), parquet.ParquetFile(path) as file:
        bare, kept = selected(path, file.schema_arrow.names, columns)
        table = file.read(columns=list(kept))
    return Table(path, {kept[name]: table[name] for name in table.column_names}, bare, None)


def _read_text(
    path: Path,
    what: str,
    columns: Sequence[str],
    ids: Sequence[str],
    likely: Mapping[str, str] | None,
    separator: str | None,
    header: bool,
) -> Table:
    separator, names = _text_header(path, what, separator)
    names = names if header else [str(place) for place in range(len(names))]
    bare, kept = selected(path, names, columns)
    named = None if header else names
    options: dict[str, Any] = {"likely": likely, "column_names": named, "delimiter": separator}
    read = parse_text(path, what, kept, ids=ids, **options) if kept else {}
    return Table(path, read, bare, int(header))


def _text_header(path: Path, what: str, separator: str | None = None) -> tuple[str, list[str]]:
    """Return the separator of a text file and the fields of its first line."""
    first = head(path, what)
    separator = separator or ("\t" if "\t" in first else ",")
    return separator, next(csv.reader([first], delimiter=separator), [])


def _line_of_length(path: Path, delimiter: str, columns: int) -> int | None:
    """Return the first line with so many columns."""
    for number, line in lines(path):
        # In a TREC file, any number of blanks separates two columns.
        blanks = delimiter == " "
        fields = line.split() if blanks else next(csv.reader([line], delimiter=delimiter), [])
        if len(fields) == columns:
            return number
    return None
