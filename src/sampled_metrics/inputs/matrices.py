"""Ranks of relevant items by scores of all items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy  # `scipy.sparse` takes long to import, so only where it is used
from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import check_arguments, require_same
from sampled_metrics._base.arrays import (
    Array,
    Bool,
    Ids,
    Int,
    array_of,
    id_column,
    require_unique,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.kinds import Kind, OfUsers, kind_of
from sampled_metrics.inputs.items import (
    Axes,
    Shape,
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
    Marked: TypeAlias = scipy.sparse.csr_array | scipy.sparse.csr_matrix | Bool


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
    ranked = items_by_position(relevant, RELEVANT, shape)
    if ranked.n_users and not ranked.item.size:
        raise InputError("relevant: no user has an item; expected at least one who has")
    user_ids = _ids("users", users, ranked.n_users, "id of users")
    item_ids = None
    if items is not None:
        item_ids = array_of("items", items)
        if item_ids.ndim != 1:
            raise InputError(f"items has shape {item_ids.shape}; expected one dimension")
    scores = _scores_for(score, ranked.n_users)
    ranks = rank_items(
        scores.rows,
        ranked,
        None if seen is None else items_by_position(seen, SEEN),
        users=user_ids,
        items=item_ids,
        block_size=block_size,
    )
    return ranks.at_least(min_relevance)


def _scores_for(score: Any, n_users: int) -> Scores:
    """Return the scores of so many users, by vectors too; any other number is an error."""
    if isinstance(score, tuple) and len(score) == 2:
        score = inner_products(score[0], score[1], n_users)
    scores = scores_of(score, kind_of(score), "score")
    if isinstance(scores, np.ndarray) or (scores.shape and scores.shape[0] != n_users):
        found = f"score has shape {scores.shape}"
        raise InputError(f"{found}; expected {n_users} rows, users x items")
    return scores


def _shape_beside(relevant: Any, score: Any, seen: Any, items: Any) -> Shape | None:
    """Return the numbers of users and of items: only they tell lists of columns from a matrix.

    A function is asked for the scores of the first user with an item if nothing else says it. None
    if there is no such user, or the scores have no such shape.
    """
    users = [user for user, own in enumerate(relevant) if _has_items(own)]
    if not users:
        return None
    width = _width_of_scores(score, seen, users[0]) if items is None else len(items)
    return None if width is None else (len(relevant), width)


def _width_of_scores(score: Any, seen: Any, user: int) -> int | None:
    """Return the number of items that vectors, seen items or scores have, these of a user."""
    if isinstance(score, tuple) and len(score) == 2:
        return len(score[1])
    shape: tuple[int, ...] = getattr(seen, "shape", ())
    if len(shape) != 2 and kind_of(score) is Kind.FUNCTION:
        shape = np.shape(score(np.array([user])))
    elif len(shape) != 2:
        shape = getattr(score, "shape", None) or array_of("score", score).shape
    return int(shape[1]) if len(shape) == 2 else None


def _has_items(items: Any) -> bool:
    """Return whether a user has an item, in a list or as a column."""
    return items is not None and np.size(items) > 0 and not np.array_equal(items, -1)


def ranks_of_scores(scores: Scores, ranked: Ranked) -> Ranks:
    """Rank relevant items by scores, with the ids and the items beside them in their file."""
    ranked.check("scores", scores.path)
    shape = scores.shape or _shape_of_function(scores, ranked.relevant)
    if "seen_indptr" in scores.beside:
        raise InputError("compressed seen items are not read; give a file by seen (--seen)")
    require_same("n_items", ranked.n_items, "number of items", shape[1])
    user_ids, item_ids = (
        _ids(name, scores.beside.get(name), size, name)
        for name, size in zip(("user_ids", "item_ids"), shape, strict=True)
    )
    axes = Axes(shape, user_ids, item_ids)
    relevant = _items(axes, RELEVANT, ranked.relevant, "held_out", scores.beside)
    if relevant is None:
        raise InputError(
            "found scores; give relevant (--relevant) or, if these are scores of a held-out item "
            "and its negatives, use `correct` with positive (--positive)"
        )
    seen = _items(axes, SEEN, ranked.seen, SEEN, scores.beside)
    ranks = rank_items(scores.rows, relevant, seen, users=user_ids, items=item_ids)
    if seen is None and (ranks.n_candidates == shape[1]).all():
        ask_of_seen_items(*shape)
    users = np.flatnonzero(np.diff(relevant.start))
    if seen is not None:
        n_seen = int(seen.sizes_of(users).sum())
        ask_of_seen_and_relevant(n_seen, relevant.item.size, users.size)
    if scores.shape is not None:  # a function may be slow
        _question_rows(scores, relevant, seen, users)
    return ranks


def _shape_of_function(scores: Scores, relevant: OfUsers | None) -> Shape:
    """Return users x items of a function of users, whom only relevant items by position count."""
    if relevant is None or table_of_items(relevant, RELEVANT) is not None:
        raise InputError("a function of users needs relevant as columns or a matrix")
    return scores.shape_for(items_of_arrays(relevant, RELEVANT).n_users)


def _question_rows(scores: Scores, relevant: Items, seen: Items | None, users: Int) -> None:
    """Ask whether rows are those of the users, by some held-out items in another user's row too.

    Ask also about a first or last column that is nobody's item.
    """
    some = users[:: max(users.size // _ROWS_COMPARED, 1)]
    item = relevant.item[relevant.start[some], np.newaxis]
    rows = np.asarray(scores.rows(some))
    other_rows = np.roll(rows, 1, axis=0)
    own = np.take_along_axis(rows, item, axis=1)
    other = np.take_along_axis(other_rows, item, axis=1)
    question_places((rows < own).mean(axis=1), (other_rows < other).mean(axis=1))
    taken = relevant.item if seen is None else np.append(relevant.item, seen.item)
    for column in (0, rows.shape[1] - 1):
        if column not in taken:
            question_column(rows, own, column)


def _ids(name: str, values: ArrayLike | None, size: int, what: str) -> Ids | None:
    """Return ids of rows or columns, each once, if there are any; errors call one `what`."""
    if values is None:
        return None
    ids = id_column(name, values, size)
    require_unique(what, ids)
    return ids


def _items(
    axes: Axes, name: str, given: OfUsers | None, key: str, beside: Mapping[str, Array]
) -> Items | None:
    """Return items that are given, or that are beside the scores in their file under a key."""
    own = beside.get(key)
    if own is not None and given is not None:
        raise InputError(f"{key} and {given} both give {name} items")
    if own is not None:
        return items_of_scores(own, key, axes)
    if given is not None:
        return items_of_scores(given, name, axes)
    return None
