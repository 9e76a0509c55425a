"""Lists of the best items of each user, by rank or by score, against relevant items."""

from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.relevant_items import RelevantItems, refuse_repeated
from sampled_metrics.tables import ids
from sampled_metrics.tables.columns import ITEM, USER, Table


def from_lists(table: Table, relevant: RelevantItems, n_items: int | None) -> Ranks:
    """Find the relevant items in the users' lists.

    With a column `rank` there are no ties, and each user's ranks are 1, 2, 3 ... in any order of
    rows. With `score` alone the higher is the better and equal scores are tied; what tied with
    the last of a list but was cut off is not known here.

    Users are in the order in which they first appear among the relevant items; their `depth` is
    the length of their list. The list of a user without relevant items is left out.
    """
    lists = _Lists.read(table)
    _require_lengths(table, lists, n_items)
    by_rank = "rank" in table
    n_better, n_tied = _by_rank(table, lists) if by_rank else _by_score(table, lists)
    wanted, users = ids.numbered(relevant.users)
    list_of = ids.places(users, lists.user_ids)
    _require_lists(table, users, list_of)
    pair, row = lists.find(list_of[wanted], ids.places(relevant.items, lists.item_ids))
    order = np.lexsort((n_better[row], wanted[pair]))
    user, row = wanted[pair][order], row[order]
    n_relevant = np.bincount(wanted)
    with reading(table.path):
        return Ranks(
            np.full(n_relevant.size, n_items or 0),
            n_better[row],
            n_tied[row],
            n_found=np.bincount(user, minlength=n_relevant.size),
            n_relevant=n_relevant,
            depth=lists.length[list_of],
            users=ids.as_numpy(users),
        )


class _Lists(NamedTuple):
    """Users and items of each row, numbered, their ids, and the rows of each user."""

    user: Int
    item: Int
    user_ids: Any
    item_ids: Any
    length: Int

    @classmethod
    def read(cls, table: Table) -> "_Lists":
        user, user_ids = ids.numbered(table.ids(USER))
        item, item_ids = ids.numbered(table.ids(ITEM))
        refuse_repeated(table, user, item)
        return cls(user, item, user_ids, item_ids, np.bincount(user))

    def find(self, user: Int, item: Int) -> tuple[Int, Int]:
        """Look for pairs; return which are there, and their rows. Item -1 is in no list."""
        keys = self.user * len(self.item_ids) + self.item
        wanted = np.where(item < 0, -1, user * len(self.item_ids) + item)
        order = np.argsort(keys)
        place = np.minimum(np.searchsorted(keys, wanted, sorter=order), keys.size - 1)
        pair = np.flatnonzero(keys[order[place]] == wanted)
        return pair, order[place[pair]]


def _by_rank(table: Table, lists: _Lists) -> tuple[Int, Int]:
    rank = table.whole("rank", 1)
    order = np.lexsort((rank, lists.user))
    expected = np.empty_like(rank)
    expected[order] = _place_within(lists.user[order]) + 1
    wrong = np.flatnonzero(rank != expected)
    if wrong.size:
        row = int(wrong[0])
        user = lists.user[row]
        allowed = f"1 to {lists.length[user]} of user {lists.user_ids[int(user)]}, each once"
        raise table.error("rank", row, rank[row], allowed)
    return rank - 1, np.zeros_like(rank)


def _by_score(table: Table, lists: _Lists) -> tuple[Int, Int]:
    """Count rows of the same user with a higher and with an equal score."""
    score = table.finite("score")
    order = np.lexsort((-score, lists.user))
    user, ordered = lists.user[order], score[order]
    begins = np.flatnonzero(
        np.concatenate(([True], (np.diff(user) != 0) | (np.diff(ordered) != 0)))
    )
    level = np.diff(np.append(begins, score.size))
    n_better, n_tied = np.empty(score.size, np.int64), np.empty(score.size, np.int64)
    n_better[order] = np.repeat(_place_within(user)[begins], level)
    n_tied[order] = np.repeat(level - 1, level)
    return n_better, n_tied


def _place_within(user: Int) -> Int:
    """Count from 0 within each run of the same user."""
    lengths = np.bincount(user)
    return np.arange(user.size) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _require_lengths(table: Table, lists: _Lists, n_items: int | None) -> None:
    if n_items is not None and lists.length.max() > n_items:
        longest = int(np.argmax(lists.length))
        raise InputError(
            f"{table.path}: the list of user {lists.user_ids[longest]} has "
            f"{lists.length[longest]} items; allowed: at most {n_items}"
        )


def _require_lists(table: Table, users: Any, list_of: Int) -> None:
    without = np.flatnonzero(list_of < 0)
    if without.size:
        raise InputError(
            f"{table.path}: no list of user {users[int(without[0])]}; allowed: a list of every "
            f"user with relevant items ({without.size} of {list_of.size} have none)"
        )
