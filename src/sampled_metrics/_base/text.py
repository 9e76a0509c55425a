"""Tables for people."""

from collections.abc import Mapping, Sequence
from typing import Any


def table_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Lay out rows of the same keys as a table of text."""
    from tabulate import tabulate

    # Names may look like numbers; counts are text because of their thousands' separators.
    names = [
        place
        for place, key in enumerate(rows[0] if rows else ())
        if not key.startswith("n_") and any(isinstance(row[key], str) for row in rows)
    ]
    table = tabulate(rows, headers="keys", floatfmt=".5f", missingval="-", disable_numparse=names)
    return f"{table}\n"
