"""Exact ranks in tables: counts of better and tied candidates, or plain ranks."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from sampled_metrics._base.arrays import Ids, Int, first_duplicate, starts
from sampled_metrics._base.defaults import MOST_ITEMS
from sampled_metrics._base.errors import InputError, one_line, reading
from sampled_metrics._base.files import replacing
from sampled_metrics.datasets.split import Split, require_all
from sampled_metrics.ranks.ranks import COLUMNS, Ranks
from sampled_metrics.tables.casts import as_arrow, as_numpy
from sampled_metrics.tables.columns import Table
from sampled_metrics.tables.ids import ITEM, USER, places
from sampled_metrics.tables.reading import read_table

_SOURCE = b"source"
_INT32 = np.iinfo(np.int32)
_RECORDS = f"rank records ({', '.join((USER, *COLUMNS))})"


def from_counts(table: Table) -> Ranks:
    """Take the columns `n_candidates`, `n_better` and `n_tied`.

    Rows of one `user_id` are the relevant items of that user; users are in the order in which they
    first appear.
    """
    return _by_user(table, *_counts(table))


def from_plain_ranks(table: Table, n_items: int | None) -> Ranks:
    """Take the column `rank`, from 1 and without ties, of `n_candidates` or else `n_items`."""
    if "n_candidates" in table:
        n_candidates = table.whole("n_candidates", 2, MOST_ITEMS)
        rank = table.whole("rank", 1, n_candidates)
    elif n_items is None:
        raise InputError(
            "found ranks, but not among how many items; give n_items (--n-items) or add a column "
            "n_candidates",
            path=table.path,
        )
    else:
        rank = table.whole("rank", 1, n_items)
        n_candidates = np.full(rank.size, n_items)
    if USER in table:
        row = first_duplicate(table.codes(USER)[0], rank)
        if row is not None:
            raise table.error("rank", row, rank[row], "each rank once per user")
    return _by_user(table, n_candidates, rank - 1, np.zeros_like(rank))


def read_aligned(path: Path, split: Split) -> Ranks:
    """Read ranks of a split's held-out items, made elsewhere, in the order of evaluated users.

    The file is a table (CSV, TSV or parquet) of `user_id`, `n_candidates`, `n_better`, `n_tied` and
    maybe `item_id`, with the users of the split in any order; those who are not evaluated may be
    missing. Candidates must be the items that a user has not seen in training, and items those held
    out.
    """
    table = read_table(Path(path), _RECORDS)
    table.require(USER, *COLUMNS)
    user = table.places(USER, split.user_ids, f"one of the {split.user_ids.size:,} of the split")
    again = first_duplicate(user)
    if again is not None:
        raise table.error_at(again, f"duplicate {USER} {table.ids(USER)[again]}")
    present = np.bincount(user, minlength=split.user_ids.size) > 0
    n_users = split.held_out.size
    require_all(table.path, "user", present[:n_users], split.evaluated_ids)
    counts = _counts(table)
    is_evaluated = user < n_users
    expected = np.append(split.n_candidates, 0)[np.minimum(user, n_users)]
    table.refuse(
        "n_candidates",
        is_evaluated & (counts[0] != expected),
        counts[0],
        lambda row: (
            f"{expected[row]}, the items that user {split.user_ids[user[row]]} has not seen in "
            "training"
        ),
    )
    if ITEM in table:
        ids = table.ids(ITEM)
        held_out = np.append(split.held_out, 0)[np.minimum(user, n_users)]
        table.refuse(
            ITEM,
            is_evaluated & (places(ids, split.item_ids) != held_out),
            ids,
            lambda row: (
                f"{split.item_ids[held_out[row]]}, the held-out item of user "
                f"{split.user_ids[user[row]]}"
            ),
        )
    rows = np.argsort(user)[:n_users]  # of evaluated users, who come first
    return Ranks.trusted(*(column[rows] for column in counts))


def write_ranks(ranks: Ranks, path: Path, items: Ids | None) -> None:
    """Write one row per relevant item as parquet: the ids, if any, then the three counts.

    Integers are written as int32 if all of a column fit. `items` are the ids of the relevant items.
    Lists that are cut and grades cannot be written.
    """
    if ranks.grades is not None:
        raise InputError("ranks with grades cannot be written; write `ungraded` ranks")
    if not ranks.is_complete:
        raise InputError("only full rankings can be written; these are cut at some depth")
    columns: dict[str, Any] = {}
    if ranks.users is not None:
        columns[USER] = _small(np.repeat(ranks.users, ranks.n_found))
    if items is not None:
        columns[ITEM] = _small(items)
    counts = (np.repeat(ranks.n_candidates, ranks.n_found), ranks.n_better, ranks.n_tied)
    columns |= {n: _small(values) for n, values in zip(COLUMNS, counts, strict=True)}
    table = pa.table(columns).replace_schema_metadata({_SOURCE: ranks.source.encode()})
    with replacing(path) as temporary:
        parquet.write_table(table, temporary)


def _counts(table: Table) -> tuple[Int, Int, Int]:
    table.require(*COLUMNS)
    n_candidates = table.whole("n_candidates", 2, MOST_ITEMS)
    n_better = table.whole("n_better", 0, n_candidates - 1)
    return n_candidates, n_better, table.whole("n_tied", 0, n_candidates - 1 - n_better)


def _by_user(table: Table, n_candidates: Int, n_better: Int, n_tied: Int) -> Ranks:
    source = _source_of(table.path)
    if USER not in table:
        return Ranks.trusted(n_candidates, n_better, n_tied, source=source)
    user, user_ids = table.codes(USER)
    n_found = np.bincount(user)
    order = np.argsort(user, kind="stable")
    first = order[starts(n_found)]
    of_user = n_candidates[first]
    table.refuse(
        "n_candidates",
        n_candidates != of_user[user],
        n_candidates,
        lambda row: f"{of_user[user[row]]}, as in row {first[user[row]] + 1} of the same user",
    )
    with reading(table.path):
        return Ranks(
            of_user,
            n_better[order],
            n_tied[order],
            n_found=n_found,
            users=as_numpy(user_ids),
            source=source,
        )


def _source_of(path: Path) -> str:
    """Return the words on their source that were written with the ranks."""
    if path.suffix != ".parquet":
        return "unknown"
    metadata = parquet.read_schema(path).metadata or {}
    return one_line(metadata.get(_SOURCE, b"unknown").decode(errors="replace"))


def _small(values: Any) -> pa.Array:
    """Return ids or counts as pyarrow's text, int32 if all fit, or int64."""
    if values.dtype.kind == "U":
        return as_arrow(values)
    fit = not values.size or (values.min() >= _INT32.min and values.max() <= _INT32.max)
    return as_arrow(values.astype(np.int32) if fit else values)
