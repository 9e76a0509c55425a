"""Recommenders whose score adds up weights of the items of a history."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sampled_metrics._base.sparse import from_structure, structure
from sampled_metrics._base.tiles import Tiles
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
        (items, items), dense or sparse; None if `columns` computes them when they are needed.
    """

    histories: csr_array
    weights: Any

    def score(self, users: NDArray[np.int64]) -> NDArray[np.float64]:
        """Sum the weights of each user's history, in the order of its items."""
        if issparse(self.weights):
            return (self.histories[users] @ self.weights).toarray()
        return self._tiles.of(users)

    @property
    def scorer(self) -> Any:
        """The scores of all users, some items at a time, unless the weights are sparse."""
        return self.score if issparse(self.weights) else self._tiles

    @property
    def _tiles(self) -> Tiles:
        return Tiles(self.histories, self.columns, self.histories.shape[1], _COLUMNS)

    def columns(self, first: int, end: int) -> NDArray[np.float64]:
        """Return some columns of the weights."""
        return np.ascontiguousarray(self.weights[:, first:end])

    def state(self) -> Arrays:
        """Return the histories and the weights."""
        weights: Arrays = {} if self.weights is None else {"weights": self.weights}
        if issparse(self.weights):
            weights = {"weights_data": self.weights.data, **structure(self.weights, "weights_")}
        return {**structure(self.histories, "histories_"), **weights}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Set the histories and the weights."""
        self.histories = from_structure(state, "histories_")
        self.weights = state.get("weights")
        if "weights_data" in state:
            self.weights = from_structure(state, "weights_", state["weights_data"])
        return self
