"""The order of the items in each list, by rank, score or row, and signs that it is wrong.

Functions take a user for each row of a table, numbered from 0. A list is all rows of a user.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from sampled_metrics._base.array_types import Array, Codes, Floats, Int
from sampled_metrics._base.arrays import (
    best_first_order,
    concatenate_ranges,
    first_duplicate,
    pair_codes,
    run_starts,
)
from sampled_metrics._base.arrow import decode_categories, is_numeric, is_text
from sampled_metrics._base.calls import warn_input
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.units import Units
from sampled_metrics.inputs.roles import ITEM, USER, VISIT, normalise_name
from sampled_metrics.inputs.tables import Table

# The thresholds keep chance from raising a warning: smaller data may look this way by accident.
MIN_LISTS = 10  # fewer lists may be in some order
_MIN_STEPS = 2  # in all lists together; a single one may rise
_MAX_RISING = 0.1  # share of steps in which scores may rise although the order says they fall
_MAX_CONTRADICTION = 0.9  # scores that rise in more steps beside ranks are distances
_CHECKED_TEXTS = 1000  # texts that may be numbers
_SCORE_NAMES = ("score", "rating")  # surely scores; prediction may also be called so for ranks


def read_order(table: Table, user: Codes | Int) -> tuple[Floats | Int, bool]:
    """Return numbers that are higher for better items, and whether they are scores.

    The order is that of `rank`, else of `score`, else of the rows.
    """
    if "rank" in table.columns:
        rank = _one_based_ranks(table, user)
        _require_consecutive_ranks(table, user, rank)
        if "score" in table.columns:
            scores = table.ordered_numbers("score")
            warn_if_scores_contradict_order(user, rank, scores, max_rising=_MAX_CONTRADICTION)
        return -rank, False
    if "score" in table.columns:
        score = table.ordered_numbers("score")
        warn_if_scores_are_ranks(table, user, score)
        _warn_if_scores_are_distances(table, user, score)
        return score, True
    are_grouped = np.count_nonzero(np.diff(user)) + 1 == user.max() + 1
    for name, column in table.unknown_columns.items():
        is_float = pa.types.is_floating(column.type)
        is_unordered = not is_float and _is_unordered(user, column)
        if is_float or _is_rank_column(user, column) or (is_unordered and not are_grouped):
            raise InputError(
                f"column {name} may hold scores or ranks, but its name is not known; name it score "
                "or rank, or leave it out if rows are in order, best first",
                path=table.path,
            )
        if is_unordered:
            warn_input(
                "data",
                f"rows are read best first, without {name}; if it holds scores, name it score",
            )
    if not are_grouped:
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


def _require_consecutive_ranks(table: Table, user: Codes | Int, rank: Int) -> None:
    """Raise InputError unless the ranks of each user are 1, 2, 3 and so on, in any order."""
    length = np.bincount(user)
    is_bad = rank > length[user]
    if not is_bad.any():
        has_item = np.zeros(rank.size, bool)
        has_item[run_starts(length)[user] + rank - 1] = True
        if has_item.all():
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
    """Return whether a column holds numbers that neither fall nor rise in all lists."""
    column = decode_categories(column)
    if is_text(column.type):
        texts = column[:_CHECKED_TEXTS].to_pandas()
        if pd.to_numeric(texts, errors="coerce").isna().any():
            return False
    elif not is_numeric(column.type) or pa.types.is_boolean(column.type):
        return False
    values = pd.to_numeric(column.to_pandas(), errors="coerce").to_numpy(np.float64)
    steps = steps_to_next(user, -np.arange(user.size), values)
    return not ((steps <= 0).all() or (steps >= 0).all())


def _is_rank_column(user: Codes | Int, column: pa.ChunkedArray) -> bool:
    """Return whether whole numbers are the ranks of each list, in another order than the rows."""
    if not pa.types.is_integer(column.type) or column.null_count:
        return False
    values = np.asarray(column)
    is_row_order = (steps_to_next(user, -np.arange(user.size), values) > 0).all()
    return _are_ranks(user, values) and not is_row_order


def _are_ranks(user: Codes | Int, values: Array, starts: tuple[int, ...] = (0, 1)) -> bool:
    """Return whether the numbers of each user are 1 to K, or 0 to K - 1, in any order."""
    lowest = values.min()
    if lowest not in starts:
        return False
    ascending = values[np.lexsort((values, user))] - lowest
    return np.array_equal(ascending, concatenate_ranges(0, np.bincount(user)))


def steps_to_next(user: Codes | Int, order_score: Array, values: Array) -> Array:
    """Return how values change from each row of a user to the next best one by `order_score`."""
    order = best_first_order(user, order_score)
    ordered_values = values[order]
    ordered_user = user[order]
    is_same_user = ordered_user[1:] == ordered_user[:-1]
    return (ordered_values[1:] - ordered_values[:-1])[is_same_user]


def refuse_numbered_rows(table: Table, visits: Units) -> None:
    """Raise InputError if each row has a visit of its own, which then numbers the rows of lists."""
    if len(visits) == len(table):
        name = table.name_of[VISIT]
        raise InputError(
            f"each row has its own {name}; if it numbers the rows, leave it out, as the rows of a "
            "visit share an id",
            path=table.path,
        )


def refuse_several_lists(table: Table, user: Codes | Int) -> None:
    """Raise InputError if a column seems to distinguish several lists of a user."""
    columns = {**table.unknown_columns}
    if "repetition" in table.columns:
        columns["repetition"] = table.columns["repetition"]
    for name, column in columns.items():
        if not pa.types.is_floating(column.type) and _distinguishes_lists(user, column):
            raise InputError(
                f"column {name} has several values per user, each in consecutive rows, as if users "
                f"had several lists; keep the rows of one list, or join {name} to user_id; if each "
                f"user has one list, leave {name} out",
                path=table.path,
            )


def _distinguishes_lists(user: Codes | Int, column: pa.ChunkedArray) -> bool:
    """Return whether rows of a user with equal values follow each other, or are equally many."""
    if pa.types.is_nested(column.type):
        return False
    value, distinct = pd.factorize(column.to_pandas(), use_na_sentinel=False)
    group, groups = pd.factorize(pair_codes(user, value, len(distinct)))
    n_users = int(user.max()) + 1
    if len(groups) == n_users or 2 * len(groups) > group.size:
        return False
    sizes = np.bincount(group)
    if n_users >= MIN_LISTS and sizes.min() == sizes.max():
        return True
    by_user = group[np.argsort(user, kind="stable")]
    return np.count_nonzero(np.diff(by_user)) + 1 == len(groups)


def refuse_steps(table: Table, user: Codes | Int) -> None:
    """Raise InputError if a column numbers the rows of each user, as the steps of a session.

    Each step may have a ranking of its own.
    """
    if user.max() + 1 == user.size:
        return
    for name, column in table.unknown_columns.items():
        if not pa.types.is_integer(column.type) or column.null_count:
            continue
        if _are_ranks(user, np.asarray(column), starts=(0, 1, 2)):
            owner = table.name_of[table.unit_columns()[0]]
            raise InputError(
                f"column {name} numbers the rows of each {owner}; if "
                f"each row has a ranking of its own, name it {VISIT}{naming_user(table)}; if rows "
                f"are items of one ranking, leave {name} out",
                path=table.path,
            )


def naming_user(table: Table) -> str:
    """Return how to name the users of visits in a table of visits without users, else nothing."""
    if USER in table.columns or VISIT not in table.columns:
        return ""
    return f" and pass columns={{'user': {table.name_of[VISIT]!r}}}"


def refuse_lists(table: Table, user: Codes | Int, rank: Int) -> None:
    """Raise InputError for ranks of relevant items that are lists: 1, 2, 3 and so on by user.

    Without a column that may hold the items of the lists, warn.
    """
    if rank.size == user.max() + 1 or not _are_ranks(user, rank):
        return
    for name, column in table.unknown_columns.items():
        if pa.types.is_floating(column.type) or pa.types.is_nested(column.type):
            continue
        value, distinct = pd.factorize(column.to_pandas(), use_na_sentinel=False)
        if first_duplicate(pair_codes(user, value, len(distinct))) is None:
            raise InputError(
                f"ranks are 1, 2, 3 and so on for each user, as in lists; if column {name} holds "
                f"the items, name it {ITEM} and give relevant (--relevant)",
                path=table.path,
            )
    if user.max() + 1 >= MIN_LISTS:
        warn_input(
            "data", "ranks are 1, 2, 3 and so on for each user: are all of these items relevant?"
        )


def _warn_if_rows_are_mixed(user: Codes | Int) -> None:
    """Warn about rows that are ordered neither by user nor by position in the lists.

    Call it only if the rows are not grouped by user: rows grouped by user are in order, but would
    cause a warning. The position of a row is its place among the rows of its user, from 0; if all
    first rows come first, then all second rows and so on, it never falls from a row to the next.
    """
    order = np.argsort(user, kind="stable")
    position = np.empty(user.size, np.int64)
    position[order] = concatenate_ranges(0, np.bincount(user))
    if user.max() + 1 >= MIN_LISTS and (np.diff(position) < 0).any():
        warn_input(
            "data",
            "rows of users are mixed, although the order of rows counts, best first; if they were "
            "shuffled, add a column rank or score",
        )


def warn_if_scores_contradict_order(
    user: Codes | Int, rank: Int, score: Array, max_rising: float = 1.0
) -> None:
    """Warn about scores that rise from a rank to the next in more than a tenth of all steps."""
    steps = steps_to_next(user, -rank, score)
    rising = np.count_nonzero(steps > 0) / max(steps.size, 1)
    min_steps = MIN_LISTS if rising < 1.0 else _MIN_STEPS
    if steps.size >= min_steps and _MAX_RISING < rising <= max_rising:
        warn_input(
            "data",
            f"scores rise from one rank to the next in {rising:.0%} of rows, so they contradict "
            "the order; leave one of the two out (a column rank is used, or else scores)",
        )


def warn_if_scores_are_ranks(table: Table, user: Codes | Int, score: Floats) -> None:
    """Warn about scores that are 1, 2, 3 and so on for each user, or from 0, as ranks are.

    With few users, only warn about scores from 1 in a column that is not surely one of scores.
    """
    if "score" not in table.columns or not _are_ranks(user, score):
        return
    is_surely_score = normalise_name(table.name_of["score"]) in _SCORE_NAMES
    is_from_1 = score.min() == 1 and np.bincount(user).min() >= 2
    if user.max() + 1 >= MIN_LISTS or (is_from_1 and not is_surely_score):
        warn_input(
            "data", "scores are 1, 2, 3 and so on for each user; if they are ranks, name them rank"
        )


def _warn_if_scores_are_distances(table: Table, user: Codes | Int, score: Floats) -> None:
    """Warn about scores that rise from row to row in all lists, as distances do.

    In dictionaries the order of items means nothing, so that scores of few users may rise by
    chance.
    """
    if table.is_by_item and user.max() + 1 < MIN_LISTS:
        return
    steps = steps_to_next(user, -np.arange(user.size), score)
    if steps.size >= _MIN_STEPS and (steps > 0).all():
        warn_input(
            "data",
            "scores rise from row to row in all lists; if they are distances, where the smallest "
            "is best, give them with the opposite sign",
        )
