"""The order of the items in each list, by rank, score or row.

Functions accept a user for each row of a table, numbered from 0. A list is all rows of a user.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from sampled_metrics._base.array_types import Codes, Floats, Int
from sampled_metrics._base.arrays import (
    first_duplicate,
    pair_codes,
    run_starts,
)
from sampled_metrics._base.arrow import decode_categories, is_numeric, is_text
from sampled_metrics._base.calls import warn_all
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.units import Units
from sampled_metrics.checks.lists import (
    MIN_LISTS,
    are_ranks,
    signs_of_contradiction,
    signs_of_distances,
    signs_of_lists_as_ranks,
    signs_of_mixed_rows,
    signs_of_ranks_as_scores,
    signs_of_unread_scores,
    steps_to_next_row,
)
from sampled_metrics.read.roles import ITEM, USER, VISIT, normalise_name
from sampled_metrics.read.tables import Table

_CHECKED_TEXTS = 1000  # texts that may be numbers
_SCORE_NAMES = ("score", "rating")


def read_order(table: Table, user: Codes | Int) -> tuple[Floats | Int, bool]:
    """Return numbers that are higher for better items, and whether they are scores.

    The order is that of `rank`, else of `score`, else of the rows. The numbers, one for each row,
    are then -rank, the score, or 0, -1, -2 and so on.
    """
    if "rank" in table.columns:
        rank = _one_based_ranks(table, user)
        _require_consecutive_ranks(table, user, rank)
        if "score" in table.columns:
            scores = table.ordered_numbers("score")
            warn_all(signs_of_contradiction(user, rank, scores, distances_are_sound=True))
        return -rank, False
    if "score" in table.columns:
        score = table.ordered_numbers("score")
        warn_all(signs_of_ranks_as_scores(user, score, is_named_score=is_named_score(table)))
        warn_all(signs_of_distances(user, score, is_by_item=table.is_by_item))
        return score, True
    _check_order_of_rows(table, user)
    return -np.arange(len(table)), False


def _check_order_of_rows(table: Table, user: Codes | Int) -> None:
    """Raise InputError, or warn, if a column may contain the order of lists, or rows are mixed.

    Any column of floats may contain it, and one of ranks in another order than the rows. Other
    numbers in no order are an error if rows of users are mixed, and else a warning.
    """
    n_users = user.max() + 1
    n_runs = np.count_nonzero(np.diff(user)) + 1  # of adjoining rows of one user
    are_grouped = n_runs == n_users
    unordered_columns = []
    for name, column in table.unknown_columns.items():
        is_float = pa.types.is_floating(column.type)
        is_unordered = not is_float and _is_unordered(user, column)
        may_be_order = is_float or _is_rank_column(user, column)
        if may_be_order or (is_unordered and not are_grouped):
            raise InputError(
                f"column {name} may contain scores or ranks, but its name is not known; name it "
                "score or rank, or drop it if rows are in order, best first",
                path=table.path,
            )
        if is_unordered:
            unordered_columns.append(name)
    warn_all(signs_of_unread_scores(unordered_columns))
    if not are_grouped:
        warn_all(signs_of_mixed_rows(user))


def _one_based_ranks(table: Table, user: Codes | Int) -> Int:
    """Return ranks from 1; those of PyTerrier begin with 0 in every list."""
    rank = table.whole_numbers("rank")
    n_users = int(user.max()) + 1
    has_rank_0 = np.zeros(n_users, bool)
    has_rank_0[user[rank == 0]] = True
    begin_with_0 = has_rank_0.all() and rank.min() == 0
    return rank + 1 if begin_with_0 else table.whole_numbers("rank", 1)


def _require_consecutive_ranks(table: Table, user: Codes | Int, rank: Int) -> None:
    """Raise InputError unless the ranks of each user are 1, 2, 3 and so on, in any order.

    All ranks are at least 1. A list of k items has the ranks 1 to k if none is above k, and none is
    repeated.
    """
    length = np.bincount(user)
    is_bad = rank > length[user]
    if not is_bad.any():
        # Ranks of one user after those of another: each cell is taken unless a rank is repeated.
        cell = run_starts(length)[user] + rank - 1
        is_taken = np.zeros(rank.size, bool)
        is_taken[cell] = True
        if is_taken.all():
            return
        is_bad[first_duplicate(user, rank)] = True
    table.refuse(
        "rank",
        is_bad,
        rank,
        "1, 2, 3 and so on, each once per user; for a gap add a row of an item of another id; if "
        f"these are ranks of relevant items among all, drop {table.name_of[ITEM]} and relevant, "
        "and pass n_items (--n-items)",
    )


def _is_unordered(user: Codes | Int, column: pa.ChunkedArray) -> bool:
    """Return whether a column contains numbers that neither fall nor rise in all lists."""
    column = decode_categories(column)
    if not _may_be_numbers(column):
        return False
    values = pd.to_numeric(column.to_pandas(), errors="coerce").to_numpy(np.float64)
    steps = steps_to_next_row(user, values)
    never_rise, never_fall = (steps <= 0).all(), (steps >= 0).all()
    return not (never_rise or never_fall)


def _may_be_numbers(column: pa.ChunkedArray) -> bool:
    """Return whether a column has numbers, but not booleans, or text that begins with numbers."""
    if is_text(column.type):
        texts = column[:_CHECKED_TEXTS].to_pandas()
        return bool(pd.to_numeric(texts, errors="coerce").notna().all())
    return is_numeric(column.type) and not pa.types.is_boolean(column.type)


def _is_rank_column(user: Codes | Int, column: pa.ChunkedArray) -> bool:
    """Return whether whole numbers are the ranks of each list, in another order than the rows."""
    if not pa.types.is_integer(column.type) or column.null_count:
        return False
    values = np.asarray(column)
    is_row_order = (steps_to_next_row(user, values) > 0).all()
    return are_ranks(user, values) and not is_row_order


def refuse_numbered_rows(table: Table, visits: Units) -> None:
    """Raise InputError if each row has a visit of its own, which then numbers the rows of lists."""
    if len(visits) == len(table):
        name = table.name_of[VISIT]
        raise InputError(
            f"each row has its own {name}; if it numbers the rows, drop it, as the rows of a "
            "visit share an id",
            path=table.path,
        )


def refuse_several_lists(table: Table, user: Codes | Int) -> None:
    """Raise InputError if a column seems to distinguish several lists of a user."""
    checked_columns = {**table.unknown_columns}
    if "repetition" in table.columns:
        checked_columns["repetition"] = table.columns["repetition"]
    for name, column in checked_columns.items():
        if not pa.types.is_floating(column.type) and _distinguishes_lists(user, column):
            raise InputError(
                f"column {name} has several values per user, each in consecutive rows, as if users "
                f"had several lists; keep the rows of one list, or join {name} to user_id; if each "
                f"user has one list, drop {name}",
                path=table.path,
            )


def _distinguishes_lists(user: Codes | Int, column: pa.ChunkedArray) -> bool:
    """Return whether a column may number several lists of a user.

    The rows of a user with the same value, a group, are then a list: all groups have the same
    size, or the rows of each follow each other among those of the user.
    """
    if pa.types.is_nested(column.type):
        return False
    value, distinct = pd.factorize(column.to_pandas(), use_na_sentinel=False)
    group, groups = pd.factorize(pair_codes(user, value, len(distinct)))
    n_groups = len(groups)
    n_users = int(user.max()) + 1
    has_one_value = n_groups == n_users  # for each user
    has_short_groups = 2 * n_groups > group.size  # of fewer than two rows on average
    if has_one_value or has_short_groups:
        return False
    sizes = np.bincount(group)
    have_one_size = sizes.min() == sizes.max()
    if n_users >= MIN_LISTS and have_one_size:
        return True
    group_by_user = group[np.argsort(user, kind="stable")]
    n_runs = np.count_nonzero(np.diff(group_by_user)) + 1  # of adjoining rows of one group
    return n_runs == n_groups


def refuse_steps(table: Table, user: Codes | Int) -> None:
    """Raise InputError if a column numbers the rows of each user, as the steps of a session.

    Each step may have a ranking of its own.
    """
    has_one_row = user.max() + 1 == user.size  # each user
    if has_one_row:
        return
    for name, column in table.unknown_columns.items():
        if not pa.types.is_integer(column.type) or column.null_count:
            continue
        if are_ranks(user, np.asarray(column), starts=(0, 1, 2)):
            owner = table.name_of[table.unit_columns()[0]]
            raise InputError(
                f"column {name} numbers the rows of each {owner}; if "
                f"each row has a ranking of its own, name it {VISIT}{naming_user(table)}; if rows "
                f"are items of one ranking, drop {name}",
                path=table.path,
            )


def is_named_score(table: Table) -> bool:
    """Return whether the column of scores is surely one; `prediction` may also name ranks."""
    return normalise_name(table.name_of["score"]) in _SCORE_NAMES


def naming_user(table: Table) -> str:
    """Return how to name the users of visits in a table of visits without users, else nothing."""
    if USER in table.columns or VISIT not in table.columns:
        return ""
    return f" and pass columns={{'user': {table.name_of[VISIT]!r}}}"


def refuse_lists(table: Table, user: Codes | Int, rank: Int) -> None:
    """Raise InputError for ranks of relevant items that are lists: 1, 2, 3 and so on by user.

    Without a column that may contain the items of the lists, warn.
    """
    has_one_row = rank.size == user.max() + 1  # each user
    if has_one_row or not are_ranks(user, rank):
        return
    for name, column in table.unknown_columns.items():
        if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
            continue
        value, distinct = pd.factorize(column.to_pandas(), use_na_sentinel=False)
        differ_within_user = first_duplicate(pair_codes(user, value, len(distinct))) is None
        if differ_within_user:
            raise InputError(
                f"ranks are 1, 2, 3 and so on for each user, as in lists; if column {name} "
                f"contains the items, name it {ITEM} and pass relevant (--relevant)",
                path=table.path,
            )
    warn_all(signs_of_lists_as_ranks(int(user.max()) + 1))
