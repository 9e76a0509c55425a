"""Columns of times as numbers in the same order."""

import numpy as np
import pandas as pd
import pyarrow as pa

from sampled_metrics._base.arrays import Float, Int
from sampled_metrics.inputs.tables import Table, fits, is_text, plain

_TIMES = "numbers, or ISO 8601 dates and times, of one kind in all rows"


def times_of(table: Table, name: str) -> Int | Float:
    """Return a column of times as numbers in the same order.

    Numbers stay as they are. Dates and times, in UTC where they name no zone, become seconds since
    1970.
    """
    column = plain(table.present(name, _TIMES))
    if pa.types.is_integer(column.type):
        return np.asarray(column.cast(pa.int64()))
    if pa.types.is_date(column.type):
        column = column.cast(pa.timestamp("s"))
    is_dated = pa.types.is_timestamp(column.type)
    if is_text(column.type):
        is_dated = not fits(column[:1], pa.float64())
    if not is_dated:
        return table.finite(name)
    times = pd.to_datetime(column.to_pandas(), format="ISO8601", errors="coerce", utc=True)
    table.refuse(name, times.isna().to_numpy(), column, _TIMES)
    since_1970 = times - pd.Timestamp(0, tz="UTC")
    return since_1970.dt.total_seconds().to_numpy()
