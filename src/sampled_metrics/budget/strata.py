"""Counts of better candidates in strata of the proxy's order, and tests on them."""

from collections.abc import Callable

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import concatenate_ranges
from sampled_metrics._base.errors import warn_input
from sampled_metrics.budget.candidates import Strata

LEAST_ODDS = 3.0  # ratio of odds from which a model of the proxy's order pays
NORMAL_QUANTILE = 2.326  # one-sided, for an error of 1 %
MANY = 50  # held-out items, whose mean place tells a random order from a poor one
POOR = 0.55  # mean share of candidates below the held-out item
TOP = 0.9  # share below near the top
AT_TOP = 0.3  # share of rows there


class Counts:
    """Scores of one recommender, compared with the scores of the held-out items."""

    def __init__(self, frame: Strata, score: Callable[[Int, Int], Float]) -> None:
        self.frame = frame
        self._score = score
        held_scores = self._held_scores = score(frame.owner, frame.problem.item)
        # Numbers of scores asked, shape (users, strata): the first of the random order. Numbers of
        # them above, and equal to, the held-out score, shape (rows, strata).
        self.m: Int = np.zeros(frame.n.shape, np.int64)
        self.better = np.zeros((frame.owner.size, frame.n.shape[1]), np.int64)
        self.tied = np.zeros_like(self.better)
        # Held-out items of the same user that score higher, ties in the order given.
        order = np.lexsort((-held_scores, frame.owner))
        first = np.searchsorted(frame.owner, frame.owner)
        self.above = np.empty(order.size, np.int64)
        self.above[order] = np.arange(order.size) - first

    def ask(self, more: Int) -> tuple[Int, Int, Float]:
        """Ask for and count the next `more` scores, shape (users, strata).

        Returns users, items and scores of the pairs.
        """
        some = np.nonzero(more)
        count = more[some]
        index = concatenate_ranges(self.m[some], count)
        user, stratum = (np.repeat(part, count) for part in some)
        items = self.frame.items(user, stratum, index)
        scores = self._score(user, items)
        self.m += more
        # Each score is compared with the score of every held-out item of its user.
        place, row = self.frame.rows_of(user)
        cell = (row, stratum[place])
        score = scores[place]
        held_score = self._held_scores[row]
        np.add.at(self.better, cell, score > held_score)
        np.add.at(self.tied, cell, score == held_score)
        return user, items, scores

    @property
    def left(self) -> Int:
        """Scores not asked yet, shape (users, strata)."""
        return self.frame.n - self.m

    @property
    def n_asked(self) -> int:
        """Number of scores asked."""
        return int(self.m.sum())

    @property
    def known(self) -> Int:
        """Better candidates known of each held-out row, held-out ones included."""
        return self.better.sum(1) + self.above

    @property
    def n_tied(self) -> Int:
        """Candidates known to tie with each held-out row."""
        return self.tied.sum(1)

    @property
    def expected_better(self) -> Float:
        """Better candidates among the scored ones, with half of the tied, shape (rows, strata)."""
        return self.better + 0.5 * self.tied


def proxy_helps(counts: Counts) -> bool:
    """Test whether better candidates gather at one end of the proxy's order.

    It uses one score in every stratum of each user. A pair is a score from the first half of the
    strata and one from the second half, for a user whose held-out item is below one of the two
    only. True if the better score is in the same half in more than LEAST_ODDS times as many pairs
    as not; if the true odds are LEAST_ODDS or less, this happens in 1 % of evaluations at most.
    Users are independent, their pairs are not.
    """
    middle = counts.m.shape[1] // 2
    n_rows = np.bincount(counts.frame.owner)
    better = counts.frame.by_user(counts.expected_better.T) / n_rows
    worse = np.where(counts.m.T > 0, 1.0 - better, 0.0)
    first = better[:middle].sum(0) * worse[middle:].sum(0)
    second = worse[:middle].sum(0) * better[middle:].sum(0)
    n_first = first.sum() + 0.5
    n_second = second.sum() + 0.5
    error = np.sqrt(np.square(first / n_first - second / n_second).sum())
    distance = abs(np.log(n_first / n_second)) - NORMAL_QUANTILE * error
    return bool(distance > np.log(LEAST_ODDS))


def question_scores(counts: Counts) -> None:
    """Ask about scores that are all equal, or in random or reversed order."""
    asked = counts.m[counts.frame.owner]
    if len(asked) < MANY:
        return
    n_equal = np.count_nonzero(counts.n_tied == asked.sum(axis=1))
    if 2 * n_equal >= len(asked):
        warn_input(
            "recommender",
            f"all scores of {n_equal:,} of {len(asked):,} held-out items and their candidates "
            "are equal: are these scores?",
        )
        return
    candidates = counts.frame.n[counts.frame.owner] * (asked > 0)
    share = counts.expected_better / np.maximum(asked, 1)
    n_better = (share * candidates).sum(axis=1)
    below = 1.0 - n_better / np.maximum(candidates.sum(axis=1), 1)
    if below.mean() < POOR and (below >= TOP).mean() < AT_TOP:
        warn_input(
            "recommender",
            f"held-out items are above about {100.0 * below.mean():.0f} % of their candidates, "
            "50 % in a random order: are higher scores better, and are its arguments users, then "
            "items?",
        )
