"""Levels of equal scores that hold relevant items, and what a tie policy makes of them.

Candidates with one score stand in an order that the scores do not say, so a level is all there
is to know: how many candidates stand above it, how many are in it, and how many of those are
relevant. A tie policy that fixes the order turns a level into smaller ones, all of them relevant;
so one formula a metric, its expectation over the order within levels, serves every policy.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import Ranks


@dataclass(frozen=True)
class Levels:
    """Levels with at least one relevant item, each user's best first; int64, shape (levels,).

    Attributes
    ----------
    user
        Index of the level's user.
    above
        Candidates strictly above the level, relevant or not; it takes the places `above + 1` to
        `above + size`.
    size, hits
        Candidates in the level, and the relevant ones among them.
    hits_above
        Relevant items of the user above the level.
    """

    user: Int
    above: Int
    size: Int
    hits: Int
    hits_above: Int

    @property
    def last_place(self) -> int:
        """The lowest place that any level reaches, 1 where there is none."""
        return int((self.above + self.size).max(initial=1))

    def places(self, k: int) -> Int:
        """Places of each level among the first k of the ranking."""
        return np.clip(k - self.above, 0, self.size)

    def where(self, chosen: NDArray[np.bool_]) -> "Levels":
        """Some of the levels."""
        return Levels(*(getattr(self, field.name)[chosen] for field in fields(self)))


def levels_of(ranks: Ranks) -> Levels:
    """Collect each user's relevant items by score.

    >>> ranks = Ranks([9], [4, 1, 1], [0, 2, 2], n_found=[3])
    >>> levels = levels_of(ranks)
    >>> levels.above, levels.size, levels.hits, levels.hits_above
    (array([1, 4]), array([3, 1]), array([2, 1]), array([0, 2]))
    """
    user, better = np.repeat(np.arange(len(ranks)), ranks.n_found), ranks.n_better
    rows = user.size
    other_user = np.ones(rows, bool)
    other_user[1:] = user[1:] != user[:-1]
    starts = other_user.copy()
    starts[1:] |= better[1:] != better[:-1]
    first = np.flatnonzero(starts)
    # Rows only grow, so the largest of the rows where users start is that of the level's user.
    start_of_user = np.maximum.accumulate(np.where(other_user[first], first, 0))
    hits = np.diff(first, append=rows)
    return Levels(user[first], better[first], ranks.n_tied[first] + 1, hits, first - start_of_user)


def _optimistic(levels: Levels, _: np.random.Generator | None) -> Levels:
    return replace(levels, size=levels.hits)


def _pessimistic(levels: Levels, _: np.random.Generator | None) -> Levels:
    return replace(levels, above=levels.above + levels.size - levels.hits, size=levels.hits)


def _random(levels: Levels, rng: np.random.Generator | None) -> Levels:
    """Every relevant item a level of its own, at the place it was drawn for."""
    if rng is None:
        raise InputError("tie policy 'random' needs a random generator")
    level = np.repeat(np.arange(levels.user.size), levels.hits)
    place = random_places(levels.size, levels.hits, rng)
    place = place[np.lexsort((place, level))]
    nth = np.arange(level.size) - _starts(levels.hits)[level]
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
    starts = _starts(hits)
    places = np.empty(int(hits.sum()), np.int64)
    level = np.arange(hits.size)
    for turn in range(int(hits.max(initial=0))):
        level = level[hits[level] > turn]
        last = size[level] - hits[level] + turn
        drawn = rng.integers(0, last + 1)
        earlier = places[starts[level][:, None] + np.arange(turn)]
        taken = (earlier == drawn[:, None]).any(axis=1)
        places[starts[level] + turn] = np.where(taken, last, drawn)
    return places


def _starts(counts: Int) -> Int:
    return np.cumsum(counts) - counts


POLICIES: dict[str, Callable[[Levels, np.random.Generator | None], Levels]] = {
    "expected": lambda levels, _: levels,
    "optimistic": _optimistic,
    "pessimistic": _pessimistic,
    "random": _random,
}


def per_user(levels: Levels, n_users: int, values: Float | Int) -> Float:
    """Sum a number of each level over the levels of each user; float64, shape (users,)."""
    return np.bincount(levels.user, values, n_users).astype(np.float64, copy=False)
