"""A sampled evaluation: ranks among negatives, whose they are, and how the negatives were drawn."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from sampled_metrics import ranks
from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.defaults import CONFIDENCE
from sampled_metrics.estimators import Estimator, estimator_matrix
from sampled_metrics.inference.intervals import Estimate, Shape, estimate
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import Measure


@dataclass(frozen=True, eq=False)
class SampledRanks(ranks.SampledRanks):
    """Sampled ranks that are corrected: for each row's own n if `per_user`, else for the mean."""

    per_user: bool = False

    @cached_property
    def kinds(self) -> tuple[Int, Int]:
        """The different n to correct for, and for each row which of them it has."""
        if self.per_user and self.n_items.ndim:
            kinds, kind = np.unique(self.n_items, return_inverse=True)
            return kinds, kind
        return np.array([self.mean_candidates]), np.zeros(self.sampled_ranks.size, dtype=np.int64)

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
        return Population.smoothed(self.counts.sum(axis=0), self.mean_candidates, self.sampling)
