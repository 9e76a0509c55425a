"""Sampled ranks from labelled pairs, lists of candidates, or scores of rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments, require_same
from sampled_metrics._base.array_types import Array, Bool, Floats, Ids, Int, ItemsByUser
from sampled_metrics._base.arrays import count_by_score
from sampled_metrics._base.arrow import arrow_to_numpy
from sampled_metrics._base.calls import place_of, public, warn_all
from sampled_metrics._base.columns import NO_ITEM_NAMES, is_no_item
from sampled_metrics._base.conversion import as_array, to_numpy
from sampled_metrics._base.errors import InputError, format_value
from sampled_metrics._base.files import read_npy, require_file
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.units import Units
from sampled_metrics.checks.items import signs_of_common_item, signs_of_unused_grades
from sampled_metrics.checks.lists import signs_of_ranks_as_scores
from sampled_metrics.checks.samples import (
    signs_of_dropped_negatives,
    signs_of_joined_rows,
    signs_of_short_lists,
)
from sampled_metrics.ranks import SampledRanks
from sampled_metrics.ranks.sampled import ScoredPairs
from sampled_metrics.ranks.sampling import Sampling
from sampled_metrics.ranks.strata import JACKKNIFE_GROUPS
from sampled_metrics.read.item_counts import ItemCounts, read_item_counts
from sampled_metrics.read.items import (
    Items,
    candidate_rows,
    items_by_unit,
    relevant_by_unit,
)
from sampled_metrics.read.list_order import is_named_score
from sampled_metrics.read.roles import ITEM, USER, VISIT, NamesByRole, check_roles
from sampled_metrics.read.row_counts import (
    RowCounts,
    count_in_rows,
    held_out_positions,
    note_rows_without_target,
    pad_rows,
    positive_by_row,
)
from sampled_metrics.read.scores import read_scores
from sampled_metrics.read.strata import count_by_stratum
from sampled_metrics.read.tables import Table, as_table

# Share of the negatives that rows may lack. A few may be missing, for example because duplicates or
# seen items were dropped; if more are, the data probably mixes two ways of sampling.
_MAX_MISSING = 0.1


class Draw(NamedTuple):
    """What options say about the negatives, and about their order.

    Attributes
    ----------
    n_items
        n: candidates of a full ranking; None if a table has to tell.
    n_negatives
        m, if duplicates among m draws were dropped (sampling `distinct`), or as a check.
    sampling
        How negatives were drawn, see `SampledRanks`; None without the option.
    ties, seed
        Place among negatives with the same score: `random`, `optimistic` or `pessimistic`.
    counts
        Counts of the items, or data that `read_item_counts` reads, if negatives may have been drawn
        by popularity.
    items
        Ids of the items of scores, shape (rows, 1 + m), or (1 + m,) if they are the same in all
        rows; with `counts` only.
    cluster
        Rows with the same negatives or of the same batch: the column of a table, or a value for
        each row of scores; with `counts` only.
    """

    n_items: ArrayLike | None
    n_negatives: int | None = None
    sampling: str | None = None
    ties: str = "random"
    seed: int = 0
    counts: Any = None
    items: Any = None
    cluster: Any = None


@public(columns=check_roles)
def sampled_from_pairs(
    data: Any,
    relevant: ItemsByUser,
    draw: Draw,
    *,
    candidates: ItemsByUser = None,
    missing: str = "refuse",
    columns: NamesByRole = None,
) -> SampledRanks:
    """Rank held-out items among the other rows of their user or visit.

    Other held-out items of the user, or of the visit, are not negatives. See
    `SampledRanks.from_pairs`.
    """
    check_arguments(missing=missing, n_negatives=draw.n_negatives)
    table = as_table(data, "sampled ranks")
    if table is None:
        raise InputError(f"found {type(data).__name__}; expected a table of candidates")
    return _rank_in_table(table, relevant, draw, candidates=candidates, missing=missing)


class _Candidates(NamedTuple):
    """Scored candidates, one in each row, and which of them are held-out items.

    Attributes
    ----------
    unit, score, is_held_out
        Position in `units`, score, and whether the item is held out, of each row; shape (rows,).
    units
        Users, or visits of users.
    held_out_items
        The held-out items of units, also those that are not candidates; None if labels mark them.
    """

    unit: Int
    score: Floats
    is_held_out: Bool
    units: Units
    held_out_items: Items | None = None

    @property
    def n_held_out(self) -> Int:
        """Number of held-out items of each unit."""
        return np.bincount(self.unit[self.is_held_out], minlength=len(self.units))

    @property
    def n_negatives(self) -> Int:
        """Number of negatives of each unit."""
        return np.bincount(self.unit[~self.is_held_out], minlength=len(self.units))

    @property
    def ranked_units(self) -> Units:
        """Unit of each held-out item."""
        return self.units.take(self.unit[self.is_held_out])


def _rank_in_table(
    table: Table, relevant: ItemsByUser, draw: Draw, *, candidates: ItemsByUser, missing: str
) -> SampledRanks:
    """Rank held-out items among the other rows of a table.

    Held-out items are those of a label 1 or, with `relevant`, those that it contains; then some of
    them may be missing from the table.
    """
    _require_columns(table, relevant)
    table = candidate_rows(table)
    rows = _label_candidates(table) if relevant is None else _match_held_out(table, relevant)
    if candidates is not None and rows.held_out_items is not None:
        rows = _restrict_to_shown(rows, table, candidates)
    ranks_missing_last = missing == "last" and rows.held_out_items is not None
    if not ranks_missing_last:
        _require_held_out_and_negatives(rows)
    if draw.counts is not None:
        _require_ids(table, candidates, missing)
        return _rank_table_by_strata(table, rows, draw)
    if ranks_missing_last:
        return _rank_with_missing_last(rows, draw)
    if VISIT not in table.unit_columns():
        warn_all(signs_of_joined_rows(rows.n_held_out, rows.n_negatives))
    better, tied = _count_negatives(rows)
    unit_of_held_out = rows.unit[rows.is_held_out]
    has_ids = ITEM in table.columns and candidates is None
    return rank_among_negatives(
        better,
        tied,
        rows.n_negatives[unit_of_held_out],
        draw,
        units=rows.ranked_units,
        pairs=_scored_pairs(table, rows) if has_ids else None,
    )


def _rank_table_by_strata(table: Table, rows: _Candidates, draw: Draw) -> SampledRanks:
    """Rank the held-out items of a table with counts by strata of popularity."""
    cluster = _read_cluster(table, draw.cluster)
    return _rank_by_strata(
        _scored_pairs(table, rows),
        rows.score,
        rows.units,
        draw,
        ranked_units=rows.ranked_units,
        cluster=None if cluster is None else cluster[rows.is_held_out],
    )


def _label_candidates(table: Table) -> _Candidates:
    """Return the rows of a table with labels."""
    unit, score, units = _units_and_scores(table)
    return _Candidates(unit, score, table.zeros_and_ones("label"), units)


def _match_held_out(table: Table, relevant: ItemsByUser) -> _Candidates:
    """Return the rows of a table, of which those of relevant items are held out."""
    unit, score, units = _units_and_scores(table)
    units, held_out_items = _read_held_out(relevant, table, units)
    item, item_ids = table.codes(ITEM)
    pairs = held_out_items.restrict_to(units, item_ids)
    is_held_out = pairs.has(unit, item.astype(np.int64))
    return _Candidates(unit, score, is_held_out, units, held_out_items)


def _units_and_scores(table: Table) -> tuple[Int, Floats, Units]:
    """Return the unit and the score of each row, and the units; ranks become falling scores."""
    codes, units = table.units()
    unit = codes.astype(np.int64)
    if "score" not in table.columns:
        return unit, -table.ordered_numbers("rank"), units
    score = table.ordered_numbers("score")
    warn_all(signs_of_ranks_as_scores(unit, score, is_named_score=is_named_score(table)))
    return unit, score, units


def _restrict_to_shown(rows: _Candidates, table: Table, candidates: ItemsByUser) -> _Candidates:
    """Return the rows of items that were shown to their users, or in their visits."""
    with place_of(candidates):
        shown_items = items_by_unit(candidates, "candidates", table.unit_columns(), rows.units)
    item, item_ids = table.codes(ITEM)
    pairs = shown_items.restrict_to(rows.units, item_ids)
    is_shown = pairs.has(rows.unit, item.astype(np.int64))
    return rows._replace(
        unit=rows.unit[is_shown],
        score=rows.score[is_shown],
        is_held_out=rows.is_held_out[is_shown],
    )


def _rank_with_missing_last(rows: _Candidates, draw: Draw) -> SampledRanks:
    """Rank all held-out items; those that are not candidates rank below all negatives.

    The rows of the result are the held-out items among the candidates, then the missing ones.
    """
    held_out_items = rows.held_out_items
    if held_out_items is None:
        raise ValueError("only held-out items by id can be missing")
    better, tied = _count_negatives(rows)
    n_negatives = _largest_number_of_negatives(rows.n_negatives, draw.n_negatives)
    n_units = held_out_items.n_users
    listed_unit = rows.ranked_units.positions_in(held_out_items.units)
    n_listed = np.bincount(listed_unit, minlength=n_units)
    missing_unit = np.repeat(np.arange(n_units), held_out_items.sizes - n_listed)
    n_missing = missing_unit.size
    return rank_among_negatives(
        better=np.append(better, np.full(n_missing, n_negatives)),
        tied=np.append(tied, np.zeros(n_missing, np.int64)),
        n_negatives=np.full(held_out_items.item.size, n_negatives),
        draw=draw,
        units=held_out_items.units.take(np.append(listed_unit, missing_unit)),
        n_missing=n_missing,
    )


def _require_ids(table: Table, candidates: ItemsByUser, missing: str) -> None:
    """Raise InputError unless the ids of all negatives are known."""
    if ITEM not in table.columns:
        raise InputError(
            "counts (--counts) need the ids of the negatives, in a column item_id; if ids are "
            "lost, score the negatives again and keep them",
            path=table.path,
        )
    if candidates is not None:
        raise InputError("candidates cannot be used with counts; pass pairs of shown items only")
    if missing != "refuse":
        raise InputError("missing (--missing) cannot be used with counts; score all held-out items")


def _scored_pairs(table: Table, rows: _Candidates) -> ScoredPairs:
    """Return all rows of a table as scored pairs with ids of items."""
    item, item_ids = table.codes(ITEM)
    return ScoredPairs(
        user=rows.unit,
        item=item.astype(np.int64),
        held_out=rows.is_held_out,
        item_ids=arrow_to_numpy(item_ids),
    )


def _read_cluster(table: Table, name: Any) -> Ids | None:
    """Return the column of clusters of a table, one value for each row; None without a name."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise InputError(
            f"cluster is {format_value(name)}; expected the name of a column of the table, such as "
            "cluster='batch' (--cluster batch)"
        )
    known = {table.name_of.get(role, role): column for role, column in table.columns.items()}
    column_by_name = {**table.unknown_columns, **known}
    column = column_by_name.get(name)
    if column is None:
        raise InputError(
            f"lacks column {name}, which cluster (--cluster) names; found {', '.join(table.names)}",
            path=table.path,
        )
    table.unread.discard(name)
    return column.to_pandas().to_numpy()


def _rank_by_strata(
    pairs: ScoredPairs,
    score: Floats,
    units: Units | None,
    draw: Draw,
    *,
    ranked_units: Units | None,
    cluster: Any,
) -> SampledRanks:
    """Return sampled ranks with counts by strata of popularity, for negatives of any design.

    Parameters
    ----------
    pairs, score
        Held-out items and negatives, and their scores; shape (pairs,).
    units
        Users, or visits, by number in `pairs`; None without ids.
    draw
        Options, of which `counts` are the counts of items.
    ranked_units, cluster
        Unit and cluster of each held-out item in `pairs`; None if they are not known.
    """
    counts = draw.counts
    if not isinstance(counts, ItemCounts):
        counts = read_item_counts(counts)
    clusters = None if cluster is None else pd.factorize(cluster)[0].astype(np.int64)
    has_few_clusters = clusters is not None and clusters.max(initial=0) + 1 < JACKKNIFE_GROUPS
    counts, strata, without_part = count_by_stratum(
        pairs,
        score,
        units,
        counts,
        ties=draw.ties,
        seed=draw.seed,
        # Too few clusters for a jackknife that leaves each out: it leaves out negatives.
        n_parts=JACKKNIFE_GROUPS if has_few_clusters else 0,
    )
    n_items = 1 + strata.candidates.sum(axis=1)
    require_same("n_items", draw.n_items, "number of candidates by counts", round(n_items.mean()))
    users, visits = (None, None) if ranked_units is None else ranked_units.users_and_visits()
    return SampledRanks(
        sampled_ranks=1 + strata.better.sum(axis=1),
        n_items=n_items,
        n_negatives=int(strata.drawn.sum(axis=1).max()),
        sampling=Sampling(draw.sampling or Sampling.WITHOUT_REPLACEMENT),
        users=users,
        several_items=ranked_units is not None and ranked_units.first_duplicate() is not None,
        visits=visits,
        pairs=pairs._replace(units=units, counts=counts),
        strata=strata,
        strata_without_part=without_part,
        clusters=clusters,
    )


def _largest_number_of_negatives(n_negatives: Int, n_drawn: int | None) -> int:
    """Return the number of negatives below which missing held-out items rank.

    It is that of the longest list or, if more, `n_drawn`, the option.
    """
    longest = int(n_negatives.max())
    if n_drawn is None:
        warn_all(signs_of_short_lists(n_negatives))
        return longest
    return max(longest, n_drawn)


def sampled_from_scores(
    scores: Any,
    positive: ArrayLike | None,
    draw: Draw,
    *,
    users: ArrayLike | None = None,
    visits: ArrayLike | None = None,
    missing: str = "refuse",
) -> SampledRanks:
    """Rank a held-out item among its negatives in the same row; see `SampledRanks.from_scores`."""
    padded_scores = pad_rows(scores)
    is_padded = padded_scores is not scores
    if is_padded and missing == "last":
        raise InputError("rows differ in length; drop missing (--missing)")
    source = read_scores(padded_scores)
    user_ids = _read_ids(users, "users") if isinstance(users, str | Path) else users
    if positive is None:
        raise InputError("found scores; pass positive (--positive), the column of held-out items")
    column_names = [] if source.item_ids is None else list(source.item_ids)
    is_named_column = isinstance(positive, str) and positive in column_names
    held_out = positive_by_row(
        column_names.index(positive) if is_named_column else positive,
        row_ids=source.user_ids if user_ids is None else user_ids,
    )
    matrix = source.matrix()
    counts = count_in_rows(
        matrix,
        held_out,
        column_ids=None if is_named_column else source.item_ids,
        missing=missing,
        has_ids=draw.items is not None,
    )
    # Rows of a file are named by ids; the index of a DataFrame may be arbitrary.
    if user_ids is None and isinstance(scores, str | Path):
        user_ids = source.user_ids
    units = Units.of_rows(user_ids, visits, counts.n_found.size)
    if draw.counts is not None:
        return _rank_rows_by_strata(matrix, held_out, units, draw, missing)
    return _rank_rows_with_target(counts, units, draw)


def _rank_rows_with_target(counts: RowCounts, units: Units | None, draw: Draw) -> SampledRanks:
    """Return the sampled ranks of rows with a held-out item; note how many others are dropped."""
    is_kept = counts.has_target
    if not is_kept.any():
        raise InputError(f"positive is {NO_ITEM_NAMES} in all rows; expected at least one column")
    note_rows_without_target(int(np.count_nonzero(~is_kept)))
    units_with_target = None if units is None else units.take(is_kept)
    return sampled_from_rows(counts.with_target(), units_with_target, draw)


def _read_ids(values: Any, name: str) -> Any:
    """Return an array of ids, which may be an `.npy` file."""
    if isinstance(values, str | Path):
        require_file(Path(values), name)
        return read_npy(Path(values), name)
    return as_array(values, name)


def _rank_rows_by_strata(
    scores: Any, positive: Any, units: Units | None, draw: Draw, missing: str
) -> SampledRanks:
    """Return sampled ranks with counts by strata, from rows of scores and the ids of their items.

    Scores of -inf, and items of the ids -1 and -100, are padding.

    Parameters
    ----------
    scores
        Scores of held-out items and negatives, shape (rows, candidates).
    positive
        Held-out items by column or label, see `held_out_positions`.
    units
        Units of the rows; None without ids.
    draw
        Options, of which `counts`, `items` and `cluster` are used.
    missing
        The option, which must be "refuse".
    """
    if draw.items is None:
        raise InputError(
            "counts (--counts) need the ids of the items that were scored: pass items (--items), "
            "ids with the shape of the scores; if they are lost, score the negatives again"
        )
    if missing != "refuse":
        raise InputError("missing (--missing) cannot be used with counts; score all held-out items")
    score = to_numpy(scores)
    ids = _ids_of_cells(draw.items, score.shape)
    held_out_row, held_out_column = held_out_positions(positive, score.shape)
    is_held_out = np.zeros(score.shape, bool)
    is_held_out[held_out_row, held_out_column] = True
    pairs, is_pair = _pairs_of_rows(score, ids, is_held_out)
    without_id = np.flatnonzero(~is_pair[held_out_row, held_out_column])
    if without_id.size:
        raise InputError("the held-out item has no id", row=int(held_out_row[without_id[0]]) + 1)
    n_rows = len(score)
    cluster = _cluster_of_rows(draw.cluster, n_rows)
    units_of_rows = units
    has_several_items = np.bincount(held_out_row).max() > 1
    if units is None and has_several_items:  # whose ranks are averaged by row
        units_of_rows = Units(np.arange(n_rows))
    row_of_held_out = pairs.user[pairs.held_out]
    return _rank_by_strata(
        pairs,
        score[is_pair],
        units,
        draw,
        ranked_units=None if units_of_rows is None else units_of_rows.take(row_of_held_out),
        cluster=None if cluster is None else cluster[row_of_held_out],
    )


def _cluster_of_rows(cluster: Any, n_rows: int) -> Array | None:
    """Return the cluster of each row of scores; None without clusters."""
    if cluster is None:
        return None
    values = as_array(cluster, "cluster")
    if values.shape != (n_rows,):
        raise InputError(
            f"cluster has shape {values.shape}; expected a value for each row, ({n_rows},)"
        )
    return values


def _ids_of_cells(items: Any, shape: tuple[int, ...]) -> Array:
    """Return the ids of the items of rows of scores, one for each score.

    `items` has them in this shape, or for one row if all rows have the same items.
    """
    n_rows, width = shape
    ids = _read_ids(items, "items")
    if ids.shape not in {(width,), (n_rows, width)}:
        raise InputError(
            f"items have shape {ids.shape}; expected ids with the shape of the scores, "
            f"({n_rows}, {width}), or ({width},) if all rows have the same items"
        )
    return np.broadcast_to(ids, shape)


def _pairs_of_rows(score: Array, ids: Array, is_held_out: Bool) -> tuple[ScoredPairs, Bool]:
    """Return the scored pairs of rows with a held-out item, and which cells they are.

    All arrays have the shape (rows, candidates). Cells of -inf, or without an item, are no pairs.
    """
    flat_codes, distinct_ids = pd.factorize(ids.ravel())
    item_ids = np.asarray(distinct_ids)
    item = flat_codes.reshape(ids.shape)  # position in `item_ids`
    has_held_out = is_held_out.any(axis=1, keepdims=True)  # of each row
    is_pair = (score > -np.inf) & has_held_out
    if item_ids.dtype.kind in "iu":
        is_pair &= ~is_no_item(item_ids)[item]
    row, _ = np.nonzero(is_pair)
    pairs = ScoredPairs(
        user=row, item=item[is_pair], held_out=is_held_out[is_pair], item_ids=item_ids
    )
    return pairs, is_pair


def sampled_from_rows(counts: RowCounts, units: Units | None, draw: Draw) -> SampledRanks:
    """Return the sampled ranks of held-out items in rows; all items of a row are of one user."""
    rows = counts.rows  # of each held-out item
    n_rows = counts.n_found.size
    has_several_items = rows.size > n_rows
    if units is None and has_several_items:
        units = Units(np.arange(n_rows))
    return rank_among_negatives(
        counts.better,
        counts.tied,
        counts.candidates[rows] - 1,
        draw,
        units=None if units is None else units.take(rows),
        n_missing=int(np.count_nonzero(counts.lost)),
    )


def rank_among_negatives(
    better: Int,
    tied: Int,
    n_negatives: Int,
    draw: Draw,
    *,
    units: Units | None,
    pairs: ScoredPairs | None = None,
    n_missing: int = 0,
) -> SampledRanks:
    """Return sampled ranks from counts of negatives.

    A sampled rank is 1 + better + the number of tied negatives that are above the held-out item:
    a uniform one of 0 to tied, none, or all, according to `draw.ties`.

    Parameters
    ----------
    better, tied, n_negatives
        Negatives above each held-out item, tied with it, and all of its row; shape (rows,).
    draw
        Options on the negatives.
    units
        User, or visit, of each row; None without ids.
    pairs
        The scored pairs, if the ids of negatives are known.
    n_missing
        Number of held-out items that are missing and rank last.
    """
    check_arguments(
        tie_policy=draw.ties,
        seed=draw.seed,
        sampling=draw.sampling,
        n_negatives=draw.n_negatives,
    )
    n_ties_lost: Int | int = 0  # tied negatives that rank above the held-out item
    if draw.ties == "random":
        n_ties_lost = generator(draw.seed, "ties").integers(0, tied + 1)
    elif draw.ties == "pessimistic":
        n_ties_lost = tied
    n_drawn: Int | int = n_negatives
    if draw.sampling == Sampling.DISTINCT and draw.n_negatives is not None:
        # Fewer negatives than draws remain, as duplicates were dropped.
        are_possible = n_negatives.max() <= draw.n_negatives
        n_drawn = draw.n_negatives if are_possible else n_negatives
    require_same("n_negatives", draw.n_negatives, "n_negatives", n_drawn)
    if draw.n_items is None:
        raise InputError(
            "n_items is not known; pass n_items (--n-items), the number of candidates of a "
            "full ranking"
        )
    sampled = with_equal_negatives(
        1 + better + n_ties_lost,
        n_drawn,
        draw,
        units=units,
        several_items=units is not None and units.first_duplicate() is not None,
    )
    return replace(sampled, tied=tied, pairs=pairs, n_missing=n_missing)


def with_equal_negatives(
    ranks: Int, n_negatives: Any, draw: Draw, *, units: Units | None, several_items: bool
) -> SampledRanks:
    """Return sampled ranks from rows that may differ in the number of negatives.

    Parameters
    ----------
    ranks
        Rank of each held-out item among itself and its negatives; shape (rows,).
    n_negatives
        Number of negatives, one or one per row.
    draw
        Options on the negatives.
    units
        User, or visit, of each row; None without ids.
    several_items
        Whether rows of one unit may belong to different held-out items.
    """
    sampling = Sampling(draw.sampling or Sampling.WITHOUT_REPLACEMENT)
    ranks, m = _equalise_negatives(ranks, n_negatives, sampling, draw.seed)
    users, visits = (None, None) if units is None else units.users_and_visits()
    n_items: Any = draw.n_items
    return SampledRanks(
        sampled_ranks=ranks,
        n_items=n_items,
        n_negatives=m,
        sampling=sampling,
        users=users,
        several_items=several_items,
        visits=visits,
    )


def _equalise_negatives(
    ranks: Int, n_negatives: Any, sampling: Sampling, seed: int
) -> tuple[Int, int]:
    """Return ranks among the same number of negatives in all rows, and that number.

    That number is the smallest of all rows. Rows with more negatives use a random choice of them;
    how many of these are above the held-out item follows a hypergeometric distribution: that of
    `fewest` draws from `better` negatives above and `n_negatives - better` below.
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
    warn_all(signs_of_dropped_negatives(n_negatives, seed))
    better = ranks - 1
    rng = generator(seed, "thinned")
    return 1 + rng.hypergeometric(better, n_negatives - better, fewest), fewest


def _require_columns(table: Table, relevant: ItemsByUser) -> None:
    """Raise InputError unless there are scores or ranks, and held-out items are known."""
    columns = table.columns
    if columns.keys().isdisjoint((USER, VISIT)) and "label" in columns:
        raise InputError(
            f"lacks column {USER}; found {', '.join(table.names)}; if each user has as many rows, "
            f"together, add {USER}: numpy.arange(len(table)) // (1 + n_negatives)",
            path=table.path,
        )
    if "score" not in columns and "rank" not in columns:
        table.require("score" if "label" in columns else "sampled_rank")
    if "label" not in columns and relevant is None:
        raise InputError(
            "found scores or ranks of candidates; add a column label (1 or 0), or pass "
            "relevant (--relevant); name ranks among negatives sampled_rank; for exact ranks, use "
            "`evaluate`"
        )


def _read_held_out(relevant: ItemsByUser, table: Table, units: Units) -> tuple[Units, Items]:
    """Return users or visits, and their held-out items."""
    with place_of(relevant):
        units, items = relevant_by_unit(relevant, table.unit_columns(), units)
    if not items.item.size:
        raise InputError("relevant: no items; expected at least one")
    warn_all(signs_of_unused_grades(items.relevance))
    warn_all(signs_of_common_item(items))
    return units, items


def _require_held_out_and_negatives(rows: _Candidates) -> None:
    """Raise InputError for the first unit without a held-out item, or else without negatives."""
    without = np.flatnonzero(rows.n_held_out == 0)
    if without.size:
        raise InputError(
            f"no held-out item among the candidates of user {rows.units.name(int(without[0]))} "
            f"({without.size} users have none); pass them as relevant (--relevant) with "
            "missing='last' (--missing last), below all"
        )
    without = np.flatnonzero(rows.n_negatives == 0)
    if without.size:
        raise InputError(
            f"no negatives for user {rows.units.name(int(without[0]))} "
            f"({without.size} users have none)"
        )


def _count_negatives(rows: _Candidates) -> tuple[Int, Int]:
    """Count the negatives above each held-out item, and level with it; shape (held-out items,).

    These are all candidates of its unit above it, less the held-out items among them.
    """
    is_held_out = rows.is_held_out
    if not is_held_out.any():
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    better, tied = count_by_score(rows.unit, rows.score)
    _, held_out_unit = np.unique(rows.unit[is_held_out], return_inverse=True)  # without gaps
    held_out_better, held_out_tied = count_by_score(held_out_unit, rows.score[is_held_out])
    return better[is_held_out] - held_out_better, tied[is_held_out] - held_out_tied
