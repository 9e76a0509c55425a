"""Reading long tables as many short ones."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sampled_metrics._base.errors import InputError
from sampled_metrics.tables.columns import Table
from sampled_metrics.tables.reading import (
    PARQUET,
    bare_name,
    distinct,
    parsing,
    require_file,
    text_header,
)

_ROWS = 1 << 20
_BYTES = 1 << 24


def read_batches(path: Path, what: str, columns: Sequence[str]) -> Iterator[Table]:
    """Read columns of a table (CSV, TSV or parquet) as many short tables, in order."""
    path = Path(path)
    require_file(path, what)
    is_parquet = path.suffix.lower() in PARQUET
    first = 0
    for table in (_parquet_batches if is_parquet else _text_batches)(path, what, columns):
        table.require(*columns)
        if len(table):
            yield Table(path, table.columns, table.names, table.header, first)
        first += len(table)
    if not first:
        raise InputError(f"no rows; expected {what}", path=path)


def _text_batches(path: Path, what: str, columns: Sequence[str]) -> Iterator[Table]:
    """Yield batches of text, the first one empty; a type would bind all batches."""
    import pyarrow as pa
    from pyarrow import csv as reader

    separator, names = text_header(path, what)
    bare = distinct(path, names, columns)
    kept = [name for name in names if bare_name(name) in columns]
    types = dict.fromkeys(kept, pa.string())
    yield _batch(path, {name: pa.array([], pa.string()) for name in kept}, bare, 1)
    with (
        parsing(path, what, separator),
        reader.open_csv(
            str(path),
            reader.ReadOptions(block_size=_BYTES),
            reader.ParseOptions(delimiter=separator),
            reader.ConvertOptions(include_columns=kept, column_types=types),
        ) as batches,
    ):
        for batch in batches:
            yield _batch(path, {name: batch[name] for name in kept}, bare, 1)


def _parquet_batches(path: Path, what: str, columns: Sequence[str]) -> Iterator[Table]:
    """Yield batches of parquet, the first one empty."""
    import pyarrow as pa
    from pyarrow import parquet

    with parsing(path, what), parquet.ParquetFile(path) as file:
        names = file.schema_arrow.names
        bare = distinct(path, names, columns)
        kept = [name for name in names if bare_name(name) in columns]
        yield _batch(path, {name: pa.array([], pa.null()) for name in kept}, bare, None)
        for batch in file.iter_batches(_ROWS, columns=kept):
            yield _batch(path, {name: batch[name] for name in kept}, bare, None)


def _batch(
    path: Path, columns: dict[str, Any], names: tuple[str, ...], header: int | None
) -> Table:
    import pyarrow as pa

    read = {bare_name(name): pa.chunked_array([column]) for name, column in columns.items()}
    return Table(path, read, names, header)
