"""Candidates and held-out items of each user."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse

from sampled_metrics._base.arrays import Int, integers
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.sparse import canonical


class Candidates:
    """Candidates and held-out items of each user; held-out items compete, but are asked first.

    Parameters
    ----------
    candidates
        What users have seen, nonzero in a sparse matrix of shape (users, items): all other items
        are candidates. Or a list with an array of candidate items per user.
    held_out
        Held-out item of each user, or a list with an array of them per user. They count as
        candidates whether or not they are listed.
    n_items
        Size of the catalogue, where candidates are lists; 1 + the largest item by default.

    Attributes
    ----------
    owner, item
        User and item of each held-out row, ordered by user.
    n_others
        Candidates of each user except its held-out items.
    """

    def __init__(
        self,
        candidates: Any,
        held_out: ArrayLike | Sequence[ArrayLike],
        n_items: int | None = None,
    ) -> None:
        self.owner, self.item = _held_out(held_out)
        self.n_users = int(self.owner[-1]) + 1
        if issparse(candidates):
            self._seen: csr_array | None = canonical(candidates)
            self._lists: list[Int] = []
            self.n_items = int(candidates.shape[1])
            users = candidates.shape[0]
        else:
            self._seen = None
            self._lists = [np.unique(integers("candidates", one)) for one in candidates]
            users = len(self._lists)
            self.n_items = n_items or 1 + max(
                self.item.max(), *(int(one[-1]) for one in self._lists if one.size)
            )
        if users != self.n_users:
            raise InputError(f"candidates of {users} users, held-out items of {self.n_users}")
        self._check()
        self.n_others = self._count()

    @property
    def widest(self) -> int | None:
        """Length of the longest list of candidates; None where they are all but what was seen."""
        return max(one.size for one in self._lists) if self._lists else None

    @property
    def seen(self) -> csr_array | None:
        """Matrix of what was seen, where candidates are given by it."""
        return self._seen

    def take(self, users: Int) -> "Candidates":
        """Candidates of some users, in ascending order."""
        other = object.__new__(Candidates)
        rows = np.isin(self.owner, users)
        other.owner, other.item = np.searchsorted(users, self.owner[rows]), self.item[rows]
        other.n_users, other.n_items = users.size, self.n_items
        other._seen = None if self._seen is None else csr_array(self._seen[users])
        other._lists = [self._lists[user] for user in users] if self._lists else []
        other.n_others = self.n_others[users]
        return other

    def mask(self, users: Int) -> NDArray[np.bool_]:
        """Mark the candidates of some users except held-out items; shape (users, items)."""
        if self._seen is not None:
            marked = np.ones((users.size, self.n_items), dtype=bool)
            rows = self._seen[users]
            marked[np.repeat(np.arange(users.size), np.diff(rows.indptr)), rows.indices] = False
        else:
            marked = np.zeros((users.size, self.n_items), dtype=bool)
            for row, user in enumerate(users):
                marked[row, self._lists[user]] = True
        rows = self.rows(users)
        marked[np.searchsorted(users, self.owner[rows]), self.item[rows]] = False
        return marked

    def rows(self, users: Int) -> Int:
        """Held-out rows of an ascending range of users."""
        return np.arange(*np.searchsorted(self.owner, [users[0], users[-1] + 1]))

    def _check(self) -> None:
        if self.item.min() < 0 or self.item.max() >= self.n_items:
            row = int(np.argmax((self.item < 0) | (self.item >= self.n_items)))
            raise InputError(
                f"held-out item of user {self.owner[row]} is {self.item[row]}; "
                f"the catalogue has {self.n_items} items"
            )
        for user, one in enumerate(self._lists):
            if one.size and (one[0] < 0 or one[-1] >= self.n_items):
                raise InputError(
                    f"user {user} has candidate {one[-1] if one[0] >= 0 else one[0]}; "
                    f"the catalogue has {self.n_items} items"
                )
        if self._seen is not None:
            users = np.repeat(np.arange(self.n_users), np.diff(self._seen.indptr))
            known = users * self.n_items + self._seen.indices
            twice = np.isin(self.owner * self.n_items + self.item, known)
            if twice.any():
                row = int(np.argmax(twice))
                raise InputError(
                    f"held-out item {self.item[row]} of user {self.owner[row]} is among the seen"
                )

    def _count(self) -> Int:
        held = np.bincount(self.owner, minlength=self.n_users)
        if self._seen is not None:
            return self.n_items - np.diff(self._seen.indptr).astype(np.int64) - held
        sizes = np.array([one.size for one in self._lists])
        inside = [np.isin(self.item[row], self._lists[user]) for row, user in enumerate(self.owner)]
        return sizes - np.bincount(self.owner, inside, self.n_users).astype(np.int64)


def _held_out(held_out: Any) -> tuple[Int, Int]:
    if isinstance(held_out, np.ndarray) or (len(held_out) and np.ndim(held_out[0]) == 0):
        item = integers("held-out items", held_out)
        owner = np.arange(item.size)
    else:
        lists = [integers("held-out items", one) for one in held_out]
        for user, one in enumerate(lists):
            if not one.size or np.unique(one).size < one.size:
                problem = "a duplicate held-out item" if one.size else "no held-out item"
                raise InputError(f"user {user} has {problem}")
        owner = np.repeat(np.arange(len(lists)), [one.size for one in lists])
        item = np.concatenate(lists) if lists else np.empty(0, np.int64)
    if not item.size or item.ndim != 1:
        raise InputError("held-out items need one item, or a list of items, per user")
    return owner, item
