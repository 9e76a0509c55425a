"""Large files of ranks, some rows at a time, so that memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from sampled_metrics._base.array_types import Array
from sampled_metrics._base.errors import InputError, reading, watch_columns
from sampled_metrics._base.files import PARQUET_SUFFIXES
from sampled_metrics.inputs.roles import ITEM, USER, VISIT, find_roles
from sampled_metrics.inputs.tables import Table, is_text
from sampled_metrics.ranks.rank_tables import COUNT_COLUMNS
from sampled_metrics.ranks.ranks import Ranks

ROWS_AT_A_TIME = 65_536  # read at a time, few enough that arrays of them stay in the cache
LARGE_FILE_ROWS = 524_288  # rows from which on a file is read in parts
IDS_AT_A_TIME = 4_194_304  # ids that are compared at a time: 32 MB
_UNUSUAL_ID = r"^$|[\x00-\x1f\x7f]|^.{201}"  # ids that the common reader refuses


class LargeRankFile(NamedTuple):
    """A large parquet file with a row for each user: its ranks, each user once."""

    path: Path
    columns: dict[str, str]  # their names in the file, by those here
    names: tuple[str, ...]  # of all columns in the file
    n_rows: int
    n_items: int | None

    @classmethod
    def open_if_large(cls, data: object, n_items: int | None = None) -> LargeRankFile | None:
        """Return the file if data is such a file, else None."""
        if not isinstance(data, str | Path) or Path(data).suffix.lower() not in PARQUET_SUFFIXES:
            return None
        path = Path(data)
        opened = _opened(path)
        if opened is None or opened.metadata.num_rows < LARGE_FILE_ROWS:
            return None
        schema = opened.schema_arrow
        known = find_roles(schema.names)
        columns = {own: name for own, name in zip(known, schema.names, strict=True) if own}
        is_counts = columns.keys() >= {*COUNT_COLUMNS}
        is_ranks = "rank" in columns and ITEM not in columns
        others = columns.keys() & {"relevance", "sampled_rank", "score", "label", VISIT}
        is_graded = b"min_relevance" in (schema.metadata or {})
        is_twice = len(columns) < len(known) - known.count(None)
        if others or is_graded or is_twice or not (is_counts or is_ranks):
            return None
        file = cls(path, columns, (*schema.names,), opened.metadata.num_rows, n_items)
        return None if file._has_users_again() else file

    def blocks(self) -> Iterator[Ranks]:
        """Yield the ranks of some rows after the other, without ids of users.

        Results note the columns that are not read.
        """
        wanted = (
            COUNT_COLUMNS if self.columns.keys() >= {*COUNT_COLUMNS} else ("n_candidates", "rank")
        )
        taken = {self.columns[own] for own in (USER, ITEM, *wanted) if own in self.columns}
        watch_columns(str(self.path), self.names, {*filter(None, self.names)} - taken)
        first = 0
        for columns in self._batches(*wanted):
            table = Table.from_arrow(self.path, pa.table(columns))
            try:
                with reading(self.path):
                    yield Ranks.from_table(table, self.n_items)
            except InputError as error:
                if error.row is not None:
                    error.row += first
                raise
            first += len(table)

    def _batches(self, *wanted: str) -> Iterator[dict[str, Any]]:
        """Yield columns of some rows by their names here."""
        names = {own: self.columns[own] for own in wanted if own in self.columns}
        with parquet.ParquetFile(self.path) as opened:
            for batch in opened.iter_batches(ROWS_AT_A_TIME, columns=list(names.values())):
                yield {own: batch.column(theirs) for own, theirs in names.items()}

    def _has_users_again(self) -> bool:
        """Return whether a user has several rows, or the column of ids needs the common reader.

        Ids in ascending order are compared with their neighbours alone. Others are compared in
        several groups by their remainder, for each of which the column is read again.
        """
        if USER not in self.columns:
            return False
        last = None
        for ids in self._ids():
            if ids is None:
                return True
            joined = ids if last is None else np.append(last, ids)
            if (joined[1:] <= joined[:-1]).any():
                break
            last = ids[-1:]
        else:
            return False
        n_groups = -(-self.n_rows // IDS_AT_A_TIME)
        return any(self._has_again(group, n_groups) for group in range(n_groups))

    def _has_again(self, group: int, n_groups: int) -> bool:
        found = []
        for ids in self._ids():
            if ids is None:
                return True
            found.append(ids[ids % n_groups == group])
        ordered = np.sort(np.concatenate(found))
        return bool((ordered[1:] == ordered[:-1]).any())

    def _ids(self) -> Iterator[Array | None]:
        return (_numbers(columns[USER]) for columns in self._batches(USER))


def _opened(path: Path) -> Any:
    """Open a parquet file; return None for a file of another format."""
    try:
        return parquet.ParquetFile(path)
    except (OSError, pa.ArrowException):
        return None


def _numbers(ids: pa.Array) -> Array | None:
    """Return ids as numbers, texts as hashes of 64 bits; None if the common reader has to see."""
    if ids.null_count:
        return None
    if pa.types.is_integer(ids.type):
        return np.asarray(ids)
    if not is_text(ids.type):
        return None
    text = ids.cast(pa.large_string())
    if pc.any(pc.match_substring_regex(text, _UNUSUAL_ID)).as_py():
        return None
    return pd.util.hash_array(text.to_numpy(zero_copy_only=False))
