"""Text for people: names in lists, and tables as text and as HTML."""

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from html import escape
from math import isnan
from typing import Any, TypeAlias, TypeVar

from sampled_metrics._base.errors import InputError

T = TypeVar("T")
Rows: TypeAlias = Sequence[Mapping[str, Any]]
Parts: TypeAlias = Sequence[Rows | str]  # tables, and lines about them


def plain_name(name: str) -> str:
    """Write a name in lower case with hyphens: `hit-rate` for `Hit_Rate`."""
    return name.strip().lower().replace("_", "-")


def parse_list(names: str | Sequence[Any], what: str, parse: Callable[[str], T]) -> list[T]:
    """Parse one name, several separated by commas, or a sequence of either.

    Non-string entries are kept. `what` names the kind of name in errors.
    """
    try:
        entries = [names] if isinstance(names, str) else list(names)
    except TypeError:
        raise InputError(f"{what} are {names!r}; expected names") from None
    parsed: list[T] = []
    for entry in entries:
        if isinstance(entry, str):
            parsed += map(parse, filter(None, map(str.strip, entry.split(","))))
        else:
            parsed.append(entry)
    return list(dict.fromkeys(parsed))


def similar(name: str, known: Sequence[str]) -> str:
    """Ask ` did you mean ...?` with the known names most like a name, or nothing."""
    close = get_close_matches(name, known, n=2)
    return f" did you mean {' or '.join(close)}?" if close else ""


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
    return tabulate(plain(rows), headers="keys", tablefmt=kind, **options) + "\n"


def plain(rows: Rows) -> list[dict[str, Any]]:
    """Replace numbers that do not exist by None."""
    return [
        {key: None if isinstance(v, float) and isnan(v) else v for key, v in row.items()}
        for row in rows
    ]


def text_of(parts: Parts) -> str:
    """Lay out tables and lines as text."""
    return "\n".join(f"{part}\n" if isinstance(part, str) else table_of(part) for part in parts)


def html_of(parts: Parts) -> str:
    """Lay out tables and lines as HTML; an indented line continues the one before it."""
    return "".join(
        "<p>" + escape(part).replace("\n  ", " ").replace("\n", "<br>") + "</p>"
        if isinstance(part, str)
        else table_of(part, "html")
        for part in parts
    )
