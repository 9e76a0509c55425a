"""The most popular items for every user: a baseline without personalisation."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sampled_metrics._base.settings import Settings
from sampled_metrics.recommenders.base import Arrays


class PopularitySettings(Settings):
    """No settings."""


class Popularity:
    """Scores an item by the number of its training events; equally popular items are tied.

    >>> train = csr_array([[1.0, 1, 0], [1, 0, 0]])
    >>> Popularity(PopularitySettings()).fit(train).score(np.array([0, 1]))
    array([[2., 1., 0.],
           [2., 1., 0.]])
    """

    KIND: ClassVar[str] = "popularity"
    Settings: ClassVar[type[PopularitySettings]] = PopularitySettings

    def __init__(self, settings: PopularitySettings) -> None:
        self.settings = settings
        self.events = np.empty(0)

    def fit(self, train: csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - one thread serves
        """Count the training events of each item."""
        self.events = np.bincount(train.indices, minlength=train.shape[1]).astype(np.float64)
        return self

    def score(self, users: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the same counts for each of the users."""
        return np.tile(self.events, (users.size, 1))

    def state(self) -> Arrays:
        """Return the counts."""
        return {"events": self.events}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Restore the counts."""
        self.events = state["events"]
        return self
