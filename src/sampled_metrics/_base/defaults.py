"""Default options, in Python and on the command line.

Kept in a module of their own so that `--help` imports nothing that computes.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

Names: TypeAlias = str | Sequence[str]  # several with commas or in a list
Shape: TypeAlias = str | float  # assumption about true ranks: a name, or a factor
METRICS = ("recall@10", "ndcg@10", "ap", "auc")
QUOTED: Final = "likely"  # estimator of the number to quote beside a range
# High end of the interval of a number to quote by the low end, beyond which none is quoted. Chosen
# so that the number is within a factor of 2 of the exact metric in two cases of three up to there
# (make measure PAGE=estimators).
MOST_WIDTH = 16.0
ESTIMATORS = (QUOTED, "sampled", "cls", "bv:0.1", "bv:0.01")
CHECKED = "hit@10"  # exact metric of ranges and orders where a table of printed metrics is checked
SHAPE: Final = "non-increasing"
UNSCORED = 0.95  # share of held-out items at most that come last, whatever the shape
CONFIDENCE = 0.95  # nominal coverage of an interval or a range
DECIDED = 0.95  # share of evaluations that decide an order, for which a plan names a number
MOST_ITEMS = 10**9  # candidates of a user
MOST_NEGATIVES = 10**7  # drawn for a user
MOST_REPETITIONS = 10**5
MOST_ROWS = 10**8  # in a file of draws
BUDGET = 100.0  # scores per user of an evaluation on a budget
BUDGET_METRICS = ("recall@10", "ndcg@10", "ap")
