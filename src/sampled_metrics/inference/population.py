"""Populations of users by their true ranks, and the moments of estimates in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics import metrics
from sampled_metrics._base.arrays import Float, Int, blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import em_step
from sampled_metrics.inference.brackets import NON_INCREASING, kernel, likely_points
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import sampled_rank_distribution

_SINGLE_RANKS = 1000  # up to here every rank is a block of its own
_BLOCKS_PER_E_FOLD = 200  # beyond, a block of ranks is half a percent wide
_ITERATIONS = 100


class Moments(NamedTuple):
    """Moments of the estimate of one user drawn from a population; arrays of one shape."""

    mean: Float  # over users and negatives
    within: Float  # variance over negatives, averaged over users
    total: Float  # variance over users and negatives
    by_kind: Float  # expectation over negatives for each kind of user; one axis more


@dataclass(frozen=True, eq=False)
class Population:
    """Kinds of users by their ranks, and the share of users of each kind.

    A kind with e ties describes users whose true ranks are uniform on b + 1 ... b + e + 1, so a few
    kinds describe a distribution over millions of ranks. (With replacement they are uniform on the
    interval from b + 1 to b + e + 1; in narrow blocks the difference is negligible.)

    Attributes
    ----------
    ranks
        Ranks of each kind.
    share
        Share of users of each kind; float64, shape (kinds,), summing to 1.
    kind
        Index of the kind of each user of an evaluation; None if only shares are known.
    """

    ranks: Ranks
    share: Float
    kind: Int | None = None

    @classmethod
    def of_users(cls, ranks: Ranks) -> "Population":
        """Describe the users of an evaluation."""
        rows = np.column_stack([ranks.n_candidates, ranks.n_better, ranks.n_tied])
        kinds, kind, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        return cls(Ranks.trusted(*kinds.T), count / len(ranks), kind.ravel())

    @classmethod
    def estimated(
        cls, counts: ArrayLike, n: int, sampling: Sampling | str, iterations: int = _ITERATIONS
    ) -> "Population":
        """Fit a distribution of true ranks to counts of users at every sampled rank.

        Maximum likelihood by expectation maximisation from equally probable ranks, see
        `estimators.em_step`. The result is for planning, not for quoting.
        """
        observed, ranks = np.asarray(counts, dtype=np.float64), rank_blocks(n)
        share, seen = (ranks.n_tied + 1.0) / n, observed > 0
        given = sampled_rank_distribution(ranks, observed.size - 1, sampling)[:, seen]
        for _ in range(iterations):
            share = em_step(given, share, observed[seen] / observed.sum())
        return cls(ranks, share / share.sum())

    @classmethod
    def non_increasing(cls, counts: ArrayLike, n: int, sampling: Sampling | str) -> "Population":
        """Fit a distribution of true ranks that does not increase with the rank.

        Maximum likelihood among mixtures of uniform distributions on the ranks 1 ... k.
        """
        values, ranks = np.asarray(counts, dtype=np.float64), rank_blocks(n)
        table = kernel(n, values.size - 1, sampling, NON_INCREASING, None)
        rows, weights = likely_points(values, table)
        points = table.points[rows]
        # Of each mixture's part on 1 ... k, the share up to the last rank of every block.
        up_to = [weights @ (np.minimum(end, points) / points) for end in ranks.worst_rank]
        return cls(ranks, np.diff(up_to, prepend=0.0))

    def exact(self, measures: Sequence[Measure]) -> Float:
        """Calculate exact metrics, ties in expectation; shape (measures,)."""
        return np.array([self.exact_moments(measure).mean for measure in measures])

    def exact_moments(self, measure: Measure) -> Moments:
        """Calculate the moments of an exact metric, which does not vary for one user."""
        values = metrics.values(measure, self.ranks)
        mean = self.share @ values
        variance = self.share @ np.square(values - mean)
        return Moments(mean, np.zeros(()), variance, values)

    def moments(
        self, vectors: Float, sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT
    ) -> Moments:
        """Calculate the moments of estimates (eq. 16) by vectors, shape (..., m + 1)."""
        columns = np.shape(vectors)[-1]
        flat = np.reshape(vectors, (-1, columns))
        expected, square = np.empty((2, len(flat), len(self.ranks)))
        for rows in blocks(len(self.ranks), columns):
            given = sampled_rank_distribution(self.ranks.take(rows), columns - 1, sampling)
            for place, vector in enumerate(flat):
                expected[place, rows] = given @ vector
                square[place, rows] = given @ np.square(vector)
        shape = (*np.shape(vectors)[:-1], len(self.ranks))
        expected, square = expected.reshape(shape), square.reshape(shape)
        within = np.maximum(square - np.square(expected), 0.0) @ self.share
        mean = expected @ self.share
        total = np.maximum(square @ self.share - np.square(mean), 0.0)
        return Moments(mean, within, total, expected)

    def sampled_shares(self, m: int, sampling: Sampling | str) -> Float:
        """Calculate the expected shares of users at every sampled rank; shape (m + 1,)."""
        shares = np.zeros(m + 1)
        for rows in blocks(len(self.ranks), m + 1):
            given = sampled_rank_distribution(self.ranks.take(rows), m, sampling)
            shares += self.share[rows] @ given
        return shares


@lru_cache(maxsize=8)
def rank_blocks(n: int) -> Ranks:
    """Cut the ranks 1 ... n into blocks, each represented by ranks that are tied.

    The first thousand ranks are blocks of their own; beyond, a block is half a percent wide.
    """
    if n < 2:
        raise InputError(f"n is {n}; it must be at least 2")
    steps = np.arange(int(_BLOCKS_PER_E_FOLD * np.log(max(n / _SINGLE_RANKS, 1.0))) + 1)
    later = np.floor(_SINGLE_RANKS * np.exp(steps / _BLOCKS_PER_E_FOLD)).astype(np.int64)
    starts = np.unique(np.concatenate([np.arange(_SINGLE_RANKS), later]))
    starts = starts[starts < n]
    return Ranks.trusted(np.full(starts.size, n), starts, np.diff(starts, append=n) - 1)
