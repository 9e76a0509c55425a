"""Levels: candidates with the same score, among which the scores give no order."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int, starts
from sampled_metrics.ranks import Ranks


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
    """

    user: Int
    above: Int
    size: Int
    hits: Int
    hits_above: Int

    @classmethod
    def of(cls, ranks: Ranks) -> "Levels":
        """Group each user's relevant items by score.

        >>> levels = Levels.of(Ranks([9], [4, 1, 1], [0, 2, 2], n_found=[3]))
        >>> levels.above, levels.size, levels.hits, levels.hits_above
        (array([1, 4]), array([3, 1]), array([2, 1]), array([0, 2]))
        """
        rows = np.arange(len(ranks))
        if ranks.is_single:
            one = ranks.n_relevant
            return cls(rows, ranks.n_better, ranks.n_tied + 1, one, np.zeros_like(one))
        user, above = np.repeat(rows, ranks.n_found), ranks.n_better
        begins = np.ones(user.size, bool)
        begins[1:] = (user[1:] != user[:-1]) | (above[1:] != above[:-1])
        first = np.flatnonzero(begins)
        first_of_user = starts(ranks.n_found)[user[first]]
        hits = np.diff(first, append=user.size)
        return cls(user[first], above[first], ranks.n_tied[first] + 1, hits, first - first_of_user)

    @property
    def last_place(self) -> int:
        """Lowest place that any level reaches, 1 if there is no level."""
        return int((self.above + self.size).max(initial=1))

    def places(self, k: int) -> Int:
        """Count the places of each level among the first k of the ranking."""
        return np.clip(k - self.above, 0, self.size)

    def where(self, selected: NDArray[np.bool_]) -> "Levels":
        """Select some of the levels."""
        return Levels(*(getattr(self, field.name)[selected] for field in fields(self)))

    def first(self) -> "Levels":
        """Select the best level of each user."""
        return self.where(self.hits_above == 0)

    def per_user(self, users: Ranks, values: Float | Int) -> Float:
        """Sum a number per level over the levels of each user; float64, shape (users,)."""
        return np.bincount(self.user, values, len(users)).astype(np.float64, copy=False)
