"""All estimators of all metrics at once, sharing what they have in common."""

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController

from sampled_metrics._base.arrays import Float
from sampled_metrics.estimators.bias_variance import bias_variance
from sampled_metrics.estimators.monotone import monotone
from sampled_metrics.estimators.names import BV, CLS, RANK_ESTIMATE, SAMPLED, Estimator
from sampled_metrics.estimators.pointwise import rank_estimate, sampled
from sampled_metrics.estimators.system import Reduced, reduced
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.sampling.noise import checked


def estimator_matrix(
    estimators: Sequence[Estimator],
    measures: Sequence[Measure],
    n: int,
    m: int,
    *,
    noise: str = "binomial",
    prior: ArrayLike | None = None,
    cls_nonnegative: bool = True,
    rounding: str = "floor",
    divisor: str = "m+1",
) -> Float:
    """Every estimator of every metric as a vector over sampled ranks.

    An estimate is the mean of its vector over users' sampled ranks: histogram @ vector / users.

    Parameters
    ----------
    estimators, measures
        What to compute; their order is that of the result.
    n
        Number of candidates, the relevant item included.
    m
        Number of sampled irrelevant items.
    noise
        Model of p(sampled rank | rank) behind `cls` and `bv`: `binomial`, `hypergeometric` or
        `distinct`.
    prior
        p(r) of `cls` and `bv`, shape (n,), summing to 1; uniform if not given.
    cls_nonnegative
        Whether `cls` must be at least 0.
    rounding, divisor
        Of `rank-estimate`, see there. The defaults of all five are those of the paper's Table 3.

    Returns
    -------
    float64, shape (measures, estimators, m + 1); the last axis is sampled rank - 1.

    Raises
    ------
    InputError
        n, m, an option's name or the prior is not allowed.
    ConditioningError
        A `bv` with gamma near 0 is not determined in double precision.

    >>> from sampled_metrics.estimators import parse_estimator
    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> names = ["sampled", "rank-estimate", "cls", "bv:0.1"]
    >>> measures = [parse_measure("recall@10")]
    >>> estimator_matrix([parse_estimator(name) for name in names], measures, 3541, 100)[0, :, 0]
    array([1.        , 1.        , 0.48763849, 0.56540931])
    """
    checked(1, n, m, noise)
    values = np.empty((len(measures), len(estimators), m + 1))
    to_solve = {estimator for estimator in estimators if estimator.name in (BV, CLS)}
    solved: dict[Estimator, Float] = {}
    if to_solve and measures:
        # On several threads, matrices of this size take up to ten times as long.
        with _threads().limit(limits=1, user_api="blas"):
            system = reduced(measures, n, m, noise, prior)
            solved = {each: _solved(each, system, cls_nonnegative) for each in to_solve}
    for row, measure in enumerate(measures):
        for column, estimator in enumerate(estimators):
            if estimator.name == SAMPLED:
                values[row, column] = sampled(measure, m)
            elif estimator.name == RANK_ESTIMATE:
                values[row, column] = rank_estimate(measure, n, m, rounding, divisor)
            else:
                values[row, column] = solved[estimator][row]
    return values


@cache
def _threads() -> ThreadpoolController:
    return ThreadpoolController()


def _solved(estimator: Estimator, system: Reduced, cls_nonnegative: bool) -> Float:
    if estimator.gamma is None:
        return monotone(system, cls_nonnegative)
    return bias_variance(system, estimator.gamma)
