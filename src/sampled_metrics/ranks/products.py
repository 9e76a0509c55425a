"""Scores that are inner products of vectors of users and of items."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from sampled_metrics._base.arrays import Float, Int, one_thread

Score: TypeAlias = Callable[[Int], Any]  # scores of all items, for some rows of users


# Numbers beyond the largest become infinite or NaN without a warning; ranking checks them.
_unlimited = partial(np.errstate, over="ignore", invalid="ignore")


class Products:
    """Scores that are inner products of two vectors, as a function of rows of users.

    The last digits of a matrix product depend on its size. So a product only tells which items
    score clearly more or less, by `margin`; where others come closer, those of `exact` count.
    """

    def __init__(self, users: Float, items: Float) -> None:
        self.users = users
        self.items = items
        # A sum of d products is within d eps / 2 of the sum of their sizes, in any order; four
        # such errors part two differences. This is twice as much.
        largest_sum = np.abs(items).sum(axis=1).max(initial=0.0)
        largest = np.abs(users).max(initial=0.0)
        with _unlimited():
            self.is_finite = bool(largest * largest_sum < np.finfo(np.float64).max / 4.0)
        self._relative = 4 * (items.shape[1] + 4) * np.finfo(np.float64).eps * largest_sum

    @_unlimited()
    @one_thread()  # more cost more than they save where processors are busy
    def __call__(self, rows: Int) -> Float:
        """Return the scores of all items for some users; the last digits depend on the others."""
        return self.users[rows] @ self.items.T

    @_unlimited()
    def exact(self, rows: Int) -> Float:
        """Return them the same for any other users, and equal for equal vectors."""
        return np.einsum("uf,if->ui", self.users[rows], self.items)

    @_unlimited()
    def margin(self, rows: Int) -> Float:
        """Return how much two products of a user may differ if their exact scores do not."""
        largest = np.abs(self.users[rows]).max(axis=1, initial=0.0)
        return self._relative * largest + np.finfo(np.float64).tiny
