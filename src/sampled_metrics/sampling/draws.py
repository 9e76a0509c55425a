"""Draws of sampled ranks: one experiment, or the histograms of many.

Both turn one uniform number per user into a sampled rank through the distribution function of
`sampled_rank_distribution`, so they are as exact as that is, under every tie policy.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from sampled_metrics._base.arrays import Int, blocks, whole_number
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.distribution import sampled_rank_distribution


def draw_sampled_ranks(
    ranks: Ranks,
    m: int,
    rng: np.random.Generator | Sequence[np.random.Generator],
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    ties: str = "random",
) -> Int:
    """Draw the sampled rank of every user, in one experiment or in several.

    The other parameters are those of `sampled_rank_distribution`.

    Parameters
    ----------
    rng
        Gives one uniform number per user, in the order of the users. Of several generators, such as
        `rng.spawn(100)`, each is for one experiment; that is much faster than a call for each.

    Returns
    -------
    int64, shape (users,), or (generators, users) for several; 1-based.

    Examples
    --------
    >>> ranks = Ranks([101, 101, 101], [0, 50, 100], [0, 0, 0])
    >>> draw_sampled_ranks(ranks, 10, np.random.default_rng(1)).tolist()
    [1, 8, 11]
    >>> draw_sampled_ranks(ranks, 10, [np.random.default_rng(seed) for seed in (1, 2)]).tolist()
    [[1, 8, 11], [1, 5, 11]]
    """
    generators = [rng] if isinstance(rng, np.random.Generator) else rng
    drawn = np.empty((len(generators), len(ranks)), dtype=np.int64)
    first = 0
    for part in _drawn(ranks, m, generators, sampling, ties):
        drawn[:, first : first + len(part)] = part.T + 1
        first += len(part)
    return drawn[0] if isinstance(rng, np.random.Generator) else drawn


def histograms(
    ranks: Ranks,
    m: int,
    generators: Sequence[np.random.Generator],
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    ties: str = "random",
) -> Int:
    """Count the users at every sampled rank, in repeated experiments.

    The other parameters are those of `sampled_rank_distribution`.

    Parameters
    ----------
    generators
        One independent generator per repetition, so that no repetition depends on another: its
        histogram is that of `draw_sampled_ranks` with the same generator.

    Returns
    -------
    int64, shape (repetitions, m + 1); column i counts sampled rank i + 1, rows sum to the
    number of users.

    Examples
    --------
    >>> ranks = Ranks([101, 101, 101], [0, 50, 100], [0, 0, 0])
    >>> histograms(ranks, 2, [np.random.default_rng(seed) for seed in (1, 2)])
    array([[1, 0, 2],
           [1, 1, 1]])
    """
    repetitions = np.arange(len(generators))
    cells = np.zeros((len(generators), m + 1), dtype=np.int64)
    for part in _drawn(ranks, m, generators, sampling, ties):
        drawn = part + repetitions * (m + 1)
        cells += np.bincount(drawn.ravel(), minlength=cells.size).reshape(cells.shape)
    return cells


def _drawn(
    ranks: Ranks,
    m: int,
    generators: Sequence[np.random.Generator],
    sampling: Sampling | str,
    ties: str,
) -> Iterator[Int]:
    """Sampled ranks - 1 of a few users at a time, shape (users, generators).

    There is at least one part, so that wrong options are refused without users too. Divided by its
    last entry, each distribution function reaches 1 at the last possible rank, which no uniform
    number does: an impossible rank is never drawn.
    """
    whole_number("m", m)
    for rows in list(blocks(len(ranks), max(m + 1, len(generators)))) or [slice(0)]:
        part = ranks.take(rows)
        table = np.cumsum(sampled_rank_distribution(part, m, sampling, ties), axis=1)
        table /= table[:, -1:]
        uniform = np.empty((len(part), len(generators)))
        for numbers, generator in zip(uniform.T, generators, strict=True):
            numbers[:] = generator.random(len(part))
        drawn = np.empty(uniform.shape, dtype=np.int64)
        for row, numbers, result in zip(table, uniform, drawn, strict=True):
            result[:] = row.searchsorted(numbers, side="right")
        yield drawn
