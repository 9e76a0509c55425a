"""Sampled ranks: of the held-out item among sampled negatives and itself."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.tables import ids
from sampled_metrics.tables.columns import USER, Table
from sampled_metrics.tables.reading import read_table


@dataclass(frozen=True)
class SampledColumns:
    """Sampled ranks, one a row of the file.

    Attributes
    ----------
    rank
        From 1 to m + 1; int64, shape (rows,).
    user_ids
        int64 or, where they are text, object; shape (rows,). None without such a column.
    n_candidates
        Items in the full ranking; int64, shape (rows,). None where nothing says it.
    repetition
        Which of several samplings; int64 from 0, shape (rows,). None without such a column.
    """

    rank: Int
    user_ids: NDArray[Any] | None
    n_candidates: Int | None
    repetition: Int | None


def read_sampled_ranks(path: Path, n_negatives: int, n_items: int | None) -> SampledColumns:
    r"""Read a table (CSV, TSV or parquet) with a column `sampled_rank`.

    Parameters
    ----------
    path
        The file; columns `user_id`, `n_candidates` and `repetition` are read where there.
    n_negatives
        Negatives m sampled for each held-out item.
    n_items
        Items in every full ranking, more than m, where there is no column `n_candidates`; that
        prevails. None where not known.

    Raises
    ------
    InputError
        The file is not such a table, or a value is out of range: the message names the row.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sampled.csv"
    ...     _ = path.write_text("sampled_rank\n3\n1\n")
    ...     read_sampled_ranks(path, 99, 3706).rank
    array([3, 1])
    """
    if n_negatives < 1:
        raise InputError(f"n_negatives is {n_negatives}; allowed: at least 1")
    if n_items is not None and n_items <= n_negatives:
        raise InputError(
            f"n_items (--n-items) is {n_items}; allowed: more than the {n_negatives} sampled "
            "negatives"
        )
    table = read_table(Path(path), "sampled ranks")
    _require_sampled(table)
    rank = table.whole("sampled_rank", 1, n_negatives + 1)
    n_candidates = None if n_items is None else np.full(rank.size, n_items)
    if "n_candidates" in table:
        n_candidates = table.whole("n_candidates", n_negatives + 1)
    return SampledColumns(
        rank,
        ids.as_numpy(table.ids(USER)) if USER in table else None,
        n_candidates,
        table.whole("repetition", 0) if "repetition" in table else None,
    )


def _require_sampled(table: Table) -> None:
    exact = [name for name in ("rank", "n_better") if name in table]
    if "sampled_rank" not in table and exact:
        raise InputError(
            f"{table.path} holds exact ranks (column {exact[0]}): `sampled-metrics evaluate` "
            "takes them, as does `compare` without --n-negatives"
        )
    table.require("sampled_rank")
