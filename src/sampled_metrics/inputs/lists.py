"""Ranks of relevant items in lists of the users' best items."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int, ranges, require, select_rows
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.inputs.coincidences import question_lists
from sampled_metrics.inputs.items import (
    items_by_id,
    require_common,
    require_common_items,
    require_different,
)
from sampled_metrics.inputs.options import Ranked
from sampled_metrics.inputs.questions import (
    ask_of_cut_lists,
    ask_of_rank_and_score,
    ask_of_seen_and_relevant,
    ask_of_seen_items,
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
    score: NDArray[Any]  # whose order is that of the lists, higher better
    user_ids: Any
    item_ids: Any

    def lengths(self) -> Int:
        """Return the number of items of each user."""
        return np.bincount(self.user, minlength=len(self.user_ids))

    def rows_of(self, user: Int, item: Int) -> Int:
        """Return the row of each pair of a user and an item, -1 of those that are in no list."""
        width = len(self.item_ids)
        key = np.where(item < 0, -1, user * width + item)
        return places(key, self.user * width + self.item)

    def without(self, seen: Items) -> "_Lists":
        """Return the lists without the items that their users have seen."""
        own = seen.within(self.user_ids, self.item_ids)
        unseen = ~own.has(self.user, self.item)
        if not unseen.any():
            raise InputError("users have seen all items of the lists; expected some that are new")
        return self._replace(
            user=self.user[unseen], item=self.item[unseen], score=self.score[unseen]
        )


def ranks_of_lists(table: Table, ranked: Ranked) -> Ranks:
    """Rank the relevant items by their places in the users' lists, without the items seen.

    Users are in the order in which they first appear among the relevant items, with the length of
    their list as `depth`; lists of other users are ignored. A column `rank` has no ties and holds
    1, 2, 3 ... for each user, in any order of rows. With `score` alone, higher is better and equal
    scores are tied; items below the cut count as not tied with the last of the list.
    """
    relevant = _relevant_of(ranked)
    n_items = ranked.n_items
    lists = _lists_of(table, n_items)
    if ranked.seen is not None:
        with reading(ranked.seen):
            lists = lists.without(_seen_of(ranked.seen, relevant, lists))
    elif "rank" not in table.columns and (lists.lengths() == len(lists.item_ids)).all():
        ask_of_seen_items(len(lists.user_ids), len(lists.item_ids))
    require_common_items("relevant", relevant.item_ids, "the lists", lists.item_ids)
    n_better, n_tied = by_score(lists.user, lists.score)
    owner = relevant.owners
    list_of, item = _in_lists(relevant, lists)
    row = lists.rows_of(list_of[owner], item)
    missing = np.flatnonzero(row < 0)
    if ranked.complete and missing.size:
        user, item = relevant.pair(int(missing[0]))
        raise InputError(f"no relevant item {item} in the list of user {user}: not --complete")
    if n_items and not missing.size:
        ask_of_cut_lists(lists.lengths(), n_items)
    elif not ranked.complete:
        n_known = len(lists.item_ids) + np.unique(relevant.item[item < 0]).size
        depths = lists.lengths()[list_of]
        n_hits = row.size - missing.size
        question_lists(depths, relevant.sizes, n_hits, max(n_known, n_items or 0))
    place = np.where(row < 0, len(n_better), n_better[row])
    order = np.lexsort((place, owner))  # each user's items found, best first, then the others
    found = row[order][row[order] >= 0]
    depth = lists.lengths()[list_of]
    n_candidates = depth
    if not ranked.complete:
        n_candidates = np.full_like(depth, n_items or 0)
    n_relevant = relevant.sizes
    n_found = np.bincount(owner[row >= 0], minlength=depth.size)
    below = n_candidates - depth
    fits = (n_candidates == 0) | (n_relevant - n_found <= below)
    require("n_relevant", n_relevant, fits, "at most n_found and the candidates below depth")
    return Ranks.trusted(
        n_candidates,
        n_better[found],
        n_tied[found],
        n_found=n_found,
        n_relevant=n_relevant,
        depth=depth,
        relevance=select_rows(relevant.relevance, order),
        users=as_numpy(relevant.user_ids),
    )


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
    length = np.bincount(user, minlength=len(user_ids))
    longest = int(np.argmax(length))
    if n_items is not None and length[longest] > n_items:
        found = f"the list of user {user_ids[longest]} has {length[longest]} items"
        raise InputError(f"{found}, expected at most {n_items}")
    score: NDArray[Any]
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


def _in_lists(relevant: Items, lists: _Lists) -> tuple[Int, Int]:
    """Return the number of each user's list, and of each relevant item in them, -1 if in none."""
    list_of = places(relevant.user_ids, lists.user_ids)
    without = np.flatnonzero(list_of < 0)
    if without.size:
        user = relevant.user_ids[int(without[0])]
        problem = f"no list for user {user} ({without.size} users have none)"
        if without.size == list_of.size:
            problem = f"{problem}; the first list is of user {lists.user_ids[0]}"
        raise InputError(problem)
    return list_of, places(relevant.item_ids, lists.item_ids)[relevant.item]


def _seen_of(given: Any, relevant: Items, lists: _Lists) -> Items:
    """Return the items seen by users of lists, of which none may be relevant."""
    seen = items_by_id(given, SEEN)
    require_common("the users of seen", seen.user_ids, "the lists", lists.user_ids)
    require_common_items("seen", seen.item_ids, "the lists", lists.item_ids)
    mine = seen.within(relevant.user_ids, seen.item_ids)
    ask_of_seen_and_relevant(mine.item.size, relevant.item.size, relevant.n_users)
    own = seen.within(relevant.user_ids, relevant.item_ids)
    both = own.has(relevant.owners, relevant.item)
    if both.any():
        user, item = relevant.pair(int(np.argmax(both)))
        raise InputError(f"item {item} of user {user} is both relevant and seen")
    return seen


def by_score(users: Int, score: NDArray[Any]) -> tuple[Int, Int]:
    """Count, for each row, the others of the same user with a higher and with an equal score.

    Examples
    --------
    >>> by_score(np.array([0, 0, 0, 1]), np.array([1.0, 3.0, 1.0, 2.0]))
    (array([1, 0, 1, 0]), array([1, 0, 1, 0]))
    """
    order = np.lexsort((-score, users))
    user, ordered = users[order], score[order]
    begins = np.flatnonzero(np.append(True, (np.diff(user) != 0) | (np.diff(ordered) != 0)))
    level = np.diff(np.append(begins, score.size))
    n_better, n_tied = np.empty(score.size, np.int64), np.empty(score.size, np.int64)
    n_better[order] = np.repeat(ranges(0, np.bincount(users))[begins], level)
    n_tied[order] = np.repeat(level - 1, level)
    return n_better, n_tied
