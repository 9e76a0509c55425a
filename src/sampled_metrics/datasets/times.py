"""Times of events as whole numbers in the same order, whatever a table writes them as."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

TIMES = "numbers, or dates and times as in ISO 8601, the same in all rows"
_WHOLE = r"^[+-]?\d+$"
_DECIMAL = r"^[+-]?(\d+\.?\d*|\.\d+)$"
_FLOAT = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
# Coarse units first, for then whole seconds stay seconds.
_DATES = tuple(pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("s", "us", "ns"))
_EXACT = 2.0**53


def as_times(column: pa.ChunkedArray) -> NDArray[np.int64] | None:
    """Turn a column of times, none missing, into int64 that order the rows exactly as they do.

    Whole numbers stay themselves, dates become seconds since 1970 or the finer unit that all of
    them need, other numbers multiples of their last decimal place; floats for which int64 is too
    narrow are numbered by the order of all floats. None if a value is no time or not of the kind of
    the others.

    >>> as_times(pa.chunked_array([["1.5", "-1", "1.25"]]))
    array([ 150, -100,  125])
    >>> as_times(pa.chunked_array([["1970-01-01", "1970-01-01T00:01"]]))
    array([ 0, 60])
    """
    kind = column.type
    if pa.types.is_floating(kind):
        return _of_floats(column.to_numpy().astype(np.float64))
    if pa.types.is_integer(kind):
        return _cast(column, pa.int64())
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        return _of_dates(column)
    if pa.types.is_decimal(kind):
        column = column.cast(pa.string())
    elif not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return None
    return _of_text(column)


def first_wrong(column: pa.ChunkedArray) -> int:
    """Row, counted from 0, up to which `as_times` would have taken the column."""
    right, wrong = 0, len(column)
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if as_times(column.slice(0, middle)) is None:
            wrong = middle
        else:
            right = middle
    return wrong - 1


def _of_floats(values: NDArray[np.float64]) -> NDArray[np.int64] | None:
    if not np.isfinite(values).all():
        return None
    if (np.floor(values) == values).all() and (np.abs(values) < _EXACT).all():
        return values.astype(np.int64)
    # Read as integers, the bits of floats grow with them; those of negative ones fall.
    bits = (values + 0.0).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)


def _of_dates(column: pa.ChunkedArray) -> NDArray[np.int64] | None:
    if pa.types.is_date32(column.type) or pa.types.is_time32(column.type):
        column = column.cast(pa.int32())
    return _cast(column, pa.int64())


def _of_text(text: pa.ChunkedArray) -> NDArray[np.int64] | None:
    if _all_match(text, _WHOLE):
        return _cast(compute.utf8_ltrim(text, "+"), pa.int64())
    if _all_match(text, _DECIMAL):
        exact = _of_decimals(text)
        if exact is not None:
            return exact
    if _all_match(text, _FLOAT):
        return _of_floats(compute.utf8_ltrim(text, "+").cast(pa.float64()).to_numpy())
    casts = (_cast(text, kind) for kind in _DATES)
    return next((times for times in casts if times is not None), None)


def _all_match(text: pa.ChunkedArray, pattern: str) -> bool:
    # The first value nearly always tells, and costs nothing.
    return all(
        compute.all(compute.match_substring_regex(some, pattern)).as_py()
        for some in (text.slice(0, 1), text)
    )


def _of_decimals(text: pa.ChunkedArray) -> NDArray[np.int64] | None:
    """Multiples of the last decimal place of all; None where int64 cannot hold them."""
    point = compute.find_substring(text, ".")
    places = compute.subtract(compute.subtract(compute.binary_length(text), 1), point)
    scale = compute.max(compute.if_else(compute.less(point, 0), 0, places)).as_py()
    if scale > 18:
        return None
    try:
        exact = text.cast(pa.decimal128(38, scale))
    except pa.ArrowInvalid:
        return None
    parts = []
    for chunk in exact.chunks:
        words = np.frombuffer(chunk.buffers()[1], dtype="<i8").reshape(-1, 2)
        low, high = words[chunk.offset : chunk.offset + len(chunk)].T
        if (high != low >> 63).any():
            return None
        parts.append(low)
    return np.concatenate(parts)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> NDArray[np.int64] | None:
    try:
        return column.cast(kind).cast(pa.int64()).to_numpy()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
