"""Functions of pyarrow on columns, without the import of pyarrow.compute.

It wraps some 280 functions when it is imported, which takes longer than reading most files; the
methods of arrays, such as `cast` and `take`, import it too.
"""

from typing import Any

import pyarrow as pa

try:
    from pyarrow import _compute as kernels
except ImportError:  # a version of pyarrow that has them elsewhere
    from pyarrow import compute as kernels


def cast(column: Any, kind: Any, safe: bool = True) -> Any:
    """Convert values to a type; unless `safe`, what does not fit is cut off."""
    options = kernels.CastOptions.safe(kind) if safe else kernels.CastOptions.unsafe(kind)
    return kernels.call_function("cast", [column], options)


def take(column: Any, rows: Any) -> Any:
    """Return some rows."""
    return kernels.call_function("take", [column, rows])


def first_codes(column: Any) -> Any:
    """Encode values by their places among the distinct ones, in order of first appearance."""
    return kernels.call_function("dictionary_encode", [column])


def matches(texts: Any, pattern: str) -> Any:
    """Return whether each text holds a match of a regular expression."""
    options = kernels.MatchSubstringOptions(pattern)
    return kernels.call_function("match_substring_regex", [texts], options)


def all_match(texts: Any, pattern: str) -> bool:
    """Return whether all texts hold a match of a regular expression."""
    return bool(kernels.call_function("all", [matches(texts, pattern)]).as_py())


def lengths(texts: Any) -> Any:
    """Count the characters of each text."""
    return kernels.call_function("utf8_length", [texts])


def holds(column: Any, single: Any) -> bool:
    """Return whether the value of an array of length 1 is among the values of a column."""
    value = cast(single, column.type)[0]
    place = kernels.call_function("index", [column], kernels.IndexOptions(value))
    return bool(place.as_py() >= 0)


def places_in(column: Any, among: Any) -> Any:
    """Return the place of each value in an array, null where it is missing."""
    return kernels.call_function("index_in", [column], kernels.SetLookupOptions(among))


def call(name: str, *columns: Any) -> Any:
    """Call a function of pyarrow that has no options."""
    return kernels.call_function(name, list(columns))


def int64(column: Any) -> Any:
    """Convert whole numbers to int64."""
    return cast(column, pa.int64())
