"""Draws of sampled ranks: one experiment, or the histograms of many.

Both turn one uniform number per user into a sampled rank through the distribution function of
`sampled_rank_distribution`, so they are as exact as that is, under every tie policy.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from sampled_metrics._base.arrays import Float, Int, blocks, whole_number
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.distribution import sampled_rank_distribution


def draw_sampled_ranks(
    ranks: Ranks,
    m: int,
    rng: np.random.Generator,
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    ties: str = "random",
) -> Int:
    """Draw the sampled rank of every user in one experiment.

    The parameters are those of `sampled_rank_distribution`; `rng` gives one uniform number per
    user, in the order of the users.

    Returns
    -------
    int64, shape (users,), 1-based.

    Examples
    --------
    >>> ranks = Ranks([101, 101, 101], [0, 50, 100], [0, 0, 0])
    >>> draw_sampled_ranks(ranks, 10, np.random.default_rng(1)).tolist()
    [1, 8, 11]
    """
    columns = [
        _inverted(table, rng.random((1, len(table))))[:, 0]
        for table in _cumulated_tables(ranks, m, sampling, ties, m + 1)
    ]
    return 1 + np.concatenate(columns)


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
    columns = max(m + 1, len(generators))
    for table in _cumulated_tables(ranks, m, sampling, ties, columns):
        uniform = np.empty((len(generators), len(table)))
        for numbers, generator in zip(uniform, generators, strict=True):
            generator.random(out=numbers)
        drawn = _inverted(table, uniform) + repetitions * (m + 1)
        cells += np.bincount(drawn.ravel(), minlength=cells.size).reshape(cells.shape)
    return cells


def _cumulated_tables(
    ranks: Ranks, m: int, sampling: Sampling | str, ties: str, columns: int
) -> Iterator[Float]:
    """Distribution functions of a few users at a time, shape (users, m + 1), ending in 1.

    Tables of at most `columns` columns fit in memory for so many users; there is at least one
    table, so that wrong options are refused without users too.

    Divided by its last entry, each row reaches 1 at the last possible rank, which no uniform
    number does: an impossible rank is never drawn.
    """
    whole_number("m", m)
    for rows in list(blocks(len(ranks), columns)) or [slice(0)]:
        part = ranks.take(rows)
        table = np.cumsum(sampled_rank_distribution(part, m, sampling, ties), axis=1)
        table /= table[:, -1:]
        yield table


def _inverted(table: Float, uniform: Float) -> Int:
    """Turn uniform numbers (repetitions, users) into sampled ranks - 1 (users, repetitions)."""
    by_user = np.ascontiguousarray(uniform.T)
    drawn = np.empty(by_user.shape, dtype=np.int64)
    for row, numbers, result in zip(table, by_user, drawn, strict=True):
        result[:] = row.searchsorted(numbers, side="right")
    return drawn
