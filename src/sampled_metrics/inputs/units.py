"""Units of evaluation, users or visits of users: items of the same units beside lists.

Lists of visits have relevant items by visit. Without users in the lists these are those of the
relevant items. Items that were seen are those of a visit, or those of a user in all visits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sampled_metrics._base.arrays import first_duplicate
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.visits import are_visit_ids, split_ids, users_and_visits
from sampled_metrics.inputs.items import (
    RELEVANT,
    Items,
    items_beside_lists,
    of_rows,
    table_of_items,
)
from sampled_metrics.inputs.roles import USER, VISIT
from sampled_metrics.inputs.tables import Columns, Table, as_numpy, is_by_user, places


def wanted_of(
    relevant: Any,
    columns: Columns,
    unit_ids: pa.Array,
    by_row: bool = False,
    min_relevance: float = 0.0,
) -> tuple[pa.Array, Items]:
    """Return the ids of the units of lists, and relevant items with ids of the same kind.

    `columns` of the lists tell their units, see `Table.units`.
    """
    table = table_of_items(relevant, RELEVANT)
    if table is None or is_by_user(relevant):
        is_plain = table is not None and not _has_several(unit_ids)
        if is_plain:
            unit_ids = _users_of(unit_ids)
        _refuse_users(relevant, unit_ids)
        given = relevant if table is None else table  # which may hold generators
        items = items_beside_lists(given, RELEVANT, min_relevance, (USER,))
        return unit_ids, of_rows(items, unit_ids, by_row)
    if columns == (USER, VISIT) and not (_has_several(unit_ids) or _is_any_in(table, unit_ids)):
        columns = (USER,)
        unit_ids = _users_of(unit_ids)
    if VISIT in columns and VISIT not in table.columns:
        raise InputError(
            f"{RELEVANT}: lists are of visits; found columns {', '.join(table.names)}; add the "
            f"column of visits, such as {VISIT}"
        )
    items = items_beside_lists(table, RELEVANT, min_relevance, columns)
    if columns == (VISIT,) and USER in table.columns:
        return _with_users(unit_ids, items, table)
    return unit_ids, items


def items_of_units(
    given: Any,
    name: str,
    columns: Columns,
    unit_ids: pa.Array,
    others: pa.Array | None = None,
    by_row: bool = False,
) -> Items:
    """Return items, such as those seen, of some units and maybe others.

    Where these are visits of users, items of a user are those of all visits.
    """
    table = table_of_items(given, name)
    if table is None or not _are_visits(unit_ids):
        of_lists = (VISIT,) if columns == (VISIT,) and not is_by_user(given) else (USER,)
        items = items_beside_lists(given if table is None else table, name, columns=of_lists)
        return of_rows(items, unit_ids, by_row)
    columns = table.unit_columns()
    items = items_beside_lists(table, name, columns=columns)
    if len(columns) == 2:
        if (places(items.user_ids, unit_ids) < 0).all():
            raise InputError(
                f"{name} has a column {table.name_of(VISIT)}, and no visit of the lists; leave it "
                "out if items are those of all visits of a user"
            )
        return items
    if others is not None:
        unit_ids = pa.array(np.union1d(as_numpy(unit_ids), as_numpy(others)))
    return items.of_visits(unit_ids, columns == (VISIT,))


def _are_visits(unit_ids: pa.Array) -> bool:
    return are_visit_ids(as_numpy(unit_ids))


def _has_several(unit_ids: pa.Array) -> bool:
    """Return whether a user has several visits."""
    return users_and_visits(as_numpy(unit_ids))[1] is not None


def _is_any_in(table: Table, unit_ids: pa.Array) -> bool:
    """Return whether users of a table have several visits, of which some are among these."""
    return table.has_several_visits() and bool((places(table.units()[1], unit_ids) >= 0).any())


def _users_of(unit_ids: pa.Array) -> pa.Array:
    """Return the ids of users who have no more than a visit each."""
    return pa.array(users_and_visits(as_numpy(unit_ids))[0])


def _refuse_users(relevant: Any, unit_ids: pa.Array) -> None:
    """Refuse a dictionary by user beside lists of visits of users."""
    if is_by_user(relevant) and _are_visits(unit_ids):
        raise InputError(
            f"{RELEVANT}: lists are of visits, of which users have several; give a table of "
            f"{USER}, {VISIT} and item_id"
        )


def _with_users(unit_ids: pa.Array, relevant: Items, table: Table) -> tuple[pa.Array, Items]:
    """Give visits the users that they have in a table of relevant items."""
    ids = as_numpy(table.units()[1])
    visits = pa.array(split_ids(ids)[1])
    again = first_duplicate(np.asarray(visits))
    if again is not None:
        raise InputError(
            f"{RELEVANT}: {table.name_of(VISIT)} {visits[again]} is of several users; add {USER} "
            "to the lists"
        )

    def with_users(own: pa.Array) -> pa.Array:
        place = places(own, visits)
        texts = np.asarray(own.cast(pa.string())).astype(object)
        texts[place >= 0] = ids[place[place >= 0]]
        return pa.array(texts, pa.string())

    return with_users(unit_ids), relevant._replace(user_ids=with_users(relevant.user_ids))
