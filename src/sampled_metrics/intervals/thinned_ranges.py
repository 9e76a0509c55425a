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

    kept: Float  # shape (rows, bins)
    tail: Float  # t, shape (rows,)


def inclusion_probabilities(counts: StratumCounts) -> Float:
    """Return the probability that a candidate is drawn, by row and stratum, shape (rows, strata).

    Each row's probabilities sum to its number of negatives, and each stratum's to those drawn of
    it. Neighbouring strata that chance does not tell apart are pooled.

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
    m = drawn.sum(axis=1)
    share = drawn.sum(axis=0) / np.maximum(candidates.sum(axis=0), 1.0)
    weights = -np.log1p(-np.minimum(share, LARGEST_PROBABILITY))  # w of each pool
    rates = np.ones(len(m))  # of each row
    for _ in range(RATE_ROUNDS):
        rates = _fit_rates(candidates, m, weights, rates)
        expected = (candidates * -np.expm1(-rates[:, None] * weights)).sum(axis=0)
        weights = weights * drawn.sum(axis=0) / np.maximum(expected, 1e-12)
    rates = _fit_rates(candidates, m, weights, rates)
    probabilities = -np.expm1(-rates[:, None] * weights)
    clipped = np.clip(probabilities, SMALLEST_PROBABILITY, LARGEST_PROBABILITY)
    return np.asarray(clipped[:, pool_of_stratum])


def _fit_rates(candidates: Float, m: Float, weights: Float, start: Float) -> Float:
    """Return the rates with which each row draws m candidates, by Newton's method.

    The rate r of a row solves sum_h candidates_h exp(-r w_h) = candidates - m.

    Parameters
    ----------
    candidates
        Candidates of each row and pool; shape (rows, pools).
    m, start
        Numbers of negatives, and rates to begin with; shape (rows,).
    weights
        w of each pool; shape (pools,).
    """
    rates = start
    for _ in range(RATE_STEPS):
        undrawn = candidates * np.exp(-rates[:, None] * weights)
        missing = undrawn.sum(axis=1) - (candidates.sum(axis=1) - m)
        newton = rates + missing / np.maximum(undrawn @ weights, 1e-12)
        rates = np.maximum(newton, rates / 4.0)
    return rates


def _pools(drawn: Int, candidates: Int) -> Int:
    """Pool neighbouring strata with few draws, or drawn about equally often.

    Rates are compared by a test of two shares.

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
        drawn_before, drawn_here = drawn[start:h].sum(), drawn[h]
        n_before = max(candidates[start:h].sum(), 1)
        n_here = max(candidates[h], 1)
        rate = (drawn_before + drawn_here) / (n_before + n_here)
        error = np.sqrt(rate * (1.0 - rate) * (1.0 / n_before + 1.0 / n_here))
        differs = abs(drawn_before / n_before - drawn_here / n_here) > POOLED_ERRORS * error
        has_draws = min(drawn_before, drawn[h:].sum()) >= POOLED_DRAWS
        pool[h] = pool[h - 1]
        if differs and has_draws:
            start = h
            pool[h] += 1
    return pool


def thinned_statistics(
    better: Int, probabilities: Float, pi_0: float, starts: Int
) -> tuple[Float, Float]:
    """Return the distribution of s in bins, shape (rows, bins), and t, shape (rows,).

    The generating function of s is a product over strata. It is evaluated on a circle, where the
    distribution is its Fourier transform.

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
    """Return the distribution of s in bins, see `thinned_statistics`; shape (rows, bins)."""
    angles = np.arange(ROOTS // 2 + 1) * (2.0 * np.pi / ROOTS)  # the other half is conjugate
    points = RADIUS * np.exp(1j * angles)
    row, stratum = np.nonzero(better_of_head)
    keep = (pi_0 / probabilities[row, stratum])[:, None]
    logs = better_of_head[row, stratum][:, None] * np.log(1.0 + keep * (points - 1.0))
    ends = np.cumsum(np.bincount(row, minlength=len(better_of_head)))
    edges = np.concatenate([[0], ends])  # of each row's entries in `logs`
    sums = np.concatenate([np.zeros((1, points.size)), np.cumsum(logs, axis=0)])
    generating_function = np.exp(sums[edges[1:]] - sums[edges[:-1]])  # shape (rows, points)
    numbers = np.arange(int(starts[-1]))
    is_real = (angles == 0.0) | (angles == angles[-1])
    weights = np.where(is_real, 1.0, 2.0) / ROOTS
    transform = weights[:, None] * np.exp(-1j * np.outer(angles, numbers)) / RADIUS**numbers
    distribution = np.maximum((generating_function @ transform).real, 0.0)
    beyond = np.maximum(1.0 - distribution.sum(axis=1), 0.0)
    return np.add.reduceat(np.column_stack([distribution, beyond]), starts, axis=1)


def kept_distribution(n_head: Int, m: int, pi_0: float, starts: Int) -> tuple[Float, Float]:
    """Return the distributions Q and R of s in (1), in bins; shape (numbers, bins).

    m of m / pi_0 items are drawn, b1 of which are better. The number of others drawn, m - s, tells
    how likely a tail item is drawn with them.

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
    # Where that is not whole: a mixture of the next whole numbers, with the mean b1 pi_0.
    lower_size = float(np.floor(size + SIZE_ROUNDING))
    share = min(max(((lower_size + 1.0) / size - 1.0) * lower_size, 0.0), 1.0)
    kept = share * _better_of_drawn(n_head, m, lower_size)
    kept += (1.0 - share) * _better_of_drawn(n_head, m, lower_size + 1.0)
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

    It is hypergeometric, also where b1 exceeds the number of items.
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
        Ranks where the condition is checked, ascending.
    ends, widths
        Last rank and number of ranks of each cell; shape (cells,).
    is_shaped
        Whether each cell is within the shape.
    cell_rank
        The rank that represents each cell.
    cell_target
        The metric of each cell, see `excess_by_cell`.
    """

    def __init__(self, credit: Float, last_shaped: int, cutoff: int | None, sign: float) -> None:
        n = credit.size
        self.last_shaped = min(last_shaped, n)
        self.target = sign * credit
        self.ends = _cell_ends(n, [self.last_shaped, *([] if cutoff is None else [cutoff])])
        self.widths = np.diff(self.ends, prepend=0)
        first_ranks = self.ends - self.widths + 1
        self.ranks = np.union1d(np.union1d(1 + _grid(n - 1), self.ends), first_ranks)
        self.is_shaped = self.ends <= self.last_shaped
        middle = self.ends - (self.widths - 1) // 2
        self.cell_rank = np.where(self.is_shaped, middle, self.ends)
        self.cell_target = self.excess_by_cell(np.zeros(self.ranks.size))

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
        """Return the metric less statistics, in cells; shape (cells,).

        The mean over each shaped cell, and the greatest in each cell beyond. `lowest` are the
        lowest means of the statistics at `ranks`, whatever the splits.
        """
        sums = self._shaped_sums(lowest)
        shaped_ends = self.ends[self.is_shaped]
        means = np.diff(sums[shaped_ends - 1], prepend=0.0) / self.widths[self.is_shaped]
        is_beyond = self.ranks > self.last_shaped
        if not is_beyond.any():
            return means
        excess = (self.target[self.ranks - 1] - lowest)[is_beyond]
        first_ranks = (self.ends - self.widths + 1)[~self.is_shaped]
        starts = np.searchsorted(self.ranks[is_beyond], first_ranks)
        return np.concatenate([means, np.maximum.reduceat(excess, starts)])

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


class VectorProgramme:
    """The programme of vectors (c, d) for one class, metric and pi_0.

    Condition (1) is in the programme for some pairs of a cell of ranks and a number b1; pairs that
    joined for one fold stay for the next.
    """

    def __init__(self, of_class: RankClass, split: Split) -> None:
        self._class = of_class
        self._split = split
        n_better = of_class.cell_rank - 1
        least, greatest = split.limits(n_better)
        pairs = []
        for part in FIRST_SPLITS:
            n_head = least + (part * (greatest - least)).round().astype(np.int64)
            pairs.append(np.column_stack([np.arange(n_better.size), n_head]))
        self._pairs = np.unique(np.concatenate(pairs), axis=0)  # of a cell and a b1

    def solve(self, moments: StatisticMoments, weight: float) -> tuple[Float, float]:
        """Return (c, d), and its mean plus `weight` standard deviations."""
        n_unknown = moments.mean.size
        cone = np.zeros((n_unknown + 1, n_unknown + 1))  # |root u| <= t
        cone[0, -1] = -1.0
        cone[1:, :n_unknown] = -moments.root
        vector, violation = self._join_pairs(moments.mean, weight, cone, np.zeros(len(cone)))
        vector[: n_unknown // 2] += max(violation, 0.0)
        spread = float(np.linalg.norm(moments.root @ vector))
        return vector, float(moments.mean @ vector) + weight * spread

    def nearest_mean(self, moments: StatisticMoments) -> Float:
        """Return the mean of the statistics in the class that is nearest to that of the rows.

        In units of their covariance S. For a metric that is 0, minimise mean @ u + u' S u / 2; at
        the solution mean + S u is a mean in the class, by the dual of this programme.
        """
        n_unknown = moments.mean.size
        cone = np.zeros((n_unknown + 2, n_unknown + 1))  # |root u|^2 / 2 <= t
        cone[[0, -1], -1] = -1.0
        cone[1:-1, :n_unknown] = -np.sqrt(2.0) * moments.root
        right_of_cone = np.zeros(len(cone))
        right_of_cone[0], right_of_cone[-1] = 1.0, -1.0
        vector, _ = self._join_pairs(moments.mean, 1.0, cone, right_of_cone)
        return np.asarray(moments.mean + moments.root.T @ (moments.root @ vector))

    def _join_pairs(
        self, mean: Float, weight: float, cone: Float, right_of_cone: Float
    ) -> tuple[Float, float]:
        """Solve for some pairs until none violates the condition; return the violation left.

        The arguments are those of `_solve_pairs`.
        """
        of_class = self._class
        span = max(float(np.ptp(of_class.target)), LEAST_SPAN)
        target = of_class.cell_target
        for _ in range(MOST_SPLIT_ROUNDS):
            vector = self._solve_pairs(target, mean, weight, cone, right_of_cone)
            lowest, _ = self._lowest(vector, of_class.ranks - 1)
            violation = of_class.violation(lowest)
            if violation <= SPLIT_TOLERANCE * span:
                break
            # A cell is represented by one rank, so its target is raised by what differs in it.
            lowest_of_cell, n_head = self._lowest(vector, of_class.cell_rank - 1)
            target = of_class.excess_by_cell(lowest) + lowest_of_cell
            joining = np.column_stack([np.arange(n_head.size), n_head])
            self._pairs = np.unique(np.concatenate([self._pairs, joining]), axis=0)
        return vector.copy(), violation

    def _lowest(self, vector: Float, n_better: Int) -> tuple[Float, Int]:
        """Return the lowest mean (1) for numbers of better items, over all splits.

        Returns
        -------
        lowest, n_head
            The lowest mean, and the b1 that has it; of the shape of `n_better`.
        """
        split = self._split
        c, d = np.split(vector, 2)
        constant = split.kept @ c
        slope = split.kept_with_tail @ d / TAIL_UNIT
        least, greatest = split.limits(n_better)
        # Where b1 is tried: the tabulated numbers within the limits, and the limits themselves.
        tabulated = np.clip(split.n_head, least[:, None], greatest[:, None])
        n_head = np.column_stack([tabulated, least, greatest])
        means = np.interp(n_head, split.n_head, constant)
        means += (n_better[:, None] - n_head) * np.interp(n_head, split.n_head, slope)
        best = means.argmin(axis=1)
        index = np.arange(n_better.size)
        return means[index, best], n_head[index, best]

    def _solve_pairs(
        self, target: Float, mean: Float, weight: float, cone: Float, right_of_cone: Float
    ) -> Float:
        """Minimise mean @ u + weight t, where `cone` bounds t; the unknowns are u, h and t.

        h bounds the violation in each cell of ranks: h >= target - (1), and h, averaged as the
        class allows, is at most 0.

        Parameters
        ----------
        target
            The metric of each cell; shape (cells,).
        mean, weight
            Coefficients of u and of t.
        cone, right_of_cone
            `right_of_cone` - `cone` @ (u, t) is in a second-order cone.

        Returns
        -------
        ndarray
            u = (c, d).
        """
        n_u, n_cells = mean.size, target.size
        n_unknown = n_u + n_cells + 1
        of_pairs, right_of_pairs = self._pair_rows(target, n_u)
        averages = np.zeros((n_cells, n_unknown))
        averages[:, n_u:-1] = self._class.averages()
        box = np.zeros((2 * n_u, n_unknown))
        box[:, :n_u] = np.concatenate([np.eye(n_u), -np.eye(n_u)])
        of_cone = np.zeros((len(cone), n_unknown))
        of_cone[:, :n_u], of_cone[:, -1] = cone[:, :-1], cone[:, -1]
        right = [
            right_of_pairs,
            np.zeros(n_cells),
            np.full(len(box), COEFFICIENT_LIMIT),
            right_of_cone,
        ]
        cones = [
            clarabel.NonnegativeConeT(len(of_pairs) + n_cells + len(box)),
            clarabel.SecondOrderConeT(len(cone)),
        ]
        solution = solve_cone_programme(
            np.concatenate([mean, np.zeros(n_cells), [weight]]),
            np.concatenate([of_pairs, averages, box, of_cone]),
            np.concatenate(right),
            cones,
            THINNED_ACCURACY,
            refinements=1,
        )
        vector = np.array(solution.x)[:n_u]
        if np.isfinite(vector).all():
            return vector
        constant = np.full(n_u // 2, self._class.target.max())  # is valid too
        return np.concatenate([constant, np.zeros(n_u // 2)])

    def _pair_rows(self, target: Float, n_u: int) -> tuple[Float, Float]:
        """Return rows and right sides of h >= target - (1), one for each pair.

        The columns are those of `_solve_pairs`: u, h and t.
        """
        split = self._split
        n_bins = n_u // 2
        cell, n_head = self._pairs.T
        n_tail = self._class.cell_rank[cell] - 1 - n_head
        rows = np.zeros((cell.size, n_u + target.size + 1))
        rows[:, :n_bins] = -_interpolate(split.kept, split.n_head, n_head)
        with_tail = _interpolate(split.kept_with_tail, split.n_head, n_head)
        rows[:, n_bins:n_u] = -(n_tail[:, None] / TAIL_UNIT) * with_tail
        rows[np.arange(cell.size), n_u + cell] = -1.0
        return rows, -target[cell]


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
    """Return the moments of rows, and of half a row of a uniform rank.

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
    rows = np.hstack([statistics.kept, statistics.kept * tail])
    second = (rows.T * weights) @ rows
    pseudo_mean, pseudo_second = _uniform_moments(split, rarity, n)
    size = float(weights.sum()) + PSEUDO_ROWS
    mean = (weights @ rows + PSEUDO_ROWS * pseudo_mean) / size
    covariance = (second + PSEUDO_ROWS * pseudo_second) / size - np.outer(mean, mean)
    eigenvalues, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(eigenvalues, LEAST_VARIANCE))).T
    return StatisticMoments(mean, root)


def _uniform_moments(split: Split, rarity: float, n: int) -> tuple[Float, Float]:
    """Return the mean and the second moments of statistics of a uniform rank, see `_moments`.

    Better items are split between head and tail as the candidates are.
    """
    n_better = np.linspace(0, n - 1, PSEUDO_RANKS).astype(np.int64)
    most = max(split.most_of_head + split.most_of_tail, 1)
    n_head = (n_better * split.most_of_head / most).astype(np.int64)
    n_tail = (n_better - n_head)[:, None] / TAIL_UNIT
    index = np.clip(np.searchsorted(split.n_head, n_head), 0, split.n_head.size - 1)
    kept, kept_with_tail = split.kept[index], split.kept_with_tail[index]
    rows = np.hstack([kept, kept_with_tail * n_tail])
    second = rows.T @ rows / len(rows)
    # The variance of t for a number of better items is that of independent draws.
    squares = n_tail**2 + n_tail * max(rarity - 1.0, 0.0) / TAIL_UNIT
    expected_squares = (kept_with_tail * squares).mean(axis=0)
    tail_columns = np.arange(kept.shape[1], rows.shape[1])
    diagonal = (tail_columns, tail_columns)
    second[diagonal] = np.maximum(second[diagonal], expected_squares)
    return rows.mean(axis=0), second


class _Chosen(NamedTuple):
    """The vectors of one metric, sign and fold that have the lowest expected end.

    Attributes
    ----------
    expected
        The expected end.
    pi_0
        Least probability of the head.
    vector
        (c, d).
    """

    expected: float
    pi_0: float
    vector: Float


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
    row_weights = np.ones(n_rows) if weights is None else weights
    fold_of_row = generator(seed, "folds").permutation(n_rows) % 2
    ranks = np.arange(1, n + 1)
    classes = [
        RankClass(measure.value_at(ranks, n), last_shaped, measure.cutoff, sign)
        for measure in measures
        for sign in (LOWER, UPPER)
    ]
    probabilities = inclusion_probabilities(counts)
    chosen = _choose_vectors(counts, probabilities, classes, row_weights, fold_of_row)
    values, extremes = _values_of_rows(counts.better, probabilities, fold_of_row, chosen)
    results = []
    for index, measure in enumerate(measures):
        least, greatest = measure.value_at(np.array([n, 1]), n)
        lower, upper = -values[2 * index], values[2 * index + 1]
        lower_extreme, upper_extreme = -extremes[2 * index], extremes[2 * index + 1]
        ends = [
            -_upper_bound(-lower, row_weights, -lower_extreme, confidence),
            _upper_bound(upper, row_weights, upper_extreme, confidence),
        ]
        low, high = sorted(np.clip(ends, least, greatest).tolist())
        extremes_of_metric = (lower_extreme, upper_extreme)
        results.append(ThinnedRange(Range(low, high), lower, upper, extremes_of_metric))
    return results


def _choose_vectors(
    counts: StratumCounts,
    probabilities: Float,
    classes: Sequence[RankClass],
    row_weights: Float,
    fold_of_row: Int,
) -> list[list[_Chosen]]:
    """Choose the vectors of each class for each fold, by the rows of the other fold.

    Of several pi_0 the one with the lowest expected end is taken, the smaller one of equals.

    Returns
    -------
    list of list of _Chosen
        By class and fold.
    """
    m = max(round(float(np.average(counts.drawn.sum(axis=1), weights=row_weights))), 1)
    tried = [
        _vectors_for(counts, probabilities, pi_0, m, classes, row_weights, fold_of_row)
        for pi_0 in _least_probabilities(counts, probabilities)
    ]
    return [
        [
            min((of_pi_0[index][fold] for of_pi_0 in tried), key=lambda each: each.expected)
            for fold in (0, 1)
        ]
        for index in range(len(classes))
    ]


def _vectors_for(
    counts: StratumCounts,
    probabilities: Float,
    pi_0: float,
    m: int,
    classes: Sequence[RankClass],
    row_weights: Float,
    fold_of_row: Int,
) -> list[list[_Chosen]]:
    """Compute the vectors for one pi_0, by class and fold, see `_choose_vectors`."""
    n = classes[0].target.size
    split = _split(counts, probabilities, pi_0, m)
    zero_class = RankClass(np.zeros(n), classes[0].last_shaped, None, UPPER)
    nearest = VectorProgramme(zero_class, split)
    moments_of_fold, weight_of_fold = [], []
    for fold in (0, 1):
        rows = np.flatnonzero(fold_of_row != fold)[:CHOOSING_ROWS]
        statistics = _Statistics(
            *thinned_statistics(counts.better[rows], probabilities[rows], pi_0, KEPT_STARTS)
        )
        rarity = _rarity(counts.take(rows), probabilities[rows], pi_0)
        moments = _moments(statistics, row_weights[rows], split, rarity, n)
        moments_of_fold.append(moments._replace(mean=nearest.nearest_mean(moments)))
        n_users = max(float(row_weights[fold_of_row == fold].sum()), 1.0)
        weight_of_fold.append(CHOOSING_Z / np.sqrt(n_users))
    by_class = []
    for of_class in classes:
        programme = VectorProgramme(of_class, split)
        of_folds = []
        for moments, weight in zip(moments_of_fold, weight_of_fold, strict=True):
            vector, expected = programme.solve(moments, weight)
            of_folds.append(_Chosen(expected, pi_0, vector))
        by_class.append(of_folds)
    return by_class


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
    """Return pi_0 to try, ascending: quantiles of the probabilities of candidates."""
    mean_of_stratum = np.average(probabilities, axis=0, weights=counts.candidates + 1e-9)
    rarest_first = np.argsort(mean_of_stratum, kind="stable")
    n_candidates = counts.candidates.sum(axis=0)
    share_up_to = np.cumsum(n_candidates[rarest_first]) / counts.candidates.sum()
    index = np.searchsorted(share_up_to, HEAD_QUANTILES, side="right")
    strata = rarest_first[np.minimum(index, rarest_first.size - 1)]
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


def _values_of_rows(
    better: Int,
    probabilities: Float,
    fold_of_row: Int,
    chosen: Sequence[Sequence[_Chosen]],
) -> tuple[Float, Float]:
    """Return the values of the chosen vectors for all rows.

    Parameters
    ----------
    better, probabilities
        Better negatives, and the probabilities that candidates are drawn, by row and stratum.
    fold_of_row
        Fold of each row.
    chosen
        Vectors by class and fold.

    Returns
    -------
    values, extremes
        Values of shape (classes, rows), and the greatest possible one of each class.
    """
    values = np.empty((len(chosen), len(better)))
    extremes = np.full(len(chosen), -np.inf)
    for pi_0 in sorted({each.pi_0 for of_folds in chosen for each in of_folds}):
        with_pi_0 = [
            (index, fold)
            for index, of_folds in enumerate(chosen)
            for fold, each in enumerate(of_folds)
            if each.pi_0 == pi_0
        ]
        rows = np.flatnonzero(np.isin(fold_of_row, [fold for _, fold in with_pi_0]))
        if not rows.size:
            continue
        kept, tail = thinned_statistics(better[rows], probabilities[rows], pi_0, KEPT_STARTS)
        is_tail = probabilities < pi_0
        greatest_t = 1.0 / float(probabilities[is_tail].min()) if is_tail.any() else 0.0
        for index, fold in with_pi_0:
            c, d = np.split(chosen[index][fold].vector, 2)
            d = d / TAIL_UNIT
            is_fold = fold_of_row[rows] == fold
            kept_of_fold, tail_of_fold = kept[is_fold], tail[is_fold]
            value = kept_of_fold @ c + tail_of_fold * (kept_of_fold @ d)
            values[index, rows[is_fold]] = value
            extremes[index] = max(extremes[index], c.max(), (c + greatest_t * d).max())
    return values, extremes
