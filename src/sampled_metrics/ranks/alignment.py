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
        `item_id`, with the users of the split in any order; those who are not evaluated may be
        missing. Candidates must be the items that a user has not seen in training, and items those
        held out.
    split
        What was held out, and what each user had seen.

    Returns
    -------
    Ranks
        In the order of the evaluated users.
    """
    table = read_table(Path(path), WHAT)
    table.require(USER, *COLUMNS)
    user = _users(table, split)
    rows = np.argsort(user)[: split.held_out.size]  # of evaluated users, who come first
    candidates, better, tied = (column[rows] for column in counts(table))
    expected = split.n_candidates
    if (candidates != expected).any():
        wrong = np.flatnonzero(candidates != expected)
        place = wrong[np.argmin(rows[wrong])]
        user_id = split.user_ids[place]
        what = f"{expected[place]}, the items that user {user_id} has not seen in training"
        raise table.error("n_candidates", int(rows[place]), candidates[place], what)
    if ITEM in table:
        _require_held_out(table, split, rows)
    return Ranks.trusted(candidates, better, tied)


def _users(table: Table, split: Split) -> Int:
    """Return the number, in the split, of the user of each row."""
    ids = table.ids(USER)
    user = places(ids, column_of(split.user_ids))
    if (user < 0).any():
        row = int(np.argmax(user < 0))
        raise table.error(USER, row, ids[row], f"one of the {split.user_ids.size:,} of the split")
    again = first_duplicate(user)
    if again is not None:
        raise table.error_at(again, f"duplicate {USER} {ids[again]}")
    present = np.bincount(user, minlength=split.user_ids.size) > 0
    require_all(table.path, "user", present[: split.held_out.size], split.evaluated_ids)
    return user


def _require_held_out(table: Table, split: Split, rows: Int) -> None:
    ids = table.ids(ITEM)
    differs = np.flatnonzero(places(ids, column_of(split.item_ids))[rows] != split.held_out)
    if differs.size:
        place = differs[np.argmin(rows[differs])]
        what = f"{split.held_out_ids[place]}, the held-out item of user {split.user_ids[place]}"
        raise table.error(ITEM, int(rows[place]), ids[int(rows[place])], what)
