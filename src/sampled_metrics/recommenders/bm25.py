"""Item-based collaborative filtering on counts weighted by BM25, as `implicit` has it."""

from typing import Annotated, Self

import numpy as np
from pydantic import Field
from scipy.sparse import csr_array, csr_matrix

from sampled_metrics._base.settings import Count, Settings
from sampled_metrics.recommenders.base import register
from sampled_metrics.recommenders.neighbours import Neighbours


class BM25Settings(Settings):
    """Hyper-parameters and their defaults as in `implicit`, there K, K1 and B."""

    k: Count = 20
    """Neighbours kept of each item, itself counted."""
    k1: Annotated[float, Field(gt=0)] = 1.2
    """How slowly the weight of an event grows with its count; as every count is 1 here, it says
    with b how much less an event of a popular item weighs."""
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    """How much the popularity of an item matters, from 0 (not at all) to 1."""


@register("bm25")
class BM25(Neighbours):
    r"""Scores an item by its similarity to the items of the user's history.

    The similarity of items i and j is sum_u w_ui w_uj over their common users, of which each item
    keeps its k largest, where with n_i events of item i, n_u events of user u, n items and the
    mean n' of all n_i

        w_ui = (k1 + 1) / (k1 (1 - b + b n_i / n') + 1) ln(n / (1 + n_u)).
    """

    Settings = BM25Settings

    def fit(self, train: csr_array, threads: int = 1) -> Self:
        """Compute the similarities; each item's neighbours are found by one thread."""
        from implicit.nearest_neighbours import ItemItemRecommender, bm25_weight

        settings = self.settings
        model = ItemItemRecommender(K=min(settings.k, train.shape[1]), num_threads=threads)
        events = csr_array(train, dtype=np.float64)
        weighted = csr_matrix(bm25_weight(events.T, settings.k1, settings.b).T)
        model.fit(weighted, show_progress=False)
        self.histories, self.weights = train, csr_array(model.similarity)
        return self
