"""Columns of pyarrow: their types, ids as codes, and positions of ids in other columns."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sampled_metrics._base.array_types import Array, Codes, Int
from sampled_metrics._base.errors import InputError

Values: TypeAlias = "pa.Array | pa.ChunkedArray | Array"


def is_text(dtype: pa.DataType) -> bool:
    """Return whether a type is text, including the string views of polars."""
    return pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or dtype == pa.string_view()


def is_numeric(dtype: pa.DataType) -> bool:
    """Return whether a type is numbers, including booleans and decimals."""
    types = pa.types
    is_real = types.is_integer(dtype) or types.is_floating(dtype)
    return is_real or types.is_decimal(dtype) or types.is_boolean(dtype)


def value_type(dtype: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column, which may be a dictionary of categories."""
    if pa.types.is_dictionary(dtype):
        return dtype.value_type
    return dtype


def decode_categories(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert categories to their values, and string views to text."""
    dtype = value_type(column.type)
    if dtype != pa.string_view():
        return column.cast(dtype)
    if isinstance(column, pa.Array):
        return _views_to_text(column)
    if pa.types.is_dictionary(column.type):
        parts = [_views_to_text(part.dictionary).take(part.indices) for part in column.chunks]
    else:
        parts = [_views_to_text(part) for part in column.chunks]
    return pa.chunked_array(parts, pa.string())


def _views_to_text(views: pa.Array) -> pa.Array:
    """Convert string views to text, also with versions of pyarrow that cannot cast them."""
    try:
        return views.cast(pa.string())
    except pa.ArrowNotImplementedError:
        return pa.array(views.to_pylist(), pa.string())


def can_cast(column: Any, dtype: pa.DataType) -> bool:
    """Return whether all values can be converted to a type."""
    try:
        column.cast(dtype)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def to_arrow(values: Values) -> Any:
    """Convert an array of numbers or text to pyarrow; other columns are returned unchanged."""
    if isinstance(values, np.ndarray):
        native = values.astype(values.dtype.newbyteorder("="), copy=False)
        try:
            return pa.array(native)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:  # of an array of objects
            raise InputError(
                "found ids of several types; expected all whole numbers, or all text"
            ) from error
    return values


def arrow_to_numpy(column: Values) -> Array:
    """Convert numbers or text without missing values to numpy."""
    values = np.asarray(column)
    return values.astype(np.str_) if values.dtype.kind == "O" else values


def positions(ids: Values, among: Values) -> Int:
    """Return the position of each id in `among`, -1 where it is missing.

    Numbers are compared with text as they are usually written.

    Examples
    --------
    >>> positions(np.array([3, 7]), np.array(["7", "x", "07"]))
    array([-1,  0])
    """
    ids = to_arrow(ids)
    among = to_arrow(among)
    if ids.type != among.type:
        ids = ids.cast(pa.string())
        among = among.cast(pa.string())
    indices = pc.fill_null(pc.index_in(ids, value_set=among), -1)
    return np.asarray(indices).astype(np.int64)


def encode(column: Values) -> tuple[Codes, pa.Array]:
    """Encode ids as int32 codes; also return the distinct ids in the order of first appearance."""
    column = to_arrow(column)
    if pa.types.is_integer(column.type):  # pandas is three times as fast
        codes, numbers = pd.factorize(np.asarray(column))
        return codes.astype(np.int32), pa.array(numbers)
    column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    codes = np.asarray(column.indices)
    ids = decode_categories(column.dictionary)
    is_used = np.bincount(codes, minlength=len(ids)) > 0
    if not is_used.all():  # categories that no row has
        codes = (np.cumsum(is_used) - 1)[codes]
        ids = ids.filter(pa.array(is_used))
    return codes.astype(np.int32, copy=False), ids
