"""Results of comparisons made by hand."""

from typing import Any

from sampled_metrics.evaluation.compare import Compared


def make_compared(**changes: Any) -> Compared:
    """Return a result of a comparison, with changes to the usual one."""
    usual: dict[str, Any] = {
        "a": "A",
        "b": "B",
        "metric": "recall@10",
        "estimator": "exact",
        "value_a": 0.1,
        "value_b": 0.3,
        "difference": 0.2,
        "std_error": 0.05,
        "ci_low": 0.1,
        "ci_high": 0.3,
        "range_low": 0.1,
        "range_high": 0.3,
        "p_value": 0.01,
        "paired": True,
        "n_users": 500,
        "n_negatives": 100,
    }
    return Compared(**(usual | changes))
