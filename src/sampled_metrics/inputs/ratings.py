"""Ratings and their predictions, in the same order or matched by ids."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sampled_metrics._base.array_types import Array, Int
from sampled_metrics._base.arrays import first_duplicate, pair_codes
from sampled_metrics._base.arrow import is_numeric, positions, value_type
from sampled_metrics._base.conversion import (
    is_arrow_table,
    refuse_unconverted,
    rows_to_frame,
    to_array,
)
from sampled_metrics._base.errors import InputError, format_names, warn_input, watch_columns
from sampled_metrics.inputs.roles import (
    ITEM,
    USER,
    assigned_position,
    find_roles,
    normalise_name,
    record_names,
)
from sampled_metrics.inputs.tables import Table, as_table, is_by_user, to_arrow_table

TRUE, PREDICTED = "true", "predicted"
_EXPECTED_TABLE = "a table of user_id, item_id and a rating or its prediction"
# Names of columns, in lower case without separators. The first group with one name in the table
# tells the column.
_RATING_COLUMNS = {
    TRUE: (("rating", "ratings", "rui", "true", "ratingtrue", "ytrue", "actual"), ("relevance",)),
    PREDICTED: (
        (
            *("prediction", "predictions", "pred", "est", "predicted", "predictedrating"),
            *("ratingpred", "ypred"),
        ),
        ("score", "logit"),
        ("rating",),
    ),
}


def align_ratings(true: Any, predicted: Any) -> tuple[Any, Any, bool]:
    """Return ratings and predictions in the same order, and whether they were matched by ids.

    Arrays, and tables with a single column, are in the same order already. Beside a table with ids,
    an array must have a number for each row of the table.
    """
    true_table = _read_ratings(TRUE, true)
    predicted_table = _read_ratings(PREDICTED, predicted)
    if true_table is None and predicted_table is None:
        _refuse_rows_of_ids(true, predicted)
        return true, predicted, False
    if true_table is not None and predicted_table is not None:
        ids = {USER, ITEM} & true_table.columns.keys()
        if ids != {USER, ITEM} & predicted_table.columns.keys():
            names = " and ".join(", ".join(table.names) for table in (true_table, predicted_table))
            raise InputError(f"found columns {names}; expected user_id and item_id in both")
        if ids:
            return *_match_by_ids(true_table, predicted_table, sorted(ids)), True
    if true_table is not None:
        true = true_table.finite_numbers(TRUE)
    if predicted_table is not None:
        predicted = predicted_table.finite_numbers(PREDICTED)
    return true, predicted, False


def _read_ratings(name: str, data: Any) -> Table | None:
    """Return a table of ids and the numbers, under the name of the argument; None for arrays."""
    if isinstance(data, list) and data and all(isinstance(row, tuple) for row in data):
        raise InputError(
            f"{name}: found tuples of {len(data[0])}; expected numbers, or {_EXPECTED_TABLE}"
        )
    refuse_unconverted(data, name)
    data = rows_to_frame(data)
    if isinstance(data, Mapping) and is_by_user(data):
        return _read_ratings_by_user(name, data)
    if not (is_arrow_table(data) or isinstance(data, Mapping)):
        return None
    table = to_arrow_table(data, Path(name), _EXPECTED_TABLE)
    names = tuple(table.column_names)
    record_names(names)
    roles = find_roles(names, (USER, ITEM))
    ids = {role: table.column(place) for place, role in enumerate(roles) if role is not None}
    if len(ids) < len(roles) - roles.count(None):
        raise InputError(f"several columns of ids among {', '.join(names)}", path=name)
    others = [place for place, role in enumerate(roles) if role is None]
    chosen = assigned_position(names, "score")
    if chosen is None:
        numeric = [place for place in others if is_numeric(value_type(table.column(place).type))]
        chosen = numeric[_choose_column(name, [names[place] for place in numeric], bool(ids))]
    watch_columns(name, names, {names[place] for place in others if place != chosen})
    name_of = {role: names[place] for place, role in enumerate(roles) if role is not None}
    columns = {**ids, name: table.column(chosen)}
    return Table(Path(name), columns, names, name_of={**name_of, name: names[chosen]})


def _read_ratings_by_user(name: str, data: Mapping[Any, Any]) -> Table:
    """Read a dictionary of numbers by item for each user."""
    if not all(isinstance(items, Mapping) for items in data.values()):
        raise InputError(f"{name}: found a dictionary; expected numbers by item for each user")
    table: Any = as_table(data, _EXPECTED_TABLE, name, "rating")
    return Table(table.path, {**table.columns, name: table.columns["score"]}, table.names)


def _choose_column(name: str, columns: list[str], has_ids: bool) -> int:
    """Return which of some columns of numbers holds ratings, or predictions.

    Of several columns one is chosen by its name, but only if the table has ids: columns without ids
    are probably a matrix, users x items, for which an array is expected.
    """
    if len(columns) == 1:
        return 0
    normalised = [normalise_name(column) for column in columns]
    for group in _RATING_COLUMNS[name] if has_ids else ():
        places = [place for place, column in enumerate(normalised) if column in group]
        if len(places) == 1:
            return places[0]
        if places:
            break
    names = format_names(columns) or "none"
    raise InputError(
        f"found columns of numbers {names}; expected one, or user_id, item_id and "
        f"{_RATING_COLUMNS[name][0][0]}; of a matrix, users x items, give the array",
        path=name,
    )


def _match_by_ids(true: Table, predicted: Table, ids: list[str]) -> tuple[Array, Array]:
    """Return the numbers of both tables for the ids that are in both."""
    keys = [np.zeros(len(table), np.int64) for table in (true, predicted)]
    for name in ids:
        codes = _encode_both(true, predicted, name)
        width = int(max(each.max() for each in codes)) + 1
        keys = [pair_codes(key, code, width) for key, code in zip(keys, codes, strict=True)]
    for table, key in zip((true, predicted), keys, strict=True):
        duplicate = first_duplicate(key)
        if duplicate is not None:
            first = int(np.argmax(key == key[duplicate]))
            raise table.error_at(
                duplicate, f"duplicate of row {first + 1}, by its ids{_describe_unread_ids(table)}"
            )
    row = positions(keys[0], keys[1])
    is_in_both = row >= 0
    n_without = int(np.count_nonzero(~is_in_both))
    if n_without == row.size:
        raise InputError(f"true and predicted have no {' and '.join(ids)} in common")
    if n_without:
        warn_input(PREDICTED, f"{n_without:,} of {row.size:,} ratings have no prediction: left out")
    ratings = true.finite_numbers(TRUE)[is_in_both]
    return ratings, predicted.finite_numbers(PREDICTED)[row[is_in_both]]


def _describe_unread_ids(table: Table) -> str:
    """Name the columns that were not read, one of which may hold the missing ids."""
    missing = [role for role in (USER, ITEM) if role not in table.columns]
    read = {table.name_of.get(role) for role in table.columns}
    others = [name for name in table.names if name not in read]
    if not (missing and others):
        return ""
    role = missing[0].removesuffix("_id")
    return (
        f"; not read: {format_names(others)}; if one holds the {role}s, give "
        f"columns={{{role!r}: NAME}}"
    )


def _encode_both(true: Table, predicted: Table, name: str) -> tuple[Int, Int]:
    """Encode the ids of a column alike in both tables; ids of the second alone come last."""
    codes, ids = true.codes(name)
    other_codes, other_ids = predicted.codes(name)
    place = positions(other_ids, ids)
    is_new = place < 0
    place[is_new] = len(ids) + np.arange(np.count_nonzero(is_new))
    return codes.astype(np.int64), place[other_codes]


def _refuse_rows_of_ids(true: Any, predicted: Any) -> None:
    """Raise InputError for rows of user, item and rating: their first two numbers are the same."""
    rows = [to_array(name, each) for name, each in ((TRUE, true), (PREDICTED, predicted))]
    shape = rows[0].shape
    if len(shape) != 2 or shape != rows[1].shape or not 3 <= shape[1] <= 4 or shape[0] < 3:
        return
    left, right = (each[np.lexsort(each[:, 1::-1].T)] for each in rows)
    if (left[:, :2] == right[:, :2]).all() and (left != right).any():
        raise InputError(
            f"true and predicted are rows of {shape[1]} numbers, the first two alike; if these are "
            f"ids, give {_EXPECTED_TABLE}"
        )
