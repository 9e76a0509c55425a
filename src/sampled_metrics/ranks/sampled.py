"""Sampled ranks: ranks of held-out items among sampled negatives."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sampled_metrics._base.arrays import Ids, Int, integers
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks.checks import count_column, id_column, require
from sampled_metrics.ranks.options import require_more_items
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.tables.ids import USER


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
    several_items
        Whether rows of one user may be of different held-out items. Their average is then a metric
        of the user for recall and AUC only, which others refuse.

    Examples
    --------
    >>> SampledRanks([1, 4, 1], n_items=[30, 40, 50], n_negatives=3).mean_candidates
    40
    """

    sampled_ranks: Int
    n_items: Int
    n_negatives: int
    sampling: Sampling = Sampling.WITHOUT_REPLACEMENT
    users: Ids | None = None
    several_items: bool = False

    def __post_init__(self) -> None:
        ranks, m = count_column("sampled_ranks", self.sampled_ranks), self.n_negatives
        if not ranks.size:
            raise InputError("no sampled ranks; expected at least one")
        items = integers("n_items", self.n_items)
        if items.shape not in {(), ranks.shape}:
            raise InputError(f"n_items has shape {items.shape}; expected () or {ranks.shape}")
        require_more_items(int(items.min()), m)
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

    def drawn(self, rows: int) -> dict[str, Any]:
        """Return the columns that say how negatives were drawn, of that many rows."""
        return {
            "n_negatives": np.full(rows, self.n_negatives),
            "sampling": np.full(rows, str(self.sampling)),
        }

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
            any(part.several_items for part in parts),
        )

    @classmethod
    def read(
        cls,
        path: Path | str,
        n_negatives: int | None = None,
        n_items: int | None = None,
        sampling: str | None = None,
        **options: Any,
    ) -> "SampledRanks":
        r"""Read sampled ranks, or scores of held-out items and their negatives.

        The first three options are for what the file does not say;
        `sampled_metrics.ranks.options.Drawn` has all, `sampled_metrics.ranks.sampled_reading` the
        kinds of files. Rows of one user are different repetitions, or different items in a column
        `item_id`.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "sampled.csv"
        ...     _ = path.write_text("sampled_rank\n3\n1\n")
        ...     SampledRanks.read(path, 99, 3706).sampled_ranks
        array([3, 1])
        """
        from sampled_metrics.ranks.options import Drawn
        from sampled_metrics.ranks.sampled_reading import read_sampled

        return read_sampled(Path(path), Drawn(n_items, n_negatives, sampling, **options))

    def write(self, path: Path | str) -> None:
        """Write one row per sampled rank as parquet, with how the negatives were drawn."""
        import pyarrow as pa
        from pyarrow import parquet

        from sampled_metrics._base.files import replacing

        columns: dict[str, Any] = {} if self.users is None else {USER: pa.array(self.users)}
        columns["n_candidates"] = np.broadcast_to(self.n_items, len(self)).copy()
        columns |= self.drawn(len(self))
        columns["sampled_rank"] = self.sampled_ranks
        with replacing(Path(path)) as temporary:
            parquet.write_table(pa.table(columns), temporary)
