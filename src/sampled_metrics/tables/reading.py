"""One reader of tables: text, parquet, and tables in memory of pandas, polars and pyarrow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.kinds import is_frame, is_pandas
from sampled_metrics._base.packages import pyarrow as pa
from sampled_metrics.tables import arrow
from sampled_metrics.tables.lines import require_file
from sampled_metrics.tables.names import ITEM, KNOWN, USER, Names, named
from sampled_metrics.tables.table import Table, table_of
from sampled_metrics.tables.text import Trec, read_text

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")
_FRAME = Path("DataFrame")  # the name of a table in memory in errors


def read_table(
    data: object,
    what: str,
    columns: Sequence[str] = KNOWN,
    *,
    trec: Trec | None = None,
    ids: Sequence[str] = (USER, ITEM),
    separator: str | None = None,
) -> Table:
    """Read a DataFrame or a file: parquet if it is named so, else text, which may be compressed.

    At least one of `columns` must be present; `ids` are those that hold ids. The file may be of a
    format of `trec` instead. Columns of text are separated by a tab if the first line has one, else
    by a comma. Errors call the table `what`.
    """
    if isinstance(data, str | Path):
        path = Path(data)
        if path.suffix.lower() in PARQUET:
            table = _read_parquet(path, what, columns)
        else:
            table = read_text(path, what, columns, trec=trec, ids=ids, separator=separator)
    elif is_frame(data):
        table = _read_frame(data, columns)
    else:
        raise InputError(f"found {type(data).__name__}; expected {what} in a DataFrame or a file")
    if not table.columns:
        expected = f"expected {what}: some of {', '.join(columns)}"
        raise InputError(f"{_problem_of_names(table.names)}; {expected}", path=table.path)
    if len(table) == 0:
        raise InputError(f"no rows; expected {what}", path=table.path)
    return table


def _problem_of_names(names: Sequence[str]) -> str:
    """Return why a table has no column that is known."""
    if any(";" in name for name in names):
        return "columns are separated by semicolons, expected commas or tabs"
    if any(re.match(r"[+-]?\d", name) for name in names):  # values, not to be shown
        return "no header that names the columns"
    return f"found columns {', '.join(names)}"


def _read_frame(frame: pd.DataFrame | pa.Table, columns: Sequence[str]) -> Table:
    try:
        if not is_pandas(frame):
            return _of_arrow(pa.table(frame), columns)
        return _of_pandas(frame, columns)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InputError(f"not a table ({error})", path=_FRAME) from error


def _of_pandas(frame: pd.DataFrame, columns: Sequence[str]) -> Table:
    names_of_frame = [str(name) for name in frame.columns]
    names = named(_FRAME, names_of_frame, columns)
    wanted = frame.rename(columns=str)[list(names.wanted)]
    read = pa.Table.from_pandas(wanted, preserve_index=False)
    floats = []
    for name, dtype in zip(names_of_frame, frame.dtypes, strict=True):
        if name not in names.wanted and getattr(dtype, "kind", "") == "f":
            floats.append(name)
    return table_of(read, _FRAME, names, floats=floats)


def _of_arrow(read: pa.Table, columns: Sequence[str]) -> Table:
    """Take a table of pyarrow, or of a library that lends its memory to it."""
    names = named(_FRAME, read.column_names, columns)
    usual = {name: _in_usual_text(read[name]) for name in names.wanted}
    return table_of(usual, _FRAME, names, floats=_other_floats(read.schema, names))


def _in_usual_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column whose texts, or categories, are views of polars as texts that all know."""
    if "string_view" not in str(column.type):
        return column
    if not pa.types.is_dictionary(column.type):
        return arrow.cast(column, pa.string())
    chunks = []
    for chunk in column.chunks:
        categories = arrow.cast(chunk.dictionary, pa.string())
        chunks.append(pa.DictionaryArray.from_arrays(chunk.indices, categories))
    return pa.chunked_array(chunks)


def _read_parquet(path: Path, what: str, columns: Sequence[str]) -> Table:
    from pyarrow import parquet  # takes long

    require_file(path, what)
    with _reading_parquet(path, what), parquet.ParquetFile(path) as file:
        schema = file.schema_arrow
        names = named(path, schema.names, columns)
        read = file.read(columns=list(names.wanted))
    floats = _other_floats(schema, names)
    return table_of(read, path, names, metadata=schema.metadata, floats=floats)


@contextmanager
def _reading_parquet(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"not parquet ({error}); expected {what}", path=path) from error


def _other_floats(schema: pa.Schema, names: Names) -> list[str]:
    """Return the columns of numbers with decimals that are not wanted."""
    floats = []
    for field in schema:
        if pa.types.is_floating(field.type) and field.name not in names.wanted:
            floats.append(field.name)
    return floats
