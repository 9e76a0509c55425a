"""Estimators of exact metrics from sampled ranks, each a vector with a value per sampled rank.

Those of the paper (section 5) are fixed vectors; `em` and `likely` are fitted to the sampled ranks.
"""

from sampled_metrics.estimators.least_squares import (
    reduce_system,
    solve_bias_variance,
    solve_monotone,
)
from sampled_metrics.estimators.registry import (
    REGISTERED_ESTIMATORS,
    Estimator,
    EstimatorInputs,
    em_step,
    estimator_matrix,
    parse_estimator,
    parse_estimators,
    register,
)
from sampled_metrics.estimators.smooth import likely_estimates, likely_log_errors

__all__ = [
    "REGISTERED_ESTIMATORS",
    "Estimator",
    "EstimatorInputs",
    "em_step",
    "estimator_matrix",
    "likely_estimates",
    "likely_log_errors",
    "parse_estimator",
    "parse_estimators",
    "reduce_system",
    "register",
    "solve_bias_variance",
    "solve_monotone",
]
