"""Full ranking: from anybody's scores to the places of relevant items, block by block of users."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, csr_matrix

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks.records import Ranks
from sampled_metrics.ranks.relevant import RelevantRanks

BLOCK_SIZE = 512
# Rows counted at a time: so few that they stay in the processor's cache.
_SLAB = 32

Scores = NDArray[np.floating[Any]]
ScoreBlock = Callable[[Int], Scores]
Marked: TypeAlias = csr_array | csr_matrix | NDArray[np.bool_]


def rank_held_out(
    score_block: ScoreBlock,
    seen: Marked | None,
    held_out: ArrayLike,
    *,
    block_size: int = BLOCK_SIZE,
    user_ids: ArrayLike | None = None,
    item_ids: ArrayLike | None = None,
) -> Ranks:
    """Rank every user's held-out item among all items the user has not seen.

    Parameters
    ----------
    score_block
        Gives the scores of all items for some users: takes running numbers of users, int64, shape
        (some,), returns float32 or float64, shape (some, items), which is not written to. A score
        of -inf takes the item out of the user's candidates.
    seen
        Nonzero where a user has seen an item, which is then no candidate: sparse in rows or bool,
        shape (users, items); None where nobody has seen anything.
    held_out
        Column of each user's held-out item; whole numbers, shape (users,).
    block_size
        Users scored at a time: memory is that many rows of scores, never all of them; the result
        is the same for any.
    user_ids, item_ids
        What messages call users and items, shapes (users,) and (items,); their numbers where not
        given.

    Returns
    -------
    Ranks
        Of each user, in order.

    Raises
    ------
    InputError
        A score is NaN or +inf, or a held-out item has been seen or has score -inf, the message
        names user and item; the shapes do not fit; a user has fewer than two candidates.

    >>> scores = np.array([[9.0, 7, 5, 5, 5], [3, 8, 1, -np.inf, 2]])
    >>> seen = np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]], dtype=bool)
    >>> rank_held_out(lambda users: scores[users], seen, [2, 4])
    Ranks(n_candidates=array([4, 4]), n_better=array([1, 2]), n_tied=array([2, 0]))
    """
    items = np.asarray(held_out)
    if items.ndim != 1 or (items.size and items.dtype.kind not in "iu"):
        raise InputError(
            f"held-out items: found {items.dtype} of shape {items.shape}; "
            "allowed: whole numbers, one a user"
        )
    names = _Names("held-out", user_ids, item_ids)
    one_each = _Lists(np.arange(items.size + 1), items.astype(np.int64), None)
    task = _Task(one_each, _seen(seen, items.size), names)
    return Ranks(*_rank(score_block, np.arange(items.size), task, block_size))


def rank_relevant(
    score_block: ScoreBlock,
    seen: Marked | None,
    relevant: Marked,
    *,
    block_size: int = BLOCK_SIZE,
    user_ids: ArrayLike | None = None,
    item_ids: ArrayLike | None = None,
) -> tuple[RelevantRanks, Int]:
    """Rank every user's relevant items, of which there may be several.

    All candidates count as better or tied, relevant or not. A user without a relevant item has
    no metric: it is left out and never scored.

    Parameters
    ----------
    score_block, seen, block_size, user_ids, item_ids
        As for `rank_held_out`.
    relevant
        Nonzero where an item is relevant to a user: sparse in rows or bool, shape (users, items).

    Returns
    -------
    RelevantRanks
        Of the users with relevant items, in order; the items of a user by their columns.
    Int
        The running numbers of these users; int64, shape (users with relevant items,).

    Raises
    ------
    InputError
        As for `rank_held_out`, relevant items in the place of held-out ones.

    >>> scores = np.array([[9.0, 7, 5, 5, 5], [3, 8, 1, 2, 2]])
    >>> relevant = np.array([[0, 0, 0, 0, 0], [1, 0, 0, 1, 0]], dtype=bool)
    >>> ranks, users = rank_relevant(lambda users: scores[users], None, relevant)
    >>> users, ranks.n_better, ranks.n_tied
    (array([1]), array([1, 2]), array([0, 1]))
    """
    lists = _lists(relevant)
    task = _Task(lists, _seen(seen, lists.size.size), _Names("relevant", user_ids, item_ids))
    users = np.flatnonzero(lists.size)
    n_candidates, n_better, n_tied = _rank(score_block, users, task, block_size)
    n_relevant = lists.size[users]
    of = np.repeat(np.arange(users.size), n_relevant)
    return RelevantRanks(of, n_better, n_tied, n_relevant, n_candidates, n_candidates), users


class _Names(NamedTuple):
    """What messages call items and users."""

    kind: str
    user_ids: ArrayLike | None
    item_ids: ArrayLike | None

    def user(self, number: int) -> object:
        return number if self.user_ids is None else np.asarray(self.user_ids)[number]

    def item(self, number: int) -> object:
        return number if self.item_ids is None else np.asarray(self.item_ids)[number]


class _Lists(NamedTuple):
    """Some items of each user: those of user u are item[start[u] : start[u + 1]]."""

    start: Int
    item: Int
    n_items: int | None

    @property
    def size(self) -> Int:
        return np.diff(self.start)

    def of(self, users: Int) -> tuple[Int, Int]:
        """Return the items of some users, each with the place of its user within `users`."""
        counts = self.start[users + 1] - self.start[users]
        ends = np.cumsum(counts)
        shift = np.repeat(self.start[users] - ends + counts, counts)
        return np.repeat(np.arange(users.size), counts), self.item[np.arange(shift.size) + shift]


class _Task(NamedTuple):
    """What to rank, and what to leave out."""

    ranked: _Lists
    seen: _Lists | None
    names: _Names

    def n_items(self) -> int | None:
        """Return the number of items, where something says it before the first scores."""
        if self.names.item_ids is not None:
            return len(np.asarray(self.names.item_ids))
        if self.ranked.n_items is None and self.seen is not None:
            return self.seen.n_items
        return self.ranked.n_items

    def require(self, n_items: int) -> None:
        """Raise InputError unless every item is below `n_items`."""
        for kind, lists in ((self.names.kind, self.ranked), ("seen", self.seen)):
            if lists is None:
                continue
            bad = (lists.item < 0) | (lists.item >= n_items)
            if bad.any():
                place = int(np.argmax(bad))
                user = int(np.searchsorted(lists.start, place, side="right")) - 1
                raise InputError(
                    f"{kind} item of user {self.names.user(user)} is {lists.item[place]}; "
                    f"allowed: 0 to {n_items - 1}"
                )


def _lists(marked: Marked) -> _Lists:
    table = csr_array(marked)
    if not (table.has_canonical_format and table.data.all()):
        table = csr_array(table, copy=True)
        table.sum_duplicates()
        table.eliminate_zeros()
    return _Lists(table.indptr.astype(np.int64), table.indices, table.shape[1])


def _seen(marked: Marked | None, n_users: int) -> _Lists | None:
    if marked is None:
        return None
    lists = _lists(marked)
    if lists.size.size != n_users:
        raise InputError(f"seen items of {lists.size.size} users; allowed: {n_users}")
    return lists


def _rank(
    score_block: ScoreBlock, users: Int, task: _Task, block_size: int
) -> tuple[Int, Int, Int]:
    """Candidates a user; candidates better and tied an item."""
    if block_size < 1:
        raise InputError(f"block_size is {block_size}; allowed: at least 1")
    counted = [
        _count(scores, slab, task) for scores, slab in _slabs(score_block, users, task, block_size)
    ]
    empty = np.empty(0, dtype=np.int64)
    columns = zip(*counted, strict=True) if counted else ((empty,),) * 3
    n_candidates, n_better, n_tied = (np.concatenate(column) for column in columns)
    return n_candidates, n_better, n_tied


def _slabs(
    score_block: ScoreBlock, users: Int, task: _Task, block_size: int
) -> Iterator[tuple[Scores, Int]]:
    n_items = task.n_items()
    if n_items is not None:
        task.require(n_items)
    for first in range(0, users.size, block_size):
        block = users[first : first + block_size]
        scores = _scores(score_block, block, n_items)
        if n_items is None:
            n_items = scores.shape[1]
            task.require(n_items)
        for row in range(0, block.size, _SLAB):
            yield scores[row : row + _SLAB], block[row : row + _SLAB]


def _scores(score_block: ScoreBlock, users: Int, n_items: int | None) -> Scores:
    try:
        scores = np.asarray(score_block(users))
    except IndexError as error:
        raise InputError(f"the recommender knows fewer than {users[-1] + 1} users") from error
    expected = (users.size, scores.shape[-1] if n_items is None and scores.ndim else n_items)
    if scores.shape != expected:
        raise InputError(f"the recommender gives scores of shape {scores.shape}, not {expected}")
    if scores.dtype.kind not in "fiu":
        raise InputError(f"the recommender gives scores of type {scores.dtype}; allowed: numbers")
    return scores


def _count(given: Scores, users: Int, task: _Task) -> tuple[Int, Int, Int]:
    """Candidates a user, candidates better and tied an item; for a slab of users."""
    # An extreme is NaN where anything is, so these passes find all that is not finite.
    if given.size and not given.max() < np.inf:
        _refuse(given, users, task.names)
    scores = np.array(given, dtype=given.dtype if given.dtype.kind == "f" else np.float64)
    n_candidates = np.full(users.size, scores.shape[1])
    if task.seen is not None:
        scores[task.seen.of(users)] = -np.inf
        n_candidates -= task.seen.size[users]
    if given.size and given.min() == -np.inf:
        n_candidates = np.count_nonzero(scores > -np.inf, axis=1)
    row, item = task.ranked.of(users)
    own = scores[row, item]
    if np.isneginf(own).any():
        place = int(np.argmax(np.isneginf(own)))
        _refuse_own(given, users, int(row[place]), int(item[place]), task.names)
    if row.size == users.size:
        return n_candidates, *_by_comparing(scores, own)
    return n_candidates, *_by_sorting(scores, own, row)


def _by_comparing(scores: Scores, own: Scores) -> tuple[Int, Int]:
    """Count for one item a user."""
    above, level = scores > own[:, np.newaxis], scores == own[:, np.newaxis]
    return np.count_nonzero(above, axis=1), np.count_nonzero(level, axis=1) - 1


def _by_sorting(scores: Scores, own: Scores, row: Int) -> tuple[Int, Int]:
    """Count for several items a user."""
    n_better, n_tied = np.empty(row.size, np.int64), np.empty(row.size, np.int64)
    bounds = np.searchsorted(row, np.arange(len(scores) + 1))
    for user, ranked in enumerate(np.sort(scores, axis=1)):
        mine = slice(bounds[user], bounds[user + 1])
        not_above = np.searchsorted(ranked, own[mine], side="right")
        n_better[mine] = ranked.size - not_above
        n_tied[mine] = not_above - np.searchsorted(ranked, own[mine], side="left") - 1
    return n_better, n_tied


def _refuse(scores: Scores, users: Int, names: _Names) -> None:
    row, item = (int(place) for place in np.argwhere(~(scores < np.inf))[0])
    raise InputError(
        f"score of item {names.item(item)} for user {names.user(users[row])} is "
        f"{scores[row, item]}; expected a finite number, or -inf for no candidate"
    )


def _refuse_own(given: Scores, users: Int, row: int, item: int, names: _Names) -> None:
    why = "has score -inf" if np.isneginf(given[row, item]) else "is among those it has seen"
    raise InputError(
        f"{names.kind} item {names.item(item)} of user {names.user(users[row])} {why}; "
        "allowed: candidates only"
    )
