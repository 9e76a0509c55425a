"""Seen and held-out items of users, from tables of pairs with any ids."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from scipy.sparse import csr_array

from sampled_metrics._base.arrays import Ids, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks.relevant_items import WHAT, read_pairs, relevant_rows
from sampled_metrics.tables.casts import as_numpy
from sampled_metrics.tables.columns import Table
from sampled_metrics.tables.ids import ITEM, USER, column_of, places
from sampled_metrics.tables.reading import read_table

SEEN = "seen items (user_id, item_id)"


class KnownItems(NamedTuple):
    """What users have seen and what is held out for them."""

    user_ids: Ids  # of users with held-out items, in ascending order
    item_ids: Ids  # of all items that any table names, likewise
    seen: csr_array  # nonzero at seen items, shape (users, items)
    held_out: csr_array
    seen_by_others: csr_array  # what users without held-out items have seen

    def pairs(self, table: Table) -> tuple[Int, Int]:
        """Return the rows and columns of the pairs of another table of the same ids."""
        user = table.places(USER, self.user_ids, f"an id of the {WHAT}")
        return user, table.places(ITEM, self.item_ids, "an id of the items")


def read_known_items(
    held_out: Path, seen: Path, items: Path | None = None, others: Sequence[Table] = ()
) -> KnownItems:
    """Read tables of pairs, or qrels for the held-out items.

    Parameters
    ----------
    items
        Table of all items, `item_id`, where some are in none of the others.
    others
        Tables whose items belong to the catalogue as well.
    """
    held = read_pairs(Path(held_out), WHAT)
    known = read_table(Path(seen), SEEN)
    known.require(USER, ITEM)
    catalogue = [] if items is None else [read_table(Path(items), "items (item_id)")]
    user_ids = _sorted([held.ids(USER)])
    item_ids = _sorted([table.ids(ITEM) for table in (held, known, *catalogue, *others)])
    (user, item), (seen_user, seen_item) = (
        (places(table.ids(USER), column_of(user_ids)), places(table.ids(ITEM), column_of(item_ids)))
        for table in (held, known)
    )
    rows, _ = relevant_rows(held)
    mine = seen_user >= 0
    other_ids, other = np.unique(known.codes(USER)[0][~mine], return_inverse=True)
    shape = user_ids.size, item_ids.size
    result = KnownItems(
        user_ids,
        item_ids,
        seen=_marked(seen_user[mine], seen_item[mine], shape),
        held_out=_marked(user[rows], item[rows], shape),
        seen_by_others=_marked(other, seen_item[~mine], (other_ids.size, item_ids.size)),
    )
    both = result.seen.multiply(result.held_out).tocoo()
    if both.nnz:
        user_id, item_id = user_ids[both.row[0]], item_ids[both.col[0]]
        raise InputError(f"user {user_id}, item {item_id} is both seen and held out", path=seen)
    return result


def _sorted(columns: Sequence[Any]) -> Ids:
    """Return the distinct ids of columns in ascending order; text where any column is."""
    kind = pa.int64() if all(pa.types.is_integer(c.type) for c in columns) else pa.string()
    chunks = [chunk.cast(kind) for column in columns for chunk in column.chunks]
    distinct = as_numpy(pa.chunked_array(chunks).unique())
    return np.sort(distinct if kind == pa.int64() else distinct.astype(np.str_))


def _marked(user: Int, item: Int, shape: tuple[int, int]) -> csr_array:
    marked = csr_array((np.ones(user.size, dtype=bool), (user, item)), shape=shape)
    marked.sum_duplicates()
    return marked
