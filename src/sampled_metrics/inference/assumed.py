"""Pairs of recommenders with assumed metrics, of families of distributions that may cross."""

import numpy as np

from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.inference.pair import Pair
from sampled_metrics.inference.population import Population
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Sampling

_BISECTIONS = 80
_HEAD = 3.0  # times the metric of those users that a head-and-tail recommender knows


def assumed_pairs(
    measure: Measure,
    level: float,
    effect: float,
    n_items: int,
    n_users: int,
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
) -> list[Pair]:
    """Make pairs of recommenders with metrics `level` and `level + effect`.

    Of two families: ranks of at most k with probability (k/n)^a, and a mixture of such ranks for
    some users with a random order for the others. Members of one family do not cross; those of
    two do: the mixture is higher at the first ranks and lower at later ones, or the other way.
    """
    with reading("--level"):
        smooth_a = population_with(measure, level, n_items)
    with reading("--level plus --effect"):
        smooth_b = population_with(measure, level + effect, n_items)
    pairs = [(smooth_a, smooth_b)]
    pairs.append((smooth_a, _head_and_tail(measure, level + effect, n_items)))
    pairs.append((_head_and_tail(measure, level, n_items), smooth_b))
    return [Pair(a, b, n_users, drawn=True, sampling=sampling) for a, b in pairs]


def population_with(measure: Measure, level: float, n: int) -> Population:
    """Find the population P(rank <= k) = (k/n)^exponent that has a given exact metric.

    The metric must be at least that of a random ranking and below 1.

    Examples
    --------
    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> measure = parse_measure("recall@10")
    >>> round(float(population_with(measure, 0.1, 1000).exact([measure])[0]), 9)
    0.1
    """
    low, high = 1e-6, 1.0
    worst, best = (float(Population.power(n, a).exact([measure])[0]) for a in (high, low))
    if not worst <= level <= best:
        raise InputError(
            f"{measure} is {level:g}; it must be from {worst:.4g} (a random ranking of {n} items) "
            f"to {best:.4g}"
        )
    for _ in range(_BISECTIONS):
        middle = np.sqrt(low * high)
        if Population.power(n, middle).exact([measure])[0] > level:
            low = middle
        else:
            high = middle
    return Population.power(n, high)


def _head_and_tail(measure: Measure, level: float, n: int) -> Population:
    best = float(Population.power(n, 1e-6).exact([measure])[0])
    head, tail = population_with(measure, min(_HEAD * level, best), n), Population.uniform(n)
    known, unknown = (float(each.exact([measure])[0]) for each in (head, tail))
    share = (level - unknown) / max(known - unknown, 1e-300)
    return Population(head.ranks, share * head.share + (1.0 - share) * tail.share)
