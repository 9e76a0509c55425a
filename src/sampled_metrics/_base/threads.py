"""Work on several cores: calls in threads whose results come in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Given = TypeVar("Given")
Made = TypeVar("Made")


def in_threads(
    work: Callable[[Given], Made], given: Iterable[Given], threads: int
) -> Iterator[Made]:
    """Yield what `work` makes of each of `given`, in order, as `map` does.

    This thread takes them from `given`, no more than two per thread ahead of what is yielded.
    """
    if threads == 1:
        yield from map(work, given)
        return
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Made]] = deque()
    try:
        for each in given:
            waiting.append(pool.submit(work, each))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
