"""Threads of the linear algebra below numpy."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from threadpoolctl import ThreadpoolController


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread; also a decorator of functions.

    On several, a sum depends on their number in its last digit, and small matrices take up to ten
    times as long.
    """
    with _threads().limit(limits=1, user_api="blas"):
        yield


@cache
def _threads() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401, whose library has threads of its own

    return ThreadpoolController()
