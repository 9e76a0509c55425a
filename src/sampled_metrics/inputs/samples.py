"""Counts of held-out items among their negatives: labelled pairs, and lists of candidates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sampled_metrics._base.arguments import check_arguments
from sampled_metrics._base.arrays import Bool, Ids, Int, select_rows
from sampled_metrics._base.errors import InputError, ask, reading
from sampled_metrics.inputs.counting import by_score
from sampled_metrics.inputs.items import RELEVANT, Items, ask_of_grades, items_by_id, table_of
from sampled_metrics.inputs.scores import Beside
from sampled_metrics.inputs.tables import ITEM, RUN, USER, Table, as_numpy, places


class Pairs(NamedTuple):
    """Users and items that were scored, by number, and which of them are held out."""

    user: Int
    item: Int
    held_out: Bool
    item_ids: Ids


class Samples(NamedTuple):
    """Negatives better than each held-out item and level with it, of how many."""

    better: Int
    tied: Int
    n_negatives: Int
    users: Ids | None = None
    pairs: Pairs | None = None
    n_missing: int = 0

    @classmethod
    def of_rows(cls, counts: Beside, users: Ids | None) -> Samples:
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


def count_pairs(data: Any, relevant: Any = None, missing: str = "refuse") -> Samples:
    """Rank held-out items, by `label` or by `relevant`, among the rows of the same user.

    With a column `row_id` they are ranked among rows with the same one. Other held-out items of the
    user are no negatives. With `missing` = "last", relevant items that are no candidates of their
    users are behind all negatives.
    """
    check_arguments(missing=missing)
    table = table_of(data, "sampled ranks", "data", "score", RUN)
    if table is None:
        raise InputError(f"found {type(data).__name__}; expected a table of candidates")
    _require_columns(table, relevant)
    has_rows = "row_id" in table.columns and relevant is None
    group = table.group(by_row=relevant is None)
    codes, row_ids = table.codes(group)
    row = codes.astype(np.int64)
    users = as_numpy(table.ids(USER if USER in table.columns else "row_id"))
    score = table.order()
    pairs = None
    n_missing = 0
    if relevant is None:
        held = table.marks("label")
    else:
        with reading(relevant):
            wanted = items_by_id(relevant, RELEVANT)
        ask_of_grades(wanted.relevance)
        item, item_ids = table.codes(ITEM)
        listed = wanted.within(row_ids, item_ids)
        held = listed.has(row, item.astype(np.int64))
        if missing == "last":
            lost = _lost(wanted, row_ids, np.bincount(row[held], minlength=len(row_ids)))
            n_missing = lost.size
            row = np.append(row, lost)
            users = np.append(users, as_numpy(row_ids)[lost])
            score = np.append(score, np.full(lost.size, -np.inf))
            held = np.append(held, np.ones(lost.size, bool))
    n_held = np.bincount(row[held], minlength=len(row_ids))
    n_negatives = np.bincount(row[~held], minlength=len(row_ids))
    remedy = ""
    if relevant is not None:
        remedy = "; missing='last' (--missing last) puts it behind all"
    _require_some(n_held, row_ids, "no held-out item among the candidates of", remedy)
    _require_some(n_negatives, row_ids, "no negatives for")
    better, tied = _among_negatives(row, score, held)
    if ITEM in table.columns and not n_missing:
        item, item_ids = table.codes(ITEM)
        pairs = Pairs(row, item.astype(np.int64), held, as_numpy(item_ids))
    if not has_rows:
        _ask_of_rows(n_held, n_negatives)
    return Samples(better, tied, n_negatives[row[held]], users[held], pairs, n_missing)


def _require_some(sizes: Int, row_ids: pa.Array, problem: str, remedy: str = "") -> None:
    without = np.flatnonzero(sizes == 0)
    if without.size:
        first = row_ids[int(without[0])]
        raise InputError(f"{problem} user {first} ({without.size} users have none){remedy}")


def _lost(wanted: Items, row_ids: pa.Array, n_listed: Int) -> Int:
    """Return the row of each relevant item that is no candidate of its user."""
    row = places(wanted.user_ids, row_ids)
    if (row < 0).any():
        user = wanted.user_ids[int(np.argmin(row))]
        raise InputError(f"no candidates of user {user}; expected some of each relevant user")
    return np.repeat(row, wanted.sizes - n_listed[row])


def _among_negatives(row: Int, score: Any, held: Bool) -> tuple[Int, Int]:
    """Count negatives above each held-out item and level with it."""
    of_all = by_score(row, score)
    _, of_row = np.unique(row[held], return_inverse=True)
    of_held = by_score(of_row, score[held])
    better = of_all[0][held] - of_held[0]
    tied = of_all[1][held] - of_held[1]
    return better, tied


def _require_columns(table: Table, relevant: Any) -> None:
    """Raise InputError unless there are scores or ranks, and held-out items are known."""
    columns = table.columns
    is_known = "label" in columns or relevant is not None
    exact = columns.keys() & {"n_better", "rank"}
    if not is_known and exact:
        raise InputError(
            f"found exact ranks (column {min(exact)}), not sampled ones; "
            "`sampled-metrics evaluate` takes them"
        )
    if "score" not in columns and "rank" not in columns:
        table.require("score" if "label" in columns else "sampled_rank")
    if not is_known:
        raise InputError("found scores; add a column label (1 or 0), or give --relevant")


def _ask_of_rows(n_held: Int, n_negatives: Int) -> None:
    """Ask whether each of a user's held-out items had negatives of its own."""
    most = int(n_held.max())
    is_even = (n_held == most).all() and (n_negatives % most == 0).all()
    if n_held.size >= 10 and most > 1 and is_even:
        ask(
            "data",
            f"users have {most} held-out items and {n_negatives[0]} negatives: are these "
            f"{n_negatives[0] // most} of each item? Then number the rows in a column row_id",
        )
