"""Each user's candidates in the order of a proxy, of which only the head is kept in memory."""

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int, blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.budget.candidates import Candidates
from sampled_metrics.inference.budget.proxies import Popularity, Proxy

HEAD_ENTRIES = 1 << 25  # items of all heads together: 128 MB
_LARGEST = np.finfo(np.float64).max
LEAST_HEAD = 1400  # items of a user's head, however many users there are


class Order:
    """Items of users by position, the position of the best by the proxy being 0.

    Beyond the head, candidates follow in one order for all users (by number of events, then by
    number), computed by counting what comes before: memory does not grow with the catalogue.

    Attributes
    ----------
    n
        Candidates of each user except held-out items.
    own
        Share of a user's other candidates that its held-out item comes after, by the proxy; shape
        (held-out rows,).
    """

    def __init__(
        self, candidates: Candidates, proxy: Proxy, head_entries: int = HEAD_ENTRIES
    ) -> None:
        self.n = candidates.n_others
        self.name = proxy.name
        room = max(LEAST_HEAD, head_entries // candidates.n_users)
        if candidates.widest is not None:
            room = max(room, candidates.widest)
        elif isinstance(proxy, Popularity):
            room = 0  # the order of the tail is the proxy's own
        self._start, self._head, self.own = _heads(candidates, proxy, room)
        self._common = _common_order(candidates)
        self._tail_start, self._tail = self._gaps(candidates)

    def items(self, users: Int, positions: Int) -> Int:
        """Items at some positions of some users' orders."""
        head_size = np.diff(self._start)[users]
        inside = positions < head_size
        items = np.empty(users.size, np.int64)
        items[inside] = self._head[self._start[users[inside]] + positions[inside]]
        if not inside.all():
            beyond = ~inside
            items[beyond] = self._from_tail(users[beyond], (positions - head_size)[beyond])
        return items

    def _from_tail(self, users: Int, positions: Int) -> Int:
        width = self._common.size + 1
        before = np.searchsorted(self._tail, users * width + positions, side="right")
        return self._common[positions + before - self._tail_start[users]]

    def _gaps(self, candidates: Candidates) -> tuple[Int, Int]:
        """For each item that is not in a user's tail, the number of tail items before it."""
        n_users, n_items = self._start.size - 1, self._common.size
        if candidates.seen is None or np.array_equal(np.diff(self._start), self.n):
            return np.zeros(n_users + 1, np.int64), np.empty(0, np.int64)
        place = np.empty(n_items, np.int64)
        place[self._common] = np.arange(n_items)
        seen = candidates.seen
        users = np.concatenate(
            [
                np.repeat(np.arange(n_users), np.diff(seen.indptr)),
                candidates.owner,
                np.repeat(np.arange(n_users), np.diff(self._start)),
            ]
        )
        absent = np.concatenate([seen.indices, candidates.item, self._head])
        keys = np.sort(users * (n_items + 1) + place[absent])
        start = np.searchsorted(keys, np.arange(n_users + 1) * (n_items + 1))
        return start, keys - (np.arange(keys.size) - np.repeat(start[:-1], np.diff(start)))


def _heads(candidates: Candidates, proxy: Proxy, room: int) -> tuple[Int, NDArray[np.int32], Float]:
    """First items of each user, and the place of each held-out item among the others."""
    length = np.minimum(candidates.n_others, room)
    start = np.concatenate([[0], np.cumsum(length)])
    head = np.empty(start[-1], np.int32)
    own = np.empty(candidates.owner.size)
    for block in blocks(candidates.n_users, candidates.n_items):
        users = np.arange(candidates.n_users)[block]
        mask = candidates.mask(users)
        scores = np.array(proxy(users), dtype=np.float64)
        if np.isnan(scores).any():
            raise InputError(
                f"the proxy's scores of user {users[np.isnan(scores).any(1)][0]} have NaN"
            )
        np.clip(scores, -_LARGEST, _LARGEST, out=scores)
        rows = candidates.rows(users)
        owner, item = candidates.owner[rows] - users[0], candidates.item[rows]
        mine = scores[owner, item, np.newaxis]
        scores[~mask] = -np.inf
        above = (scores[owner] > mine).sum(axis=1) + 0.5 * (scores[owner] == mine).sum(axis=1)
        own[rows] = above / np.maximum(candidates.n_others[users[owner]], 1)
        np.negative(scores, out=scores)
        for row, user in enumerate(users if room else ()):
            head[start[user] : start[user + 1]] = _smallest(scores[row], length[user])
    return start, head, own


def _smallest(scores: Float, count: int) -> Int:
    """Columns of the smallest scores in ascending order, ties by column."""
    if count >= scores.size // 4:
        return np.argsort(scores, kind="stable")[:count]
    near = np.flatnonzero(scores <= np.partition(scores, count)[count])
    return near[np.argsort(scores[near], kind="stable")[:count]]


def _common_order(candidates: Candidates) -> Int:
    if candidates.seen is None:
        return np.arange(candidates.n_items)
    events = np.bincount(candidates.seen.indices, minlength=candidates.n_items)
    return np.argsort(-events, kind="stable")
