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

import numpy as np

from sampled_metrics._base.arrays import Float, Int, generator
from sampled_metrics.inference.brackets import LOWER, UPPER
from sampled_metrics.inference.deciding import Pair
from sampled_metrics.inference.population import Moments, Population
from sampled_metrics.inference.ranges import end_of_users, least_difference
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.sampling import draw_sampled_ranks

_COMPARISONS = 12
_FOLDS = 2


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
    samples = _samples(pair, m)
    ends = []
    for a, b in samples:
        upper = end_of_users(measure, a, shape, confidence, UPPER)
        ends.append((upper, end_of_users(measure, b, shape, confidence, LOWER)))
    low = [least_difference(a, b, measure, shape, confidence, confidence) for a, b in samples]
    values = np.array([[end.values for end in both] for both in ends])
    users = np.array([[end.users for end in both] for both in ends])
    means = (users * values).sum(axis=2) / users.sum(axis=2)
    vectors = values.reshape(_COMPARISONS, 2, _FOLDS, m + 1)
    expected, variance = _of_vectors(pair, vectors)
    return _lead(np.array(low), means[:, 1] - means[:, 0] - expected, variance)


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


def _of_vectors(pair: Pair, vectors: Float) -> tuple[Float, float]:
    """Expected difference with the vectors of each comparison, and its mean variance.

    `vectors` has the shape (comparisons, recommenders, folds, m + 1).
    """
    of_a = pair.a.moments(vectors[:, 0], pair.sampling)
    of_b = pair.b.moments(vectors[:, 1], pair.sampling)
    mean, sd = np.empty((2, *of_a.mean.shape))
    for place in np.ndindex(mean.shape):
        a = Moments(*(field[place] for field in of_a))
        b = Moments(*(field[place] for field in of_b))
        mean[place], sd[place], _ = pair.difference(a, b)
    return mean.mean(axis=1), float(np.square(sd).mean())


def _samples(pair: Pair, m: int) -> list[tuple[SampledRanks, SampledRanks]]:
    """Draw sampled ranks of both recommenders for each comparison."""
    found = []
    for number in range(_COMPARISONS):
        rng = generator(0, "plan", m, number)
        users = None
        if pair.paired and pair.a.kind is not None:
            users = np.arange(pair.n_users)
            if pair.drawn:
                users = rng.integers(0, pair.a.kind.size, pair.n_users)
        of_both = []
        for population in (pair.a, pair.b):
            ranks = _sampled(population, pair, users, m, rng)
            ids = None if users is None else np.arange(users.size)
            of_both.append(SampledRanks(ranks, pair.n_items, m, pair.sampling, ids))
        found.append((of_both[0], of_both[1]))
    return found


def _sampled(
    population: Population, pair: Pair, users: Int | None, m: int, rng: np.random.Generator
) -> Int:
    """Draw the sampled ranks of some users, or of users drawn from the population."""
    if population.kind is not None and not (pair.drawn and users is None):
        kind = population.kind if users is None else population.kind[users]
        return draw_sampled_ranks(population.ranks.take(kind), m, rng, pair.sampling)
    shares = population.sampled_shares(m, pair.sampling)
    return 1 + rng.choice(m + 1, pair.n_users, p=shares / shares.sum())
