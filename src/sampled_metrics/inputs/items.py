"""Relevant, seen and held-out items of users, by ids in tables, or by position."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy  # `scipy.sparse` takes long to import, so only where it is used

from sampled_metrics._base.arrays import (
    Array,
    Float,
    Ids,
    Int,
    first_duplicate,
    grades_of,
    integers,
)
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.files import read_array, read_arrays
from sampled_metrics._base.kinds import Kind, is_sparse
from sampled_metrics._base.packages import pyarrow as pa
from sampled_metrics._base.sparse import Matrix, canonical
from sampled_metrics.inputs.questions import (
    ask_of_few_common,
    ask_of_grades,
    ask_of_rows_of_ids,
)
from sampled_metrics.inputs.recognise import SEVERAL, listed, table_of
from sampled_metrics.inputs.scores import as_array
from sampled_metrics.ranks.items import HELD_OUT, RELEVANT, SEEN, Items
from sampled_metrics.tables import arrow
from sampled_metrics.tables.arrow import Codes, as_arrow, as_numpy, encoded, places
from sampled_metrics.tables.lines import require_file
from sampled_metrics.tables.names import ITEM, USER
from sampled_metrics.tables.reading import read_table
from sampled_metrics.tables.table import Table
from sampled_metrics.tables.text import QRELS

WHAT = {
    RELEVANT: "relevant items",
    SEEN: "seen items (user_id, item_id)",
    "negatives": "negatives (user_id, item_id)",
    "candidates": "candidates (user_id, item_id)",
}
_MARKED = (SEEN, "candidates")  # items without grades, maybe several of each user
_LARGEST_GRADE = 1000.0  # larger numbers are times, of users, items, ratings and times
_MOST_COLUMNS = 10_000_000  # that lists name; larger numbers are ids or times
_FEW = {USER: 1, ITEM: 10}  # ids of which two sets can be disjoint by chance if they are fewer
_MOST_FIELDS, _LEAST_ROWS, _MOST_GRADES = 5, 10, 10  # of rows of ids, and of a small matrix
Shape = tuple[int, int]


class Axes(NamedTuple):
    """Users and items of a matrix of scores; ids are None for the numbers of rows and columns."""

    shape: Shape
    user_ids: Ids | None
    item_ids: Ids | None


def table_of_items(given: object, name: str) -> Table | None:
    """Return a table with columns `user_id` and `item_id`; None for items given by position."""
    found = table_of(given, WHAT.get(name, name), name=name, value="relevance", trec=QRELS)
    if isinstance(found, Table):
        found.require(USER, ITEM)
        return found
    if found is Kind.FRAME:
        raise InputError(
            f"{name}: found a matrix with ids; expected columns user_id and item_id, or an array "
            "whose rows and columns are those of the scores"
        )
    return None


def items_by_id(given: object, name: str) -> Items:
    """Return items with the ids of their users and of themselves.

    In qrels, four columns separated by blanks, a document with relevance above 0 is relevant, as
    for trec_eval. In a table every pair counts, or those above 0 in a column `relevance`; other
    columns, such as ratings, are ignored. Items given by position have its numbers as ids.
    """
    table = table_of_items(given, name)
    if table is None:
        items = items_of_arrays(given, name)
        largest = int(items.item.max(initial=-1))
        if largest >= _MOST_COLUMNS:
            expected = f"expected columns below {_MOST_COLUMNS}"
            raise InputError(f"{name} has an item {largest}; {expected}")
        user_ids = as_arrow(np.arange(items.n_users))
        item_ids = as_arrow(np.arange(items.n_items or largest + 1))
        return items._replace(user_ids=user_ids, item_ids=item_ids, name=name)
    user, user_ids = table.codes(USER)
    item, item_ids = table.codes(ITEM)
    rows, grades = _counted_rows(table, name, user, item)
    user = user[rows]
    if rows.size < item.size:  # some users may have no rows left
        user, user_ids = encoded(arrow.take(user_ids, user))
    items = Items.of_pairs(
        user.astype(np.int64),
        item[rows].astype(np.int64),
        len(user_ids),
        len(item_ids),
        relevance=grades,
        name=name,
    )
    return items._replace(user_ids=user_ids, item_ids=item_ids)


def items_of_scores(given: object, name: str, axes: Axes) -> Items:
    """Return items as columns of the rows of scores; tables hold their ids, or else numbers."""
    with reading(given):
        table = table_of_items(given, name)
        if table is None:
            return items_of_arrays(given, name, axes.shape)
        numbers = []
        for column, ids, size in zip((USER, ITEM), axes[1:], axes.shape, strict=True):
            if ids is None:
                numbers.append(table.whole(column, 0, size - 1))
            else:
                numbers.append(table.places(column, ids, "an id of the scores"))
        rows, grades = _counted_rows(table, name, *numbers)
        user, item = (of_rows[rows] for of_rows in numbers)
        return Items.of_pairs(user, item, *axes.shape, relevance=grades, name=name)


def _counted_rows(
    table: Table, name: str, user: Codes | Int, item: Codes | Int
) -> tuple[Int, Float | None]:
    """Return the rows with a relevance above 0, and the grades of relevant items if any is not 1.

    Without a column `relevance` these are all rows. Each relevant pair must be there once.
    """
    if name == RELEVANT:
        require_different(table, user, item)
    if "relevance" not in table.columns:
        return np.arange(len(table)), None
    relevance = table.finite("relevance")
    rows = np.flatnonzero(relevance > 0.0)
    if name != RELEVANT:
        return rows, None
    if not rows.size:
        raise InputError("no relevance above 0; expected relevant items", path=table.path)
    if table.names == QRELS.columns and relevance.max() > _LARGEST_GRADE:
        raise InputError(
            f"found a relevance of {relevance.max():.15g}; expected {QRELS.what}. If columns are "
            "user, item, rating and time, add a header: user_id, item_id, rating, timestamp",
            path=table.path,
        )
    return rows, grades_of(relevance[rows])


def require_different(table: Table, user: Codes | Int, item: Codes | Int) -> None:
    """Raise InputError for the first row with the pair of an earlier one."""
    again = first_duplicate(user, item)
    if again is None:
        return
    first = int(np.argmax((user == user[again]) & (item == item[again])))
    user_id, item_id = (table.ids(name)[again] for name in (USER, ITEM))
    problem = f"duplicate of row {first + 1} (user {user_id}, item {item_id})"
    raise table.error_at(again, problem)


def require_common(
    column: str, name: str, ids: pa.Array, others_name: str, others: pa.Array
) -> None:
    """Raise InputError if ids of users, or of items, have nothing in common, nor are too few.

    A few ids may differ by chance, unless one column holds numbers and one text.
    """
    n_ids = min(len(ids), len(others))
    if not n_ids or (ids.type == others.type and n_ids < _FEW[column]):
        return
    name = f"the {column.removesuffix('_id')}s of {name}"
    n_common = int(np.count_nonzero(places(ids, others) >= 0))
    if n_common:
        ask_of_few_common(name, n_common, others_name, n_ids)
        return
    raise InputError(
        f"no id of {name} is one of {others_name}: found {ids[0].as_py()!r}, and "
        f"{others[0].as_py()!r} in {others_name}; expected the same ids"
    )


class KnownItems(NamedTuple):
    """Items that users have seen, and those that are held out for them."""

    user_ids: Ids  # of users with held-out items, in ascending order
    item_ids: Ids  # of all items that any table names, likewise
    held_out: Items
    seen: Items
    seen_by_others: Items  # by users without held-out items


def known_items(
    held_out: object,
    seen: object | None,
    items: object | None = None,
    others: Sequence[Table] = (),
) -> KnownItems:
    """Take tables of pairs, files, DataFrames or dictionaries, or qrels for the held-out items.

    `seen` is None if nobody has seen anything. The catalogue has the items of all tables, also
    those of a table of `items` (`item_id`) and of `others`.
    """
    held = items_by_id(held_out, RELEVANT)
    ask_of_grades(held.relevance)
    no_items = np.zeros(0, np.int64)
    of_seen = Items(np.zeros(1, np.int64), no_items, 0, held.user_ids[:0], held.item_ids[:0])
    if seen is not None:
        of_seen = items_by_id(seen, SEEN)
        with reading(seen):
            require_common(USER, SEEN, of_seen.user_ids, RELEVANT, held.user_ids)
            require_common(ITEM, SEEN, of_seen.item_ids, RELEVANT, held.item_ids)
    named = [held.item_ids, of_seen.item_ids]
    if items is not None:
        others = [read_table(items, "items (item_id)"), *others]
    named += [table.ids(ITEM) for table in others]
    user_ids = _distinct([held.user_ids])
    item_ids = _distinct(named)
    mine = of_seen.within(user_ids, item_ids)
    held = held.within(user_ids, item_ids)
    is_both = held.has(mine.owners, mine.item)
    if is_both.any():
        user, item = mine.pair(int(np.argmax(is_both)))
        with reading(seen):
            raise InputError(
                f"user {user}, item {item} is both seen and held out, "
                f"{int(is_both.sum()):,} in all; leave held-out items out of seen"
            )
    is_other = places(of_seen.user_ids, user_ids) < 0
    other_ids = arrow.take(of_seen.user_ids, np.flatnonzero(is_other))
    return KnownItems(user_ids, item_ids, held, mine, of_seen.within(other_ids, item_ids))


def _distinct(columns: Sequence[pa.Array]) -> Ids:
    """Return the distinct ids of columns in ascending order; text where any column is."""
    kind = pa.string()
    if all(pa.types.is_integer(column.type) for column in columns):
        kind = pa.int64()
    joined = pa.chunked_array([arrow.cast(column, kind) for column in columns])
    return np.sort(as_numpy(joined.unique()))


def items_of_arrays(given: Any, name: str, shape: Shape | None = None) -> Items:
    """Return items of the rows of a matrix, which may be in a file; see `items_by_position`."""
    if isinstance(given, str | Path):
        path = Path(given)
        what = f"{name} items"
        require_file(path, what)
        if path.suffix == ".npy":
            given = read_array(path, what)
        else:
            read_arrays(path, f"{what}, as scipy.sparse.save_npz writes", ("format",), ())
            try:
                given = scipy.sparse.load_npz(path)
            except Exception as error:
                raise InputError(f"not {what} ({error})", path=path) from error
    return items_by_position(given, name, shape)


def rows_of(given: Any) -> Any:
    """Return an array or a Series of lists as a list; anything else as it is."""
    is_column = type(given).__name__ in {"Series", "ndarray"} and np.ndim(given) == 1
    if is_column and str(given.dtype) == "object":
        rows = list(given)
        if all(row is None or isinstance(row, SEVERAL) for row in rows):
            return rows
    return given


def is_nested(given: object) -> bool:
    """Return whether items are given as a list for each user."""
    return isinstance(given, list | tuple) and any(isinstance(x, SEVERAL) for x in given)


def items_by_position(given: Any, name: str, shape: Shape | None = None) -> Items:
    """Return items of the rows of a matrix.

    They are given as the nonzeros of a matrix, users x items; as a list of columns for each user;
    or, those that are relevant, as one column for each user, -1 or None without. `shape` is that of
    the scores, if it is known; `name` is `relevant` or `seen`.
    """
    if is_sparse(given):
        return _of_matrix(given, name, shape)
    given = rows_of(given)
    if is_nested(given):
        lists = [listed(items) for items in given]
        if shape is None or [len(items) for items in lists] != [shape[1]] * shape[0]:
            return _of_lists(lists, name, shape)
    return _of_numbers(given, name, shape)


def _of_numbers(given: Any, name: str, shape: Shape | None) -> Items:
    """Take one column for each user, or the nonzeros of a matrix, of any library."""
    if isinstance(given, list | tuple):
        given = [-1 if each is None else each for each in given]
    if isinstance(given, list | np.ndarray) and np.shape(given) == (0,):
        return Items(np.zeros(1, np.int64), np.zeros(0, np.int64), name=HELD_OUT)
    array = as_array(given, name)
    if array.ndim == 1:
        return _of_columns(array, name, shape)
    return _of_matrix(array, name, shape)


def _of_matrix(marked: Matrix, name: str, shape: Shape | None) -> Items:
    """Take the nonzeros of a matrix."""
    is_matrix = marked.ndim == 2 and marked.dtype.kind in "biuf"
    if not is_matrix or shape not in (None, marked.shape):
        raise _wrong(marked, name, shape)
    if shape is None and not is_sparse(marked):
        _refuse_rows_of_ids(marked, name)
    table = canonical(marked, name)
    bad = table.data[~np.isfinite(table.data)]
    if bad.size:
        raise InputError(
            f"{name} has {bad[0]}; expected finite numbers, 0 where an item is not {name}"
        )
    if name in _MARKED:
        return Items.of_matrix(table, name)
    table.data = np.maximum(table.data, 0)
    table.eliminate_zeros()
    grades = grades_of(table.data.astype(np.float64))
    return Items.of_matrix(table, name)._replace(relevance=grades)


def _refuse_rows_of_ids(numbers: Array, name: str) -> None:
    """Raise InputError for rows of user, item and maybe a rating in the place of a matrix."""
    rows, fields = numbers.shape
    is_long = rows >= _LEAST_ROWS and fields <= _MOST_FIELDS
    if is_long and np.unique(numbers).size > _MOST_GRADES:
        raise InputError(
            f"{name} is an array of shape {numbers.shape}, read as users x items; if its columns "
            "are users and items, give a DataFrame with columns user_id and item_id"
        )


def _of_columns(columns: Array, name: str, shape: Shape | None) -> Items:
    """Take one column for each user, -1 for users without."""
    n_users, n_items = shape or (columns.size, None)
    if columns.dtype.kind not in "iu" or name in _MARKED or columns.size != n_users:
        raise _wrong(columns, name, shape)
    item = integers(name, columns)
    _require_columns_or_none(item, name, n_items)
    has_item = item != -1
    start = np.append(0, np.cumsum(has_item))
    if has_item.all():
        name = HELD_OUT
    return Items(start, item[has_item], n_items, name=name)


def _require_columns_or_none(item: Int, name: str, n_items: int | None) -> None:
    """Raise InputError unless these are columns, of which there are `n_items` if known, or -1."""
    if n_items is None and item.min() < -1:
        raise InputError(f"{name} has an item {item.min()}; expected columns from 0, or -1")
    if n_items is not None:
        good = (item >= -1) & (item < n_items)
        if not good.all():
            row = int(np.argmin(good))
            problem = f"{item[row]}, expected 0 to {n_items - 1}"
            raise InputError(problem, row=row + 1, column=name)


def _of_lists(lists: Sequence[Sequence[Any]], name: str, shape: Shape | None) -> Items:
    """Take the columns of each user."""
    if shape is not None and len(lists) != shape[0]:
        raise InputError(f"{name}: found lists of {len(lists)} users; expected {shape[0]}")
    sizes = [len(items) for items in lists]
    item = integers(name, [item for items in lists for item in items], is_column=True)
    n_items = int(item.max(initial=-1)) + 1 if shape is None else shape[1]
    _require_columns(item, name, n_items)
    ask_of_rows_of_ids(name, item, sizes)
    items = Items(np.cumsum([0, *sizes]), item, n_items)
    return Items.of_matrix(canonical(items.matrix()), name)


def _require_columns(item: Int, name: str, n_items: int) -> None:
    """Raise InputError unless all items are columns."""
    if item.size and not 0 <= item.min() <= item.max() < n_items:
        raise InputError(
            f"{name}: found items {item.min()} to {item.max()}; "
            f"expected columns, 0 to {n_items - 1}"
        )


def _wrong(given: Matrix, name: str, shape: Shape | None) -> InputError:
    """Make the error for an array that gives no items."""
    if shape is not None:
        found = f"{name} items are"
        expected = f"{shape[0]} whole numbers or shape {shape}"
        if name == SEEN:
            expected = f"bool or numbers of shape {shape}"
    else:
        found = f"{name} is"
        expected = "one column per user, or nonzeros of users x items"
        if name in _MARKED:
            expected = "a list of items per user, or users x items"
    return InputError(f"{found} {given.dtype} of shape {given.shape}; expected {expected}")
