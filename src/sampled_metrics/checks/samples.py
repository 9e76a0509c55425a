"""Signs of a mistake in sampled ranks, and in the rows that they were read from."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sampled_metrics._base.array_types import Int
from sampled_metrics.checks import Signs
from sampled_metrics.checks.ranks import (
    ROWS_OF_MEAN,
    signs_in_last_rank,
    signs_in_order,
    signs_of_equal_scores,
    signs_of_perfection,
)
from sampled_metrics.ranks import SampledRanks, Sampling

_MISTAKES = (
    "are many held-out items not scored, or are negatives hard or popular ones and not uniform?"
)
_MIN_EVEN_USERS = 10  # fewer may have even numbers of negatives by chance
_LARGE_TIE = 0.1  # share of the negatives that have the score of the held-out item
_EXPECTED_TIES = 5.0  # fewer expected rows with several ties may be missing by chance
_LEAST_NEGATIVES = 5  # of fewer several are rarely tied


def signs_in_sampled_ranks(sampled: SampledRanks) -> Signs:
    """Look for sampled ranks in random or perfect order, of all items, or decided by ties."""
    ranks = sampled.sampled_ranks
    m = sampled.n_negatives
    n_others = np.full(ranks.size, m)
    shares_below = 1.0 - (ranks - 1) / m
    yield from signs_in_order(shares_below, n_others, "positive", "negatives")
    yield from signs_of_perfection(ranks - 1, "negatives")
    if (sampled.n_items == m + 1).all():
        yield (
            "n_items",
            f"n_items (--n-items) is {m + 1}, the held-out item and its {m} negatives: is it the "
            "number of candidates of a full ranking?",
        )
    if sampled.sampling is not Sampling.DISTINCT:
        yield from signs_in_last_rank(ranks, m + 1, "n_negatives")
    if sampled.tied is not None:
        yield from signs_of_equal_scores(sampled.tied, n_others, n_others.size)
        yield from _signs_of_deciding_ties(sampled.tied, m)
        yield from _signs_of_held_out_negatives(sampled.tied, m)


def _signs_of_deciding_ties(tied: Int, m: int) -> Signs:
    """Look for ties with a tenth of the m negatives in most rows.

    `tied` are the negatives tied with the held-out item of each row.
    """
    n_rows = tied.size
    n_large = np.count_nonzero(tied >= max(_LARGE_TIE * m, 1.0))
    if n_rows >= ROWS_OF_MEAN and 2 * n_large > n_rows:
        yield (
            "ties",
            f"{n_large:,} of {n_rows:,} held-out items have the score of a tenth of their "
            "negatives or more, so ties (--ties) decide: were scores rounded, or stored in low "
            "precision?",
        )


def _signs_of_held_out_negatives(tied: Int, m: int) -> Signs:
    """Look for held-out items among their own negatives: exactly one is tied with them.

    `tied` are the negatives tied with the held-out item of each row, of m each. If ties are
    independent, their number in a row has about a Poisson distribution, with a mean of the share of
    rows that have one, n_one / n_rows. So the expected share of rows with several is half of its
    square: expected_more = n_rows (n_one / n_rows)^2 / 2.
    """
    n_rows = tied.size
    n_one = np.count_nonzero(tied == 1)
    n_more = np.count_nonzero(tied > 1)
    expected_more = n_one**2 / (2.0 * n_rows)
    is_frequent = m >= _LEAST_NEGATIVES and 10 * n_one >= n_rows
    if is_frequent and expected_more >= _EXPECTED_TIES and 2.0 * n_more < expected_more:
        yield (
            "data",
            f"{n_one:,} of {n_rows:,} held-out items have the score of one of their negatives: is "
            "it the held-out item itself? Remove it from them (`check-negatives`)",
        )


def signs_of_short_lists(n_negatives: Int) -> Signs:
    """Look for lists of fewer negatives than the longest, below which missing items rank."""
    m = int(n_negatives.max())
    if n_negatives.min() < m:
        yield (
            "n_negatives",
            f"some lists end before {m} negatives, the number in the longest, and held-out items "
            f"missing from them rank below all {m}; pass n_negatives (--n-negatives) if there "
            "were more",
        )


def signs_of_dropped_negatives(n_negatives: Int, seed: int) -> Signs:
    """Look for rows of more negatives than the fewest, some of which are not used."""
    fewest = int(n_negatives.min())
    n_larger = (n_negatives > fewest).sum()
    if n_larger:
        yield (
            "n_negatives",
            f"{n_larger:,} of {n_negatives.size:,} rows have more than {fewest} negatives, up to "
            f"{n_negatives.max()}: {fewest} of them are used, chosen at random (seed {seed})",
        )


def signs_of_joined_rows(n_held_out: Int, n_negatives: Int) -> Signs:
    """Look whether each of a user's held-out items seems to have negatives of its own.

    Numbers are those of each user, without visits.
    """
    n_items = int(n_held_out.max())
    is_even = (n_held_out == n_items).all() and (n_negatives % n_items == 0).all()
    if n_held_out.size >= _MIN_EVEN_USERS and n_items > 1 and is_even:
        yield (
            "data",
            f"users have {n_items} held-out items and {n_negatives[0]} negatives; if these are "
            f"{n_negatives[0] // n_items} of each item, number each item and its negatives in a "
            "column visit_id",
        )


def signs_of_failed_checks(remark_by_check: Mapping[str, str]) -> Signs:
    """Say which checks of negatives failed that need not refuse them, with their remarks."""
    for name, remark in remark_by_check.items():
        yield "data", f"negatives fail the check {name!r}: {remark}"


def signs_of_unlikely_ranks(evidence: str) -> Signs:
    """Say that sampled ranks are explained only by true ranks some of which are out of order."""
    yield "data", f"some ranks are likelier than better ones ({evidence}): {_MISTAKES}"


def signs_of_implausible_ranks(evidence: str) -> Signs:
    """Say that sampled ranks are explained by true ranks of some kind, but by no plausible ones."""
    yield "data", f"no plausible true ranks explain these sampled ranks ({evidence}): {_MISTAKES}"


def signs_of_duplicates(users: Int) -> Signs:
    """Look for users with several rows, if no column says why they have several."""
    _, n_rows = np.unique(users, return_counts=True)
    if n_rows.max() > 1:
        yield (
            "user_id",
            f"{(n_rows > 1).sum():,} of {n_rows.size:,} users have several rows, which are "
            "averaged: are they duplicates? If not, add a column repetition, or item_id",
        )
