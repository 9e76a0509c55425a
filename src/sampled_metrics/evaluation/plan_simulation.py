"""How likely the ranges of two recommenders decide their order, by simulated comparisons.

Each comparison draws users and negatives, and computes the lower end L of the range of the
difference as `compare` does. The order is decided if L > 0. With an expectation E and a variance V
of L, and L nearly normal, the probability is Phi(E / sqrt(V)).

E and V come from few comparisons because most of the variation of L is that of a simpler number,
S: the difference of the means over users of two fixed vectors, which are optimal for the true
distributions. Mean and variance of S are known (section 4.3), so that

    E = E(S) + mean(L - S),   V = Var(S) + Var(L - S),

where L - S varies little between comparisons.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics.intervals.brackets import LOWER, UPPER, bracketing_vectors, likely_mixture
from sampled_metrics.intervals.kernels import bin_starts, kernel
from sampled_metrics.intervals.means import collapse_visits
from sampled_metrics.intervals.population import EstimateMoments, Population
from sampled_metrics.intervals.ranges import auc_vector, lower_ends_of_differences
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import SampledRanks, Sampling

# Simulated for each number of negatives: more cost time, fewer make E and V less precise. `make
# measure PAGE=plan` compares the probabilities with how often comparisons do decide.
COMPARISONS = 20
# The simulation stops after this few comparisons if the lower end is then at least this many
# standard deviations from 0: the probability is below 0.0001 or above 0.9999.
FEW_COMPARISONS = 3
CERTAIN_RATIO = 4.0
_USERS_AT_ONCE = 400_000  # in simulated comparisons; bounds the memory


class Decision(NamedTuple):
    """Probability that a range excludes 0 on the right side, and half of its expected width."""

    probability: float
    half_width: float


class MeanDifference(NamedTuple):
    """Moments of the mean of b - a over the users of an evaluation."""

    mean: float
    variance: float  # in evaluations of the pair
    redrawn_variance: float  # if users are drawn anew


@dataclass(frozen=True)
class Pair:
    """Two recommenders whose true ranks are known or fitted, and how they are evaluated.

    Attributes
    ----------
    a, b
        True ranks of users, or of visits if users have several.
    n_users
        Users, or visits, of an evaluation.
    is_redrawn
        Whether each evaluation draws new users from the populations. Otherwise only the negatives
        vary, which both recommenders draw independently.
    is_paired
        Whether user i is the same for both recommenders, so that common variation cancels.
    sampling
        How negatives are drawn.
    owners
        The user of each visit of `a` and of `b`; None if users have one visit.
    """

    a: Population
    b: Population
    n_users: int
    is_redrawn: bool = False
    is_paired: bool = False
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT
    owners: tuple[Int | None, Int | None] = (None, None)

    @property
    def n_items(self) -> int:
        """Mean number of candidates over the users of both recommenders, rounded."""
        means = [x.share @ x.ranks.n_candidates for x in (self.a, self.b)]
        return round(float(np.mean(means)))

    def exact(self, measure: Measure) -> tuple[float, float]:
        """Calculate the exact metric of both recommenders."""
        return self.a.exact(measure), self.b.exact(measure)

    def difference(self, a: EstimateMoments, b: EstimateMoments) -> MeanDifference:
        """Calculate the moments of the mean of b - a over users, from those of both estimates.

        The variance of a user's difference is the one within users, due to the negatives, plus the
        one between users, if users are drawn anew. Users who are the same for both recommenders
        only contribute the variance of their differences.
        """
        owner_a, owner_b = self.owners
        within = a.within + b.within  # negatives are drawn independently
        if self.is_paired:
            differences = b.by_cohort[self.b.cohort_of_user] - a.by_cohort[self.a.cohort_of_user]
            total = within + _variance_between_users(differences, owner_a)
        elif owner_a is not None:
            between_a = _variance_between_users(a.by_cohort[self.a.cohort_of_user], owner_a)
            between_b = _variance_between_users(b.by_cohort[self.b.cohort_of_user], owner_b)
            total = within + between_a + between_b
        else:
            total = a.total + b.total
        variance_of_user = total if self.is_redrawn else within
        return MeanDifference(
            mean=float(b.mean - a.mean),
            variance=float(variance_of_user) / self.n_users,
            redrawn_variance=float(total) / self.n_users,
        )

    def draw_samples(
        self, m: int, chances: Sequence[Float], rng: np.random.Generator
    ) -> tuple[SampledRanks, SampledRanks]:
        """Draw users and their sampled ranks among m negatives, for both recommenders.

        `chances` are the `bin_probabilities` of both, each of shape (cohorts, bins): a cohort is a
        group of users with the same true rank, and a bin a group of sampled ranks, which ranges do
        not distinguish, so the first rank of a bin stands for all.
        """
        users = None
        if self.is_redrawn and self.is_paired:
            users = rng.integers(0, self.a.cohort_of_user.size, self.n_users)
        owner_a, owner_b = self.owners
        chances_a, chances_b = chances
        sample_a = self._draw_sample(self.a, m, chances_a, rng, owner=owner_a, users=users)
        if owner_b is not None and not self.is_paired:  # users of b are not users of a
            owner_b = owner_b + self.a.cohort_of_user.size
        return sample_a, self._draw_sample(self.b, m, chances_b, rng, owner=owner_b, users=users)

    def _draw_sample(
        self,
        population: Population,
        m: int,
        chances: Float,
        rng: np.random.Generator,
        *,
        owner: Int | None,
        users: Int | None,
    ) -> SampledRanks:
        """Draw the sampled ranks of one recommender.

        Parameters
        ----------
        chances
            Probabilities of bins of sampled ranks; shape (cohorts, bins).
        owner
            The user of each visit; None if users have one visit.
        users
            Indices of the users drawn; None for all, or for users from the whole population.
        """
        user_ids = None
        if self.is_redrawn and not self.is_paired:
            mean_chances = population.share @ chances
            bins = rng.choice(mean_chances.size, self.n_users, p=mean_chances / mean_chances.sum())
        else:
            cohort = population.cohort_of_user
            if users is not None:
                cohort = cohort[users]
            bins = _draw_bins(chances, cohort, rng)
            if self.is_paired:
                user_ids = np.arange(cohort.size)
        visit_ids = None
        if owner is not None:
            user_ids, visit_ids = owner, np.arange(bins.size)
        return SampledRanks(
            bin_starts(m)[bins] + 1,
            self.n_items,
            m,
            users=user_ids,
            visits=visit_ids,
            sampling=Sampling(self.sampling),
        )


def _draw_bins(chances: Float, cohort: Int, rng: np.random.Generator) -> Int:
    """Draw a bin for each user by the probabilities of the user's cohort, shape (cohorts, bins).

    It is the first bin whose cumulative probability is above a uniform random number.
    """
    cumulative = np.cumsum(chances, axis=1)[cohort]
    threshold = rng.random((cohort.size, 1)) * cumulative[:, -1:]
    return np.asarray((cumulative <= threshold).sum(axis=1))


def _variance_between_users(values: Float, owner: Int | None) -> float:
    """Return the variance that independent values need for the same variance of their mean.

    `owner` is the user of each value; None if each is of another user.
    """
    user_values = collapse_visits(values, owner)
    return float(user_values.var()) * values.size / user_values.size


def simulate_decision(
    pair: Pair, measure: Measure, m: int | None, *, shape: str | float, confidence: float
) -> Decision:
    """Estimate how likely the order is decided with m negatives, or by full rankings (None).

    The order is decided if the lower end L of the range of the difference, better minus worse
    recommender, is above 0: with the probability Phi(E(L) / sqrt(Var(L))). For estimates without
    bias the moments of L are known: E(L) = difference - z sqrt(variance). Otherwise they are
    simulated, with the same random numbers in each call.
    """
    exact_a, exact_b = pair.exact(measure)
    if exact_a > exact_b:
        pair = replace(pair, a=pair.b, b=pair.a)
    if m is None or measure.metric.needs_candidates:  # no bias
        difference = pair.difference(*_exact_moments(pair, measure, m))
        z = float(ndtri((1.0 + confidence) / 2.0))
        mean_lower_end = difference.mean - z * difference.redrawn_variance**0.5
        variance = difference.variance
    else:
        mean_lower_end, variance = _simulate_lower_end(
            pair, measure, m, shape=shape, confidence=confidence
        )
    half_width = abs(exact_b - exact_a) - mean_lower_end
    if exact_a == exact_b:
        return Decision(0.0, half_width)
    return Decision(float(ndtr(_standardise(mean_lower_end, variance))), half_width)


def _exact_moments(pair: Pair, measure: Measure, m: int | None) -> list[EstimateMoments]:
    """Return the moments of exact metrics (None), or of AUC, which samples estimate unbiasedly."""
    if m is None:
        return [population.exact_moments(measure) for population in (pair.a, pair.b)]
    auc = auc_vector(pair.n_items, m, str(pair.sampling))
    return [population.moments(auc, pair.sampling) for population in (pair.a, pair.b)]


def _simulate_lower_end(
    pair: Pair, measure: Measure, m: int, *, shape: str | float, confidence: float
) -> tuple[float, float]:
    """Estimate mean and variance of the lower end L of the range of the difference b - a.

    L is simulated as S + (L - S), where S is the mean over users of a fixed vector that bounds b
    from below, minus that of a vector that bounds a from above. The moments of S are known, and
    L - S varies little:

        E(L) = E(S) + mean(L - S),   Var(L) = Var(S) + Var(L - S).
    """
    z = float(ndtri((1.0 + confidence) / 2.0))
    table = kernel(pair.n_items, m, str(pair.sampling), shape, measure.cutoff)

    def bounding_vector(population: Population, chances: Float, sign: float) -> Float:
        expected_counts = pair.n_users * population.share @ chances
        likely = likely_mixture(expected_counts[np.newaxis], table).shares
        return bracketing_vectors(measure, table, likely, n_users=pair.n_users, z=z, sign=sign)[0]

    chances_a = pair.a.bin_probabilities(m, pair.sampling)
    chances_b = pair.b.bin_probabilities(m, pair.sampling)
    upper_a = bounding_vector(pair.a, chances_a, UPPER)  # credit of each sampled rank
    lower_b = bounding_vector(pair.b, chances_b, LOWER)
    s = pair.difference(
        pair.a.binned_moments(upper_a, chances_a), pair.b.binned_moments(lower_b, chances_b)
    )
    rests: list[float] = []  # L - S
    for numbers in _batches(max(1, _USERS_AT_ONCE // pair.n_users)):
        samples = [
            pair.draw_samples(m, (chances_a, chances_b), generator(0, "plan", number))
            for number in numbers
        ]
        lower_ends = lower_ends_of_differences(
            samples, measure, shape=shape, vector_confidence=confidence, confidence=confidence
        )
        for (a, b), lower_end in zip(samples, lower_ends, strict=True):
            value_of_s = lower_b[b.sampled_ranks - 1].mean() - upper_a[a.sampled_ranks - 1].mean()
            rests.append(lower_end - value_of_s)
        mean = s.mean + float(np.mean(rests))
        is_certain = abs(_standardise(mean, s.variance)) > CERTAIN_RATIO
        if len(rests) == FEW_COMPARISONS and is_certain:
            break
    return mean, s.variance + float(np.var(rests, ddof=1))


def _batches(size: int) -> list[range]:
    """Return the numbers of comparisons in batches of at most `size`.

    One of them ends with the first few comparisons, after which the simulation may stop.

    Examples
    --------
    >>> _batches(8)
    [range(0, 3), range(3, 11), range(11, 19), range(19, 20)]
    """
    starts = [*range(0, FEW_COMPARISONS, size), *range(FEW_COMPARISONS, COMPARISONS, size)]
    return [range(first, end) for first, end in pairwise([*starts, COMPARISONS])]


def _standardise(mean: float, variance: float) -> float:
    """Return mean / standard deviation: 0 for a mean of 0, infinite for others without variance."""
    if variance > 0.0:
        return mean / variance**0.5
    if mean == 0.0:
        return 0.0
    return math.copysign(math.inf, mean)
