"""How many negatives it takes until the range of a difference excludes 0, or which they decide."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from sampled_metrics._base.defaults import CONFIDENCE, SHAPE
from sampled_metrics.inference.brackets import Bracket, bracket, likely_shares
from sampled_metrics.inference.crossfit import unbiased_auc
from sampled_metrics.inference.intervals import normal_quantile
from sampled_metrics.inference.kernels import kernel
from sampled_metrics.inference.moments import deviations
from sampled_metrics.inference.pair import Pair
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import Measure

RANGE_SIZES = 6
RANGE_TOLERANCE = 0.1


def decision(
    pair: Pair, measure: Measure, *, shape: str = SHAPE, confidence: float = CONFIDENCE
) -> Callable[[int], float]:
    """Return a function of m: how clearly the range of the difference is expected to exclude 0.

    In standard deviations of the end that must exclude it, which are positive if it does so on
    average; the probability is their normal distribution function. -inf where the exact metrics
    do not differ. A range allows for the variation over users even where the pair's users are
    fixed.
    """
    exact_a, exact_b = (float(each.exact([measure])[0]) for each in (pair.a, pair.b))
    z = normal_quantile(confidence)

    @cache
    def lead(m: int) -> float:
        if exact_a == exact_b:
            return -np.inf
        of_a, of_b = (_bracket(each, pair, measure, m, shape, z) for each in (pair.a, pair.b))
        # The upper end of the lower recommender and the lower end of the higher one.
        ends = (of_a.upper, of_b.lower) if exact_b > exact_a else (of_a.lower, of_b.upper)
        mean, sd = pair.difference(*ends)
        if pair.drawn:
            error = sd
        else:
            _, error = replace(pair, drawn=True).difference(*ends)
        distance = float(mean) if exact_b > exact_a else -float(mean)
        return float(deviations(distance - z * float(error), float(sd)))

    return lead


def decidable(
    pair: Pair, measure: Measure, m: int, *, shape: str = SHAPE, confidence: float = CONFIDENCE
) -> float:
    """Calculate from which difference of the exact metrics on m negatives are likely to decide.

    Half of the expected width of the range of the difference, in either order.
    """
    z = normal_quantile(confidence)
    of_a, of_b = (_bracket(each, pair, measure, m, shape, z) for each in (pair.a, pair.b))
    low, sd_low = pair.difference(of_a.upper, of_b.lower)
    high, sd_high = pair.difference(of_a.lower, of_b.upper)
    return float(high - low + z * (sd_low + sd_high)) / 2.0


def _bracket(
    population: Population, pair: Pair, measure: Measure, m: int, shape: str, z: float
) -> Bracket:
    """Solve for the vectors that a sample of a population is likely to get, shape (m + 1,)."""
    n = pair.n_items
    if measure.metric.needs_candidates:
        vector = unbiased_auc(n, m, pair.sampling)
        return Bracket(vector, vector)
    table = kernel(n, m, pair.sampling, shape, measure.cutoff)
    # Of the closest distribution of the class, as for a sample: the population itself may be
    # outside, as that of a few users is, and then no vector is narrowest where it is.
    expected = pair.n_users * population.sampled_shares(m, pair.sampling)
    found = bracket(measure, table, likely_shares(expected, table)[None], pair.n_users, z)
    return Bracket(found.lower[0], found.upper[0])
