"""Columns of ids and numbers in Arrow: their types, their conversion, and matching of ids."""

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
    """Return whether a type is text."""
    return pa.types.is_string(dtype) or pa.types.is_large_string(dtype)


def is_bytes(dtype: pa.DataType) -> bool:
    """Return whether a type is bytes, which may be encoded text."""
    types = pa.types
    return (
        types.is_binary(dtype) or types.is_large_binary(dtype) or types.is_fixed_size_binary(dtype)
    )


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


def decode_categories(column: Any) -> Any:
    """Convert categories to their values."""
    return column.cast(value_type(column.type))


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
    """Encode ids as positions among the distinct ids.

    Returns
    -------
    codes, distinct_ids
        The position of each id in `distinct_ids`, int32, shape (rows,); and the distinct ids, in
        the order of first appearance or, for categories, in that of the categories.
    """
    column = to_arrow(column)
    if pa.types.is_integer(column.type):
        return _encode_integers(np.asarray(column))
    column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    codes = np.asarray(column.indices)
    categories = decode_categories(column.dictionary)
    is_used = np.bincount(codes, minlength=len(categories)) > 0
    if not is_used.all():  # there are categories that no row has
        code_among_used = np.cumsum(is_used) - 1
        codes = code_among_used[codes]
        categories = categories.filter(pa.array(is_used))
    return codes.astype(np.int32, copy=False), categories


def _encode_integers(numbers: Array) -> tuple[Codes, pa.Array]:
    """Encode whole numbers as `encode` does, by pandas, which is three times as fast."""
    if (numbers[1:] > numbers[:-1]).all():  # so they differ
        return np.arange(numbers.size, dtype=np.int32), pa.array(numbers)
    codes, distinct_numbers = pd.factorize(numbers)
    return codes.astype(np.int32), pa.array(distinct_numbers)
