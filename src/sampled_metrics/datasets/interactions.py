"""The events of an implicit-feedback dataset, in the order of their file."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.tables.ids import Names

if TYPE_CHECKING:
    from sampled_metrics.datasets.movielens import Ratings
    from sampled_metrics.tables.columns import Table


@dataclass(frozen=True)
class Interactions:
    """Events, each of one user with one item; arrays of shape (events,) in file order."""

    user: NDArray[np.int32]  # ids as published, or places in `user_names`
    item: NDArray[np.int32]
    timestamp: Int | Float | None = None  # numbers that order the events; None without times
    rating: NDArray[np.float32] | None = None  # None where there are none or they are not needed
    user_names: Names | None = None  # published ids in ascending order, where `user` are places
    item_names: Names | None = None
    rows: Int | None = None  # row of each event in the file, from 0; None if none was left out
    origin: "Ratings | Table | None" = None  # the file; None for events from memory
    time_unit: str | None = None  # of timestamps since 1970, as numpy calls it; None if not known

    def __len__(self) -> int:
        return self.user.size

    def take(self, kept: NDArray[np.bool_]) -> Self:
        """Return the events where `kept` is true."""
        return replace(
            self,
            user=self.user[kept],
            item=self.item[kept],
            timestamp=None if self.timestamp is None else self.timestamp[kept],
            rating=None if self.rating is None else self.rating[kept],
            rows=np.flatnonzero(kept) if self.rows is None else self.rows[kept],
        )

    def times(self, method: str) -> NDArray[Any]:
        """Return the timestamps, which a method of splitting needs."""
        if self.timestamp is None:
            raise self.error(
                f"no timestamps; {method} needs a column of timestamps, method random does not"
            )
        return self.timestamp

    def pairs(self) -> Int:
        """Encode the user and the item of each event as one number."""
        pairs = self.user.astype(np.int64) << 32
        pairs |= self.item.astype(np.int64) & 0xFFFFFFFF
        return pairs

    def ids(self, event: int) -> tuple[Any, Any]:
        """Return the published ids of an event's user and item."""
        user, item = self.user[event], self.item[event]
        return published(user, self.user_names), published(item, self.item_names)

    def row(self, event: int) -> int:
        """Return the row, from 0, of an event in its file."""
        return event if self.rows is None else int(self.rows[event])

    def error(self, problem: str, event: int | None = None) -> InputError:
        """Make an error that names the file and, where given, the row of an event."""
        path = None if self.origin is None else self.origin.path
        if event is None:
            return InputError(problem, path=path)
        row = self.row(event)
        line = None if self.origin is None else self.origin.line(row)
        return InputError(problem, path=path, row=row + 1, line=line)


def published(ids: Any, names: Names | None) -> Any:
    """Return published ids for those of `Interactions`."""
    return ids if names is None else names[ids]
