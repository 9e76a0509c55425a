"""Scores kept, so that no pair is asked twice when several proxies are tried."""

from collections.abc import Generator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.budget.evaluation import Batch


class Ledger:
    """Scores of pairs asked so far, for each recommender.

    Parameters
    ----------
    n_users, n_items
        Of the catalogue, to number the pairs.
    """

    def __init__(self, n_users: int, n_items: int) -> None:
        self._n_users, self._n_items = n_users, n_items
        self._keys: Int = np.empty(0, np.int64)
        self._scores: Float = np.empty(0)

    def count(self, recommender: int) -> int:
        """Number of pairs asked of a recommender, held-out items included."""
        pairs = self._n_users * self._n_items
        return int(np.count_nonzero(self._keys // pairs == recommender))

    def once(self, inner: Generator[Batch, Float, Any]) -> Generator[Batch, Float, Any]:
        """Pass on the batches of `inner` without the pairs that are known; return its result."""
        scores: Float | None = None
        while True:
            try:
                batch = next(inner) if scores is None else inner.send(scores)
            except StopIteration as stop:
                return stop.value
            key = (batch.recommender * self._n_users + batch.users) * self._n_items + batch.items
            unknown = np.flatnonzero(~self._knows(key))
            if unknown.size:
                fresh = yield Batch(*(column[unknown] for column in batch))
                self._add(key[unknown], fresh)
            scores = self._scores[np.searchsorted(self._keys, key)]

    def _knows(self, key: Int) -> NDArray[np.bool_]:
        if not self._keys.size:
            return np.zeros(key.size, dtype=bool)
        place = np.minimum(np.searchsorted(self._keys, key), self._keys.size - 1)
        return self._keys[place] == key

    def _add(self, keys: Int, scores: Float) -> None:
        keys = np.concatenate([self._keys, keys])
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._scores = np.concatenate([self._scores, scores])[order]
