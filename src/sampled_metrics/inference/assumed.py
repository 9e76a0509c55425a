"""Populations of users that are assumed because no ranking is at hand: ranks by a power law."""

import math

import numpy as np

from sampled_metrics._base.errors import InputError
from sampled_metrics.inference.population import Population, rank_blocks
from sampled_metrics.metrics.measures import Measure

_LOG_EXPONENTS = (-12.0, 0.0)  # natural logarithms; exponent 1 is a random order of the items
_HALVINGS = 60


def power_law(n: int, exponent: float) -> Population:
    """Return the population in which a share (k/n)^exponent of users has a rank of at most k."""
    ranks = rank_blocks(n)
    up_to = (ranks.worst_rank / n) ** exponent
    return Population(ranks, np.diff(up_to, prepend=0.0))


def power_law_with(measure: Measure, value: float, n: int) -> Population:
    """Return the power law with a value of an exact metric, found by bisection.

    The metric falls from 1 to that of a random order while the exponent rises from 0 to 1.
    """
    low, high = _LOG_EXPONENTS
    least = float(power_law(n, math.exp(high)).exact([measure])[0])
    most = float(power_law(n, math.exp(low)).exact([measure])[0])
    if not least < value < most:
        raise InputError(
            f"{measure} of {value:g} is not between that of a random order of {n:,} items, "
            f"{least:.4g}, and {most:.6g}; give another value (--value), or a smaller effect "
            "(--effect)"
        )
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        if power_law(n, math.exp(middle)).exact([measure])[0] > value:
            low = middle
        else:
            high = middle
    return power_law(n, math.exp((low + high) / 2.0))
