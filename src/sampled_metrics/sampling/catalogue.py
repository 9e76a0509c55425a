"""Items of a catalogue: held-out items, items that users have seen, and all others."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sampled_metrics._base.arguments import whole_number
from sampled_metrics._base.array_types import Ids
from sampled_metrics._base.columns import id_column
from sampled_metrics._base.conversion import is_arrow_table, to_array
from sampled_metrics._base.defaults import MAX_ITEMS
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics.inputs.items import RELEVANT, SEEN, Items, describe_seen_relevant, items_by_id
from sampled_metrics.inputs.roles import ITEM, USER
from sampled_metrics.inputs.tables import Table, arrow_to_numpy, positions, read_table, to_arrow
from sampled_metrics.inputs.warnings import warn_about_different_ids, warn_about_unused_grades


class KnownItems(NamedTuple):
    """Items that users have seen, and their held-out items."""

    user_ids: Ids  # users with held-out items, in ascending order
    item_ids: Ids  # all items that any table names, likewise
    held_out: Items
    seen: Items
    seen_by_others: Items  # by users without held-out items


def known_items(
    held_out: object,
    seen: object | None,
    items: object | None = None,
    others: Sequence[Table] = (),
) -> KnownItems:
    """Take held-out and seen items by id; all tables, also of `items`, name the catalogue."""
    held = items_by_id(held_out, RELEVANT)
    warn_about_unused_grades(held.relevance)
    no_items = np.zeros(0, np.int64)
    of_seen = Items(np.zeros(1, np.int64), no_items, 0, held.user_ids[:0], held.item_ids[:0])
    if seen is not None:
        of_seen = items_by_id(seen, SEEN)
        with reading(seen):
            warn_about_different_ids(USER, SEEN, of_seen.user_ids, RELEVANT, held.user_ids)
            warn_about_different_ids(ITEM, SEEN, of_seen.item_ids, RELEVANT, held.item_ids)
    named = [held.item_ids, of_seen.item_ids]
    if items is not None:
        named.append(item_ids_of(items))
    known = pa.array(_distinct(named))
    for table in others:
        named.append(table.ids(ITEM))
        warn_about_different_ids(ITEM, str(table.path), named[-1].unique(), "other tables", known)
    user_ids = _distinct([held.user_ids])
    item_ids = _distinct(named)
    mine = of_seen.restrict_to(user_ids, item_ids)
    held = held.restrict_to(user_ids, item_ids)
    is_both = held.has(mine.user, mine.item)
    if is_both.any():
        user, item = mine.pair(int(np.argmax(is_both)))
        with reading(seen):
            raise InputError(
                f"user {user}, item {item} is both seen and held out"
                f"{describe_seen_relevant(mine.user[is_both])}"
            )
    is_other = positions(of_seen.user_ids, user_ids) < 0
    other_ids = to_arrow(of_seen.user_ids).filter(pa.array(is_other))
    return KnownItems(user_ids, item_ids, held, mine, of_seen.restrict_to(other_ids, item_ids))


def item_ids_of(items: Any) -> pa.Array:
    """Return the ids of all items: of a number n they are 0 to n - 1; a column, a table or a file.

    Examples
    --------
    >>> item_ids_of(3).to_pylist(), item_ids_of(["a", "b"]).to_pylist()
    ([0, 1, 2], ['a', 'b'])
    """
    if isinstance(items, str | Path | Mapping | Table) or is_arrow_table(items):
        return read_table(items, "items (item_id)", name="items").ids(ITEM)
    column = to_array("items", items)
    if column.ndim == 0:
        return pa.array(np.arange(whole_number("items", items, 1, MAX_ITEMS)))
    if column.ndim != 1:
        raise InputError(f"items has shape {column.shape}; expected one id for each item")
    return pa.array(id_column("items", column, column.size))


def _distinct(columns: Sequence[pa.Array]) -> Ids:
    """Return the distinct ids of columns in ascending order; text where any column is."""
    is_whole = all(pa.types.is_integer(column.type) for column in columns)
    kind = pa.int64() if is_whole else pa.string()
    joined = pa.chunked_array([column.cast(kind) for column in columns])
    return np.sort(arrow_to_numpy(joined.unique()))
