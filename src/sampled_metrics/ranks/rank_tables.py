"""Exact ranks, as counts of better and tied candidates or as plain ranks."""

from typing import Any

import numpy as np

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks.records import COLUMNS
from sampled_metrics.ranks.relevant import RelevantRanks
from sampled_metrics.tables import ids
from sampled_metrics.tables.columns import USER, Table
from sampled_metrics.tables.reading import naming


def from_records(table: Table) -> tuple[RelevantRanks, Any]:
    """Take rank records; rows of one `user_id` are the relevant items of that user.

    Returns
    -------
    RelevantRanks
        Users in the order in which they first appear.
    array or None
        Their ids.

    Raises
    ------
    InputError
        A count is impossible, or a user's `n_candidates` differ.
    """
    table.require(*COLUMNS)
    n_candidates = table.whole("n_candidates", 2)
    n_better = table.whole("n_better", 0, n_candidates - 1)
    n_tied = table.whole("n_tied", 0, n_candidates - 1 - n_better)
    return _by_user(table, n_candidates, n_better, n_tied)


def from_plain_ranks(table: Table, n_items: int | None) -> tuple[RelevantRanks, Any]:
    """Take ranks from 1 without ties; candidates are the column `n_candidates`, else `n_items`.

    Returns and raises as `from_records`; two items of a user at one rank are an error too.
    """
    if "n_candidates" in table:
        n_candidates = table.whole("n_candidates", 2)
        rank = table.whole("rank", 1, n_candidates)
    elif n_items is None:
        raise InputError(
            f"{table.path} holds ranks, but not among how many items: "
            "n_items (--n-items) or a column n_candidates is needed"
        )
    else:
        rank = table.whole("rank", 1, n_items)
        n_candidates = np.full(rank.size, n_items)
    _refuse_one_rank_twice(table, rank)
    return _by_user(table, n_candidates, rank - 1, np.zeros_like(rank))


def _by_user(
    table: Table, n_candidates: Int, n_better: Int, n_tied: Int
) -> tuple[RelevantRanks, Any]:
    if USER not in table:
        rows, one = np.arange(len(table)), np.ones(len(table), dtype=np.int64)
        with naming(table.path):
            ranks = RelevantRanks(rows, n_better, n_tied, one, n_candidates, n_candidates)
        return ranks, None
    user, names = ids.numbered(table.ids(USER))
    n_relevant = np.bincount(user)
    order = np.argsort(user, kind="stable")
    first = order[np.cumsum(n_relevant) - n_relevant]
    of_user = n_candidates[first]
    differs = np.flatnonzero(n_candidates != of_user[user])
    if differs.size:
        row = int(differs[0])
        allowed = f"{of_user[user[row]]}, as in row {first[user[row]] + 1} of the same user"
        raise table.error("n_candidates", row, n_candidates[row], allowed)
    with naming(table.path):
        ranks = RelevantRanks(
            user[order], n_better[order], n_tied[order], n_relevant, of_user, of_user
        )
    return ranks, ids.as_numpy(names)


def _refuse_one_rank_twice(table: Table, rank: Int) -> None:
    if USER not in table:
        return
    user, names = ids.numbered(table.ids(USER))
    order = np.lexsort((rank, user))
    same = (np.diff(user[order]) == 0) & (np.diff(rank[order]) == 0)
    if same.any():
        row = int(order[np.argmax(same) + 1])
        raise table.error("rank", row, rank[row], f"each once for user {names[int(user[row])]}")
