"""Draws in random order, and what they say of 1 / rank.

Put the unscored candidates and the better ones that are known into a random order. The place of
the first known or new better one, divided by one more than their number, is unbiased for 1 / rank:
it is T / n of this population and the held-out item, with T = n where none is better. Only the
unscored ones cost scores; over the places of the known ones the mean is taken.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.budget.runs import Run
from sampled_metrics.inference.budget.shuffle import Words, hashed, permuted, uniform

NEGLIGIBLE = 1e-15
FOUND = 3.0  # better candidates expected among the first random draws of a user
GROWTH = 8.0  # of the number of draws where none was better
TURNS = 3  # after which all candidates are scored


class Line(NamedTuple):
    """What is known of 1 / rank after some draws: `known + factor * (1 / rank)`, in expectation.

    `factor` is 0 where a better candidate was drawn; elsewhere the draws may go on.
    """

    known: Float
    factor: Float


def after_draws(left: Int, better: Int, draws: Int, found: Int) -> Line:
    """Mean of T / n given how many better candidates are among some draws.

    Parameters
    ----------
    left, better
        Unscored candidates, and better ones known, before the draws.
    draws, found
        Unscored candidates drawn without replacement, and how many of them are better.

    Examples
    --------
    >>> after_draws(np.array([3]), np.array([0]), np.array([3]), np.array([1])).known
    array([0.5])
    >>> after_draws(np.array([4]), np.array([1]), np.array([0]), np.array([0]))
    Line(known=array([0.]), factor=array([1.]))
    """
    n = left + better + 1.0
    total, product = np.ones(n.size), np.ones(n.size)
    rows = np.arange(n.size)
    for g in range(int(draws.max(initial=0))):
        rows = rows[(draws[rows] > g) & (product[rows] > NEGLIGIBLE)]
        # No known better one, and no new one, comes before the next draw either.
        product[rows] *= (left[rows] - g) / (left[rows] + better[rows] - g)
        product[rows] *= (draws[rows] - g - found[rows]) / (draws[rows] - g)
        total[rows] += product[rows]
    going_on = found == 0
    return Line(
        (total - np.where(going_on, product, 0.0)) / n,
        np.where(going_on, product * (n - draws) / n, 0.0),
    )


def random_draws(left: Int, draws: Int, keys: Words) -> Int:
    """Numbers of draws from each stratum, without replacement from all that is unscored.

    Parameters
    ----------
    left
        Unscored candidates, shape (users, strata).
    draws
        Per user.
    keys
        Of the random numbers, one per user.
    """
    bounds = np.cumsum(left, axis=1)
    place = np.repeat(np.arange(draws.size), draws)
    number = np.arange(place.size) - np.repeat(np.cumsum(draws) - draws, draws)
    spot = permuted(number, bounds[place, -1], keys[place])
    stratum = (bounds[place] <= spot[:, np.newaxis]).sum(1)
    cells = np.bincount(place * left.shape[1] + stratum, minlength=left.size)
    return cells.reshape(left.shape)


class Walks:
    """Random draws of a recommender's users, of whom enough better candidates are known.

    Parameters
    ----------
    run
        Scores so far.
    key
        Of the random numbers.

    Attributes
    ----------
    known, factor
        What the draws say of each held-out row, as in `Line`.
    """

    def __init__(self, run: Run, key: int) -> None:
        frame = run.counts.frame
        self._run, self._key = run, key
        rows = np.arange(frame.owner.size)
        self.known, self.factor = np.zeros(rows.size), np.ones(rows.size)
        self._better = np.full(rows.size, -1)  # known when the draws began
        self._turns = np.zeros(frame.n.shape[0], np.int64)
        self._coin = uniform(key, rows, 1)  # a tied candidate is better with this probability

    @property
    def done(self) -> NDArray[np.bool_]:
        """Whether a better candidate was drawn for every row of a user."""
        return self._run.counts.frame.by_user((self.factor > 0).astype(np.float64)) == 0

    def next(self, users: Int, mean: Float, number: int) -> Int:
        """Scores to ask next of each stratum, shape (users, strata).

        Parameters
        ----------
        users
            Users, in ascending order.
        mean
            Expected 1 / rank of all held-out rows.
        number
            Of the phase.
        """
        counts = self._run.counts
        place, row = counts.frame.rows_of(users)
        least = np.ones(users.size)
        np.minimum.at(least, place, mean[row])
        left, turns = counts.left[users], self._turns[users]
        total = left.sum(1)
        draws = np.ceil(FOUND * GROWTH**turns * least * total)
        draws = np.where(turns >= TURNS - 1, total, np.clip(draws, 1, total)).astype(np.int64)
        return random_draws(left, draws, hashed(self._key + number, counts.frame.labels[users]))

    def update(self, users: Int, draws: Int, better: Int, tied: Int) -> None:
        """Take note of draws, whose scores have been counted.

        Parameters
        ----------
        users, draws
            Users, and how many of their candidates were drawn.
        better, tied
            Better and tied candidates known of all held-out rows before.
        """
        counts = self._run.counts
        place, row = counts.frame.rows_of(users)
        if not row.size:
            return
        first = self._better[row] < 0
        start = better[row] + _binomial(uniform(self._key, row, 2), tied[row], self._coin[row])
        self._better[row] = np.where(first, start, self._better[row])
        turn = self._turns[users][place]
        ties = counts.tied.sum(1)[row] - tied[row]
        found = self._run.better[row] - better[row]
        found += _binomial(uniform(self._key, row, 3, turn), ties, self._coin[row])
        left = (counts.left.sum(1)[users] + draws)[place]
        line = after_draws(left, self._better[row], draws[place], found)
        self.known[row] += self.factor[row] * line.known
        self.factor[row] *= line.factor
        self._turns[users] += 1


def _binomial(at: Float, count: Int, probability: Float) -> Int:
    """Quantiles of binomial distributions."""
    drawn = np.zeros(count.size, np.int64)
    some = np.flatnonzero(count)
    if some.size:
        from scipy.stats import binom  # slow to import

        drawn[some] = binom.ppf(at[some], count[some], probability[some]).astype(np.int64)
    return drawn
