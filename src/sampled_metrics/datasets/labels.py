"""Published ids of a table: small whole numbers as they are, others numbered, their names apart."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from sampled_metrics.datasets.interactions import Names

IDS = "whole numbers or text"
LONGEST = 200
# Not 007 or +7: as numbers these would be the same id as 7.
_CANONICAL = r"^(0|-?[1-9]\d{0,18})$"
_SMALL = np.iinfo(np.int32)
_LARGEST = np.iinfo(np.int64).max


def as_ids(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], Names | None] | None:
    """Turn a column of ids, none missing, into int32 and the names that they stand for.

    Whole numbers that int32 can hold, all written as numbers usually are, serve themselves and
    have no names. Otherwise the numbers are places in the ascending names: int64 if all are whole
    numbers, else text. None for a column of any other type.

    >>> as_ids(pa.chunked_array([["12", "7", "12"]]))
    (array([12,  7, 12], dtype=int32), None)
    >>> as_ids(pa.chunked_array([["12", "007", "12"]]))
    (array([1, 0, 1], dtype=int32), array(['007', '12'], dtype='<U3'))
    """
    kind = column.type
    of = kind.value_type if pa.types.is_dictionary(kind) else kind
    text = pa.types.is_string(of) or pa.types.is_large_string(of)
    if not (text or pa.types.is_integer(of)):
        return None
    if of == pa.uint64():  # fault() has refused those that int64 cannot hold
        kind, column = pa.int64(), column.cast(pa.int64())
        of = kind
    if kind == of:
        column = column.dictionary_encode()
    codes, names = _unified(column)
    if text and compute.all(compute.match_substring_regex(names, _CANONICAL)).as_py():
        names = _as_numbers(names)
    if pa.types.is_integer(names.type):
        numbers = names.cast(pa.int64()).to_numpy()
        if numbers.min() >= _SMALL.min and numbers.max() <= _SMALL.max:
            return numbers.astype(np.int32)[codes], None
        return _ascending(codes, numbers)
    return _ascending(codes, np.array(names.to_pylist(), dtype=np.str_))


def fault(column: pa.ChunkedArray) -> str | None:
    r"""Say what makes an id none, and what was expected; None where nothing does.

    >>> fault(pa.chunked_array([["fine", "two\nlines"]]))
    "'two\\nlines'; expected text without control characters"
    """
    if column.type == pa.uint64() and (compute.max(column).as_py() or 0) > _LARGEST:
        return f"{compute.max(column)}; expected at most {_LARGEST}, or the ids as text"
    if pa.types.is_dictionary(column.type):
        faults = (fault(pa.chunked_array([chunk.dictionary])) for chunk in column.chunks)
        return next(filter(None, faults), None)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    length = compute.max(compute.utf8_length(column)).as_py() or 0
    if length > LONGEST:
        return f"one of {length} characters; expected at most {LONGEST}"
    odd = column.filter(compute.match_substring_regex(column, r"[\x00-\x1f\x7f]"))
    if len(odd):
        return f"{odd[0].as_py()!r}; expected text without control characters"
    return None


def _unified(column: pa.ChunkedArray) -> tuple[NDArray[np.int32], pa.Array]:
    """Places of all rows in one dictionary, and the dictionary, of used names alone."""
    column = column.unify_dictionaries()
    names = column.chunk(0).dictionary
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in column.chunks])
    used = np.zeros(len(names), dtype=bool)
    used[codes] = True
    if not used.all():
        codes = (np.cumsum(used) - 1)[codes]
        names = names.filter(pa.array(used))
    return codes.astype(np.int32, copy=False), names


def _as_numbers(names: pa.Array) -> pa.Array:
    try:
        return names.cast(pa.int64())
    except pa.ArrowInvalid:
        return names


def _ascending(codes: NDArray[np.int32], names: Names) -> tuple[NDArray[np.int32], Names]:
    order = np.argsort(names)
    place = np.empty(order.size, dtype=np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    return place[codes], names[order]
