"""Large parquet files of ranks, read in blocks of rows, so that memory does not grow with them."""

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
from sampled_metrics._base.arrays import ceil_divide
from sampled_metrics._base.arrow import is_text
from sampled_metrics._base.calls import place_of, watch_columns
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import PARQUET_SUFFIXES, is_folder, parquet_files
from sampled_metrics.ranks.checks import COUNT_COLUMNS
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.read.roles import ITEM, USER, VISIT, find_roles
from sampled_metrics.read.tables import Table

ROWS_AT_A_TIME = 65_536  # of a block; few enough that its arrays stay in the processor's cache
LARGE_FILE_ROWS = 524_288  # rows from which on a file is read in blocks
IDS_AT_A_TIME = 4_194_304  # ids compared at a time, which take 32 MB
_UNUSUAL_ID = r"^$|[\x00-\x1f\x7f]|^.{201}"  # ids that the general reader refuses


class LargeRankFile(NamedTuple):
    """A large parquet file with one row for each user.

    Attributes
    ----------
    path, files, n_rows
        The file, or a folder of files; the files; and their number of rows.
    columns
        Names of columns in the file by their role here.
    names
        All names of columns in the file.
    n_items
        Number of candidates, if the file has no column for it.
    """

    path: Path
    files: tuple[Path, ...]
    columns: dict[str, str]
    names: tuple[str, ...]
    n_rows: int
    n_items: int | None

    @classmethod
    def open_if_large(cls, data: object, n_items: int | None = None) -> LargeRankFile | None:
        """Return the file if data is large and has one row for each user, otherwise None.

        All of its parquet files must have the same columns.
        """
        if not isinstance(data, str | Path):
            return None
        path = Path(data)
        files = _files_of(path)
        opened = [_open_parquet(each) for each in files]
        if not opened or None in opened:
            return None
        n_rows = sum(file.metadata.num_rows for file in opened)
        schema = opened[0].schema_arrow
        have_one_schema = all(file.schema_arrow == schema for file in opened)
        if n_rows < LARGE_FILE_ROWS or not have_one_schema:
            return None
        columns = _columns_of_plain_ranks(schema)
        if columns is None:
            return None
        large_file = cls(
            path=path,
            files=files,
            columns=columns,
            names=(*schema.names,),
            n_rows=n_rows,
            n_items=n_items,
        )
        return None if large_file._needs_general_reader() else large_file

    def blocks(self) -> Iterator[Ranks]:
        """Yield the ranks of one block of rows after the other, without ids of users.

        Results note the columns that are not read.
        """
        has_counts = self.columns.keys() >= {*COUNT_COLUMNS}
        roles = (*COUNT_COLUMNS, "depth") if has_counts else ("n_candidates", "rank")
        used = {self.columns[role] for role in (USER, ITEM, *roles) if role in self.columns}
        watch_columns(str(self.path), self.names, unread={*filter(None, self.names)} - used)
        first_row = 0  # of the block, in the file
        for columns in self._read_blocks(*roles):
            table = Table.from_arrow(self.path, pa.table(columns))
            try:
                with place_of(self.path):
                    yield Ranks.from_table(table, self.n_items)
            except InputError as error:
                if error.row is not None:
                    error.row += first_row
                raise
            first_row += len(table)

    def _read_blocks(self, *roles: str) -> Iterator[dict[str, Any]]:
        """Yield the columns of one block of rows after the other, by their roles."""
        names = {role: self.columns[role] for role in roles if role in self.columns}
        for path in self.files:
            with parquet.ParquetFile(path) as file:
                for batch in file.iter_batches(ROWS_AT_A_TIME, columns=list(names.values())):
                    yield {role: batch.column(name) for role, name in names.items()}

    def _needs_general_reader(self) -> bool:
        """Return whether a user has several rows, or some id cannot be read as a number here.

        Ids in ascending order are distinct. Other ids are compared in groups with the same
        remainder modulo the number of groups, so that memory is bounded; the column is read again
        for each group.
        """
        if USER not in self.columns or self._are_ids_ascending():
            return False
        n_groups = ceil_divide(self.n_rows, IDS_AT_A_TIME)
        return any(self._is_group_unusable(group, n_groups) for group in range(n_groups))

    def _are_ids_ascending(self) -> bool:
        """Return whether each id can be read here and is higher than the one before it."""
        last_id = None  # of the block before, as an array
        for ids in self._id_blocks():
            if ids is None:
                return False
            with_last = ids if last_id is None else np.append(last_id, ids)
            is_higher = with_last[1:] > with_last[:-1]
            if not is_higher.all():
                return False
            last_id = ids[-1:]
        return True

    def _is_group_unusable(self, group: int, n_groups: int) -> bool:
        """Return whether ids with remainder `group` repeat, or some id cannot be read here."""
        ids_of_group = []
        for ids in self._id_blocks():
            if ids is None:
                return True
            ids_of_group.append(ids[ids % n_groups == group])
        ordered = np.sort(np.concatenate(ids_of_group))
        return bool((ordered[1:] == ordered[:-1]).any())

    def _id_blocks(self) -> Iterator[Array | None]:
        """Yield the ids of one block of rows after the other, see `_ids_as_numbers`."""
        return (_ids_as_numbers(columns[USER]) for columns in self._read_blocks(USER))


def _files_of(path: Path) -> tuple[Path, ...]:
    """Return a parquet file, or those of a folder; nothing for other data."""
    if is_folder(path):
        return tuple(parquet_files(path, "ranks"))
    return (path,) if path.suffix.lower() in PARQUET_SUFFIXES else ()


def _columns_of_plain_ranks(schema: pa.Schema) -> dict[str, str] | None:
    """Return the names of columns by role if they are counts, or ranks, of users without grades.

    Otherwise return None.
    """
    roles = find_roles(schema.names)
    columns = {role: name for role, name in zip(roles, schema.names, strict=True) if role}
    has_counts = columns.keys() >= {*COUNT_COLUMNS}
    has_ranks = "rank" in columns and ITEM not in columns  # with items they are lists
    has_other_roles = columns.keys() & {"relevance", "sampled_rank", "score", "label", VISIT}
    has_grades = b"min_relevance" in (schema.metadata or {})
    n_columns_with_role = len(roles) - roles.count(None)
    has_role_twice = len(columns) < n_columns_with_role
    if has_other_roles or has_grades or has_role_twice or not (has_counts or has_ranks):
        return None
    return columns


def _open_parquet(path: Path) -> Any:
    """Open a parquet file; return None for a file of another format."""
    try:
        return parquet.ParquetFile(path)
    except (OSError, pa.ArrowException):
        return None


def _ids_as_numbers(ids: pa.Array) -> Array | None:
    """Return whole numbers unchanged, and texts as hashes of 64 bits.

    Returns None for ids that the general reader must decide about.
    """
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
