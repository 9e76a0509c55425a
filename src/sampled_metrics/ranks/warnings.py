"""Warnings about rankings that look like a mistake in the data, whatever they were read from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sampled_metrics._base.array_types import Bool, Float, Ids, Int
from sampled_metrics._base.arrays import run_starts
from sampled_metrics._base.errors import warn_input
from sampled_metrics.inputs.roles import USER
from sampled_metrics.inputs.warnings import warn_about_candidates_seen
from sampled_metrics.ranks.sampling import Sampling

if TYPE_CHECKING:
    from sampled_metrics.ranks.ranks import Ranks
    from sampled_metrics.ranks.sampled import SampledRanks

LEAST_SHARE_BELOW = 0.55  # share of candidates below the held-out item; 0.5 in random order
_MANY = 50  # rows; their mean rank tells a random order from a poor one
_SEVERAL = 10  # rows; fewer are alike by chance
_LEAST = 8  # largest rank that may be an end: ranks near 1 are frequent anyway
_ENOUGH = 12  # rows near the largest rank that make an end suspicious
_FAR = 5  # times the largest rank, from which no ranks further down are strange
_CONSTANT = 0.01  # share of rows without any order that is worth a question
_TIED = 0.1  # share of candidates that is a large tie
_EXPECTED = 5.0  # rows with several ties, from which on their absence tells something
# Usual numbers of negatives, without and with the held-out item.
_SAMPLE_SIZES = {m + more for m in (20, 50, 99, 100, 200, 500, 999, 1000) for more in (0, 1)}


def warn_about_ranks(ranks: Ranks) -> None:
    """Warn about full rankings in perfect or random order, or that end early."""
    if not ranks.is_complete or not len(ranks):
        return
    others = np.repeat(ranks.n_candidates, ranks.n_found) - 1
    warn_about_equal_scores(ranks.n_tied, others, others.size)
    above = ranks.n_better + 0.5 * ranks.n_tied
    _warn_about_order(1.0 - above / np.maximum(others, 1), others, "relevant", "other candidates")
    above, tied = _irrelevant_above(ranks)
    worst = above + tied
    _warn_about_perfection(worst, "other candidates")
    _warn_about_scored_items(
        above, tied, np.repeat(ranks.n_candidates - ranks.n_found, ranks.n_found)
    )
    _warn_about_last_rank(worst + 1, int(others.min()) + 1, "data")


def _irrelevant_above(ranks: Ranks) -> tuple[Int, Int]:
    """Count for each relevant item the irrelevant ones above it, and those level with it."""
    user = np.repeat(np.arange(len(ranks)), ranks.n_found)
    is_first = np.ones(user.size, bool)
    is_first[1:] = (np.diff(user) > 0) | (np.diff(ranks.n_better) > 0)
    first = np.flatnonzero(is_first)
    size = np.diff(first, append=user.size)
    above = np.repeat(first, size) - run_starts(ranks.n_found)[user]  # relevant ones
    return ranks.n_better - above, ranks.n_tied + 1 - np.repeat(size, size)


def warn_about_seen_items(ranks: Ranks, n_items: int) -> None:
    """Warn that seen items may be candidates, if all of the items are of all users."""
    if (ranks.n_candidates == n_items).all():
        warn_about_candidates_seen(len(ranks), n_items)


def warn_about_number_of_candidates(ranks: Ranks) -> None:
    """Warn that candidates may be sampled; fewer users may have the same number by chance."""
    n = ranks.n_candidates
    most = int(n.max())
    if n.size >= _SEVERAL and n.min() == most and most in _SAMPLE_SIZES:
        warn_input(
            "data",
            f"all {n.size:,} users have {most} candidates: these look like sampled candidates, "
            "and metrics among them are not exact; `correct` takes the scores of a held-out item "
            "and its negatives (--positive), or sampled ranks",
        )


def warn_about_duplicates(users: Ids) -> None:
    """Warn about users who come more than once, without a column that says why."""
    _, n_rows = np.unique(users, return_counts=True)
    if n_rows.max() > 1:
        warn_input(
            USER,
            f"{(n_rows > 1).sum():,} of {n_rows.size:,} users have several rows, which are "
            "averaged: are they duplicates? If not, add a column repetition, or item_id",
        )


def warn_about_sampled_ranks(sampled: SampledRanks) -> None:
    """Warn about sampled ranks in random or perfect order, of all items, or decided by ties."""
    ranks = sampled.sampled_ranks
    m = sampled.n_negatives
    others = np.full(ranks.size, m)
    _warn_about_order(1.0 - (ranks - 1) / m, others, "positive", "negatives")
    _warn_about_perfection(ranks - 1, "negatives")
    if (sampled.n_items == m + 1).all():
        warn_input(
            "n_items",
            f"n_items (--n-items) is {m + 1}, the held-out item and its {m} negatives: is it the "
            "number of candidates of a full ranking?",
        )
    if sampled.sampling is not Sampling.DISTINCT:
        _warn_about_last_rank(ranks, m + 1, "n_negatives")
    if sampled.tied is not None:
        warn_about_equal_scores(sampled.tied, others, others.size)
        _warn_about_ties(sampled.tied, m)


def warn_about_equal_scores(tied: Int, others: Int, n_rows: int) -> None:
    """Warn about rows in which all scores are equal, such as those that fill up a batch.

    So many rows change a metric by as much as their share.
    """
    n_equal = np.count_nonzero((tied == others) & (others >= _LEAST))
    if n_rows >= _MANY and n_equal >= _CONSTANT * n_rows:
        warn_input(
            "data",
            f"all scores of {n_equal:,} of {n_rows:,} rows are equal: are these scores, or rows "
            "that fill up a batch? Leave those out",
        )


def _warn_about_ties(tied: Int, m: int) -> None:
    """Warn about ties that decide, and held-out items among their own negatives."""
    n_rows = tied.size
    large = np.count_nonzero(tied >= max(_TIED * m, 1.0))
    if n_rows >= _MANY and 2 * large > n_rows:
        warn_input(
            "ties",
            f"{large:,} of {n_rows:,} held-out items have the score of a tenth of their negatives "
            "or more, so ties (--ties) decide: were scores rounded, or have they too few bits?",
        )
    n_one = np.count_nonzero(tied == 1)
    n_more = np.count_nonzero(tied > 1)
    by_chance = n_one**2 / (2.0 * n_rows)  # rows with several ties, if ties are independent
    if m >= 5 and 10 * n_one >= n_rows and by_chance >= _EXPECTED and 2.0 * n_more < by_chance:
        warn_input(
            "data",
            f"{n_one:,} of {n_rows:,} held-out items have the score of one of their negatives: is "
            "it the held-out item itself? Leave it out of them (`check-negatives`)",
        )


def _warn_about_order(below: Float, others: Int, argument: str, noun: str) -> None:
    """Warn about items as far down as in random order, and as rarely near the top."""
    if below.size < _MANY or below.mean() >= LEAST_SHARE_BELOW:
        return
    by_chance = ((others // 10 + 1) / (others + 1)).mean()
    if (below >= 0.9).mean() <= 2.0 * by_chance:
        warn_input(
            argument,
            f"held-out items are above {below.mean():.1%} of their {noun}, 50 % in a random "
            "order: are higher scores better, are rows and columns those of the users and items, "
            "and are negatives uniform?",
        )


def _warn_about_perfection(better: Int, noun: str) -> None:
    if better.size >= _MANY and not better.any():
        warn_input(
            "data",
            f"all {better.size:,} held-out items are above all of their {noun}: were rows sorted "
            "before the held-out item was taken from them, or does the model know the answer?",
        )


def _warn_about_scored_items(above: Int, tied: Int, irrelevant: Int) -> None:
    """Warn about relevant items above all irrelevant ones, or level with all of these."""
    is_level = (tied == irrelevant) & (irrelevant >= _LEAST)
    is_end = (above == 0) & (is_level | (tied == 0))
    if above.size >= _MANY and is_end.all() and 0 < 2 * np.count_nonzero(is_level) < above.size:
        warn_input(
            "data",
            f"all {above.size:,} relevant items are above all of their other candidates, or level "
            "with all of these: were relevant items scored alone?",
        )


def _warn_about_last_rank(ranks: Int, n: int, argument: str) -> None:
    """Warn about ranks, of 1 to n, that end where more would be expected."""
    largest = int(ranks.max())
    width = -(-largest // 10)
    if ranks.size < _SEVERAL or largest < _LEAST or largest + width > n:
        return
    near: Bool = ranks > largest - width
    n_near = int(np.count_nonzero(near))
    n_before = int(np.count_nonzero(ranks > largest - 2 * width)) - n_near
    expected = n_near * min(1.0, n_near / max(n_before, 1))  # behind it, if they fall as before
    is_far = argument == "data" and ranks.size >= _MANY and _FAR * largest <= n
    if expected >= _ENOUGH or is_far:
        warn_input(
            argument,
            f"the largest rank is {largest} of {n:,}, and {n_near:,} of {ranks.size:,} rows are "
            f"near it: are these ranks among {largest - 1} sampled items, or cut off?",
        )
