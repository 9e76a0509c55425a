"""Relevant and seen items of users by position: columns, lists and matrices, and files of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy  # `scipy.sparse` takes long to import, so only where it is used
from numpy.typing import NDArray

from sampled_metrics._base.arrays import grades_of, integers
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_array, read_arrays
from sampled_metrics._base.kinds import is_sparse
from sampled_metrics._base.sparse import canonical
from sampled_metrics.inputs.questions import ask_of_rows_of_ids
from sampled_metrics.inputs.recognise import SEVERAL, listed
from sampled_metrics.inputs.scores import as_array
from sampled_metrics.ranks.items import HELD_OUT, SEEN, Items
from sampled_metrics.tables.lines import require_file

_MARKED = (SEEN, "candidates")  # items without grades, maybe several of each user
Shape = tuple[int, int]
_MOST_FIELDS, _LEAST_ROWS, _MOST_GRADES = 5, 10, 10  # of rows of ids, and of a small matrix


def items_of_arrays(given: Any, name: str, shape: Shape | None = None) -> Items:
    """Return items of the rows of a matrix, which may be in a file; see `items_by_position`."""
    return items_by_position(_arrays_of(given, name), name, shape)


def _arrays_of(given: Any, name: str) -> Any:
    """Return the array or the sparse matrix of a file; anything else as it is."""
    if not isinstance(given, str | Path):
        return given
    path, what = Path(given), f"{name} items"
    require_file(path, what)
    if path.suffix == ".npy":
        return read_array(path, what)
    read_arrays(path, f"{what}, as scipy.sparse.save_npz writes", ("format",), ())
    try:
        return scipy.sparse.load_npz(path)
    except Exception as error:
        raise InputError(f"not {what} ({error})", path=path) from error


def rows_of(given: Any) -> Any:
    """Return an array or a Series of lists as a list; anything else as it is."""
    is_column = type(given).__name__ in {"Series", "ndarray"} and np.ndim(given) == 1
    if is_column and str(given.dtype) == "object":
        rows = list(given)
        if all(row is None or isinstance(row, SEVERAL) for row in rows):
            return rows
    return given


def is_nested(given: Any) -> bool:
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
    if isinstance(given, list | tuple):
        if is_nested(given):
            lists = [listed(items) for items in given]
            if shape is None or [len(items) for items in lists] != [shape[1]] * shape[0]:
                return _of_lists(lists, name, shape)
        given = [-1 if each is None else each for each in given]
    if isinstance(given, list | np.ndarray) and np.shape(given) == (0,):
        return Items(np.zeros(1, np.int64), np.zeros(0, np.int64), name=HELD_OUT)
    array = as_array(given, name)
    if array.ndim == 1:
        return _of_columns(array, name, shape)
    return _of_matrix(array, name, shape)


def _of_matrix(marked: Any, name: str, shape: Shape | None) -> Items:
    """Take the nonzeros of a matrix."""
    is_matrix = marked.ndim == 2 and marked.dtype.kind in "biuf"
    if not is_matrix or (shape is not None and marked.shape != shape):
        raise _wrong(marked, name, shape)
    if shape is None and not is_sparse(marked):
        _refuse_rows_of_ids(marked, name)
    table = canonical(marked, name)
    is_finite = np.isfinite(table.data)
    if not is_finite.all():
        bad = table.data[~is_finite][0]
        raise InputError(
            f"{name} has {bad}; expected finite numbers, 0 where an item is not {name}"
        )
    if name in _MARKED:
        return Items.of_matrix(table, name)
    table.data = np.maximum(table.data, 0)
    table.eliminate_zeros()
    grades = grades_of(table.data.astype(np.float64))
    return Items.of_matrix(table, name)._replace(relevance=grades)


def _refuse_rows_of_ids(numbers: NDArray[Any], name: str) -> None:
    """Raise InputError for rows of user, item and maybe a rating in the place of a matrix."""
    rows, fields = numbers.shape
    if rows < _LEAST_ROWS or fields > _MOST_FIELDS:
        return
    if np.unique(numbers).size > _MOST_GRADES:
        raise InputError(
            f"{name} is an array of shape {numbers.shape}, read as users x items; if its columns "
            "are users and items, give a DataFrame with columns user_id and item_id"
        )


def _of_columns(columns: NDArray[Any], name: str, shape: Shape | None) -> Items:
    """Take one column for each user, -1 for users without."""
    n_users, n_items = shape or (columns.size, None)
    if columns.dtype.kind not in "iu" or name in _MARKED or columns.size != n_users:
        raise _wrong(columns, name, shape)
    item = integers(name, columns)
    if n_items is not None:
        wrong = (item < -1) | (item >= n_items)
        if wrong.any():
            row = int(np.argmax(wrong))
            problem = f"{item[row]}, expected 0 to {n_items - 1}"
            raise InputError(problem, row=row + 1, column=name)
    elif item.min(initial=-1) < -1:
        raise InputError(f"{name} has an item {item.min()}; expected columns from 0, or -1")
    if (item != -1).all():
        return Items(np.arange(item.size + 1), item, n_items, name=HELD_OUT)
    users = np.flatnonzero(item != -1)
    return Items.of_pairs(users, item[users], item.size, n_items, name=name)


def _of_lists(lists: Sequence[Sequence[Any]], name: str, shape: Shape | None) -> Items:
    """Take the columns of each user."""
    if shape is not None and len(lists) != shape[0]:
        raise InputError(f"{name}: found lists of {len(lists)} users; expected {shape[0]}")
    sizes = [len(items) for items in lists]
    flat = [item for items in lists for item in items]
    item = integers(name, flat or np.zeros(0, np.int64), is_column=True)
    n_items = int(item.max(initial=-1)) + 1 if shape is None else shape[1]
    if item.size and not 0 <= item.min() <= item.max() < n_items:
        found = f"{item.min()} to {item.max()}"
        raise InputError(f"{name}: found items {found}; expected columns, 0 to {n_items - 1}")
    ask_of_rows_of_ids(name, item, sizes)
    user = np.repeat(np.arange(len(lists)), sizes)
    items = Items.of_pairs(user, item, len(lists), n_items, name=name)
    return Items.of_matrix(canonical(items.matrix()), name)


def _wrong(given: Any, name: str, shape: Shape | None) -> InputError:
    found = f"{name} items are {given.dtype} of shape {given.shape}"
    if shape is None:
        found = f"{name} is {given.dtype} of shape {given.shape}"
        if name in _MARKED:
            return InputError(f"{found}; expected a list of items per user, or users x items")
        return InputError(f"{found}; expected one column per user, or nonzeros of users x items")
    if name == "seen":
        return InputError(f"{found}; expected bool or numbers of shape {shape}")
    return InputError(f"{found}; expected {shape[0]} whole numbers or shape {shape}")
