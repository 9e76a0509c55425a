"""Ranks of any data that has them: the choice of the constructor."""

from __future__ import annotations

from collections.abc import Callable
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
    is_one_dimensional,
    open_array,
    read_scores,
    scores_from_function,
    scores_from_vectors,
)
from sampled_metrics.inputs.tables import Table, as_table, read_table
from sampled_metrics.ranks.rank_tables import COUNT_COLUMNS
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.sampled import SampledRanks
from sampled_metrics.ranks.warnings import (
    POOR,
    warn_about_equal_scores,
    warn_about_ranks,
    warn_about_sampled_ranks,
    warn_about_seen_items,
)

ItemsByUser: TypeAlias = (
    Any  # items by user: a table, a file, a dictionary, an array, a sparse matrix
)
Data: TypeAlias = Any  # Ranks, SampledRanks, scores, lists, tables, files

_SOME = 1000  # rows that tell whether an array holds whole numbers
_WHOLE = 128  # users whose rankings tell questions about all, where the others are cut
_WHOLE_NUMBERS = (
    "found rows of different whole numbers. Ids, best first? Ranks.from_top_k(ids, relevant); "
    "scores? Give floats"
)
_PAIR = "use Ranks.from_top_k(ids, relevant, scores=...) or Ranks.from_factors(users, items, ...)"
_DEFAULTS = {"complete": False, "min_relevance": 0.0, "missing": "refuse"}  # others are None
_LABELLED = (
    "found labelled pairs. Of all candidates? complete=True (--complete), or Ranks.from_pairs; of "
    "held-out items and sampled negatives? `correct` takes them"
)


class Cut(NamedTuple):
    """How far rankings by products of vectors are looked at, if nothing needs more of them."""

    up_to: int
    is_enough: Callable[[Ranks], bool]  # whether cut ranks tell all that full ones would


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

    Options are as for `evaluate`. With `cut` most full rankings may be cut.

    Examples
    --------
    >>> as_ranks([[0.3, 0.9, 0.5]], relevant=[2]).best_rank
    array([2])
    >>> as_ranks({"anna": [7, 9]}, relevant={"anna": [9]}).best_rank
    array([2])
    """
    options: dict[str, Any] = {
        "n_items": check_n_items(n_items),
        "complete": complete,
        "min_relevance": min_relevance,
        "missing": missing,
    }
    check_arguments(**options)
    options.update(relevant=relevant, seen=seen)
    with reading(data), naming(columns):
        work = {"n_jobs": n_jobs, "progress": progress, "cut": cut}
        ranks = _ranks_of(data, options, work)
        if not len(ranks):
            raise InputError("no user has a relevant item; expected at least one who has")
        warn_about_ranks(ranks)
        return ranks.at_least(min_relevance) if min_relevance > ranks.min_relevance else ranks


def _ranks_of(data: Any, options: dict[str, Any], work: dict[str, Any]) -> Ranks:
    """Call the constructor for a kind of data, with the options that it takes."""
    if isinstance(data, Ranks):
        taken(options, "Ranks", "min_relevance")
        return data
    if isinstance(data, SampledRanks):
        raise InputError("found sampled ranks; `correct` takes them")
    table = as_table(data)
    if table is not None:
        return _ranks_of_table(table, options)
    if isinstance(data, tuple) and [np.ndim(part) for part in data] == [2, 2]:
        return _ranks_of_pair(data, options, work)
    if is_function(data):
        scores = scores_from_function(data, options["relevant"], options["n_items"])
        return _ranks_of_scores(scores, options, work)
    data = open_array(data)
    if is_one_dimensional(data):
        return _ranks_of_column(numeric_array(data), options)
    scores = read_scores(data)
    if not issparse(data):
        _refuse_ids(scores)
    return _ranks_of_scores(scores, options, work)


def _ranks_of_column(ranks: Array, options: dict[str, Any]) -> Ranks:
    if options["relevant"] is not None:
        raise InputError(
            "relevant (--relevant) does not go with ranks, one number for each user; give scores "
            "of one user as a row, data[None] and relevant[None]"
        )
    n_items = taken(options, "ranks", "n_items", "min_relevance")["n_items"]
    return Ranks.from_ranks(ranks, n_items)


def _ranks_of_table(table: Table, options: dict[str, Any]) -> Ranks:
    """Tell tables of lists from tables of counts, of ranks and of labelled pairs."""
    columns = table.columns.keys()
    if "sampled_rank" in columns:
        raise InputError("found sampled ranks; `sampled-metrics correct` takes them")
    if {"score", "label"} <= columns and options["relevant"] is None:
        if not options["complete"]:
            raise InputError(_LABELLED)
        given = taken(options, "labelled pairs", "complete", "min_relevance")
        return Ranks.from_pairs(table, min_relevance=given["min_relevance"])
    has_order = not columns.isdisjoint(("rank", "score"))
    is_list = ITEM in columns and has_order and "n_candidates" not in columns
    if is_list and "label" in columns and options["relevant"] is None:
        raise InputError(
            "found lists with labels; give relevant (--relevant), which may be the same table: its "
            "rows of label 0 are not relevant"
        )
    if is_list or columns - {USER, VISIT} == {ITEM}:
        return Ranks.from_lists(table, **options)
    if has_order and options["relevant"] is not None and table.unknown_columns:
        raise InputError(
            f"found no column of items among {', '.join(table.names)}: lists need one, such as "
            f"{ITEM}; of ranks of relevant items leave relevant (--relevant) out"
        )
    if not columns.isdisjoint(("rank", *COUNT_COLUMNS)):
        taken(options, "ranks", "n_items", "min_relevance")
    return Ranks.from_table(table, options["n_items"])


def _ranks_of_pair(data: tuple[Any, Any], options: dict[str, Any], work: dict[str, Any]) -> Ranks:
    """Tell (ids, scores) and (scores, ids) of a retriever from vectors of users and of items."""
    arrays = numeric_array(data[0]), numeric_array(data[1])
    are_whole = [array.dtype.kind in "iu" for array in arrays]
    if not any(are_whole) and _are_vectors(arrays, options["relevant"]):
        return _ranks_of_scores(scores_from_vectors(*data), options, work)
    if all(are_whole) or not any(are_whole):
        raise InputError(f"found two arrays of one kind; {_PAIR}")
    ids, scores = arrays if are_whole[0] else reversed(arrays)
    given = taken(options, "lists", *options)
    return Ranks.from_top_k(ids, scores=scores, **given)


def _are_vectors(arrays: tuple[Array, Array], relevant: ItemsByUser | None) -> bool:
    """Return whether two arrays of numbers are vectors of users and of items.

    If there are as many users as items, relevant items tell: they have higher numbers than lists of
    as many places as vectors are long could have.
    """
    if arrays[0].shape != arrays[1].shape:
        return True
    n, d = arrays[0].shape
    begins = [array[:_SOME] for array in arrays]
    if relevant is None or any((begin == np.rint(begin)).all() for begin in begins):
        return False
    try:
        with suppress_warnings():
            items = items_for_scores(relevant, RELEVANT, (n, n), None, None, 0.0)
    except InputError:
        return False
    return bool(items.item.max(initial=0) >= d)


def _ranks_of_scores(scores: ScoreSource, options: dict[str, Any], work: dict[str, Any]) -> Ranks:
    given = taken(options, "scores", "relevant", "seen", "n_items", "min_relevance")
    require_same("n_items", given.pop("n_items"), "number of items", scores.shape[1])
    cut = work.pop("cut")
    min_relevance = given["min_relevance"]
    early = None
    if cut is not None and isinstance(scores.rows, InnerProducts | PairScores):
        early = EarlyStop(
            up_to=cut.up_to,
            n_whole=_WHOLE,
            may_end=lambda counts: _may_end(Ranks.from_counts(counts, min_relevance), cut),
            is_enough=lambda counts: _is_enough(Ranks.from_counts(counts, min_relevance), cut),
        )
    counts = count_scores(scores, **given, **work, early=early)
    ranks = Ranks.from_counts(counts, min_relevance)
    if given["seen"] is None:
        warn_about_seen_items(ranks, scores.shape[1])
    return ranks


def _may_end(whole: Ranks, cut: Cut) -> bool:
    """Return whether full ranks of all users would raise no warning, as those of some show."""
    others = np.repeat(whole.n_candidates - 1, whole.n_found)
    below = 1.0 - (whole.n_better + 0.5 * whole.n_tied) / others
    with suppress_warnings() as questions:
        warn_about_ranks(whole)
    is_good = below.mean() - 5.0 * below.std() / np.sqrt(below.size) > POOR
    return is_good and not questions and cut.is_enough(whole)


def _is_enough(ranks: Ranks, cut: Cut) -> bool:
    """Return whether ranks that end at a cut-off tell all that full ones would."""
    others = np.repeat(ranks.n_candidates - 1, ranks.n_found)
    with suppress_warnings() as questions:
        warn_about_equal_scores(ranks.n_tied, others, int(ranks.n_relevant.sum()))
    return not questions and cut.is_enough(ranks)


def refuse_vectors(data: Data, remedy: str) -> None:
    """Raise InputError for vectors of users and of items, by which no negatives are needed."""
    if not isinstance(data, tuple) or [np.ndim(part) for part in data] != [2, 2]:
        return
    users, items = (numeric_array(part) for part in data)
    if users.shape[1] == items.shape[1] and {users.dtype.kind, items.dtype.kind} == {"f"}:
        raise InputError(
            "found vectors of users and of items: exact metrics at a cut-off cost about what 100 "
            f"negatives do; {remedy}"
        )


def taken(options: dict[str, Any], kind: str, *names: str) -> dict[str, Any]:
    """Return options by name; others that are given raise InputError."""
    for name, value in options.items():
        is_given = value is not None and (name not in _DEFAULTS or value != _DEFAULTS[name])
        if is_given and name not in names:
            raise InputError(f"{name} ({cli_option(name)}) does not go with {kind}; leave it out")
    return {name: options[name] for name in names if name in options}


def _refuse_ids(scores: ScoreSource) -> None:
    """Raise InputError for rows of different whole numbers, which may be ids."""
    some = scores.rows(np.arange(min(scores.shape[0], 1000)))
    if "float" in str(some.dtype):
        return
    some = to_numpy(some)
    if some.dtype.kind in "iu" and _are_ids(some):
        raise InputError(_WHOLE_NUMBERS)


def _are_ids(rows: Array) -> bool:
    """Return whether rows may be ids of items: different numbers, maybe -1 at the end of a list."""
    ordered = np.sort(rows, axis=1)
    is_again = (np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] != -1)
    return bool(ordered[:, 0].min() >= -1) and not is_again.any()


def as_sampled(
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
    """Return the sampled ranks of some data, with the options of `correct`.

    Examples
    --------
    >>> as_sampled([[0.9, 0.1, 0.4], [0.2, 0.1, 0.4]], n_items=5, positive=0).sampled_ranks
    array([1, 2])
    """
    drawn: dict[str, Any] = {"n_negatives": n_negatives, "sampling": sampling, "seed": seed}
    check_arguments(tie_policy=ties, missing=missing, **drawn)
    drawn["n_items"] = n_items
    with reading(data), naming(columns):
        found = _sampled_of(data, positive, relevant, drawn, {"ties": ties, "missing": missing})
        warn_about_sampled_ranks(found)
        return found


def _sampled_of(
    data: Any, positive: Any, relevant: Any, drawn: dict[str, Any], scored: dict[str, Any]
) -> SampledRanks:
    """Call the constructor for a kind of data; options `scored` are of scores or lists only."""
    if isinstance(data, Ranks):
        raise InputError("found full rankings, which need no correction; `evaluate` takes them")
    if isinstance(data, SampledRanks):
        taken({"positive": positive, "relevant": relevant}, "sampled ranks")
        for name in ("n_items", "n_negatives", "sampling"):
            require_same(name, drawn[name], name, getattr(data, name))
        return data
    refuse_vectors(data, "`evaluate` takes them")
    table = as_table(data, "sampled ranks")
    if table is None:
        data = open_array(data, "sampled ranks")
        if not is_one_dimensional(data):
            _refuse_relevant(data, relevant)
            return SampledRanks.from_scores(data, positive, **drawn, **scored)
        if positive is not None:
            raise InputError(
                "positive (--positive) does not go with ranks, one number for each row; "
                "give scores of a held-out item and its negatives as rows, "
                "scores.reshape(-1, 1 + n_negatives)"
            )
        table = read_table({"sampled_rank": numeric_array(data)}, "sampled ranks")
    taken({"positive": positive}, "a table or ranks")
    if "sampled_rank" in table.columns:
        taken({"relevant": relevant}, "sampled ranks")
        return SampledRanks.from_table(table, **drawn)
    return SampledRanks.from_pairs(table, relevant, **drawn, **scored)


def _refuse_relevant(data: Any, relevant: Any) -> None:
    """Raise InputError for held-out items beside scores of samples, and for a pair with ids."""
    if isinstance(data, tuple) and [np.ndim(part) for part in data] == [2, 2]:
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
        A matrix, users x items, a function of rows of users, or a pair of vectors of users and of
        items; see `Ranks.from_scores`, `from_function` and `from_factors`.
    n_items
        Number of items, for a function of pairs of users and items.
    seen, relevant, users, visits, items, min_relevance, up_to, block_size, n_jobs, progress
        See `Ranks.from_scores`.
    columns
        See `Ranks.from_scores`.

    Returns
    -------
    Ranks
        Places of all relevant items.

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
