"""Ranks of a part of the users, which is what each task of an engine computes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sampled_metrics._base.array_types import Array
from sampled_metrics._base.columns import is_no_item
from sampled_metrics._base.errors import InputError
from sampled_metrics.evaluation.rank import rank

# Item vectors: an array, a DataFrame whose index has the ids, or a list of `.npy` files.
ItemVectors: TypeAlias = Any | Sequence[str | Path]

USER_ID = "user_id"
VECTOR = "vector"
RELEVANT = "relevant"
SEEN = "seen"
COUNTS = ("n_candidates", "n_better", "n_tied", "depth")


def rank_part(users: pa.Table, items: ItemVectors, up_to: int | None = None) -> pa.Table:
    """Rank the relevant items of some users in one thread.

    Parameters
    ----------
    users
        A row for each user: `user_id`; `vector`, a list of numbers; `relevant`, an item or a list
        of items; and maybe `seen`, a list of items that are no candidates.
    items
        Item vectors. Items are given by their ids, the index of a DataFrame, or else by their
        numbers, from 0.
    up_to
        Depth of the rankings, see `rank`.

    Returns
    -------
    pyarrow.Table
        `user_id` and COUNTS, int64, a row for each relevant item, see `Ranks.to_frame`. Users
        without relevant items have none.

    Raises
    ------
    InputError
        If a column is missing, or if vectors, items or users are invalid.

    Examples
    --------
    >>> users = pa.table({"user_id": [7, 8], "vector": [[1.0, 0], [0, 1]], "relevant": [0, 0]})
    >>> rank_part(users, [[2.0, 1], [1, 3], [0, 2]]).column("n_better").to_pylist()
    [0, 2]
    """
    missing = [name for name in (USER_ID, VECTOR, RELEVANT) if name not in users.column_names]
    if missing:
        raise InputError(
            f"users lack columns {', '.join(missing)}; expected {USER_ID}, {VECTOR}, {RELEVANT}, "
            f"and maybe {SEEN}"
        )
    relevant = _item_table(users, RELEVANT)
    if not len(relevant):
        return _counts_table(users.column(USER_ID).slice(0, 0), {})
    seen = _item_table(users, SEEN) if SEEN in users.column_names else None
    has_seen_items = seen is not None and len(seen) > 0
    ranks = rank(
        (_vectors(users), items),
        seen=seen if has_seen_items else None,
        relevant=relevant,
        users=users.column(USER_ID).to_pandas(),
        up_to=up_to,
        n_jobs=1,
        progress=False,
    )
    counts = ranks.to_frame()
    if "depth" not in counts:
        counts["depth"] = counts["n_candidates"]
    user_type = users.schema.field(USER_ID).type
    return _counts_table(pa.array(counts[USER_ID], user_type), counts)


def _counts_table(user_ids: Any, counts: Any) -> pa.Table:
    """Return ids of users beside their counts, of which there may be none."""
    columns = {name: pa.array(counts.get(name, []), pa.int64()) for name in COUNTS}
    return pa.table({USER_ID: user_ids, **columns})


def _vectors(users: pa.Table) -> Array:
    """Return the vectors of users, shape (users, d), in the type of the column."""
    column = users.column(VECTOR).combine_chunks()
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    have_one_length = lengths.size and (lengths == lengths[0]).all()
    if not have_one_length:
        raise InputError(f"column {VECTOR}: expected lists of one length, a vector for each user")
    values: Array = column.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(column), -1)


def _item_table(users: pa.Table, name: str) -> pa.Table:
    """Return the items of a column as a table of `user_id` and `item_id`, a row for each item.

    The column has an item or a list of items for each user. Missing items, and the numbers that
    stand for no item, have no row.
    """
    column = users.column(name).combine_chunks()
    user_ids = users.column(USER_ID).combine_chunks()
    has_lists = pa.types.is_nested(column.type)
    if has_lists:
        user_ids = user_ids.take(pc.list_parent_indices(column))
        column = column.flatten()
    table = pa.table({USER_ID: user_ids, "item_id": column}).drop_null()
    if pa.types.is_integer(column.type):
        table = table.filter(~is_no_item(np.asarray(table.column("item_id"))))
    return table
