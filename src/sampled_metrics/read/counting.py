"""Counts of better and tied candidates for each relevant item, one block of users at a time.

Users may be counted down to a depth only, as in a list of the top K: a relevant item with as many
better candidates as the depth, or more, counts as relevant but not found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sampled_metrics._base.arguments import ALL_CORES, n_threads
from sampled_metrics._base.array_types import Array, Bool, Floats, Int
from sampled_metrics._base.arrays import (
    blocks,
    ceil_divide,
    concatenate_ranges,
    count_by_score,
    is_among,
    pair_codes,
    select_rows,
    sorted_unique,
)
from sampled_metrics._base.columns import require_all
from sampled_metrics._base.conversion import as_array, keeps_own_library, to_numpy
from sampled_metrics._base.defaults import BLOCK_SIZE
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.progress import progress_bar
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.threads import map_in_threads, one_thread
from sampled_metrics._base.units import Units
from sampled_metrics.ranks import Ranks
from sampled_metrics.read.comparisons import (
    CountPair,
    Positions,
    count_above,
    count_true,
    subtract_excluded,
    take_scores,
)
from sampled_metrics.read.early_stop import EarlyStop
from sampled_metrics.read.items import (
    HELD_OUT,
    SEEN,
    Items,
    Size,
    describe_pairs,
    describe_seen_relevant,
)
from sampled_metrics.read.pair_scores import PairScores
from sampled_metrics.read.products import USERS_AT_A_TIME, InnerProducts, ScoreFunction
from sampled_metrics.read.products_by_part import ProductsByPart

_MIN_USERS_PER_THREAD = 2560  # with fewer, threads share tiles of items
# Items of a sample that shows whether rankings may end early. With as many, the share of items
# below a relevant one has a standard error of at most .016, little beside the spread of users.
SAMPLED_ITEMS = 1024
LEAST_TO_SAMPLE = 8192  # items; to rank some users among fewer takes little time
_ROWS_AT_A_TIME = 32  # users whose scores stay in the processor's cache
_ByPairs: TypeAlias = InnerProducts | ProductsByPart | PairScores  # compute some scores only


class _CountedUsers(NamedTuple):
    """Counts of some users.

    Attributes
    ----------
    users, n_candidates
        The users, and the candidates of each; shape (users,).
    n_better, n_tied
        Better and tied candidates of each of their relevant items that are columns of the scores.
    """

    users: Int
    n_candidates: Int
    n_better: Int
    n_tied: Int


def rank_items(
    score: ScoreFunction,
    relevant: Items,
    seen: Items | None = None,
    *,
    shape: Size | None = None,
    missing: str = "refuse",
    units: Units | None = None,
    items: Array | None = None,
    up_to: int | None = None,
    early_stop: EarlyStop | None = None,
    block_size: int = BLOCK_SIZE,
    n_jobs: int = ALL_CORES,
    progress: bool | None = None,
) -> Ranks:
    """Count better and tied candidates of relevant items among all items the user has not seen.

    Parameters
    ----------
    score
        Function from rows of users to scores of all items.
    relevant, seen
        Items to rank, and items that are not candidates, by row and column of the scores.
    shape
        Numbers of rows and columns of the scores, by default those of `relevant`, which may contain
        more: users and items without scores.
    missing
        With "last", relevant items without a score, or with -inf, rank below all candidates; with
        "refuse" they are an error.
    units, items
        Ids of rows and columns, for results and errors.
    up_to
        Depth of the rankings: items with as many better candidates, or more, are not found.
    early_stop
        Lets rankings end at a depth where this changes no result.
    block_size
        Number of users in one call of `score`.
    """
    n_users = relevant.n_users
    if seen is None:
        nothing = np.zeros(0, np.int64)
        seen = Items.from_pairs(nothing, nothing, n_users, relevant.n_items, name=SEEN)
    seen = seen.append_users(n_users - seen.n_users)  # users without scores, at the end
    rows = np.flatnonzero(relevant.sizes)  # users with relevant items
    with progress_bar(rows.size, "users", progress) as update:
        counter = _Counter(
            score=score,
            shape=shape or (n_users, relevant.n_items),
            relevant=relevant,
            seen=seen,
            units=units,
            item_ids=items,
            block_size=block_size,
            threads=n_threads(n_jobs),
            update=update,
        )
        if early_stop is None:
            counter.count(rows, depth=relevant.n_items if up_to is None else up_to)
        else:
            _count_with_early_stop(counter, rows, early_stop)
    if missing == "refuse":
        counter.refuse_missing()
    ranks = counter.ranks(rows)
    if relevant.name == HELD_OUT:
        require_all("n_candidates", ranks.n_candidates, ranks.n_candidates >= 2, "at least 2")
    return ranks


def _count_with_early_stop(counter: _Counter, users: Int, early_stop: EarlyStop) -> None:
    """Count users down to the depth if a sample of items, or some users, show that it is enough.

    If they forbid an end at the depth, all users are counted in full. If the ranks of all users do,
    those of them are counted again who have items below the depth.
    """
    is_first = early_stop.first_users(users)
    first_users, others = users[is_first], users[~is_first]
    full_depth = counter.relevant.n_items
    try:
        sampled_ranks = counter.rank_in_sample(first_users)
        if sampled_ranks is not None and early_stop.may_end_by_sample(sampled_ranks):
            may_end, others = True, users
        else:
            counter.count(first_users, full_depth)
            may_end = others.size > 0 and early_stop.may_end(counter.ranks(first_users))
    except InputError:
        counter.count(users, full_depth)  # so that the error names the first user
        raise
    if may_end:
        counter.count(others, early_stop.depth)
        if early_stop.keeps_results(counter.ranks(users)):
            return
        others = counter.users_with_items_below_depth(others)
    counter.count(others, full_depth)


class _RankedItems(NamedTuple):
    """Counts of some users and of their relevant items, all of which are candidates.

    Attributes
    ----------
    n_candidates, n_missing
        Candidates of each user, and relevant items without a score among them; shape (users,).
    owner
        Position of the user of each relevant item; shape (items,).
    n_better, n_tied
        Better and tied candidates of each relevant item; shape (items,).
    """

    n_candidates: Int
    n_missing: Int
    owner: Int
    n_better: Int
    n_tied: Int


def _mark_negatives(n_users: int, sample: Int, not_negative: Sequence[Positions]) -> Bool:
    """Return which items of a sample are negatives of each user, shape (users, sample).

    `sample` ascends. `not_negative` are pairs of a position of a user and an item.
    """
    is_negative = np.ones((n_users, sample.size), bool)
    for row, item in not_negative:
        in_sample = is_among(item, sample)
        column = sample.searchsorted(item[in_sample])
        is_negative[row[in_sample], column] = False
    return is_negative


class _Counter:
    """Counts of users and of their relevant items, filled by `count`."""

    def __init__(
        self,
        *,
        score: ScoreFunction,
        shape: Size,
        relevant: Items,
        seen: Items,
        units: Units | None,
        item_ids: Array | None,
        block_size: int,
        threads: int,
        update: Callable[[int], object],
    ) -> None:
        self.score = score
        self.n_rows, self.n_columns = shape
        self.relevant = relevant
        self.seen = seen
        self.n_unnamed = relevant.n_users if units is None else 0  # users without ids
        self.units = units or Units(np.arange(relevant.n_users))
        self.item_ids = item_ids
        self.block_size = block_size
        self.threads = threads
        self.update = update  # tells the progress bar how many users are done
        self.sizes = relevant.sizes
        self.depth = np.zeros(relevant.n_users, np.int64)  # ranks below it are not distinguished
        self.n_candidates = np.zeros(relevant.n_users, np.int64)
        self.n_better = np.full(relevant.item.size, self.n_columns)
        self.n_tied = np.zeros(relevant.item.size, np.int64)

    def count(self, users: Int, depth: int) -> None:
        """Rank the relevant items of some users down to a depth, and store their counts."""
        self.depth[users] = depth
        scored = users[self._have_scores(users)]
        for counted in self._count_blocks(scored):
            self._store(counted)
            self.update(counted.users.size)
        self.update(users.size - scored.size)
        self._count_without_scores(users[self.n_candidates[users] == 0])
        # Relevant items without a score are below all candidates.
        items = self._positions_of_items(users)
        n_candidates = np.repeat(self.n_candidates[users], self.sizes[users])
        self.n_better[items] = np.minimum(self.n_better[items], n_candidates)

    def _have_scores(self, users: Int) -> Bool:
        """Return whether each of some users has a row and, to compute pairs of it, one at least."""
        has_row = users < self.n_rows
        computes_pairs = isinstance(self.score, _ByPairs)
        return has_row & self._have_columns(users) if computes_pairs else has_row

    def _store(self, counted: _CountedUsers) -> None:
        """Store the counts of some users."""
        items = self._positions_of_items(counted.users)
        items = items[self.relevant.item[items] < self.n_columns]
        self.n_candidates[counted.users] = counted.n_candidates
        self.n_better[items] = counted.n_better
        self.n_tied[items] = counted.n_tied

    def _have_columns(self, users: Int) -> Bool:
        """Return whether each of some users has a relevant item that is a column of the scores."""
        row, item = self.relevant.select(users)
        return np.bincount(row[item < self.n_columns], minlength=users.size) > 0

    def _count_without_scores(self, users: Int) -> None:
        """Count the candidates of users without scores: the columns neither seen nor relevant."""
        (row, _), (seen_row, _) = self._select_pairs(users)
        n_excluded = np.bincount(np.append(row, seen_row), minlength=users.size)
        self.n_candidates[users] = self.n_columns - n_excluded
        self.n_better[self._positions_of_items(users)] = self.n_columns

    def _is_missing(self) -> Bool:
        """Return which relevant items have no score."""
        return self.n_better == self.n_candidates[self.relevant.user]

    def refuse_missing(self) -> None:
        """Raise InputError if a relevant item has the score -inf, and say how many have."""
        is_missing = self._is_missing()
        if not is_missing.any():
            return
        first = int(np.argmax(is_missing))
        users = self.relevant.user[is_missing]  # one for each such item
        user_id, item_id = self._ids(users[0], self.relevant.item[first])
        raise InputError(
            f"{self.relevant.name} item {item_id} of user {user_id} has score -inf, so it is not a "
            f"candidate ({describe_pairs(users)}); drop it from relevant, give it a "
            "score, or count such items as not found by missing='last' (--missing last)"
        )

    def _positions_of_items(self, users: Int) -> Int:
        """Return where the relevant items of some users are among all relevant items."""
        return concatenate_ranges(self.relevant.start[users], self.sizes[users])

    def users_with_items_below_depth(self, users: Int) -> Int:
        """Return those of some users who have a relevant item below their depth."""
        owner = np.repeat(users, self.sizes[users])
        n_better = self.n_better[self._positions_of_items(users)]
        return np.unique(owner[n_better >= self.depth[owner]])

    def ranks(self, users: Int) -> Ranks:
        """Return the ranks of some users, each user's items best first."""
        ranked = self._rank_missing_last(users)
        user_ids, visit_ids = self.units.take(users).users_and_visits()
        is_full = (self.depth[users] == self.relevant.n_items).all()
        # Held-out items are one per user, so there is nothing to sort; and in full rankings all
        # are found.
        if self.relevant.name == HELD_OUT and is_full:
            counts: dict[str, Any] = {"n_better": ranked.n_better, "n_tied": ranked.n_tied}
        else:
            counts = self._sort_and_truncate(users, ranked)
        return Ranks(
            ranked.n_candidates,
            **counts,
            users=user_ids,
            visits=visit_ids,
            n_rows=self.n_unnamed,
            n_columns=self.n_columns,
            n_missing=int(np.count_nonzero(ranked.n_missing)),
        )

    def _rank_missing_last(self, users: Int) -> _RankedItems:
        """Return the counts of some users; items without a score are tied below all others."""
        items = self._positions_of_items(users)
        owner = np.repeat(np.arange(users.size), self.sizes[users])
        n_scored = self.n_candidates[users]
        n_better = self.n_better[items]
        n_tied = self.n_tied[items]
        is_missing = n_better == n_scored[owner]
        n_missing = np.bincount(owner[is_missing], minlength=users.size)
        n_tied[is_missing] = n_missing[owner[is_missing]] - 1
        return _RankedItems(
            n_candidates=n_scored + n_missing,
            n_missing=n_missing,
            owner=owner,
            n_better=n_better,
            n_tied=n_tied,
        )

    def _sort_and_truncate(self, users: Int, ranked: _RankedItems) -> dict[str, Any]:
        """Return arguments of `Ranks`: items best first, and without ranks below the depth.

        Items below the depth of their user are not found. They still count in `n_relevant`, and
        their grades come last in `relevance`, because the ideal list of NDCG has them too. The
        `depth` of a user without such items is `n_candidates`: the ranking is known as a whole.
        """
        n_candidates, _, owner, n_better, n_tied = ranked
        n_relevant = self.sizes[users]
        depth = self.depth[users]
        # Some scores are counted only down to the depth. Items below it therefore count as equal:
        # they come last among the items of their user, in the order of `relevant`.
        n_better = np.minimum(n_better, depth[owner])
        is_found = n_better < depth[owner]
        owner_and_rank = pair_codes(owner, n_better, self.relevant.n_items + 1)
        best_first = np.argsort(owner_and_rank, kind="stable")
        found_best_first = best_first[is_found[best_first]]
        n_found = np.bincount(owner[is_found], minlength=users.size)
        is_truncated = (depth < n_candidates) & (n_found < n_relevant)
        grades = select_rows(self.relevant.relevance, self._positions_of_items(users))
        return {
            "n_better": n_better[found_best_first],
            "n_tied": n_tied[found_best_first],
            "n_found": n_found,
            "n_relevant": n_relevant,
            "depth": np.where(is_truncated, depth, n_candidates),
            "relevance": select_rows(grades, best_first),
        }

    def rank_in_sample(self, users: Int) -> Ranks | None:
        """Rank the relevant items of some users among a random sample of the other items.

        None where this saves little: if items are few, or all scores are computed anyway. Also None
        if some users or items have no scores.
        """
        source = self.score
        has_all_scores = (
            self.relevant.n_users <= self.n_rows and self.relevant.n_items <= self.n_columns
        )
        has_many_items = self.n_columns >= LEAST_TO_SAMPLE
        if not (isinstance(source, _ByPairs) and has_all_scores and has_many_items):
            return None
        rng = generator(0, "sample of items")
        sample = np.sort(rng.choice(self.n_columns, SAMPLED_ITEMS, replace=False))
        pairs, seen = self._select_pairs(users)
        is_negative = _mark_negatives(users.size, sample, not_negative=(pairs, seen))
        row, item = pairs
        score = source.pair_scores(users[row], item)
        negative_scores = source.sample_scores(users, sample, is_negative)
        negative_scores[~is_negative] = np.nan  # neither above nor equal to a score
        n_better, n_tied = count_by_score(row, score)  # among the relevant items of the user
        n_better += count_true(negative_scores[row] > score[:, np.newaxis])
        n_tied += count_true(negative_scores[row] == score[:, np.newaxis])
        best_first = np.lexsort((n_better, row))
        n_relevant = self.sizes[users]
        n_candidates = count_true(is_negative) + n_relevant
        return Ranks(n_candidates, n_better[best_first], n_tied[best_first], n_found=n_relevant)

    def _count_blocks(self, users: Int) -> Iterator[_CountedUsers]:
        """Yield the counts of some users, block by block, by the method for the kind of scores."""
        blocks_of_users = (users[block] for block in blocks(users.size, 1, self.block_size))
        if isinstance(self.score, ProductsByPart):
            count_users = partial(self.score.counts, threads=self.threads)
            yield self._count_by_pairs(count_users, users)  # all at once, to read each part once
        elif isinstance(self.score, PairScores):
            seen_item = self.seen.item[self.seen.item < self.n_columns]
            n_seen = np.bincount(seen_item, minlength=self.n_columns)
            pair_scores = self.score.popular_first(n_seen)
            for block in blocks_of_users:
                yield self._count_by_pairs(pair_scores.counts, block)
        elif isinstance(self.score, InnerProducts) and self.score.is_finite:
            yield from self._count_by_products(self.score, users)
        else:
            # The function may reuse its memory, so each block is counted before the next call.
            for block in blocks_of_users:
                scored = self._score_block(block)
                yield from map_in_threads(self._count_by_scores, scored, self.threads)

    def _count_by_products(self, products: InnerProducts, users: Int) -> Iterator[_CountedUsers]:
        """Yield the counts of blocks of about equally many users, several at once in threads.

        Each thread has the same number of blocks, of at most `USERS_AT_A_TIME` users. If users are
        too few for all threads, several of them share the items of a block.
        """
        n_at_once = min(self.threads, max(1, users.size // _MIN_USERS_PER_THREAD))
        blocks_per_thread = max(1, ceil_divide(users.size, n_at_once * USERS_AT_A_TIME))
        size = max(1, ceil_divide(users.size, n_at_once * blocks_per_thread))
        blocks_of_users = (users[first : first + size] for first in range(0, users.size, size))
        with one_thread():  # in each of the threads that multiply
            counts = partial(
                products.counts,
                threads=self.threads // n_at_once,
                keeps_copies=size < users.size,
            )
            count = partial(self._count_by_pairs, counts)
            yield from map_in_threads(count, blocks_of_users, n_at_once)

    def _score_block(self, users: Int) -> Iterator[tuple[Floats, Int]]:
        """Call the score function in this thread; yield its checked scores, a few users at a time.

        Scores have the shape (users, columns). Those of another library are yielded at once.
        """
        scores = self.score(users)
        keeps_library = keeps_own_library(scores)
        if not keeps_library:
            scores = as_array(scores, "scores")
        shape = users.size, self.n_columns
        if tuple(scores.shape) != shape:
            raise InputError(f"scores have shape {scores.shape}, expected {shape}")
        if keeps_library:
            yield scores, users
            return
        if scores.dtype.kind not in "fiu":
            raise InputError(f"scores have dtype {scores.dtype}, expected numbers")
        for first in range(0, users.size, _ROWS_AT_A_TIME):
            rows = slice(first, first + _ROWS_AT_A_TIME)
            yield scores[rows], users[rows]

    def _count_by_pairs(self, counts: Callable[..., CountPair], users: Int) -> _CountedUsers:
        """Count by a method `counts` of scores, which computes no more pairs than needed.

        All columns are candidates, except those of seen items.
        """
        pairs, seen = self._select_pairs(users)
        row, _ = pairs
        seen_row, _ = seen
        n_seen = np.bincount(seen_row, minlength=users.size)
        max_better = self.depth[users][row]
        n_better, n_tied = counts(users, pairs, seen, max_better)
        n_candidates = self.n_columns - n_seen
        return _CountedUsers(users, n_candidates, n_better=n_better, n_tied=n_tied)

    def _count_by_scores(self, scored: tuple[Any, Int]) -> _CountedUsers:
        """Count by the scores of all items for some users; those of -inf are no candidates."""
        scores, users = scored
        pairs, seen = self._select_pairs(users)
        row, _ = pairs
        seen_row, _ = seen
        counts = count_above(scores, pairs)
        if counts.n_invalid.any():
            first = int(np.argmax(counts.n_invalid > 0))
            raise self._invalid_score_error(users[first], to_numpy(scores[first : first + 1, :])[0])
        seen_score = to_numpy(take_scores(scores, *seen))
        is_not_missing = seen_score > -np.inf  # the others are in `n_missing` already
        n_seen = np.bincount(seen_row[is_not_missing], minlength=users.size)
        n_candidates = scores.shape[1] - counts.n_missing - n_seen
        n_better, n_tied = subtract_excluded(counts, row, seen_row, seen_score)
        return _CountedUsers(users, n_candidates, n_better=n_better, n_tied=n_tied)

    def _invalid_score_error(self, user: int, scores: Array) -> InputError:
        """Make the error for the first score of a user that is NaN or inf."""
        column = int(np.argmin(scores < np.inf))
        user_id, item_id = self._ids(user, column)
        return InputError(
            f"score of item {item_id} for user {user_id} is {scores[column]}; expected a finite "
            "number, or -inf for no candidate"
        )

    def _select_pairs(self, users: Int) -> tuple[Positions, Positions]:
        """Return the relevant and the seen items of some users that are columns of the scores.

        Rows are positions in `users`; seen items occur once. No item may be both.
        """
        row, item = self.relevant.select(users)
        seen_row, seen_item = self.seen.select(users)
        # A pair of a row and an item is one number, by which pairs are sorted and compared.
        width = 1 + max(item.max(initial=0), seen_item.max(initial=0))
        relevant_codes = pair_codes(row, item, width)
        seen_codes = sorted_unique(pair_codes(seen_row, seen_item, width))
        is_seen = is_among(relevant_codes, seen_codes)
        if is_seen.any():
            first = int(np.argmax(is_seen))
            raise self._seen_error(users[row[first]], item[first])
        distinct_seen = np.divmod(seen_codes, width)  # rows and items again
        return self._with_column(row, item), self._with_column(*distinct_seen)

    def _with_column(self, row: Int, item: Int) -> Positions:
        """Return the pairs whose item is a column of the scores."""
        has_column = item < self.n_columns
        return row[has_column], item[has_column]

    def _seen_error(self, user: int, item: int) -> InputError:
        """Make the error for the first relevant item that is seen, and say how many are."""
        user_id, item_id = self._ids(user, item)
        is_seen = self.seen.has(self.relevant.user, self.relevant.item)
        count = describe_seen_relevant(self.relevant.user[is_seen])
        return InputError(
            f"{self.relevant.name} item {item_id} of user {user_id} is among the seen items, so it "
            f"is not a candidate{count}"
        )

    def _ids(self, user: int, item: int) -> tuple[Any, Any]:
        """Return the ids of a user and an item, or the item's number without ids."""
        return self.units.name(user), item if self.item_ids is None else self.item_ids[item]
