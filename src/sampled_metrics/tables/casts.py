"""Types of pyarrow columns, and which of them text can be cast to."""

from bisect import bisect_left
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa


def as_numpy(column: "pa.Array | pa.ChunkedArray") -> NDArray[Any]:
    """Return numbers or text without missing values as an array, which may be read-only."""
    if is_text(column.type):
        return np.asarray(column.to_pylist(), dtype=object)
    # pyarrow's own conversions import pandas, which takes longer than to read most files.
    return np.from_dlpack(column.combine_chunks() if hasattr(column, "chunks") else column)


def as_arrow(values: NDArray[Any]) -> "pa.Array":
    """Return an array of numbers or text as one of pyarrow."""
    import pyarrow as pa

    if values.dtype.kind == "U":
        return pa.array(values, pa.string())
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, values.size, [None, buffer])


def plain(column: Any) -> Any:
    """Return a column without dictionary encoding."""
    import pyarrow as pa

    kind = column.type
    return column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column


def is_text(kind: Any) -> bool:
    """Return whether a type is one of text."""
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def fits(column: Any, kind: Any) -> bool:
    """Return whether all values can be cast to a type."""
    import pyarrow as pa

    try:
        column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def first_misfit(column: Any, kind: Any) -> int | None:
    """Return the first row, from 0, whose value cannot be cast to a type; None if all can."""
    if fits(column, kind):
        return None
    rows = range(len(column))
    return bisect_left(rows, True, key=lambda row: not fits(column[: row + 1], kind))


def unit_of(kind: Any) -> str | None:
    """Return numpy's name of the unit of a type of dates since 1970; None for a time of day."""
    import pyarrow as pa

    if pa.types.is_date(kind):
        return "D" if pa.types.is_date32(kind) else "ms"
    return str(kind.unit) if pa.types.is_timestamp(kind) else None


def time_type(text: Any) -> Any:
    """Return the type to read times written as text: integers, floats or dates of some unit.

    It is the first that fits all values; where none does, one that fits the first value.
    """
    import pyarrow as pa

    dates = (pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("s", "us", "ns"))
    kinds = [kind for kind in (pa.int64(), pa.float64(), *dates) if fits(text[:1], kind)]
    fallback = kinds[-1] if kinds else pa.float64()
    return next((kind for kind in kinds if fits(text, kind)), fallback)
