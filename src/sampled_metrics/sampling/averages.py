"""Averages of a few vectors over the sampled rank of each user, without its whole distribution."""

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import CACHE, Float, Int, blocks
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.distinct import parts

_NEGLIGIBLE = 1e-18  # probability of a sampled rank, as a share of that of one near the mean


def average_over_ranks(
    vectors: Float, ranks: Ranks, sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT
) -> Float:
    """Average vectors over the sampled rank of each user, ties in random order.

    The same as products with `sampled_rank_distribution`, and for few vectors several times as fast
    at large m, because only sampled ranks near the mean are visited.

    Parameters
    ----------
    vectors
        What to average, by sampled rank - 1; shape (vectors, m + 1).
    ranks
        The full rankings.
    sampling
        How the m negatives are drawn.

    Returns
    -------
    float64, shape (vectors, users).

    Examples
    --------
    >>> average_over_ranks(np.array([[1.0, 0.0, 0.0]]), Ranks([4, 4], [0, 0], [1, 2])).round(4)
    array([[0.6667, 0.4444]])
    """
    how, m = Sampling(sampling), vectors.shape[1] - 1
    if how is Sampling.DISTINCT:
        averages = np.zeros((len(vectors), len(ranks)))
        for count, users, probability in parts(ranks.n_candidates, m):
            of_count = average_over_ranks(vectors[:, : count + 1], ranks.take(users))
            averages[:, users] += probability * of_count
        return averages
    averages = np.repeat(vectors[:, -1:], len(ranks), axis=1)
    reached = _reached(_last_change(vectors), m * ranks.n_better / (ranks.n_candidates - 1))
    order = np.argsort(ranks.n_better)  # users of a block visit about as many sampled ranks
    for chosen, average in ((ranks.n_tied == 0, _untied), (ranks.n_tied > 0, _tied)):
        users = order[(reached & chosen)[order]]
        for rows in blocks(users.size, 64, CACHE):
            averages[:, users[rows]] = average(vectors, ranks.take(users[rows]), how)
    return averages


def _last_change(vectors: Float) -> int:
    """Return the place from which on all vectors are constant, as a metric is after its cutoff."""
    return int(np.flatnonzero((vectors != vectors[:, -1:]).any(axis=0)).max(initial=-1)) + 1


def _reached(place: int, mean: Float) -> NDArray[np.bool_]:
    """Whether sampled ranks up to a place are not too improbable, by Chernoff's bound."""
    return (mean <= place) | ((mean - place) ** 2 <= -2.0 * np.log(_NEGLIGIBLE) * mean)


def _untied(vectors: Float, ranks: Ranks, sampling: Sampling) -> Float:
    others, better = ranks.n_candidates - 1, ranks.n_better
    near = (vectors.shape[1] - 1) * better // others
    return vectors[:, near] + _beyond(vectors, near, better, others, sampling)


def _tied(vectors: Float, ranks: Ranks, sampling: Sampling) -> Float:
    """Average by the differences of distribution functions of `sampling.distribution`.

    Averages by P(at most i are drawn) are those of the sums of a vector's entries from i on.
    """
    without = sampling is Sampling.WITHOUT_REPLACEMENT
    low, others = ranks.n_better, ranks.n_candidates - (not without)
    high = low + ranks.n_tied + without
    m = vectors.shape[1] - 1
    sums = np.zeros((len(vectors), m + 2))
    sums[:, :-1] = np.cumsum(vectors[:, ::-1], axis=1)[:, ::-1]
    near = (m + 1) * low // others
    difference = _beyond(sums, near, low, others, sampling)
    difference -= _beyond(sums, near, high, others, sampling)
    return others / ((m + 1.0) * (high - low)) * difference


def _beyond(vectors: Float, near: Int, better: Int, others: Int, sampling: Sampling) -> Float:
    """Average of vectors over the number of better candidates drawn, minus their entries `near`.

    The latter are subtracted before summing, so that differences of averages lose no digits.
    Probabilities follow from each other by their ratios, from the mean to both ends; towards 0
    they are those of the other candidates towards m.
    """
    m = vectors.shape[1] - 1
    leaves = float(sampling is Sampling.WITHOUT_REPLACEMENT)  # what is drawn is not drawn again
    mean, worse = m * better // others, others - better
    entries = vectors[:, near]
    total, sums = np.ones(better.size), vectors[:, mean] - entries
    for start, own, other, values in (
        (mean, better, worse, vectors),
        (m - mean, worse, better, vectors[:, ::-1]),
    ):
        place, values = start.copy(), np.ascontiguousarray(values)
        drawn, missing = start.astype(float), np.asarray(m - start, dtype=float)
        left, right = own - leaves * start, np.maximum(other, 1.0) - leaves * missing
        probability = np.ones(better.size)
        while probability.max() > _NEGLIGIBLE:
            probability *= left
            probability *= missing
            place += 1
            drawn += 1.0
            missing -= 1.0
            left -= leaves
            right += leaves
            probability /= drawn
            probability /= right
            total += probability
            for value, entry, result in zip(values, entries, sums, strict=True):
                result += probability * (value.take(place, mode="clip") - entry)
    return sums / total
