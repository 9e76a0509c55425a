"""Estimators of the exact metric from a sampled rank, each a vector of m + 1 values.

The paper's (section 5) are fixed; `em` is fitted to the sampled ranks.
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
