"""Reading tables of interactions: user and item, maybe rating and time."""

from pathlib import Path

import numpy as np

from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.table_format import TableFormat
from sampled_metrics.tables.ids import as_int32
from sampled_metrics.tables.reading import bare_name, read_table

WHAT = "a table of interactions"
_LIKELY = {"rating": "float64", "timestamp": "int64"}


def read_interactions(
    path: Path, form: TableFormat | None = None, with_rating: bool = False
) -> Interactions:
    """Read the events of a table (CSV, TSV or parquet) without any filter.

    Parameters
    ----------
    path
        The file.
    form
        How it is written; by default columns `user`, `item` and maybe `rating`, `timestamp`.
    with_rating
        Whether to keep the ratings, which are checked in any case.
    """
    form = form or TableFormat()
    names = {role: bare_name(name) for role, name in form.names.items()}
    table = read_table(
        path,
        WHAT,
        list(names.values()),
        ids=(names["user"], names["item"]),
        likely={names[role]: kind for role, kind in _LIKELY.items() if role in names},
        separator=form.separator,
        header=form.header,
    )
    table.require(*(names[role] for role in form.required))
    rating = timestamp = None
    if names.get("rating", "") in table:
        with np.errstate(over="ignore"):
            rating = table.finite(names["rating"]).astype(np.float32)
        del table.columns[names["rating"]]
    # A column is freed as soon as it is an array, because long tables are to fit in memory.
    user, user_names = as_int32(*table.codes(names["user"]))
    del table.columns[names["user"]]
    item, item_names = as_int32(*table.codes(names["item"]))
    del table.columns[names["item"]]
    if names.get("timestamp", "") in table:
        timestamp = table.times(names["timestamp"])
        del table.columns[names["timestamp"]]
    return Interactions(
        user,
        item,
        timestamp,
        rating if with_rating else None,
        user_names,
        item_names,
        origin=table,
    )
