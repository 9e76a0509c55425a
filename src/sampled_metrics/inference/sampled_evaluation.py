"""A sampled evaluation: ranks among negatives, whose they are, and how the negatives were drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.defaults import CONFIDENCE
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import Estimator, estimator_matrix
from sampled_metrics.inference.intervals import Estimate, Shape, estimate
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks.sampling import Sampling


@dataclass(frozen=True)
class SampledRanks:
    """Sampled ranks with what is needed to correct them.

    Attributes
    ----------
    sampled_ranks
        Rank of the held-out item among itself and m negatives, 1 to m + 1; integers, shape
        (rows,).
    n_items
        n: candidates of a full ranking, the held-out item included (the catalogue without the
        user's training items); a number, or one a row, shape (rows,).
    n_negatives
        m: negatives drawn for each user, the held-out item not included; below n.
    sampling
        `without-replacement`, `with-replacement` or `distinct` (with replacement, one of each
        kept); decides the noise model of the corrections.
    users
        Whose row it is, shape (rows,); rows of one user (repeated draws, or several held-out
        items) are averaged before users are. Every row is a user's own if not given.
    per_user
        Whether every row is corrected for its own n; else for the mean of all, rounded.

    Raises
    ------
    InputError
        A rank, a number or a name is not allowed; the message says which and what is.

    >>> SampledRanks([1, 4, 1], n_items=[30, 40, 50], n_negatives=3).mean_items
    40
    """

    sampled_ranks: Int
    n_items: Int
    n_negatives: int
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT
    users: NDArray[np.generic] | None = None
    per_user: bool = False

    def __post_init__(self) -> None:
        rank = _whole("sampled_ranks", self.sampled_ranks)
        items = _whole("n_items", self.n_items)
        object.__setattr__(self, "sampled_ranks", rank)
        object.__setattr__(self, "n_items", items)
        object.__setattr__(self, "sampling", Sampling(self.sampling))
        if rank.ndim != 1 or not rank.size:
            raise InputError(f"sampled ranks of shape {rank.shape}; allowed: (rows,), not empty")
        if items.shape not in {(), rank.shape}:
            raise InputError(f"n_items of shape {items.shape}; allowed: one number or {rank.shape}")
        if self.users is not None:
            object.__setattr__(self, "users", np.asarray(self.users))
            if np.shape(self.users) != rank.shape:
                raise InputError(f"users of shape {np.shape(self.users)}; allowed: {rank.shape}")
        self._check_range()

    def _check_range(self) -> None:
        m, rank = self.n_negatives, self.sampled_ranks
        if m < 1:
            raise InputError(f"n_negatives is {m}; allowed: at least 1")
        if self.n_items.min() <= m:
            raise InputError(
                f"n_negatives is {m} with n_items {self.n_items.min()}; allowed: at most "
                f"{self.n_items.min() - 1}, the items beside the held-out one"
            )
        bad = (rank < 1) | (rank > m + 1)
        if bad.any():
            row = int(np.argmax(bad))
            raise InputError(
                f"sampled rank {rank[row]} in row {row + 1}; allowed: 1 to {m + 1}, the places "
                f"beside {m} negatives"
            )

    @property
    def mean_items(self) -> int:
        """Mean of `n_items` over rows, rounded."""
        return round(float(self.n_items.mean()))

    @cached_property
    def kinds(self) -> tuple[Int, Int]:
        """The different n to correct for, and for each row which of them it has."""
        if self.per_user and self.n_items.ndim:
            kinds, kind = np.unique(self.n_items, return_inverse=True)
            return kinds, kind
        return np.array([self.mean_items]), np.zeros(self.sampled_ranks.size, dtype=np.int64)

    @cached_property
    def by_user(self) -> tuple[NDArray[np.generic], Int] | None:
        """The different users in order and each row's place among them; None without `users`."""
        if self.users is None:
            return None
        names, codes = np.unique(self.users, return_inverse=True)
        return names, codes

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.sampled_ranks.size if self.by_user is None else self.by_user[0].size

    @cached_property
    def counts(self) -> Int:
        """Rows of every kind at every sampled rank, shape (kinds, m + 1)."""
        kinds, kind = self.kinds
        cells = kind * (self.n_negatives + 1) + self.sampled_ranks - 1
        flat = np.bincount(cells, minlength=kinds.size * (self.n_negatives + 1))
        return flat.reshape(kinds.size, -1)

    def vectors(self, estimators: Sequence[Estimator], measures: Sequence[Measure]) -> Float:
        """Vectors of every estimator, shape (measures, estimators, kinds, m + 1)."""
        by_kind = [
            estimator_matrix(estimators, measures, n, self.n_negatives, sampling=self.sampling)
            for n in tqdm(self.kinds[0].tolist(), "n_candidates", delay=1.0, disable=None)
        ]
        return np.stack(by_kind, axis=2)

    def values(self, vectors: Float) -> Float:
        """Estimate of every user from vectors of shape (kinds, m + 1), in the order of `by_user`.

        The mean over a user's rows; without `users` one a row, in their order.
        """
        values: Float = vectors[self.kinds[1], self.sampled_ranks - 1]
        if self.by_user is None:
            return values
        codes = self.by_user[1]
        return np.asarray(np.bincount(codes, values) / np.bincount(codes), dtype=np.float64)

    def estimate(self, vectors: Float, confidence: float = CONFIDENCE) -> Estimate:
        """Mean over users of vectors of shape (kinds, m + 1), with its uncertainty."""
        prior = Shape.of(vectors)
        if self.n_users < self.sampled_ranks.size:
            return estimate(Shape.of(self.values(vectors)), self.n_users, prior, confidence)
        likely = Shape.of(vectors, np.outer(self.counts.sum(axis=1), self._smoothed))
        observed = Shape.of(vectors, self.counts)
        return estimate(observed, self.n_users, prior, confidence, likely)

    @cached_property
    def _smoothed(self) -> Float:
        return Population.smoothed(self.counts.sum(axis=0), self.mean_items, self.sampling)


def _whole(name: str, values: ArrayLike) -> Int:
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} of type {array.dtype}; allowed: integers")
    return array.astype(np.int64)
