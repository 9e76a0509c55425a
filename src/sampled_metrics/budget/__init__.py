"""Exact metrics estimated from about a hundred scores per user.

A cheap proxy orders each user's candidates. Scores are asked in rounds where they say most about
the metrics, and a model of latent classes of users turns them into estimates. An audit of users
drawn with known probabilities corrects the model and gives the intervals.

Modules in the order of the data: `candidates` (users, proxies, order), `model` (scores, classes,
posterior), `audit`, `evaluation` (the method as a generator of batches), `result`, and `folder`
(the same evaluation from files).
"""

from sampled_metrics.budget.audit import Estimate
from sampled_metrics.budget.candidates import Candidates
from sampled_metrics.budget.evaluation import Batch, Session, Settings, evaluate_on_budget
from sampled_metrics.budget.result import BudgetResult

__all__ = [
    "Batch",
    "BudgetResult",
    "Candidates",
    "Estimate",
    "Session",
    "Settings",
    "evaluate_on_budget",
]
