"""Recommenders whose score is the inner product of two vectors."""

import numpy as np
from numpy.typing import NDArray

from sampled_metrics.recommenders.base import Recommender

Vectors = NDArray[np.float64]


class Factors(Recommender):
    """Scores are inner products of a user's and an item's vector.

    Attributes
    ----------
    user_vectors, item_vectors
        float64, shapes (users, d) and (items, d).
    """

    LEARNT = ("user_vectors", "item_vectors")
    user_vectors: Vectors
    item_vectors: Vectors

    @property
    def scorer(self) -> tuple[Vectors, Vectors]:
        """The vectors of users and items."""
        return self.user_vectors, self.item_vectors

    def score(self, users: NDArray[np.int64]) -> Vectors:
        """Inner products, one by one: a matrix product's last bits would depend on the block."""
        return np.einsum("uf,if->ui", self.user_vectors[users], self.item_vectors)
