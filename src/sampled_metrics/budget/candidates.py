"""The order in which a proxy puts the candidates of each user, cut into strata."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int, blocks, generator, ranges
from sampled_metrics._base.errors import InputError
from sampled_metrics.budget.problem import Problem, all_scores
from sampled_metrics.inputs.scores import as_array

HEAD_ENTRIES = 1 << 25  # items of all users' heads together: 128 MB
LEAST_HEAD = 1400  # items of a user's head, however many users there are
# Narrow where a proxy puts the items that outrank the held-out one, wide in the tail.
EDGES = (0, 5, 15, 40, 100, 250, 600, 1400)
GROWTH = 2.4  # of the edges beyond
LAST = 0.9  # share of the candidates below which edges lie


class Proxy(NamedTuple):
    """Cheap scores; larger is asked earlier."""

    name: str
    rows: Callable[[Int], Any]  # from users to scores of all items, shape (users, items)


def make_proxy(proxy: Any, problem: Problem) -> Proxy:
    """Make a proxy of `popularity` or of scores of all items."""
    if isinstance(proxy, str) and proxy == "popularity":
        counts = problem.events
        if not counts.any() and problem.candidates is not None:
            raise InputError("proxy popularity needs seen items; or give scores as proxy")
        return Proxy("popularity", lambda users: np.tile(counts, (users.size, 1)))
    if isinstance(proxy, str):
        raise InputError(f"unknown proxy {proxy!r}; expected popularity, or scores of all items")
    scores = all_scores("proxy", proxy)
    row, column = problem.places("proxy", proxy, scores.shape)
    _, width = scores.shape or problem.seen.shape

    def rows(users: Int) -> Any:
        found = as_array(scores.rows(row[users]), "proxy")
        if found.shape != (users.size, width):
            raise InputError(f"proxy has shape {found.shape}; expected {(users.size, width)}")
        return found[:, column]

    return Proxy("scores", rows)


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
        Share of the other candidates that the proxy puts before each held-out item.
    """

    def __init__(self, problem: Problem, proxy: Proxy, seed: int) -> None:
        n_users, n_items = problem.seen.shape
        self.problem = problem
        self.proxy = proxy
        self.seed = seed
        self.owner = problem.owner
        self.n_candidates = problem.n_candidates()
        self.edges = edges(int(self.n_candidates.max()))
        self.n = np.diff(np.minimum(self.n_candidates[:, np.newaxis], self.edges))
        self._first_row = np.searchsorted(self.owner, np.arange(n_users + 1))
        room = n_items  # candidates that were given have no tail
        if problem.candidates is None:
            room = max(LEAST_HEAD, HEAD_ENTRIES // n_users)
        whole = self.edges[self.edges <= room][-1]  # strata are in the head or in the tail
        self._length = np.minimum(self.n_candidates, whole)
        self._first = np.append(0, np.cumsum(self._length))
        rng = generator(seed, "budget", "order")
        self._head, self.own = self._heads(rng)
        self._common = rng.permutation(n_items)
        n_tail = self.n_candidates - self._length
        self._turn = rng.integers(0, np.maximum(n_tail, 1))
        self._width = n_items + 1  # distance of users in the keys of pairs
        absent = np.empty(0, np.int64)
        if n_tail.any():
            absent = self._absent()
        self._first_absent = np.searchsorted(absent, np.arange(n_users + 1) * self._width)
        n_absent = np.diff(self._first_absent)
        self._gaps = absent - ranges(0, n_absent)  # tail items before each absent one

    def _heads(self, rng: np.random.Generator) -> tuple[NDArray[np.int32], Float]:
        """First items of each user, and the place of each held-out item among the others."""
        problem = self.problem
        is_held = problem.held_out
        head = np.empty(self._first[-1], np.int32)
        own = np.empty(self.owner.size)
        for block in blocks(*problem.seen.shape):
            users = np.arange(self.n_candidates.size)[block]
            scores = np.array(self.proxy.rows(users), dtype=np.float64)
            is_nan = np.isnan(scores).any(axis=1)
            if is_nan.any():
                raise InputError(f"the proxy's scores of user {users[is_nan][0]} have NaN")
            np.nan_to_num(scores, copy=False)  # infinite ones as the largest numbers
            row, item = is_held[users].nonzero()
            held_score = scores[row, item, np.newaxis]
            scores[~problem.is_candidate(users)] = -np.inf
            scores[row, item] = -np.inf
            better = (scores[row] > held_score).sum(axis=1)
            tied = (scores[row] == held_score).sum(axis=1)
            n_candidates = self.n_candidates[users[row]]
            first = self._first_row[users[0]]
            own[first : first + row.size] = (better + 0.5 * tied) / np.maximum(n_candidates, 1)
            for user, loss in zip(users, -scores, strict=True):
                best = _least(loss, self._length[user])
                for first, end in zip(self.edges[:-1], self.edges[1:], strict=True):
                    rng.shuffle(best[first:end])
                head[self._first[user] : self._first[user + 1]] = best
        return head, own

    def _absent(self) -> Int:
        """Keys of places in the common order that are not in a user's tail, sorted."""
        problem = self.problem
        place = np.argsort(self._common)
        keys = []
        for taken in (problem.seen, problem.held_out):
            user, item = taken.nonzero()
            keys.append(user * self._width + place[item])
        users = np.repeat(np.arange(self.n_candidates.size), self._length)
        keys.append(users * self._width + place[self._head])
        return np.sort(np.concatenate(keys))

    def items(self, user: Int, stratum: Int, index: Int) -> Int:
        """Items by their place in the random order within a stratum."""
        position = self.edges[stratum] + index
        inside = position < self._length[user]
        items = np.empty(user.size, np.int64)
        place = self._first[user] + position
        items[inside] = self._head[place[inside]]
        items[~inside] = self._tail_items(user[~inside], position[~inside])
        return items

    def _tail_items(self, user: Int, position: Int) -> Int:
        """Items beyond the head, from the user's start on."""
        length = self._length[user]
        n_tail = self.n_candidates[user] - length
        place = (position - length + self._turn[user]) % n_tail
        key = user * self._width + place
        n_absent = np.searchsorted(self._gaps, key, side="right")
        n_absent -= self._first_absent[user]
        return self._common[place + n_absent]

    def rows_of(self, user: Int) -> tuple[Int, Int]:
        """Pairs (place within `user`, held-out row) for the rows of some users."""
        first = self._first_row[user]
        count = np.diff(self._first_row)[user]
        place = np.repeat(np.arange(user.size), count)
        return place, ranges(first, count)

    def by_user(self, rows: NDArray[Any], function: np.ufunc = np.add) -> NDArray[Any]:
        """Sum over the held-out rows of each user; rows are the last axis."""
        return function.reduceat(rows, self._first_row[:-1], axis=-1)


def _least(values: Float, count: int) -> Int:
    """Places of the least values, ties in their order."""
    near = np.arange(values.size)
    if count < values.size // 4:  # sort only what may be among them
        near = np.flatnonzero(values <= np.partition(values, count)[count])
    return near[np.argsort(values[near], kind="stable")[:count]]
