"""Random numbers and permutations computed from keys, without a generator's state.

A number depends on the seed and its keys alone, so a run gives the same result in whatever
batches it is asked, paused or resumed, and recommenders that are compared share their numbers.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.seeds import generator

Words = NDArray[np.uint64]

ROUNDS = 12  # of the Feistel network; fewer leave pairs unevenly placed in the small strata
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_SALTS = [np.uint64((turn + 1) * int(_GOLDEN) % 2**64) for turn in range(ROUNDS)]
_TO_UNIT = 2.0**-53


def stream(seed: int, name: str) -> int:
    """Return the key of a named stream of random numbers."""
    return int(generator(seed, "budget", name).integers(1 << 63))


def hashed(*keys: ArrayLike) -> Words:
    """Mix integer keys, broadcast against each other, into uniform 64-bit words (SplitMix64)."""
    word = np.zeros(np.broadcast_shapes(*(np.shape(key) for key in keys)) or (1,), np.uint64)
    for key in keys:
        word = _mixed(word * _GOLDEN + np.asarray(key).astype(np.uint64) + _GOLDEN)
    return word


def uniform(*keys: ArrayLike) -> Float:
    """Uniform numbers in (0, 1), one per combination of keys.

    Examples
    --------
    >>> bool(uniform(7, [1, 2])[1] == uniform(7, 2)[0])
    True
    """
    return ((hashed(*keys) >> np.uint64(11)).astype(np.float64) + 0.5) * _TO_UNIT


def permuted(index: Int, size: Int, key: Words) -> Int:
    """Map `index` to its place under the pseudo-random permutation of range(size) that `key` names.

    A Feistel network over a grid of a x b >= size cells; a place beyond `size` is mapped again
    until it lies below. No permutation is ever stored.

    Parameters
    ----------
    index
        Numbers from 0 to size - 1.
    size, key
        Of the permutation that each index belongs to; shaped like `index`.

    Examples
    --------
    >>> key = np.zeros(6, np.uint64)
    >>> np.sort(permuted(np.arange(6), np.full(6, 6), key))
    array([0, 1, 2, 3, 4, 5])
    """
    place = np.array(index, np.int64)
    width = np.ceil(np.sqrt(size)).astype(np.uint64)
    height = (size.astype(np.uint64) + width - np.uint64(1)) // np.maximum(width, np.uint64(1))
    todo = np.arange(place.size)
    while todo.size:
        mapped = _network(place[todo].astype(np.uint64), width[todo], height[todo], key[todo])
        place[todo] = mapped
        todo = todo[place[todo] >= size[todo]]
    return place


def _network(place: Words, width: Words, height: Words, key: Words) -> Int:
    right, left = place // width, place % width
    for turn in range(ROUNDS):
        salt = key + _SALTS[turn]
        if turn % 2:
            right = (right + (_mixed(salt ^ (left * _SECOND)) >> np.uint64(32))) % height
        else:
            left = (left + (_mixed(salt ^ (right * _SECOND)) >> np.uint64(32))) % width
    return (right * width + left).astype(np.int64)


def _mixed(word: Words) -> Words:
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))
