"""Levels: candidates with the same score, and tie policies that order them."""

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
    """Groups of candidates with the same score, at least one of which is relevant.

    A metric is one formula over levels: its expectation over the order of the candidates within
    each level. A tie policy that fixes the order divides levels into smaller ones without
    irrelevant items, so that the same formula serves every policy.

    Attributes
    ----------
    user
        Row of the user of each level; int64, shape (levels,), like all counts. The levels of a user
        follow each other, best first.
    above
        Number of candidates above the level, which has the ranks above + 1 ... above + size.
    size, hits
        Number of candidates in the level, and of relevant items among them.
    hits_above
        Number of relevant items of the user above the level.
    relevance
        Grade of each relevant item, level by level; shape (sum of hits,). None without grades.
    """

    user: Int
    above: Int
    size: Int
    hits: Int
    hits_above: Int
    relevance: Float | None = None

    @classmethod
    def from_ranks(cls, ranks: Ranks) -> "Levels":
        """Group each user's relevant items by score.

        Examples
        --------
        >>> levels = Levels.from_ranks(Ranks([9], [4, 1, 1], [0, 2, 2], n_found=[3]))
        >>> levels.above, levels.size, levels.hits, levels.hits_above
        (array([1, 4]), array([3, 1]), array([2, 1]), array([0, 2]))
        """
        user = np.repeat(np.arange(len(ranks)), ranks.n_found)
        above = ranks.n_better
        is_first = np.ones(user.size, bool)
        is_first[1:] = (user[1:] != user[:-1]) | (above[1:] != above[:-1])
        first = np.flatnonzero(is_first)
        first_of_user = run_starts(ranks.n_found)
        relevance = ranks.relevance
        if relevance is not None:
            relevance = relevance[concatenate_ranges(run_starts(ranks.n_relevant), ranks.n_found)]
        return cls(
            user=user[first],
            above=above[first],
            size=ranks.n_tied[first] + 1,
            hits=np.diff(first, append=user.size),
            hits_above=first - first_of_user[user[first]],
            relevance=relevance,
        )

    @property
    def level_of_item(self) -> Int:
        """Number of the level of each relevant item."""
        return np.repeat(np.arange(self.hits.size), self.hits)

    def n_ranks(self, k: int | None) -> Int:
        """Return how many ranks of each level are among the first k; all of them without k."""
        if k is None:
            return self.size
        return np.clip(k - self.above, 0, self.size)

    def best_of_users(self) -> "Levels":
        """Return the best level of each user, without grades."""
        is_first = self.hits_above == 0
        return Levels(
            user=self.user[is_first],
            above=self.above[is_first],
            size=self.size[is_first],
            hits=self.hits[is_first],
            hits_above=self.hits_above[is_first],
        )

    def per_user(self, users: Ranks, values: Float | Int) -> Float:
        """Sum a number for each level over the levels of each user; float64, shape (users,)."""
        sums = np.bincount(self.user, values, users.n_candidates.size)
        return sums.astype(np.float64, copy=False)

    def split_by_item(self, position: Int, grade_order: Int | Float) -> "Levels":
        """Return a level for each relevant item.

        Parameters
        ----------
        position
            Positions of the relevant items within their level from 0, in ascending order.
        grade_order
            For each relevant item a number; the grades of a level are assigned to its positions in
            ascending order of this number.
        """
        level = self.level_of_item
        relevance = self.relevance
        if relevance is not None:
            relevance = relevance[np.lexsort((grade_order, level))]
        return Levels(
            user=self.user[level],
            above=self.above[level] + position,
            size=np.ones_like(level),
            hits=np.ones_like(level),
            hits_above=self.hits_above[level] + concatenate_ranges(0, self.hits),
            relevance=relevance,
        )


def random_positions(size: Int, hits: Int, rng: np.random.Generator) -> Int:
    """Draw the positions of `hits` items among 0 ... size - 1 in each level, without replacement.

    By Floyd's algorithm (Bentley and Floyd, CACM 30(9), 1987). Returns int64 of shape
    (sum of hits,), level by level, not sorted.

    Examples
    --------
    >>> random_positions(np.array([3, 1]), np.array([3, 1]), np.random.default_rng(0))
    array([0, 1, 2, 0])
    """
    first = run_starts(hits)
    positions = np.empty(int(hits.sum()), np.int64)
    level = np.arange(hits.size)
    for turn in range(int(hits.max(initial=0))):
        level = level[hits[level] > turn]
        last = size[level] - hits[level] + turn
        draw = rng.integers(0, last + 1)
        earlier = positions[first[level][:, np.newaxis] + np.arange(turn)]
        is_repeated = (earlier == draw[:, np.newaxis]).any(axis=1)
        positions[first[level] + turn] = np.where(is_repeated, last, draw)
    return positions


def _relevant_at_end(levels: Levels, _: np.random.Generator | None, is_last: bool) -> Levels:
    """Put relevant items before or after their ties, higher grades before or after lower ones.

    The unused argument is the generator of random numbers that `_order_at_random` takes.
    """
    n_not_relevant = levels.size - levels.hits
    relevant_only = replace(
        levels, above=levels.above + (n_not_relevant if is_last else 0), size=levels.hits
    )
    if relevant_only.relevance is None:
        return relevant_only
    grade_order = relevant_only.relevance if is_last else -relevant_only.relevance
    position = concatenate_ranges(0, relevant_only.hits)
    return relevant_only.split_by_item(position, grade_order)


def _order_at_random(levels: Levels, rng: np.random.Generator | None) -> Levels:
    """Give each relevant item a level of its own, at a random rank."""
    if rng is None:
        raise InputError("tie policy 'random' needs a random generator")
    # If each level has one relevant item, its position is uniform, and `hits`, all 1, are the sizes
    # of the new levels.
    if levels.hits.max(initial=1) == 1:
        position = rng.integers(0, levels.size)
        return replace(levels, above=levels.above + position, size=levels.hits)
    level = levels.level_of_item
    # `random_positions` draws a uniform set of positions for each level, but not in a uniform
    # order. So positions are sorted within each level, and grades are assigned to them in a random
    # order. Without grades the items of a level are alike, and the order is not used.
    position = random_positions(levels.size, levels.hits, rng)
    grade_order = position
    if levels.relevance is not None:
        grade_order = rng.permutation(level.size)
    return levels.split_by_item(position[np.lexsort((position, level))], grade_order)


TIE_POLICIES: dict[str, Callable[[Levels, np.random.Generator | None], Levels]] = {
    "expected": lambda levels, _: levels,
    "optimistic": partial(_relevant_at_end, is_last=False),
    "pessimistic": partial(_relevant_at_end, is_last=True),
    "random": _order_at_random,
}
