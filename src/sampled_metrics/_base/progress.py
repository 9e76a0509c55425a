"""Bars of progress, where a terminal shows them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from sampled_metrics._base.errors import InputError

Made = TypeVar("Made")


def with_bar(
    parts: Iterable[Made],
    total: int,
    size: Callable[[Made], int],
    what: str,
    progress: bool | None = None,
) -> Iterator[Made]:
    """Yield parts of some work, and show on standard error how much of the total is done.

    By default there is a bar if standard error is a terminal and tqdm is installed.
    """
    try:
        from tqdm import tqdm
    except ModuleNotFoundError:
        if progress:
            raise InputError("progress needs tqdm; install sampled-metrics[progress]") from None
        yield from parts
        return
    is_hidden = None if progress is None else not progress  # None: unless there is a terminal
    options: Any = {"unit_scale": True, "mininterval": 0.5, "disable": is_hidden}
    with tqdm(total=total, desc=what, **options) as bar:
        for part in parts:
            yield part
            bar.update(size(part))
