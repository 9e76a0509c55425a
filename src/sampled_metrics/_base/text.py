"""Tables and lines about them, as text and as HTML."""

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from math import isnan
from shutil import get_terminal_size
from textwrap import fill
from typing import Any, TypeAlias

from sampled_metrics._base.errors import one_line

Rows: TypeAlias = Sequence[Mapping[str, Any]]
Parts: TypeAlias = Sequence[Rows | str]  # tables, and lines about them


def table_of(rows: Rows, kind: str = "simple") -> str:
    """Lay out rows of the same keys as a table, of text or of another kind that tabulate knows."""
    from tabulate import tabulate

    keys = list(rows[0] if rows else ())
    texts = {key for row in rows for key, value in row.items() if isinstance(value, str)}
    counts = ["," * key.startswith("n_") for key in keys]
    # Names may look like numbers.
    names = [i for i, key in enumerate(keys) if key in texts and not counts[i]]
    cells = [
        {k: one_line(v) if isinstance(v, str) else v for k, v in r.items()} for r in plain(rows)
    ]
    options: Any = {"missingval": "-", "disable_numparse": names}
    return tabulate(cells, "keys", kind, ".5f", counts, **options) + "\n"


def plain(rows: Rows) -> list[dict[str, Any]]:
    """Replace numbers that do not exist by None."""
    return [
        {key: None if isinstance(v, float) and isnan(v) else v for key, v in row.items()}
        for row in rows
    ]


def text_of(parts: Parts) -> str:
    """Lay out tables, and lines wrapped at the width of the terminal, as text."""
    width = max(get_terminal_size().columns, 40)
    wrap = partial(fill, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)

    def wrapped(line: str) -> str:  # 95 % stays together
        return wrap(one_line(line).replace(" %", "\xa0%"), width).replace("\xa0%", " %")

    return "\n".join(
        "\n".join(map(wrapped, part.split("\n"))) + "\n"
        if isinstance(part, str)
        else table_of(part)
        for part in parts
    )


def html_of(parts: Parts) -> str:
    """Lay out tables and lines as HTML; an indented line continues the one before it."""
    return "".join(
        "<p>" + escape(part).replace("\n  ", " ").replace("\n", "<br>") + "</p>"
        if isinstance(part, str)
        else table_of(part, "html")
        for part in parts
    )
