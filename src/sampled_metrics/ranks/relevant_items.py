"""Files of relevant items: tables of pairs, or qrels as trec_eval reads them."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import trec
from sampled_metrics.tables.columns import ITEM, USER, Table
from sampled_metrics.tables.reading import head, read_table, require_file

WHAT = "relevant items"


class RelevantItems(NamedTuple):
    """Different pairs of users and items: pyarrow arrays of int64 or text, shape (pairs,)."""

    users: Any
    items: Any


def read_relevant(path: Path) -> RelevantItems:
    """Read relevant items: qrels, or a table with columns `user_id` and `item_id`.

    In qrels, four columns separated by blanks, a document with relevance above 0 is relevant, as
    for trec_eval. In a table every pair is relevant, or those above 0 in a column `relevance`;
    other columns, such as ratings, are ignored.
    """
    table = read_pairs(Path(path), WHAT)
    require_different_pairs(table)
    rows = relevant_rows(table)
    return RelevantItems(table.ids(USER).take(rows), table.ids(ITEM).take(rows))


def read_pairs(path: Path, what: str) -> Table:
    """Read a table with columns `user_id` and `item_id`, or qrels as one."""
    require_file(path, what)
    is_text = path.suffix != ".parquet"
    if is_text and (path.suffix == ".qrels" or trec.is_qrels(head(path, what))):
        return trec.read_qrels(path)
    table = read_table(path, what)
    table.require(USER, ITEM)
    return table


def relevant_rows(table: Table) -> Int:
    """Return the rows with a relevance above 0, all without such a column; at least one."""
    if "relevance" not in table:
        return np.arange(len(table))
    rows = np.flatnonzero(table.finite("relevance") > 0)
    if not rows.size:
        raise InputError("no relevance above 0; expected relevant items", path=table.path)
    return rows


def require_different_pairs(table: Table) -> None:
    """Raise InputError for a duplicate pair of user and item."""
    (user, user_ids), (item, item_ids) = table.codes(USER), table.codes(ITEM)
    key = user * np.int64(len(item_ids)) + item
    order = np.argsort(key, kind="stable")
    again = np.flatnonzero(key[order][1:] == key[order][:-1])
    if again.size:
        first, second = (int(order[again[0] + step]) for step in (0, 1))
        pair = f"user {user_ids[user[second]]}, item {item_ids[item[second]]}"
        raise table.error_at(second, f"duplicate of row {first + 1} ({pair})")
