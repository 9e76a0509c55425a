"""Several relevant items a user: where they stand in the ranking (section 3, eq. 2-6).

The same three integers as a rank record, once for every relevant item: candidates, those
strictly better, those tied, other relevant items among them. A ranking may be known only down
to some depth, as a top-K list is.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks.records import Ranks, integers

_OF_ITEMS = ("user", "n_better", "n_tied")
_OF_USERS = ("n_relevant", "n_candidates", "depth")
_Checks = Iterator[tuple[str, NDArray[np.bool_], str]]


@dataclass(frozen=True)
class RelevantRanks:
    """Places of the relevant items of some users.

    Attributes
    ----------
    user
        Of every relevant item found, the index of its user in the arrays below; int64, shape
        (found,), not decreasing.
    n_better, n_tied
        Candidates scored strictly above it and other candidates with exactly its score, whether
        relevant or not; int64, shape (found,).
    n_relevant
        Relevant items |R| of each user, found or not; int64, shape (users,), at least 1.
    n_candidates
        Items ranked for each user, or 0 where that is not known; int64, shape (users,).
    depth
        Places known of each user's ranking: `n_candidates`, or K for a list of the top K; a
        relevant item not found stands somewhere below. int64, shape (users,).

    Raises
    ------
    InputError
        The arrays do not fit together, or no ranking could leave such numbers behind.

    >>> ranks = RelevantRanks([0, 0, 1], [1, 5, 0], [0, 0, 1], [3, 1], [0, 0], [10, 10])
    >>> ranks.found
    array([2, 1])
    """

    user: Int
    n_better: Int
    n_tied: Int
    n_relevant: Int
    n_candidates: Int
    depth: Int

    def __post_init__(self) -> None:
        for columns in (_OF_ITEMS, _OF_USERS):
            for column in columns:
                values = integers(f"relevant ranks: {column}", getattr(self, column))
                object.__setattr__(self, column, values)
            lengths = {column: getattr(self, column).size for column in columns}
            if len(set(lengths.values())) != 1:
                raise InputError(f"relevant ranks: columns of different lengths: {lengths}")
        self._reject(self._check_users(), "user")
        self._reject(self._check_items(), "row")
        # Only now is every index of a user known to be one.
        self._reject(self._check_items_of_users(), "row")
        self._reject(self._check_missing(), "user")
        self._check_levels()

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.n_relevant.size

    @property
    def found(self) -> Int:
        """Relevant items found of each user; int64, shape (users,)."""
        return np.bincount(self.user, minlength=self.n_users)

    @classmethod
    def from_records(cls, records: Ranks) -> "RelevantRanks":
        """Take one relevant item a user, each fully ranked."""
        users = np.arange(len(records))
        one, n = np.ones_like(users), records.n_candidates
        return cls(users, records.n_better, records.n_tied, one, n, n)

    def records(self) -> Ranks:
        """Return rank records, one a user.

        Raises
        ------
        InputError
            A user has several relevant items, or the whole ranking is not known.
        """
        several = self.n_relevant > 1
        if several.any():
            raise InputError(
                f"{int(several.sum())} users have several relevant items; allowed: one held-out "
                "item a user"
            )
        self._require_all((self.n_candidates == 0) | (self.depth < self.n_candidates))
        return Ranks(self.n_candidates, self.n_better, self.n_tied)

    def best_first(self) -> tuple[Int, Int, Int]:
        """User, n_better and n_tied of the items found, each user's best first."""
        user, better = self.user, self.n_better
        if ((user[1:] > user[:-1]) | (better[1:] >= better[:-1])).all():
            return user, better, self.n_tied
        order = np.lexsort((better, user))
        return user[order], better[order], self.n_tied[order]

    def _require_all(self, unknown: NDArray[np.bool_]) -> None:
        if unknown.any():
            raise InputError(
                f"the whole ranking is not known of {int(unknown.sum())} users (lists end at rank "
                f"{int(self.depth[unknown].min())}); allowed: full rankings"
            )

    def _reject(self, checks: _Checks, what: str) -> None:
        for column, bad, allowed in checks:
            if bad.any():
                where = int(np.argmax(bad))
                found = int(getattr(self, column)[where])
                raise InputError(
                    f"relevant ranks: {column} is {found} in {what} {where}; allowed: {allowed}"
                )

    def _check_users(self) -> _Checks:
        counted = self.n_candidates > 0
        yield "n_relevant", self.n_relevant < 1, "at least 1"
        yield "n_candidates", self.n_candidates < 0, "at least 0 (not known)"
        yield "depth", self.depth < 0, "at least 0"
        yield "depth", counted & (self.depth > self.n_candidates), "at most n_candidates"
        yield "n_relevant", counted & (self.n_relevant > self.n_candidates), "at most n_candidates"

    def _check_items(self) -> _Checks:
        outside = (self.user < 0) | (self.user >= self.n_users)
        yield "user", outside, f"0 to {self.n_users - 1}"
        yield "user", np.diff(self.user, prepend=0) < 0, "at least that of the row before"
        yield "n_better", self.n_better < 0, "at least 0"
        yield "n_tied", self.n_tied < 0, "at least 0"

    def _check_items_of_users(self) -> _Checks:
        candidates = self.n_candidates[self.user]
        worst = self.n_better + self.n_tied
        yield "n_better", self.n_better >= self.depth[self.user], "below its user's depth"
        outside = (candidates > 0) & (worst >= candidates)
        yield "n_tied", outside, "n_better + n_tied below its user's n_candidates"

    def _check_missing(self) -> _Checks:
        found = self.found
        yield "n_relevant", found > self.n_relevant, "at least the relevant items found"
        room = self.n_candidates - self.depth
        lost = (self.n_candidates > 0) & (self.n_relevant - found > room)
        yield "n_relevant", lost, "as many as are found and fit between depth and n_candidates"

    def _check_levels(self) -> None:
        """Items of one user share a score, with equal counts, or stand apart."""
        user, better, tied = self.best_first()
        end = better + tied + 1
        beside = user[1:] == user[:-1]
        same = beside & (better[1:] == better[:-1])
        clash = np.where(same, tied[1:] != tied[:-1], beside & (better[1:] < end[:-1]))
        first = np.flatnonzero(np.concatenate([np.ones(min(user.size, 1), bool), ~same]))
        items = np.diff(first, append=user.size)
        crowded = items > tied[first] + 1
        if clash.any():
            row = int(np.argmax(clash))
            raise InputError(
                f"relevant ranks: user {user[row]} has items {_level(better, tied, row)} and "
                f"{_level(better, tied, row + 1)}; allowed: equal counts, or the one level below "
                "the other"
            )
        if crowded.any():
            level = int(np.argmax(crowded))
            row = first[level]
            raise InputError(
                f"relevant ranks: user {user[row]} has {items[level]} items "
                f"{_level(better, tied, row)}; allowed: at most n_tied + 1"
            )


def _level(better: Int, tied: Int, row: int) -> str:
    return f"with {better[row]} better and {tied[row]} tied"
