"""Ranks of relevant items in lists of the best items of each user, by rank or by score."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int, ranges
from sampled_metrics._base.errors import InputError, InputWarning, reading
from sampled_metrics.ranks.options import Ranked
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.relevant_items import Pairs, read_pairs, read_relevant
from sampled_metrics.tables import ids
from sampled_metrics.tables.casts import as_numpy
from sampled_metrics.tables.columns import Table

_SEVERAL = 10  # users and items, of which fewer are complete by chance


def from_lists(table: Table, ranked: Ranked) -> Ranks:
    """Rank the relevant items by their places in the users' lists.

    Users are in the order in which they first appear among the relevant items, with the length of
    their list as `depth`; lists of other users are ignored. A column `rank` has no ties and holds
    1, 2, 3 ... for each user, in any order of rows. With `score` alone, higher is better and equal
    scores are tied; items below the cut count as not tied with the last of the list.

    Seen items are taken out of the lists first.
    """
    n_items = ranked.n_items
    if ranked.relevant is None:
        raise InputError("lists need a file of relevant items, --relevant", path=table.path)
    if ranked.complete and n_items is not None:
        raise InputError("--complete lists say how many items are ranked; leave --n-items out")
    seen = None if ranked.seen is None else Pairs.encode(read_pairs(ranked.seen, "seen items"))
    relevant = read_relevant(ranked.relevant, ranked.min_grade)
    with reading(table.path):
        lists, score = _scored_lists(table, relevant, seen, n_items)
        n_better, n_tied = by_score(lists.user, score)
        list_of = ids.places(relevant.user_ids, lists.user_ids)
        _require_lists(relevant.user_ids, list_of)
        item = ids.places(relevant.item_ids, lists.item_ids)[relevant.item]
        key = np.where(item < 0, -1, lists.key(list_of[relevant.user], item))
        row = ids.places(key, lists.key(lists.user, lists.item))
        order = np.argsort(relevant.user, kind="stable")
        grades = None
        if relevant.grade is not None:  # of each user's items found, then of the others
            grades = relevant.grade[np.lexsort((row < 0, relevant.user))]
        if ranked.complete:
            _require_found(relevant, row)
        elif n_items is not None and (row >= 0).all():
            _warn_of_complete_lists(lists, n_items)
        order = order[row[order] >= 0]
        n_relevant, depth = relevant.items_of_user, lists.items_of_user[list_of]
        return Ranks(
            depth if ranked.complete else np.full(n_relevant.size, n_items or 0),
            n_better[row[order]],
            n_tied[row[order]],
            n_found=np.bincount(relevant.user[order], minlength=n_relevant.size),
            n_relevant=n_relevant,
            depth=depth,
            grades=grades,
            min_grade=ranked.min_grade,
            users=as_numpy(relevant.user_ids),
        )


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


def warn_of_seen_items(users: int, items: int) -> None:
    """Warn that every user has a score for every item, also for those seen in training."""
    if min(users, items) >= _SEVERAL:
        warnings.warn(
            f"all {users:,} users have scores of all {items:,} items: items seen in training "
            "count as candidates; name them with --seen if they are none",
            InputWarning,
            stacklevel=2,
        )


def _scored_lists(
    table: Table, relevant: Pairs, seen: Pairs | None, n_items: int | None
) -> tuple[Pairs, NDArray[Any]]:
    """Return the items of all lists without those seen, and scores that give their order."""
    lists = Pairs.of(table)
    length = lists.items_of_user
    if n_items is not None and length.max() > n_items:
        longest = int(np.argmax(length))
        raise InputError(
            f"the list of user {lists.user_ids[longest]} has {length[longest]} items, "
            f"expected at most {n_items}"
        )
    score = _by_rank(table, lists) if "rank" in table else table.ordered("score")
    if seen is not None:
        both = np.flatnonzero(relevant.among(seen))
        if both.size:
            user, item = relevant.pair(both[0])
            raise InputError(f"item {item} of user {user} is both relevant and seen")
        kept = ~lists.among(seen)
        return lists._replace(user=lists.user[kept], item=lists.item[kept]), score[kept]
    if "rank" not in table and (length == len(lists.item_ids)).all():
        warn_of_seen_items(length.size, len(lists.item_ids))
    return lists, score


def _by_rank(table: Table, lists: Pairs) -> Int:
    """Return scores that fall with the rank, which is checked."""
    rank = table.whole("rank", 1)
    length = lists.items_of_user
    wanted = np.empty_like(rank)
    wanted[np.lexsort((rank, lists.user))] = ranges(1, length)
    table.refuse(
        "rank",
        rank != wanted,
        rank,
        lambda row: f"1 to {length[lists.user[row]]} once each for user {lists.pair(row)[0]}",
    )
    return -rank


def _require_lists(users: Any, list_of: Int) -> None:
    without = np.flatnonzero(list_of < 0)
    if without.size:
        raise InputError(
            f"no list for user {users[int(without[0])]}, who has relevant items ({without.size} of "
            f"{list_of.size} users have no list)"
        )


def _require_found(relevant: Pairs, row: Int) -> None:
    missing = np.flatnonzero(row < 0)
    if missing.size:
        user, item = relevant.pair(missing[0])
        raise InputError(
            f"relevant item {item} of user {user} is not in the list of the user "
            f"({missing.size} are not), so the lists are not --complete"
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
