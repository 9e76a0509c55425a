"""A split given as two files, of training events and of held-out ones."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics.datasets.global_time import hold_out_first
from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.settings import TieBreak
from sampled_metrics.datasets.split import Split
from sampled_metrics.tables.ids import Codes, Names, as_int32, column_of, encoded


def given_split(
    train: Interactions,
    test: Interactions,
    tie_break: TieBreak = "first",
    rng: np.random.Generator | None = None,
) -> Split:
    """Train on the events of one file and evaluate each user's first event in the other.

    It is the first by time where both files have times, else in file order, see `hold_out_first`.
    The items of both files are candidates. Users of only one file train, or are left out.

    Examples
    --------
    >>> train = Interactions(np.array([7, 8]), np.array([1, 2]))
    >>> test = Interactions(np.array([8, 8, 9]), np.array([1, 3, 3]))
    >>> split = given_split(train, test)
    >>> split.evaluated_ids.tolist(), split.held_out_ids.tolist()
    ([8], [1])
    """
    both = _joined(train, test)
    is_test = np.arange(len(both)) >= len(train)
    pairs = both.user.astype(np.int64) << 32 | both.item.astype(np.int64) & 0xFFFFFFFF
    again = np.isin(pairs[is_test], pairs[~is_test])
    if again.any():
        event = int(np.argmax(again))
        raise test.error(
            f"user {test.user_id(event)} has item {test.item_id(event)} also in "
            f"{_name(train)}; keep each pair in one of the two files",
            event,
        )
    split = hold_out_first(both, is_test, tie_break, rng)
    if not split.held_out.size:
        raise test.error(f"no user is also in {_name(train)}; write ids alike in both files")
    return split


def _name(interactions: Interactions) -> str:
    return "the training events" if interactions.origin is None else str(interactions.origin.path)


def _joined(train: Interactions, test: Interactions) -> Interactions:
    """Concatenate events; times are kept if both have them, of one unit."""
    user, user_names = _ids((train.user, train.user_names), (test.user, test.user_names))
    item, item_names = _ids((train.item, train.item_names), (test.item, test.item_names))
    times = None
    if train.timestamp is not None and test.timestamp is not None:
        if train.time_unit != test.time_unit:
            kinds = [f"in {part.time_unit or 'numbers'}" for part in (test, train)]
            raise test.error(
                f"times are {kinds[0]}, those of {_name(train)} {kinds[1]}; write both alike"
            )
        times = np.concatenate([train.timestamp, test.timestamp])
    return replace(
        train,
        user=user,
        item=item,
        timestamp=times,
        rating=None,
        user_names=user_names,
        item_names=item_names,
        rows=None,
    )


def _ids(*parts: tuple[NDArray[np.int32], Names | None]) -> tuple[Codes, Names | None]:
    """Concatenate ids of two files, which are compared as text if one of them has text."""
    import pyarrow as pa

    codes, tables = zip(*(_coded(*part) for part in parts), strict=True)
    if tables[0].type != tables[1].type:
        tables = tuple(table.cast(pa.string()) for table in tables)
    places, names = encoded(pa.chunked_array(tables))
    of_train, of_test = places[: len(tables[0])], places[len(tables[0]) :]
    return as_int32(np.concatenate([of_train[codes[0]], of_test[codes[1]]]), names)


def _coded(ids: NDArray[np.int32], names: Names | None) -> tuple[Codes, Any]:
    if names is not None:
        return ids, column_of(names)
    codes, table = encoded(ids)
    return codes, column_of(table.to_numpy())
