"""Tie policies: the order in which candidates with the same score are taken."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sampled_metrics._base.arrays import Int, ranges, starts
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.levels import Levels
from sampled_metrics.ranks import Ranks


def random_rank(ranks: Ranks, rng: np.random.Generator) -> Int:
    """Draw the rank of each item from n_better + 1 ... n_better + n_tied + 1, all equally likely.

    int64, shape (items,).
    """
    return ranks.best_rank + rng.integers(0, ranks.n_tied + 1)


def _optimistic(levels: Levels, _: np.random.Generator | None) -> Levels:
    return replace(levels, size=levels.hits)


def _pessimistic(levels: Levels, _: np.random.Generator | None) -> Levels:
    return replace(levels, above=levels.above + levels.size - levels.hits, size=levels.hits)


def _random(levels: Levels, rng: np.random.Generator | None) -> Levels:
    """Turn each relevant item into a level of its own, at the place drawn for it."""
    if rng is None:
        raise InputError("tie policy 'random' needs a random generator")
    if levels.hits.max(initial=1) == 1:
        above = levels.above + rng.integers(0, levels.size)
        return replace(levels, above=above, size=levels.hits)
    level = np.repeat(np.arange(levels.user.size), levels.hits)
    place = random_places(levels.size, levels.hits, rng)
    place = place[np.lexsort((place, level))]
    nth = ranges(0, levels.hits)
    one = np.ones_like(level)
    above = levels.above[level] + place
    return Levels(levels.user[level], above, one, one, levels.hits_above[level] + nth)


def random_places(size: Int, hits: Int, rng: np.random.Generator) -> Int:
    """Places 0 ... size - 1 of `hits` items in each level, every set of places equally likely.

    Floyd's sampling without replacement (Bentley and Floyd, CACM 30(9), 1987), one item of every
    level a turn. int64, shape (sum of hits,), level by level, not sorted.

    >>> random_places(np.array([3, 1]), np.array([3, 1]), np.random.default_rng(0))
    array([0, 1, 2, 0])
    """
    first = starts(hits)
    places = np.empty(int(hits.sum()), np.int64)
    level = np.arange(hits.size)
    for turn in range(int(hits.max(initial=0))):
        level = level[hits[level] > turn]
        last = size[level] - hits[level] + turn
        drawn = rng.integers(0, last + 1)
        earlier = places[first[level][:, None] + np.arange(turn)]
        taken = (earlier == drawn[:, None]).any(axis=1)
        places[first[level] + turn] = np.where(taken, last, drawn)
    return places


TIES: dict[str, Callable[[Levels, np.random.Generator | None], Levels]] = {
    "expected": lambda levels, _: levels,
    "optimistic": _optimistic,
    "pessimistic": _pessimistic,
    "random": _random,
}
