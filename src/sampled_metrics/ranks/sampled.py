"""Sampled ranks: ranks of held-out items among sampled negatives."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments, require_same, to_path, whole_number
from sampled_metrics._base.array_types import Ids, Int, RowSelection
from sampled_metrics._base.arrays import first_duplicate, select_rows
from sampled_metrics._base.columns import integer_array, require_all
from sampled_metrics._base.defaults import MAX_ITEMS
from sampled_metrics._base.errors import InputError, reading, warn_input
from sampled_metrics._base.files import write_columns
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.records import set_fields, short_repr
from sampled_metrics._base.visits import join_ids, row_unit_ids, split_ids, users_and_visits
from sampled_metrics.inputs import samples
from sampled_metrics.inputs.items import relevant_rows
from sampled_metrics.inputs.roles import ITEM, USER, VISIT, NamesByRole, naming
from sampled_metrics.inputs.samples import SampledCounts, ScoredPairs
from sampled_metrics.inputs.scores import count_in_rows, pad_rows, read_scores
from sampled_metrics.inputs.tables import Table, arrow_to_numpy, read_table
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.ranks.warnings import warn_about_duplicates

_MOST_MISSING = 0.1  # share of the negatives of a row


@dataclass(frozen=True, eq=False, repr=False, init=False)
class SampledRanks:
    """Sampled ranks with the numbers that corrections need.

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
    visits
        Ids of visits, such as sessions, of which users have several. Rows of a visit are averaged,
        metrics are means over visits, and their errors those of independent users. None without.
    tied
        Negatives level with each held-out item, if the ranks were made of scores.
    pairs
        Users and items that the ranks were made of, if known.
    n_missing
        Held-out items that were no candidates and count as behind all negatives.
    several_items
        Whether rows of one user may be of different held-out items. Their average is then a metric
        of the user for recall and AUC only, which others refuse.

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
        n_missing: int = 0,
    ) -> None:
        check_arguments(sampling=sampling, several_items=several_items)
        m = n_negatives
        ranks = integer_array("sampled_ranks", sampled_ranks, is_column=True)
        if not ranks.size:
            raise InputError("no sampled ranks; expected at least one")
        items = integer_array("n_items", n_items)
        if items.shape not in {(), ranks.shape}:
            raise InputError(f"n_items has shape {items.shape}; expected () or {ranks.shape}")
        if int(items.min()) <= whole_number("n_negatives", m, 1):
            raise InputError(f"n_items is {items.min()}, expected more than n_negatives, {m}")
        whole_number("n_items", int(items.max()), 2, MAX_ITEMS)
        require_all("sampled_rank", ranks, (ranks >= 1) & (ranks <= m + 1), f"1 to {m + 1}")
        ids = row_unit_ids(users, visits, ranks.size)
        of_visits = None
        if ids is not None:
            ids, of_visits = users_and_visits(ids)
        set_fields(
            self,
            sampled_ranks=ranks,
            n_items=items,
            n_negatives=int(m),
            sampling=Sampling(sampling),
            users=ids,
            visits=of_visits,
            several_items=several_items,
            tied=tied,
            pairs=pairs,
            n_missing=n_missing,
        )

    @classmethod
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
    ) -> Self:
        """Rank a held-out item by its score among its negatives in the same row.

        Parameters
        ----------
        scores
            Shape (rows, 1 + m), of any library, a DataFrame, or an `.npy` or `.npz` file. A row
            with fewer negatives ends with -inf, or is a shorter list.
        positive
            Column of the held-out item, one for all rows or one per row; or labels of the shape of
            the scores, 1 for the held-out items of a row.
        n_items
            Candidates of a full ranking; further options are as for `from_counts`.
        users, visits
            Ids of the users of rows, and of their visits if users have several.
        missing
            Items of score -inf, which an answer leaves out: `refuse` them, or take them as behind
            all others (`last`).

        Examples
        --------
        >>> SampledRanks.from_scores([[0.9, 0.1, 0.4], [0.2, 0.1, 0.4]], n_items=5).sampled_ranks
        array([1, 2])
        """
        rows = pad_rows(scores)
        if rows is not scores and missing == "last":
            raise InputError("rows differ in length; leave missing (--missing) out")
        taken = read_scores(rows)
        if positive is None:
            problem = "give positive (--positive), the column of held-out items"
            raise InputError(f"found scores; {problem}")
        if isinstance(positive, str) and taken.item_ids is not None:
            names = list(taken.item_ids)
            if positive in names:
                positive = names.index(positive)
        counts = count_in_rows(taken.matrix(), positive, missing=missing)
        if users is None and isinstance(scores, str | Path):  # an index of a DataFrame may be any
            users = taken.user_ids
        ids = row_unit_ids(users, visits, counts.n_found.size)
        return cls.from_counts(SampledCounts.from_rows(counts, ids), n_items, **options)

    @classmethod
    def from_pairs(
        cls,
        pairs: Any,
        relevant: Any = None,
        *,
        n_items: ArrayLike | None,
        candidates: Any = None,
        missing: str = "refuse",
        columns: NamesByRole = None,
        **options: Any,
    ) -> Self:
        """Rank held-out items among the candidates of their users.

        Parameters
        ----------
        pairs
            A table of user, item (may be left out), score (or rank) and label, 1 for held-out
            items; lists or a TREC run with `relevant`. Rows of one `visit_id` belong together where
            a user has several.
        candidates
            Items shown to each user, as `relevant` is given; others in `pairs` are left out.
        missing
            `refuse` users without a held-out item among their candidates, or put it behind all of
            `n_negatives`, as many as the longest list has by default (`last`).
        """
        n_drawn = options.get("n_negatives")
        with naming(columns):
            found = samples.count_pairs(
                pairs, relevant, missing, candidates=candidates, n_drawn=n_drawn
            )
        return cls.from_counts(found, n_items, **options)

    @classmethod
    def from_counts(
        cls,
        found: SampledCounts,
        n_items: ArrayLike | None,
        n_negatives: int | None = None,
        sampling: str | None = None,
        ties: str = "random",
        seed: int = 0,
    ) -> Self:
        """Take the negatives above each held-out item, and level with it.

        Parameters
        ----------
        n_items, sampling
            See `SampledRanks`.
        n_negatives
            m, if duplicates among m draws were dropped (sampling `distinct`).
        ties, seed
            Place among negatives with the same score: `random`, `optimistic` or `pessimistic`.
        """
        check_arguments(tie_policy=ties, seed=seed, sampling=sampling, n_negatives=n_negatives)
        above = found.better
        if ties == "random":
            above = above + generator(seed, "ties").integers(0, found.tied + 1)
        elif ties == "pessimistic":
            above = above + found.tied
        m: Any = found.n_negatives
        # Fewer draws remain if duplicates are dropped.
        if sampling == Sampling.DISTINCT and m.max() <= (n_negatives or 0):
            m = n_negatives
        require_same("n_negatives", n_negatives, "n_negatives", m)
        users = found.users
        several = users is not None and first_duplicate(np.asarray(users)) is not None
        made = cls._thinned(above + 1, m, n_items, sampling, users, several, seed)
        return replace(made, tied=found.tied, pairs=found.pairs, n_missing=found.n_missing)

    @classmethod
    def _thinned(
        cls,
        ranks: Int,
        m: Any,
        n_items: ArrayLike | None,
        sampling: str | None,
        users: Any,
        several_items: bool,
        seed: int,
    ) -> Self:
        """Keep as many negatives of each row, uniformly chosen among its own."""
        if m is None:
            problem = "the number of negatives is not known; give n_negatives (--n-negatives)"
            raise InputError(problem)
        if n_items is None:
            problem = "give n_items (--n-items), those of a full ranking"
            raise InputError(f"no column n_candidates; {problem}")
        way = Sampling(sampling or Sampling.WITHOUT_REPLACEMENT)
        least = int(np.min(m))
        most = int(np.max(m))
        if least < most:
            if way is Sampling.DISTINCT or least < (1.0 - _MOST_MISSING) * most:
                raise InputError(
                    f"found {least} to {most} negatives per user; expected as many for all, at "
                    "most a tenth fewer, or --sampling distinct with --n-negatives if duplicates "
                    "were dropped"
                )
            rows = f"{(m > least).sum():,} of {m.size:,} rows have more than {least} negatives"
            words = f"{rows}, up to {most}: of those, {least} are kept at random (seed {seed})"
            warn_input("n_negatives", words)
            stream = generator(seed, "thinned")
            ranks = 1 + stream.hypergeometric(ranks - 1, m - (ranks - 1), least)
        visits = None
        if users is not None:
            users, visits = users_and_visits(np.asarray(users))
        return cls(ranks, n_items, least, way, users, several_items, visits=visits)

    @classmethod
    def read(cls, path: Path | str, *, columns: NamesByRole = None) -> Self:
        """Read a file of `write`, or a table with the same columns."""
        file = to_path(path)
        with reading(file):
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
        columns: NamesByRole = None,
    ) -> Self:
        """Take a table of `sampled_rank`, maybe with further columns of `write`.

        Rows of one user, or of one visit of a user, are different repetitions, or different items
        in a column `item_id`; those of `label` 0 are no held-out items. Options stand for columns
        that the table lacks.
        """
        with naming(columns):
            table = read_table(table, "sampled ranks")
        found = table.columns
        if n_negatives is not None:
            n_negatives = whole_number("n_negatives", n_negatives, 1, MAX_ITEMS)
        m: Any = n_negatives
        items = n_items
        if "n_negatives" in found:
            m = table.whole_numbers("n_negatives", 1, MAX_ITEMS)
            require_same("n_negatives", n_negatives, "n_negatives", m)
        if "sampling" in found:
            sampling = _sampling_of(table, sampling)
        most = None
        least = 2
        if m is not None:
            most = m + 1
            least = int(np.max(m)) + 1
        ranks = table.whole_numbers("sampled_rank", 1, most)
        if "n_candidates" in found:
            items = table.whole_numbers("n_candidates", least, MAX_ITEMS)
            require_same("n_items", n_items, "n_candidates", items)
        if "repetition" in found:
            _require_different_repetitions(table)
        rows, _ = relevant_rows(table)
        users = _users_of(table, rows)
        several = {USER, ITEM} <= found.keys()
        if isinstance(rows, np.ndarray):
            sizes = np.asarray(items)
            items = sizes[rows] if sizes.shape == ranks.shape else items
            m = m[rows] if np.ndim(m) else m
        return cls._thinned(ranks[rows], m, items, sampling, users, several, seed)

    def __repr__(self) -> str:
        return short_repr(self, "sampled_ranks", "n_items", "n_negatives", "sampling", "users")

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.sampled_ranks.size

    @property
    def mean_candidates(self) -> int:
        """Mean of `n_items` over rows, rounded."""
        return round(float(self.n_items.mean()))

    @property
    def unit_ids(self) -> Ids | None:
        """Ids of the users of rows, or of the visits of users."""
        if self.users is None or self.visits is None:
            return self.users
        return join_ids(self.users, self.visits)

    def different_units(self) -> tuple[Ids | None, Int]:
        """Different ids of users, or of visits, in order, and the place of each row among them.

        Without ids each row is a user.
        """
        ids: Any = self.unit_ids
        if ids is None or (ids[1:] > ids[:-1]).all():
            return ids, np.arange(len(self))
        found: Any = np.unique(ids, return_inverse=True)
        return found

    def user_of_units(self) -> Int | None:
        """Number of the user of each visit; None without visits."""
        ids, _ = self.different_units()
        if ids is None or self.visits is None:
            return None
        return pd.factorize(split_ids(ids)[0])[0].astype(np.int64)

    def take(self, rows: RowSelection) -> Self:
        """Return some rows, selected as an array's elements are."""
        return replace(
            self,
            sampled_ranks=self.sampled_ranks[rows],
            n_items=self.n_items[rows] if self.n_items.ndim else self.n_items,
            users=select_rows(self.users, rows),
            visits=select_rows(self.visits, rows),
            tied=None,
            pairs=None,
        )

    def write(self, path: Path | str) -> None:
        """Write one row per sampled rank, with how the negatives were drawn.

        As parquet or CSV, by the suffix of the path.
        """
        columns = {
            USER: self.users,
            VISIT: self.visits,
            "n_candidates": np.broadcast_to(self.n_items, len(self)),
            "n_negatives": np.full(len(self), self.n_negatives),
            "sampling": np.full(len(self), str(self.sampling)),
            "sampled_rank": self.sampled_ranks,
        }
        write_columns(to_path(path), columns)


def _users_of(table: Table, rows: RowSelection) -> Ids | None:
    """Read ids of users, or of visits, of some rows; warn about several rows without a reason."""
    if not table.columns.keys() & {USER, VISIT}:
        return None
    user, user_ids = table.units()
    users = arrow_to_numpy(user_ids)[user[rows]]
    if not table.columns.keys() & {"repetition", ITEM}:
        warn_about_duplicates(users)
    return users


def _sampling_of(table: Table, option: str | None) -> str:
    """Read how the negatives were drawn, one way for all rows, which the option must name too."""
    way, ways = table.codes("sampling")
    sampling = str(ways[0])
    table.refuse("sampling", way > 0, table.ids("sampling"), f"{sampling}, as in row 1")
    require_same("sampling", option, "sampling", sampling)
    return sampling


def _require_different_repetitions(table: Table) -> None:
    """Raise InputError for the first row with the repetition of an earlier one of its user."""
    repetition = table.whole_numbers("repetition", 0)
    columns = [table.codes(ITEM)[0]] if ITEM in table.columns else []
    again = first_duplicate(repetition, table.units()[0], *columns)
    first = table.unit_columns()[0]
    if again is not None:
        problem = f"a repetition of user {table.columns[first][again]} that is in an earlier row"
        raise table.error_at(again, problem)
