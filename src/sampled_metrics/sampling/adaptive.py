"""Sampled ranks among as many negatives as it takes until one of them is better.

Li, Jin, Liu, Ren, Gao, Liu, "Towards Reliable Item Sampling for Recommendation Evaluation", AAAI
2023: a user with none above the held-out item gets as many new negatives as it has had.
"""

from typing import NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.levels import random_rank
from sampled_metrics.ranks import Ranks


class Adaptive(NamedTuple):
    """Outcome for each user, int64 of shape (users,).

    Attributes
    ----------
    drawn
        Number of negatives drawn.
    above
        How many of them are better than the held-out item.
    """

    drawn: Int
    above: Int


def next_size(drawn: Int, most: Int) -> Int:
    """Number of negatives after one more round: twice as many, at most `most`.

    Examples
    --------
    >>> next_size(np.array([4, 8]), np.array([30, 10]))
    array([ 8, 10])
    """
    return np.minimum(2 * drawn, most)


def draw_adaptively(
    ranks: Ranks, start: int, rng: np.random.Generator, largest: int | None = None
) -> Adaptive:
    """Draw negatives without replacement, doubling their number until one is better.

    Parameters
    ----------
    ranks
        The full rankings; ties are in random order.
    start
        Negatives of the first round.
    rng
        Source of the draws.
    largest
        Most negatives of a user; all candidates by default.

    Examples
    --------
    >>> draw_adaptively(Ranks([9, 9], [0, 8], [0, 0]), 2, np.random.default_rng(0))
    Adaptive(drawn=array([8, 2]), above=array([0, 2]))
    """
    if start < 1 or (largest is not None and largest < start):
        raise InputError(f"start is {start}; it must be from 1 to the largest number of negatives")
    others = ranks.n_candidates - 1
    most = others if largest is None else np.minimum(others, largest)
    better = random_rank(ranks, rng) - 1
    drawn, above = np.zeros_like(most), np.zeros_like(most)
    wanted = np.minimum(start, most)
    while (open_rows := np.flatnonzero((above == 0) & (wanted > drawn))).size:
        more = wanted[open_rows] - drawn[open_rows]
        # None above so far, so all better candidates are left.
        left = others[open_rows] - drawn[open_rows]
        above[open_rows] = rng.hypergeometric(better[open_rows], left - better[open_rows], more)
        drawn[open_rows] = wanted[open_rows]
        wanted = next_size(drawn, most)
    return Adaptive(drawn, above)
