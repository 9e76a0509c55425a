"""Recommenders Y and Z: item-based collaborative filtering on cosine similarity (section 9)."""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sampled_metrics.errors import InputError
from sampled_metrics.numbers import check_number
from sampled_metrics.recommenders.neighbours import Neighbours

NEIGHBOUR_AXES = ("row", "column")
_SLAB = 256

Dense = NDArray[np.float64]


@dataclass(frozen=True)
class ItemKNNSettings:
    """Hyper-parameters in the paper's terms.

    Attributes
    ----------
    q
        Exponent that sharpens the similarity, eq. 27.
    k, k_prime
        Numbers of neighbours kept, eq. 28; None is infinity. Of equally similar items the one
        with the smaller number is the nearer.
    neighbour_axis
        `row`: k' keeps the nearest of each row of the similarity and k of each column, eq. 28 as
        printed; `column`: k' keeps the nearest of each column and k of each row.
    self_similarity
        Whether an item is its own neighbour (s_ii = 1) or not (s_ii = 0), in eq. 28-30 alike.
    normalise_scores
        Whether scores are divided by the row sum, eq. 30 as printed, or its numerator only.

    >>> ItemKNNSettings(k=0)
    Traceback (most recent call last):
    sampled_metrics.errors.InputError: itemknn: k is 0; allowed: a whole number of at least 1
    """

    q: float = 1.0
    k: int | None = None
    k_prime: int | None = None
    neighbour_axis: str = "row"
    self_similarity: bool = True
    normalise_scores: bool = True

    def __post_init__(self) -> None:
        check_number("itemknn: q", self.q, above=0.0)
        for name in ("k", "k_prime"):
            if getattr(self, name) is not None:
                check_number(f"itemknn: {name}", getattr(self, name), least=1)
        if self.neighbour_axis not in NEIGHBOUR_AXES:
            raise InputError(
                f"itemknn: neighbour_axis is {self.neighbour_axis!r}; "
                f"allowed: {', '.join(NEIGHBOUR_AXES)}"
            )
        for name in ("self_similarity", "normalise_scores"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(
                    f"itemknn: {name} is {getattr(self, name)!r}; allowed: true, false"
                )


class ItemKNN(Neighbours):
    """Scores an item by its similarity to the items of the user's history, eq. 27-30.

    `weights[j, i]` is s''_ij, divided by its sum over j where scores are normalised; a user's
    scores are the sum of the rows of its history. Float64 throughout.
    """

    KIND: ClassVar[str] = "itemknn"
    Settings: ClassVar[type[ItemKNNSettings]] = ItemKNNSettings

    def __init__(self, settings: ItemKNNSettings) -> None:
        super().__init__()
        self.settings = settings

    def fit(self, train: csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - one thread serves
        """Compute the weights; dense where all neighbours are kept, sparse where not."""
        chosen = self.settings
        weights = cosine_similarity(train)
        if not chosen.self_similarity:
            np.fill_diagonal(weights, 0.0)
        # The similarity is symmetric, so its j-th row serves as its j-th column and the weights,
        # s' transposed, arise in place.
        of_columns, of_rows = (
            (chosen.k, chosen.k_prime)
            if chosen.neighbour_axis == "row"
            else (chosen.k_prime, chosen.k)
        )
        kept = _nearest(weights, of_columns) & _nearest(weights, of_rows).T
        np.power(weights, chosen.q, out=weights)
        weights *= kept
        _divide_columns(weights, np.sqrt(np.einsum("ji,ji->i", weights, weights)))
        if chosen.normalise_scores:
            _divide_columns(weights, weights.sum(axis=0))
        self.histories = train
        sparse = chosen.k is not None or chosen.k_prime is not None
        self.weights = csr_array(weights) if sparse else weights
        return self


def cosine_similarity(train: csr_array) -> Dense:
    """Cosine of all pairs of items, eq. 27 with q = 1; float64, shape (items, items).

    Computed as sqrt(c^2 / (n_i n_j)) from whole numbers, so that similarities equal on paper are
    equal in the machine and no neighbour is chosen by a rounding error. 0 where an item has no
    training event.

    >>> cosine_similarity(csr_array([[1.0, 1, 0], [1, 0, 0]])).round(4)
    array([[1.    , 0.7071, 0.    ],
           [0.7071, 1.    , 0.    ],
           [0.    , 0.    , 0.    ]])
    """
    counted = csr_array(train, dtype=np.int32)
    by_item = counted.T.tocsr()
    events = np.maximum(by_item.sum(axis=1), 1).astype(np.float64)
    similarity = np.empty((train.shape[1], train.shape[1]))
    for first in range(0, train.shape[1], _SLAB):
        rows = slice(first, first + _SLAB)
        common = (by_item[rows] @ counted).toarray().astype(np.float64)
        similarity[rows] = np.sqrt(common * common / np.outer(events[rows], events))
    return similarity


def _nearest(similarity: Dense, k: int | None) -> NDArray[np.bool_]:
    """Mark in each row its k largest entries, the earlier one where two are equal."""
    n = similarity.shape[1]
    if k is None or k >= n:
        return np.ones((1, 1), dtype=bool)
    marked = np.empty(similarity.shape, dtype=bool)
    for first in range(0, n, _SLAB):
        rows = similarity[first : first + _SLAB]
        kth = np.partition(rows, n - k, axis=1)[:, n - k, np.newaxis]
        larger, equal = rows > kth, rows == kth
        places_left = k - larger.sum(axis=1, keepdims=True)
        marked[first : first + _SLAB] = larger | (equal & (equal.cumsum(axis=1) <= places_left))
    return marked


def _divide_columns(weights: Dense, by: Dense) -> None:
    weights /= np.where(by > 0.0, by, 1.0)
