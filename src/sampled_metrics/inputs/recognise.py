"""What some data is: ranks, scores, lists, columns of ranks, or pairs with labels.

This is the only place that asks; readers of each kind follow from the answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import array_of, ranges
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

_UNORDERED = (set, frozenset)
SEVERAL = (list, tuple, set, frozenset, np.ndarray)
_OF_COLUMNS = ("rank", "n_better", "sampled_rank")  # any of which makes a dictionary a table
FULL = "ranks, lists or scores"
SAMPLED = "sampled ranks"


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
Given: TypeAlias = Ranks | SampledRanks | Scores | Tables | NDArray[Any]


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
    if found is Kind.PAIR and np.asarray(data[0]).dtype.kind in "iu":
        ids = np.asarray(data[0])  # that implicit recommends, -1 where there are too few
        lists = {user: items[items >= 0] for user, items in enumerate(ids)}
        found = table_of_users(lists, "data", "score")
    if isinstance(found, Table):
        return Recognised(_kind_of(found), found.path)
    return Recognised(scores_of(data, found, "data", what), data)


def _kind_of(table: Table) -> Tables:
    """Say what the columns of a table are."""
    found = table.columns
    if "sampled_rank" in found:
        return SampledColumns(table)
    is_placed = "rank" in found or "score" in found
    if ITEM in found and is_placed and "n_candidates" not in found:
        return Lists(table)
    if set(found) == {USER, ITEM}:
        return Lists(_best_first(table), is_by_row=True)
    if "score" in found and "label" in found:
        return LabelledPairs(table)
    return RankColumns(table)


def _best_first(table: Table) -> Table:
    """Return lists whose order is that of their rows, with scores that say so."""
    if table.floats:
        raise InputError(
            f"column {table.floats[0]} may hold scores, but its name is not known; name it score, "
            "or leave it out if rows are in order, best first",
            path=table.path,
        )
    return table.with_column("score", arrow.chunked(-np.arange(len(table))))


def table_of(data: Any, what: str, *, name: str, value: str, trec: Trec) -> Table | Kind:
    """Return data as a table, or the kind of an array, a matrix or a function.

    `value` is the column of the numbers that dictionaries hold by item, `trec` a format of files.
    Errors call the data `name`, and what a file should hold `what`.
    """
    if isinstance(data, Table):
        return data
    kind = kind_of(data)
    if kind is Kind.BY_USER:
        return table_of_users(data, name, value)
    if kind is Kind.FILE or (kind is Kind.FRAME and not _is_matrix(data)):
        return read_table(data, what, trec=trec)
    return kind


def _is_matrix(frame: Any) -> bool:
    """Return whether a DataFrame has numbers only, in columns without a known name."""
    if is_pandas(frame):
        names = [str(name) for name in frame.columns]
        is_number = all(kind.kind in "biuf" for kind in frame.dtypes)
    else:
        schema = pa.table(frame).schema
        names = schema.names
        is_number = all(pa.types.is_floating(t) or pa.types.is_integer(t) for t in schema.types)
    return is_number and not named(Path("DataFrame"), names, KNOWN).wanted


def table_of_users(data: Any, name: str, value: str | None = None) -> Table:
    """Return a table of what a dictionary or a Series holds by user.

    The items of a user are a list, or a dictionary of each item's number, which becomes the column
    `value`; so does a Series by item whose numbers have decimals. Lists get a column `rank` where
    `value` is `score`, as their order then counts. A dictionary of columns is taken as it is.
    """
    if isinstance(data, Mapping) and _is_of_columns(data):
        return _table_of_columns(data, name)
    pairs = list(data.items())  # of a Series too, where a user may come twice
    if pairs and _are_numbers_of_items([items for _, items in pairs]):
        return _table_of_numbers(pairs, name, value)
    return _table_of_lists(pairs, name, is_ordered=value == "score")


def _are_numbers_of_items(values: list[Any]) -> bool:
    """Return whether these are dictionaries, or Series with numbers that cannot be ids."""
    if all(isinstance(items, Mapping) for items in values):
        return True
    if not all(is_series(items) and items.dtype.kind == "f" for items in values):
        return False
    return any(bool((items % 1.0 > 0.0).any()) for items in values)


def _is_of_columns(data: Mapping[Any, Any]) -> bool:
    """Return whether the keys of a dictionary are names of columns."""
    if not all(isinstance(key, str) for key in data):
        return False
    known = set(named(Path("data"), list(data), KNOWN).wanted.values())
    return {USER, ITEM} <= known or any(name in known for name in _OF_COLUMNS)


def _table_of_columns(data: Mapping[str, Any], name: str) -> Table:
    columns = {}
    for key, values in data.items():
        columns[key] = _column(list(values), f"{name}, column {key}")
    if len({len(column) for column in columns.values()}) > 1:
        lengths = ", ".join(f"{key} {len(column)}" for key, column in columns.items())
        raise InputError(f"{name}: columns differ in length: {lengths}")
    return Table.of_columns(Path(name), columns)


def _table_of_numbers(
    pairs: Iterable[tuple[Any, Mapping[Any, Any]]], name: str, value: str | None
) -> Table:
    """Take a number for each item of each user: a score, a grade, or 0 for one that is not seen."""
    users = []
    items = []
    numbers = []
    for user, of_user in pairs:
        for item, number in of_user.items():
            users.append(user)
            items.append(item)
            numbers.append(number)
    if not items:
        raise _nothing(name)
    columns = {USER: _column(users, f"{name}: users"), ITEM: _column(items, f"{name}: items")}
    columns[value or "relevance"] = _column(numbers, f"{name}: numbers of items")
    return Table.of_columns(Path(name), columns)


def _table_of_lists(pairs: Iterable[tuple[Any, Any]], name: str, *, is_ordered: bool) -> Table:
    """Take a list of items, or one item, of each user."""
    users = []
    items = []
    sizes = []
    for user, of_user in pairs:
        if is_ordered and isinstance(of_user, _UNORDERED):
            raise InputError(
                f"{name}: the items of user {user} are a set, which has no order; expected a list, "
                "best first, or a dictionary of scores"
            )
        own = [item for item in listed(of_user) if not _is_missing(item)]
        users.append(user)
        items.extend(own)
        sizes.append(len(own))
    if not items:
        raise _nothing(name)
    n_items = np.array(sizes, np.int64)
    rows = np.repeat(np.arange(n_items.size), n_items)
    columns = {
        USER: arrow.take(_column(users, f"{name}: users"), rows),
        ITEM: _column(items, f"{name}: items"),
    }
    if is_ordered:
        columns["rank"] = as_arrow(ranges(1, n_items))
    return Table.of_columns(Path(name), columns)


def listed(items: Any) -> list[Any]:
    """Return several items, or one, or none, as a list."""
    if items is None:
        return []
    if isinstance(items, SEVERAL) or (not isinstance(items, str) and np.ndim(items) == 1):
        return list(np.atleast_1d(items) if isinstance(items, np.ndarray) else items)
    return [items]


def _is_missing(item: Any) -> bool:
    """Return whether a user has no item: None, or NaN."""
    return item is None or (isinstance(item, float) and math.isnan(item))


def _column(values: list[Any], name: str) -> pa.Array:
    """Return numbers or text as an array of pyarrow; what is neither is an error."""
    is_text = [isinstance(value, str) for value in values]
    if all(is_text):
        return texts_as_arrow(values)
    array = np.array([], object) if any(is_text) else array_of(name, values)
    if array.ndim != 1 or array.dtype.kind not in "iufb":
        kinds = sorted({type(value).__name__ for value in values})
        raise InputError(f"{name} are of type {', '.join(kinds)}; expected numbers or text")
    return as_arrow(array.astype(np.uint8) if array.dtype.kind == "b" else array)


def _nothing(name: str) -> InputError:
    return InputError(f"{name}: no items in the lists; expected items for each user")
