"""Writing a table for machines and for people."""

from pathlib import Path

import pandas as pd

from sampled_metrics._base.files import write_text


def write_csv(table: pd.DataFrame, path: Path, decimals: int) -> None:
    """Write a table as CSV with Unix line ends and a fixed number of decimals."""
    write_text(path, table.to_csv(index=False, float_format=f"%.{decimals}f", lineterminator="\n"))


def write_markdown(table: pd.DataFrame, path: Path, decimals: int, caption: str) -> None:
    """Write a table for reading, under a caption of one sentence."""
    body = table.to_markdown(index=False, floatfmt=f".{decimals}f", tablefmt="github")
    write_text(path, f"{caption}\n\n{body}\n")
