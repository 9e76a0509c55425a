"""Streams of random numbers, each with a name."""

import hashlib
import struct

import numpy as np

from sampled_metrics._base.arguments import whole_number


def generator(seed: int, *keys: str | int) -> np.random.Generator:
    """Return the generator of a named stream, independent of all others with the same seed.

    The stream depends only on the seed and the keys. A result therefore does not change with the
    order, the batch or the process in which it is computed. Each key is hashed to 128 bits; a text
    and a number never have the same hash.
    """
    entropy = whole_number("seed", seed, 0)
    spawn_key: list[int] = []
    for key in keys:
        digest = hashlib.sha256(repr(key).encode()).digest()
        # Four 32-bit words per key, so that neighbouring keys cannot run into each other.
        spawn_key.extend(struct.unpack_from("<4I", digest))
    sequence = np.random.SeedSequence(entropy, spawn_key=spawn_key)
    return np.random.default_rng(sequence)
