"""Functions of pyarrow on columns, without the import of pyarrow.compute and of pandas.

pyarrow.compute wraps some 280 functions when it is imported, which takes longer than reading most
files; the methods of arrays, such as `cast` and `take`, import it too. pyarrow imports pandas to
convert arrays, lists and scalars of Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Array, Bool, Float, Int
from sampled_metrics._base.packages import kernels
from sampled_metrics._base.packages import pyarrow as pa

Codes: TypeAlias = NDArray[np.int32]
Column: TypeAlias = "pa.Array | pa.ChunkedArray"
Values: TypeAlias = "Column | Array"
# 007 and +7 are not canonical: as numbers they would be the same id as 7.
_CANONICAL = r"^(0|-?[1-9]\d{0,18})$"


def cast(column: Column, kind: pa.DataType) -> Any:
    """Convert values to a type that holds all of them."""
    return kernels.call_function("cast", [column], kernels.CastOptions.safe(kind))


def take(column: Column, rows: Array) -> Any:
    """Return some rows."""
    return call("take", column, as_arrow(rows))


def matches(texts: Column, pattern: str) -> Bool:
    """Return whether each text holds a match of a regular expression."""
    options = kernels.MatchSubstringOptions(pattern)
    return booleans(kernels.call_function("match_substring_regex", [texts], options))


def row_of_texts(columns: Sequence[pa.ChunkedArray], texts: Sequence[str]) -> int | None:
    """Return the first row in which each column holds its text, if there is one."""
    rows = []
    for column, text in zip(columns, texts, strict=True):
        if not any(_holds(chunk, text) for chunk in column.chunks):
            return None
        same = call("equal", column, texts_as_arrow([text])[0])
        rows.append(as_numpy(call("indices_nonzero", same)))
    common = reduce(np.intersect1d, rows or [np.zeros(0)])
    if not common.size:
        return None
    return int(common[0])


def _holds(chunk: pa.Array, text: str) -> bool:
    """Return whether a text is among the values of an array, which may be encoded."""
    values = getattr(chunk, "dictionary", chunk)
    if not is_text(values.type):
        return False
    options = kernels.IndexOptions(cast(texts_as_arrow([text]), values.type)[0])
    return bool(kernels.call_function("index", [values], options).as_py() >= 0)


def call(name: str, *columns: Column | pa.Scalar) -> Any:
    """Call a function of pyarrow that has no options."""
    return kernels.call_function(name, list(columns))


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is of texts."""
    return str(kind) in ("string", "large_string", "string_view")  # polars has the last


def int64(column: Column) -> Any:
    """Convert whole numbers to int64."""
    return cast(column, pa.int64())


def as_whole_numbers(texts: pa.Array) -> pa.Array:
    """Return texts as int64 if all are whole numbers as usually written, else as they are."""
    is_usual = matches(texts, _CANONICAL)
    if is_usual.all() and fits(texts, pa.int64()):
        return int64(texts)
    return texts


def numbers(column: Column) -> Int | Float:
    """Return whole numbers as int64 if all fit, other numbers as the nearest float64."""
    if pa.types.is_integer(column.type) and fits(column, pa.int64()):
        return as_numpy(int64(column))
    options = kernels.CastOptions.unsafe(pa.float64())
    return as_numpy(kernels.call_function("cast", [column], options))


def fits(column: Column, kind: pa.DataType) -> bool:
    """Return whether all values can be cast to a type."""
    try:
        cast(column, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def booleans(column: Column) -> Bool:
    """Return booleans without missing values as an array."""
    return as_numpy(cast(column, pa.uint8())) == 1


def as_numpy(column: pa.Array | pa.ChunkedArray) -> Array:
    """Return numbers or text without missing values as an array, which may be read-only."""
    if is_text(column.type):
        return np.asarray(column.to_pylist(), dtype=np.str_)
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    return np.from_dlpack(column)


def as_arrow(values: Values) -> Any:
    """Return an array of numbers or text as one of pyarrow."""
    if not isinstance(values, np.ndarray):
        return values
    if values.dtype.kind == "U":
        return texts_as_arrow(values.tolist())
    values = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, values.size, [None, pa.py_buffer(values)])


def texts_as_arrow(texts: Sequence[str]) -> pa.Array:
    """Return texts as an array of pyarrow."""
    encoded = [text.encode() for text in texts]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int32)
    joined = pa.py_buffer(b"".join(encoded))
    return pa.StringArray.from_buffers(len(texts), pa.py_buffer(ends), joined)


def chunked(column: Values) -> pa.ChunkedArray:
    """Return an array of pyarrow or numpy as one of chunks."""
    column = as_arrow(column)
    if isinstance(column, pa.ChunkedArray):
        return column
    return pa.chunked_array([column])


def places(ids: Values, among: Values) -> Int:
    """Return the place of each id in `among`, -1 where it is missing; both of pyarrow or numpy.

    Numbers are compared with text as they are usually written.
    """
    ids = as_arrow(ids)
    among = as_arrow(among)
    if ids.type != among.type:
        ids = cast(ids, pa.string())
        among = cast(among, pa.string())
    none = np.array([-1], np.int32)
    found = kernels.call_function("index_in", [ids], kernels.SetLookupOptions(among))
    place = call("coalesce", found, as_arrow(none)[0])
    return as_numpy(place).astype(np.int64)


def encoded(column: Values) -> tuple[Codes, pa.Array]:
    """Encode ids, an array of pyarrow or numpy: int32 codes, and the distinct ids."""
    column = chunked(column)
    if not pa.types.is_dictionary(column.type):
        column = call("dictionary_encode", column)
    column = column.combine_chunks()
    names = column.dictionary
    codes = as_numpy(column.indices)
    used = np.bincount(codes, minlength=len(names)) > 0
    if not used.all():  # a dictionary may hold values that no row has
        codes = (np.cumsum(used) - 1)[codes]
        names = take(names, np.flatnonzero(used))
    return codes.astype(np.int32, copy=False), names
