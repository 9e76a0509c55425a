"""The declared estimators, and the vectors of several of them at once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators.bias_variance import LEAST_REGULAR, bias_variance, well_conditioned
from sampled_metrics.estimators.monotone import monotone
from sampled_metrics.estimators.pointwise import rank_estimate, sampled
from sampled_metrics.estimators.registry import Estimator, Problem, register
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import checked

_MANY = 256  # negatives, from which on solving by triangles takes more than a moment


@register("sampled", label="Sampled")
def _sampled(problem: Problem) -> Float:
    return np.array([sampled(measure, problem.m) for measure in problem.measures])


@register("rank-estimate", label="Rank Estimate")
def _rank_estimate(problem: Problem) -> Float:
    n, m, rounding, divisor = problem.n, problem.m, problem.rounding, problem.divisor
    return np.array([rank_estimate(each, n, m, rounding, divisor) for each in problem.measures])


@register("cls", label="CLS")
def _cls(problem: Problem) -> Float:
    return monotone(problem.system, problem.cls_nonnegative)


@register("bv", label="BV", parameter="gamma")
def _bv(problem: Problem, gamma: float) -> Float:
    if problem.m >= _MANY and gamma >= LEAST_REGULAR:
        return well_conditioned(problem.normal, gamma)
    return bias_variance(problem.system, gamma)


def estimator_matrix(
    estimators: Sequence[Estimator],
    measures: Sequence[Measure],
    n: int,
    m: int,
    *,
    sampling: Sampling | str,
    prior: ArrayLike | None = None,
    cls_nonnegative: bool = True,
    rounding: str = "floor",
    divisor: str = "m+1",
    histogram: ArrayLike | None = None,
    linearised: bool = True,
) -> Float:
    """Every estimator of every metric as a vector over sampled ranks.

    An estimate is the mean of its vector over users' sampled ranks: histogram @ vector / users.

    Parameters
    ----------
    estimators, measures
        What to compute; their order is that of the result.
    n
        Number of candidates, the held-out item included.
    m
        Number of negatives drawn.
    sampling
        How `cls` and `bv` take the negatives to be drawn, which decides p(sampled rank | rank).
    prior
        p(r) of `cls` and `bv`, shape (n,), summing to 1; uniform by default.
    cls_nonnegative
        Whether `cls` must be at least 0.
    rounding, divisor
        Of `rank_estimate`. The defaults are those of the paper's Table 3, as are a uniform prior
        and `sampling` with replacement.
    histogram
        Users at every sampled rank, shape (m + 1,), to which fitted estimators such as `em:50`
        are fitted; they are refused without it.
    linearised
        Whether the vectors of fitted estimators have the spread of the estimate as well as its
        mean, which takes longer.

    Returns
    -------
    float64, shape (measures, estimators, m + 1); the last axis is sampled rank - 1.

    Raises
    ------
    ConditioningError
        A `bv` with gamma near 0 is not determined in double precision.

    Examples
    --------
    >>> from sampled_metrics.estimators import parse_estimator
    >>> from sampled_metrics.metrics.measures import parse_measure
    >>> estimators = [parse_estimator(name) for name in ("sampled", "rank-estimate", "cls")]
    >>> measures = [parse_measure("recall@10")]
    >>> vectors = estimator_matrix(estimators, measures, 3541, 100, sampling="with-replacement")
    >>> vectors[0, :, 0]
    array([1.        , 1.        , 0.48763849])
    """
    checked(1, n, m, sampling)
    options = (cls_nonnegative, rounding, divisor, histogram, linearised)
    problem = Problem(measures, n, m, sampling, prior, *options)
    values = np.empty((len(measures), len(estimators), m + 1))
    with one_thread():
        for column, estimator in enumerate(estimators if measures else ()):
            values[:, column] = estimator.vectors(problem)
    return values
