"""Proxies, and the order in which they put the candidates of each user."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, csr_matrix, issparse

from sampled_metrics._base.arrays import Float, Int, blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics.budget.problem import Grid, Problem, numbers
from sampled_metrics.ranks.pairs import Pairs
from sampled_metrics.tables import ITEM, USER, places, read_table

HEAD_ENTRIES = 1 << 25  # items of all users' heads together: 128 MB
LEAST_HEAD = 1400  # items of a user's head, however many users there are


class Proxy(NamedTuple):
    """Cheap scores; larger is asked earlier.

    `scores` is a function of users that returns those of all items, shape (users, items), or None
    where their order is known; `is_common` marks the events of each item, the same for all users.
    """

    name: str
    scores: Any
    is_common: bool = False


def make_proxy(proxy: Any, problem: Problem, seed: int) -> Proxy:
    """Make a proxy of `popularity`, `als`, a table or matrix of scores, or a function of pairs."""
    if isinstance(proxy, Proxy):
        return proxy
    if isinstance(proxy, str | Path):
        if proxy == "popularity":
            return by_popularity(problem.events, problem.events.shape[0] == problem.user_ids.size)
        if proxy != "als":
            return _by_table(Path(proxy), problem)
        return by_factors(*als(problem.events, seed))
    if not callable(proxy):
        table = Grid.of("proxy", proxy)
        row, column = problem.places("proxy", table)
        return Proxy("matrix", lambda users: _dense(table.values[row[users]])[:, column])
    items, score = np.arange(problem.item_ids.size), problem.scorer("proxy", proxy)

    def scores(users: Int) -> Any:
        found = score(np.repeat(users, items.size), np.tile(items, users.size))
        return numbers("proxy", found, (users.size * items.size,)).reshape(users.size, -1)

    return Proxy("function", scores)


def _dense(rows: Any) -> Any:
    return rows.toarray() if issparse(rows) else rows


def _by_table(path: Path, problem: Problem) -> Proxy:
    """Read a table of scores; items without one come last."""
    what = "popularity, als or a table of scores (user_id, item_id, score)"
    table = read_table(path, what, (USER, ITEM, "score"))
    table.require(USER, ITEM, "score")
    score, pairs = table.finite("score"), Pairs.of(table)
    user = places(pairs.user_ids, problem.user_ids)[pairs.user]
    item = places(pairs.item_ids, problem.item_ids)[pairs.item]
    inside, shape = (user >= 0) & (item >= 0), (problem.user_ids.size, problem.item_ids.size)
    missing = np.setdiff1d(np.arange(shape[0]), user[inside])
    if missing.size:
        raise InputError(f"no score for user_id {problem.user_ids[missing[0]]}", path=path)
    # Only the order counts: places from 1, so that candidates without a score come last.
    order = np.unique(score, return_inverse=True)[1] + 1
    scores = csr_array((order[inside], (user[inside], item[inside])), shape=shape)
    return Proxy(path.name, lambda users: scores[users].toarray())


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

    def __init__(
        self,
        problem: Problem,
        proxy: Proxy,
        head_entries: int = HEAD_ENTRIES,
        kept: tuple[NDArray[np.int32], Float] | None = None,  # head and own of an equal order
    ) -> None:
        self.problem, self.proxy, seen = problem, proxy, problem.seen
        n_users = seen.shape[0]
        n_seen, n_held = np.diff(seen.indptr).astype(np.int64), np.bincount(problem.owner)
        self.n = seen.shape[1] - n_seen - n_held  # candidates but for the held-out items
        # The common order beyond the head may be the proxy's own.
        room = 0 if proxy.is_common else max(LEAST_HEAD, head_entries // n_users)
        length = np.minimum(self.n, room)
        self._start = np.concatenate([[0], np.cumsum(length)])
        # Head, and the share of the other candidates that each held-out item comes after.
        self.head, self.own = kept or _heads(self, self._start)
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
                    problem.owner * width + place[problem.item],
                    np.repeat(users, length) * width + place[self.head],
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
        items[inside] = self.head[(self._start[users] + positions)[inside]]
        user, position = users[~inside], (positions - head)[~inside]
        key = user * (self._common.size + 1) + position
        before = np.searchsorted(self._gaps, key, side="right") - self._absent_of[user]
        items[~inside] = self._common[position + before]
        return items


def _heads(order: Order, start: Int) -> tuple[NDArray[np.int32], Float]:
    """First items of each user, and the place of each held-out item among the others."""
    owner_of, item, seen = order.problem.owner, order.problem.item, order.problem.seen
    head, own = np.empty(start[-1], np.int32), np.empty(owner_of.size)
    largest = np.finfo(np.float64).max
    for block in blocks(*seen.shape):
        users = np.arange(seen.shape[0])[block]
        scores = np.array(order.proxy.scores(users), dtype=np.float64)
        if np.isnan(scores).any():
            user = users[np.isnan(scores).any(1)][0]
            raise InputError(f"the proxy's scores of user {user} have NaN")
        np.clip(scores, -largest, largest, out=scores)
        rows = slice(*np.searchsorted(owner_of, [users[0], users[-1] + 1]))
        owner = owner_of[rows] - users[0]
        mine = scores[owner, item[rows], np.newaxis]
        scores[seen[users].toarray() != 0] = -np.inf
        scores[owner, item[rows]] = -np.inf
        above = (scores[owner] > mine).sum(axis=1) + 0.5 * (scores[owner] == mine).sum(axis=1)
        own[rows] = above / np.maximum(order.n[users[owner]], 1)
        for row, first, end in zip(-scores, start[users], start[users + 1], strict=True):
            near = np.arange(row.size)
            if 0 < end - first < row.size // 4:  # sort only what may be among the first
                near = np.flatnonzero(row <= np.partition(row, end - first)[end - first])
            if end > first:
                head[first:end] = near[np.argsort(row[near], kind="stable")[: end - first]]
    return head, own
