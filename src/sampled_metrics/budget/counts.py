"""Scores of one recommender, counted by strata of the proxy's order, and tests on the counts.

A candidate is better if its score is above that of the held-out item, and tied if it is equal.
"""

from collections.abc import Callable

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import concatenate_ranges
from sampled_metrics.budget.strata import Strata

# Ratio of odds from which a model of the proxy's order gives narrower intervals than random users
# for the same scores (make measure PAGE=proxies).
LEAST_ODDS = 3.0
NORMAL_QUANTILE = 2.326  # one-sided, for an error of 1 %


class StratumCounts:
    """Scores of one recommender, compared with the scores of the held-out items.

    Attributes
    ----------
    strata
        The strata of all candidates.
    n_scored
        Number of candidates scored, the first in the random order; shape (users, strata).
    better, tied
        Number of them that are better than, or tied with, each held-out item; shape
        (rows, strata).
    above
        Number of the same user's held-out items that score higher, ties in order of the data; shape
        (rows,).
    """

    def __init__(self, strata: Strata, score: Callable[[Int, Int], Float]) -> None:
        self.strata = strata
        self._score = score
        held_scores = self._held_scores = score(strata.user_of_row, strata.data.held_out_items)
        self.n_scored: Int = np.zeros(strata.sizes.shape, np.int64)
        self.better = np.zeros((strata.user_of_row.size, strata.sizes.shape[1]), np.int64)
        self.tied = np.zeros_like(self.better)
        order = np.lexsort((-held_scores, strata.user_of_row))
        first = np.searchsorted(strata.user_of_row, strata.user_of_row)
        self.above = np.empty(order.size, np.int64)
        self.above[order] = np.arange(order.size) - first

    def score_next(self, n_more: Int) -> tuple[Int, Int, Float]:
        """Score and count the next candidates of each user and stratum.

        Parameters
        ----------
        n_more
            Number of candidates to score; shape (users, strata).

        Returns
        -------
        users, items, scores
            Of the pairs scored.
        """
        cells = np.nonzero(n_more)
        n_of_cell = n_more[cells]
        index = concatenate_ranges(self.n_scored[cells], n_of_cell)
        user, stratum = (np.repeat(part, n_of_cell) for part in cells)
        items = self.strata.items(user, stratum, index)
        scores = self._score(user, items)
        self.n_scored += n_more
        # Each score is compared with the score of every held-out item of its user.
        place, row = self.strata.rows_of_users(user)
        cell = (row, stratum[place])
        score = scores[place]
        held_score = self._held_scores[row]
        np.add.at(self.better, cell, score > held_score)
        np.add.at(self.tied, cell, score == held_score)
        return user, items, scores

    @property
    def n_left(self) -> Int:
        """Candidates not scored yet; shape (users, strata)."""
        return self.strata.sizes - self.n_scored

    @property
    def total_scored(self) -> int:
        """Number of all candidates scored."""
        return int(self.n_scored.sum())

    @property
    def known_better(self) -> Int:
        """Better candidates found, and the user's better held-out items; shape (rows,)."""
        return self.better.sum(1) + self.above

    @property
    def n_tied(self) -> Int:
        """Tied candidates found so far; shape (rows,)."""
        return self.tied.sum(1)

    @property
    def expected_better(self) -> Float:
        """Better candidates among those scored, and half of the tied; shape (rows, strata)."""
        return self.better + 0.5 * self.tied


def does_proxy_help(counts: StratumCounts) -> bool:
    """Test whether better candidates gather at one end of the proxy's order.

    The test needs one score in every stratum of each user. It counts pairs of one candidate from
    the first half of the strata and one from the second half, if exactly one of the two is better
    than the held-out item. The proxy helps if one half has the better candidate in significantly
    more than `LEAST_ODDS` times as many pairs as the other half: if the true odds are `LEAST_ODDS`
    or less, this happens in at most 1 % of evaluations. Users are independent, their pairs are not.
    """
    middle = counts.n_scored.shape[1] // 2
    n_rows = np.bincount(counts.strata.user_of_row)
    better = counts.strata.reduce_by_user(counts.expected_better.T) / n_rows
    worse = np.where(counts.n_scored.T > 0, 1.0 - better, 0.0)
    first = better[:middle].sum(0) * worse[middle:].sum(0)
    second = worse[:middle].sum(0) * better[middle:].sum(0)
    n_first = first.sum() + 0.5
    n_second = second.sum() + 0.5
    error = np.sqrt(np.square(first / n_first - second / n_second).sum())
    distance = abs(np.log(n_first / n_second)) - NORMAL_QUANTILE * error
    return bool(distance > np.log(LEAST_ODDS))
