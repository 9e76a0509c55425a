"""The order in which a proxy puts the candidates of each user, cut into strata."""

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
from sampled_metrics.budget.problem import Problem, all_scores

HEAD_ENTRIES = 1 << 25  # items of all users' heads together: 128 MB
LEAST_HEAD = 1400  # items of a user's head, however many users there are
# Narrow where a proxy puts the items that outrank the held-out one, wide in the tail.
EDGES = (0, 5, 15, 40, 100, 250, 600, 1400)
GROWTH = 2.4  # factor from edge to edge beyond
LAST = 0.9  # share of the candidates below which edges lie
# From users to cheap scores of all items, shape (users, items); larger is asked earlier.
Proxy: TypeAlias = Callable[[Int], Any]


def make_proxy(proxy: Any, problem: Problem) -> Proxy:
    """Make a proxy of `popularity` or of scores of all items."""
    if isinstance(proxy, str):
        if proxy != "popularity":
            raise InputError(
                f"unknown proxy {format_value(proxy)}; expected popularity or scores of all items"
            )
        counts = problem.events
        if not counts.any() and problem.candidates is not None:
            raise InputError("proxy popularity needs seen items; or give scores as proxy")
        return lambda users: np.tile(counts, (users.size, 1))
    scores = all_scores("proxy", proxy, problem)
    row = problem.rows

    def rows(users: Int) -> Any:
        found = numeric_array(scores.rows(row[users]), "proxy")
        expected = (users.size, problem.seen.shape[1])
        if found.shape != expected:
            raise InputError(f"proxy has shape {found.shape}; expected {expected}")
        return found

    return rows


def edges(n_largest: int) -> Int:
    """Edges of the strata of up to `n_largest` candidates.

    Examples
    --------
    >>> edges(3700)
    array([   0,    5,   15,   40,  100,  250,  600, 1400, 3700])
    """
    n = max(n_largest, 1)
    inner: list[float] = list(EDGES)
    while inner[-1] * GROWTH < LAST * n:
        inner.append(inner[-1] * GROWTH)
    rounded = [round(edge) for edge in inner if edge < LAST * n]
    return np.array([*rounded, n])


class Strata:
    """Candidates by strata of the proxy's order, within which they are in random order.

    They are the same for all recommenders, so that common errors cancel. To save memory, candidates
    beyond a head of each user are in one random order, from a random start for each user.

    Attributes
    ----------
    n_candidates, n
        Candidates of each user, and of each user in each stratum, shape (users, strata).
    own
        Share of the candidates that the proxy puts before each held-out item.
    """

    def __init__(self, problem: Problem, proxy: Proxy, seed: int) -> None:
        n_users, n_items = problem.seen.shape
        self.problem = problem
        self.seed = seed
        self.owner = problem.owner
        self.n_candidates = problem.n_candidates()
        self.edges = edges(int(self.n_candidates.max()))
        self.n = np.diff(np.minimum(self.n_candidates[:, np.newaxis], self.edges))
        self._first_row = np.searchsorted(self.owner, np.arange(n_users + 1))
        room = n_items  # given candidates have no tail
        if problem.candidates is None:
            room = max(LEAST_HEAD, HEAD_ENTRIES // n_users)
        whole = self.edges[self.edges <= room][-1]  # strata are in the head or in the tail
        self._length = np.minimum(self.n_candidates, whole)
        self._first = np.append(0, np.cumsum(self._length))
        rng = generator(seed, "budget", "order")
        self._head, self.own = self._heads(proxy, rng)
        self._common = rng.permutation(n_items)
        n_tail = self.n_candidates - self._length
        self._turn = rng.integers(0, np.maximum(n_tail, 1))
        self._width = n_items  # distance of users in the keys of pairs
        absent = np.empty(0, np.int64)
        if n_tail.any():
            absent = self._absent()
        self._first_absent = np.searchsorted(absent, np.arange(n_users + 1) * self._width)
        n_absent = np.diff(self._first_absent)
        self._gaps = absent - concatenate_ranges(0, n_absent)  # tail items before each absent one

    def _heads(self, proxy: Proxy, rng: np.random.Generator) -> tuple[NDArray[np.int32], Float]:
        """First items of each user, and the share of candidates before each held-out item."""
        problem = self.problem
        head = np.empty(self._first[-1], np.int32)
        own = []
        for block in blocks(*problem.seen.shape):
            users = np.arange(self.n_candidates.size)[block]
            scores = np.array(proxy(users), dtype=np.float64)
            is_nan = np.isnan(scores).any(axis=1)
            if is_nan.any():
                raise InputError(f"the proxy's scores of user {users[is_nan][0]} have NaN")
            np.nan_to_num(scores, copy=False)  # infinite ones as the largest numbers
            row, item = problem.held_out[users].nonzero()
            held_score = scores[row, item, np.newaxis]
            scores[~problem.is_candidate(users)] = -np.inf
            scores[row, item] = -np.inf
            of_rows = scores[row]
            better = (of_rows > held_score).sum(axis=1)
            tied = (of_rows == held_score).sum(axis=1)
            before = better + 0.5 * tied
            own.append(before / np.maximum(self.n_candidates[users[row]], 1))
            for user, loss in zip(users, -scores, strict=True):
                best = _least(loss, self._length[user])
                for first, end in pairwise(self.edges):
                    rng.shuffle(best[first:end])
                place = self._first[user]
                head[place : place + best.size] = best
        return head, np.concatenate(own)

    def _absent(self) -> Int:
        """Keys of places in the common order that are not in a user's tail, sorted."""
        user, item = (self.problem.seen + self.problem.held_out).nonzero()
        of_head = np.repeat(np.arange(self.n_candidates.size), self._length)
        users = np.concatenate([user, of_head])
        items = np.concatenate([item, self._head])
        place = np.argsort(self._common)
        return np.sort(users * self._width + place[items])

    def items(self, user: Int, stratum: Int, index: Int) -> Int:
        """Items by their place in the random order within a stratum."""
        position = self.edges[stratum] + index
        inside = position < self._length[user]
        outside = ~inside
        items = np.empty(user.size, np.int64)
        place = self._first[user] + position
        items[inside] = self._head[place[inside]]
        items[outside] = self._tail_items(user[outside], position[outside])
        return items

    def _tail_items(self, user: Int, position: Int) -> Int:
        """Items beyond the head, from the user's start on."""
        length = self._length[user]
        n_tail = self.n_candidates[user] - length
        position = position - length + self._turn[user]
        place = position % n_tail
        key = user * self._width + place
        n_absent = np.searchsorted(self._gaps, key, side="right")
        n_absent -= self._first_absent[user]
        place += n_absent
        return self._common[place]

    def rows_of(self, user: Int) -> tuple[Int, Int]:
        """Pairs (place within `user`, held-out row) for the rows of some users."""
        first = self._first_row[user]
        count = np.diff(self._first_row)[user]
        place = np.repeat(np.arange(user.size), count)
        return place, concatenate_ranges(first, count)

    def by_user(self, rows: NDArray[Any], function: np.ufunc = np.add) -> NDArray[Any]:
        """Sum over the held-out rows of each user; rows are the last axis."""
        return function.reduceat(rows, self._first_row[:-1], axis=-1)


def _least(values: Float, count: int) -> Int:
    """Places of the least values in ascending order, ties by their places."""
    least = np.sort(np.argpartition(values, count - 1)[:count])
    return least[np.argsort(values[least], kind="stable")]
