"""Counts of better items by a function that scores pairs of a user and an item."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from sampled_metrics._base.array_types import Bool, Float, Int
from sampled_metrics._base.arrays import sorted_unique
from sampled_metrics._base.conversion import as_array
from sampled_metrics._base.errors import InputError
from sampled_metrics.read.comparisons import CountPair, Positions, count_true

FIRST_ITEMS = 64  # scored for each user at first; later as many as before together
PAIRS_PER_CALL = 131_072  # about as many in each call of the function


class PairScores:
    """A function of two arrays of equal length, users and items, that returns a score per pair.

    Popular items are scored first, and a user whose counts are settled is not scored any more. The
    score of a pair must not depend on the other pairs of the call.
    """

    def __init__(
        self, score: Callable[[Int, Int], Any], n_items: int, order: Int | None = None
    ) -> None:
        self.score = score
        self.order = np.arange(n_items) if order is None else order  # in which items are scored

    def popular_first(self, n_events: Int) -> PairScores:
        """Return the same scores, of which those of items with many events are computed first."""
        order = np.argsort(-n_events, kind="stable")
        return PairScores(self.score, self.order.size, order)

    def __call__(self, rows: Int) -> Float:
        """Return the scores of all items for some users."""
        n_items = self.order.size
        users = np.repeat(rows, n_items)
        items = np.tile(np.arange(n_items), rows.size)
        return self._call(users, items).reshape(rows.size, n_items)

    def pair_scores(self, rows: Int, items: Int) -> Float:
        """Return the scores of single pairs."""
        return self._call(rows, items)

    def sample_scores(self, rows: Int, items: Int, is_needed: Bool) -> Float:
        """Return scores of some users and items, NaN for pairs that are not needed."""
        scores = np.full(is_needed.shape, np.nan)
        row, column = np.nonzero(is_needed)
        scores[is_needed] = self._call(rows[row], items[column])
        return scores

    def counts(
        self, rows: Int, pairs: Positions, excluded: Positions, max_better: Int
    ) -> CountPair:
        """Count better and tied items for each pair, as `InnerProducts.counts` does.

        Parameters
        ----------
        rows
            Users.
        pairs, excluded
            Relevant items, and items that are no candidates: positions in `rows`, and items.
        max_better
            Number of better items, for each pair, from which on its counts are settled.
        """
        row, item = pairs
        pair_score = self._call(rows[row], item)
        better = np.zeros(row.size, np.int64)
        tied = np.full(row.size, -1)  # the item itself is not tied with itself
        open_pairs = np.arange(row.size)  # whose counts are not settled
        n_scored = 0  # items of `order`
        while open_pairs.size and n_scored < self.order.size:
            open_rows = sorted_unique(row[open_pairs])
            items = self._next_items(n_scored, open_rows.size)
            scores = self._score_items(
                rows,
                items,
                open_rows=open_rows,
                pairs=pairs,
                pair_score=pair_score,
                excluded=excluded,
            )
            scores_of_pair = scores[row[open_pairs]]
            own_score = pair_score[open_pairs, None]
            better[open_pairs] += count_true(scores_of_pair > own_score)
            tied[open_pairs] += count_true(scores_of_pair == own_score)
            is_open = better[open_pairs] < max_better[open_pairs]
            open_pairs = open_pairs[is_open]
            n_scored += items.size
        is_settled_early = better >= max_better
        tied[is_settled_early] = 0
        return np.minimum(better, max_better), tied

    def _next_items(self, n_scored: int, n_rows: int) -> Int:
        """Return the items to score next: as many as before, within the limit of a call."""
        n_next = max(n_scored, FIRST_ITEMS)
        most = max(1, PAIRS_PER_CALL // n_rows)
        return self.order[n_scored : n_scored + min(n_next, most)]

    def _score_items(
        self,
        rows: Int,
        items: Int,
        *,
        open_rows: Int,
        pairs: Positions,
        pair_score: Float,
        excluded: Positions,
    ) -> Float:
        """Return a matrix of the scores of some items, shape (rows, items).

        The function scores `open_rows` only, without excluded pairs, and without `pairs`, whose
        scores are known. Scores of other rows, and of excluded pairs, are NaN, which is neither
        above nor level with a score.
        """
        column_of_item = np.full(self.order.size, -1)
        column_of_item[items] = np.arange(items.size)

        def cells(positions: Positions) -> tuple[Bool, Positions]:
            """Return which pairs have one of the items, and the cells of these in the matrix."""
            row, item = positions
            has_column = column_of_item[item] >= 0
            return has_column, (row[has_column], column_of_item[item[has_column]])

        _, excluded_cells = cells(excluded)
        is_known, known_cells = cells(pairs)
        is_scored_now = np.zeros((rows.size, items.size), bool)
        is_scored_now[open_rows] = True
        is_scored_now[excluded_cells] = False
        is_scored_now[known_cells] = False
        new_row, new_column = np.nonzero(is_scored_now)
        scores = np.full((rows.size, items.size), np.nan)
        scores[known_cells] = pair_score[is_known]
        scores[new_row, new_column] = self._call(rows[new_row], items[new_column])
        return scores

    def _call(self, users: Int, items: Int) -> Float:
        """Return the scores of some pairs, checked."""
        if not users.size:
            return np.empty(0)
        scores = as_array(self.score(users, items), "scores")
        if scores.shape != users.shape or scores.dtype.kind not in "fiu":
            raise InputError(
                f"scores are {scores.dtype} of shape {scores.shape}; expected numbers of shape "
                f"{users.shape}, one for each pair"
            )
        is_bad = ~np.isfinite(scores)
        if is_bad.any():
            first = int(np.argmax(is_bad))
            raise InputError(
                f"score of item {items[first]} for user {users[first]} is {scores[first]}; "
                "expected a finite number"
            )
        return scores.astype(np.float64)


def takes_pairs(score: Callable[..., Any]) -> bool:
    """Return whether a function requires two arguments, users and items, and not users alone."""
    try:
        parameters = signature(score).parameters.values()
    except (TypeError, ValueError):  # a function in C has no signature
        return False
    # Kinds are ordered: positional only, positional or keyword, and others.
    positional = [each for each in parameters if each.kind <= each.POSITIONAL_OR_KEYWORD]
    required = [each for each in positional if each.default is each.empty]
    return len(required) == 2
