"""Metrics over all candidates from about a hundred scores per user.

A cheap proxy orders each user's candidates, the order is cut into strata, and scores are asked
in rounds from where they say most about the metrics. A model of latent classes of users turns
them into estimates. An audit of users drawn with known probabilities corrects them, whatever the
proxy hides; its interval holds where some users could be ranked fully. `evaluate_on_budget` does
it all; `Session` asks for scores batch by batch, and can be saved in between.

`tests/benchmarks/budget_orders.py` measures how often orders are right and intervals cover.
"""

from sampled_metrics.inference.budget.candidates import Candidates
from sampled_metrics.inference.budget.draws import reciprocal_rank
from sampled_metrics.inference.budget.estimate import Estimate
from sampled_metrics.inference.budget.evaluate import evaluate_on_budget
from sampled_metrics.inference.budget.evaluation import Batch, Settings
from sampled_metrics.inference.budget.result import BudgetResult
from sampled_metrics.inference.budget.session import (
    Session,
    prepare,
    read_answers,
)

__all__ = [
    "Batch",
    "BudgetResult",
    "Candidates",
    "Estimate",
    "Session",
    "Settings",
    "evaluate_on_budget",
    "prepare",
    "read_answers",
    "reciprocal_rank",
]
