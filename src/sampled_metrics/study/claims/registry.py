"""The functions that measure claims, by name."""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias


class Finding(NamedTuple):
    """Whether a claim is true of what was measured, and what that was in words and numbers."""

    holds: bool
    measured: str


Measurement: TypeAlias = Callable[..., Finding]
MEASUREMENTS: dict[str, Measurement] = {}


def measurement(function: Measurement) -> Measurement:
    """Register a function that measures a claim, under its name in `claims.csv`."""
    MEASUREMENTS[function.__name__.removeprefix("_")] = function
    return function
