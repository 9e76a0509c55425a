"""Users with their held-out items and candidates, and the order in which a proxy puts these."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse

from sampled_metrics._base.arrays import Float, Int, blocks, first_duplicate, integers
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.sparse import canonical

HEAD_ENTRIES = 1 << 25  # items of all users' heads together: 128 MB
LEAST_HEAD = 1400  # items of a user's head, however many users there are


class Candidates:
    """Candidates and held-out items of each user; held-out items compete, but are asked first.

    Parameters
    ----------
    seen
        What users have seen, nonzero in a sparse matrix of shape (users, items): all other items
        are candidates.
    held_out
        Held-out item of each user, or a list with an array of them per user.

    Attributes
    ----------
    owner, item
        User and item of each held-out row, ordered by user.
    n_others
        Candidates of each user except its held-out items.
    """

    def __init__(self, seen: Any, held_out: Any) -> None:
        parts = [np.atleast_1d(items) for items in held_out]
        count = np.array([part.size for part in parts], np.int64)
        if not count.all() or not count.size:
            raise InputError(f"user {int(np.argmin([*count, 0]))} has no held-out item")
        self.owner = np.repeat(np.arange(count.size), count)
        self.item = integers("held-out items", np.concatenate(parts))
        if not issparse(seen) or seen.shape[0] != count.size:
            found = f"has shape {seen.shape}" if issparse(seen) else f"is a {type(seen).__name__}"
            raise InputError(f"seen {found}; expected a sparse matrix of {count.size} rows")
        self.seen: csr_array = canonical(seen)
        self.n_users, self.n_items = self.seen.shape
        again = first_duplicate(self.owner, self.item)
        if again is not None:
            raise InputError(f"user {self.owner[again]} has a duplicate held-out item")
        self._refuse((self.item < 0) | (self.item >= self.n_items), "is not in the catalogue")
        listed = np.asarray(self.seen[self.owner, self.item]).ravel() != 0
        self._refuse(listed, "is among the seen")
        self.n_others = self.n_items - np.diff(self.seen.indptr).astype(np.int64) - count

    def _refuse(self, bad: NDArray[np.bool_], problem: str) -> None:
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(f"held-out item {self.item[row]} of user {self.owner[row]} {problem}")


class Proxy(NamedTuple):
    """Cheap scores of all items for some users, shape (users, items); larger is asked earlier.

    `is_common` marks scores that are the same for all users: the events of each item.
    """

    name: str
    scores: Callable[[Int], Any]
    is_common: bool = False


def make_proxy(proxy: Any, seen: csr_array, shape: tuple[int, int], seed: int) -> Proxy:
    """Make a proxy of `popularity`, `als`, a matrix of scores, a function of pairs or a proxy."""
    if isinstance(proxy, Proxy):
        return proxy
    if isinstance(proxy, str):
        if proxy not in ("popularity", "als"):
            raise InputError(f"unknown proxy {proxy!r}; known: popularity, als")
        return by_popularity(seen) if proxy == "popularity" else by_factors(*als(seen, seed))
    if callable(proxy):
        items = np.arange(shape[1])
        return Proxy(
            "function",
            lambda u: np.reshape(
                proxy(np.repeat(u, items.size), np.tile(items, u.size)), (u.size, -1)
            ),
        )
    table: Any = csr_array(proxy) if issparse(proxy) else np.asarray(proxy)
    if table.shape != shape:
        raise InputError(f"the proxy's scores have shape {table.shape}, expected {shape}")
    return Proxy("matrix", lambda u: table[u].toarray() if issparse(table) else table[u])


def by_popularity(seen: csr_array, is_common: bool = True) -> Proxy:
    """Score items by their number of events in `seen`."""
    events = np.bincount(seen.indices, minlength=seen.shape[1])
    scores = lambda users: np.broadcast_to(events, (users.size, events.size))  # noqa: E731
    return Proxy("popularity", scores, is_common)


def by_factors(user_vectors: Float, item_vectors: Float) -> Proxy:
    """Score by inner products, one by one: a matrix product's last bits depend on the block."""
    return Proxy("als", lambda users: np.einsum("uf,if->ui", user_vectors[users], item_vectors))


def als(seen: csr_array, seed: int) -> tuple[Float, Float]:
    """Return vectors of users and items by ALS in 8 dimensions, as `recommenders.als` of the study.

    They minimise the paper's loss with alpha = 0.2 and lambda = 10.
    """
    try:
        from implicit.cpu.als import AlternatingLeastSquares
    except ImportError:
        raise InputError("proxy 'als' needs implicit: pip install implicit") from None
    from threadpoolctl import threadpool_limits

    alpha, penalty, dimensions = 0.2, 10.0, 8
    confidence = csr_matrix(seen, dtype=np.float32)
    confidence.data[:] = 1 + 1 / alpha
    with threadpool_limits(1, user_api="blas"):
        model = AlternatingLeastSquares(
            factors=dimensions,
            regularization=penalty * (1 + alpha) / alpha,
            alpha=1.0,
            dtype=np.float64,
            use_cg=False,
            iterations=15,
            num_threads=1,
        )
        model.user_factors = np.zeros((seen.shape[0], dimensions))  # solved for first
        rng = np.random.default_rng(np.random.SeedSequence(seed))
        model.item_factors = rng.uniform(0.0, 0.01, (seen.shape[1], dimensions))
        model.fit(confidence, show_progress=False)
    scale = np.sqrt(1 + alpha)
    return model.user_factors / scale, model.item_factors / scale


class Order:
    """Each user's candidates from the proxy's best, position 0, to its worst.

    To save memory, candidates beyond a head per user follow by number of events, then by number.
    """

    def __init__(self, candidates: Candidates, proxy: Proxy, head_entries: int = HEAD_ENTRIES):
        self.candidates, self.n, self.name = candidates, candidates.n_others, proxy.name
        seen, n_users = candidates.seen, candidates.n_users
        # The common order beyond the head may be the proxy's own.
        room = 0 if proxy.is_common else max(LEAST_HEAD, head_entries // n_users)
        length = np.minimum(self.n, room)
        self._start = np.concatenate([[0], np.cumsum(length)])
        # Head, and the share of the other candidates that each held-out item comes after.
        self._head, self.own = _heads(candidates, proxy, self._start)
        self._common = np.argsort(
            -np.bincount(seen.indices, minlength=seen.shape[1]), kind="stable"
        )
        width = self._common.size + 1
        absent = np.empty(0, np.int64)  # from a user's tail: places in the common order, as keys
        if (length < self.n).any():
            place = np.empty(width - 1, np.int64)
            place[self._common] = np.arange(width - 1)
            users = np.arange(n_users)
            absent = np.concatenate(
                [
                    np.repeat(users, np.diff(seen.indptr)) * width + place[seen.indices],
                    candidates.owner * width + place[candidates.item],
                    np.repeat(users, length) * width + place[self._head],
                ]
            )
            absent.sort()
        self._absent_of = np.searchsorted(absent, np.arange(n_users + 1) * width)
        rank = np.arange(absent.size) - np.repeat(self._absent_of[:-1], np.diff(self._absent_of))
        self._gaps = absent - rank  # tail items before each absent one

    def items(self, users: Int, positions: Int) -> Int:
        """Items at some positions of some users' orders."""
        head = np.diff(self._start)[users]
        items = np.empty(users.size, np.int64)
        inside = positions < head
        items[inside] = self._head[(self._start[users] + positions)[inside]]
        user, position = users[~inside], (positions - head)[~inside]
        key = user * (self._common.size + 1) + position
        before = np.searchsorted(self._gaps, key, side="right") - self._absent_of[user]
        items[~inside] = self._common[position + before]
        return items


def _heads(candidates: Candidates, proxy: Proxy, start: Int) -> tuple[NDArray[np.int32], Float]:
    """First items of each user, and the place of each held-out item among the others."""
    head, own = np.empty(start[-1], np.int32), np.empty(candidates.owner.size)
    largest = np.finfo(np.float64).max
    for block in blocks(candidates.n_users, candidates.n_items):
        users = np.arange(candidates.n_users)[block]
        scores = np.array(proxy.scores(users), dtype=np.float64)
        if np.isnan(scores).any():
            user = users[np.isnan(scores).any(1)][0]
            raise InputError(f"the proxy's scores of user {user} have NaN")
        np.clip(scores, -largest, largest, out=scores)
        rows = slice(*np.searchsorted(candidates.owner, [users[0], users[-1] + 1]))
        owner = candidates.owner[rows] - users[0]
        mine = scores[owner, candidates.item[rows], np.newaxis]
        scores[candidates.seen[users].toarray() != 0] = -np.inf
        scores[owner, candidates.item[rows]] = -np.inf
        above = (scores[owner] > mine).sum(axis=1) + 0.5 * (scores[owner] == mine).sum(axis=1)
        own[rows] = above / np.maximum(candidates.n_others[users[owner]], 1)
        for row, first, end in zip(-scores, start[users], start[users + 1], strict=True):
            near = np.arange(row.size)
            if 0 < end - first < row.size // 4:  # sort only what may be among the first
                near = np.flatnonzero(row <= np.partition(row, end - first)[end - first])
            if end > first:
                head[first:end] = near[np.argsort(row[near], kind="stable")[: end - first]]
    return head, own
