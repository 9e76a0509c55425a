"""Dataclasses that are equal if their numbers are, NaN included."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from types import MappingProxyType
from typing import Any

import numpy as np

# Metadata of a field that rows leave out where it is None, so that programs see what they know.
WHERE_KNOWN: Mapping[str, bool] = MappingProxyType({"where_known": True})


def row_of(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, and of those `WHERE_KNOWN` the known ones."""
    row = asdict(record)
    for each in fields(record):
        if each.metadata.get("where_known") and row[each.name] is None:
            del row[each.name]
    return row


class Record:
    """Base of dataclasses that compare field by field, where NaN is equal to NaN.

    Dataclasses of their own accord compare as tuples up to Python 3.12, where one and the same NaN
    is equal, and field by field from 3.13 on, where it is not. Declare them with `eq=False`, or
    this comparison is replaced.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True, eq=False)
    ... class Mean(Record):
    ...     value: float
    >>> Mean(float("nan")) == Mean(np.nan), Mean(0.5) == Mean(0.25)
    (True, False)
    >>> len({Mean(float("nan")), Mean(np.nan)})
    1
    """

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(map(_is_same, _compared(self), _compared(other)))

    def __hash__(self) -> int:
        return hash(tuple(map(_hashable, _compared(self))))


def _compared(record: Any) -> list[Any]:
    return [getattr(record, field.name) for field in fields(record) if field.compare]


def _is_nan(value: object) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _is_same(a: Any, b: Any) -> bool:
    """Return whether values are equal, NaN equal to NaN, also within lists and dictionaries."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_is_same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(_is_same, a, b))
    return bool(a == b) or (_is_nan(a) and _is_nan(b))


def _hashable(value: Any) -> Any:
    """Return what equal values have in common; the hash of NaN is that of its object."""
    if isinstance(value, tuple):
        return tuple(map(_hashable, value))
    return "nan" if _is_nan(value) else value
