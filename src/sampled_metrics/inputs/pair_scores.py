"""Counts of items by scores that a function gives for pairs, asked for no further than needed."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.conversion import to_array, to_numpy
from sampled_metrics._base.errors import InputError
from sampled_metrics.inputs.comparisons import Positions, count_true

FIRST_ITEMS = 64  # asked for each user at first; later as many as before
PAIRS_PER_CALL = 131_072  # pairs of one call, about


class PairScores:
    """A function of arrays of users and of items, of one length, that returns a score per pair.

    Users are asked about popular items first, and no more once their counts are settled. Where one
    score is compared with another, both must not depend on the other pairs of their calls.
    """

    def __init__(self, score: Callable[[Int, Int], Any], n_items: int) -> None:
        self.score = score
        self.order = np.arange(n_items)

    def __call__(self, rows: Int) -> Float:
        """Return the scores of all items."""
        n_items = self.order.size
        users = np.repeat(rows, n_items)
        items = np.tile(np.arange(n_items), rows.size)
        return self._asked(users, items).reshape(rows.size, n_items)

    def counts(self, rows: Int, pairs: Positions, left_out: Positions, up_to: Int) -> Positions:
        """Count items as `Products.counts` does."""
        row, item = pairs
        own = self._asked(rows[row], item)
        better = np.zeros(row.size, np.int64)
        tied = np.full(row.size, -1)  # without the item itself
        place = np.empty_like(self.order)
        place[self.order] = np.arange(place.size)
        own_place = place[item]
        out_place = place[left_out[1]]
        here = np.arange(row.size)  # pairs that are not done
        first = 0
        while here.size and first < place.size:
            kept = row[here]
            kept = kept[np.diff(kept, prepend=-1) > 0]
            most = max(1, PAIRS_PER_CALL // kept.size)
            size = min(max(first, FIRST_ITEMS), most)
            last = first + size
            items = self.order[first:last]
            scores = np.full((rows.size, items.size), np.nan)
            scores[kept] = np.inf  # to be asked for
            is_out = out_place >= first
            is_out &= out_place < last
            column = out_place[is_out] - first
            scores[left_out[0][is_out], column] = np.nan
            is_own = own_place >= first
            is_own &= own_place < last
            column = own_place[is_own] - first
            scores[row[is_own], column] = own[is_own]
            asked_row, asked_column = np.nonzero(scores == np.inf)
            asked = self._asked(rows[asked_row], items[asked_column])
            scores[asked_row, asked_column] = asked
            of_pairs = scores[row[here]]
            of_own = own[here, None]
            better[here] += count_true(of_pairs > of_own)
            tied[here] += count_true(of_pairs == of_own)
            here = here[better[here] < up_to[here]]
            first = last
        tied[better >= up_to] = 0
        return np.minimum(better, up_to), tied

    def _asked(self, users: Int, items: Int) -> Float:
        """Return scores of some pairs, checked."""
        if not users.size:
            return np.empty(0)
        scores = to_array("scores", to_numpy(self.score(users, items)))
        if scores.shape != users.shape or scores.dtype.kind not in "fiu":
            found = f"scores are {scores.dtype} of shape {scores.shape}"
            raise InputError(f"{found}; expected numbers of shape {users.shape}, one for each pair")
        is_bad = ~np.isfinite(scores)
        if is_bad.any():
            first = int(np.argmax(is_bad))
            problem = f"score of item {items[first]} for user {users[first]} is {scores[first]}"
            raise InputError(f"{problem}; expected a finite number")
        return scores.astype(np.float64)


def takes_pairs(score: Callable[..., Any]) -> bool:
    """Return whether a function needs users and items, rather than users alone."""
    try:
        parameters = signature(score).parameters.values()
    except (TypeError, ValueError):  # of a function in C
        return False
    plain = [each for each in parameters if each.kind <= each.POSITIONAL_OR_KEYWORD]
    return sum(each.default is each.empty for each in plain) == 2
