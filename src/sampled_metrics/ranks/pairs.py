"""Tables of relevant and seen items, as pairs of users and items."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import scipy  # `scipy.sparse` takes long to import, so only where it is used
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Ids, Int, first_duplicate
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks.questions import ask
from sampled_metrics.ranks.ranks import grades_of
from sampled_metrics.tables import ITEM, QRELS, USER, Table, as_numpy, encoded, places, read_table

RELEVANT = "relevant items"
SEEN = "seen items (user_id, item_id)"
_NOTHING = pa.chunked_array([pa.array([], pa.int64())])
NO_PAIRS = Table(Path("seen"), {USER: _NOTHING, ITEM: _NOTHING}, (USER, ITEM))


class Pairs(NamedTuple):
    """Different pairs of users and items, one a row, and maybe the grade of each."""

    user: Int  # codes from 0 in the order in which the ids first appear
    item: Int
    user_ids: Any  # pyarrow arrays of int64 or text, by code
    item_ids: Any
    relevance: Float | None = None

    @classmethod
    def of(cls, table: Table, *, unique: bool = True) -> Pairs:
        """Encode the pairs of a table; where they must be `unique`, duplicates are an error."""
        (user, user_ids), (item, item_ids) = table.codes(USER), table.codes(ITEM)
        pairs = cls(user.astype(np.int64), item.astype(np.int64), user_ids, item_ids)
        key = pairs.key(pairs.user, pairs.item)
        again = first_duplicate(key) if unique else None
        if again is not None:
            found = "user {}, item {}".format(*pairs.pair(again))
            first = int(np.argmax(key == key[again])) + 1
            raise table.error_at(again, f"duplicate of row {first} ({found})")
        return pairs

    def among(self, others: Pairs) -> NDArray[np.bool_]:
        """Return whether each of these pairs is one of the others."""
        user = places(others.user_ids, self.user_ids)[others.user]
        item = places(others.item_ids, self.item_ids)[others.item]
        both = (user >= 0) & (item >= 0)
        return np.isin(self.key(self.user, self.item), self.key(user[both], item[both]))

    def take(self, rows: Int) -> Pairs:
        """Return some of the pairs, with new codes."""
        user, user_ids = encoded(self.user_ids.take(self.user[rows]))
        item, item_ids = encoded(self.item_ids.take(self.item[rows]))
        return Pairs(user.astype(np.int64), item.astype(np.int64), user_ids, item_ids)

    def pair(self, row: int) -> tuple[Any, Any]:
        """Return the ids of a row's user and item."""
        return self.user_ids[int(self.user[row])], self.item_ids[int(self.item[row])]

    def n_items(self) -> Int:
        """Count the items of each user."""
        return np.bincount(self.user, minlength=len(self.user_ids))

    def key(self, user: Int, item: Int) -> Int:
        """Return one number for each pair of codes."""
        return user * len(self.item_ids) + item


def read_relevant(path: Any, min_relevance: float = 0.0) -> Pairs:
    """Read relevant items: qrels, or a table with columns `user_id` and `item_id`.

    In qrels, four columns separated by blanks, a document with relevance above 0 is relevant, as
    for trec_eval. In a table every pair is relevant, or those above 0 in a column `relevance`;
    other columns, such as ratings, are ignored. Users without an item of at least `min_relevance`
    are left out.
    """
    table = read_pairs(path, RELEVANT)
    pairs = Pairs.of(table)
    rows, grades = relevant_rows(table)
    if grades is not None and min_relevance > 0.0:
        enough = np.zeros(len(pairs.user_ids), bool)
        enough[pairs.user[rows][grades >= min_relevance]] = True
        kept = enough[pairs.user[rows]]
        if kept.any():
            rows = rows[kept]
            grades = grades[kept]
    return pairs.take(rows)._replace(relevance=grades)


def read_pairs(data: Any, what: str) -> Table:
    """Read a table with columns `user_id` and `item_id`, or qrels as one; or take a DataFrame."""
    table = read_table(data, what, trec=QRELS)
    table.require(USER, ITEM)
    return table


def relevant_rows(table: Table) -> tuple[Int, Float | None]:
    """Return the rows with a relevance above 0, at least one, and their grades, unless all are 1.

    Without a column `relevance` these are all rows.
    """
    if "relevance" not in table.columns:
        return np.arange(len(table)), None
    relevance = table.finite("relevance")
    rows = np.flatnonzero(relevance > 0.0)
    if not rows.size:
        raise InputError("no relevance above 0; expected relevant items", path=table.path)
    return rows, grades_of(relevance[rows])


def ask_of_grades(grades: Float | None) -> None:
    """Warn that grades are not used, if there are any."""
    if grades is not None:
        ask(
            "relevance has grades, which are not used here: items with any above 0 are relevant "
            "alike, also for ndcg; from full rankings `evaluate` takes grades as gains"
        )


class KnownItems(NamedTuple):
    """Items that users have seen, and those that are held out for them."""

    user_ids: Ids  # of users with held-out items, in ascending order
    item_ids: Ids  # of all items that any table names, likewise
    seen: scipy.sparse.csr_array  # nonzero at seen items, shape (users, items)
    held_out: scipy.sparse.csr_array
    seen_by_others: scipy.sparse.csr_array  # what users without held-out items have seen


def read_known_items(
    held_out: Any, seen: Any, items: Any = None, others: Sequence[Table] = ()
) -> KnownItems:
    """Read tables of pairs, files or DataFrames, or qrels for the held-out items.

    `seen` is `NO_PAIRS` if nobody has seen anything. The catalogue has the items of all tables,
    also those of a table of `items` (`item_id`) and of `others`.
    """
    held = read_pairs(held_out, RELEVANT)
    of_seen = seen if isinstance(seen, Table) else read_table(seen, SEEN)
    of_seen.require(USER, ITEM)
    catalogue = [] if items is None else [read_table(items, "items (item_id)")]
    user_ids = _distinct([held.ids(USER)])
    item_ids = _distinct([table.ids(ITEM) for table in (held, of_seen, *catalogue, *others)])
    (user, item), (seen_user, seen_item) = (
        (places(table.ids(USER), user_ids), places(table.ids(ITEM), item_ids))
        for table in (held, of_seen)
    )
    rows, grades = relevant_rows(held)
    ask_of_grades(grades)
    mine = seen_user >= 0
    other = np.unique(of_seen.codes(USER)[0][~mine], return_inverse=True)[1]
    sizes = (user_ids.size, user_ids.size, other.max(initial=-1) + 1)
    pairs = (
        (seen_user[mine], seen_item[mine]),
        (user[rows], item[rows]),
        (other, seen_item[~mine]),
    )
    marked = []
    for size, (row, column) in zip(sizes, pairs, strict=True):
        values = np.ones(row.size, dtype=bool)
        marked.append(scipy.sparse.csr_array((values, (row, column)), shape=(size, item_ids.size)))
        marked[-1].sum_duplicates()
    both = marked[0].multiply(marked[1]).tocoo()
    if both.nnz:
        pair = f"user {user_ids[both.row[0]]}, item {item_ids[both.col[0]]}"
        raise InputError(f"{pair} is both seen and held out", path=of_seen.path)
    return KnownItems(user_ids, item_ids, *marked)


def _distinct(columns: Sequence[Any]) -> Ids:
    """Return the distinct ids of columns in ascending order; text where any column is."""
    kind = pa.int64() if all(pa.types.is_integer(c.type) for c in columns) else pa.string()
    chunks = [chunk.cast(kind) for column in columns for chunk in column.chunks]
    distinct = as_numpy(pa.chunked_array(chunks).unique())
    return np.sort(distinct if kind == pa.int64() else distinct.astype(np.str_))
