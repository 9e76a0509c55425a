"""Random numbers and permutations computed from keys.

A number depends on the seed and its keys alone, so a result does not change with the batches in
which scores are asked, and recommenders that are compared share their numbers.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arrays import Float, Int, generator

Words = NDArray[Any]  # uint64

_ROUNDS = 12  # of the Feistel network; fewer place pairs unevenly in small strata
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB


def stream(seed: int, name: str) -> int:
    """Return the key of a named stream of random numbers."""
    return int(generator(seed, "budget", name).integers(1 << 63))


def hashed(*keys: ArrayLike) -> Words:
    """Mix integer keys, broadcast against each other, into uniform 64-bit words (SplitMix64)."""
    word: Words = np.zeros(1, np.uint64)
    for key in keys:
        number = np.asarray(key).astype(np.uint64)
        word = _mixed(word * _GOLDEN + number + _GOLDEN)
    return word


def uniform(*keys: ArrayLike) -> Float:
    """Return uniform numbers in (0, 1), one per combination of keys."""
    digits = hashed(*keys) >> 11
    return (digits.astype(np.float64) + 0.5) * 2.0**-53


def permuted(index: Int, size: Int, key: Words) -> Int:
    """Map each index to its place under the random permutation of range(size) that `key` names.

    A Feistel network over a grid of at least `size` cells, so no permutation is stored; a place
    beyond `size` is mapped again.
    """
    place = np.array(index, np.int64)
    width = np.ceil(np.sqrt(size)).astype(np.uint64)
    height = (size.astype(np.uint64) + width - 1) // width
    outside = np.arange(place.size)
    while outside.size:
        cell = place[outside].astype(np.uint64)
        shape = (height[outside], width[outside])
        place[outside] = _permuted_cells(cell, shape, key[outside])
        outside = outside[place[outside] >= size[outside]]
    return place


def _permuted_cells(cell: Words, shape: tuple[Words, Words], key: Words) -> Words:
    """Map the cells of a grid to each other, in rounds of the Feistel network."""
    width = shape[1]
    where = [cell // width, cell % width]  # row and column
    for turn in range(_ROUNDS):
        fixed = turn % 2
        moved = 1 - fixed
        salt = key + (turn + 1) * _GOLDEN % 2**64
        step = _mixed(salt ^ (where[fixed] * _SECOND)) >> 32
        where[moved] = (where[moved] + step) % shape[moved]
    row, column = where
    return row * width + column


def _mixed(word: Words) -> Words:
    word = (word ^ (word >> 30)) * _FIRST
    word = (word ^ (word >> 27)) * _SECOND
    return word ^ (word >> 31)
