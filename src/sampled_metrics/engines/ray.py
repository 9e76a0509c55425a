"""Ranks in Ray: a block of the users in each task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from sampled_metrics.engines.parts import ItemVectors, rank_part

if TYPE_CHECKING:
    from ray.data import Dataset


def rank(users: Dataset, items: ItemVectors, *, up_to: int | None = None) -> Dataset:
    """Rank the relevant items of each user among all items, a block of users in each task.

    Parameters
    ----------
    users
        A row for each user: `user_id`; `vector`, a list of numbers; `relevant`, an item or a list
        of items; and maybe `seen`, a list of items that are no candidates.
    items
        Item vectors, which go to each node once: an array of shape (items, d), or a pandas
        DataFrame whose index has the ids that `relevant` and `seen` have. Or a list of `.npy`
        files that each node can read, one of which is in its memory at a time.
    up_to
        Depth of the rankings, see `sampled_metrics.rank`; only metrics with a cut-off of at most
        `up_to` can then be evaluated.

    Returns
    -------
    ray.data.Dataset
        `user_id`, `n_candidates`, `n_better`, `n_tied` and `depth`, a row for each relevant item.
        `evaluate` reads it as a folder of parquet files, or by `to_pandas()`.

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
        ranks.write_parquet("ranks")
        sampled_metrics.evaluate("ranks", "HR@10")
    """
    import ray  # an optional package

    shared_items = ray.put(items)

    def rank_block(block: pa.Table) -> pa.Table:
        return rank_part(block, ray.get(shared_items), up_to)

    return users.map_batches(rank_block, batch_format="pyarrow", batch_size=None)
