"""Negatives of held-out items, counted by strata of about the same popularity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sampled_metrics._base.array_types import Bool, Float, Floats, Int
from sampled_metrics._base.arrays import (
    concatenate_ranges,
    is_among,
    pair_codes,
    run_starts,
    sorted_unique,
)
from sampled_metrics._base.arrow import positions
from sampled_metrics._base.calls import note_meaning
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.units import Units
from sampled_metrics.ranks.sampled import ScoredPairs
from sampled_metrics.ranks.strata import (
    StratumCounts,
    deal_in_groups,
    mean_log_popularity,
    strata_of_items,
    sums_by_stratum,
    unavailable_items,
)
from sampled_metrics.read.item_counts import NEW_ITEM, ItemCounts

_MAX_NEW = 0.1  # share of pairs with such items; more have probably other ids


class CountedPairs(NamedTuple):
    """Counts by stratum of held-out items, and the same without some of the negatives.

    Attributes
    ----------
    counts
        Counts of all items, with those that only pairs have.
    strata
        Counts of all negatives.
    without_part
        Counts without one of `n_parts` parts of the drawn items each, for a jackknife.
    """

    counts: ItemCounts
    strata: StratumCounts
    without_part: tuple[StratumCounts, ...]


def count_by_stratum(
    pairs: ScoredPairs,
    score: Floats,
    units: Units | None,
    counts: ItemCounts,
    *,
    ties: str = "random",
    seed: int = 0,
    n_parts: int = 0,
) -> CountedPairs:
    """Count better and drawn negatives of each held-out item, and its candidates, by stratum.

    Repeated negatives of a unit count once, and held-out items of a unit are no negatives. Items
    that a user has seen are no candidates if `counts` has the user's events, unless about as many
    of them were drawn as by chance.

    Parameters
    ----------
    pairs, score
        Scored items of users, or of visits, and their scores.
    units
        Users or visits by number; None if their ids are not known.
    counts
        Popularity of all items of the catalogue.
    ties, seed
        Place among negatives with the same score, see `SampledRanks.from_pairs`.
    n_parts
        Number of parts of equal popularity that the drawn items are divided into.
    """
    n_units = int(pairs.user.max()) + 1 if units is None else len(units)
    counts = _with_new_items(counts, pairs)
    item = positions(pairs.item_ids, counts.item_ids)[pairs.item]
    n_items = counts.counts.size
    pair_code = pair_codes(pairs.user, item, n_items)
    held_out = np.flatnonzero(pairs.held_out)
    held_out_codes = sorted_unique(pair_code[held_out])
    negatives = _distinct_negatives(pair_code, pairs.held_out, held_out_codes)
    # A comparison is one of a held-out item, numbered by `row`, with a negative of its unit.
    row, position = _compare_units(pairs.user[held_out], pairs.user[negatives], n_units)
    compared = negatives[position]
    is_better = _is_better(score[compared], score[held_out], row, ties, seed)
    compared_item = item[compared]
    stratum = strata_of_items(counts.counts)

    def count(is_counted: Bool) -> Int:
        """Count some of the comparisons, shape (held-out items, strata)."""
        return sums_by_stratum(row[is_counted], compared_item[is_counted], stratum, held_out.size)

    unavailable = unavailable_items(
        held_out_codes, _seen_items(counts, units), pair_code[negatives], n_items
    )
    n_candidates_of_unit = _count_candidates(unavailable, stratum, n_units)
    strata = StratumCounts(
        better=count(is_better),
        drawn=count(np.ones(row.size, bool)),
        candidates=n_candidates_of_unit[pairs.user[held_out]],
        log_popularity=mean_log_popularity(counts.counts, stratum),
    )
    drawn_items = sorted_unique(item[negatives])
    part = _parts_of_items(counts.counts, drawn_items, n_parts)[compared_item]
    without_part = tuple(
        strata._replace(better=count(is_better & (part != dropped)), drawn=count(part != dropped))
        for dropped in range(n_parts)
    )
    return CountedPairs(counts, strata, without_part)


def _count_candidates(unavailable: Int, stratum: Int, n_units: int) -> Int:
    """Count the items that each unit could draw, shape (units, strata).

    `unavailable` are the others as unit * items + item.
    """
    unit, item = np.divmod(unavailable, stratum.size)
    return np.bincount(stratum) - sums_by_stratum(unit, item, stratum, n_units)


def _compare_units(held_out_unit: Int, negative_unit: Int, n_units: int) -> tuple[Int, Int]:
    """Pair each held-out item with all negatives of its unit; return the positions of both.

    Parameters
    ----------
    held_out_unit, negative_unit
        Unit of each held-out item, and of each negative; the latter ascend.

    Returns
    -------
    held_out, negative
        Positions of the two of each pair; shape (pairs,).
    """
    n_negatives = np.bincount(negative_unit, minlength=n_units)  # of each unit
    n_compared = n_negatives[held_out_unit]
    first_negative = run_starts(n_negatives)[held_out_unit]
    held_out = np.repeat(np.arange(held_out_unit.size), n_compared)
    return held_out, concatenate_ranges(first_negative, n_compared)


def _parts_of_items(popularity: Float, drawn: Int, n_parts: int) -> Int:
    """Return the part of each drawn item, 0 ... n_parts - 1, of equal popularity; else 0."""
    part = np.zeros(popularity.size, np.int64)
    if n_parts:
        part[drawn] = deal_in_groups(popularity[drawn], n_parts)
    return part


def _with_new_items(counts: ItemCounts, pairs: ScoredPairs) -> ItemCounts:
    """Append items of pairs that no event has, with a count of NEW_ITEM.

    Raises InputError if counts were given for each item, or if ids seem to differ.
    """
    is_new = positions(pairs.item_ids, counts.item_ids) < 0  # of each item
    n_pairs = int(is_new[pairs.item].sum())  # with a new item
    if not n_pairs:
        return counts
    example = pairs.item_ids[np.argmax(is_new)]
    if counts.events is None:
        raise InputError(
            f"{n_pairs:,} pairs have an item without a count, such as {example}; pass a count for "
            f"each item, and {NEW_ITEM} for new ones"
        )
    if n_pairs > _MAX_NEW * pairs.user.size:
        raise InputError(
            f"{n_pairs:,} of {pairs.user.size:,} pairs have an item without an event, such as "
            f"{example}: do ids differ? Pass events or counts with the ids of the pairs"
        )
    note_meaning("counts", f"{n_pairs:,} pairs have items without events, counted {NEW_ITEM} times")
    new_ids = pairs.item_ids[is_new]
    # `Units` joins ids of one type or of two: numbers beside text become text.
    item_ids = Units.concatenate([Units(counts.item_ids), Units(new_ids)]).users
    return counts._replace(
        item_ids=item_ids, counts=np.append(counts.counts, np.full(len(new_ids), NEW_ITEM))
    )


def _distinct_negatives(pair_code: Int, is_held_out: Bool, held_out_codes: Int) -> Int:
    """Return the rows of negatives, each item once for a unit, in the order of units.

    Parameters
    ----------
    pair_code
        unit * items + item of each row.
    is_held_out, held_out_codes
        Which rows are held-out items, and the sorted codes of these.
    """
    is_negative = ~is_held_out & ~is_among(pair_code, held_out_codes)
    rows = np.flatnonzero(is_negative)
    codes = pair_code[rows]
    are_distinct_in_order = (codes[1:] > codes[:-1]).all()
    if are_distinct_in_order:
        return rows
    _, first = np.unique(codes, return_index=True)
    return rows[first]


def _is_better(score: Floats, held_out_score: Floats, row: Int, ties: str, seed: int) -> Bool:
    """Return whether each negative is above the held-out item of its row.

    Parameters
    ----------
    score, row
        Score of each negative, and the position of the held-out item that it is compared with;
        shape (comparisons,).
    held_out_score
        Score of each held-out item.
    ties, seed
        Place among negatives with the same score. At random, each has a key, uniform between 0 and
        1, and a tied negative is above if its key is lower: all places are equally probable.
    """
    limit = held_out_score[row]
    if ties == "optimistic":
        return np.asarray(score > limit)
    if ties == "pessimistic":
        return np.asarray(score >= limit)
    rng = generator(seed, "ties")
    held_out_key = rng.random(held_out_score.size)[row]
    key = rng.random(score.size)
    return np.asarray((score > limit) | ((score == limit) & (key < held_out_key)))


def _seen_items(counts: ItemCounts, units: Units | None) -> Int:
    """Return the seen items of each unit as unit * items + item, in ascending order."""
    events = counts.events
    if events is None:
        return np.zeros(0, np.int64)
    if units is None:
        note_meaning(
            "counts",
            "the users of the scores are not known, so items seen in training are candidates; pass "
            "users (--users), the ids of the rows",
        )
        return np.zeros(0, np.int64)
    user_of_unit = positions(units.users, events.user_ids)  # -1 without events
    units_with_events = np.flatnonzero(user_of_unit >= 0)
    position, item = events.select(user_of_unit[units_with_events])
    unit = units_with_events[position]
    return np.sort(unit * counts.counts.size + item)
