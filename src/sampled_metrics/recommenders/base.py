"""What every recommender can do, and how one is made, saved and loaded by the name of its kind."""

import dataclasses
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

Arrays = dict[str, NDArray[Any]]


class Recommender(Protocol):
    """Scores every item for a user, from training interactions alone.

    Attributes
    ----------
    KIND
        The name of the kind, as in the config.
    Settings
        Frozen dataclass of hyper-parameters, checked when made.
    settings
        Those of this recommender.
    """

    KIND: ClassVar[str]
    Settings: ClassVar[type[Any]]
    settings: Any

    def __init__(self, settings: Any) -> None: ...

    def fit(self, train: csr_array, threads: int = 1) -> Self:
        """Learn from a users x items matrix, 1 where a user interacted with an item.

        `threads` changes the speed only, never the result.
        """
        ...

    def score(self, users: NDArray[np.int64]) -> NDArray[np.float64]:
        """Scores of all items for some users; a fresh array of shape (len(users), items).

        The scores of a user do not depend on which others are asked for with it.
        """
        ...

    def state(self) -> Arrays:
        """Return what `fit` learnt, as named arrays."""
        ...

    def restore(self, state: Mapping[str, NDArray[Any]]) -> Self:
        """Take back what `state` gave."""
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


def create(kind: str, settings: Mapping[str, Any]) -> Recommender:
    """Make an unfitted recommender from its kind and its settings, named as in the config.

    Raises
    ------
    InputError
        The kind or a setting is not known, or a value is out of its range.

    >>> create("itemknn", {"q": 3}).settings.q
    3
    """
    if kind not in _MODULES:
        raise InputError(f"unknown recommender kind {kind!r}; known: {', '.join(KINDS)}")
    module, name = _MODULES[kind]
    recommender: type[Recommender] = getattr(importlib.import_module(module), name)
    fields = {field.name.rstrip("_"): field.name for field in _fields(recommender)}
    unknown = [key for key in settings if key not in fields]
    if unknown:
        known = ", ".join(fields) or "none"
        raise InputError(f"{kind}: unknown setting {unknown[0]!r}; known: {known}")
    values = {fields[key]: value for key, value in settings.items()}
    return recommender(recommender.Settings(**values))


def _fields(recommender: type[Recommender]) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(recommender.Settings)


def save_recommender(path: Path, recommender: Recommender) -> None:
    """Write a fitted recommender as `.npz`, without pickle."""
    settings = {
        name.rstrip("_"): value for name, value in dataclasses.asdict(recommender.settings).items()
    }
    about = np.array(json.dumps({"kind": recommender.KIND, "settings": settings}))
    with replacing(path) as temporary:
        np.savez(temporary, allow_pickle=False, about=about, **recommender.state())


def load_recommender(path: Path) -> Recommender:
    """Read a recommender written by `save_recommender`.

    Raises
    ------
    InputError
        The file is not one.
    """
    arrays = read_arrays(path, "a saved recommender", ("about",))
    try:
        about = json.loads(str(arrays["about"]))
        recommender = create(about["kind"], about["settings"])
        return recommender.restore(arrays)
    except (KeyError, ValueError, TypeError) as error:
        raise InputError(f"{path}: not a saved recommender ({error})") from error
