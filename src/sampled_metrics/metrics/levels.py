"""Levels: candidates with the same score, and the order in which a tie policy takes them."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int, ranges, starts
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.grades import of_found


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels with at least one relevant item, best first for each user; int64, shape (levels,).

    A tie policy that fixes the order turns a level into smaller ones, all of them relevant. So one
    formula per metric, its expectation over the order within levels, serves every policy.
    """

    user: Int  # row of the level's user
    above: Int  # candidates above the level, which takes the places above + 1 to above + size
    size: Int  # candidates in the level, relevant or not
    hits: Int  # the relevant ones among them
    hits_above: Int  # relevant items of the user above the level
    grades: Float | None = None  # of each relevant item, level by level

    @classmethod
    def of(cls, ranks: Ranks) -> "Levels":
        """Group each user's relevant items by score.

        Examples
        --------
        >>> levels = Levels.of(Ranks([9], [4, 1, 1], [0, 2, 2], n_found=[3]))
        >>> levels.above, levels.size, levels.hits, levels.hits_above
        (array([1, 4]), array([3, 1]), array([2, 1]), array([0, 2]))
        """
        rows = np.arange(len(ranks))
        if ranks.is_single:
            one = ranks.n_relevant
            zero = np.zeros_like(one)
            return cls(rows, ranks.n_better, ranks.n_tied + 1, one, zero, ranks.grades)
        user, above = np.repeat(rows, ranks.n_found), ranks.n_better
        begins = np.ones(user.size, bool)
        begins[1:] = (user[1:] != user[:-1]) | (above[1:] != above[:-1])
        first = np.flatnonzero(begins)
        first_of_user = starts(ranks.n_found)[user[first]]
        hits = np.diff(first, append=user.size)
        size, hits_above = ranks.n_tied[first] + 1, first - first_of_user
        return cls(user[first], above[first], size, hits, hits_above, of_found(ranks))

    @property
    def of_item(self) -> Int:
        """Number of the level of each relevant item, level by level."""
        return np.repeat(np.arange(self.hits.size), self.hits)

    @property
    def last_place(self) -> int:
        """Lowest place that any level reaches, 1 if there is no level."""
        return int((self.above + self.size).max(initial=1))

    def places(self, k: int) -> Int:
        """Count the places of each level among the first k of the ranking."""
        return np.clip(k - self.above, 0, self.size)

    def where(self, selected: NDArray[np.bool_]) -> "Levels":
        """Select some of the levels."""
        return Levels(
            self.user[selected],
            self.above[selected],
            self.size[selected],
            self.hits[selected],
            self.hits_above[selected],
            None if self.grades is None else self.grades[np.repeat(selected, self.hits)],
        )

    def gains(self, gain: Callable[[Float], Float]) -> Float | Int:
        """Sum the gains of each level's relevant items, 1 each without grades."""
        if self.grades is None:
            return self.hits
        return np.bincount(self.of_item, gain(self.grades), self.hits.size)

    def first(self) -> "Levels":
        """Select the best level of each user."""
        return self.where(self.hits_above == 0)

    def per_user(self, users: Ranks, values: Float | Int) -> Float:
        """Sum a number per level over the levels of each user; float64, shape (users,)."""
        return np.bincount(self.user, values, len(users)).astype(np.float64, copy=False)


def random_rank(ranks: Ranks, rng: np.random.Generator) -> Int:
    """Draw the rank of each item from n_better + 1 ... n_better + n_tied + 1, all equally likely.

    int64, shape (items,).
    """
    return ranks.best_rank + rng.integers(0, ranks.n_tied + 1)


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


def _optimistic(levels: Levels, _: np.random.Generator | None) -> Levels:
    first = replace(levels, size=levels.hits)
    return first if first.grades is None else _by_grade(first, -first.grades)


def _pessimistic(levels: Levels, _: np.random.Generator | None) -> Levels:
    above = levels.above + levels.size - levels.hits
    last = replace(levels, above=above, size=levels.hits)
    return last if last.grades is None else _by_grade(last, last.grades)


def _by_grade(levels: Levels, key: Float) -> Levels:
    """Turn each relevant item into a level of its own, in ascending order of a key."""
    return _single(levels, ranges(0, levels.hits), np.lexsort((key, levels.of_item)))


def _single(levels: Levels, place: Int, order: Int) -> Levels:
    """Make a level of each item, at ascending places of its level; `order` is that of grades."""
    level = levels.of_item
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
    level = levels.of_item
    place = random_places(levels.size, levels.hits, rng)
    place = place[np.lexsort((place, level))]
    if levels.grades is None:
        return _single(levels, place, level)
    return _single(levels, place, np.lexsort((rng.random(level.size), level)))


TIES: dict[str, Callable[[Levels, np.random.Generator | None], Levels]] = {
    "expected": lambda levels, _: levels,
    "optimistic": _optimistic,
    "pessimistic": _pessimistic,
    "random": _random,
}
