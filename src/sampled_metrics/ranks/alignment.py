"""Ranks from elsewhere, checked against a split and brought into its order."""

from pathlib import Path

import numpy as np

from sampled_metrics._base.arrays import Int, first_duplicate
from sampled_metrics.datasets.split import Split, require_all
from sampled_metrics.ranks.rank_tables import counts
from sampled_metrics.ranks.ranks import COLUMNS, Ranks
from sampled_metrics.tables.columns import ITEM, USER, Table
from sampled_metrics.tables.ids import column_of, places
from sampled_metrics.tables.reading import read_table

WHAT = f"rank records ({', '.join((USER, *COLUMNS))})"


def read_aligned(path: Path, split: Split) -> Ranks:
    """Read the ranks of a split's held-out items, made by another recommender.

    Parameters
    ----------
    path
        A table (CSV, TSV or parquet) of `user_id`, `n_candidates`, `n_better`, `n_tied` and maybe
        `item_id`, with exactly the users of the split in any order. Candidates must be the items
        that a user has not seen in training, and items those held out.
    split
        What was held out, and what each user had seen.

    Returns
    -------
    Ranks
        In the order of the split's users.
    """
    table = read_table(Path(path), WHAT)
    table.require(USER, *COLUMNS)
    user = _users(table, split)
    candidates, better, tied = counts(table)
    expected = split.n_candidates[user]
    if (candidates != expected).any():
        row = int(np.argmax(candidates != expected))
        user_id = split.user_ids[user[row]]
        what = f"{expected[row]}, the items that user {user_id} has not seen in training"
        raise table.error("n_candidates", row, candidates[row], what)
    if ITEM in table:
        _require_held_out(table, split, user)
    order = np.argsort(user)
    return Ranks.trusted(candidates[order], better[order], tied[order])


def _users(table: Table, split: Split) -> Int:
    """Return the number, in the split, of the user of each row."""
    ids = table.ids(USER)
    user = places(ids, column_of(split.evaluated_ids))
    if (user < 0).any():
        row = int(np.argmax(user < 0))
        raise table.error(USER, row, ids[row], f"one of the {split.held_out.size:,} of the split")
    again = first_duplicate(user)
    if again is not None:
        raise table.error_at(again, f"duplicate {USER} {ids[again]}")
    present = np.bincount(user, minlength=split.held_out.size) > 0
    require_all(table.path, "user", present, split.evaluated_ids)
    return user


def _require_held_out(table: Table, split: Split, user: Int) -> None:
    ids = table.ids(ITEM)
    differs = places(ids, column_of(split.item_ids)) != split.held_out[user]
    if differs.any():
        row = int(np.argmax(differs))
        held_out = split.held_out_ids[user[row]]
        what = f"{held_out}, the held-out item of user {split.user_ids[user[row]]}"
        raise table.error(ITEM, row, ids[row], what)
