"""How many negatives it takes until the range of a difference excludes 0, or which they decide."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.defaults import CONFIDENCE, SHAPE
from sampled_metrics.inference.brackets import bracket
from sampled_metrics.inference.crossfit import unbiased_auc
from sampled_metrics.inference.intervals import normal_quantile
from sampled_metrics.inference.kernels import Kernel, kernel
from sampled_metrics.inference.moments import deviations
from sampled_metrics.inference.pair import Pair
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import Measure

RANGE_SIZES = 6
RANGE_TOLERANCE = 0.1
_LEAST_SHARE = 1e-12


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
                bracket(measure, table, _shares(each, pair, m, table)[None], pair.n_users, z)
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

    return lead


def decidable(
    pair: Pair, measure: Measure, m: int, *, shape: str = SHAPE, confidence: float = CONFIDENCE
) -> float:
    """Calculate from which difference of the exact metrics on m negatives are likely to decide.

    Half of the expected width of the range of the difference, in either order.
    """
    z = normal_quantile(confidence)
    table = kernel(pair.n_items, m, pair.sampling, shape, measure.cutoff)
    of_a, of_b = (
        bracket(measure, table, _shares(each, pair, m, table)[None], pair.n_users, z)
        for each in (pair.a, pair.b)
    )
    low, sd_low = pair.difference(of_a.upper[0], of_b.lower[0])
    high, sd_high = pair.difference(of_a.lower[0], of_b.upper[0])
    return float(high - low + z * (sd_low + sd_high)) / 2.0


def _shares(population: Population, pair: Pair, m: int, table: Kernel) -> Float:
    """Calculate the expected shares of sampled ranks, in bins."""
    shares = np.maximum(table.binned(population.sampled_shares(m, pair.sampling)), _LEAST_SHARE)
    return np.asarray(shares / shares.sum(), dtype=np.float64)
