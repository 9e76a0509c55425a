"""Cells of the paper's Tables 1-4: ours with all digits, and the published ones as text."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.files import read_table

KEY = ["table", "row", "metric", "column"]
COLUMNS = (*KEY, "value", "std")
SPREAD_COLUMNS = (*KEY, "spread", "cause")
TEXTS = ("row", "metric", "column", "ranks", "cause")
EXACT = "Exact"
SAMPLED = "Sampled"
COUNTS = 4  # the table of counts
DECIMALS = {1: 3, 2: 3, 3: 2, COUNTS: 0}
REPETITIONS = {1: 0, 2: 1000, 3: 100, COUNTS: 100}  # of the paper


class Row(NamedTuple):
    """One cell of a table: its simulated or exact value, and its expectation."""

    table: int
    row: str
    metric: str
    column: str
    """The cell, as in `config/paper/tables.csv`."""
    value: float
    std: float | None
    """Mean and standard deviation over repetitions: fractions in Tables 1 and 2, percent in Table
    3, a count in Table 4."""
    expected: float
    expected_std: float | None
    """The same in closed form, for infinitely many repetitions."""
    repetitions: int
    """Number of simulations; 0 for an exact value."""
    ranks: str
    """Words on where the ranks come from."""


def read_cells(paths: Sequence[Path]) -> pd.DataFrame:
    """Read our cells from the files of several tables; columns of `Row`."""
    return pd.concat([read_table(path, Row._fields, TEXTS) for path in paths], ignore_index=True)


def read_published(path: Path) -> pd.DataFrame:
    """Read published cells as text, exactly as printed; `table` is an integer."""
    return read_table(path, COLUMNS, dtype=str, keep_default_na=False).astype({"table": int})


def scale_of_counts(table: "pd.Series[int]", repetitions: "pd.Series[int] | int") -> Float:
    """Return what turns counts of Table 4 into counts of a hundred, and leaves other cells."""
    return np.where(table == COUNTS, REPETITIONS[COUNTS] / np.maximum(repetitions, 1), 1.0)


def as_printed(table: pd.DataFrame, value: str = "value", std: str = "std") -> pd.DataFrame:
    """Round cells to the decimals of their table; text, in the columns of the published file."""
    printed = table[KEY].copy()
    for name, column in (("value", value), ("std", std)):
        printed[name] = [
            "" if pd.isna(number) else f"{number:.{DECIMALS[of_table]}f}"
            for number, of_table in zip(table[column], table["table"], strict=True)
        ]
    return printed
