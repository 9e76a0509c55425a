"""Long tables, some rows at a time."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sampled_metrics._base.errors import InputError
from sampled_metrics.tables.columns import Table
from sampled_metrics.tables.reading import (
    bare_name,
    distinct,
    require_file,
    text_header,
    unreadable_parquet,
    unreadable_text,
    without_dictionary,
)

_ROWS = 1 << 20
_BYTES = 1 << 24


def read_batches(path: Path, what: str, columns: Sequence[str]) -> Iterator[Table]:
    """Read some columns of a table (CSV, TSV or parquet) as many short tables, in order.

    Raises
    ------
    InputError
        The file is missing, empty, no such table, lacks a column, or its rows differ in length.
    """
    path = Path(path)
    require_file(path, what)
    batches = (
        _parquet(path, what, columns) if path.suffix == ".parquet" else _text(path, what, columns)
    )
    first = 0
    for header, names, batch in batches:
        table = Table(path, batch, names, header, first)
        table.require(*columns)
        if len(table):
            yield table
        first += len(table)
    if not first:
        raise InputError(f"{path}: no rows; expected {what}")


# Lines of the header, names of all columns, the columns read; the first has no rows.
_Batches = Iterator[tuple[int | None, tuple[str, ...], dict[str, Any]]]


def _text(path: Path, what: str, wanted: Sequence[str]) -> _Batches:
    """Columns as text, so that a type found in the first rows does not bind the others."""
    import pyarrow as pa
    from pyarrow import csv as reader

    delimiter, names = text_header(path, what)
    bare = distinct(path, names)
    kept = [name for name in names if bare_name(name) in wanted]
    yield 1, bare, {bare_name(name): pa.chunked_array([], pa.string()) for name in kept}
    try:
        with reader.open_csv(
            str(path),
            reader.ReadOptions(block_size=_BYTES),
            reader.ParseOptions(delimiter=delimiter),
            reader.ConvertOptions(
                include_columns=kept, column_types=dict.fromkeys(kept, pa.string())
            ),
        ) as batches:
            for batch in batches:
                yield 1, bare, {bare_name(name): _chunked(batch[name]) for name in kept}
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise unreadable_text(path, what, error, delimiter) from error


def _parquet(path: Path, what: str, wanted: Sequence[str]) -> _Batches:
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            bare = distinct(path, names)
            kept = [name for name in names if bare_name(name) in wanted]
            yield None, bare, {bare_name(name): pa.chunked_array([], pa.null()) for name in kept}
            for batch in file.iter_batches(_ROWS, columns=kept):
                yield None, bare, {bare_name(name): _chunked(batch[name]) for name in kept}
    except (OSError, pa.ArrowException) as error:
        raise unreadable_parquet(path, what, error) from error


def _chunked(column: Any) -> Any:
    import pyarrow as pa

    return without_dictionary(pa.chunked_array([column]))
