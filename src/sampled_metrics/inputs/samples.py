"""Counts of held-out items among their negatives, from labelled pairs or lists of candidates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.arguments import check_arguments
from sampled_metrics._base.array_types import Bool, Floats, Ids, Int
from sampled_metrics._base.arrays import count_by_score
from sampled_metrics._base.arrow import arrow_to_numpy
from sampled_metrics._base.errors import InputError, reading, warn_input
from sampled_metrics._base.units import Units
from sampled_metrics.inputs.items import (
    Items,
    candidate_rows,
    items_by_unit,
    relevant_by_unit,
)
from sampled_metrics.inputs.list_order import warn_if_scores_are_ranks
from sampled_metrics.inputs.roles import ITEM, USER, VISIT
from sampled_metrics.inputs.row_counts import RowCounts
from sampled_metrics.inputs.tables import ColumnNames, Table, as_table
from sampled_metrics.inputs.warnings import warn_about_common_item, warn_about_unused_grades

_MIN_EVEN_USERS = 10  # fewer may have even numbers of negatives by chance


class ScoredPairs(NamedTuple):
    """Users and items that were scored, by number, and which of them are held out."""

    user: Int
    item: Int
    held_out: Bool
    item_ids: Ids


class SampledCounts(NamedTuple):
    """Negatives above each held-out item, and level with it.

    Attributes
    ----------
    better, tied
        Negatives that score higher than each held-out item, and the same.
    n_negatives
        Negatives of each held-out item.
    units
        Users, or visits of users.
    pairs
        All scored pairs, if they have ids.
    n_missing
        Held-out items that were not scored and are ranked last.
    """

    better: Int
    tied: Int
    n_negatives: Int
    units: Units | None = None
    pairs: ScoredPairs | None = None
    n_missing: int = 0

    @classmethod
    def from_rows(cls, counts: RowCounts, units: Units | None) -> SampledCounts:
        """Take the held-out items of rows; all items of a row belong to one user."""
        rows = counts.rows
        if units is None and rows.size > counts.n_found.size:
            units = Units(np.arange(counts.n_found.size))
        return cls(
            counts.better,
            counts.tied,
            counts.candidates[rows] - 1,
            None if units is None else units.take(rows),
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
    """Rank held-out items among the other rows of the same user, or of the same visit.

    Other held-out items of the user, or of the visit, are not negatives.

    Parameters
    ----------
    relevant
        Held-out items; by default the rows of `label` 1.
    missing
        With "last", held-out items that are not among the rows of their users are ranked behind all
        negatives; with "refuse" they are left out.
    candidates
        Items that count, for each user or visit; other rows are left out.
    n_drawn
        Number of negatives behind which missing items are ranked; by default as many as the longest
        list has.
    """
    check_arguments(missing=missing, n_negatives=n_drawn)
    table = as_table(data, "sampled ranks")
    if table is None:
        raise InputError(f"found {type(data).__name__}; expected a table of candidates")
    _require_columns(table, relevant)
    table = candidate_rows(table)
    columns = table.unit_columns()
    codes, units = table.units(columns)
    row_unit = codes.astype(np.int64)
    has_score = "score" in table.columns
    score = table.ordered_numbers("score") if has_score else -table.ordered_numbers("rank")
    warn_if_scores_are_ranks(table, row_unit, score)
    held_out_items = None
    if relevant is None:
        is_held_out = table.zeros_and_ones("label")
    else:
        units, held_out_items = _read_held_out(relevant, table, units)
        codes, item_ids = table.codes(ITEM)
        item = codes.astype(np.int64)
        is_held_out = held_out_items.restrict_to(units, item_ids).has(row_unit, item)
        if candidates is not None:
            shown_items = _read_candidates(candidates, columns, units)
            is_shown = shown_items.restrict_to(units, item_ids).has(row_unit, item)
            row_unit = row_unit[is_shown]
            score = score[is_shown]
            is_held_out = is_held_out[is_shown]
    n_held_out = np.bincount(row_unit[is_held_out], minlength=len(units))
    n_negatives = np.bincount(row_unit[~is_held_out], minlength=len(units))
    if missing == "refuse" or held_out_items is None:
        _require_held_out_and_negatives(n_held_out, n_negatives, units)
    better, tied = _count_negatives(row_unit, score, is_held_out)
    held_out_unit = row_unit[is_held_out]
    counts = SampledCounts(better, tied, n_negatives[held_out_unit], units.take(held_out_unit))
    if missing == "last" and held_out_items is not None:
        return _append_missing(
            counts, units.take(held_out_unit), held_out_items, n_negatives, n_drawn
        )
    if VISIT not in columns:
        _warn_if_rows_are_joined(n_held_out, n_negatives)
    if ITEM not in table.columns or candidates is not None:
        return counts
    codes, item_ids = table.codes(ITEM)
    pairs = ScoredPairs(row_unit, codes.astype(np.int64), is_held_out, arrow_to_numpy(item_ids))
    return counts._replace(pairs=pairs)


def _require_columns(table: Table, relevant: Any) -> None:
    """Raise InputError unless there are scores or ranks, and held-out items are known."""
    columns = table.columns
    if columns.keys().isdisjoint((USER, VISIT)) and "label" in columns:
        raise InputError(
            f"lacks column {USER}; found {', '.join(table.names)}; if each user has as many rows, "
            f"together, add {USER}: numpy.arange(len(table)) // (1 + n_negatives)",
            path=table.path,
        )
    if "score" not in columns and "rank" not in columns:
        table.require("score" if "label" in columns else "sampled_rank")
    if "label" not in columns and relevant is None:
        raise InputError(
            "found scores or ranks of candidates; add a column label (1 or 0), or give "
            "relevant (--relevant); call ranks among negatives sampled_rank; `evaluate` takes "
            "exact ranks"
        )


def _read_held_out(relevant: Any, table: Table, units: Units) -> tuple[Units, Items]:
    """Return users or visits, and their held-out items."""
    with reading(relevant):
        units, items = relevant_by_unit(relevant, table.unit_columns(), units)
    if not items.item.size:
        raise InputError("relevant: no items; expected at least one")
    warn_about_unused_grades(items.relevance)
    warn_about_common_item(items)
    return units, items


def _read_candidates(candidates: Any, columns: ColumnNames, units: Units) -> Items:
    """Return the items that were shown to users, or in visits."""
    with reading(candidates):
        return items_by_unit(candidates, "candidates", columns, units)


def _require_held_out_and_negatives(n_held_out: Int, n_negatives: Int, units: Units) -> None:
    """Raise InputError for the first unit without a held-out item, or else without negatives."""
    without = np.flatnonzero(n_held_out == 0)
    if without.size:
        raise InputError(
            f"no held-out item among the candidates of user {units.name(int(without[0]))} "
            f"({without.size} users have none); give them by relevant (--relevant) with "
            "missing='last' (--missing last), behind all"
        )
    without = np.flatnonzero(n_negatives == 0)
    if without.size:
        raise InputError(
            f"no negatives for user {units.name(int(without[0]))} ({without.size} users have none)"
        )


def _count_negatives(row_unit: Int, score: Floats, is_held_out: Bool) -> tuple[Int, Int]:
    """Count the negatives above each held-out item, and level with it."""
    if not is_held_out.any():
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    better, tied = count_by_score(row_unit, score)
    _, held_out_unit = np.unique(row_unit[is_held_out], return_inverse=True)
    held_out_better, held_out_tied = count_by_score(held_out_unit, score[is_held_out])
    return better[is_held_out] - held_out_better, tied[is_held_out] - held_out_tied


def _append_missing(
    counts: SampledCounts, listed: Units, held_out: Items, n_negatives: Int, n_drawn: int | None
) -> SampledCounts:
    """Append held-out items that are not in the lists, ranked behind all negatives."""
    m = n_negatives.max()
    if n_drawn is None and n_negatives.min() < m:
        warn_input(
            "n_negatives",
            f"some lists end before {m} negatives, the number in the longest, and held-out items "
            f"that they lack count as behind {m}; give n_negatives (--n-negatives) if there were "
            "more",
        )
    m = max(m, n_drawn or 0)
    units = held_out.units
    unit = listed.positions_in(units)  # of each listed item
    n_listed = np.bincount(unit, minlength=len(units))
    missing_unit = np.repeat(np.arange(len(units)), held_out.sizes - n_listed)
    n_missing = missing_unit.size
    return SampledCounts(
        np.append(counts.better, np.full(n_missing, m)),
        np.append(counts.tied, np.zeros(n_missing, np.int64)),
        np.full(held_out.item.size, m),
        units.take(np.append(unit, missing_unit)),
        n_missing=n_missing,
    )


def _warn_if_rows_are_joined(n_held_out: Int, n_negatives: Int) -> None:
    """Warn if each of a user's held-out items seems to have negatives of its own."""
    most = int(n_held_out.max())
    is_even = (n_held_out == most).all() and (n_negatives % most == 0).all()
    if n_held_out.size >= _MIN_EVEN_USERS and most > 1 and is_even:
        warn_input(
            "data",
            f"users have {most} held-out items and {n_negatives[0]} negatives; if these are "
            f"{n_negatives[0] // most} of each item, number each item and its negatives in a "
            f"column {VISIT}",
        )
