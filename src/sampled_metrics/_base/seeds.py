"""Random generators derived from one seed and the names of what they serve."""

import hashlib

import numpy as np


def generator(seed: int, *keys: str | int) -> np.random.Generator:
    """Return the generator of a named stream, independent of all others with the same seed.

    The stream depends on the seed and the keys alone, so a result does not change with the order,
    the batch or the process in which it is computed. Every key is hashed to 128 bits, a text and
    a number never to the same.

    Examples
    --------
    >>> one, again = (generator(1, "X", "bv:0.1", 7).random() for _ in range(2))
    >>> one == again
    True
    >>> generator(1, "X", "bv:0.1", 8).random() == one
    False
    """
    words = tuple(word for key in keys for word in _words(key))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=words))


def _words(key: str | int) -> tuple[int, ...]:
    """Four 32-bit words, so that neighbouring keys cannot run into each other."""
    digest = hashlib.sha256(repr(key).encode()).digest()
    return tuple(int.from_bytes(digest[at : at + 4], "little") for at in range(0, 16, 4))
