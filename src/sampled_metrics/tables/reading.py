"""One reader of tables: text, parquet, and tables in memory of pandas, polars and pyarrow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.kinds import is_frame, is_pandas
from sampled_metrics._base.packages import pyarrow as pa
from sampled_metrics.tables import arrow
from sampled_metrics.tables.lines import require_file
from sampled_metrics.tables.names import ITEM, KNOWN, USER, named
from sampled_metrics.tables.table import Table
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
    """Take a table of pandas, of pyarrow, or of a library that lends its memory to pyarrow."""
    try:
        if is_pandas(frame):
            is_float = [getattr(dtype, "kind", "") == "f" for dtype in frame.dtypes]
            names = named(_FRAME, [str(name) for name in frame.columns], columns, is_float)
            wanted = frame.rename(columns=str)[list(names.wanted)]
            return Table.of(_FRAME, names, pa.Table.from_pandas(wanted, preserve_index=False))
        table = pa.table(frame)
        names = named(_FRAME, table.column_names, columns, map(_is_floating, table.schema))
        usual = {name: _in_usual_text(table[name]) for name in names.wanted}
        return Table.of(_FRAME, names, usual)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InputError(f"not a table ({error})", path=_FRAME) from error


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
    try:
        with parquet.ParquetFile(path) as file:
            schema = file.schema_arrow
            names = named(path, schema.names, columns, map(_is_floating, schema))
            read = file.read(columns=list(names.wanted))
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(f"not parquet ({error}); expected {what}", path=path) from error
    return Table.of(path, names, read, metadata=schema.metadata)


def _is_floating(field: pa.Field) -> bool:
    return bool(pa.types.is_floating(field.type))
