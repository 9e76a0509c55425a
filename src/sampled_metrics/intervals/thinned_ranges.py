"""Ranges of exact metrics from counts by stratum, without a model of tastes.

Question: which exact metrics do negatives of any design allow, if near the top no rank is likelier
than a better one, and nothing is assumed about how popular the better items are?

Let pi_uh be the probability that a candidate of stratum h is among the negatives of row u. It is
estimated from the numbers of drawn ones, as if each candidate had an exponential clock and the
first m to ring were drawn: pi_uh = 1 - exp(-rate_u w_h).

Strata with pi_uh >= pi_0 are the head of a row, the others its tail. The better items are b1 of the
head and b2 of the tail, and b1 + b2 + 1 is the rank.

- Better negatives of the head are kept with the probability pi_0 / pi_uh, so that each better item
  of the head is drawn and kept with the probability pi_0, whatever its popularity. The number s of
  those kept is then distributed as if b1 of m / pi_0 items were better, and m drawn: exactly for
  uniform negatives, and else up to terms of the order 1 / m. Instead of a number drawn at random,
  a row has the probabilities of all numbers.
- The better negatives of the tail have the sum t of 1 / pi_uh, the estimate of b2 by Horvitz and
  Thompson ("A Generalization of Sampling Without Replacement From a Finite Universe", 1952).

So a statistic c(s) + d(s) t has the mean

    sum_s Q(s | b1) c(s) + b2 sum_s R(s | b1) d(s),                                           (1)

Q the distribution of s, and R that of s when a tail item is drawn. As in `intervals.brackets`, c
and d are chosen so that (1), averaged as the class of distributions of the rank allows, is never
below the metric, now for every way to split a rank into b1 and b2, and so that the mean plus z
standard errors is least. The programme is solved on some splits; those that violate the condition
join, and what violation remains is added to c. Each fold of rows has the vectors that suit the
other fold, and of several pi_0 the one that does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.solvers import solve_cone_programme
from sampled_metrics.intervals.brackets import LOWER, UPPER
from sampled_metrics.intervals.constants import (
    BLOCK_ROWS,
    CELL_GROWTH,
    CHOOSING_ROWS,
    CHOOSING_Z,
    COEFFICIENT_LIMIT,
    FIRST_CELLS,
    FIRST_RANKS,
    FIRST_SPLITS,
    HEAD_QUANTILES,
    KEPT_STARTS,
    LARGEST_PROBABILITY,
    LEAST_SPAN,
    LEAST_VARIANCE,
    MOST_SPLIT_ROUNDS,
    POOLED_DRAWS,
    POOLED_ERRORS,
    PSEUDO_RANKS,
    PSEUDO_ROWS,
    RADIUS,
    RANK_GROWTH,
    RATE_ROUNDS,
    RATE_STEPS,
    ROOTS,
    SIZE_ROUNDING,
    SMALLEST_PROBABILITY,
    SPLIT_TOLERANCE,
    TAIL_UNIT,
    THINNED_ACCURACY,
)
from sampled_metrics.intervals.likelihood import UpperBound, UserValues
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks.strata import StratumCounts


class ThinnedRange(NamedTuple):
    """A range, and the values of rows whose weighted means are its ends before chance is added.

    Attributes
    ----------
    allowed
        Values of the exact metric.
    lower, upper
        Values of each row, shape (rows,).
    extremes
        Least possible lower value and greatest upper value, of rows with at most one better
        negative of the rarest stratum.
    """

    allowed: Range
    lower: Float
    upper: Float
    extremes: tuple[float, float]


class Split(NamedTuple):
    """Distributions of s by the number of better items of the head, for one pi_0.

    Attributes
    ----------
    n_head
        Numbers b1 for which distributions are tabulated, from 0; shape (numbers,).
    kept, kept_with_tail
        Q and R in bins; shape (numbers, bins).
    most_of_head, most_of_tail
        Largest numbers of candidates in the head and in the tail of a row.
    """

    n_head: Int
    kept: Float
    kept_with_tail: Float
    most_of_head: int
    most_of_tail: int

    def limits(self, n_better: Int) -> tuple[Int, Int]:
        """Return the least and the greatest b1 for numbers b1 + b2 of better items."""
        greatest = np.minimum(n_better, self.most_of_head)
        least = np.minimum(np.maximum(n_better - self.most_of_tail, 0), greatest)
        return least, greatest


class _Statistics(NamedTuple):
    """Distribution of s and t of each row, for one pi_0."""

    kept: Float  # probability of s in each bin, shape (rows, bins)
    tail: Float  # t, shape (rows,)


class _Rows(NamedTuple):
    """Rows by which vectors are chosen, and to which they apply.

    Attributes
    ----------
    counts
        Better and drawn negatives, and candidates, by row and stratum.
    probabilities
        pi_uh, that candidates are drawn; shape (rows, strata).
    weights
        How much each row counts; shape (rows,).
    fold
        Fold of each row, 0 or 1; shape (rows,).
    """

    counts: StratumCounts
    probabilities: Float
    weights: Float
    fold: Int

    def statistics(self, rows: Int, pi_0: float) -> _Statistics:
        """Return the distribution of s and t of some rows."""
        better = self.counts.better[rows]
        return _Statistics(*thinned_statistics(better, self.probabilities[rows], pi_0, KEPT_STARTS))


def inclusion_probabilities(counts: StratumCounts) -> Float:
    """Return the probability that a candidate is drawn, by row and stratum, shape (rows, strata).

    It is pi_uh = 1 - exp(-r_u w_h) with the rate r_u of row u and the weight w_h of stratum h. Each
    row's probabilities sum to its number of negatives, by the rates, and each stratum's to those
    drawn of it, by the weights: both are fitted in turn. Neighbouring strata that chance does not
    tell apart are pooled.

    Examples
    --------
    >>> one, two = np.array([[1, 3], [2, 2]]), np.array([[10, 10], [10, 10]])
    >>> counts = StratumCounts(np.zeros((2, 2), int), one, two, np.array([0.0, 1.0]))
    >>> inclusion_probabilities(counts)  # too few draws to tell the strata apart
    array([[0.2, 0.2],
           [0.2, 0.2]])
    """
    pool_of_stratum = _pools(counts.drawn.sum(axis=0), counts.candidates.sum(axis=0))
    first_strata = np.flatnonzero(np.diff(pool_of_stratum, prepend=-1))
    drawn = np.add.reduceat(counts.drawn, first_strata, axis=1).astype(np.float64)
    candidates = np.add.reduceat(counts.candidates, first_strata, axis=1).astype(np.float64)
    of_pools = _fit_race(drawn, candidates)
    clipped = np.clip(of_pools, SMALLEST_PROBABILITY, LARGEST_PROBABILITY)
    return np.asarray(clipped[:, pool_of_stratum])


def _fit_race(drawn: Float, candidates: Float) -> Float:
    """Return pi of `inclusion_probabilities` by row and pool; all are of shape (rows, pools).

    Rates solve sum over h of candidates_uh pi_uh = drawn of u; then weights are multiplied by the
    draws of their pool over those expected.
    """
    m = drawn.sum(axis=1)
    drawn_of_pool = drawn.sum(axis=0)
    share = drawn_of_pool / np.maximum(candidates.sum(axis=0), 1.0)
    weights = -np.log1p(-np.minimum(share, LARGEST_PROBABILITY))  # w, as if all rates were 1
    rates = np.ones(len(m))
    for _ in range(RATE_ROUNDS):
        rates = _fit_rates(candidates, m, weights, rates)
        expected_of_pool = (candidates * -np.expm1(-rates[:, None] * weights)).sum(axis=0)
        weights = weights * drawn_of_pool / np.maximum(expected_of_pool, 1e-12)
    rates = _fit_rates(candidates, m, weights, rates)
    return -np.expm1(-rates[:, None] * weights)


def _fit_rates(candidates: Float, m: Float, weights: Float, start: Float) -> Float:
    """Return the rates with which each row draws m candidates, by Newton's method.

    The rate r of a row leaves as many candidates as it should:

        sum over h of candidates_h exp(-r w_h) = candidates - m.

    Parameters
    ----------
    candidates
        Candidates of each row and pool; shape (rows, pools).
    m, start
        Numbers of negatives, and rates to begin with; shape (rows,).
    weights
        w of each pool; shape (pools,).
    """
    n_left = candidates.sum(axis=1) - m
    rates = start
    for _ in range(RATE_STEPS):
        left = candidates * np.exp(-rates[:, None] * weights)
        newton = rates + (left.sum(axis=1) - n_left) / np.maximum(left @ weights, 1e-12)
        rates = np.maximum(newton, rates / 4.0)  # positive
    return rates


def _pools(drawn: Int, candidates: Int) -> Int:
    """Pool neighbouring strata that were drawn about equally often, or have few draws.

    A new pool begins where the rate of a stratum differs from that of the pool before, and both
    this pool and the strata that are left have enough draws.

    Parameters
    ----------
    drawn, candidates
        Of each stratum, all rows together; shape (strata,).

    Returns
    -------
    ndarray
        Number of the pool of each stratum, ascending from 0; shape (strata,).
    """
    pool = np.zeros(drawn.size, np.int64)
    start = 0  # first stratum of the current pool
    for h in range(1, drawn.size):
        drawn_before = drawn[start:h].sum()
        differs = _rates_differ(drawn_before, candidates[start:h].sum(), drawn[h], candidates[h])
        has_draws = min(drawn_before, drawn[h:].sum()) >= POOLED_DRAWS
        begins_pool = differs and has_draws
        pool[h] = pool[h - 1] + begins_pool
        if begins_pool:
            start = h
    return pool


def _rates_differ(drawn_a: int, candidates_a: int, drawn_b: int, candidates_b: int) -> bool:
    """Whether two shares of drawn candidates differ by more than chance, by a normal test.

    With p the share of both together, their difference has the standard error
    sqrt(p (1 - p) (1 / candidates_a + 1 / candidates_b)).
    """
    n_a = max(candidates_a, 1)
    n_b = max(candidates_b, 1)
    share = (drawn_a + drawn_b) / (n_a + n_b)
    error = np.sqrt(share * (1.0 - share) * (1.0 / n_a + 1.0 / n_b))
    return bool(abs(drawn_a / n_a - drawn_b / n_b) > POOLED_ERRORS * error)


def thinned_statistics(
    better: Int, probabilities: Float, pi_0: float, starts: Int
) -> tuple[Float, Float]:
    """Return the distribution of s in bins, shape (rows, bins), and t, shape (rows,).

    Of the better_h better negatives in stratum h of the head, each is kept with the probability
    pi_0 / pi_h; s is the number of those kept. t is the sum of better_h / pi_h over the tail.

    Parameters
    ----------
    better, probabilities
        Better negatives, and the probabilities that candidates are drawn, by row and stratum.
    pi_0
        Least probability of the head.
    starts
        First s of each bin, from 0; the last one is open.

    Examples
    --------
    Two better negatives of the head are kept with probability 1/2 each, and one of the tail.

    >>> thinned_statistics(np.array([[2, 1]]), np.array([[0.4, 0.1]]), 0.2, np.arange(4))
    (array([[0.25, 0.5 , 0.25, 0.  ]]), array([10.]))
    """
    is_head = probabilities >= pi_0
    tail = np.where(is_head, 0.0, better / probabilities).sum(axis=1)
    better_of_head = better * is_head
    kept = np.empty((len(better), starts.size))
    for begin in range(0, len(better), BLOCK_ROWS):
        rows = slice(begin, begin + BLOCK_ROWS)
        kept[rows] = _kept_of_rows(better_of_head[rows], probabilities[rows], pi_0, starts)
    return kept.round(9), tail


def _kept_of_rows(better_of_head: Int, probabilities: Float, pi_0: float, starts: Int) -> Float:
    """Return the distribution of s in bins, see `thinned_statistics`; shape (rows, bins).

    The probability of s = j is the coefficient of z^j in the generating function G(z). On a circle
    of radius R, with the angles a = 2 pi i / N for i = 0 ... N - 1, it is nearly

        1 / (N R^j) sum over a of G(R exp(i a)) exp(-i a j).

    Angles a and 2 pi - a have conjugate terms, so one of both counts twice.
    """
    angles = np.arange(ROOTS // 2 + 1) * (2.0 * np.pi / ROOTS)
    points = RADIUS * np.exp(1j * angles)
    generating_function = _generate_kept(better_of_head, probabilities, pi_0, points)
    numbers = np.arange(int(starts[-1]))  # j
    is_real = (angles == 0.0) | (angles == angles[-1])
    weights = np.where(is_real, 1.0, 2.0) / ROOTS
    transform = weights[:, None] * np.exp(-1j * np.outer(angles, numbers)) / RADIUS**numbers
    distribution = np.maximum((generating_function @ transform).real, 0.0)
    beyond = np.maximum(1.0 - distribution.sum(axis=1), 0.0)  # of the last, open bin
    return np.add.reduceat(np.column_stack([distribution, beyond]), starts, axis=1)


def _generate_kept(
    better_of_head: Int, probabilities: Float, pi_0: float, points: NDArray[np.complex128]
) -> NDArray[np.complex128]:
    """Return the generating function of s of each row at points z; shape (rows, points).

    s is a sum of independent numbers, so it is the product over strata of the head of

        (1 + (z - 1) pi_0 / pi_h)^better_h,

    computed from logs. Strata without better negatives are skipped.
    """
    row, stratum = np.nonzero(better_of_head)
    keep = (pi_0 / probabilities[row, stratum])[:, None]
    logs = better_of_head[row, stratum][:, None] * np.log(1.0 + keep * (points - 1.0))
    n_strata_of_row = np.bincount(row, minlength=len(better_of_head))
    ends = np.cumsum(n_strata_of_row)  # of each row in `logs`
    sums_before = np.concatenate([np.zeros((1, points.size)), np.cumsum(logs, axis=0)])
    return np.asarray(np.exp(sums_before[ends] - sums_before[ends - n_strata_of_row]))


def kept_distribution(n_head: Int, m: int, pi_0: float, starts: Int) -> tuple[Float, Float]:
    """Return the distributions Q and R of s in (1), in bins; shape (numbers, bins).

    Q(s | b1) is the probability that s of b1 better items are among m drawn of m / pi_0 items. R is
    that given that a tail item is drawn with them, which is the likelier, the more of the m are no
    better items of the head: R(s | b1) is proportional to (m - s) Q(s | b1).

    Parameters
    ----------
    n_head
        Numbers b1 of better items of the head; shape (numbers,).
    m, pi_0
        Number of negatives, and least probability of the head.
    starts
        First s of each bin, from 0; the last one is open.

    Examples
    --------
    Two of four items are drawn, and two are better.

    >>> kept, with_tail = kept_distribution(np.array([2]), 2, 0.5, np.arange(3))
    >>> (6 * kept).round(9), with_tail.round(3)
    (array([[1., 4., 1.]]), array([[0.333, 0.667, 0.   ]]))
    """
    size = m / pi_0
    # Where that is not whole: a mixture of the whole numbers N below it and N + 1 above. The share
    # of N is such that the mean, b1 m (share / N + (1 - share) / (N + 1)), is b1 pi_0.
    lower_size = float(np.floor(size + SIZE_ROUNDING))
    share_of_lower = min(max(((lower_size + 1.0) / size - 1.0) * lower_size, 0.0), 1.0)
    kept = share_of_lower * _better_of_drawn(n_head, m, lower_size)
    kept += (1.0 - share_of_lower) * _better_of_drawn(n_head, m, lower_size + 1.0)
    weighted = kept * (m - np.arange(m + 1))
    total = weighted.sum(axis=1, keepdims=True)
    with_tail = np.where(total > 0.0, weighted / np.maximum(total, 1e-300), kept)
    return _sum_in_bins(kept, starts), _sum_in_bins(with_tail, starts)


def _sum_in_bins(distributions: Float, starts: Int) -> Float:
    """Sum distributions of s = 0 ... m in bins, some of which may begin beyond m."""
    used = starts[starts < distributions.shape[1]]
    sums = np.zeros((len(distributions), starts.size))
    sums[:, : used.size] = np.add.reduceat(distributions, used, axis=1)
    return sums


def _better_of_drawn(n_head: Int, m: int, size: float) -> Float:
    """Return the distribution of s if m of `size` items are drawn, shape (numbers, m + 1).

    It is hypergeometric, proportional to C(b1, s) C(size - b1, m - s); if b1 exceeds the number of
    items, all are better.
    """
    s = np.arange(m + 1)
    better = np.minimum(n_head, size)[:, None]
    others = size - better
    is_possible = (s <= better) & (m - s <= others)
    logs = (
        gammaln(better + 1.0)
        - gammaln(s + 1.0)
        - gammaln(np.maximum(better - s, 0.0) + 1.0)
        + gammaln(others + 1.0)
        - gammaln(m - s + 1.0)
        - gammaln(np.maximum(others - (m - s), 0.0) + 1.0)
    )
    logs = np.where(is_possible, logs, -np.inf)
    distribution = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(distribution / distribution.sum(axis=1, keepdims=True))


def _grid(most: int) -> Int:
    """Return the numbers from 0 to `most` where conditions are checked, sparser beyond the first.

    Examples
    --------
    >>> _grid(4), _grid(160)[-4:]
    (array([0, 1, 2, 3, 4]), array([150, 153, 157, 160]))
    """
    n_wide = 2 + int(np.log(max(most / FIRST_RANKS, 1.0)) / np.log(RANK_GROWTH))
    wide = np.geomspace(FIRST_RANKS, max(most, FIRST_RANKS), n_wide)
    points = np.union1d(np.arange(FIRST_RANKS + 1), wide.round().astype(np.int64))
    return np.append(points[points < most], most)


class StatisticMoments(NamedTuple):
    """Mean of the statistics of rows, and F with F'F their covariance."""

    mean: Float
    root: Float


class RankClass:
    """The class of distributions of the rank, and a metric in it.

    The condition on the statistic is that for k <= `last_shaped` its mean over ranks 1 ... k, and
    its value at each further rank, are not below those of the metric, whatever the splits. For the
    programme, ranks are joined into cells.

    Parameters
    ----------
    credit
        The metric at the ranks 1 ... n.
    last_shaped, cutoff
        Down to this rank no rank is likelier than a better one; cut-off of the metric.
    sign
        `UPPER`, or `LOWER` for the negative metric.

    Attributes
    ----------
    target
        The metric, or its negative, at the ranks 1 ... n.
    ranks
        Ranks where the condition is checked, ascending: those of a grid, and both ends of cells.
    ends, widths
        Last rank and number of ranks of each cell; shape (cells,).
    is_shaped
        Whether each cell is within the shape.
    cell_rank
        The rank that represents each cell: its middle within the shape, and its last one beyond.
    cell_target
        The metric of each cell, see `excess_by_cell`.
    """

    def __init__(self, credit: Float, last_shaped: int, cutoff: int | None, sign: float) -> None:
        n = credit.size
        self.last_shaped = min(last_shaped, n)
        self.target = sign * credit
        cutoffs = [] if cutoff is None else [cutoff]
        self.ends = _cell_ends(n, [self.last_shaped, *cutoffs])
        self.widths = np.diff(self.ends, prepend=0)
        self.is_shaped = self.ends <= self.last_shaped
        middles = self.ends - (self.widths - 1) // 2
        self.cell_rank = np.where(self.is_shaped, middles, self.ends)
        grid = 1 + _grid(n - 1)
        self.ranks = np.union1d(np.union1d(grid, self.ends), self._first_ranks)
        self.cell_target = self.excess_by_cell(np.zeros(self.ranks.size))

    @property
    def _first_ranks(self) -> Int:
        """First rank of each cell; shape (cells,)."""
        return self.ends - self.widths + 1

    def averages(self) -> Float:
        """Return the weights of cells in the means that the condition is about.

        Shape (means, cells), with a mean for each cell: up to its end where it is shaped, and of it
        alone beyond.
        """
        weights = np.eye(self.ends.size)
        n = int(self.is_shaped.sum())
        weights[:n, :n] = np.tri(n) * self.widths[:n] / self.ends[:n, None]
        return weights

    def excess_by_cell(self, lowest: Float) -> Float:
        """Return the metric less the mean (1) of the statistics, in cells; shape (cells,).

        It is the mean over the ranks of a shaped cell, and the greatest at a rank of a cell beyond.

        Parameters
        ----------
        lowest
            Mean (1) of the statistics at `ranks`, for the splits that have the lowest; between
            these ranks, it is interpolated.
        """
        sums = self._shaped_sums(lowest)
        sums_up_to_cell = sums[self.ends[self.is_shaped] - 1]
        means = np.diff(sums_up_to_cell, prepend=0.0) / self.widths[self.is_shaped]
        is_beyond = self.ranks > self.last_shaped
        if not is_beyond.any():
            return means
        excess = (self.target[self.ranks - 1] - lowest)[is_beyond]
        cell_starts = np.searchsorted(self.ranks[is_beyond], self._first_ranks[~self.is_shaped])
        return np.concatenate([means, np.maximum.reduceat(excess, cell_starts)])

    def violation(self, lowest: Float) -> float:
        """Return by how much statistics violate the condition, if `lowest` are those at `ranks`."""
        excess = self.target[self.ranks - 1] - lowest
        greatest = float(excess[self.ranks > self.last_shaped].max(initial=-np.inf))
        if self.last_shaped:
            means = self._shaped_sums(lowest) / np.arange(1, self.last_shaped + 1)
            greatest = max(greatest, float(means.max()))
        return greatest

    def _shaped_sums(self, lowest: Float) -> Float:
        """Return sums of the metric less statistics over ranks 1 ... k, for each shaped k."""
        k = np.arange(1, self.last_shaped + 1)
        return np.cumsum(self.target[: k.size] - np.interp(k, self.ranks, lowest))


def _cell_ends(n: int, others: Sequence[int]) -> Int:
    """Return the last ranks of cells: single ranks, then wider cells, and some other ranks."""
    n_wide = 2 + int(np.log(max(n / FIRST_CELLS, 1.0)) / np.log(CELL_GROWTH))
    wide = np.geomspace(FIRST_CELLS, max(n, FIRST_CELLS), n_wide).round().astype(np.int64)
    ends = np.unique(np.concatenate([np.arange(1, FIRST_CELLS + 1), wide, [n], others]))
    return ends[(ends >= 1) & (ends <= n)].astype(np.int64)


class _SpreadBound(NamedTuple):
    """A bound t of the spread of statistics with coefficients u, which costs `weight` t.

    `right` - `rows` @ (u, t) lies in a second-order cone: its first entry is at least the length of
    the others.
    """

    weight: float
    rows: Float
    right: Float

    @classmethod
    def of_length(cls, root: Float, weight: float) -> _SpreadBound:
        """Bound the standard deviation: |root u| <= t."""
        n = root.shape[1]
        rows = np.vstack(
            [
                np.append(np.zeros(n), -1.0),
                np.column_stack([-root, np.zeros(len(root))]),
            ]
        )
        return cls(weight, rows, np.zeros(len(rows)))

    @classmethod
    def of_half_square(cls, root: Float) -> _SpreadBound:
        """Bound half the variance: |root u|^2 / 2 <= t, that is |(sqrt(2) root u, t - 1)| <= t + 1.

        The cost is t itself.
        """
        n = root.shape[1]
        only_t = np.append(np.zeros(n), -1.0)
        rows = np.vstack(
            [only_t, np.column_stack([-np.sqrt(2.0) * root, np.zeros(len(root))]), only_t]
        )
        return cls(1.0, rows, np.concatenate([[1.0], np.zeros(len(root)), [-1.0]]))


class VectorProgramme:
    """The programme of vectors u = (c, d) for one class, metric and pi_0.

    Condition (1) is in the programme for some pairs of a cell of ranks and a number b1; pairs that
    joined for one fold stay for the next.

    Parameters
    ----------
    of_class
        The class, and the metric in it.
    split
        Distributions of s for pi_0.
    """

    def __init__(self, of_class: RankClass, split: Split) -> None:
        self.of_class = of_class
        self.split = split
        least, greatest = split.limits(of_class.cell_rank - 1)
        cells = np.arange(least.size)
        pairs_of_part = [
            np.column_stack([cells, least + (part * (greatest - least)).round().astype(np.int64)])
            for part in FIRST_SPLITS
        ]
        self._pairs = np.unique(np.concatenate(pairs_of_part), axis=0)  # of a cell and a b1

    def solve(self, moments: StatisticMoments, weight: float) -> tuple[Float, float]:
        """Return the (c, d) with the least mean plus `weight` standard deviations, and this sum.

        What remains of the violation of (1) is added to c.
        """
        spread_bound = _SpreadBound.of_length(moments.root, weight)
        vector, violation = self._join_pairs(moments.mean, spread_bound)
        n_bins = vector.size // 2
        vector[:n_bins] += max(violation, 0.0)
        spread = float(np.linalg.norm(moments.root @ vector))
        return vector, float(moments.mean @ vector) + weight * spread

    def nearest_mean(self, moments: StatisticMoments) -> Float:
        """Return the mean of the statistics in the class that is nearest to that of the rows.

        The distance is in units of their covariance S = F'F. For a metric that is 0, minimise
        mean @ u + u' S u / 2; at the solution mean + S u is a mean in the class, by the dual of
        this programme.
        """
        spread_bound = _SpreadBound.of_half_square(moments.root)
        vector, _ = self._join_pairs(moments.mean, spread_bound)
        return np.asarray(moments.mean + moments.root.T @ (moments.root @ vector))

    def _join_pairs(self, mean: Float, spread_bound: _SpreadBound) -> tuple[Float, float]:
        """Solve for some pairs of a cell and a split b1 until none violates the condition.

        The condition is that the mean (1) of the statistics, averaged as the class allows, is not
        below the metric for any split. After each round, the split with the lowest mean joins for
        each cell.

        Parameters
        ----------
        mean, spread_bound
            Mean of the statistics, and the cone of their spread.

        Returns
        -------
        vector, violation
            (c, d), and the violation that is left.
        """
        of_class = self.of_class
        span = max(float(np.ptp(of_class.target)), LEAST_SPAN)
        target = of_class.cell_target
        for _ in range(MOST_SPLIT_ROUNDS):
            vector = self._solve_pairs(target, mean, spread_bound)
            lowest, _ = self._lowest(vector, of_class.ranks - 1)
            violation = of_class.violation(lowest)
            if violation <= SPLIT_TOLERANCE * span:
                break
            lowest_of_cell, n_head = self._lowest(vector, of_class.cell_rank - 1)
            # A cell is represented by one rank, so its target is raised by what differs in it.
            target = of_class.excess_by_cell(lowest) + lowest_of_cell
            joining = np.column_stack([np.arange(n_head.size), n_head])
            self._pairs = np.unique(np.concatenate([self._pairs, joining]), axis=0)
        return vector.copy(), violation

    def _lowest(self, vector: Float, n_better: Int) -> tuple[Float, Int]:
        """Return the lowest mean (1) for numbers of better items, over all splits.

        For b better items of which b1 are of the head, the mean is

            sum_s Q(s | b1) c(s) + (b - b1) sum_s R(s | b1) d(s).

        Parameters
        ----------
        vector
            (c, d), with d in the unit of the programme.
        n_better
            b; shape (numbers,).

        Returns
        -------
        lowest, n_head
            The lowest mean, and the b1 that has it; of the shape of `n_better`.
        """
        split = self.split
        c, d = np.split(vector, 2)
        mean_of_head = split.kept @ c  # at each tabulated b1
        slope_of_tail = split.kept_with_tail @ d / TAIL_UNIT
        least, greatest = split.limits(n_better)
        # Where b1 is tried: the tabulated numbers within the limits, and the limits themselves.
        tabulated = np.clip(split.n_head, least[:, None], greatest[:, None])
        n_head = np.column_stack([tabulated, least, greatest])
        n_tail = n_better[:, None] - n_head
        means = np.interp(n_head, split.n_head, mean_of_head)
        means += n_tail * np.interp(n_head, split.n_head, slope_of_tail)
        best = means.argmin(axis=1)
        number = np.arange(n_better.size)
        return means[number, best], n_head[number, best]

    def _solve_pairs(self, target: Float, mean: Float, spread_bound: _SpreadBound) -> Float:
        """Return the vector u = (c, d) that solves the programme for the present pairs.

        With h the violations in the cells of ranks, and t the spread of the statistics,

            minimise mean @ u + weight t
            where    h >= target - (Q c + b2 R d), the mean (1), for each pair,
                     averages of h, as the class allows, are at most 0,
                     u is between -COEFFICIENT_LIMIT and COEFFICIENT_LIMIT,
                     (u, t) is in the cone of `spread_bound`.

        Parameters
        ----------
        target
            The metric of each cell; shape (cells,).
        mean, spread_bound
            Mean of the statistics, and the cone of their spread.
        """
        n_u, n_cells = mean.size, target.size
        of_pairs, right_of_pairs = self._pair_rows(target)
        averages = self.of_class.averages()
        limits = np.concatenate([np.eye(n_u), -np.eye(n_u)])
        cone = spread_bound.rows
        n_cone = len(cone)
        matrix = np.vstack(  # the unknowns are u, h and t
            [
                np.hstack([of_pairs, np.zeros((len(of_pairs), 1))]),
                np.hstack([np.zeros((n_cells, n_u)), averages, np.zeros((n_cells, 1))]),
                np.hstack([limits, np.zeros((2 * n_u, n_cells + 1))]),
                np.hstack([cone[:, :-1], np.zeros((n_cone, n_cells)), cone[:, -1:]]),
            ]
        )
        right = [
            right_of_pairs,
            np.zeros(n_cells),
            np.full(2 * n_u, COEFFICIENT_LIMIT),
            spread_bound.right,
        ]
        cones = [
            clarabel.NonnegativeConeT(len(matrix) - n_cone),
            clarabel.SecondOrderConeT(n_cone),
        ]
        solution = solve_cone_programme(
            np.concatenate([mean, np.zeros(n_cells), [spread_bound.weight]]),
            matrix,
            np.concatenate(right),
            cones,
            THINNED_ACCURACY,
            refinements=1,
        )
        vector = np.array(solution.x)[:n_u]
        if np.isfinite(vector).all():
            return vector
        n_bins = n_u // 2
        constant_c = np.full(n_bins, self.of_class.target.max())  # is valid too
        return np.concatenate([constant_c, np.zeros(n_bins)])

    def _pair_rows(self, target: Float) -> tuple[Float, Float]:
        """Return rows and right sides of -(Q c + b2 R d) - h <= -target, one for each pair.

        The pair of a cell with rank r and b1 better items of the head has b2 = r - 1 - b1 of the
        tail. Q and R, the distributions of s for b1, are interpolated. The columns are c, d and h.
        """
        split = self.split
        n_cells = target.size
        cell, n_head = self._pairs.T
        n_tail = self.of_class.cell_rank[cell] - 1 - n_head
        of_c = _interpolate(split.kept, split.n_head, n_head)
        with_tail = _interpolate(split.kept_with_tail, split.n_head, n_head)
        of_d = (n_tail[:, None] / TAIL_UNIT) * with_tail
        of_h = np.equal.outer(cell, np.arange(n_cells)).astype(np.float64)
        return np.hstack([-of_c, -of_d, -of_h]), -target[cell]


def _interpolate(table: Float, points: Int, at: Int) -> Float:
    """Interpolate the rows of a table linearly between its points.

    Examples
    --------
    >>> _interpolate(np.array([[0.0], [1.0], [5.0]]), np.array([0, 1, 3]), np.array([1, 2]))
    array([[1.],
           [3.]])
    """
    right = np.minimum(np.searchsorted(points, at), points.size - 1)
    left = np.where(points[right] == at, right, np.maximum(right - 1, 0))
    step = np.maximum(points[right] - points[left], 1)
    share = ((at - points[left]) / step)[:, None]
    return np.asarray(table[left] * (1.0 - share) + table[right] * share)


def _moments(
    statistics: _Statistics, weights: Float, split: Split, rarity: float, n: int
) -> StatisticMoments:
    """Return the moments of the statistics of rows, and of half a row of a random rank.

    The statistics are the probabilities of each s, and these times t: those that (c, d) multiply.

    Parameters
    ----------
    statistics, weights
        Statistics of the rows, and how much each counts.
    split
        Distributions of s.
    rarity
        Mean 1 / pi of the candidates of the tail.
    n
        Number of candidates, the held-out item included.
    """
    tail = statistics.tail[:, None] / TAIL_UNIT
    values = np.hstack([statistics.kept, statistics.kept * tail])  # shape (rows, 2 bins)
    squares = (values.T * weights) @ values
    random_mean, random_square = _moments_of_random_rank(split, rarity, n)
    n_rows = float(weights.sum()) + PSEUDO_ROWS
    mean = (weights @ values + PSEUDO_ROWS * random_mean) / n_rows
    mean_square = (squares + PSEUDO_ROWS * random_square) / n_rows
    covariance = mean_square - np.outer(mean, mean)
    eigenvalues, eigenvectors = np.linalg.eigh(covariance)
    root = (eigenvectors * np.sqrt(np.maximum(eigenvalues, LEAST_VARIANCE))).T
    return StatisticMoments(mean, root)


def _moments_of_random_rank(split: Split, rarity: float, n: int) -> tuple[Float, Float]:
    """Return the means of the statistics of a uniform rank, and of their products, see `_moments`.

    Better items are split between head and tail as the candidates are. For b2 better items of the
    tail, t has the mean b2 and, as their draws are independent, about the variance
    b2 (mean of 1 / pi - 1).
    """
    n_better = np.linspace(0, n - 1, PSEUDO_RANKS).astype(np.int64)
    n_candidates = max(split.most_of_head + split.most_of_tail, 1)
    n_head = (n_better * split.most_of_head / n_candidates).astype(np.int64)
    tail = (n_better - n_head)[:, None] / TAIL_UNIT
    tabulated = np.clip(np.searchsorted(split.n_head, n_head), 0, split.n_head.size - 1)
    kept, kept_with_tail = split.kept[tabulated], split.kept_with_tail[tabulated]
    values = np.hstack([kept, kept_with_tail * tail])
    products = values.T @ values / len(values)
    # The products are of means of t. A square has its variance too.
    squared_tail = tail**2 + tail * max(rarity - 1.0, 0.0) / TAIL_UNIT
    least_squares = (kept_with_tail * squared_tail).mean(axis=0)
    tail_columns = np.arange(kept.shape[1], values.shape[1])
    diagonal = (tail_columns, tail_columns)
    products[diagonal] = np.maximum(products[diagonal], least_squares)
    return values.mean(axis=0), products


class _Chosen(NamedTuple):
    """The vectors of one metric, sign and fold that have the lowest expected end.

    Attributes
    ----------
    expected
        The expected end.
    pi_0
        Least probability of the head.
    vector
        (c, d), with d in the unit of the programme.
    """

    expected: float
    pi_0: float
    vector: Float

    @property
    def coefficients(self) -> tuple[Float, Float]:
        """The vectors c and d of (1); shape (bins,)."""
        c, d = np.split(self.vector, 2)
        return c, d / TAIL_UNIT

    def values(self, kept: Float, tail: Float) -> Float:
        """Return c(s) + d(s) t of rows, in expectation over s; shape (rows,)."""
        c, d = self.coefficients
        return np.asarray(kept @ c + tail * (kept @ d))

    def greatest_value(self, greatest_t: float) -> float:
        """Return the greatest value of a row with t from 0 to `greatest_t`."""
        c, d = self.coefficients
        return float(max(c.max(), (c + greatest_t * d).max()))


def thinned_ranges(
    counts: StratumCounts,
    measures: Sequence[Measure],
    n: int,
    last_shaped: int,
    confidence: float,
    *,
    weights: Float | None = None,
    seed: int = 0,
) -> list[ThinnedRange]:
    """Find the range of each metric, whatever the tastes are.

    Parameters
    ----------
    counts
        Better and drawn negatives, and candidates, by row and stratum.
    measures, n
        Metrics of one held-out item, and the number of candidates with it.
    last_shaped
        Down to this rank no rank is likelier than a better one.
    confidence
        Of each range.
    weights
        How much each row counts; they sum to the number of independent users. None: all 1.
    seed
        Of the folds.
    """
    n_rows = len(counts.better)
    rows = _Rows(
        counts=counts,
        probabilities=inclusion_probabilities(counts),
        weights=np.ones(n_rows) if weights is None else weights,
        fold=generator(seed, "folds").permutation(n_rows) % 2,
    )
    ranks = np.arange(1, n + 1)
    classes = [
        RankClass(measure.value_at(ranks, n), last_shaped, measure.cutoff, sign)
        for measure in measures
        for sign in (LOWER, UPPER)
    ]
    values, extremes = _values_of_rows(rows, _choose_vectors(rows, classes))
    # By metric: values of the vectors of the negative metric, and of the metric.
    value_pairs = values.reshape(len(measures), 2, n_rows)
    extreme_pairs = extremes.reshape(len(measures), 2)
    results = []
    for measure, value_pair, extreme_pair in zip(measures, value_pairs, extreme_pairs, strict=True):
        minus_lower, upper = value_pair
        minus_least, greatest = extreme_pair
        low = -_upper_bound(minus_lower, rows.weights, minus_least, confidence)
        high = _upper_bound(upper, rows.weights, greatest, confidence)
        low, high = sorted(np.clip([low, high], *measure.value_at(np.array([n, 1]), n)).tolist())
        results.append(
            ThinnedRange(
                allowed=Range(low, high),
                lower=-minus_lower,
                upper=upper,
                extremes=(-minus_least, greatest),
            )
        )
    return results


def _choose_vectors(rows: _Rows, classes: Sequence[RankClass]) -> list[list[_Chosen]]:
    """Choose the vectors of each class for each fold, by the rows of the other fold.

    Of several pi_0 the one with the lowest expected end is taken, the smaller one of equals.

    Returns
    -------
    list of list of _Chosen
        By class and fold.
    """
    mean_drawn = float(np.average(rows.counts.drawn.sum(axis=1), weights=rows.weights))
    m = max(round(mean_drawn), 1)
    tried = [
        _vectors_for(rows, pi_0, m, classes)
        for pi_0 in _least_probabilities(rows.counts, rows.probabilities)
    ]
    return [
        [
            min((of_pi_0[index][fold] for of_pi_0 in tried), key=lambda each: each.expected)
            for fold in (0, 1)
        ]
        for index in range(len(classes))
    ]


def _vectors_for(
    rows: _Rows, pi_0: float, m: int, classes: Sequence[RankClass]
) -> list[list[_Chosen]]:
    """Compute the vectors for one pi_0, by class and fold, see `_choose_vectors`.

    m is the mean number of negatives of a row, rounded.
    """
    split = _split(rows.counts, rows.probabilities, pi_0, m)
    # For a metric that is 0; as in all programmes, pairs that joined for a fold stay for the next.
    zero_class = RankClass(np.zeros(classes[0].target.size), classes[0].last_shaped, None, UPPER)
    of_zero = VectorProgramme(zero_class, split)
    moments_of_fold = [_moments_of_other_fold(rows, fold, pi_0, of_zero) for fold in (0, 1)]
    n_users_of_fold = [max(float(rows.weights[rows.fold == fold].sum()), 1.0) for fold in (0, 1)]

    def choose_for(programme: VectorProgramme, fold: int) -> _Chosen:
        weight = CHOOSING_Z / np.sqrt(n_users_of_fold[fold])
        vector, expected = programme.solve(moments_of_fold[fold], weight)
        return _Chosen(expected, pi_0, vector)

    programmes = [VectorProgramme(of_class, split) for of_class in classes]
    return [[choose_for(programme, fold) for fold in (0, 1)] for programme in programmes]


def _moments_of_other_fold(
    rows: _Rows, fold: int, pi_0: float, of_zero: VectorProgramme
) -> StatisticMoments:
    """Return the moments of the statistics (s, t) by which the vectors (c, d) of a fold are chosen.

    Rows do not choose their own vectors: the moments are those of rows of the other fold. Their
    mean may be one that no ranks of the class have; the nearest one that some have replaces it.

    Parameters
    ----------
    fold
        0 or 1, the fold whose vectors are chosen.
    pi_0
        Probability from which a stratum belongs to the head of a row.
    of_zero
        The programme of a metric that is 0 everywhere. Its conditions are those of the class alone,
        so that it finds the nearest possible mean.
    """
    others = np.flatnonzero(rows.fold != fold)[:CHOOSING_ROWS]
    n_ranks = of_zero.of_class.target.size
    moments = _moments(
        rows.statistics(others, pi_0),
        rows.weights[others],
        of_zero.split,
        rarity=_rarity(rows.counts.take(others), rows.probabilities[others], pi_0),
        n=n_ranks,
    )
    return moments._replace(mean=of_zero.nearest_mean(moments))


def thinned_range(thinned: ThinnedRange, confidence: float) -> Range:
    """Return the range of a metric at another confidence; all rows count the same."""
    weights = np.ones(thinned.lower.size)
    lower_extreme, upper_extreme = thinned.extremes
    low = -_upper_bound(-thinned.lower, weights, -lower_extreme, confidence)
    high = _upper_bound(thinned.upper, weights, upper_extreme, confidence)
    return Range(low, high)


def thinned_difference(
    first: ThinnedRange, second: ThinnedRange, confidence: float, weights: Float | None = None
) -> Range:
    """Return the range of the metric of the second recommender less that of the first.

    Both have been computed from the same rows, so chance that they share cancels.
    """
    row_weights = np.ones(first.lower.size) if weights is None else weights
    first_lower, first_upper = first.extremes
    second_lower, second_upper = second.extremes
    greatest = second.upper - first.lower
    least = second.lower - first.upper
    high = _upper_bound(greatest, row_weights, second_upper - first_lower, confidence)
    low = -_upper_bound(-least, row_weights, first_upper - second_lower, confidence)
    low, high = sorted(np.clip([low, high], -1.0, 1.0).tolist())
    return Range(low, high)


def _upper_bound(values: Float, weights: Float, extreme: float, confidence: float) -> float:
    """Return the upper confidence bound of a weighted mean; `extreme` is its greatest value."""
    return UpperBound(UserValues(values, weights, extreme)).at(confidence)


def _least_probabilities(counts: StratumCounts, probabilities: Float) -> list[float]:
    """Return the pi_0 to try, ascending: quantiles of the probabilities of candidates.

    For a quantile q, it is the least probability of a stratum: of the one, rarest first, with which
    the strata up to it have more than a share q of the candidates.
    """
    mean_of_stratum = np.average(probabilities, axis=0, weights=counts.candidates + 1e-9)
    rarest_first = np.argsort(mean_of_stratum, kind="stable")
    n_candidates = counts.candidates.sum(axis=0)
    share_up_to = np.cumsum(n_candidates[rarest_first]) / counts.candidates.sum()
    position = np.searchsorted(share_up_to, HEAD_QUANTILES, side="right")
    strata = rarest_first[np.minimum(position, rarest_first.size - 1)]
    return np.unique(probabilities.min(axis=0)[strata]).tolist()


def _split(counts: StratumCounts, probabilities: Float, pi_0: float, m: int) -> Split:
    """Tabulate the distributions of s for one pi_0."""
    is_head = probabilities >= pi_0
    most_of_head = int((counts.candidates * is_head).sum(axis=1).max())
    most_of_tail = int((counts.candidates * ~is_head).sum(axis=1).max())
    n_head = _grid(most_of_head)
    kept, kept_with_tail = kept_distribution(n_head, m, pi_0, KEPT_STARTS)
    return Split(n_head, kept, kept_with_tail, most_of_head, most_of_tail)


def _rarity(counts: StratumCounts, probabilities: Float, pi_0: float) -> float:
    """Return the mean 1 / pi of the candidates of the tail; 1 without any."""
    of_tail = counts.candidates * (probabilities < pi_0)
    n_tail = float(of_tail.sum())
    if n_tail == 0.0:
        return 1.0
    return float((of_tail / probabilities).sum()) / n_tail


def _values_of_rows(rows: _Rows, chosen: Sequence[Sequence[_Chosen]]) -> tuple[Float, Float]:
    """Return the values of the chosen vectors for all rows.

    Statistics depend on pi_0, so they are computed once for all classes and folds that have it.

    Parameters
    ----------
    rows
        All rows.
    chosen
        Vectors by class and fold.

    Returns
    -------
    values, extremes
        Values of shape (classes, rows), and the greatest possible one of each class.
    """
    values = np.empty((len(chosen), len(rows.fold)))
    extremes = np.full(len(chosen), -np.inf)
    for pi_0 in sorted({each.pi_0 for of_folds in chosen for each in of_folds}):
        class_and_fold = [
            (index, fold)
            for index, of_folds in enumerate(chosen)
            for fold, each in enumerate(of_folds)
            if each.pi_0 == pi_0
        ]
        with_pi_0 = np.flatnonzero(np.isin(rows.fold, [fold for _, fold in class_and_fold]))
        if not with_pi_0.size:
            continue
        kept, tail = rows.statistics(with_pi_0, pi_0)
        greatest_t = _greatest_t(rows.probabilities, pi_0)
        for index, fold in class_and_fold:
            vectors = chosen[index][fold]
            is_in_fold = rows.fold[with_pi_0] == fold
            values_of_fold = vectors.values(kept[is_in_fold], tail[is_in_fold])
            values[index, with_pi_0[is_in_fold]] = values_of_fold
            extremes[index] = max(extremes[index], vectors.greatest_value(greatest_t))
    return values, extremes


def _greatest_t(probabilities: Float, pi_0: float) -> float:
    """Return t of a row with one better negative of the rarest stratum of the tail; 0 without."""
    is_tail = probabilities < pi_0
    if not is_tail.any():
        return 0.0
    return 1.0 / float(probabilities[is_tail].min())
