"""Estimators of the exact metric from a sampled rank, each a vector of m + 1 values.

Those of the paper (section 5) are fixed; later ones are fitted to the sampled ranks.
"""

from sampled_metrics.estimators.bias_variance import bias_variance
from sampled_metrics.estimators.expectation import em_path, em_step
from sampled_metrics.estimators.matrix import estimator_matrix
from sampled_metrics.estimators.monotone import monotone
from sampled_metrics.estimators.observed import true_ranks
from sampled_metrics.estimators.pointwise import DIVISORS, ROUNDINGS, rank_estimate, sampled
from sampled_metrics.estimators.registry import (
    Estimator,
    Problem,
    parse_estimator,
    parse_estimators,
    register,
)
from sampled_metrics.estimators.system import ConditioningError, Reduced, reduced

__all__ = [
    "DIVISORS",
    "ROUNDINGS",
    "ConditioningError",
    "Estimator",
    "Problem",
    "Reduced",
    "bias_variance",
    "em_path",
    "em_step",
    "estimator_matrix",
    "monotone",
    "parse_estimator",
    "parse_estimators",
    "rank_estimate",
    "reduced",
    "register",
    "sampled",
    "true_ranks",
]
