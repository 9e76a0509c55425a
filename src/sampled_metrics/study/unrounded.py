"""Tables before rounding: the cells of the paper's tables with closed forms beside them."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from sampled_metrics._base.files import read_table, write_text


class Row(NamedTuple):
    """One cell of a table: simulated or exact value, and what it is in expectation.

    Attributes
    ----------
    table, row, metric, column
        Which cell, spelt as in `config/paper/tables.csv`.
    value, std
        Mean and standard deviation over repetitions in the table's unit: fractions in Tables 1
        and 2, percent in Table 3, a count in Table 4.
    expected, expected_std
        The same from closed forms: what infinitely many repetitions would give.
    repetitions
        How often the value was simulated; 0 where it is exact.
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
    """Read cells written by `write_unrounded`.

    Raises
    ------
    InputError
        The file is missing, not CSV or lacks a column.
    """
    return read_table(path, Row._fields)
