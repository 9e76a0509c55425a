"""Ranks of relevant items by scores of all items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy  # `scipy.sparse` takes long to import, so only where it is used
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arguments import check_arguments, require_same
from sampled_metrics._base.arrays import Ids, Int, array_of, id_column, require_unique
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.kinds import Kind, kind_of
from sampled_metrics.inputs.items import (
    Axes,
    is_nested,
    items_by_position,
    items_of_arrays,
    items_of_scores,
    rows_of,
    table_of_items,
)
from sampled_metrics.inputs.options import Ranked
from sampled_metrics.inputs.questions import (
    ask_of_seen_and_relevant,
    ask_of_seen_items,
    question_column,
    question_places,
)
from sampled_metrics.inputs.scores import Scores, inner_products, scores_of
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.items import RELEVANT, SEEN, Items
from sampled_metrics.ranks.products import Score
from sampled_metrics.ranks.ranking import BLOCK_SIZE, rank_items

Vectors = tuple[ArrayLike, ArrayLike]
_ROWS_COMPARED = 200  # users of whom another one's scores are looked at
if TYPE_CHECKING:
    Marked: TypeAlias = scipy.sparse.csr_array | scipy.sparse.csr_matrix | NDArray[np.bool_]


def rank(
    score: Score | Vectors | Any,
    seen: Marked | None,
    relevant: ArrayLike | Marked,
    *,
    users: ArrayLike | None = None,
    items: ArrayLike | None = None,
    min_relevance: float = 0.0,
    block_size: int = BLOCK_SIZE,
) -> Ranks:
    """Rank each user's relevant items among all items that the user has not seen.

    Other relevant items of the user count as better or tied like any candidate.

    Parameters
    ----------
    score
        A matrix, users x items, or a function from row numbers of users, int64, shape (some,), to
        the scores of all items for them, float32 or float64, shape (some, items); its result is
        not written to. An item with score -inf is no candidate, which a relevant item must be; NaN
        and +inf are errors. Or a pair of vectors of all users and of all items, shapes (users, d)
        and (items, d), whose inner products are the scores.
    seen
        Nonzero where a user has seen an item, which is then no candidate: scipy.sparse or bool,
        shape (users, items). None if nobody has seen anything.
    relevant
        Column of each user's held-out item, shape (users,), -1 or None without one. Or above 0
        where an item is relevant: scipy.sparse or an array, shape (users, items), whose numbers
        other than 1 are grades. Or a list of columns per user; nested lists of that shape are the
        matrix. Users without a relevant item are left out and never scored.
    users, items
        Ids, shapes (users,) and (items,); default row and column numbers. Those of users are kept
        in the result, those of items only appear in errors.
    min_relevance
        Least grade of an item that is relevant for metrics other than NDCG, which takes all grades
        as gains; users without such an item are left out. By default any above 0.
    block_size
        Users scored at a time, which bounds the memory; the result does not depend on it.

    Examples
    --------
    >>> scores = np.array([[9.0, 7, 5, 5, 5], [3, 8, 1, -np.inf, 2]])
    >>> seen = np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]], dtype=bool)
    >>> rank(lambda users: scores[users], seen, [2, 4])
    Ranks(n_candidates=array([4, 4]), n_better=array([1, 2]), n_tied=array([2, 0]))
    >>> relevant = np.array([[0, 0, 0, 0, 0], [1, 1, 0, 0, 0]], dtype=bool)
    >>> ranks = rank(lambda users: scores[users], seen, relevant)
    >>> ranks.users, ranks.n_better
    (array([1]), array([0, 1]))
    """
    check_arguments(block_size=block_size, min_relevance=min_relevance)
    shape = None
    relevant = rows_of(relevant)
    if is_nested(relevant):
        shape = _shape_beside(relevant, score, seen, items)
    ranked = items_by_position(relevant, "relevant", shape)
    if ranked.n_users and not ranked.item.size:
        raise InputError("relevant: no user has an item; expected at least one who has")
    user_ids = None
    if users is not None:
        user_ids = id_column("users", users, ranked.n_users)
        require_unique("id of users", user_ids)
    item_ids = None
    if items is not None:
        item_ids = array_of("items", items)
        if item_ids.ndim != 1:
            raise InputError(f"items has shape {item_ids.shape}; expected one dimension")
    if isinstance(score, tuple) and len(score) == 2:
        vectors_of_users, vectors_of_items = score
        score = inner_products(vectors_of_users, vectors_of_items, ranked.n_users)
    scores = scores_of(score, kind_of(score), "score")
    if isinstance(scores, np.ndarray) or (scores.shape and scores.shape[0] != ranked.n_users):
        found = f"score has shape {scores.shape}"
        raise InputError(f"{found}; expected {ranked.n_users} rows, users x items")
    ranks = rank_items(
        scores.rows,
        ranked,
        None if seen is None else items_by_position(seen, "seen"),
        users=user_ids,
        items=item_ids,
        block_size=block_size,
    )
    return ranks.at_least(min_relevance)


def _shape_beside(relevant: Any, score: Any, seen: Any, items: Any) -> tuple[int, int] | None:
    """Return the numbers of users and of items: only they tell lists of columns from a matrix.

    A function is asked for the scores of the first user with an item if nothing else says it. None
    if there is no such user, or the scores have no such shape.
    """
    n_users = len(relevant)
    users = [user for user in range(n_users) if _has_items(relevant[user])]
    if not users:
        return None
    if items is not None:
        return n_users, len(items)
    if isinstance(score, tuple) and len(score) == 2:
        return n_users, len(score[1])
    shape: tuple[int, ...] = getattr(seen, "shape", ())
    if len(shape) != 2 and kind_of(score) is Kind.FUNCTION:
        shape = np.shape(score(np.array(users[:1])))
    elif len(shape) != 2:
        shape = getattr(score, "shape", None) or array_of("score", score).shape
    if len(shape) != 2:
        return None
    return n_users, int(shape[1])


def _has_items(items: Any) -> bool:
    """Return whether a user has an item, in a list or as a column."""
    return items is not None and np.size(items) > 0 and not np.array_equal(items, -1)


def ranks_of_scores(scores: Scores, ranked: Ranked) -> Ranks:
    """Rank relevant items by scores, with the ids and the items beside them in their file."""
    ranked.check("scores", scores.path)
    shape = scores.shape
    if shape is None:
        shape = _shape_of_function(scores, ranked)
    if "seen_indptr" in scores.beside:
        raise InputError("compressed seen items are not read; give a file by seen (--seen)")
    require_same("n_items", ranked.n_items, "number of items", shape[1])
    axes = Axes(
        shape,
        _ids("user_ids", scores.user_ids, shape[0]),
        _ids("item_ids", scores.item_ids, shape[1]),
    )
    relevant = _items(axes, RELEVANT, ranked.relevant, "held_out", scores.beside)
    if relevant is None:
        raise InputError(
            "found scores; give relevant (--relevant) or, if these are scores of a held-out item "
            "and its negatives, use `correct` with positive (--positive)"
        )
    seen = _items(axes, SEEN, ranked.seen, "seen", scores.beside)
    ranks = rank_items(scores.rows, relevant, seen, users=axes.user_ids, items=axes.item_ids)
    if seen is None and (ranks.n_candidates == shape[1]).all():
        ask_of_seen_items(*shape)
    users = np.flatnonzero(np.diff(relevant.start))
    if seen is not None:
        n_seen = int(seen.sizes_of(users).sum())
        ask_of_seen_and_relevant(n_seen, relevant.item.size, users.size)
    if scores.shape is not None:  # a function may be slow
        _question_rows(scores, relevant, seen, users)
    return ranks


def _question_rows(scores: Scores, relevant: Items, seen: Items | None, users: Int) -> None:
    """Ask whether rows are those of the users, by some held-out items in another user's row too.

    Ask also about a first or last column that is nobody's item.
    """
    some = users[:: max(users.size // _ROWS_COMPARED, 1)]
    item = relevant.item[relevant.start[some]]
    rows = np.asarray(scores.rows(some))
    own = np.take_along_axis(rows, item[:, np.newaxis], axis=1)
    other_rows = np.roll(rows, 1, axis=0)
    other = np.take_along_axis(other_rows, item[:, np.newaxis], axis=1)
    question_places((rows < own).mean(axis=1), (other_rows < other).mean(axis=1))
    for column in (0, rows.shape[1] - 1):
        is_seen = seen is not None and (seen.item == column).any()
        if not is_seen and not (relevant.item == column).any():
            question_column(rows, own, column)


def _shape_of_function(scores: Scores, ranked: Ranked) -> tuple[int, int]:
    """Return the shape of a function's scores of all users for whom relevant items are given."""
    if ranked.relevant is None or table_of_items(ranked.relevant, RELEVANT) is not None:
        raise InputError("a function of users needs relevant as columns or a matrix")
    relevant = items_of_arrays(ranked.relevant, RELEVANT)
    return scores.shape_for(relevant.n_users)


def _ids(name: str, values: Any, size: int) -> Ids | None:
    if values is None:
        return None
    ids = id_column(name, values, size)
    require_unique(name, ids)
    return ids


def _items(
    axes: Axes, name: str, given: Any, beside_name: str, beside: Mapping[str, Any]
) -> Items | None:
    """Return items that are given, or that are beside the scores in their file."""
    own = beside.get(beside_name)
    if own is not None and given is not None:
        raise InputError(f"{beside_name} and {given} both give {name} items")
    if own is not None:
        return items_of_scores(own, beside_name, axes)
    if given is not None:
        return items_of_scores(given, name, axes)
    return None
