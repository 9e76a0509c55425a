"""From events grouped by user to a split."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sampled_metrics._base.arrays import Int
from sampled_metrics.datasets.interactions import Interactions, published
from sampled_metrics.datasets.split import Split
from sampled_metrics.tables.ids import encoded

_ENOUGH = 1_000_000  # training events whose times are compared with those of held-out ones


class Users(NamedTuple):
    """Events by user: those of user ids[u] are rows[bounds[u] : bounds[u + 1]], in file order."""

    rows: NDArray[np.int32]
    ids: NDArray[np.int32]
    bounds: Int


def by_user(user: NDArray[np.int32]) -> Users:
    """Group events by user, in ascending order of ids."""
    code, names = encoded(user)
    ids = names.to_numpy()
    order = np.argsort(ids)
    code = np.argsort(order).astype(np.int32)[code]
    bounds = np.append(0, np.cumsum(np.bincount(code)))
    rows = np.arange(code.size, dtype=np.int32)
    if (code[1:] < code[:-1]).any():
        # csr_array groups entries by row with a counting sort, which is stable.
        entries = (np.ones(code.size, dtype=np.int8), (code, rows))
        rows = csr_array(entries, shape=(order.size, code.size)).indices
    return Users(rows, ids[order], bounds)


def times_of(interactions: Interactions, method: str) -> NDArray[Any]:
    """Return the timestamps, which a method needs."""
    if interactions.timestamp is None:
        raise interactions.error(
            f"no timestamps; {method} needs a column of timestamps, method random does not"
        )
    return interactions.timestamp


def assemble(
    interactions: Interactions,
    users: Users,
    training: NDArray[np.bool_],
    held_out: Int,
    tied_users: int = 0,
) -> Split:
    """Make a split of events by user: whether each trains, and the one held out (-1: none)."""
    code, item_ids = encoded(interactions.item)
    item = code[users.rows]
    counts = np.add.reduceat(training, users.bounds[:-1], dtype=np.int64)
    starts = np.append(0, np.cumsum(counts)).astype(np.int32)
    entries = (np.ones(starts[-1]), item[training], starts)
    train = csr_array(entries, shape=(users.ids.size, len(item_ids)))
    is_evaluated = held_out >= 0
    order = np.concatenate(
        [np.flatnonzero(is_evaluated), np.flatnonzero((counts > 0) & ~is_evaluated)]
    )
    if not is_evaluated.all():
        train = train[order]
    train.sort_indices()
    held_out = held_out[is_evaluated]
    return Split(
        train,
        item[held_out].astype(np.int64),
        published(users.ids[order], interactions.user_names),
        published(item_ids.to_numpy(), interactions.item_names),
        tied_users,
        left_out_users=users.ids.size - order.size,
        left_out_events=item.size - train.nnz - held_out.size,
        later_training_events=_share_later(interactions, users.rows, training, held_out),
    )


def _share_later(
    interactions: Interactions,
    rows: NDArray[np.int32],
    training: NDArray[np.bool_],
    held_out: Int,
) -> float | None:
    """Return the mean share of training events later than a held-out one; None without times."""
    times = interactions.timestamp
    if times is None or not held_out.size:
        return None
    trained = rows[training]
    trained = np.sort(times[trained[:: 1 + trained.size // _ENOUGH]])
    later = trained.size - np.searchsorted(trained, times[rows[held_out]], side="right")
    return float(later.mean()) / trained.size
