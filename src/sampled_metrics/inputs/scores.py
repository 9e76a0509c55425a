"""Numbers in memory, of any library, and scores of users x items."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy  # `scipy.sparse` takes long to import, so only where it is used
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Array, Int, array_of
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.files import read_array, read_arrays
from sampled_metrics._base.kinds import Kind, has_ids, is_sparse
from sampled_metrics._base.packages import pyarrow as pa
from sampled_metrics._base.sparse import require_sound, with_numbers_of_scipy
from sampled_metrics.ranks.products import Products, Score
from sampled_metrics.tables.lines import require_file


def as_array(data: Any, name: str = "data") -> Array:
    """Return numbers of one or two dimensions as an array."""
    has_array = hasattr(data, "__array__")
    if hasattr(data, "__arrow_c_stream__") and not has_array:
        data = pa.table(data)
    refuse_special(data, name)
    is_tensor = hasattr(data, "__dlpack__") and not has_array
    try:
        array = array_of(name, np.from_dlpack(data) if is_tensor else data)
    except RuntimeError as error:  # of a tensor of torch with gradients
        raise InputError(f"{name}: {type(data).__name__} is no array ({error})") from error
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2) or not array.size:
        shape = ""
        if array.ndim:
            shape = f" of {array.dtype}, shape {array.shape}"
        raise InputError(
            f"{name}: found {type(data).__name__}{shape}; "
            "expected numbers, a DataFrame, a file (docs/inputs.md)"
        )
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def refuse_special(data: object, name: str) -> None:
    """Raise InputError for objects that another call of their library makes an array or a table."""
    remedy = _remedy_of_tensor(data) or _remedy_of_table(data)
    if remedy:
        raise InputError(f"{name}: found {type(data).__name__}, {remedy}")


def _remedy_of_tensor(data: object) -> str:
    """Return the call that makes numbers of a tensor numbers of numpy; empty if none is needed."""
    remedy = _NUMBERS.get(str(getattr(data, "dtype", "")), "")
    if str(getattr(data, "layout", "torch.strided")) != "torch.strided":
        remedy = "a sparse tensor; give .to_dense()"
    elif getattr(data, "requires_grad", False) is True:
        remedy = remedy or "which holds gradients; give .detach()"
    elif getattr(getattr(data, "device", None), "type", "cpu") != "cpu":
        remedy = remedy or "not in main memory; give .cpu()"
    return remedy


def _remedy_of_table(data: object) -> str:
    """Return the call that makes an object of another library a table or an array."""
    if hasattr(data, "collect") and hasattr(data, "lazy"):
        return "not calculated yet; give .collect()"
    if hasattr(data, "todense") and not is_sparse(data):
        return "a sparse array, not of scipy; give .todense()"
    if not hasattr(data, "__array__"):
        for method in ("to_df", "to_dataframe", "to_pandas"):
            if hasattr(data, method):
                return f"no array; give .{method}()"
    return ""


_NUMBERS = {
    "torch.bfloat16": "bfloat16 is no type of numpy; give .float()",
    "bfloat16": "bfloat16 is no type of numpy; give .astype('float32')",
}
_AXES = {"user_ids": "index", "item_ids": "columns"}  # of pandas
_BESIDE = ("held_out", "seen", "seen_indptr", "positive", "user_ids", "item_ids")


class Scores(NamedTuple):
    """Scores of all items, users x items.

    Attributes
    ----------
    rows
        Function from row numbers of users to their scores, shape (some, items).
    shape
        Of users x items; None if it is not known, as that of a function of the caller.
    beside
        Arrays beside the matrix: `user_ids` and `item_ids`, and in its file `held_out`, `seen` and
        `positive`.
    path
        Its file, None in memory.
    """

    rows: Score
    shape: tuple[int, int] | None
    beside: Mapping[str, Any] = MappingProxyType({})
    path: Path | None = None

    @classmethod
    def of_matrix(
        cls,
        matrix: Array,
        beside: Mapping[str, Any] = MappingProxyType({}),
        path: Path | None = None,
    ) -> Scores:
        """Take a matrix of numbers."""
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or not matrix.size:
            raise InputError(
                f"scores are {matrix.dtype} of shape {matrix.shape}; "
                "expected numbers, users x items"
            )
        return cls(matrix.__getitem__, matrix.shape, beside, path)

    def shape_for(self, n_users: int) -> tuple[int, int]:
        """Return the shape for so many users, of whom the function is asked for one."""
        first = self.rows(np.arange(min(n_users, 1)))
        shape = np.shape(first)
        if len(shape) != 2:
            raise InputError(
                f"the function returned {type(first).__name__} of shape {shape}; "
                "expected scores, users x items"
            )
        return n_users, shape[1]

    def matrix(self) -> Array:
        """Return all scores at once."""
        if self.shape is None:
            raise InputError("found a function; expected scores, users x items")
        return array_of("scores", self.rows(np.arange(self.shape[0])))


class Counts(NamedTuple):
    """Candidates of each row, and those above the held-out one and level with it."""

    candidates: Int
    better: Int
    tied: Int


def counts_beside(scores: Array, positive: ArrayLike, *, has_gaps: bool = False) -> Counts:
    """Count the scores of each row that are above the one in a column, or equal to it.

    `positive` is the column, one for all rows or one per row, negative from the end. With
    `has_gaps` a score of -inf is no candidate.

    Examples
    --------
    >>> counts_beside(np.array([[0.5, 0.7, 0.5, 0.1]]), 0)
    Counts(candidates=array([4]), better=array([1]), tied=array([1]))
    """
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise InputError(
            f"scores are {scores.dtype} of shape {scores.shape}; "
            "expected numbers, shape (users, 1 + negatives)"
        )
    users, width = scores.shape
    column = _columns_of(positive, users, width)
    own = scores[np.arange(users), column][:, np.newaxis]
    is_candidate = np.isfinite(scores)
    is_known = is_candidate
    if has_gaps:
        is_known = is_candidate | ((scores == -np.inf) & (own > -np.inf))
    if not is_known.all():
        row, bad = np.argwhere(~is_known)[0]
        problem = f"the score in column {bad} is {scores[row, bad]}; expected finite numbers"
        raise InputError(problem, row=int(row) + 1)
    return Counts(
        candidates=is_candidate.sum(axis=1),
        better=(scores > own).sum(axis=1),
        tied=(scores == own).sum(axis=1) - 1,
    )


def _columns_of(positive: ArrayLike, users: int, width: int) -> Array:
    """Return one of `width` columns, for all users or for each; anything else is an error."""
    column = array_of("positive", positive)
    is_whole = column.dtype.kind in "iu" and column.shape in {(), (users,)}
    if not (is_whole and ((column >= -width) & (column < width)).all()):
        found = f"{column.dtype} of shape {column.shape}"
        if is_whole and not column.ndim:
            found = str(column)
        raise InputError(f"positive is {found}; expected one of the columns 0 to {width - 1}")
    return column


def scores_of(data: Any, kind: Kind, name: str, what: str = "") -> Scores | Array:
    """Return scores, or an array of one dimension.

    Data is the name of a file of arrays, a function of users, a pair of factors, a sparse matrix,
    of which what is not stored is 0, or numbers of any library. Errors call it `name`, and a file
    that is missing `what`.
    """
    match kind:
        case Kind.FILE | Kind.FILE_OF_ARRAYS:
            return _scores_of_file(Path(data), what)
        case Kind.FUNCTION:
            return Scores(data, None)
        case Kind.PAIR:
            users, items = (as_array(part, name) for part in data)
            return Scores(inner_products(users, items), (len(users), len(items)))
        case Kind.SPARSE:
            return _scores_of_sparse(data, name)
    array = as_array(data, name)
    if array.ndim == 1:
        return array
    return Scores.of_matrix(array, _ids_of_frame(data) if kind is Kind.FRAME else {})


def _ids_of_frame(frame: Any) -> dict[str, Any]:
    """Return the index and the columns of a DataFrame, each if it is no running numbers."""
    return {key: getattr(frame, axis) for key, axis in _AXES.items() if has_ids(frame, axis)}


def _scores_of_sparse(data: Any, name: str) -> Scores:
    """Take a sparse matrix, of which what is not stored is 0."""
    if data.ndim != 2:
        raise InputError(f"{name} has shape {data.shape}; expected users x items")
    require_sound(data, name)
    matrix = scipy.sparse.csr_array(with_numbers_of_scipy(data))
    return Scores(lambda rows: matrix[rows].toarray(), matrix.shape)


def _scores_of_file(path: Path, what: str) -> Scores | Array:
    """Read an `.npy` block by block, or an `.npz` with `scores` and arrays beside them."""
    with reading(path):
        require_file(path, what)
        if path.suffix == ".npy":
            arrays = {"scores": read_array(path, what, mmap_mode="r")}
        else:
            arrays = read_arrays(path, "arrays with scores", ("scores",), _BESIDE)
        scores: Array = arrays.pop("scores")
        if scores.ndim == 1:
            return scores
        return Scores.of_matrix(scores, arrays, path)


def inner_products(users: ArrayLike, items: ArrayLike, n_users: int | None = None) -> Products:
    """Check vectors of users and items, and return the function of scores that they make."""
    left = np.atleast_1d(array_of("score", users))
    right = np.atleast_1d(array_of("score", items))
    rows = len(left) if n_users is None else n_users
    for name, vectors, n_vectors in (("users", left, rows), ("items", right, len(right))):
        expected = n_vectors, left.shape[-1]
        is_finite = vectors.dtype.kind in "fiu" and np.isfinite(vectors).all()
        if not is_finite or vectors.shape != expected:
            raise InputError(
                f"score: vectors of {name} are {vectors.dtype} of shape {vectors.shape}; "
                f"expected finite, of {expected}"
            )
    return Products(np.ascontiguousarray(left, float), np.ascontiguousarray(right, float))
