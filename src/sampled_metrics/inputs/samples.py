"""Counts of held-out items among their negatives: labelled pairs, and lists of candidates."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sampled_metrics._base.arguments import require_known
from sampled_metrics._base.arrays import Bool, Ids, Int
from sampled_metrics._base.errors import InputError, ask, reading
from sampled_metrics.inputs.items import RELEVANT, Items, ask_of_grades, items_by_id, table_of
from sampled_metrics.inputs.lists import MISSING, by_score
from sampled_metrics.inputs.tables import ITEM, RUN, USER, Table, as_numpy


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


def count_pairs(data: Any, relevant: Any = None, missing: str = "refuse") -> Samples:
    """Rank held-out items, by `label` or by `relevant`, among the other rows of the same user.

    With a column `row_id` they are ranked among those of the same row. Other held-out items of the
    user are no negatives. With `missing` = "last", relevant items that are no candidates of their
    users are behind all negatives.
    """
    require_known("missing", missing, MISSING)
    table = table_of(data, "sampled ranks", "data", "score", RUN)
    if table is None:
        raise InputError(f"found {type(data).__name__}; expected a table of candidates")
    _require_columns(table, relevant)
    has_rows = "row_id" in table.columns
    codes, row_ids = table.codes("row_id" if has_rows else USER)
    row = codes.astype(np.int64)
    user, user_ids = table.codes(USER) if USER in table.columns else (codes, row_ids)
    of_users = as_numpy(user_ids)[user]
    score = table.ordered("score") if "score" in table.columns else -table.ordered("rank")
    wanted = None
    if relevant is not None:
        with reading(relevant):
            wanted = items_by_id(relevant, RELEVANT)
        ask_of_grades(wanted.relevance)
    held = _held_out(table, row, row_ids, wanted)
    n_negatives = np.bincount(row[~held], minlength=len(row_ids))
    n_missing = 0
    if wanted is not None and missing == "last":
        return _with_missing(table, wanted, row, row_ids, score, held, n_negatives)
    for size, problem in (
        (np.bincount(row[held], minlength=len(row_ids)), "no held-out item among the candidates of"),
        (n_negatives, "no negatives for"),
    ):
        without = np.flatnonzero(size == 0)
        if without.size:
            first = row_ids[int(without[0])]
            raise InputError(f"{problem} user {first} ({without.size} users have none)")
    better, tied = _among_negatives(row, score, held)
    if "score" not in table.columns and better.size >= 10 and not better.any():
        ask("data", f"the held-out item is the first of all {better.size:,} users: are candidates in order, best first?")
    if not has_rows:
        _ask_of_rows(row[held], n_negatives)
    pairs = None
    if ITEM in table.columns:
        item, item_ids = table.codes(ITEM)
        pairs = Pairs(row, item.astype(np.int64), held, as_numpy(item_ids))
    return Samples(better, tied, n_negatives[row[held]], of_users[held], pairs, n_missing)


def _among_negatives(row: Int, score: Any, held: Bool) -> tuple[Int, Int]:
    """Count negatives above each held-out item and level with it."""
    of_all = by_score(row, score)
    _, of_row = np.unique(row[held], return_inverse=True)
    of_held = by_score(of_row, score[held])
    return of_all[0][held] - of_held[0], of_all[1][held] - of_held[1]


def _with_missing(
    table: Table, wanted: Items, row: Int, row_ids: pa.Array, score: Any, held: Bool, n_negatives: Int
) -> Samples:
    """Count as with all relevant items, those that are no candidates behind all negatives."""
    inside = wanted.within(row_ids, table.codes(ITEM)[1])
    n_lost = np.bincount(wanted.owners, minlength=wanted.n_users)
    users = as_numpy(wanted.user_ids)
    row_of = {user: place for place, user in enumerate(as_numpy(row_ids).tolist())}
    n_of_user = np.array([row_of.get(user, -1) for user in users.tolist()])
    n_listed = np.bincount(row[held], minlength=len(row_ids))
    lost = n_lost - np.where(n_of_user < 0, 0, n_listed[n_of_user])
    better, tied = _among_negatives(row, score, held)
    most = int(n_negatives.max()) + (inside.item.size == 0)
    m = np.where(n_of_user < 0, most, n_negatives[n_of_user])
    again = np.repeat(np.arange(users.size), lost)
    return Samples(
        np.append(better, m[again]),
        np.append(tied, np.zeros_like(again)),
        np.append(n_negatives[row[held]], m[again]),
        np.append(as_numpy(row_ids)[row[held]], users[again]),
        n_missing=int(again.size),
    )


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


def _held_out(table: Table, row: Int, row_ids: pa.Array, wanted: Items | None) -> Bool:
    """Mark the rows of held-out items."""
    if wanted is None:
        return table.marks("label")
    item, item_ids = table.codes(ITEM)
    return wanted.within(row_ids, item_ids).has(row, item.astype(np.int64))


def _ask_of_rows(row: Int, n_negatives: Int) -> None:
    """Ask whether each of a user's held-out items had negatives of its own."""
    _, n_held = np.unique(row, return_counts=True)
    most = int(n_held.max())
    if n_held.size >= 10 and (n_held == most).all() and most > 1 and (n_negatives % most == 0).all():
        ask(
            "data",
            f"users have {most} held-out items and {n_negatives[0]} negatives: are these "
            f"{n_negatives[0] // most} of each item? Then number the rows in a column row_id",
        )
