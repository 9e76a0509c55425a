"""Levels: candidates with the same score, among which the scores give no order."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int, starts
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.grades import of_found


@dataclass(frozen=True, eq=False)
class Levels:
    """Levels with at least one relevant item, best first for each user; int64, shape (levels,).

    A tie policy that fixes the order turns a level into smaller ones, all of them relevant. So one
    formula per metric, its expectation over the order within levels, serves every policy.

    Attributes
    ----------
    user
        Row of the level's user.
    above
        Candidates strictly above the level, relevant or not; the level takes the places
        `above + 1` to `above + size`.
    size, hits
        Candidates in the level, and the relevant ones among them.
    hits_above
        Relevant items of the user above the level.
    grades
        Grade of each relevant item, level by level; float64, shape (sum of hits,). None if items
        are relevant or not.
    """

    user: Int
    above: Int
    size: Int
    hits: Int
    hits_above: Int
    grades: Float | None = None

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
        level = np.repeat(np.arange(self.hits.size), self.hits)
        return np.bincount(level, gain(self.grades), self.hits.size)

    def first(self) -> "Levels":
        """Select the best level of each user."""
        return self.where(self.hits_above == 0)

    def per_user(self, users: Ranks, values: Float | Int) -> Float:
        """Sum a number per level over the levels of each user; float64, shape (users,)."""
        return np.bincount(self.user, values, len(users)).astype(np.float64, copy=False)
