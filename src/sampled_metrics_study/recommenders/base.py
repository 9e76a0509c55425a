"""Base class, registry and files of recommenders; the recommenders Popularity and RandomOrder."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import scipy
from numpy.typing import NDArray

from sampled_metrics import InputError
from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.files import read_npz, replace_file
from sampled_metrics._base.random_streams import generator
from sampled_metrics.read.products import ScoreFunction
from sampled_metrics_study.validation import Seed
from sampled_metrics_study.validation import Settings as BaseSettings

Arrays = dict[str, NDArray[Any]]
Scorer = ScoreFunction | tuple[Float, Float]


class Recommender(ABC):
    """Scores every item for a user, given the training interactions only."""

    KIND: ClassVar[str]  # name of the kind; `register` sets it
    Settings: ClassVar[type[BaseSettings]] = BaseSettings  # model of the hyper-parameters
    LEARNT: ClassVar[tuple[str, ...]] = ()  # attributes that `fit` sets and files store

    def __init__(self, settings: BaseSettings) -> None:
        self.settings: Any = settings

    @abstractmethod
    def fit(self, train: scipy.sparse.csr_array, threads: int = 1) -> Self:
        """Train on a matrix of shape (users, items), 1 where a user interacted with an item.

        `threads` changes only the speed, never the result.
        """

    @abstractmethod
    def score(self, users: Int) -> Float:
        """Return the scores of all items for some users, a new array of shape (users, items).

        The scores of a user do not depend on the other users of a call.
        """

    @property
    def scorer(self) -> Any:
        """What `ranking.rank_piece` ranks by: `score`, or vectors or tiles with the same scores."""
        return self.score

    def state(self) -> Arrays:
        """Return the learned attributes as named arrays."""
        return {name: np.asarray(getattr(self, name)) for name in self.LEARNT}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Set the learned attributes to the arrays of `state`."""
        for name in self.LEARNT:
            setattr(self, name, state[name])
        return self


KINDS: dict[str, type[Recommender]] = {}
_Class = TypeVar("_Class", bound=type[Recommender])


def register(kind: str) -> Callable[[_Class], _Class]:
    """Register a class of recommenders under the kind that configurations name (a decorator)."""

    def declare(recommender: _Class) -> _Class:
        if kind in KINDS:
            raise InputError(f"recommender {kind!r} is already registered")
        recommender.KIND = kind
        KINDS[kind] = recommender
        return recommender

    return declare


def create(kind: str, settings: Mapping[str, Any]) -> Recommender:
    """Create an untrained recommender from its kind and its settings, named as in a configuration.

    Examples
    --------
    >>> create("itemknn", {"q": 3}).settings.q
    3.0
    """
    if kind not in KINDS:
        raise InputError(f"unknown recommender kind {kind!r}; known: {', '.join(sorted(KINDS))}")
    return KINDS[kind](KINDS[kind].Settings.of(settings, kind))


def save_recommender(path: Path, recommender: Recommender) -> None:
    """Write a trained recommender as `.npz`, without pickle."""
    settings = recommender.settings.model_dump(by_alias=True)
    description = np.array(json.dumps({"kind": recommender.KIND, "settings": settings}))
    with replace_file(path) as temporary, temporary.open("wb") as file:
        np.savez(file, allow_pickle=False, about=description, **recommender.state())


def load_recommender(path: Path) -> Recommender:
    """Read a recommender written by `save_recommender`."""
    arrays = read_npz(path, "a saved recommender", ("about",))
    try:
        description = json.loads(str(arrays["about"]))
        return create(description["kind"], description["settings"]).restore(arrays)
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"not a saved recommender ({error})", path=path) from error


@register("popularity")
class Popularity(Recommender):
    """Scores an item by its number of training events; equally popular items are tied."""

    LEARNT = ("events",)

    def fit(self, train: scipy.sparse.csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - one thread serves
        """Count the training events of each item."""
        self.events = np.bincount(train.indices, minlength=train.shape[1]).astype(np.float64)
        return self

    def score(self, users: Int) -> Float:
        """Return the same counts for each user."""
        return np.tile(self.events, (users.size, 1))


class RandomSettings(BaseSettings):
    """The seed of the scores."""

    seed: Seed = 0
    """Seed of the scores."""


@register("random")
class RandomOrder(Recommender):
    """Scores are independent and uniform on [0, 1); each user has a random stream of its own.

    Scores are drawn again whenever a user is scored, so that they need no memory.
    """

    Settings = RandomSettings
    LEARNT = ("items",)

    def fit(self, train: scipy.sparse.csr_array, threads: int = 1) -> Self:  # noqa: ARG002 - one thread serves
        """Remember the number of items."""
        self.items = np.array(train.shape[1])
        return self

    def score(self, users: Int) -> Float:
        """Draw the scores of each user."""
        streams = (generator(self.settings.seed, "random", int(user)) for user in users)
        scores = [stream.random(int(self.items)) for stream in streams]
        return np.array(scores).reshape(users.size, -1)
