"""Ranking of relevant items by the scores of all items, one block of users at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import scipy  # `scipy.sparse` takes long to import, so only where it is used
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arrays import (
    Float,
    Ids,
    Int,
    array_of,
    check_arguments,
    integers,
    ordered_floats,
    ranges,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.sparse import canonical, is_sparse
from sampled_metrics.ranks.kinds import (
    Products,
    Score,
    inner_products,
    is_nested,
    items_of,
    scores_of,
)
from sampled_metrics.ranks.ranks import Ranks, grades_of, id_column, require

BLOCK_SIZE = 512
_ROWS = 32  # users counted at a time, few enough to stay in the processor's cache
_ROWS_OF_PRODUCT = 128  # of a matrix product, which is slower for fewer

Scores = NDArray[np.floating[Any]]
Vectors = tuple[ArrayLike, ArrayLike]
if TYPE_CHECKING:
    Marked: TypeAlias = scipy.sparse.csr_array | scipy.sparse.csr_matrix | NDArray[np.bool_]


def rank(
    score: Score | Vectors | Any,
    seen: Marked | None,
    relevant: ArrayLike | Marked,
    *,
    users: ArrayLike | None = None,
    items: ArrayLike | None = None,
    min_relevance: float = 0.0,
    block_size: int = BLOCK_SIZE,
) -> Ranks:
    """Rank each user's relevant items among all items that the user has not seen.

    Other relevant items of the user count as better or tied like any candidate.

    Parameters
    ----------
    score
        A matrix, users x items, or a function from row numbers of users, int64, shape (some,), to
        the scores of all items for them, float32 or float64, shape (some, items); its result is
        not written to. An item with score -inf is no candidate, which a relevant item must be; NaN
        and +inf are errors. Or a pair of vectors of all users and of all items, shapes (users, d)
        and (items, d), whose inner products are the scores.
    seen
        Nonzero where a user has seen an item, which is then no candidate: scipy.sparse or bool,
        shape (users, items). None if nobody has seen anything.
    relevant
        Column of each user's held-out item, shape (users,), -1 or None without one. Or above 0
        where an item is relevant: scipy.sparse or an array, shape (users, items), whose numbers
        other than 1 are grades. Or a list of columns per user; nested lists of that shape are the
        matrix. Users without a relevant item are left out and never scored.
    users, items
        Ids, shapes (users,) and (items,); default row and column numbers. Those of users are kept
        in the result, those of items only appear in errors.
    min_relevance
        Least grade of an item that is relevant for metrics other than NDCG, which takes all grades
        as gains; users without such an item are left out. By default any above 0.
    block_size
        Users scored at a time, which bounds the memory; the result does not depend on it.

    Examples
    --------
    >>> scores = np.array([[9.0, 7, 5, 5, 5], [3, 8, 1, -np.inf, 2]])
    >>> seen = np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]], dtype=bool)
    >>> rank(lambda users: scores[users], seen, [2, 4])
    Ranks(n_candidates=array([4, 4]), n_better=array([1, 2]), n_tied=array([2, 0]))
    >>> relevant = np.array([[0, 0, 0, 0, 0], [1, 1, 0, 0, 0]], dtype=bool)
    >>> ranks = rank(lambda users: scores[users], seen, relevant)
    >>> ranks.users, ranks.n_better
    (array([1]), array([0, 1]))
    """
    check_arguments(block_size=block_size, min_relevance=min_relevance)
    if isinstance(relevant, list | tuple) or getattr(relevant, "ndim", 0) == 1:
        relevant = _by_position(relevant, score, seen, items)
    held_out = not is_sparse(relevant) and array_of("relevant", relevant).ndim != 2
    ranked = _held_out_items(relevant) if held_out else _relevant(relevant)
    sizes = np.diff(ranked.start)
    n_users, no_items = sizes.size, np.zeros(0, dtype=np.int64)
    task = _Task(
        "held-out" if held_out else "relevant",
        ranked,
        _Items(np.zeros(n_users + 1, np.int64), no_items)
        if seen is None
        else _marked(seen, "seen"),
        np.arange(n_users) if users is None else id_column("users", users, n_users),
        None if items is None else array_of("items", items),
    )
    if task.items is not None and task.items.ndim != 1:
        raise InputError(f"items has shape {task.items.shape}; expected one dimension")
    if task.seen.start.size != n_users + 1:
        raise InputError(f"seen items of {task.seen.start.size - 1} users, expected {n_users}")
    rows, n_rows = np.flatnonzero(sizes), 0 if users is not None else n_users
    if isinstance(score, tuple) and len(score) == 2:
        score = inner_products(score[0], score[1], n_users)
        block_size = min(block_size, _ROWS_OF_PRODUCT)
    function: Any = score
    if not callable(score):
        matrix = scores_of(score, name="score")
        if matrix.ndim != 2 or matrix.shape[0] != n_users:
            raise InputError(f"score has shape {matrix.shape}; expected {n_users} rows")
        function = matrix.__getitem__
    columns = zip((no_items,) * 3, *task.counts(function, rows, block_size), strict=True)
    n_candidates, n_better, n_tied = (np.concatenate(column) for column in columns)
    if held_out:
        require("n_candidates", n_candidates, n_candidates >= 2, "at least 2")
        single = Ranks.trusted(n_candidates, n_better, n_tied, users=task.users, n_rows=n_rows)
        return single.at_least(min_relevance)
    order = np.lexsort((n_better, np.repeat(rows, sizes[rows])))
    several = Ranks.trusted(
        n_candidates,
        n_better[order],
        n_tied[order],
        n_found=sizes[rows],
        relevance=None if ranked.relevance is None else ranked.relevance[order],
        users=task.users[rows],
        n_rows=n_rows,
    )
    return several.at_least(min_relevance)


def _by_position(relevant: Any, score: Any, seen: Any, items: Any) -> Any:
    """Return columns, shape (users,), or a matrix, of relevant items in a list or an array."""
    if not len(relevant):
        return np.zeros(0, np.int64)
    if not is_nested(relevant):
        found = items_of(relevant, "relevant")
        if not is_sparse(found):
            return found
    # Lists of columns: only the number of items tells them from the rows of a matrix.
    has_items = [user for user, found in enumerate(relevant) if _is_given(found)]
    shape = None
    if has_items:
        shape = _shape(score, len(relevant), seen, items, has_items[0])
    return items_of(relevant, "relevant", shape)


def _is_given(found: Any) -> bool:
    """Return whether a user has an item, in a list or as a column."""
    return found is not None and np.size(found) > 0 and not np.array_equal(found, -1)


def _shape(score: Any, n_users: int, seen: Any, items: Any, user: int) -> tuple[int, int] | None:
    """Return the numbers of users and of items, None if what is given has no such shape.

    A function is asked for the scores of `user` if nothing else says it.
    """
    if items is not None:
        return n_users, len(items)
    first: Any = seen
    if seen is None:
        first = score
        if isinstance(score, tuple) and len(score) == 2:
            first = np.transpose(score[1])
        elif callable(score):
            first = score(np.array([user]))
    shape = np.shape(first)
    if len(shape) != 2:
        return None
    return n_users, int(shape[1])


class _Items(NamedTuple):
    """Items of each user: those of user u are item[start[u] : start[u + 1]]."""

    start: Int
    item: Int
    n_items: int | None = None
    relevance: Float | None = None  # grade of each item, if there are any

    def select(self, users: Int) -> tuple[Int, Int]:
        """Return the items of some users, each with the place of its user within `users`."""
        counts = self.sizes(users)
        places = ranges(self.start[users], counts)
        return np.repeat(np.arange(users.size), counts), self.item[places]

    def sizes(self, users: Int) -> Int:
        """Count the items of some users."""
        return self.start[users + 1] - self.start[users]


class _Task(NamedTuple):
    """What to rank, what to leave out, and the names of users and items in errors."""

    kind: str
    ranked: _Items
    seen: _Items
    users: Ids
    items: NDArray[Any] | None

    def counts(self, score: Score, users: Int, block_size: int) -> Iterator[tuple[Int, Int, Int]]:
        """Yield candidates per user, and better and tied candidates per item to rank."""
        n_items: Any = self.seen.n_items if self.ranked.n_items is None else self.ranked.n_items
        n_items = n_items if self.items is None else len(self.items)
        if n_items is not None:
            self._check_items(n_items)
        for first in range(0, users.size, block_size):
            block = users[first : first + block_size]
            scores = array_of("scores", score(block))
            if n_items is None and scores.ndim:
                n_items = scores.shape[-1]
                self._check_items(n_items)
            if scores.shape != (block.size, n_items):
                expected = block.size, n_items
                raise InputError(f"scores have shape {scores.shape}, expected {expected}")
            if scores.dtype.kind not in "fiu":
                raise InputError(f"scores have dtype {scores.dtype}, expected numbers")
            step = block.size if isinstance(score, Products) else _ROWS
            for row in range(0, block.size, step):
                part = slice(row, row + step)
                yield self._settled(score, scores[part], block[part])

    def _check_items(self, n_items: int) -> None:
        for kind, lists in ((self.kind, self.ranked), ("seen", self.seen)):
            bad = (lists.item < 0) | (lists.item >= n_items)
            if bad.any():
                place = int(np.argmax(bad))
                user = int(np.searchsorted(lists.start, place, side="right")) - 1
                found = f"{kind} item of user {self.users[user]} is {lists.item[place]}"
                raise InputError(f"{found}, expected 0 to {n_items - 1}")

    def _settled(self, score: Score, scores: Scores, users: Int) -> tuple[Int, Int, Int]:
        """Count; and again, by exact scores, where others come close in a matrix product."""
        if not isinstance(score, Products):
            return self._count(scores, users)
        if score.is_finite:  # and a new array
            candidates = scores
            candidates[self.seen.select(users)] = -np.inf
            n_candidates = scores.shape[1] - self.seen.sizes(users)
        else:
            candidates = self._candidates(scores, users)
            n_candidates = _count(candidates > -np.inf)
        n_better, n_close = self._compare(candidates, users, score.margin(users))
        row, _ = self.ranked.select(users)
        unsure = np.unique(row[n_close != 0])
        if unsure.size:
            again = np.isin(row, unsure)
            exact = self._count(score.exact(users[unsure]), users[unsure])
            _, n_better[again], n_close[again] = exact
        return n_candidates, n_better, n_close

    def _count(self, scores: Scores, users: Int) -> tuple[Int, Int, Int]:
        """Count candidates of each user, and better and tied ones of each item to rank."""
        candidates = self._candidates(scores, users)
        n_better, n_tied = self._compare(candidates, users, np.zeros(users.size))
        return _count(candidates > -np.inf), n_better, n_tied

    def _candidates(self, scores: Scores, users: Int) -> Scores:
        """Return a copy of checked scores, -inf where an item is no candidate."""
        if scores.size and not scores.max() < np.inf:  # the maximum is NaN if any score is
            place = np.argwhere(~(scores < np.inf))[0]
            user, item = self._names(users, *place)
            problem = f"score of item {item} for user {user} is {scores[*place]}"
            raise InputError(f"{problem}; expected a finite number, or -inf for no candidate")
        candidates = scores.copy() if scores.dtype.kind == "f" else ordered_floats(scores)
        candidates[self.seen.select(users)] = -np.inf
        return candidates

    def _compare(self, candidates: Scores, users: Int, margin: Float) -> tuple[Int, Int]:
        """Count for each item to rank those above it, and the others within a margin of it.

        The margins are those of users.
        """
        row, item = self.ranked.select(users)
        own = candidates[row, item]
        if np.isneginf(own).any():
            first = int(np.argmin(own))
            column = self.seen.select(users[row[first : first + 1]])[1]
            is_seen = np.isin(item[first], column)
            why = "is among the seen items" if is_seen else "has score -inf"
            names = "item {1} of user {0}".format(*self._names(users, row[first], item[first]))
            raise InputError(f"{self.kind} {names} {why}, so it is no candidate")
        low: Any = own
        high: Any = own
        if margin.any():
            low = own - margin[row]
            high = own + margin[row]
        if row.size == users.size:  # one item per user
            n_better = _count(candidates > high[:, np.newaxis])
            return n_better, _count(candidates >= low[:, np.newaxis]) - n_better - 1
        n_better, n_tied = np.empty(row.size, np.int64), np.empty(row.size, np.int64)
        bounds = np.searchsorted(row, np.arange(len(candidates) + 1))
        for user, in_order in enumerate(np.sort(candidates, axis=1)):
            mine = slice(bounds[user], bounds[user + 1])
            not_above = np.searchsorted(in_order, high[mine], side="right")
            n_better[mine] = in_order.size - not_above
            n_tied[mine] = not_above - np.searchsorted(in_order, low[mine], side="left") - 1
        return n_better, n_tied

    def _names(self, users: Int, row: int, item: int) -> tuple[Any, Any]:
        return self.users[users[row]], item if self.items is None else self.items[item]


def _count(marked: NDArray[np.bool_]) -> Int:
    """Count the true values of each row, several times as fast as `numpy.count_nonzero`."""
    narrow = np.min_scalar_type(marked.shape[1])
    return marked.view(np.uint8).sum(axis=1, dtype=narrow).astype(np.int64)


def _held_out_items(columns: ArrayLike) -> _Items:
    """Return one item per user from an array of columns, shape (users,)."""
    items = array_of("relevant", columns)
    if items.ndim != 1 or (items.size and items.dtype.kind not in "iu"):
        found = f"{items.dtype} of shape {items.shape}"
        raise InputError(f"relevant is {found}; expected one integer per user, or a matrix")
    return _Items(np.arange(items.size + 1), integers("relevant", items))


def _relevant(grades: Any) -> _Items:
    """Return the items with a number above 0 in a matrix, users x items, and their grades."""
    table = _nonzeros(grades, "relevant")
    if table.dtype.kind == "b":
        return _items(table)
    table.data = table.data.astype(np.float64)
    require("relevant", table.data, np.isfinite(table.data), "finite numbers")
    table.data = np.maximum(table.data, 0.0)
    table.eliminate_zeros()
    return _items(table)._replace(relevance=grades_of(table.data))


def _marked(marked: Any, name: str) -> _Items:
    """Return the items of each user at the nonzeros of a matrix, users x items."""
    return _items(_nonzeros(marked, name))


def _items(table: scipy.sparse.csr_array) -> _Items:
    return _Items(table.indptr.astype(np.int64), table.indices, table.shape[1])


def _nonzeros(marked: Any, name: str) -> scipy.sparse.csr_array:
    marked = marked if is_sparse(marked) else array_of(name, marked)
    if marked.ndim != 2 or marked.dtype.kind not in "biuf":
        found = f"{marked.dtype} of shape {marked.shape}"
        raise InputError(f"{name} is {found}; expected nonzeros of users x items")
    return canonical(marked)
