"""Tables and lines about them, as text and as HTML."""

from collections.abc import Mapping, Sequence
from html import escape
from math import isnan
from numbers import Integral
from shutil import get_terminal_size
from textwrap import fill
from typing import Any, TypeAlias

from sampled_metrics._base.errors import one_line

Rows: TypeAlias = Sequence[Mapping[str, Any]]
Parts: TypeAlias = Sequence[Rows | str]  # tables, and lines about them


def table_of(rows: Rows, kind: str = "simple") -> str:
    """Lay out rows of the same keys as a table, of text or of another kind that tabulate knows."""
    from tabulate import tabulate

    def cell(key: str, value: Any) -> Any:
        if key.startswith("n_") and isinstance(value, Integral):
            return f"{value:,}"
        return one_line(value) if isinstance(value, str) else value

    # Names may look like numbers.
    texts = {key for row in rows for key, value in row.items() if isinstance(value, str)}
    names = [i for i, key in enumerate(rows[0]) if key in texts and key[:2] != "n_"] if rows else []
    cells = [{key: cell(key, value) for key, value in row.items()} for row in plain(rows)]
    options: Any = {"floatfmt": ".5f", "missingval": "-", "disable_numparse": names}
    return tabulate(cells, headers="keys", tablefmt=kind, **options) + "\n"


def plain(rows: Rows) -> list[dict[str, Any]]:
    """Replace numbers that do not exist by None."""
    return [
        {key: None if isinstance(v, float) and isnan(v) else v for key, v in row.items()}
        for row in rows
    ]


def text_of(parts: Parts) -> str:
    """Lay out tables, and lines wrapped at the width of the terminal, as text."""
    layout: Any = {"width": max(get_terminal_size().columns, 40), "subsequent_indent": "  "}
    layout |= {"break_long_words": False, "break_on_hyphens": False}
    return "\n".join(
        "".join(fill(one_line(line), **layout) + "\n" for line in part.split("\n"))
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
