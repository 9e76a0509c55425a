"""The events of an implicit-feedback dataset, in the order of their file."""

from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sampled_metrics._base.errors import InputError

Names = NDArray[np.str_] | NDArray[np.int64]


class Origin(Protocol):
    """The file that events were read from, which can show where a fault is."""

    def place(self, row: int) -> str:
        """File and line (or row) of an event, counted here from 0."""

    def text(self, row: int) -> str | None:
        """Return the event as it stands there, quoted; None where a file has no lines."""


@dataclass(frozen=True)
class Interactions:
    """Who interacted with what and when; arrays of shape (events,) in file order.

    Attributes
    ----------
    user, item
        Ids as published, int32; or, where those are no such numbers, places in `user_names` and
        `item_names`.
    timestamp
        Numbers that order the events, int64; seconds since 1970 in MovieLens. None where the file
        has no times.
    rating
        float32; None where there is none or nothing asks for it.
    user_names, item_names
        Published ids, ascending, text or int64; None where `user` and `item` are those.
    rows
        Place of each event in the file, counted from 0; None where all of them are here.
    origin
        The file; None for events from memory.
    """

    user: NDArray[np.int32]
    item: NDArray[np.int32]
    timestamp: NDArray[np.int64] | None = None
    rating: NDArray[np.float32] | None = None
    user_names: Names | None = None
    item_names: Names | None = None
    rows: NDArray[np.int64] | None = None
    origin: Origin | None = None

    def __len__(self) -> int:
        return self.user.size

    def take(self, kept: NDArray[np.bool_]) -> Self:
        """Return the events where `kept` is true."""
        rows = np.flatnonzero(kept) if self.rows is None else self.rows[kept]
        return replace(
            self,
            user=self.user[kept],
            item=self.item[kept],
            timestamp=None if self.timestamp is None else self.timestamp[kept],
            rating=None if self.rating is None else self.rating[kept],
            rows=rows,
        )

    def user_id(self, event: int) -> Any:
        """Published id of an event's user."""
        code = self.user[event]
        return code if self.user_names is None else self.user_names[code]

    def place(self, event: int) -> str:
        """Where an event, counted from 0, was read."""
        row = self._row(event)
        return f"event {row + 1}" if self.origin is None else self.origin.place(row)

    def text(self, event: int) -> str:
        """Return an event as it stands in its file, or else its ids."""
        text = None if self.origin is None else self.origin.text(self._row(event))
        if text is not None:
            return text
        code = self.item[event]
        item = code if self.item_names is None else self.item_names[code]
        return f"user {self.user_id(event)}, item {item}"

    def error(self, event: int, found: str, expected: str) -> InputError:
        """Make the error for an event, counted from 0."""
        return InputError(f"{self.place(event)}: found {found}; expected {expected}")

    @property
    def name(self) -> str:
        """The file in words, for messages on all events."""
        return "the interactions" if self.origin is None else str(self.origin)

    def _row(self, event: int) -> int:
        return event if self.rows is None else int(self.rows[event])


def encoded(ids: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Ids in the order in which they first appear, and the place of each event's among them.

    >>> first_seen, code = encoded(np.array([7, 4, 7], dtype=np.int32))
    >>> first_seen.tolist(), code.tolist()
    ([7, 4], [0, 1, 0])
    """
    column = pa.array(ids).dictionary_encode()
    return column.dictionary.to_numpy(), column.indices.to_numpy()
