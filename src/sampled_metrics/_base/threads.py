"""Calls in several threads, and the number of threads of linear algebra."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")


def map_in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Iterator[Result]:
    """Yield function(item) for each item, in order, as `map` does.

    The calling thread iterates over `items`, at most two per thread ahead of what is yielded. Other
    threads see its context variables, so that they warn and name arguments as it does.
    """
    if threads == 1:
        yield from map(function, items)
        return
    pool = ThreadPoolExecutor(threads)
    waiting: deque[Future[Result]] = deque()
    try:
        for item in items:
            waiting.append(pool.submit(copy_context().run, function, item))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


def map_with_pool(
    function: Callable[[Item], Result], items: Sequence[Item], pool: Executor
) -> list[Result]:
    """Return function(item) for each item; this thread takes the first one, a pool the others.

    For calls of about a millisecond, which take longer with `map_in_threads` as it starts threads.
    """
    first, *others = items
    waiting = [pool.submit(copy_context().run, function, item) for item in others]
    return [function(first), *(future.result() for future in waiting)]


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit linear algebra to one thread; also a decorator of functions.

    With several threads, the last digit of a sum depends on their number, and small matrices take
    up to ten times as long. Without threadpoolctl, as in a browser, nothing is limited.
    """
    controller = _controller()
    if controller is None:
        yield
        return
    with controller.limit(limits=1, user_api="blas"):
        yield


def with_current_threads(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Let a function use as many threads as now, also when it is called within `one_thread`.

    A function of the caller, such as a recommender, keeps its speed in this way.
    """
    controller = _controller()
    if controller is None:
        return function
    libraries = controller.select(user_api="blas").info()
    current = max((library["num_threads"] for library in libraries), default=None)

    @wraps(function)
    def call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with controller.limit(limits=current, user_api="blas"):
            return function(*args, **kwargs)

    return call


@cache
def _controller() -> Any:
    """Return the controller of all thread pools that are loaded at the first call."""
    import scipy.special  # noqa: F401, loads scipy's own library, which has its own threads

    try:
        from threadpoolctl import ThreadpoolController
    except ModuleNotFoundError:
        return None
    return ThreadpoolController()
