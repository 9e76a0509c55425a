"""Distributions of the sampled rank under the extreme points of a class of true ranks.

A shape (see `shapes`) names a class of distributions of the true rank by a factor, down to rank
5 n/m (or three times the cut-off); beyond, any rank may have any probability, because there sampled
ranks are precise enough. Every distribution of the class is a mixture of its extreme points: up to
that rank the distributions with weights of 1 or the factor on ranks 1 ... k, which for
`non-increasing` are uniform, and beyond, or from the first rank for `none`, rank k alone.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators.least_squares import mean_up_to, sums_up_to
from sampled_metrics.intervals.shapes import shape_factor
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.sampling.probability import likely_blocks

ALL_POINTS = 20_000  # up to this n, every k is a point
MOST_NEGATIVES = 100_000  # which take some GB
MOST_RANKED = 10_000_000  # candidates, likewise
_EDGE = 512  # beyond ALL_POINTS, the first k are points
_STEP = 0.01  # share by which k grows from there on
_SINGLE_RANKS = 20  # sampled ranks that are bins of their own
_RATIO = 1.2  # growth of wider bins
_MONOTONE = 5  # times n/m, the rank down to which a class has its shape
_BEYOND = 3  # times the cut-off, likewise
_STEPS = 50  # to the greatest mean; about five are needed
_ROUNDING = 1e-14  # by which means may differ


@dataclass(frozen=True, eq=False, kw_only=True)
class Extremes:
    """Extreme points of a class of distributions of the true rank.

    Listed are the distributions that are uniform on ranks 1 ... k, or k alone. A factor above 1
    adds some with the weight of the factor on a few ranks; they are found where a function of the
    rank has its greatest mean.
    """

    factor: float  # the class's
    last: int  # rank down to which the class has its shape; beyond, k alone
    points: Int  # k of the listed extreme points, increasing from 1 to n; shape (points,)

    @property
    def is_complete(self) -> bool:
        """Whether all extreme points are listed."""
        return self.last == 0 or self.factor == 1.0

    def block_sums(self, means: Float) -> tuple[Float, Float]:
        """Sums over the ranks after one point and up to the next, from the means over 1 ... k.

        Covers the points down to the last rank. Also returns the number of ranks in each block.
        """
        top = self.points[self.points <= self.last].astype(np.float64)
        sums = (means[: top.size].T * top).T
        return np.diff(sums, axis=0, prepend=0.0), np.diff(top, prepend=0.0)

    def heaviest(self, means: Float, values: Float | None = None) -> Float:
        """Weighted mean over 1 ... k, at each k, if ranks above 0 have the weight of the factor.

        The mean is of the means, or of other values, shape (points, ...), with the same weights.
        """
        if values is None:
            values = means
        if self.is_complete:
            return values
        sums, sizes = self.block_sums(means)
        weights = np.where(sums > 0.0, self.factor, 1.0)
        weighted = np.cumsum(weights * self.block_sums(values)[0].T, axis=-1)
        found = values.copy()
        found[: sizes.size] = (weighted / np.cumsum(weights * sizes)).T
        return found

    def greatest(self, means: Float) -> float:
        """Greatest mean under any extreme point, from the means under the listed ones.

        Newton's method on the greatest sum of excesses over a number, which is 0 at this mean.
        """
        greatest = float(means.max())
        for _ in range(_STEPS):
            more = float(self.heaviest(means - greatest).max())
            if more <= _ROUNDING:
                break
            greatest += more
        return greatest


@dataclass(frozen=True, eq=False, kw_only=True)
class Kernel(Extremes):
    """Distributions of the sampled rank, in bins, under the extreme points of a class."""

    n: int
    m: int
    starts: Int  # first sampled rank - 1 of every bin, from 0; shape (bins,)
    widths: Int  # ranks in every bin
    given: Float  # probability of every bin under each extreme point; shape (points, bins)

    def metric(self, measure: Measure) -> Float:
        """Exact metric under each extreme point; shape (points,)."""
        values = measure.value_at(self.points, self.n)
        uniform = self.points <= self.last
        values[uniform] = mean_up_to(self.points[uniform], measure, self.n)
        return values

    def binned(self, counts: Float) -> Float:
        """Sum counts of users at every sampled rank, shape (..., m + 1), by bins."""
        return np.add.reduceat(counts, self.starts, axis=-1)


def kernel(
    n: int, m: int, sampling: str, shape: str | float, cutoff: int | None, down_to: int = 0
) -> Kernel:
    """Tabulate the distributions of the sampled rank under the extreme points of a class.

    Points are all k up to n = 20,000, else a grid, which has the ranks beside a metric's cut-off.
    The class has its shape down to rank `down_to` at least.
    """
    factor = shape_factor(shape)
    if not 1 <= m < n:
        raise InputError(f"{m} negatives of {n} candidates; expected at least 1 and below n")
    if n > MOST_RANKED:
        raise InputError(f"n_items is {n:,}; ranges take at most {MOST_RANKED:,} candidates")
    if m > MOST_NEGATIVES:
        raise InputError(f"ranges take at most {MOST_NEGATIVES:,} negatives, not {m:,}")
    last = 0
    if factor < np.inf:
        last = min(n, max(-(-_MONOTONE * n // m), _BEYOND * (cutoff or 0), down_to))
    beside = cutoff if n > ALL_POINTS else None
    return replace(_tabulated(n, m, Sampling(sampling), last, beside), factor=factor)


@lru_cache(maxsize=16)
def _tabulated(n: int, m: int, sampling: Sampling, last: int, cutoff: int | None) -> Kernel:
    """Tabulate the kernel of a class that has its shape down to a rank, for a factor of 1."""
    points = np.arange(1, n + 1)
    in_grid = n > ALL_POINTS
    if in_grid:
        beside = [k + np.arange(-1, 3) for k in (cutoff, last) if k]
        points = np.unique(np.concatenate([rank_grid(n), *beside]))
        points = points[(points >= 1) & (points <= n)]
    first = points[points <= last]
    beyond = points[points > last]

    def at(ranks: Any, tied: Any = 0) -> Float:
        tied = tied + np.zeros(ranks.shape, np.int64)
        return in_bins(
            Ranks(np.full(ranks.shape, n), ranks - 1 - tied, tied, is_checked=True), m, sampling
        )

    if in_grid and sampling is not Sampling.WITH_REPLACEMENT:
        uniform = at(first, first - 1)  # an item tied with all before
    else:
        uniform = sums_up_to(first, at) / first[:, None]
    starts = bin_starts(m)
    return Kernel(
        factor=1.0,
        last=last,
        points=points,
        n=n,
        m=m,
        starts=starts,
        widths=np.diff(starts, append=m + 1),
        given=np.concatenate([uniform, at(beyond)]),
    )


def bin_starts(m: int) -> Int:
    """First sampled rank - 1 of every bin: the first ranks singly, wider bins further down."""
    count = int(np.log(max(m / _SINGLE_RANKS, 1.0)) / np.log(_RATIO)) + 1
    wide = (_SINGLE_RANKS * _RATIO ** np.arange(count)).round().astype(np.int64)
    starts = np.unique(np.r_[0:_SINGLE_RANKS, wide])
    return starts[starts <= m]


def in_bins(ranks: Ranks, m: int, sampling: Sampling) -> Float:
    """Distribution of the sampled rank of each user, in bins; shape (users, bins).

    Ranks that are not tied need not be whole.
    """
    starts = bin_starts(m)
    given = np.zeros((len(ranks), starts.size))
    for users, first, shares in likely_blocks(ranks, m, sampling):
        begin = int(np.searchsorted(starts, first, "right")) - 1
        end = int(np.searchsorted(starts, first + shares.shape[1]))
        inside = np.maximum(starts[begin:end] - first, 0)
        given[users, begin:end] = np.add.reduceat(shares, inside, axis=1)
    return given


def peaks(values: Float, above: float) -> Int:
    """Places of values above a number that are as great as their neighbours."""
    beside = np.pad(values, 1, constant_values=-np.inf)
    return np.flatnonzero((values > above) & (values >= beside[:-2]) & (values >= beside[2:]))


def rank_grid(n: int) -> Int:
    """Ranks at which smooth functions of the rank show their course: dense at the ends."""
    edge = min(n, _EDGE)
    steps = int(np.log(n / edge) / _STEP) + 2
    ranks = np.r_[1 : edge + 1, np.geomspace(edge, n, steps).round().astype(np.int64)]
    return np.unique(np.r_[ranks, n + 1 - ranks])


def spread(n: int, singly: int, wide: int) -> Int:
    """Some of the ranks 1 ... n: the first singly, then `wide` of them in equal proportions."""
    larger = np.geomspace(min(singly, n), n, wide).round().astype(np.int64)
    return np.union1d(np.arange(1, min(singly, n) + 1), larger)


def spread_rows(table: Kernel, singly: int, wide: int, cutoff: int | None = None) -> Int:
    """Rows of some points: the first k singly, then k in equal proportions, and a cut-off."""
    points = spread(table.n, singly, wide)
    if cutoff:
        points = np.append(points, [cutoff, cutoff + 1])
    return np.unique(np.searchsorted(table.points, points[points <= table.n]))
