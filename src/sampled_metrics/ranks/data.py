"""Choice of the constructor of `Ranks` or `SampledRanks` for any kind of data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from sampled_metrics._base.arguments import (
    ALL_CORES,
    check_arguments,
    check_n_items,
    is_function,
    require_same,
)
from sampled_metrics._base.array_types import Array
from sampled_metrics._base.conversion import numeric_array, to_numpy
from sampled_metrics._base.errors import InputError, cli_option, reading, suppress_warnings
from sampled_metrics.inputs.counting import BLOCK_SIZE, EarlyStop
from sampled_metrics.inputs.items import RELEVANT, items_for_scores
from sampled_metrics.inputs.pair_scores import PairScores
from sampled_metrics.inputs.products import InnerProducts
from sampled_metrics.inputs.roles import ITEM, USER, VISIT, NamesByRole, naming
from sampled_metrics.inputs.scores import (
    ScoreSource,
    count_scores,
    read_column,
    read_scores,
    scores_from_function,
    scores_from_vectors,
)
from sampled_metrics.inputs.tables import Table, as_table, read_table
from sampled_metrics.ranks.rank_tables import COUNT_COLUMNS
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.sampled import SampledRanks
from sampled_metrics.ranks.warnings import (
    LEAST_SHARE_BELOW,
    warn_about_equal_scores,
    warn_about_ranks,
    warn_about_sampled_ranks,
    warn_about_seen_items,
)

# Items by user: a table, a file, a dictionary, an array or a sparse matrix.
ItemsByUser: TypeAlias = Any
# Rankings of one recommender: Ranks, SampledRanks, scores, lists, a table or a file.
Data: TypeAlias = Any

_ROWS_CHECKED = 1000  # at the beginning of an array, to see whether it holds whole numbers
# Users ranked in full before the others are cut; they show whether full rankings would raise
# warnings. More of them cost time, fewer say too little about the others.
_USERS_RANKED_IN_FULL = 128
_DEFAULTS = {"complete": False, "min_relevance": 0.0, "missing": "refuse"}  # others are None


class Cut(NamedTuple):
    """Where rankings by products of vectors may end, if nothing needs more places."""

    up_to: int  # number of places
    is_enough: Callable[[Ranks], bool]  # whether ranks cut there give all results


@dataclass(frozen=True, eq=False)
class _RankingOptions:
    """Options of `as_ranks`."""

    n_items: int | None
    complete: bool
    min_relevance: float
    missing: str
    relevant: ItemsByUser | None
    seen: ItemsByUser | None
    n_jobs: int
    progress: bool | None
    cut: Cut | None

    @property
    def for_lists(self) -> dict[str, Any]:
        """Arguments of `Ranks.from_lists` and `Ranks.from_top_k`."""
        return {
            "n_items": self.n_items,
            "complete": self.complete,
            "min_relevance": self.min_relevance,
            "missing": self.missing,
            "relevant": self.relevant,
            "seen": self.seen,
        }

    def refuse_others(self, kind: str, *allowed: str) -> None:
        """Raise InputError for an option that does not go with a kind of data."""
        refuse_other_options(kind, *allowed, **self.for_lists)


def as_ranks(
    data: Data,
    *,
    relevant: ItemsByUser | None = None,
    seen: ItemsByUser | None = None,
    n_items: int | None = None,
    complete: bool = False,
    min_relevance: float = 0.0,
    missing: str = "refuse",
    n_jobs: int = ALL_CORES,
    progress: bool | None = None,
    cut: Cut | None = None,
    columns: NamesByRole = None,
) -> Ranks:
    """Return the ranks of relevant items in full rankings, or in lists of the best items.

    Options are those of `evaluate`. With `cut`, rankings by vectors or by a function of pairs may
    end there.

    Examples
    --------
    >>> as_ranks([[0.3, 0.9, 0.5]], relevant=[2]).best_rank
    array([2])
    >>> as_ranks({"anna": [7, 9]}, relevant={"anna": [9]}).best_rank
    array([2])
    """
    n_items = check_n_items(n_items)
    check_arguments(
        n_items=n_items, complete=complete, min_relevance=min_relevance, missing=missing
    )
    options = _RankingOptions(
        n_items=n_items,
        complete=complete,
        min_relevance=min_relevance,
        missing=missing,
        relevant=relevant,
        seen=seen,
        n_jobs=n_jobs,
        progress=progress,
        cut=cut,
    )
    with reading(data), naming(columns):
        ranks = _construct_ranks(data, options)
        if not len(ranks):
            raise InputError("no user has a relevant item; expected at least one who has")
        warn_about_ranks(ranks)
        return ranks.at_least(min_relevance) if min_relevance > ranks.min_relevance else ranks


def _construct_ranks(data: Any, options: _RankingOptions) -> Ranks:
    """Call the constructor for the kind of data, with the options that it takes."""
    if isinstance(data, Ranks):
        options.refuse_others("Ranks", "min_relevance")
        return data
    if isinstance(data, SampledRanks):
        raise InputError("found sampled ranks; `correct` takes them")
    table = as_table(data)
    if table is not None:
        return _ranks_from_table(table, options)
    if _is_pair_of_matrices(data):
        return _ranks_from_pair(data, options)
    if is_function(data):
        scores = scores_from_function(data, options.relevant, options.n_items)
        return _ranks_from_scores(scores, options)
    ranks = read_column(data)
    if ranks is not None:
        return _ranks_from_column(ranks, options)
    scores = read_scores(data)
    if not issparse(data):
        _refuse_ids(scores)
    return _ranks_from_scores(scores, options)


def _is_pair_of_matrices(data: Any) -> bool:
    return isinstance(data, tuple) and [np.ndim(part) for part in data] == [2, 2]


def _ranks_from_column(ranks: Array, options: _RankingOptions) -> Ranks:
    if options.relevant is not None:
        raise InputError(
            "relevant (--relevant) does not go with ranks, one number for each user; leave it out, "
            "and compare with Ranks.from_scores(scores, relevant); give scores of one user as a "
            "row, data[None] and relevant[None]"
        )
    options.refuse_others("ranks", "n_items", "min_relevance")
    return Ranks.from_ranks(ranks, options.n_items)


def _ranks_from_table(table: Table, options: _RankingOptions) -> Ranks:
    """Distinguish tables of lists, of counts, of ranks and of labelled pairs."""
    columns = table.columns.keys()
    if "sampled_rank" in columns:
        raise InputError("found sampled ranks; `sampled-metrics correct` takes them")
    if {"score", "label"} <= columns and options.relevant is None:
        if not options.complete:
            raise InputError(
                "found labelled pairs; if they are of all candidates, give complete=True "
                "(--complete) or use Ranks.from_pairs; `correct` takes pairs of held-out items and "
                "sampled negatives"
            )
        options.refuse_others("labelled pairs", "complete", "min_relevance")
        return Ranks.from_pairs(table, min_relevance=options.min_relevance)
    has_order = not columns.isdisjoint(("rank", "score"))
    is_list = ITEM in columns and has_order and "n_candidates" not in columns
    if is_list and "label" in columns and options.relevant is None:
        raise InputError(
            "found lists with labels; give relevant (--relevant), which may be the same table: its "
            "rows of label 0 are not relevant"
        )
    if is_list or columns - {USER, VISIT} == {ITEM}:
        return Ranks.from_lists(table, **options.for_lists)
    if has_order and options.relevant is not None and table.unknown_columns:
        raise InputError(
            f"found no column of items among {', '.join(table.names)}: lists need one, such as "
            f"{ITEM}; for ranks of relevant items leave relevant (--relevant) out"
        )
    if not columns.isdisjoint(("rank", *COUNT_COLUMNS)):
        options.refuse_others("ranks", "n_items", "min_relevance")
    return Ranks.from_table(table, options.n_items)


def _ranks_from_pair(data: tuple[Any, Any], options: _RankingOptions) -> Ranks:
    """Distinguish the ids and scores of a retriever, in any order, from vectors."""
    arrays = numeric_array(data[0]), numeric_array(data[1])
    are_whole = [array.dtype.kind in "iu" for array in arrays]
    if not any(are_whole) and _are_vectors(arrays, options.relevant):
        return _ranks_from_scores(scores_from_vectors(*data), options)
    if all(are_whole) or not any(are_whole):
        raise InputError(
            "found two arrays of one kind; use Ranks.from_top_k(ids, relevant, scores=...) or "
            "Ranks.from_factors(users, items, ...)"
        )
    ids, scores = arrays if are_whole[0] else reversed(arrays)
    return Ranks.from_top_k(ids, scores=scores, **options.for_lists)


def _are_vectors(arrays: tuple[Array, Array], relevant: ItemsByUser | None) -> bool:
    """Return whether two arrays of floats are vectors of users and of items.

    Otherwise they are the columns and the scores of lists, one list per row. They are vectors if

    1. their shapes differ, because each entry of a list has a score; or
    2. neither has whole numbers only, as columns are, and some relevant item has the number d or
       more, where d is the width: so it is not a column of an array of this width.

    In all other cases, also if `relevant` cannot be read, they are not taken for vectors.
    """
    if arrays[0].shape != arrays[1].shape:
        return True
    n, d = arrays[0].shape
    first_rows = [array[:_ROWS_CHECKED] for array in arrays]
    if relevant is None or any((rows == np.rint(rows)).all() for rows in first_rows):
        return False
    try:
        with suppress_warnings():
            items = items_for_scores(relevant, RELEVANT, (n, n))
    except InputError:
        return False
    return bool(items.item.max(initial=0) >= d)


def _ranks_from_scores(scores: ScoreSource, options: _RankingOptions) -> Ranks:
    options.refuse_others("scores", "relevant", "seen", "n_items", "min_relevance")
    require_same("n_items", options.n_items, "number of items", scores.shape[1])
    min_relevance = options.min_relevance
    cut = options.cut
    early = None
    if cut is not None and isinstance(scores.rows, InnerProducts | PairScores):
        early = EarlyStop(
            up_to=cut.up_to,
            n_whole=_USERS_RANKED_IN_FULL,
            may_end=lambda counts: _may_end(Ranks.from_counts(counts, min_relevance), cut),
            is_enough=lambda counts: _cut_is_enough(Ranks.from_counts(counts, min_relevance), cut),
        )
    counts = count_scores(
        scores,
        options.relevant,
        options.seen,
        min_relevance=min_relevance,
        n_jobs=options.n_jobs,
        progress=options.progress,
        early=early,
    )
    ranks = Ranks.from_counts(counts, min_relevance)
    if options.seen is None:
        warn_about_seen_items(ranks, scores.shape[1])
    return ranks


def _may_end(full_ranks: Ranks, cut: Cut) -> bool:
    """Return whether full rankings of all users would raise no warning, as those of some show."""
    n_others = np.repeat(full_ranks.n_candidates - 1, full_ranks.n_found)
    share_below = 1.0 - (full_ranks.n_better + 0.5 * full_ranks.n_tied) / n_others
    with suppress_warnings() as warnings:
        warn_about_ranks(full_ranks)
    standard_error = share_below.std() / np.sqrt(share_below.size)
    # Five standard errors, because a warning about all users must not be missed.
    is_good = share_below.mean() - 5.0 * standard_error > LEAST_SHARE_BELOW
    return is_good and not warnings and cut.is_enough(full_ranks)


def _cut_is_enough(ranks: Ranks, cut: Cut) -> bool:
    """Return whether ranks that end at a cut-off give all results and raise no warning."""
    n_others = np.repeat(ranks.n_candidates - 1, ranks.n_found)
    with suppress_warnings() as warnings:
        warn_about_equal_scores(ranks.n_tied, n_others, int(ranks.n_relevant.sum()))
    return not warnings and cut.is_enough(ranks)


def refuse_vectors(data: Data, remedy: str) -> None:
    """Raise InputError for vectors of users and items: sampling would save hardly any time.

    These are two matrices of floats with the same number of columns.
    """
    if not _is_pair_of_matrices(data):
        return
    users, items = (numeric_array(part) for part in data)
    if users.shape[1] == items.shape[1] and {users.dtype.kind, items.dtype.kind} == {"f"}:
        raise InputError(
            "found vectors of users and of items; exact metrics at a cut-off cost about as much as "
            f"metrics of 100 negatives: {remedy}"
        )


def refuse_other_options(kind: str, *allowed: str, **options: Any) -> None:
    """Raise InputError for the first option that is not allowed with a kind of data.

    Options with their default values are ignored.
    """
    for name, value in options.items():
        is_default = value is None or (name in _DEFAULTS and value == _DEFAULTS[name])
        if not is_default and name not in allowed:
            raise InputError(f"{name} ({cli_option(name)}) does not go with {kind}; leave it out")


def _refuse_ids(scores: ScoreSource) -> None:
    """Raise InputError if the first rows are different whole numbers, which are probably ids."""
    rows = scores.rows(np.arange(min(scores.shape[0], _ROWS_CHECKED)))
    if "float" in str(rows.dtype):
        return
    rows = to_numpy(rows)
    if rows.dtype.kind in "iu" and _look_like_ids(rows):
        raise InputError(
            "found rows of different whole numbers; if they are ids, best first, use "
            "Ranks.from_top_k(ids, relevant); if they are scores, give floats"
        )


def _look_like_ids(rows: Array) -> bool:
    """Return whether the numbers of each row are different, except -1 at the end of a list."""
    ordered = np.sort(rows, axis=1)
    is_repeated = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] != -1)
    return bool(ordered[:, 0].min() >= -1) and not is_repeated.any()


def as_sampled_ranks(
    data: Data,
    *,
    positive: ArrayLike | None = None,
    relevant: ItemsByUser | None = None,
    n_items: ArrayLike | None = None,
    n_negatives: int | None = None,
    sampling: str | None = None,
    ties: str = "random",
    seed: int = 0,
    missing: str = "refuse",
    columns: NamesByRole = None,
) -> SampledRanks:
    """Return the sampled ranks of any kind of data; options are those of `correct`.

    Examples
    --------
    >>> as_sampled_ranks([[0.9, 0.1, 0.4], [0.2, 0.1, 0.4]], n_items=5, positive=0).sampled_ranks
    array([1, 2])
    """
    check_arguments(
        tie_policy=ties, missing=missing, n_negatives=n_negatives, sampling=sampling, seed=seed
    )
    with reading(data), naming(columns):
        sampled = _construct_sampled_ranks(
            data,
            positive=positive,
            relevant=relevant,
            n_items=n_items,
            n_negatives=n_negatives,
            sampling=sampling,
            ties=ties,
            seed=seed,
            missing=missing,
        )
        warn_about_sampled_ranks(sampled)
        return sampled


def _construct_sampled_ranks(
    data: Any,
    *,
    positive: Any,
    relevant: Any,
    n_items: ArrayLike | None,
    n_negatives: int | None,
    sampling: str | None,
    ties: str,
    seed: int,
    missing: str,
) -> SampledRanks:
    """Call the constructor for the kind of data, with the options that it takes."""
    draw: dict[str, Any] = {
        "n_items": n_items,
        "n_negatives": n_negatives,
        "sampling": sampling,
    }
    if isinstance(data, Ranks):
        raise InputError("found full rankings, which need no correction; `evaluate` takes them")
    if isinstance(data, SampledRanks):
        refuse_other_options("sampled ranks", positive=positive, relevant=relevant)
        for name, value in draw.items():
            require_same(name, value, name, getattr(data, name))
        return data
    refuse_vectors(data, "`evaluate` takes them")
    table = as_table(data, "sampled ranks")
    if table is None:
        ranks = read_column(data, "sampled ranks")
        if ranks is None:
            _refuse_relevant(data, relevant)
            return SampledRanks.from_scores(
                data, positive, ties=ties, seed=seed, missing=missing, **draw
            )
        if positive is not None:
            raise InputError(
                "positive (--positive) does not go with ranks, one number for each row; "
                "give scores of a held-out item and its negatives as rows, "
                "scores.reshape(-1, 1 + n_negatives)"
            )
        table = read_table({"sampled_rank": ranks}, "sampled ranks")
    refuse_other_options("a table or ranks", positive=positive)
    if "sampled_rank" in table.columns:
        refuse_other_options("sampled ranks", relevant=relevant)
        return SampledRanks.from_table(table, seed=seed, **draw)
    return SampledRanks.from_pairs(table, relevant, ties=ties, seed=seed, missing=missing, **draw)


def _refuse_relevant(data: Any, relevant: Any) -> None:
    """Raise InputError for held-out items or for ids beside a matrix of scores of samples."""
    if _is_pair_of_matrices(data):
        raise InputError(
            "found two arrays; give the scores of candidates alone, and the columns of held-out "
            "items by positive, such as 0, or (ids == held_out[:, None]).argmax(axis=1)"
        )
    if relevant is not None:
        raise InputError(
            "relevant (--relevant) does not go with a matrix of scores; leave it out, and give the "
            "columns of held-out items by positive (--positive)"
        )


def rank(
    score: Any,
    seen: Any,
    relevant: Any,
    *,
    users: ArrayLike | None = None,
    visits: ArrayLike | None = None,
    items: ArrayLike | None = None,
    min_relevance: float = 0.0,
    up_to: int | None = None,
    n_items: int | None = None,
    block_size: int = BLOCK_SIZE,
    n_jobs: int = ALL_CORES,
    progress: bool | None = None,
    columns: NamesByRole = None,
) -> Ranks:
    """Rank each user's relevant items among all items that the user has not seen.

    Parameters
    ----------
    score
        A matrix of shape (users, items), a function of row numbers of users, or vectors of users
        and vectors of items; see `Ranks.from_scores`, `from_function` and `from_factors`.
    n_items
        Number of items, for a function of users and items.
    seen, relevant, users, visits, items, min_relevance, up_to, block_size, n_jobs, progress
        See `Ranks.from_scores`.
    columns
        See `Ranks.from_scores`.

    Returns
    -------
    Ranks
        Ranks of all relevant items.

    Raises
    ------
    InputError
        If the data or an option cannot be used; the message says where, why and what to give.

    See Also
    --------
    evaluate : Metrics of these ranks.
    Ranks : Ranks from lists, tables and files.

    Examples
    --------
    >>> scores = np.array([[9.0, 7, 5, 5, 5], [3, 8, 1, -np.inf, 2]])
    >>> seen = np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]], dtype=bool)
    >>> rank(lambda users: scores[users], seen, [2, 4])
    Ranks(n_candidates=array([4, 4]), n_better=array([1, 2]), n_tied=array([2, 0]))
    """
    if isinstance(score, tuple) and len(score) == 2:
        score = scores_from_vectors(*score)
    elif is_function(score):
        score = scores_from_function(score, relevant, n_items, users)
    return Ranks.from_scores(
        score,
        relevant,
        seen=seen,
        users=users,
        visits=visits,
        items=items,
        min_relevance=min_relevance,
        up_to=up_to,
        block_size=block_size,
        n_jobs=n_jobs,
        progress=progress,
        columns=columns,
    )
