"""Tables before rounding: the cells of the paper's tables with closed forms beside them."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from sampled_metrics._base.files import read_table, write_text


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


KEY = ["table", "row", "metric", "column"]


def unrounded(rows: Iterable[Row]) -> pd.DataFrame:
    """Collect cells in a frame with a column for each field of `Row`."""
    return pd.DataFrame(rows, columns=Row._fields)


def write_unrounded(table: pd.DataFrame, path: Path) -> None:
    """Write cells with all digits that double precision distinguishes."""
    write_text(path, table.to_csv(index=False, float_format="%.17g", lineterminator="\n"))


def read_unrounded(path: Path) -> pd.DataFrame:
    """Read cells written by `write_unrounded`."""
    return read_table(path, Row._fields)
