"""Chi-square test of sampled ranks against a class of distributions of the true rank.

It looks for errors in how sampled ranks were made. It cannot confirm an assumption: many
distributions outside of a class, and many ways to draw negatives, give sampled ranks that a
distribution inside explains.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, xlogy

from sampled_metrics._base.arrays import Float, generator
from sampled_metrics._base.solvers import nonnegative_least_squares
from sampled_metrics.inference.brackets import likely_mixture
from sampled_metrics.inference.kernels import Kernel, kernel
from sampled_metrics.inference.shapes import NON_INCREASING
from sampled_metrics.ranks import SampledRanks

_LEAST_EXPECTED, _LEAST_VARIANCE = 5.0, 0.5  # users in a cell
_REWEIGHTINGS, _TURNS = 3, 30  # of fits, and of active sets per unknown
_MOST_JOINED, _GAIN = 30, 1e-3  # extreme points that join a fit, and what the next must bring


class Misfit(NamedTuple):
    """Chi-square test of sampled ranks against the closest distribution of a class."""

    statistic: float  # likelihood ratio
    degrees: int  # of freedom
    p_value: float  # probability of such a statistic or a larger one if the class holds


def misfit(sample: SampledRanks, shape: str | float = NON_INCREASING) -> Misfit:
    """Test sampled ranks against the closest distribution of a class.

    Users are counted in cells of sampled ranks in which at least five are expected. Of several
    rows of a user, one is taken at random (with a fixed seed), because they are not independent.
    Degrees of freedom are the cells less extreme points in the closest mixture, and one more, which
    keeps the test from refusing too much where users are few.
    """
    ranks, m = sample.sampled_ranks, sample.n_negatives
    if sample.users is not None:
        order = generator(0, "misfit").permutation(ranks.size)
        ranks = ranks[order[np.unique(sample.users[order], return_index=True)[1]]]
    table = kernel(round(float(np.mean(sample.n_items))), m, sample.sampling, shape, None)
    counts = np.bincount(ranks - 1, minlength=m + 1).astype(np.float64)
    mixture = likely_mixture(counts, table)
    likely = mixture.shares * ranks.size
    starts, total = [0], 0.0  # first bins of cells: neighbouring bins joined until enough is there
    for place, value in enumerate(likely[:-1]):
        total += value
        if total >= _LEAST_EXPECTED:
            starts.append(place + 1)
            total = 0.0
    if len(starts) > 1 and likely[starts[-1] :].sum() < _LEAST_EXPECTED:
        starts.pop()
    cells = np.array(starts)
    observed = np.add.reduceat(counts, table.starts[cells])
    listed = ranks.size * np.add.reduceat(table.given, cells, axis=1)
    given = listed[mixture.rows]
    expected = np.add.reduceat(likely, cells)
    for _ in range(_REWEIGHTINGS):
        root = np.sqrt(np.maximum(expected, _LEAST_VARIANCE))
        given, weights = _closest(observed, root, given, listed, table)
        expected = weights @ given
    statistic = 2.0 * float((xlogy(observed, observed / expected) - observed + expected).sum())
    degrees = max(cells.size - int(np.count_nonzero(weights)) + 1, 1)
    return Misfit(statistic, degrees, float(chdtrc(degrees, max(statistic, 0.0))))


def _closest(
    observed: Float, root: Float, given: Float, listed: Float, table: Kernel
) -> tuple[Float, Float]:
    """Fit a mixture by least squares; extreme points that bring it closer join those `given`."""
    for _ in range(_MOST_JOINED):
        turns = _TURNS * len(given)
        weights = nonnegative_least_squares(given.T / root[:, None], observed / root, turns)
        if table.is_complete:
            break
        gains = listed @ ((observed - weights @ given) / root**2)
        heaviest = table.heaviest(gains)
        best = np.array([int(heaviest.argmax())])
        if heaviest[best[0]] <= _GAIN:
            break
        given = np.concatenate([given, table.at_heaviest(best, gains, listed)])
    return given, weights
