"""Vectors of estimators for sampled ranks, and their values for each user."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import Estimator, estimator_matrix
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import SampledRanks, Sampling


class Solved(NamedTuple):
    """Estimators' vectors for some sampled ranks.

    Attributes
    ----------
    items
        The n corrected for, increasing.
    vectors
        Of every n corrected for, concatenated; shape (measures, estimators, number of n x (m + 1)).
    places
        Where the estimate of each row is in a vector; shape (rows,).
    users, user
        Ids of the different users, in order, and the index of each row's user among them. Without
        ids each row is a user.
    """

    items: Int
    vectors: Float
    places: Int
    users: NDArray[Any] | None
    user: Int

    @property
    def n_users(self) -> int:
        """Number of users."""
        return self.user.size if self.users is None else self.users.size

    @property
    def repeats(self) -> bool:
        """Whether a user has several rows."""
        return self.n_users < self.user.size

    def user_values(self, measure: int, estimator: int) -> Float:
        """Estimate of one metric for each user: the mean over their rows."""
        values = self.vectors[measure, estimator, self.places]
        return np.asarray(np.bincount(self.user, values) / np.bincount(self.user), np.float64)


def solve(
    ranks: SampledRanks,
    measures: Sequence[Measure],
    estimators: Sequence[Estimator],
    per_user: bool = False,
) -> Solved:
    """Solve for the vectors that correct sampled ranks, and place the rows in them.

    Fitted estimators are fitted to all rows, each user having the same weight.
    """
    items, which = np.array([ranks.mean_candidates]), np.zeros(len(ranks), dtype=np.int64)
    if per_user and ranks.n_items.ndim:
        items, which = np.unique(ranks.n_items, return_inverse=True)
    m = ranks.n_negatives
    users: NDArray[Any] | None = None
    user = np.arange(len(ranks))
    if ranks.users is not None:
        users, user = np.unique(ranks.users, return_inverse=True)
    histogram = _histogram(ranks, user, items, estimators)
    solved = [
        _vectors(tuple(estimators), tuple(measures), n, m, ranks.sampling, histogram)
        for n in tqdm(items.tolist(), "n_candidates", delay=1.0, disable=None)
    ]
    places = which * (m + 1) + ranks.sampled_ranks - 1
    return Solved(items, np.concatenate(solved, axis=-1), places, users, user)


def _histogram(
    ranks: SampledRanks, user: Int, items: Int, estimators: Sequence[Estimator]
) -> tuple[float, ...] | None:
    """Count users at each sampled rank, for fitted estimators; None without one."""
    fitted = [str(estimator) for estimator in estimators if estimator.fitted]
    if not fitted:
        return None
    if items.size > 1:
        raise InputError(
            f"{fitted[0]} is fitted to all users together and cannot correct each for its own n; "
            "leave it out, or correct all for the mean n"
        )
    weights = 1.0 / np.bincount(user)[user]
    return tuple(np.bincount(ranks.sampled_ranks - 1, weights, ranks.n_negatives + 1).tolist())


@lru_cache(maxsize=256)
def _vectors(
    estimators: tuple[Estimator, ...],
    measures: tuple[Measure, ...],
    n: int,
    m: int,
    sampling: Sampling,
    histogram: tuple[float, ...] | None,
) -> Float:
    vectors = estimator_matrix(estimators, measures, n, m, sampling=sampling, histogram=histogram)
    vectors.flags.writeable = False
    return vectors
