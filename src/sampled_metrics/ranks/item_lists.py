"""Held-out, relevant or seen items of each user."""

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, csr_matrix

from sampled_metrics._base.arrays import Float, Int, ranges
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.sparse import canonical
from sampled_metrics.ranks.checks import require
from sampled_metrics.ranks.grades import count_enough

Marked: TypeAlias = csr_array | csr_matrix | NDArray[np.bool_]


class ItemLists(NamedTuple):
    """Some items of each user: those of user u are item[start[u] : start[u + 1]].

    `grade` has their values, where these are grades.
    """

    start: Int
    item: Int
    n_items: int | None
    grade: Float | None = None

    @property
    def size(self) -> Int:
        """Number of items of each user."""
        return np.diff(self.start)

    def of(self, users: Int) -> tuple[Int, Int]:
        """Return the items of some users, each with the place of its user within `users`."""
        first = self.start[users]
        counts = self.start[users + 1] - first
        row = np.repeat(np.arange(users.size), counts)
        if row.size and (np.diff(users) == 1).all():
            return row, self.item[first[0] : first[0] + row.size]
        return row, self.item[ranges(first, counts)]


def held_out_items(columns: ArrayLike) -> ItemLists:
    """Return one item per user from an array of columns, shape (users,)."""
    items = np.asarray(columns)
    if items.ndim != 1 or (items.size and items.dtype.kind not in "iu"):
        raise InputError(
            f"held-out items are {items.dtype} of shape {items.shape}; expected one integer per "
            "user, or a matrix of relevant items, users x items"
        )
    return ItemLists(np.arange(items.size + 1), items.astype(np.int64), None)


def marked_items(marked: Any, min_grade: float | None = None) -> ItemLists:
    """Return the items of each user at the nonzeros of a matrix, users x items.

    If `min_grade` is given, values are grades: items with one above 0 are returned, of the users
    who have an item of at least `min_grade`.
    """
    table = csr_array(marked)
    if not (table.has_canonical_format and table.data.all()):
        table = canonical(table)
    grade = None
    if min_grade is not None:
        table = _relevant(csr_array(table, dtype=np.float64, copy=True), min_grade)
        grade = table.data
    return ItemLists(table.indptr.astype(np.int64), table.indices, table.shape[1], grade)


def _relevant(grades: Any, min_grade: float) -> Any:
    require("grades", grades.data, np.isfinite(grades.data), "finite numbers")
    user = np.repeat(np.arange(grades.shape[0]), np.diff(grades.indptr))
    enough = count_enough(user, grades.data, min_grade, grades.shape[0])
    grades.data[(grades.data < 0.0) | (enough[user] == 0)] = 0.0
    grades.eliminate_zeros()
    return grades
