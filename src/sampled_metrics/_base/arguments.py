"""Checks of the arguments of public functions."""

import operator
import os
from collections.abc import Collection
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.calls import warn_all
from sampled_metrics._base.defaults import MAX_ITEMS
from sampled_metrics._base.errors import InputError, cli_option, format_value

ALL_CORES = -1  # value of `n_jobs`


class _Rule(NamedTuple):
    """The values that an argument may have; whole numbers if there is a minimum."""

    types: tuple[type, ...] = (str,)
    minimum: int | None = None
    maximum: int | None = None
    is_optional: bool = False  # whether it may be None
    choices: tuple[str, ...] = ()


_NUMBERS = (int, float, np.integer, np.floating)
_BOOLEAN = _Rule((bool, np.bool_))
_RULES = {
    **dict.fromkeys(("complete", "intervals", "several_items"), _BOOLEAN),
    **dict.fromkeys(("correction", "design", "metric", "source"), _Rule()),
    **dict.fromkeys(("sampling", "ties"), _Rule(is_optional=True)),
    **dict.fromkeys(("budget", "confidence", "min_relevance"), _Rule(_NUMBERS)),
    **dict.fromkeys(("effect", "value"), _Rule(_NUMBERS, is_optional=True)),
    "batch_size": _Rule(minimum=1, is_optional=True),
    "block_size": _Rule(minimum=1, maximum=MAX_ITEMS),
    "missing": _Rule(choices=("refuse", "last")),
    "n_items": _Rule(minimum=2, maximum=MAX_ITEMS, is_optional=True),
    "n_negatives": _Rule(minimum=1, maximum=MAX_ITEMS, is_optional=True),
    "n_users": _Rule(minimum=1, maximum=MAX_ITEMS, is_optional=True),
    "seed": _Rule(minimum=0),
    "shape": _Rule((str, *_NUMBERS)),
    "up_to": _Rule(minimum=1, maximum=MAX_ITEMS, is_optional=True),
    "tie_policy": _Rule(choices=("random", "optimistic", "pessimistic")),
}


def check_arguments(**values: Any) -> None:
    """Raise InputError for the first argument whose value has a wrong type or is out of range.

    Each argument of public functions has one rule here, whatever function it belongs to.
    """
    for name, value in values.items():
        rule = _RULES[name]
        if value is None and rule.is_optional:
            continue
        if rule.minimum is not None:
            whole_number(name, value, rule.minimum, rule.maximum)
        elif not isinstance(value, rule.types):
            raise wrong_type(name, value, *rule.types)
        if rule.choices:
            require_known(name.replace("_", " "), value, rule.choices)
        _check_range(name, value)


def _check_range(name: str, value: Any) -> None:
    """Raise InputError for a number out of its range, if it may be a fraction.

    Warn of a confidence that seems to be the probability of an error.
    """
    if name == "budget":
        is_in_range = not isinstance(value, bool) and 0.0 < value <= MAX_ITEMS
        expected = "a number above 0"
    elif name == "confidence":
        is_in_range = 0.0 < value < 1.0
        expected = "a number above 0 and below 1"
    elif name == "min_relevance":
        is_in_range = 0.0 <= value < np.inf
        expected = "a finite number of at least 0"
    else:
        return
    if not is_in_range:
        raise InputError(f"{name} is {format_value(value)}, expected {expected}")
    if name == "confidence" and value < 0.5:
        about_error = f"if it is the probability of an error, pass {1 - value:g}"
        warn_all([(name, f"{value} is below 0.5; {about_error}")])


def whole_number(
    name: str, value: SupportsIndex, minimum: int | None = None, maximum: int | None = None
) -> int:
    """Convert a whole number of any library to int; refuse floats, text and bool."""
    has_axes = getattr(value, "shape", ()) != ()
    is_other_type = isinstance(value, bool | np.bool_ | np.ndarray | type)
    if has_axes or is_other_type or not hasattr(value, "__index__"):
        raise InputError(f"{name} is {format_value(value)}, expected a whole number")
    number = operator.index(value)
    if minimum is not None and number < minimum:
        raise InputError(f"{name} is {format_value(value)}, expected at least {minimum}")
    if maximum is not None and number > maximum:
        raise InputError(f"{name} is {format_value(value)}, expected at most {maximum}")
    return number


def check_n_items(n_items: SupportsIndex | None) -> int | None:
    """Convert the number of items of a full ranking to int; None stays None."""
    return None if n_items is None else whole_number("n_items", n_items, 2, MAX_ITEMS)


def wrong_type(name: str, value: object, *expected: type) -> InputError:
    """Make the error for a value that has none of the expected types."""
    names = dict.fromkeys(each.__name__.strip("_") for each in expected)
    return InputError(f"{name} is of type {type(value).__name__}, expected {' or '.join(names)}")


def require_known(noun: str, name: object, choices: Collection[str]) -> None:
    """Raise InputError for a name that is not one of the choices."""
    if name not in choices:
        raise InputError(f"unknown {noun} {format_value(name)}; known: {', '.join(choices)}")


def to_path(path: str | PathLike[str]) -> Path:
    """Convert the name of a file to a path."""
    if not isinstance(path, str | PathLike):
        raise wrong_type("path", path, str, PathLike)
    return Path(path)


def require_same(
    name: str, option: ArrayLike | None, data_name: str, data: ArrayLike | None
) -> None:
    """Raise InputError if an option differs from what the data says; either may be None.

    An option of one number must agree with all entries of the data, one of several with each.

    Parameters
    ----------
    name, data_name
        What errors call the option and the data.
    option, data
        The numbers, which may be of other libraries.
    """
    if option is None or data is None:
        return
    try:
        expected = np.asarray(option)
    except MemoryError:
        raise
    except Exception as error:  # objects of other libraries raise errors of their own
        raise InputError(f"{name} is of type {type(option).__name__}; expected a number") from error
    is_comparable = expected.dtype.kind != "O" and expected.shape in ((), np.shape(data))
    if is_comparable and np.all(np.asarray(data) == expected):
        return
    found = np.unique(data)
    lowest, highest = found[0], found[-1]
    found_range = f"{lowest} to {highest}" if found.size > 1 else lowest
    raise InputError(
        f"found {data_name} {found_range}, but {name} ({cli_option(name)}) is {option}"
    )


def n_threads(n_jobs: int) -> int:
    """Return the number of threads for `n_jobs`: -1 is one per core, -2 one fewer, as in joblib.

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
    if hasattr(os, "sched_getaffinity"):  # the cores that this process may use, often fewer
        cores = len(os.sched_getaffinity(0))
    return max(1, cores + 1 + number)
