"""Tables, and lines of text about them, laid out for a terminal and as HTML."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from math import floor, inf, isnan, log10
from shutil import get_terminal_size
from textwrap import fill
from typing import Any, TypeAlias

from tabulate import tabulate

from sampled_metrics._base.calls import adapt_to_caller
from sampled_metrics._base.errors import one_line

TableRows: TypeAlias = Sequence[Mapping[str, Any]]
Parts: TypeAlias = Sequence[TableRows | str]  # tables, and lines of text about them


class Explanation(str):
    """Lines on how to read a table, which a command prints with --explain."""


class RightAligned(str):
    """Text that is aligned to the right of its column, such as a range."""


class Bold(str):
    """Text in bold on a terminal and in HTML, such as a decided order."""


class BoldNumber(float):
    """A number in bold in HTML, such as the one to quote."""


_TERMINAL_BOLD = ("\x1b[1m", "\x1b[0m")  # escape sequences around bold text
_BOLD_MARKS = ("\ue000", "\ue001")  # around bold text, as tabulate escapes tags
# Smaller and larger numbers are written with powers of ten.
_SMALL = 1e-4
_LARGE = 1e9


def count_decimals(size: float) -> int:
    """Return how many decimals show three significant digits."""
    if 0.0 < size < inf:
        return max(0, 2 - floor(log10(size)))
    return 3


def format_number(value: float) -> str:
    """Write a number with three significant digits, very small and large ones in exponent form.

    Examples
    --------
    >>> [format_number(value) for value in (0.20748, 0.0046134, 1.0, 0.0, -1234.5, 2.1e-210)]
    ['0.207', '0.00461', '1.00', '0.000', '-1234', '2.10e-210']
    """
    if 0.0 < abs(value) < _SMALL or abs(value) > _LARGE:
        return f"{value:.2e}"
    return f"{value:.{count_decimals(abs(value))}f}"


def format_range(low: float, high: float) -> RightAligned:
    """Write the ends of a range with equally many decimals.

    The larger end has three significant digits, or more where the ends would else look alike. Ends
    that differ by less than 1e-6 of the larger one are taken as equal.

    Examples
    --------
    >>> [str(format_range(*ends)) for ends in ((0.0868, 0.10162), (0.89131, 0.89166))]
    ['0.087 to 0.102', '0.8913 to 0.8917']
    >>> str(format_range(0.0, 0.90201))
    '0.000 to 0.902'
    >>> str(format_range(0.55 - 2e-11, 0.55 + 4e-11))
    '0.550 to 0.550'
    """
    largest = max(-low, high)
    decimals = count_decimals(largest)
    if high - low > 1e-6 * largest:
        decimals = max(decimals, count_decimals(high - low) - 2)
    return RightAligned(f"{low:.{decimals}f} to {high:.{decimals}f}")


def format_interval(
    low: float | None, high: float | None, *, is_short: bool = False
) -> RightAligned:
    """Write the ends of an interval, or `-` without one.

    With `is_short`, ends below 0.1 have two significant digits, for a table with many columns.

    Examples
    --------
    >>> str(format_interval(0.0386, 0.0736)), str(format_interval(None, None))
    ('0.0386 to 0.0736', '-')
    >>> str(format_interval(0.0386, 0.0736, is_short=True))
    '0.039 to 0.074'
    """
    if low is None or high is None or isnan(low):
        return RightAligned("-")
    if is_short and 0.0 < high < 0.1:
        decimals = count_decimals(high) - 1
        return RightAligned(f"{low:.{decimals}f} to {high:.{decimals}f}")
    return format_range(low, high)


def _format_cell(key: str, value: object, bold: bool) -> str:
    """Write a cell; columns whose names begin with n_ contain counts, written with commas."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return format_number(value)
    if not isinstance(value, str):
        is_count = key.startswith("n_")
        return format(value, "," if is_count else "")
    text = one_line(value)
    if bold and isinstance(value, Bold):
        start, end = _TERMINAL_BOLD
        return f"{start}{text}{end}"
    return text


def _alignment(values: Sequence[object]) -> str:
    """Return how tabulate aligns a column: text to the left, numbers and ranges to the right."""
    if any(type(value) in (str, Bold) for value in values):  # but not RightAligned
        return "left"
    if any(isinstance(value, float) for value in values):
        return "decimal"
    return "right"


def _format_html_cell(key: str, value: object) -> str:
    """Write a cell for HTML, with marks around bold text."""
    text = _format_cell(key, value, bold=False)
    if isinstance(value, Bold | BoldNumber):
        text = _BOLD_MARKS[0] + text + _BOLD_MARKS[1]
    return text


def format_table(rows: TableRows, layout: str = "simple", bold: bool = False) -> str:
    """Lay out rows with the same keys as a table; `layout` is one of tabulate's formats."""

    def format_cell(key: str, value: object) -> str:
        if layout == "html":
            return _format_html_cell(key, value)
        return _format_cell(key, value, bold)

    keys = list(rows[0]) if rows else []
    without_nan = nan_to_none(rows)
    columns = {key: [row[key] for row in without_nan] for key in keys}
    texts = {key: [format_cell(key, value) for value in values] for key, values in columns.items()}
    alignments = [_alignment(values) for values in columns.values()]
    table = tabulate(texts, "keys", layout, disable_numparse=True, colalign=alignments)
    start, end = _BOLD_MARKS  # only in HTML, where tabulate would have escaped tags
    return table.replace(start, "<b>").replace(end, "</b>") + "\n"


def nan_to_none(rows: TableRows) -> list[dict[str, Any]]:
    """Replace NaN by None."""

    def without_nan(value: Any) -> Any:
        return None if isinstance(value, float) and isnan(value) else value

    return [{key: without_nan(value) for key, value in row.items()} for row in rows]


def format_text(parts: Parts, *, instead: str = "", bold: bool = False) -> str:
    """Lay out tables, and lines wrapped to the width of the terminal.

    A line printed `instead` of the explanations says how to get them.
    """
    width = max(get_terminal_size().columns, 40)
    texts = []
    for part in parts:
        if isinstance(part, Explanation) and instead:
            texts.append(f"{instead}\n")
        elif isinstance(part, str):
            lines = adapt_to_caller(part).split("\n")
            texts.extend(_wrap(line, width) for line in lines)
            texts.append("")
        else:
            texts.append(format_table(part, bold=bold))
    return "\n".join(texts)


def _wrap(line: str, width: int) -> str:
    """Break a line into lines of at most `width`, of which the later ones are indented."""
    unbreakable = one_line(line).replace(" %", "\xa0%")  # keeps 95 % on one line
    wrapped = fill(
        unbreakable, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )
    return wrapped.replace("\xa0%", " %")


def format_html(parts: Parts) -> str:
    """Lay out tables and lines as HTML; an indented line continues the line before it."""
    texts = []
    for part in parts:
        if isinstance(part, str):
            paragraph = "<p>" + escape_html(adapt_to_caller(part)).replace("\n", "<br>") + "</p>"
            if isinstance(part, Explanation):
                paragraph = f"<details><summary>How to read this</summary>{paragraph}</details>"
            texts.append(paragraph)
        else:  # a column without a name has no header cell
            texts.append(re.sub("<th[^>]*> *</th>", "<td></td>", format_table(part, "html")))
    return "".join(texts)


def escape_html(text: str) -> str:
    """Escape lines for HTML; text between backticks becomes code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text).replace("\n  ", " "))


def join_names(names: Sequence[str]) -> str:
    """Join names in a sentence: `A, B and C`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
