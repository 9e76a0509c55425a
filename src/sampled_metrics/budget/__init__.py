"""Exact metrics estimated from about a hundred scores per user.

A cheap proxy orders each user's candidates. Scores are asked in rounds where they say most about
the metrics, and a model of latent classes of users turns them into estimates. An audit of users
drawn with known probabilities corrects the model and gives the intervals.

Modules in the order of the data: `problem` (users, items, scores), `candidates` (proxies, order),
`strata` (scores), `model` (classes, posterior), `audit`, `estimates`, `result`, `state`,
`evaluation` (the method as a generator of batches), `folder` (the evaluation from files), and
`scoring` (the evaluation of functions).
"""

from sampled_metrics.budget.estimates import Estimate
from sampled_metrics.budget.result import BudgetResult
from sampled_metrics.budget.scoring import evaluate_on_budget

__all__ = ["BudgetResult", "Estimate", "evaluate_on_budget"]
