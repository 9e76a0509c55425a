"""Recommenders Y and Z, item-based filtering on cosine similarity (section 9), and on BM25."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.sparse import csr_array, csr_matrix, issparse, vstack

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.settings import Count, Settings
from sampled_metrics._base.sparse import from_structure, structure
from sampled_metrics.study.recommenders.base import Arrays, Recommender, register

_SLAB = 256  # rows of the similarity, or columns of the weights, that are dense at a time
_GAIN = 20  # sums of a dense product in the time of one of a sparse product


class Neighbours(Recommender):
    """Scores are the sums of the rows of `weights` that belong to the items of a user's history.

    `weights[j, i]` is what item j of the history adds to the score of item i; float64.
    """

    histories: csr_array  # training events, shape (users, items)
    weights: Any  # shape (items, items), dense or sparse

    @cached_property
    def slabs(self) -> list[Any]:
        """The weights by columns, so many at a time that products stay in the processor's cache."""
        if issparse(self.weights):
            return [self.weights]
        edges = range(0, self.weights.shape[1], _SLAB)
        return [np.ascontiguousarray(self.weights[:, first : first + _SLAB]) for first in edges]

    def score(self, users: Int) -> Float:
        """Sum the weights of each user's history, in the order of its items."""
        histories = self.histories[users]
        products = [histories @ slab for slab in self.slabs]
        return products[0].toarray() if issparse(products[0]) else np.hstack(products)

    def state(self) -> Arrays:
        """Return the histories and the weights."""
        weights: Arrays = {"weights": self.weights}
        if issparse(self.weights):
            weights = {"weights_data": self.weights.data, **structure(self.weights, "weights_")}
        return {**structure(self.histories, "histories_"), **weights}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Set the histories and the weights."""
        self.histories = from_structure(state, "histories_")
        self.weights = state.get("weights")
        if self.weights is None:
            self.weights = from_structure(state, "weights_", state["weights_data"])
        return self


class ItemKNNSettings(Settings):
    """Hyper-parameters in the paper's terms."""

    q: float = Field(1.0, gt=0, description="Exponent that sharpens the similarity, eq. 27.")
    k: Count | None = Field(None, description="Neighbours kept, k of eq. 28; null is infinity.")
    k_prime: Count | None = Field(None, description="The same of k'; null is infinity.")
    neighbour_axis: Literal["row", "column"] = Field(
        "row", description="Axis of the similarity that k' is about, row in eq. 28; k is the other."
    )
    self_similarity: bool = Field(True, description="Whether an item is its own neighbour.")
    normalise_scores: bool = Field(True, description="Whether to divide by the row sum, eq. 30.")


@register("itemknn")
class ItemKNN(Neighbours):
    """Scores an item by its similarity to the items of the user's history, eq. 27-30.

    `weights[j, i]` is s''_ij, divided by its sum over j where scores are normalised; a user's
    scores are the sum of the rows of its history. Float64 throughout.
    """

    Settings = ItemKNNSettings

    def fit(self, train: csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - one thread serves
        """Compute the weights, dense where all neighbours are kept and sparse where not."""
        settings, self.histories = self.settings, train
        weights: Any
        column: Any  # of each entry
        if settings.k is None and settings.k_prime is None:
            weights = np.concatenate(list(_slabs(train, settings.self_similarity)))
            entries, column = weights, slice(None)
        else:
            weights = _similarity_of_nearest(train, settings)
            entries, column = weights.data, weights.indices
        np.power(entries, settings.q, out=entries, where=entries > 0.0)  # slow at 0
        for power in (2, 1) if settings.normalise_scores else (2,):
            powers = entries**power
            if issparse(weights):
                sums = np.bincount(column, powers, minlength=train.shape[1])
            else:
                sums = powers.sum(axis=0)
            entries /= np.where(sums > 0.0, sums ** (1 / power), 1.0)[column]
        if issparse(weights):
            weights.eliminate_zeros()
        self.weights = weights
        return self


def _similarity_of_nearest(train: csr_array, settings: ItemKNNSettings) -> csr_array:
    """Similarity s' of eq. 28, transposed and zero where not near; never dense as a whole.

    The similarity is symmetric, so the nearest of its j-th row are those of its j-th column.
    """
    of_columns, of_rows = settings.k, settings.k_prime
    if settings.neighbour_axis == "column":
        of_columns, of_rows = of_rows, of_columns
    near_columns: list[csr_array] = []
    near_rows: list[csr_array] = []
    for similarity in _slabs(train, settings.self_similarity):
        for k, near in ((of_columns, near_columns), (of_rows, near_rows)):
            if k is not None:
                near.append(csr_array(similarity * _nearest(similarity, k)))
    if not near_rows:
        return csr_array(vstack(near_columns, format="csr"))
    by_row = csr_array(vstack(near_rows).T.tocsr())
    return csr_array(vstack(near_columns, format="csr") * (by_row > 0)) if near_columns else by_row


def _slabs(train: csr_array, self_similarity: bool) -> Iterator[Float]:
    """Yield some rows of the cosine of all pairs of items, eq. 27 with q = 1, at a time.

    Computed as sqrt(c^2 / (n_i n_j)) from whole numbers, so that similarities equal on paper are
    equal in the machine and no neighbour is chosen by a rounding error. 0 where an item has no
    training event.
    """
    n_users, n_items = train.shape
    by_user = csr_array(train, dtype=np.int16 if n_users < 1 << 15 else np.int32)
    by_item = by_user.T.tocsr()
    counts = np.maximum(np.diff(by_item.indptr), 1).astype(np.float64)
    is_dense = by_user.nnz * n_items < _GAIN * np.square(np.diff(by_user.indptr), dtype=float).sum()
    for first in range(0, n_items, _SLAB):
        rows = slice(first, min(first + _SLAB, n_items))
        common: Any  # users that items have in common
        if is_dense:
            common = (by_item @ np.ascontiguousarray(by_item[rows].toarray().T)).T
        else:
            common = (by_item[rows] @ by_user).toarray()
        common = common.astype(np.float64, order="C")
        similarity = np.sqrt(common * common / np.outer(counts[rows], counts))
        if not self_similarity:
            np.fill_diagonal(similarity[:, first:], 0.0)
        yield similarity


def _nearest(similarity: Float, k: int) -> NDArray[np.bool_]:
    """Mark in each row its k largest entries, the earlier one where two are equal."""
    n = similarity.shape[1]
    if k >= n:
        return np.ones((1, 1), dtype=bool)
    kth = np.partition(similarity, n - k, axis=1)[:, n - k, np.newaxis]
    larger, equal = similarity > kth, similarity == kth
    places_left = k - larger.sum(axis=1, keepdims=True)
    return larger | (equal & (equal.cumsum(axis=1) <= places_left))


class BM25Settings(Settings):
    """Hyper-parameters and their defaults as in `implicit`, there K, K1 and B."""

    k: Count = Field(20, description="Neighbours kept of each item, itself counted.")
    k1: float = Field(1.2, gt=0, description="How slowly the weight of an event grows.")
    b: float = Field(0.75, ge=0, le=1, description="How much the popularity of an item matters.")


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
