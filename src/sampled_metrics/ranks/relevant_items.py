"""Files of relevant items: tables of pairs, or qrels as trec_eval reads them."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sampled_metrics._base.arrays import Int, first_duplicate
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import trec
from sampled_metrics.tables.columns import ITEM, USER, Table
from sampled_metrics.tables.ids import encoded
from sampled_metrics.tables.reading import head, read_table, require_file

WHAT = "relevant items"


class Pairs(NamedTuple):
    """Different pairs of users and items.

    Attributes
    ----------
    user, item
        Codes by row, int64, from 0 in the order in which the ids first appear.
    user_ids, item_ids
        Ids of the codes, pyarrow arrays of int64 or text.
    """

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

    def take(self, rows: Int) -> "Pairs":
        """Return some of the pairs, with new codes."""
        user, user_ids = encoded(self.user_ids.take(self.user[rows]))
        item, item_ids = encoded(self.item_ids.take(self.item[rows]))
        return Pairs(user.astype(np.int64), item.astype(np.int64), user_ids, item_ids)

    @property
    def items_of_user(self) -> Int:
        """Number of items of each user."""
        return np.bincount(self.user)

    def key(self, user: Int, item: Int) -> Int:
        """Return one number for each pair of codes."""
        return user * len(self.item_ids) + item


def read_relevant(path: Path) -> Pairs:
    """Read relevant items: qrels, or a table with columns `user_id` and `item_id`.

    In qrels, four columns separated by blanks, a document with relevance above 0 is relevant, as
    for trec_eval. In a table every pair is relevant, or those above 0 in a column `relevance`;
    other columns, such as ratings, are ignored.
    """
    table = read_pairs(Path(path), WHAT)
    return Pairs.of(table).take(relevant_rows(table))


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
