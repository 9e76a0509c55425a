"""The events of an implicit-feedback dataset, in the order of their file."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Interactions:
    """Who interacted with what and when; arrays of shape (events,) in file order.

    Attributes
    ----------
    user, item
        Ids as published, int32.
    timestamp
        Seconds since 1970, int64.
    """

    user: NDArray[np.int32]
    item: NDArray[np.int32]
    timestamp: NDArray[np.int64]

    def __len__(self) -> int:
        return self.user.size
