"""Sampled ranks: ranks of held-out items among sampled negatives."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arguments import check_arguments, path_of, whole_number
from sampled_metrics._base.arrays import (
    Ids,
    Int,
    Rows,
    id_column,
    integers,
    require,
    select_rows,
    short_repr,
)
from sampled_metrics._base.defaults import MOST_ITEMS
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.kinds import OfUsers
from sampled_metrics.ranks.records import write_columns
from sampled_metrics.ranks.sampling import Sampling


class Pairs(NamedTuple):
    """Users and items that were scored, by number, and which of them are held out."""

    user: Int
    item: Int
    held_out: NDArray[np.bool_]
    item_ids: Ids


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
    sampling: Sampling
    users: Ids | None
    several_items: bool
    n_rows: ClassVar[int] = 0  # as those of `Ranks`
    pairs: ClassVar[Pairs | None] = None  # that the ranks were made of, if items are known

    def __init__(
        self,
        sampled_ranks: ArrayLike,
        n_items: ArrayLike,
        n_negatives: int,
        sampling: Sampling | str = Sampling.WITHOUT_REPLACEMENT,
        users: ArrayLike | None = None,
        several_items: bool = False,
    ) -> None:
        check_arguments(sampling=sampling, several_items=several_items)
        m = n_negatives
        ranks = integers("sampled_ranks", sampled_ranks, is_column=True)
        if not ranks.size:
            raise InputError("no sampled ranks; expected at least one")
        items = integers("n_items", n_items)
        if items.shape not in {(), ranks.shape}:
            raise InputError(f"n_items has shape {items.shape}; expected () or {ranks.shape}")
        if int(items.min()) <= whole_number("n_negatives", m, 1):
            raise InputError(f"n_items is {items.min()}, expected more than n_negatives, {m}")
        whole_number("n_items", int(items.max()), 2, MOST_ITEMS)
        require("sampled_rank", ranks, (ranks >= 1) & (ranks <= m + 1), f"1 to {m + 1}")
        ids = None
        if users is not None:
            ids = id_column("users", users, ranks.size)
        made = self.trusted(ranks, items, int(m), Sampling(sampling), ids, several_items)
        self.__dict__.update(made.__dict__)

    @classmethod
    def trusted(
        cls,
        sampled_ranks: Int,
        n_items: Int,
        n_negatives: int,
        sampling: Sampling,
        users: Ids | None,
        several_items: bool,
    ) -> Self:
        """Make sampled ranks without checking them."""
        made = object.__new__(cls)
        made.__dict__.update(
            sampled_ranks=sampled_ranks,
            n_items=n_items,
            n_negatives=n_negatives,
            sampling=sampling,
            users=users,
            several_items=several_items,
        )
        return made

    def __repr__(self) -> str:
        return short_repr(self, "sampled_ranks", "n_items", "n_negatives", "sampling", "users")

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.sampled_ranks.size

    @property
    def mean_candidates(self) -> int:
        """Mean of `n_items` over rows, rounded."""
        return round(float(self.n_items.mean()))

    def different_users(self) -> tuple[Ids | None, Int]:
        """Different ids of users in order, and the place of each row's user among them.

        Without ids each row is a user.
        """
        ids: Any = self.users
        if ids is None or (ids[1:] > ids[:-1]).all():
            return ids, np.arange(len(self))
        found: Any = np.unique(ids, return_inverse=True)
        return found

    def take(self, rows: Rows) -> Self:
        """Return some rows, selected as an array's elements are."""
        selected = copy(self)  # not checked again
        selected.__dict__.update(
            sampled_ranks=self.sampled_ranks[rows],
            n_items=self.n_items[rows] if self.n_items.ndim else self.n_items,
            users=select_rows(self.users, rows),
        )
        return selected

    @classmethod
    def read(
        cls,
        path: Path | str,
        n_negatives: int | None = None,
        n_items: int | None = None,
        sampling: str | None = None,
        *,
        positive: ArrayLike | None = None,
        relevant: OfUsers | None = None,
        ties: str = "random",
        seed: int = 0,
    ) -> SampledRanks:
        """Read sampled ranks, or scores of held-out items and their negatives.

        Options are for what the file does not say, as those of `correct`. Rows of one user are
        different repetitions, or different items in a column `item_id`.
        """
        from sampled_metrics.inputs.options import Drawn
        from sampled_metrics.inputs.sampled import as_sampled

        return as_sampled(
            path_of(path), Drawn(n_items, n_negatives, sampling, positive, relevant, ties, seed)
        )

    def write(self, path: Path | str) -> None:
        """Write one row per sampled rank as parquet, with how the negatives were drawn."""
        columns = {
            "user_id": self.users,
            "n_candidates": np.broadcast_to(self.n_items, len(self)),
            "n_negatives": np.full(len(self), self.n_negatives),
            "sampling": np.full(len(self), str(self.sampling)),
            "sampled_rank": self.sampled_ranks,
        }
        write_columns(path_of(path), columns)
