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

from collections.abc import Sequence
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
from sampled_metrics.intervals.kernels import bin_starts, spread_ranks
from sampled_metrics.intervals.likelihood import UpperBound, UserValues
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.metrics.measures import Measure
from sampled_metrics.ranks import Sampling

# Ranks of the programmes: the first ones, and others spread evenly on a logarithmic scale. Between
# them expectations are interpolated; twice as many change the ends by less than 1 %.
_SINGLE_RANKS = 300
_SPREAD_RANKS = 500
_MOST_CERTAIN = 1.0 - 1e-9  # share of the candidates that may be drawn at a finite time
_MOST_DOUBLINGS = 200  # of a rate
_NEGLIGIBLE = 1e-25  # probabilities of numbers of better negatives that are left out
_LARGEST = 20.0  # step of a vector, in spans of the metric
_CHOOSING_Z = 4.0  # as in `thinned_ranges`: no vector that rests on a few users
_PSEUDO_USERS = 0.5  # of a uniform rank, so that each number of better negatives stays possible
_ACCURACY = 1e-7  # of cone programmes


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
    way = Sampling(sampling)
    counts = np.sort(counts / counts.max())[::-1]
    weights = counts**power
    unseen = np.ones(counts.size)
    n_seen = counts.size - (n - 1)
    if n_seen > 0:
        unseen = np.exp(-_rate(counts, np.ones(counts.size), float(n_seen)) * counts)
    if way is Sampling.WITHOUT_REPLACEMENT:
        probabilities = -np.expm1(-_rate(weights, unseen, float(m)) * weights)
        return ItemDraws(probabilities, n, m, m, way)
    shares = np.minimum(weights / (unseen @ weights), 1.0 - 1e-12)
    if way is Sampling.WITH_REPLACEMENT:
        return ItemDraws(shares, n, m, m, way)
    probabilities = -np.expm1(m * np.log1p(-shares))
    n_drawn = min(max(round(float(unseen @ probabilities)), 1), m)
    return ItemDraws(probabilities, n, m, n_drawn, way)


def _rate(weights: Float, shares: Float, total: float) -> float:
    """Return the time at which clocks of rates `weights` have rung `total` times."""
    total = min(total, _MOST_CERTAIN * float(shares.sum()))

    def excess(time: float) -> float:
        return float(shares @ -np.expm1(-time * weights)) - total

    high = total / float(shares @ weights)
    for _ in range(_MOST_DOUBLINGS):
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
    means = np.empty((len(functions), ranks.size))
    distributions = _with_replacement if draws.sampling is Sampling.WITH_REPLACEMENT else _of_race
    for place, law in enumerate(distributions(draws, ranks, last)):
        means[:, place] = functions @ law
    return means


def _with_replacement(draws: ItemDraws, ranks: Int, last: int) -> Float:
    """Return binomial distributions of S up to `last`, shape (ranks, last + 1)."""
    mass = np.append(0.0, np.cumsum(draws.probabilities))
    share = np.minimum(mass[np.minimum(ranks - 1, draws.probabilities.size)], 1.0)
    return np.asarray(binom.pmf(np.arange(last + 1), draws.m, share[:, None]))


def _of_race(draws: ItemDraws, ranks: Int, last: int) -> Sequence[Float]:
    """Return distributions of S up to `last`, each of shape (last + 1,).

    Blocks of items between neighbouring ranks have binomial numbers of hits, with the mean
    probability of the block.
    """
    n_drawn = draws.n_drawn
    hits = np.ones(1)  # probabilities of `first` + 0, 1, ... hits among the items so far
    first = 0
    expected = 0.0
    n_better = 0
    result = []
    for better in (ranks - 1).tolist():
        block = draws.probabilities[n_better:better]
        n_better = better
        if block.size:
            mean = float(block.mean())
            expected += float(block.sum())
            numbers = np.arange(min(block.size, n_drawn) + 1)
            hits = np.convolve(hits, binom.pmf(numbers, block.size, mean))[: n_drawn + 1 - first]
            likely = np.flatnonzero(hits > _NEGLIGIBLE * hits.max())
            first += int(likely[0])
            hits = hits[likely[0] : likely[-1] + 1]
        number = first + np.arange(hits.size)
        n_others = draws.n - 1 - better
        of_others = min(max((n_drawn - expected) / max(n_others, 1), 1e-9), 1.0 - 1e-9)
        joint = np.log(np.maximum(hits, 1e-300))
        joint = joint + binom.logpmf(n_drawn - number, n_others, of_others)
        law = np.zeros(max(last, n_drawn) + 1)
        if np.isfinite(joint).any():
            law[number] = np.exp(joint - joint.max())
        else:
            law[min(better, n_drawn)] = 1.0
        result.append((law / law.sum())[: last + 1])
    return result


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
    fold = generator(seed, "folds").permutation(sampled_ranks.size) % 2
    cutoffs = [measure.cutoff for measure in measures if measure.cutoff is not None]
    points = _extreme_points(draws, starts, last_shaped, cutoffs)
    counts = [np.bincount(bin_of_user[fold == each], minlength=starts.size) for each in (0, 1)]
    results = []
    for measure in measures:
        low, high = measure.value_at(np.array([draws.n, 1]), draws.n).tolist()
        span = max(high - low, np.finfo(float).tiny)
        target = (_exact_values(points, measure, draws.n) - low) / span
        ends = []
        for sign in (LOWER, UPPER):
            vectors = [_upper_vector(points, sign * target, counts[1 - each]) for each in (0, 1)]
            values = np.concatenate(vectors)
            users = UserValues(values, np.concatenate(counts), float(values.max()))
            ends.append(low + span * sign * UpperBound(users).at(confidence))
        bottom, top = sorted(np.clip(ends, low, high).tolist())
        results.append(Range(bottom, top, is_inverted=ends[0] > ends[1]))
    return results


def programme_ranks(n: int, others: Sequence[int]) -> Int:
    """Return the ranks of the programmes, and others such as cut-offs."""
    ranks = np.union1d(spread_ranks(n, _SINGLE_RANKS, _SPREAD_RANKS), others)
    return ranks[(ranks >= 1) & (ranks <= n)].astype(np.int64)


def means_up_to(ranks: Int, values: Float) -> Float:
    """Return means over the ranks 1 ... k of functions that are known at some of them.

    Between neighbouring ranks functions are straight; `values` have the shape (functions, ranks).

    Examples
    --------
    >>> means_up_to(np.array([1, 2, 4]), np.array([[8.0, 4.0, 0.0]]))
    array([[8. , 6. , 3.5]])
    """
    steps = np.diff(ranks)
    between = (values[:, 1:] + values[:, :-1]) / 2.0 * (steps - 1) + values[:, 1:]
    sums = np.cumsum(np.column_stack([values[:, :1], between]), axis=1)
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
    shares = (counts + _PSEUDO_USERS / n_bins) / (n_users + _PSEUDO_USERS)
    root = np.sqrt(shares)
    steps = np.triu(np.ones((n_bins, n_bins - 1)))  # of S below the first number of later bins
    vectors = np.hstack([np.ones((n_bins, 1)), steps, -steps])
    of_points = np.hstack([np.ones((target.size, 1)), points.likeliest, -points.average])
    n_steps = 2 * (n_bins - 1)
    # The unknowns are the constant, the steps of a and b; the mean c, and t, at least the standard
    # deviation, which is the length of root (vector - c); and the greatest value of the vector, in
    # which the bound of the mean is linear.
    bounds = np.eye(1 + n_steps)[1:]
    linear = np.vstack([-of_points, -bounds, bounds, vectors])
    n_linear = len(linear)
    matrix = np.zeros((n_linear + 1 + n_bins, n_steps + 4))
    matrix[:n_linear, :-3] = linear
    matrix[n_linear - n_bins : n_linear, -1] = -1.0
    matrix[n_linear, -2] = -1.0
    matrix[n_linear + 1 :, :-3] = -root[:, None] * vectors
    matrix[n_linear + 1 :, -3] = root
    right = np.zeros(len(matrix))
    right[: target.size] = -target
    right[target.size + n_steps : n_linear - n_bins] = _LARGEST
    cones = [clarabel.NonnegativeConeT(n_linear), clarabel.SecondOrderConeT(n_bins + 1)]
    per_value = _CHOOSING_Z**2 / (2.0 * n_users)
    cost = np.concatenate([shares @ vectors, [0.0, _CHOOSING_Z / np.sqrt(n_users), per_value]])
    solution = solve_cone_programme(cost, matrix, right, cones, _ACCURACY, refinements=1)
    found = np.array(solution.x)[:-3]
    if not np.isfinite(found).all():
        return np.full(n_bins, target.max())  # a constant is valid too
    found[1:] = np.maximum(found[1:], 0.0)
    violation = float((target - of_points @ found).max())
    return np.asarray(vectors @ found + max(violation, 0.0))
