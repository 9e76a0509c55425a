"""A few simulated comparisons, from which a plan learns how fitted vectors move its ends.

The vectors behind a range are fitted to each sample (see `ranges`), so an end varies with the
vectors as well as with the users that they are averaged over. In comparison i, the lower end of the
range of the difference is

    low_i = e_i + x_i,

where x_i is the difference of the means over users less its expectation with the vectors of i.
Vectors are applied to users whose sampled ranks they are not fitted to, so x_i has expectation 0,
and its variance is known in closed form for given vectors. Most of the variation is in x; what
remains, e, varies so little that a few comparisons give its mean, its slope s on x and the variance
r of its residuals. Then low has mean E(e) and variance (1 + s)^2 Var(x) + r.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import stdtrit

from sampled_metrics._base.arrays import Float, Int, generator
from sampled_metrics.inference.brackets import LOWER, UPPER, likely_mixture, vectors
from sampled_metrics.inference.deciding import Pair
from sampled_metrics.inference.kernels import Kernel, kernel
from sampled_metrics.inference.likelihood import End
from sampled_metrics.inference.population import Population
from sampled_metrics.inference.ranges import bound_of_sum, folds_of
from sampled_metrics.metrics.measures import Measure

_COMPARISONS = 12


def fitted_lead(
    pair: Pair, measure: Measure, m: int, shape: str | float, confidence: float
) -> float:
    """Standard deviations by which the range is expected to exclude 0, with fitted vectors.

    The random numbers depend on `m` alone, so that equal arguments give equal results.
    """
    exact_a, exact_b = pair.exact(measure)
    if exact_a == exact_b:
        return -np.inf
    if exact_a > exact_b:
        pair = replace(pair, a=pair.b, b=pair.a)
    table = kernel(pair.n_items, m, str(pair.sampling), shape, measure.cutoff)
    drawn_a, drawn_b = _drawn_bins(pair, m)
    upper = _fitted(measure, table, drawn_a, UPPER, confidence)
    lower = _fitted(measure, table, drawn_b, LOWER, confidence)
    low = []
    means = []
    ends_a = _ends(upper, drawn_a, table)
    ends_b = _ends(-lower, drawn_b, table)
    for of_a, of_b in zip(ends_a, ends_b, strict=True):
        ends = [of_a, of_b]
        if pair.paired:
            ends = [End(of_a.values + of_b.values, of_a.users, of_a.extreme + of_b.extreme)]
        low.append(-bound_of_sum(ends)(confidence))
        means.append(-of_a.values.mean() - of_b.values.mean())
    moments_a = pair.a.binned_moments(upper, pair.sampling)
    moments_b = pair.b.binned_moments(lower, pair.sampling)
    expected, sd, _ = pair.difference(moments_a, moments_b)
    chance = np.array(means) - expected.mean(axis=1)
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
    sd = float(np.sqrt((1.0 + slope) ** 2 * variance + remaining))
    if sd == 0.0:
        return float(np.copysign(np.inf, mean))
    return mean / sd


def _drawn_bins(pair: Pair, m: int) -> list[Int]:
    """Draw the bins of users' sampled ranks; of both recommenders, shape (comparisons, users)."""
    laws = [_laws(population, pair, m) for population in (pair.a, pair.b)]
    drawn: list[list[Int]] = [[], []]
    for number in range(_COMPARISONS):
        rng = generator(0, "plan", m, number)
        users: Any = slice(None)
        if pair.drawn and pair.paired:
            users = rng.integers(0, len(laws[0]), pair.n_users)
        for law, bins in zip(laws, drawn, strict=True):
            of_users = law[users]
            uniform = rng.random(pair.n_users if len(law) == 1 else len(of_users))
            bins.append((of_users <= uniform[:, None]).sum(axis=1))
    return [np.array(bins) for bins in drawn]


def _laws(population: Population, pair: Pair, m: int) -> Float:
    """Distribution functions of the bin of each user, or one of all; shape (users or 1, bins)."""
    given = population.in_bins(m, pair.sampling)
    if population.kind is None or (pair.drawn and not pair.paired):
        given = (population.share @ given)[None]
    else:
        given = given[population.kind]
    up_to = np.cumsum(given, axis=1)
    return up_to / up_to[:, -1:]


def _fitted(measure: Measure, table: Kernel, bins: Int, sign: float, confidence: float) -> Float:
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


def _ends(fitted: Float, bins: Int, table: Kernel) -> list[End]:
    """Average the vectors of each sample over its users."""
    fold = folds_of(bins.shape[1])
    ones = np.ones(bins.shape[1], np.int64)
    ends = []
    for entries, of_users in zip(fitted, bins, strict=True):
        values = entries[fold, table.starts[of_users]]
        ends.append(End(values, ones, float(entries.max())))
    return ends
