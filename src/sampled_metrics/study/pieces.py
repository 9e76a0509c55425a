"""Ranking the users of a split in pieces, one job each, and gathering their ranks.

Users are independent of each other, so the gathered ranks equal the ranks from a single job.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sampled_metrics._base.arrays import Float, Int, first_duplicate
from sampled_metrics._base.errors import InputError
from sampled_metrics.inputs.tables import ITEM, USER, places, read_table
from sampled_metrics.ranks.data import rank
from sampled_metrics.ranks.ranks import COLUMNS, RECORDS, Ranks, counts_of
from sampled_metrics.study.datasets.split import Split, require_all
from sampled_metrics.study.reading import read_single
from sampled_metrics.study.recommenders.base import Scorer
from sampled_metrics.study.recommenders.neighbours import Tiles


def users_of_piece(piece: str, size: int) -> Int:
    """Return the running numbers, of `size`, in a piece written like `2-of-3`; maybe none."""
    number, count = map(int, piece.split("-of-"))
    return np.arange(size * (number - 1) // count, size * number // count)


def rank_piece(score: Scorer, split: Split, piece: str = "1-of-1", **options: Any) -> Ranks:
    """Rank the held-out items of the users in a piece.

    `score` covers all users of the split: a function, vectors of users and of items, or tiles;
    `options` are passed to `rank`.
    """
    users = users_of_piece(piece, split.held_out.size)
    if isinstance(score, Tiles):
        return rank_by_tiles(score, split, users)
    scores: Any
    if isinstance(score, tuple):
        user_vectors, item_vectors = score
        scores = (user_vectors[users], item_vectors)
    else:
        of_all = score
        scores = lambda rows: of_all(users[rows])  # noqa: E731 - beside the vectors
    return rank(
        scores,
        split.seen[users],
        split.held_out[users],
        users=split.evaluated_ids[users],
        items=split.item_ids,
        **options,
    )


def rank_by_tiles(tiles: Tiles, split: Split, users: Int) -> Ranks:
    """Rank the held-out items of some users by scores that exist for some items at a time."""
    histories = tiles.histories[users]
    held_out = split.held_out[users]
    own = _scores_of_held_out(tiles, histories, held_out)[:, np.newaxis]
    seen = split.seen[users]
    places = (np.arange(users.size), held_out)
    is_held_out = csr_array((np.ones(users.size), places), seen.shape)
    left_out = (seen + is_held_out).tocsc()
    n_better = np.zeros(users.size, dtype=np.int64)
    n_tied = np.zeros(users.size, dtype=np.int64)
    for first, columns in tiles.columns():
        scores = histories @ columns
        scores[left_out[:, first : first + columns.shape[1]].nonzero()] = -np.inf
        n_better += np.count_nonzero(scores > own, axis=1)
        n_tied += np.count_nonzero(scores == own, axis=1)
    n_candidates = split.n_candidates[users]
    return Ranks(n_candidates, n_better, n_tied, users=split.evaluated_ids[users], is_checked=True)


def _scores_of_held_out(tiles: Tiles, histories: csr_array, held_out: Int) -> Float:
    """Score each user's held-out item: add the weights one by one, as a product does."""
    user = np.repeat(np.arange(held_out.size), np.diff(histories.indptr))
    item = held_out[user]
    own = np.zeros(held_out.size)
    for first, columns in tiles.columns():
        inside = np.flatnonzero((item >= first) & (item < first + columns.shape[1]))
        weights = columns[histories.indices[inside], item[inside] - first]
        own += np.bincount(user[inside], weights, minlength=own.size)
    return own


def gather_ranks(paths: Sequence[Path], split: Split) -> Ranks:
    """Concatenate the ranks of all pieces, whose users are the split's, in order."""
    n_users = split.held_out.size
    pieces = []
    for number, path in enumerate(paths, start=1):
        if users_of_piece(f"{number}-of-{len(paths)}", n_users).size:  # else it has no rows
            pieces.append(read_single(path))
    ranks = Ranks.concatenate(pieces)
    users: Any = ranks.users
    if not np.array_equal(users, split.evaluated_ids):
        raise InputError("the users of these pieces are not those of the split, in order")
    return ranks


def read_aligned(path: Path, split: Split) -> Ranks:
    """Read ranks of a split's held-out items, made elsewhere, in the order of evaluated users.

    The file is a table (CSV, TSV or parquet) of `user_id`, `n_candidates`, `n_better`, `n_tied` and
    maybe `item_id`, with the users of the split in any order; users who are not evaluated may
    be missing. Candidates must be the items that a user has not seen in training, and `item_id` the
    held-out items.
    """
    table = read_table(path, RECORDS)
    table.require(USER, *COLUMNS)
    user = table.places(USER, split.user_ids, f"one of the {split.user_ids.size:,} of the split")
    again = first_duplicate(user)
    if again is not None:
        raise table.error_at(again, f"duplicate {USER} {table.ids(USER)[again]}")
    n_users = split.held_out.size
    require_all(path, "user", np.isin(np.arange(n_users), user), split.evaluated_ids)
    rows = np.argsort(user)[:n_users]  # evaluated users come first
    counts: Any = counts_of(table)
    owner = np.minimum(user, n_users - 1)
    is_evaluated = user < n_users

    def refuse(name: str, is_same: Any, found: Any, wanted: Any) -> None:
        """Raise InputError for the first evaluated user whose value is not the split's."""
        table.refuse(
            name,
            is_evaluated & ~is_same,
            found,
            lambda row: f"{wanted[owner[row]]} of user {split.user_ids[owner[row]]} in the split",
        )

    refuse("n_candidates", counts[0] == split.n_candidates[owner], counts[0], split.n_candidates)
    if ITEM in table.columns:
        ids = table.ids(ITEM)
        is_same = places(ids, split.item_ids) == split.held_out[owner]
        refuse(ITEM, is_same, ids, split.held_out_ids)
    return Ranks(*(column[rows] for column in counts), users=split.evaluated_ids, is_checked=True)
