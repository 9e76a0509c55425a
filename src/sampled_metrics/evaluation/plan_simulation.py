"""How the ranges of two recommenders decide their order, by simulated comparisons.

Each comparison draws users and negatives, and computes the lower end of the range of the difference
as `compare` does. Most of its variation comes from a simpler number: the difference of the means
over users with fixed vectors that fit the true distributions, whose mean and variance are known
(section 4.3). The rest varies little, so that a few comparisons give its mean and variance.
"""

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

COMPARISONS = 20  # simulated ones
FEW = 3  # after which a decision may be certain
CERTAIN = 4.0  # standard deviations
_USERS_AT_ONCE = 400_000  # in simulated comparisons, for bounded memory


class Decision(NamedTuple):
    """Probability that a range excludes 0 on the right side, and half of its expected width."""

    probability: float
    width: float


@dataclass(frozen=True)
class Pair:
    """Two recommenders whose true ranks are known or fitted, and their evaluation.

    If users are `drawn` anew from the populations, they vary too; otherwise only the negatives do,
    which both recommenders draw independently. If they are `paired`, user i is the same for
    both, so that common variation cancels. Visits stand for users where these have several;
    `owners` are then the users of those of both recommenders.
    """

    a: Population
    b: Population
    n_users: int
    drawn: bool = False
    paired: bool = False
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT
    owners: tuple[Int | None, Int | None] = (None, None)

    @property
    def n_items(self) -> int:
        """Mean number of candidates over users of both, rounded."""
        of_each = [x.share @ x.ranks.n_candidates for x in (self.a, self.b)]
        return round(float(np.mean(of_each)))

    def exact(self, measure: Measure) -> tuple[float, float]:
        """Exact metric of both."""
        return self.a.exact(measure), self.b.exact(measure)

    def difference(self, a: EstimateMoments, b: EstimateMoments) -> tuple[float, float, float]:
        """Mean of b - a, its variance, and the variance with users drawn anew."""
        within = a.within + b.within
        anew = a.total + b.total
        if self.paired:
            differences = b.by_kind[self.b.kind] - a.by_kind[self.a.kind]
            anew = within + _between(differences, self.owners[0])
        elif self.owners[0] is not None:
            of_a = _between(a.by_kind[self.a.kind], self.owners[0])
            anew = within + of_a + _between(b.by_kind[self.b.kind], self.owners[1])
        mean = float(b.mean - a.mean)
        variance = anew if self.drawn else within
        return mean, float(variance) / self.n_users, float(anew) / self.n_users

    def samples(self, m: int, rng: np.random.Generator) -> tuple[SampledRanks, SampledRanks]:
        """Draw users and their sampled ranks, the first of any that ranges do not tell apart."""
        users = None
        if self.drawn and self.paired:
            users = rng.integers(0, self.a.kind.size, self.n_users)
        of_a = self._sample(self.a, self.owners[0], users, m, rng)
        owner = self.owners[1]
        if owner is not None and not self.paired:  # other users than those of a
            owner = owner + self.a.kind.size
        return of_a, self._sample(self.b, owner, users, m, rng)

    def _sample(
        self,
        population: Population,
        owner: Int | None,
        users: Int | None,
        m: int,
        rng: np.random.Generator,
    ) -> SampledRanks:
        of_kinds = population.in_bins(m, self.sampling)
        ids = None
        if self.drawn and not self.paired:
            of_all = population.share @ of_kinds
            drawn = rng.choice(of_all.size, self.n_users, p=of_all / of_all.sum())
        else:
            kind = population.kind if users is None else population.kind[users]
            up_to = np.cumsum(of_kinds, axis=1)[kind]
            drawn = (up_to <= rng.random((kind.size, 1)) * up_to[:, -1:]).sum(axis=1)
            if self.paired:
                ids = np.arange(kind.size)
        ranks = bin_starts(m)[drawn] + 1
        sampling = Sampling(self.sampling)
        visits = None
        if owner is not None:
            ids, visits = owner, np.arange(ranks.size)
        return SampledRanks(ranks, self.n_items, m, users=ids, visits=visits, sampling=sampling)


def _between(values: Float, owner: Int | None) -> float:
    """Variance of a value such that the mean of independent ones varies as this mean does."""
    of_users = collapse_visits(values, owner)
    return float(of_users.var()) * values.size / of_users.size


def decision(
    pair: Pair, measure: Measure, m: int | None, shape: str | float, confidence: float
) -> Decision:
    """Estimate how likely the order is decided with m negatives, or by full rankings (None).

    Random numbers are the same at every call.
    """
    exact_a, exact_b = pair.exact(measure)
    if exact_a > exact_b:
        pair = replace(pair, a=pair.b, b=pair.a)
    if m is None or measure.metric.needs_candidates:
        expected, variance, anew = pair.difference(*_fixed(pair, measure, m))
        low = expected - float(ndtri((1.0 + confidence) / 2.0)) * anew**0.5
    else:
        low, variance = _low_end(pair, measure, m, shape, confidence)
    width = abs(exact_b - exact_a) - low
    if exact_a == exact_b:
        return Decision(0.0, width)
    return Decision(float(ndtr(_ratio(low, variance))), width)


def _fixed(pair: Pair, measure: Measure, m: int | None) -> list[EstimateMoments]:
    """Moments of numbers of users that do not depend on the sample: exact metrics, or AUC."""
    if m is None:
        return [population.exact_moments(measure) for population in (pair.a, pair.b)]
    auc = auc_vector(pair.n_items, m, str(pair.sampling))
    return [population.moments(auc, pair.sampling) for population in (pair.a, pair.b)]


def _low_end(
    pair: Pair, measure: Measure, m: int, shape: str | float, confidence: float
) -> tuple[float, float]:
    """Mean and variance of the lower end of the range of the difference."""
    upper = _fixed_vector(pair, pair.a, measure, m, shape, confidence, UPPER)
    lower = _fixed_vector(pair, pair.b, measure, m, shape, confidence, LOWER)
    moments = [
        population.binned_moments(vector, pair.sampling)
        for population, vector in ((pair.a, upper), (pair.b, lower))
    ]
    expected, variance, _ = pair.difference(*moments)
    rests: list[float] = []
    at_once = max(1, _USERS_AT_ONCE // pair.n_users)
    firsts = [*range(0, FEW, min(at_once, FEW)), *range(FEW, COMPARISONS, at_once)]
    for first, end in pairwise([*firsts, COMPARISONS]):
        numbers = range(first, end)
        drawn = [pair.samples(m, generator(0, "plan", number)) for number in numbers]
        lows = lower_ends_of_differences(drawn, measure, shape, confidence, confidence)
        for (a, b), low in zip(drawn, lows, strict=True):
            simple = lower[b.sampled_ranks - 1].mean() - upper[a.sampled_ranks - 1].mean()
            rests.append(low - simple)
        mean = expected + float(np.mean(rests))
        if end == FEW and abs(_ratio(mean, variance)) > CERTAIN:
            break
    return mean, variance + float(np.var(rests, ddof=1))


def _ratio(mean: float, variance: float) -> float:
    """Return a mean in standard deviations, maybe infinitely many."""
    if variance > 0.0:
        return mean / variance**0.5
    return float(np.sign(mean)) * np.inf if mean else 0.0


def _fixed_vector(
    pair: Pair,
    population: Population,
    measure: Measure,
    m: int,
    shape: str | float,
    confidence: float,
    sign: float,
) -> Float:
    """Vector of an end of the range that fits the true distribution of ranks."""
    table = kernel(pair.n_items, m, str(pair.sampling), shape, measure.cutoff)
    expected = pair.n_users * population.share @ population.in_bins(m, pair.sampling)
    likely = likely_mixture(expected[np.newaxis], table).shares
    z = float(ndtri((1.0 + confidence) / 2.0))
    return bracketing_vectors(measure, table, likely, pair.n_users, z, sign)[0]
