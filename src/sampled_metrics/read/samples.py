"""Sampled ranks from labelled pairs, lists of candidates, or scores of rows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments, require_same
from sampled_metrics._base.array_types import Bool, Floats, Ids, Int
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
from sampled_metrics.read.tables import ColumnNames, Table, as_table

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
    relevant: Any,
    draw: Draw,
    *,
    candidates: Any = None,
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


def _rank_in_table(
    table: Table, relevant: Any, draw: Draw, *, candidates: Any, missing: str
) -> SampledRanks:
    """Rank held-out items among the other rows of a table."""
    _require_columns(table, relevant)
    table = candidate_rows(table)
    columns = table.unit_columns()
    codes, units = table.units(columns)
    row_unit = codes.astype(np.int64)
    has_score = "score" in table.columns
    score = table.ordered_numbers("score") if has_score else -table.ordered_numbers("rank")
    if has_score:
        is_named = is_named_score(table)
        warn_all(signs_of_ranks_as_scores(row_unit, score, is_named_score=is_named))
    held_out_items = None
    if relevant is None:
        is_held_out = table.zeros_and_ones("label")
    else:
        units, held_out_items = _read_held_out(relevant, table, units)
        codes, item_ids = table.codes(ITEM)
        item = codes.astype(np.int64)
        is_held_out = held_out_items.restrict_to(units, item_ids).has(row_unit, item)
        if candidates is not None:
            shown_items = _read_candidates(candidates, columns, units)
            is_shown = shown_items.restrict_to(units, item_ids).has(row_unit, item)
            row_unit = row_unit[is_shown]
            score = score[is_shown]
            is_held_out = is_held_out[is_shown]
    n_held_out = np.bincount(row_unit[is_held_out], minlength=len(units))
    n_negatives = np.bincount(row_unit[~is_held_out], minlength=len(units))
    if missing == "refuse" or held_out_items is None:
        _require_held_out_and_negatives(n_held_out, n_negatives, units)
    held_out_unit = row_unit[is_held_out]
    ranked_units = units.take(held_out_unit)
    if draw.counts is not None:
        _require_ids(table, candidates, missing)
        scored = _scored_pairs(table, row_unit, is_held_out)
        cluster = _read_cluster(table, draw.cluster)
        return _rank_by_strata(
            scored,
            score,
            units,
            draw,
            ranked_units=ranked_units,
            cluster=None if cluster is None else cluster[is_held_out],
        )
    better, tied = _count_negatives(row_unit, score, is_held_out)
    if missing == "last" and held_out_items is not None:
        m = _largest_number_of_negatives(n_negatives, draw.n_negatives)
        unit = ranked_units.positions_in(held_out_items.units)
        n_listed = np.bincount(unit, minlength=held_out_items.n_users)
        missing_unit = np.repeat(np.arange(held_out_items.n_users), held_out_items.sizes - n_listed)
        n_missing = missing_unit.size
        return rank_among_negatives(
            np.append(better, np.full(n_missing, m)),
            np.append(tied, np.zeros(n_missing, np.int64)),
            np.full(held_out_items.item.size, m),
            draw,
            units=held_out_items.units.take(np.append(unit, missing_unit)),
            n_missing=n_missing,
        )
    if VISIT not in columns:
        warn_all(signs_of_joined_rows(n_held_out, n_negatives))
    pairs = None
    if ITEM in table.columns and candidates is None:
        pairs = _scored_pairs(table, row_unit, is_held_out)
    return rank_among_negatives(
        better, tied, n_negatives[held_out_unit], draw, units=ranked_units, pairs=pairs
    )


def _require_ids(table: Table, candidates: Any, missing: str) -> None:
    """Raise InputError unless the ids of all negatives are known."""
    if ITEM not in table.columns:
        raise InputError(
            "counts (--counts) need the ids of the negatives, in a column item_id; if ids are "
            "lost, score the negatives again and keep them",
            path=table.path,
        )
    if candidates is not None:
        raise InputError("candidates do not go with counts; pass pairs of shown items only")
    if missing != "refuse":
        raise InputError("missing (--missing) does not go with counts; score all held-out items")


def _scored_pairs(table: Table, row_unit: Int, is_held_out: Bool) -> ScoredPairs:
    """Return the scored pairs of a table with ids of items."""
    codes, item_ids = table.codes(ITEM)
    return ScoredPairs(row_unit, codes.astype(np.int64), is_held_out, arrow_to_numpy(item_ids))


def _read_cluster(table: Table, name: Any) -> Ids | None:
    """Return the column of clusters of a table, one value for each row; None without a name."""
    if name is None:
        return None
    if not isinstance(name, str):
        raise InputError(
            f"cluster is {format_value(name)}; expected the name of a column of the table, such as "
            "cluster='batch' (--cluster batch)"
        )
    roles = {table.name_of.get(role, role): column for role, column in table.columns.items()}
    column = {**table.unknown_columns, **roles}.get(name)
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

    `ranked_units` and `cluster` are those of the rows of held-out items in `pairs`.
    """
    counts = draw.counts
    if not isinstance(counts, ItemCounts):
        counts = read_item_counts(counts)
    clusters = None if cluster is None else pd.factorize(cluster)[0].astype(np.int64)
    n_parts = 0
    if clusters is not None and clusters.max(initial=0) + 1 < JACKKNIFE_GROUPS:
        n_parts = JACKKNIFE_GROUPS  # too few clusters to leave each out: leave out negatives
    counts, strata, without_part = count_by_stratum(
        pairs, score, units, counts, ties=draw.ties, seed=draw.seed, n_parts=n_parts
    )
    n_items = 1 + strata.candidates.sum(axis=1)
    require_same("n_items", draw.n_items, "number of candidates by counts", round(n_items.mean()))
    users = visits = None
    if ranked_units is not None:
        users, visits = ranked_units.users_and_visits()
    return SampledRanks(
        1 + strata.better.sum(axis=1),
        n_items,
        int(strata.drawn.sum(axis=1).max()),
        Sampling(draw.sampling or Sampling.WITHOUT_REPLACEMENT),
        users,
        ranked_units is not None and ranked_units.first_duplicate() is not None,
        visits=visits,
        pairs=pairs._replace(units=units, counts=counts),
        strata=strata,
        strata_without_part=without_part,
        clusters=clusters,
    )


def _largest_number_of_negatives(n_negatives: Int, n_drawn: int | None) -> int:
    """Return the number of negatives below which missing held-out items rank."""
    m = int(n_negatives.max())
    if n_drawn is None:
        warn_all(signs_of_short_lists(n_negatives))
    return max(m, n_drawn or 0)


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
    rows = pad_rows(scores)
    if rows is not scores and missing == "last":
        raise InputError("rows differ in length; leave missing (--missing) out")
    table = read_scores(rows)
    if isinstance(users, str | Path):
        users = _read_ids(users, "users")
    if positive is None:
        raise InputError("found scores; give positive (--positive), the column of held-out items")
    column_ids = table.item_ids
    if isinstance(positive, str) and column_ids is not None:
        names = list(column_ids)
        if positive in names:
            positive = names.index(positive)
            column_ids = None
    row_ids = table.user_ids if users is None else users
    positive = positive_by_row(positive, row_ids)
    has_ids = draw.items is not None
    counts = count_in_rows(
        table.matrix(), positive, column_ids=column_ids, missing=missing, has_ids=has_ids
    )
    # Rows of a file are named by ids; the index of a DataFrame may be arbitrary.
    if users is None and isinstance(scores, str | Path):
        users = table.user_ids
    units = Units.of_rows(users, visits, counts.n_found.size)
    if draw.counts is not None:
        return _rank_rows_by_strata(table.matrix(), positive, units, draw, missing)
    is_kept = counts.has_target
    if not is_kept.any():
        raise InputError(f"positive is {NO_ITEM_NAMES} in all rows; expected some columns")
    note_rows_without_target(int(np.count_nonzero(~is_kept)))
    if units is not None:
        units = units.take(is_kept)
    return sampled_from_rows(counts.with_target(), units, draw)


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
    """
    if draw.items is None:
        raise InputError(
            "counts (--counts) need the ids of the items that were scored: pass items (--items), "
            "ids with the shape of the scores; if they are lost, score the negatives again"
        )
    if missing != "refuse":
        raise InputError("missing (--missing) does not go with counts; score all held-out items")
    n_rows, width = scores.shape
    ids = _read_ids(draw.items, "items")
    if ids.shape not in {(width,), (n_rows, width)}:
        raise InputError(
            f"items have shape {ids.shape}; expected ids with the shape of the scores, "
            f"({n_rows}, {width}), or ({width},) if all rows have the same items"
        )
    codes, item_ids = pd.factorize(np.broadcast_to(ids, (n_rows, width)).ravel())
    held_out_row, held_out_column = held_out_positions(positive, (n_rows, width))
    is_held_out = np.zeros((n_rows, width), bool)
    is_held_out[held_out_row, held_out_column] = True
    values = to_numpy(scores)
    has_row = np.zeros(n_rows, bool)
    has_row[held_out_row] = True
    is_pair = (values > -np.inf) & has_row[:, None]
    if item_ids.dtype.kind in "iu":
        is_pair &= ~is_no_item(np.asarray(item_ids)[codes]).reshape(n_rows, width)
    lost = np.flatnonzero(~is_pair[held_out_row, held_out_column])
    if lost.size:
        raise InputError("the held-out item has no id", row=int(held_out_row[lost[0]]) + 1)
    row = np.nonzero(is_pair)[0]
    held_out = is_held_out[is_pair]
    pairs = ScoredPairs(row, codes.reshape(n_rows, width)[is_pair], held_out, np.asarray(item_ids))
    cluster = draw.cluster
    if cluster is not None:
        cluster = as_array(cluster, "cluster")
        if cluster.shape != (n_rows,):
            raise InputError(
                f"cluster has shape {cluster.shape}; expected a value for each row, ({n_rows},)"
            )
        cluster = cluster[row[held_out]]
    ranked = units
    if units is None and np.bincount(held_out_row).max() > 1:
        ranked = Units(np.arange(n_rows))
    return _rank_by_strata(
        pairs,
        values[is_pair],
        units,
        draw,
        ranked_units=None if ranked is None else ranked.take(row[held_out]),
        cluster=cluster,
    )


def sampled_from_rows(counts: RowCounts, units: Units | None, draw: Draw) -> SampledRanks:
    """Return the sampled ranks of held-out items in rows; all items of a row are of one user."""
    rows = counts.rows
    if units is None and rows.size > counts.n_found.size:
        units = Units(np.arange(counts.n_found.size))
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
    """Return sampled ranks from the numbers of better, of tied and of all negatives of each row."""
    check_arguments(
        tie_policy=draw.ties,
        seed=draw.seed,
        sampling=draw.sampling,
        n_negatives=draw.n_negatives,
    )
    above = better
    if draw.ties == "random":
        above = better + generator(draw.seed, "ties").integers(0, tied + 1)
    elif draw.ties == "pessimistic":
        above = better + tied
    m: Any = n_negatives
    # Fewer negatives than draws remain if duplicates are dropped.
    if draw.sampling == Sampling.DISTINCT and m.max() <= (draw.n_negatives or 0):
        m = draw.n_negatives
    require_same("n_negatives", draw.n_negatives, "n_negatives", m)
    if draw.n_items is None:
        raise InputError(
            "n_items is not known; give n_items (--n-items), the number of candidates of a "
            "full ranking"
        )
    sampled = with_equal_negatives(
        above + 1,
        m,
        draw,
        units=units,
        several_items=units is not None and units.first_duplicate() is not None,
    )
    return replace(sampled, tied=tied, pairs=pairs, n_missing=n_missing)


def with_equal_negatives(
    ranks: Int, n_negatives: Any, draw: Draw, *, units: Units | None, several_items: bool
) -> SampledRanks:
    """Return sampled ranks from rows that may differ in the number of negatives."""
    sampling = Sampling(draw.sampling or Sampling.WITHOUT_REPLACEMENT)
    ranks, m = _equalise_negatives(ranks, n_negatives, sampling, draw.seed)
    users, visits = (None, None) if units is None else units.users_and_visits()
    n_items: Any = draw.n_items
    return SampledRanks(ranks, n_items, m, sampling, users, several_items, visits=visits)


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
    warn_all(signs_of_dropped_negatives(n_negatives, seed))
    better = ranks - 1
    rng = generator(seed, "thinned")
    return 1 + rng.hypergeometric(better, n_negatives - better, fewest), fewest


def _require_columns(table: Table, relevant: Any) -> None:
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
            "found scores or ranks of candidates; add a column label (1 or 0), or give "
            "relevant (--relevant); call ranks among negatives sampled_rank; `evaluate` takes "
            "exact ranks"
        )


def _read_held_out(relevant: Any, table: Table, units: Units) -> tuple[Units, Items]:
    """Return users or visits, and their held-out items."""
    with place_of(relevant):
        units, items = relevant_by_unit(relevant, table.unit_columns(), units)
    if not items.item.size:
        raise InputError("relevant: no items; expected at least one")
    warn_all(signs_of_unused_grades(items.relevance))
    warn_all(signs_of_common_item(items))
    return units, items


def _read_candidates(candidates: Any, columns: ColumnNames, units: Units) -> Items:
    """Return the items that were shown to users, or in visits."""
    with place_of(candidates):
        return items_by_unit(candidates, "candidates", columns, units)


def _require_held_out_and_negatives(n_held_out: Int, n_negatives: Int, units: Units) -> None:
    """Raise InputError for the first unit without a held-out item, or else without negatives."""
    without = np.flatnonzero(n_held_out == 0)
    if without.size:
        raise InputError(
            f"no held-out item among the candidates of user {units.name(int(without[0]))} "
            f"({without.size} users have none); pass them as relevant (--relevant) with "
            "missing='last' (--missing last), below all"
        )
    without = np.flatnonzero(n_negatives == 0)
    if without.size:
        raise InputError(
            f"no negatives for user {units.name(int(without[0]))} ({without.size} users have none)"
        )


def _count_negatives(row_unit: Int, score: Floats, is_held_out: Bool) -> tuple[Int, Int]:
    """Count the negatives above each held-out item, and level with it."""
    if not is_held_out.any():
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    better, tied = count_by_score(row_unit, score)
    _, held_out_unit = np.unique(row_unit[is_held_out], return_inverse=True)
    held_out_better, held_out_tied = count_by_score(held_out_unit, score[is_held_out])
    return better[is_held_out] - held_out_better, tied[is_held_out] - held_out_tied
