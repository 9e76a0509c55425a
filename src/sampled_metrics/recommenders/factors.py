"""Base class of recommenders whose score is the inner product of two vectors."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sampled_metrics.recommenders.base import Arrays

Vectors = NDArray[np.float64]


class Factors:
    """Scores are inner products of a user's and an item's vector.

    Attributes
    ----------
    user_vectors, item_vectors
        float64, shapes (users, d) and (items, d).
    """

    def __init__(self, d: int) -> None:
        self.user_vectors: Vectors = np.empty((0, d))
        self.item_vectors: Vectors = np.empty((0, d))

    def score(self, users: NDArray[np.int64]) -> Vectors:
        """Inner products one by one; the last bits of a matrix product depend on the block."""
        return np.einsum("uf,if->ui", self.user_vectors[users], self.item_vectors)

    def state(self) -> Arrays:
        """Return the vectors of users and items."""
        return {"user_vectors": self.user_vectors, "item_vectors": self.item_vectors}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Restore the vectors."""
        self.user_vectors, self.item_vectors = state["user_vectors"], state["item_vectors"]
        return self
