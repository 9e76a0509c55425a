"""Exact metrics estimated from about a hundred scores per user.

A cheap proxy orders each user's candidates. Candidates are scored in rounds, where scores tell most
about the metrics, and a model of latent classes turns them into estimates. An audit of users drawn
with known probabilities corrects the model and gives the intervals.

Modules in the order of the data: `candidates` (held-out items and candidates of users), `scorers`
(functions of pairs), `strata` (proxies and the order of candidates), `counts` (scores by stratum),
`model` (classes, posterior) with `poisson_means`, `user_audit` with `reciprocal_ranks`,
`estimates`, `result`, `evaluation`; `constants` for all of them.
"""

from sampled_metrics.budget.estimates import Estimate
from sampled_metrics.budget.evaluation import evaluate_on_budget
from sampled_metrics.budget.result import BudgetResult

__all__ = ["BudgetResult", "Estimate", "evaluate_on_budget"]
