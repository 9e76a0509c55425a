"""Strata: the order in which a proxy puts the candidates of each user, cut into pieces.

A proxy is cheap: popularity, or a small recommender. The items that a recommender ranks above the
held-out one are mostly near one end of the proxy's order, so scores are best spent there.
Candidates are drawn at random within a stratum, so the scored ones stand for the others.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.array_types import Array, Float, Int
from sampled_metrics._base.arrays import blocks, concatenate_ranges
from sampled_metrics._base.conversion import numeric_array
from sampled_metrics._base.errors import InputError, format_value
from sampled_metrics._base.random_streams import generator
from sampled_metrics.budget.candidates import EvaluationData
from sampled_metrics.budget.constants import (
    EDGE_GROWTH,
    FIRST_EDGES,
    HEAD_ENTRIES,
    LAST_EDGE,
    LEAST_HEAD,
)
from sampled_metrics.budget.scorers import RecommenderScores, read_all_scores

# From users to cheap scores of all items, shape (users, items); larger ones are scored earlier.
Proxy: TypeAlias = Callable[[Int], Array]


def make_proxy(proxy: RecommenderScores, data: EvaluationData) -> Proxy:
    """Make a proxy from `popularity` or from scores of all items."""
    if isinstance(proxy, str):
        if proxy != "popularity":
            raise InputError(
                f"unknown proxy {format_value(proxy)}; expected popularity or scores of all items"
            )
        popularity = data.popularity
        if not popularity.any() and data.candidates is not None:
            raise InputError("proxy popularity needs seen items; or pass scores as proxy")
        return lambda users: np.tile(popularity, (users.size, 1))
    scores = read_all_scores("proxy", proxy, data)
    matrix_row_of_user = data.score_rows

    def score_all_items(users: Int) -> Array:
        values = numeric_array(scores.rows(matrix_row_of_user[users]), "proxy")
        expected = (users.size, data.seen.shape[1])
        if values.shape != expected:
            raise InputError(f"proxy has shape {values.shape}; expected {expected}")
        return values

    return score_all_items


def stratum_edges(n_largest: int) -> Int:
    """Return the edges of the strata of up to `n_largest` candidates, as positions in the order.

    Stratum s has the positions from edges[s] to edges[s + 1] - 1. Edges grow by the factor
    `EDGE_GROWTH` after the first ones, up to `LAST_EDGE` times `n_largest`.

    Examples
    --------
    >>> stratum_edges(3700)
    array([   0,    5,   15,   40,  100,  250,  600, 1400, 3700])
    """
    n = max(n_largest, 1)
    edges: list[float] = list(FIRST_EDGES)
    while edges[-1] * EDGE_GROWTH < LAST_EDGE * n:
        edges.append(edges[-1] * EDGE_GROWTH)
    inner_edges = [round(edge) for edge in edges if edge < LAST_EDGE * n]
    return np.array([*inner_edges, n])


class Strata:
    """Candidates by strata of the proxy's order, in random order within a stratum.

    They are the same for all recommenders compared, so that common errors cancel. To save memory,
    only a head of each user's candidates is stored. The others, the tail, are in one random order
    of all items, `_tail_order`, from a random start for each user on. In it, a user skips the
    positions of absent items: those that are seen, held out, or in the head.

    Attributes
    ----------
    n_candidates, sizes
        Candidates of each user, shape (users,), and in each stratum, shape (users, strata).
    edges
        Edges of the strata, as positions in the proxy's order.
    user_of_row
        User of each held-out row.
    share_before
        Share of the candidates that the proxy puts before each held-out item; shape (rows,).
    """

    def __init__(self, data: EvaluationData, proxy: Proxy, seed: int) -> None:
        n_users, n_items = data.seen.shape
        rng = generator(seed, "budget", "order")
        self.data = data
        self.seed = seed
        self.user_of_row = data.user_of_row
        self._first_row = np.searchsorted(self.user_of_row, np.arange(n_users + 1))
        self.n_candidates = data.count_candidates()
        self.edges = stratum_edges(int(self.n_candidates.max()))
        self.sizes = np.diff(np.minimum(self.n_candidates[:, np.newaxis], self.edges))
        self._head_lengths = self._choose_head_lengths()
        self._head_starts = np.append(0, np.cumsum(self._head_lengths))
        self._heads, self.share_before = self._order_heads(proxy, rng)
        self._tail_order = rng.permutation(n_items)
        n_tail = self.n_candidates - self._head_lengths
        self._tail_starts = rng.integers(0, np.maximum(n_tail, 1))
        absent_keys = self._absent_keys() if n_tail.any() else np.empty(0, np.int64)
        self._first_absent = np.searchsorted(absent_keys, np.arange(n_users + 1) * n_items)
        # If the user's j-th absent item is at position a, a - j tail items are before it.
        j = concatenate_ranges(0, np.diff(self._first_absent))
        self._keys_of_tail_items_before = absent_keys - j

    def _choose_head_lengths(self) -> Int:
        """Return how many candidates of each user are stored, shape (users,).

        They are those up to the last edge of the strata that memory allows.
        """
        n_users, n_items = self.data.seen.shape
        longest = n_items  # explicit candidates have no tail
        if self.data.candidates is None:
            longest = max(LEAST_HEAD, HEAD_ENTRIES // n_users)
        last_edge = self.edges[self.edges <= longest][-1]
        return np.minimum(self.n_candidates, last_edge)

    def _order_heads(
        self, proxy: Proxy, rng: np.random.Generator
    ) -> tuple[NDArray[np.int32], Float]:
        """Order the first candidates of each user by the proxy, at random within strata.

        Returns
        -------
        heads
            Items of the heads, user after user; shape (sum of head lengths,).
        share_before
            Share of the candidates before each held-out item; shape (rows,).
        """
        heads = np.empty(self._head_starts[-1], np.int32)
        shares_before = []
        for block in blocks(*self.data.seen.shape):
            users = np.arange(self.n_candidates.size)[block]
            scores, share_before = self._score_candidates(users, proxy)
            shares_before.append(share_before)
            for user, losses in zip(users, -scores, strict=True):
                head = _smallest(losses, self._head_lengths[user])
                for first, end in pairwise(self.edges):
                    rng.shuffle(head[first:end])
                start = self._head_starts[user]
                heads[start : start + head.size] = head
        return heads, np.concatenate(shares_before)

    def _score_candidates(self, users: Int, proxy: Proxy) -> tuple[Float, Float]:
        """Score all items for some users, and compute how many candidates outrank held-out items.

        Returns
        -------
        scores
            Of all items, -inf where an item is no candidate; shape (users, items).
        share_before
            Share of the user's candidates with a higher score than each held-out item, ties
            counting half; shape (rows of these users,).
        """
        scores = np.array(proxy(users), dtype=np.float64)
        has_nan = np.isnan(scores).any(axis=1)
        if has_nan.any():
            raise InputError(f"the proxy's scores of user {users[has_nan][0]} contain NaN")
        np.nan_to_num(scores, copy=False)  # infinite ones as the largest numbers
        user_of_row, held_out_item = self.data.held_out[users].nonzero()  # indices into `users`
        held_out_score = scores[user_of_row, held_out_item, np.newaxis]
        scores[~self.data.is_candidate(users)] = -np.inf
        scores[user_of_row, held_out_item] = -np.inf
        scores_of_row = scores[user_of_row]
        better = (scores_of_row > held_out_score).sum(axis=1)
        tied = (scores_of_row == held_out_score).sum(axis=1)
        n_candidates = np.maximum(self.n_candidates[users[user_of_row]], 1)
        return scores, (better + 0.5 * tied) / n_candidates

    def _absent_keys(self) -> Int:
        """Return the keys of all absent items: those of a user that are not in the user's tail.

        The key of a user and a position in the tail's order is user * n_items + position, so that
        one search in the sorted keys serves all users.

        Returns
        -------
        ndarray
            In ascending order; shape (absent items of all users,).
        """
        excluded_user, excluded_item = (self.data.seen + self.data.held_out).nonzero()
        user_of_head_item = np.repeat(np.arange(self.n_candidates.size), self._head_lengths)
        users = np.concatenate([excluded_user, user_of_head_item])
        items = np.concatenate([excluded_item, self._heads])
        position_of_item = np.argsort(self._tail_order)  # the inverse permutation
        return np.sort(users * self._tail_order.size + position_of_item[items])

    def items(self, users: Int, strata: Int, positions: Int) -> Int:
        """Return items by their positions in the random order within strata, from 0.

        All arrays have the shape (pairs,).
        """
        overall_position = self.edges[strata] + positions  # in all strata together, from 0
        is_in_head = overall_position < self._head_lengths[users]
        is_in_tail = ~is_in_head
        index_in_heads = self._head_starts[users] + overall_position
        items = np.empty(users.size, np.int64)
        items[is_in_head] = self._heads[index_in_heads[is_in_head]]
        items[is_in_tail] = self._tail_items(users[is_in_tail], overall_position[is_in_tail])
        return items

    def _tail_items(self, users: Int, positions: Int) -> Int:
        """Return the items at some positions beyond the head, from each user's start on.

        Tail items of a user are numbered 0, 1, ... in the tail's order, absent items skipped. The
        position of tail item i in that order is i plus the number of absent items before it: those
        with at most i tail items before them. All arrays have the shape (pairs,).
        """
        n_items = self._tail_order.size
        head_length = self._head_lengths[users]
        n_tail = self.n_candidates[users] - head_length
        i = (positions - head_length + self._tail_starts[users]) % n_tail
        n_absent_so_far = np.searchsorted(  # of all users up to this one
            self._keys_of_tail_items_before, users * n_items + i, side="right"
        )
        n_absent_before = n_absent_so_far - self._first_absent[users]
        return self._tail_order[i + n_absent_before]

    def rows_of_users(self, users: Int) -> tuple[Int, Int]:
        """Return the held-out rows of some users, who may occur several times.

        Returns
        -------
        index_of_user, row
            Index into `users` of each row's user, and the row; both of shape (rows,).
        """
        first_row = self._first_row[users]
        n_rows = np.diff(self._first_row)[users]
        index_of_user = np.repeat(np.arange(users.size), n_rows)
        return index_of_user, concatenate_ranges(first_row, n_rows)

    def reduce_by_user(self, values: Array, function: np.ufunc = np.add) -> Array:
        """Sum over the held-out rows of each user, or reduce by another function.

        `values` have the shape (..., rows), the result (..., users).
        """
        return function.reduceat(values, self._first_row[:-1], axis=-1)


def _smallest(values: Float, count: int) -> Int:
    """Return indices of the `count` smallest values in ascending order, ties by their indices."""
    smallest = np.sort(np.argpartition(values, count - 1)[:count])
    return smallest[np.argsort(values[smallest], kind="stable")]
