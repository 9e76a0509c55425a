"""Draws of sampled ranks in one experiment, and their histograms in many.

A sampled rank is drawn by inverting its distribution function at one uniform number per user. Where
evaluations share their negatives, the numbers of better and of tied negatives are drawn instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sampled_metrics._base.arguments import check_arguments, require_known, whole_number, wrong_type
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import blocks
from sampled_metrics._base.calls import public
from sampled_metrics._base.defaults import MAX_NEGATIVES
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator
from sampled_metrics.ranks import Ranks, Sampling
from sampled_metrics.sampling.probability import SAMPLED_TIE_POLICIES, likely_blocks, require_ranks


@public()
def draw_sampled_ranks(
    ranks: Ranks,
    m: int,
    seed: int | np.random.Generator | Sequence[np.random.Generator] = 0,
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    ties: str = "random",
) -> Int:
    """Draw the sampled rank of each user, in one experiment or in several.

    Parameters
    ----------
    ranks
        Full rankings.
    m
        Negatives of each held-out item.
    seed
        A whole number, or a generator, from which one uniform number per user is drawn; or several
        generators, such as `rng.spawn(100)`, each for one experiment.
    sampling
        How negatives are drawn: `without-replacement`, `with-replacement` or `distinct`.
    ties
        Rank among negatives of the same score: `random`, `optimistic`, `pessimistic` or `paper`.

    Returns
    -------
    numpy.ndarray
        Sampled ranks, int64, shape (users,), or (generators, users) for several.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

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
    has_several = isinstance(seed, Sequence)
    generators = seed if isinstance(seed, Sequence) else [_to_generator(seed)]
    for each in generators:
        if not isinstance(each, np.random.Generator):
            raise wrong_type("seed", each, np.random.Generator)
    m = whole_number("m", m, 1)
    n_before = np.concatenate(list(_draw_blocks(ranks, m, generators, sampling, ties)))
    sampled_ranks = np.ascontiguousarray(n_before.T + 1)  # shape (generators, users)
    return sampled_ranks if has_several else sampled_ranks[0]


def _to_generator(seed: int | np.random.Generator) -> np.random.Generator:
    """Return the generator of a seed; a generator is returned unchanged."""
    if isinstance(seed, np.random.Generator):
        return seed
    return generator(seed, "sample", 0)  # the one of the first repetition of the command


def histograms(
    ranks: Ranks,
    m: int,
    generators: Sequence[np.random.Generator],
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    ties: str = "random",
) -> Int:
    """Count the users at each sampled rank in repeated experiments.

    Arguments are those of `draw_sampled_ranks`, with one generator per repetition. Returns int64 of
    shape (repetitions, m + 1); column i counts sampled rank i + 1.

    Examples
    --------
    >>> ranks = Ranks([101, 101, 101], [0, 50, 100], [0, 0, 0])
    >>> histograms(ranks, 2, [np.random.default_rng(seed) for seed in (1, 2)])
    array([[1, 0, 2],
           [1, 1, 1]])
    """
    repetitions = np.arange(len(generators))
    counts = np.zeros((len(generators), m + 1), dtype=np.int64)
    for n_before in _draw_blocks(ranks, m, generators, sampling, ties):
        cells = n_before + repetitions * (m + 1)  # of the table in one dimension
        counts += np.bincount(cells.ravel(), minlength=counts.size).reshape(counts.shape)
    return counts


def shared_histograms(
    ranks: Ranks,
    m: int,
    samples: Sequence[np.random.Generator],
    tie_generators: Sequence[Sequence[np.random.Generator]],
    *,
    sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
    ties: str = "random",
) -> Int:
    """Count the users at each sampled rank in evaluations that share their negatives.

    Parameters
    ----------
    ranks, m, sampling, ties
        As for `draw_sampled_ranks`; sampling cannot be `distinct`.
    samples
        Generators of the negatives, one per repetition.
    tie_generators
        Generators of the order of ties, one per repetition for each evaluation.

    Returns
    -------
    int64, shape (evaluations, repetitions, m + 1).
    """
    sampling = Sampling(sampling)
    if sampling is Sampling.DISTINCT:
        raise InputError(
            "evaluations that share their negatives keep duplicates; use sampling with or without "
            "replacement"
        )
    counts = np.empty((len(tie_generators), len(samples), m + 1), dtype=np.int64)
    for repetition, rng in enumerate(samples):
        better, tied = _draw_better_and_tied(ranks, m, rng, sampling)
        for evaluation, generators in enumerate(tie_generators):
            tied_before = _draw_tied_before(tied, ties, generators[repetition])
            counts[evaluation, repetition] = np.bincount(better + tied_before, minlength=m + 1)
    return counts


def _draw_better_and_tied(
    ranks: Ranks, m: int, rng: np.random.Generator, sampling: Sampling
) -> tuple[Int, Int]:
    """Draw how many of each user's m negatives are better than, and tied with, the held-out item.

    Ties are drawn given the better negatives, from the candidates that are not better.
    """
    n_others = ranks.n_candidates - 1
    n_not_better = n_others - ranks.n_better
    if sampling is Sampling.WITH_REPLACEMENT:
        better = rng.binomial(m, ranks.n_better / n_others)
        tied = rng.binomial(m - better, ranks.n_tied / np.maximum(n_not_better, 1))
    else:
        better = rng.hypergeometric(ranks.n_better, n_not_better, m)
        tied = rng.hypergeometric(ranks.n_tied, n_not_better - ranks.n_tied, m - better)
    return better, tied


def _draw_tied_before(tied: Int, ties: str, rng: np.random.Generator) -> Int:
    """Draw how many of the sampled ties come before the held-out item.

    For T ties: none if `optimistic`, T if `pessimistic`, and one of 0 ... T if `random`, or of
    0 ... T - 1 if `paper`, equally likely.

    Parameters
    ----------
    tied
        T of each user, shape (users,).
    ties
        Tie policy.
    rng
        Not used if nothing is open.
    """
    if ties == "pessimistic":
        return tied
    n_possible = np.ones_like(tied)
    if ties == "random":
        n_possible = tied + 1
    elif ties == "paper":
        n_possible = np.maximum(tied, 1)
    is_open = n_possible.max(initial=1) > 1
    if not is_open:
        return np.zeros_like(tied)
    return (rng.random(tied.size) * n_possible).astype(np.int64)


def _draw_blocks(
    ranks: Ranks,
    m: int,
    generators: Sequence[np.random.Generator],
    sampling: Sampling | str,
    ties: str,
) -> Iterator[Int]:
    """Yield how many negatives come before each held-out item, the sampled rank - 1.

    A block of users follows the other, each of shape (users, generators). There is at least one,
    which may be empty. Each generator draws a uniform number for each user, at which the
    distribution function of the sampled rank is inverted.
    """
    require_known("tie policy", ties, SAMPLED_TIE_POLICIES)
    whole_number("m", m, 1, MAX_NEGATIVES)
    require_ranks(ranks.best_rank, ranks.n_candidates, m, sampling)
    numbers_per_user = max(m + 1, len(generators))
    blocks_of_users = list(blocks(len(ranks), numbers_per_user))
    for rows in blocks_of_users or [slice(0)]:
        block = ranks.take(rows)
        uniform = np.empty((len(block), len(generators)))
        for column, rng in enumerate(generators):
            uniform[:, column] = rng.random(len(block))
        n_before = np.empty(uniform.shape, dtype=np.int64)
        for users, first, distribution in likely_blocks(block, m, sampling, ties):
            n_before[users] = first + _invert_distribution(distribution, uniform[users])
        yield n_before


def _invert_distribution(distribution: Float, uniform: Float) -> Int:
    """Return the columns of a distribution at which uniform numbers fall.

    `distribution` has shape (users, columns), and `uniform` and the result (users, generators).
    """
    table = np.cumsum(distribution, axis=1)
    table /= table[:, -1:]  # exactly 1 at the last possible rank, which uniform numbers are below
    columns = np.empty(uniform.shape, dtype=np.int64)
    for row, numbers, result in zip(table, uniform, columns, strict=True):
        result[:] = row.searchsorted(numbers, side="right")
    return columns
