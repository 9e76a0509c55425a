"""Recommenders that know nothing of the user: the most popular items, and a random order."""

from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from scipy.sparse import csr_array

from sampled_metrics._base import settings as base
from sampled_metrics._base.seeds import generator
from sampled_metrics.recommenders.base import Recommender, register


@register("popularity")
class Popularity(Recommender):
    """Scores an item by the number of its training events; equally popular items are tied.

    Examples
    --------
    >>> from sampled_metrics.recommenders import create
    >>> train = csr_array([[1.0, 1, 0], [1, 0, 0]])
    >>> create("popularity", {}).fit(train).score(np.array([0, 1]))
    array([[2., 1., 0.],
           [2., 1., 0.]])
    """

    LEARNT = ("events",)

    def fit(self, train: csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - one thread serves
        """Count the training events of each item."""
        self.events = np.bincount(train.indices, minlength=train.shape[1]).astype(np.float64)
        return self

    def score(self, users: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the same counts for each of the users."""
        return np.tile(self.events, (users.size, 1))


class RandomSettings(base.Settings):
    """The seed of the scores."""

    seed: Annotated[int, Field(ge=0)] = 0
    """Seed of the scores."""


@register("random")
class RandomOrder(Recommender):
    """Scores are independent and uniform on [0, 1).

    Each user has an own stream of random numbers, drawn again whenever the user is scored, so that
    no array of users x items is kept.
    """

    Settings = RandomSettings
    LEARNT = ("items",)

    def fit(self, train: csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - one thread serves
        """Keep the number of items."""
        self.items = np.array(train.shape[1])
        return self

    def score(self, users: NDArray[np.int64]) -> NDArray[np.float64]:
        """Draw the scores of each user from the stream of the user's row number."""
        scores = np.empty((users.size, int(self.items)))
        for row, user in zip(scores, users, strict=True):
            generator(self.settings.seed, "random", int(user)).random(out=row)
        return scores
