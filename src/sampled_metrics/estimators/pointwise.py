"""Estimators that apply the metric to one rank: the sampled one, or an estimate of the true."""

import numpy as np

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.errors import InputError
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import checked

ROUNDINGS = ("floor", "linear")
DIVISORS = ("m", "m+1")


def sampled(measure: Measure, m: int) -> Float:
    """Uncorrected metric, M(sampled rank), of a ranking of m + 1 items.

    Returns
    -------
    float64, shape (m + 1,), indexed by sampled rank - 1.

    Examples
    --------
    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> sampled(parse_measure("auc"), 2)
    array([1. , 0.5, 0. ])
    """
    return measure.at(np.arange(1, m + 2), m + 1)


def rank_estimate(
    measure: Measure, n: int, m: int, rounding: str = "floor", divisor: str = "m+1"
) -> Float:
    """Metric at an estimate of the true rank, eq. 20: M(1 + (n - 1)(sampled rank - 1)/divisor).

    Parameters
    ----------
    measure, n, m
        What to estimate, number of candidates, number of negatives.
    rounding
        Of the estimated rank: `floor`, in exact integer arithmetic, as in the paper's
        experiments; or `linear`, interpolating M between whole ranks.
    divisor
        `m`, as eq. 20 is printed (the estimate is unbiased, and n for the last sampled rank), or
        `m+1`, which the paper's Table 3 rests on.

    Returns
    -------
    float64, shape (m + 1,), indexed by sampled rank - 1.

    Examples
    --------
    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> rank_estimate(parse_measure("ap"), 8, 2, divisor="m")  # ranks 1, floor(4.5), 8
    array([1.   , 0.25 , 0.125])
    """
    checked(1, n, m, Sampling.WITH_REPLACEMENT)
    if rounding not in ROUNDINGS:
        raise InputError(f"unknown rounding {rounding!r}; known: {', '.join(ROUNDINGS)}")
    if divisor not in DIVISORS:
        raise InputError(f"unknown divisor {divisor!r}; known: {', '.join(DIVISORS)}")
    denominator = m if divisor == "m" else m + 1
    steps, rest = np.divmod((n - 1) * np.arange(m + 1), denominator)
    values = measure.at(1 + steps, n)
    if rounding == "linear":
        following = measure.at(2 + steps, n)  # beyond n with weight 0
        values += rest / denominator * (following - values)
    return values
