"""What every recommender can do; the registry of their kinds; models as files."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from sampled_metrics._base import settings as base
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_arrays, replacing
from sampled_metrics._base.tiles import Tiles

Arrays = dict[str, NDArray[Any]]
Scorer = Callable[[NDArray[np.int64]], NDArray[np.float64]] | tuple[ArrayLike, ArrayLike] | Tiles


class NoSettings(base.Settings):
    """No settings."""


class Recommender(ABC):
    """Scores every item for a user, from training interactions alone.

    Attributes
    ----------
    KIND
        Name of the kind, given by `register`.
    Settings
        Model of the hyper-parameters.
    LEARNT
        Attributes that `fit` sets, which are all that a saved recommender consists of.
    settings
        Hyper-parameters of this recommender.
    """

    KIND: ClassVar[str]
    Settings: ClassVar[type[base.Settings]] = NoSettings
    LEARNT: ClassVar[tuple[str, ...]] = ()

    def __init__(self, settings: Any) -> None:
        self.settings = settings

    @abstractmethod
    def fit(self, train: csr_array, threads: int = 1) -> Self:
        """Learn from a users x items matrix, 1 where a user interacted with an item.

        `threads` changes the speed only, never the result.
        """

    @abstractmethod
    def score(self, users: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the scores of all items for some users, a new array of shape (users, items).

        The scores of a user do not depend on the other users in the block.
        """

    @property
    def scorer(self) -> Scorer:
        """What `sampled_metrics.ranks.rank` takes: `score`, or vectors or tiles of these scores."""
        return self.score

    def state(self) -> Arrays:
        """Return what `fit` learnt, as named arrays."""
        return {name: np.asarray(getattr(self, name)) for name in self.LEARNT}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Set what `fit` learnt from the result of `state`."""
        for name in self.LEARNT:
            setattr(self, name, state[name])
        return self


KINDS: dict[str, type[Recommender]] = {}
_Class = TypeVar("_Class", bound=type[Recommender])


def register(kind: str) -> Callable[[_Class], _Class]:
    """Declare a kind of recommender; decorates its class.

    The configuration, its schema and the commands know the kind from then on.
    """

    def declare(recommender: _Class) -> _Class:
        if kind in KINDS:
            raise InputError(f"recommender {kind!r} is already registered")
        recommender.KIND = kind
        KINDS[kind] = recommender
        return recommender

    return declare


def create(kind: str, settings: Mapping[str, Any]) -> Recommender:
    """Make an unfitted recommender from its kind and its settings, named as in the config.

    Examples
    --------
    >>> create("itemknn", {"q": 3}).settings.q
    3.0
    >>> create("itemknn", {"k": 0})
    Traceback (most recent call last):
    sampled_metrics.InputError: itemknn: k must be at least 1, not 0
    """
    if kind not in KINDS:
        raise InputError(f"unknown recommender kind {kind!r}; known: {', '.join(sorted(KINDS))}")
    return KINDS[kind](KINDS[kind].Settings.of(settings, kind))


def save_recommender(path: Path, recommender: Recommender) -> None:
    """Write a fitted recommender as `.npz`, without pickle."""
    settings = recommender.settings.model_dump(by_alias=True)
    about = np.array(json.dumps({"kind": recommender.KIND, "settings": settings}))
    with replacing(path) as temporary:
        np.savez(temporary, allow_pickle=False, about=about, **recommender.state())


def load_recommender(path: Path) -> Recommender:
    """Read a recommender written by `save_recommender`."""
    arrays = read_arrays(path, "a saved recommender", ("about",))
    try:
        about = json.loads(str(arrays["about"]))
        recommender = create(about["kind"], about["settings"])
        return recommender.restore(arrays)
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"not a saved recommender ({error})", path=path) from error
