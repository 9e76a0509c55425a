"""Tables of Markdown in pages of the documentation."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

TABLE = re.compile(r"(<!-- table -->\n).*?(<!-- end -->)", re.DOTALL)


def markdown(rows: Sequence[Mapping[str, str]]) -> str:
    """Lay out rows of texts with the same keys."""
    table = pd.DataFrame(rows).to_markdown(index=False, tablefmt="github", disable_numparse=True)
    return table + "\n"


def write_table(page: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Replace the table between the two comments of a page, and print it."""
    table = markdown(rows)
    text = page.read_text(encoding="utf-8")
    page.write_text(TABLE.sub(lambda found: found[1] + table + found[2], text), encoding="utf-8")
    print(table)
