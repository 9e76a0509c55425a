"""Ranks in Dask: a partition of the users in each task."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa

from sampled_metrics.engines.parts import COUNTS, USER_ID, ItemVectors, rank_part

if TYPE_CHECKING:
    import dask.dataframe as dd


def rank(users: dd.DataFrame, items: ItemVectors, *, up_to: int | None = None) -> dd.DataFrame:
    """Rank the relevant items of each user among all items, a partition of users in each task.

    Parameters
    ----------
    users
        A row for each user: `user_id`; `vector`, a list of numbers; `relevant`, an item or a list
        of items; and maybe `seen`, a list of items that are no candidates.
    items
        Item vectors, which go to each worker once: an array of shape (items, d), or a pandas
        DataFrame whose index has the ids that `relevant` and `seen` have. Or a list of `.npy`
        files that each worker can read, one of which is in its memory at a time.
    up_to
        Depth of the rankings, see `sampled_metrics.rank`; only metrics with a cut-off of at most
        `up_to` can then be evaluated.

    Returns
    -------
    dask.dataframe.DataFrame
        `user_id`, `n_candidates`, `n_better`, `n_tied` and `depth`, a row for each relevant item.
        `evaluate` reads it as a folder of parquet files, or by `compute()`.

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
        ranks.to_parquet("ranks")
        sampled_metrics.evaluate("ranks", "HR@10")
    """
    from dask import delayed  # an optional package

    # An empty table with the columns and types of the result, as Dask expects.
    user_ids = pd.Series([], dtype=users.dtypes[USER_ID])
    empty = pd.DataFrame({USER_ID: user_ids, **{name: np.zeros(0, np.int64) for name in COUNTS}})
    return users.map_partitions(_rank_frame, delayed(items), up_to, meta=empty)


def _rank_frame(users: pd.DataFrame, items: ItemVectors, up_to: int | None) -> pd.DataFrame:
    """Rank a partition."""
    table = pa.Table.from_pandas(users, preserve_index=False)
    frame: pd.DataFrame = rank_part(table, items, up_to).to_pandas()
    return frame.astype({USER_ID: users.dtypes[USER_ID]})
