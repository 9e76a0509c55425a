"""Populations of users by their true ranks, and the moments of estimates in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics import metrics
from sampled_metrics._base.arrays import Float, Int, blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import em_step
from sampled_metrics.inference.brackets import likely_points
from sampled_metrics.inference.kernels import NON_INCREASING, kernel
from sampled_metrics.inference.outlook import KindMoments, Outlook, kind_moments
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import sampled_rank_distribution

_SINGLE_RANKS = 1000  # up to here every rank is a block of its own
_BLOCKS_PER_E_FOLD = 200  # beyond, a block of ranks is half a percent wide
_ITERATIONS = 100
_SMOOTHING_ITERATIONS = 30


@dataclass(frozen=True, eq=False)
class Population:
    """Kinds of users by their ranks, and the share of users of each kind.

    A kind with e ties describes users whose true ranks are uniform on b + 1 ... b + e + 1, so a few
    kinds describe a distribution over millions of ranks. (With replacement they are uniform on the
    interval from b + 1 to b + e + 1, because a tied candidate may be drawn twice and placed
    differently; in narrow blocks the difference is negligible.)

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
        """Describe the users of an evaluation.

        Examples
        --------
        >>> Population.of_users(Ranks([5, 5, 5], [1, 0, 1], [0, 0, 0])).share.round(3)
        array([0.333, 0.667])
        """
        rows = np.column_stack([ranks.n_candidates, ranks.n_better, ranks.n_tied])
        kinds, kind, count = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        return cls(Ranks.trusted(*kinds.T), count / len(ranks), kind.ravel())

    @classmethod
    def uniform(cls, n: int) -> "Population":
        """Describe a recommender that ranks at random: every rank is equally probable.

        Examples
        --------
        >>> Population.uniform(4).share
        array([0.25, 0.25, 0.25, 0.25])
        """
        return cls.power(n, 1.0)

    @classmethod
    def power(cls, n: int, exponent: float) -> "Population":
        """Describe users whose ranks are at most k with probability (k/n)^exponent.

        Exponent 1 is a random recommender, smaller ones are better.

        Examples
        --------
        >>> population = Population.power(4, 0.5)
        >>> population.share.round(3)
        array([0.5  , 0.207, 0.159, 0.134])
        """
        ranks = rank_blocks(n)
        share = (ranks.worst_rank / n) ** exponent - (ranks.n_better / n) ** exponent
        return cls(ranks, share)

    @classmethod
    def estimated(
        cls, counts: ArrayLike, n: int, sampling: Sampling | str, iterations: int = _ITERATIONS
    ) -> "Population":
        """Fit a distribution of true ranks to observed sampled ranks.

        Maximum likelihood by expectation maximisation from equally probable ranks, see
        `estimators.expectation`. The result is for planning, not for quoting.

        Parameters
        ----------
        counts
            Users at every sampled rank, shape (m + 1,).
        n
            Number of candidates, the held-out item included.
        sampling
            How negatives were drawn.
        iterations
            Steps of the expectation maximisation.

        Examples
        --------
        >>> population = Population.estimated([90, 10], 11, "without-replacement")
        >>> bool(population.share[:2].sum() > 0.5)
        True
        """
        observed = np.asarray(counts, dtype=np.float64)
        ranks, given = _blocks_and_given(n, observed.size - 1, sampling)
        share = (ranks.n_tied + 1.0) / n
        frequency = observed / observed.sum()
        seen = frequency > 0
        given, frequency = given[:, seen], frequency[seen]
        for _ in range(iterations):
            share = em_step(given, share, frequency)
        return cls(ranks, share / share.sum())

    @classmethod
    def non_increasing(cls, counts: ArrayLike, n: int, sampling: Sampling | str) -> "Population":
        """Fit a distribution of true ranks that does not increase with the rank.

        Maximum likelihood among mixtures of uniform distributions on the ranks 1 ... k.

        Examples
        --------
        >>> population = Population.non_increasing([5, 0, 4, 0], 50, "without-replacement")
        >>> bool((np.diff(population.share) <= 1e-15).all())
        True
        """
        values = np.asarray(counts, dtype=np.float64)
        table = kernel(n, values.size - 1, sampling, NON_INCREASING)
        points, weights = likely_points(values, table)
        ranks = rank_blocks(n)
        # Of each mixture's part on 1 ... k, the share up to the last rank of every block.
        up_to = [weights @ (np.minimum(end, points) / points) for end in ranks.worst_rank]
        return cls(ranks, np.diff(up_to, prepend=0.0))

    @staticmethod
    def smoothed(counts: ArrayLike, n: int, sampling: Sampling | str) -> Float:
        """Smooth the observed shares of sampled ranks by an `estimated` population.

        Stopped early as regularisation. float64, shape (m + 1,), summing to 1.

        Examples
        --------
        >>> Population.smoothed([5, 0, 4, 0], 50, "with-replacement").round(2)
        array([0.55, 0.13, 0.2 , 0.12])
        """
        population = Population.estimated(counts, n, sampling, _SMOOTHING_ITERATIONS)
        return population.share @ _blocks_and_given(n, np.size(counts) - 1, sampling)[1]

    def exact(self, measures: Sequence[Measure]) -> Float:
        """Calculate exact metrics, ties in expectation; shape (measures,)."""
        return np.array([self.share @ metrics.values(measure, self.ranks) for measure in measures])

    def sd_of_exact(self, measure: Measure) -> float:
        """Calculate the standard deviation of the exact metric over users."""
        values = metrics.values(measure, self.ranks)
        return float(np.sqrt(self.share @ np.square(values - self.share @ values)))

    def sampled_shares(self, m: int, sampling: Sampling | str) -> Float:
        """Calculate the expected shares of users at every sampled rank; shape (m + 1,).

        Examples
        --------
        >>> Population.uniform(4).sampled_shares(1, "without-replacement")
        array([0.5, 0.5])
        """
        shares = np.zeros(m + 1)
        for rows in blocks(len(self.ranks), m + 1):
            shares += self.share[rows] @ sampled_rank_distribution(
                self.ranks.take(rows), m, sampling
            )
        return shares

    def outlook(
        self,
        vectors: Float,
        sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
        ties: str = "random",
    ) -> "Outlook":
        """Calculate mean and variance of the estimate of one user (eq. 16).

        Parameters
        ----------
        vectors
            Estimators, shape (..., m + 1).
        sampling, ties
            See `sampling.sampled_rank_distribution`.
        """
        return self.of_kinds(kind_moments(self.ranks, vectors, sampling, ties))

    def of_kinds(self, moments: "KindMoments") -> "Outlook":
        """Average the moments of the kinds of users."""
        expected, square = moments
        within = np.maximum(square - np.square(expected), 0.0) @ self.share
        mean = expected @ self.share
        total = np.maximum(square @ self.share - np.square(mean), 0.0)
        return Outlook(mean, within, total, expected)


@lru_cache(maxsize=4)
def _blocks_and_given(n: int, m: int, sampling: Sampling | str) -> tuple[Ranks, Float]:
    """Return blocks of ranks and the distribution of the sampled rank given each."""
    ranks = rank_blocks(n)
    return ranks, sampled_rank_distribution(ranks, m, sampling)


@lru_cache(maxsize=8)
def rank_blocks(n: int) -> Ranks:
    """Cut the ranks 1 ... n into blocks, each represented by ranks that are tied.

    The first thousand ranks are blocks of their own; beyond, a block is half a percent wide.

    Examples
    --------
    >>> len(rank_blocks(10**6))
    2382
    """
    if n < 2:
        raise InputError(f"n is {n}; it must be at least 2")
    first = np.arange(min(n, _SINGLE_RANKS))
    steps = np.arange(1, 1 + int(_BLOCKS_PER_E_FOLD * np.log(max(n / _SINGLE_RANKS, 1.0))))
    later = np.floor(_SINGLE_RANKS * np.exp(steps / _BLOCKS_PER_E_FOLD)).astype(np.int64)
    starts = np.concatenate([first, [_SINGLE_RANKS] if n > _SINGLE_RANKS else [], later])
    starts = np.unique(starts[starts < n].astype(np.int64))
    return Ranks.trusted(np.full(starts.size, n), starts, np.diff(starts, append=n) - 1)
