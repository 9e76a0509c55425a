"""Populations of users by their true ranks, and the moments of metrics and estimates in them."""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from sampled_metrics import metrics
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import em_step
from sampled_metrics.intervals.kernels import bin_starts, in_bins
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import sampled_rank_distribution

_SINGLE_RANKS = 1000  # up to here every rank is a block of its own
_BLOCKS_PER_E_FOLD = 200  # beyond, a block of ranks is half a percent wide
_ITERATIONS = 100
_LOG_EXPONENTS = (-12.0, 0.0)  # natural, of power laws; exponent 1 is a random order of the items


class EstimateMoments(NamedTuple):
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
        Index of the kind of each user of an evaluation; empty if only shares are known.
    """

    ranks: Ranks
    share: Float
    kind: Int = field(default_factory=lambda: np.arange(0))

    @classmethod
    def from_ranks(cls, ranks: Ranks) -> "Population":
        """Describe the users of an evaluation."""
        rows = np.column_stack([ranks.n_candidates, ranks.n_better, ranks.n_tied])
        kinds, kind, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        return cls(Ranks(*kinds.T, is_checked=True), count / len(ranks), kind.ravel())

    @classmethod
    def from_counts(
        cls, counts: ArrayLike, n: int, sampling: Sampling | str, iterations: int = _ITERATIONS
    ) -> tuple["Population", Float]:
        """Fit a distribution of true ranks to counts of users at every sampled rank.

        Maximum likelihood by expectation maximisation from equally probable ranks, see
        `estimators.em_step`. The result is for planning, not for quoting. Also returns the
        shares of users that it expects at every sampled rank.
        """
        observed = np.asarray(counts, dtype=np.float64)
        ranks = rank_blocks(n)
        share = (ranks.n_tied + 1.0) / n
        seen = observed > 0
        given = sampled_rank_distribution(ranks, observed.size - 1, sampling)
        of_seen = given[:, seen]
        for _ in range(iterations):
            share = em_step(of_seen, share, observed[seen] / observed.sum())
        share /= share.sum()
        return cls(ranks, share), share @ given

    def exact(self, measure: Measure) -> float:
        """Calculate an exact metric, ties in expectation."""
        return float(self.exact_moments(measure).mean)

    def exact_moments(self, measure: Measure) -> EstimateMoments:
        """Calculate the moments of an exact metric, which does not vary for one user."""
        values = metrics.values(measure, self.ranks)
        mean = self.share @ values
        variance = self.share @ np.square(values - mean)
        return EstimateMoments(mean, np.zeros(()), variance, values)

    def moments(
        self, vectors: Float, sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT
    ) -> EstimateMoments:
        """Calculate the moments of estimates (eq. 16) by vectors, shape (..., m + 1)."""
        columns = vectors.shape[-1]
        expected, square = np.empty((2, *vectors.shape[:-1], len(self.ranks)))
        for rows in blocks(len(self.ranks), columns):
            given = sampled_rank_distribution(self.ranks.take(rows), columns - 1, sampling)
            for place in np.ndindex(vectors.shape[:-1]):  # so that they do not depend on each other
                expected[(*place, rows)] = given @ vectors[place]
                square[(*place, rows)] = given @ np.square(vectors[place])
        return self._moments(expected, square)

    def binned_moments(self, vectors: Float, sampling: Sampling | str) -> EstimateMoments:
        """Calculate the moments of estimates by vectors that are constant in the bins of a kernel.

        Much faster than `moments`, once the distribution of the bins is known.
        """
        m = vectors.shape[-1] - 1
        of_bins = vectors[..., bin_starts(m)]
        given = self.in_bins(m, sampling)
        return self._moments(of_bins @ given.T, np.square(of_bins) @ given.T)

    def _moments(self, expected: Float, square: Float) -> EstimateMoments:
        """Average expectations of estimates, and of their squares, over the kinds of users."""
        within = np.maximum(square - np.square(expected), 0.0) @ self.share
        mean = expected @ self.share
        total = np.maximum(square @ self.share - np.square(mean), 0.0)
        return EstimateMoments(mean, within, total, expected)

    def in_bins(self, m: int, sampling: Sampling | str) -> Float:
        """Calculate the distribution of the sampled rank of each kind; shape (kinds, bins)."""
        return _in_bins(self.ranks, m, Sampling(sampling))


_in_bins = lru_cache(maxsize=2)(in_bins)  # a plan needs two recommenders' several times


@lru_cache(maxsize=8)
def rank_blocks(n: int) -> Ranks:
    """Cut the ranks 1 ... n into blocks, each represented by ranks that are tied.

    The first thousand ranks are blocks of their own; beyond, a block is half a percent wide.
    """
    steps = np.arange(int(_BLOCKS_PER_E_FOLD * np.log(max(n / _SINGLE_RANKS, 1.0))) + 1)
    later = np.floor(_SINGLE_RANKS * np.exp(steps / _BLOCKS_PER_E_FOLD)).astype(np.int64)
    starts = np.unique(np.concatenate([np.arange(_SINGLE_RANKS), later]))
    starts = starts[starts < n]
    return Ranks(np.full(starts.size, n), starts, np.diff(starts, append=n) - 1, is_checked=True)


def power_law(n: int, exponent: float) -> Population:
    """Return the population in which a share (k/n)^exponent of users has a rank of at most k."""
    ranks = rank_blocks(n)
    up_to = (ranks.worst_rank / n) ** exponent
    return Population(ranks, np.diff(up_to, prepend=0.0))


def power_law_with(measure: Measure, value: float, n: int) -> Population:
    """Return the power law with a value of an exact metric.

    The metric falls from 1 to its value in a random order while the exponent rises from 0 to 1.
    """

    def above(log_exponent: float) -> float:
        return power_law(n, math.exp(log_exponent)).exact(measure) - value

    low, high = _LOG_EXPONENTS
    least = value + above(high)
    most = value + above(low)
    if not least < value < most:
        raise InputError(
            f"{measure} of {value:g} is not between that of a random order of {n:,} items, "
            f"{least:.4g}, and {most:.6g}; give another value (--value), or a smaller effect "
            "(--effect)"
        )
    return power_law(n, math.exp(brentq(above, low, high)))
