"""Tables of Markdown in pages of the documentation."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd


def markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """Lay out rows of texts with the same keys."""
    table = pd.DataFrame(rows).to_markdown(index=False, tablefmt="github", disable_numparse=True)
    return table + "\n"


def write_table(page: Path, rows: Sequence[Mapping[str, str]], name: str = "table") -> None:
    """Replace the table between the two comments of a page, of which one has a name; print it."""
    table = markdown(rows)
    text = page.read_text(encoding="utf-8")
    between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end -->)", re.DOTALL)
    page.write_text(between.sub(lambda found: found[1] + table + found[2], text), encoding="utf-8")
    print(table)
