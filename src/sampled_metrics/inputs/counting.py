"""Counts of better and tied candidates for each relevant item, one block of users at a time."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sampled_metrics._base.arrays import (
    Array,
    Bool,
    Float,
    Floats,
    Ids,
    Int,
    array_of,
    one_thread,
    ordered_floats,
    ranges,
    require,
    select_rows,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics.inputs.items import HELD_OUT, SEEN, Items

Score: TypeAlias = Callable[[Int], Any]  # scores of all items, for some rows of users

BLOCK_SIZE = 512
_ROWS = 32  # users counted at a time, few enough to stay in the processor's cache
_ROWS_OF_PRODUCT = 128  # a matrix product is slower for fewer


class Counts(NamedTuple):
    """Fields of `Ranks` that are valid by construction, each user's items best first."""

    n_candidates: Int
    n_better: Int
    n_tied: Int
    n_found: Int | None = None
    n_relevant: Int | None = None
    depth: Int | None = None
    relevance: Float | None = None
    users: Ids | None = None
    n_rows: int = 0
    n_missing: int = 0


# Numbers beyond the largest become infinite or NaN without a warning; ranking checks them.
_unlimited = partial(np.errstate, over="ignore", invalid="ignore")


class Products:
    """Scores that are inner products of two vectors, as a function of rows of users.

    The last digits of a matrix product depend on its size. So a product only tells which items
    score clearly more or less, by `margin`; closer items are compared by `exact` scores.
    """

    def __init__(self, users: Float, items: Float) -> None:
        self.users = users
        self.items = items
        # A sum of d products is within d eps / 2 of the sum of their sizes, in any order; four
        # such errors part two differences. This is twice as much.
        largest_sum = np.abs(items).sum(axis=1).max(initial=0.0)
        largest = np.abs(users).max(initial=0.0)
        with _unlimited():
            self.is_finite = bool(largest * largest_sum < np.finfo(np.float64).max / 4.0)
        error = np.finfo(np.float64).eps * largest_sum
        self._relative = 4 * (items.shape[1] + 4) * error

    @_unlimited()
    @one_thread()  # more cost more than they save where processors are busy
    def __call__(self, rows: Int) -> Float:
        """Return the scores of all items for some users; the last digits depend on the batch."""
        return self.users[rows] @ self.items.T

    @_unlimited()
    def exact(self, rows: Int) -> Float:
        """Return scores that do not depend on the batch, and are equal for equal vectors."""
        return np.einsum("uf,if->ui", self.users[rows], self.items)

    @_unlimited()
    def margin(self, rows: Int) -> Float:
        """Return how much two products of a user may differ if their exact scores do not."""
        largest = np.abs(self.users[rows]).max(axis=1, initial=0.0)
        return self._relative * largest + np.finfo(np.float64).tiny


def rank_items(
    score: Score,
    relevant: Items,
    seen: Items | None = None,
    *,
    users: Ids | None = None,
    items: Array | None = None,
    block_size: int = BLOCK_SIZE,
) -> Counts:
    """Count for each user's relevant items among all items that the user has not seen."""
    sizes = np.diff(relevant.start)
    n_users = sizes.size
    empty = np.zeros(0, np.int64)
    if seen is None:
        seen = Items(np.zeros(n_users + 1, np.int64), empty, name=SEEN)
    elif seen.n_users != n_users:
        raise InputError(f"seen items of {seen.n_users} users, expected {n_users}")
    n_rows = 0
    if users is None:
        users = np.arange(n_users)
        n_rows = n_users
    if isinstance(score, Products):
        block_size = min(block_size, _ROWS_OF_PRODUCT)
    rows = np.flatnonzero(sizes)
    task = _Task(relevant, seen, users, items)
    blocks = [(empty, empty, empty), *task.counts(score, rows, block_size)]
    n_candidates, n_better, n_tied = map(np.concatenate, zip(*blocks, strict=True))
    if relevant.name == HELD_OUT:
        require("n_candidates", n_candidates, n_candidates >= 2, "at least 2")
        return Counts(n_candidates, n_better, n_tied, users=users, n_rows=n_rows)
    n_found = sizes[rows]
    order = np.lexsort((n_better, np.repeat(rows, n_found)))
    return Counts(
        n_candidates,
        n_better[order],
        n_tied[order],
        n_found=n_found,
        relevance=select_rows(relevant.relevance, order),
        users=users[rows],
        n_rows=n_rows,
    )


class _Task(NamedTuple):
    """Items to rank, items to leave out, and the names of users and items in errors."""

    relevant: Items
    seen: Items
    users: Ids
    items: Array | None

    def counts(self, score: Score, users: Int, block_size: int) -> Iterator[tuple[Int, Int, Int]]:
        """Yield candidates per user, and better and tied candidates per item to rank."""
        n_items = self._n_items()
        if n_items is not None:
            self._check_items(n_items)
        for first in range(0, users.size, block_size):
            block = users[first : first + block_size]
            scores = array_of("scores", score(block))
            if n_items is None and scores.ndim:
                n_items = scores.shape[-1]
                self._check_items(n_items)
            _check_scores(scores, (block.size, n_items))
            if isinstance(score, Products):
                yield self._settled(score, scores, block)
                continue
            for row in range(0, block.size, _ROWS):
                part = slice(row, row + _ROWS)
                yield self._count(scores[part], block[part])

    def _n_items(self) -> int | None:
        if self.items is not None:
            return len(self.items)
        if self.relevant.n_items is not None:
            return self.relevant.n_items
        return self.seen.n_items

    def _check_items(self, n_items: int) -> None:
        for given in (self.relevant, self.seen):
            bad = (given.item < 0) | (given.item >= n_items)
            if bad.any():
                user, item = given.pair(int(np.argmax(bad)))
                raise InputError(
                    f"{given.name} item of user {self.users[user]} is {item}, "
                    f"expected 0 to {n_items - 1}"
                )

    def _settled(self, score: Products, scores: Floats, users: Int) -> tuple[Int, Int, Int]:
        """Count by a matrix product, and again by exact scores where items come close."""
        if score.is_finite:  # and a new array
            candidates = scores
            candidates[self.seen.select(users)] = -np.inf
            n_candidates = scores.shape[1] - self.seen.sizes_of(users)
        else:
            candidates = self._candidates(scores, users)
            n_candidates = _count(candidates > -np.inf)
        n_better, n_close = self._compare(candidates, users, score.margin(users))
        row, _ = self.relevant.select(users)
        unsure = np.unique(row[n_close != 0])
        if unsure.size:
            again = np.isin(row, unsure)
            chosen = users[unsure]
            _, n_better[again], n_close[again] = self._count(score.exact(chosen), chosen)
        return n_candidates, n_better, n_close

    def _count(self, scores: Floats, users: Int) -> tuple[Int, Int, Int]:
        """Count candidates of each user, and better and tied ones of each item to rank."""
        candidates = self._candidates(scores, users)
        return _count(candidates > -np.inf), *self._compare(candidates, users)

    def _candidates(self, scores: Floats, users: Int) -> Floats:
        """Return a copy of checked scores, -inf where an item is no candidate."""
        if scores.size and not scores.max() < np.inf:  # the maximum is NaN if any score is
            place = np.argwhere(~(scores < np.inf))[0]
            user, item = self._names(users, *place)
            problem = f"score of item {item} for user {user} is {scores[*place]}"
            raise InputError(f"{problem}; expected a finite number, or -inf for no candidate")
        candidates = ordered_floats(scores)
        if candidates is scores:
            candidates = scores.copy()
        candidates[self.seen.select(users)] = -np.inf
        return candidates

    def _compare(
        self, candidates: Floats, users: Int, margin: Float | None = None
    ) -> tuple[Int, Int]:
        """Count for each item to rank the items above it, and the rest within its user's margin."""
        row, item = self.relevant.select(users)
        own = candidates[row, item]
        if np.isneginf(own).any():
            first = int(np.argmin(own))
            why = "has score -inf"
            if item[first] in self.seen.select(users[row[[first]]])[1]:
                why = "is among the seen items"
            names = "item {1} of user {0}".format(*self._names(users, row[first], item[first]))
            raise InputError(f"{self.relevant.name} {names} {why}, so it is no candidate")
        low = own
        high = own
        if margin is not None:
            low = own - margin[row]
            high = own + margin[row]
        if row.size == users.size:  # one item per user
            n_better = _count(candidates > high[:, np.newaxis])
            not_below = _count(candidates >= low[:, np.newaxis])
            return n_better, not_below - n_better - 1
        not_above = np.empty(row.size, np.int64)
        below = np.empty(row.size, np.int64)
        bounds = np.searchsorted(row, np.arange(len(candidates) + 1))
        for user, in_order in enumerate(np.sort(candidates, axis=1)):
            mine = slice(bounds[user], bounds[user + 1])
            not_above[mine] = in_order.searchsorted(high[mine], "right")
            below[mine] = in_order.searchsorted(low[mine])
        return candidates.shape[1] - not_above, not_above - below - 1

    def _names(self, users: Int, row: int, item: int) -> tuple[Any, Any]:
        user = self.users[users[row]]
        if self.items is None:
            return user, item
        return user, self.items[item]


def _check_scores(scores: Array, shape: tuple[int, int | None]) -> None:
    """Raise InputError if scores are of another shape, or no numbers."""
    if scores.shape != shape:
        raise InputError(f"scores have shape {scores.shape}, expected {shape}")
    if scores.dtype.kind not in "fiu":
        raise InputError(f"scores have dtype {scores.dtype}, expected numbers")


def _count(marked: Bool) -> Int:
    """Count the true values of each row, several times as fast as `numpy.count_nonzero`."""
    narrow = np.min_scalar_type(marked.shape[1])
    return marked.view(np.uint8).sum(axis=1, dtype=narrow).astype(np.int64)


def by_score(users: Int, score: Floats | Int) -> tuple[Int, Int]:
    """Count, for each row, rows of the same user with a higher and with an equal score.

    Examples
    --------
    >>> by_score(np.array([0, 0, 0, 1]), np.array([1.0, 3.0, 1.0, 2.0]))
    (array([1, 0, 1, 0]), array([1, 0, 1, 0]))
    """
    order = np.lexsort((-score, users))
    user = users[order]
    ordered = score[order]
    is_new_user = user[1:] != user[:-1]
    is_other_score = ordered[1:] != ordered[:-1]
    begins = np.flatnonzero(np.append(True, is_new_user | is_other_score))
    level = np.diff(begins, append=score.size)
    n_better = np.empty(score.size, np.int64)
    n_tied = np.empty(score.size, np.int64)
    places = ranges(0, np.bincount(users))
    n_better[order] = np.repeat(places[begins], level)
    n_tied[order] = np.repeat(level - 1, level)
    return n_better, n_tied
