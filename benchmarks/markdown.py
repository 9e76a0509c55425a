"""Markdown tables in pages of the documentation."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd


def markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """Format rows of texts with the same keys as a Markdown table."""
    table = pd.DataFrame(rows).to_markdown(index=False, tablefmt="github", disable_numparse=True)
    return table + "\n"


def write_table(page: Path, rows: Sequence[Mapping[str, str]], name: str = "table") -> None:
    """Replace the table of a page between the comments `name` and `end`, and print it."""
    table = markdown(rows)
    text = page.read_text(encoding="utf-8")
    between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    page.write_text(between.sub(lambda match: match[1] + table + match[2], text), encoding="utf-8")
    print(table)
