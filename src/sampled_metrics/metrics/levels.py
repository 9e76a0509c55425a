"""Candidates with the same score, over which metrics are formulas, and policies that order them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import concatenate_ranges, run_starts
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import Ranks


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
    relevance: Float | None = None  # grade of each relevant item, level by level

    @classmethod
    def of(cls, ranks: Ranks) -> "Levels":
        """Group each user's relevant items by score.

        Examples
        --------
        >>> levels = Levels.of(Ranks([9], [4, 1, 1], [0, 2, 2], n_found=[3]))
        >>> levels.above, levels.size, levels.hits, levels.hits_above
        (array([1, 4]), array([3, 1]), array([2, 1]), array([0, 2]))
        """
        user = np.repeat(np.arange(len(ranks)), ranks.n_found)
        above = ranks.n_better
        begins = np.ones(user.size, bool)
        begins[1:] = (user[1:] != user[:-1]) | (above[1:] != above[:-1])
        first = np.flatnonzero(begins)
        user_begins = run_starts(ranks.n_found)
        relevance = ranks.relevance
        if relevance is not None:
            relevance = relevance[concatenate_ranges(run_starts(ranks.n_relevant), ranks.n_found)]
        return cls(
            user=user[first],
            above=above[first],
            size=ranks.n_tied[first] + 1,
            hits=np.diff(first, append=user.size),
            hits_above=first - user_begins[user[first]],
            relevance=relevance,
        )

    @property
    def of_item(self) -> Int:
        """Number of the level of each relevant item, level by level."""
        return np.repeat(np.arange(self.hits.size), self.hits)

    def places(self, k: int | None) -> Int:
        """Count the places of each level among the first k of the ranking, or of all of it."""
        if k is None:
            return self.size
        return np.clip(k - self.above, 0, self.size)

    def first(self) -> "Levels":
        """Select the best level of each user, without grades."""
        is_first = self.hits_above == 0
        return Levels(
            user=self.user[is_first],
            above=self.above[is_first],
            size=self.size[is_first],
            hits=self.hits[is_first],
            hits_above=self.hits_above[is_first],
        )

    def per_user(self, users: Ranks, values: Float | Int) -> Float:
        """Sum a number per level over the levels of each user; float64, shape (users,)."""
        sums = np.bincount(self.user, values, users.n_candidates.size)
        return sums.astype(np.float64, copy=False)

    def apart(self, place: Int, key: Int | Float) -> "Levels":
        """Make a level of each relevant item; ascending places go to ascending keys."""
        level = self.of_item
        relevance = self.relevance
        if relevance is not None:
            relevance = relevance[np.lexsort((key, level))]
        return Levels(
            user=self.user[level],
            above=self.above[level] + place,
            size=np.ones_like(level),
            hits=np.ones_like(level),
            hits_above=self.hits_above[level] + concatenate_ranges(0, self.hits),
            relevance=relevance,
        )


def random_places(size: Int, hits: Int, rng: np.random.Generator) -> Int:
    """Places 0 ... size - 1 of `hits` items in each level, every set of places equally likely.

    Floyd's sampling without replacement (Bentley and Floyd, CACM 30(9), 1987). int64, shape
    (sum of hits,), level by level, not sorted.

    Examples
    --------
    >>> random_places(np.array([3, 1]), np.array([3, 1]), np.random.default_rng(0))
    array([0, 1, 2, 0])
    """
    first = run_starts(hits)
    places = np.empty(int(hits.sum()), np.int64)
    level = np.arange(hits.size)
    for turn in range(int(hits.max(initial=0))):
        level = level[hits[level] > turn]
        last = size[level] - hits[level] + turn
        drawn = rng.integers(0, last + 1)
        earlier = places[first[level][:, np.newaxis] + np.arange(turn)]
        taken = (earlier == drawn[:, np.newaxis]).any(axis=1)
        places[first[level] + turn] = np.where(taken, last, drawn)
    return places


def _extreme(levels: Levels, _: np.random.Generator | None, last: bool) -> Levels:
    """Put the relevant items first or last among their ties, high grades first or last."""
    above = levels.above
    if last:
        above = above + levels.size - levels.hits
    together = replace(levels, above=above, size=levels.hits)
    if together.relevance is None:
        return together
    place = concatenate_ranges(0, together.hits)
    if last:
        return together.apart(place, together.relevance)
    return together.apart(place, -together.relevance)


def _random(levels: Levels, rng: np.random.Generator | None) -> Levels:
    """Turn each relevant item into a level of its own, at the place drawn for it."""
    if rng is None:
        raise InputError("tie policy 'random' needs a random generator")
    if levels.hits.max(initial=1) == 1:
        place = rng.integers(0, levels.size)
        return replace(levels, above=levels.above + place, size=levels.hits)
    level = levels.of_item
    place = random_places(levels.size, levels.hits, rng)
    key = place
    if levels.relevance is not None:
        key = rng.permutation(level.size)
    return levels.apart(place[np.lexsort((place, level))], key)


TIE_POLICIES: dict[str, Callable[[Levels, np.random.Generator | None], Levels]] = {
    "expected": lambda levels, _: levels,
    "optimistic": partial(_extreme, last=False),
    "pessimistic": partial(_extreme, last=True),
    "random": _random,
}
