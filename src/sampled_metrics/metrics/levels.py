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

        Items of a user with as many better candidates are one level. Items that are not found have
        none.

        Examples
        --------
        >>> levels = Levels.from_ranks(Ranks([9], [4, 1, 1], [0, 2, 2], n_found=[3]))
        >>> levels.above, levels.size, levels.hits, levels.hits_above
        (array([1, 4]), array([3, 1]), array([2, 1]), array([0, 2]))
        """
        user = np.repeat(np.arange(len(ranks)), ranks.n_found)  # of each item, like `above`
        above = ranks.n_better
        begins_level = np.ones(user.size, bool)
        begins_level[1:] = (user[1:] != user[:-1]) | (above[1:] != above[:-1])
        first_item = np.flatnonzero(begins_level)
        first_item_of_user = run_starts(ranks.n_found)
        grade_of_found = ranks.relevance
        if grade_of_found is not None:
            found_items = concatenate_ranges(run_starts(ranks.n_relevant), ranks.n_found)
            grade_of_found = grade_of_found[found_items]
        return cls(
            user=user[first_item],
            above=above[first_item],
            size=ranks.n_tied[first_item] + 1,
            hits=np.diff(first_item, append=user.size),
            hits_above=first_item - first_item_of_user[user[first_item]],
            relevance=grade_of_found,
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
        """Return the best level of each user, without grades; users without one are skipped."""
        is_best = self.hits_above == 0
        return Levels(
            user=self.user[is_best],
            above=self.above[is_best],
            size=self.size[is_best],
            hits=self.hits[is_best],
            hits_above=self.hits_above[is_best],
        )

    def per_user(self, users: Ranks, values: Float | Int) -> Float:
        """Sum a number for each level over the levels of each user; float64, shape (users,)."""
        sums = np.bincount(self.user, values, users.n_candidates.size)
        return sums.astype(np.float64, copy=False)

    def split_by_item(self, position: Int, grade_order: Int | Float) -> "Levels":
        """Return a level of its own for each relevant item, in a fixed order of the candidates.

        Parameters
        ----------
        position
            Positions of the relevant items within their level from 0, in ascending order; shape
            (sum of hits,), level by level.
        grade_order
            A number for each relevant item, likewise. The positions of a level get its grades in
            ascending order of this number.
        """
        level = self.level_of_item
        grade_of_position = self.relevance
        if grade_of_position is not None:
            grade_of_position = grade_of_position[np.lexsort((grade_order, level))]
        n_hits_before = concatenate_ranges(0, self.hits)  # in the same level
        return Levels(
            user=self.user[level],
            above=self.above[level] + position,
            size=np.ones_like(level),
            hits=np.ones_like(level),
            hits_above=self.hits_above[level] + n_hits_before,
            relevance=grade_of_position,
        )


def random_positions(size: Int, hits: Int, rng: np.random.Generator) -> Int:
    """Draw the positions of `hits` items among 0 ... size - 1 in each level, without replacement.

    By Floyd's algorithm (Bentley and Floyd, CACM 30(9), 1987): for j = size - hits ... size - 1,
    draw one of the positions 0 ... j, and take j instead if it has been taken before. A turn draws
    the next position of all levels that have hits left.

    Returns int64 of shape (sum of hits,), level by level, not sorted.

    Examples
    --------
    >>> random_positions(np.array([3, 1]), np.array([3, 1]), np.random.default_rng(0))
    array([0, 1, 2, 0])
    """
    first_item = run_starts(hits)  # of each level
    positions = np.empty(int(hits.sum()), np.int64)
    level = np.arange(hits.size)
    for turn in range(int(hits.max(initial=0))):
        level = level[hits[level] > turn]
        last = size[level] - hits[level] + turn  # j
        drawn = rng.integers(0, last + 1)
        earlier_items = first_item[level][:, np.newaxis] + np.arange(turn)
        is_repeated = (positions[earlier_items] == drawn[:, np.newaxis]).any(axis=1)
        positions[first_item[level] + turn] = np.where(is_repeated, last, drawn)
    return positions


def _relevant_at_end(levels: Levels, _: np.random.Generator | None, is_last: bool) -> Levels:
    """Put relevant items before their ties, or after them if `is_last`.

    In the same way, higher grades come before or after lower ones. The unused argument is the
    generator of random numbers that `_order_at_random` takes.
    """
    n_irrelevant = levels.size - levels.hits
    n_before = n_irrelevant if is_last else 0
    relevant_only = replace(levels, above=levels.above + n_before, size=levels.hits)
    if relevant_only.relevance is None:
        return relevant_only
    grade_order = relevant_only.relevance if is_last else -relevant_only.relevance
    position = concatenate_ranges(0, relevant_only.hits)
    return relevant_only.split_by_item(position, grade_order)


def _order_at_random(levels: Levels, rng: np.random.Generator | None) -> Levels:
    """Give each relevant item a level of its own, at a random rank.

    The positions of a level are a uniform set, and its grades are assigned to them in a random
    order.
    """
    if rng is None:
        raise InputError("tie policy 'random' needs a random generator")
    has_one_hit_each = levels.hits.max(initial=1) == 1
    if has_one_hit_each:
        position = rng.integers(0, levels.size)
        return replace(levels, above=levels.above + position, size=np.ones_like(levels.hits))
    level = levels.level_of_item
    position = random_positions(levels.size, levels.hits, rng)
    ascending_in_level = np.lexsort((position, level))
    # Items of a level without grades are alike, and their order is not used.
    grade_order = position if levels.relevance is None else rng.permutation(level.size)
    return levels.split_by_item(position[ascending_in_level], grade_order)


TIE_POLICIES: dict[str, Callable[[Levels, np.random.Generator | None], Levels]] = {
    "expected": lambda levels, _: levels,
    "optimistic": partial(_relevant_at_end, is_last=False),
    "pessimistic": partial(_relevant_at_end, is_last=True),
    "random": _order_at_random,
}
