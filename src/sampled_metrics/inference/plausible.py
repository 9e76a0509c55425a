"""Sampled ranks that look like something else than they are taken for."""

import warnings
from collections.abc import Sequence

import numpy as np

from sampled_metrics._base.arrays import first_duplicate
from sampled_metrics._base.errors import InputError, InputWarning
from sampled_metrics.metrics import Measure
from sampled_metrics.ranks import SampledRanks, Sampling

_OF_ITEMS = ("recall", "auc")  # the mean over a user's items is the metric of the user
_LEAST = 8  # largest rank that may be an end: ranks near 1 are frequent anyway
_ENOUGH = 8  # rows near the largest rank, after which none at all is no chance
_USUAL = {10, 20, 50, 99, 100}  # numbers of negatives for which fewer rows arouse suspicion
_SUSPICIOUS = 3


def require_item_metrics(ranks: SampledRanks, measures: Sequence[Measure]) -> None:
    """Raise InputError for metrics that are no mean over the held-out items of a user."""
    if not ranks.several_items or ranks.users is None or first_duplicate(ranks.users) is None:
        return
    wrong = [str(measure) for measure in measures if measure.kind not in _OF_ITEMS]
    if wrong:
        raise InputError(
            f"users have several held-out items; {wrong[0]} needs them together, and sampled ranks "
            "give recall and auc only"
        )


def warn_of_low_ranks(ranks: SampledRanks) -> None:
    """Warn if many ranks are near the largest one although that is below m + 1."""
    m, largest = ranks.n_negatives, int(ranks.sampled_ranks.max())
    width = min(-(-largest // 10), m + 1 - largest)
    near = int(np.count_nonzero(ranks.sampled_ranks > largest - width))
    usual = width == 0 or largest < _LEAST or ranks.sampling is Sampling.DISTINCT
    suspected = largest - 1 in _USUAL and 2 * largest <= m
    if usual or near < (_SUSPICIOUS if suspected else _ENOUGH):
        return
    warnings.warn(
        f"the largest sampled rank is {largest}, and {near:,} of {len(ranks):,} rows are near it, "
        f"but with {m} negatives ranks go up to {m + 1}: were {largest - 1} drawn?",
        InputWarning,
        stacklevel=4,  # the caller of the public function, which is wrapped
    )
