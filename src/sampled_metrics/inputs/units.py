"""Items for the units of evaluation of lists: users, or visits of users.

Lists of visits have relevant items by visit. If the lists do not hold the users of their visits,
the relevant items tell them. Seen items are those of a visit, or those of a user in all visits.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from scipy import sparse

from sampled_metrics._base.array_types import Codes, Ids, Int
from sampled_metrics._base.arrays import first_duplicate
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_npy
from sampled_metrics._base.visits import are_visit_ids, split_ids, users_and_visits
from sampled_metrics.inputs.arrow_columns import arrow_to_numpy, encode, positions
from sampled_metrics.inputs.item_arrays import MATRIX_REMEDY, ids_by_row
from sampled_metrics.inputs.item_readers import items_by_column
from sampled_metrics.inputs.item_tables import items_from_table, read_item_table
from sampled_metrics.inputs.items import HELD_OUT, RELEVANT, Items
from sampled_metrics.inputs.roles import ITEM, USER, VISIT
from sampled_metrics.inputs.tables import ColumnNames, Table, is_by_user


def relevant_by_unit(
    relevant: Any,
    columns: ColumnNames,
    unit_ids: pa.Array,
    by_row: bool = False,
    min_relevance: float = 0.0,
) -> tuple[pa.Array, Items]:
    """Return the ids of the units of lists, and relevant items with ids of the same kind.

    Parameters
    ----------
    columns
        Columns that hold the ids of the units of the lists, see `Table.units`.
    unit_ids
        Ids of the units of the lists.
    by_row
        Whether units are the rows of arrays, so that row i of items by position belongs to unit i.
    """
    table = read_item_table(relevant, RELEVANT)
    if table is None or is_by_user(relevant):
        if table is not None and not _has_several_visits(unit_ids):
            unit_ids = _users_of_visits(unit_ids)
        if is_by_user(relevant) and _are_visits(unit_ids):
            raise InputError(
                f"{RELEVANT}: lists are of visits, and users have several; give a table of "
                f"{USER}, {VISIT} and {ITEM}"
            )
        data = relevant if table is None else table  # generators in a dictionary are read once
        items = _read_items(data, RELEVANT, (USER,), min_relevance)
        return unit_ids, _assign_user_ids(items, unit_ids, by_row)
    has_visits = _has_several_visits(unit_ids) or _has_common_visit(table, unit_ids)
    if columns == (USER, VISIT) and not has_visits:
        columns = (USER,)
        unit_ids = _users_of_visits(unit_ids)
    if VISIT in columns and VISIT not in table.columns:
        raise InputError(
            f"{RELEVANT}: lists are of visits; found columns {', '.join(table.names)}; add a "
            f"column of ids of visits, such as {VISIT}"
        )
    items = _read_items(table, RELEVANT, columns, min_relevance)
    if columns == (VISIT,) and USER in table.columns:
        return _add_users(unit_ids, items, table)
    return unit_ids, items


def items_by_unit(
    data: Any,
    name: str,
    columns: ColumnNames,
    unit_ids: pa.Array,
    *,
    other_ids: pa.Array | None = None,
    by_row: bool = False,
) -> Items:
    """Return items that are not relevant ones, such as seen items, of some units.

    If units are visits, items of a user are items of all visits of this user, among `unit_ids` and
    `other_ids`. The other parameters are those of `relevant_by_unit`.
    """
    table = read_item_table(data, name)
    if table is None or not _are_visits(unit_ids):
        id_columns = (VISIT,) if columns == (VISIT,) and not is_by_user(data) else (USER,)
        items = _read_items(data if table is None else table, name, id_columns)
        return _assign_user_ids(items, unit_ids, by_row)
    columns = table.unit_columns()
    items = _read_items(table, name, columns)
    if len(columns) == 2:
        if (positions(items.user_ids, unit_ids) < 0).all():
            raise InputError(
                f"{name} has a column {table.name_of(VISIT)}, and no visit of the lists; leave it "
                "out if items are those of all visits of a user"
            )
        return items
    if other_ids is not None:
        unit_ids = pa.array(np.union1d(arrow_to_numpy(unit_ids), arrow_to_numpy(other_ids)))
    return items.for_visits(unit_ids, columns == (VISIT,))


def _read_items(data: object, name: str, columns: ColumnNames, min_relevance: float = 0.0) -> Items:
    """Return items with ids; arrays and lists by position hold the ids of items.

    A sparse matrix, a matrix of true and false, or one in a file marks items by their columns.
    `columns` hold the ids of units in a table.
    """
    if isinstance(data, Items):
        return data
    table = read_item_table(data, name)
    if table is not None:
        if is_by_user(data):
            columns = (USER,)
        table.require(*columns)
        return items_from_table(table, name, min_relevance, columns)
    if isinstance(data, str | Path) and Path(data).suffix == ".npy":
        data = read_npy(Path(data), f"{name} items in an array")
    is_file = isinstance(data, str | Path)
    if is_file or sparse.issparse(data) or np.dtype(bool) == getattr(data, "dtype", None):
        return items_by_column(data, name)
    row, ids, n_rows = ids_by_row(data, name)
    user, user_ids = encode(row)
    item, item_ids = encode(ids)
    if name == RELEVANT:
        _require_distinct(row, item, ids)
    return Items.from_codes(user, item, user_ids, item_ids, name=name, n_rows=n_rows)


def _require_distinct(row: Int, item: Codes, ids: Ids) -> None:
    """Raise InputError for an id that occurs twice in a row."""
    duplicate = first_duplicate(row, item)
    if duplicate is not None:
        raise InputError(
            f"{RELEVANT} item {ids[duplicate]} is twice; expected ids beside lists, each once, and "
            f"-1 or None for none; {MATRIX_REMEDY}",
            row=int(row[duplicate]) + 1,
        )


def _assign_user_ids(items: Items, user_ids: pa.Array, by_row: bool) -> Items:
    """Give items by position the ids of the units of lists.

    With `by_row`, row i belongs to unit i. Otherwise the ids of units must be numbers of rows.
    """
    n_rows = items.n_rows
    if not n_rows:
        return items
    name = RELEVANT if items.name == HELD_OUT else items.name
    if by_row:
        if n_rows != len(user_ids):
            raise InputError(
                f"{name}: found {n_rows} rows; expected {len(user_ids)}, the ids of each row of "
                f"the lists; {MATRIX_REMEDY}"
            )
        return items._replace(user_ids=user_ids.take(items.user_ids))
    are_rows = pa.types.is_integer(user_ids.type)
    if are_rows:
        numbers = arrow_to_numpy(user_ids)
        are_rows = bool(((numbers >= 0) & (numbers < n_rows)).all())
    if not are_rows:
        raise InputError(
            f"{name} has {n_rows} rows without ids, but users of the lists have ids, such as "
            f"{user_ids[len(user_ids) - 1].as_py()!r}; give a dictionary of lists by user, or a "
            "table of user_id and item_id"
        )
    return items


def _are_visits(unit_ids: pa.Array) -> bool:
    return are_visit_ids(arrow_to_numpy(unit_ids))


def _has_several_visits(unit_ids: pa.Array) -> bool:
    """Return whether some user has several visits."""
    return users_and_visits(arrow_to_numpy(unit_ids))[1] is not None


def _has_common_visit(table: Table, unit_ids: pa.Array) -> bool:
    """Return whether users of a table have several visits, at least one of them a given unit."""
    if not table.has_several_visits():
        return False
    return bool((positions(table.units()[1], unit_ids) >= 0).any())


def _users_of_visits(unit_ids: pa.Array) -> pa.Array:
    """Return the ids of users where each has one visit."""
    return pa.array(users_and_visits(arrow_to_numpy(unit_ids))[0])


def _add_users(unit_ids: pa.Array, relevant: Items, table: Table) -> tuple[pa.Array, Items]:
    """Join the ids of visits with the ids of their users in a table of relevant items."""
    joined_ids = arrow_to_numpy(table.units()[1])
    visits = pa.array(split_ids(joined_ids)[1])
    duplicate = first_duplicate(np.asarray(visits))
    if duplicate is not None:
        raise InputError(
            f"{RELEVANT}: {table.name_of(VISIT)} {visits[duplicate]} is of several users; add "
            f"{USER} to the lists"
        )

    def join_users(visit_ids: pa.Array) -> pa.Array:
        position = positions(visit_ids, visits)
        texts = np.asarray(visit_ids.cast(pa.string())).astype(object)
        texts[position >= 0] = joined_ids[position[position >= 0]]
        return pa.array(texts, pa.string())

    return join_users(unit_ids), relevant._replace(user_ids=join_users(relevant.user_ids))
