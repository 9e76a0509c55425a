"""Sampled metrics of item recommendation, and their correction.

An independent implementation and reproduction of W. Krichene and S. Rendle, "On Sampled Metrics for
Item Recommendation", KDD 2020, https://doi.org/10.1145/3394486.3403226. Equation and section
numbers in this package refer to that paper.

This module exports the functions that evaluate a recommender; subpackages contain the rest. The
package `sampled_metrics_study` contains the tables and figures of the paper. Values are fractions.

A sampled Recall@10 of 60 % says little about the exact one. With five users and 100 negatives, a
wide range of exact values is possible, and corrected estimates act like a recall at another
cut-off:

>>> import sampled_metrics as sm
>>> ranks = sm.SampledRanks([1, 1, 5, 40, 90], n_items=3541, n_negatives=100)
>>> print(sm.correct(ranks, "recall@10", "sampled, cls, bv:0.1"))  # doctest: +NORMALIZE_WHITESPACE
metric              range  estimator      value    error  acts like
---------  --------------  -----------  -------  -------  -----------
recall@10  0.000 to 0.902  sampled        0.600    0.245  recall@342
recall@10                  cls            0.197    0.121  recall@26
recall@10                  bv:0.1         0.236    0.137  recall@17
<BLANKLINE>
5 users, 100 negatives drawn uniformly without replacement from 3,540 items.
  Values are fractions.
range: values of the exact metric that the sampled ranks allow, at 95 %,
  assuming that near the top no rank is likelier than a better one.
recall@10: the range includes 0.0028, the value of a random order.
<BLANKLINE>
To interpret this table: print(results.explain())

Full rankings need no correction:

>>> import numpy as np
>>> scores = np.array([[0.9, 0.8, 0.1, 0.3], [0.2, 0.7, 0.4, 0.1]])  # users x items
>>> [result.value for result in sm.evaluate(scores, "recall@1", relevant=[1, 1])]
[0.5]
"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "1.0.0"

if TYPE_CHECKING:
    from sampled_metrics._base.calls import InputWarning
    from sampled_metrics._base.errors import InputError
    from sampled_metrics.budget import evaluate_on_budget
    from sampled_metrics.evaluation.compare import compare
    from sampled_metrics.evaluation.correct import correct
    from sampled_metrics.evaluation.evaluate import evaluate, values_by_user
    from sampled_metrics.evaluation.meter import RankMeter
    from sampled_metrics.evaluation.negatives import check_negatives, negatives
    from sampled_metrics.evaluation.plan import plan
    from sampled_metrics.evaluation.rank import rank
    from sampled_metrics.metrics.ratings import mae, rmse
    from sampled_metrics.pages.report import report
    from sampled_metrics.printed.check import check
    from sampled_metrics.printed.reported import reported
    from sampled_metrics.ranks import Ranks, SampledRanks
    from sampled_metrics.sampling import draw_sampled_ranks

_MODULES = {  # of each name whose module has another name
    "InputError": "_base.errors",
    "InputWarning": "_base.calls",
    "RankMeter": "evaluation.meter",
    "Ranks": "ranks",
    "SampledRanks": "ranks",
    "check": "printed.check",
    "check_negatives": "evaluation.negatives",
    "draw_sampled_ranks": "sampling",
    "evaluate_on_budget": "budget",
    "mae": "metrics.ratings",
    "report": "pages.report",
    "reported": "printed.reported",
    "rmse": "metrics.ratings",
    "values_by_user": "evaluation.evaluate",
}
__all__ = [
    "InputError",
    "InputWarning",
    "RankMeter",
    "Ranks",
    "SampledRanks",
    "check",
    "check_negatives",
    "compare",
    "correct",
    "draw_sampled_ranks",
    "evaluate",
    "evaluate_on_budget",
    "mae",
    "negatives",
    "plan",
    "rank",
    "report",
    "reported",
    "rmse",
    "values_by_user",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first used, because the command line must start fast."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _MODULES.get(name, f"evaluation.{name}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{module}"), name)
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
