"""Cells of Tables 1 to 4: their columns, their files, and their numbers as printed."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from sampled_metrics._base.files import read_table

KEY = ["table", "row", "metric", "column"]
COLUMNS = (*KEY, "value", "std")
SPREAD_COLUMNS = (*KEY, "spread", "cause")
TEXTS = ("row", "metric", "column", "ranks", "cause")
EXACT = "Exact"
SAMPLED = "Sampled"
COUNTS = 4  # the table of counts
DECIMALS = {1: 3, 2: 3, 3: 2, COUNTS: 0}
PAPERS_REPETITIONS = {2: 1000, 3: 100, COUNTS: 100}


class Row(NamedTuple):
    """One cell: a fraction in Tables 1 and 2, percent in Table 3, a count in Table 4.

    `value` and `std` are mean and standard deviation over `repetitions`, 0 for an exact value;
    `expected` and `expected_std` the same in closed form, and `uniform` is as `expected` if all
    orders of tied samples were equally likely. `ranks` says where the ranks come from.
    """

    table: int
    row: str
    metric: str
    column: str
    value: float
    std: float | None
    expected: float
    expected_std: float | None
    uniform: float
    repetitions: int
    ranks: str


def read_texts(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Read a table as text, exactly as printed."""
    return read_table(path, columns, dtype=str, keep_default_na=False)


def read_published(path: Path) -> pd.DataFrame:
    """Read published cells as text; `table` is an integer."""
    return read_texts(path, COLUMNS).astype({"table": int})


def read_cells(paths: Sequence[Path]) -> pd.DataFrame:
    """Read our cells from the files of several tables; columns of `Row`."""
    return pd.concat([read_table(path, Row._fields, TEXTS) for path in paths], ignore_index=True)


def of_hundred(cells: pd.DataFrame, column: str = "expected") -> "pd.Series[float]":
    """Return expected values of cells, counts of Table 4 for a hundred repetitions."""
    scale = PAPERS_REPETITIONS[COUNTS] / cells["repetitions"].clip(lower=1)
    return cells[column] * scale.where(cells["table"] == COUNTS, 1.0)


def as_printed(table: pd.DataFrame, value: str = "value", std: str = "std") -> pd.DataFrame:
    """Round cells to the decimals of their table; text, in the columns of the published file."""
    printed = table[KEY].copy()
    for name, column in (("value", value), ("std", std)):
        printed[name] = [
            "" if pd.isna(number) else f"{number:.{DECIMALS[of_table]}f}"
            for number, of_table in zip(table[column], table["table"], strict=True)
        ]
    return printed
