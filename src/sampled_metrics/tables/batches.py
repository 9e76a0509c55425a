"""Reading long tables as many short ones."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sampled_metrics._base.errors import InputError
from sampled_metrics.tables.columns import Table
from sampled_metrics.tables.reading import (
    PARQUET,
    bare_name,
    parsing,
    require_file,
    selected,
    text_header,
)

_ROWS = 1 << 20
_BYTES = 1 << 24


def read_batches(path: Path, what: str, columns: Sequence[str]) -> Iterator[Table]:
    """Read columns of a table (CSV, TSV or parquet) as many short tables, in order."""
    import pyarrow as pa

    path = Path(path)
    require_file(path, what)
    is_parquet = path.suffix.lower() in PARQUET
    first = 0
    for names, batch in (_of_parquet if is_parquet else _of_text)(path, what, columns):
        read = {bare_name(name): pa.chunked_array([batch[name]]) for name in batch.schema.names}
        table = Table(path, read, names, None if is_parquet else 1, first)
        if len(table):
            yield table
        first += len(table)
    if not first:
        raise InputError(f"no rows; expected {what}", path=path)


def _of_text(
    path: Path, what: str, columns: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield names of all columns and batches of those wanted, as text: types bind all batches."""
    import pyarrow as pa
    from pyarrow import csv as reader

    separator, names = text_header(path, what)
    bare, kept = selected(path, names, columns, required=True)
    with (
        parsing(path, what, separator),
        reader.open_csv(
            str(path),
            reader.ReadOptions(block_size=_BYTES),
            reader.ParseOptions(delimiter=separator),
            reader.ConvertOptions(
                include_columns=kept, column_types=dict.fromkeys(kept, pa.string())
            ),
        ) as batches,
    ):
        for batch in batches:
            yield bare, batch


def _of_parquet(
    path: Path, what: str, columns: Sequence[str]
) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield names of all columns and batches of those wanted."""
    from pyarrow import parquet

    with parsing(path, what), parquet.ParquetFile(path) as file:
        bare, kept = selected(path, file.schema_arrow.names, columns, required=True)
        for batch in file.iter_batches(_ROWS, columns=kept):
            yield bare, batch
