"""Negatives of held-out items, counted by strata of about the same popularity."""

from __future__ import annotations

import numpy as np

from sampled_metrics._base.array_types import Bool, Floats, Int
from sampled_metrics._base.arrays import concatenate_ranges, run_starts, sorted_unique
from sampled_metrics._base.arrow import positions
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.units import Units
from sampled_metrics.ranks.sampled import ScoredPairs
from sampled_metrics.ranks.strata import StratumCounts, strata_of_items, sums_by_stratum
from sampled_metrics.read.item_counts import ItemCounts


def count_by_stratum(
    pairs: ScoredPairs,
    score: Floats,
    units: Units,
    counts: ItemCounts,
    *,
    ties: str = "random",
    seed: int = 0,
) -> StratumCounts:
    """Count better and drawn negatives of each held-out item, and its candidates, by stratum.

    Repeated negatives of a unit count once, and held-out items of a unit are no negatives. Items
    that a user has seen are no candidates if `counts` has the user's events, unless some of them
    were drawn.

    Parameters
    ----------
    pairs, score
        Scored items of users, or of visits, and their scores.
    units
        Users or visits by number.
    counts
        Popularity of all items of the catalogue.
    ties, seed
        Place among negatives with the same score, see `SampledRanks.from_pairs`.
    """
    n_units = len(units)
    place = positions(pairs.item_ids, counts.item_ids)
    if (place < 0).any():
        unknown = place[pairs.item] < 0
        raise InputError(
            f"{int(unknown.sum()):,} pairs have an item without a count, such as "
            f"{pairs.item_ids[pairs.item[np.argmax(unknown)]]}; pass a count for each item, and "
            "0.5 for new ones"
        )
    item = place[pairs.item]
    n_items = counts.counts.size
    stratum = strata_of_items(counts.counts)
    held_out = sorted_unique(pairs.user[pairs.held_out] * n_items + item[pairs.held_out])
    negatives = _distinct_negatives(pairs, item, held_out, n_items)
    negative_unit, negative_item, negative_score = (
        pairs.user[negatives],
        item[negatives],
        score[negatives],
    )
    rows = np.flatnonzero(pairs.held_out)
    n_drawn = np.bincount(negative_unit, minlength=n_units)
    compared = concatenate_ranges(run_starts(n_drawn)[pairs.user[rows]], n_drawn[pairs.user[rows]])
    row = np.repeat(np.arange(rows.size), n_drawn[pairs.user[rows]])
    is_better = _is_better(negative_score[compared], score[rows], row, ties, seed)
    compared_item = negative_item[compared]
    drawn = sums_by_stratum(row, compared_item, stratum, rows.size)
    better = sums_by_stratum(row[is_better], compared_item[is_better], stratum, rows.size)
    size = np.bincount(stratum)
    unavailable = held_out
    if counts.events is not None:
        seen = _seen_by_units(counts, units)
        if not np.isin(negative_unit * n_items + negative_item, seen).any():
            unavailable = np.union1d(held_out, seen)
    unit, unit_item = np.divmod(unavailable, n_items)
    candidates = size - sums_by_stratum(unit, unit_item, stratum, n_units)
    log_popularity = np.bincount(stratum, np.log(counts.counts)) / size
    return StratumCounts(better, drawn, candidates[pairs.user[rows]], log_popularity)


def _distinct_negatives(pairs: ScoredPairs, item: Int, held_out: Int, n_items: int) -> Int:
    """Return the rows of negatives, each item once for a unit, in the order of units."""
    key = pairs.user * n_items + item
    rows = np.flatnonzero(~pairs.held_out & ~np.isin(key, held_out))
    _, first = np.unique(key[rows], return_index=True)
    return rows[first]


def _is_better(score: Floats, held_out_score: Floats, row: Int, ties: str, seed: int) -> Bool:
    """Return whether each negative is above the held-out item of its row."""
    limit = held_out_score[row]
    if ties == "optimistic":
        return np.asarray(score > limit)
    if ties == "pessimistic":
        return np.asarray(score >= limit)
    # With random keys, the place among equal scores is uniform.
    rng = generator(seed, "ties")
    key = rng.random(held_out_score.size)[row]
    return np.asarray((score > limit) | ((score == limit) & (rng.random(score.size) < key)))


def _seen_by_units(counts: ItemCounts, units: Units) -> Int:
    """Return the seen items of each unit as unit * items + item, in ascending order."""
    events = counts.events
    if events is None:
        return np.zeros(0, np.int64)
    user_of_unit = positions(units.users, events.user_ids)
    known = np.flatnonzero(user_of_unit >= 0)
    row, item = events.select(user_of_unit[known])
    return np.sort(known[row] * counts.counts.size + item)
