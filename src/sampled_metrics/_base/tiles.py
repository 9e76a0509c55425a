"""Scores that are computed for some items at a time, for all users.

So a recommender that has a weight for each pair of items needs no more of them at once than those
of a few columns.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sampled_metrics._base.arrays import Float, Int, blocks


@dataclass(frozen=True)
class Tiles:
    """Scores as the product of a sparse matrix and of columns that are made when needed.

    Attributes
    ----------
    histories
        Left factor, scipy.sparse, one row per user; not negative.
    columns
        Function from the first and the last column, exclusive, to these columns of the right
        factor, one for each item; float64, not negative.
    n_items, width
        Number of all columns, and of those made at a time.
    """

    histories: Any
    columns: Callable[[int, int], Float]
    n_items: int
    width: int

    def __len__(self) -> int:
        """Return the number of users."""
        return int(self.histories.shape[0])

    def of(self, users: Int) -> Float:
        """Return the scores of all items for some users."""
        histories, scores = self.histories[users], np.empty((users.size, self.n_items))
        for first, columns in self:
            scores[:, first : first + columns.shape[1]] = histories @ columns
        return scores

    def of_pairs(self, user: Int, item: Int) -> Float:
        """Return the score of each pair of a user and an item, the same in any company."""
        scores = np.empty(user.size)
        for first, columns in self:
            inside = np.flatnonzero((item >= first) & (item < first + columns.shape[1]))
            scores[inside] = self.of_columns(user[inside], columns, item[inside] - first)
        return scores

    def of_columns(self, user: Int, columns: Float, place: Int) -> Float:
        """Return the score of each pair of a user and one of some columns."""
        scores = np.empty(user.size)
        longest = np.diff(self.histories.indptr).max(initial=1)
        for pairs in blocks(user.size, longest):
            histories = self.histories[user[pairs]]
            of_pair = np.repeat(place[pairs], np.diff(histories.indptr))
            histories.data *= columns[histories.indices, of_pair]
            scores[pairs] = histories @ np.ones(self.histories.shape[1])
        return scores

    def __iter__(self) -> Iterator[tuple[int, Float]]:
        """Yield the columns of the right factor, after the number of the first."""
        for first in range(0, self.n_items, self.width):
            yield first, self.columns(first, min(first + self.width, self.n_items))
