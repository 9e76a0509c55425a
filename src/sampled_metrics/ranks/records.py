"""Rank records: what ranking one held-out item leaves behind, in three integers.

A record holds the number of candidates N, the number scored strictly better b and the number
tied e, the held-out item itself counted in N only. Exact metrics under any tie policy and
sampled ranks follow from it; no model and no score is needed below this point.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Ids, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import replacing

COLUMNS = ("n_candidates", "n_better", "n_tied")
USER = "user_id"
ITEM = "item_id"
_SOURCE = b"source"


@dataclass(frozen=True)
class Ranks:
    """The outcome of full rankings, one entry a held-out item.

    Attributes
    ----------
    n_candidates
        Items ranked, the held-out item included; int64, shape (users,), at least 2.
    n_better
        Candidates scored strictly above the held-out item; int64, shape (users,).
    n_tied
        Other candidates with exactly its score; int64, shape (users,).

    Raises
    ------
    InputError
        Lengths differ, a count is negative, fewer than two candidates, or better and tied
        candidates do not fit among the others.

    >>> records = Ranks([5, 5], [0, 2], [1, 0])
    >>> records.best_rank
    array([1, 3])
    >>> records.worst_rank
    array([2, 3])
    """

    n_candidates: Int
    n_better: Int
    n_tied: Int

    def __post_init__(self) -> None:
        for column in COLUMNS:
            values = integers(f"rank records: {column}", getattr(self, column))
            object.__setattr__(self, column, values)
        lengths = {column: getattr(self, column).size for column in COLUMNS}
        if len(set(lengths.values())) != 1:
            raise InputError(f"rank records: columns of different lengths: {lengths}")
        self._check("n_candidates", self.n_candidates < 2, "at least 2")
        self._check("n_better", self.n_better < 0, "at least 0")
        self._check("n_tied", self.n_tied < 0, "at least 0")
        others = self.n_candidates - 1
        self._check("n_better", self.n_better > others, "at most n_candidates - 1")
        self._check("n_tied", self.n_tied > others - self.n_better, "n_better + n_tied below N")

    def __len__(self) -> int:
        return self.n_candidates.size

    @property
    def best_rank(self) -> Int:
        """Rank when every tie falls in favour of the held-out item: b + 1."""
        return self.n_better + 1

    @property
    def worst_rank(self) -> Int:
        """Rank when every tie falls against the held-out item: b + e + 1."""
        return self.n_better + self.n_tied + 1

    def _check(self, column: str, bad: NDArray[np.bool_], allowed: str) -> None:
        if bad.any():
            row = int(np.argmax(bad))
            found = int(getattr(self, column)[row])
            raise InputError(f"rank records: {column} is {found} in row {row}; allowed: {allowed}")


def integers(name: str, values: object) -> Int:
    """Take a column as int64, or raise InputError unless it is a list of integers."""
    array = np.asarray(values)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise InputError(
            f"{name} must be a one-dimensional array of integers, "
            f"found {array.dtype} of shape {array.shape}"
        )
    return array.astype(np.int64)


def write_ranks(
    path: Path, records: Ranks, *, user: Ids, item: Ids | None = None, source: str
) -> None:
    """Write rank records as parquet, with the users' (and held-out items') ids before them.

    Ids are integers, written as int32 where all of them fit, or text. `source` says in words where
    the ranks come from; everything made from them repeats it.
    """
    ids = {USER: user} if item is None else {USER: user, ITEM: item}
    columns = {name: _id_column(values) for name, values in ids.items()}
    columns |= {name: pa.array(getattr(records, name), pa.int32()) for name in COLUMNS}
    table = pa.table(columns).replace_schema_metadata({_SOURCE: source.encode()})
    with replacing(path) as temporary:
        pq.write_table(table, temporary)


def read_ranks(path: Path) -> tuple[Ranks, Ids, str]:
    """Read rank records; return them, the user ids and the words on where they come from.

    User ids are int64 or numpy's str.

    Raises
    ------
    InputError
        The file is missing, not parquet, lacks a column, names a user twice or not at all, or its
        counts are impossible.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; expected rank records")
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}: not a readable parquet file ({error})") from error
    missing = [name for name in (USER, *COLUMNS) if name not in table.column_names]
    if missing:
        raise InputError(f"{path}: lacks column {missing[0]}; found {table.column_names}")
    user = _user_ids(path, table[USER])
    try:
        records = Ranks(*(table[name].to_numpy() for name in COLUMNS))
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    source = (table.schema.metadata or {}).get(_SOURCE, b"unknown").decode()
    return records, user, source


def _id_column(ids: Ids) -> pa.Array:
    if ids.dtype.kind == "U":
        return pa.array(ids, pa.string())
    int32 = np.iinfo(np.int32)
    fit = not ids.size or (ids.min() >= int32.min and ids.max() <= int32.max)
    return pa.array(ids, pa.int32() if fit else pa.int64())


def _user_ids(path: Path, column: pa.ChunkedArray) -> Ids:
    """Take the users' ids as an array, or raise InputError unless each stands there once."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_integer(column.type) or _is_text(column.type)):
        raise InputError(f"{path}: {USER} is of type {column.type}; allowed: integers or text")
    if column.null_count:
        row = column.is_null().index(True).as_py()
        raise InputError(f"{path}: no {USER} in row {row}; allowed: one in each")
    values = column.to_numpy()
    user: Ids = values.astype(np.str_ if _is_text(column.type) else np.int64)
    ids, times = np.unique(user, return_counts=True)
    if ids.size != user.size:
        twice = ids[np.argmax(times > 1)]
        raise InputError(f"{path}: {USER} {twice} stands there more than once; allowed: once")
    return user


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
