"""Default values of options, in Python and on the command line, and their limits.

Kept in a file of their own so that `--help` imports no numerical library.
"""

from collections.abc import Sequence
from typing import Final, TypeAlias

Names: TypeAlias = str | Sequence[str]  # one name, several with commas, or a list
RankShape: TypeAlias = str | float  # assumption about true ranks: a name, or a factor

DEFAULT_METRICS = ("recall@10", "ndcg@10", "ap", "auc")
DEFAULT_SHAPE: Final = "non-increasing"
DEFAULT_CONFIDENCE = 0.95  # nominal coverage of an interval or a range
DEFAULT_BUDGET = 100.0  # scores per user of an evaluation on a budget
DEFAULT_BUDGET_METRICS = ("recall@10", "ndcg@10", "ap")
CHECKED_METRIC = "hit@10"  # the exact metric that `check` bounds and orders by default

QUOTED_ESTIMATOR: Final = "likely"  # estimator of the number to quote beside a range
DEFAULT_ESTIMATORS = (QUOTED_ESTIMATOR, "sampled", "cls", "bv:0.1", "bv:0.01")
# A number to quote has an interval; none is quoted if its upper end is more than this many times
# its lower end. Chosen so that, up to there, the number is within a factor of 2 of the exact metric
# in two cases of three (make measure PAGE=estimators).
MAX_WIDTH_RATIO = 16.0

MAX_UNSCORED = 0.95  # largest share of held-out items that are ranked last, whatever the shape
DECIDED_SHARE = 0.95  # a plan recommends the size at which this share of evaluations is decided
MAX_ITEMS = 10**9  # candidates of a user
MAX_NEGATIVES = 10**7  # drawn for a user
MAX_REPETITIONS = 10**5
MAX_ROWS = 10**8  # in a file of draws
BLOCK_SIZE = 512  # users in one call of a score function: few calls, and not much memory
