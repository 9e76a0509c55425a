"""Metrics of item recommendation under sampling, and their correction.

Reference implementation of W. Krichene and S. Rendle, "On Sampled Metrics for Item
Recommendation", KDD 2020, https://doi.org/10.1145/3394486.3403226. Equation and section
numbers in this package are those of that paper.

What you need for your own recommender is exported here; the study behind the paper's tables and
figures is in `sampled_metrics.study`. Values are fractions.

A sampled Recall@10 of 60 % says little of the exact one. What five users with 100 negatives allow
is a range of it; corrected estimates act like a recall at another cut-off:

>>> import sampled_metrics as sm
>>> ranks = sm.SampledRanks([1, 1, 5, 40, 90], n_items=3541, n_negatives=100)
>>> for result in sm.correct(ranks, ["recall@10"], ["sampled", "cls", "bv:0.1"]):
...     print(f"{result.estimator:8}{result.value:6.3f}, acts like recall@{result.behaves_like}")
sampled  0.600, acts like recall@342
cls      0.197, acts like recall@26
bv:0.1   0.236, acts like recall@17
>>> print(f"recall@10 is between {result.range_low:.3f} and {result.range_high:.3f}")
recall@10 is between 0.003 and 0.932

With full rankings there is nothing to correct:

>>> import numpy as np
>>> scores = np.array([[0.9, 0.8, 0.1, 0.3], [0.2, 0.7, 0.4, 0.1]])  # users x items
>>> ranks = sm.rank(lambda users: scores[users], None, [1, 1])
>>> [result.value for result in sm.evaluate(ranks, ["recall@1"])]
[0.5]
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sampled_metrics._base.errors import InputError, InputWarning
    from sampled_metrics.inference.budget import evaluate_on_budget
    from sampled_metrics.inference.compare import compare_exact, compare_sampled
    from sampled_metrics.inference.compare_any import compare
    from sampled_metrics.inference.correct import correct
    from sampled_metrics.inference.evaluate import evaluate, values_by_user
    from sampled_metrics.inference.pair import Pair
    from sampled_metrics.inference.plan import plan
    from sampled_metrics.inference.population import Population
    from sampled_metrics.metrics import Measure, parse_measure
    from sampled_metrics.ranks import Ranks, SampledRanks, Sampling, rank
    from sampled_metrics.sampling import draw_sampled_ranks

_HOME = {
    "InputError": "_base.errors",
    "InputWarning": "_base.errors",
    "Measure": "metrics",
    "Pair": "inference.pair",
    "Population": "inference.population",
    "Ranks": "ranks",
    "SampledRanks": "ranks",
    "Sampling": "ranks",
    "compare": "inference.compare_any",
    "compare_exact": "inference.compare",
    "compare_sampled": "inference.compare",
    "correct": "inference.correct",
    "draw_sampled_ranks": "sampling",
    "evaluate": "inference.evaluate",
    "evaluate_on_budget": "inference.budget",
    "parse_measure": "metrics",
    "plan": "inference.plan",
    "rank": "ranks",
    "values_by_user": "inference.evaluate",
}
__all__ = [
    "InputError",
    "InputWarning",
    "Measure",
    "Pair",
    "Population",
    "Ranks",
    "SampledRanks",
    "Sampling",
    "compare",
    "compare_exact",
    "compare_sampled",
    "correct",
    "draw_sampled_ranks",
    "evaluate",
    "evaluate_on_budget",
    "parse_measure",
    "plan",
    "rank",
    "values_by_user",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, because the command line must start fast."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
