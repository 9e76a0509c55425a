"""Text files of tables, tables of one column, and the counts of ranks that are read from them."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa

import sampled_metrics as sm
from sampled_metrics.read.tables import Table

COUNTS = ("n_found", "n_better", "n_tied", "n_relevant", "n_candidates", "depth")


def write_file(folder: Path, name: str, text: str) -> Path:
    """Write a text as it is, with its ends of lines."""
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def join_rows(rows: Iterable[Iterable[Any]], delimiter: str = ",", end: str = "\n") -> str:
    """Return rows as lines of text."""
    return "".join(delimiter.join(map(str, row)) + end for row in rows)


def rank_counts(ranks: sm.Ranks) -> dict[str, list[int]]:
    """Return the counts of ranks by name."""
    return {name: getattr(ranks, name).tolist() for name in COUNTS}


def one_column(values: Any, name: str = "rank") -> Table:
    """Return a table with one column."""
    if not isinstance(values, pa.Array):
        values = pa.array(values)
    return Table(Path("t"), {name: pa.chunked_array([values])}, (name,))
