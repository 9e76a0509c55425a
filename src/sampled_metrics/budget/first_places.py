"""Estimates of 1 / rank from candidates scored in random order."""

import numpy as np

from sampled_metrics._base.arrays import Float, Int, ranges
from sampled_metrics.budget.keyed import Words, hashed, permuted, uniform
from sampled_metrics.budget.strata import Counts

FOUND = 3.0  # better ones expected of the random draws of a first turn
GROWTH = 8.0  # of the number of draws, from turn to turn
TURNS = 3  # the last one draws all that is left
NEGLIGIBLE = 1e-15  # probability below which further draws are not followed


class FirstPlaces:
    """Estimates of 1 / rank from random draws, for users with enough better candidates known.

    Put the unscored candidates and the known better ones into a random order. The place of the
    first better one, divided by one more than their number, is unbiased for 1 / rank. Only the
    unscored ones cost scores; over the places of the known ones the mean is taken. After some
    draws the expectation is `known + factor * (1 / rank)`; `factor` is 0 where a better one was
    drawn, elsewhere the draws may go on.
    """

    def __init__(self, counts: Counts, key: int) -> None:
        n_users = counts.m.shape[0]
        n_rows = counts.better.shape[0]
        self.known = np.zeros(n_rows)
        self.factor = np.ones(n_rows)
        self._counts = counts
        self._key = key
        self._better = np.full(n_rows, -1)  # known when the draws began; -1 before
        self._turns = np.zeros(n_users, np.int64)
        self._coin = uniform(key, np.arange(n_rows), 1)  # probability that a tied one is better

    def next(self, users: Int, mean: Float, number: int) -> Int:
        """Scores to ask next of each stratum; `mean` is the expected 1 / rank of all rows."""
        place, row = self._counts.frame.rows_of(users)
        least = np.ones(users.size)
        np.minimum.at(least, place, mean[row])
        left = self._counts.left[users]
        n_left = left.sum(1)
        turn = self._turns[users]
        draws = np.ceil(FOUND * GROWTH**turn * least * n_left)
        draws = np.clip(draws, 1, n_left)
        is_last = turn >= TURNS - 1
        draws[is_last] = n_left[is_last]
        keys = hashed(self._key + number, users)
        return random_draws(left, draws.astype(np.int64), keys)

    def update(self, users: Int, draws: Int, known: Int, tied: Int) -> None:
        """Count draws; `known` and `tied` are those of all rows before."""
        place, row = self._counts.frame.rows_of(users)
        if not row.size:
            return
        self._begin(row, known[row], tied[row])
        better = self._better[row]
        turn = self._turns[users][place]
        found = self._found(row, turn, known[row], tied[row])
        n_left = self._counts.left.sum(1)[users] + draws
        value, factor = after_draws(n_left[place], better, draws[place], found)
        self.known[row] += self.factor[row] * value
        self.factor[row] *= factor
        self._turns[users] += 1

    def _begin(self, row: Int, known: Int, tied: Int) -> None:
        """Note the better ones known before the first draws."""
        at = uniform(self._key, row, 2)
        start = known + _binomial(at, tied, self._coin[row])
        better = self._better[row]
        self._better[row] = np.where(better < 0, start, better)

    def _found(self, row: Int, turn: Int, known: Int, tied: Int) -> Int:
        """Count the better ones among the last draws."""
        at = uniform(self._key, row, 3, turn)
        found = self._counts.known[row] - known
        found_tied = self._counts.tied.sum(1)[row] - tied
        return found + _binomial(at, found_tied, self._coin[row])


def after_draws(left: Int, better: Int, draws: Int, found: Int) -> tuple[Float, Float]:
    """Known part and factor of 1 / rank, given how many draws are better; see `FirstPlaces`.

    Examples
    --------
    >>> after_draws(np.array([3]), np.array([0]), np.array([3]), np.array([1]))[0]
    array([0.5])
    """
    n = left + better + 1.0
    total = np.ones(n.size)
    product = np.ones(n.size)
    rows = np.arange(n.size)
    for drawn in range(int(draws.max(initial=0))):
        is_open = (draws[rows] > drawn) & (product[rows] > NEGLIGIBLE)
        rows = rows[is_open]
        still_left = left[rows] - drawn
        still_drawn = draws[rows] - drawn
        # Probability that no better candidate, known or new, comes before the next draw.
        product[rows] *= still_left / (still_left + better[rows])
        product[rows] *= (still_drawn - found[rows]) / still_drawn
        total[rows] += product[rows]
    none_found = found == 0
    beyond = np.where(none_found, product, 0.0)
    known = (total - beyond) / n
    factor = beyond * (n - draws) / n
    return known, factor


def random_draws(left: Int, draws: Int, keys: Words) -> Int:
    """Numbers of draws from each stratum, without replacement from all that is unscored."""
    n_users, n_strata = left.shape
    ends = np.cumsum(left, axis=1)
    user = np.repeat(np.arange(n_users), draws)
    turn = ranges(0, draws)
    candidate = permuted(turn, ends[user, -1], keys[user])
    is_before = ends[user] <= candidate[:, np.newaxis]
    stratum = is_before.sum(1)
    cells = np.bincount(user * n_strata + stratum, minlength=left.size)
    return cells.reshape(left.shape)


def _binomial(at: Float, count: Int, probability: Float) -> Int:
    """Quantiles of binomial distributions."""
    quantiles = np.zeros(count.size, np.int64)
    some = np.flatnonzero(count)
    if some.size:
        from scipy.stats import binom  # slow to import

        quantiles[some] = binom.ppf(at[some], count[some], probability[some])
    return quantiles
