"""Draws of sampled ranks: one experiment, or the histograms of many.

One uniform number per user becomes a sampled rank through the distribution function. Where
evaluations share their negatives, counts of better and of tied ones are drawn instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sampled_metrics._base.arguments import check_arguments, require_known, whole_number, wrong_type
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import blocks
from sampled_metrics._base.defaults import MAX_NEGATIVES
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.probability import SAMPLED_TIE_POLICIES, likely_blocks, require_ranks


def draw_sampled_ranks(
    ranks: Ranks,
    m: int,
    seed: int | np.random.Generator | Sequence[np.random.Generator] = 0,
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    ties: str = "random",
) -> Int:
    """Draw the sampled rank of every user, in one experiment or in several.

    Parameters
    ----------
    ranks
        Full rankings.
    m
        Negatives of each held-out item.
    seed
        A whole number, or a generator, which gives one uniform number per user; or several
        generators, such as `rng.spawn(100)`, each for one experiment.
    sampling
        How negatives are drawn: `without-replacement`, `with-replacement` or `distinct`.
    ties
        Place among negatives of the same score: `random`, `optimistic`, `pessimistic` or `paper`.

    Returns
    -------
    numpy.ndarray
        Sampled ranks, int64, shape (users,), or (generators, users) for several.

    Raises
    ------
    InputError
        If the data or an option cannot be used; the message says where, why and what to give.

    See Also
    --------
    correct : Ranges and estimates from sampled ranks.

    References
    ----------
    W. Krichene and S. Rendle, "On Sampled Metrics for Item Recommendation", KDD 2020.

    Examples
    --------
    >>> ranks = Ranks([101, 101, 101], [0, 50, 100], [0, 0, 0])
    >>> draw_sampled_ranks(ranks, 10, seed=np.random.default_rng(1)).tolist()
    [1, 8, 11]
    """
    if not isinstance(ranks, Ranks):
        raise wrong_type("ranks", ranks, Ranks)
    check_arguments(sampling=sampling, ties=ties)
    generators = seed if isinstance(seed, Sequence) else [_generator(seed)]
    for each in generators:
        if not isinstance(each, np.random.Generator):
            raise wrong_type("seed", each, np.random.Generator)
    parts = list(_drawn(ranks, whole_number("m", m, 1), generators, sampling, ties))
    drawn = np.ascontiguousarray(np.concatenate(parts).T + 1)
    if generators is seed:
        return drawn
    return drawn[0]


def _generator(seed: int | np.random.Generator) -> np.random.Generator:
    """Return a generator as it is, or that of a seed."""
    if isinstance(seed, np.random.Generator):
        return seed
    return generator(seed, "sample", 0)  # as the command draws the first of its repetitions


def histograms(
    ranks: Ranks,
    m: int,
    generators: Sequence[np.random.Generator],
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    ties: str = "random",
) -> Int:
    """Count the users at every sampled rank, in repeated experiments.

    Each generator makes the draws that `draw_sampled_ranks` makes with it. Returns int64 of shape
    (repetitions, m + 1); column i counts sampled rank i + 1.

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
        counts = np.bincount(drawn.ravel(), minlength=cells.size)
        cells += counts.reshape(cells.shape)
    return cells


def shared_histograms(
    ranks: Ranks,
    m: int,
    samples: Sequence[np.random.Generator],
    places: Sequence[Sequence[np.random.Generator]],
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    ties: str = "random",
) -> Int:
    """Count the users at every sampled rank, in evaluations that share their negatives.

    `samples` is one generator per repetition, for the negatives; `places` has for each evaluation
    one per repetition, for the ties. Returns int64 of shape (evaluations, repetitions, m + 1).
    """
    way = Sampling(sampling)
    if way is Sampling.DISTINCT:
        raise InputError("evaluations that share their negatives keep duplicates; use another way")
    counts = np.empty((len(places), len(samples), m + 1), dtype=np.int64)
    n_better = ranks.n_better
    n_tied = ranks.n_tied
    others = ranks.n_candidates - 1
    rest = others - n_better
    for repetition, rng in enumerate(samples):
        if way is Sampling.WITH_REPLACEMENT:
            better = rng.binomial(m, n_better / others)
            tied = rng.binomial(m - better, n_tied / np.maximum(rest, 1))
        else:
            better = rng.hypergeometric(n_better, rest, m)
            tied = rng.hypergeometric(n_tied, rest - n_tied, m - better)
        for evaluation, generators in enumerate(places):
            before = _tied_before(tied, ties, generators[repetition])
            counts[evaluation, repetition] = np.bincount(better + before, minlength=m + 1)
    return counts


def _tied_before(tied: Int, ties: str, rng: np.random.Generator) -> Int:
    """Draw how many of the sampled ties come before the held-out item."""
    if ties == "pessimistic":
        return tied
    width = np.ones_like(tied)
    if ties == "random":
        width += tied
    elif ties == "paper":
        width = np.maximum(tied, 1)
    if width.max(initial=1) == 1:  # only one place each
        return np.zeros_like(tied)
    return (rng.random(tied.size) * width).astype(np.int64)


def _drawn(
    ranks: Ranks,
    m: int,
    generators: Sequence[np.random.Generator],
    sampling: Sampling | str,
    ties: str,
) -> Iterator[Int]:
    """Sampled ranks - 1 of a few users at a time, shape (users, generators); at least one part."""
    require_known("tie policy", ties, SAMPLED_TIE_POLICIES)
    whole_number("m", m, 1, MAX_NEGATIVES)
    require_ranks(ranks.best_rank, ranks.n_candidates, m, sampling)
    width = max(m + 1, len(generators))
    for rows in list(blocks(len(ranks), width)) or [slice(0)]:
        part = ranks.take(rows)
        uniform = np.empty((len(part), len(generators)))
        for numbers, rng in zip(uniform.T, generators, strict=True):
            numbers[:] = rng.random(len(part))
        drawn = np.empty(uniform.shape, dtype=np.int64)
        for users, first, distribution in likely_blocks(part, m, sampling, ties):
            drawn[users] = first + _places(distribution, uniform[users])
        yield drawn


def _places(distribution: Float, uniform: Float) -> Int:
    """Find the columns that uniform numbers stand for, some in each row of a distribution."""
    table = np.cumsum(distribution, axis=1)
    table /= table[:, -1:]  # 1 at the last possible rank, which no uniform number reaches
    places = np.empty(uniform.shape, dtype=np.int64)
    for row, numbers, result in zip(table, uniform, places, strict=True):
        result[:] = row.searchsorted(numbers, side="right")
    return places
