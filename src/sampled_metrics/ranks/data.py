"""Ranks of whatever people hold: which constructor takes it."""

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from sampled_metrics._base.arguments import check_arguments, is_function, require_same
from sampled_metrics._base.arrays import Array, as_array
from sampled_metrics._base.errors import InputError, flag, reading
from sampled_metrics.inputs.counting import BLOCK_SIZE, MISSING
from sampled_metrics.inputs.items import table_of
from sampled_metrics.inputs.scores import (
    Scores,
    factors,
    function,
    is_column,
    opened,
    scores_of,
)
from sampled_metrics.inputs.tables import ITEM, RUN, USER, Table
from sampled_metrics.ranks.questions import question_ranks, question_samples, question_seen
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.sampled import SampledRanks
from sampled_metrics.ranks.sampling import Sampling

OfUsers: TypeAlias = Any  # items by user: a table, a file, a dictionary, an array, a sparse matrix
Data: TypeAlias = Any  # Ranks, SampledRanks, scores, lists, tables, files

_WHOLE_NUMBERS = (
    "found rows of different whole numbers. Ids, best first? Ranks.from_top_k(ids, relevant); "
    "scores? Give floats"
)
_PAIR = "use Ranks.from_top_k(ids, relevant, scores=...) or Ranks.from_factors(users, items, ...)"
_LABELLED = (
    "found labelled pairs. Of all candidates? complete=True (--complete), or Ranks.from_pairs; of "
    "held-out items and sampled negatives? `correct` takes them"
)


def as_ranks(
    data: Data,
    *,
    relevant: OfUsers | None = None,
    seen: OfUsers | None = None,
    n_items: int | None = None,
    complete: bool = False,
    min_relevance: float = 0.0,
    missing: str = "refuse",
) -> Ranks:
    """Return the ranks of relevant items in full rankings, or in lists of the best items.

    Examples
    --------
    >>> as_ranks([[0.3, 0.9, 0.5]], relevant=[2]).best_rank
    array([2])
    >>> as_ranks({"anna": [7, 9]}, relevant={"anna": [9]}).best_rank
    array([2])
    """
    check_arguments(n_items=n_items, complete=complete, min_relevance=min_relevance)
    options = {
        "relevant": relevant,
        "seen": seen,
        "n_items": n_items,
        "complete": complete,
        "min_relevance": min_relevance,
        "missing": missing,
    }
    with reading(data):
        ranks = _ranks_of(data, options)
        if not len(ranks):
            raise InputError("no user has a relevant item; expected at least one who has")
        question_ranks(ranks)
        return ranks.at_least(min_relevance) if min_relevance > ranks.min_relevance else ranks


def _ranks_of(data: Any, options: dict[str, Any]) -> Ranks:
    """Call the constructor for a kind of data, with the options that it takes."""
    if isinstance(data, Ranks):
        taken(options, "Ranks", "min_relevance")
        return data
    if isinstance(data, SampledRanks):
        raise InputError("found sampled ranks; `correct` takes them")
    table = table_of(data, "ranks, lists or scores", "data", "score", RUN)
    if table is not None:
        return _ranks_of_table(table, options)
    if isinstance(data, tuple) and [np.ndim(part) for part in data] == [2, 2]:
        return _ranks_of_pair(data, options)
    if is_function(data):
        return _ranks_of_scores(function(data, options["relevant"], options["seen"]), options)
    data = opened(data)
    if is_column(data):
        data = as_array(data)
        n_items = taken(options, "ranks", "n_items", "min_relevance")["n_items"]
        return Ranks.from_ranks(data, n_items)
    scores = scores_of(data)
    if not issparse(data):
        _refuse_ids(scores)
    return _ranks_of_scores(scores, options)


def _ranks_of_table(table: Table, options: dict[str, Any]) -> Ranks:
    """Tell tables of lists from those of counts, of ranks and of labelled pairs."""
    columns = table.columns.keys()
    if "sampled_rank" in columns:
        raise InputError("found sampled ranks; `sampled-metrics correct` takes them")
    if {"score", "label"} <= columns and options["relevant"] is None:
        if not options["complete"]:
            raise InputError(_LABELLED)
        return Ranks.from_pairs(table, **taken(options, "labelled pairs", "min_relevance"))
    has_order = not columns.isdisjoint(("rank", "score"))
    is_list = ITEM in columns and has_order and "n_candidates" not in columns
    if is_list or columns == {USER, ITEM}:
        return Ranks.from_lists(table, **options)
    given = taken(options, "ranks", "n_items", "min_relevance")
    return Ranks.from_table(table, given["n_items"])


def _ranks_of_pair(data: tuple[Any, Any], options: dict[str, Any]) -> Ranks:
    """Tell (ids, scores) and (scores, ids) of a retriever from vectors of users and of items."""
    arrays = as_array(data[0]), as_array(data[1])
    are_whole = [array.dtype.kind in "iu" for array in arrays]
    if not any(are_whole):
        are_ids = [_are_ids(array) and (array % 1 == 0).all() for array in arrays]
        if arrays[0].shape == arrays[1].shape and sum(are_ids) == 1:
            raise InputError(f"found ids as floats; give integers, or {_PAIR}")
        return _ranks_of_scores(factors(*arrays), options)
    if all(are_whole):
        raise InputError(f"found two arrays of whole numbers; {_PAIR}")
    ids, scores = arrays if are_whole[0] else reversed(arrays)
    given = taken(options, "lists", "relevant", "seen", "n_items", "min_relevance", "missing")
    return Ranks.from_top_k(ids, scores=scores, **given)


def _ranks_of_scores(scores: Scores, options: dict[str, Any]) -> Ranks:
    given = taken(options, "scores", "relevant", "seen", "n_items", "min_relevance")
    require_same("n_items", given.pop("n_items"), "number of items", scores.shape[1])
    ranks = Ranks.from_scores(scores, **given)
    if given["seen"] is None and "seen" not in scores.beside:
        question_seen(ranks, scores.shape[1] or int(ranks.n_candidates[0]))
    return ranks


def taken(options: dict[str, Any], kind: str, *names: str) -> dict[str, Any]:
    """Return options by name; others that are given raise InputError."""
    unset = {"complete": False, "missing": MISSING[0], "min_relevance": 0.0}
    for name, value in options.items():
        if name not in names and value is not None and value != unset.get(name, ...):
            raise InputError(f"{name} ({flag(name)}) does not go with {kind}; leave it out")
    return {name: options[name] for name in names if name in options}


def _refuse_ids(scores: Scores) -> None:
    """Raise InputError for rows of different whole numbers, which may be ids."""
    some = scores.rows(np.arange(min(scores.shape[0], 1000)))
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
    n_items: ArrayLike | None = None,
    n_negatives: int | None = None,
    sampling: str | None = None,
    positive: ArrayLike | None = None,
    relevant: OfUsers | None = None,
    ties: str = "random",
    seed: int = 0,
    missing: str = "refuse",
) -> SampledRanks:
    """Return the sampled ranks that some data gives.

    Examples
    --------
    >>> as_sampled([[0.9, 0.1, 0.4], [0.2, 0.1, 0.4]], n_items=5, positive=0).sampled_ranks
    array([1, 2])
    """
    check_arguments(sampling=sampling, tie_policy=ties, seed=seed, n_negatives=n_negatives)
    with reading(data):
        drawn = {"n_items": n_items, "n_negatives": n_negatives, "sampling": sampling, "seed": seed}
        found = _sampled_of(data, drawn, positive, relevant, ties, missing)
        question_samples(found)
        return found


def _sampled_of(
    data: Any, drawn: dict[str, Any], positive: Any, relevant: Any, ties: str, missing: str
) -> SampledRanks:
    """Call the constructor for a kind of data."""
    if isinstance(data, Ranks):
        raise InputError("found full rankings, which need no correction; `evaluate` takes them")
    if isinstance(data, SampledRanks):
        _leave_out("sampled ranks", positive=positive, relevant=relevant)
        require_same("n_items", drawn["n_items"], "n_items", data.n_items)
        require_same("n_negatives", drawn["n_negatives"], "n_negatives", data.n_negatives)
        require_same("sampling", drawn["sampling"], "sampling", data.sampling)
        return data
    if _are_numbers(data):
        raise InputError("data: found printed numbers, not ranks; `reported` takes them")
    table = table_of(data, "sampled ranks", "data", "score", RUN)
    if table is None:
        data = opened(data, "sampled ranks")
        if is_column(data):
            _leave_out("ranks, not scores", positive=positive, relevant=relevant)
            return _sampled_of_column(data, drawn)
        _leave_out("a matrix of scores", relevant=relevant)
        return SampledRanks.from_scores(data, positive, ties=ties, missing=missing, **drawn)
    _leave_out("a table, not a matrix", positive=positive)
    if "sampled_rank" in table.columns:
        _leave_out("sampled ranks", relevant=relevant)
        return SampledRanks.from_table(table, **drawn)
    return SampledRanks.from_pairs(table, relevant, ties=ties, missing=missing, **drawn)


def _sampled_of_column(ranks: ArrayLike, drawn: dict[str, Any]) -> SampledRanks:
    if drawn["n_negatives"] is None or drawn["n_items"] is None:
        raise InputError("sampled ranks need n_items (--n-items) and n_negatives (--n-negatives)")
    sampling = drawn["sampling"] or Sampling.WITHOUT_REPLACEMENT
    return SampledRanks(ranks, drawn["n_items"], drawn["n_negatives"], sampling)


def _are_numbers(data: Any) -> bool:
    if isinstance(data, Mapping):
        data = list(data.values())
    if isinstance(data, list):
        return bool(data) and all(isinstance(value, float) for value in data)
    return isinstance(data, float)


def _leave_out(kind: str, **options: Any) -> None:
    for name, value in options.items():
        if value is not None:
            raise InputError(f"found {kind}; leave {name} ({flag(name)}) out")


def rank(
    score: Any,
    seen: Any,
    relevant: Any,
    *,
    users: ArrayLike | None = None,
    items: ArrayLike | None = None,
    min_relevance: float = 0.0,
    block_size: int = BLOCK_SIZE,
) -> Ranks:
    """Rank each user's relevant items among all items that the user has not seen.

    `score` is a matrix, users x items, a function of rows of users, or a pair of vectors of users
    and of items; see `Ranks.from_scores`, `from_function` and `from_factors`.

    Examples
    --------
    >>> scores = np.array([[9.0, 7, 5, 5, 5], [3, 8, 1, -np.inf, 2]])
    >>> seen = np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]], dtype=bool)
    >>> rank(lambda users: scores[users], seen, [2, 4])
    Ranks(n_candidates=array([4, 4]), n_better=array([1, 2]), n_tied=array([2, 0]))
    """
    options = {
        "seen": seen,
        "users": users,
        "items": items,
        "min_relevance": min_relevance,
        "block_size": block_size,
    }
    if isinstance(score, tuple) and len(score) == 2:
        return Ranks.from_factors(*score, relevant, **options)
    if is_function(score):
        return Ranks.from_function(score, relevant, **options)
    return Ranks.from_scores(score, relevant, **options)
