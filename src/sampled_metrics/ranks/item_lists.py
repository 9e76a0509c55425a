"""Held-out, relevant or seen items of each user."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, csr_matrix

from sampled_metrics._base.arrays import Int, ranges
from sampled_metrics._base.errors import InputError

Marked: TypeAlias = csr_array | csr_matrix | NDArray[np.bool_]


class ItemLists(NamedTuple):
    """Some items of each user: those of user u are item[start[u] : start[u + 1]]."""

    start: Int
    item: Int
    n_items: int | None

    @property
    def size(self) -> Int:
        """Number of items of each user."""
        return np.diff(self.start)

    def of(self, users: Int) -> tuple[Int, Int]:
        """Return the items of some users, each with the place of its user within `users`."""
        first = self.start[users]
        counts = self.start[users + 1] - first
        return np.repeat(np.arange(users.size), counts), self.item[ranges(first, counts)]


def held_out_items(columns: ArrayLike) -> ItemLists:
    """Return one item per user from an array of columns, shape (users,)."""
    items = np.asarray(columns)
    if items.ndim != 1 or (items.size and items.dtype.kind not in "iu"):
        raise InputError(
            f"held-out items are {items.dtype} of shape {items.shape}; expected one integer per "
            "user, or a matrix of relevant items, users x items"
        )
    return ItemLists(np.arange(items.size + 1), items.astype(np.int64), None)


def marked_items(marked: Any) -> ItemLists:
    """Return the items of each user at the nonzeros of a matrix, users x items."""
    table = csr_array(marked)
    if not (table.has_canonical_format and table.data.all()):
        table = csr_array(table, copy=True)
        table.sum_duplicates()
        table.eliminate_zeros()
    return ItemLists(table.indptr.astype(np.int64), table.indices, table.shape[1])
