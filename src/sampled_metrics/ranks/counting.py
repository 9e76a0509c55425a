"""Counts of the candidates above ranked items, and of those level with them."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, csr_matrix

from sampled_metrics._base.arrays import (
    Float,
    Ids,
    Int,
    count_rows,
    ordered_floats,
    ranges,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.sparse import canonical
from sampled_metrics._base.threads import one_thread
from sampled_metrics.ranks.checks import require
from sampled_metrics.ranks.grades import count_enough
from sampled_metrics.ranks.products import Products

# Rows counted at a time, few enough to stay in the processor's cache; those of a matrix product,
# which is slower for fewer.
_ROWS, _ROWS_OF_PRODUCT = 32, 128

Scores = NDArray[np.floating[Any]]
Score = Callable[[Int], Scores]
Marked: TypeAlias = csr_array | csr_matrix | NDArray[np.bool_]
Counts = list[tuple[Int, Int, Int]]


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


class Task(NamedTuple):
    """What to rank, what to leave out, and what errors call users and items."""

    kind: str
    ranked: ItemLists
    seen: ItemLists
    users: Ids
    items: NDArray[Any] | None

    def n_items(self) -> int | None:
        """Return the number of items if it is known before anything is scored."""
        if self.items is not None:
            return len(self.items)
        return self.seen.n_items if self.ranked.n_items is None else self.ranked.n_items

    def require(self, n_items: int) -> None:
        """Raise InputError unless every item is below `n_items`."""
        for kind, lists in ((self.kind, self.ranked), ("seen", self.seen)):
            bad = (lists.item < 0) | (lists.item >= n_items)
            if bad.any():
                place = int(np.argmax(bad))
                user = int(np.searchsorted(lists.start, place, side="right")) - 1
                raise InputError(
                    f"{kind} item of user {self.users[user]} is {lists.item[place]}, "
                    f"expected 0 to {n_items - 1}"
                )

    def require_shape(self, n_users: int, n_items: int) -> None:
        """Raise InputError unless there are scores of these users and of every item to rank."""
        expected = self.ranked.size.size, self.n_items() or n_items
        if (n_users, n_items) != expected:
            raise InputError(
                f"scores of {n_users} users and {n_items} items, expected {expected[0]} users and "
                f"{expected[1]} items"
            )
        self.require(n_items)

    def rank(self, scores: Scores, users: Int) -> tuple[Int, Int, Int]:
        """Count candidates per user, and better and tied candidates per item, for a few users."""
        # The maximum is NaN if any score is.
        if scores.size and not scores.max() < np.inf:
            self._refuse_score(scores, users)
        kept = scores.copy() if scores.dtype.kind == "f" else ordered_floats(scores)
        n_candidates = self.mask_seen(kept, users)
        if scores.size and scores.min() == -np.inf:
            n_candidates = count_rows(kept > -np.inf)
        row, item = self.ranked.of(users)
        own = kept[row, item]
        bad = np.flatnonzero(np.isneginf(own))
        if bad.size:
            first_row, first_item = row[bad[0]], item[bad[0]]
            self.refuse_item(scores[first_row, first_item], users[first_row], first_item)
        if row.size == users.size:  # one item per user
            above, level = kept > own[:, np.newaxis], kept == own[:, np.newaxis]
            return n_candidates, count_rows(above), count_rows(level) - 1
        return n_candidates, *_by_sorting(kept, own, row)

    def mask_seen(self, scores: Scores, users: Int) -> Int:
        """Write -inf as the score of seen items; return how many others each user has."""
        row, item = self.seen.of(users)
        scores.reshape(-1)[row * scores.shape[1] + item] = -np.inf
        return scores.shape[1] - self.seen.size[users]

    def _refuse_score(self, scores: Scores, users: Int) -> None:
        row, item = np.argwhere(~(scores < np.inf))[0]
        raise InputError(
            f"score of item {self._item(item)} for user {self.users[users[row]]} is "
            f"{scores[row, item]}; expected a finite number, or -inf for an item that is no "
            "candidate"
        )

    def refuse_item(self, score: float, user: int, item: int) -> None:
        """Raise InputError about an item to rank that is no candidate."""
        why = "has score -inf" if np.isneginf(score) else "is among the seen items"
        raise InputError(
            f"{self.kind} item {self._item(item)} of user {self.users[user]} {why}, so it is no "
            "candidate"
        )

    def _item(self, number: int) -> object:
        return number if self.items is None else self.items[number]


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


def by_function(score: Score, users: Int, task: Task, block_size: int) -> Counts:
    """Count candidates per user, and better and tied candidates per item."""
    return [task.rank(*part) for part in _scored(score, users, task, block_size)]


def by_products(products: Products, users: Int, task: Task, block_size: int) -> Counts:
    """Count candidates per user, and better and tied candidates per item."""
    counts = []
    task.require_shape(len(products.users), len(products.items))
    step = min(block_size, _ROWS_OF_PRODUCT)
    with one_thread():
        for first in range(0, users.size, step):
            block = users[first : first + step]
            rough = products.rough(block)
            n_candidates = task.mask_seen(rough, block)
            row, item = task.ranked.of(block)
            seen = np.flatnonzero(np.isneginf(rough[row, item]))
            if seen.size:
                task.refuse_item(0.0, block[row[seen[0]]], item[seen[0]])
            counts.append((n_candidates, *products.count(rough, block, row, item)))
    return counts


def _scored(score: Score, users: Int, task: Task, block_size: int) -> Iterator[tuple[Scores, Int]]:
    """Yield the scores of a few users at a time, and their row numbers."""
    n_items = task.n_items()
    if n_items is not None:
        task.require(n_items)
    for first in range(0, users.size, block_size):
        block = users[first : first + block_size]
        scores = _checked_scores(score(block), block, n_items)
        if n_items is None:
            n_items = scores.shape[1]
            task.require(n_items)
        for row in range(0, block.size, _ROWS):
            yield scores[row : row + _ROWS], block[row : row + _ROWS]


def _relevant(grades: Any, min_grade: float) -> Any:
    require("grades", grades.data, np.isfinite(grades.data), "finite numbers")
    user = np.repeat(np.arange(grades.shape[0]), np.diff(grades.indptr))
    enough = count_enough(user, grades.data, min_grade, grades.shape[0])
    grades.data[(grades.data < 0.0) | (enough[user] == 0)] = 0.0
    grades.eliminate_zeros()
    return grades


def _checked_scores(values: ArrayLike, users: Int, n_items: int | None) -> Scores:
    scores = np.asarray(values)
    expected = (users.size, scores.shape[-1] if n_items is None and scores.ndim else n_items)
    if scores.shape != expected:
        raise InputError(f"scores have shape {scores.shape}, expected {expected}")
    if scores.dtype.kind not in "fiu":
        raise InputError(f"scores have dtype {scores.dtype}, expected numbers")
    return scores


def _by_sorting(scores: Scores, own: Scores, row: Int) -> tuple[Int, Int]:
    """Count for several items per user."""
    n_better, n_tied = np.empty(row.size, np.int64), np.empty(row.size, np.int64)
    bounds = np.searchsorted(row, np.arange(len(scores) + 1))
    for user, ranked in enumerate(np.sort(scores, axis=1)):
        mine = slice(bounds[user], bounds[user + 1])
        not_above = np.searchsorted(ranked, own[mine], side="right")
        n_better[mine] = ranked.size - not_above
        n_tied[mine] = not_above - np.searchsorted(ranked, own[mine], side="left") - 1
    return n_better, n_tied
