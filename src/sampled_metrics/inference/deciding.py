"""How many negatives it takes until the range of a difference excludes 0."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
from scipy.special import ndtri

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.defaults import CONFIDENCE, SHAPE
from sampled_metrics.inference.brackets import bracket
from sampled_metrics.inference.crossfit import unbiased_auc
from sampled_metrics.inference.intervals import normal_quantile
from sampled_metrics.inference.kernels import kernel
from sampled_metrics.inference.moments import deviations
from sampled_metrics.inference.pair import Pair
from sampled_metrics.inference.population import Population
from sampled_metrics.inference.search import geometric_sizes, smallest_from
from sampled_metrics.metrics.measures import Measure

RANGE_SIZES = 6
RANGE_TOLERANCE = 0.1
_LEAST_SHARE = 1e-12


def deciding_negatives(
    pair: Pair,
    measure: Measure,
    probability: float,
    largest: int,
    *,
    least: int = 1,
    shape: str = SHAPE,
    confidence: float = CONFIDENCE,
) -> int | None:
    """Find from how many negatives on the range orders two recommenders with a probability.

    To within 10 %; None if more than `largest` negatives are needed.
    """
    lead = decision(pair, measure, shape=shape, confidence=confidence)
    wanted = float(ndtri(probability))
    largest = min(largest, pair.most_negatives)
    if largest < least:
        return None
    sizes = geometric_sizes(least, largest, RANGE_SIZES)
    return smallest_from(lambda m: lead(m) - wanted, sizes, RANGE_TOLERANCE)


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
    z, n = normal_quantile(confidence), pair.n_items

    @cache
    def lead(m: int) -> float:
        if exact_a == exact_b:
            return -np.inf
        if measure.metric.needs_candidates:
            vector = unbiased_auc(n, m, pair.sampling)
            ends = vector, vector
        else:
            table = kernel(n, m, pair.sampling, shape, measure.cutoff)
            found = [
                bracket(measure, table, _shares(each, pair, m)[None], pair.n_users, z)
                for each in (pair.a, pair.b)
            ]
            # The upper end of the lower recommender and the lower end of the higher one.
            of_a, of_b = ("upper", "lower") if exact_b > exact_a else ("lower", "upper")
            ends = getattr(found[0], of_a)[0], getattr(found[1], of_b)[0]
        mean, sd = pair.difference(*ends)
        if pair.drawn:
            error = sd
        else:
            _, error = replace(pair, drawn=True).difference(*ends)
        distance = float(mean) if exact_b > exact_a else -float(mean)
        return float(deviations(distance - z * float(error), float(sd)))

    def _shares(population: Population, of: Pair, m: int) -> Float:
        table = kernel(n, m, of.sampling, shape, measure.cutoff)
        shares = table.binned(population.sampled_shares(m, of.sampling))
        return np.maximum(shares, _LEAST_SHARE) / np.maximum(shares, _LEAST_SHARE).sum()

    return lead
