"""Items of users: those that are relevant, seen or held out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy  # `scipy.sparse` takes long to import, so only where it is used

from sampled_metrics._base.arrays import Bool, Float, Int, ranges, select_rows
from sampled_metrics.tables import arrow
from sampled_metrics.tables.arrow import Values, places

HELD_OUT = "held-out"
RELEVANT = "relevant"
SEEN = "seen"


class Items(NamedTuple):
    """Items of users, both numbered from 0; those of user u are item[start[u] : start[u + 1]].

    Attributes
    ----------
    start, item
        int64, shapes (users + 1,) and (pairs,).
    n_items
        Number of all items, also of those that no user has; None if it is not known.
    user_ids, item_ids
        What the numbers stand for, arrays of pyarrow; None for rows and columns of a matrix.
    relevance
        Grade of each item, above 0, shape (pairs,); None if items are relevant or not.
    name
        Of the items in errors: `held-out` if each user has one, `relevant` or `seen`.
    """

    start: Int
    item: Int
    n_items: int | None = None
    user_ids: Any = None
    item_ids: Any = None
    relevance: Float | None = None
    name: str = RELEVANT

    @classmethod
    def of_pairs(
        cls,
        user: Int,
        item: Int,
        n_users: int,
        n_items: int | None = None,
        *,
        relevance: Float | None = None,
        name: str = RELEVANT,
    ) -> Items:
        """Take pairs in any order; each user's items stay in it."""
        order = np.argsort(user, kind="stable")
        counts = np.bincount(user, minlength=n_users)
        return cls(
            start=np.append(0, np.cumsum(counts)),
            item=item[order],
            n_items=n_items,
            relevance=select_rows(relevance, order),
            name=name,
        )

    @classmethod
    def of_matrix(cls, matrix: scipy.sparse.csr_array, name: str) -> Items:
        """Take the stored entries of a matrix, users x items."""
        return cls(matrix.indptr.astype(np.int64), matrix.indices, matrix.shape[1], name=name)

    @property
    def n_users(self) -> int:
        """Number of users, also of those without items."""
        return self.start.size - 1

    @property
    def sizes(self) -> Int:
        """Number of items of each user."""
        return np.diff(self.start)

    def sizes_of(self, users: Int) -> Int:
        """Return the number of items of some users."""
        return self.start[users + 1] - self.start[users]

    @property
    def owners(self) -> Int:
        """User of each item."""
        return np.repeat(np.arange(self.n_users), self.sizes)

    def select(self, users: Int) -> tuple[Int, Int]:
        """Return the items of some users, each with the place of its user within `users`."""
        counts = self.sizes_of(users)
        place = ranges(self.start[users], counts)
        return np.repeat(np.arange(users.size), counts), self.item[place]

    def has(self, user: Int, item: Int) -> Bool:
        """Return whether each pair of numbers is one of these; -1 is no user and no item."""
        width = np.append(self.item, item).max(initial=-1) + 1
        is_known = (user >= 0) & (item >= 0)
        return is_known & np.isin(user * width + item, self.owners * width + self.item)

    def within(self, user_ids: Values, item_ids: Values) -> Items:
        """Return those pairs of which both ids are among others, with the numbers of these."""
        user = places(self.user_ids, user_ids)[self.owners]
        item = places(self.item_ids, item_ids)[self.item]
        is_known = (user >= 0) & (item >= 0)
        items = Items.of_pairs(
            user[is_known],
            item[is_known],
            len(user_ids),
            len(item_ids),
            relevance=select_rows(self.relevance, is_known),
            name=self.name,
        )
        return items._replace(user_ids=user_ids, item_ids=item_ids)

    def with_enough(self, min_relevance: float) -> Items:
        """Return the items of users who have one of at least this grade, if there are such users.

        Only users who remain keep their ids.
        """
        if self.relevance is None:
            return self
        enough = np.zeros(self.n_users, bool)
        enough[self.owners[self.relevance >= min_relevance]] = True
        if enough.all() or not enough.any():
            return self
        return self.within(arrow.take(self.user_ids, np.flatnonzero(enough)), self.item_ids)

    def matrix(self) -> scipy.sparse.csr_array:
        """Return the pairs as true entries of a matrix, users x items, each once."""
        values = np.ones(self.item.size, bool)
        shape = self.n_users, self.n_items
        marked = scipy.sparse.csr_array((values, self.item, self.start), shape)
        marked.sum_duplicates()
        return marked

    def pair(self, place: int) -> tuple[Any, Any]:
        """Return the ids of the user and the item of one pair."""
        user = int(self.start.searchsorted(place, "right")) - 1
        item = int(self.item[place])
        if self.user_ids is None:
            return user, item
        return self.user_ids[user], self.item_ids[item]
