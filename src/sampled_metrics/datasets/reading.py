"""Reading the events of a study: a MovieLens archive, or a table of one's own."""

from pathlib import Path

import numpy as np

from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.datasets.movielens import read_archive, read_ratings
from sampled_metrics.datasets.settings import Columns, DatasetSettings
from sampled_metrics.tables.ids import as_int32
from sampled_metrics.tables.naming import bare_name
from sampled_metrics.tables.reading import read_table

WHAT = "a table of interactions"
_LIKELY = {"rating": "float64", "timestamp": "int64"}


def read_dataset(path: Path, settings: DatasetSettings, with_rating: bool = False) -> Interactions:
    """Read the events of an archive or table without any filter."""
    if settings.published is not None:
        return read_ratings(read_archive(path, settings.published), with_rating)
    return read_interactions(path, settings.columns, settings.separator, with_rating)


def read_interactions(
    path: Path,
    columns: Columns | None = None,
    separator: str | None = None,
    with_rating: bool = False,
) -> Interactions:
    """Read the events of a table (CSV, TSV or parquet) without any filter.

    By default the columns are `user`, `item` and, where they are present, `rating` and `timestamp`,
    and their separator is a tab if the first line has one, else a comma. `with_rating` keeps the
    ratings, which are checked in any case.
    """
    columns = columns or Columns()
    names = {role: bare_name(name) for role, name in columns.by_role.items()}
    table = read_table(
        path,
        WHAT,
        list(names.values()),
        ids=(names["user"], names["item"]),
        likely={names[role]: kind for role, kind in _LIKELY.items() if role in names},
        separator=separator,
        header=columns.has_header,
    )
    table.require(*map(bare_name, columns.required))
    rating = timestamp = unit = None
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
        timestamp, unit = table.times(names["timestamp"])
        del table.columns[names["timestamp"]]
    return Interactions(
        user,
        item,
        timestamp,
        rating if with_rating else None,
        user_names,
        item_names,
        origin=table,
        time_unit=unit,
    )
