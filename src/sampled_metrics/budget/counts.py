"""Scores of one recommender, counted by strata of the proxy's order, and a test on the counts.

A candidate is better if its score is above that of the held-out item, and tied if it is equal. A
row is one held-out item of a user, see `candidates`.
"""

from collections.abc import Callable

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import concatenate_ranges
from sampled_metrics.budget.constants import LEAST_ODDS, NORMAL_QUANTILE
from sampled_metrics.budget.strata import Strata


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
        self._held_out_score = score(strata.user_of_row, strata.data.held_out_items)
        n_rows = strata.user_of_row.size
        n_users, n_strata = strata.sizes.shape
        self.n_scored: Int = np.zeros((n_users, n_strata), np.int64)
        self.better = np.zeros((n_rows, n_strata), np.int64)
        self.tied = np.zeros((n_rows, n_strata), np.int64)
        self.above = _count_above_of_same_user(strata.user_of_row, self._held_out_score)

    def score_next(self, n_more: Int) -> tuple[Int, Int, Float]:
        """Score and count the next candidates of each user and stratum, in their random order.

        Parameters
        ----------
        n_more
            Number of candidates to score; shape (users, strata).

        Returns
        -------
        users, items, scores
            Of the pairs scored; each of shape (pairs,).
        """
        user_of_cell, stratum_of_cell = np.nonzero(n_more)
        n_pairs = n_more[user_of_cell, stratum_of_cell]
        n_before = self.n_scored[user_of_cell, stratum_of_cell]
        users = np.repeat(user_of_cell, n_pairs)
        strata = np.repeat(stratum_of_cell, n_pairs)
        # Positions n_before to n_before + n_pairs - 1 in each stratum.
        positions = concatenate_ranges(n_before, n_pairs)
        items = self.strata.items(users, strata, positions)
        scores = self._score(users, items)
        self.n_scored += n_more
        self._count(users, strata, scores)
        return users, items, scores

    def _count(self, users: Int, strata: Int, scores: Float) -> None:
        """Compare the score of each pair with those of all held-out items of its user."""
        pair, row = self.strata.rows_of_users(users)  # both of shape (comparisons,)
        cell = (row, strata[pair])
        np.add.at(self.better, cell, scores[pair] > self._held_out_score[row])
        np.add.at(self.tied, cell, scores[pair] == self._held_out_score[row])

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


def _count_above_of_same_user(user_of_row: Int, scores: Float) -> Int:
    """Count the rows of the same user with a higher score, ties in order of the rows.

    If rows are sorted by user and then from the best score down, this is the position of a row
    minus the position of its user's first row. All arrays have the shape (rows,), and users ascend.

    Examples
    --------
    >>> _count_above_of_same_user(np.array([0, 0, 0, 1]), np.array([0.3, 0.7, 0.7, 0.1]))
    array([2, 0, 1, 0])
    """
    best_first_by_user = np.lexsort((-scores, user_of_row))
    first_position_of_user = np.searchsorted(user_of_row, np.arange(user_of_row.max() + 1))
    positions = np.arange(user_of_row.size)
    above = np.empty(user_of_row.size, np.int64)
    # Users ascend, so the sorted rows belong to the same users: user_of_row stays as it is.
    above[best_first_by_user] = positions - first_position_of_user[user_of_row]
    return above


def does_proxy_help(counts: StratumCounts) -> bool:
    """Test whether better candidates gather at one end of the proxy's order.

    The test needs one score in every stratum of each user. It counts pairs of one candidate from
    the first half of the strata and one from the second half, if exactly one of the two is better
    than the held-out item. The proxy helps if one half has the better candidate in significantly
    more than `LEAST_ODDS` times as many pairs as the other half: if the true odds are `LEAST_ODDS`
    or less, this happens in at most 1 % of evaluations. Users are independent, their pairs are not.

    With f_u and s_u pairs of user u in which the candidate of the first, or the second, half is
    better, and their sums F and S over users, each plus 1/2, the test is

        |log(F / S)| - z * std_error > log(LEAST_ODDS),   std_error^2 = sum_u (f_u / F - s_u / S)^2,

    by the delta method: user u changes log F by f_u / F.
    """
    middle = counts.n_scored.shape[1] // 2
    n_rows_of_user = np.bincount(counts.strata.user_of_row)
    # Means over a user's held-out items; shape (strata, users).
    better = counts.strata.reduce_by_user(counts.expected_better.T) / n_rows_of_user
    worse = np.where(counts.n_scored.T > 0, 1.0 - better, 0.0)
    first_is_better = better[:middle].sum(0) * worse[middle:].sum(0)  # shape (users,)
    second_is_better = worse[:middle].sum(0) * better[middle:].sum(0)
    total_first = first_is_better.sum() + 0.5
    total_second = second_is_better.sum() + 0.5
    log_odds = abs(np.log(total_first / total_second))
    influence_of_user = first_is_better / total_first - second_is_better / total_second
    std_error = np.sqrt(np.square(influence_of_user).sum())
    return bool(log_odds - NORMAL_QUANTILE * std_error > np.log(LEAST_ODDS))
