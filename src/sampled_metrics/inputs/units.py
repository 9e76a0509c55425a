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
from sampled_metrics.inputs.arrow_columns import arrow_to_numpy, positions
from sampled_metrics.inputs.items import (
    RELEVANT,
    Items,
    assign_user_ids,
    items_for_lists,
    read_item_table,
)
from sampled_metrics.inputs.roles import USER, VISIT
from sampled_metrics.inputs.tables import ColumnNames, Table, is_by_user


def relevant_by_unit(
    relevant: Any,
    columns: ColumnNames,
    unit_ids: pa.Array,
    by_row: bool = False,
    min_relevance: float = 0.0,
) -> tuple[pa.Array, Items]:
    """Return the ids of the units of lists, and relevant items with ids of the same kind.

    `columns` of the lists tell their units, see `Table.units`.
    """
    table = read_item_table(relevant, RELEVANT)
    if table is None or is_by_user(relevant):
        is_plain = table is not None and not _has_several(unit_ids)
        if is_plain:
            unit_ids = _users_of_visits(unit_ids)
        _refuse_users(relevant, unit_ids)
        given = relevant if table is None else table  # which may hold generators
        items = items_for_lists(given, RELEVANT, min_relevance, (USER,))
        return unit_ids, assign_user_ids(items, unit_ids, by_row)
    if columns == (USER, VISIT) and not (
        _has_several(unit_ids) or _has_common_visit(table, unit_ids)
    ):
        columns = (USER,)
        unit_ids = _users_of_visits(unit_ids)
    if VISIT in columns and VISIT not in table.columns:
        raise InputError(
            f"{RELEVANT}: lists are of visits; found columns {', '.join(table.names)}; add the "
            f"column of visits, such as {VISIT}"
        )
    items = items_for_lists(table, RELEVANT, min_relevance, columns)
    if columns == (VISIT,) and USER in table.columns:
        return _add_users(unit_ids, items, table)
    return unit_ids, items


def items_by_unit(
    given: Any,
    name: str,
    columns: ColumnNames,
    unit_ids: pa.Array,
    others: pa.Array | None = None,
    by_row: bool = False,
) -> Items:
    """Return items, such as those seen, of some units and maybe others.

    Where these are visits of users, items of a user are those of all visits.
    """
    table = read_item_table(given, name)
    if table is None or not _are_visits(unit_ids):
        of_lists = (VISIT,) if columns == (VISIT,) and not is_by_user(given) else (USER,)
        items = items_for_lists(given if table is None else table, name, columns=of_lists)
        return assign_user_ids(items, unit_ids, by_row)
    columns = table.unit_columns()
    items = items_for_lists(table, name, columns=columns)
    if len(columns) == 2:
        if (positions(items.user_ids, unit_ids) < 0).all():
            raise InputError(
                f"{name} has a column {table.name_of(VISIT)}, and no visit of the lists; leave it "
                "out if items are those of all visits of a user"
            )
        return items
    if others is not None:
        unit_ids = pa.array(np.union1d(arrow_to_numpy(unit_ids), arrow_to_numpy(others)))
    return items.for_visits(unit_ids, columns == (VISIT,))


def _are_visits(unit_ids: pa.Array) -> bool:
    return are_visit_ids(arrow_to_numpy(unit_ids))


def _has_several(unit_ids: pa.Array) -> bool:
    """Return whether a user has several visits."""
    return users_and_visits(arrow_to_numpy(unit_ids))[1] is not None


def _has_common_visit(table: Table, unit_ids: pa.Array) -> bool:
    """Return whether users of a table have several visits, of which some are among these."""
    return table.has_several_visits() and bool((positions(table.units()[1], unit_ids) >= 0).any())


def _users_of_visits(unit_ids: pa.Array) -> pa.Array:
    """Return the ids of users who have no more than a visit each."""
    return pa.array(users_and_visits(arrow_to_numpy(unit_ids))[0])


def _refuse_users(relevant: Any, unit_ids: pa.Array) -> None:
    """Refuse a dictionary by user beside lists of visits of users."""
    if is_by_user(relevant) and _are_visits(unit_ids):
        raise InputError(
            f"{RELEVANT}: lists are of visits, of which users have several; give a table of "
            f"{USER}, {VISIT} and item_id"
        )


def _add_users(unit_ids: pa.Array, relevant: Items, table: Table) -> tuple[pa.Array, Items]:
    """Give visits the users that they have in a table of relevant items."""
    ids = arrow_to_numpy(table.units()[1])
    visits = pa.array(split_ids(ids)[1])
    again = first_duplicate(np.asarray(visits))
    if again is not None:
        raise InputError(
            f"{RELEVANT}: {table.name_of(VISIT)} {visits[again]} is of several users; add {USER} "
            "to the lists"
        )

    def with_users(own: pa.Array) -> pa.Array:
        place = positions(own, visits)
        texts = np.asarray(own.cast(pa.string())).astype(object)
        texts[place >= 0] = ids[place[place >= 0]]
        return pa.array(texts, pa.string())

    return with_users(unit_ids), relevant._replace(user_ids=with_users(relevant.user_ids))
