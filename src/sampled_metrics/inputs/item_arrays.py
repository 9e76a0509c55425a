"""Items of users from arrays, lists and matrices, whose rows are users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from sampled_metrics._base.array_types import Array, Ids, Int
from sampled_metrics._base.arrays import (
    first_duplicate,
    nontrivial_grades,
    pair_codes,
    sorted_unique,
)
from sampled_metrics._base.columns import integer_array
from sampled_metrics._base.conversion import (
    arrow_column_to_array,
    numeric_array,
    to_array,
    to_numpy,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_npy, reading_as
from sampled_metrics._base.sparse import canonical_csr
from sampled_metrics.inputs.item_tables import MAX_GRADES
from sampled_metrics.inputs.items import HELD_OUT, RELEVANT, SEEN, UNGRADED, Items, Size

INTEGER_REMEDY = "of numbers with gaps, np.nan_to_num(ids, nan=-1).astype(int)"
MATRIX_REMEDY = "for marks or grades, users x items, give scipy.sparse.csr_array"
_COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)
_MIN_COLUMNS = 3  # items; with two, a row of 0 and 1 is two marks
# Pairs of a user and an item look like this many rows and columns, or more.
_MIN_PAIRS = 10
_MAX_PAIR_COLUMNS = 5


def items_by_position(data: Any, name: str, size: Size | None = None) -> Items:
    """Return items by the rows and columns of a matrix, whose size may be known.

    Data may be a matrix, users x items, whose nonzeros are the items; a list of columns for each
    user; or, for relevant items, one column for each user, with -1 or None for none. A matrix may
    be in a file. An array with one column for each user may have a second axis of length 1.
    """
    if isinstance(data, str | Path):
        data = _read_matrix(Path(data), name)
    data = _rows_to_list(data)
    if isinstance(data, list | tuple):
        lengths = [len(row) for row in data if isinstance(row, _COLLECTIONS)]
        is_matrix = size is not None and lengths == [size[1]] * size[0]
        if lengths and not is_matrix:
            return _items_from_lists(data, name, size)
        if is_matrix:
            _refuse_columns(data, name)
        data = [-1 if row is None else row for row in data]
    is_empty_array = tuple(getattr(data, "shape", ())) == (0,)
    if (isinstance(data, list) and not data) or is_empty_array:
        data = np.zeros(0, np.int64)
    elif not sparse.issparse(data):
        data = numeric_array(data, name)
    return _items_from_array(data, name, size)


def _rows_to_list(data: Any) -> Any:
    """Convert a column of Arrow or pandas, or an array of objects, to a list of its rows."""
    data = arrow_column_to_array(data)
    if isinstance(data, pd.Series) or np.dtype("O") is getattr(data, "dtype", None):
        return data.tolist()
    return data


def _read_matrix(path: Path, name: str) -> Any:
    """Read a matrix from a file of numpy or scipy."""
    noun = f"{name} items in an array or a matrix of scipy.sparse.save_npz"
    if path.suffix == ".npy":
        return read_npy(path, noun)
    with reading_as(path, noun), path.open("rb") as file:
        return sparse.load_npz(file)


def _items_from_array(array: Any, name: str, size: Size | None) -> Items:
    is_column = size is not None and size[1] > 1 and array.shape == (size[0], 1)
    is_whole = array.dtype.kind in "iu" and not sparse.issparse(array)
    if is_column and is_whole and name not in UNGRADED:
        return _items_from_columns(array[:, 0], name, size)
    if array.ndim == 2:
        return _items_from_matrix(array, name, size)
    return _items_from_columns(array, name, size)


def _items_from_matrix(matrix: Any, name: str, size: Size | None) -> Items:
    """Take the nonzeros of a matrix; stored zeros of seen items count as seen."""
    if matrix.dtype.kind not in "biuf" or (size is not None and matrix.shape != size):
        raise _wrong_array(matrix, name, size)
    is_sparse = sparse.issparse(matrix)
    if size is None and not is_sparse and np.unique(matrix).size > MAX_GRADES:
        _refuse_pairs(matrix, name)
    table = canonical_csr(matrix, name, keep_zeros=name == SEEN and is_sparse)
    if not np.isfinite(table.data).all():
        raise InputError(f"{name} has numbers that are not finite; expected finite numbers")
    grades = None
    if name not in UNGRADED:
        table.data = np.maximum(table.data, 0)
        table.eliminate_zeros()
        grades = nontrivial_grades(table.data.astype(np.float64))
    start = table.indptr.astype(np.int64)
    return Items(start, table.indices, table.shape[1], relevance=grades, name=name)


def _items_from_columns(columns: Any, name: str, size: Size | None) -> Items:
    """Take one column for each user, -1 for users without an item."""
    if name in UNGRADED or (size is not None and columns.size != size[0]):
        raise _wrong_array(columns, name, size)
    if columns.dtype.kind == "f":
        raise InputError(f"{name} has dtype {columns.dtype}; expected integers; {INTEGER_REMEDY}")
    item = integer_array(name, columns)
    has_item = item != -1
    user = np.flatnonzero(has_item)
    size = size or (item.size, int(item.max(initial=-1)) + 1)
    items = _items_from_pairs(user, item[has_item], name, size)
    return items._replace(name=HELD_OUT) if has_item.all() else items


def _items_from_lists(lists: Sequence[Any], name: str, size: Size | None) -> Items:
    """Take a list of columns for each user."""
    if size is not None and len(lists) != size[0]:
        raise InputError(f"{name}: found lists of {len(lists)} users; expected {size[0]}")
    exploded = pd.Series(lists, dtype=object).explode().dropna()
    user = exploded.index.to_numpy()
    item = integer_array(name, exploded.to_list(), is_column=True)
    if size is None and _have_equal_lengths(lists):
        first = item[np.diff(user, prepend=-1) > 0]
        if (first[1:] >= first[:-1]).all() and np.unique(item).size > MAX_GRADES:
            _refuse_pairs(lists, name)
    size = size or (len(lists), int(item.max(initial=-1)) + 1)
    items = _items_from_pairs(user, item, name, size)
    if name == RELEVANT and items.item.size < item.size:
        duplicate = first_duplicate(user, item) or 0
        raise InputError(
            f"{name} item {item[duplicate]} is twice; give each item once, and rows of different "
            "lengths without padding",
            row=int(user[duplicate]) + 1,
        )
    return items


def _items_from_pairs(user: Int, item: Int, name: str, size: Size) -> Items:
    """Take rows and columns, each pair once."""
    n_users, n_items = size
    is_bad = (item < 0) | (item >= n_items)
    if is_bad.any():
        pair = int(np.argmax(is_bad))
        raise InputError(
            f"found {item[pair]}; expected columns, 0 to {n_items - 1}",
            row=int(user[pair]) + 1,
            column=name,
        )
    width = int(item.max(initial=0)) + 1
    user, item = np.divmod(sorted_unique(pair_codes(user, item, width)), width)
    return Items.from_pairs(user, item, n_users, n_items, name=name)


def _have_equal_lengths(rows: Sequence[Any]) -> bool:
    """Return whether all rows are lists of one length, as those of a matrix are."""
    lengths = {len(row) if isinstance(row, _COLLECTIONS) else -1 for row in rows}
    return len(lengths) == 1 and -1 not in lengths


def _refuse_columns(rows: Sequence[Any], name: str) -> None:
    """Refuse lists as long as there are items that may be columns as well as grades."""
    values = to_array(name, rows)
    if values.dtype.kind not in "iu" or values.shape[1] < _MIN_COLUMNS:
        return
    ascending = np.sort(values, axis=1)
    is_column = (ascending >= -1) & (ascending < values.shape[1])
    is_repeated = (np.diff(ascending, axis=1) == 0) & (ascending[:, 1:] != -1)
    if is_column.all() and not is_repeated.any() and values.max() > 1:
        raise InputError(
            f"{name}: lists of {values.shape[1]} numbers, as many as items, may be columns or "
            "grades; as columns leave -1 out of the lists, or give a dictionary of lists by row; "
            "as grades give an array"
        )


def _refuse_pairs(rows: Any, name: str) -> None:
    """Raise InputError for many short rows, as of a user, an item and maybe a rating."""
    if len(rows) >= _MIN_PAIRS and 1 < len(rows[0]) <= _MAX_PAIR_COLUMNS:
        raise InputError(
            f"{name}: found rows of {len(rows[0])} numbers; if these are users and items, give a "
            "DataFrame with columns user_id and item_id"
        )


def _refuse_sorted_pairs(rows: Array, name: str) -> None:
    """Refuse short rows sorted by their first number, as pairs of a user and an item are."""
    first = rows[:, 0]
    if (first[1:] >= first[:-1]).all() and np.unique(rows).size > MAX_GRADES:
        _refuse_pairs(rows, name)


def _wrong_array(array: Any, name: str, size: Size | None) -> InputError:
    """Make the error for an array that is neither columns nor a matrix of the right size."""
    remedy = ""
    is_short = array.ndim == 2 and array.dtype.kind in "iu" and not sparse.issparse(array)
    if is_short and size is not None and len(array) == size[0]:
        remedy = ", or lists of columns, [row[row >= 0].tolist() for row in ...]"
    return InputError(
        f"{name} items are {array.dtype} of shape {array.shape}; expected columns of each user, or "
        f"numbers of users x items, {size or 'as many'}{remedy}"
    )


def ids_by_row(data: Any, name: str) -> tuple[Int, Ids, int]:
    """Take ids of items for each row; return the row of each id, the ids and the number of rows.

    Data may be one id for each row, or users x G with -1 or None where a user has fewer.
    """
    data = _rows_to_list(data)
    if isinstance(data, list | tuple):
        row, ids = _ids_from_lists(data, name)
    else:
        array = _id_array(data, name)
        ids = array.reshape(-1)
        row = np.repeat(np.arange(len(array)), ids.size // max(len(array), 1))
    if not ids.size:
        ids = np.zeros(0, np.int64)
    if ids.dtype.kind == "U":
        return row, ids, len(data)
    if ids.dtype.kind not in "iu":
        remedy = f"{INTEGER_REMEDY}; " if ids.dtype.kind == "f" else ""
        raise InputError(
            f"{name} items are {ids.dtype}; expected ids beside lists, whole numbers or text, "
            f"users x G; {remedy}{MATRIX_REMEDY}"
        )
    ids = integer_array(name, ids)
    is_bad = ids < -1
    if is_bad.any():
        first = int(np.argmax(is_bad))
        raise InputError(
            f"found {ids[first]}; expected ids of items, or -1 for none",
            row=int(row[first]) + 1,
            column=name,
        )
    is_item = ids != -1
    return row[is_item], ids[is_item], len(data)


def _ids_from_lists(rows: Sequence[Any], name: str) -> tuple[Int, Array]:
    """Return the row of each id and the ids, from a list of ids or of lists of ids."""
    rows = [list(row) if isinstance(row, Iterator) else row for row in rows]
    if name in UNGRADED and not any(isinstance(row, _COLLECTIONS) for row in rows):
        raise InputError(f"{name}: found one id for each user; expected lists of ids")
    exploded = pd.Series(rows, dtype=object).explode().dropna()
    ids = to_array(name, exploded.to_list())
    if _have_equal_lengths(rows) and ids.dtype.kind == "i" and ids.size % len(rows) == 0:
        _refuse_sorted_pairs(ids.reshape(len(rows), -1), name)
    return exploded.index.to_numpy(), ids


def _id_array(data: Any, name: str) -> Array:
    """Return an array of ids: one for each user, or users x G."""
    array = to_array(name, to_numpy(data))
    if array.ndim == 1 and name not in UNGRADED:
        return array
    if array.ndim == 2:
        if array.dtype.kind in "iu":
            _refuse_sorted_pairs(array, name)
        return array
    raise InputError(
        f"{name} items are {array.dtype} of shape {array.shape}; expected ids beside lists, "
        f"users x G; {MATRIX_REMEDY}"
    )
