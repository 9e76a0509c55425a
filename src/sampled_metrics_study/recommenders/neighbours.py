"""Item-based filtering: recommenders Y and Z by cosine similarity (section 9), and BM25."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
import scipy
from numpy.typing import NDArray
from pydantic import Field

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics.read.products import ScoreFunction
from sampled_metrics_study.files import sparse_from_arrays, sparse_to_arrays
from sampled_metrics_study.recommenders.base import Arrays, Recommender, register
from sampled_metrics_study.validation import Count, Positive, Settings

# The similarity of all items is computed in slabs of dense rows: at most so many rows, and fewer
# for a large catalogue, so that a slab of about 1 M entries stays in the processor's cache.
_SLAB_ROWS = 256
_CACHED_ENTRIES = 1_048_576
_MOST_COUNTED_ITEMS = 1 << 13  # with more items, counts of all pairs would take over 256 MB
_SPARSE_COST = 20  # time of a term of a sparse product, in terms of a dense one; a rough estimate
# Up to this number of items the weights of all pairs stay in memory, at most 2.1 GB. For more items
# they are computed, some columns at a time, whenever they are needed.
MOST_DENSE_ITEMS = 1 << 14


class Neighbours(Recommender):
    """Scores an item by summing the weights of the items in a user's history.

    `weights[j, i]` is what item j of the history adds to the score of item i; float64.
    """

    histories: scipy.sparse.csr_array  # training events, shape (users, items)
    # Shape (items, items); None if the weights are dense, because then they are not one matrix.
    weights: scipy.sparse.csr_array | None

    def score(self, users: Int) -> Float:
        """Sum the weights of each user's history, in the order of its items."""
        return (self.histories[users] @ self.weights).toarray()

    def state(self) -> Arrays:
        """Return the histories and, if they are sparse, the weights."""
        state = sparse_to_arrays(self.histories, "histories_")
        if self.weights is not None:
            state.update(sparse_to_arrays(self.weights, "weights_"), weights_data=self.weights.data)
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Set the histories and the weights; dense weights are not stored but computed again."""
        self.histories = sparse_from_arrays(state, "histories_")
        if "weights_data" not in state:
            return self.fit(self.histories)
        self.weights = sparse_from_arrays(state, "weights_", state["weights_data"])
        return self


@dataclass(frozen=True)
class Tiles:
    """A function that scores all items for some users, with weights of a few items at a time.

    A tile is a slab of the matrix of weights, all rows of some neighbouring columns. `columns`
    yields the index of its first item, and the tile, of shape (items, items of the tile). No weight
    is negative.
    """

    histories: scipy.sparse.csr_array  # ones, shape (users, items)
    columns: Callable[[], Iterable[tuple[int, Float]]]

    def __call__(self, users: Int) -> Float:
        """Return the scores of all items for some users."""
        histories = self.histories[users]
        return np.hstack([histories @ columns for _, columns in self.columns()])


class ItemKNNSettings(Settings):
    """Hyper-parameters in the paper's terms."""

    q: Positive = 1.0
    """Exponent that sharpens the similarity, eq. 27."""
    k: Count | None = None
    """Number of neighbours, k of eq. 28; null is infinity."""
    k_prime: Count | None = None
    """Number of neighbours along the other axis, k' of eq. 28; null is infinity."""
    neighbour_axis: Literal["row", "column"] = "row"
    """Axis of the similarity that k' refers to, row in eq. 28; k refers to the other axis."""
    self_similarity: bool = True
    """Whether an item is its own neighbour."""
    normalise_scores: bool = True
    """Whether to divide by the row sum, eq. 30."""


@register("itemknn")
class ItemKNN(Neighbours):
    """Scores an item by its similarity to the items of the user's history, eq. 27-30.

    `weights[j, i]` is s''_ij, divided by its sum over j if scores are normalised. The scores of a
    user are the sum of the rows of the user's history, in float64.
    """

    Settings = ItemKNNSettings
    tiles: Tiles  # the dense weights

    def fit(self, train: scipy.sparse.csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - one thread serves
        """Compute the weights: sparse if k or k' is set, or else dense."""
        self.histories = train
        self.weights = None
        self.tiles = Tiles(train, self._columns)
        if self.settings.k is not None or self.settings.k_prime is not None:
            weights = _similarity_of_nearest(train, self.settings)
            similarities_to_weights(weights.data, self.settings, weights.indices)
            weights.eliminate_zeros()
            self.weights = weights
        elif train.shape[1] <= MOST_DENSE_ITEMS:
            columns = list(self._columns())
            self.tiles = Tiles(train, lambda: columns)
        return self

    def _columns(self) -> Iterator[tuple[int, Float]]:
        """Yield the dense weights, some columns at a time."""
        for first, similarity in _slabs(self.histories, self.settings):
            columns = np.ascontiguousarray(similarity.T)  # the similarity is symmetric
            similarities_to_weights(columns, self.settings)
            yield first, columns

    @property
    def scorer(self) -> ScoreFunction:
        """The function `score`, or tiles if the weights are dense."""
        if self.weights is None:
            return self.tiles
        return super().score

    def score(self, users: Int) -> Float:
        """Sum the weights of each user's history, in the order of its items."""
        return self.scorer(users)


def similarities_to_weights(
    entries: Float, settings: ItemKNNSettings, column: NDArray[np.int32] | None = None
) -> None:
    """Turn similarities into weights in place: power, then divide by norm and sum of the column.

    Parameters
    ----------
    entries
        A dense matrix, or the entries of a sparse one.
    settings
        Exponent q, and whether to divide by the sum.
    column
        Column of each entry of a sparse matrix; None for a dense one.
    """
    np.power(entries, settings.q, out=entries, where=entries > 0.0)  # np.power is slow at 0
    norms = [2]
    if settings.normalise_scores:
        norms = [2, 1]
    for power in norms:
        powers = entries**power
        sums = powers.sum(axis=0)
        if column is not None:
            sums = np.bincount(column, powers)[column]
        entries /= np.where(sums > 0.0, sums ** (1 / power), 1.0)


def _similarity_of_nearest(
    train: scipy.sparse.csr_array, settings: ItemKNNSettings
) -> scipy.sparse.csr_array:
    """Compute s' of eq. 28, transposed and sparse: 0 for pairs that are not near.

    The similarity is symmetric, so row j and column j have the same nearest items.
    """
    limits = [settings.k, settings.k_prime]  # columns, rows
    if settings.neighbour_axis == "column":
        limits.reverse()
    nearest = []
    for axis, k in enumerate(limits):
        if k is None:
            continue
        slabs = [
            scipy.sparse.csr_array(similarity * _nearest(similarity, k))
            for _, similarity in _slabs(train, settings)
        ]
        near = scipy.sparse.vstack(slabs, format="csr")
        if axis:
            near = near.T.tocsr()
        nearest.append(near)
    weights = nearest[0]
    for other in nearest[1:]:
        weights = weights * (other > 0)
    return weights


def _slabs(train: scipy.sparse.csr_array, settings: ItemKNNSettings) -> Iterator[tuple[int, Float]]:
    """Yield slabs of the cosine similarity, eq. 27 with q = 1: a first item, and rows from it on.

    The cosine is computed as sqrt(c^2 / (n_i n_j)) from integers, so that similarities that are
    equal on paper are equal in floating point, and no neighbour is chosen by a rounding error. It
    is 0 for items without training events.
    """
    n_items = train.shape[1]
    counts = np.maximum(np.bincount(train.indices, minlength=n_items), 1).astype(np.float64)
    for first, common_users in _common_users(train):
        common = common_users.astype(np.float64, order="C")
        rows = np.arange(first, first + len(common))
        similarity = np.sqrt(common * common / np.outer(counts[rows], counts))
        if not settings.self_similarity:
            similarity[np.arange(rows.size), rows] = 0.0
        yield first, similarity


def _common_users(train: scipy.sparse.csr_array) -> Iterator[tuple[int, NDArray[np.integer]]]:
    """Yield slabs of the numbers of common users of two items: a first item, and rows from it on.

    For a small catalogue all counts stay in memory, so that half of them follow by symmetry.
    """
    n_users, n_items = train.shape
    count_type: Any = np.int32
    if n_users < 1 << 15:
        count_type = np.int16
    by_user = scipy.sparse.csr_array(train, dtype=count_type)
    by_item = by_user.T.tocsr()
    n_sparse_terms = np.square(np.diff(by_user.indptr), dtype=float).sum()
    is_sparse = by_user.nnz * n_items >= _SPARSE_COST * n_sparse_terms
    stays_in_memory = n_items <= _MOST_COUNTED_ITEMS and not is_sparse
    if stays_in_memory:
        whole = np.empty((n_items, n_items), dtype=count_type)
    # numpy sums a single column in another order than several, so the last slab has more than one.
    step = min(_SLAB_ROWS, max(16, _CACHED_ENTRIES // n_items))
    for first, end in pairwise([*range(0, max(n_items - 1, 1), step), n_items]):
        rows = by_item[first:end]
        if is_sparse:
            yield first, (rows @ by_user).toarray()
            continue
        users = np.ascontiguousarray(rows.toarray().T)
        if not stays_in_memory:
            yield first, (by_item @ users).T
            continue
        below = by_item[first:] @ users
        whole[first:, first:end] = below
        whole[first:end, first:] = below.T
        yield first, whole[first:end]


def _nearest(similarity: Float, k: int) -> NDArray[np.bool_]:
    """Mark the k largest entries of each row; of equal entries the earlier ones."""
    k = min(k, similarity.shape[1])
    kth = np.partition(similarity, -k, axis=1)[:, [-k]]
    larger = similarity > kth
    equal = similarity == kth
    n_left = k - larger.sum(axis=1, keepdims=True)
    return larger | (equal & (equal.cumsum(axis=1) <= n_left))


class BM25Settings(Settings):
    """Hyper-parameters with the defaults of `implicit`, where they are K, K1 and B."""

    k: Count = 20
    """Number of neighbours of each item, the item itself included."""
    k1: Positive = 1.2
    """How slowly the weight of an event grows."""
    b: float = Field(0.75, ge=0, le=1)
    """How much the popularity of an item matters."""


@register("bm25")
class BM25(Neighbours):
    r"""Scores an item by its similarity to the items of the user's history.

    The similarity of items i and j is sum_u w_ui w_uj over their common users; only the k largest
    similarities of each item count. With n_i events of item i, n_u events of user u, n items and
    the mean n' of all n_i,

        w_ui = (k1 + 1) / (k1 (1 - b + b n_i / n') + 1) ln(n / (1 + n_u)).
    """

    Settings = BM25Settings

    def fit(self, train: scipy.sparse.csr_array, threads: int = 1) -> Self:
        """Compute the similarities; each thread finds the neighbours of some items."""
        from implicit.nearest_neighbours import ItemItemRecommender, bm25_weight

        settings = self.settings
        model = ItemItemRecommender(K=min(settings.k, train.shape[1]), num_threads=threads)
        events = scipy.sparse.csr_array(train, dtype=np.float64)
        weighted = scipy.sparse.csr_matrix(bm25_weight(events.T, settings.k1, settings.b).T)
        model.fit(weighted, show_progress=False)
        self.histories = train
        self.weights = scipy.sparse.csr_array(model.similarity)
        return self
