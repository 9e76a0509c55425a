"""Distribution of true ranks from numbers of negatives that differ between users.

Stopping as soon as a negative is better does not bias the likelihood: that of a sequence of draws
is proportional to that of the number above among all of them.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.estimators.expectation import em_path
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling.probability import pmf_at

_FEW = 32  # columns of large tables kept


class Cells(NamedTuple):
    """Users by number of negatives drawn and number above; arrays of shape (cells,)."""

    drawn: Int
    above: Int
    users: Int

    @classmethod
    def of(cls, drawn: Int, above: Int) -> "Cells":
        """Count the users of each cell.

        Examples
        --------
        >>> Cells.of(np.array([4, 2, 4]), np.array([1, 0, 1]))
        Cells(drawn=array([2, 4]), above=array([0, 1]), users=array([1, 2]))
        """
        cells, users = np.unique(np.column_stack([drawn, above]), axis=0, return_counts=True)
        return cls(cells[:, 0], cells[:, 1], users)


def adaptive_em(drawn: Int, above: Int, n: int, iterations: int) -> Float:
    """Fit a distribution of true ranks by expectation maximisation from equally probable ranks.

    Parameters
    ----------
    drawn, above
        Negatives drawn without replacement for each user, and how many are better than its
        held-out item; shape (users,).
    n
        Number of candidates, the held-out item included.
    iterations
        Number of steps, a hidden regulariser.

    Returns
    -------
    float64, shape (n,), summing to 1.

    Examples
    --------
    >>> adaptive_em(np.array([2, 2]), np.array([0, 2]), 3, 50).round(3)
    array([0.5, 0. , 0.5])
    """
    cells = Cells.of(np.minimum(drawn, n - 1), above)
    given = np.empty((n, cells.users.size))
    for m in np.unique(cells.drawn).tolist():
        columns = cells.drawn == m
        given[:, columns] = _given(n, m, int(cells.above[columns].max()))[:, cells.above[columns]]
    shares = cells.users / cells.users.sum()
    return em_path(given, np.full(n, 1.0 / n), shares, iterations)[-1]


def _given(n: int, m: int, last: int) -> Float:
    """P(i | r) for i up to `last` or more."""
    few = _few_columns(n, m)
    return few if last < few.shape[1] else _all_columns(n, m)


def _all_columns(n: int, m: int) -> Float:
    return pmf_at(np.arange(1, n + 1), n, m, Sampling.WITHOUT_REPLACEMENT)


@lru_cache(maxsize=64)
def _few_columns(n: int, m: int) -> Float:
    return np.ascontiguousarray(_all_columns(n, m)[:, :_FEW])
