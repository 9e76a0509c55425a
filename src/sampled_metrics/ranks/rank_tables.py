"""Exact ranks in tables, as counts of better and tied candidates or as plain ranks."""

import numpy as np

from sampled_metrics._base.arrays import Int, first_duplicate, starts
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.ranks.ranks import COLUMNS, Ranks
from sampled_metrics.tables.columns import USER, Table


def from_counts(table: Table, source: str) -> Ranks:
    """Take the columns `n_candidates`, `n_better` and `n_tied`.

    Rows of one `user_id` are the relevant items of that user; users are in the order in which they
    first appear.
    """
    return _by_user(table, *counts(table), source)


def counts(table: Table) -> tuple[Int, Int, Int]:
    """Return the columns `n_candidates`, `n_better` and `n_tied` by row."""
    table.require(*COLUMNS)
    n_candidates = table.whole("n_candidates", 2)
    n_better = table.whole("n_better", 0, n_candidates - 1)
    return n_candidates, n_better, table.whole("n_tied", 0, n_candidates - 1 - n_better)


def from_plain_ranks(table: Table, n_items: int | None, source: str) -> Ranks:
    """Take the column `rank`, from 1 and without ties, of `n_candidates` or else `n_items`."""
    if "n_candidates" in table:
        n_candidates = table.whole("n_candidates", 2)
        rank = table.whole("rank", 1, n_candidates)
    elif n_items is None:
        raise InputError(
            "found ranks, but not among how many items; give n_items (--n-items) or add a column "
            "n_candidates",
            path=table.path,
        )
    else:
        rank = table.whole("rank", 1, n_items)
        n_candidates = np.full(rank.size, n_items)
    if USER in table:
        distinct, code = np.unique(rank, return_inverse=True)
        row = first_duplicate(table.codes(USER)[0] * np.int64(distinct.size) + code)
        if row is not None:
            raise table.error("rank", row, rank[row], "each rank once per user")
    return _by_user(table, n_candidates, rank - 1, np.zeros_like(rank), source)


def _by_user(table: Table, n_candidates: Int, n_better: Int, n_tied: Int, source: str) -> Ranks:
    if USER not in table:
        return Ranks.trusted(n_candidates, n_better, n_tied, source=source)
    user, user_ids = table.codes(USER)
    n_found = np.bincount(user)
    order = np.argsort(user, kind="stable")
    first = order[starts(n_found)]
    of_user = n_candidates[first]
    differs = np.flatnonzero(n_candidates != of_user[user])
    if differs.size:
        row = int(differs[0])
        expected = f"{of_user[user[row]]}, as in row {first[user[row]] + 1} of the same user"
        raise table.error("n_candidates", row, n_candidates[row], expected)
    with reading(table.path):
        return Ranks(
            of_user,
            n_better[order],
            n_tied[order],
            n_found=n_found,
            users=user_ids.to_numpy(zero_copy_only=False),
            source=source,
        )
