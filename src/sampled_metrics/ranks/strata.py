"""Counts of negatives by stratum: items of about the same popularity.

The items of a stratum are exchangeable under any design that draws by popularity. So those that are
drawn are a uniform sample of the stratum, whatever the probabilities were, and the numbers of drawn
and of better negatives in each stratum are all that a sample tells: their likelihood is

    prod_h Binomial(better_h; drawn_h, phi_h),

where phi_h is the share of the stratum that is better than the held-out item. Uniform negatives
without ids are the case of one stratum.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sampled_metrics._base.array_types import Float, Int, RowSelection
from sampled_metrics._base.arrays import is_among, sorted_unique

# Largest ratio of popularities in a stratum. With 2 instead of 1.25, draws that favour the popular
# items of a stratum bias estimates by 5 % (MovieLens 1M).
STRATUM_RATIO = 1.25
# Seen items are no candidates if fewer of them were drawn than this share of what uniform draws
# would give; popular draws give more. Counts may have events that the sampler did not know.
SEEN_SHARE = 0.5
JACKKNIFE_GROUPS = 10  # of clusters, or of negatives, that a jackknife leaves out in turn
MIN_ITEMS = 3  # of a stratum; with fewer it joins the next less popular one


class StratumCounts(NamedTuple):
    """Negatives of held-out items by stratum.

    Attributes
    ----------
    better
        Drawn negatives with a higher score than the held-out item, shape (rows, strata).
    drawn
        Different negatives drawn, shape (rows, strata).
    candidates
        Candidates without the held-out item, shape (rows, strata).
    log_popularity
        Mean log of the popularity of the items of each stratum, shape (strata,).
    """

    better: Int
    drawn: Int
    candidates: Int
    log_popularity: Float

    @property
    def mean_negatives(self) -> float:
        """Mean number of different negatives of a row."""
        return float(self.drawn.sum(axis=1).mean())

    def take(self, rows: RowSelection) -> StratumCounts:
        """Return the counts of some rows, selected like elements of an array."""
        return self._replace(
            better=self.better[rows], drawn=self.drawn[rows], candidates=self.candidates[rows]
        )


def group_items(popularity: Float) -> Int:
    """Return the group of each item: popularities in one differ by `STRATUM_RATIO` at most.

    Examples
    --------
    >>> group_items(np.array([8.0, 1, 1, 9, 30]))
    array([1, 0, 0, 1, 2])
    """
    tolerance = 1e-9  # so that rounding does not put a power of the ratio below itself
    level = np.floor(np.log(popularity) / np.log(STRATUM_RATIO) + tolerance)
    return np.unique(level, return_inverse=True)[1].astype(np.int64)


def strata_of_items(popularity: Float) -> Int:
    """Return the stratum of each item, from 0 for the least popular ones.

    Popularities of a stratum differ by a factor of `STRATUM_RATIO` at most, and by more only where
    a stratum has fewer than `MIN_ITEMS` items of its own.

    Examples
    --------
    >>> strata_of_items(np.array([8.0, 1, 1, 1, 8.1, 8.2, 30]))
    array([1, 0, 0, 0, 1, 1, 1])
    """
    group = group_items(popularity)
    size = np.bincount(group)  # of each group, with all groups that joined it
    joined_group = np.arange(size.size)  # of each group, the one that it is a part of
    for small in range(size.size - 1, 0, -1):  # from the most popular group on
        if size[small] < MIN_ITEMS:
            less_popular = small - 1
            size[less_popular] += size[small]
            joined_group[joined_group == small] = less_popular
    _, stratum = np.unique(joined_group[group], return_inverse=True)  # numbered without gaps
    return stratum.astype(np.int64)


def sums_by_stratum(row: Int, item: Int, stratum: Int, n_rows: int) -> Int:
    """Count pairs of rows and items by row and by the stratum of the item.

    Parameters
    ----------
    row, item
        The two of each pair; shape (pairs,).
    stratum
        Stratum of each item; shape (items,).

    Returns
    -------
    ndarray
        Number of pairs, shape (rows, strata).
    """
    n_strata = int(stratum.max(initial=-1)) + 1
    cell = row * n_strata + stratum[item]  # of a table with a row of strata for each row
    return np.bincount(cell, minlength=n_rows * n_strata).reshape(n_rows, n_strata)


def mean_log_popularity(popularity: Float, stratum: Int) -> Float:
    """Return the mean log of the popularity of the items of each stratum, shape (strata,)."""
    return np.asarray(np.bincount(stratum, np.log(popularity)) / np.bincount(stratum))


def unavailable_items(held_out: Int, seen: Int, drawn: Int, n_items: int) -> Int:
    """Return the items that rows could not draw, from those that they drew.

    These are the held-out items, and the seen ones that were not drawn, unless about as many seen
    items were drawn as by chance.

    Parameters
    ----------
    held_out, seen, drawn
        Items of rows as row * n_items + item, each in ascending order.
    n_items
        Number of items of the catalogue.

    Returns
    -------
    ndarray
        Items of rows, in the same form.

    Examples
    --------
    Of 9 items, row 0 has item 0 held out and has seen item 1, and did not draw it.

    >>> unavailable_items(np.array([0]), np.array([1]), np.array([3, 4, 5]), 9)
    array([0, 1])
    >>> unavailable_items(np.array([0]), np.array([1]), np.array([1, 4, 5]), 9)
    array([0])
    """
    is_drawn = is_among(seen, drawn)  # whether each seen item was drawn by its row
    row_of_seen = seen // n_items
    row_of_drawn = drawn // n_items
    n_drawn_of_row = np.bincount(row_of_drawn, minlength=int(row_of_seen.max(initial=0)) + 1)
    # A candidate would be drawn with the probability n_drawn_of_row / n_items.
    n_drawn_by_chance = n_drawn_of_row[row_of_seen].sum() / n_items
    are_seen_candidates = is_drawn.sum() >= SEEN_SHARE * n_drawn_by_chance
    if are_seen_candidates:
        return held_out
    return sorted_unique(np.concatenate([held_out, seen[~is_drawn]]))


def deal_in_groups(sizes: Float, groups: int = JACKKNIFE_GROUPS) -> Int:
    """Return a group of each cluster or item, 0 ... groups - 1, of about the same sum of sizes.

    They are dealt from the largest on, to and fro: to the groups 0, 1, ..., groups - 1, then to
    groups - 1, ..., 1, 0, and so on. To divide negatives into groups, the sizes are the
    popularities of the items.

    Examples
    --------
    >>> deal_in_groups(np.array([50.0, 10, 20, 30, 40]), 2)
    array([0, 0, 0, 1, 1])
    """
    largest_first = np.argsort(-np.asarray(sizes), kind="stable")
    turn, position_in_turn = np.divmod(np.arange(largest_first.size), groups)
    is_ascending_turn = turn % 2 == 0
    dealt_group = np.where(is_ascending_turn, position_in_turn, groups - 1 - position_in_turn)
    group = np.empty(largest_first.size, np.int64)
    group[largest_first] = dealt_group
    return group
