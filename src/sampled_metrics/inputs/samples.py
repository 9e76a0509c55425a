"""Counts of held-out items among their negatives: labelled pairs, and lists of candidates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sampled_metrics._base.arguments import check_arguments
from sampled_metrics._base.array_types import Bool, Ids, Int
from sampled_metrics._base.arrays import count_by_score, select_rows
from sampled_metrics._base.errors import InputError, reading, warn_input
from sampled_metrics.inputs.arrow_columns import arrow_to_numpy, positions
from sampled_metrics.inputs.items import (
    Items,
)
from sampled_metrics.inputs.list_order import warn_if_scores_are_ranks
from sampled_metrics.inputs.roles import ITEM, USER, VISIT
from sampled_metrics.inputs.scores import RowCounts
from sampled_metrics.inputs.tables import ColumnNames, Table, as_table
from sampled_metrics.inputs.units import items_by_unit, relevant_by_unit
from sampled_metrics.inputs.warnings import warn_about_common_item, warn_about_unused_grades

_WITHOUT_HELD_OUT = (
    "user {0} ({1} users have none); give them by relevant (--relevant) with missing='last' "
    "(--missing last), behind all"
)


class ScoredPairs(NamedTuple):
    """Users and items that were scored, by number, and which of them are held out."""

    user: Int
    item: Int
    held_out: Bool
    item_ids: Ids


class SampledCounts(NamedTuple):
    """Negatives better than each held-out item and level with it, of how many."""

    better: Int
    tied: Int
    n_negatives: Int
    users: Ids | None = None
    pairs: ScoredPairs | None = None
    n_missing: int = 0

    @classmethod
    def from_rows(cls, counts: RowCounts, users: Ids | None) -> SampledCounts:
        """Take the held-out items of rows; several of a row are of one user."""
        rows = counts.rows
        if users is None and rows.size > counts.n_found.size:
            users = np.arange(counts.n_found.size)
        return cls(
            counts.better,
            counts.tied,
            counts.candidates[rows] - 1,
            select_rows(users, rows),
            n_missing=int(np.count_nonzero(counts.lost)),
        )


def count_pairs(
    data: Any,
    relevant: Any = None,
    missing: str = "refuse",
    *,
    candidates: Any = None,
    n_drawn: int | None = None,
) -> SampledCounts:
    """Rank held-out items, by `label` or by `relevant`, among the rows of the same user.

    With visits they are ranked among the rows of the same one. Other held-out items of the user, or
    of the visit, are no negatives. With `missing` = "last", relevant items that are no candidates
    of their users are behind all of `n_drawn` negatives, by default as many as the longest list
    has. Rows that are none of `candidates` are left out.
    """
    check_arguments(missing=missing, n_negatives=n_drawn)
    table = as_table(data, "sampled ranks")
    if table is None:
        raise InputError(f"found {type(data).__name__}; expected a table of candidates")
    _require_columns(table, relevant)
    columns = table.unit_columns()
    codes, row_ids = table.units(columns)
    row = codes.astype(np.int64)
    score = table.sort_key()
    warn_if_scores_are_ranks(table, row, score)
    if relevant is None:
        held = table.zeros_and_ones("label")
    else:
        row_ids, wanted = _read_held_out(relevant, table, row_ids)
        item, item_ids = table.codes(ITEM)
        listed = wanted.restrict_to(row_ids, item_ids)
        held = listed.has(row, item.astype(np.int64))
        if candidates is not None:
            allowed = _read_candidates(candidates, columns, row_ids)
            shown = allowed.restrict_to(row_ids, item_ids)
            is_shown = shown.has(row, item.astype(np.int64))
            row, score, held = row[is_shown], score[is_shown], held[is_shown]
    n_held = np.bincount(row[held], minlength=len(row_ids))
    n_negatives = np.bincount(row[~held], minlength=len(row_ids))
    may_lack = missing == "last" and relevant is not None
    if not may_lack:
        _require_positive(
            n_held, row_ids, f"no held-out item among the candidates of {_WITHOUT_HELD_OUT}"
        )
        _require_positive(n_negatives, row_ids, "no negatives for user {0} ({1} users have none)")
    better, tied = _count_negatives(row, score, held)
    found = SampledCounts(better, tied, n_negatives[row[held]], arrow_to_numpy(row_ids)[row[held]])
    if may_lack:
        return _append_missing(found, wanted, n_negatives, n_drawn)
    if VISIT not in columns:
        _warn_if_rows_share_negatives(n_held, n_negatives)
    if ITEM not in table.columns or candidates is not None:
        return found
    item, item_ids = table.codes(ITEM)
    pairs = ScoredPairs(row, item.astype(np.int64), held, arrow_to_numpy(item_ids))
    return found._replace(pairs=pairs)


def _read_held_out(relevant: Any, table: Table, row_ids: pa.Array) -> tuple[pa.Array, Items]:
    """Return the ids of users or of visits, and their held-out items, of which there is one."""
    with reading(relevant):
        row_ids, wanted = relevant_by_unit(relevant, table.unit_columns(), row_ids)
    if not wanted.item.size:
        raise InputError("relevant: no items; expected at least one")
    warn_about_unused_grades(wanted.relevance)
    warn_about_common_item(wanted)
    return row_ids, wanted


def _read_candidates(candidates: Any, columns: ColumnNames, row_ids: pa.Array) -> Items:
    """Return the items shown to users, or in visits."""
    with reading(candidates):
        return items_by_unit(candidates, "candidates", columns, row_ids)


def _require_positive(sizes: Int, row_ids: pa.Array, problem: str) -> None:
    without = np.flatnonzero(sizes == 0)
    if without.size:
        raise InputError(problem.format(row_ids[int(without[0])], without.size))


def _append_missing(
    found: SampledCounts, wanted: Items, n_negatives: Int, n_drawn: int | None
) -> SampledCounts:
    """Add held-out items that lists lack, behind `n_drawn` negatives, as lists that end have."""
    m = n_negatives.max()
    if n_drawn is None and n_negatives.min() < m:
        warn_input(
            "n_negatives",
            f"lists end before {m} negatives, as many as the longest has, and those that they lack "
            "count as behind their ends; give n_negatives (--n-negatives) if there were more",
        )
    m = max(m, n_drawn or 0)
    ids = arrow_to_numpy(wanted.user_ids)
    users = np.asarray(found.users)
    owner = positions(users, wanted.user_ids)
    n_lost = wanted.sizes - np.bincount(owner, minlength=ids.size)
    lost = np.repeat(ids, n_lost)
    return SampledCounts(
        np.append(found.better, np.full(lost.size, m)),
        np.append(found.tied, np.zeros(lost.size, np.int64)),
        np.full(wanted.item.size, m),
        np.append(users, lost),
        n_missing=lost.size,
    )


def _count_negatives(row: Int, score: Any, held: Bool) -> tuple[Int, Int]:
    """Count negatives above each held-out item and level with it."""
    if not held.any():
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    of_all = count_by_score(row, score)
    _, of_row = np.unique(row[held], return_inverse=True)
    of_held = count_by_score(of_row, score[held])
    better = of_all[0][held] - of_held[0]
    tied = of_all[1][held] - of_held[1]
    return better, tied


def _require_columns(table: Table, relevant: Any) -> None:
    """Raise InputError unless there are scores or ranks, and held-out items are known."""
    columns = table.columns
    if columns.keys().isdisjoint((USER, VISIT)) and "label" in columns:
        raise InputError(
            f"lacks column {USER}; found {', '.join(table.names)}; if each user has as many rows, "
            f"together, add {USER}: numpy.arange(len(table)) // (1 + n_negatives)",
            path=table.path,
        )
    is_known = "label" in columns or relevant is not None
    if "score" not in columns and "rank" not in columns:
        table.require("score" if "label" in columns else "sampled_rank")
    if not is_known:
        raise InputError(
            "found scores or ranks of candidates; add a column label (1 or 0), or give "
            "relevant (--relevant); call ranks among negatives sampled_rank; `evaluate` takes "
            "exact ranks"
        )


def _warn_if_rows_share_negatives(n_held: Int, n_negatives: Int) -> None:
    """Ask whether each of a user's held-out items had negatives of its own."""
    most = int(n_held.max())
    is_even = (n_held == most).all() and (n_negatives % most == 0).all()
    if n_held.size >= 10 and most > 1 and is_even:
        warn_input(
            "data",
            f"users have {most} held-out items and {n_negatives[0]} negatives: are these "
            f"{n_negatives[0] // most} of each item? Then number the rows in a column {VISIT}",
        )
