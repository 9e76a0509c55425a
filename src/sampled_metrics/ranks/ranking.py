"""Ranking of relevant items by the scores of all items, one block of users at a time."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse

from sampled_metrics._base.arrays import whole_number
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.tiles import Tiles
from sampled_metrics.ranks.checks import id_column, require
from sampled_metrics.ranks.counting import (
    ItemLists,
    Marked,
    Score,
    Task,
    by_function,
    by_products,
    held_out_items,
    marked_items,
)
from sampled_metrics.ranks.products import Products
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.tiled import by_tiles

BLOCK_SIZE = 512
Vectors = tuple[ArrayLike, ArrayLike]


def rank(
    score: Score | Vectors | Tiles,
    seen: Marked | None,
    relevant: ArrayLike | Marked,
    *,
    users: ArrayLike | None = None,
    items: ArrayLike | None = None,
    min_grade: float | None = None,
    block_size: int = BLOCK_SIZE,
) -> Ranks:
    """Rank each user's relevant items among all items that the user has not seen.

    Other relevant items of the user count as better or tied like any candidate.

    Parameters
    ----------
    score
        Function from row numbers of users, int64, shape (some,), to the scores of all items for
        them, float32 or float64, shape (some, items); its result is not written to. An item with
        score -inf is no candidate. Or, which is faster, a pair of vectors of all users and of all
        items, shapes (users, d) and (items, d), whose inner products are the scores; or the
        `scorer` of a recommender of this package.
    seen
        Nonzero where a user has seen an item, which is then no candidate: scipy.sparse or bool,
        shape (users, items). None if nobody has seen anything.
    relevant
        Column of each user's held-out item: integers, shape (users,). Or nonzero where an item is
        relevant: scipy.sparse or bool, shape (users, items); users without a relevant item are
        left out and never scored.
    users, items
        Ids, shapes (users,) and (items,); default row and column numbers. Those of users are kept
        in the result, those of items only appear in errors.
    min_grade
        If given, the values of the matrix `relevant` are grades. NDCG takes them as gains, other
        metrics take items of at least this grade as relevant, and users without one are left out.
    block_size
        Users scored at a time, which bounds the memory; the result does not depend on it.

    Raises
    ------
    InputError
        A score is NaN or +inf, a relevant item has been seen or has score -inf, shapes do not fit,
        or a user with a held-out item has fewer than two candidates. Errors of `score` itself pass
        unchanged.

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
    if whole_number("block_size", block_size) < 1:
        raise InputError(f"block_size is {block_size}, expected at least 1")
    held_out = not issparse(relevant) and np.ndim(relevant) != 2
    ranked = held_out_items(relevant) if held_out else marked_items(relevant, min_grade)
    n_users = ranked.size.size
    no_items = np.zeros(0, dtype=np.int64)
    nothing = ItemLists(np.zeros(n_users + 1, dtype=np.int64), no_items, None)
    task = Task(
        "held-out" if held_out else "relevant",
        ranked,
        nothing if seen is None else marked_items(seen),
        np.arange(n_users) if users is None else id_column("users", users, n_users),
        None if items is None else np.asarray(items),
    )
    if task.seen.size.size != n_users:
        raise InputError(f"seen items of {task.seen.size.size} users, expected {n_users}")
    rows = np.flatnonzero(ranked.size)
    if isinstance(score, Tiles):
        counts = by_tiles(score, rows, task)
    elif isinstance(score, tuple):
        counts = by_products(Products(*score), rows, task, block_size)
    else:
        counts = by_function(score, rows, task, block_size)
    columns = zip((no_items,) * 3, *counts, strict=True)
    n_candidates, n_better, n_tied = (np.concatenate(column) for column in columns)
    if held_out:
        require("n_candidates", n_candidates, n_candidates >= 2, "at least 2")
        return Ranks.trusted(n_candidates, n_better, n_tied, users=task.users)
    order = np.lexsort((n_better, np.repeat(rows, ranked.size[rows])))
    return Ranks.trusted(
        n_candidates,
        n_better[order],
        n_tied[order],
        n_found=ranked.size[rows],
        grades=None if ranked.grade is None else ranked.grade[order],
        min_grade=min_grade or 0.0,
        users=task.users[rows],
    )
