"""Names of metrics and estimators, in lists as people write them."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

from sampled_metrics._base.errors import InputError

T = TypeVar("T")


def plain(name: str) -> str:
    """Write a name in lower case with hyphens: `hit-rate` for `Hit_Rate`."""
    return name.strip().lower().replace("_", "-")


def parse_list(names: str | Sequence[Any], what: str, parse: Callable[[str], T]) -> list[T]:
    """Parse one name, several separated by commas, or a sequence of either.

    What is no text is taken as parsed already; errors call the names `what`.

    Examples
    --------
    >>> parse_list("1, 2", "numbers", int), parse_list(["1,2", 3], "numbers", int)
    ([1, 2], [1, 2, 3])
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
