"""Kinds of data that people hold in memory, made scores with rows, columns or tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import scipy  # `scipy.sparse` takes long to import, so only where it is used
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Float, Int, array_of, integers, one_thread
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.sparse import is_sparse
from sampled_metrics.ranks.options import as_array, is_table
from sampled_metrics.tables import ITEM, USER

Score = Callable[[Int], Any]  # scores of all items, for some rows of users
_NUMBERS = {"data": "score", "relevant": "relevance"}  # what numbers by user and item are
_SEVERAL = (list, tuple, set, frozenset, np.ndarray)


class Rows(NamedTuple):
    """A matrix of scores, users x items, of which rows are made when they are asked for."""

    function: Callable[[Any], Any]
    shape: tuple[int, ...]
    ndim: int = 2
    size: int = 1
    dtype: Any = np.dtype(np.float64)

    def __getitem__(self, rows: Any) -> Any:
        return self.function(rows)


def is_pair(data: Any) -> bool:
    """Return whether data is a tuple of two matrices: factors, or what implicit recommends."""
    return isinstance(data, tuple) and [getattr(part, "ndim", 0) for part in data] == [2, 2]


def scores_of(data: Any, n_users: int | None = None, name: str = "data") -> Any:
    """Return scores that have rows: of a function of users, a pair of factors or a matrix."""
    if callable(data):
        if n_users is None:
            raise InputError("a function of users needs relevant as columns or a matrix")
        return Rows(data, (n_users, np.shape(data(np.arange(min(n_users, 1))))[-1]))
    if is_pair(data):
        users, items = map(as_array, data)
        return Rows(inner_products(users, items, n_users or len(users)), (len(users), len(items)))
    if is_sparse(data):
        matrix = scipy.sparse.csr_array(data)
        return Rows(lambda rows: matrix[rows].toarray(), matrix.shape)
    return as_array(data, name)


class Products:
    """Scores that are inner products of two vectors, as a function of rows of users.

    The last digits of a matrix product depend on its size. So a product only tells which items
    score clearly more or less, by `margin`; where others come closer, those of `exact` count.
    """

    def __init__(self, users: Float, items: Float) -> None:
        self.users = users
        self.items = items
        # A sum of d products is within d eps / 2 of the sum of their sizes, in any order; four
        # such errors part two differences. This is twice as much.
        largest_sum = np.abs(items).sum(axis=1).max(initial=0.0)
        largest = np.abs(users).max(initial=0.0)
        with np.errstate(over="ignore"):
            self.is_finite = bool(largest * largest_sum < np.finfo(np.float64).max / 4.0)
        self._relative = 4 * (items.shape[1] + 4) * np.finfo(np.float64).eps * largest_sum

    @one_thread()  # more cost more than they save where processors are busy
    def __call__(self, rows: Int) -> Float:
        """Return the scores of all items for some users; the last digits depend on the others."""
        return self.users[rows] @ self.items.T

    def exact(self, rows: Int) -> Float:
        """Return them the same for any other users, and equal for equal vectors."""
        return np.einsum("uf,if->ui", self.users[rows], self.items)

    def margin(self, rows: Int) -> Float:
        """Return how much two products of a user may differ if their exact scores do not."""
        largest = np.abs(self.users[rows]).max(axis=1, initial=0.0)
        return self._relative * largest + np.finfo(np.float64).tiny


def inner_products(users: ArrayLike, items: ArrayLike, n_users: int) -> Products:
    """Check vectors of users and items, and return the function of scores that they make."""
    arrays = [np.atleast_1d(array_of("score", vectors)) for vectors in (users, items)]
    expected = (n_users, *arrays[0].shape[1:2]), (len(arrays[1]), *arrays[0].shape[1:2])
    for name, array, shape in zip(("users", "items"), arrays, expected, strict=True):
        numbers = array.ndim == 2 and array.dtype.kind in "fiu" and np.isfinite(array).all()
        if not numbers or array.shape != shape:
            found = f"{array.dtype} of shape {array.shape}"
            raise InputError(f"score: vectors of {name} are {found}; expected finite, of {shape}")
    left, right = (np.ascontiguousarray(array, np.float64) for array in arrays)
    return Products(left, right)


def lists_of(data: Any, name: str = "data") -> Any:
    """Return a table of the lists by user of a dictionary, a Series or implicit's arrays of ids."""
    if is_pair(data) and np.asarray(data[0]).dtype.kind in "iu":
        data = {user: items[items >= 0] for user, items in enumerate(np.asarray(data[0]))}
    if type(data).__name__ == "Series" and type(data.index).__name__ != "RangeIndex":
        data = data.to_dict()
    if not isinstance(data, Mapping):
        return data
    import pandas as pd

    numbers = _NUMBERS.get(name)  # of {user: {item: number}}
    if numbers is not None and any(isinstance(items, Mapping) for items in data.values()):
        rows = [
            (user, item, number)
            for user, items in data.items()
            for item, number in _pairs_of(user, items, name)
        ]
        return pd.DataFrame(rows, columns=[USER, ITEM, numbers])
    items = pd.Series(dict(data), dtype=object).explode().dropna()
    if items.empty:
        raise InputError(f"{name}: no items in the lists; expected items for each user")
    frame = pd.DataFrame({USER: items.index, ITEM: items.to_numpy()})
    return frame.assign(rank=frame.groupby(USER).cumcount() + 1)


def _pairs_of(user: Any, items: Any, name: str) -> Iterable[tuple[Any, Any]]:
    if isinstance(items, Mapping):
        return items.items()
    found = f"{name}: user {user} has a {type(items).__name__} of items"
    raise InputError(f"{found}; expected a dictionary, as other users have")


def is_nested(given: Any) -> bool:
    """Return whether items are given as a list for each user."""
    return isinstance(given, list | tuple) and any(isinstance(x, _SEVERAL) for x in given)


def items_of(given: Any, name: str, shape: tuple[int, ...] | None = None) -> Any:
    """Return columns, shape (users,), or a matrix, users x items, of items given by position.

    They are given as such, the columns with -1 or None for users without an item, or as a list of
    columns for each user.
    """
    if is_sparse(given):
        return given
    if is_nested(given):
        lists = [[] if x is None else list(np.atleast_1d(list(x))) for x in given]
        if shape is not None and [len(x) for x in lists] == [shape[1]] * shape[0]:
            return as_array(given, name)
    else:
        if np.ndim(given) == 1 and not isinstance(given, np.ndarray):
            given = [-1 if x is None else x for x in given]
        columns = as_array(given, name)
        if columns.ndim == 2 or not (columns == -1).any():
            return columns
        lists = [[] if x == -1 else [x] for x in columns]
    item = integers(name, [x for items in lists for x in items] or np.zeros(0, np.int64), True)
    n_items = shape[1] if shape else int(item.max(initial=0)) + 1
    if item.size and not 0 <= item.min() <= item.max() < n_items:
        found = f"{item.min()} to {item.max()}"
        raise InputError(f"{name}: found items {found}; expected columns, 0 to {n_items - 1}")
    row = np.repeat(np.arange(len(lists)), [len(items) for items in lists])
    return scipy.sparse.csr_array(
        (np.ones(row.size, bool), (row, item)), shape=(len(lists), n_items)
    )


def table_of(given: Any, name: str) -> Any:
    """Return items given by position as a table of row and column numbers; tables as they are."""
    if given is None or is_table(given):
        return given
    import pandas as pd

    items = items_of(given, name)
    if items.ndim == 1:
        return pd.DataFrame({USER: np.arange(items.size), ITEM: items})
    marks = scipy.sparse.csr_array(items).tocoo()
    table = pd.DataFrame({USER: marks.row, ITEM: marks.col})
    if name == "relevant":
        table["relevance"] = marks.data.astype(np.float64)
    return table
