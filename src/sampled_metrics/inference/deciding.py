"""How many negatives it takes until the range of a difference excludes 0, or which they decide."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from sampled_metrics._base.defaults import CONFIDENCE, SHAPE
from sampled_metrics.inference.brackets import Bracket, bracket, likely_shares
from sampled_metrics.inference.crossfit import unbiased_auc
from sampled_metrics.inference.intervals import normal_quantile
from sampled_metrics.inference.kernels import kernel
from sampled_metrics.inference.moments import deviations
from sampled_metrics.inference.outlook import Outlook
from sampled_metrics.inference.pair import Pair
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Sampling

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
        evaluation = _Evaluation.of(pair, m, shape, z)
        of_a, of_b = (_bracket(each, measure, evaluation) for each in (pair.a, pair.b))
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
    evaluation = _Evaluation.of(pair, m, shape, normal_quantile(confidence))
    (low_a, high_a), (low_b, high_b) = (
        _outlooks(each, measure, evaluation) for each in (pair.a, pair.b)
    )
    low, sd_low = pair.difference_of(high_a, low_b)
    high, sd_high = pair.difference_of(low_a, high_b)
    return float(high - low + evaluation.z * (sd_low + sd_high)) / 2.0


class _Evaluation(NamedTuple):
    """What the vectors of a sample depend on, beside its recommender and the metric."""

    n: int
    n_users: int
    m: int
    sampling: Sampling
    shape: str
    z: float

    @classmethod
    def of(cls, pair: Pair, m: int, shape: str, z: float) -> "_Evaluation":
        return cls(pair.n_items, pair.n_users, m, Sampling(pair.sampling), shape, z)


@lru_cache(maxsize=32)
def _outlooks(
    population: Population, measure: Measure, evaluation: _Evaluation
) -> tuple[Outlook, Outlook]:
    """Moments of the lower and of the upper end of the range of one recommender."""
    ends = np.stack(_bracket(population, measure, evaluation))
    both = population.outlook(ends, evaluation.sampling)
    low, high = (Outlook(*fields) for fields in zip(*vars(both).values(), strict=True))
    return low, high


def _bracket(population: Population, measure: Measure, evaluation: _Evaluation) -> Bracket:
    """Solve for the vectors that a sample of a population is likely to get, shape (m + 1,)."""
    n, n_users, m, sampling, shape, z = evaluation
    if measure.metric.needs_candidates:
        vector = unbiased_auc(n, m, sampling)
        return Bracket(vector, vector)
    table = kernel(n, m, sampling, shape, measure.cutoff)
    # Of the closest distribution of the class, as for a sample: the population itself may be
    # outside, as that of a few users is, and then no vector is narrowest where it is.
    expected = n_users * population.sampled_shares(m, sampling)
    found = bracket(measure, table, likely_shares(expected, table)[None], n_users, z)
    return Bracket(found.lower[0], found.upper[0])
