"""Random numbers and permutations computed from keys.

A number depends on the seed and its keys alone, so a result does not change with the batches in
which scores are asked, and recommenders that are compared share their numbers.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arrays import Float, Int, generator

Words = NDArray[np.uint64]

_ROUNDS = 12  # of the Feistel network; fewer place pairs unevenly in small strata
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_ONE = np.uint64(1)
_HALF_WORD = np.uint64(32)


def stream(seed: int, name: str) -> int:
    """Return the key of a named stream of random numbers."""
    return int(generator(seed, "budget", name).integers(1 << 63))


def hashed(*keys: ArrayLike) -> Words:
    """Mix integer keys, broadcast against each other, into uniform 64-bit words (SplitMix64)."""
    shape = np.broadcast_shapes(*map(np.shape, keys)) or (1,)
    word = np.zeros(shape, np.uint64)
    for key in keys:
        number = np.asarray(key).astype(np.uint64)
        word = _mixed(word * _GOLDEN + number + _GOLDEN)
    return word


def uniform(*keys: ArrayLike) -> Float:
    """Return uniform numbers in (0, 1), one per combination of keys."""
    digits = hashed(*keys) >> np.uint64(11)
    return (digits.astype(np.float64) + 0.5) * 2.0**-53


def permuted(index: Int, size: Int, key: Words) -> Int:
    """Map each index to its place under the random permutation of range(size) that `key` names.

    A Feistel network over a grid of at least `size` cells, so no permutation is stored; a place
    beyond `size` is mapped again.
    """
    place = np.array(index, np.int64)
    width = np.ceil(np.sqrt(size)).astype(np.uint64)
    height = (size.astype(np.uint64) + width - _ONE) // width
    outside = np.arange(place.size)
    while outside.size:
        cell = place[outside].astype(np.uint64)
        cell = _permuted_cells(cell, width[outside], height[outside], key[outside])
        place[outside] = cell.astype(np.int64)
        outside = outside[place[outside] >= size[outside]]
    return place


def _permuted_cells(cell: Words, width: Words, height: Words, key: Words) -> Words:
    """Map the cells of a grid to each other, in rounds of the Feistel network."""
    row = cell // width
    column = cell % width
    for turn in range(_ROUNDS):
        salt = key + np.uint64((turn + 1) * int(_GOLDEN) % 2**64)
        if turn % 2:
            step = _mixed(salt ^ (column * _SECOND)) >> _HALF_WORD
            row = (row + step) % height
        else:
            step = _mixed(salt ^ (row * _SECOND)) >> _HALF_WORD
            column = (column + step) % width
    return row * width + column


def _mixed(word: Words) -> Words:
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))
