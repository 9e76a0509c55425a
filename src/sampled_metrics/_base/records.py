"""Records: dataclasses that compare by their values, NaN included, and how they are shown."""

from collections.abc import Mapping
from dataclasses import asdict, fields
from types import MappingProxyType
from typing import Any

import numpy as np

# Metadata of a field that a row omits if it is None.
OMIT_IF_NONE: Mapping[str, bool] = MappingProxyType({"omit_if_none": True})


class Record:
    """Base of dataclasses that compare field by field, with NaN equal to NaN.

    The comparison of dataclasses differs between versions of Python: up to 3.12 they compare as
    tuples, in which a NaN is equal to itself; from 3.13 on field by field, where it is not. Declare
    subclasses with `eq=False`, or dataclass replaces this comparison.

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
        return all(map(_is_equal, _compared_values(self), _compared_values(other)))

    def __hash__(self) -> int:
        return hash(tuple(map(_hash_key, _compared_values(self))))


def _compared_values(record: Any) -> list[Any]:
    return [getattr(record, field.name) for field in fields(record) if field.compare]


def _is_nan(value: object) -> bool:
    return isinstance(value, float | np.floating) and bool(np.isnan(value))


def _is_equal(a: Any, b: Any) -> bool:
    """Return whether values are equal, NaN to NaN, also within lists and dictionaries."""
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_is_equal(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(_is_equal, a, b))
    return bool(a == b) or (_is_nan(a) and _is_nan(b))


def _hash_key(value: Any) -> Any:
    """Return a value to hash that is the same for equal values; two NaN hash differently."""
    if isinstance(value, tuple):
        return tuple(map(_hash_key, value))
    return "nan" if _is_nan(value) else value


def record_to_row(record: Any) -> dict[str, Any]:
    """Return the fields of a dataclass by name, without those that are None and `OMIT_IF_NONE`."""
    row = asdict(record)
    for field in fields(record):
        if field.metadata.get("omit_if_none") and row[field.name] is None:
            del row[field.name]
    return row


def short_repr(record: object, *names: str) -> str:
    """Return the repr of a record with some of its fields, long arrays shortened."""
    with np.printoptions(threshold=10, edgeitems=3, linewidth=1000):
        fields = [f"{name}={getattr(record, name)!r}" for name in names]
    return f"{type(record).__name__}({', '.join(fields)})"


def set_fields(record: object, **values: Any) -> None:
    """Set fields of a frozen dataclass, in its constructor."""
    for name, value in values.items():
        object.__setattr__(record, name, value)
