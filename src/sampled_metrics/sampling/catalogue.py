"""The catalogue of a data set: users, items, held-out items and seen items."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sampled_metrics._base.arguments import whole_number
from sampled_metrics._base.array_types import Ids
from sampled_metrics._base.arrow import arrow_to_numpy, positions, to_arrow
from sampled_metrics._base.calls import place_of, warn_all
from sampled_metrics._base.columns import id_column, is_no_item
from sampled_metrics._base.conversion import as_array
from sampled_metrics._base.defaults import MAX_ITEMS
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.units import Units
from sampled_metrics.checks.items import signs_of_unused_grades
from sampled_metrics.read.common_ids import compare_ids
from sampled_metrics.read.items import (
    RELEVANT,
    SEEN,
    Items,
    describe_seen_relevant,
    has_seen_items,
    items_by_id,
)
from sampled_metrics.read.kinds import DICTIONARIES, FILES, FRAMES, Kind, kind_of
from sampled_metrics.read.roles import ITEM, USER
from sampled_metrics.read.tables import Table, read_table


class Catalogue(NamedTuple):
    """All items of a data set, and those that users have seen or that are held out."""

    user_ids: Ids  # users with held-out items, in ascending order
    item_ids: Ids  # all items that occur in any table, in ascending order
    held_out: Items
    seen: Items
    seen_by_others: Items  # by users without held-out items


def read_catalogue(
    held_out: object,
    seen: object | None,
    items: object | None = None,
    others: Sequence[Table] = (),
    counted_ids: pa.Array | None = None,
) -> Catalogue:
    """Number the users and the items of tables by their ids.

    Parameters
    ----------
    held_out, seen
        Items by user. An item that is both held out and seen by a user raises InputError.
    items
        All items, if some are in no table; see `item_ids_of`.
    others
        Further tables whose items belong to the catalogue.
    counted_ids
        Items with a count of their popularity, which belong to it too.

    Returns
    -------
    Catalogue
        Ids of users and items in ascending order, and the held-out and seen items, in which users
        and items are numbered by their positions among these ids.
    """
    held_out_items = items_by_id(held_out, RELEVANT)
    warn_all(signs_of_unused_grades(held_out_items.relevance))
    seen_items = _read_seen(seen, held_out_items)
    columns = [held_out_items.item_ids, seen_items.item_ids]
    if items is not None:
        columns.append(item_ids_of(items))
    columns += _read_further_ids(pa.array(_unique_ids(columns)), others, counted_ids)
    user_ids = _unique_ids([held_out_items.user_ids])
    item_ids = _unique_ids(columns)
    users = Units(user_ids)
    held_out_of_users = held_out_items.restrict_to(users, item_ids)
    seen_by_users = seen_items.restrict_to(users, item_ids)
    with place_of(seen):
        _refuse_seen_and_held_out(seen_by_users, held_out_of_users)
    is_other_user = positions(seen_items.user_ids, user_ids) < 0
    other_users = Units(to_arrow(seen_items.user_ids).filter(pa.array(is_other_user)))
    return Catalogue(
        user_ids=user_ids,
        item_ids=item_ids,
        held_out=held_out_of_users,
        seen=seen_by_users,
        seen_by_others=seen_items.restrict_to(other_users, item_ids),
    )


def _read_further_ids(
    known_ids: pa.Array, others: Sequence[Table], counted_ids: pa.Array | None
) -> list[pa.Array]:
    """Return the item ids of counts and of further tables, which must be like the known ones."""
    columns = []
    if counted_ids is not None:
        _compare_counted_ids(counted_ids, known_ids)
        columns.append(counted_ids)
    for table in others:
        column = table.ids(ITEM)
        compare_ids(ITEM, str(table.path), column.unique(), "other tables", known_ids)
        columns.append(column)
    return columns


def _read_seen(seen: object | None, held_out: Items) -> Items:
    """Read seen items, whose ids must be like those of the held-out items; maybe none."""
    if not has_seen_items(seen):
        return _no_items_like(held_out)
    items = items_by_id(seen, SEEN)
    with place_of(seen):
        compare_ids(USER, SEEN, items.user_ids, RELEVANT, held_out.user_ids)
        compare_ids(ITEM, SEEN, items.item_ids, RELEVANT, held_out.item_ids)
    return items


def _compare_counted_ids(counted_ids: pa.Array, known_ids: pa.Array) -> None:
    """Raise InputError if counts seem to be of other items than those of the tables."""
    if len(known_ids) and not (positions(counted_ids, known_ids) >= 0).any():
        raise InputError(
            f"no item of the other tables has a count: counts have ids such as "
            f"{counted_ids[0]}, other tables such as {known_ids[0]}; expected the same ids"
        )
    compare_ids(ITEM, "counts", counted_ids, "other tables", known_ids)


def _refuse_seen_and_held_out(seen: Items, held_out: Items) -> None:
    """Raise InputError for an item that a user has seen and that is held out."""
    is_both = held_out.has(seen.user, seen.item)
    if is_both.any():
        user, item = seen.pair(int(np.argmax(is_both)))
        raise InputError(
            f"user {user}, item {item} is both seen and held out"
            f"{describe_seen_relevant(seen.user[is_both])}"
        )


def _no_items_like(items: Items) -> Items:
    """Return no items, with ids of the same types."""
    no_items = np.zeros(0, np.int64)
    no_users = items.units.take(no_items)
    return Items(np.zeros(1, np.int64), no_items, 0, no_users, items.item_ids[:0])


def item_ids_of(items: Any) -> pa.Array:
    """Return the ids of all items from a column, a table, a file, or a number n for 0 to n - 1.

    Examples
    --------
    >>> item_ids_of(3).to_pylist(), item_ids_of(["a", "b"]).to_pylist()
    ([0, 1, 2], ['a', 'b'])
    """
    is_table = kind_of(items) in (Kind.READ, *FILES, *FRAMES, *DICTIONARIES)
    if is_table:
        table = read_table(items, "items (item_id)", name="items")
        return table.take(table.has_item()).ids(ITEM)
    column = as_array(items, "items")
    is_number = column.ndim == 0
    if is_number:
        return pa.array(np.arange(whole_number("items", items, 1, MAX_ITEMS)))
    if column.ndim != 1:
        raise InputError(f"items has shape {column.shape}; expected one id for each item")
    ids = id_column(column, "items", column.size)
    return pa.array(ids[~is_no_item(ids)])


def _unique_ids(columns: Sequence[pa.Array]) -> Ids:
    """Return the unique ids of columns in ascending order, as text if a column contains text."""
    are_whole = all(pa.types.is_integer(column.type) for column in columns)
    id_type = pa.int64() if are_whole else pa.string()
    joined = pa.chunked_array([column.cast(id_type) for column in columns])
    return np.sort(arrow_to_numpy(joined.unique()))
