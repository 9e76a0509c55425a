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
from sampled_metrics.read.items import (
    RELEVANT,
    SEEN,
    Items,
    Size,
    has_seen_items,
    items_for_scores,
)
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
    user_ids = _checked_ids(source.user_ids, "user_ids", n_users)
    item_ids = _checked_ids(source.item_ids, "item_ids", n_items)
    read_items = partial(
        items_for_scores,
        size=source.shape,
        units=None if user_ids is None else Units(user_ids),
        item_ids=item_ids,
    )
    held_out = read_items(relevant, RELEVANT)
    if (held_out.sizes != 1).any():
        raise InputError("counts (--counts) need one relevant item of each user of the scores")
    popularity = _popularity_of(np.arange(n_items) if item_ids is None else item_ids, counts)
    stratum = strata_of_items(popularity)
    seen_items = read_items(seen, SEEN) if has_seen_items(seen) else None
    excluded = _excluded_items(held_out.item, seen_items, source.shape)
    excluded_row, excluded_item = excluded.nonzero()
    n_excluded = sums_by_stratum(excluded_row, excluded_item, stratum, n_users)
    candidates = np.bincount(stratum) - n_excluded  # shape (users, strata)
    starts_of_blocks = np.arange(BLOCK_SIZE, n_users, BLOCK_SIZE)
    better = [
        _count_better(source.rows(rows), held_out.item[rows], excluded[rows], stratum)
        for rows in np.split(np.arange(n_users), starts_of_blocks)
    ]
    all_counts = StratumCounts(
        better=np.concatenate(better),
        drawn=candidates,
        candidates=candidates,
        log_popularity=mean_log_popularity(popularity, stratum),
    )
    return Census(counts=all_counts, excluded=excluded, popularity=popularity, stratum=stratum)


def _excluded_items(held_out: Int, seen: Items | None, shape: Size) -> sparse.csr_array:
    """Return a matrix of the held-out item and the seen items of each user, nonzero there.

    Users at the end of the scores may have no seen items, and are then missing from `seen`.
    """
    n_users, _ = shape
    cells = np.arange(n_users), held_out
    excluded = sparse.csr_array((np.ones(n_users), cells), shape=shape)
    if seen is None:
        return excluded
    seen_matrix = seen.append_users(n_users - seen.n_users).matrix()
    return sparse.csr_array(excluded + seen_matrix.astype(np.float64))


def _checked_ids(ids: Any, name: str, size: int) -> Ids | None:
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
    count = counts.counts[position]  # of any item where the position is -1
    return np.where(has_count, count, NEW_ITEM)


def _count_better(scores: Any, held_out: Int, excluded: sparse.csr_array, stratum: Int) -> Int:
    """Count the candidates above the held-out item of each user of a block by stratum.

    All candidates have a random key, which breaks ties: the lowest is first.

    Parameters
    ----------
    scores, excluded
        Scores, and items that are no candidates; shape (users, items).
    held_out, stratum
        Held-out item of each user, and stratum of each item.

    Returns
    -------
    ndarray
        Shape (users, strata).
    """
    array = to_numpy(scores)
    cells = np.arange(held_out.size), held_out  # of the held-out items, one in each row
    own_score = array[cells][:, np.newaxis]
    is_better = array > own_score
    is_tied = array == own_score
    has_ties = is_tied.sum() > held_out.size  # each held-out item is tied with itself
    if has_ties:
        key = generator(0, "ties").random(array.shape)
        own_key = key[cells][:, np.newaxis]
        is_better |= is_tied & (key < own_key)
    is_candidate = excluded.toarray() == 0
    row, item = np.nonzero(is_better & is_candidate)
    return sums_by_stratum(row, item, stratum, held_out.size)
