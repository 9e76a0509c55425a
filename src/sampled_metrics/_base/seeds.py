"""Random generators derived from one seed and the names of what they serve."""

import hashlib
import struct

import numpy as np


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
