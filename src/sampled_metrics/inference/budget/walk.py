"""Scoring candidates in random order until the first better one, and what it says of the rank.

With n candidates, the held-out item among them, and the first better one at draw T, T / n is an
unbiased estimate of 1 / rank; T is n where none is better. With T the draw of the k-th better one,
T / (k n) is unbiased where at least k are better. Candidates that were scored before take part in
the order with their known outcome and cost nothing.
"""

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.budget.counts import Asked, Counts
from sampled_metrics.inference.budget.purse import Purse
from sampled_metrics.inference.budget.rounds import Asking
from sampled_metrics.inference.budget.shuffle import hashed, permuted, uniform

FIRST_TURN, GROWTH = 16, 8  # scores asked per user in the first turn; factor from turn to turn


class Walk:
    """Random order of a few users' candidates, of which only the unknown ones are scored.

    Every candidate has a uniform key; the order is that of the keys. The keys of known candidates
    are drawn only as far as they matter: the smallest of the better ones, and how many others lie
    below the first better one. A tied candidate counts as better with the probability that is the
    held-out item's own key among the ties.

    Parameters
    ----------
    counts
        Scores known at the start.
    users
        Users to walk, in the order in which they have a claim on the purse.
    offset
        Better held-out items of the same user; shape (rows,).
    key
        Of the random numbers.
    """

    def __init__(self, counts: Counts, users: Int, offset: Int, key: int) -> None:
        frame = counts.frame
        self.counts, self.users, self.key = counts, users, key
        self._place, self.rows = frame.rows_of(users)
        self._bounds = np.cumsum(counts.left[users], axis=1)
        self._total = self._bounds[:, -1]
        others = np.bincount(self._place, minlength=users.size) - 1
        self.n = (frame.n[users].sum(1) + others + 1)[self._place]
        better = counts.better[self.rows].sum(1) + offset[self.rows]
        self._coin = uniform(key, self.rows, 1)
        better += _binomial(uniform(key, self.rows, 2), counts.tied[self.rows].sum(1), self._coin)
        known = (counts.m[users].sum(1) + others)[self._place]
        self._worse = known - better
        # The least of `better` uniform keys.
        power = 1.0 / np.maximum(better, 1)
        self._first = np.where(better > 0, 1.0 - uniform(key, self.rows, 3) ** power, 1.0)
        self._asked = np.zeros(users.size, np.int64)
        self._last = np.zeros(users.size)
        self._before = np.zeros(self.rows.size, np.int64)

    def run(self, purse: Purse, rank: Int) -> Asking:
        """Ask until the first better candidate of every row is known, or the purse is empty.

        `rank` is the place of each user in the order in which the purse serves them.
        """
        turn = FIRST_TURN
        at = np.flatnonzero(self._open())
        while at.size:
            count = np.minimum(turn, self._total[at] - self._asked[at])
            place = np.repeat(at, count)
            number = self._asked[place] + _places(count)
            keys = self._keys(place, number, _places(count) == 0)
            useful = keys < self._bound()[place]
            allowed = purse.allow(rank[at], np.bincount(place[useful], minlength=rank.size)[at])
            at = at[:allowed]
            useful &= np.isin(place, at)
            if useful.any():
                yield from self._ask(place[useful], number[useful], keys[useful])
            np.add.at(self._asked, place[useful], 1)
            np.maximum.at(self._last, place, keys)
            at = at[self._open()[at]]
            turn *= GROWTH

    def values(self) -> Float:
        """T / n of each row."""
        below = _binomial(uniform(self.key, self.rows, 4), self._worse, self._first)
        # Where nothing is better, the held-out item itself is the last draw.
        return np.minimum(1.0 + self._before + below, self.n) / self.n

    def _open(self) -> NDArray[np.bool_]:
        return (self._last < self._bound()) & (self._asked < self._total)

    def _bound(self) -> Float:
        """Key of the last draw that still matters to a user."""
        bound = np.zeros(self.users.size)
        np.maximum.at(bound, self._place, self._first)
        return bound

    def _keys(self, place: Int, number: Int, first: NDArray[np.bool_]) -> Float:
        """Keys of the next draws of each user: successive order statistics of uniform keys."""
        ahead = self._total[place] - number
        step = np.log(uniform(self.key, self.users[place], number, 5)) / ahead
        sums = np.cumsum(step)
        start = np.flatnonzero(first)
        sums -= np.repeat((sums - step)[start], np.diff([*start, place.size]))
        return 1.0 - (1.0 - self._last[place]) * np.exp(sums)

    def _ask(self, place: Int, number: Int, keys: Float) -> Asking:
        user = self.users[place]
        spot = permuted(number, self._total[place], hashed(self.key, user, 6))
        stratum = (self._bounds[place] <= spot[:, np.newaxis]).sum(1)
        more = np.zeros_like(self.counts.m)
        np.add.at(more, (user, stratum), 1)
        asked = self.counts.request(more)
        scores = yield asked
        self.counts.add(asked, scores)
        # Requests come by user and stratum; the draws, sorted likewise, agree with them one by one.
        draws = np.lexsort((number, stratum, user))
        self._record(asked, scores, place[draws], keys[draws])

    def _record(self, asked: Asked, scores: Float, place: Int, keys: Float) -> None:
        count = np.bincount(self._place, minlength=self.users.size)[place]
        pair = np.repeat(np.arange(place.size), count)
        row = np.searchsorted(self._place, place)[pair] + _places(count)
        score, held = scores[pair], self.counts.held_scores[self.rows[row]]
        coin = uniform(self.key, asked.user[pair], asked.item[pair], 7)
        better = (score > held) | ((score == held) & (coin < self._coin[row]))
        np.minimum.at(self._first, row[better], keys[pair[better]])
        np.add.at(self._before, row, keys[pair] < self._first[row])


def _binomial(at: Float, count: Int, probability: Float) -> Int:
    """Quantiles of binomial distributions."""
    from scipy.stats import binom  # slow to import

    return binom.ppf(at, count, probability).astype(np.int64)


def _places(count: Int) -> Int:
    """0, 1, ... for each of some groups of `count` entries, concatenated."""
    return np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
