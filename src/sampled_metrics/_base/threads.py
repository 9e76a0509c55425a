"""Work on several cores: how many threads, and calls in them whose results come in order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from sampled_metrics._base.arguments import whole_number
from sampled_metrics._base.errors import InputError

Given = TypeVar("Given")
Made = TypeVar("Made")
ALL_CORES = -1


def threads_of(n_jobs: int) -> int:
    """Return the number of threads of `n_jobs`: -1 for one per core, -2 for one fewer, as joblib.

    Examples
    --------
    >>> threads_of(3)
    3
    """
    number = whole_number("n_jobs", n_jobs)
    if number == 0:
        raise InputError("n_jobs is 0, expected a number of threads, or -1 for all cores")
    if number > 0:
        return number
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    return max(1, cores + 1 + number)


def in_threads(
    work: Callable[[Given], Made], given: Iterable[Given], threads: int
) -> Iterator[Made]:
    """Yield what `work` makes of each of `given`, in order, as `map` does.

    This thread takes them from `given`, no more than two per thread ahead of what is yielded.
    """
    if threads == 1:
        yield from map(work, given)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Made]] = deque()
        try:
            for each in given:
                waiting.append(pool.submit(work, each))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
