"""Draws with replacement of which duplicates are dropped, so that at most m items are ranked.

Given how many distinct items were drawn, they are a sample without replacement of that size.
"""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from sampled_metrics._base.arrays import Float, Int

_NEGLIGIBLE = 1e-17  # smaller numbers of distinct items are left out up to this probability


def distinct_items(others: int, m: int) -> Float:
    """Probability of every number of distinct items in m draws with replacement.

    The recursion of the occupancy problem: a draw is new with probability 1 - d/others once d
    items were drawn. All terms are positive, so the relative error is about m times 1e-16.

    Parameters
    ----------
    others
        Items drawn from, n - 1; at least 1.
    m
        Draws, at least 1.

    Returns
    -------
    float64, shape (m + 1,); entry d belongs to d distinct items.

    Examples
    --------
    >>> distinct_items(2, 3)
    array([0.  , 0.25, 0.75, 0.  ])
    """
    old = np.arange(m + 1) / others
    new = np.maximum(1.0 - old[:-1], 0.0)
    probability = np.zeros(m + 1)
    probability[0] = 1.0
    for _ in range(m):
        arriving = probability[:-1] * new
        probability *= np.minimum(old, 1.0)
        probability[1:] += arriving
    return probability


def parts(n: Int, m: int) -> Iterator[tuple[int, Int, Float]]:
    """Split draws with replacement by the number of distinct items among them.

    Yields the number of distinct items, the rows of `n` where that count has non-negligible
    probability, and its probability there. Large counts are kept however improbable, because
    without them the last sampled ranks would be impossible.
    """
    sizes, place = np.unique(n, return_inverse=True)
    table = np.array([_kept(int(items) - 1, m) for items in sizes]).reshape(sizes.size, m + 1)
    for count in np.flatnonzero(table.any(axis=0)):
        probability = table[place, count]
        rows = np.flatnonzero(probability)
        yield int(count), rows, probability[rows]


@lru_cache(maxsize=4096)
def _kept(others: int, m: int) -> Float:
    probability = distinct_items(others, m)
    probability[: np.argmax(np.cumsum(probability) > _NEGLIGIBLE)] = 0.0
    probability /= probability.sum()
    probability.flags.writeable = False
    return probability
