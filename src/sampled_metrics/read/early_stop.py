"""Where rankings may end early: metrics with a cut-off do not need to know ranks below it.

A rank below the depth is not counted, which saves most products of vectors. But full rankings may
also raise warnings, such as that scores are no better than random, and equal scores may matter
below the cut-off. Some users are therefore ranked first, among a sample of the items or in full,
and they decide about the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sampled_metrics._base.array_types import Bool, Int
from sampled_metrics.checks.ranks import (
    FAR_FROM_END,
    LEAST_SHARE_BELOW,
    irrelevant_counts,
    share_below,
    signs_in_ranks,
    signs_of_equal_scores,
)
from sampled_metrics.ranks import Ranks

# Users ranked before the others. More of them cost time, fewer say too little about the others.
_FIRST_USERS = 128
# A warning about all users must not be missed, so it must be this unlikely (one in a million).
_STANDARD_ERRORS = 5.0


@dataclass(frozen=True, kw_only=True, eq=False)
class EarlyStop:
    """Let rankings end at a depth if all results and warnings are those of full rankings.

    Attributes
    ----------
    depth
        The largest cut-off of the metrics.
    is_enough
        Whether ranks that end at the depth give all results.
    min_relevance
        Grade from which an item is relevant.

    Examples
    --------
    >>> early_stop = EarlyStop(depth=10, is_enough=lambda ranks: True)
    >>> int(early_stop.first_users(np.arange(1000)).sum())
    143
    """

    depth: int
    is_enough: Callable[[Ranks], bool]
    min_relevance: float = 0.0

    def first_users(self, users: Int) -> Bool:
        """Return which users to rank first: 128 to 255 at equal distances, or all."""
        is_first = np.zeros(users.size, bool)
        is_first[:: max(1, users.size // _FIRST_USERS)] = True
        return is_first

    def may_end_by_sample(self, sampled_ranks: Ranks) -> bool:
        """Return whether ranks among a random sample of items suffice for `may_end`.

        They do not if all of them are near the top, as a sample hardly shows where such ranks end.

        Parameters
        ----------
        sampled_ranks
            Ranks of the users of `first_users` among a sample.
        """
        above, tied, n_irrelevant = irrelevant_counts(sampled_ranks)
        is_far = (above + tied) * FAR_FROM_END > n_irrelevant
        return bool(is_far.any()) and self.may_end(sampled_ranks)

    def may_end(self, full_ranks: Ranks) -> bool:
        """Return whether full rankings of all users would raise no warning, as those of some show.

        Parameters
        ----------
        full_ranks
            Ranks of the users of `first_users`.
        """
        ranks = full_ranks.at_least(self.min_relevance)
        share = share_below(*irrelevant_counts(ranks.binary))
        if not share.size:
            return False
        standard_error = share.std() / np.sqrt(share.size)
        is_good = share.mean() - _STANDARD_ERRORS * standard_error > LEAST_SHARE_BELOW
        return is_good and not any(signs_in_ranks(ranks)) and self.is_enough(ranks)

    def keeps_results(self, truncated_ranks: Ranks) -> bool:
        """Return whether ranks that end at the depth give all results and raise no warning."""
        ranks = truncated_ranks.at_least(self.min_relevance)
        n_others = np.repeat(ranks.n_candidates - 1, ranks.n_found)
        signs = signs_of_equal_scores(ranks.n_tied, n_others, int(ranks.n_relevant.sum()))
        return not any(signs) and self.is_enough(ranks)
