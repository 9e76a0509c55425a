"""Items of users from any data: with ids, or by the rows and columns of scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sampled_metrics._base.array_types import Ids, Int
from sampled_metrics._base.arrays import sorted_unique
from sampled_metrics._base.errors import InputError, note_meaning, reading, warn_input
from sampled_metrics._base.visits import are_visit_ids
from sampled_metrics.inputs.arrow_columns import encode, positions
from sampled_metrics.inputs.item_arrays import MATRIX_REMEDY, items_by_position
from sampled_metrics.inputs.item_tables import (
    items_from_table,
    read_item_table,
    rows_and_grades,
)
from sampled_metrics.inputs.items import RELEVANT, Items, Size
from sampled_metrics.inputs.roles import ITEM, USER, VISIT
from sampled_metrics.inputs.tables import Table

_MAX_COLUMN = 10_000_000  # a larger number in the place of a column is an id or a time
_MIN_USERS = 10  # fewer may lack row 0 by chance


def items_by_id(data: object, name: str, min_relevance: float = 0.0) -> Items:
    """Return items with the ids of users and items; the ids of items by position are numbers.

    Rows of label 0 do not count as relevant.
    """
    if isinstance(data, Items):
        return data
    table = read_item_table(data, name)
    if table is None:
        return items_by_column(data, name)
    return items_from_table(table, name, min_relevance)


def items_by_column(data: object, name: str) -> Items:
    """Return items by position with the numbers of rows and columns as ids."""
    array = data if isinstance(data, np.ndarray) and data.ndim == 2 else np.zeros(0)
    if array.dtype.kind in "iu" and not np.isin(array, (-1, 0, 1)).all():
        raise InputError(
            f"{name}: found an array of shape {array.shape} with numbers other than 0 and 1; "
            f"as ids give lists, without -1, of each user; {MATRIX_REMEDY}"
        )
    items = items_by_position(data, name)
    largest = int(items.item.max(initial=-1))
    if largest >= _MAX_COLUMN:
        raise InputError(f"{name} has an item {largest}; expected columns below {_MAX_COLUMN}")
    user, user_ids = encode(items.user)
    return Items.from_codes(
        user,
        items.item,
        user_ids,
        pa.array(np.arange(items.n_items)),
        relevance=items.relevance,
        name=name,
        n_rows=items.n_users,
    )


def items_for_scores(
    data: Any,
    name: str,
    size: Size,
    *,
    user_ids: Ids | None = None,
    item_ids: Ids | None = None,
    min_relevance: float = 0.0,
) -> Items:
    """Return items by the rows and columns of scores.

    Tables hold the ids of rows and columns, or their numbers if the scores have no ids.
    """
    with reading(data):
        table = read_item_table(data, name)
        if table is None:
            return items_by_position(data, name, size)
        if user_ids is not None and are_visit_ids(user_ids):
            return _items_for_visits(
                table,
                name,
                size,
                visit_ids=user_ids,
                item_ids=item_ids,
                min_relevance=min_relevance,
            )
        user = _axis_positions(table, USER, user_ids, size[0])
        item = _axis_positions(table, ITEM, item_ids, size[1])
        if user_ids is None and item_ids is None and user.all() and item.all():
            note_meaning(str(table.path), "numbers of rows and columns, from 0; none is 0")
        rows, grades = rows_and_grades(table, name, user, item, min_relevance)
        return Items.from_pairs(user[rows], item[rows], *size, relevance=grades, name=name)


def _items_for_visits(
    table: Table,
    name: str,
    size: Size,
    *,
    visit_ids: Ids,
    item_ids: Ids | None,
    min_relevance: float,
) -> Items:
    """Return items by rows that are visits; items of a user are seen in all visits."""
    columns = table.unit_columns()
    if name == RELEVANT:
        table.require(USER, VISIT)
    items = items_from_table(table, name, min_relevance, columns)
    if len(columns) == 1:
        items = items.for_visits(pa.array(visit_ids), columns == (VISIT,))
    row = positions(items.user_ids, visit_ids)
    if (row < 0).any():
        visit = items.user_ids[int(np.argmax(row < 0))]
        raise InputError(f"{name}: found user {visit}; expected users and visits of the scores")
    column = np.zeros(items.n_items, np.int64)  # of each item
    codes, _ = table.codes(ITEM)
    column[codes] = _axis_positions(table, ITEM, item_ids, size[1])
    return Items.from_pairs(
        row[items.user], column[items.item], *size, relevance=items.relevance, name=name
    )


def _axis_positions(table: Table, column: str, ids: Ids | None, size: int) -> Int:
    """Return the row or the column of the scores for each row of a table."""
    if ids is not None:
        return table.positions(column, ids, "an id of the scores")
    expected = "numbers of rows or columns of the scores, from 0"
    numbers = table.whole_numbers(column, 0, size - 1, expected)
    n_distinct = sorted_unique(numbers).size
    is_nearly_all = n_distinct >= _MIN_USERS and size - n_distinct <= max(1, size // 10)
    # Numbers of items are not checked: nobody may have the item in column 0.
    if column == USER and is_nearly_all and numbers.all():
        warn_input(
            str(table.path),
            f"{USER} holds numbers of rows, from 0, and none of {n_distinct} is 0: are these "
            "ids from 1? Ranks.from_scores takes ids of rows and columns, users and items",
        )
    return numbers
