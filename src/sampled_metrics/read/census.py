"""Candidates and better ones of each held-out item by stratum of popularity, from all scores."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from sampled_metrics._base.array_types import Float, Ids, Int, ItemsByUser
from sampled_metrics._base.arrow import positions
from sampled_metrics._base.columns import unique_ids
from sampled_metrics._base.conversion import to_numpy
from sampled_metrics._base.defaults import BLOCK_SIZE
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.units import Units
from sampled_metrics.ranks.strata import (
    StratumCounts,
    mean_log_popularity,
    strata_of_items,
    sums_by_stratum,
)
from sampled_metrics.read.item_counts import NEW_ITEM, ItemCounts
from sampled_metrics.read.items import RELEVANT, SEEN, has_seen_items, items_for_scores
from sampled_metrics.read.scores import read_scores


class Census(NamedTuple):
    """All candidates of users with one held-out item, by stratum.

    Attributes
    ----------
    counts
        Candidates, all of them drawn, and better ones.
    excluded
        Nonzero at items that are no candidates, shape (users, items).
    popularity, stratum
        Count and stratum of each item, shape (items,).
    """

    counts: StratumCounts
    excluded: sparse.csr_array
    popularity: Float
    stratum: Int


def read_census(
    scores: Any, relevant: ItemsByUser, seen: ItemsByUser, counts: ItemCounts
) -> Census:
    """Count the candidates of each user, and those above the held-out item, by stratum.

    Parameters
    ----------
    scores
        A matrix of users x items, see `read_scores`.
    relevant, seen
        The held-out item of each user, and items that are no candidates, as for `evaluate`.
    counts
        Popularity of items; those without a count get 0.5.

    Examples
    --------
    >>> scores = np.array([[0.9, 0.2, 0.5, 0.4], [0.1, 0.2, 0.3, 0.4]])
    >>> popularity = ItemCounts(np.arange(4), np.array([9.0, 8, 1, 1]))
    >>> census = read_census(scores, [2, 0], "none", popularity)
    >>> census.stratum.tolist(), census.counts.candidates.tolist(), census.counts.better.tolist()
    ([0, 0, 0, 0], [[3], [3]], [[1], [3]])
    """
    source = read_scores(scores)
    n_users, n_items = source.shape
    user_ids = _ids(source.user_ids, "user_ids", n_users)
    item_ids = _ids(source.item_ids, "item_ids", n_items)
    read_items = partial(
        items_for_scores,
        size=source.shape,
        units=None if user_ids is None else Units(user_ids),
        item_ids=item_ids,
    )
    held_out = read_items(relevant, RELEVANT)
    if (held_out.sizes != 1).any():
        raise InputError("counts (--counts) need one relevant item of each user of the scores")
    held_out_item = held_out.item
    popularity = _popularity_of(np.arange(n_items) if item_ids is None else item_ids, counts)
    stratum = strata_of_items(popularity)
    rows = np.arange(n_users)
    excluded = sparse.csr_array((np.ones(n_users), (rows, held_out_item)), shape=source.shape)
    if has_seen_items(seen):
        seen_items = read_items(seen, SEEN)
        n_without = n_users - seen_items.n_users  # the last users, without seen items
        seen_matrix = seen_items.append_users(n_without).matrix()
        excluded = sparse.csr_array(excluded + seen_matrix.astype(np.float64))
    excluded_row, excluded_item = excluded.nonzero()
    n_excluded = sums_by_stratum(excluded_row, excluded_item, stratum, n_users)
    candidates = np.bincount(stratum) - n_excluded  # shape (users, strata)
    better = [
        _count_better(source.rows(block), held_out_item[block], excluded[block], stratum)
        for block in np.split(rows, np.arange(BLOCK_SIZE, n_users, BLOCK_SIZE))
    ]
    all_counts = StratumCounts(
        better=np.concatenate(better),
        drawn=candidates,
        candidates=candidates,
        log_popularity=mean_log_popularity(popularity, stratum),
    )
    return Census(all_counts, excluded, popularity, stratum)


def _ids(ids: Any, name: str, size: int) -> Ids | None:
    """Return ids that differ, checked; None stays None."""
    return None if ids is None else unique_ids(ids, name, size)


def _popularity_of(item_ids: Ids, counts: ItemCounts) -> Float:
    """Return the count of each item of the scores, `NEW_ITEM` for items without one."""
    position = positions(item_ids, counts.item_ids)
    has_count = position >= 0
    if not has_count.any():
        raise InputError(
            f"no item of the scores has a count: counts have ids such as {counts.item_ids[0]}, "
            f"scores such as {item_ids[0]}; expected the same ids"
        )
    return np.where(has_count, counts.counts[position], NEW_ITEM)


def _count_better(scores: Any, held_out: Int, excluded: sparse.csr_array, stratum: Int) -> Int:
    """Count the candidates above the held-out items of a block by stratum.

    Candidates with the same score are above it if their random number is.
    """
    array = to_numpy(scores)
    cells = np.arange(held_out.size), held_out  # of the held-out items, one in each row
    own_score = array[cells][:, np.newaxis]
    is_better = array > own_score
    is_tied = array == own_score
    if is_tied.sum() > held_out.size:  # each held-out item is tied with itself
        key = generator(0, "ties").random(array.shape)
        is_better |= is_tied & (key < key[cells][:, np.newaxis])
    row, item = np.nonzero(is_better & (excluded.toarray() == 0))
    return sums_by_stratum(row, item, stratum, held_out.size)
