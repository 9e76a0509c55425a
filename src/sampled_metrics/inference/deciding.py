"""How the ranges of two recommenders decide their order, by the number of negatives.

The ends of a range, which are means over users, are taken to be normal. With the vectors (see
`brackets`) that are fitted to the given distributions of true ranks, their mean and variance follow
in closed form from the distribution of the sampled ranks (section 4.3): `decision`.

Vectors are fitted to each sample in fact (see `ranges`), so an end varies with the vectors as well
as with the users that they are averaged over. In comparison i, the lower end of the range of the
difference is

    low_i = e_i + x_i,

where x_i is the difference of the means over users less its expectation with the vectors of i.
Vectors are applied to users whose sampled ranks they are not fitted to, so x_i has expectation 0,
and its variance is known in closed form for given vectors. Most of the variation is in x; what
remains, e, varies so little that a few simulated comparisons give its mean, its slope s on x and
the variance r of its residuals: `fitted_lead`. Then low has mean E(e) and variance
(1 + s)^2 Var(x) + r. Vectors are constant in the bins of a kernel, so only the bin of each user's
sampled rank is drawn.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from sampled_metrics._base.arrays import Float, Int, generator
from sampled_metrics._base.defaults import CONFIDENCE, SHAPE
from sampled_metrics.inference.brackets import LOWER, UPPER, likely_mixture, vectors
from sampled_metrics.inference.kernels import Kernel, kernel
from sampled_metrics.inference.likelihood import End, bound_of_sum
from sampled_metrics.inference.population import Moments, Population
from sampled_metrics.inference.ranges import folds_of, unbiased_auc
from sampled_metrics.inference.results import Compared
from sampled_metrics.inference.shapes import NONE, name_of
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.ranks import SampledRanks, Sampling

_COMPARISONS = 12  # that are simulated
_MORE = 1000  # negatives that an undecided comparison is told about, or twice those drawn


@dataclass(frozen=True)
class Pair:
    """Two recommenders whose true ranks are known or fitted, and their evaluation.

    If users are `drawn` anew from the populations, they vary too; otherwise only the negatives do,
    which both recommenders draw independently. If they are `paired`, user i of one is user i of
    the other, so that what they share cancels.
    """

    a: Population
    b: Population
    n_users: int
    drawn: bool = False
    paired: bool = False
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT

    @property
    def n_items(self) -> int:
        """Mean number of candidates over users of both, rounded."""
        return round(float(np.mean([x.share @ x.ranks.n_candidates for x in (self.a, self.b)])))

    def exact(self, measure: Measure) -> tuple[float, float]:
        """Exact metric of both."""
        return self.a.exact(measure), self.b.exact(measure)

    def difference(self, a: Moments, b: Moments) -> tuple[Float, Float, Float]:
        """Mean of b - a, its standard deviation, and that with users drawn anew."""
        within = a.within + b.within
        anew = a.total + b.total
        if self.paired:
            anew = within + (b.by_kind[..., self.b.kind] - a.by_kind[..., self.a.kind]).var(axis=-1)
        error = np.sqrt(anew / self.n_users)
        sd = error if self.drawn else np.sqrt(within / self.n_users)
        return b.mean - a.mean, sd, error


def deciding_differences(
    results: Sequence[Compared],
    samples: Mapping[str, SampledRanks],
    shape: str | float = SHAPE,
    confidence: float = CONFIDENCE,
) -> dict[str, dict[int | None, float]]:
    """Calculate the differences that the negatives drawn, more, and full rankings may decide.

    The largest of all results, by metric and by number of negatives, of which the first are those
    drawn and None stands for full rankings. They follow from the width of the range, which depends
    little on which of the distributions of true ranks that fit the sampled ranks is the right one.
    """
    z = float(ndtri((1.0 + confidence) / 2.0))
    largest: dict[str, dict[int | None, float]] = {}
    for result in results:
        a = samples[result.a]
        b = samples[result.b]
        pair = Pair(
            _fitted(a, shape),
            _fitted(b, shape),
            result.n_users,
            drawn=True,
            sampling=a.sampling,
        )
        measure = parse_measure(result.metric)
        found: dict[int | None, float] = {}
        found[a.n_negatives] = (result.range_high - result.range_low) / 2.0
        more = max(_MORE, 2 * a.n_negatives)
        if more < min(a.mean_candidates, b.mean_candidates) - 1:
            found[more] = decision(pair, measure, more, shape, z)[1]
        found[None] = decision(pair, measure, None, shape, z)[1]
        of_metric = largest.setdefault(result.metric, {})
        for n_negatives, difference in found.items():
            of_metric[n_negatives] = max(difference, of_metric.get(n_negatives, 0.0))
    return largest


@lru_cache(maxsize=64)
def _fitted(sample: SampledRanks, shape: str | float) -> Population:
    """Fit a distribution of true ranks to sampled ranks."""
    counts = np.bincount(sample.sampled_ranks - 1, minlength=sample.n_negatives + 1)
    if name_of(shape) == NONE:
        population, _ = Population.estimated(counts, sample.mean_candidates, sample.sampling)
        return population
    return Population.non_increasing(counts, sample.mean_candidates, sample.sampling)


def decision(
    pair: Pair, measure: Measure, m: int | None, shape: str | float, z: float
) -> tuple[float, float]:
    """Standard deviations by which the expected range excludes 0, and half of its width.

    The vectors are those fitted to the populations; see `fitted_lead` for those of each sample.
    """
    evaluation = (measure, pair.n_items, pair.n_users, m, Sampling(pair.sampling), shape, z)
    a = _ends(pair.a, *evaluation)
    b = _ends(pair.b, *evaluation)
    # The lower end of the difference has the upper end of a, and the upper end the lower one.
    difference, sd, error = pair.difference(Moments(*(field[::-1] for field in a)), b)
    width = float(difference[1] - difference[0] + z * error.sum()) / 2.0
    exact_a, exact_b = pair.exact(measure)
    if exact_a == exact_b:
        return -np.inf, width
    above = difference[0] - z * error[0]
    sd_above = sd[0]
    if exact_a > exact_b:
        above = -difference[1] - z * error[1]
        sd_above = sd[1]
    return lead(float(above), float(sd_above)), width


def lead(above: float, sd: float) -> float:
    """Standard deviations by which an end is expected to be above 0."""
    if sd > 0.0:
        return above / sd
    return math.copysign(math.inf, above) if above else 0.0


@lru_cache(maxsize=32)
def _ends(
    population: Population,
    measure: Measure,
    n: int,
    n_users: int,
    m: int | None,
    sampling: Sampling,
    shape: str | float,
    z: float,
) -> Moments:
    """Moments of the lower and of the upper end of the range; of full rankings, the metric."""
    if m is None:
        exact = population.exact_moments(measure)
        return Moments(*(np.stack([field, field]) for field in exact))
    if measure.metric.needs_candidates:
        auc = unbiased_auc(n, m, sampling)
        return population.moments(np.stack([auc, auc]), sampling)
    table = kernel(n, m, sampling, shape, measure.cutoff)
    # Of the closest distribution of the class, as for a sample: the population itself may be
    # outside, as that of a few users is, and then no vector is narrowest where it is.
    expected = n_users * population.share @ population.in_bins(m, sampling)
    likely = likely_mixture(expected[None], table).shares
    both = [vectors(measure, table, likely, n_users, z, sign)[0] for sign in (LOWER, UPPER)]
    return population.binned_moments(np.stack(both), sampling)


def fitted_lead(
    pair: Pair, measure: Measure, m: int, shape: str | float, confidence: float
) -> float:
    """Standard deviations by which the range is expected to exclude 0, with fitted vectors.

    The random numbers depend on `m` alone, so that equal arguments give equal results.
    """
    exact_a, exact_b = pair.exact(measure)
    if exact_a > exact_b:
        pair = replace(pair, a=pair.b, b=pair.a)
    table = kernel(pair.n_items, m, str(pair.sampling), shape, measure.cutoff)
    drawn_a, drawn_b = _drawn_bins(pair, m)
    upper = _vectors(measure, table, drawn_a, UPPER, confidence)
    lower = _vectors(measure, table, drawn_b, LOWER, confidence)
    values_a = _of_users(upper, drawn_a, table)
    values_b = _of_users(lower, drawn_b, table)
    most_a = upper.max(axis=(1, 2))
    most_b = -lower.min(axis=(1, 2))
    sides = [(values_a, most_a), (-values_b, most_b)]
    if pair.paired:
        sides = [(values_a - values_b, most_a + most_b)]
    low = []
    for place in range(_COMPARISONS):
        ends = [End.of_users(values[place], most[place]) for values, most in sides]
        low.append(-bound_of_sum(ends)(confidence))
    moments_a = pair.a.binned_moments(upper, pair.sampling)
    moments_b = pair.b.binned_moments(lower, pair.sampling)
    expected, sd, _ = pair.difference(moments_a, moments_b)
    chance = values_b.mean(axis=1) - values_a.mean(axis=1) - expected.mean(axis=1)
    return _lead(np.array(low), chance, float(np.square(sd).mean()))


def _lead(low: Float, chance: Float, variance: float) -> float:
    """Mean of `low` over its standard deviation, given the variance of its part `chance`."""
    rest = low - chance
    centred = chance - chance.mean()
    square = float(centred @ centred)
    slope = 0.0
    if square > 0.0:
        slope = float(centred @ rest) / square
    mean = float(rest.mean() - slope * chance.mean())
    residuals = rest - rest.mean() - slope * centred
    remaining = float(residuals @ residuals) / (low.size - 2)
    return lead(mean, math.sqrt((1.0 + slope) ** 2 * variance + remaining))


def _drawn_bins(pair: Pair, m: int) -> tuple[Int, Int]:
    """Draw the bins of users' sampled ranks; of both recommenders, shape (comparisons, users)."""
    up_to_a = _distribution(pair.a, pair, m)
    up_to_b = _distribution(pair.b, pair, m)
    drawn_a = []
    drawn_b = []
    for number in range(_COMPARISONS):
        rng = generator(0, "plan", m, number)
        users: Any = slice(None)
        if pair.drawn and pair.paired:
            users = rng.integers(0, len(up_to_a), pair.n_users)
        drawn_a.append(_drawn(up_to_a[users], rng))
        drawn_b.append(_drawn(up_to_b[users], rng))
    return np.array(drawn_a), np.array(drawn_b)


def _distribution(population: Population, pair: Pair, m: int) -> Float:
    """Distribution function of the bin of each user; shape (users, bins)."""
    given = population.in_bins(m, pair.sampling)
    if pair.drawn and not pair.paired:
        given = np.broadcast_to(population.share @ given, (pair.n_users, given.shape[1]))
    else:
        given = given[population.kind]
    up_to = np.cumsum(given, axis=1)
    return up_to / up_to[:, -1:]


def _drawn(up_to: Float, rng: np.random.Generator) -> Int:
    """Draw the bin of each user."""
    return np.sum(up_to <= rng.random(len(up_to))[:, None], axis=1)


def _vectors(measure: Measure, table: Kernel, bins: Int, sign: float, confidence: float) -> Float:
    """Fit vectors to both folds of each sample; shape (samples, folds, m + 1)."""
    n_samples, n_users = bins.shape
    z = float(stdtrit(max(n_users - 1, 1), (1.0 + confidence) / 2.0))
    counts = np.zeros((n_samples, 2, table.starts.size))
    np.add.at(counts, (np.arange(n_samples)[:, None], 1 - folds_of(n_users), bins), 1.0)
    likely = likely_mixture(counts.reshape(2 * n_samples, -1), table).shares
    found = []
    for shares in likely.reshape(counts.shape):
        found.append(vectors(measure, table, shares, n_users, z, sign))
    return np.stack(found)


def _of_users(fitted: Float, bins: Int, table: Kernel) -> Float:
    """Entries of the users of each sample; shape (samples, users)."""
    n_samples, n_users = bins.shape
    return fitted[np.arange(n_samples)[:, None], folds_of(n_users), table.starts[bins]]
