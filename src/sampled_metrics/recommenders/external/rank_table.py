"""Rank records made elsewhere, checked against a split."""

from pathlib import Path

import numpy as np

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.split import Split
from sampled_metrics.ranks.ranks import COLUMNS, Ranks
from sampled_metrics.recommenders.external import alignment
from sampled_metrics.tables import ids
from sampled_metrics.tables.columns import ITEM, USER, Table
from sampled_metrics.tables.reading import read_table

WHAT = f"rank records ({', '.join((USER, *COLUMNS))})"


def from_rank_table(path: Path, split: Split) -> Ranks:
    """Take rank records of exactly the split's users, in any order of rows.

    Raises
    ------
    InputError
        A user is missing, stands there twice or is none of the split, its candidates are not the
        items it has not seen, its item is not the held-out one, or a count is impossible.
    """
    table = read_table(path, WHAT)
    table.require(USER, *COLUMNS)
    user = _users(table, split)
    expected = split.n_candidates[user]
    candidates = table.whole("n_candidates", 2)
    differs = np.flatnonzero(candidates != expected)
    if differs.size:
        row = int(differs[0])
        allowed = (
            f"{expected[row]}, the items that user {split.user_ids[user[row]]} has not seen in "
            "training"
        )
        raise table.error("n_candidates", row, candidates[row], allowed)
    better = table.whole("n_better", 0, candidates - 1)
    tied = table.whole("n_tied", 0, candidates - 1 - better)
    if ITEM in table:
        _require_held_out(table, split, user)
    order = np.argsort(user)
    return Ranks(candidates[order], better[order], tied[order], users=split.user_ids)


def _users(table: Table, split: Split) -> Int:
    """Return the running number of the user of each row, all of them once."""
    user_ids = table.ids(USER)
    user = ids.places(user_ids, alignment.id_column(split.user_ids))
    unknown = np.flatnonzero(user < 0)
    if unknown.size:
        row = int(unknown[0])
        allowed = f"the {split.user_ids.size:,} users of the split, each once"
        raise table.error(USER, row, user_ids[row], allowed)
    times = np.bincount(user, minlength=split.user_ids.size)
    again = np.flatnonzero(times > 1)
    if again.size:
        row = int(np.flatnonzero(user == again[0])[1])
        raise InputError(
            f"{table.path}: {table.row(row)}: user {split.user_ids[again[0]]} stands there a "
            "second time; allowed: once"
        )
    alignment.require_all(table.path, "user", times > 0, split.user_ids)
    return user


def _require_held_out(table: Table, split: Split, user: Int) -> None:
    item_ids = table.ids(ITEM)
    item = ids.places(item_ids, alignment.id_column(split.item_ids))
    differs = np.flatnonzero(item != split.held_out[user])
    if differs.size:
        row = int(differs[0])
        held_out = split.item_ids[split.held_out[user[row]]]
        allowed = f"{held_out}, the held-out item of user {split.user_ids[user[row]]}"
        raise table.error(ITEM, row, item_ids[row], allowed)
