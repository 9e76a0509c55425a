"""Proxies, and the order in which they put the candidates of each user."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sampled_metrics._base.als import factors
from sampled_metrics._base.arrays import Float, Int, blocks, ranges
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.kinds import Kind, kind_of
from sampled_metrics.budget.problem import Function, Grid, Problem, numbers
from sampled_metrics.inputs.items import require_different
from sampled_metrics.tables.arrow import places
from sampled_metrics.tables.names import ITEM, USER
from sampled_metrics.tables.reading import read_table

HEAD_ENTRIES = 1 << 25  # items of all users' heads together: 128 MB
LEAST_HEAD = 1400  # items of a user's head, however many users there are
DIMENSIONS = 8  # of the vectors of ALS
ALPHA = 0.2  # weight of pairs without an event in the loss of ALS
PENALTY = 10.0  # lambda in it
SWEEPS = 15  # over all users and all items


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
        return _by_name(proxy, problem, seed)
    if kind_of(proxy) is Kind.FUNCTION:
        return _by_function(proxy, problem)
    return _by_matrix(Grid.of("proxy", proxy), problem)


def _by_name(proxy: str | Path, problem: Problem, seed: int) -> Proxy:
    """Score by `popularity`, `als` or a table in a file."""
    if proxy in ("popularity", "als") and not problem.events.nnz and problem.candidates is not None:
        raise InputError(f"proxy {proxy} needs seen items (--seen); or give scores as proxy")
    if proxy == "popularity":
        all_are_evaluated = problem.events.shape[0] == problem.user_ids.size
        return by_popularity(problem.events, all_are_evaluated)
    if proxy == "als":
        return by_factors(*als(problem.events, seed))
    return _by_table(Path(proxy), problem)


def _by_function(function: Function, problem: Problem) -> Proxy:
    """Score by a function of pairs of ids."""
    score = problem.scorer("proxy", function)
    items = np.arange(problem.item_ids.size)

    def scores(users: Int) -> Any:
        owners = np.repeat(users, items.size)
        pairs = score(owners, np.tile(items, users.size))
        return numbers("proxy", pairs, owners.shape).reshape(users.size, -1)

    return Proxy("function", scores)


def _by_matrix(grid: Grid, problem: Problem) -> Proxy:
    """Score by a dense or sparse matrix."""
    row, column = problem.places("proxy", grid)

    def scores(users: Int) -> Any:
        values = grid.values[row[users]]
        if issparse(values):
            values = values.toarray()
        return values[:, column]

    return Proxy("matrix", scores)


def _by_table(path: Path, problem: Problem) -> Proxy:
    """Read a table of scores; items without one come last."""
    what = "popularity, als or a table of scores (user_id, item_id, score)"
    table = read_table(path, what, (USER, ITEM, "score"))
    table.require(USER, ITEM, "score")
    score = table.finite("score")
    user_codes, user_ids = table.codes(USER)
    item_codes, item_ids = table.codes(ITEM)
    require_different(table, user_codes, item_codes)
    user = places(user_ids, problem.user_ids)[user_codes]
    item = places(item_ids, problem.item_ids)[item_codes]
    inside = (user >= 0) & (item >= 0)
    user = user[inside]
    missing = np.setdiff1d(np.arange(problem.user_ids.size), user)
    if missing.size:
        raise InputError(f"no score for user_id {problem.user_ids[missing[0]]}", path=path)
    # Only the order counts: places from 1, so that candidates without a score come last.
    _, order = np.unique(score, return_inverse=True)
    entries = (order[inside] + 1, (user, item[inside]))
    scores = csr_array(entries, shape=problem.seen.shape)
    return Proxy(path.name, lambda users: scores[users].toarray())


def by_popularity(seen: csr_array, is_common: bool = True) -> Proxy:
    """Score items by their number of events in `seen`."""
    events = _events(seen)

    def scores(users: Int) -> Int:
        return np.broadcast_to(events, (users.size, events.size))

    return Proxy("popularity", scores, is_common)


def _events(seen: csr_array) -> Int:
    """Number of events of each item."""
    return np.bincount(seen.indices, minlength=seen.shape[1])


def by_factors(user_vectors: Float, item_vectors: Float) -> Proxy:
    """Score by inner products, one by one: a matrix product's last bits depend on the block."""

    def scores(users: Int) -> Float:
        return np.einsum("uf,if->ui", user_vectors[users], item_vectors)

    return Proxy("als", scores)


def als(seen: csr_array, seed: int) -> tuple[Float, Float]:
    """Return vectors of users and items by ALS, as the recommender of the study has them."""
    stages = factors(seen, [SWEEPS], dimensions=DIMENSIONS, alpha=ALPHA, penalty=PENALTY, seed=seed)
    try:
        return next(stages)
    except ImportError:
        raise InputError("proxy 'als' needs implicit: pip install implicit") from None


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
        seen = problem.seen
        n_users, n_items = seen.shape
        self.problem = problem
        self.proxy = proxy
        self.n = problem.n_candidates()
        room = max(LEAST_HEAD, head_entries // n_users)
        if problem.candidates is not None:
            room = n_items  # candidates that were given have no tail
        elif proxy.is_common:
            room = 0  # the common order beyond the head is the proxy's own
        length = np.minimum(self.n, room)
        self._start = np.concatenate([[0], np.cumsum(length)])
        if kept is None:
            kept = _heads(self, self._start)
        # Head, and the share of the other candidates that each held-out item comes after.
        self.head, self.own = kept
        self._common = np.argsort(-_events(seen), kind="stable")
        absent = np.empty(0, np.int64)
        if (length < self.n).any():
            absent = self._absent(length)
        users = np.arange(n_users + 1)
        self._absent_of = np.searchsorted(absent, users * self._width)
        n_absent = np.diff(self._absent_of)
        self._gaps = absent - ranges(0, n_absent)  # tail items before each absent one

    @property
    def _width(self) -> int:
        """Distance of users in the keys of pairs: number of places in the common order, and one."""
        return self._common.size + 1

    def _absent(self, length: Int) -> Int:
        """Keys of places in the common order that are not in a user's tail, sorted."""
        seen = self.problem.seen
        users = np.arange(length.size)
        place = np.empty(self._common.size, np.int64)
        place[self._common] = np.arange(self._common.size)
        n_seen = np.diff(seen.indptr)
        owner = [np.repeat(users, n_seen), self.problem.owner, np.repeat(users, length)]
        item = [seen.indices, self.problem.item, self.head]
        keys = np.concatenate(owner) * self._width
        keys += place[np.concatenate(item)]
        return np.sort(keys)

    def items(self, users: Int, positions: Int) -> Int:
        """Items at some positions of some users' orders."""
        length = np.diff(self._start)[users]
        inside = positions < length
        place = self._start[users] + positions
        items = np.empty(users.size, np.int64)
        items[inside] = self.head[place[inside]]
        user = users[~inside]
        position = (positions - length)[~inside]
        key = user * self._width + position
        n_absent = np.searchsorted(self._gaps, key, side="right")
        n_absent -= self._absent_of[user]
        items[~inside] = self._common[position + n_absent]
        return items


def _heads(order: Order, start: Int) -> tuple[NDArray[np.int32], Float]:
    """First items of each user, and the place of each held-out item among the others."""
    problem = order.problem
    shape = problem.seen.shape
    head = np.empty(start[-1], np.int32)
    own = np.empty(problem.owner.size)
    for block in blocks(*shape):
        users = np.arange(shape[0])[block]
        scores = _finite_scores(order.proxy, users)
        bounds = [users[0], users[-1] + 1]
        first, end = np.searchsorted(problem.owner, bounds)
        owner = problem.owner[first:end] - users[0]
        item = problem.item[first:end]
        held_score = scores[owner, item, np.newaxis]
        # Only candidates are ranked.
        scores[~problem.is_candidate(users)] = -np.inf
        scores[owner, item] = -np.inf
        better = (scores[owner] > held_score).sum(axis=1)
        tied = (scores[owner] == held_score).sum(axis=1)
        n_candidates = order.n[users[owner]]
        own[first:end] = (better + 0.5 * tied) / np.maximum(n_candidates, 1)
        for row, user in zip(scores, users, strict=True):
            length = start[user + 1] - start[user]
            if length > 0:
                head[start[user] : start[user + 1]] = _best(row, length)
    return head, own


def _finite_scores(proxy: Proxy, users: Int) -> Float:
    """Scores of all items, infinite ones as the largest numbers."""
    scores = np.array(proxy.scores(users), dtype=np.float64)
    is_nan = np.isnan(scores)
    if is_nan.any():
        user = users[is_nan.any(1)][0]
        raise InputError(f"the proxy's scores of user {user} have NaN")
    largest = np.finfo(np.float64).max
    return np.clip(scores, -largest, largest, out=scores)


def _best(scores: Float, length: int) -> Int:
    """Items with the highest scores, ties in their order."""
    loss = -scores
    near = np.arange(loss.size)
    if length < loss.size // 4:  # sort only what may be among the first
        near = np.flatnonzero(loss <= np.partition(loss, length)[length])
    order = np.argsort(loss[near], kind="stable")
    return near[order[:length]]
