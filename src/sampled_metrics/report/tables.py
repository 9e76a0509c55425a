"""Tables of numbers and texts as Markdown."""

import pandas as pd
from pandas.api.types import is_numeric_dtype


def markdown(table: pd.DataFrame, decimals: int | None = None) -> str:
    """Lay a table out for reading, floats with some decimals, or with None all values as text."""
    if decimals is None:
        return table.to_markdown(index=False, tablefmt="github", disable_numparse=True)
    texts = [place for place, kind in enumerate(table.dtypes) if not is_numeric_dtype(kind)]
    return table.to_markdown(
        index=False, tablefmt="github", floatfmt=f".{decimals}f", disable_numparse=texts
    )
