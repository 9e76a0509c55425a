"""What some data is: ranks, scores, lists, columns of ranks, or pairs with labels.

This is the only place that asks; readers of each kind follow from the answer.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from sampled_metrics._base.arrays import Array, array_of, ranges
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.kinds import Kind, is_pandas, is_series, kind_of
from sampled_metrics._base.packages import pyarrow as pa
from sampled_metrics.inputs.scores import Scores, scores_of
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.tables import arrow
from sampled_metrics.tables.arrow import as_arrow, texts_as_arrow
from sampled_metrics.tables.names import ITEM, KNOWN, USER, named
from sampled_metrics.tables.reading import read_table
from sampled_metrics.tables.table import Table
from sampled_metrics.tables.text import RUN, Trec

if TYPE_CHECKING:
    import pandas as pd

SEVERAL = (list, tuple, set, frozenset, np.ndarray)
_OF_COLUMNS = ("rank", "n_better", "sampled_rank")  # any of which makes a dictionary a table
FULL = "ranks, lists or scores"


class Lists(NamedTuple):
    """Items of users with a score or a rank each; by row if only rows are in order."""

    table: Table
    is_by_row: bool = False


class RankColumns(NamedTuple):
    """Exact ranks, or counts of better and tied candidates."""

    table: Table


class LabelledPairs(NamedTuple):
    """Scores of held-out items, of label 1, and of their negatives, without ids of items."""

    table: Table


class SampledColumns(NamedTuple):
    """Ranks among sampled negatives."""

    table: Table


Tables: TypeAlias = Lists | RankColumns | LabelledPairs | SampledColumns
Given: TypeAlias = Ranks | SampledRanks | Scores | Tables | Array


class Recognised(NamedTuple):
    """What some data is, and the place that errors about its content name, such as its file."""

    content: Given
    place: object


def recognise(data: Any, what: str) -> Recognised:
    """Return what the data is; a column of numbers is an array of one dimension.

    Errors call what is missing in a file `what`.
    """
    if isinstance(data, Recognised):
        return data
    if isinstance(data, Ranks | SampledRanks):
        return Recognised(data, None)
    found = table_of(data, what, name="data", value="score", trec=RUN)
    if found is Kind.PAIR:
        ids = np.asarray(data[0])
        if ids.dtype.kind in "iu":  # that implicit recommends, -1 where there are too few
            lists = {user: items[items >= 0] for user, items in enumerate(ids)}
            found = _table_of_users(lists, "data", "score")
    if isinstance(found, Table):
        return Recognised(_kind_of(found), found.path)
    return Recognised(scores_of(data, found, "data", what), data)


def _kind_of(table: Table) -> Tables:
    """Say what the columns of a table are."""
    found = table.columns
    if "sampled_rank" in found:
        return SampledColumns(table)
    if _has_places_of_items(found):
        return Lists(table)
    if set(found) == {USER, ITEM}:
        return _best_first(table)
    if "score" in found and "label" in found:
        return LabelledPairs(table)
    return RankColumns(table)


def _has_places_of_items(columns: Mapping[str, object]) -> bool:
    """Return whether columns are of items with a rank or a score, and not of exact ranks."""
    is_placed = "rank" in columns or "score" in columns
    return ITEM in columns and is_placed and "n_candidates" not in columns


def _best_first(table: Table) -> Lists:
    """Return lists whose order is that of their rows, with scores that say so."""
    if table.floats:
        raise InputError(
            f"column {table.floats[0]} may hold scores, but its name is not known; name it score, "
            "or leave it out if rows are in order, best first",
            path=table.path,
        )
    columns = {**table.columns, "score": arrow.chunked(-np.arange(len(table)))}
    return Lists(replace(table, columns=columns), is_by_row=True)


def table_of(data: Any, what: str, *, name: str, value: str, trec: Trec) -> Table | Kind:
    """Return data as a table, or the kind of an array, a matrix or a function.

    `value` is the column of the numbers that dictionaries hold by item, `trec` a format of files.
    Errors call the data `name`, and what a file should hold `what`.
    """
    if isinstance(data, Table):
        return data
    kind = kind_of(data)
    if kind is Kind.BY_USER:
        return _table_of_users(data, name, value)
    if kind is Kind.FILE or (kind is Kind.FRAME and not _is_matrix(data)):
        return read_table(data, what, trec=trec)
    return kind


def _is_matrix(frame: pd.DataFrame | pa.Table) -> bool:
    """Return whether a DataFrame has numbers only, in columns without a known name."""
    if is_pandas(frame):
        names = [str(name) for name in frame.columns]
        is_number = all(kind.kind in "biuf" for kind in frame.dtypes)
    else:
        schema = pa.table(frame).schema
        names = schema.names
        is_number = all(pa.types.is_floating(t) or pa.types.is_integer(t) for t in schema.types)
    return is_number and not named(Path("DataFrame"), names, KNOWN).wanted


def _table_of_users(data: Mapping[Any, Any], name: str, value: str) -> Table:
    """Return a table of what a dictionary or a Series holds by user.

    The items of a user are one item, a list, or a dictionary of each item's number, which becomes
    the column `value`: a score, a grade, or 0 for one that is not seen. So does a Series by item
    whose numbers have decimals. Lists get a column `rank` where `value` is `score`, as their order
    then counts. A dictionary of columns is taken as it is.
    """
    if _is_of_columns(data):
        return _table_of_columns(data, name)
    pairs, has_numbers = _users_with_items(data)
    is_ordered = value == "score" and not has_numbers
    owners = []
    items = []
    numbers = []
    sizes = []
    for user, of_user in pairs:
        if is_ordered:
            _refuse_set(of_user, user, name)
        own, own_numbers = _items_of_user(of_user, has_numbers)
        owners.append(user)
        items += own
        numbers += own_numbers
        sizes.append(len(own))
    if not items:
        raise InputError(f"{name}: no items in the lists; expected items for each user")
    n_items = np.array(sizes)
    users = _column(owners, f"{name}: users")
    columns = {
        USER: arrow.take(users, np.repeat(np.arange(n_items.size), n_items)),
        ITEM: _column(items, f"{name}: items"),
    }
    if has_numbers:
        columns[value] = _column(numbers, f"{name}: numbers of items")
    elif is_ordered:
        columns["rank"] = as_arrow(ranges(1, n_items))
    return Table.of_columns(Path(name), columns)


def _users_with_items(data: Mapping[Any, Any]) -> tuple[list[tuple[Any, Any]], bool]:
    """Return users with their items, and whether these have numbers; users without are left out."""
    pairs = list(data.items())  # of a Series too, where a user may come twice
    has_numbers = _are_numbers_of_items([items for _, items in pairs])
    if has_numbers:
        pairs = [(user, of_user) for user, of_user in pairs if len(of_user)]
    return pairs, has_numbers


def _refuse_set(of_user: object, user: object, name: str) -> None:
    """Raise InputError for items whose order would count, but that have none."""
    if isinstance(of_user, set | frozenset):
        raise InputError(
            f"{name}: the items of user {user} are a set, which has no order; expected a list, "
            "best first, or a dictionary of scores"
        )


def _items_of_user(of_user: Any, has_numbers: bool) -> tuple[list[Any], list[Any]]:
    """Return the items of a user, and their numbers if there are any."""
    if has_numbers:
        pairs = list(of_user.items())  # of a Series they can be read once
        return [item for item, _ in pairs], [number for _, number in pairs]
    return [item for item in listed(of_user) if not _is_missing(item)], []


def _are_numbers_of_items(values: list[Any]) -> bool:
    """Return whether these are dictionaries, or Series with numbers that cannot be ids."""
    if all(isinstance(items, Mapping) for items in values):
        return True
    if not all(is_series(items) and items.dtype.kind == "f" for items in values):
        return False
    return any(bool((items % 1.0 > 0.0).any()) for items in values)


def _is_of_columns(data: Mapping[Any, Any]) -> bool:
    """Return whether this is a dictionary, no Series, whose keys are names of columns."""
    if not isinstance(data, Mapping) or not all(isinstance(key, str) for key in data):
        return False
    known = set(named(Path("data"), list(data), KNOWN).wanted.values())
    return {USER, ITEM} <= known or not known.isdisjoint(_OF_COLUMNS)


def _table_of_columns(data: Mapping[str, Any], name: str) -> Table:
    columns = {key: _column(list(data[key]), f"{name}, column {key}") for key in data}
    if len(set(map(len, columns.values()))) > 1:
        lengths = ", ".join(f"{key} {len(column)}" for key, column in columns.items())
        raise InputError(f"{name}: columns differ in length: {lengths}")
    return Table.of_columns(Path(name), columns)


def listed(items: Any) -> list[Any]:
    """Return several items, or one, or none, as a list."""
    if items is None:
        return []
    if isinstance(items, np.ndarray):
        return list(np.atleast_1d(items))
    if isinstance(items, SEVERAL) or (not isinstance(items, str) and np.ndim(items) == 1):
        return list(items)
    return [items]


def _is_missing(item: object) -> bool:
    """Return whether a user has no item: None, or NaN."""
    return item is None or (isinstance(item, float) and math.isnan(item))


def _column(values: list[Any], name: str) -> pa.Array:
    """Return numbers or text as an array of pyarrow; what is neither is an error."""
    is_text = [isinstance(value, str) for value in values]
    if all(is_text):
        return texts_as_arrow(values)
    array = np.array([], object) if any(is_text) else array_of(name, values)
    if array.dtype.kind == "b":
        array = array.astype(np.uint8)
    if array.ndim != 1 or array.dtype.kind not in "iuf":
        kinds = sorted({type(value).__name__ for value in values})
        raise InputError(f"{name} are of type {', '.join(kinds)}; expected numbers or text")
    return as_arrow(array)
