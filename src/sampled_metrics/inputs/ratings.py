"""Ratings and their predictions, in the same order or matched by ids."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sampled_metrics._base.array_types import Array
from sampled_metrics._base.arrays import first_duplicate, pair_codes
from sampled_metrics._base.conversion import is_arrow_table, records_to_frame, to_array
from sampled_metrics._base.errors import InputError, warn_input, watch_columns
from sampled_metrics.inputs.arrow_columns import is_numeric, positions, value_type
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
# Names of columns, in lower case without separators; the first group of which one is there is read.
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

    Arrays, and tables of one column of numbers, are in the same order. A table with ids goes with
    an array, which then has a number for each of its rows.
    """
    left, right = _read_ratings(TRUE, true), _read_ratings(PREDICTED, predicted)
    if left is not None and right is not None:
        ids = [{USER, ITEM} & table.columns.keys() for table in (left, right)]
        if ids[0] != ids[1]:
            found = " and ".join(", ".join(table.names) for table in (left, right))
            raise InputError(f"found columns {found}; expected user_id and item_id in both")
        if ids[0]:
            return *_match_by_ids(left, right, sorted(ids[0])), True
    first = true if left is None else left.finite_numbers(TRUE)
    second = predicted if right is None else right.finite_numbers(PREDICTED)
    if left is None and right is None:
        _refuse_rows_of_ids(first, second)
    return first, second, False


def _read_ratings(name: str, data: Any) -> Table | None:
    """Return ids and one column of numbers under the name of the argument; None for arrays."""
    if isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        data = pd.DataFrame(data)
    data = records_to_frame(data)
    if isinstance(data, list) and data and all(isinstance(row, tuple) for row in data):
        raise InputError(
            f"{name}: found tuples of {len(data[0])}; expected numbers, or {_EXPECTED_TABLE}"
        )
    is_nested = isinstance(data, Mapping) and is_by_user(data)
    if is_nested and not all(isinstance(own, Mapping) for own in data.values()):
        raise InputError(f"{name}: found a dictionary; expected numbers by item for each user")
    if is_nested:
        table: Any = as_table(data, _EXPECTED_TABLE, name, "rating")
        return Table(table.path, {**table.columns, name: table.columns["score"]}, table.names)
    if not (is_arrow_table(data) or isinstance(data, Mapping)):
        return None
    read = to_arrow_table(data, Path(name), _EXPECTED_TABLE)
    record_names(read.column_names)
    own = find_roles(read.column_names, (USER, ITEM))
    ids = {known: read.column(place) for place, known in enumerate(own) if known is not None}
    if len(ids) < len(own) - own.count(None):
        raise InputError(f"several columns of ids among {', '.join(read.column_names)}", path=name)
    others = [place for place, known in enumerate(own) if known is None]
    numbers = [place for place in others if is_numeric(value_type(read.column(place).type))]
    chosen = assigned_position(read.column_names, "score")
    if chosen is None:
        chosen = numbers[
            _choose_column(name, [read.column_names[each] for each in numbers], bool(ids))
        ]
    names = tuple(read.column_names)
    watch_columns(name, names, {names[place] for place in others if place != chosen})
    return Table(Path(name), {**ids, name: read.column(chosen)}, names)


def _choose_column(name: str, columns: list[str], has_ids: bool) -> int:
    """Return which column of numbers holds ratings, or predictions."""
    if len(columns) == 1:
        return 0
    bare = [normalise_name(column) for column in columns]
    for group in _RATING_COLUMNS[name] if has_ids else ():
        places = [place for place, known in enumerate(bare) if known in group]
        if len(places) == 1:
            return places[0]
        if places:
            break
    found = ", ".join(columns)[:200] or "none"
    raise InputError(
        f"found columns of numbers {found}; expected one, or user_id, item_id and "
        f"{_RATING_COLUMNS[name][0][0]}; of a matrix, users x items, give the array",
        path=name,
    )


def _match_by_ids(true: Table, predicted: Table, ids: list[str]) -> tuple[Array, Array]:
    """Return the numbers of pairs of ids that are in both tables."""
    keys = []
    rows_of_ids = [_encode_both(true, predicted, name) for name in ids]
    for side, table in enumerate((true, predicted)):
        key = np.zeros(len(table), np.int64)
        for numbers in rows_of_ids:
            width = int(max(each.max() for each in numbers)) + 1
            key = pair_codes(key, numbers[side], width)
        again = first_duplicate(key)
        if again is not None:
            first = int(np.argmax(key == key[again]))
            raise table.error_at(again, f"duplicate of row {first + 1}, by its ids")
        keys.append(key)
    row = positions(keys[0], keys[1])
    is_in_both = row >= 0
    n_without = int(np.count_nonzero(~is_in_both))
    if n_without == row.size:
        raise InputError(f"true and predicted have no {' and '.join(ids)} in common")
    if n_without:
        warn_input(PREDICTED, f"{n_without:,} of {row.size:,} ratings have no prediction: left out")
    return true.finite_numbers(TRUE)[is_in_both], predicted.finite_numbers(PREDICTED)[
        row[is_in_both]
    ]


def _encode_both(true: Table, predicted: Table, name: str) -> tuple[Any, Any]:
    """Number the ids of a column of both tables alike, those of one alone behind all others."""
    codes, ids = true.codes(name)
    others, other_ids = predicted.codes(name)
    place = positions(other_ids, ids)
    is_new = place < 0
    place[is_new] = len(ids) + np.arange(np.count_nonzero(is_new))
    return codes, place[others]


def _refuse_rows_of_ids(true: Any, predicted: Any) -> None:
    """Refuse rows of user, item and rating, of which the first two numbers are those of both."""
    rows = [to_array(name, each) for name, each in ((TRUE, true), (PREDICTED, predicted))]
    shape = rows[0].shape
    if len(shape) != 2 or shape != rows[1].shape or not 3 <= shape[1] <= 4 or shape[0] < 3:
        return
    left, right = (each[np.lexsort(each[:, 1::-1].T)] for each in rows)
    if (left[:, :2] == right[:, :2]).all() and (left != right).any():
        found = f"true and predicted are rows of {shape[1]} numbers, the first two alike"
        raise InputError(f"{found}; if these are ids, give {_EXPECTED_TABLE}")
