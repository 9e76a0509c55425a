"""Recommenders whose score adds up weights of the items of a history."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sampled_metrics.recommenders.base import Arrays, Recommender


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
        scores = self.histories[users] @ self.weights
        return scores.toarray() if issparse(scores) else scores

    def state(self) -> Arrays:
        """Return the histories and the weights."""
        weights: Arrays = {"weights": self.weights}
        if issparse(self.weights):
            weights = {"weights_data": self.weights.data, **_pack("weights", self.weights)}
        return {**_pack("histories", self.histories), **weights}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Set the histories and the weights."""
        ones = np.ones(state["histories_indices"].size)
        self.histories = _unpack("histories", state, ones)
        if "weights" in state:
            self.weights = state["weights"]
        else:
            self.weights = _unpack("weights", state, state["weights_data"])
        return self


def _pack(name: str, matrix: csr_array) -> Arrays:
    shape = np.array(matrix.shape)
    return {
        f"{name}_shape": shape,
        f"{name}_indptr": matrix.indptr,
        f"{name}_indices": matrix.indices,
    }


def _unpack(name: str, state: Mapping[str, NDArray[Any]], data: NDArray[np.float64]) -> csr_array:
    structure = (data, state[f"{name}_indices"], state[f"{name}_indptr"])
    return csr_array(structure, shape=tuple(state[f"{name}_shape"]))
