"""Questions about valid data that looks like a mistake: warnings, which results keep."""

import inspect
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FrameType

from sampled_metrics._base.errors import InputWarning, one_line, place_read

_NAMELESS = ("", "DataFrame", "data", "ranks")  # tables that are no files
_collections: ContextVar[tuple[list[str], ...]] = ContextVar("collections", default=())


def ask(argument: str, problem: str) -> None:
    """Warn the caller of the public function that reads an argument, once for the same question."""
    place = place_read()
    where = argument
    if place not in _NAMELESS:
        where = f"{place}, {argument}"
    question = one_line(f"{where}: {problem}")
    collections = _collections.get()
    is_known = any(question in asked for asked in collections)
    for asked in collections:
        if question not in asked:
            asked.append(question)
    if is_known:
        return
    frame = inspect.currentframe()
    level = 1
    while frame and _is_ours(frame):
        frame = frame.f_back
        level += 1
    warnings.warn(question, InputWarning, stacklevel=level)


def _is_ours(frame: FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")  # code that is executed may have none
    return name.startswith(("sampled_metrics", "contextlib"))


@contextmanager
def collected() -> Iterator[list[str]]:
    """Collect the questions that are asked inside, each once."""
    asked: list[str] = []
    token = _collections.set((*_collections.get(), asked))
    try:
        yield asked
    finally:
        _collections.reset(token)
