"""Distribution of each user's sampled rank, without simulation.

Of the m sampled candidates, S score strictly above the held-out item and T tie with it; the
tie policy then places the held-out item among the T.
"""

from collections.abc import Callable

import numpy as np

from sampled_metrics._base.arrays import CACHE, Float, Int, blocks
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.distinct import parts
from sampled_metrics.sampling.probability import pmf

_WITH, _WITHOUT = Sampling.WITH_REPLACEMENT, Sampling.WITHOUT_REPLACEMENT


def sampled_rank_distribution(
    ranks: Ranks,
    m: int,
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    ties: str = "random",
) -> Float:
    """Probability of every sampled rank for each user.

    Parameters
    ----------
    ranks
        The full rankings, users in any order.
    m
        Number of negatives drawn for each user, among the N - 1 candidates other than the held-out
        item.
    sampling
        How they are drawn.
    ties
        Number of the T sampled ties that come before the held-out item: `random` (0 ... T, each
        equally likely), `optimistic` (0), `pessimistic` (T) or `paper` (0 ... T - 1, each
        equally likely, and 0 where T = 0).

    Returns
    -------
    float64, shape (users, m + 1); column i holds sampled rank i + 1, every row sums to 1.
    Absolute error about 1e-14, and for tied users under `random` 1e-15 N/(m (e + 1)) more.
    `paper` takes time proportional to m^2 for each tied user, the others to m.

    Examples
    --------
    >>> sampled_rank_distribution(Ranks([4, 4], [0, 0], [1, 2]), 2).round(4)
    array([[0.6667, 0.3333, 0.    ],
           [0.4444, 0.4444, 0.1111]])
    """
    how = Sampling(sampling)
    if ties not in _POLICIES:
        raise InputError(f"unknown tie policy {ties!r}; known: {', '.join(TIES)}")
    if how is not Sampling.DISTINCT:
        return _POLICIES[ties](ranks, m, how)
    mixture = np.zeros((len(ranks), m + 1))
    for count, rows, probability in parts(ranks.n_candidates, m):
        of_count = _POLICIES[ties](ranks.take(rows), count, _WITHOUT)
        mixture[rows, : count + 1] += of_count * probability[:, None]
    return mixture


def _optimistic(ranks: Ranks, m: int, sampling: Sampling) -> Float:
    return pmf(ranks.best_rank, ranks.n_candidates, m, sampling)


def _pessimistic(ranks: Ranks, m: int, sampling: Sampling) -> Float:
    return pmf(ranks.worst_rank, ranks.n_candidates, m, sampling)


def _random(ranks: Ranks, m: int, sampling: Sampling) -> Float:
    distribution = _optimistic(ranks, m, sampling)
    tied = ranks.n_tied > 0
    mean = _mean_binomial if sampling is _WITH else _mean_hypergeometric
    distribution[tied] = mean(ranks.take(tied), m)
    return distribution


def _mean_hypergeometric(ranks: Ranks, m: int) -> Float:
    """Mean of the untied distributions of true ranks b + 1 ... b + e + 1.

    Ordering all tied candidates at random before the draw or those drawn after it is the same.
    C(r - 1, i) C(N - r, m - i) counts the subsets of {1 ... N} of size m + 1 whose element in
    place i + 1 is r, so the sum over r <= R counts those with more than i elements up to R:
    sum over r <= R of p(i | r) = N/(m + 1) P(more than i of m + 1 draws from N are <= R).
    """
    low = pmf(ranks.best_rank, ranks.n_candidates + 1, m + 1, _WITHOUT)
    low -= pmf(ranks.worst_rank + 1, ranks.n_candidates + 1, m + 1, _WITHOUT)
    scale = ranks.n_candidates / ((m + 1.0) * (ranks.n_tied + 1))
    mean = _cumulated(low, scale)
    mean[np.arange(m + 1) >= ranks.worst_rank[:, None]] = 0.0  # exactly 0 without rounding
    return mean


def _mean_binomial(ranks: Ranks, m: int) -> Float:
    """Mean of B(m, p) over p uniform between b/(N - 1) and (b + e)/(N - 1).

    A uniform place among T ties is B(T, u) with u uniform, so S plus it is B(m, (b + u e)/(N - 1)).
    The integral of C(m, i) p^i (1 - p)^(m - i) up to x is P(B(m + 1, x) > i)/(m + 1).
    """
    low = pmf(ranks.best_rank, ranks.n_candidates, m + 1, _WITH)
    low -= pmf(ranks.worst_rank, ranks.n_candidates, m + 1, _WITH)
    return _cumulated(low, (ranks.n_candidates - 1) / ((m + 1.0) * ranks.n_tied))


def _cumulated(difference: Float, scale: Float) -> Float:
    """`scale` times the differences of the distribution functions at 0 ... m, not negative."""
    np.cumsum(difference, axis=1, out=difference)
    mean: Float = np.maximum(difference[:, :-1] * scale[:, None], 0.0)
    return mean


def _paper(ranks: Ranks, m: int, sampling: Sampling) -> Float:
    distribution = _optimistic(ranks, m, sampling)
    tied = np.flatnonzero(ranks.n_tied)
    for rows in blocks(tied.size, m + 1, CACHE):
        distribution[tied[rows]] = _before_last_tie(ranks.take(tied[rows]), m, sampling)
    return distribution


def _before_last_tie(ranks: Ranks, m: int, sampling: Sampling) -> Float:
    """Sum over t of P(S = s, T = t)/t, spread over the places s ... s + t - 1 (s where t = 0).

    The joint probability is a product of one weight each for the candidates better, tied and
    worse, divided by its sum. Spreading is a cumulated sum of steps up at s, down at s + t.
    """
    others = ranks.n_candidates - 1
    counts = (ranks.n_better, ranks.n_tied, ranks.n_candidates - ranks.worst_rank)
    better, tied, worse = (_weights(count, others, m, sampling) for count in counts)
    steps = np.zeros((len(ranks), m + 2))
    for t in range(m + 1):
        width = max(t, 1)
        joint = better[:, : m + 1 - t] * worse[:, m - t :: -1]
        joint *= tied[:, t, None] / width
        steps[:, : m + 1 - t] += joint
        steps[:, width : m + 1 - t + width] -= joint
    spread: Float = np.maximum(np.cumsum(steps[:, :-1], axis=1), 0.0)
    spread /= spread.sum(axis=1, keepdims=True)
    return spread


def _weights(count: Int, others: Int, m: int, sampling: Sampling) -> Float:
    """Weight of 0 ... m draws out of `count` candidates, up to a factor per user.

    count^s / s! with and C(count, s) without replacement, times odds^s, which cancels in the
    joint probability and puts the largest weight near the s to be expected.
    """
    drawn = np.arange(m)
    if sampling is _WITH:
        left, odds = np.repeat(count[:, None], m, axis=1), m / others
    else:
        left, odds = np.maximum(count[:, None] - drawn, 0), m / (others - m + 1)
    ratio = np.where(left > 0, left, 1) * odds[:, None] / (drawn + 1.0)
    logs = np.zeros((count.size, m + 1))
    np.cumsum(np.log(ratio), axis=1, out=logs[:, 1:])
    logs[:, 1:][left == 0] = -np.inf
    weights: Float = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights


_POLICIES: dict[str, Callable[[Ranks, int, Sampling], Float]] = {
    "optimistic": _optimistic,
    "paper": _paper,
    "pessimistic": _pessimistic,
    "random": _random,
}
TIES = tuple(_POLICIES)
