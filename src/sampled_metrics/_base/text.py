"""Tables and lines about them, as text and as HTML."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from math import isnan
from shutil import get_terminal_size
from textwrap import TextWrapper
from typing import Any, TypeAlias

from tabulate import tabulate

from sampled_metrics._base.errors import one_line

Rows: TypeAlias = Sequence[Mapping[str, Any]]
_MISSING = "-"  # stands for a number that does not exist
_DECIMALS = 5
Parts: TypeAlias = Sequence[Rows | str]  # tables, and lines about them


def _html_table_of(rows: Rows) -> str:
    """Lay out rows of the same keys as a table of HTML, numbers on the right."""
    cells = _cells(rows)
    heads = [f"<th>{escape(key)}</th>" if key else "<td></td>" for key in _keys(cells)]
    lines = [f"<table>\n<thead>\n<tr>{''.join(heads)}</tr>\n</thead>\n<tbody>"]
    for row in cells:
        line = ""
        for key, value in row.items():
            style = ' style="text-align: right;"'
            if isinstance(value, str):
                style = ""
            line += f"<td{style}>{escape(_written(key, value))}</td>"
        lines.append(f"<tr>{line}</tr>")
    return "\n".join([*lines, "</tbody>\n</table>"])


def _written(key: str, value: object) -> str:
    """Write the cell of a column, whose name tells whether it holds counts."""
    if value is None:
        return _MISSING
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:.{_DECIMALS}f}"
    return format(value, "," * key.startswith("n_"))


def _keys(rows: Rows) -> list[str]:
    """Return the names of the columns."""
    return [key for row in rows[:1] for key in row]


def _cells(rows: Rows) -> list[dict[str, Any]]:
    """Return rows without numbers that do not exist, and with texts of one line."""
    cells = plain(rows)
    for row in cells:
        for key, value in row.items():
            if isinstance(value, str):
                row[key] = one_line(value)
    return cells


def table_of(rows: Rows, kind: str = "simple") -> str:
    """Lay out rows of the same keys as a table of a kind that tabulate knows."""
    cells = _cells(rows)
    keys = _keys(cells)
    counts = ["," * key.startswith("n_") for key in keys]
    names = []  # which may look like numbers
    for i, key in enumerate(keys):
        if not counts[i] and any(isinstance(row[key], str) for row in cells):
            names.append(i)
    options: Any = {"missingval": _MISSING, "disable_numparse": names}
    return tabulate(cells, "keys", kind, f".{_DECIMALS}f", counts, **options) + "\n"


def plain(rows: Rows) -> list[dict[str, Any]]:
    """Replace numbers that do not exist by None."""
    return [
        {key: None if isinstance(v, float) and isnan(v) else v for key, v in row.items()}
        for row in rows
    ]


def text_of(parts: Parts) -> str:
    """Lay out tables, and lines wrapped at the width of the terminal, as text."""
    width = max(get_terminal_size().columns, 40)
    wrapper = TextWrapper(
        width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    texts = []
    for part in parts:
        if isinstance(part, str):
            for line in part.split("\n"):
                together = one_line(line).replace(" %", "\xa0%")  # 95 % stays together
                texts.append(wrapper.fill(together).replace("\xa0%", " %"))
            texts.append("")
        else:
            texts.append(table_of(part))
    return "\n".join(texts)


def html_of(parts: Parts) -> str:
    """Lay out tables and lines as HTML; an indented line continues the one before it."""
    return "".join(
        "<p>" + html_lines_of(part).replace("\n", "<br>") + "</p>"
        if isinstance(part, str)
        else _html_table_of(part)
        for part in parts
    )


def html_lines_of(words: str) -> str:
    """Escape lines for HTML; text between backticks becomes code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(words).replace("\n  ", " "))


def listed(names: Sequence[str]) -> str:
    """Join names, such as `A, B and C`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
