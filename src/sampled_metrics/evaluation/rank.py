"""Ranks of relevant items by scores of any kind: a matrix, vectors or a function."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from sampled_metrics._base.arguments import ALL_CORES
from sampled_metrics._base.array_types import ItemsByUser
from sampled_metrics._base.calls import public
from sampled_metrics._base.defaults import BLOCK_SIZE
from sampled_metrics.ranks import Ranks
from sampled_metrics.read.kinds import Kind, kind_of
from sampled_metrics.read.roles import NamesByRole
from sampled_metrics.read.scores import scores_from_function, scores_from_vectors


@public()
def rank(
    score: Any,
    seen: ItemsByUser,
    relevant: ItemsByUser,
    *,
    users: ArrayLike | None = None,
    visits: ArrayLike | None = None,
    items: ArrayLike | None = None,
    missing: str = "refuse",
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
    seen
        Items that are not candidates; None, "none" or an empty list if there are none.
    relevant, users, visits, items, missing, min_relevance, up_to
        See `Ranks.from_scores`.
    block_size, n_jobs, progress, columns
        See `Ranks.from_scores`.

    Returns
    -------
    Ranks
        Ranks of all relevant items.

    Raises
    ------
    InputError
        If the data or an option is invalid; the message says where, why and what to do.

    See Also
    --------
    evaluate : Metrics of these ranks.
    Ranks : Ranks from lists, tables and files.

    Examples
    --------
    >>> import numpy as np
    >>> scores = np.array([[9.0, 7, 5, 5, 5], [3, 8, 1, -np.inf, 2]])
    >>> seen = np.array([[1, 0, 0, 0, 0], [0, 0, 0, 0, 0]], dtype=bool)
    >>> rank(lambda users: scores[users], seen, [2, 4])
    Ranks(n_candidates=array([4, 4]), n_better=array([1, 2]), n_tied=array([2, 0]))
    """
    if isinstance(score, tuple) and len(score) == 2:
        score = scores_from_vectors(*score)
    elif kind_of(score) is Kind.FUNCTION:
        score = scores_from_function(score, relevant, n_items, users)
    return Ranks.from_scores(
        score,
        relevant,
        seen=seen,
        users=users,
        visits=visits,
        items=items,
        missing=missing,
        min_relevance=min_relevance,
        up_to=up_to,
        block_size=block_size,
        n_jobs=n_jobs,
        progress=progress,
        columns=columns,
    )
