"""Ids of users and items, which are whole numbers or text."""

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int, integers
from sampled_metrics.tables.casts import as_arrow, as_numpy

if TYPE_CHECKING:
    import pyarrow as pa

USER, ITEM = "user_id", "item_id"
Codes: TypeAlias = NDArray[np.int32]
Names: TypeAlias = NDArray[np.str_] | NDArray[np.int64]
# 007 and +7 are not canonical: as numbers they would be the same id as 7.
_CANONICAL = r"^(0|-?[1-9]\d{0,18})$"
_INT32 = np.iinfo(np.int32)


def column_of(ids: NDArray[Any]) -> "pa.Array":
    """Convert an array of ids to a pyarrow array of int64 or text."""
    return as_arrow(ids if ids.dtype.kind == "U" else integers("ids", ids))


def places(ids: Any, among: Any) -> Int:
    """Return the place of each id in `among`, -1 where it is missing; both of pyarrow or numpy.

    Numbers are compared with text as they are usually written.
    """
    import pyarrow as pa
    from pyarrow import compute

    ids, among = (column_of(c) if isinstance(c, np.ndarray) else c for c in (ids, among))
    if ids.type != among.type:
        ids, among = ids.cast(pa.string()), among.cast(pa.string())
    return as_numpy(compute.fill_null(compute.index_in(ids, among), -1)).astype(np.int64)


def encoded(column: Any) -> "tuple[Codes, pa.Array]":
    """Encode ids, an array of pyarrow or numpy: int32 codes, and the distinct ids."""
    import pyarrow as pa

    column = as_arrow(column) if isinstance(column, np.ndarray) else column
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    is_encoded = pa.types.is_dictionary(column.type)
    column = (column if is_encoded else column.dictionary_encode()).unify_dictionaries()
    names = column.chunk(0).dictionary
    codes = np.concatenate([as_numpy(chunk.indices) for chunk in column.chunks])
    if not is_encoded:
        return codes, names
    # A dictionary may hold values that no row has.
    used = np.zeros(len(names), dtype=bool)
    used[codes] = True
    if not used.all():
        codes, names = (np.cumsum(used) - 1)[codes], names.filter(pa.array(used))
    return codes.astype(np.int32, copy=False), names


def as_numbers(names: Any) -> Any:
    """Convert text to int64 if all of it is whole numbers as usually written."""
    import pyarrow as pa
    from pyarrow import compute

    if not compute.all(compute.match_substring_regex(names, _CANONICAL)).as_py():
        return names
    try:
        return names.cast(pa.int64())
    except pa.ArrowInvalid:
        return names


def as_int32(codes: Codes, names: Any) -> tuple[Codes, Names | None]:
    """Encode ids as int32, with a lookup table where needed.

    Whole numbers that int32 can hold are returned as they are, without a table. Otherwise the
    numbers returned are places in a table of the ids in ascending order.

    Examples
    --------
    >>> import pyarrow as pa
    >>> as_int32(*encoded(pa.array([12, 7, 12])))
    (array([12,  7, 12], dtype=int32), None)
    >>> as_int32(*encoded(pa.array(["12", "007", "12"])))
    (array([1, 0, 1], dtype=int32), array(['007', '12'], dtype='<U3'))
    """
    import pyarrow as pa

    if pa.types.is_integer(names.type):
        table = as_numpy(names)
        if table.min() >= _INT32.min and table.max() <= _INT32.max:
            return table.astype(np.int32)[codes], None
    else:
        table = np.array(names.to_pylist(), dtype=np.str_)
    order = np.argsort(table)
    place = np.empty(order.size, dtype=np.int32)
    place[order] = np.arange(order.size, dtype=np.int32)
    return place[codes], table[order]
