"""Ids of users and items: the same one in two files, whole numbers or text."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int

if TYPE_CHECKING:
    import pyarrow as pa


def alike(one: Any, other: Any) -> tuple[Any, Any]:
    """Bring two columns of ids to one type: text, unless both are whole numbers."""
    import pyarrow as pa

    if one.type == other.type:
        return one, other
    return one.cast(pa.string()), other.cast(pa.string())


def numbered(ids: Any) -> tuple[Int, "pa.Array"]:
    """Number ids in the order in which they first appear; return the numbers and the ids.

    >>> import pyarrow as pa
    >>> numbered(pa.chunked_array([["b", "a", "b"]]))[0]
    array([0, 1, 0])
    """
    import pyarrow as pa

    whole = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    encoded = whole.dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), encoded.dictionary


def places(ids: Any, among: Any) -> Int:
    """Place of each id in `among`, -1 where it is not there.

    >>> import pyarrow as pa
    >>> places(pa.array([7, 9]), pa.array([8, 7]))
    array([ 1, -1])
    """
    from pyarrow import compute

    ids, among = alike(ids, among)
    return compute.fill_null(compute.index_in(ids, among), -1).to_numpy().astype(np.int64)


def as_numpy(ids: Any) -> NDArray[Any]:
    """Ids as an array: int64, or object where they are text."""
    import pyarrow as pa

    whole = ids.combine_chunks() if isinstance(ids, pa.ChunkedArray) else ids
    return whole.to_numpy(zero_copy_only=False)
