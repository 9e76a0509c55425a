"""Ranks of relevant items in lists of the users' best items."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Bool, Floats, Int, ranges, require, select_rows
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.packages import pyarrow as pa
from sampled_metrics.inputs.items import items_by_id, require_common, require_different
from sampled_metrics.inputs.options import Ranked
from sampled_metrics.inputs.questions import (
    ask_of_cut_lists,
    ask_of_rank_and_score,
    ask_of_seen_and_relevant,
    ask_of_seen_items,
    question_lists,
)
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.items import RELEVANT, SEEN, Items
from sampled_metrics.tables.arrow import as_numpy, places
from sampled_metrics.tables.names import ITEM, USER
from sampled_metrics.tables.table import Table


class _Lists(NamedTuple):
    """Users, items and scores of the rows of all lists, users and items by number."""

    user: Int
    item: Int
    score: Floats | Int  # whose order is that of the lists, higher better
    user_ids: pa.Array
    item_ids: pa.Array

    def lengths(self) -> Int:
        """Return the number of items of each user."""
        return np.bincount(self.user, minlength=len(self.user_ids))


class _Found(NamedTuple):
    """Where relevant items are in the lists."""

    owner: Int  # user of each relevant item
    row: Int  # in the list of its user
    is_found: Bool
    n_relevant: Int  # of each user
    depth: Int  # length of each user's list
    n_items: int  # in lists or relevant


def ranks_of_lists(table: Table, ranked: Ranked) -> Ranks:
    """Rank the relevant items by their places in the users' lists, without the items seen.

    Users are in the order in which they first appear among the relevant items, with the length of
    their list as `depth`; lists of other users are ignored. A column `rank` has no ties and holds
    1, 2, 3 ... for each user, in any order of rows. With `score` alone, higher is better and equal
    scores are tied; items below the cut count as not tied with the last of the list.
    """
    relevant = _relevant_of(ranked)
    lists = _lists_of(table, ranked.n_items)
    if ranked.seen is not None:
        with reading(ranked.seen):
            lists = _unseen(lists, relevant, items_by_id(ranked.seen, SEEN))
    elif "rank" not in table.columns and (lists.lengths() == len(lists.item_ids)).all():
        ask_of_seen_items(len(lists.user_ids), len(lists.item_ids))
    require_common(ITEM, RELEVANT, relevant.item_ids, "the lists", lists.item_ids)
    found = _find(relevant, lists)
    if ranked.complete and not found.is_found.all():
        user, item = relevant.pair(int(np.argmin(found.is_found)))
        raise InputError(f"no relevant item {item} in the list of user {user}: not --complete")
    _question(found, lists, ranked)
    return _in_order(found, relevant, lists, ranked)


def _relevant_of(ranked: Ranked) -> Items:
    """Return the relevant items, if the options fit lists."""
    ranked.check("lists")
    if ranked.relevant is None:
        raise InputError("lists need a file of relevant items, --relevant")
    if ranked.complete and ranked.n_items is not None:
        raise InputError("--complete lists say how many items are ranked; leave --n-items out")
    with reading(ranked.relevant):
        return items_by_id(ranked.relevant, RELEVANT).with_enough(ranked.min_relevance)


def _lists_of(table: Table, n_items: int | None) -> _Lists:
    """Return the items of all lists with scores that give their order."""
    codes, user_ids = table.codes(USER)
    item, item_ids = table.codes(ITEM)
    user = codes.astype(np.int64)
    require_different(table, user, item)
    length = np.bincount(user)
    longest = int(np.argmax(length))
    if n_items is not None and length[longest] > n_items:
        raise InputError(
            f"the list of user {user_ids[longest]} has {length[longest]} items, "
            f"expected at most {n_items}"
        )
    score: Floats | Int
    if "rank" in table.columns:
        rank = table.whole("rank", 1)
        wanted = np.empty_like(rank)
        wanted[np.lexsort((rank, user))] = ranges(1, length)
        table.refuse(
            "rank",
            rank != wanted,
            rank,
            lambda row: f"1 to {length[user[row]]} once each for user {user_ids[int(user[row])]}",
        )
        if "score" in table.columns:
            ask_of_rank_and_score(user, rank, table.ordered("score"))
        score = -rank
    else:
        score = table.ordered("score")
    return _Lists(user, item.astype(np.int64), score, user_ids, item_ids)


def _unseen(lists: _Lists, relevant: Items, seen: Items) -> _Lists:
    """Return the lists without the items that their users have seen, of which none is relevant."""
    require_common(USER, SEEN, seen.user_ids, "the lists", lists.user_ids)
    require_common(ITEM, SEEN, seen.item_ids, "the lists", lists.item_ids)
    mine = seen.within(relevant.user_ids, seen.item_ids)
    ask_of_seen_and_relevant(mine.item.size, relevant.item.size, relevant.n_users)
    of_relevant = seen.within(relevant.user_ids, relevant.item_ids)
    both = of_relevant.has(relevant.owners, relevant.item)
    if both.any():
        user, item = relevant.pair(int(np.argmax(both)))
        raise InputError(f"item {item} of user {user} is both relevant and seen")
    new = ~seen.within(lists.user_ids, lists.item_ids).has(lists.user, lists.item)
    if not new.any():
        raise InputError("users have seen all items of the lists; expected some that are new")
    return lists._replace(user=lists.user[new], item=lists.item[new], score=lists.score[new])


def _find(relevant: Items, lists: _Lists) -> _Found:
    """Find relevant items in the lists of their users, of whom each must have one."""
    list_of = places(relevant.user_ids, lists.user_ids)
    without = np.flatnonzero(list_of < 0)
    if without.size:
        user = relevant.user_ids[int(without[0])]
        problem = f"no list for user {user} ({without.size} users have none)"
        if without.size == list_of.size:
            problem = f"{problem}; the first list is of user {lists.user_ids[0]}"
        raise InputError(problem)
    owner = relevant.owners
    item = places(relevant.item_ids, lists.item_ids)[relevant.item]
    width = len(lists.item_ids)
    pair = np.where(item < 0, -1, list_of[owner] * width + item)
    row = places(pair, lists.user * width + lists.item)
    n_known = width + np.unique(relevant.item[item < 0]).size
    return _Found(owner, row, row >= 0, relevant.sizes, lists.lengths()[list_of], n_known)


def _question(found: _Found, lists: _Lists, ranked: Ranked) -> None:
    """Ask about lists that hold all relevant items, or no more of them than by chance."""
    if ranked.n_items and found.is_found.all():
        ask_of_cut_lists(lists.lengths(), ranked.n_items)
    elif not ranked.complete:
        n_items = max(found.n_items, ranked.n_items or 0)
        question_lists(found.depth, found.n_relevant, int(found.is_found.sum()), n_items)


def _in_order(found: _Found, relevant: Items, lists: _Lists, ranked: Ranked) -> Ranks:
    """Return the ranks of each user's items that are found, best first."""
    n_better, n_tied = by_score(lists.user, lists.score)
    place = np.where(found.is_found, n_better[found.row], n_better.size)
    order = np.lexsort((place, found.owner))
    rows = found.row[order][found.is_found[order]]
    n_found = np.bincount(found.owner[found.is_found], minlength=found.depth.size)
    n_candidates = found.depth
    if not ranked.complete:
        n_candidates = np.full_like(found.depth, ranked.n_items or 0)
    fits = (n_candidates == 0) | (found.n_relevant - n_found <= n_candidates - found.depth)
    expected = "at most n_found and the candidates below depth"
    require("n_relevant", found.n_relevant, fits, expected)
    return Ranks.trusted(
        n_candidates,
        n_better[rows],
        n_tied[rows],
        n_found=n_found,
        n_relevant=found.n_relevant,
        depth=found.depth,
        relevance=select_rows(relevant.relevance, order),
        users=as_numpy(relevant.user_ids),
    )


def by_score(users: Int, score: Floats | Int) -> tuple[Int, Int]:
    """Count, for each row, the others of the same user with a higher and with an equal score.

    Examples
    --------
    >>> by_score(np.array([0, 0, 0, 1]), np.array([1.0, 3.0, 1.0, 2.0]))
    (array([1, 0, 1, 0]), array([1, 0, 1, 0]))
    """
    order = np.lexsort((-score, users))
    differs = (np.diff(users[order]) != 0) | (np.diff(score[order]) != 0)
    begins = np.flatnonzero(np.append(True, differs))
    level = np.diff(begins, append=score.size)
    n_better = np.empty(score.size, np.int64)
    n_tied = np.empty(score.size, np.int64)
    n_better[order] = np.repeat(ranges(0, np.bincount(users))[begins], level)
    n_tied[order] = np.repeat(level - 1, level)
    return n_better, n_tied
