"""Tables and lines about them, as text and as HTML."""

from collections.abc import Mapping, Sequence
from html import escape
from math import isnan
from typing import Any, TypeAlias

from sampled_metrics._base.errors import one_line

Rows: TypeAlias = Sequence[Mapping[str, Any]]
Parts: TypeAlias = Sequence[Rows | str]  # tables, and lines about them


def table_of(rows: Rows, kind: str = "simple") -> str:
    """Lay out rows of the same keys as a table, of text or of another kind that tabulate knows."""
    from tabulate import tabulate

    # Names may look like numbers; counts are text because of their thousands' separators.
    names = [
        place
        for place, key in enumerate(rows[0] if rows else ())
        if not key.startswith("n_") and any(isinstance(row[key], str) for row in rows)
    ]
    options: dict[str, Any] = {"floatfmt": ".5f", "missingval": "-", "disable_numparse": names}
    cells = [
        {k: one_line(v) if isinstance(v, str) else v for k, v in r.items()} for r in plain(rows)
    ]
    return tabulate(cells, headers="keys", tablefmt=kind, **options) + "\n"


def plain(rows: Rows) -> list[dict[str, Any]]:
    """Replace numbers that do not exist by None."""
    return [
        {key: None if isinstance(v, float) and isnan(v) else v for key, v in row.items()}
        for row in rows
    ]


def text_of(parts: Parts) -> str:
    """Lay out tables and lines as text."""
    texts = [f"{part}\n" if isinstance(part, str) else table_of(part) for part in parts]
    return "\n".join(map(one_line, "\n".join(texts).split("\n")))


def html_of(parts: Parts) -> str:
    """Lay out tables and lines as HTML; an indented line continues the one before it."""
    return "".join(
        "<p>" + escape(part).replace("\n  ", " ").replace("\n", "<br>") + "</p>"
        if isinstance(part, str)
        else table_of(part, "html")
        for part in parts
    )
