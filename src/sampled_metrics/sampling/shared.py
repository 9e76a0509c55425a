"""Draws of negatives that several evaluations share, with an order of the ties for each of them.

Every user's negatives are reduced to two counts, of those that score better than the held-out
item and of those that tie with it; an evaluation then places the held-out item among the ties.
"""

from collections.abc import Sequence

import numpy as np

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.distinct import distinct_items, parts
from sampled_metrics.sampling.probability import pmf


def shared_histograms(
    ranks: Ranks,
    m: int,
    samples: Sequence[np.random.Generator],
    places: Sequence[Sequence[np.random.Generator]],
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    ties: str = "random",
) -> Int:
    """Count the users at every sampled rank, in evaluations that share their negatives.

    The other parameters are those of `sampled_rank_distribution`, which is the distribution of
    every sampled rank here too.

    Parameters
    ----------
    samples
        One generator per repetition, for the negatives.
    places
        For each evaluation one generator per repetition, for the order of the ties.

    Returns
    -------
    int64, shape (evaluations, repetitions, m + 1).

    Examples
    --------
    >>> ranks = Ranks([101, 101], [0, 50], [100, 0])
    >>> def one(seed):
    ...     return [np.random.default_rng(seed)]
    >>> shared_histograms(ranks, 2, one(0), [one(1), one(2)])
    array([[[1, 1, 0]],
    <BLANKLINE>
           [[2, 0, 0]]])
    """
    counts = np.empty((len(places), len(samples), m + 1), dtype=np.int64)
    for repetition, rng in enumerate(samples):
        better, tied = draw_better_and_tied(ranks, m, rng, sampling)
        for evaluation, generators in enumerate(places):
            sampled = better + _places(tied, ties, generators[repetition])
            counts[evaluation, repetition] = np.bincount(sampled, minlength=m + 1)
    return counts


def draw_better_and_tied(
    ranks: Ranks, m: int, rng: np.random.Generator, sampling: Sampling | str
) -> tuple[Int, Int]:
    """Draw m negatives for every user; count those that score better, and those that tie.

    Returns
    -------
    Two arrays int64, shape (users,).

    Examples
    --------
    >>> draw_better_and_tied(
    ...     Ranks([5], [1], [2]), 4, np.random.default_rng(0), "without-replacement"
    ... )
    (array([1]), array([2]))
    """
    others = ranks.n_candidates - 1
    rest = others - ranks.n_better
    if Sampling(sampling) is Sampling.WITH_REPLACEMENT:
        better = rng.binomial(m, ranks.n_better / others)
        return better, rng.binomial(m - better, ranks.n_tied / np.maximum(rest, 1))
    drawn = np.full(len(ranks), m)
    if Sampling(sampling) is Sampling.DISTINCT:
        drawn = _draw_distinct(others, m, rng)
    better = rng.hypergeometric(ranks.n_better, rest, drawn)
    return better, rng.hypergeometric(ranks.n_tied, rest - ranks.n_tied, drawn - better)


def expected_better_and_tied(ranks: Ranks, m: int, sampling: Sampling | str) -> Float:
    """Expected number of users with s better and t tied negatives.

    Returns
    -------
    float64, shape (m + 1, m + 1), with s by row and t by column.

    Examples
    --------
    >>> expected_better_and_tied(Ranks([4], [1], [1]), 2, "without-replacement").round(4)
    array([[0.    , 0.3333, 0.    ],
           [0.3333, 0.3333, 0.    ],
           [0.    , 0.    , 0.    ]])
    """
    if Sampling(sampling) is Sampling.DISTINCT:
        total = np.zeros((m + 1, m + 1))
        for count, rows, probability in parts(ranks.n_candidates, m):
            part = _expected(ranks.take(rows), count, Sampling.WITHOUT_REPLACEMENT, probability)
            total[: count + 1, : count + 1] += part
        return total
    return _expected(ranks, m, Sampling(sampling), np.ones(len(ranks)))


def _expected(ranks: Ranks, m: int, sampling: Sampling, weight: Float) -> Float:
    total = np.zeros((m + 1, m + 1))
    better = pmf(ranks.best_rank, ranks.n_candidates, m, sampling) * weight[:, None]
    tied = ranks.n_tied > 0
    total[:, 0] = better[~tied].sum(axis=0)
    better, ties = better[tied], ranks.n_tied[tied]
    rest = (ranks.n_candidates - ranks.n_better)[tied]
    total[m, 0] += better[:, m].sum()
    for s in range(m):
        rows = better[:, s] > 0.0
        given = pmf(ties[rows] + 1, rest[rows], m - s, sampling)
        total[s, : m - s + 1] += better[rows, s] @ given
    return total


def _draw_distinct(others: Int, m: int, rng: np.random.Generator) -> Int:
    """Draw the number of distinct items among m draws with replacement."""
    uniform = rng.random(others.size)
    drawn = np.empty(others.size, dtype=np.int64)
    for size in np.unique(others):
        rows = others == size
        table = np.cumsum(distinct_items(int(size), m))
        drawn[rows] = np.searchsorted(table / table[-1], uniform[rows], side="right")
    return drawn


def _places(tied: Int, ties: str, rng: np.random.Generator) -> Int:
    """Draw how many of the sampled ties come before the held-out item."""
    if ties in ("optimistic", "pessimistic"):
        return tied * (ties == "pessimistic")
    width = tied + 1 if ties == "random" else np.maximum(tied, 1)
    return np.asarray(rng.random(tied.size) * width, dtype=np.int64)
