"""Arguments of public functions, which mean the same wherever they have the same name."""

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from sampled_metrics._base.arrays import whole_number
from sampled_metrics._base.defaults import MOST_ITEMS
from sampled_metrics._base.errors import InputError

_FLAGS = {"complete", "intervals", "several_items"}
_LEAST = {"block_size": 1, "n_items": 2, "n_users": 1, "seed": 0}
_NUMBERS = {"confidence": "above 0 and below 1"}
_OPTIONAL = {"n_items", "n_users", "sampling", "test", "ties"}


def check_arguments(**given: Any) -> None:
    """Raise InputError for the first argument whose value is not of its type or range."""
    for name, value in given.items():
        if value is None and name in _OPTIONAL:
            continue
        if name in _LEAST:
            whole_number(name, value, _LEAST[name], None if name == "seed" else MOST_ITEMS)
        elif name in _NUMBERS:
            require_type(name, value, int, float, np.integer, np.floating)
            if not (0.0 < value < 1.0 if name == "confidence" else 0.0 <= value < np.inf):
                raise InputError(f"{name} is {value}, expected a number {_NUMBERS[name]}")
        else:
            require_type(name, value, *((bool, np.bool_) if name in _FLAGS else (str,)))


def require_type(name: str, value: Any, *kinds: type) -> None:
    """Raise InputError unless a value is of one of these types."""
    if not isinstance(value, kinds):
        expected = " or ".join(dict.fromkeys(kind.__name__.strip("_") for kind in kinds))
        raise InputError(f"{name} is of type {type(value).__name__}, expected {expected}")


def path_of(path: Any) -> Path:
    """Return the name of a file as a path."""
    require_type("path", path, str, PathLike)
    return Path(path)
