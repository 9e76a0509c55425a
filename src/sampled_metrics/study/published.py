"""The published numbers of Tables 1-4, and ours rounded as the paper rounds."""

from pathlib import Path

import pandas as pd

from sampled_metrics._base.files import read_table
from sampled_metrics.study.labels import COLUMNS
from sampled_metrics.study.unrounded import KEY

DECIMALS = {1: 3, 2: 3, 3: 2, 4: 0}


def read_published(path: Path) -> pd.DataFrame:
    """Read a table of cells as text, exactly as printed; `table` is an integer."""
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
