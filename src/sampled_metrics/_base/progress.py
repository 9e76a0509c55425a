"""Bars of progress, where a terminal shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sampled_metrics._base.errors import InputError

Made = TypeVar("Made")


@contextmanager
def progress_bar(
    total: int, what: str, progress: bool | None = None
) -> Iterator[Callable[[int], object]]:
    """Show on standard error how much of a total is done; give a function that takes what is new.

    By default there is a bar if standard error is a terminal and tqdm is installed.
    """
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        if progress:
            raise InputError("progress needs tqdm: pip install tqdm") from None
        yield lambda _: None
        return
    is_off = None  # unless it is a terminal
    if progress is not None:
        is_off = not progress
    with tqdm(total=total, desc=what, unit_scale=True, disable=is_off) as shown:
        yield shown.update


def iterate_with_bar(
    parts: Iterable[Made],
    total: int,
    size: Callable[[Made], int],
    what: str,
    progress: bool | None = None,
) -> Iterator[Made]:
    """Yield parts of some work, and show how much of the total is done."""
    with progress_bar(total, what, progress) as update:
        for part in parts:
            yield part
            update(size(part))
