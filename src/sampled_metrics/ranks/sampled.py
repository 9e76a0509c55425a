"""`SampledRanks`: ranks of held-out items among sampled negatives, and their constructors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments, to_path, whole_number
from sampled_metrics._base.array_types import Bool, Ids, Int, ItemsByUser, RowSelection
from sampled_metrics._base.arrays import select_rows
from sampled_metrics._base.arrow import arrow_to_numpy
from sampled_metrics._base.calls import place_of, public
from sampled_metrics._base.columns import integer_array, require_all
from sampled_metrics._base.defaults import MAX_ITEMS
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import write_columns
from sampled_metrics._base.records import set_fields, short_repr
from sampled_metrics._base.units import Units, check_ids
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.ranks.strata import StratumCounts


class ScoredPairs(NamedTuple):
    """Users and items that were scored, by number, and which of them are held out.

    With counts by stratum, `counts` are those of all items (`read.item_counts.ItemCounts`), and
    `units` the users or visits by number, if their ids are known.
    """

    user: Int
    item: Int
    held_out: Bool
    item_ids: Ids
    units: Units | None = None
    counts: Any = None


@dataclass(frozen=True, eq=False, repr=False, init=False)
class SampledRanks:
    """Ranks of held-out items among sampled negatives, and how the negatives were drawn.

    Attributes
    ----------
    sampled_ranks
        Rank of each held-out item among itself and m negatives, 1 to m + 1; int64, shape (rows,).
    n_items
        n: candidates of a full ranking, including the held-out item (the catalogue without the
        user's training items); one number, or one per row, int64.
    n_negatives
        m: negatives drawn for each user, without the held-out item; less than n.
    sampling
        How negatives were drawn, which determines the distribution of sampled ranks.
    users
        Ids, integers or text, shape (rows,). Rows of one user (repeated draws, or several held-out
        items) are averaged before the mean over users. None if each row is another user.
    visits
        Ids of visits, such as sessions, if users have several. Rows of a visit are averaged,
        metrics are means over visits, and their standard errors treat users as independent.
    tied
        Number of negatives with the score of each held-out item, if ranks come from scores.
    pairs
        The scored users and items, if known.
    strata
        Drawn and better negatives by popularity of the items, if ids and counts of items are known:
        then negatives may have been drawn by popularity. None for uniform negatives.
    strata_without_part
        The same without a tenth of the drawn items each, if all rows are of few clusters.
    clusters
        Numbers of the sets of negatives, or of the batches, that rows share; rows of different
        clusters are independent. Known only with `strata`; None if no rows share negatives.
    n_missing
        Number of held-out items that were not among the candidates and count as last.
    several_items
        Whether rows of one user may belong to different held-out items. Their average is a metric
        of the user for recall and AUC only; other metrics raise InputError.

    See Also
    --------
    correct : Ranges and estimates from sampled ranks.
    draw_sampled_ranks : Sampled ranks from full rankings.

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
    visits: Ids | None
    several_items: bool
    tied: Int | None
    pairs: ScoredPairs | None
    strata: StratumCounts | None
    strata_without_part: tuple[StratumCounts, ...]
    clusters: Int | None
    n_missing: int
    n_rows: ClassVar[int] = 0  # as in `Ranks`

    def __init__(
        self,
        sampled_ranks: ArrayLike,
        n_items: ArrayLike,
        n_negatives: int,
        sampling: str = Sampling.WITHOUT_REPLACEMENT,
        users: ArrayLike | None = None,
        several_items: bool = False,
        *,
        visits: ArrayLike | None = None,
        tied: Int | None = None,
        pairs: ScoredPairs | None = None,
        strata: StratumCounts | None = None,
        strata_without_part: tuple[StratumCounts, ...] = (),
        clusters: Int | None = None,
        n_missing: int = 0,
    ) -> None:
        check_arguments(sampling=sampling, several_items=several_items)
        ranks = integer_array(sampled_ranks, "sampled_ranks", is_column=True)
        if not ranks.size:
            raise InputError("no sampled ranks; expected at least one")
        candidates = _check_n_items(n_items, n_negatives, n_rows=ranks.size)
        last_rank = n_negatives + 1
        is_possible = (ranks >= 1) & (ranks <= last_rank)
        require_all("sampled_rank", ranks, is_possible, f"1 to {last_rank}")
        user_ids, visit_ids = check_ids(users, visits, ranks.size)
        if visit_ids is not None:  # visits are dropped if no user has several
            user_ids, visit_ids = Units(user_ids, visit_ids).users_and_visits()
        set_fields(
            self,
            sampled_ranks=ranks,
            n_items=candidates,
            n_negatives=int(n_negatives),
            sampling=Sampling(sampling),
            users=user_ids,
            visits=visit_ids,
            several_items=several_items,
            tied=tied,
            pairs=pairs,
            strata=strata,
            strata_without_part=strata_without_part,
            clusters=clusters,
            n_missing=n_missing,
        )

    @classmethod
    @public()
    def from_scores(
        cls,
        scores: Any,
        positive: ArrayLike | None = 0,
        *,
        n_items: ArrayLike | None,
        users: ArrayLike | None = None,
        visits: ArrayLike | None = None,
        missing: str = "refuse",
        **options: Any,
    ) -> SampledRanks:
        """Rank a held-out item by its score among its negatives in the same row.

        Parameters
        ----------
        scores
            Shape (rows, 1 + m): an array of any library, a DataFrame, or an `.npy` or `.npz` file.
            A row with fewer negatives ends with -inf, or is a shorter list.
        positive
            Column of the held-out item, one for all rows (-1 for the last) or one per row, where
            -1 or -100 marks a row without one, which is dropped; or labels with the shape of the
            scores, 1 for held-out items.
        n_items
            Number of candidates of a full ranking.
        users, visits
            Ids of the users of rows, and of their visits if users have several.
        missing
            What to do with held-out items of score -inf, which the recommender has not scored:
            `refuse` them, or rank them below all others (`last`).
        **options
            `n_negatives`, the number of draws if duplicates among them were dropped (`sampling` is
            then `distinct`); `sampling`, see `SampledRanks`; `ties` (`random`, `optimistic` or
            `pessimistic`) and `seed`: the place among negatives with the same score; and `counts`,
            `items` and `cluster`, see `correct`.

        Returns
        -------
        SampledRanks
            One sampled rank for each held-out item.

        Examples
        --------
        >>> SampledRanks.from_scores([[0.9, 0.1, 0.4], [0.2, 0.1, 0.4]], n_items=5).sampled_ranks
        array([1, 2])
        """
        from sampled_metrics.read.samples import Draw, sampled_from_scores

        draw = Draw(n_items, **options)
        return sampled_from_scores(
            scores, positive, draw, users=users, visits=visits, missing=missing
        )

    @classmethod
    def from_pairs(
        cls,
        pairs: Any,
        relevant: ItemsByUser = None,
        *,
        n_items: ArrayLike | None,
        candidates: ItemsByUser = None,
        missing: str = "refuse",
        columns: Mapping[str, str] | None = None,
        **options: Any,
    ) -> SampledRanks:
        """Rank held-out items among the candidates of their users.

        Parameters
        ----------
        pairs
            A table of user, item (optional), score (or rank) and label, 1 for held-out items; or
            lists or a TREC run, with `relevant`. If users have several visits, rows with the same
            `visit_id` belong together.
        relevant
            Held-out items, if `pairs` has no labels.
        n_items
            Number of candidates of a full ranking.
        candidates
            Items shown to each user, in the forms of `relevant`; other items in `pairs` are
            ignored.
        missing
            What to do if a held-out item is not among the candidates of its user:

            - `refuse`: raise InputError for a user who has none there;
            - `last`: rank it below all negatives. Their number is `n_negatives`, or that of the
              longest list if this is higher or `n_negatives` is omitted.
        columns
            Mapping from role to column name, see `evaluate`.
        **options
            `n_negatives`, the number of draws if duplicates among them were dropped (`sampling` is
            then `distinct`); `sampling`, see `SampledRanks`; `ties` (`random`, `optimistic` or
            `pessimistic`) and `seed`: the place among negatives with the same score; and `counts`,
            and `cluster`, see `correct`.

        Returns
        -------
        SampledRanks
            One sampled rank for each held-out item.

        Examples
        --------
        >>> pairs = {
        ...     "user_id": [1, 1, 1, 2, 2, 2],
        ...     "score": [0.9, 0.1, 0.2, 0.1, 0.5, 0.3],
        ...     "label": [1, 0, 0, 1, 0, 0],
        ... }
        >>> SampledRanks.from_pairs(pairs, n_items=9).sampled_ranks
        array([1, 3])
        """
        from sampled_metrics.read.samples import Draw, sampled_from_pairs

        draw = Draw(n_items, **options)
        return sampled_from_pairs(
            pairs, relevant, draw, candidates=candidates, missing=missing, columns=columns
        )

    @classmethod
    def read(cls, path: Path | str, *, columns: Mapping[str, str] | None = None) -> SampledRanks:
        """Read a file written by `write`, or a table with the same columns."""
        file = to_path(path)
        with place_of(file):
            return cls.from_table(file, columns=columns)

    @classmethod
    def from_table(
        cls,
        table: Any,
        n_items: ArrayLike | None = None,
        n_negatives: int | None = None,
        sampling: str | None = None,
        seed: int = 0,
        *,
        columns: Mapping[str, str] | None = None,
    ) -> SampledRanks:
        """Return sampled ranks from a table with a column `sampled_rank`.

        Other columns are those of `write`; options replace missing columns. Several rows of a user,
        or of a visit, are repeated draws, or different held-out items in a column `item_id`. Rows
        with `label` 0 are not held-out items.
        """
        from sampled_metrics.read.sample_tables import sampled_from_table
        from sampled_metrics.read.samples import Draw

        draw = Draw(n_items, n_negatives, sampling, seed=seed)
        return sampled_from_table(table, draw, columns=columns)

    def __repr__(self) -> str:
        return short_repr(self, "sampled_ranks", "n_items", "n_negatives", "sampling", "users")

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.sampled_ranks.size

    @property
    def mean_candidates(self) -> int:
        """Mean of `n_items` over rows, rounded."""
        return round(float(self.n_items.mean()))

    @cached_property
    def units(self) -> Units | None:
        """Users, or visits of users, of the rows; None without ids."""
        return None if self.users is None else Units(self.users, self.visits)

    def different_units(self) -> tuple[Units | None, Int]:
        """Return the different users, or visits, in ascending order, and the position of each row.

        Without ids each row is another user: the units are None, and the positions 0, 1, 2, ...

        Examples
        --------
        >>> ranks = SampledRanks([1, 4, 2], 30, 3, users=["bob", "ann", "bob"])
        >>> units, position = ranks.different_units()
        >>> units.users.to_pylist(), position
        (['ann', 'bob'], array([1, 0, 1]))
        """
        if self.units is None:
            return None, np.arange(len(self))
        return self.units.ascending()

    def user_of_units(self) -> Int | None:
        """Return the number of the user of each of the `different_units`; None without visits."""
        units, _ = self.different_units()
        if units is None or units.visits is None:
            return None
        return pd.factorize(arrow_to_numpy(units.users))[0].astype(np.int64)

    def take(self, rows: RowSelection) -> Self:
        """Return the sampled ranks of some rows, selected like elements of an array."""
        return replace(
            self,
            sampled_ranks=self.sampled_ranks[rows],
            n_items=self.n_items[rows] if self.n_items.ndim else self.n_items,
            users=select_rows(self.users, rows),
            visits=select_rows(self.visits, rows),
            tied=None,
            pairs=None,
            strata=None if self.strata is None else self.strata.take(rows),
            strata_without_part=tuple(each.take(rows) for each in self.strata_without_part),
            clusters=select_rows(self.clusters, rows),
        )

    def write(self, path: Path | str) -> None:
        """Write one row per sampled rank, and how the negatives were drawn.

        The suffix of the path decides between parquet and CSV. Counts by stratum are not a part of
        the file, so ranks that have them raise InputError.
        """
        if self.strata is not None:
            raise InputError(
                "sampled ranks with counts of items cannot be written, because the file would be "
                "read as uniform negatives; keep the pairs or scores, and pass counts when they "
                "are read"
            )
        columns = {
            "user_id": self.users,
            "visit_id": self.visits,
            "n_candidates": np.broadcast_to(self.n_items, len(self)),
            "n_negatives": np.full(len(self), self.n_negatives),
            "sampling": np.full(len(self), str(self.sampling)),
            "sampled_rank": self.sampled_ranks,
        }
        write_columns(to_path(path), columns)


def _check_n_items(n_items: ArrayLike, n_negatives: int, n_rows: int) -> Int:
    """Convert the numbers of candidates, one or one per row; negatives must be fewer than they."""
    candidates = integer_array(n_items, "n_items")
    if candidates.shape not in {(), (n_rows,)}:
        raise InputError(f"n_items has shape {candidates.shape}; expected () or {(n_rows,)}")
    fewest = int(candidates.min())
    if fewest <= whole_number("n_negatives", n_negatives, 1):
        raise InputError(f"n_items is {fewest}, expected more than n_negatives, {n_negatives}")
    whole_number("n_items", int(candidates.max()), 2, MAX_ITEMS)
    return candidates
