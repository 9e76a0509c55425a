"""Ranks of relevant items in lists of the best items of each user, by rank or by score."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int, ranges
from sampled_metrics._base.errors import InputError, InputWarning, reading
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.relevant_items import Pairs
from sampled_metrics.tables import ids
from sampled_metrics.tables.columns import Table

_SEVERAL = 10  # users and items, of which fewer are complete by chance


def from_lists(
    table: Table,
    relevant: Pairs,
    n_items: int | None,
    min_grade: float = 0.0,
    seen: Pairs | None = None,
    complete: bool = False,
) -> Ranks:
    """Rank the relevant items by their places in the users' lists.

    Users are in the order in which they first appear among the relevant items, with the length of
    their list as `depth`; lists of other users are ignored. A column `rank` has no ties and holds
    1, 2, 3 ... for each user, in any order of rows. With `score` alone, higher is better and equal
    scores are tied; items below the cut count as not tied with the last of the list.

    Items in `seen` are taken out of the lists first. Lists that are `complete` hold all candidates
    of their users.
    """
    lists = Pairs.of(table)
    _require_lengths(table, lists, n_items)
    score = _by_rank(table, lists) if "rank" in table else table.ordered("score")
    if seen is not None:
        with reading(table.path):
            _require_unseen(relevant, seen)
        kept = ~lists.among(seen)
        score = score[kept]
        lists = lists._replace(user=lists.user[kept], item=lists.item[kept])
    elif "rank" not in table:
        length, items = lists.items_of_user, len(lists.item_ids)
        if (length == items).all():
            warn_of_seen_items(length.size, items)
    n_better, n_tied = by_score(lists.user, score)
    list_of = ids.places(relevant.user_ids, lists.user_ids)
    _require_lists(table, relevant.user_ids, list_of)
    item = ids.places(relevant.item_ids, lists.item_ids)[relevant.item]
    key = np.where(item < 0, -1, lists.key(list_of[relevant.user], item))
    row = ids.places(ids.column_of(key), ids.column_of(lists.key(lists.user, lists.item)))
    order = np.argsort(relevant.user, kind="stable")
    grades = None
    if relevant.grade is not None:  # of each user's items found, then of the others
        grades = relevant.grade[np.lexsort((row < 0, relevant.user))]
    if complete:
        _require_found(table, relevant, row)
    elif n_items is not None and (row >= 0).all():
        _warn_of_complete_lists(lists, n_items)
    order = order[row[order] >= 0]
    n_relevant, depth = relevant.items_of_user, lists.items_of_user[list_of]
    with reading(table.path):
        return Ranks(
            depth if complete else np.full(n_relevant.size, n_items or 0),
            n_better[row[order]],
            n_tied[row[order]],
            n_found=np.bincount(relevant.user[order], minlength=n_relevant.size),
            n_relevant=n_relevant,
            depth=depth,
            grades=grades,
            min_grade=min_grade,
            users=relevant.user_ids.to_numpy(zero_copy_only=False),
        )


def _by_rank(table: Table, lists: Pairs) -> Int:
    """Return scores that fall with the rank, which is checked."""
    rank = table.whole("rank", 1)
    order = np.lexsort((rank, lists.user))
    length = lists.items_of_user
    expected = np.empty_like(rank)
    expected[order] = ranges(1, length)
    wrong = np.flatnonzero(rank != expected)
    if wrong.size:
        row = int(wrong[0])
        user = lists.user[row]
        expected_ranks = f"1 to {length[user]} once each for user {lists.user_ids[int(user)]}"
        raise table.error("rank", row, rank[row], expected_ranks)
    return -rank


def by_score(users: Int, score: NDArray[Any]) -> tuple[Int, Int]:
    """Count, for each row, the others of the same user with a higher and with an equal score.

    Examples
    --------
    >>> by_score(np.array([0, 0, 0, 1]), np.array([1.0, 3.0, 1.0, 2.0]))
    (array([1, 0, 1, 0]), array([1, 0, 1, 0]))
    """
    order = np.lexsort((-score, users))
    user, ordered = users[order], score[order]
    begins = np.flatnonzero(
        np.concatenate(([True], (np.diff(user) != 0) | (np.diff(ordered) != 0)))
    )
    level = np.diff(np.append(begins, score.size))
    n_better, n_tied = np.empty(score.size, np.int64), np.empty(score.size, np.int64)
    n_better[order] = np.repeat(ranges(0, np.bincount(users))[begins], level)
    n_tied[order] = np.repeat(level - 1, level)
    return n_better, n_tied


def _require_lengths(table: Table, lists: Pairs, n_items: int | None) -> None:
    length = lists.items_of_user
    if n_items is not None and length.max() > n_items:
        longest = int(np.argmax(length))
        raise InputError(
            f"the list of user {lists.user_ids[longest]} has {length[longest]} items, "
            f"expected at most {n_items}",
            path=table.path,
        )


def _require_lists(table: Table, users: Any, list_of: Int) -> None:
    without = np.flatnonzero(list_of < 0)
    if without.size:
        raise InputError(
            f"no list for user {users[int(without[0])]}, who has relevant items ({without.size} of "
            f"{list_of.size} users have no list)",
            path=table.path,
        )


def _require_unseen(relevant: Pairs, seen: Pairs) -> None:
    both = relevant.among(seen)
    if both.any():
        row = int(np.argmax(both))
        user, item = relevant.user_ids[relevant.user[row]], relevant.item_ids[relevant.item[row]]
        raise InputError(f"item {item} of user {user} is both relevant and seen")


def _require_found(table: Table, relevant: Pairs, row: Int) -> None:
    missing = np.flatnonzero(row < 0)
    if missing.size:
        first = int(missing[0])
        user, item = (
            relevant.user_ids[relevant.user[first]],
            relevant.item_ids[relevant.item[first]],
        )
        raise InputError(
            f"relevant item {item} of user {user} is not in the list of the user "
            f"({missing.size} are not), so the lists are not --complete",
            path=table.path,
        )


def _warn_of_complete_lists(lists: Pairs, n_items: int) -> None:
    """Warn if lists that hold every relevant item are shorter than the number of candidates."""
    length = lists.items_of_user
    if length.size >= _SEVERAL and length.max() < n_items:
        warnings.warn(
            f"the lists hold every relevant item, but end at {length.min()} to {length.max()} of "
            f"{n_items} candidates; if nothing is cut off, give --complete and not --n-items",
            InputWarning,
            stacklevel=2,
        )


def warn_of_seen_items(users: int, items: int) -> None:
    """Warn that every user has a score for every item, also for those seen in training."""
    if min(users, items) >= _SEVERAL:
        warnings.warn(
            f"all {users:,} users have scores of all {items:,} items: items seen in training "
            "count as candidates; name them with --seen if they are none",
            InputWarning,
            stacklevel=2,
        )
