"""Ranks in Spark: a partition of the users in each task."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from sampled_metrics.engines.parts import COUNTS, USER_ID, ItemVectors, rank_part

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def rank(users: DataFrame, items: ItemVectors, *, up_to: int | None = None) -> DataFrame:
    """Rank the relevant items of each user among all items, a partition of users in each task.

    Parameters
    ----------
    users
        A row for each user: `user_id`; `vector`, an array of numbers; `relevant`, an item or an
        array of items; and maybe `seen`, an array of items that are no candidates.
    items
        Item vectors, which go to each worker once: an array of shape (items, d), or a pandas
        DataFrame whose index has the ids that `relevant` and `seen` have. Or a list of `.npy`
        files that each worker can read, one of which is in its memory at a time.
    up_to
        Depth of the rankings, see `sampled_metrics.rank`; only metrics with a cut-off of at most
        `up_to` can then be evaluated.

    Returns
    -------
    DataFrame
        `user_id`, `n_candidates`, `n_better`, `n_tied` and `depth`, a row for each relevant item.
        `evaluate` reads it as a folder of parquet files, or by `toPandas()`.

    Raises
    ------
    InputError
        In the task, if vectors, items or users are invalid.

    See Also
    --------
    evaluate : Metrics of these ranks, of which it reads the folder.

    Examples
    --------
    In a session of the engine::

        ranks = rank(users, items, up_to=100)
        ranks.write.parquet("ranks")
        sampled_metrics.evaluate("ranks", "HR@10")
    """
    broadcast_items = users.sparkSession.sparkContext.broadcast(items)

    def rank_partition(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        all_batches = list(batches)
        if all_batches:
            partition = pa.Table.from_batches(all_batches)
            yield from rank_part(partition, broadcast_items.value, up_to).to_batches()

    user_type = users.schema[USER_ID].dataType.simpleString()
    types_of_counts = ", ".join(f"{name} long" for name in COUNTS)
    return users.mapInArrow(rank_partition, schema=f"{USER_ID} {user_type}, {types_of_counts}")
