"""What makes numbers repeatable: named streams of random numbers, and one thread for sums."""

import hashlib
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController


def generator(seed: int, *keys: str | int) -> np.random.Generator:
    """Return the generator of a named stream, independent of all others with the same seed.

    The stream depends on the seed and the keys alone, so a result does not change with the order,
    the batch or the process in which it is computed. Every key is hashed to 128 bits, a text and
    a number never to the same.
    """
    digests = (hashlib.sha256(repr(key).encode()).digest() for key in keys)
    # Four 32-bit words for each key, so that neighbouring keys cannot run into each other.
    words = tuple(word for digest in digests for word in struct.unpack_from("<4I", digest))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=words))


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
