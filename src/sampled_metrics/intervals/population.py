"""Populations of users by their true ranks, and the moments of metrics and estimates in them.

Question: which mean and variance would a metric or an estimate have among such users?

A population is a distribution of true ranks. Its users come from full rankings, from a fit to
sampled ranks, or from a power law. Plans and pages compute with it instead of simulating users.
"""

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from sampled_metrics import metrics
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators import em_step
from sampled_metrics.intervals.constants import (
    BLOCKS_PER_E_FOLD,
    LOG_EXPONENTS,
    POPULATION_STEPS,
    SINGLE_RANK_BLOCKS,
)
from sampled_metrics.intervals.kernels import bin_probabilities, bin_starts
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling import sampled_rank_distribution


class EstimateMoments(NamedTuple):
    """Moments of the estimate of one user drawn from a population; arrays of one shape."""

    mean: Float  # over users and negatives
    within: Float  # variance over negatives, averaged over users
    total: Float  # variance over users and negatives
    by_cohort: Float  # expectation over negatives for each cohort of users; one axis more


@dataclass(frozen=True, eq=False)
class Population:
    """Cohorts of users with equal ranks, and the share of users in each.

    A cohort with b better and e tied candidates stands for users with true ranks that are uniform
    on b + 1 ... b + e + 1. So a few cohorts describe a distribution over millions of ranks. (For
    negatives drawn with replacement the rank is uniform on the interval from b + 1 to b + e + 1,
    which makes no difference in narrow blocks.)

    Attributes
    ----------
    ranks
        Ranks of each cohort.
    share
        Share of users in each cohort; float64, shape (cohorts,), summing to 1.
    cohort_of_user
        Index of the cohort of each user of an evaluation; empty if only shares are known.
    """

    ranks: Ranks
    share: Float
    cohort_of_user: Int = field(default_factory=lambda: np.arange(0))

    @classmethod
    def from_ranks(cls, ranks: Ranks) -> "Population":
        """Describe the users of an evaluation."""
        rows = np.column_stack([ranks.n_candidates, ranks.n_better, ranks.n_tied])
        cohorts, cohort_of_user, n_users = np.unique(
            rows, axis=0, return_inverse=True, return_counts=True
        )
        n_candidates, n_better, n_tied = cohorts.T
        share = n_users / len(ranks)
        return cls(Ranks(n_candidates, n_better, n_tied), share, cohort_of_user.ravel())

    @classmethod
    def from_counts(
        cls, counts: ArrayLike, n: int, sampling: Sampling | str, iterations: int = POPULATION_STEPS
    ) -> tuple["Population", Float]:
        """Fit a distribution of true ranks to counts of users at every sampled rank.

        Maximum likelihood by expectation maximisation from equally probable ranks, see
        `estimators.em_step`; true ranks are summed up in blocks, see `rank_blocks`. The result is
        for planning, not for quoting.

        Parameters
        ----------
        counts
            Users at every sampled rank; shape (m + 1,).
        n, sampling
            Number of candidates, and how the negatives were drawn.
        iterations
            Steps of expectation maximisation.

        Returns
        -------
        Population, ndarray
            The population, and the share of users that it expects at every sampled rank.
        """
        counts_of_rank = np.asarray(counts, dtype=np.float64)
        m = counts_of_rank.size - 1
        ranks = rank_blocks(n)
        share = (ranks.n_tied + 1.0) / n  # equally probable ranks
        probabilities = sampled_rank_distribution(ranks, m, sampling)  # shape (blocks, m + 1)
        occurs = counts_of_rank > 0
        probabilities_observed = probabilities[:, occurs]
        shares_observed = counts_of_rank[occurs] / counts_of_rank.sum()
        for _ in range(iterations):
            share = em_step(probabilities_observed, share, shares_observed)
        share /= share.sum()
        return cls(ranks, share), share @ probabilities

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
        """Calculate the moments of estimates by vectors over sampled ranks (equation 16).

        With Q(s) the probability of sampled rank s for a user of some cohort, the estimate x(s) of
        the user has the expectations sum of Q(s) x(s), and sum of Q(s) x(s)^2 of its square.

        Parameters
        ----------
        vectors
            x, shape (..., m + 1).
        sampling
            How the m negatives are drawn.

        Returns
        -------
        EstimateMoments
            Of shape (...).
        """
        *n_vectors, n_sampled_ranks = vectors.shape
        n_cohorts = len(self.ranks)
        expected = np.empty((*n_vectors, n_cohorts))
        expected_square = np.empty((*n_vectors, n_cohorts))
        for cohorts in blocks(n_cohorts, n_sampled_ranks):
            probabilities = sampled_rank_distribution(
                self.ranks.take(cohorts), n_sampled_ranks - 1, sampling
            )
            # One at a time, so that the last digits of a vector do not depend on the others.
            for index in np.ndindex(*n_vectors):
                expected[(*index, cohorts)] = probabilities @ vectors[index]
                expected_square[(*index, cohorts)] = probabilities @ np.square(vectors[index])
        return self._moments(expected, expected_square)

    def binned_moments(self, vectors: Float, probabilities: Float) -> EstimateMoments:
        """Calculate the moments of estimates by vectors that are constant in the bins of a kernel.

        Much faster than `moments`, once the `bin_probabilities` are known.
        """
        m = vectors.shape[-1] - 1
        entries = vectors[..., bin_starts(m)]  # one per bin
        return self._moments(entries @ probabilities.T, np.square(entries) @ probabilities.T)

    def _moments(self, expected: Float, expected_square: Float) -> EstimateMoments:
        """Average expectations of estimates, and of their squares, over the cohorts.

        Both are of shape (..., cohorts).
        """
        variance_of_cohort = np.maximum(expected_square - np.square(expected), 0.0)
        mean = expected @ self.share
        total = np.maximum(expected_square @ self.share - np.square(mean), 0.0)
        return EstimateMoments(
            mean=mean, within=variance_of_cohort @ self.share, total=total, by_cohort=expected
        )

    def bin_probabilities(self, m: int, sampling: Sampling | str) -> Float:
        """Calculate the distribution of the sampled rank of each cohort; shape (cohorts, bins)."""
        return bin_probabilities(self.ranks, m, Sampling(sampling))


@lru_cache(maxsize=8)
def rank_blocks(n: int) -> Ranks:
    """Cut the ranks 1 ... n into blocks, each represented by an item with ties.

    The first thousand ranks are blocks of their own; beyond, a block is half a percent wide.

    Examples
    --------
    >>> blocks = rank_blocks(1_000_000)
    >>> len(blocks), blocks.n_tied[[0, 1000, -1]]
    (2382, array([   0,    4, 2751]))
    """
    n_steps = int(BLOCKS_PER_E_FOLD * np.log(max(n / SINGLE_RANK_BLOCKS, 1.0)))
    steps = np.arange(n_steps + 1)
    later = np.floor(SINGLE_RANK_BLOCKS * np.exp(steps / BLOCKS_PER_E_FOLD)).astype(np.int64)
    starts = np.unique(np.concatenate([np.arange(SINGLE_RANK_BLOCKS), later]))  # from 0
    starts = starts[starts < n]
    widths = np.diff(starts, append=n)
    return Ranks(np.full(starts.size, n), starts, widths - 1)


def power_law(n: int, exponent: float) -> Population:
    """Return the population in which a share (k/n)^exponent of users has a rank of at most k.

    Examples
    --------
    >>> round(power_law(100, 0.5).exact(Measure("recall", 1)), 6)
    0.1
    """
    ranks = rank_blocks(n)
    up_to = (ranks.worst_rank / n) ** exponent
    return Population(ranks, np.diff(up_to, prepend=0.0))


def power_law_with(measure: Measure, value: float, n: int) -> Population:
    """Return the power law with a value of an exact metric.

    The metric falls from 1 to its value in a random order while the exponent rises from 0 to 1.
    """

    def excess(log_exponent: float) -> float:
        return power_law(n, math.exp(log_exponent)).exact(measure) - value

    low, high = LOG_EXPONENTS
    least = value + excess(high)
    most = value + excess(low)
    if not least < value < most:
        raise InputError(
            f"{measure} of {value:g} is not between that of a random order of {n:,} items, "
            f"{least:.4g}, and {most:.6g}; pass another value (--value), or a smaller effect "
            "(--effect)"
        )
    return power_law(n, math.exp(scipy.optimize.brentq(excess, low, high)))
