"""`SampledRanks`: ranks of held-out items among sampled negatives, and their constructors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments, require_same, to_path, whole_number
from sampled_metrics._base.array_types import Ids, Int, RowSelection
from sampled_metrics._base.arrays import first_duplicate, select_rows
from sampled_metrics._base.arrow import arrow_to_numpy
from sampled_metrics._base.columns import NO_ITEM_NAMES, integer_array, require_all
from sampled_metrics._base.defaults import MAX_ITEMS
from sampled_metrics._base.errors import InputError, reading, warn_all, warn_input
from sampled_metrics._base.files import write_columns
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.records import set_fields, short_repr
from sampled_metrics._base.units import Units, check_ids
from sampled_metrics.inputs import samples
from sampled_metrics.inputs.items import relevant_rows
from sampled_metrics.inputs.roles import ITEM, USER, VISIT, NamesByRole, naming
from sampled_metrics.inputs.row_counts import (
    count_in_rows,
    note_rows_without_target,
    pad_rows,
    positive_by_row,
)
from sampled_metrics.inputs.samples import SampledCounts, ScoredPairs
from sampled_metrics.inputs.scores import read_scores
from sampled_metrics.inputs.tables import Table, read_table
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.ranks.warnings import signs_of_duplicates

# Share of the negatives that rows may lack. A few may be missing, for example because duplicates or
# seen items were dropped; if more are, the data probably mixes two ways of sampling.
_MAX_MISSING = 0.1


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
        sizes = integer_array("n_items", n_items)
        if sizes.shape not in {(), ranks.shape}:
            raise InputError(f"n_items has shape {sizes.shape}; expected () or {ranks.shape}")
        if int(sizes.min()) <= whole_number("n_negatives", m, 1):
            raise InputError(f"n_items is {sizes.min()}, expected more than n_negatives, {m}")
        whole_number("n_items", int(sizes.max()), 2, MAX_ITEMS)
        require_all("sampled_rank", ranks, (ranks >= 1) & (ranks <= m + 1), f"1 to {m + 1}")
        user_ids, visit_ids = check_ids(users, visits, ranks.size)
        if visit_ids is not None:
            user_ids, visit_ids = Units(user_ids, visit_ids).users_and_visits()
        set_fields(
            self,
            sampled_ranks=ranks,
            n_items=sizes,
            n_negatives=int(m),
            sampling=Sampling(sampling),
            users=user_ids,
            visits=visit_ids,
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
            `refuse` them, or rank them behind all others (`last`).
        **options
            `n_negatives`, `sampling`, `ties` and `seed`, as for `from_counts`.

        Returns
        -------
        SampledRanks
            One sampled rank for each held-out item.

        Examples
        --------
        >>> SampledRanks.from_scores([[0.9, 0.1, 0.4], [0.2, 0.1, 0.4]], n_items=5).sampled_ranks
        array([1, 2])
        """
        rows = pad_rows(scores)
        if rows is not scores and missing == "last":
            raise InputError("rows differ in length; leave missing (--missing) out")
        table = read_scores(rows)
        if positive is None:
            raise InputError(
                "found scores; give positive (--positive), the column of held-out items"
            )
        column_ids = table.item_ids
        if isinstance(positive, str) and column_ids is not None:
            names = list(column_ids)
            if positive in names:
                positive = names.index(positive)
                column_ids = None
        row_ids = table.user_ids if users is None else users
        positive = positive_by_row(positive, row_ids)
        counts = count_in_rows(table.matrix(), positive, column_ids=column_ids, missing=missing)
        # Rows of a file are named by ids; the index of a DataFrame may be arbitrary.
        if users is None and isinstance(scores, str | Path):
            users = table.user_ids
        units = Units.of_rows(users, visits, counts.n_found.size)
        is_kept = counts.has_target
        if not is_kept.any():
            raise InputError(f"positive is {NO_ITEM_NAMES} in all rows; expected some columns")
        note_rows_without_target(int(np.count_nonzero(~is_kept)))
        if units is not None:
            units = units.take(is_kept)
        sampled = SampledCounts.from_rows(counts.with_target(), units)
        return cls.from_counts(sampled, n_items=n_items, **options)

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
            - `last`: rank it behind all negatives. Their number is `n_negatives`, or that of the
              longest list if this is higher or `n_negatives` is left out.
        columns
            Names of columns of tables by role, see `evaluate`.
        **options
            `n_negatives`, `sampling`, `ties` and `seed`, as for `from_counts`.

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
        n_drawn = options.get("n_negatives")
        with naming(columns):
            counts = samples.count_pairs(
                pairs, relevant, missing, candidates=candidates, n_drawn=n_drawn
            )
        return cls.from_counts(counts, n_items=n_items, **options)

    @classmethod
    def from_counts(
        cls,
        counts: SampledCounts,
        *,
        n_items: ArrayLike | None,
        n_negatives: int | None = None,
        sampling: str | None = None,
        ties: str = "random",
        seed: int = 0,
    ) -> Self:
        """Return sampled ranks from counts of better and tied negatives.

        Parameters
        ----------
        counts
            Number of negatives above each held-out item, and tied with it.
        n_items, sampling
            See `SampledRanks`.
        n_negatives
            m, if duplicates among m draws were dropped (sampling `distinct`).
        ties, seed
            Place among negatives with the same score: `random`, `optimistic` or `pessimistic`.
        """
        check_arguments(tie_policy=ties, seed=seed, sampling=sampling, n_negatives=n_negatives)
        above = counts.better
        if ties == "random":
            above = above + generator(seed, "ties").integers(0, counts.tied + 1)
        elif ties == "pessimistic":
            above = above + counts.tied
        m: Any = counts.n_negatives
        # Fewer negatives than draws remain if duplicates are dropped.
        if sampling == Sampling.DISTINCT and m.max() <= (n_negatives or 0):
            m = n_negatives
        require_same("n_negatives", n_negatives, "n_negatives", m)
        if n_items is None:
            raise InputError(
                "n_items is not known; give n_items (--n-items), the number of candidates of a "
                "full ranking"
            )
        units = counts.units
        has_duplicates = units is not None and units.first_duplicate() is not None
        sampled = cls._from_rows(
            above + 1,
            m,
            n_items=n_items,
            sampling=sampling,
            units=units,
            several_items=has_duplicates,
            seed=seed,
        )
        return replace(sampled, tied=counts.tied, pairs=counts.pairs, n_missing=counts.n_missing)

    @classmethod
    def _from_rows(
        cls,
        ranks: Int,
        n_negatives: Any,
        *,
        n_items: ArrayLike,
        sampling: str | None,
        units: Units | None,
        several_items: bool,
        seed: int,
    ) -> Self:
        """Return sampled ranks from rows that may differ in the number of negatives."""
        kind = Sampling(sampling or Sampling.WITHOUT_REPLACEMENT)
        ranks, m = _equalise_negatives(ranks, n_negatives, kind, seed)
        users, visits = (None, None) if units is None else units.users_and_visits()
        return cls(ranks, n_items, m, kind, users, several_items, visits=visits)

    @classmethod
    def read(cls, path: Path | str, *, columns: NamesByRole = None) -> Self:
        """Read a file written by `write`, or a table with the same columns."""
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
        """Return sampled ranks from a table with a column `sampled_rank`.

        Other columns are those of `write`; options replace missing columns. Several rows of a user,
        or of a visit, are repeated draws, or different held-out items in a column `item_id`. Rows
        with `label` 0 are not held-out items.
        """
        with naming(columns):
            table = read_table(table, "sampled ranks")
        names = table.columns.keys()
        m = _read_n_negatives(table, n_negatives)
        sizes: Any = n_items
        if "sampling" in names:
            sampling = _read_sampling(table, sampling)
        largest_rank = None if m is None else m + 1
        smallest_size = 2 if m is None else int(np.max(m)) + 1
        ranks = table.whole_numbers("sampled_rank", 1, largest_rank)
        if "n_candidates" in names:
            sizes = table.whole_numbers("n_candidates", smallest_size, MAX_ITEMS)
            require_same("n_items", n_items, "n_candidates", sizes)
        if "repetition" in names:
            _require_different_repetitions(table)
        rows, _ = relevant_rows(table)
        units = _read_units(table, rows)
        if m is None:
            raise InputError(
                "the number of negatives is not known; give n_negatives (--n-negatives)"
            )
        if sizes is None:
            raise InputError(
                "no column n_candidates; give n_items (--n-items), the number of candidates of a "
                "full ranking"
            )
        if isinstance(rows, np.ndarray):
            sizes = np.asarray(sizes)
            sizes = sizes[rows] if sizes.shape == ranks.shape else sizes
            m = m[rows] if np.ndim(m) else m
        return cls._from_rows(
            ranks[rows],
            m,
            n_items=sizes,
            sampling=sampling,
            units=units,
            several_items={USER, ITEM} <= names,
            seed=seed,
        )

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
        """Return the different users, or visits, in ascending order, and the number of each row's.

        They are None if each row is a user.
        """
        if self.units is None:
            return None, np.arange(len(self))
        return self.units.ascending()

    def user_of_units(self) -> Int | None:
        """Return the number of the user of each visit; None without visits."""
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
        )

    def write(self, path: Path | str) -> None:
        """Write one row per sampled rank, and how the negatives were drawn.

        The suffix of the path decides between parquet and CSV.
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


def _equalise_negatives(
    ranks: Int, n_negatives: Any, sampling: Sampling, seed: int
) -> tuple[Int, int]:
    """Return ranks among the same number of negatives in all rows, and that number.

    That number is the smallest of all rows. Rows with more negatives use a random choice of them;
    how many of these are above the held-out item follows a hypergeometric distribution.
    """
    fewest = int(np.min(n_negatives))
    most = int(np.max(n_negatives))
    if fewest == most:
        return ranks, fewest
    if sampling is Sampling.DISTINCT or fewest < (1.0 - _MAX_MISSING) * most:
        raise InputError(
            f"found {fewest} to {most} negatives per user; expected as many for all, at most a "
            "tenth fewer, or, if duplicates were dropped, sampling='distinct' (--sampling "
            "distinct) with n_negatives (--n-negatives)"
        )
    n_larger = (n_negatives > fewest).sum()
    warn_input(
        "n_negatives",
        f"{n_larger:,} of {n_negatives.size:,} rows have more than {fewest} negatives, up to "
        f"{most}: {fewest} of them are used, chosen at random (seed {seed})",
    )
    better = ranks - 1
    rng = generator(seed, "thinned")
    return 1 + rng.hypergeometric(better, n_negatives - better, fewest), fewest


def _read_units(table: Table, rows: RowSelection) -> Units | None:
    """Read the users, or visits of users, of some rows.

    Several rows of one user warn unless a column says why there are several.
    """
    if not table.columns.keys() & {USER, VISIT}:
        return None
    unit, different_units = table.units()
    units = different_units.take(unit[rows])
    if not table.columns.keys() & {"repetition", ITEM}:
        warn_all(signs_of_duplicates(units.codes))
    return units


def _read_n_negatives(table: Table, option: int | None) -> Any:
    """Return the number of negatives from the column or, without one, from the option.

    They must agree if both are given.
    """
    if option is not None:
        option = whole_number("n_negatives", option, 1, MAX_ITEMS)
    if "n_negatives" not in table.columns:
        return option
    n_negatives = table.whole_numbers("n_negatives", 1, MAX_ITEMS)
    require_same("n_negatives", option, "n_negatives", n_negatives)
    return n_negatives


def _read_sampling(table: Table, option: str | None) -> str:
    """Read how negatives were drawn, which must be the same in all rows and in the option."""
    code, names = table.codes("sampling")
    sampling = str(names[0])
    table.refuse("sampling", code > 0, table.ids("sampling"), f"{sampling}, as in row 1")
    require_same("sampling", option, "sampling", sampling)
    return sampling


def _require_different_repetitions(table: Table) -> None:
    """Raise InputError for the first row with the repetition of an earlier one of its user."""
    repetition = table.whole_numbers("repetition", 0)
    item_codes = [table.codes(ITEM)[0]] if ITEM in table.columns else []
    row = first_duplicate(repetition, table.units()[0], *item_codes)
    if row is not None:
        user = table.columns[table.unit_columns()[0]][row]
        raise table.error_at(row, f"a repetition of user {user} that is in an earlier row")
