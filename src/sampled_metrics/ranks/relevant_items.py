"""Relevant items of users: a table of pairs, or qrels as trec_eval reads them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import trec
from sampled_metrics.tables import ids
from sampled_metrics.tables.columns import ITEM, USER, Table
from sampled_metrics.tables.reading import head, read_table, require_file

WHAT = "relevant items"


@dataclass(frozen=True)
class RelevantItems:
    """Pairs of users and items, each once.

    Attributes
    ----------
    path
        The file.
    users, items
        Ids of each pair, pyarrow arrays of int64 or text, shape (pairs,).
    """

    path: Path
    users: Any
    items: Any

    def __len__(self) -> int:
        return len(self.users)


def read_relevant(path: Path) -> RelevantItems:
    """Read relevant items: qrels, or a table with columns `user_id` and `item_id`.

    In qrels, four columns between white space, a document of relevance above 0 is relevant, as
    for trec_eval. In a table every pair is relevant, unless there is a column `relevance`, of
    which above 0 counts likewise; other columns, such as ratings, are not looked at.

    Raises
    ------
    InputError
        The file is missing or not what it should be, a pair stands there twice, or none is
        relevant.
    """
    path = Path(path)
    table = read_pairs(path, WHAT)
    users, items = table.ids(USER), table.ids(ITEM)
    refuse_repeated(table, ids.numbered(users)[0], ids.numbered(items)[0])
    rows = relevant_rows(table)
    return RelevantItems(path, users.take(rows), items.take(rows))


def read_pairs(path: Path, what: str) -> Table:
    """Read a table of users and items, or qrels as such a table."""
    require_file(path, what)
    is_text = path.suffix != ".parquet"
    if is_text and (path.suffix == ".qrels" or trec.is_qrels(head(path, what))):
        return trec.read_qrels(path)
    table = read_table(path, what)
    table.require(USER, ITEM)
    return table


def relevant_rows(table: Table) -> Int:
    """Return the rows of relevance above 0, all where there is no such column; at least one."""
    if "relevance" not in table:
        return np.arange(len(table))
    rows = np.flatnonzero(table.finite("relevance") > 0)
    if not rows.size:
        raise InputError(f"{table.path}: no pair has a relevance above 0; expected {WHAT}")
    return rows


def refuse_repeated(table: Table, user: Any, item: Any) -> None:
    """Raise InputError for a duplicate pair of user and item."""
    key = user * (int(item.max()) + 1) + item
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(key[order][1:] == key[order][:-1])
    if again.size:
        first, second = (int(order[again[0] + step]) for step in (0, 1))
        pair = f"user {_at(table, USER, second)}, item {_at(table, ITEM, second)}"
        raise table.error_at(second, f"duplicate of row {first + 1} ({pair})")


def _at(table: Table, name: str, row: Any) -> Any:
    return table.columns[name][int(row)].as_py()
