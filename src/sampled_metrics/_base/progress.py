"""Progress bars, where a terminal shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sampled_metrics._base.errors import InputError

Part = TypeVar("Part")


@contextmanager
def progress_bar(
    total: int, unit: str, progress: bool | None = None
) -> Iterator[Callable[[int], object]]:
    """Show on standard error how much of a total is done; yield a function that adds to it.

    By default the bar is shown if standard error is a terminal and tqdm is installed.
    """
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        if progress:
            raise InputError("progress needs tqdm: pip install tqdm") from None
        yield lambda _: None
        return
    is_disabled = None  # for tqdm: unless standard error is a terminal
    if progress is not None:
        is_disabled = not progress
    with tqdm(total=total, desc=unit, unit_scale=True, disable=is_disabled) as bar:
        yield bar.update


def iterate_with_bar(
    parts: Iterable[Part],
    total: int,
    size: Callable[[Part], int],
    unit: str,
    progress: bool | None = None,
) -> Iterator[Part]:
    """Yield parts of some work, and show how much of the total is done."""
    with progress_bar(total, unit, progress) as update:
        for part in parts:
            yield part
            update(size(part))
