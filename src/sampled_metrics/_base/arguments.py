"""Checks of arguments and of options, each declared once with its type and its limits."""

import operator
import os
from collections.abc import Collection
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.defaults import MAX_ITEMS
from sampled_metrics._base.errors import InputError, cli_option, format_value, warn_input

ALL_CORES = -1  # value of `n_jobs`


class _Option(NamedTuple):
    """Allowed values of an argument; whole numbers if there is a least one."""

    kinds: tuple[type, ...] = (str,)
    least: int | None = None
    most: int | None = None
    is_optional: bool = False  # whether it may be None
    known: tuple[str, ...] = ()  # names, if others are refused


_NUMBERS = (int, float, np.integer, np.floating)
_FLAG = _Option(kinds=(bool, np.bool_))
_OPTIONS = {
    **dict.fromkeys(("complete", "intervals", "several_items"), _FLAG),
    **dict.fromkeys(("correction", "metric", "source"), _Option()),
    **dict.fromkeys(("sampling", "ties"), _Option(is_optional=True)),
    **dict.fromkeys(("budget", "confidence", "min_relevance"), _Option(_NUMBERS)),
    **dict.fromkeys(("effect", "value"), _Option(_NUMBERS, is_optional=True)),
    "batch_size": _Option(least=1, is_optional=True),
    "block_size": _Option(least=1, most=MAX_ITEMS),
    "missing": _Option(known=("refuse", "last")),
    "n_items": _Option(least=2, most=MAX_ITEMS, is_optional=True),
    "n_negatives": _Option(least=1, most=MAX_ITEMS, is_optional=True),
    "n_users": _Option(least=1, most=MAX_ITEMS, is_optional=True),
    "seed": _Option(least=0),
    "shape": _Option((str, *_NUMBERS)),
    "up_to": _Option(least=1, most=MAX_ITEMS, is_optional=True),
    "tie_policy": _Option(known=("random", "optimistic", "pessimistic")),
}


def check_arguments(**given: Any) -> None:
    """Raise InputError for the first argument whose value is not of its type or range."""
    for name, value in given.items():
        option = _OPTIONS[name]
        if value is None and option.is_optional:
            continue
        if option.least is not None:
            whole_number(name, value, option.least, option.most)
        elif not isinstance(value, option.kinds):
            raise wrong_type(name, value, *option.kinds)
        if option.known:
            require_known(name.replace("_", " "), value, option.known)
        _check_range(name, value)


def _check_range(name: str, value: Any) -> None:
    """Raise InputError for an argument outside its range, where fractions are allowed."""
    if name == "budget" and not (0.0 < value <= MAX_ITEMS and not isinstance(value, bool)):
        raise InputError(f"{name} is {format_value(value)}, expected a number above 0")
    if name == "confidence":
        if not 0.0 < value < 1.0:
            raise InputError(
                f"{name} is {format_value(value)}, expected a number above 0 and below 1"
            )
        if value < 0.5:
            warn_input(
                name,
                f"{value} is below 0.5: is it that of an error? Give {1 - value:g}",
            )
    if name == "min_relevance" and not 0.0 <= value < np.inf:
        raise InputError(f"{name} is {format_value(value)}, expected a finite number of at least 0")


def whole_number(
    name: str, value: SupportsIndex, least: int | None = None, most: int | None = None
) -> int:
    """Convert a whole number to int; floats, text and bool raise an InputError with the name."""
    is_array = getattr(value, "shape", ()) != ()
    if (
        is_array
        or isinstance(value, bool | np.bool_ | np.ndarray | type)
        or not hasattr(value, "__index__")
    ):
        raise InputError(f"{name} is {format_value(value)}, expected a whole number")
    number = operator.index(value)
    if least is not None and number < least:
        raise InputError(f"{name} is {format_value(value)}, expected at least {least}")
    if most is not None and number > most:
        raise InputError(f"{name} is {format_value(value)}, expected at most {most}")
    return number


def check_n_items(n_items: SupportsIndex | None) -> int | None:
    """Convert the number of items of a full ranking, of any library, unless it is None."""
    return None if n_items is None else whole_number("n_items", n_items, 2, MAX_ITEMS)


def is_function(data: object) -> bool:
    """Return whether data may be called and is no class."""
    return callable(data) and not isinstance(data, type)


def wrong_type(name: str, value: object, *kinds: type) -> InputError:
    """Make the error for a value that is of none of these types."""
    names = [kind.__name__.strip("_") for kind in kinds]
    expected = " or ".join(dict.fromkeys(names))
    return InputError(f"{name} is of type {type(value).__name__}, expected {expected}")


def require_known(noun: str, name: object, known: Collection[str]) -> None:
    """Raise InputError for an unknown name."""
    if name not in known:
        raise InputError(f"unknown {noun} {format_value(name)}; known: {', '.join(known)}")


def to_path(path: str | PathLike[str]) -> Path:
    """Return the name of a file as a path."""
    if not isinstance(path, str | PathLike):
        raise wrong_type("path", path, str, PathLike)
    return Path(path)


def require_same(
    name: str, option: ArrayLike | None, found_name: str, found: ArrayLike | None
) -> None:
    """Raise InputError if an option differs from the value, or the values, in the data."""
    if option is None or found is None:
        return
    try:
        expected = np.asarray(option)
    except MemoryError:
        raise
    except Exception as error:  # objects of other libraries raise errors of their own
        problem = f"{name} is of type {type(option).__name__}; expected a number"
        raise InputError(problem) from error
    is_comparable = expected.dtype.kind != "O" and expected.shape in ((), np.shape(found))
    if is_comparable and np.all(np.asarray(found) == expected):
        return
    values = np.unique(found)
    said = str(values[0])
    if values.size > 1:
        said = f"{values[0]} to {values[-1]}"
    given = f"{name} ({cli_option(name)}) is {option}"
    raise InputError(f"found {found_name} {said}, but {given}")


def n_threads(n_jobs: int) -> int:
    """Return the number of threads of `n_jobs`: -1 for one per core, -2 for one fewer, as joblib.

    Examples
    --------
    >>> n_threads(3)
    3
    """
    number = whole_number("n_jobs", n_jobs)
    if number == 0:
        raise InputError("n_jobs is 0, expected a number of threads, or -1 for all cores")
    if number > 0:
        return number
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
    return max(1, cores + 1 + number)
