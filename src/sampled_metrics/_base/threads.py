"""Threads of the linear algebra below numpy."""

from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager[object]:
    """Keep to one thread: on several, small matrices take up to ten times as long."""
    return _threads().limit(limits=1, user_api="blas")


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()
