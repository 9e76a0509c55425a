"""Proxies, and the order in which they put the candidates of each user."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sampled_metrics._base.als import factors
from sampled_metrics._base.arguments import is_function
from sampled_metrics._base.arrays import Float, Int, blocks, ranges
from sampled_metrics._base.errors import InputError
from sampled_metrics.budget.problem import Grid, Problem, numbers
from sampled_metrics.inputs.items import require_different
from sampled_metrics.inputs.tables import ITEM, USER, places, read_table

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
    if isinstance(proxy, str | Path):
        return _by_name(proxy, problem, seed)
    if is_function(proxy):
        score = problem.scorer("proxy", proxy)
        items = np.arange(problem.item_ids.size)

        def by_pairs(users: Int) -> Any:
            owners = np.repeat(users, items.size)
            pairs = score(owners, np.tile(items, users.size))
            return numbers("proxy", pairs, owners.shape).reshape(users.size, -1)

        return Proxy("function", by_pairs)
    grid = Grid.of("proxy", proxy)
    row, column = problem.places("proxy", grid)

    def by_rows(users: Int) -> Any:
        values = grid.values[row[users]]
        if issparse(values):
            values = values.toarray()
        return values[:, column]

    return Proxy("matrix", by_rows)


def _by_name(name: str | Path, problem: Problem, seed: int) -> Proxy:
    """Score by the number of events of items, by vectors of ALS or by a table in a file."""
    events = problem.events
    if name in ("popularity", "als") and not events.nnz and problem.candidates is not None:
        raise InputError(f"proxy {name} needs seen items (--seen); or give scores as proxy")
    if name == "popularity":
        counts = _counts(events)
        all_are_evaluated = events.shape[0] == problem.user_ids.size
        shared = lambda users: np.broadcast_to(counts, (users.size, counts.size))  # noqa: E731
        return Proxy(name, shared, all_are_evaluated)
    if name == "als":
        user_vectors, item_vectors = als(events, seed)
        # Products one by one: the last bits of a matrix product depend on the block.
        products = lambda users: np.einsum("uf,if->ui", user_vectors[users], item_vectors)  # noqa: E731
        return Proxy(name, products)
    return _by_table(Path(name), problem)


def _by_table(path: Path, problem: Problem) -> Proxy:
    """Read a table of scores; items without one come last."""
    what = "popularity, als or a table of scores (user_id, item_id, score)"
    table = read_table(path, what, (USER, ITEM, "score"))
    table.require(USER, ITEM, "score")
    # Only the order counts: places from 1, so that candidates without a score come last.
    _, place = np.unique(table.finite("score"), return_inverse=True)
    user, user_ids = table.codes(USER)
    item, item_ids = table.codes(ITEM)
    require_different(table, user, item)
    row = places(user_ids, problem.user_ids)[user]
    column = places(item_ids, problem.item_ids)[item]
    inside = (row >= 0) & (column >= 0)
    missing = np.setdiff1d(np.arange(problem.user_ids.size), row[inside])
    if missing.size:
        raise InputError(f"no score for user_id {problem.user_ids[missing[0]]}", path=path)
    entries = (place[inside] + 1, (row[inside], column[inside]))
    scores = csr_array(entries, shape=problem.seen.shape)
    return Proxy(path.name, lambda users: scores[users].toarray())


def _counts(events: csr_array) -> Int:
    """Number of events of each item."""
    return np.bincount(events.indices, minlength=events.shape[1])


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
        kept: tuple[NDArray[np.int32], Float] | None = None,  # head and own of an equal order
    ) -> None:
        n_users, n_items = problem.seen.shape
        self.problem = problem
        self.proxy = proxy
        self.n = problem.n_candidates()
        room = max(LEAST_HEAD, HEAD_ENTRIES // n_users)
        if problem.candidates is not None:
            room = n_items  # candidates that were given have no tail
        elif proxy.is_common:
            room = 0  # the common order beyond the head is the proxy's own
        self._length = np.minimum(self.n, room)
        self._start = np.concatenate([[0], np.cumsum(self._length)])
        # Head, and the share of the other candidates that each held-out item comes after.
        self.head, self.own = kept or self._heads()
        self._common = np.argsort(-_counts(problem.seen), kind="stable")
        self._width = n_items + 1  # distance of users in the keys of pairs
        absent = np.empty(0, np.int64)
        if (self._length < self.n).any():
            absent = self._absent()
        users = np.arange(n_users + 1)
        self._absent_of = np.searchsorted(absent, users * self._width)
        n_absent = np.diff(self._absent_of)
        self._gaps = absent - ranges(0, n_absent)  # tail items before each absent one

    def _absent(self) -> Int:
        """Keys of places in the common order that are not in a user's tail, sorted."""
        seen = self.problem.seen
        users = np.arange(self.n.size)
        place = np.argsort(self._common)
        owner = [np.repeat(users, np.diff(seen.indptr)), self.problem.owner]
        owner.append(np.repeat(users, self._length))
        item = np.concatenate([seen.indices, self.problem.item, self.head])
        return np.sort(np.concatenate(owner) * self._width + place[item])

    def _heads(self) -> tuple[NDArray[np.int32], Float]:
        """First items of each user, and the place of each held-out item among the others."""
        problem = self.problem
        head = np.empty(self._start[-1], np.int32)
        own = np.empty(problem.owner.size)
        for block in blocks(*problem.seen.shape):
            users = np.arange(self.n.size)[block]
            scores = np.array(self.proxy.scores(users), dtype=np.float64)
            is_nan = np.isnan(scores).any(axis=1)
            if is_nan.any():
                raise InputError(f"the proxy's scores of user {users[is_nan][0]} have NaN")
            np.nan_to_num(scores, copy=False)  # infinite ones as the largest numbers
            first, end = np.searchsorted(problem.owner, [block.start, block.stop])
            owner = problem.owner[first:end] - block.start
            item = problem.item[first:end]
            held_score = scores[owner, item, np.newaxis]
            # Only candidates are ranked.
            scores[~problem.is_candidate(users)] = -np.inf
            scores[owner, item] = -np.inf
            better = (scores[owner] > held_score).sum(axis=1)
            tied = (scores[owner] == held_score).sum(axis=1)
            n_candidates = np.maximum(self.n[users[owner]], 1)
            own[first:end] = (better + 0.5 * tied) / n_candidates
            for row, user in zip(scores, users, strict=True):
                length = self._length[user]
                if length:
                    best = _best(row, length)
                    head[self._start[user] : self._start[user] + length] = best
        return head, own

    def items(self, users: Int, positions: Int) -> Int:
        """Items at some positions of some users' orders."""
        inside = positions < self._length[users]
        place = self._start[users] + positions
        items = np.empty(users.size, np.int64)
        items[inside] = self.head[place[inside]]
        user = users[~inside]
        position = positions[~inside] - self._length[user]
        n_absent = np.searchsorted(self._gaps, user * self._width + position, side="right")
        n_absent -= self._absent_of[user]
        items[~inside] = self._common[position + n_absent]
        return items


def _best(scores: Float, length: int) -> Int:
    """Items with the highest scores, ties in their order."""
    loss = -scores
    near = np.arange(loss.size)
    if length < loss.size // 4:  # sort only what may be among the first
        near = np.flatnonzero(loss <= np.partition(loss, length)[length])
    order = np.argsort(loss[near], kind="stable")
    return near[order[:length]]
