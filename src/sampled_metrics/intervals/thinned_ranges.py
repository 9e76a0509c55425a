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
from sampled_metrics.intervals.likelihood import UpperBound, UserValues
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks.strata import StratumCounts

_BINS = np.array([0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 13, 17, 22, 30])  # first s of each bin
_HEADS = (0.0, 0.4, 0.7, 0.9)  # pi_0 are quantiles of the pi of candidates, see above
# Neighbouring strata have the same pi if one has fewer draws, or rates are within these errors.
# So uniform negatives are one stratum.
_POOLED_DRAWS = 10
_POOLED_ERRORS = 2.5
_ROUNDS = 8  # of rates by row and weights by stratum
_RATE_STEPS = 8  # of Newton's method
_SMALLEST_PROBABILITY, _LARGEST_PROBABILITY = 1e-9, 1.0 - 1e-6
_ROOTS, _RADIUS = 64, 0.75  # the distribution of s is exact to RADIUS^ROOTS = 1e-8
_BLOCK = 4000  # rows whose distributions are computed at once
_CHOOSING_ROWS = 10_000  # of a fold, by which vectors are chosen; more change nothing
_FIRST_RANKS, _RANK_GROWTH = 150, 1.03  # ranks and splits where (1) is checked
_FIRST_CELLS, _CELL_GROWTH = 20, 1.07  # cells of ranks in the programme
_FIRST_SPLITS = (0.0, 0.1, 0.3, 0.6, 1.0)  # in the programme at the start
_MOST_ROUNDS = 6  # of splits that join
_TOLERANCE = 1e-3  # violation of (1), as a share of the span, that is added instead of solved for
_PSEUDO_ROWS = 0.5  # of a uniform rank, so that each s and t stays possible
_PSEUDO_RANKS = 50
_TAIL_UNIT = 10.0  # of t, so that all unknowns are of about size 1
_LARGEST = 4.0  # coefficient
# Standard errors in the choice of vectors. More than the confidence asks for makes vectors that do
# not rest on a few rows with a large t, whose means would be far from normal.
_CHOOSING_Z = 4.0
_ROUNDING = 1e-9  # of m / pi_0
_LEAST_SPAN = 0.01  # of a metric, to tell a violation
_ACCURACY = 1e-6  # of cone programmes


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
    """Distributions of s by b1, and probabilities of splits of ranks into b1 and b2."""

    head: Int  # b1, shape (heads,)
    kept: Float  # Q in bins, shape (heads, bins)
    kept_with_tail: Float  # R in bins, shape (heads, bins)
    most_of_head: int
    most_of_tail: int


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
    pool = _pools(counts.drawn.sum(axis=0), counts.candidates.sum(axis=0))
    starts = np.flatnonzero(np.diff(pool, prepend=-1))
    drawn = np.add.reduceat(counts.drawn, starts, axis=1).astype(np.float64)
    candidates = np.add.reduceat(counts.candidates, starts, axis=1).astype(np.float64)
    m = drawn.sum(axis=1)
    share = drawn.sum(axis=0) / np.maximum(candidates.sum(axis=0), 1.0)
    weights = -np.log1p(-np.minimum(share, _LARGEST_PROBABILITY))
    rate = np.ones(len(m))
    for _ in range(_ROUNDS):
        rate = _rates(candidates, m, weights, rate)
        expected = (candidates * -np.expm1(-rate[:, None] * weights)).sum(axis=0)
        weights = weights * drawn.sum(axis=0) / np.maximum(expected, 1e-12)
    rate = _rates(candidates, m, weights, rate)
    probabilities = -np.expm1(-rate[:, None] * weights)
    return np.asarray(np.clip(probabilities, _SMALLEST_PROBABILITY, _LARGEST_PROBABILITY)[:, pool])


def _rates(candidates: Float, m: Float, weights: Float, rate: Float) -> Float:
    """Return the rates with which each row draws m candidates, by Newton's method from `rate`."""
    for _ in range(_RATE_STEPS):
        undrawn = candidates * np.exp(-rate[:, None] * weights)
        missing = undrawn.sum(axis=1) - (candidates.sum(axis=1) - m)
        rate = np.maximum(rate + missing / np.maximum(undrawn @ weights, 1e-12), rate / 4.0)
    return rate


def _pools(drawn: Int, candidates: Int) -> Int:
    """Number strata, so that neighbours with few draws, or drawn about equally often, share one."""
    pool = np.zeros(drawn.size, np.int64)
    start = 0
    for h in range(1, drawn.size):
        of_pool, of_stratum = drawn[start:h].sum(), drawn[h]
        sizes = max(candidates[start:h].sum(), 1), max(candidates[h], 1)
        rate = (of_pool + of_stratum) / (sizes[0] + sizes[1])
        error = np.sqrt(rate * (1.0 - rate) * (1.0 / sizes[0] + 1.0 / sizes[1]))
        differs = abs(of_pool / sizes[0] - of_stratum / sizes[1]) > _POOLED_ERRORS * error
        has_draws = min(of_pool, drawn[h:].sum()) >= _POOLED_DRAWS
        if differs and has_draws:
            start = h
        pool[h] = pool[h - 1] + (start == h)
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
    most = int(starts[-1])
    angle = np.arange(_ROOTS // 2 + 1) * (2.0 * np.pi / _ROOTS)
    roots = _RADIUS * np.exp(1j * angle)
    number = np.arange(most)
    half = np.where((angle == 0.0) | (angle == angle[-1]), 1.0, 2.0) / _ROOTS
    to_numbers = half[:, None] * np.exp(-1j * np.outer(angle, number)) / _RADIUS**number
    kept = np.empty((len(better), starts.size))
    for begin in range(0, len(better), _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        row, stratum = np.nonzero(better[rows] * is_head[rows])
        keep = (pi_0 / probabilities[rows][row, stratum])[:, None]
        logs = better[rows][row, stratum][:, None] * np.log(1.0 + keep * (roots - 1.0))
        edges = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(better[rows])))])
        sums = np.concatenate([np.zeros((1, roots.size)), np.cumsum(logs, axis=0)])
        of_rows = np.exp(sums[edges[1:]] - sums[edges[:-1]])
        law = np.maximum((of_rows @ to_numbers).real, 0.0)
        law = np.column_stack([law, np.maximum(1.0 - law.sum(axis=1), 0.0)])
        kept[rows] = np.add.reduceat(law, starts, axis=1)
    return kept.round(9), tail


def kept_distribution(head: Int, m: int, pi_0: float, starts: Int) -> tuple[Float, Float]:
    """Return the distributions Q and R of s in (1), in bins; shape (heads, bins).

    m of m / pi_0 items are drawn, b1 of which are better. The number of others drawn, m - s, tells
    how likely a tail item is drawn with them.

    Examples
    --------
    Two of four items are drawn, and two are better.

    >>> kept, with_tail = kept_distribution(np.array([2]), 2, 0.5, np.arange(3))
    >>> (6 * kept).round(9), with_tail.round(3)
    (array([[1., 4., 1.]]), array([[0.333, 0.667, 0.   ]]))
    """
    number = np.arange(m + 1)
    size = m / pi_0
    # Where that is not whole: a mixture of the next whole numbers, with the mean b1 pi_0.
    below = float(np.floor(size + _ROUNDING))
    share = min(max(((below + 1.0) / size - 1.0) * below, 0.0), 1.0)
    law = share * _better_of_drawn(head, m, below)
    law += (1.0 - share) * _better_of_drawn(head, m, below + 1.0)
    with_tail = law * (m - number)
    total = with_tail.sum(axis=1, keepdims=True)
    with_tail = np.where(total > 0.0, with_tail / np.maximum(total, 1e-300), law)
    used = starts[starts <= m]
    result = np.zeros((2, len(head), starts.size))
    for place, each in enumerate((law, with_tail)):
        result[place, :, : used.size] = np.add.reduceat(each, used, axis=1)
    return result[0], result[1]


def _better_of_drawn(head: Int, m: int, size: float) -> Float:
    """Return the distribution of s if m of `size` items are drawn, shape (heads, m + 1)."""
    number = np.arange(m + 1)
    better = np.minimum(head, size)[:, None]
    others = size - better
    is_possible = (number <= better) & (m - number <= others)
    logs = (
        gammaln(better + 1.0)
        - gammaln(number + 1.0)
        - gammaln(np.maximum(better - number, 0.0) + 1.0)
        + gammaln(others + 1.0)
        - gammaln(m - number + 1.0)
        - gammaln(np.maximum(others - (m - number), 0.0) + 1.0)
    )
    logs = np.where(is_possible, logs, -np.inf)
    law = np.exp(logs - logs.max(axis=1, keepdims=True))
    return np.asarray(law / law.sum(axis=1, keepdims=True))


def _grid(most: int) -> Int:
    """Return the numbers from 0 to `most` where conditions are checked."""
    wide = np.geomspace(
        _FIRST_RANKS,
        max(most, _FIRST_RANKS),
        2 + int(np.log(max(most / _FIRST_RANKS, 1.0)) / np.log(_RANK_GROWTH)),
    )
    points = np.union1d(np.arange(_FIRST_RANKS + 1), wide.round().astype(np.int64))
    return np.append(points[points < most], most)


class Moments(NamedTuple):
    """Mean of the statistics of rows, and F with F'F their covariance."""

    mean: Float
    root: Float


class RankClass:
    """The class of distributions of the rank, and a metric in it.

    The condition on the statistic is that for k <= `last_shaped` its mean over ranks 1 ... k, and
    its value at each further rank, are not below those of the metric, whatever the splits.
    """

    def __init__(self, credit: Float, last_shaped: int, cutoff: int | None, sign: float) -> None:
        n = credit.size
        self.last_shaped = min(last_shaped, n)
        self.target = sign * credit  # at the ranks 1 ... n
        n_wide = 2 + int(np.log(max(n / _FIRST_CELLS, 1.0)) / np.log(_CELL_GROWTH))
        wide = np.geomspace(_FIRST_CELLS, max(n, _FIRST_CELLS), n_wide).round().astype(np.int64)
        ends = np.concatenate([np.arange(1, _FIRST_CELLS + 1), wide, [n, self.last_shaped]])
        ends = np.union1d(ends, [] if cutoff is None else [cutoff])
        self.ends = ends[(ends >= 1) & (ends <= n)].astype(np.int64)
        self.widths = np.diff(self.ends, prepend=0)
        ranks = np.union1d(1 + _grid(n - 1), self.ends)  # where the condition is checked
        self.ranks = np.union1d(ranks, self.ends - self.widths + 1)
        self.is_shaped = self.ends <= self.last_shaped
        middle = self.ends - (self.widths - 1) // 2
        self.cell_rank = np.where(self.is_shaped, middle, self.ends)
        self.cell_target = self.excess_by_cell(np.zeros(self.ranks.size))

    def averages(self) -> Float:
        """Return the weights of cells in the means that the condition is about."""
        result = np.eye(self.ends.size)
        n = int(self.is_shaped.sum())
        result[:n, :n] = np.tri(n) * self.widths[:n] / self.ends[:n, None]
        return result

    def excess_by_cell(self, lowest: Float) -> Float:
        """Return the metric less statistics, their lowest at `ranks`, in cells.

        The mean over each shaped cell, and the greatest in each cell beyond.
        """
        number = np.arange(1, self.last_shaped + 1)
        sums = np.cumsum(self.target[: number.size] - np.interp(number, self.ranks, lowest))
        shaped = self.ends[self.is_shaped]
        means = np.diff(sums[shaped - 1], prepend=0.0) / self.widths[self.is_shaped]
        beyond = self.ranks > self.last_shaped
        if not beyond.any():
            return means
        excess = (self.target[self.ranks - 1] - lowest)[beyond]
        starts = np.searchsorted(self.ranks[beyond], (self.ends - self.widths + 1)[~self.is_shaped])
        return np.concatenate([means, np.maximum.reduceat(excess, starts)])

    def violation(self, lowest: Float) -> float:
        """Return by how much statistics violate the condition, if `lowest` are those at `ranks`."""
        excess = self.target[self.ranks - 1] - lowest
        worst = float(excess[self.ranks > self.last_shaped].max(initial=-np.inf))
        if self.last_shaped:
            number = np.arange(1, self.last_shaped + 1)
            sums = np.cumsum(self.target[: number.size] - np.interp(number, self.ranks, lowest))
            worst = max(worst, float((sums / number).max()))
        return worst


class VectorProgramme:
    """The programme of vectors (c, d) for one class, metric and pi_0; splits that joined stay."""

    def __init__(self, of_class: RankClass, split: Split) -> None:
        self._class = of_class
        self._split = split
        behind = of_class.cell_rank - 1
        least, most = self._limits(behind)
        heads = np.unique(
            [least + (part * (most - least)).round().astype(np.int64) for part in _FIRST_SPLITS],
            axis=0,
        )
        cell = np.tile(np.arange(behind.size), len(heads))
        self._lines = np.unique(np.column_stack([cell, heads.ravel()]), axis=0)

    def _limits(self, behind: Int) -> tuple[Int, Int]:
        """Return the least and the greatest b1 for b1 + b2 better items."""
        most = np.minimum(behind, self._split.most_of_head)
        return np.minimum(np.maximum(behind - self._split.most_of_tail, 0), most), most

    def solve(self, moments: Moments, weight: float) -> tuple[Float, float]:
        """Return (c, d), and its mean plus `weight` standard deviations."""
        n_unknown = moments.mean.size
        cone = np.zeros((n_unknown + 1, n_unknown + 1))  # |root u| <= t
        cone[0, -1] = -1.0
        cone[1:, :n_unknown] = -moments.root
        vector, violation = self._join_splits(moments.mean, weight, cone, np.zeros(len(cone)))
        vector[: n_unknown // 2] += max(violation, 0.0)
        spread = float(np.linalg.norm(moments.root @ vector))
        return vector, float(moments.mean @ vector) + weight * spread

    def nearest_mean(self, moments: Moments) -> Float:
        """Return the mean of the statistics in the class that is nearest to that of the rows.

        In units of their covariance S. For a metric that is 0, minimise mean @ u + u' S u / 2; at
        the solution mean + S u is a mean in the class, by the dual of this programme.
        """
        n_unknown = moments.mean.size
        cone = np.zeros((n_unknown + 2, n_unknown + 1))  # |root u|^2 / 2 <= t
        cone[0, -1] = cone[-1, -1] = -1.0
        cone[1:-1, :n_unknown] = -np.sqrt(2.0) * moments.root
        right = np.zeros(len(cone))
        right[0], right[-1] = 1.0, -1.0
        vector, _ = self._join_splits(moments.mean, 1.0, cone, right)
        return np.asarray(moments.mean + moments.root.T @ (moments.root @ vector))

    def _join_splits(
        self, mean: Float, weight: float, cone: Float, right: Float
    ) -> tuple[Float, float]:
        """Solve for some splits until none violates the condition; return the violation left."""
        of_class = self._class
        span = max(float(np.ptp(of_class.target)), _LEAST_SPAN)
        target = of_class.cell_target
        for _ in range(_MOST_ROUNDS):
            vector = self._solve_lines(target, mean, weight, cone, right)
            lowest, _ = self._lowest(vector, of_class.ranks - 1)
            violation = of_class.violation(lowest)
            if violation <= _TOLERANCE * span:
                break
            # A cell is represented by one rank, so its target is raised by what differs in it.
            at_cell, head = self._lowest(vector, of_class.cell_rank - 1)
            target = of_class.excess_by_cell(lowest) + at_cell
            joining = np.column_stack([np.arange(head.size), head])
            self._lines = np.unique(np.concatenate([self._lines, joining]), axis=0)
        return vector.copy(), violation

    def _lowest(self, vector: Float, behind: Int) -> tuple[Float, Int]:
        """Return the lowest mean (1) for b1 + b2 better items, and the b1 that has it."""
        split = self._split
        c, d = np.split(vector, 2)
        constant = split.kept @ c
        slope = split.kept_with_tail @ d / _TAIL_UNIT
        least, most = self._limits(behind)
        # The grid of b1, and the limits of each number themselves.
        head = np.broadcast_to(split.head, (behind.size, split.head.size))
        head = np.column_stack([np.clip(head, least[:, None], most[:, None]), least, most])
        values = np.interp(head, split.head, constant)
        values += (behind[:, None] - head) * np.interp(head, split.head, slope)
        best = values.argmin(axis=1)
        rows = np.arange(behind.size)
        return values[rows, best], head[rows, best]

    def _solve_lines(
        self, target: Float, mean: Float, weight: float, cone: Float, right_of_cone: Float
    ) -> Float:
        """Minimise mean @ u + weight t, where `cone` bounds t; the unknowns are u, h and t.

        h bounds the violation in each cell of ranks: h >= target - (1), and h, averaged as the
        class allows, is at most 0.
        """
        of_class, split = self._class, self._split
        cell, head = self._lines.T
        n_bins = split.kept.shape[1]
        n_cells, n_unknown = of_class.ends.size, 2 * n_bins
        at = np.searchsorted(split.head, head)
        tail = (of_class.cell_rank[cell] - 1 - head)[:, None] / _TAIL_UNIT
        lines = np.zeros((len(cell), n_unknown + n_cells + 1))
        lines[:, :n_bins] = -_interpolate(split.kept, split.head, head, at)
        lines[:, n_bins:n_unknown] = -tail * _interpolate(
            split.kept_with_tail, split.head, head, at
        )
        lines[np.arange(len(cell)), n_unknown + cell] = -1.0
        averages = np.zeros((n_cells, n_unknown + n_cells + 1))
        averages[:, n_unknown:-1] = of_class.averages()
        box = np.zeros((2 * n_unknown, n_unknown + n_cells + 1))
        box[:, :n_unknown] = np.concatenate([np.eye(n_unknown), -np.eye(n_unknown)])
        wide_cone = np.zeros((len(cone), n_unknown + n_cells + 1))
        wide_cone[:, :n_unknown], wide_cone[:, -1] = cone[:, :-1], cone[:, -1]
        right = [-target[cell], np.zeros(n_cells), np.full(len(box), _LARGEST), right_of_cone]
        cones = [
            clarabel.NonnegativeConeT(len(lines) + n_cells + len(box)),
            clarabel.SecondOrderConeT(len(cone)),
        ]
        solution = solve_cone_programme(
            np.concatenate([mean, np.zeros(n_cells), [weight]]),
            np.concatenate([lines, averages, box, wide_cone]),
            np.concatenate(right),
            cones,
            _ACCURACY,
            refinements=1,
        )
        vector = np.array(solution.x)[:n_unknown]
        if np.isfinite(vector).all():
            return vector
        constant = np.full(n_bins, of_class.target.max())  # is valid too
        return np.concatenate([constant, np.zeros(n_bins)])


def _interpolate(table: Float, points: Int, at: Int, place: Int) -> Float:
    """Interpolate the rows of a table between its points; `place` are those at or after `at`."""
    right = np.minimum(place, points.size - 1)
    left = np.where(points[right] == at, right, np.maximum(right - 1, 0))
    step = np.maximum(points[right] - points[left], 1)
    share = ((at - points[left]) / step)[:, None]
    return np.asarray(table[left] * (1.0 - share) + table[right] * share)


def _moments(
    statistics: _Statistics, weights: Float, split: Split, rarity: float, n: int
) -> Moments:
    """Return the moments of rows, and of half a row of a uniform rank.

    `rarity` is the mean 1 / pi of the tail.
    """
    tail = statistics.tail[:, None] / _TAIL_UNIT
    rows = np.hstack([statistics.kept, statistics.kept * tail])
    behind = np.linspace(0, n - 1, _PSEUDO_RANKS).astype(np.int64)
    total = max(split.most_of_head + split.most_of_tail, 1)
    head = (behind * split.most_of_head / total).astype(np.int64)
    near = np.clip(np.searchsorted(split.head, head), 0, split.head.size - 1)
    of_tail = (behind - head)[:, None] / _TAIL_UNIT
    pseudo = np.hstack([split.kept[near], split.kept_with_tail[near] * of_tail])
    # The variance of t for a number of better items is that of independent draws.
    squares = of_tail**2 + of_tail * max(rarity - 1.0, 0.0) / _TAIL_UNIT
    excess = (split.kept_with_tail[near] * squares).mean(axis=0)
    second = (rows.T * weights) @ rows
    pseudo_second = pseudo.T @ pseudo / len(pseudo)
    block = np.arange(split.kept.shape[1], rows.shape[1])
    pseudo_second[block, block] = np.maximum(pseudo_second[block, block], excess)
    size = float(weights.sum()) + _PSEUDO_ROWS
    mean = (weights @ rows + _PSEUDO_ROWS * pseudo.mean(axis=0)) / size
    covariance = (second + _PSEUDO_ROWS * pseudo_second) / size - np.outer(mean, mean)
    eigenvalues, vectors = np.linalg.eigh(covariance)
    return Moments(mean, (vectors * np.sqrt(np.maximum(eigenvalues, 1e-10))).T)


class _Chosen(NamedTuple):
    """The vectors of one metric, sign and fold that have the lowest expected end."""

    expected: float
    head: int  # number of the pi_0
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
    of_row = np.ones(n_rows) if weights is None else weights
    m = max(round(float(np.average(counts.drawn.sum(axis=1), weights=of_row))), 1)
    probabilities = inclusion_probabilities(counts)
    fold = generator(seed, "folds").permutation(n_rows) % 2
    choosing = [np.flatnonzero(fold != each)[:_CHOOSING_ROWS] for each in (0, 1)]
    classes = [
        RankClass(measure.value_at(np.arange(1, n + 1), n), last_shaped, measure.cutoff, sign)
        for measure in measures
        for sign in (LOWER, UPPER)
    ]
    chosen: dict[tuple[int, int], _Chosen] = {}
    heads = _least_probabilities(counts, probabilities)
    for place, pi_0 in enumerate(heads):
        split = _split(counts, probabilities, pi_0, m)
        of_folds = []
        nearest = VectorProgramme(RankClass(np.zeros(n), last_shaped, None, UPPER), split)
        for rows in choosing:
            kept, tail = thinned_statistics(counts.better[rows], probabilities[rows], pi_0, _BINS)
            rarity = _rarity(counts.take(rows), probabilities[rows], pi_0)
            moments = _moments(_Statistics(kept, tail), of_row[rows], split, rarity, n)
            of_folds.append(moments._replace(mean=nearest.nearest_mean(moments)))
        for index, of_class in enumerate(classes):
            programme = VectorProgramme(of_class, split)
            for each, moments in enumerate(of_folds):
                weight = _CHOOSING_Z / np.sqrt(max(float(of_row[fold == each].sum()), 1.0))
                vector, expected = programme.solve(moments, weight)
                best = chosen.get((index, each))
                if best is None or expected < best.expected:
                    chosen[index, each] = _Chosen(expected, place, vector)
    values, extremes = _values_of_rows(counts.better, probabilities, heads, fold, chosen)
    results = []
    for index, measure in enumerate(measures):
        credit = measure.value_at(np.array([n, 1]), n)
        lower, upper = -values[2 * index], values[2 * index + 1]
        ends = -extremes[2 * index], extremes[2 * index + 1]
        low = -_upper_bound(-lower, of_row, -ends[0], confidence)
        high = _upper_bound(upper, of_row, ends[1], confidence)
        low, high = sorted(np.clip([low, high], credit[0], credit[1]).tolist())
        results.append(ThinnedRange(Range(low, high), lower, upper, ends))
    return results


def thinned_range(thinned: ThinnedRange, confidence: float) -> Range:
    """Return the range of a metric at another confidence; all rows count the same."""
    of_row = np.ones(thinned.lower.size)
    low = -_upper_bound(-thinned.lower, of_row, -thinned.extremes[0], confidence)
    return Range(low, _upper_bound(thinned.upper, of_row, thinned.extremes[1], confidence))


def thinned_difference(
    first: ThinnedRange, second: ThinnedRange, confidence: float, weights: Float | None = None
) -> Range:
    """Return the range of the metric of the second recommender less that of the first.

    Both have been computed from the same rows, so chance that they share cancels.
    """
    of_row = np.ones(first.lower.size) if weights is None else weights
    greatest = second.upper - first.lower
    least = second.lower - first.upper
    high = _upper_bound(greatest, of_row, second.extremes[1] - first.extremes[0], confidence)
    low = -_upper_bound(-least, of_row, first.extremes[1] - second.extremes[0], confidence)
    low, high = sorted(np.clip([low, high], -1.0, 1.0).tolist())
    return Range(low, high)


def _upper_bound(values: Float, weights: Float, extreme: float, confidence: float) -> float:
    return UpperBound(UserValues(values, weights, extreme)).at(confidence)


def _least_probabilities(counts: StratumCounts, probabilities: Float) -> list[float]:
    """Return pi_0 to try, quantiles of the probabilities of candidates."""
    of_stratum = np.average(probabilities, axis=0, weights=counts.candidates + 1e-9)
    order = np.argsort(of_stratum, kind="stable")
    share = np.cumsum(counts.candidates.sum(axis=0)[order]) / counts.candidates.sum()
    places = np.searchsorted(share, _HEADS, side="right")
    lowest = probabilities.min(axis=0)[order[np.minimum(places, order.size - 1)]]
    return sorted({float(each) for each in lowest})


def _split(counts: StratumCounts, probabilities: Float, pi_0: float, m: int) -> Split:
    is_head = probabilities >= pi_0
    of_head = (counts.candidates * is_head).sum(axis=1)
    of_tail = (counts.candidates * ~is_head).sum(axis=1)
    head = _grid(int(of_head.max()))
    kept, kept_with_tail = kept_distribution(head, m, pi_0, _BINS)
    return Split(head, kept, kept_with_tail, int(of_head.max()), int(of_tail.max()))


def _rarity(counts: StratumCounts, probabilities: Float, pi_0: float) -> float:
    """Return the mean 1 / pi of the candidates of the tail."""
    is_tail = probabilities < pi_0
    candidates = float((counts.candidates * is_tail).sum())
    if candidates == 0.0:
        return 1.0
    return float((counts.candidates * is_tail / probabilities).sum()) / candidates


def _values_of_rows(
    better: Int,
    probabilities: Float,
    heads: Sequence[float],
    fold: Int,
    chosen: dict[tuple[int, int], _Chosen],
) -> tuple[Float, Float]:
    """Return the values of the chosen vectors, shape (classes, rows), and the greatest possible."""
    n_classes = 1 + max(index for index, _ in chosen)
    values = np.empty((n_classes, len(better)))
    extremes = np.full(n_classes, -np.inf)
    for place, pi_0 in enumerate(heads):
        users = [key for key, each in chosen.items() if each.head == place]
        rows = np.flatnonzero(np.isin(fold, [each for _, each in users]))
        if not rows.size:
            continue
        kept, tail = thinned_statistics(better[rows], probabilities[rows], pi_0, _BINS)
        is_tail = probabilities < pi_0
        rarest = 1.0 / float(probabilities[is_tail].min()) if is_tail.any() else 0.0
        for index, each in users:
            c, d = np.split(chosen[index, each].vector, 2)
            d = d / _TAIL_UNIT
            of_fold = fold[rows] == each
            values[index, rows[of_fold]] = kept[of_fold] @ c + tail[of_fold] * (kept[of_fold] @ d)
            extremes[index] = max(extremes[index], c.max(), (c + rarest * d).max())
    return values, extremes
