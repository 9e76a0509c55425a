"""Ranks by scores that are inner products of two vectors.

Matrix products are fast, but their last digits depend on their size, on the number of threads and
on the processor. So here they only tell which items score clearly more or less than another; the
few others are compared by inner products computed one by one.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arrays import Float, Int, blocks, count_rows
from sampled_metrics._base.errors import InputError

UNIT = 2.0**-24  # largest relative error of a float32
SLACK = 8  # errors beside those of the sum: of both vectors, of the bounds, of float64


class Products:
    """Scores of all pairs of users and items as inner products of their finite vectors.

    Examples
    --------
    >>> products = Products([[1, 0], [1, 1]], [[3, 0], [1, 1], [0, 3]])
    >>> products.exact(np.array([1, 1]), np.array([0, 1]))
    array([3., 2.])
    """

    def __init__(self, users: ArrayLike, items: ArrayLike) -> None:
        self.users, self.items = _vectors("users", users), _vectors("items", items)
        dimensions = self.items.shape[1]
        if self.users.shape[1] != dimensions:
            raise InputError(
                f"vectors of users have {self.users.shape[1]} dimensions, those of items "
                f"{dimensions}"
            )
        scaled, self._peak = _scaled(self.items.reshape(1, -1))
        self._short = scaled.reshape(self.items.shape).astype(np.float32)
        # By how much two scores in float32 differ at most from those in float64, for a user's
        # vector of length 1.
        self._margin = (dimensions + SLACK) * UNIT * _lengths(self._short).max(initial=0.0)

    def rough(self, users: Int) -> NDArray[np.float32]:
        """Return scores of all items for some users, each in a unit of its own, roughly."""
        return _scaled(self.users[users])[0].astype(np.float32) @ self._short.T

    def exact(self, user: Int, item: Int) -> Float:
        """Return the score of each pair of a user and an item, the same in any company."""
        scores = np.empty(user.size)
        for pairs in blocks(user.size, self.items.shape[1]):
            vectors = self.users[user[pairs]], self.items[item[pairs]]
            np.einsum("pf,pf->p", *vectors, out=scores[pairs])
        return scores

    def count(self, rough: NDArray[np.float32], users: Int, row: Int, item: Int) -> tuple[Int, Int]:
        """Count the candidates above each of some items, and those level with it.

        `rough` has the scores of all items for `users`, -inf for those that are no candidates, and
        is written to; `row` has the row of each item to rank.
        """
        own = self.exact(users[row], item)
        scaled, peak = _scaled(self.users[users])
        middle, margin = own / peak[row] / self._peak, self._margin * _lengths(scaled)[row]
        low, high = (middle - margin).astype(np.float32), (middle + margin).astype(np.float32)
        n_better, n_tied = np.empty(row.size, np.int64), np.zeros(row.size, np.int64)
        one_each = row.size == users.size
        for part in blocks(row.size, rough.shape[1]):
            scores = rough[part] if one_each else rough[row[part]]
            scores[np.arange(len(scores)), item[part]] = -np.inf
            above = scores > high[part, None]
            close = (scores >= low[part, None]) ^ above
            n_better[part] = count_rows(above)
            some = np.flatnonzero(close.any(axis=1))
            place, other = np.nonzero(close[some])
            pair = part.start + some[place]
            scored = self.exact(users[row[pair]], other)
            for counts, counted in ((n_better, scored > own[pair]), (n_tied, scored == own[pair])):
                counts += np.bincount(pair[counted], minlength=row.size)
        return n_better, n_tied


def _vectors(name: str, vectors: ArrayLike) -> Float:
    array = np.asarray(vectors)
    if array.ndim != 2 or array.dtype.kind not in "fiu" or not np.isfinite(array).all():
        raise InputError(
            f"vectors of {name} are {array.dtype} of shape {array.shape}; expected finite numbers, "
            "one row each"
        )
    return np.ascontiguousarray(array, np.float64)


def _scaled(vectors: Float) -> tuple[Float, Float]:
    """Divide each vector by its largest entry, which neither overflows nor vanishes."""
    peak = np.abs(vectors).max(axis=1, initial=0.0)
    peak[peak == 0.0] = 1.0
    return vectors / peak[:, None], peak


def _lengths(vectors: NDArray[Any]) -> Float:
    return np.sqrt(np.einsum("rf,rf->r", vectors, vectors, dtype=np.float64))
