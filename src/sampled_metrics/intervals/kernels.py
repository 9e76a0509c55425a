"""Probabilities of sampled ranks under the distributions of true ranks that a shape allows.

Every distribution of a shape's class (see `shapes`) is a mixture of extreme points, so what holds
for the extreme points holds for the class. The class has its shape down to the rank

    L = max(5 n / m, 3 cut-off),

for n candidates and m negatives (rounded up). Below it any rank may have any probability, because
sampled ranks are precise enough there. The extreme points are

- for k <= L, distributions on the ranks 1 ... k with weights of 1 or the factor G; for G = 1 the
  uniform one;
- for k > L, and from the first rank on for the shape `none`, rank k alone.

A kernel tabulates the distribution of the sampled rank under the uniform and the single ones, shape
(points, bins). Sampled ranks beyond the first twenty are summed up in bins.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.estimators.least_squares import mean_up_to, sums_up_to
from sampled_metrics.intervals.constants import (
    ALL_POINTS,
    BIN_GROWTH,
    FIRST_BINS,
    FIRST_POINTS,
    MEANS_ROUNDING,
    MOST_MEAN_STEPS,
    MOST_RANKED,
    MOST_SAMPLED,
    POINT_GROWTH,
    SHAPED_CUTOFFS,
    SHAPED_NEGATIVES,
)
from sampled_metrics.intervals.shapes import shape_factor
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.sampling.probability import likely_blocks, likely_blocks_at


@dataclass(frozen=True, eq=False, kw_only=True)
class ExtremePoints:
    """Extreme points of a class of distributions of the true rank.

    Listed are distributions that are uniform on ranks 1 ... k, and those of rank k alone. With a
    factor above 1 there are many more on ranks 1 ... k, by the ranks that have the weight of the
    factor. `weighted_means` picks the one that matters for a function of the rank.

    Attributes
    ----------
    factor
        Factor G of the class.
    last_shaped
        Rank L down to which the class has its shape; 0 for the shape `none`.
    points
        k of the listed extreme points, increasing from 1 to n; shape (points,).
    """

    factor: float
    last_shaped: int
    points: Int

    @property
    def is_complete(self) -> bool:
        """Whether all extreme points are listed."""
        return self.last_shaped == 0 or self.factor == 1.0

    def block_sums(self, means: Float) -> tuple[Float, Float]:
        """Return sums of a function over blocks of ranks, and the sizes of the blocks.

        A block is the ranks after one point and up to the next; blocks end at the last shaped rank.
        `means` are means of the function over ranks 1 ... k, shape (points, ...).

        Returns
        -------
        sums, sizes
            Of shape (blocks, ...) and (blocks,).
        """
        block_ends = self.points[self.points <= self.last_shaped].astype(np.float64)
        sums_up_to_end = (means[: block_ends.size].T * block_ends).T
        return np.diff(sums_up_to_end, axis=0, prepend=0.0), np.diff(block_ends, prepend=0.0)

    def weighted_means(self, values: Float, gains: Float) -> Float:
        """Average `values` over ranks 1 ... k, where blocks with positive gains count G times.

        With the sum V_j of `values` over block j of n_j ranks, and the weight a_j = G if the sum of
        `gains` over the block is positive and else 1, the mean over the blocks up to k is

            sum of a_j V_j / sum of a_j n_j.

        With `values = gains` the result is positive wherever some extreme point on ranks 1 ... k
        has a positive mean gain, and this is the extreme point with these weights.

        Parameters
        ----------
        values
            Means of one or more functions over ranks 1 ... k, or values at rank k where it is
            alone; shape (points, ...).
        gains
            The same for the function that decides on the weights; shape (points,).

        Examples
        --------
        A function with the values 1, 0 and 0 at ranks 1, 2 and 3; rank 1 counts twice.

        >>> points = ExtremePoints(factor=2.0, last_shaped=3, points=np.array([1, 2, 3]))
        >>> means = np.array([1.0, 1 / 2, 1 / 3])
        >>> points.weighted_means(means, gains=np.array([1.0, -0.5, 0.2])).round(3)
        array([1.   , 0.667, 0.4  ])
        """
        if self.is_complete:
            return values
        block_gains, sizes = self.block_sums(gains)
        block_values, _ = self.block_sums(values)
        weights = np.where(block_gains > 0.0, self.factor, 1.0)
        weighted_sums = np.cumsum(weights * block_values.T, axis=-1)
        weighted_sizes = np.cumsum(weights * sizes)
        result = values.copy()  # as it is where rank k is alone
        result[: sizes.size] = (weighted_sums / weighted_sizes).T
        return result

    def greatest_mean(self, means: Float) -> float:
        """Return the greatest mean of a function of the rank under any extreme point.

        Newton's method for the zero of s(t), the greatest weighted sum of (function - t). s falls
        and is convex, and its zero is the greatest mean, so that steps from below do not pass it:

            t <- t + s(t) / (sum of the weights that have s(t)),

        where the quotient is the greatest mean of (function - t) with the factor as the weight
        wherever (function - t) is positive.

        Parameters
        ----------
        means
            Means of the function under the listed points; shape (points,).
        """
        greatest = float(means.max())  # t
        for _ in range(MOST_MEAN_STEPS):
            excess = means - greatest
            step = float(self.weighted_means(values=excess, gains=excess).max())
            if step <= MEANS_ROUNDING:
                break
            greatest += step
        return greatest


@dataclass(frozen=True, eq=False, kw_only=True)
class Kernel(ExtremePoints):
    """Distributions of the sampled rank, in bins, under the extreme points of a class.

    Attributes
    ----------
    n, m
        Numbers of candidates, the held-out item included, and of negatives.
    starts, widths
        First sampled rank - 1 of every bin, from 0, and the number of ranks in it; shape (bins,).
    probabilities
        Probability of every bin under each extreme point; shape (points, bins).
    """

    n: int
    m: int
    starts: Int
    widths: Int
    probabilities: Float

    def exact_metric(self, measure: Measure) -> Float:
        """Return the exact metric under each extreme point; shape (points,)."""
        values = measure.value_at(self.points, self.n)
        is_uniform = self.points <= self.last_shaped
        values[is_uniform] = mean_up_to(self.points[is_uniform], measure, self.n)
        return values

    def sum_by_bin(self, counts: Float) -> Float:
        """Sum counts of users at every sampled rank, shape (..., m + 1), by bins."""
        return np.add.reduceat(counts, self.starts, axis=-1)


def kernel(
    n: int, m: int, sampling: str, shape: str | float, cutoff: int | None, *, down_to: int = 0
) -> Kernel:
    """Tabulate the distributions of the sampled rank under the extreme points of a class.

    Parameters
    ----------
    n, m, sampling
        Numbers of candidates and negatives, and how the negatives were drawn.
    shape
        Assumption about true ranks, see `shapes`.
    cutoff
        Cut-off of the metric; None without one.
    down_to
        The class has its shape at least down to this rank.

    Examples
    --------
    One negative of four, and true ranks that are uniform on 1 ... k; rows are k, columns are the
    sampled ranks 1 and 2.

    >>> kernel(5, 1, "without-replacement", "non-increasing", None).probabilities
    array([[1.   , 0.   ],
           [0.875, 0.125],
           [0.75 , 0.25 ],
           [0.625, 0.375],
           [0.5  , 0.5  ]])
    """
    factor = shape_factor(shape)
    if not 1 <= m < n:
        raise InputError(f"{m} negatives of {n} candidates; expected at least 1 and below n")
    if n > MOST_RANKED:
        raise InputError(f"n_items is {n:,}; ranges accept at most {MOST_RANKED:,} candidates")
    if m > MOST_SAMPLED:
        raise InputError(f"ranges accept at most {MOST_SAMPLED:,} negatives, not {m:,}")
    last_shaped = 0
    if factor < np.inf:
        last_shaped = min(n, max(last_shaped_rank(n, m, cutoff), down_to))
    grid_cutoff = cutoff if n > ALL_POINTS else None
    return replace(_tabulate(n, m, Sampling(sampling), last_shaped, grid_cutoff), factor=factor)


def last_shaped_rank(n: int, m: float, cutoff: int | None) -> int:
    """Return the last rank near the top, down to which no rank is likelier than a better one.

    `m` is the number of negatives, the mean if rows differ.

    Examples
    --------
    >>> last_shaped_rank(1000, 30, 10), last_shaped_rank(1000, 500, 10)
    (167, 30)
    """
    quotient, remainder = divmod(SHAPED_NEGATIVES * n, m)
    by_negatives = int(quotient) + 1 if remainder else int(quotient)
    return min(n, max(by_negatives, SHAPED_CUTOFFS * (cutoff or 0)))


@lru_cache(maxsize=16)
def _tabulate(n: int, m: int, sampling: Sampling, last_shaped: int, cutoff: int | None) -> Kernel:
    """Tabulate a kernel for a factor of 1, without checks; `kernel` sets the factor.

    `cutoff` is only needed for a grid of points, for many candidates.
    """
    points = np.arange(1, n + 1) if n <= ALL_POINTS else _grid_points(n, last_shaped, cutoff)
    starts = bin_starts(m)
    is_shaped = points <= last_shaped
    return Kernel(
        factor=1.0,
        last_shaped=last_shaped,
        points=points,
        n=n,
        m=m,
        starts=starts,
        widths=np.diff(starts, append=m + 1),
        probabilities=np.concatenate(
            [
                _at_uniform_ranks(points[is_shaped], n, m, sampling),
                _at_single_ranks(points[~is_shaped], n, m, sampling),
            ]
        ),
    )


def _grid_points(n: int, last_shaped: int, cutoff: int | None) -> Int:
    """Return k of extreme points for many candidates: a grid, and all k at abrupt changes.

    The exact metric changes at the cut-off, and the class at its last shaped rank.
    """
    changes = [k for k in (cutoff, last_shaped) if k]
    neighbours = [k + np.arange(-1, 3) for k in changes]
    points = np.unique(np.concatenate([rank_grid(n), *neighbours]))
    return points[(points >= 1) & (points <= n)]


def _at_single_ranks(ranks: Int | Float, n: int, m: int, sampling: Sampling) -> Float:
    """Return the distribution of the sampled rank at true ranks; shape (ranks, bins)."""
    n_of_rank = np.full(ranks.shape, n)
    return _sum_in_bins(likely_blocks_at(ranks, n_of_rank, m, sampling), ranks.size, m)


def _at_uniform_ranks(last_ranks: Int, n: int, m: int, sampling: Sampling) -> Float:
    """Return the distribution of the sampled rank if true ranks are uniform on 1 ... k.

    `last_ranks` are the k; shape (last ranks, bins).
    """
    if n > ALL_POINTS and sampling is not Sampling.WITH_REPLACEMENT:
        # A uniform rank on 1 ... k is the rank of an item that is tied with k - 1 others.
        tied = Ranks(np.full(last_ranks.shape, n), np.zeros_like(last_ranks), last_ranks - 1)
        return bin_probabilities(tied, m, sampling)
    sums = sums_up_to(last_ranks, lambda ranks: _at_single_ranks(ranks, n, m, sampling))
    return sums / last_ranks[:, np.newaxis]


def bin_starts(m: int) -> Int:
    """Return the first sampled rank - 1 of every bin: single ranks first, then wider bins.

    Examples
    --------
    >>> bin_starts(30)
    array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16,
           17, 18, 19, 20, 24, 29])
    """
    n_wide = int(np.log(max(m / FIRST_BINS, 1.0)) / np.log(BIN_GROWTH)) + 1
    wide = (FIRST_BINS * BIN_GROWTH ** np.arange(n_wide)).round().astype(np.int64)
    starts = np.unique(np.r_[0:FIRST_BINS, wide])
    return starts[starts <= m]


def bin_probabilities(ranks: Ranks, m: int, sampling: Sampling) -> Float:
    """Return the distribution of each user's sampled rank, in bins; shape (users, bins)."""
    return _sum_in_bins(likely_blocks(ranks, m, sampling), len(ranks), m)


def _sum_in_bins(distributions: Iterable[tuple[Int, int, Float]], n_users: int, m: int) -> Float:
    """Sum distributions of sampled ranks in bins; shape (users, bins).

    Parameters
    ----------
    distributions
        Blocks of users, from `likely_blocks`: the users, the first sampled rank - 1 that is likely
        for some of them, and the probabilities of this and the next ones, shape (users, ranks).
    n_users, m
        Number of all users, and of negatives.
    """
    starts = bin_starts(m)
    probabilities = np.zeros((n_users, starts.size))
    for users, first, block in distributions:
        end = first + block.shape[1]
        bin_of_first = int(np.searchsorted(starts, first, "right")) - 1
        end_bin = int(np.searchsorted(starts, end))  # the first one that begins after the block
        starts_in_block = np.maximum(starts[bin_of_first:end_bin] - first, 0)
        sums_of_bins = np.add.reduceat(block, starts_in_block, axis=1)
        probabilities[users, bin_of_first:end_bin] = sums_of_bins
    return probabilities


def local_maxima(values: Float, above: float) -> Int:
    """Return the indices of values above a number that no neighbour exceeds."""
    padded = np.pad(values, 1, constant_values=-np.inf)
    is_peak = (values >= padded[:-2]) & (values >= padded[2:])
    return np.flatnonzero((values > above) & is_peak)


def rank_grid(n: int) -> Int:
    """Return ranks that are dense at both ends, to tabulate smooth functions of the rank."""
    edge = min(n, FIRST_POINTS)
    steps = int(np.log(n / edge) / POINT_GROWTH) + 2
    ranks = np.r_[1 : edge + 1, np.geomspace(edge, n, steps).round().astype(np.int64)]
    return np.unique(np.r_[ranks, n + 1 - ranks])


def spread_ranks(n: int, n_first: int, n_spread: int) -> Int:
    """Return the first of the ranks 1 ... n, and further ones at equal ratios."""
    spread = np.geomspace(min(n_first, n), n, n_spread).round().astype(np.int64)
    return np.union1d(np.arange(1, min(n_first, n) + 1), spread)


def spread_rows(table: Kernel, n_first: int, n_spread: int, cutoff: int | None = None) -> Int:
    """Return rows of a kernel at spread-out points, and at a cut-off and after it."""
    points = spread_ranks(table.n, n_first, n_spread)
    if cutoff:
        points = np.append(points, [cutoff, cutoff + 1])
    return np.unique(np.searchsorted(table.points, points[points <= table.n]))
