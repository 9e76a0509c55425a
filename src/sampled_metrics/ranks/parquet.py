"""Parquet files of ranks, as the study keeps them."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from sampled_metrics._base.arrays import Ids
from sampled_metrics._base.errors import InputError, one_line
from sampled_metrics._base.files import replacing
from sampled_metrics.ranks.ranks import COLUMNS, Ranks
from sampled_metrics.tables.columns import ITEM, USER

_SOURCE = b"source"
_INT32 = np.iinfo(np.int32)


def write_ranks(ranks: Ranks, path: Path, items: Ids | None) -> None:
    """Write one row per relevant item: the ids, if any, then the three counts.

    Integer ids are written as int32 if all of them fit. `items` are the ids of the relevant items.
    Lists that are cut and grades cannot be written.
    """
    if ranks.grades is not None:
        raise InputError("ranks with grades cannot be written; write `ungraded` ranks")
    if not ranks.is_complete:
        raise InputError("only full rankings can be written; these are cut at some depth")
    ids: dict[str, Any] = {}
    if ranks.users is not None:
        ids[USER] = np.repeat(ranks.users, ranks.n_found)
    if items is not None:
        ids[ITEM] = items
    columns = {name: _id_column(values) for name, values in ids.items()}
    counts = (np.repeat(ranks.n_candidates, ranks.n_found), ranks.n_better, ranks.n_tied)
    for name, values in zip(COLUMNS, counts, strict=True):
        columns[name] = pa.array(values, pa.int32())
    table = pa.table(columns).replace_schema_metadata({_SOURCE: ranks.source.encode()})
    with replacing(path) as temporary:
        parquet.write_table(table, temporary)


def source_of(path: Path) -> str:
    """Return the words on their source that were written with the ranks."""
    metadata = parquet.read_schema(path).metadata or {}
    return one_line(metadata.get(_SOURCE, b"unknown").decode(errors="replace"))


def _id_column(ids: Ids) -> pa.Array:
    if ids.dtype.kind == "U":
        return pa.array(ids, pa.string())
    fit = not ids.size or (ids.min() >= _INT32.min and ids.max() <= _INT32.max)
    return pa.array(ids, pa.int32() if fit else pa.int64())
