"""Random generators derived from one seed and the names of what they serve."""

import numpy as np


def generator(seed: int, *keys: str | int) -> np.random.Generator:
    """Return the generator of a named stream, independent of all others with the same seed.

    The stream depends on the seed and the keys alone, so a result does not change with the order,
    the batch or the process in which it is computed.

    >>> one, again = (generator(1, "X", "bv:0.1", 7).random() for _ in range(2))
    >>> one == again
    True
    >>> generator(1, "X", "bv:0.1", 8).random() == one
    False
    """
    numbers = tuple(
        key if isinstance(key, int) else int.from_bytes(key.encode(), "big") for key in keys
    )
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=numbers))
