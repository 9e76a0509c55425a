"""Recommenders Y and Z: item-based collaborative filtering on cosine similarity (section 9)."""

from collections.abc import Iterator
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.sparse import csr_array, issparse, vstack

from sampled_metrics._base.settings import Count, Settings
from sampled_metrics.recommenders.base import register
from sampled_metrics.recommenders.neighbours import Neighbours

_SLAB = 256
_GAIN = 20  # sums of a dense product in the time of one of a sparse product
# Up to so many items the weights of all pairs are kept, in 2 GB; those of more are made tile by
# tile whenever they are needed.
MOST_KEPT = 1 << 14

Dense = NDArray[np.float64]


class ItemKNNSettings(Settings):
    """Hyper-parameters in the paper's terms.

    Of equally similar items, the one with the smaller number is the nearer.
    """

    q: Annotated[float, Field(gt=0)] = 1.0
    """Exponent that sharpens the similarity, eq. 27."""
    k: Count | None = None
    """Neighbours kept, k of eq. 28; null is infinity."""
    k_prime: Count | None = None
    """Neighbours kept, k' of eq. 28; null is infinity."""
    neighbour_axis: Literal["row", "column"] = "row"
    """Whether k' keeps the nearest of each row of the similarity and k those of each column, as
    eq. 28 is printed, or k' those of each column and k those of each row."""
    self_similarity: bool = True
    """Whether an item is its own neighbour (s_ii = 1) or not (s_ii = 0), in eq. 28-30 alike."""
    normalise_scores: bool = True
    """Whether scores are divided by the row sum, as eq. 30 is printed, or are its numerator."""


@register("itemknn")
class ItemKNN(Neighbours):
    """Scores an item by its similarity to the items of the user's history, eq. 27-30.

    `weights[j, i]` is s''_ij, divided by its sum over j where scores are normalised; a user's
    scores are the sum of the rows of its history. Float64 throughout.
    """

    Settings = ItemKNNSettings

    def fit(self, train: csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - one thread serves
        """Compute the weights, dense where all neighbours are kept and sparse where not.

        Those of all pairs of more than `MOST_KEPT` items are left to `columns`.
        """
        self.histories, self.weights = train, None
        self.__dict__.pop("_events", None)  # of an earlier fit
        settings, n_items = self.settings, train.shape[1]
        if settings.k is not None or settings.k_prime is not None:
            self.weights = self._weighted(_similarity_of_nearest(train, settings))
            self.weights.eliminate_zeros()
        else:
            self.weights = self.columns(0, n_items) if n_items <= MOST_KEPT else None
        return self

    def columns(self, first: int, end: int) -> Dense:
        """Compute some columns of the weights of all pairs."""
        if self.weights is not None:
            return super().columns(first, end)
        # numpy sums a single column in another order.
        n_items = self.histories.shape[1]
        begin, stop = max(min(first, end - 2), 0), min(max(end, 2), n_items)
        similarity = np.empty((n_items, stop - begin))
        for row, rows in _slabs(self._events, begin, stop):
            if not self.settings.self_similarity:
                rows[np.arange(len(rows)), row + np.arange(len(rows))] = 0.0
            similarity[:, row - begin : row - begin + len(rows)] = rows.T
        return self._weighted(similarity)[:, first - begin : end - begin]

    @cached_property
    def _events(self) -> "_Events":
        return _Events.of(self.histories)

    def _weighted(self, similarity: Any) -> Any:
        """Turn columns of the similarity into columns of the weights, in place."""
        entries = similarity.data if issparse(similarity) else similarity
        np.power(entries, self.settings.q, out=entries, where=entries > 0.0)  # 0 is slow
        _divide_columns(similarity, np.sqrt(_column_sums(similarity, 2)))
        if self.settings.normalise_scores:
            _divide_columns(similarity, _column_sums(similarity, 1))
        return similarity


def _similarity_of_nearest(train: csr_array, settings: ItemKNNSettings) -> csr_array:
    """Similarity s' of eq. 28, transposed and zero where not near; never dense as a whole.

    The similarity is symmetric, so the nearest of its j-th row are those of its j-th column.
    """
    of_columns, of_rows = (
        (settings.k, settings.k_prime)
        if settings.neighbour_axis == "row"
        else (settings.k_prime, settings.k)
    )
    near_columns: list[csr_array] = []
    near_rows: list[csr_array] = []
    for first, similarity in _slabs(_Events.of(train), 0, train.shape[1]):
        if not settings.self_similarity:
            rows = np.arange(len(similarity))
            similarity[rows, first + rows] = 0.0
        for k, near in ((of_columns, near_columns), (of_rows, near_rows)):
            if k is not None:
                near.append(csr_array(similarity * _nearest(similarity, k)))
    if not near_rows:
        return csr_array(vstack(near_columns, format="csr"))
    by_row = csr_array(vstack(near_rows).T.tocsr())
    return csr_array(vstack(near_columns, format="csr") * (by_row > 0)) if near_columns else by_row


def cosine_similarity(train: csr_array) -> Dense:
    """Cosine of all pairs of items, eq. 27 with q = 1; float64, shape (items, items).

    Computed as sqrt(c^2 / (n_i n_j)) from whole numbers, so that similarities equal on paper are
    equal in the machine and no neighbour is chosen by a rounding error. 0 where an item has no
    training event.

    Examples
    --------
    >>> cosine_similarity(csr_array([[1.0, 1, 0], [1, 0, 0]])).round(4)
    array([[1.    , 0.7071, 0.    ],
           [0.7071, 1.    , 0.    ],
           [0.    , 0.    , 0.    ]])
    """
    slabs = _slabs(_Events.of(train), 0, train.shape[1])
    return np.concatenate([np.empty((0, train.shape[1])), *(rows for _, rows in slabs)])


class _Events(NamedTuple):
    """Training events by user and by item, and how many each item has, at least 1."""

    by_user: csr_array
    by_item: csr_array
    counts: Dense
    many: bool  # so that a sparse product would be slower than one with a dense factor

    @classmethod
    def of(cls, train: csr_array) -> "_Events":
        small = train.shape[0] <= np.iinfo(np.int16).max  # numbers of users are
        by_user = csr_array(train, dtype=np.int16 if small else np.int32)
        by_item, squares = by_user.T.tocsr(), np.square(np.diff(by_user.indptr), dtype=np.int64)
        counts = np.maximum(by_item.sum(axis=1), 1).astype(np.float64)
        many = small and by_user.nnz * by_user.shape[1] < _GAIN * squares.sum()
        return cls(by_user, by_item, counts, many)

    def common(self, rows: slice) -> Dense:
        """Count the users that some items have in common with each item."""
        if self.many:
            factor = np.ascontiguousarray(self.by_item[rows].toarray().T)
            return (self.by_item @ factor).T.astype(np.float64, order="C")
        return (self.by_item[rows] @ self.by_user).toarray().astype(np.float64)


def _slabs(events: _Events, begin: int, end: int) -> Iterator[tuple[int, Dense]]:
    """Some rows of the similarity at a time, after the number of the first."""
    for first in range(begin, end, _SLAB):
        rows = slice(first, min(first + _SLAB, end))
        common = events.common(rows)
        yield first, np.sqrt(common * common / np.outer(events.counts[rows], events.counts))


def _nearest(similarity: Dense, k: int) -> NDArray[np.bool_]:
    """Mark in each row its k largest entries, the earlier one where two are equal."""
    n = similarity.shape[1]
    if k >= n:
        return np.ones((1, 1), dtype=bool)
    kth = np.partition(similarity, n - k, axis=1)[:, n - k, np.newaxis]
    larger, equal = similarity > kth, similarity == kth
    places_left = k - larger.sum(axis=1, keepdims=True)
    return larger | (equal & (equal.cumsum(axis=1) <= places_left))


def _column_sums(weights: Any, power: int) -> Dense:
    """Sum each column, or its squares, from the first row to the last."""
    if issparse(weights):
        sums = np.bincount(weights.indices, weights.data**power, minlength=weights.shape[1])
        return sums.astype(np.float64)
    return weights.sum(axis=0) if power == 1 else np.einsum("ji,ji->i", weights, weights)


def _divide_columns(weights: Any, by: Dense) -> None:
    by = np.where(by > 0.0, by, 1.0)
    if issparse(weights):
        weights.data /= by[weights.indices]
    else:
        weights /= by
