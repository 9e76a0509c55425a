"""Tables and lines about them, as text and as HTML."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from math import isnan
from shutil import get_terminal_size
from textwrap import fill
from typing import Any, TypeAlias

from sampled_metrics._base.errors import one_line

Rows: TypeAlias = Sequence[Mapping[str, Any]]
_MISSING = "-"  # stands for a number that does not exist
_DECIMALS = 5
Parts: TypeAlias = Sequence[Rows | str]  # tables, and lines about them


def table_of(rows: Rows) -> str:
    """Lay out rows of the same keys as a table of text."""
    keys = list(rows[0] if rows else ())
    cells = _cells(rows)
    columns = [_column(key, [row[key] for row in cells]) for key in keys]
    if not columns or None in columns:
        return by_tabulate(rows)
    lines = []
    for line in zip(*columns, strict=True):
        text = "  ".join(line)
        lines.append(text.rstrip())
    return "\n".join(lines) + "\n"


def _html_table_of(rows: Rows) -> str:
    """Lay out rows of the same keys as a table of HTML, numbers on the right."""
    keys = rows[0] if rows else ()
    heads = [f"<th>{escape(key)}</th>" if key else "<td></td>" for key in keys]
    lines = [f"<table>\n<thead>\n<tr>{''.join(heads)}</tr>\n</thead>\n<tbody>"]
    for row in _cells(rows):
        line = ""
        for key, value in row.items():
            if isinstance(value, str):
                line += f"<td>{escape(value)}</td>"
            else:
                number = _written(value, "," * key.startswith("n_"))
                line += f'<td style="text-align: right;">{number}</td>'
        lines.append(f"<tr>{line}</tr>")
    return "\n".join([*lines, "</tbody>\n</table>"])


def _written(value: float | None, form: str) -> str:
    """Write a number, a whole one in some form."""
    if value is None:
        return _MISSING
    if isinstance(value, float):
        form = f".{_DECIMALS}f"
    return format(value, form)


def _cells(rows: Rows) -> list[dict[str, Any]]:
    """Return rows without numbers that do not exist, and with texts of one line."""
    cells: list[dict[str, Any]] = []
    for row in plain(rows):
        for key, value in row.items():
            if isinstance(value, str):
                row[key] = one_line(value)
        cells.append(row)
    return cells


def by_tabulate(rows: Rows, kind: str = "simple") -> str:
    """Lay out rows of the same keys as a table of a kind that tabulate knows."""
    from tabulate import tabulate  # takes long to import

    cells = _cells(rows)
    keys = list(cells[0] if cells else ())
    texts = {key for row in cells for key, value in row.items() if isinstance(value, str)}
    counts = ["," * key.startswith("n_") for key in keys]
    # Names may look like numbers.
    names = [i for i, key in enumerate(keys) if key in texts and not counts[i]]
    options: Any = {"missingval": _MISSING, "disable_numparse": names}
    return tabulate(cells, "keys", kind, ".5f", counts, **options) + "\n"


def _column(key: str, values: Sequence[Any]) -> Any:
    """Lay out a column of names or of numbers as tabulate does, None where it is neither.

    The result is a list of texts of one length: the heading, a line and the cells.
    """
    kinds = {type(value) for value in values if value is not None}
    is_count = key.startswith("n_")
    missing = _MISSING
    if not kinds or (kinds == {str} and not is_count):
        align = str.ljust
        form = ""
    elif kinds == {int}:
        align = str.rjust
        form = "," * is_count
    elif kinds == {float}:
        align = str.rjust
        form = f".{_DECIMALS}f"
        missing += " " * (_DECIMALS + 1)  # below the point
    else:
        return None
    cells = []
    for value in values:
        if value is None:
            cells.append(missing)
        elif isinstance(value, str):
            cells.append(value.strip())
        else:
            cells.append(format(value, form))
    words = "".join([key, *cells])
    # Other letters may be wider than a place; infinite numbers have no point.
    if not words.isascii() or (kinds == {float} and "inf" in "".join(cells)):
        return None
    width = max(map(len, [f"{key}  ", *cells]))
    aligned = [align(cell, width) for cell in cells]
    return [align(key, width), "-" * width, *aligned]


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
        "<p>" + html_lines_of(part).replace("\n", "<br>") + "</p>"
        if isinstance(part, str)
        else _html_table_of(part)
        for part in parts
    )


def html_lines_of(words: str) -> str:
    """Escape lines for HTML, with what is between backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(words).replace("\n  ", " "))
