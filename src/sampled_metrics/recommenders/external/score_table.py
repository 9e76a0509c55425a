"""Scores made elsewhere, as a table of one row a user and item."""

import logging
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.split import Split
from sampled_metrics.ranks import Ranks
from sampled_metrics.recommenders.external import alignment
from sampled_metrics.tables import ids
from sampled_metrics.tables.batches import read_batches
from sampled_metrics.tables.columns import ITEM, USER, Table

SCORE = "score"
WHAT = f"scores ({USER}, {ITEM}, {SCORE}), or .npz of scores, user_ids, item_ids"
_log = logging.getLogger(__name__)


def from_score_table(path: Path, split: Split) -> Ranks:
    """Rank held-out items by a table of scores, in any order of rows.

    The rows are held as two int32 and one float64. Items that a user has seen are no candidates,
    and rows of users or items that the split does not have are left out; the log says how many.

    Raises
    ------
    InputError
        A candidate has no score, a pair stands there twice, a value is no finite number.
    """
    listed = _read(path, split)

    def score_block(users: Int) -> NDArray[np.float64]:
        scores = np.full((users.size, split.item_ids.size), -np.inf)
        for row, user in zip(scores, users, strict=True):
            mine = slice(listed.start[user], listed.start[user + 1])
            row[listed.item[mine]] = listed.score[mine]
            if np.count_nonzero(row > -np.inf) < mine.stop - mine.start:
                raise _twice(split, int(user), listed.item[mine])
        return scores

    return alignment.rank_complete(path, score_block, split)


class _Listed(NamedTuple):
    """Rows by user: those of user u are start[u] to start[u + 1]."""

    start: Int
    item: NDArray[np.int32]
    score: NDArray[np.float64]


def _read(path: Path, split: Split) -> _Listed:
    known = alignment.id_column(split.user_ids), alignment.id_column(split.item_ids)
    columns: tuple[list[Any], ...] = ([], [], [])
    rows = 0
    for table in read_batches(path, WHAT, (USER, ITEM, SCORE)):
        rows += len(table)
        for column, part in zip(columns, _numbered(table, *known), strict=True):
            column.append(part)
    user, item, score = map(_joined, columns)
    if user.size < rows:
        _log.info(
            "%s: ignored %s of %s rows, of users or items that the split does not have",
            *(path, f"{rows - user.size:,}", f"{rows:,}"),
        )
    if (user[1:] < user[:-1]).any():
        order = np.argsort(user, kind="stable")
        user, item, score = user[order], item[order], score[order]
    start = np.searchsorted(user, np.arange(split.user_ids.size + 1, dtype=user.dtype))
    return _Listed(start, item, score)


def _joined(parts: list[Any]) -> Any:
    """Join the parts of a column and let go of them, for long columns are not to be held twice."""
    whole = np.concatenate(parts)
    parts.clear()
    return whole


def _numbered(
    table: Table, users: object, items: object
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return running numbers and scores of the rows whose user and item the split has."""
    score = table.finite(SCORE)
    user, item = ids.places(table.ids(USER), users), ids.places(table.ids(ITEM), items)
    there = (user >= 0) & (item >= 0)
    return user[there].astype(np.int32), item[there].astype(np.int32), score[there]


def _twice(split: Split, user: int, items: NDArray[np.int32]) -> InputError:
    item = int(np.argmax(np.bincount(items) > 1))
    return InputError(
        f"user {split.user_ids[user]} and item {split.item_ids[item]} stand there more than once; "
        "allowed: each pair once"
    )
