"""A random order of the items for each user, as a baseline."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.sparse import csr_array

from sampled_metrics._base.seeds import generator
from sampled_metrics._base.settings import Settings
from sampled_metrics.recommenders.base import Arrays


class RandomOrderSettings(Settings):
    """The seed of the scores."""

    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the scores."""


class RandomOrder:
    """Scores are independent and uniform on [0, 1).

    Each user has its own stream of random numbers, drawn again whenever the user is scored, so no
    array of users x items is held. Ties are very unlikely in float64.
    """

    KIND: ClassVar[str] = "random"
    Settings: ClassVar[type[RandomOrderSettings]] = RandomOrderSettings

    def __init__(self, settings: RandomOrderSettings) -> None:
        self.settings = settings
        self.items = 0

    def fit(self, train: csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - one thread serves
        """Store the number of items."""
        self.items = train.shape[1]
        return self

    def score(self, users: NDArray[np.int64]) -> NDArray[np.float64]:
        """Draw the scores of each user from the stream of its running number."""
        scores = np.empty((users.size, self.items))
        for row, user in zip(scores, users, strict=True):
            generator(self.settings.seed, "random", int(user)).random(out=row)
        return scores

    def state(self) -> Arrays:
        """Return the number of items."""
        return {"items": np.array(self.items)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Restore the number of items."""
        self.items = int(state["items"])
        return self
