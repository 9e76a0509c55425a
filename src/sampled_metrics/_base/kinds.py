"""What an object is, asked without importing the library that it is of."""

import sys
from collections.abc import Mapping, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard

import scipy  # `scipy.sparse` takes long to import, so only where it is used
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


class Frame(Protocol):
    """A DataFrame of pandas or polars, or a table of pyarrow."""

    @property
    def columns(self) -> Any:
        """Columns, or their names."""


class Sparse(Protocol):
    """A sparse matrix of scipy."""

    def tocsr(self) -> Any:
        """Return the matrix by rows."""


# Items or scores of users: a file, an array, rows, a dictionary by user, a table or a matrix.
OfUsers: TypeAlias = Path | ArrayLike | Sequence[Any] | Mapping[Any, Any] | Frame | Sparse


class Kind(Enum):
    """A way in which people hold data."""

    FILE = auto()  # the name of a table
    FILE_OF_ARRAYS = auto()  # the name of a file of numpy
    BY_USER = auto()  # a dictionary, or a Series whose index is no running number
    FRAME = auto()
    FUNCTION = auto()
    PAIR = auto()  # of matrices: factors, or what implicit recommends
    SPARSE = auto()
    NUMBERS = auto()  # or what cannot be read


def kind_of(data: object) -> Kind:
    """Return what some data is; arrays, tensors and nested lists are numbers."""
    kind = Kind.NUMBERS
    if isinstance(data, str | Path):
        kind = Kind.FILE_OF_ARRAYS if Path(data).suffix in (".npy", ".npz") else Kind.FILE
    elif _is_by_user(data):
        kind = Kind.BY_USER
    elif is_frame(data):
        kind = Kind.FRAME
    elif _is_function(data):
        kind = Kind.FUNCTION
    elif _is_pair(data):
        kind = Kind.PAIR
    elif is_sparse(data):
        kind = Kind.SPARSE
    return kind


def _is_by_user(data: object) -> bool:
    """Return whether data is a dictionary, or a Series with ids."""
    return is_dictionary(data) or (is_series(data) and has_ids(data, "index"))


def _is_function(data: object) -> bool:
    """Return whether data may be called and is no class."""
    return callable(data) and not isinstance(data, type)


def _is_pair(data: object) -> bool:
    """Return whether data is a tuple of two matrices."""
    return isinstance(data, tuple) and [getattr(part, "ndim", 0) for part in data] == [2, 2]


def is_sparse(data: object) -> bool:
    """Return whether data is of scipy.sparse."""
    return "scipy.sparse" in sys.modules and scipy.sparse.issparse(data)


def is_dictionary(data: object) -> TypeGuard[Mapping[Any, Any]]:
    """Return whether data is a dictionary; a format of scipy.sparse is one too, but a matrix."""
    return isinstance(data, Mapping) and not is_sparse(data)


def is_frame(data: object) -> TypeGuard["pd.DataFrame | pa.Table"]:
    """Return whether data is a table of pandas, polars or pyarrow."""
    return type(data).__name__ in {"DataFrame", "Table", "RecordBatch"} and hasattr(data, "columns")


def is_pandas(data: object) -> TypeGuard["pd.DataFrame"]:
    """Return whether a table in memory has the index and the columns of pandas."""
    return is_frame(data) and hasattr(data, "reset_index")


def is_series(data: object) -> bool:
    """Return whether data is a Series of pandas."""
    return type(data).__name__ == "Series" and hasattr(data, "reset_index")


def has_ids(data: object, axis: str) -> bool:
    """Return whether an axis of data is of pandas, and holds more than running numbers."""
    return hasattr(data, "reset_index") and type(getattr(data, axis)).__name__ != "RangeIndex"
