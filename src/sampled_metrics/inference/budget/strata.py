"""Strata: the sections of a user's candidates, in a proxy's order, from which scores are asked."""

import numpy as np

from sampled_metrics._base.arrays import Int

# Narrow where a proxy puts the items that outrank the held-out one, wide in the tail.
FIRST_EDGES = (0, 5, 15, 40, 100, 250, 600, 1400)
GROWTH = 2.4  # of the edges beyond
LAST = 0.9  # no edge beyond this share of the largest number of candidates
BATCHES = (5, 10, 10, 12, 15, 20)  # fewest scores asked at once from a stratum after the first one
BATCH = 25  # the same beyond the sixth stratum


def edges(n_largest: int) -> Int:
    """Edges of the strata of up to `n_largest` candidates.

    Examples
    --------
    >>> edges(3700)
    array([   0,    5,   15,   40,  100,  250,  600, 1400, 3700])
    >>> edges(30)
    array([ 0,  5, 15, 30])
    """
    inner = [float(edge) for edge in FIRST_EDGES]
    while inner[-1] * GROWTH < LAST * n_largest:
        inner.append(inner[-1] * GROWTH)
    kept = [round(edge) for edge in inner if edge < LAST * n_largest]
    return np.array([*(kept or [0]), max(n_largest, 1)])


def sizes(n_candidates: Int, bounds: Int) -> Int:
    """Candidates of each user in each stratum, shape (users, strata).

    Examples
    --------
    >>> sizes(np.array([12, 30]), edges(30))
    array([[ 5,  7,  0],
           [ 5, 10, 15]])
    """
    return np.clip(n_candidates[:, np.newaxis], bounds[:-1], bounds[1:]) - bounds[:-1]


def batches(n_strata: int) -> Int:
    """Fewest scores that an adaptive round asks of a user in each stratum."""
    return np.array([*BATCHES, *[BATCH] * n_strata][:n_strata])
