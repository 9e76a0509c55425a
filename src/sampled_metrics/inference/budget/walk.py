"""Draws in random order, and what they say of 1 / rank.

Put the unscored candidates and the better ones that are known into a random order. The place of
the first known or new better one, divided by one more than their number, is unbiased for 1 / rank:
it is T / n of this population and the held-out item, with T = n where none is better. Only the
unscored ones cost scores; over the places of the known ones the mean is taken.
"""

from typing import NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inference.budget.shuffle import hashed, permuted

NEGLIGIBLE = 1e-15


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


def random_draws(left: Int, draws: Int, key: int, labels: Int) -> Int:
    """Numbers of draws from each stratum, without replacement from all that is unscored.

    Parameters
    ----------
    left
        Unscored candidates, shape (users, strata).
    draws
        Per user.
    key, labels
        Of the random numbers; one label per user.
    """
    bounds = np.cumsum(left, axis=1)
    place = np.repeat(np.arange(draws.size), draws)
    number = np.arange(place.size) - np.repeat(np.cumsum(draws) - draws, draws)
    spot = permuted(number, bounds[place, -1], hashed(key, labels[place]))
    stratum = (bounds[place] <= spot[:, np.newaxis]).sum(1)
    cells = np.bincount(place * left.shape[1] + stratum, minlength=left.size)
    return cells.reshape(left.shape)
