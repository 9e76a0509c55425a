"""Files of relevant items: tables of pairs, or qrels as trec_eval reads them."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Int, first_duplicate
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import trec
from sampled_metrics.tables.columns import ITEM, USER, Table
from sampled_metrics.tables.reading import head, read_table, require_file

WHAT = "relevant items"


class RelevantItems(NamedTuple):
    """Different pairs of users and items: pyarrow arrays of int64 or text, shape (pairs,)."""

    users: Any
    items: Any


class Pairs(NamedTuple):
    """Different pairs of users and items: their codes by row, and the ids of the codes."""

    user: Int
    item: Int
    user_ids: Any
    item_ids: Any

    @classmethod
    def of(cls, table: Table) -> "Pairs":
        """Encode the pairs of a table; a duplicate raises InputError."""
        (user, user_ids), (item, item_ids) = table.codes(USER), table.codes(ITEM)
        pairs = cls(user.astype(np.int64), item.astype(np.int64), user_ids, item_ids)
        key = pairs.key(pairs.user, pairs.item)
        again = first_duplicate(key)
        if again is not None:
            pair = f"user {user_ids[user[again]]}, item {item_ids[item[again]]}"
            first = int(np.argmax(key == key[again]))
            raise table.error_at(again, f"duplicate of row {first + 1} ({pair})")
        return pairs

    def key(self, user: Int, item: Int) -> Int:
        """Return one number for each pair of codes."""
        return user * len(self.item_ids) + item


def read_relevant(path: Path) -> RelevantItems:
    """Read relevant items: qrels, or a table with columns `user_id` and `item_id`.

    In qrels, four columns separated by blanks, a document with relevance above 0 is relevant, as
    for trec_eval. In a table every pair is relevant, or those above 0 in a column `relevance`;
    other columns, such as ratings, are ignored.
    """
    table = read_pairs(Path(path), WHAT)
    pairs, rows = Pairs.of(table), relevant_rows(table)
    return RelevantItems(
        pairs.user_ids.take(pairs.user[rows]), pairs.item_ids.take(pairs.item[rows])
    )


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
