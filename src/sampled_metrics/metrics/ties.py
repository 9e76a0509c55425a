"""Tie policies: the order in which candidates with the same score are taken."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sampled_metrics._base.arrays import Float, Int, ranges, starts
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.levels import Levels
from sampled_metrics.ranks import Ranks


def random_rank(ranks: Ranks, rng: np.random.Generator) -> Int:
    """Draw the rank of each item from n_better + 1 ... n_better + n_tied + 1, all equally likely.

    int64, shape (items,).
    """
    return ranks.best_rank + rng.integers(0, ranks.n_tied + 1)


def _optimistic(levels: Levels, _: np.random.Generator | None) -> Levels:
    first = replace(levels, size=levels.hits)
    return first if first.grades is None else _by_grade(first, -first.grades)


def _pessimistic(levels: Levels, _: np.random.Generator | None) -> Levels:
    above = levels.above + levels.size - levels.hits
    last = replace(levels, above=above, size=levels.hits)
    return last if last.grades is None else _by_grade(last, last.grades)


def _by_grade(levels: Levels, key: Float) -> Levels:
    """Turn each relevant item into a level of its own, in ascending order of a key."""
    level = np.repeat(np.arange(levels.size.size), levels.hits)
    return _single(levels, ranges(0, levels.hits), np.lexsort((key, level)))


def _single(levels: Levels, place: Int, order: Int) -> Levels:
    """Make a level of each item, at ascending places of its level; `order` is that of grades."""
    level = np.repeat(np.arange(levels.hits.size), levels.hits)
    one = np.ones_like(level)
    hits_above = levels.hits_above[level] + ranges(0, levels.hits)
    grades = None if levels.grades is None else levels.grades[order]
    return Levels(levels.user[level], levels.above[level] + place, one, one, hits_above, grades)


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
    if levels.grades is None:
        return _single(levels, place, level)
    return _single(levels, place, np.lexsort((rng.random(level.size), level)))


def random_places(size: Int, hits: Int, rng: np.random.Generator) -> Int:
    """Places 0 ... size - 1 of `hits` items in each level, every set of places equally likely.

    Floyd's sampling without replacement (Bentley and Floyd, CACM 30(9), 1987), one item of every
    level a turn. int64, shape (sum of hits,), level by level, not sorted.

    Examples
    --------
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
