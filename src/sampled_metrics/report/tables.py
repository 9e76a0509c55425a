"""Tables of numbers and texts as Markdown."""

from collections.abc import Iterator

import pandas as pd
from pandas.api.types import is_numeric_dtype


def groups(table: pd.DataFrame, column: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Rows by the value of a column, in the order in which the values first appear."""
    for name, rows in table.groupby(column, sort=False):
        yield str(name), rows


def markdown(table: pd.DataFrame, decimals: int | None = None) -> str:
    """Lay a table out for reading, floats with some decimals, or with None all values as text."""
    if decimals is None:
        return table.to_markdown(index=False, tablefmt="github", disable_numparse=True)
    texts = [place for place, kind in enumerate(table.dtypes) if not is_numeric_dtype(kind)]
    return table.to_markdown(
        index=False, tablefmt="github", floatfmt=f".{decimals}f", disable_numparse=texts
    )
