"""What data is: the one place that looks at its type.

`KINDS` is tried from the top; the first row that applies is the kind of the data. A reader
dispatches on the kind; what the numbers mean, it reads from their roles, values and options.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy import sparse

from sampled_metrics._base.columns import index_ids
from sampled_metrics._base.conversion import is_arrow_column, is_records, needs_conversion
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import is_folder
from sampled_metrics.read.roles import ITEM, USER, find_roles

ARRAY_SUFFIXES = (".npy", ".npz")
# Classes of this library; readers that import this file define some of them.
_FORMS = ("Ranks", "SampledRanks", "Table", "Lists", "ScoreSource")
# Roles that the keys of a dictionary of columns have: all of a set, or one of the others.
_ROLES_TOGETHER = ({USER, ITEM}, {"score", "label"})
_ROLES_ALONE = {"rank", "n_better", "sampled_rank"}


class Kind(Enum):
    """What data is, see `KINDS`."""

    READ = "read"
    UNCONVERTED = "unconverted"
    TABLE_FILE = "file of a table"
    ARRAY_FILE = "file of arrays"
    SPARSE = "sparse matrix"
    RECOMMENDERS = "recommenders"
    COLUMNS = "columns"
    BY_USER = "by user"
    SERIES = "Series by user"
    RECORDS = "records"
    WIDE = "wide table"
    TABLE = "table"
    PAIR = "pair of matrices"
    FUNCTION = "function"
    ARRAY = "array"
    MATRIX = "matrix"
    ROWS = "rows"
    OTHER = "other"


class KindRow(NamedTuple):
    """A row of `KINDS`.

    Attributes
    ----------
    kind, applies
        A kind, and whether data that no row above applies to is of this kind.
    meaning, example
        Data of this kind, in words and in Python.
    """

    kind: Kind
    applies: Callable[[Any], bool]
    meaning: str
    example: str


def kind_of(data: Any) -> Kind:
    """Return what data is; the names of columns may be assigned by the caller, see `find_roles`.

    Examples
    --------
    >>> kind_of({"anna": [7, 9]}), kind_of("ranks.csv"), kind_of(np.zeros((2, 3)))
    (<Kind.BY_USER: 'by user'>, <Kind.TABLE_FILE: 'file of a table'>, <Kind.MATRIX: 'matrix'>)
    """
    return next(row.kind for row in KINDS if row.applies(data))


def recommenders_error(function: str) -> InputError:
    """Make the error for recommenders by name, where `function` accepts the data of one."""
    return InputError(
        "found a dictionary of recommenders by name; use `compare`, or "
        f"{{name: sm.{function}(data, ...) for name, data in recommenders.items()}}"
    )


def is_arrow_table(data: object) -> bool:
    """Return whether data is a table of any library that exports its memory to Arrow."""
    if not hasattr(data, "__arrow_c_stream__") or getattr(data, "ndim", 2) == 1:
        return False
    return not is_arrow_column(data)


def _is_function(data: object) -> bool:
    """Return whether data can be called and is not a class."""
    return callable(data) and not isinstance(data, type)


def _is_read(data: object) -> bool:
    return any(
        cls.__name__ in _FORMS and cls.__module__.partition(".")[0] == "sampled_metrics"
        for cls in type(data).__mro__
    )


def _is_file(data: object) -> bool:
    return isinstance(data, str | Path)


def _is_array_file(data: Any) -> bool:
    return _is_file(data) and Path(data).suffix in ARRAY_SUFFIXES


def _is_dictionary(data: object) -> bool:
    return isinstance(data, Mapping)


def _are_recommenders(data: object) -> bool:
    """Return whether each value of a dictionary contains several users."""
    return isinstance(data, Mapping) and len(data) > 0 and all(map(_has_users, data.values()))


def _has_users(value: object) -> bool:
    """Return whether data contains several users, rather than one user or one column."""
    if isinstance(value, str):  # a path; other texts are ids of items
        return bool(Path(value).suffix) or is_folder(Path(value))
    if isinstance(value, Mapping):  # by user, or of columns
        return len(value) > 0 and all(map(_is_row_or_column, value.values()))
    if isinstance(value, list):  # rows of scores; those of other numbers may be ids
        return len(value) > 0 and all(
            isinstance(row, list) and all(isinstance(number, float) for number in row)
            for row in value
        )
    return kind_of(value) in _OF_SEVERAL_USERS


def _is_row_or_column(value: object) -> bool:
    """Return whether a value contains several entries in one dimension."""
    is_collection = isinstance(value, Mapping | Sequence) and not isinstance(value, str)
    return is_collection or _ndim(value) == 1


def _are_columns(data: object) -> bool:
    """Return whether the keys of a dictionary are names of columns."""
    if not isinstance(data, Mapping) or not all(isinstance(key, str) for key in data):
        return False
    roles = {*find_roles(list(data))}
    return bool(roles & _ROLES_ALONE) or any(each <= roles for each in _ROLES_TOGETHER)


def _is_series_by_user(data: object) -> bool:
    return isinstance(data, pd.Series) and index_ids(data) is not None


def _is_wide(data: Any) -> bool:
    """Return whether a table is a matrix: numbers only, in columns without a known role."""
    if not is_arrow_table(data):
        return False
    if not isinstance(data, pd.DataFrame):
        data = pa.table(data).slice(0, 0).to_pandas()
    are_numbers = all(dtype.kind in "biuf" for dtype in data.dtypes)
    return are_numbers and not any(find_roles([str(name) for name in data.columns]))


def _is_pair(data: object) -> bool:
    if not isinstance(data, tuple) or len(data) != 2:
        return False
    try:
        return all(np.ndim(part) == 2 for part in data)
    except ValueError:  # rows of a list differ in length
        return False


def _ndim(data: object) -> int:
    """Return the number of dimensions of an array of any library; 0 for other data."""
    shape = getattr(data, "shape", ())
    return len(shape) if isinstance(shape, tuple) else 0


def _is_sequence(data: object) -> bool:
    return isinstance(data, Sequence) and not isinstance(data, str | bytes)


def _is_array(data: Any) -> bool:
    """Return whether data has one dimension: a list of scalars, or a column of any library."""
    if _is_sequence(data):
        return not any(hasattr(row, "__len__") for row in data)
    return _ndim(data) == 1 or is_arrow_column(data)


_OF_SEVERAL_USERS = (
    Kind.READ,
    Kind.TABLE_FILE,
    Kind.ARRAY_FILE,
    Kind.SPARSE,
    Kind.WIDE,
    Kind.TABLE,
    Kind.PAIR,
    Kind.FUNCTION,
    Kind.MATRIX,
)
TABLES = (Kind.TABLE_FILE, Kind.COLUMNS, Kind.TABLE)  # with columns of known names
FRAMES = (Kind.TABLE, Kind.WIDE)
FILES = (Kind.TABLE_FILE, Kind.ARRAY_FILE)
DICTIONARIES = (Kind.COLUMNS, Kind.BY_USER, Kind.RECOMMENDERS)
BY_USER = (Kind.BY_USER, Kind.SERIES, Kind.RECOMMENDERS)
KINDS = (
    KindRow(
        Kind.READ,
        _is_read,
        "ranks that were read before",
        "sm.Ranks([9], [0], [0])",
    ),
    KindRow(
        Kind.UNCONVERTED,
        needs_conversion,
        "an object that its own library converts, such as a LazyFrame of polars: refused",
        "polars.LazyFrame({'user_id': [1], 'rank': [3]})",
    ),
    KindRow(
        Kind.ARRAY_FILE,
        _is_array_file,
        "the path of a file of NumPy or scipy.sparse: scores, marks or ranks",
        "'scores.npy'",
    ),
    KindRow(
        Kind.TABLE_FILE,
        _is_file,
        "any other path: a table, a TREC run or qrels",
        "'ranks.csv'",
    ),
    KindRow(
        Kind.SPARSE,
        sparse.issparse,
        "a sparse matrix of SciPy, users x items",
        "scipy.sparse.csr_array(scores)",
    ),
    KindRow(
        Kind.RECOMMENDERS,
        _are_recommenders,
        "a dictionary whose values contain several users each: recommenders by name",
        "{'ALS': scores, 'kNN': 'knn.csv'}",
    ),
    KindRow(
        Kind.COLUMNS,
        _are_columns,
        "a dictionary of columns with known names: a table",
        "{'user_id': [1, 2], 'rank': [3, 1]}",
    ),
    KindRow(
        Kind.BY_USER,
        _is_dictionary,
        "any other dictionary: an item, a list, or numbers by item for each user",
        "{'anna': [7, 9]}",
    ),
    KindRow(
        Kind.SERIES,
        _is_series_by_user,
        "a Series with ids as index: a rank, or items, for each user",
        "pandas.Series([3, 1], index=['anna', 'bob'])",
    ),
    KindRow(
        Kind.RECORDS,
        is_records,
        "records of NumPy, or a list of dictionaries or named tuples: refused",
        "[{'user_id': 1, 'rank': 3}]",
    ),
    KindRow(
        Kind.WIDE,
        _is_wide,
        "a table of numbers without known names: a matrix, with ids as index and columns",
        "pandas.DataFrame(scores)",
    ),
    KindRow(
        Kind.TABLE,
        is_arrow_table,
        "any other table of pandas, polars or pyarrow",
        "pandas.DataFrame({'user_id': [1, 2], 'rank': [3, 1]})",
    ),
    KindRow(
        Kind.PAIR,
        _is_pair,
        "a tuple of two matrices: vectors of users and items, or ids and scores of lists",
        "(scores, scores.argsort())",
    ),
    KindRow(
        Kind.FUNCTION,
        _is_function,
        "a function of rows of users, or of users and items",
        "lambda users: scores[users]",
    ),
    KindRow(
        Kind.ARRAY,
        _is_array,
        "a list, an array or a column of one dimension: a number for each row",
        "[3, 1]",
    ),
    KindRow(
        Kind.MATRIX,
        lambda data: _ndim(data) == 2,
        "an array or a tensor of two dimensions, users x items",
        "scores",
    ),
    KindRow(
        Kind.ROWS,
        _is_sequence,
        "a list of rows, which may differ in length: a matrix, or items of each user",
        "[[4, 2], [3]]",
    ),
    KindRow(
        Kind.OTHER,
        lambda _: True,
        "anything else, such as a model: refused",
        "None",
    ),
)
