"""Tables of texts for a paper in two columns, with the rules of the LaTeX package booktabs."""

import re
from collections.abc import Iterator

import pandas as pd

COLUMN, PAGE = 55, 116  # characters of \scriptsize that fit in one column and in both
SIZES = {r"\footnotesize": 0.87, r"\scriptsize": 1.0, r"\tiny": 1.4}  # and what of that fits
LONGEST_NAME = 20  # characters; longer names have a line of their own
MOST_LINES = 52  # of one table
_NUMBER = re.compile(r"[-−]?[\d.]")
_ESCAPED = {sign: f"\\{sign}" for sign in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "±": r"$\pm$",
    "−": "$-$",
    "γ": r"$\gamma$",
    "∞": r"$\infty$",
}


def latex(table: pd.DataFrame, caption: str, label: str) -> str:
    r"""Lay out a table for a page of two columns: `table`, or `table*` across both if it is wide.

    Leading columns without numbers are names, each written once; with three of them, the first is
    written above its rows. A table longer than a page goes on in further ones.

    Parameters
    ----------
    table
        Texts, and numbers as printed.
    caption
        Without the number of the table, which LaTeX adds.
    label
        The table is referred to as `\ref{tab:label}`.
    """
    if not len(table):
        return _floating("table", f"\\caption{{{escape(caption)}}}", f"\\label{{tab:{label}}}")
    names = _leading_names(table)
    head = [escape(str(name)) for name in table.columns]
    above = names >= 3
    body = table.astype(str)
    width = sum(map(len, _widest(body, names))) + 1.5 * (len(head) - above)
    kind, room = ("table", COLUMN) if width <= COLUMN else ("table*", PAGE)
    size = next((name for name, share in SIZES.items() if width <= share * room), r"\tiny")
    columns = "@{}" + "l" * (names - above) + "r" * (len(head) - names) + "@{}"
    parts = []
    for part, lines in enumerate(_parts(body, names)):
        title = f"\\caption{{{escape(caption)}}}\n\\label{{tab:{label}}}"
        if part:
            title = f"\\addtocounter{{table}}{{-1}}\n\\caption{{{escape(caption)} (continued)}}"
        rows = [" & ".join(head[above:]) + r" \\", r"\midrule", *lines]
        tabular = [f"\\begin{{tabular}}{{{columns}}}", r"\toprule", *rows, r"\bottomrule"]
        setting = [r"\vspace{4pt}", r"\centering", size, r"\setlength{\tabcolsep}{3pt}"]
        parts.append(_floating(kind, title, *setting, *tabular, r"\end{tabular}"))
    return "\n".join(parts)


def escape(text: str) -> str:
    r"""Escape the signs that LaTeX would take for commands.

    Examples
    --------
    >>> print(escape("50 % of a_b & c ± 1"))
    50 \% of a\_b \& c $\pm$ 1
    """
    return "".join(_ESCAPED.get(sign, sign) for sign in text)


def _floating(kind: str, *lines: str) -> str:
    return "\n".join([f"\\begin{{{kind}}}", *lines, f"\\end{{{kind}}}", ""])


def _leading_names(table: pd.DataFrame) -> int:
    """Count the columns before the first that holds numbers only."""
    for place, column in enumerate(table):
        cells = [text for text in table[column].astype(str) if text]
        if all(map(_NUMBER.match, cells)):
            return place
    return len(table.columns)


def _widest(body: pd.DataFrame, names: int) -> Iterator[str]:
    """Yield the longest text of each column, names that have lines of their own left out."""
    for place, column in enumerate(body):
        texts = [str(column), *body[column]]
        if place < names:
            texts = [text for text in texts if len(text) <= LONGEST_NAME]
        if not (place == 0 and names >= 3):
            yield max(texts, key=len, default="")


def _parts(body: pd.DataFrame, names: int) -> Iterator[list[str]]:
    """Yield the lines of each table: whole groups, as many as a page has room for."""
    held: list[str] = []
    for group in _groups(body, names):
        if held and len(held) + len(group) > MOST_LINES:
            yield held
            held = group[group[0] == r"\addlinespace" :]
        else:
            held = held + group
    yield held


def _groups(body: pd.DataFrame, names: int) -> Iterator[list[str]]:
    """Yield the lines of the rows that have the first names in common, with a space above."""
    above, before = names >= 3, None
    leading = list(body.columns[: max(names - 1, 1)])
    first: str | None = None
    for key, rows in body.groupby(leading, sort=False):
        group = list(map(str, key))
        lines = [] if before is None or names == 1 else [r"\addlinespace"]
        if above and group[0] != first:
            first = group[0]
            lines.append(_line_of_its_own(rf"\textit{{{escape(first)}}}", len(body.columns) - 1))
        names_once = group[1:] if above else group
        for cells in rows.itertuples(index=False):
            rest = [str(cell) for cell in cells[len(group) :]]
            if any(len(name) > LONGEST_NAME for name in names_once):
                long = escape(" ".join(names_once))
                lines.append(_line_of_its_own(long, len(body.columns) - above))
                names_once = [""] * len(names_once)
            lines.append(" & ".join([*map(escape, [*names_once, *rest])]) + r" \\")
            names_once = [""] * len(names_once)
        before = group
        yield lines


def _line_of_its_own(text: str, columns: int) -> str:
    return rf"\multicolumn{{{columns}}}{{@{{}}l}}{{{text}}} \\"
