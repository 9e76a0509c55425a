"""Tables of numbers and texts as CSV, Markdown and LaTeX."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from sampled_metrics._base.files import write_text


def groups(table: pd.DataFrame, column: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Rows by the value of a column, in the order in which the values first appear."""
    for name, rows in table.groupby(column, sort=False):
        yield str(name), rows


def write_csv(table: pd.DataFrame, path: Path, number_format: str | None = None) -> None:
    """Write a table as CSV with Unix line ends; `number_format` is for floats, such as `%.4f`."""
    write_text(path, table.to_csv(index=False, float_format=number_format, lineterminator="\n"))


def markdown(table: pd.DataFrame, decimals: int | None = None) -> str:
    """Lay a table out for reading.

    Parameters
    ----------
    table
        Numbers and texts.
    decimals
        Digits of floats; numbers are then aligned to the right. None shows all values as text.
    """
    if decimals is None:
        return table.to_markdown(index=False, tablefmt="github", disable_numparse=True)
    return table.to_markdown(index=False, tablefmt="github", floatfmt=f".{decimals}f")


def latex(table: pd.DataFrame, caption: str) -> str:
    """Lay a table of texts out as a LaTeX table with the rules of the package booktabs."""
    body = table.to_markdown(index=False, tablefmt="latex_booktabs", disable_numparse=True)
    return f"\\begin{{table}}\n\\caption{{{caption}}}\n{body}\n\\end{{table}}\n"
