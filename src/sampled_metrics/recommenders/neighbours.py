"""Recommenders whose score adds up weights of the items of a history."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sampled_metrics._base.sparse import from_structure, structure
from sampled_metrics.recommenders.base import Arrays, Recommender

_COLUMNS = 256  # of the weights at a time, so that they stay in the processor's cache


class Neighbours(Recommender):
    """Scores are the sums of the rows of `weights` that belong to the items of a user's history.

    Attributes
    ----------
    histories
        Training events; float64, shape (users, items).
    weights
        What an item of the history (row) adds to the score of an item (column); float64, shape
        (items, items), dense or sparse.
    """

    histories: csr_array
    weights: Any

    def score(self, users: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sum the weights of each user's history, in the order of its items."""
        histories = self.histories[users]
        if issparse(self.weights):
            return (histories @ self.weights).toarray()
        scores = np.empty((users.size, self.weights.shape[1]))
        for first in range(0, self.weights.shape[1], _COLUMNS):
            some = slice(first, first + _COLUMNS)
            scores[:, some] = histories @ np.ascontiguousarray(self.weights[:, some])
        return scores

    def state(self) -> Arrays:
        """Return the histories and the weights."""
        weights: Arrays = {"weights": self.weights}
        if issparse(self.weights):
            weights = {"weights_data": self.weights.data, **structure(self.weights, "weights_")}
        return {**structure(self.histories, "histories_"), **weights}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Set the histories and the weights."""
        self.histories = from_structure(state, "histories_")
        if "weights" in state:
            self.weights = state["weights"]
        else:
            self.weights = from_structure(state, "weights_", state["weights_data"])
        return self
