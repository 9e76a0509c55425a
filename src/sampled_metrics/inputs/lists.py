"""Counts for relevant items in lists of the users' best items."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments
from sampled_metrics._base.array_types import Array, Bool, Codes, Floats, Int
from sampled_metrics._base.arrays import (
    best_first_order,
    concatenate_ranges,
    count_by_score,
    first_duplicate,
    nontrivial_grades,
    pair_codes,
    run_starts,
    select_rows,
    sorted_unique,
)
from sampled_metrics._base.columns import require_all, require_unique
from sampled_metrics._base.conversion import numeric_array, to_array, to_numpy
from sampled_metrics._base.defaults import MAX_ITEMS
from sampled_metrics._base.errors import InputError, reading, warn_input
from sampled_metrics._base.visits import row_unit_ids
from sampled_metrics.inputs.arrow_columns import (
    arrow_to_numpy,
    decode_categories,
    encode,
    is_numeric,
    is_text,
    positions,
)
from sampled_metrics.inputs.counting import RankCounts
from sampled_metrics.inputs.item_arrays import INTEGER_REMEDY
from sampled_metrics.inputs.item_tables import require_distinct_pairs
from sampled_metrics.inputs.items import RELEVANT, SEEN, Items, describe_seen_relevant
from sampled_metrics.inputs.roles import ITEM, USER, VISIT, normalise_name
from sampled_metrics.inputs.tables import ColumnNames, Table, as_table, read_table
from sampled_metrics.inputs.units import items_by_unit, relevant_by_unit
from sampled_metrics.inputs.warnings import (
    warn_about_candidates_seen,
    warn_about_common_item,
    warn_about_different_ids,
)

_FILLER_SCORE = np.finfo(np.float32).min  # score of items that implicit fills short lists with
_MIN_LISTS = 10  # lists; fewer are in some order by chance
_MIN_STEPS = 2  # steps in all lists together; one rises by chance
_SAMPLED_TEXTS = 1000  # texts that may be numbers
_SCORE_NAMES = ("score", "rating")  # evidently calls scores and ranks prediction
_MIN_EXPECTED_HITS = 8.0  # relevant items in lists, if both were independent


class Lists(NamedTuple):
    """Users, items and scores of the rows of all lists, users and items by number."""

    user: Codes | Int
    item: Codes | Int
    score: Floats | Int  # higher is better
    user_ids: pa.Array
    item_ids: pa.Array
    has_scores: bool = True
    n_rows: int = 0  # in arrays, which hold a list of each user
    by_row: bool = False  # whether lists are those of the rows of arrays, also with ids
    columns: ColumnNames = (USER,)  # those of the ids of units, see `Table.units`
    has_ranks: bool = False  # whether scores are -1, -2, -3 and so on for each user

    def lengths(self) -> Int:
        """Return the number of items of each user, or of each visit."""
        return np.bincount(self.user, minlength=len(self.user_ids))


def read_lists(data: Any) -> Lists:
    """Take a table, a TREC run, or a dictionary of lists or of scores by item.

    The order is by `rank`, else by `score`, else by the rows.
    """
    if isinstance(data, Lists):
        return data
    table = as_table(data)
    if table is None:
        raise InputError(f"found {type(data).__name__}; expected a table or a dictionary of lists")
    user, user_ids = table.units()
    item, item_ids = table.codes(ITEM)
    if table.has_several_visits():
        _refuse_numbered_rows(table, user_ids)
    _refuse_several_lists(table, user)
    require_distinct_pairs(table, user, item)
    score, has_scores = _read_order(table, user)
    has_ranks = "rank" in table.columns
    lists = Lists(user, item, score, user_ids, item_ids, has_scores, has_ranks=has_ranks)
    lists = lists._replace(columns=table.unit_columns())
    if not has_scores:
        _warn_if_ids_are_sorted(lists)
    return lists


def count_labelled_pairs(data: Any) -> RankCounts:
    """Count candidates above items of label 1, in a table with all candidates of each user.

    Rows of one user, or of one visit of a user, belong together.
    """
    table = read_table(data, "pairs (user_id, item_id, score, label)")
    table.require("score", "label")
    codes, user_ids = table.units()
    if ITEM in table.columns:
        require_distinct_pairs(table, codes, table.codes(ITEM)[0])
    user = codes.astype(np.int64)
    grade = table.finite_numbers("label")
    score = table.ordered_numbers("score")
    warn_if_scores_are_ranks(table, user, score)
    better, tied = count_by_score(user, score)
    held = np.flatnonzero(grade > 0.0)
    held = held[np.lexsort((better[held], user[held]))]
    n_found = np.bincount(user[held], minlength=len(user_ids))
    is_taken = n_found > 0
    return RankCounts(
        np.bincount(user)[is_taken],
        better[held],
        tied[held],
        n_found=n_found[is_taken],
        relevance=nontrivial_grades(grade[held]),
        users=arrow_to_numpy(user_ids)[is_taken],
    )


def _refuse_numbered_rows(table: Table, visits: pa.Array) -> None:
    """Refuse visits of a row each, which number the rows of lists."""
    if len(visits) == len(table):
        name = table.name_of(VISIT)
        raise InputError(
            f"each row has its own {name}: does it number the rows? Leave it out; it holds visits "
            "if rows of one belong together",
            path=table.path,
        )


def _read_order(table: Table, user: Codes | Int) -> tuple[Floats | Int, bool]:
    """Return numbers that are higher for better items, and whether they are scores."""
    if "rank" in table.columns:
        rank = _one_based_ranks(table, user)
        _require_consecutive_ranks(table, user, rank)
        if "score" in table.columns:  # or a distance, which rises in all rows
            _warn_if_scores_contradict_order(user, rank, table.ordered_numbers("score"), most=0.9)
        return -rank, False
    if "score" in table.columns:
        score = table.ordered_numbers("score")
        warn_if_scores_are_ranks(table, user, score)
        _warn_if_scores_are_distances(table, user, score)
        return score, True
    are_together = np.count_nonzero(np.diff(user)) + 1 == user.max() + 1
    for name, column in table.unknown_columns.items():
        is_float = pa.types.is_floating(column.type)
        is_unsteady = not is_float and _is_unsteady(user, column)
        if is_float or _is_rank_column(user, column) or (is_unsteady and not are_together):
            raise InputError(
                f"column {name} may hold scores or ranks, but its name is not known; name it score "
                "or rank, or leave it out if rows are in order, best first",
                path=table.path,
            )
        if is_unsteady:
            warn_input(
                "data", f"rows are taken as best first, without {name}: is it a score? Name it so"
            )
    if not are_together:
        _warn_if_rows_are_mixed(user)
    return -np.arange(len(table)), False


def _one_based_ranks(table: Table, user: Codes | Int) -> Int:
    """Return ranks from 1; those of PyTerrier begin with 0 in every list."""
    rank = table.whole_numbers("rank")
    begins_with_0 = np.zeros(int(user.max()) + 1, bool)
    begins_with_0[user[rank == 0]] = True
    if begins_with_0.all() and rank.min() == 0:
        return rank + 1
    return table.whole_numbers("rank", 1)


def _is_unsteady(user: Codes | Int, column: pa.ChunkedArray) -> bool:
    """Return whether numbers neither fall nor rise with the rows of each user."""
    column = decode_categories(column)
    if is_text(column.type):
        some = pd.to_numeric(column[:_SAMPLED_TEXTS].to_pandas(), errors="coerce")
        if some.isna().any():
            return False
    elif not is_numeric(column.type) or pa.types.is_boolean(column.type):
        return False
    values = pd.to_numeric(column.to_pandas(), errors="coerce").to_numpy(np.float64)
    steps = _steps(user, -np.arange(user.size), values)
    return not ((steps <= 0).all() or (steps >= 0).all())


def _warn_if_rows_are_mixed(user: Codes | Int) -> None:
    """Ask about rows of users in no order, neither of users nor of places in their lists."""
    order = np.argsort(user, kind="stable")
    place = np.empty(user.size, np.int64)
    place[order] = concatenate_ranges(0, np.bincount(user))
    if user.max() + 1 >= _MIN_LISTS and (np.diff(place) < 0).any():
        warn_input(
            "data",
            "rows of users are mixed, and the order of rows counts, best first: were they "
            "shuffled? Add a column rank or score",
        )


def refuse_lists(table: Table, user: Codes | Int, rank: Int) -> None:
    """Refuse ranks 1, 2, 3 and so on of each user, as in lists, beside what may be their items."""
    if rank.size == user.max() + 1 or not _are_consecutive(user, rank):
        return
    for name, column in table.unknown_columns.items():
        if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
            continue
        value, different = pd.factorize(column.to_pandas(), use_na_sentinel=False)
        if first_duplicate(pair_codes(user, value, len(different))) is None:
            raise InputError(
                f"ranks are 1, 2, 3 and so on for each user, as in lists: are the items in column "
                f"{name}? Name it {ITEM} and give relevant (--relevant)",
                path=table.path,
            )
    if user.max() + 1 >= _MIN_LISTS:
        warn_input(
            "data", "ranks are 1, 2, 3 and so on for each user: are all of these items relevant?"
        )


def _refuse_several_lists(table: Table, user: Codes | Int) -> None:
    """Raise InputError for a column that tells several lists of a user apart."""
    columns = {**table.unknown_columns}
    if "repetition" in table.columns:
        columns["repetition"] = table.columns["repetition"]
    for name, column in columns.items():
        if not pa.types.is_floating(column.type) and _tells_lists_apart(user, column):
            raise InputError(
                f"column {name} has several values per user, each in rows that follow each other, "
                "as several lists of a user have; keep the rows of one, or join both to a user_id; "
                f"if these are one list, leave {name} out",
                path=table.path,
            )


def _tells_lists_apart(user: Codes | Int, column: pa.ChunkedArray) -> bool:
    """Return whether rows of a user with the same value are together, or as many for all."""
    if pa.types.is_nested(column.type):
        return False
    value, different = pd.factorize(column.to_pandas(), use_na_sentinel=False)
    pair, groups = pd.factorize(pair_codes(user, value, len(different)))
    n_users = int(user.max()) + 1
    if len(groups) == n_users or 2 * len(groups) > pair.size:
        return False
    sizes = np.bincount(pair)
    if n_users >= _MIN_LISTS and sizes.min() == sizes.max():
        return True
    in_order = pair[np.argsort(user, kind="stable")]
    return np.count_nonzero(np.diff(in_order)) + 1 == len(groups)


def _require_consecutive_ranks(table: Table, user: Codes | Int, rank: Int) -> None:
    """Raise InputError unless the ranks of each user are 1, 2, 3 and so on, in any order."""
    length = np.bincount(user)
    bad = rank > length[user]
    if not bad.any():
        has_item = np.zeros(rank.size, bool)
        has_item[run_starts(length)[user] + rank - 1] = True
        if has_item.all():
            return
        bad[first_duplicate(user, rank)] = True
    table.refuse(
        "rank",
        bad,
        rank,
        "1, 2, 3 and so on, each once per user; for a gap add a row of an item of another id",
    )


def _is_rank_column(user: Codes | Int, column: pa.ChunkedArray) -> bool:
    """Return whether whole numbers are those of places, in another order of rows."""
    if not pa.types.is_integer(column.type) or column.null_count:
        return False
    values = np.asarray(column)
    is_by_row = (_steps(user, -np.arange(user.size), values) > 0).all()
    return _are_consecutive(user, values) and not is_by_row


def _are_consecutive(user: Codes | Int, values: Array) -> bool:
    """Return whether numbers are 1 to K for each user, or 0 to K - 1, in any order."""
    least = values.min()
    if least not in (0, 1):
        return False
    ordered = values[np.lexsort((values, user))] - least
    return np.array_equal(ordered, concatenate_ranges(0, np.bincount(user)))


def _pad_lists(rows: Any, filler: Any) -> Array:
    """Return rows as an array, shorter ones of a list filled at their ends."""
    if isinstance(rows, list | tuple):
        sizes = [to_array("rows", row).size for row in rows]
        if len(set(sizes)) > 1:
            width = max(sizes)
            rows = [[*row, *[filler] * (width - len(row))] for row in rows]
    return to_array("rows", to_numpy(rows))


def _is_item(items: Array) -> Bool:
    """Return whether there is an id at each place of lists, which -1 or None end."""
    if items.ndim != 2 or items.dtype.kind not in "iuUO":
        found = f"ids are {items.dtype} of shape {items.shape}"
        gaps = f"; {INTEGER_REMEDY}" if items.dtype.kind == "f" else ""
        raise InputError(f"{found}; expected whole numbers or text, users x K{gaps}")
    if not len(items):
        raise InputError("ids have no rows; expected whole numbers or text, users x K")
    if items.dtype.kind == "O" and any(np.ndim(item) for item in items.flat):
        raise InputError("ids hold arrays; expected whole numbers or text, users x K")
    is_item = (items != -1) & (items != None)  # noqa: E711 - elementwise
    ends = ~is_item[:, :-1] & is_item[:, 1:]
    if ends.any():
        row = int(np.argmax(ends.any(axis=1)))
        raise InputError("an item follows -1 or None, which end a list", row=row + 1)
    return is_item


def lists_from_arrays(
    ids: ArrayLike,
    scores: ArrayLike | None = None,
    users: ArrayLike | None = None,
    visits: ArrayLike | None = None,
) -> Lists:
    """Take ids of the best items, users x K, best first or by scores; -1 or None ends a list."""
    items = _pad_lists(ids, None)
    is_item = _is_item(items)
    if scores is not None:
        values = numeric_array(_pad_lists(scores, -np.inf), "scores")
        if values.shape != items.shape:
            raise InputError(f"scores have shape {values.shape}, and ids {items.shape}")
        if values.dtype.kind not in "fiu":
            raise InputError(f"scores are {values.dtype}, expected numbers")
        require_all("scores", values[is_item], values[is_item] < np.inf, "finite numbers, or -inf")
        is_item &= values > _FILLER_SCORE
    user, place = np.nonzero(is_item)
    order: Array = -place
    if scores is not None:
        order = values[is_item]
        _warn_if_scores_contradict_order(user, place, order)
    item, item_ids = encode(items[is_item])
    user_ids = pa.array(np.arange(len(items)))
    n_rows = len(items)
    own_ids = _unique_unit_ids(users, visits, n_rows)
    if own_ids is not None:
        user_ids = own_ids
        n_rows = 0
    numbers = item.astype(np.int64)
    columns = (USER,) if visits is None else (USER, VISIT)
    lists = Lists(
        user, numbers, order, user_ids, item_ids, scores is not None, n_rows, True, columns
    )
    if sorted_unique(pair_codes(user, item, len(item_ids))).size < item.size:
        again = first_duplicate(user, item) or 0
        raise InputError(
            f"item {items[is_item][again]} is twice in a list of ids; leave out all but its first "
            "place",
            row=int(user[again]) + 1,
        )
    if scores is None:
        _warn_if_ids_are_sorted(lists)
    return lists


def _unique_unit_ids(
    users: ArrayLike | None, visits: ArrayLike | None, n_rows: int
) -> pa.Array | None:
    """Return ids of users, or of visits of users, each once; None if none are given."""
    ids = row_unit_ids(users, visits, n_rows)
    if ids is None:
        return None
    require_unique("users" if visits is None else "visits of user", ids)
    return pa.array(ids)


def count_lists(
    lists: Lists,
    relevant: Any,
    seen: Any = None,
    *,
    n_items: int | None = None,
    complete: bool = False,
    missing: str = "refuse",
    min_relevance: float = 0.0,
) -> RankCounts:
    """Count relevant items in the users' lists, without the items seen.

    Users are in the order in which they first appear among the relevant items. Equal scores are
    tied; items below the cut count as not tied with the last of the list. With `missing` = "last",
    users without a list, items below its end and items that a complete list lacks count as behind
    all candidates.
    """
    check_arguments(missing=missing)
    if relevant is None:
        raise InputError("lists need the relevant items; give relevant (--relevant)")
    if complete and n_items is not None:
        raise InputError(
            "complete (--complete) lists say how many items are ranked; leave n_items "
            "(--n-items) out"
        )
    with reading(relevant):
        user_ids, wanted = relevant_by_unit(
            relevant, lists.columns, lists.user_ids, lists.by_row, min_relevance
        )
        lists = lists._replace(user_ids=user_ids)
    warn_about_common_item(wanted)
    n_known = len(lists.item_ids)
    if seen is not None:
        with reading(seen):
            units = lists.columns, lists.user_ids, wanted.user_ids
            known = items_by_unit(seen, SEEN, *units, by_row=lists.by_row)
            lists = _remove_seen(lists, wanted, known)
    elif lists.has_scores and (lists.lengths() == n_known).all():
        warn_about_candidates_seen(len(lists.user_ids), n_known)
    warn_about_different_ids(ITEM, RELEVANT, wanted.item_ids, "the lists", lists.item_ids)
    return _count_relevant(wanted, lists, n_items, complete, missing)


def _remove_seen(lists: Lists, relevant: Items, seen: Items) -> Lists:
    """Return the lists without the items that their users have seen; none of these is relevant."""
    warn_about_different_ids(USER, SEEN, seen.user_ids, "the lists", lists.user_ids)
    warn_about_different_ids(ITEM, SEEN, seen.item_ids, "the lists", lists.item_ids)
    known = seen.restrict_to(relevant.user_ids, relevant.item_ids)
    both = known.has(relevant.user, relevant.item)
    if both.any():
        user, item = relevant.pair(int(np.argmax(both)))
        number = describe_seen_relevant(relevant.user[both])
        raise InputError(f"item {item} of user {user} is both relevant and seen{number}")
    of_lists = seen.restrict_to(lists.user_ids, lists.item_ids)
    new = ~of_lists.has(lists.user.astype(np.int64), lists.item.astype(np.int64))
    if not new.any():
        raise InputError("users have seen all items of the lists; expected some that are new")
    user = lists.user[new]
    item = lists.item[new]
    return lists._replace(user=user, item=item, score=lists.score[new], has_ranks=False)


def _find_lists(relevant: Items, lists: Lists, missing: str) -> Int:
    """Return the number of each relevant user's list, -1 without one."""
    number = positions(relevant.user_ids, lists.user_ids)
    without = np.flatnonzero(number < 0)
    if without.size == number.size:
        first = lists.user_ids[0]
        raise InputError(f"no list for any relevant user; the first list is of user {first}")
    if without.size and lists.n_rows:
        user = relevant.user_ids[int(without[0])]
        expected = f"expected rows 0 to {lists.n_rows - 1}, or their ids by users="
        raise InputError(f"no list for user {user}; {expected}")
    if without.size and missing == "refuse":
        user = relevant.user_ids[int(without[0])]
        raise InputError(
            f"no list for user {user} ({without.size} users have none); missing='last' "
            "(--missing last) counts their items as not found"
        )
    return number


def _count_relevant(
    relevant: Items, lists: Lists, n_items: int | None, complete: bool, missing: str
) -> RankCounts:
    """Return the ranks of each user's items that are found, best first."""
    number = _find_lists(relevant, lists, missing)
    lengths = lists.lengths()
    if n_items is not None and lengths.max() > n_items:
        longest = lists.user_ids[int(np.argmax(lengths))]
        problem = f"the list of user {longest} has {lengths.max()} items"
        raise InputError(f"{problem}, expected at most {n_items}")
    depth = np.where(number < 0, 0, lengths[number])
    owner = relevant.user
    of_item = positions(relevant.item_ids, lists.item_ids)
    row = _find_rows(lists, number[owner], of_item[relevant.item])
    is_found = row >= 0
    n_relevant = relevant.sizes
    n_found = np.bincount(owner[is_found], minlength=n_relevant.size)
    n_lost = n_relevant - n_found
    if complete and missing == "refuse" and n_lost.any():
        user, lost = relevant.pair(int(np.argmin(is_found)))
        raise InputError(
            f"no relevant item {lost} in the list of user {user}: leave complete (--complete) out, "
            "or give missing='last' (--missing last)"
        )
    if not complete:
        n_others = np.count_nonzero(of_item < 0)
        n_known = max(n_items or 0, len(lists.item_ids) + int(n_others))
        _warn_if_hits_look_wrong(depth, n_relevant, n_found, n_known)
    n_better = depth[owner]
    n_tied = n_lost[owner] - 1
    rows = row[is_found]
    if lists.has_ranks:
        n_better[is_found] = -1 - lists.score[rows]
        n_tied[is_found] = 0
    else:
        better, tied = count_by_score(lists.user, lists.score)
        n_better[is_found] = better[rows]
        n_tied[is_found] = tied[rows]
    order = np.lexsort((n_better, ~is_found, owner))
    is_ranked = is_found[order]
    n_candidates = np.full_like(depth, n_items or 0)
    n_missing = np.count_nonzero(number < 0)
    if complete:  # items that a list lacks are tied behind all others
        n_missing = np.count_nonzero(n_lost)
        is_ranked = np.ones_like(is_ranked)
        n_found = n_relevant
        n_candidates = depth = depth + n_lost
    elif missing == "last":
        depth = (
            np.full_like(depth, MAX_ITEMS)
            if n_items is None
            else np.maximum(n_items - n_lost, depth)
        )
    return RankCounts(
        n_candidates,
        n_better[order][is_ranked],
        n_tied[order][is_ranked],
        n_found=n_found,
        n_relevant=n_relevant,
        depth=depth,
        relevance=select_rows(relevant.relevance, order),
        users=arrow_to_numpy(relevant.user_ids),
        n_missing=int(n_missing),
    )


def _find_rows(lists: Lists, number: Int, item: Int) -> Int:
    """Return the row of each pair of a list and an item, each once; -1 where it is missing."""
    wanted = np.flatnonzero((number >= 0) & (item >= 0))
    row = np.full(number.size, -1)
    n_lists = len(lists.user_ids)
    if np.bincount(number[wanted], minlength=n_lists).max(initial=0) <= 1:  # an item of each list
        of_list = np.full(n_lists, -1, np.int32)
        of_list[number[wanted]] = item[wanted]
        found = np.flatnonzero(of_list[lists.user] == lists.item)
        of_list[number[wanted]] = wanted
        row[of_list[lists.user[found]]] = found
        return row
    width = len(lists.item_ids)
    pair = pair_codes(number[wanted], item[wanted], width)
    of_row = positions(pair_codes(lists.user, lists.item, width), pair)
    found = np.flatnonzero(of_row >= 0)
    row[wanted[of_row[found]]] = found
    return row


def _steps(user: Codes | Int, score: Array, values: Array) -> Array:
    """Return how numbers change from each row of a user to the next best one."""
    order = best_first_order(user, score)
    ordered = values[order]
    owner = user[order]
    return (ordered[1:] - ordered[:-1])[owner[1:] == owner[:-1]]


def _warn_if_scores_contradict_order(
    user: Codes | Int, rank: Int, score: Array, most: float = 1.0
) -> None:
    """Ask about scores that rise from a place to the next in more than a tenth of all steps."""
    steps = _steps(user, -rank, score)
    rising = np.count_nonzero(steps > 0) / max(steps.size, 1)
    least = _MIN_LISTS if rising < 1.0 else _MIN_STEPS
    if steps.size >= least and 0.1 < rising <= most:
        warn_input(
            "data",
            f"scores rise from a place to the next in {rising:.0%} of rows, so they "
            "contradict the order; leave one of them out (a column rank, else scores, is taken)",
        )


def warn_if_scores_are_ranks(table: Table, user: Codes | Int, score: Floats) -> None:
    """Ask about scores that are 1, 2, 3 and so on for each user, or from 0, as ranks are.

    Of few users those from 1 are asked about, in a column that is not plainly one of scores.
    """
    if "score" not in table.columns or not _are_consecutive(user, score):
        return
    is_plain = normalise_name(table.name_of("score")) in _SCORE_NAMES
    is_from_1 = score.min() == 1 and np.bincount(user).min() >= 2
    if user.max() + 1 >= _MIN_LISTS or (is_from_1 and not is_plain):
        warn_input(
            "data", "scores are 1, 2, 3 and so on for each user: are they ranks? Name them rank"
        )


def _warn_if_scores_are_distances(table: Table, user: Codes | Int, score: Floats) -> None:
    """Ask about scores that rise from row to row in all lists, as distances do.

    Those of few dictionaries may by chance, in which the order of items means nothing.
    """
    if table.is_by_item and user.max() + 1 < _MIN_LISTS:
        return
    steps = _steps(user, -np.arange(user.size), score)
    if steps.size >= _MIN_STEPS and (steps > 0).all():
        warn_input(
            "data",
            "scores rise from row to row in all lists: are they distances, of which the smallest "
            "are best? Give them with the other sign",
        )


def _warn_if_ids_are_sorted(lists: Lists) -> None:
    """Ask about lists whose items ascend, as sorting by id leaves them."""
    is_whole = pa.types.is_integer(lists.item_ids.type)
    if not is_whole or lists.lengths().min() < 2:
        return
    ids = arrow_to_numpy(lists.item_ids)
    for rows in (slice(1000), slice(None)):  # all of them, if some ascend
        steps = _steps(lists.user[rows], lists.score[rows], ids[lists.item[rows]])
        if (steps <= 0).any():
            return
    if len(lists.user_ids) >= _MIN_LISTS:
        warn_input(
            "data", "the items of all lists ascend: were they sorted by id? Their order counts"
        )


def _warn_if_hits_look_wrong(depth: Int, n_relevant: Int, n_found: Int, n_items: int) -> None:
    """Ask about lists that hold no more relevant items than by chance, or all of them."""
    if depth.size < 5 * _MIN_LISTS or 2 * depth.max() >= n_items:
        return
    expected = float((depth * n_relevant).sum()) / n_items
    total = int(n_found.sum())
    if (n_found == n_relevant).all():
        warn_input(
            "data",
            f"lists of {depth.max()} or fewer of {n_items:,} items hold every relevant item: were "
            "users without a hit left out, or are these sampled candidates, for `correct`?",
        )
    elif expected >= _MIN_EXPECTED_HITS and total <= expected + 2.0 * np.sqrt(expected):
        warn_input(
            RELEVANT,
            f"lists hold {total:,} of {n_relevant.sum():,} relevant items, and {expected:.0f} by "
            "chance: are ids of items the same in both?",
        )
