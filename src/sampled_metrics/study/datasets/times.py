"""Columns of times as numbers in the same order."""

import numpy as np
import pyarrow as pa

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.inputs.tables import Table, fits, is_text, plain

_TIMES = "numbers, or ISO 8601 dates and times, of one kind in all rows"


def times_of(table: Table, name: str) -> tuple[Int | Float, str | None]:
    """Return a column of times as numbers in the same order, and their unit.

    Numbers stay as they are, of unit None. Dates and times become the number of seconds, or of
    a finer unit if the column needs it, since 1970; the unit is numpy's.
    """
    column = plain(table.present(name, _TIMES))
    if is_text(column.type):
        kind = _type_of_times(column)
        if not fits(column, kind):
            row = next(i for i in range(len(column)) if not fits(column[i : i + 1], kind))
            raise table.error(name, row, repr(column[row].as_py()), _TIMES)
        column = column.cast(kind)
    elif pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    if pa.types.is_timestamp(column.type):
        return np.asarray(column.cast(pa.int64())), str(column.type.unit)
    if pa.types.is_boolean(column.type):
        raise InputError(f"found type bool; expected {_TIMES}", path=table.path, column=name)
    if pa.types.is_integer(column.type):
        return np.asarray(column.cast(pa.int64())), None
    return table.finite(name), None


def _type_of_times(column: pa.ChunkedArray) -> pa.DataType:
    """Return the first type that fits all texts, or else one that fits the first of them."""
    kinds = [pa.int64(), pa.float64()]
    for zone in (None, "UTC"):
        kinds += [pa.timestamp(unit, zone) for unit in ("s", "us", "ns")]
    of_first = pa.float64()
    for kind in kinds:
        if fits(column[:1], kind):
            if fits(column, kind):
                return kind
            of_first = kind
    return of_first
