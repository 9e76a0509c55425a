"""Ranges of exact metrics from ranks among negatives by popularity whose ids are not known.

Question: which exact metrics are possible if nobody knows which items were the better negatives?

Of the candidates that are better than the held-out item, S are among the negatives. In distribution
S is largest if the better ones are the likeliest to be drawn, and, under the assumption

    items above a held-out item are at least as likely to be drawn as a random set of items,  (A1)

smallest if they are drawn like the average candidate. So functions a and b of S that do not
increase have

    E[a(S) - b(S)] >= E_likeliest[a(S)] - E_average[b(S)]                                     (1)

whatever the better items are. If the right side is at least the exact metric, under every extreme
point of the class (see `intervals.kernels`), then the mean of a - b is never below the exact
metric. For the negative metric this is the lower end. As in `intervals.brackets`, the vector with
the lowest upper end is the solution of a cone programme; here the unknowns are the steps of a and
of b, at least 0, and a constant. If all items are as likely to be drawn, both expectations are the
same, and any vector is such a difference. Each fold of users has the vector that suits the other.

Probabilities of draws. Items have exponential clocks with rates w, their counts raised to a power,
and the first m that ring are drawn, so an item is among the negatives with the probability
1 - exp(-tau w). Items that a user has seen are no candidates, and by a like race item i is one of
them with the probability 1 - exp(-theta c_i), c the counts. Rates theta and tau give the number of
seen items and m. Popular items are often seen, which makes the others likelier to be drawn.

Given its time, a race draws each item independently, so S is distributed as the sum of independent
hits. That all items together have m of them, is taken into account as if the other candidates had
equal probabilities: exactly so for uniform negatives, where S is hypergeometric.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import clarabel
import numpy as np
from scipy.optimize import brentq
from scipy.stats import binom

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.solvers import solve_cone_programme
from sampled_metrics.estimators.least_squares import mean_up_to
from sampled_metrics.intervals.brackets import LOWER, UPPER
from sampled_metrics.intervals.constants import (
    CHOOSING_Z,
    HIT_MARGIN,
    MOST_CERTAIN,
    MOST_DOUBLINGS,
    MOST_SHARE,
    NEGLIGIBLE,
    PROGRAMME_FIRST_RANKS,
    PROGRAMME_SPREAD_RANKS,
    PSEUDO_USERS,
    RANK_ONLY_ACCURACY,
    STEP_LIMIT,
)
from sampled_metrics.intervals.kernels import bin_starts, spread_ranks
from sampled_metrics.intervals.likelihood import UpperBound, UserValues
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Sampling


class ItemDraws(NamedTuple):
    """How likely items are drawn, of a catalogue whose ids of negatives are not known.

    Attributes
    ----------
    probabilities
        Probability of each item, if it is a candidate, to be among the negatives; with replacement,
        to be a draw. In descending order, shape (items,).
    n, m
        Numbers of candidates, the held-out item included, and of negatives.
    n_drawn
        Number of different negatives; with replacement m.
    sampling
        How the negatives were drawn.
    """

    probabilities: Float
    n: int
    m: int
    n_drawn: int
    sampling: Sampling

    @property
    def of_average(self) -> ItemDraws:
        """The same draws if all candidates were as likely to be drawn."""
        draws = 1 if self.sampling is Sampling.WITH_REPLACEMENT else self.n_drawn
        average = np.full(self.n - 1, draws / (self.n - 1))
        return self._replace(probabilities=average)


def item_draws(counts: Float, power: float, n: int, m: int, sampling: str) -> ItemDraws:
    """Find how likely items are drawn from their counts, raised to a power.

    Parameters
    ----------
    counts
        Count of each item, above 0; at least n - 1 of them. Those beyond are items that users have
        seen, by popularity.
    power, n, m, sampling
        As of `ItemDraws`.

    Examples
    --------
    Of two items with counts 3 and 1, one is drawn.

    >>> item_draws(np.array([1.0, 3.0]), 1.0, n=3, m=1, sampling="with-replacement").probabilities
    array([0.75, 0.25])
    >>> item_draws(np.ones(4), 1.0, n=5, m=2, sampling="without-replacement").probabilities
    array([0.5, 0.5, 0.5, 0.5])
    """
    design = Sampling(sampling)
    popularity = np.sort(counts / counts.max())[::-1]
    weights = popularity**power
    is_candidate = _probability_unseen(popularity, n_seen=counts.size - (n - 1))
    if design is Sampling.WITHOUT_REPLACEMENT:
        time = _time_of_rings(weights, is_candidate, float(m))
        return ItemDraws(-np.expm1(-time * weights), n, m, m, design)
    share_of_draws = np.minimum(weights / (is_candidate @ weights), MOST_SHARE)
    if design is Sampling.WITH_REPLACEMENT:
        return ItemDraws(share_of_draws, n, m, m, design)
    probabilities = -np.expm1(m * np.log1p(-share_of_draws))  # to be among m draws
    n_distinct = round(float(is_candidate @ probabilities))
    return ItemDraws(probabilities, n, m, min(max(n_distinct, 1), m), design)


def _probability_unseen(popularity: Float, n_seen: int) -> Float:
    """Return the probability that a user has not seen an item, if popular ones are seen first."""
    if n_seen <= 0:
        return np.ones(popularity.size)
    time = _time_of_rings(popularity, np.ones(popularity.size), float(n_seen))
    return np.asarray(np.exp(-time * popularity))


def _time_of_rings(rates: Float, shares: Float, total: float) -> float:
    """Return the time at which exponential clocks have rung `total` times, in expectation.

    Parameters
    ----------
    rates
        Of the clocks, one per item; shape (items,).
    shares
        How much each item counts; shape (items,).
    total
        Number of items, at most all but a negligible part of them.

    Examples
    --------
    Of four items with rate 1, two have rung at time log 2.

    >>> round(_time_of_rings(np.ones(4), np.ones(4), 2.0), 4)
    0.6931
    """
    total = min(total, MOST_CERTAIN * float(shares.sum()))

    def excess(time: float) -> float:
        return float(shares @ -np.expm1(-time * rates)) - total

    high = total / float(shares @ rates)
    for _ in range(MOST_DOUBLINGS):
        if excess(high) >= 0.0:
            break
        high *= 2.0
    return float(brentq(excess, 0.0, high, xtol=1e-12 * high))


def means_of_likeliest(draws: ItemDraws, ranks: Int, functions: Float) -> Float:
    """Return means of functions of S if the better items are the likeliest ones, see (1).

    Parameters
    ----------
    draws
        How likely items are drawn; `draws.of_average` gives the other extreme.
    ranks
        True ranks b + 1, ascending, shape (ranks,).
    functions
        Value of each function for S = 0 ... m, shape (functions, m + 1); 0 from some S on saves
        time.

    Returns
    -------
    shape (functions, ranks)

    Examples
    --------
    The chance of no better negative among 2 of 4 candidates is 1, 1/2, 1/6, 0 and 0.

    >>> draws = item_draws(np.ones(4), 1.0, n=5, m=2, sampling="without-replacement")
    >>> is_none = np.array([[1.0, 0.0, 0.0]])
    >>> means_of_likeliest(draws, np.arange(1, 6), is_none).round(3)
    array([[1.   , 0.5  , 0.167, 0.   , 0.   ]])
    """
    has_value = np.flatnonzero((functions != 0.0).any(axis=0))
    last = int(has_value.max(initial=0))
    functions = functions[:, : last + 1]
    distributions: Iterable[Float]  # of S up to `last`, one per rank
    if draws.sampling is Sampling.WITH_REPLACEMENT:
        distributions = _binomial_distributions(draws, ranks, last)
    else:
        distributions = (
            _given_total(hits, draws, last) for hits in _hits_of_likeliest(draws, ranks)
        )
    means = np.empty((len(functions), ranks.size))
    for index, distribution in enumerate(distributions):
        means[:, index] = functions @ distribution
    return means


def _binomial_distributions(draws: ItemDraws, ranks: Int, last: int) -> Float:
    """Return distributions of S up to `last` with replacement, shape (ranks, last + 1)."""
    mass = np.append(0.0, np.cumsum(draws.probabilities))
    share = np.minimum(mass[np.minimum(ranks - 1, draws.probabilities.size)], 1.0)
    return np.asarray(binom.pmf(np.arange(last + 1), draws.m, share[:, None]))


class _Hits(NamedTuple):
    """Number of hits among the likeliest items, as if items were drawn independently.

    Attributes
    ----------
    n_items
        Number of these items.
    expected
        Expected number of hits.
    first, probabilities
        Probabilities of `first`, `first` + 1, ... hits; others are negligible.
    """

    n_items: int
    expected: float
    first: int
    probabilities: Float

    def with_block(self, block: Float, n_drawn: int) -> _Hits:
        """Return the hits among these items and a block with these probabilities, in order.

        The number of hits in the block is binomial, with its mean probability.
        """
        numbers = np.arange(min(block.size, n_drawn) + 1)
        of_block = binom.pmf(numbers, block.size, float(block.mean()))
        total = np.convolve(self.probabilities, of_block)[: n_drawn + 1 - self.first]
        likely = np.flatnonzero(total > NEGLIGIBLE * total.max())
        first, last = int(likely[0]), int(likely[-1])
        return _Hits(
            n_items=self.n_items + block.size,
            expected=self.expected + float(block.sum()),
            first=self.first + first,
            probabilities=total[first : last + 1],
        )


def _hits_of_likeliest(draws: ItemDraws, ranks: Int) -> Iterator[_Hits]:
    """Yield the hits among the b likeliest items for each rank b + 1, ascending.

    Neighbouring ranks have a block of items between them.
    """
    hits = _Hits(0, 0.0, 0, np.ones(1))
    for n_better in (ranks - 1).tolist():
        block = draws.probabilities[hits.n_items : n_better]
        if block.size:
            hits = hits.with_block(block, draws.n_drawn)
        yield hits


def _given_total(hits: _Hits, draws: ItemDraws, last: int) -> Float:
    """Return the distribution of S up to `last` if all candidates together have `n_drawn` hits.

    The other candidates are taken to have equal probabilities. P(S = s | total) is then
    proportional to P(S = s) P(others = n_drawn - s), where the hits of the others are binomial.
    """
    n_drawn = draws.n_drawn
    n_others = draws.n - 1 - hits.n_items
    probability = (n_drawn - hits.expected) / max(n_others, 1)
    probability = min(max(probability, HIT_MARGIN), 1.0 - HIT_MARGIN)
    numbers = hits.first + np.arange(hits.probabilities.size)
    logs = np.log(np.maximum(hits.probabilities, 1e-300))
    logs = logs + binom.logpmf(n_drawn - numbers, n_others, probability)
    distribution = np.zeros(max(last, n_drawn) + 1)
    if np.isfinite(logs).any():
        distribution[numbers] = np.exp(logs - logs.max())
    else:
        distribution[min(hits.n_items, n_drawn)] = 1.0
    return (distribution / distribution.sum())[: last + 1]


class _Points(NamedTuple):
    """Extreme points of a class, and distributions of S under both extremes of (1).

    Attributes
    ----------
    ranks
        k; uniform on 1 ... k up to `last_shaped`, and rank k alone beyond.
    likeliest, average
        Probability that S is below the first number of each bin but the first; shape
        (points, bins - 1).
    """

    ranks: Int
    last_shaped: int
    likeliest: Float
    average: Float


def rank_only_ranges(
    sampled_ranks: Int,
    draws: ItemDraws,
    measures: Sequence[Measure],
    last_shaped: int,
    confidence: float,
    *,
    seed: int = 0,
) -> list[Range]:
    """Find the range of each metric that ranks among negatives by popularity allow.

    Parameters
    ----------
    sampled_ranks
        1 + the number of better negatives of each user, shape (users,).
    draws
        How likely items are drawn.
    measures
        Metrics of one held-out item.
    last_shaped
        Down to this rank no rank is likelier than a better one; 0 for no shape.
    confidence
        Of each range.
    seed
        Of the folds.

    Examples
    --------
    150 of 400 users have no better one of 20 negatives, drawn by popularity or uniformly.

    >>> ranks = np.repeat(np.arange(1, 8), [150, 80, 50, 40, 35, 25, 20])
    >>> for power in (1.0, 0.0):
    ...     draws = item_draws(1 / np.arange(1.0, 100.0), power, 100, 20, "without-replacement")
    ...     (allowed,) = rank_only_ranges(ranks, draws, [Measure("recall", 5)], 25, 0.95)
    ...     print(f"{allowed.low:.2f} to {allowed.high:.2f}")
    0.32 to 0.91
    0.35 to 0.56
    """
    starts = bin_starts(draws.m)
    bin_of_user = np.searchsorted(starts, sampled_ranks - 1, "right") - 1
    fold_of_user = generator(seed, "folds").permutation(sampled_ranks.size) % 2
    counts_of_fold = [
        np.bincount(bin_of_user[fold_of_user == fold], minlength=starts.size) for fold in (0, 1)
    ]
    cutoffs = [measure.cutoff for measure in measures if measure.cutoff is not None]
    points = _extreme_points(draws, starts, last_shaped, cutoffs)
    return [
        _range_of_metric(points, measure, draws.n, counts_of_fold, confidence)
        for measure in measures
    ]


def _range_of_metric(
    points: _Points, measure: Measure, n: int, counts_of_fold: Sequence[Int], confidence: float
) -> Range:
    """Find the range of one metric; each fold of users has the vectors chosen by the other."""
    low, high = measure.value_at(np.array([n, 1]), n).tolist()
    span = max(high - low, np.finfo(float).tiny)
    exact_metric = (_exact_values(points, measure, n) - low) / span  # from 0 to 1
    n_users = np.concatenate(counts_of_fold)
    ends = []
    for sign in (LOWER, UPPER):
        target = sign * exact_metric
        vectors = [_upper_vector(points, target, counts) for counts in reversed(counts_of_fold)]
        values = np.concatenate(vectors)
        users = UserValues(values, n_users, float(values.max()))
        ends.append(low + span * sign * UpperBound(users).at(confidence))
    lower_end, upper_end = ends
    bottom, top = sorted(np.clip(ends, low, high).tolist())
    return Range(bottom, top, is_inverted=lower_end > upper_end)


def programme_ranks(n: int, others: Sequence[int]) -> Int:
    """Return the ranks of the programmes, and others such as cut-offs."""
    ranks = np.union1d(spread_ranks(n, PROGRAMME_FIRST_RANKS, PROGRAMME_SPREAD_RANKS), others)
    return ranks[(ranks >= 1) & (ranks <= n)].astype(np.int64)


def means_up_to(ranks: Int, values: Float) -> Float:
    """Return means over the ranks 1 ... k of functions that are known at some of them.

    Between neighbouring ranks functions are straight; `values` have the shape (functions, ranks).

    Examples
    --------
    >>> means_up_to(np.array([1, 2, 4]), np.array([[8.0, 4.0, 0.0]]))
    array([[8. , 6. , 3.5]])
    """
    n_skipped = np.diff(ranks) - 1  # ranks before each known one, at the mean of its neighbours
    sums_between = (values[:, 1:] + values[:, :-1]) / 2.0 * n_skipped + values[:, 1:]
    sums = np.cumsum(np.column_stack([values[:, :1], sums_between]), axis=1)
    return np.asarray(sums / ranks)


def _extreme_points(
    draws: ItemDraws, starts: Int, last_shaped: int, cutoffs: Sequence[int]
) -> _Points:
    """Tabulate both extremes for the extreme points of a class."""
    edges = [k + step for k in (*cutoffs, last_shaped) for step in (0, 1)]
    ranks = programme_ranks(draws.n, edges)
    is_below = (np.arange(draws.m + 1) < starts[1:, None]).astype(np.float64)
    is_shaped = ranks <= last_shaped

    def tabulate(of_items: ItemDraws) -> Float:
        single = means_of_likeliest(of_items, ranks, is_below)
        return np.where(is_shaped, means_up_to(ranks, single), single).T

    return _Points(ranks, last_shaped, tabulate(draws), tabulate(draws.of_average))


def _exact_values(points: _Points, measure: Measure, n: int) -> Float:
    """Return an exact metric under each extreme point."""
    values = measure.value_at(points.ranks, n)
    is_shaped = points.ranks <= points.last_shaped
    values[is_shaped] = mean_up_to(points.ranks[is_shaped], measure, n)
    return np.asarray(values)


def _upper_vector(points: _Points, target: Float, counts: Int) -> Float:
    """Return the vector a - b, by bins, with the least mean plus standard errors, see (1).

    Parameters
    ----------
    points
        Extreme points, and both extremes.
    target
        The metric under each extreme point, or its negative; shape (points,).
    counts
        Users in each bin, by which the vector is chosen.
    """
    n_bins = counts.size
    n_users = max(int(counts.sum()), 1)
    smoothed = counts + PSEUDO_USERS / n_bins
    shares = np.asarray(smoothed / (n_users + PSEUDO_USERS), np.float64)
    # The unknowns x are the constant, the steps of a and those of b. The vector is
    # `to_vector` @ x, and the right side of (1) under each extreme point `to_bound` @ x.
    steps = np.triu(np.ones((n_bins, n_bins - 1)))  # of S below the first number of later bins
    to_vector = np.hstack([np.ones((n_bins, 1)), steps, -steps])
    to_bound = np.hstack([np.ones((target.size, 1)), points.likeliest, -points.average])
    x = _solve_vector_programme(to_vector, to_bound, target, shares, n_users)
    if not np.isfinite(x).all():
        return np.full(n_bins, target.max())  # a constant is valid too
    x[1:] = np.maximum(x[1:], 0.0)
    violation = float((target - to_bound @ x).max())
    return np.asarray(to_vector @ x + max(violation, 0.0))


def _solve_vector_programme(
    to_vector: Float, to_bound: Float, target: Float, shares: Float, n_users: int
) -> Float:
    """Find the x of `_upper_vector` with the least mean plus standard errors.

    There are three more unknowns: the mean c of the vector; t, at least the standard deviation,
    which is the length of sqrt(shares) (vector - c); and the greatest value of the vector, in which
    the bound of the mean is linear.
    """
    n_bins, n_unknown = to_vector.shape
    mean_column, t_column, greatest_column = n_unknown, n_unknown + 1, n_unknown + 2
    root = np.sqrt(shares)
    steps = np.eye(n_unknown)[1:]
    # Rows @ unknowns <= right: (1), steps from 0 to a limit, and the vector up to its greatest
    # value; then the cone.
    linear = np.vstack([-to_bound, -steps, steps, to_vector])
    cone_row = len(linear)
    matrix = np.zeros((cone_row + 1 + n_bins, n_unknown + 3))
    matrix[:cone_row, :n_unknown] = linear
    matrix[cone_row - n_bins : cone_row, greatest_column] = -1.0
    matrix[cone_row, t_column] = -1.0
    matrix[cone_row + 1 :, :n_unknown] = -root[:, None] * to_vector
    matrix[cone_row + 1 :, mean_column] = root
    right = np.zeros(len(matrix))
    right[: target.size] = -target
    right[target.size + len(steps) : cone_row - n_bins] = STEP_LIMIT
    cones = [clarabel.NonnegativeConeT(cone_row), clarabel.SecondOrderConeT(n_bins + 1)]
    per_value = CHOOSING_Z**2 / (2.0 * n_users)
    cost = np.concatenate([shares @ to_vector, [0.0, CHOOSING_Z / np.sqrt(n_users), per_value]])
    solution = solve_cone_programme(cost, matrix, right, cones, RANK_ONLY_ACCURACY, refinements=1)
    return np.array(solution.x)[:n_unknown]
