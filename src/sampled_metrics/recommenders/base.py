"""The protocol of recommenders; creating, saving and loading one by the name of its kind."""

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_arrays, replacing
from sampled_metrics._base.settings import Settings

Arrays = dict[str, NDArray[Any]]


class Recommender(Protocol):
    """Scores every item for a user, from training interactions alone.

    Attributes
    ----------
    KIND
        The name of the kind, as in the config.
    Settings
        Model of hyper-parameters.
    settings
        Hyper-parameters of this recommender.
    """

    KIND: ClassVar[str]
    Settings: ClassVar[type[Settings]]
    settings: Any

    def __init__(self, settings: Any) -> None: ...

    def fit(self, train: csr_array, threads: int = 1) -> Self:
        """Learn from a users x items matrix, 1 where a user interacted with an item.

        `threads` changes the speed only, never the result.
        """
        ...

    def score(self, users: NDArray[np.int64]) -> NDArray[np.float64]:
        """Scores of all items for some users; a fresh array of shape (len(users), items).

        The scores of a user do not depend on the other users.
        """
        ...

    def state(self) -> Arrays:
        """Return what `fit` learned, as named arrays."""
        ...

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Restore what `state` returned."""
        ...


_MODULES = {
    "als": ("sampled_metrics.recommenders.als", "ALS"),
    "itemknn": ("sampled_metrics.recommenders.itemknn", "ItemKNN"),
    "bm25": ("sampled_metrics.recommenders.bm25", "BM25"),
    "bpr": ("sampled_metrics.recommenders.stochastic", "BPR"),
    "lmf": ("sampled_metrics.recommenders.stochastic", "LMF"),
    "popularity": ("sampled_metrics.recommenders.popularity", "Popularity"),
    "random": ("sampled_metrics.recommenders.random_order", "RandomOrder"),
}
KINDS = tuple(_MODULES)


def recommender_class(kind: str) -> type[Recommender]:
    """Return the class of a kind of recommender.

    >>> recommender_class("als").Settings.setting_names()
    ['d', 'lambda', 'alpha', 'iterations', 'seed']
    """
    if kind not in _MODULES:
        raise InputError(f"unknown recommender kind {kind!r}; known: {', '.join(KINDS)}")
    module, name = _MODULES[kind]
    recommender: type[Recommender] = getattr(importlib.import_module(module), name)
    return recommender


def create(kind: str, settings: Mapping[str, Any]) -> Recommender:
    """Make an unfitted recommender from its kind and its settings, named as in the config.

    >>> create("itemknn", {"q": 3}).settings.q
    3.0
    >>> create("itemknn", {"k": 0})
    Traceback (most recent call last):
    sampled_metrics.InputError: itemknn: k must be at least 1, not 0
    """
    recommender = recommender_class(kind)
    return recommender(recommender.Settings.of(settings, kind))


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
        raise InputError(f"{path}: not a saved recommender ({error})") from error
