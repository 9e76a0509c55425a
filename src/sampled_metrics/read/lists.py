"""Ranks of relevant items in lists of the users' best items, or in pairs of all candidates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments, check_n_items
from sampled_metrics._base.array_types import Array, Bool, Codes, Floats, Int, ItemsByUser
from sampled_metrics._base.arrays import (
    count_by_score,
    first_duplicate,
    nontrivial_grades,
    pair_codes,
    select_rows,
    sorted_unique,
)
from sampled_metrics._base.arrow import encode, positions
from sampled_metrics._base.calls import place_of, public, warn_all
from sampled_metrics._base.columns import (
    NO_ITEM,
    NO_ITEM_NAMES,
    index_ids,
    is_no_item,
    require_all,
)
from sampled_metrics._base.conversion import as_array, numeric_array
from sampled_metrics._base.defaults import MAX_ITEMS
from sampled_metrics._base.errors import InputError, NoRelevantItemsError
from sampled_metrics._base.units import Units
from sampled_metrics.checks.items import signs_of_common_item
from sampled_metrics.checks.lists import (
    signs_in_hits,
    signs_of_contradiction,
    signs_of_ranks_as_scores,
    signs_of_sorted_ids,
)
from sampled_metrics.ranks import Ranks
from sampled_metrics.read.common_ids import compare_ids
from sampled_metrics.read.items import (
    INTEGER_REMEDY,
    RELEVANT,
    SEEN,
    Items,
    candidate_rows,
    describe_seen_relevant,
    has_seen_items,
    items_by_unit,
    relevant_by_unit,
    require_distinct_pairs,
)
from sampled_metrics.read.list_order import (
    is_named_score,
    read_order,
    refuse_numbered_rows,
    refuse_several_lists,
)
from sampled_metrics.read.roles import ITEM, USER, VISIT, NamesByRole, check_roles
from sampled_metrics.read.scores import note_missing_seen
from sampled_metrics.read.tables import ColumnNames, Table, as_table, read_table

_PADDING_PROBLEM = (
    "-1, -100 or None, which mark the end of a list; give unknown items ids of their own"
)
_FILLER_SCORE = np.finfo(np.float32).min  # of items with which implicit fills short lists


class Lists(NamedTuple):
    """The rows of all lists, a list for each user or visit.

    Attributes
    ----------
    user, item
        Codes of units and items.
    score
        Numbers that are higher for better items.
    units, item_ids
        Users, or visits of users, and ids of items, by code.
    has_scores
        Whether `score` contains scores, rather than the order of the list.
    n_rows
        Number of rows of arrays without ids; 0 for other lists.
    by_row
        Whether lists are the rows of arrays, with or without ids.
    columns
        Columns of the ids of units, see `Table.units`.
    has_ranks
        Whether `score` is -1, -2, -3 and so on for each unit.
    """

    user: Codes | Int
    item: Codes | Int
    score: Floats | Int
    units: Units
    item_ids: pa.Array
    has_scores: bool = True
    n_rows: int = 0
    by_row: bool = False
    columns: ColumnNames = (USER,)
    has_ranks: bool = False

    def lengths(self) -> Int:
        """Return the number of items in each list."""
        return np.bincount(self.user, minlength=len(self.units))


def read_lists(data: Any) -> Lists:
    """Read a table, a TREC run, or a dictionary of lists or of scores by item.

    Rows without an item (-1 or -100) are padding at the end of a list, and are dropped.
    """
    if isinstance(data, Lists):
        return data
    table = as_table(data)
    if table is None:
        raise InputError(f"found {type(data).__name__}; expected a table or a dictionary of lists")
    user, units = table.units()
    is_item = table.has_item()
    if table.has_several_visits():
        refuse_numbered_rows(table, units)
    refuse_several_lists(table, user)
    items = table.take(is_item)
    item, item_ids = items.codes(ITEM)
    user_of_item = user[is_item]
    require_distinct_pairs(items, user_of_item, item, _keep_best_places(table))
    score, has_scores = read_order(table, user)
    _require_padding_last(table, user, score, is_item)
    if not item.size:
        raise InputError(f"all items are {NO_ITEM_NAMES}, which mark none", path=table.path)
    lists = Lists(
        user=user_of_item,
        item=item,
        score=score[is_item],
        units=units,
        item_ids=item_ids,
        has_scores=has_scores,
        columns=table.unit_columns(),
        has_ranks="rank" in table.columns,
    )
    if not has_scores:
        warn_all(signs_of_sorted_ids(lists))
    return lists


def _require_padding_last(
    table: Table, user: Codes | Int, score: Floats | Int, is_item: Bool
) -> None:
    """Raise InputError for the first item below a row of its list without an item, as padding.

    `user`, `score` (higher is better) and `is_item` have one entry for each row of the table.
    """
    if is_item.all():
        return
    n_users = int(user.max()) + 1
    highest_padding = np.full(n_users, -np.inf)  # its score, -inf in lists without padding
    np.maximum.at(highest_padding, user[~is_item], score[~is_item])
    is_below_padding = is_item & (score < highest_padding[user])
    if is_below_padding.any():
        row = int(np.argmax(is_below_padding))
        raise table.error_at(row, f"found an item below {_PADDING_PROBLEM}", ITEM)


def _keep_best_places(table: Table) -> str:
    """Return the end of an error message: how to drop items that a list contains again."""
    if table.is_by_user:
        return "; keep the first place of each, list(dict.fromkeys(items))"
    ids = [table.name_of[column] for column in (*table.unit_columns(), ITEM)]
    expression = f"drop_duplicates({ids})"
    if "rank" in table.columns:
        rank = table.name_of["rank"]
        expression = f"sort_values({rank!r}).{expression}.drop(columns={rank!r})"
    elif "score" in table.columns:
        score = table.name_of["score"]
        expression = f"sort_values({score!r}, ascending=False).{expression}"
    return f"; keep the best place of each, data.{expression}"


def lists_from_arrays(
    ids: ArrayLike,
    scores: ArrayLike | None = None,
    users: ArrayLike | None = None,
    visits: ArrayLike | None = None,
) -> Lists:
    """Read arrays of the best items of users.

    Parameters
    ----------
    ids
        Ids of items, shape (users, K), best first unless there are scores; see `_find_items`.
    scores
        Scores of the same shape. Items with -inf, or with the score of a filler, are dropped.
    users, visits
        Ids of the rows; see `Ranks.from_top_k`.
    """
    users = _users_of_rows(ids, scores, users)
    id_matrix = _pad_lists(ids, None)
    is_item = _find_items(id_matrix)
    n_users = len(id_matrix)
    if scores is None:
        user, position = np.nonzero(is_item)
        score: Array = -position
    else:
        score_matrix = _scores_of_items(scores, is_item)
        is_item &= score_matrix > _FILLER_SCORE
        user, position = np.nonzero(is_item)
        score = score_matrix[is_item]
        warn_all(signs_of_contradiction(user, position, score, distances_are_sound=False))
    listed_ids = id_matrix[is_item]
    item, item_ids = encode(listed_ids)
    units = Units.of_rows(users, visits, n_users)
    if units is not None:
        units.require_unique()
    _require_distinct_items(user, item, listed_ids)
    lists = Lists(
        user=user,
        item=item.astype(np.int64),
        score=score,
        units=units or Units(np.arange(n_users)),
        item_ids=item_ids,
        has_scores=scores is not None,
        n_rows=n_users if units is None else 0,
        by_row=True,
        columns=(USER,) if visits is None else (USER, VISIT),
    )
    if scores is None:
        warn_all(signs_of_sorted_ids(lists))
    return lists


def _require_distinct_items(user: Int, item: Codes, ids: Array) -> None:
    """Raise InputError for the first item that a list contains again.

    Parameters
    ----------
    user, item
        Numbers of the list and the item of each entry.
    ids
        Id of each entry, for the message.
    """
    n_items = int(item.max(initial=-1)) + 1
    are_distinct = sorted_unique(pair_codes(user, item, n_items)).size == item.size
    duplicate = None if are_distinct else first_duplicate(user, item)
    if duplicate is not None:
        raise InputError(
            f"item {ids[duplicate]} occurs twice in a list of ids; keep only the first occurrence",
            row=int(user[duplicate]) + 1,
        )


def _scores_of_items(scores: ArrayLike, is_item: Bool) -> Array:
    """Return the scores of lists, shape (users, K), which are numbers wherever there is an item."""
    values = numeric_array(_pad_lists(scores, -np.inf), "scores")
    if values.shape != is_item.shape:
        raise InputError(f"scores have shape {values.shape}, and ids {is_item.shape}")
    if values.dtype.kind not in "fiu":
        raise InputError(f"scores are {values.dtype}, expected numbers")
    require_all("scores", values[is_item], values[is_item] < np.inf, "finite numbers, or -inf")
    return values


def _users_of_rows(ids: Any, scores: Any, users: ArrayLike | None) -> Any:
    """Return ids of users from the option or, without it, from the index of a DataFrame."""
    indexes = [index_ids(data) for data in (ids, scores) if isinstance(data, pd.DataFrame)]
    for index in indexes:
        if users is None:
            users = index
        elif index is not None and not np.array_equal(index, as_array(users, "users")):
            raise InputError(
                "ids, scores and users have different indexes; expected the same users in the same "
                "order, or arrays (to_numpy())"
            )
    return users


def _pad_lists(rows: Any, filler: Any) -> Array:
    """Convert rows to an array; shorter lists are filled at their ends."""
    if isinstance(rows, list | tuple):
        lengths = [as_array(row, "rows").size for row in rows]
        if len(set(lengths)) > 1:
            width = max(lengths)
            rows = [[*row, *[filler] * (width - len(row))] for row in rows]
    return as_array(rows, "rows")


def _find_items(items: Array) -> Bool:
    """Return which cells of lists contain an id, shape (users, K).

    The others contain -1, -100 or None, which end a list: an id after them is an error.
    """
    if items.ndim != 2 or items.dtype.kind not in "iuUO":
        remedy = f"; {INTEGER_REMEDY}" if items.dtype.kind == "f" else ""
        raise InputError(
            f"ids are {items.dtype} of shape {items.shape}; expected whole numbers or text, users "
            f"x K{remedy}"
        )
    if not len(items):
        raise InputError("ids have no rows; expected whole numbers or text, users x K")
    if items.dtype.kind == "O" and any(np.ndim(item) for item in items.flat):
        raise InputError("ids contain arrays; expected whole numbers or text, users x K")
    is_item = ~is_no_item(items) & (items != None)  # noqa: E711 - elementwise
    if items.dtype.kind == "O":  # numbers beside None
        is_item &= ~np.isin(items, NO_ITEM)
    is_after_end = ~is_item[:, :-1] & is_item[:, 1:]  # of each cell but the first
    if is_after_end.any():
        row = int(np.argmax(is_after_end.any(axis=1)))
        raise InputError(f"found an item after {_PADDING_PROBLEM}", row=row + 1)
    return is_item


@public(columns=check_roles)
def ranks_from_pairs(
    data: Any, *, min_relevance: float = 0.0, columns: NamesByRole = None
) -> Ranks:
    """Rank items of a label above 0 in a table with all candidates; see `Ranks.from_pairs`.

    Rows of one user, or of one visit of a user, belong together.
    """
    table = read_table(data, "pairs (user_id, item_id, score, label)")
    return _rank_labelled(table).at_least(min_relevance)


def _rank_labelled(table: Table) -> Ranks:
    """Rank the items of a label above 0 among all rows of their user or visit.

    Users without such an item are dropped.
    """
    table.require("score", "label")
    table = candidate_rows(table)
    codes, units = table.units()
    if ITEM in table.columns:
        item, _ = table.codes(ITEM)
        remedy = ""
        if table.unknown_columns and VISIT not in table.columns:
            remedy = (
                "; if rows are of several visits of a user, columns={'visit': NAME} (--column "
                "visit=NAME) distinguishes them"
            )
        require_distinct_pairs(table, codes, item, remedy)
    user = codes.astype(np.int64)
    label = table.finite_numbers("label")
    score = table.ordered_numbers("score")
    warn_all(signs_of_ranks_as_scores(user, score, is_named_score=is_named_score(table)))
    n_better, n_tied = count_by_score(user, score)
    relevant_rows = np.flatnonzero(label > 0.0)
    best_first = np.lexsort((n_better[relevant_rows], user[relevant_rows]))  # for each user
    relevant_rows = relevant_rows[best_first]
    n_candidates = np.bincount(user)
    n_relevant = np.bincount(user[relevant_rows], minlength=len(units))
    has_relevant = n_relevant > 0
    users, visits = units.take(has_relevant).users_and_visits()
    return Ranks(
        n_candidates[has_relevant],
        n_better[relevant_rows],
        n_tied[relevant_rows],
        n_found=n_relevant[has_relevant],
        relevance=nontrivial_grades(label[relevant_rows]),
        users=users,
        visits=visits,
    )


@public(columns=check_roles)
def ranks_from_lists(
    recommended: Any,
    relevant: ItemsByUser,
    seen: ItemsByUser = None,
    *,
    n_items: int | None = None,
    complete: bool = False,
    missing: str = "refuse",
    min_relevance: float = 0.0,
    columns: NamesByRole = None,
) -> Ranks:
    """Find relevant items in the users' lists; see `Ranks.from_lists`."""
    check_arguments(complete=complete, min_relevance=min_relevance, missing=missing)
    n_items = check_n_items(n_items)
    options = _ListOptions(
        n_items=n_items, complete=complete, missing=missing, min_relevance=min_relevance
    )
    ranks = _rank_in_lists(read_lists(recommended), relevant, seen, options)
    return ranks.at_least(min_relevance)


class _ListOptions(NamedTuple):
    """How lists are read as parts of rankings.

    Attributes
    ----------
    n_items
        Number of items of a full ranking, if it is known.
    complete
        Whether each list contains all candidates.
    missing
        With "last", users without a list, items below its end, and items that a complete list lacks
        rank below all candidates; with "refuse" they are an error, but for items below the end
        of lists that are not complete.
    min_relevance
        Grades below it are not relevant for metrics other than NDCG.
    """

    n_items: int | None
    complete: bool
    missing: str
    min_relevance: float


def _rank_in_lists(
    lists: Lists, relevant: ItemsByUser, seen: ItemsByUser, options: _ListOptions
) -> Ranks:
    """Count better and tied items for the relevant items in the users' lists.

    Users are in the order in which they first appear among the relevant items. Equal scores are
    tied, but items below the end of a list are not tied with its last item. `seen` items are
    removed from the lists; it is None, "none" or an empty list if there are none.
    """
    if relevant is None:
        raise NoRelevantItemsError("lists need the relevant items; pass relevant (--relevant)")
    if options.complete and options.n_items is not None:
        raise InputError(
            "complete (--complete) lists say how many items are ranked; drop n_items (--n-items)"
        )
    with place_of(relevant):
        units, relevant_items = relevant_by_unit(
            relevant,
            lists.columns,
            lists.units,
            by_row=lists.by_row,
            min_relevance=options.min_relevance,
        )
        lists = lists._replace(units=units)
    warn_all(signs_of_common_item(relevant_items))
    n_listed = len(lists.item_ids)
    if has_seen_items(seen):
        with place_of(seen):
            seen_items = items_by_unit(
                seen,
                SEEN,
                lists.columns,
                lists.units,
                others=relevant_items.units,
                by_row=lists.by_row,
            )
            lists = _remove_seen(lists, relevant_items, seen_items)
    elif seen is None and lists.has_scores and (lists.lengths() == n_listed).all():
        # All lists have all items, like scores.
        note_missing_seen(len(lists.units), n_listed)
    compare_ids(ITEM, RELEVANT, relevant_items.item_ids, "the lists", lists.item_ids)
    return _count_relevant(relevant_items, lists, options)


def _remove_seen(lists: Lists, relevant: Items, seen: Items) -> Lists:
    """Return the lists without the seen items of their users, none of which may be relevant."""
    compare_ids(USER, SEEN, seen.units.names(), "the lists", lists.units.names())
    compare_ids(ITEM, SEEN, seen.item_ids, "the lists", lists.item_ids)
    seen_among_relevant = seen.restrict_to(relevant.units, relevant.item_ids)
    is_seen = seen_among_relevant.has(relevant.user, relevant.item)
    if is_seen.any():
        user, item = relevant.pair(int(np.argmax(is_seen)))
        count = describe_seen_relevant(relevant.user[is_seen])
        raise InputError(f"item {item} of user {user} is both relevant and seen{count}")
    seen_in_lists = seen.restrict_to(lists.units, lists.item_ids)
    is_new = ~seen_in_lists.has(lists.user.astype(np.int64), lists.item.astype(np.int64))
    if not is_new.any():
        raise InputError(
            "all listed items were seen by their users; expected at least one unseen item"
        )
    return lists._replace(
        user=lists.user[is_new],
        item=lists.item[is_new],
        score=lists.score[is_new],
        has_ranks=False,
    )


class _FoundItems(NamedTuple):
    """Where relevant items are in lists.

    Attributes
    ----------
    list_of_user
        Position of the list of each user with relevant items, -1 without one; shape (users,).
    listed_item
        Code of each relevant item in `Lists.item_ids`, -1 if it is in no list.
    row
        Row of each relevant item in the list of its user, -1 where it is not found.
    """

    list_of_user: Int
    listed_item: Int
    row: Int

    @property
    def is_found(self) -> Bool:
        """Whether each relevant item is in the list of its user."""
        return self.row >= 0


def _find_relevant(relevant: Items, lists: Lists, missing: str) -> _FoundItems:
    """Find the relevant items in the lists of their users; see `_find_lists` for `missing`."""
    list_of_user = _find_lists(relevant, lists, missing)
    listed_item = positions(relevant.item_ids, lists.item_ids)[relevant.item]
    row = _find_rows(lists, list_of_user[relevant.user], listed_item)
    return _FoundItems(list_of_user, listed_item, row)


def _count_relevant(relevant: Items, lists: Lists, options: _ListOptions) -> Ranks:
    """Return the ranks of each user's relevant items, best first."""
    found = _find_relevant(relevant, lists, options.missing)
    if options.complete:
        if options.missing == "refuse":
            _require_all_found(relevant, found)
        counts = _count_in_complete_lists(relevant, lists, found)
    else:
        counts = _count_in_truncated_lists(relevant, lists, found, options)
    n_better, n_tied, best_first = counts.items
    # Items that a complete list lacks are candidates; those below the end of others are not found.
    is_counted = np.ones(best_first.size, bool) if options.complete else found.is_found
    counted = best_first[is_counted[best_first]]
    users, visits = relevant.units.users_and_visits()
    return Ranks(
        counts.n_candidates,
        n_better[counted],
        n_tied[counted],
        n_found=counts.n_found,
        n_relevant=relevant.sizes,
        depth=counts.depth,
        relevance=select_rows(relevant.relevance, best_first),
        users=users,
        visits=visits,
        n_missing=int(np.count_nonzero(counts.is_missing)),
    )


class _ListCounts(NamedTuple):
    """Fields of `Ranks` from lists, and which users lack relevant items or their list.

    Attributes
    ----------
    n_candidates, n_found, depth, is_missing
        Shape (users with relevant items,).
    items
        Counts of all relevant items.
    """

    n_candidates: Int
    n_found: Int
    depth: Int
    is_missing: Bool
    items: _SortedItems


class _SortedItems(NamedTuple):
    """Counts of relevant items, and the order that puts those of each user best first.

    Attributes
    ----------
    n_better, n_tied
        Better and tied items of each item; shape (items,).
    best_first
        Positions of the items, in order.
    """

    n_better: Int
    n_tied: Int
    best_first: Int


def _require_all_found(relevant: Items, found: _FoundItems) -> None:
    """Raise InputError for the first relevant item that is not in the list of its user."""
    if not found.is_found.all():
        user, item = relevant.pair(int(np.argmin(found.is_found)))
        raise InputError(
            f"relevant item {item} is not in the list of user {user}: drop complete (--complete), "
            "or pass missing='last' (--missing last)"
        )


def _count_in_complete_lists(relevant: Items, lists: Lists, found: _FoundItems) -> _ListCounts:
    """Count better and tied items in lists of all candidates.

    Relevant items that a list lacks are candidates as well, tied below its end. A user without a
    list has the items of all lists as candidates.
    """
    is_in_some_list = found.listed_item >= 0  # of each relevant item
    n_relevant_listed = np.bincount(relevant.user[is_in_some_list], minlength=relevant.n_users)
    n_others_listed = len(lists.item_ids) - n_relevant_listed
    has_no_list = found.list_of_user < 0
    length = np.where(has_no_list, n_others_listed, _lengths_of_lists(lists, found.list_of_user))
    n_lost = _count_lost(relevant, found)
    n_candidates = length + n_lost
    return _ListCounts(
        n_candidates=n_candidates,
        n_found=relevant.sizes,
        depth=n_candidates,
        is_missing=n_lost > 0,
        items=_sort_items(relevant, lists, found, length, n_lost),
    )


def _count_in_truncated_lists(
    relevant: Items, lists: Lists, found: _FoundItems, options: _ListOptions
) -> _ListCounts:
    """Count better and tied items in lists of the best items.

    The ranking of a user is known down to the end of the list. If missing items rank last, it is
    known as a whole: the items that are not found are the last candidates.
    """
    length = _lengths_of_lists(lists, found.list_of_user, options.n_items)
    hits = _count_hits(relevant, found.is_found, options.min_relevance)
    warn_all(signs_in_hits(length, *hits, _count_known_items(relevant, lists, options.n_items)))
    n_lost = _count_lost(relevant, found)
    depth = length
    if options.missing == "last":
        last_found = MAX_ITEMS if options.n_items is None else options.n_items - n_lost
        depth = np.maximum(last_found, length)
    return _ListCounts(
        n_candidates=np.full_like(length, options.n_items or 0),
        n_found=relevant.sizes - n_lost,
        depth=depth,
        is_missing=found.list_of_user < 0,
        items=_sort_items(relevant, lists, found, length, n_lost),
    )


def _count_lost(relevant: Items, found: _FoundItems) -> Int:
    """Count the relevant items of each user that are not in the list."""
    n_found = np.bincount(relevant.user[found.is_found], minlength=relevant.n_users)
    return relevant.sizes - n_found


def _sort_items(
    relevant: Items, lists: Lists, found: _FoundItems, length: Int, n_lost: Int
) -> _SortedItems:
    """Count and sort relevant items; those not found are tied below the end of the list.

    `length` and `n_lost` are the items of each user's list, and the relevant ones not found.
    """
    owner = relevant.user
    is_found = found.is_found
    n_better = length[owner]
    n_tied = n_lost[owner] - 1
    n_better[is_found], n_tied[is_found] = _count_in_lists(lists, found.row[is_found])
    best_first = np.lexsort((n_better, ~is_found, owner))
    return _SortedItems(n_better, n_tied, best_first)


def _count_known_items(relevant: Items, lists: Lists, n_items: int | None) -> int:
    """Return the number of items that are listed or relevant, or `n_items` if that is more."""
    n_unlisted = np.count_nonzero(positions(relevant.item_ids, lists.item_ids) < 0)
    return max(n_items or 0, len(lists.item_ids) + int(n_unlisted))


def _lengths_of_lists(lists: Lists, list_of_user: Int, n_items: int | None = None) -> Int:
    """Return the length of the list of each user, 0 without one; at most `n_items`."""
    lengths = lists.lengths()
    if n_items is not None and lengths.max() > n_items:
        longest = lists.units.name(int(np.argmax(lengths)))
        raise InputError(
            f"the list of user {longest} has {lengths.max()} items, expected at most {n_items}"
        )
    return np.where(list_of_user < 0, 0, lengths[list_of_user])


def _count_in_lists(lists: Lists, rows: Int) -> tuple[Int, Int]:
    """Return how many items are above, and level with, the items of some rows of the lists."""
    if lists.has_ranks:
        rank = -lists.score[rows].astype(np.int64)
        return rank - 1, np.zeros(rows.size, np.int64)
    better, tied = count_by_score(lists.user, lists.score)
    return better[rows], tied[rows]


def _count_hits(relevant: Items, is_found: Bool, min_relevance: float) -> tuple[Int, Int]:
    """Count the items of each user of at least a grade, and those of them that are found."""
    owner = relevant.user
    is_relevant = np.ones(owner.size, bool)
    if relevant.relevance is not None:
        is_relevant = relevant.relevance >= min_relevance
    n_relevant = np.bincount(owner[is_relevant], minlength=relevant.n_users)
    return n_relevant, np.bincount(owner[is_relevant & is_found], minlength=relevant.n_users)


def _find_lists(relevant: Items, lists: Lists, missing: str) -> Int:
    """Return the position of the list of each user with relevant items, -1 without one.

    If `missing` is "refuse", each user must have one; some user must in any case.
    """
    list_of_user = relevant.units.positions_in(lists.units)
    without = np.flatnonzero(list_of_user < 0)
    if without.size == list_of_user.size:
        first = lists.units.name(0)
        raise InputError(f"no list for any relevant user; the first list is of user {first}")
    if not without.size:
        return list_of_user
    user = relevant.units.name(int(without[0]))
    if lists.n_rows:
        raise InputError(
            f"no list for user {user}; expected rows 0 to {lists.n_rows - 1}, or their ids by "
            "users="
        )
    if missing == "refuse":
        raise InputError(
            f"no list for user {user} ({without.size} users have none); missing='last' "
            "(--missing last) counts their items as not found"
        )
    return list_of_user


def _find_rows(lists: Lists, list_of_pair: Int, item_of_pair: Int) -> Int:
    """Return the row of each pair of a list and an item, -1 where it is missing; pairs differ.

    Pairs of a list or an item that does not exist, which is -1, are missing.
    """
    possible = np.flatnonzero((list_of_pair >= 0) & (item_of_pair >= 0))
    pair_list, pair_item = list_of_pair[possible], item_of_pair[possible]
    n_pairs_of_list = np.bincount(pair_list, minlength=len(lists.units))
    if n_pairs_of_list.max(initial=0) <= 1:
        rows, pair = _match_one_per_list(lists, pair_list, pair_item)
    else:
        rows, pair = _match_pairs(lists, pair_list, pair_item)
    row_of_pair = np.full(list_of_pair.size, -1)
    row_of_pair[possible[pair]] = rows
    return row_of_pair


def _match_one_per_list(lists: Lists, pair_list: Int, pair_item: Int) -> tuple[Int, Int | Codes]:
    """Return rows, and the pair of each, if a list has one pair at most; faster than a search."""
    n_lists = len(lists.units)
    item_of_list = np.full(n_lists, -1, np.int32)
    item_of_list[pair_list] = pair_item
    pair_of_list = np.full(n_lists, -1, np.int32)
    pair_of_list[pair_list] = np.arange(pair_list.size)
    rows = np.flatnonzero(item_of_list[lists.user] == lists.item)
    return rows, pair_of_list[lists.user[rows]]


def _match_pairs(lists: Lists, pair_list: Int, pair_item: Int) -> tuple[Int, Int]:
    """Return the rows that have one of the pairs of a list and an item, and the pair of each."""
    n_items = len(lists.item_ids)
    codes_of_pairs = pair_codes(pair_list, pair_item, n_items)
    codes_of_rows = pair_codes(lists.user, lists.item, n_items)
    pair_of_row = positions(codes_of_rows, codes_of_pairs)  # -1 without one
    rows = np.flatnonzero(pair_of_row >= 0)
    return rows, pair_of_row[rows]
