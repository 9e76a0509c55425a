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
import scipy

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.solvers import solve_cone_programme
from sampled_metrics.estimators.least_squares import mean_up_to
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

    With the weight w_i = c_i^power of an item with count c_i, and the probability a_i that it is a
    candidate of a user, item i is among the negatives with a probability of

    - 1 - exp(-tau w_i) without replacement, where sum of a_i (1 - exp(-tau w_i)) = m;
    - 1 - (1 - p_i)^m with duplicates dropped, p_i = w_i / sum of a_j w_j the share of the draws;

    with replacement p_i itself is returned.

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
    candidate_probability = _probability_unseen(popularity, n_seen=counts.size - (n - 1))
    if design is Sampling.WITHOUT_REPLACEMENT:
        tau = _time_of_rings(weights, candidate_probability, float(m))
        probabilities = -np.expm1(-tau * weights)
        return ItemDraws(probabilities, n, m, n_drawn=m, sampling=design)
    share_of_draws = np.minimum(weights / (candidate_probability @ weights), MOST_SHARE)
    if design is Sampling.WITH_REPLACEMENT:
        return ItemDraws(share_of_draws, n, m, n_drawn=m, sampling=design)
    probabilities = -np.expm1(m * np.log1p(-share_of_draws))
    n_distinct = round(float(candidate_probability @ probabilities))
    return ItemDraws(probabilities, n, m, n_drawn=min(max(n_distinct, 1), m), sampling=design)


def _probability_unseen(popularity: Float, n_seen: int) -> Float:
    """Return the probability that a user has not seen each item, if popular ones are seen first.

    It is exp(-theta c_i), where the expected number of seen items, sum of 1 - exp(-theta c_i), is
    `n_seen`.
    """
    if n_seen <= 0:
        return np.ones(popularity.size)
    theta = _time_of_rings(popularity, np.ones(popularity.size), float(n_seen))
    return np.asarray(np.exp(-theta * popularity))


def _time_of_rings(rates: Float, shares: Float, total: float) -> float:
    """Return the time at which exponential clocks have rung `total` times, in expectation.

    It solves sum over items of share_i (1 - exp(-time rate_i)) = total.

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

    latest = total / float(shares @ rates)  # too early, as if clocks that have rung rang on
    for _ in range(MOST_DOUBLINGS):
        if excess(latest) >= 0.0:
            break
        latest *= 2.0
    return float(scipy.optimize.brentq(excess, 0.0, latest, xtol=1e-12 * latest))


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
    has_value = (functions != 0.0).any(axis=0)
    last = int(np.flatnonzero(has_value).max(initial=0))  # S up to which a function is not 0
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
    """Return distributions of S up to `last` with replacement, shape (ranks, last + 1).

    S is binomial: m draws, each of which is of one of the b likeliest items with the sum of their
    probabilities.
    """
    share_of_likeliest = np.append(0.0, np.cumsum(draws.probabilities))  # of 0, 1, 2 ... items
    n_better = np.minimum(ranks - 1, draws.probabilities.size)
    share = np.minimum(share_of_likeliest[n_better], 1.0)
    return np.asarray(scipy.stats.binom.pmf(np.arange(last + 1), draws.m, share[:, None]))


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
        """Return the hits among these items and a block of further ones.

        The number of hits in the block is taken as binomial, with the mean probability of its
        items, and is added to that of these items by convolution.

        Parameters
        ----------
        block
            Probability of each further item, in descending order.
        n_drawn
            Most hits that matter.
        """
        hits_of_block = np.arange(min(block.size, n_drawn) + 1)
        distribution_of_block = scipy.stats.binom.pmf(
            hits_of_block, block.size, float(block.mean())
        )
        sums = np.convolve(self.probabilities, distribution_of_block)  # from `first` on
        sums = sums[: n_drawn + 1 - self.first]
        likely = np.flatnonzero(sums > NEGLIGIBLE * sums.max())
        first_likely, last_likely = int(likely[0]), int(likely[-1])
        return _Hits(
            n_items=self.n_items + block.size,
            expected=self.expected + float(block.sum()),
            first=self.first + first_likely,
            probabilities=sums[first_likely : last_likely + 1],
        )


def _hits_of_likeliest(draws: ItemDraws, ranks: Int) -> Iterator[_Hits]:
    """Yield the hits among the b likeliest items for each rank b + 1, ascending.

    Neighbouring ranks have a block of items between them.
    """
    hits = _Hits(n_items=0, expected=0.0, first=0, probabilities=np.ones(1))
    for n_better in (ranks - 1).tolist():
        block = draws.probabilities[hits.n_items : n_better]
        if block.size:
            hits = hits.with_block(block, draws.n_drawn)
        yield hits


def _given_total(hits: _Hits, draws: ItemDraws, last: int) -> Float:
    """Return the distribution of S up to `last` if all candidates together have `n_drawn` hits.

    For S hits among the better items and H among the others,

        P(S = s | S + H = n_drawn) is proportional to P(S = s) P(H = n_drawn - s).

    H is taken as binomial: the other candidates have equal probabilities, with the mean that the
    better ones leave.

    Parameters
    ----------
    hits
        S as if items were drawn independently.
    draws
        Numbers of candidates, and of those drawn.
    last
        Largest s to return.

    Returns
    -------
    shape (last + 1,)
    """
    n_drawn = draws.n_drawn
    n_others = draws.n - 1 - hits.n_items
    probability_of_other = (n_drawn - hits.expected) / max(n_others, 1)
    probability_of_other = min(max(probability_of_other, HIT_MARGIN), 1.0 - HIT_MARGIN)
    s = hits.first + np.arange(hits.probabilities.size)
    logs = np.log(np.maximum(hits.probabilities, 1e-300))  # finite for the probability 0
    logs = logs + scipy.stats.binom.logpmf(n_drawn - s, n_others, probability_of_other)
    distribution = np.zeros(max(last, n_drawn) + 1)
    is_possible = np.isfinite(logs).any()
    if is_possible:
        distribution[s] = np.exp(logs - logs.max())
    else:  # too few other candidates: as many hits as there can be
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
    """Find the range of one metric: confidence bounds of means of a lower and an upper vector.

    Each fold of users has the vectors chosen by the other.

    Parameters
    ----------
    points
        Extreme points of the class.
    measure, n
        The metric, and the number of candidates.
    counts_of_fold
        Users of both folds in each bin of sampled ranks; shape (bins,) each.
    confidence
        Of the range.
    """
    low, high = measure.value_at(np.array([n, 1]), n).tolist()
    span = max(high - low, np.finfo(float).tiny)
    scaled_metric = (_exact_values(points, measure, n) - low) / span  # from 0 to 1

    def upper_end(target: Float) -> float:
        """Return the upper confidence bound of the mean of `target`, shape (points,)."""
        vector_of_fold = [
            _upper_vector(points, target, counts_of_other_fold)
            for counts_of_other_fold in reversed(counts_of_fold)
        ]
        values = np.concatenate(vector_of_fold)
        n_users = np.concatenate(counts_of_fold)
        return UpperBound(UserValues(values, n_users, float(values.max()))).at(confidence)

    lower = low - span * upper_end(-scaled_metric)
    upper = low + span * upper_end(scaled_metric)
    bottom, top = sorted(np.clip([lower, upper], low, high).tolist())
    return Range(bottom, top, is_inverted=lower > upper)


def programme_ranks(n: int, others: Sequence[int]) -> Int:
    """Return the ranks of the conditions of programmes, ascending: spread ones, and `others`."""
    ranks = np.union1d(spread_ranks(n, PROGRAMME_FIRST_RANKS, PROGRAMME_SPREAD_RANKS), others)
    return ranks[(ranks >= 1) & (ranks <= n)].astype(np.int64)


def means_up_to(ranks: Int, values: Float) -> Float:
    """Return means over the ranks 1 ... k of functions that are known at some of them.

    Between neighbouring ranks functions are straight lines. `values` at `ranks`, which begin at 1
    and ascend, have the shape (functions, ranks), like the result.

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
    """Tabulate the probabilities of S for the extreme points of a class.

    Parameters
    ----------
    draws
        How likely items are drawn; the other extreme is `draws.of_average`.
    starts
        First S of each bin.
    last_shaped
        Extreme points are uniform on 1 ... k up to here, and rank k alone beyond.
    cutoffs
        Ranks after which metrics change, so that both sides are points.
    """
    edges = [rank + step for rank in (*cutoffs, last_shaped) for step in (0, 1)]
    ranks = programme_ranks(draws.n, edges)
    is_below = (np.arange(draws.m + 1) < starts[1:, None]).astype(np.float64)
    is_shaped = ranks <= last_shaped

    def probabilities_below(item_draws: ItemDraws) -> Float:
        at_rank = means_of_likeliest(item_draws, ranks, is_below)  # shape (bins - 1, ranks)
        return np.where(is_shaped, means_up_to(ranks, at_rank), at_rank).T

    return _Points(
        ranks=ranks,
        last_shaped=last_shaped,
        likeliest=probabilities_below(draws),
        average=probabilities_below(draws.of_average),
    )


def _exact_values(points: _Points, measure: Measure, n: int) -> Float:
    """Return an exact metric under each extreme point."""
    values = measure.value_at(points.ranks, n)
    is_shaped = points.ranks <= points.last_shaped
    values[is_shaped] = mean_up_to(points.ranks[is_shaped], measure, n)
    return np.asarray(values)


def _upper_vector(points: _Points, target: Float, counts: Int) -> Float:
    """Return the vector a - b, by bins, with the least mean plus standard errors.

    Under each extreme point, E_likeliest[a(S)] - E_average[b(S)], the right side of (1), is at
    least the metric. a is a constant plus steps down, the j-th of which is the step a_j >= 0 at the
    start of bin j + 1, and b likewise without a constant:

        a(S) - b(S) = constant + sum over j of (a_j - b_j) [S is below bin j + 1].

    Let S be below bin j + 1 with the probability P_j for the likeliest and Q_j for average items.
    The right side of (1) is then constant + sum over j of a_j P_j - b_j Q_j. Both are linear in the
    unknowns x = (constant, a_1, a_2, ..., b_1, b_2, ...). What remains of the violation is added.

    Parameters
    ----------
    points
        Extreme points, with P and Q.
    target
        The metric under each extreme point, or its negative; shape (points,).
    counts
        Users in each bin, by which the vector is chosen.

    Returns
    -------
    shape (bins,)
    """
    n_bins = counts.size
    n_users = max(int(counts.sum()), 1)
    smoothed_counts = counts + PSEUDO_USERS / n_bins
    shares = np.asarray(smoothed_counts / (n_users + PSEUDO_USERS), np.float64)
    steps = np.triu(np.ones((n_bins, n_bins - 1)))  # whether a bin is below the j-th step
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

    With the vector v = V x, its mean c and its greatest value h under the shares f, and D users,

        minimise f @ v + z t / sqrt(D) + z^2 h / (2 D)
        where    B x >= target,  0 <= steps <= limit,  v <= h,
                 |sqrt(f) (v - c)| <= t, a second-order cone,

    so that t is at least the standard deviation of v. The term with h is what the upper bound of a
    mean adds to z standard errors.

    Parameters
    ----------
    to_vector, to_bound
        V, shape (bins, unknowns), and B, shape (points, unknowns); x begins with a constant, and
        the steps follow.
    target
        Shape (points,).
    shares, n_users
        f, shape (bins,), and D.
    """
    n_bins, n_unknown = to_vector.shape
    steps = np.eye(n_unknown)[1:]
    root = np.sqrt(shares)[:, None]
    # The unknowns are x, c, t and h. These are the columns of c, t and h in each block of rows.
    none = np.zeros((target.size, 3))
    none_of_step = np.zeros((len(steps), 3))
    minus_h = np.tile([0.0, 0.0, -1.0], (n_bins, 1))
    root_times_c = np.hstack([root, np.zeros((n_bins, 2))])
    matrix = np.vstack(
        [
            np.hstack([-to_bound, none]),  # B x >= target
            np.hstack([-steps, none_of_step]),  # 0 <= steps
            np.hstack([steps, none_of_step]),  # steps <= limit
            np.hstack([to_vector, minus_h]),  # v <= h
            np.append(np.zeros(n_unknown), [0.0, -1.0, 0.0]),  # the cone: t, and
            np.hstack([-root * to_vector, root_times_c]),  # sqrt(f) (v - c)
        ]
    )
    right = np.concatenate(
        [
            -target,
            np.zeros(len(steps)),
            np.full(len(steps), STEP_LIMIT),
            np.zeros(n_bins),
            np.zeros(1 + n_bins),
        ]
    )
    cones = [
        clarabel.NonnegativeConeT(len(matrix) - 1 - n_bins),
        clarabel.SecondOrderConeT(1 + n_bins),
    ]
    cost_of_t = CHOOSING_Z / np.sqrt(n_users)
    cost_of_h = CHOOSING_Z**2 / (2.0 * n_users)
    cost = np.concatenate([shares @ to_vector, [0.0, cost_of_t, cost_of_h]])
    solution = solve_cone_programme(cost, matrix, right, cones, RANK_ONLY_ACCURACY, refinements=1)
    return np.array(solution.x)[:n_unknown]
