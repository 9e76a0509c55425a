"""Tables of ranks: a row for each relevant item, with counts or with its rank."""

from __future__ import annotations

from typing import Any, NamedTuple, SupportsIndex, cast

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_n_items, require_same, whole_number
from sampled_metrics._base.array_types import Bool, Codes, Float, Int, RowSelection
from sampled_metrics._base.arrays import first_duplicate, nontrivial_grades, run_starts, select_rows
from sampled_metrics._base.arrow import value_type
from sampled_metrics._base.calls import public, warn_all
from sampled_metrics._base.conversion import (
    arrow_column_to_array,
    as_array,
    refuse_unconverted,
)
from sampled_metrics._base.defaults import MAX_ITEMS
from sampled_metrics._base.errors import InputError, format_names, one_line
from sampled_metrics._base.units import check_ids
from sampled_metrics.checks.tables import signs_of_sessions
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.checks import COUNT_COLUMNS
from sampled_metrics.read.items import relevant_rows
from sampled_metrics.read.kinds import FRAMES, Kind, kind_of
from sampled_metrics.read.list_order import naming_user, refuse_lists, refuse_steps
from sampled_metrics.read.roles import ITEM, USER, VISIT, NamesByRole, check_roles, normalise_name
from sampled_metrics.read.tables import Table, read_table, users_of_ranks

_SESSION_NAMES = ("session", "sessionid")
_MIN_COLUMNS_OF_ROWS = 3  # beside users; fewer are a misspelt table, not places or items
RANK_RECORDS = f"rank records ({', '.join((USER, *COUNT_COLUMNS))})"


class RankCounts(NamedTuple):
    """Candidates of the ranking of each row of a table, and those above and tied with its item."""

    n_candidates: Int
    n_better: Int
    n_tied: Int

    def take(self, rows: RowSelection) -> RankCounts:
        """Return the counts of some rows."""
        return RankCounts(self.n_candidates[rows], self.n_better[rows], self.n_tied[rows])


def ranks_from_column(
    ranks: ArrayLike,
    n_items: ArrayLike | None,
    *,
    users: ArrayLike | None = None,
    visits: ArrayLike | None = None,
    columns: NamesByRole = None,
) -> Ranks:
    """Return ranks from an array or a Series of them, or from a table; see `Ranks.from_ranks`."""
    refuse_unconverted(ranks, "ranks")
    kind = kind_of(ranks)
    if kind in (Kind.BY_USER, Kind.RECOMMENDERS):  # the keys are no ranks
        raise InputError(
            "ranks are a dictionary; pass ranks by user as pandas.Series(ranks), and ranks of "
            "recommenders by name to `compare`"
        )
    if kind in (Kind.COLUMNS, *FRAMES):
        if users is not None or visits is not None:
            raise InputError(
                "users and visits cannot be used with a table; add columns user_id and visit_id"
            )
        if n_items is not None:
            n_items = whole_number("n_items", cast(SupportsIndex, n_items))
        return ranks_from_table(ranks, n_items, columns=columns)
    ranks = arrow_column_to_array(ranks)
    if users is None:
        users = users_of_ranks(ranks)
    if visits is not None:
        check_ids(users, visits, as_array(ranks, "ranks").size)  # visits need users
    is_one_per_row = n_items is not None and as_array(n_items, "n_items").ndim > 0
    other_columns = {
        USER: users,
        VISIT: visits,
        "n_candidates": n_items if is_one_per_row else None,
    }
    table = {name: column for name, column in other_columns.items() if column is not None}
    return ranks_from_table({"rank": ranks, **table}, None if is_one_per_row else n_items)


@public(columns=check_roles)
def ranks_from_table(table: Any, n_items: Any = None, *, columns: NamesByRole = None) -> Ranks:
    """Return ranks from a table of counts or of ranks; see `Ranks.from_table`."""
    n_items = check_n_items(n_items)
    table = read_table(table, RANK_RECORDS)
    counts = read_counts(table, n_items)
    rows, label_grades = relevant_rows(table)
    grades = _read_relevance(table, rows) if "relevance" in table.columns else label_grades
    has_users = table.unit_columns()[0] in table.columns
    if has_users:  # the rows of a user are items of one ranking
        fields = group_by_user(table, counts, rows, grades)
    elif _has_depth(table):  # each row is another user, whose ranking may end at a depth
        fields = {**_truncated_rows(table, counts, rows), "relevance": grades}
    else:  # each row is another user, fully ranked
        fields = {**counts.take(rows)._asdict(), "relevance": grades}
    # `Ranks.write` stores these in parquet files.
    source = one_line(table.metadata.get(b"source", b"unknown").decode(errors="replace"))
    min_relevance = float(table.metadata.get(b"min_relevance", b"0"))
    ranks = Ranks(**fields, source=source)
    require_same("n_items", n_items, "n_candidates", ranks.n_candidates)
    return ranks.at_least(min_relevance) if min_relevance > 0.0 else ranks


def _read_relevance(table: Table, rows: RowSelection) -> Float | None:
    """Return the grades of some rows, which must be above 0; None if all are 1."""
    relevance = table.finite_numbers("relevance")
    is_not_positive = np.zeros(relevance.size, bool)
    is_not_positive[rows] = relevance[rows] <= 0.0
    table.refuse("relevance", is_not_positive, relevance, "numbers above 0")
    return nontrivial_grades(relevance[rows])


def read_counts(table: Table, n_items: int | None = None) -> RankCounts:
    """Return the numbers of candidates, of better and of tied ones for each row of a table.

    The table has these counts, or ranks without ties. `n_items` is the number of candidates if
    there is no column `n_candidates`.
    """
    if table.unit_columns()[0] in table.columns:
        refuse_steps(table, table.units()[0])
    if "n_better" not in table.columns and "n_tied" not in table.columns:
        counts = _read_ranks(table, n_items)
    else:
        counts = _read_count_columns(table)
    _warn_about_sessions(table)
    return counts


def _read_count_columns(table: Table) -> RankCounts:
    """Return the columns `n_candidates`, `n_better` and `n_tied`."""
    table.require(*COUNT_COLUMNS)
    n_candidates = table.whole_numbers("n_candidates", 2, MAX_ITEMS)
    n_others = n_candidates - 1
    n_better = table.whole_numbers("n_better", 0, n_others)
    n_tied = table.whole_numbers("n_tied", 0, n_others - n_better)
    return RankCounts(n_candidates, n_better, n_tied)


def _read_ranks(table: Table, n_items: int | None) -> RankCounts:
    """Return the counts of each row of a table of ranks without ties: n_better is rank - 1.

    The candidates are those of the column `n_candidates`, or else `n_items` in all rows.
    """
    if "rank" not in table.columns:
        raise _without_rank_error(table)
    n_candidates: int | Int
    if "n_candidates" in table.columns:
        n_candidates = table.whole_numbers("n_candidates", 2, MAX_ITEMS)
    elif n_items is not None:
        n_candidates = n_items
    else:
        raise InputError("found ranks; pass n_items (--n-items) or add a column n_candidates")
    rank = table.whole_numbers("rank", 1, n_candidates)
    user_column, *_ = table.unit_columns()
    if user_column in table.columns:
        user, _ = table.units()
        _require_different_ranks(table, user, rank)
        has_relevant_items_only = "label" not in table.columns
        if has_relevant_items_only:  # else ranks 1, 2, 3 ... of a user are no sign of a list
            refuse_lists(table, user, rank)
    return RankCounts(
        n_candidates=np.full_like(rank, n_candidates), n_better=rank - 1, n_tied=np.zeros_like(rank)
    )


def _without_rank_error(table: Table) -> InputError:
    """Make the error for a table without ranks and counts, which may be of lists."""
    if {USER, ITEM} <= table.columns.keys():
        return InputError(
            f"found columns {', '.join(table.names)}; for lists, name the scores score, or the "
            "places rank"
        )
    return InputError(
        f"found columns {format_names(table.names)}; {describe_other_forms(table)}expected "
        f"{', '.join(COUNT_COLUMNS)}, or rank, or user_id, item_id and rank or score"
    )


def describe_other_forms(table: Table) -> str:
    """Say how to read a table with a list in each cell, or a row of items or scores by user.

    The text ends with a semicolon and a blank; it is empty for other tables.
    """
    for name, column in table.unknown_columns.items():
        if pa.types.is_nested(column.type):
            return _describe_lists_in_cells(name, column.type)
    types = [value_type(column.type) for column in table.unknown_columns.values()]
    may_have_row_by_user = table.columns.keys() == {USER} and len(types) >= _MIN_COLUMNS_OF_ROWS
    if not may_have_row_by_user:
        return ""
    user = table.name_of[USER]
    if all(map(pa.types.is_floating, types)):
        return (
            f"if these are scores of items, make the ids the index, data.set_index({user!r}) "
            f"(of polars, data.to_pandas().set_index({user!r})); "
        )
    return (
        "if these are items, best first, use Ranks.from_top_k("
        f"data.drop(columns={user!r}).to_numpy(), relevant, users=data[{user!r}]); "
    )


def _describe_lists_in_cells(name: str, dtype: pa.DataType) -> str:
    """Say how to give each element of the lists, or of the structs, of a column a row."""
    rows = f"data.explode({name!r}, ignore_index=True)"
    element_type = getattr(dtype, "value_type", None) or dtype
    if pa.types.is_struct(element_type):
        rows = (
            f"rows = {rows}, and each part a column, rows.join(pandas.json_normalize(rows.pop("
            f"{name!r})))"
        )
    else:
        rows += f".rename(columns={{{name!r}: {ITEM!r}}})"
    return f"column {name} contains lists: give each element a row, in pandas {rows}; "


def _require_different_ranks(table: Table, user: Codes | Int, rank: Int) -> None:
    """Raise InputError for the first row with the rank of an earlier one of its user."""
    row = first_duplicate(user, rank)
    if row is not None:
        raise table.error(
            "rank",
            row,
            rank[row],
            "each rank once per user; if rows are visits of a user, each with a ranking of its "
            f"own, number them in a column {VISIT} (visits=){naming_user(table)}; if items are "
            f"tied, pass {', '.join(COUNT_COLUMNS)}",
        )


def _warn_about_sessions(table: Table) -> None:
    """Warn about several ranks of a session without a user: they may be those of its steps."""
    name = table.name_of.get(VISIT, "")
    is_session = USER not in table.columns and normalise_name(name) in _SESSION_NAMES
    if is_session and "label" not in table.columns and len(table.units()[1]) < len(table):
        warn_all(signs_of_sessions(name, naming_user(table)))


def group_by_user(
    table: Table, counts: RankCounts, rows: RowSelection, grades: Float | None
) -> dict[str, Any]:
    """Return arguments of `Ranks` with the relevant items of each user together.

    Users without a relevant item are dropped.

    Parameters
    ----------
    table, counts
        The table, and the counts of each of its rows from `read_counts`.
    rows, grades
        Rows of relevant items, and their grades.
    """
    n_candidates, n_better, n_tied = counts
    user, units = table.units()
    n_units = len(units)
    depth, is_found, first_row = _read_fields_of_users(table, user, n_candidates, n_better)
    n_relevant = np.bincount(user[rows], minlength=n_units)
    has_items = n_relevant > 0
    found_first = np.lexsort((~is_found[rows], user[rows]))  # for each user, as in `Ranks`
    relevant_row = np.arange(n_better.size)[rows][found_first]
    found_row = relevant_row[is_found[relevant_row]]
    users, visits = units.take(has_items).users_and_visits()
    return {
        "n_candidates": n_candidates[first_row][has_items],
        "n_better": n_better[found_row],
        "n_tied": n_tied[found_row],
        "n_found": np.bincount(user[found_row], minlength=n_units)[has_items],
        "n_relevant": n_relevant[has_items],
        "depth": depth[first_row][has_items],
        "relevance": select_rows(grades, found_first),
        "users": users,
        "visits": visits,
    }


def _read_fields_of_users(
    table: Table, user: Codes | Int, n_candidates: Int, n_better: Int
) -> tuple[Int, Bool, Int]:
    """Read the depth; require it, and `n_candidates`, to be the same in all rows of a user.

    Returns
    -------
    depth, is_found
        See `_read_depth`; shape (rows,).
    first_row
        First row of each user; shape (users,).
    """
    rows_by_user = np.argsort(user, kind="stable")
    first_row = rows_by_user[run_starts(np.bincount(user))]
    first_row_of_user = first_row[user]  # of each row

    def expected(row: int) -> str:
        first = first_row_of_user[row]
        return f"{n_candidates[first]}, as in row {first + 1} of the same user"

    is_different = n_candidates[first_row_of_user] != n_candidates
    table.refuse("n_candidates", is_different, n_candidates, expected)
    depth, is_found = _read_depth(table, n_candidates, n_better)
    is_different = depth[first_row_of_user] != depth
    table.refuse("depth", is_different, depth, "the same depth in all rows of a user")
    return depth, is_found, first_row


def _has_depth(table: Table) -> bool:
    """Return whether a column says where rankings end, beside counts."""
    return {"depth", "n_better"} <= table.columns.keys()


def _read_depth(table: Table, n_candidates: Int, n_better: Int) -> tuple[Int, Bool]:
    """Return the depth of the ranking of each row, and whether the item of the row is found.

    Without a column `depth` rankings are full, so that all items are found.
    """
    if not _has_depth(table):
        return n_candidates, np.ones(n_candidates.size, bool)
    depth = table.whole_numbers("depth", 1, n_candidates)
    expected = "at most depth; items below it have n_better = depth"
    table.refuse("n_better", n_better > depth, n_better, expected)
    return depth, n_better < depth


def _truncated_rows(table: Table, counts: RankCounts, rows: RowSelection) -> dict[str, Any]:
    """Return arguments of `Ranks` for rows of different users, whose rankings end at a depth."""
    depth, is_found = _read_depth(table, counts.n_candidates, counts.n_better)
    relevant, is_found = counts.take(rows), is_found[rows]
    return {
        "n_candidates": relevant.n_candidates,
        "n_better": relevant.n_better[is_found],
        "n_tied": relevant.n_tied[is_found],
        "n_found": is_found.astype(np.int64),
        "n_relevant": np.ones(is_found.size, np.int64),
        "depth": depth[rows],
    }
