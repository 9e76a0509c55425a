"""Sampled ranks from the scores of held-out items and of the negatives drawn for them."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.seeds import generator
from sampled_metrics.ranks.lists import by_score
from sampled_metrics.ranks.relevant_items import Pairs
from sampled_metrics.tables.casts import as_numpy
from sampled_metrics.tables.columns import Table
from sampled_metrics.tables.ids import ITEM, USER

TIES = ("random", "optimistic", "pessimistic")


def of_matrix(scores: ArrayLike, positive: ArrayLike, ties: str, seed: int) -> tuple[Int, Int]:
    """Rank the scores in one column, `positive`, among those in the others; return how many, too.

    Scores have a row per user, shape (users, 1 + m); the column, from 0 or from -1 backwards, is
    one for all, or one per user. The place among negatives with the same score is `random`, drawn
    with `seed`, `optimistic` or `pessimistic`.

    Examples
    --------
    >>> of_matrix([[0.9, 0.1, 0.4], [0.2, 0.1, 0.4]], 0, "random", 0)
    (array([1, 2]), array([2, 2]))
    """
    table, column = np.asarray(scores), np.asarray(positive)
    if table.ndim != 2 or table.dtype.kind not in "fiu" or not table.size or table.shape[1] < 2:
        raise InputError(
            f"scores are {table.dtype} of shape {table.shape}; expected numbers, one row per user: "
            "the held-out item and its negatives"
        )
    users, width = table.shape
    finite = np.isfinite(table)
    if not finite.all():
        row, bad = np.argwhere(~finite)[0]
        problem = f"the score in column {bad} is {table[row, bad]}; expected finite numbers"
        raise InputError(problem, row=int(row) + 1)
    if column.dtype.kind not in "iu" or column.shape not in {(), (users,)}:
        raise InputError(
            f"positive is {column.dtype} of shape {column.shape}; expected a whole number, or one "
            "per user"
        )
    if ((column < -width) | (column >= width)).any():
        raise InputError(f"positive is not one of the columns 0 to {width - 1} of the scores")
    own = table[np.arange(users), column][:, None]
    better, equal = (table > own).sum(axis=1), (table == own).sum(axis=1) - 1
    return _place(better, equal, ties, seed), np.full(users, width - 1)


def of_table(
    table: Table, relevant: Pairs | None, ties: str, seed: int
) -> tuple[Int, Int, NDArray[Any]]:
    """Rank rows with label 1 among those of the same user with label 0.

    Returns the ranks, from 1, how many negatives each has, and the ids of their users.

    The table has columns `user_id`, `score` (or `rank` in a list) and `label`; or `item_id` in its
    place, if `relevant` says which items are held out.
    """
    table.require(USER)
    codes, user_ids = table.codes(USER)
    user = codes.astype(np.int64)
    score = table.ordered("score") if "score" in table else -table.ordered("rank")
    if relevant is None:
        held = table.whole("label", 0, 1) == 1
    else:
        table.require(ITEM)
        held = Pairs.of(table).among(relevant)
    n_held = np.bincount(user[held], minlength=len(user_ids))
    if not n_held.all():
        raise InputError(
            f"no held-out item among the candidates of user {user_ids[int(np.argmin(n_held))]} "
            f"({int((n_held == 0).sum())} of {n_held.size} users have none)",
            path=table.path,
        )
    negatives = np.bincount(user[~held], minlength=len(user_ids))
    if not negatives.all():
        problem = f"no negatives for user {user_ids[int(np.argmin(negatives))]}"
        raise InputError(problem, path=table.path)
    better, tied = (values[held] for values in by_score(user, score))
    # Other held-out items of the user are no negatives.
    among_held = by_score(user[held], score[held])
    better, tied = better - among_held[0], tied - among_held[1]
    user = user[held]
    return _place(better, tied, ties, seed), negatives[user], as_numpy(user_ids)[user]


def _place(better: Int, tied: Int, ties: str, seed: int) -> Int:
    if ties not in TIES:
        raise InputError(f"unknown tie policy {ties!r}; known: {', '.join(TIES)}")
    if ties == "random":
        return better + 1 + generator(seed, "ties").integers(0, tied + 1)
    return better + 1 + (tied if ties == "pessimistic" else 0)
