"""Test whether any distribution of true ranks explains sampled ranks.

The test looks for errors in how sampled ranks were made. It cannot confirm an assumption: many
distributions outside of a class, and many ways to draw negatives, give sampled ranks that a
distribution inside explains.
"""

from dataclasses import dataclass

import numpy as np
import scipy  # `scipy.optimize` takes long to import, so only where it is used
from scipy.special import chdtrc, xlogy

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.seeds import generator
from sampled_metrics.inference.brackets import likely_shares, spread_rows
from sampled_metrics.inference.kernels import NON_INCREASING, NONE, kernel
from sampled_metrics.ranks import SampledRanks

_REFUSED = 0.005  # p below which sampled ranks are refused
_WRONG = (
    "the negatives are not uniform or not distinct, ranks do not start at 1, or the number of "
    "negatives or items is wrong"
)
POSSIBLE_CAUSES = {
    NON_INCREASING: f"{_WRONG}, or low ranks are likelier than high ones (try --shape none)",
    NONE: _WRONG,
}
_LEAST_EXPECTED = 5.0  # users in a cell
_LEAST_VARIANCE = 0.5
_REWEIGHTINGS = 3
_POINTS = (100, 100)


@dataclass(frozen=True)
class Misfit:
    """How far sampled ranks are from those of the closest distribution of a class.

    Attributes
    ----------
    statistic
        Likelihood-ratio chi-square.
    degrees
        Its degrees of freedom: cells less extreme points in the closest mixture, and one more,
        which keeps the test from refusing too much where users are few.
    p_value
        Probability of such a statistic or a larger one if the class holds.
    """

    statistic: float
    degrees: int
    p_value: float


def misfit(sample: SampledRanks, shape: str = NON_INCREASING) -> Misfit:
    """Test sampled ranks against the closest distribution of a class.

    Users are counted in cells of sampled ranks in which at least five are expected. Of several
    rows of a user, one is taken at random (with a fixed seed), because they are not independent.
    The mixture of extreme points has the least chi-square; given which of them take part, that
    of a distribution within the class has the degrees of freedom that they leave.

    Examples
    --------
    >>> ranks = np.random.default_rng(0).integers(1, 102, 1000)
    >>> misfit(SampledRanks(ranks, 3541, 100)).p_value > 0.01
    True
    >>> misfit(SampledRanks(ranks | 1, 3541, 100)).p_value < 0.01  # odd ranks only
    True
    """
    ranks = _one_per_user(sample)
    m = sample.n_negatives
    table = kernel(round(float(np.mean(sample.n_items))), m, sample.sampling, shape)
    counts = np.bincount(ranks - 1, minlength=m + 1).astype(np.float64)
    likely = likely_shares(counts, table) * ranks.size
    cells = _cells(likely)
    observed = np.add.reduceat(table.binned(counts), cells)
    rows = spread_rows(table, *_POINTS)
    given = ranks.size * np.add.reduceat(table.given[rows], cells, axis=1)
    expected = np.add.reduceat(likely, cells)
    for _ in range(_REWEIGHTINGS):
        root = np.sqrt(np.maximum(expected, _LEAST_VARIANCE))
        weights, _ = scipy.optimize.nnls(given.T / root[:, None], observed / root)
        expected = weights @ given
    statistic = 2.0 * float((xlogy(observed, observed / expected) - observed + expected).sum())
    degrees = max(cells.size - int(np.count_nonzero(weights)) + 1, 1)
    return Misfit(statistic, degrees, float(chdtrc(degrees, max(statistic, 0.0))))


def require_fit(sample: SampledRanks, shape: str = NON_INCREASING) -> None:
    """Raise an InputError if no distribution of a class explains sampled ranks (p < 0.005)."""
    test = misfit(sample, shape)
    if test.p_value < _REFUSED:
        raise InputError(
            f"no distribution of true ranks explains these sampled ranks (chi-square "
            f"{test.statistic:.0f} with {test.degrees} degrees of freedom, "
            f"p = {test.p_value:.1g}); {POSSIBLE_CAUSES[shape]}"
        )


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
