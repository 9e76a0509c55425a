"""Strata: the order in which a proxy puts the candidates of each user, cut into pieces.

A proxy is cheap: popularity, or a small recommender. The items that a recommender ranks above the
held-out one are mostly near one end of the proxy's order, so scores are best spent there.
Candidates are drawn at random within a stratum, so the scored ones stand for the others.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import blocks, concatenate_ranges
from sampled_metrics._base.conversion import numeric_array
from sampled_metrics._base.errors import InputError, format_value
from sampled_metrics._base.random_streams import generator
from sampled_metrics.budget.data import EvaluationData, read_all_scores

HEAD_ENTRIES = 1 << 25  # items of all users' heads together: 128 MB
LEAST_HEAD = 1400  # items of a user's head, however many users there are: the last of the edges
# Narrow where a good proxy puts the items that outrank the held-out one, wide in the tail. Chosen
# on recommenders for MovieLens 1M other than those of the study.
FIRST_EDGES = (0, 5, 15, 40, 100, 250, 600, 1400)
EDGE_GROWTH = 2.4  # factor from edge to edge beyond, about that between the first ones
LAST_EDGE = 0.9  # edges are below this share of the candidates
# From users to cheap scores of all items, shape (users, items); larger ones are scored earlier.
Proxy: TypeAlias = Callable[[Int], Any]


def make_proxy(proxy: Any, data: EvaluationData) -> Proxy:
    """Make a proxy from `popularity` or from scores of all items."""
    if isinstance(proxy, str):
        if proxy != "popularity":
            raise InputError(
                f"unknown proxy {format_value(proxy)}; expected popularity or scores of all items"
            )
        popularity = data.popularity
        if not popularity.any() and data.candidates is not None:
            raise InputError("proxy popularity needs seen items; or give scores as proxy")
        return lambda users: np.tile(popularity, (users.size, 1))
    scores = read_all_scores("proxy", proxy, data)
    row = data.score_rows

    def score_all_items(users: Int) -> Any:
        values = numeric_array(scores.rows(row[users]), "proxy")
        expected = (users.size, data.seen.shape[1])
        if values.shape != expected:
            raise InputError(f"proxy has shape {values.shape}; expected {expected}")
        return values

    return score_all_items


def stratum_edges(n_largest: int) -> Int:
    """Return the edges of the strata of up to `n_largest` candidates, as places in the order.

    Examples
    --------
    >>> stratum_edges(3700)
    array([   0,    5,   15,   40,  100,  250,  600, 1400, 3700])
    """
    n = max(n_largest, 1)
    inner: list[float] = list(FIRST_EDGES)
    while inner[-1] * EDGE_GROWTH < LAST_EDGE * n:
        inner.append(inner[-1] * EDGE_GROWTH)
    rounded = [round(edge) for edge in inner if edge < LAST_EDGE * n]
    return np.array([*rounded, n])


class Strata:
    """Candidates by strata of the proxy's order, in random order within a stratum.

    They are the same for all recommenders compared, so that common errors cancel. To save memory,
    only a head of each user's candidates is stored. The others, the tail, are in one random order
    of all items, with a random start for each user.

    Attributes
    ----------
    n_candidates, sizes
        Candidates of each user, shape (users,), and in each stratum, shape (users, strata).
    edges
        Edges of the strata, as places in the proxy's order.
    user_of_row
        User of each held-out row.
    share_before
        Share of the candidates that the proxy puts before each held-out item; shape (rows,).
    """

    def __init__(self, data: EvaluationData, proxy: Proxy, seed: int) -> None:
        n_users, n_items = data.seen.shape
        self.data = data
        self.seed = seed
        self.user_of_row = data.user_of_row
        self.n_candidates = data.count_candidates()
        self.edges = stratum_edges(int(self.n_candidates.max()))
        self.sizes = np.diff(np.minimum(self.n_candidates[:, np.newaxis], self.edges))
        self._first_row = np.searchsorted(self.user_of_row, np.arange(n_users + 1))
        longest_head = n_items  # explicit candidates have no tail
        if data.candidates is None:
            longest_head = max(LEAST_HEAD, HEAD_ENTRIES // n_users)
        last_edge = self.edges[self.edges <= longest_head][-1]  # no stratum is in both
        self._head_lengths = np.minimum(self.n_candidates, last_edge)
        self._head_starts = np.append(0, np.cumsum(self._head_lengths))
        rng = generator(seed, "budget", "order")
        self._heads, self.share_before = self._order_heads(proxy, rng)
        self._tail_order = rng.permutation(n_items)
        n_tail = self.n_candidates - self._head_lengths
        self._tail_starts = rng.integers(0, np.maximum(n_tail, 1))
        # The key of a user and a place in the tail's order is user * n_items + place.
        self._n_items = n_items
        absent = np.empty(0, np.int64)
        if n_tail.any():
            absent = self._absent_keys()
        self._first_absent = np.searchsorted(absent, np.arange(n_users + 1) * self._n_items)
        n_absent = np.diff(self._first_absent)
        # Keys of tail items, numbered without the absent ones, before each absent one.
        self._gaps = absent - concatenate_ranges(0, n_absent)

    def _order_heads(
        self, proxy: Proxy, rng: np.random.Generator
    ) -> tuple[NDArray[np.int32], Float]:
        """Return each user's first items, and the share of candidates before each held-out item."""
        data = self.data
        heads = np.empty(self._head_starts[-1], np.int32)
        shares_before = []
        for block in blocks(*data.seen.shape):
            users = np.arange(self.n_candidates.size)[block]
            scores = np.array(proxy(users), dtype=np.float64)
            is_nan = np.isnan(scores).any(axis=1)
            if is_nan.any():
                raise InputError(f"the proxy's scores of user {users[is_nan][0]} have NaN")
            np.nan_to_num(scores, copy=False)  # infinite ones as the largest numbers
            row, item = data.held_out[users].nonzero()
            held_score = scores[row, item, np.newaxis]
            scores[~data.is_candidate(users)] = -np.inf
            scores[row, item] = -np.inf
            scores_of_rows = scores[row]
            better = (scores_of_rows > held_score).sum(axis=1)
            tied = (scores_of_rows == held_score).sum(axis=1)
            before = better + 0.5 * tied
            shares_before.append(before / np.maximum(self.n_candidates[users[row]], 1))
            for user, losses in zip(users, -scores, strict=True):
                head = _smallest(losses, self._head_lengths[user])
                for first, end in pairwise(self.edges):
                    rng.shuffle(head[first:end])
                start = self._head_starts[user]
                heads[start : start + head.size] = head
        return heads, np.concatenate(shares_before)

    def _absent_keys(self) -> Int:
        """Return keys of places in the tail's order that are not in a user's tail, sorted."""
        user, item = (self.data.seen + self.data.held_out).nonzero()
        user_of_head = np.repeat(np.arange(self.n_candidates.size), self._head_lengths)
        users = np.concatenate([user, user_of_head])
        items = np.concatenate([item, self._heads])
        place = np.argsort(self._tail_order)
        return np.sort(users * self._n_items + place[items])

    def items(self, user: Int, stratum: Int, index: Int) -> Int:
        """Return the items at some places of the random order within strata; shape (places,)."""
        position = self.edges[stratum] + index
        is_in_head = position < self._head_lengths[user]
        is_in_tail = ~is_in_head
        items = np.empty(user.size, np.int64)
        place = self._head_starts[user] + position
        items[is_in_head] = self._heads[place[is_in_head]]
        items[is_in_tail] = self._tail_items(user[is_in_tail], position[is_in_tail])
        return items

    def _tail_items(self, user: Int, position: Int) -> Int:
        """Return the items at some positions beyond the head, from the user's start on."""
        head_length = self._head_lengths[user]
        n_tail = self.n_candidates[user] - head_length
        position = position - head_length + self._tail_starts[user]
        place = position % n_tail
        key = user * self._n_items + place
        n_absent = np.searchsorted(self._gaps, key, side="right")
        n_absent -= self._first_absent[user]
        place += n_absent
        return self._tail_order[place]

    def rows_of_users(self, user: Int) -> tuple[Int, Int]:
        """Return the held-out rows of some users.

        Returns
        -------
        places, rows
            Place of each row's user in `user`, and the row; both of shape (rows,).
        """
        first = self._first_row[user]
        count = np.diff(self._first_row)[user]
        place = np.repeat(np.arange(user.size), count)
        return place, concatenate_ranges(first, count)

    def reduce_by_user(self, rows: NDArray[Any], function: np.ufunc = np.add) -> NDArray[Any]:
        """Sum over the held-out rows of each user, or reduce otherwise; rows are the last axis."""
        return function.reduceat(rows, self._first_row[:-1], axis=-1)


def _smallest(values: Float, count: int) -> Int:
    """Return places of the smallest values in ascending order, ties by their places."""
    smallest = np.sort(np.argpartition(values, count - 1)[:count])
    return smallest[np.argsort(values[smallest], kind="stable")]
