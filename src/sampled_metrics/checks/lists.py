"""Signs of a mistake in lists, and in their order by rank, score or row.

Functions accept a user for each row of a table, numbered from 0. A list is all rows of a user.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from sampled_metrics._base.array_types import Array, Codes, Floats, Int
from sampled_metrics._base.arrays import best_first_order, concatenate_ranges
from sampled_metrics._base.arrow import arrow_to_numpy
from sampled_metrics.checks import Signs

if TYPE_CHECKING:
    from sampled_metrics.read.lists import Lists

MIN_LISTS = 10  # fewer lists may be in some order by chance
_MIN_LISTS_OF_CHANCE = 5 * MIN_LISTS  # fewer lists may contain all relevant items, or few
_MIN_EXPECTED_HITS = 8.0  # if lists and relevant items were independent; fewer vary too much
_MIN_STEPS = 2  # in all lists together; a single one may rise
_MAX_RISING = 0.1  # share of steps in which scores may rise although the order says they fall
_DISTANCES_RISE = 0.9  # scores that rise in more steps beside ranks are distances, and no mistake


def steps_to_next(user: Codes | Int, score: Array, values: Array) -> Array:
    """Return how values change from each item of a list to the next one by falling score.

    Lists follow each other in the order of users. A list of k items has k - 1 steps.

    Examples
    --------
    >>> user = np.array([0, 0, 0, 1, 1])
    >>> steps_to_next(user, np.array([0.9, 0.1, 0.5, 0.3, 0.7]), np.array([10, 12, 17, 20, 24]))
    array([ 7, -5, -4])
    """
    best_first = best_first_order(user, score)
    ordered_values = values[best_first]
    ordered_user = user[best_first]
    is_same_user = ordered_user[1:] == ordered_user[:-1]
    return (ordered_values[1:] - ordered_values[:-1])[is_same_user]


def steps_to_next_row(user: Codes | Int, values: Array) -> Array:
    """Return how values change from each row of a user to the next row of this user."""
    return steps_to_next(user, -np.arange(user.size), values)


def are_ranks(user: Codes | Int, values: Array, starts: tuple[int, ...] = (0, 1)) -> bool:
    """Return whether the numbers of each user are consecutive from one of `starts` on.

    They may be in any order, and must start with the same number for all users: sorted by user,
    they are then lowest, lowest + 1, ... for each.

    Examples
    --------
    >>> are_ranks(np.array([0, 0, 1]), np.array([2, 1, 1]))
    True
    """
    lowest = values.min()
    if lowest not in starts:
        return False
    ascending = values[np.lexsort((values, user))]
    n_values = np.bincount(user)
    return np.array_equal(ascending - lowest, concatenate_ranges(0, n_values))


def signs_of_unread_scores(names: Iterable[str]) -> Signs:
    """Say that columns of numbers in no order are not read, beside rows that are in order."""
    for name in names:
        yield (
            "data",
            f"rows are read best first, without {name}; if it contains scores, name it score",
        )


def signs_of_mixed_rows(user: Codes | Int) -> Signs:
    """Look for rows that are ordered neither by user nor by position in the lists.

    Call it only if the rows are not grouped by user, as those would be a sign, but are in order.
    Rows are ordered by position if all first rows of users come first, then all second rows, and
    so on.
    """
    n_lists = user.max() + 1
    rows_by_user = np.argsort(user, kind="stable")
    position = np.empty(user.size, np.int64)  # of each row among those of its user, from 0
    position[rows_by_user] = concatenate_ranges(0, np.bincount(user))
    are_by_position = (np.diff(position) >= 0).all()
    if n_lists >= MIN_LISTS and not are_by_position:
        yield (
            "data",
            "rows of users are mixed, although the order of rows counts, best first; if they were "
            "shuffled, add a column rank or score",
        )


def signs_of_contradiction(
    user: Codes | Int, rank: Int, score: Array, *, distances_are_sound: bool
) -> Signs:
    """Look for scores that rise from a rank to the next in more than a tenth of all steps.

    Distances rise in nearly all of them, which is no sign if `distances_are_sound`. The user, the
    rank (1 or 0 is best) and the score are those of each row.
    """
    steps = steps_to_next(user, -rank, score)
    share_rising = np.count_nonzero(steps > 0) / max(steps.size, 1)
    may_be_distances = share_rising > _DISTANCES_RISE
    if distances_are_sound and may_be_distances:
        return
    min_steps = _MIN_STEPS if share_rising == 1.0 else MIN_LISTS  # fewer may rise by chance
    if steps.size >= min_steps and share_rising > _MAX_RISING:
        yield (
            "data",
            f"scores rise from one rank to the next in {share_rising:.0%} of rows, so they "
            "contradict the order; drop one of the two (a column rank is used, or else scores)",
        )


def signs_of_ranks_as_scores(user: Codes | Int, score: Floats, *, is_named_score: bool) -> Signs:
    """Look for scores that are 1, 2, 3 and so on for each user, or from 0, as ranks are.

    With few users, only scores from 1 in a column that is not surely one of scores are a sign. The
    user and the score are those of each row.
    """
    if not are_ranks(user, score):
        return
    n_users = user.max() + 1
    has_several_rows = np.bincount(user).min() >= 2  # each user
    are_ranks_from_1 = score.min() == 1 and has_several_rows
    if n_users >= MIN_LISTS or (are_ranks_from_1 and not is_named_score):
        yield (
            "data",
            "scores are 1, 2, 3 and so on for each user; if they are ranks, name them rank",
        )


def signs_of_distances(user: Codes | Int, score: Floats, *, is_by_item: bool) -> Signs:
    """Look for scores that rise from row to row in all lists, as distances do.

    In dictionaries by item the order of items means nothing, so that scores of few users may rise
    by chance. The user and the score are those of each row.
    """
    n_users = user.max() + 1
    if is_by_item and n_users < MIN_LISTS:
        return
    steps = steps_to_next_row(user, score)
    if steps.size >= _MIN_STEPS and (steps > 0).all():
        yield (
            "data",
            "scores rise from row to row in all lists; if they are distances, where the smallest "
            "is best, negate them",
        )


def signs_of_lists_as_ranks(n_users: int) -> Signs:
    """Say that the ranks of relevant items are 1, 2, 3 and so on for each user, as in lists."""
    if n_users >= MIN_LISTS:
        yield (
            "data",
            "ranks are 1, 2, 3 and so on for each user: are all of these items relevant?",
        )


def signs_of_sorted_ids(lists: Lists) -> Signs:
    """Look for lists in which the ids of the items ascend, as after sorting by id."""
    are_numbers = pa.types.is_integer(lists.item_ids.type)
    if len(lists.units) < MIN_LISTS or not are_numbers or lists.lengths().min() < 2:
        return
    ids = arrow_to_numpy(lists.item_ids)
    for rows in (slice(1000), slice(None)):  # all rows only if the first ones ascend
        steps = steps_to_next(lists.user[rows], lists.score[rows], ids[lists.item[rows]])
        if (steps <= 0).any():
            return
    yield (
        "data",
        "the items of all lists ascend; if they were sorted by id, pass them best first",
    )


def signs_in_hits(depth: Int, n_relevant: Int, n_found: Int, n_items: int) -> Signs:
    """Look for lists of all relevant items, of no other items, or of no more than by chance.

    If lists were independent of the relevant items, an item of a list would be relevant with the
    probability n_relevant / n_items.

    Parameters
    ----------
    depth, n_relevant, n_found
        Length of each list, relevant items of its user, and those of them in the list; shape
        (users,).
    n_items
        Number of all items.
    """
    has_relevant = n_relevant > 0
    lengths = depth[has_relevant]
    if lengths.size < _MIN_LISTS_OF_CHANCE or 2 * lengths.max() >= n_items:
        return
    n_hits = int(n_found.sum())
    expected = float((depth * n_relevant).sum()) / n_items  # hits by chance
    most_by_chance = expected + 2.0 * np.sqrt(expected)  # and two standard errors of a count
    n_with_items = np.count_nonzero(lengths)
    has_hits_only = (n_found[has_relevant] == lengths).all()
    if (n_found == n_relevant).all():
        yield (
            "data",
            f"lists of at most {lengths.max()} of {n_items:,} items contain every relevant item; "
            "were users without a hit dropped? For sampled candidates, use `correct`",
        )
    elif has_hits_only and n_with_items >= _MIN_LISTS_OF_CHANCE:
        yield (
            "data",
            f"all {n_hits:,} listed items are relevant; were lists joined with the relevant items? "
            "Pass all items of each list",
        )
    elif expected >= _MIN_EXPECTED_HITS and n_hits <= most_by_chance:
        yield (
            "relevant",
            f"lists contain {n_hits:,} of {n_relevant.sum():,} relevant items, and would contain "
            f"{expected:.0f} by chance; are ids of items the same in both?",
        )
