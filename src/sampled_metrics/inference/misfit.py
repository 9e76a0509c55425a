"""Test whether any distribution of true ranks explains sampled ranks.

The test looks for errors in how sampled ranks were made. It cannot confirm an assumption: many
distributions outside of a class, and many ways to draw negatives, give sampled ranks that a
distribution inside explains.
"""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.special import chdtrc

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.seeds import generator
from sampled_metrics.inference.brackets import likely_shares, spread_rows
from sampled_metrics.inference.kernels import NON_INCREASING, kernel
from sampled_metrics.inference.sampled_evaluation import SampledRanks

_LEAST_EXPECTED = 5.0  # users in a cell
_POINTS = (100, 100)


@dataclass(frozen=True)
class Misfit:
    """How far observed sampled ranks are from those of the closest distribution of a class.

    Attributes
    ----------
    statistic
        Pearson's chi-square.
    degrees
        Its degrees of freedom, one less than cells. That is an upper bound, because the
        distribution was fitted.
    p_value
        Upper bound of the probability of such a statistic if the class holds.
    """

    statistic: float
    degrees: int
    p_value: float


def misfit(sample: SampledRanks, shape: str = NON_INCREASING) -> Misfit:
    """Test sampled ranks against the closest distribution of a class.

    Sampled ranks are counted in cells in which at least five users are expected. Of several rows
    of a user, one is taken at random (with a fixed seed), because they are not independent.
    """
    ranks = _one_per_user(sample)
    m = sample.n_negatives
    table = kernel(round(float(np.mean(sample.n_items))), m, sample.sampling, shape)
    counts = np.bincount(ranks - 1, minlength=m + 1).astype(np.float64)
    likely = likely_shares(counts, table) * ranks.size
    cells = _cells(likely)
    root = np.sqrt(np.add.reduceat(likely, cells))
    observed = np.add.reduceat(table.binned(counts), cells)
    given = np.add.reduceat(table.given[spread_rows(table, *_POINTS)], cells, axis=1)
    _, distance = nnls(given.T * ranks.size / root[:, None], observed / root)
    statistic, degrees = float(distance**2), cells.size - 1
    return Misfit(statistic, degrees, float(chdtrc(max(degrees, 1), statistic)))


def _one_per_user(sample: SampledRanks) -> Int:
    if sample.users is None:
        return sample.sampled_ranks
    order = generator(0, "misfit").permutation(sample.sampled_ranks.size)
    _, first = np.unique(sample.users[order], return_index=True)
    return sample.sampled_ranks[order[first]]


def _cells(expected: Float) -> Int:
    """First bins of cells: neighbouring bins joined until enough is expected in each."""
    starts, total = [0], 0.0
    for place, value in enumerate(expected[:-1]):
        total += value
        if total >= _LEAST_EXPECTED:
            starts.append(place + 1)
            total = 0.0
    if len(starts) > 1 and expected[starts[-1] :].sum() < _LEAST_EXPECTED:
        starts.pop()
    return np.array(starts)
