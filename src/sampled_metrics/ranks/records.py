"""The file format of ranks: one row per relevant item, with its three counts."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.defaults import MOST_ITEMS

if TYPE_CHECKING:
    from sampled_metrics.tables.table import Table

COLUMNS = ("n_candidates", "n_better", "n_tied")
RECORDS = f"rank records ({', '.join(('user_id', *COLUMNS))})"


def counts_of(table: "Table") -> tuple[Int, Int, Int]:
    """Return the three columns of rank records."""
    table.require(*COLUMNS)
    n_candidates = table.whole("n_candidates", 2, MOST_ITEMS)
    n_better = table.whole("n_better", 0, n_candidates - 1)
    return n_candidates, n_better, table.whole("n_tied", 0, n_candidates - 1 - n_better)


def write_columns(
    path: Path, columns: Mapping[str, Any], metadata: Mapping[bytes, bytes] | None = None
) -> None:
    """Write arrays of integers or text as columns of a parquet file, all or nothing."""
    import pyarrow as pa
    from pyarrow import parquet

    from sampled_metrics._base.files import replacing
    from sampled_metrics.tables.arrow import as_arrow

    arrays = {name: as_arrow(values) for name, values in columns.items() if values is not None}
    with replacing(path) as temporary:
        parquet.write_table(pa.table(arrays, metadata=metadata), temporary)


def sources(texts: Iterable[str]) -> str:
    """Join the sources of several ranks, each once, with semicolons."""
    parts = (part for text in sorted(set(texts)) for part in text.split("; "))
    return "; ".join(dict.fromkeys(parts))
