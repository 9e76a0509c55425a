"""Counts of the items, by which negatives were drawn: from events, or a number for each item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

from sampled_metrics._base.array_types import Codes, Float, Int
from sampled_metrics._base.arrays import first_duplicate, pair_codes, sorted_unique
from sampled_metrics._base.calls import place_of
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.sparse import check_sparse, to_scipy_dtype
from sampled_metrics._base.units import Units
from sampled_metrics.read.items import Items
from sampled_metrics.read.kinds import Kind, kind_of
from sampled_metrics.read.roles import ITEM, USER, VISIT, find_roles
from sampled_metrics.read.tables import Table, read_table, to_arrow_table

NEW_ITEM = 0.5  # count of an item without events
COUNTS = "counts"  # the argument, and the role of a column of them
_COUNT_NAMES = ("count", "counts", "n", "frequency", "popularity")


class ItemCounts(NamedTuple):
    """How often each item occurs, and in whose events.

    Attributes
    ----------
    item_ids
        Ids of the items, an array of pyarrow.
    counts
        Number of events of each item, above 0, shape (items,).
    events
        Items by user, numbered as in `item_ids`; None if only counts are known.
    """

    item_ids: pa.Array
    counts: Float
    events: Items | None = None


def read_item_counts(data: Any) -> ItemCounts:
    """Read events of users and items, or an item and its count in each row.

    Data is a table or a file of `user_id` and `item_id` (each row is an event), or of `item_id` and
    a column `count`; a dictionary or a Series of counts by item; a dictionary of items by user; or
    a sparse matrix of users x items, nonzero at events, whose items without events count NEW_ITEM
    times.

    Examples
    --------
    >>> read_item_counts({"a": 3, "b": 1}).counts
    array([3., 1.])
    >>> events = read_item_counts({"user_id": [1, 1, 2], "item_id": ["a", "b", "a"]})
    >>> events.item_ids.to_pylist(), events.counts
    (['a', 'b'], array([2., 1.]))
    """
    with place_of(data):
        kind = kind_of(data)
        if kind is Kind.SPARSE:
            return _counts_of_matrix(data)
        if kind is Kind.ARRAY:
            raise InputError(
                f"{COUNTS} are numbers without ids of items; pass dict(enumerate(counts)) if they "
                "count the items 0 to n - 1, or a table with the users and items of events"
            )
        return _counts_of_table(_read_counts_table(data, kind))


def _read_counts_table(data: Any, kind: Kind) -> Table:
    """Read a table with a column, or an index, of items, and of users or counts."""
    source = data
    is_dictionary = kind is Kind.BY_USER
    are_counts_by_item = kind is Kind.SERIES or (is_dictionary and _are_numbers(data.values()))
    if are_counts_by_item:
        count_of_item = pd.Series(data)
        source = {ITEM: count_of_item.index, COUNTS: count_of_item.to_numpy()}
    elif is_dictionary and ITEM not in find_roles([str(name) for name in data]):
        source = _events_of_users(data)
    if not isinstance(source, str | Path) and kind_of(source) is Kind.WIDE:
        source = to_arrow_table(source, Path(COUNTS), COUNTS)
    return read_table(source, "events (user_id, item_id) or counts (item_id, count)", name=COUNTS)


def _are_numbers(values: Iterable[object]) -> bool:
    return all(isinstance(value, int | float | np.number) for value in values)


def _is_collection(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str)


def _events_of_users(items_of_user: Mapping[Any, Any]) -> pd.DataFrame:
    """Return a row for each event, from an item or items by user."""
    events = [
        (user, item)
        for user, items in items_of_user.items()
        for item in (items if _is_collection(items) else [items])
    ]
    return pd.DataFrame(events, columns=[USER, ITEM])


def _counts_of_matrix(matrix: Any) -> ItemCounts:
    """Return the counts of a sparse matrix of users x items, numbered from 0."""
    check_sparse(matrix, COUNTS)
    if matrix.ndim != 2:
        raise InputError(
            f"{COUNTS}: found a sparse array of {matrix.ndim} axes; pass one of users x items, or "
            "a dictionary of counts by item"
        )
    table = sparse.coo_array(to_scipy_dtype(matrix))
    is_event = table.data != 0
    n_users, n_items = table.shape
    counted = _count_events(
        table.row[is_event],
        table.col[is_event],
        users=Units(np.arange(n_users)),
        item_ids=pa.array(np.arange(n_items)),
    )
    has_events = counted.counts > 0.0
    return counted._replace(counts=np.where(has_events, counted.counts, NEW_ITEM))


def _counts_of_table(table: Table) -> ItemCounts:
    """Return the counts in a column of a table or, if rows are events of users, count them."""
    table.require(ITEM)
    table = table.take(table.has_item())
    count_name = next(
        (name for name in table.unknown_columns if name.lower() in _COUNT_NAMES), None
    )
    if count_name is not None and USER not in table.columns:
        return _given_counts(table, count_name)
    have_users = bool(table.columns.keys() & {USER, VISIT})
    if not have_users:
        raise InputError(
            f"found columns {', '.join(table.names)}; expected users of events, user_id, or a "
            "column count",
            path=table.path,
        )
    user_column = table.unit_columns()[:1]  # users, or visits if users are unknown
    user, users = table.units(user_column)
    item, item_ids = table.codes(ITEM)
    return _count_events(user, item, users=users, item_ids=item_ids)


def _count_events(
    user: Int | Codes, item: Int | Codes, *, users: Units, item_ids: pa.Array
) -> ItemCounts:
    """Count the events of each item; `user` and `item` are positions in `users` and `item_ids`.

    All events of a user and an item are counted; in `ItemCounts.events` the pair occurs once.
    """
    n_items = len(item_ids)
    counts = np.bincount(item, minlength=n_items).astype(np.float64)
    distinct_codes = sorted_unique(pair_codes(user, item, n_items))
    distinct_user, distinct_item = np.divmod(distinct_codes, n_items)
    events = Items.from_pairs(
        distinct_user, distinct_item, len(users), n_items, ids=users, item_ids=item_ids
    )
    return ItemCounts(item_ids, counts, events)


def _given_counts(table: Table, name: str) -> ItemCounts:
    """Return the counts in the column of a name, each of another item."""
    table = replace(
        table,
        columns={**table.columns, COUNTS: table.unknown_columns[name]},
        name_of={**table.name_of, COUNTS: name},
    )
    count = table.finite_numbers(COUNTS)
    item, item_ids = table.codes(ITEM)
    table.refuse(
        COUNTS,
        count <= 0.0,
        count,
        "counts above 0; drop items that cannot be drawn, which makes n smaller, or pass 0.5 for "
        "new ones",
    )
    duplicate = first_duplicate(item)
    if duplicate is not None:
        raise table.error_at(duplicate, f"item {item_ids[item[duplicate]]} has two counts", ITEM)
    return ItemCounts(item_ids, count)
