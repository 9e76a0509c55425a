"""Recommenders Y and Z, item-based filtering on cosine similarity (section 9), and on BM25."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, Self

import numpy as np
import scipy  # `scipy.sparse` takes long to import, so only where it is used
from numpy.typing import NDArray
from pydantic import Field

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.settings import Count, Settings
from sampled_metrics._base.sparse import from_structure, structure
from sampled_metrics.study.recommenders.base import Arrays, Recommender, Scorer, register

_SLAB = 256  # rows of the similarity, or columns of the weights, that are dense at a time
_MOST_WHOLE = 1 << 13  # items up to which the common users of all pairs are counted at once
_GAIN = 20  # sums of a dense product in the time of one of a sparse product
# Up to so many items the weights of all pairs are kept, in at most 2.1 GB; those of more items are
# computed, some columns at a time, whenever they are needed.
MOST_KEPT = 1 << 14


class Neighbours(Recommender):
    """Scores are the sums of the rows of `weights` that belong to the items of a user's history.

    `weights[j, i]` is what item j of the history adds to the score of item i; float64.
    """

    histories: scipy.sparse.csr_array  # training events, shape (users, items)
    # Shape (items, items); None if they are dense, and not kept as one.
    weights: scipy.sparse.csr_array | None

    def score(self, users: Int) -> Float:
        """Sum the weights of each user's history, in the order of its items."""
        return (self.histories[users] @ self.weights).toarray()

    def state(self) -> Arrays:
        """Return the histories and, where they are sparse, the weights."""
        state: Arrays = structure(self.histories, "histories_")
        if self.weights is not None:
            state["weights_data"] = self.weights.data
            state.update(structure(self.weights, "weights_"))
        return state

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Set the histories and the weights."""
        self.histories = from_structure(state, "histories_")
        self.weights = from_structure(state, "weights_", state["weights_data"])
        return self


@dataclass(frozen=True)
class Tiles:
    """Scores of all items, as a function of users, by weights that exist for some items at a time.

    `columns` yields some columns of the weights, after the number of the first. Given items, at
    least two in increasing order, it yields their columns, and the numbers are places among them.
    No weight is negative.
    """

    histories: scipy.sparse.csr_array  # shape (users, items)
    columns: Callable[[Int | None], Iterable[tuple[int, Float]]]

    def __call__(self, users: Int) -> Float:
        """Return the scores of all items for some users."""
        histories = self.histories[users]
        scores = np.empty(histories.shape)
        for first, columns in self.columns(None):
            scores[:, first : first + columns.shape[1]] = histories @ columns
        return scores


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
    kept: list[tuple[int, Float]] | None = None  # all dense weights, by columns, if they are kept

    def fit(self, train: scipy.sparse.csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - one thread serves
        """Compute the weights, dense where all neighbours are kept and sparse where not."""
        self.histories = train
        self.weights = None
        self.kept = None
        if self.settings.k is not None or self.settings.k_prime is not None:
            weights = _similarity_of_nearest(train, self.settings)
            weigh(weights.data, weights.indices, train.shape[1], self.settings)
            weights.eliminate_zeros()
            self.weights = weights
        elif train.shape[1] <= MOST_KEPT:
            self.kept = list(self.columns())
        return self

    def columns(self, items: Int | None = None) -> Iterable[tuple[int, Float]]:
        """Yield some columns of the dense weights, as `Tiles` describes."""
        if self.kept is None:
            return self._computed(items)
        if items is None:
            return self.kept
        return self._chosen(self.kept, items)

    def _chosen(self, kept: list[tuple[int, Float]], items: Int) -> Iterator[tuple[int, Float]]:
        """Yield the columns of some items among those that are kept."""
        for first, columns in kept:
            begin, end = np.searchsorted(items, [first, first + columns.shape[1]])
            if begin < end:
                yield int(begin), columns[:, items[begin:end] - first]

    def _computed(self, items: Int | None) -> Iterator[tuple[int, Float]]:
        first = 0
        for similarity in _slabs(self.histories, self.settings.self_similarity, items):
            columns = np.ascontiguousarray(similarity.T)  # of a symmetric matrix
            weigh(columns, None, columns.shape[1], self.settings)
            yield first, columns
            first += columns.shape[1]

    @property
    def scorer(self) -> Scorer | Tiles:
        """The function `score`, or tiles where the weights are dense."""
        if self.weights is None:
            return Tiles(self.histories, self.columns)
        return self.score

    def score(self, users: Int) -> Float:
        """Sum the weights of each user's history, in the order of its items."""
        if self.weights is None:
            return Tiles(self.histories, self.columns)(users)
        return super().score(users)

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Set the histories and sparse weights; compute dense ones, which are not in the state."""
        if "weights_data" in state:
            return super().restore(state)
        return self.fit(from_structure(state, "histories_"))


def weigh(
    entries: Float, column: NDArray[np.int32] | None, n_columns: int, settings: ItemKNNSettings
) -> None:
    """Turn similarities into weights, in place: powers, divided by the norm and sum of a column.

    `column` is that of each entry of a sparse matrix, None for a dense one.
    """
    np.power(entries, settings.q, out=entries, where=entries > 0.0)  # slow at 0
    norms = [2]
    if settings.normalise_scores:
        norms = [2, 1]
    for power in norms:
        powers = entries**power
        if column is None:
            sums = powers.sum(axis=0)
        else:
            sums = np.bincount(column, powers, minlength=n_columns)
        divisors = np.where(sums > 0.0, sums ** (1 / power), 1.0)
        if column is not None:
            divisors = divisors[column]
        entries /= divisors


def _similarity_of_nearest(
    train: scipy.sparse.csr_array, settings: ItemKNNSettings
) -> scipy.sparse.csr_array:
    """Similarity s' of eq. 28, transposed and zero where not near; never dense as a whole.

    The similarity is symmetric, so the nearest of its j-th row are those of its j-th column.
    """
    of_columns = settings.k
    of_rows = settings.k_prime
    if settings.neighbour_axis == "column":
        of_columns, of_rows = of_rows, of_columns
    near_columns: list[scipy.sparse.csr_array] = []
    near_rows: list[scipy.sparse.csr_array] = []
    for similarity in _slabs(train, settings.self_similarity):
        for k, near in ((of_columns, near_columns), (of_rows, near_rows)):
            if k is not None:
                near.append(scipy.sparse.csr_array(similarity * _nearest(similarity, k)))
    if not near_rows:
        return scipy.sparse.csr_array(scipy.sparse.vstack(near_columns, format="csr"))
    by_row = scipy.sparse.csr_array(scipy.sparse.vstack(near_rows).T.tocsr())
    if not near_columns:
        return by_row
    return scipy.sparse.csr_array(scipy.sparse.vstack(near_columns, format="csr") * (by_row > 0))


def _slabs(
    train: scipy.sparse.csr_array, self_similarity: bool, items: Int | None = None
) -> Iterator[Float]:
    """Yield some rows of the cosine of all pairs of items, eq. 27 with q = 1, at a time.

    Given items, at least two, yields only their rows.

    Computed as sqrt(c^2 / (n_i n_j)) from whole numbers, so that similarities equal on paper are
    equal in the machine and no neighbour is chosen by a rounding error. 0 where an item has no
    training event.
    """
    n_items = train.shape[1]
    counts = np.maximum(np.bincount(train.indices, minlength=n_items), 1).astype(np.float64)
    common_users = _common_users(train, is_whole=items is None)
    chosen = items
    if chosen is None:
        chosen = np.arange(n_items)
    starts = list(range(0, chosen.size, _SLAB))
    if len(starts) > 1 and starts[-1] == chosen.size - 1:
        starts.pop()  # numpy sums a single column in another order than one of several
    for first, end in pairwise([*starts, chosen.size]):
        rows = chosen[first:end]
        common = common_users(rows).astype(np.float64, order="C")
        similarity = np.sqrt(common * common / np.outer(counts[rows], counts))
        if not self_similarity:
            similarity[np.arange(rows.size), rows] = 0.0
        yield similarity


def _common_users(
    train: scipy.sparse.csr_array, is_whole: bool
) -> Callable[[Int], NDArray[np.integer]]:
    """Return the function that counts the users whom some items have in common with each item.

    `is_whole` if it is called for all items.
    """
    n_users, n_items = train.shape
    counted: Any = np.int32
    if n_users < 1 << 15:
        counted = np.int16
    by_user = scipy.sparse.csr_array(train, dtype=counted)
    by_item = by_user.T.tocsr()
    is_dense = by_user.nnz * n_items < _GAIN * np.square(np.diff(by_user.indptr), dtype=float).sum()
    if not is_dense:
        return lambda rows: (by_item[rows] @ by_user).toarray()
    if is_whole and n_items <= _MOST_WHOLE:
        common = _all_common_users(by_item)
        return lambda rows: common[rows]
    return lambda rows: _product(by_item, by_item[rows]).T


def _all_common_users(by_item: scipy.sparse.csr_array) -> NDArray[np.integer]:
    """Count the users that each pair of items has in common; half are computed, by symmetry."""
    n_items = by_item.shape[0]
    common = np.empty((n_items, n_items), dtype=by_item.dtype)
    for first in range(0, n_items, _SLAB):
        end = min(first + _SLAB, n_items)
        below = _product(by_item[first:], by_item[first:end])
        common[first:, first:end] = below
        common[first:end, first:] = below.T
    return common


def _product(left: scipy.sparse.csr_array, right: scipy.sparse.csr_array) -> NDArray[np.integer]:
    """Multiply a matrix by a transposed one, which is dense meanwhile."""
    return left @ np.ascontiguousarray(right.toarray().T)


def _nearest(similarity: Float, k: int) -> NDArray[np.bool_]:
    """Mark in each row its k largest entries, the earlier one where two are equal."""
    n = similarity.shape[1]
    if k >= n:
        return np.ones((1, 1), dtype=bool)
    kth = np.partition(similarity, n - k, axis=1)[:, n - k, np.newaxis]
    larger = similarity > kth
    equal = similarity == kth
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

    def fit(self, train: scipy.sparse.csr_array, threads: int = 1) -> Self:
        """Compute the similarities; each item's neighbours are found by one thread."""
        from implicit.nearest_neighbours import ItemItemRecommender, bm25_weight

        settings = self.settings
        model = ItemItemRecommender(K=min(settings.k, train.shape[1]), num_threads=threads)
        events = scipy.sparse.csr_array(train, dtype=np.float64)
        weighted = scipy.sparse.csr_matrix(bm25_weight(events.T, settings.k1, settings.b).T)
        model.fit(weighted, show_progress=False)
        self.histories = train
        self.weights = scipy.sparse.csr_array(model.similarity)
        return self
