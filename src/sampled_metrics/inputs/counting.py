"""Counts of better and tied candidates for each relevant item, one block of users at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sampled_metrics._base.arguments import ALL_CORES, n_threads
from sampled_metrics._base.array_types import Array, Bool, Float, Floats, Ids, Int
from sampled_metrics._base.arrays import blocks, concatenate_ranges, pair_codes, sorted_unique
from sampled_metrics._base.columns import require_all
from sampled_metrics._base.conversion import is_on_device, to_array, to_numpy
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.progress import progress_bar
from sampled_metrics._base.threads import map_in_threads, one_thread
from sampled_metrics.inputs.comparisons import (
    Positions,
    count_above,
    subtract_excluded,
    take_scores,
)
from sampled_metrics.inputs.items import HELD_OUT, SEEN, Items, describe_seen_relevant
from sampled_metrics.inputs.pair_scores import PairScores
from sampled_metrics.inputs.products import USERS_AT_A_TIME, InnerProducts, ScoreFunction

BLOCK_SIZE = 512
_USERS_OF_A_THREAD = 512  # with fewer, many threads wait for each other between tiles
_ROWS = 32  # users counted at a time, few enough to stay in the processor's cache


class RankCounts(NamedTuple):
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


class EarlyStop(NamedTuple):
    """When ranks may end at a cut-off: some users, ranked in full before the others, tell."""

    up_to: int
    n_whole: int  # users, at least, of all
    may_end: Callable[[RankCounts], bool]  # whether the others may, as far as these show
    is_enough: Callable[[RankCounts], bool]  # whether ranks that end tell all that full ones would


def rank_items(
    score: ScoreFunction,
    relevant: Items,
    seen: Items | None = None,
    *,
    users: Ids | None = None,
    items: Array | None = None,
    up_to: int | None = None,
    early: EarlyStop | None = None,
    block_size: int = BLOCK_SIZE,
    n_jobs: int = ALL_CORES,
    progress: bool | None = None,
) -> RankCounts:
    """Count for each user's relevant items among all items that the user has not seen.

    Items with `up_to` candidates above them, or more, are not found, as in a list of so many.
    `early` tells whether this is done without being asked for.
    """
    n_users = relevant.n_users
    if seen is None:
        no_item = np.zeros(0, np.int64)
        seen = Items(np.zeros(n_users + 1, np.int64), no_item, relevant.n_items, name=SEEN)
    n_rows = 0
    if users is None:
        users = np.arange(n_users)
        n_rows = n_users
    task = _Task(relevant, seen, users, items, np.zeros(n_users, np.int64))
    rows = np.flatnonzero(relevant.sizes)
    with progress_bar(rows.size, "users", progress) as update:
        counter = _Counter(task, score, block_size, n_threads(n_jobs), update)
        if early is None:
            counter.count(rows, relevant.n_items if up_to is None else up_to)
        else:
            _count_early(counter, rows, early)
    counts = counter.counts(rows)
    if relevant.name == HELD_OUT:
        require_all("n_candidates", counts.n_candidates, counts.n_candidates >= 2, "at least 2")
    return counts._replace(n_rows=n_rows)


def _count_early(counter: _Counter, rows: Int, early: EarlyStop) -> None:
    """Count some users in full, then the others up to a cut-off if nothing needs more."""
    is_whole = np.zeros(rows.size, bool)
    is_whole[:: max(1, rows.size // early.n_whole)] = True
    whole, others = rows[is_whole], rows[~is_whole]
    n_items = counter.task.relevant.n_items
    try:
        counter.count(whole, n_items)
    except InputError:
        counter.count(rows, n_items)  # so that the error is that of the first user
        raise
    if others.size and early.may_end(counter.counts(whole)):
        counter.count(others, early.up_to)
        if early.is_enough(counter.counts(rows)):
            return
        others = counter.cut_off(others)
    counter.count(others, n_items)


class _Counter:
    """Counts of users, and of their relevant items, as far as they are ranked."""

    def __init__(
        self,
        task: _Task,
        score: ScoreFunction,
        block_size: int,
        threads: int,
        update: Callable[[int], object],
    ) -> None:
        self.task = task
        self.score = score
        self.block_size = block_size
        self.threads = threads
        self.update = update
        self.sizes = task.relevant.sizes
        self.n_candidates = np.zeros(self.sizes.size, np.int64)
        self.n_better = np.zeros(task.relevant.item.size, np.int64)
        self.n_tied = np.zeros(task.relevant.item.size, np.int64)

    def count(self, rows: Int, depth: int) -> None:
        """Rank the relevant items of some users down to a depth."""
        relevant = self.task.relevant
        self.task.depth[rows] = depth
        begin = 0
        for counts in self.task.counts(self.score, rows, self.block_size, self.threads):
            n_candidates, n_better, n_tied = counts
            users = rows[begin : begin + n_candidates.size]
            items = concatenate_ranges(relevant.start[users], self.sizes[users])
            self.n_candidates[users] = n_candidates
            self.n_better[items] = n_better
            self.n_tied[items] = n_tied
            begin += users.size
            self.update(users.size)

    def cut_off(self, rows: Int) -> Int:
        """Return those of some users who have an item that was not found."""
        owner = np.repeat(rows, self.sizes[rows])
        items = concatenate_ranges(self.task.relevant.start[rows], self.sizes[rows])
        return np.unique(owner[self.n_better[items] >= self.task.depth[owner]])

    def counts(self, rows: Int) -> RankCounts:
        """Return the counts of some users, each user's items best first."""
        relevant = self.task.relevant
        sizes = self.sizes[rows]
        items = concatenate_ranges(relevant.start[rows], sizes)
        depth = self.task.depth[rows]
        counts = RankCounts(
            self.n_candidates[rows],
            self.n_better[items],
            self.n_tied[items],
            users=self.task.users[rows],
        )
        if relevant.name == HELD_OUT and (depth == relevant.n_items).all():
            return counts
        owner = np.repeat(np.arange(rows.size), sizes)
        most = depth[owner]
        n_better = np.minimum(counts.n_better, most)
        by_place = pair_codes(owner, n_better, relevant.n_items + 1)
        order = np.argsort(by_place, kind="stable")
        best_first = order[(n_better < most)[order]]
        n_found = np.bincount(owner[best_first], minlength=rows.size)
        is_cut = depth < counts.n_candidates
        is_cut &= n_found < sizes
        relevance = None
        if relevant.relevance is not None:
            relevance = relevant.relevance[items][order]
        return counts._replace(
            n_better=n_better[best_first],
            n_tied=counts.n_tied[best_first],
            n_found=n_found,
            n_relevant=sizes,
            depth=np.where(is_cut, depth, counts.n_candidates),
            relevance=relevance,
        )


_BlockCounts: TypeAlias = tuple[Int, Int, Int]  # candidates per user; better and tied per item


class _Task(NamedTuple):
    """Items to rank, items to leave out, and the names of users and items in errors."""

    relevant: Items
    seen: Items
    users: Ids
    items: Array | None
    depth: Int  # places that matter of each user's ranking

    def counts(
        self, score: ScoreFunction, users: Int, block_size: int, threads: int
    ) -> Iterator[_BlockCounts]:
        """Yield candidates per user, and better and tied candidates per item to rank."""
        if isinstance(score, PairScores):
            n_items = self.relevant.n_items
            n_seen = np.bincount(self.seen.item, minlength=n_items)
            score.order = np.argsort(-n_seen, kind="stable")
            for some in blocks(users.size, 1, block_size):
                yield self._by_products(score, users[some])
            return
        if not (isinstance(score, InnerProducts) and score.is_finite):
            # The function may return the same memory again, so it waits until that is counted.
            for some in blocks(users.size, 1, block_size):
                scored = self._scored(score, users[some])
                yield from map_in_threads(self._by_scores, scored, threads)
            return
        n_blocks = min(threads, max(2, users.size // _USERS_OF_A_THREAD))
        together = n_blocks * USERS_AT_A_TIME
        n_blocks *= max(1, -(-users.size // together))
        size = max(1, -(-users.size // n_blocks))
        parts = (users[first : first + size] for first in range(0, users.size, size))
        with one_thread():  # in each thread that multiplies
            yield from map_in_threads(partial(self._by_products, score), parts, threads)

    def _scored(self, score: ScoreFunction, users: Int) -> Iterator[tuple[Floats, Int]]:
        """Yield checked scores of a few of the users, and these; this thread calls the function."""
        scores = score(users)
        is_there = is_on_device(scores)
        if not is_there:
            scores = to_array("scores", scores)
        shape = users.size, self.relevant.n_items
        if tuple(scores.shape) != shape:
            raise InputError(f"scores have shape {scores.shape}, expected {shape}")
        if is_there:
            yield scores, users
            return
        if scores.dtype.kind not in "fiu":
            raise InputError(f"scores have dtype {scores.dtype}, expected numbers")
        for row in range(0, users.size, _ROWS):
            part = slice(row, row + _ROWS)
            yield scores[part], users[part]

    def _by_products(self, score: InnerProducts | PairScores, users: Int) -> _BlockCounts:
        """Count by inner products, or by scores of pairs."""
        pairs, seen, is_seen = self._pairs(users)
        if is_seen.any():
            raise self._no_candidate(users, *pairs, is_seen)
        n_seen = np.bincount(seen[0], minlength=users.size)
        n_candidates = self.relevant.n_items - n_seen
        depth = self.depth[users]
        counts = score.counts(users, pairs, seen, depth[pairs[0]])
        return n_candidates, *counts

    def _by_scores(self, scored: tuple[Any, Int]) -> _BlockCounts:
        """Count by scores of some users, where they are."""
        scores, users = scored
        pairs, seen, is_seen = self._pairs(users)
        found = count_above(scores, pairs)
        for row in np.flatnonzero(found.bad)[:1]:
            values = to_numpy(scores[int(row) : int(row) + 1, :])[0]
            place = int(np.argmin(values < np.inf))
            user, item = self._names(users, row, place)
            problem = f"score of item {item} for user {user} is {values[place]}"
            raise InputError(f"{problem}; expected a finite number, or -inf for no candidate")
        is_no_candidate = is_seen | np.isneginf(found.own)
        if is_no_candidate.any():
            raise self._no_candidate(users, *pairs, is_no_candidate)
        out = to_numpy(take_scores(scores, *seen))
        n_gone = np.bincount(seen[0][out > -np.inf], minlength=users.size)
        n_candidates = scores.shape[1] - found.gaps - n_gone
        counts = subtract_excluded(found.better, found.tied, found.own, pairs[0], seen[0], out)
        return n_candidates, *counts

    def _pairs(self, users: Int) -> tuple[Positions, Positions, Bool]:
        """Return pairs to rank, those seen, each once, and which of the first are among these."""
        row, item = self.relevant.select(users)
        seen_row, seen_item = self.seen.select(users)
        width = 1 + max(item.max(initial=0), seen_item.max(initial=0))
        wanted = pair_codes(row, item, width)
        seen = sorted_unique(pair_codes(seen_row, seen_item, width))
        place = seen.searchsorted(wanted)
        is_seen = np.append(seen, -1)[place] == wanted
        return (row, item), np.divmod(seen, width), is_seen

    def _no_candidate(self, users: Int, row: Int, item: Int, is_none: Bool) -> InputError:
        """Make the error for the first item to rank that is no candidate."""
        first = int(np.argmax(is_none))
        names = "item {1} of user {0}".format(*self._names(users, row[first], item[first]))
        why = "has score -inf, so it is no candidate; leave it out of relevant, or give it a score"
        if item[first] in self.seen.select(users[row[[first]]])[1]:
            is_seen = self.seen.has(self.relevant.user, self.relevant.item)
            count = describe_seen_relevant(self.relevant.user[is_seen])
            why = f"is among the seen items, so it is no candidate{count}"
        return InputError(f"{self.relevant.name} {names} {why}")

    def _names(self, users: Int, row: int, item: int) -> tuple[Any, Any]:
        user = self.users[users[row]]
        if self.items is None:
            return user, item
        return user, self.items[item]
