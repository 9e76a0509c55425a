"""Distributions of the sampled rank under the extreme points of a class of rank distributions.

A `shape` names a class of distributions of the true rank. Its extreme points are numbered by k:
for `none`, every distribution, rank k alone; for `non-increasing`, where no rank is more probable
than the one before it, the uniform distribution on ranks 1 ... k. Every distribution of the class
is a mixture of them.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sampled_metrics._base.arrays import MEMORY, Float, Int, blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators.quadrature import sums_up_to
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.sampling.distinct import parts
from sampled_metrics.sampling.probability import pmf_at

NON_INCREASING, NONE = SHAPES = ("non-increasing", "none")
ASSUMED = {
    NON_INCREASING: "assuming that no rank is likelier than the one before it",
    NONE: "whatever the true ranks are",
}
ALL_POINTS = 20_000  # up to this n, every k is a point
MOST_NEGATIVES = 100_000  # which take some GB
_EDGE = 512  # beyond, the first k are points, and for `none` the last ones
_STEP = 0.01  # and between them k grows by this share
_SINGLE_RANKS = 20  # sampled ranks that are bins of their own
_RATIO = 1.2  # of the starts of the others


@dataclass(frozen=True, eq=False)
class Kernel:
    """Distributions of the sampled rank, in bins, under extreme points of a class.

    Attributes
    ----------
    n, m
        Candidates, the relevant item included, and negatives.
    shape
        Name of the class.
    points
        k of the extreme points, increasing from 1 to n; int64, shape (points,).
    starts
        First sampled rank - 1 of every bin, from 0; int64, shape (bins,).
    given
        Probability of every bin under each extreme point; float64, shape (points, bins).
    """

    n: int
    m: int
    shape: str
    points: Int
    starts: Int
    given: Float

    @property
    def widths(self) -> Int:
        """Sampled ranks in every bin."""
        return np.diff(self.starts, append=self.m + 1)

    def binned(self, shares: Float) -> Float:
        """Sum values of sampled ranks, shape (..., m + 1), over bins."""
        return np.add.reduceat(shares, self.starts, axis=-1)

    def metric(self, measure: Measure) -> Float:
        """Exact metric under each extreme point; float64, shape (points,)."""
        if self.shape == NONE:
            return measure.at(self.points, self.n)
        # Beyond its cut-off a metric is 0.
        ends = self.points if measure.cutoff is None else np.minimum(self.points, measure.cutoff)
        return sums_up_to(ends, lambda ranks: measure.at(ranks, self.n)) / self.points


def kernel(n: int, m: int, sampling: str, shape: str, cutoff: int | None = None) -> Kernel:
    """Tabulate the distributions of the sampled rank under the extreme points of a class.

    Parameters
    ----------
    n, m
        Candidates, the relevant item included, and negatives.
    sampling
        How the negatives were drawn.
    shape
        `non-increasing` or `none`.
    cutoff
        Rank after which a metric drops to 0. Of importance for n above 20,000 only, where k is
        taken from a grid: no point of the grid may be missing beside the drop.

    Returns
    -------
    A table of all k up to n = 20,000, else of a grid; read-only, kept for later calls.

    Examples
    --------
    >>> kernel(3, 1, "without-replacement", "non-increasing").given
    array([[1.  , 0.  ],
           [0.75, 0.25],
           [0.5 , 0.5 ]])
    """
    if shape not in SHAPES:
        raise InputError(f"unknown shape {shape!r}; known: {', '.join(SHAPES)}")
    if not 1 <= m < n:
        raise InputError(f"{m} negatives of {n} candidates; expected at least 1 and below n")
    if m > MOST_NEGATIVES:
        raise InputError(f"ranges take at most {MOST_NEGATIVES:,} negatives, not {m:,}")
    return _kernel(n, m, Sampling(sampling), shape, None if n <= ALL_POINTS else cutoff)


def given_rank(rank: Int, n: int, m: int, sampling: Sampling) -> Float:
    """Distribution of the sampled rank given true ranks, shape (ranks, m + 1)."""
    return pmf_at(rank, n, m, sampling)


@lru_cache(maxsize=16)
def _kernel(n: int, m: int, sampling: Sampling, shape: str, cutoff: int | None) -> Kernel:
    points, starts = _points(n, shape, cutoff), _bins(m)
    given = np.empty((points.size, starts.size))
    for rows in blocks(points.size, m + 1, MEMORY):
        if shape == NONE or n <= ALL_POINTS:
            of_rows = given_rank(points[rows], n, m, sampling)
        else:
            of_rows = _MEANS[sampling](points[rows], n, m)
        given[rows] = np.add.reduceat(of_rows, starts, axis=1)
    if shape == NON_INCREASING and n <= ALL_POINTS:
        np.cumsum(given, axis=0, out=given)
        given /= points[:, None]
    for array in (points, starts, given):
        array.flags.writeable = False
    return Kernel(n, m, shape, points, starts, given)


def _points(n: int, shape: str, cutoff: int | None) -> Int:
    if n <= ALL_POINTS:
        return np.arange(1, n + 1)
    points = rank_grid(n) if shape == NONE else _lower_grid(n)
    if cutoff is not None:
        points = np.r_[points, cutoff - 1 : cutoff + 3]
    return np.unique(points[(points >= 1) & (points <= n)])


def rank_grid(n: int) -> Int:
    """Ranks at which smooth functions of the rank show their course: dense at both ends.

    Examples
    --------
    >>> rank_grid(10**6).size
    2538
    """
    ranks = _lower_grid(n)
    return np.unique(np.r_[ranks, n + 1 - ranks])


def _lower_grid(n: int) -> Int:
    edge = min(n, _EDGE)
    steps = int(np.log(n / edge) / _STEP) + 2
    return np.r_[1 : edge + 1, np.geomspace(edge, n, steps).round().astype(np.int64)]


def _bins(m: int) -> Int:
    count = int(np.log(max(m / _SINGLE_RANKS, 1.0)) / np.log(_RATIO)) + 1
    wide = _SINGLE_RANKS * _RATIO ** np.arange(count)
    starts = np.unique(np.r_[0:_SINGLE_RANKS, wide.round().astype(np.int64)])
    return starts[starts <= m]


def _mean_hypergeometric(k: Int, n: int, m: int) -> Float:
    """Mean over ranks 1 ... k: n/((m + 1) k) P(more than i of m + 1 draws from n are <= k).

    See `sampling.distribution`, where it is the distribution of k - 1 ties.
    """
    tails = _tails(given_rank(np.minimum(k, n) + 1, n + 1, m + 1, Sampling.WITHOUT_REPLACEMENT))
    return tails * (n / ((m + 1.0) * k))[:, None]


def _mean_binomial(k: Int, n: int, m: int) -> Float:
    """Mean over ranks 1 ... k by the Euler-Maclaurin formula from rank 512 on."""
    first = np.minimum(k, _EDGE)
    singly = given_rank(np.arange(1, first.max() + 1), n, m, Sampling.WITH_REPLACEMENT)
    sums = np.cumsum(singly, axis=0)[first - 1]
    beyond = k > _EDGE
    if beyond.any():
        integral = _antiderivative(np.r_[_EDGE, k[beyond]], n, m)
        sums[beyond] += integral[1:] - integral[0]
    return sums / k[:, None]


def _antiderivative(k: Int, n: int, m: int) -> Float:
    """Integral of f up to k, plus f(k)/2 + f'(k)/12, for f(k) the binomial distribution at k."""
    fewer, same, more = (
        given_rank(k, n, draws, Sampling.WITH_REPLACEMENT) for draws in (m - 1, m, m + 1)
    )
    slope = np.zeros((k.size, m + 1))
    slope[:, 1:] += fewer
    slope[:, :-1] -= fewer
    return _tails(more) * ((n - 1.0) / (m + 1.0)) + same / 2.0 + slope * (m / (n - 1.0) / 12.0)


def _mean_distinct(k: Int, n: int, m: int) -> Float:
    mixture = np.zeros((k.size, m + 1))
    for size, _, probability in parts(np.array([n]), m):
        mixture[:, : size + 1] += probability * _mean_hypergeometric(k, n, size)
    return mixture


def _tails(distribution: Float) -> Float:
    """Probability of more than i, for i from 0 to the last but one."""
    return np.cumsum(distribution[:, :0:-1], axis=1)[:, ::-1]


_MEANS = {
    Sampling.WITH_REPLACEMENT: _mean_binomial,
    Sampling.WITHOUT_REPLACEMENT: _mean_hypergeometric,
    Sampling.DISTINCT: _mean_distinct,
}
