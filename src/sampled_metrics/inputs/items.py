"""Items of users: relevant, seen, held out, or candidates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy import sparse

from sampled_metrics._base.array_types import Bool, Codes, Float, Int
from sampled_metrics._base.arrays import concatenate_ranges, pair_codes, select_rows
from sampled_metrics._base.visits import split_ids
from sampled_metrics.inputs.arrow_columns import Values, arrow_to_numpy, positions

HELD_OUT = "held-out"
RELEVANT = "relevant"
SEEN = "seen"
UNGRADED = (SEEN, "candidates")  # items without grades, of which a user usually has several
Size = tuple[int, int]  # users and items


class Items(NamedTuple):
    """Items of users, both numbered from 0; user u has item[start[u] : start[u + 1]].

    Attributes
    ----------
    start, item
        int64, shapes (users + 1,) and (pairs,).
    n_items
        Number of all items, also of those that no user has.
    user_ids, item_ids
        Ids of the numbers, arrays of pyarrow; None for rows and columns of a matrix.
    relevance
        Grade of each item, above 0, shape (pairs,); None without grades.
    name
        What errors call the items: `held-out` if each user has one, `relevant` or `seen`.
    n_rows
        Number of rows of data given by position, which `user_ids` then number; 0 for other data.
    """

    start: Int
    item: Int
    n_items: int
    user_ids: Any = None
    item_ids: Any = None
    relevance: Float | None = None
    name: str = RELEVANT
    n_rows: int = 0

    @classmethod
    def from_pairs(
        cls,
        user: Int,
        item: Int,
        n_users: int,
        n_items: int,
        *,
        relevance: Float | None = None,
        name: str = RELEVANT,
    ) -> Items:
        """Take pairs in any order; the items of each user stay in this order."""
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
    def from_codes(
        cls,
        user: Codes,
        item: Codes | Int,
        user_ids: pa.Array,
        item_ids: pa.Array,
        *,
        relevance: Float | None = None,
        name: str = RELEVANT,
        n_rows: int = 0,
    ) -> Items:
        """Take pairs as codes, with the ids that the codes stand for."""
        items = cls.from_pairs(
            user.astype(np.int64),
            item.astype(np.int64),
            len(user_ids),
            len(item_ids),
            relevance=relevance,
            name=name,
        )
        return items._replace(user_ids=user_ids, item_ids=item_ids, n_rows=n_rows)

    @property
    def n_users(self) -> int:
        """Number of users, also of those without items."""
        return self.start.size - 1

    @property
    def sizes(self) -> Int:
        """Number of items of each user."""
        return np.diff(self.start)

    @property
    def user(self) -> Int:
        """User of each item."""
        return np.repeat(np.arange(self.n_users), self.sizes)

    def select(self, users: Int) -> tuple[Int, Int]:
        """Return the items of some users, each with the position of its user in `users`."""
        counts = self.start[users + 1] - self.start[users]
        selected = concatenate_ranges(self.start[users], counts)
        return np.repeat(np.arange(users.size), counts), self.item[selected]

    def has(self, user: Int, item: Int) -> Bool:
        """Return whether each pair of numbers is one of these; -1 stands for an unknown id."""
        width = int(np.append(self.item, item).max(initial=-1)) + 1
        codes = pair_codes(self.user, self.item, width)
        return (user >= 0) & (item >= 0) & np.isin(pair_codes(user, item, width), codes)

    def restrict_to(self, user_ids: Values, item_ids: Values) -> Items:
        """Return the pairs whose ids are both in given columns, numbered by their positions."""
        user = positions(self.user_ids, user_ids)[self.user]
        item = positions(self.item_ids, item_ids)[self.item]
        is_known = (user >= 0) & (item >= 0)
        items = Items.from_pairs(
            user[is_known],
            item[is_known],
            len(user_ids),
            len(item_ids),
            relevance=select_rows(self.relevance, is_known),
            name=self.name,
        )
        return items._replace(user_ids=user_ids, item_ids=item_ids)

    def for_visits(self, visit_ids: pa.Array, by_visit: bool = False) -> Items:
        """Return the items for visits of users, whose ids are joined.

        The items of a user are those of all visits. With `by_visit`, `user_ids` are ids of visits.
        """
        user_part, visit_part = split_ids(arrow_to_numpy(visit_ids))
        position = positions(visit_part if by_visit else user_part, self.user_ids)
        has_items = np.flatnonzero(position >= 0)
        row, item = self.select(position[has_items])
        items = Items.from_pairs(has_items[row], item, len(visit_ids), self.n_items, name=self.name)
        return items._replace(user_ids=visit_ids, item_ids=self.item_ids)

    def matrix(self) -> sparse.csr_array:
        """Return the pairs as true entries of a matrix, users x items."""
        values = np.ones(self.item.size, bool)
        matrix = sparse.csr_array((values, self.item, self.start), (self.n_users, self.n_items))
        matrix.sum_duplicates()
        return matrix

    def pair(self, position: int) -> tuple[Any, Any]:
        """Return the ids of the user and the item of one pair."""
        user = int(self.start.searchsorted(position, "right")) - 1
        item = int(self.item[position])
        if self.user_ids is None:
            return user, item
        return self.user_ids[user], self.item_ids[item]


def describe_seen_relevant(users: Int) -> str:
    """Say how many pairs are both relevant and seen, given the user of each, and what to do."""
    pairs = "1 pair" if users.size == 1 else f"{users.size:,} pairs"
    n_users = np.unique(users).size
    return (
        f" ({pairs} of {n_users:,} {'user' if n_users == 1 else 'users'}); leave these pairs out "
        "of seen to rank them, as filtered ranks of knowledge graphs do, or out of relevant to "
        "count new items only"
    )
