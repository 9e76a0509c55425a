"""Sampled ranks: ranks of held-out items among sampled negatives."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Ids, Int, first_duplicate, integers, whole_number
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks.columns import count_column, id_column, require
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.tables.columns import ITEM, USER, Table
from sampled_metrics.tables.reading import read_table


@dataclass(frozen=True, eq=False)
class SampledRanks:
    """Sampled ranks with what is needed to correct them.

    Attributes
    ----------
    sampled_ranks
        Rank of each held-out item among itself and m negatives, 1 to m + 1; int64, shape (rows,).
    n_items
        n: candidates of a full ranking, the held-out item included (the catalogue without the
        user's training items); one number, or one per row, int64.
    n_negatives
        m: negatives drawn for each user, the held-out item not included; below n.
    sampling
        How they were drawn; decides the noise model of the corrections.
    users
        Ids, integers or text, shape (rows,). Rows of one user (repeated draws, or several held-out
        items) are averaged before users are. None if every row is a different user.

    >>> SampledRanks([1, 4, 1], n_items=[30, 40, 50], n_negatives=3).mean_candidates
    40
    """

    sampled_ranks: Int
    n_items: Int
    n_negatives: int
    sampling: Sampling = Sampling.WITHOUT_REPLACEMENT
    users: Ids | None = None

    def __post_init__(self) -> None:
        ranks, m = count_column("sampled_ranks", self.sampled_ranks), self.n_negatives
        if not ranks.size:
            raise InputError("no sampled ranks; expected at least one")
        whole_number("n_negatives", m)
        items = integers("n_items", self.n_items)
        if items.shape not in {(), ranks.shape}:
            raise InputError(f"n_items has shape {items.shape}; expected () or {ranks.shape}")
        _require_more_items(int(items.min()), m)
        require("sampled_rank", ranks, (ranks >= 1) & (ranks <= m + 1), f"1 to {m + 1}")
        users = None if self.users is None else id_column("users", self.users, ranks.size)
        checked = {"sampled_ranks": ranks, "n_items": items, "users": users}
        self.__dict__.update(checked, sampling=Sampling(self.sampling))

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.sampled_ranks.size

    @property
    def mean_candidates(self) -> int:
        """Mean of `n_items` over rows, rounded."""
        return round(float(self.n_items.mean()))

    def take(self, rows: Int | NDArray[np.bool_] | slice) -> Self:
        """Return some rows, selected as an array's elements are."""
        selected = copy(self)  # not checked again
        selected.__dict__.update(
            sampled_ranks=self.sampled_ranks[rows],
            n_items=self.n_items[rows] if self.n_items.ndim else self.n_items,
            users=None if self.users is None else self.users[rows],
        )
        return selected

    @classmethod
    def concat(cls, parts: Sequence["SampledRanks"]) -> Self:
        """Concatenate the rows of several evaluations with the same negatives, in order.

        Ids are kept if all parts have them.
        """
        designs = {(part.n_negatives, str(part.sampling)): part for part in parts}
        if len(designs) != 1:
            found = ", ".join(f"{m} {sampling}" for m, sampling in designs)
            raise InputError(f"negatives differ between parts: {found}")
        ids: list[Any] = [part.users for part in parts if part.users is not None]
        return cls(
            np.concatenate([part.sampled_ranks for part in parts]),
            np.concatenate([np.broadcast_to(part.n_items, len(part)) for part in parts]),
            parts[0].n_negatives,
            parts[0].sampling,
            np.concatenate(ids) if len(ids) == len(parts) else None,
        )

    @classmethod
    def read(
        cls,
        path: Path | str,
        n_negatives: int,
        n_items: int | None = None,
        sampling: str = Sampling.WITHOUT_REPLACEMENT,
    ) -> Self:
        r"""Read a table (CSV, TSV or parquet) with a column `sampled_rank`.

        Parameters
        ----------
        path
            The file; columns `user_id`, `n_candidates` and `repetition` are read if it has them.
            Rows of one user are different repetitions, or different items in a column `item_id`.
        n_negatives, sampling
            How many negatives were drawn for each row, and how.
        n_items
            Candidates of every full ranking; a column `n_candidates` prevails.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "sampled.csv"
        ...     _ = path.write_text("sampled_rank\n3\n1\n")
        ...     SampledRanks.read(path, 99, 3706).sampled_ranks
        array([3, 1])
        """
        _require_more_items(n_items, n_negatives)
        table = read_table(Path(path), "sampled ranks")
        _require_sampled(table)
        ranks = table.whole("sampled_rank", 1, n_negatives + 1)
        items: Any = n_items
        if "n_candidates" in table:
            items = table.whole("n_candidates", n_negatives + 1)
        if items is None:
            raise InputError(
                "no column n_candidates; add it, or give the number of candidates of a full "
                "ranking, the held-out item included, as --n-items",
                path=path,
            )
        if "repetition" in table:
            _require_different_draws(table)
        users: Any = table.ids(USER).to_numpy(zero_copy_only=False) if USER in table else None
        return cls(ranks, items, n_negatives, Sampling(sampling), users)

    def write(self, path: Path | str) -> None:
        """Write one row per sampled rank as parquet: `user_id`, `n_candidates`, `sampled_rank`."""
        import pyarrow as pa
        from pyarrow import parquet

        from sampled_metrics._base.files import replacing

        columns: dict[str, Any] = {} if self.users is None else {USER: pa.array(self.users)}
        columns["n_candidates"] = np.broadcast_to(self.n_items, len(self)).copy()
        columns["sampled_rank"] = self.sampled_ranks
        with replacing(Path(path)) as temporary:
            parquet.write_table(pa.table(columns), temporary)


def _require_more_items(n_items: int | None, n_negatives: int) -> None:
    if n_negatives < 1:
        raise InputError(f"n_negatives is {n_negatives}, expected at least 1")
    if n_items is not None and n_items <= n_negatives:
        raise InputError(f"n_items is {n_items}, expected more than n_negatives, {n_negatives}")


def _require_different_draws(table: Table) -> None:
    """Raise InputError for a row with the repetition, user and item (if any) of an earlier one."""
    key = np.unique(table.whole("repetition", 0), return_inverse=True)[1]
    if USER not in table:
        raise InputError("column repetition requires column user_id", path=table.path)
    names = ["repetition", *(name for name in (USER, ITEM) if name in table)]
    for name in names[1:]:
        codes, ids = table.codes(name)
        key = key * len(ids) + codes
    again = first_duplicate(key)
    if again is not None:
        found = ", ".join(f"{name} {table.columns[name][again]}" for name in names)
        raise table.error_at(again, f"duplicate of {found}")


def _require_sampled(table: Table) -> None:
    exact = [name for name in ("rank", "n_better") if name in table]
    if "sampled_rank" not in table and exact:
        raise InputError(
            f"found exact ranks (column {exact[0]}), not sampled ones; `sampled-metrics evaluate` "
            "takes them, as does `compare` without --n-negatives",
            path=table.path,
        )
    table.require("sampled_rank")
