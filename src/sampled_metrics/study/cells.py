"""Cells of the paper's Tables 1-4: ours with all digits, and the published ones as text."""

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
DECIMALS = {1: 3, 2: 3, 3: 2, 4: 0}


class Row(NamedTuple):
    """One cell of a table: its simulated or exact value, and its expectation.

    Attributes
    ----------
    table, row, metric, column
        The cell, as in `config/paper/tables.csv`.
    value, std
        Mean and standard deviation over repetitions in the table's unit: fractions in Tables 1
        and 2, percent in Table 3, a count in Table 4.
    expected, expected_std
        The same in closed form, for infinitely many repetitions.
    repetitions
        Number of simulations; 0 for an exact value.
    ranks
        Words on where the ranks come from.
    """

    table: int
    row: str
    metric: str
    column: str
    value: float
    std: float | None
    expected: float
    expected_std: float | None
    repetitions: int
    ranks: str


def read_published(path: Path) -> pd.DataFrame:
    """Read published cells as text, exactly as printed; `table` is an integer."""
    return read_table(path, COLUMNS, dtype=str, keep_default_na=False).astype({"table": int})


def as_printed(table: pd.DataFrame, value: str = "value", std: str = "std") -> pd.DataFrame:
    """Round cells to the decimals of their table; text, in the columns of the published file."""
    printed = table[KEY].copy()
    for name, column in (("value", value), ("std", std)):
        printed[name] = [
            "" if pd.isna(number) else f"{number:.{DECIMALS[of_table]}f}"
            for number, of_table in zip(table[column], table["table"], strict=True)
        ]
    return printed
