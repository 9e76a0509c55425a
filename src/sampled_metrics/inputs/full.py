"""Ranks in full rankings of whatever gives them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sampled_metrics._base.arguments import check_arguments, require_same
from sampled_metrics._base.arrays import (
    Array,
    Float,
    Int,
    first_duplicate,
    grades_of,
    require,
    select_rows,
    starts,
)
from sampled_metrics._base.defaults import MOST_ITEMS
from sampled_metrics._base.errors import InputError, one_line, reading
from sampled_metrics.inputs.lists import ranks_of_lists
from sampled_metrics.inputs.matrices import ranks_of_scores
from sampled_metrics.inputs.options import Ranked
from sampled_metrics.inputs.questions import question_ranks
from sampled_metrics.inputs.recognise import (
    FULL,
    Given,
    LabelledPairs,
    Lists,
    RankColumns,
    SampledColumns,
    recognise,
)
from sampled_metrics.inputs.scores import Scores
from sampled_metrics.ranks import Ranks, SampledRanks
from sampled_metrics.ranks.records import COLUMNS, counts_of
from sampled_metrics.tables.arrow import as_numpy
from sampled_metrics.tables.names import USER
from sampled_metrics.tables.table import Table

_WITHOUT_SIZE = "found ranks; give n_items (--n-items) or add a column n_candidates"


def as_ranks(data: object, ranked: Ranked) -> Ranks:
    """Return the ranks of relevant items in full rankings, or in lists of the best items.

    The data is `Ranks`; exact ranks from 1, shape (users,); scores, shape (users, items), in a
    DataFrame too; a list of items, best first, or a dictionary of scores, for each user of a
    dictionary; or the name of a file, or a DataFrame with the same columns. Tables are CSV, TSV or
    parquet, DataFrames of pandas, polars or pyarrow.

    - ranks: columns `n_candidates`, `n_better`, `n_tied` and maybe `user_id`;
    - ranks without ties: `rank` from 1, of `n_candidates` or else `n_items`;
    - lists, cut anywhere: `user_id`, `item_id` and `rank` or `score`, else best first, with
      `relevant`;
    - a TREC run (`.run`, `.trec` or by its first line), sorted by score as trec_eval does, with
      `relevant`;
    - a matrix of scores, users x items (`.npy`, read block by block, or `.npz` with an array
      `scores`), with `relevant` and `seen`; -inf is no candidate. An `.npz` may also hold
      `held_out` (columns, shape (users,)), `seen` (bool, users x items), and `user_ids` and
      `item_ids`, which tables then hold in the place of row and column numbers from 0. Other files
      of relevant items are `.npy` with a column for each user, `.npz` as scipy's `save_npz` writes,
      or a table or qrels; those of seen items are such an `.npz` or table, or `.npy` of bool.

    Examples
    --------
    >>> as_ranks([[0.3, 0.9, 0.5]], Ranked(relevant=[2])).best_rank
    array([2])
    >>> as_ranks({"anna": [7, 9]}, Ranked(relevant={"anna": [9]})).best_rank
    array([2])
    """
    check_arguments(
        n_items=ranked.n_items, complete=ranked.complete, min_relevance=ranked.min_relevance
    )
    given = recognise(data, FULL)
    with reading(given.place):
        ranks = _ranks_of(given.content, ranked)
        if not ranks.n_candidates.size:
            raise InputError("no user has a relevant item; expected at least one who has")
        question_ranks(ranks)
        if ranked.min_relevance > 0.0:
            return ranks.at_least(ranked.min_relevance)
    return ranks


def _ranks_of(given: Given, ranked: Ranked) -> Ranks:
    """Rank by what was recognised."""
    match given:
        case Ranks():
            ranked.check("Ranks")
            return given
        case Scores():
            return ranks_of_scores(given, ranked)
        case Lists():
            return ranks_of_lists(given.table, ranked)
        case RankColumns() | LabelledPairs():
            return ranks_of_columns(given.table, ranked)
        case SampledRanks():
            raise InputError("found sampled ranks; `correct` takes them")
        case SampledColumns():
            raise InputError("found sampled ranks; `sampled-metrics correct` takes them")
    return _ranks_of_array(given, ranked)


def read_single(path: Path) -> Ranks:
    """Read ranks of one held-out item per user, fully ranked; anything else raises InputError."""
    ranks = as_ranks(path, Ranked())
    with reading(path):
        return ranks.single()


def read_by_name(paths: Sequence[Path]) -> dict[str, Ranks]:
    """Read one relevant item per user from several files, named by their stems."""
    names = [path.stem for path in paths]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"duplicate recommender: {name}")
    found = {path.stem: read_single(path) for path in paths}
    for path in paths:
        first = len(found[names[0]])
        here = len(found[path.stem])
        if here != first:
            raise InputError(f"{here} users, but {paths[0].name} has {first}", path=path)
    return found


def _ranks_of_array(given: Array, ranked: Ranked) -> Ranks:
    """Take exact ranks from 1 without ties; floats that are whole numbers too."""
    if ranked.relevant is not None:
        found = f"{given.dtype} of shape {given.shape}"
        raise InputError(f"scores are {found}; expected numbers, users x items")
    ranked.check("ranks")
    most = ranked.n_items
    if most is None:
        raise InputError(_WITHOUT_SIZE)
    if given.dtype.kind == "b":
        raise InputError("found true and false; expected ranks from 1")
    with reading(Path("ranks")):
        is_rank = (given >= 1) & (given <= most) & (np.floor(given) == given)
        require("rank", given, is_rank, f"whole numbers, 1 to {most}")
    rank = given.astype(np.int64)
    return Ranks.trusted(np.full_like(rank, most), rank - 1, np.zeros_like(rank))


def ranks_of_columns(table: Table, ranked: Ranked) -> Ranks:
    """Take three columns of counts, or `rank`.

    Rows of one `user_id` are the relevant items of that user; users are in the order in which they
    first appear.
    """
    ranked.check("ranks")
    if "n_better" in table.columns or "n_tied" in table.columns:
        counts = counts_of(table)
    elif "rank" in table.columns:
        counts = _counts_of_ranks(table, ranked.n_items)
    else:
        raise InputError(
            f"found columns {', '.join(table.names)}; expected {', '.join(COLUMNS)}, or rank, or "
            "user_id, item_id and rank or score"
        )
    grades = None
    if "relevance" in table.columns:
        relevance = table.finite("relevance")
        table.refuse("relevance", relevance <= 0.0, relevance, "numbers above 0")
        grades = grades_of(relevance)
    source = one_line(table.metadata.get(b"source", b"unknown").decode(errors="replace"))
    if USER in table.columns:
        ranks = _by_user(table, counts, grades, source)
    else:
        ranks = Ranks.trusted(*counts, relevance=grades, source=source)
    require_same("n_items", ranked.n_items, "n_candidates", ranks.n_candidates)
    least = float(table.metadata.get(b"min_relevance", b"0"))
    if least > 0.0:
        return ranks.at_least(least)
    return ranks


def _counts_of_ranks(table: Table, n_items: int | None) -> tuple[Int, Int, Int]:
    """Return the candidates, and those above and level with each item, of ranks without ties."""
    most: int | Int | None = n_items
    if "n_candidates" in table.columns:
        most = table.whole("n_candidates", 2, MOST_ITEMS)
    if most is None:
        raise InputError(_WITHOUT_SIZE)
    rank = table.whole("rank", 1, most)
    if USER in table.columns:
        row = first_duplicate(table.codes(USER)[0], rank)
        if row is not None:
            raise table.error("rank", row, rank[row], "each rank once per user")
    return np.full_like(rank, most), rank - 1, np.zeros_like(rank)


def _by_user(
    table: Table, counts: tuple[Int, Int, Int], grades: Float | None, source: str
) -> Ranks:
    """Put the rows of each user together."""
    n_candidates, n_better, n_tied = counts
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
    return Ranks(
        of_user,
        n_better[order],
        n_tied[order],
        n_found=n_found,
        relevance=select_rows(grades, order),
        users=as_numpy(user_ids),
        source=source,
    )
