"""Rank the held-out items of a split: by a recommender, in pieces, or from an external file.

Users do not depend on each other, so the ranks of several pieces together equal those of a single
job.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sampled_metrics import InputError, rank
from sampled_metrics._base.array_types import Float, Ids, Int
from sampled_metrics._base.arrays import first_duplicate
from sampled_metrics._base.arrow import positions
from sampled_metrics._base.calls import place_of
from sampled_metrics._base.columns import id_column, require_unique
from sampled_metrics._base.defaults import BLOCK_SIZE
from sampled_metrics._base.errors import format_names
from sampled_metrics._base.files import read_npz
from sampled_metrics._base.text import join_names
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.checks import COUNT_COLUMNS
from sampled_metrics.read.options import as_ranks
from sampled_metrics.read.products import ScoreFunction
from sampled_metrics.read.rank_tables import RANK_RECORDS, read_counts
from sampled_metrics.read.roles import ITEM, USER
from sampled_metrics.read.tables import HeaderError, Table, read_table
from sampled_metrics_study.data.split import Split
from sampled_metrics_study.recommenders.base import Scorer
from sampled_metrics_study.recommenders.neighbours import Tiles

SCORE = "score"
SCORES_DESCRIBED = f"scores ({USER}, {ITEM}, {SCORE}), or .npz of scores, user_ids, item_ids"
Scores: TypeAlias = NDArray[np.floating[Any]]


def users_of_piece(piece: str, size: int) -> Int:
    """Return which of `size` users are in a piece; there may be none.

    A piece is a share of the users that one job ranks: `2-of-3` is the second third.
    """
    number, count = map(int, piece.split("-of-"))
    return np.arange(size * (number - 1) // count, size * number // count)


def rank_piece(
    score: Scorer, split: Split, piece: str = "1-of-1", *, block_size: int = BLOCK_SIZE
) -> Ranks:
    """Rank the held-out items of the users in a piece.

    Parameters
    ----------
    score
        Scores all users of the split: a function, a pair of user vectors and item vectors, or
        `Tiles`, which contain the weights of a few items at a time.
    split
        Training events and held-out items.
    piece
        Share of the users, see `users_of_piece`.
    block_size
        Users counted at a time, as in `rank`. Tiles do not use it: they bound the memory by items.
    """
    users = users_of_piece(piece, split.held_out.size)
    if isinstance(score, Tiles):
        return rank_by_tiles(score, split, users)
    scores: Any
    if isinstance(score, tuple):
        user_vectors, item_vectors = score
        scores = (user_vectors[users], item_vectors)
    else:
        score_all = score
        scores = lambda rows: score_all(users[rows])  # noqa: E731
    return rank(
        scores,
        split.seen[users],
        _held_out_matrix(split, users),
        users=split.evaluated_ids[users],
        items=split.item_ids,
        block_size=block_size,
        progress=False,  # Snakemake shows its own
    )


def _held_out_matrix(split: Split, users: Int) -> csr_array:
    """Mark the held-out item of each of some users; shape (users, items)."""
    places = (np.arange(users.size), split.held_out[users])
    return csr_array((np.ones(users.size), places), (users.size, split.item_ids.size))


def rank_by_tiles(tiles: Tiles, split: Split, users: Int) -> Ranks:
    """Rank the held-out items of some users by tiles, which score a few items at a time.

    For each user, candidates that score higher than the held-out item, or the same, are counted
    tile by tile, so the scores of all items are never in memory at once.
    """
    histories = tiles.histories[users]
    held_out = split.held_out[users]
    own_scores = _scores_of_held_out(tiles, histories, held_out)[:, np.newaxis]
    seen = split.seen[users]
    left_out = (seen + _held_out_matrix(split, users)).tocsc()
    n_better = np.zeros(users.size, dtype=np.int64)
    n_tied = np.zeros(users.size, dtype=np.int64)
    for first, columns in tiles.columns():
        scores = histories @ columns
        scores[left_out[:, first : first + columns.shape[1]].nonzero()] = -np.inf
        n_better += np.count_nonzero(scores > own_scores, axis=1)
        n_tied += np.count_nonzero(scores == own_scores, axis=1)
    n_candidates = split.n_candidates[users]
    return Ranks(n_candidates, n_better, n_tied, users=split.evaluated_ids[users])


def _scores_of_held_out(tiles: Tiles, histories: csr_array, held_out: Int) -> Float:
    """Score each user's held-out item: the sum of its weights with the items of the history.

    Weights are added one by one in the same order as in a sparse product, so that scores are equal.
    """
    user = np.repeat(np.arange(held_out.size), np.diff(histories.indptr))
    item = held_out[user]
    scores = np.zeros(held_out.size)
    for first, columns in tiles.columns():
        inside = np.flatnonzero((item >= first) & (item < first + columns.shape[1]))
        weights = columns[histories.indices[inside], item[inside] - first]
        scores += np.bincount(user[inside], weights, minlength=scores.size)
    return scores


def gather_ranks(paths: Sequence[Path], split: Split) -> Ranks:
    """Concatenate the ranks of all pieces; their users must be those of the split, in order."""
    n_users = split.held_out.size
    pieces = []
    for number, path in enumerate(paths, start=1):
        if users_of_piece(
            f"{number}-of-{len(paths)}", n_users
        ).size:  # a piece without users has no rows
            with place_of(path):
                pieces.append(as_ranks(path).single())
    ranks = Ranks.concatenate(pieces)
    users: Any = ranks.users
    if not np.array_equal(users, split.evaluated_ids):
        raise InputError("the users of these pieces are not those of the split, in order")
    return ranks


def read_ranks(path: Path, split: Split) -> Ranks:
    """Read ranks of the held-out items from an external file, in the order of evaluated users.

    The file is a table (CSV, TSV or parquet) with the columns `user_id`, `n_candidates`,
    `n_better`, `n_tied` and optionally `item_id`. Its users are those of the split in any order;
    users who are not evaluated may be missing. Candidates must be the items that a user has not
    seen in training, and `item_id` must be the held-out items.
    """
    table = _read_external_table(path, RANK_RECORDS, (USER, *COUNT_COLUMNS), optional=(ITEM,))
    user = table.positions(USER, split.user_ids, f"one of the {split.user_ids.size:,} of the split")
    duplicate = first_duplicate(user)
    if duplicate is not None:
        raise table.error_at(duplicate, f"duplicate {USER} {table.ids(USER)[duplicate]}")
    n_users = split.held_out.size
    require_all(path, "user", np.isin(np.arange(n_users), user), split.evaluated_ids)
    rows = np.argsort(user)[:n_users]  # evaluated users come first
    counts: Any = read_counts(table)
    owner = np.minimum(user, n_users - 1)
    is_evaluated = user < n_users

    def refuse(name: str, is_same: Any, value: Any, expected: Any) -> None:
        """Raise InputError for the first evaluated user whose value differs from the split."""
        table.refuse(
            name,
            is_evaluated & ~is_same,
            value,
            lambda row: f"{expected[owner[row]]} of user {split.user_ids[owner[row]]} in the split",
        )

    refuse("n_candidates", counts[0] == split.n_candidates[owner], counts[0], split.n_candidates)
    if ITEM in table.columns:
        ids = table.ids(ITEM)
        is_same = positions(ids, split.item_ids) == split.held_out[owner]
        refuse(ITEM, is_same, ids, split.held_out_ids)
    return Ranks(*(column[rows] for column in counts), users=split.evaluated_ids)


def _read_external_table(
    path: Path, noun: str, columns: Sequence[str], optional: Sequence[str] = ()
) -> Table:
    """Read a table of another program, which must have some columns; a study cannot rename them."""
    expected = f"expected {noun}; write these names in the first line of the file"
    try:
        table = read_table(path, noun, (*columns, *optional))
    except HeaderError as error:
        problem = "no header" if error.is_missing else f"found columns {format_names(error.names)}"
        raise InputError(f"{problem}; {expected}", path=path) from None
    missing = [name for name in columns if name not in table.columns]
    if missing:
        noun_of_columns = "column" if len(missing) == 1 else "columns"
        problem = (
            f"lacks {noun_of_columns} {join_names(missing)}; found {format_names(table.names)}"
        )
        raise InputError(f"{problem}; {expected}", path=path)
    return table


def read_scores(path: Path, split: Split) -> ScoreFunction:
    """Read scores from an external file; return a function of users that scores all items.

    The file is a table (CSV, TSV or parquet) with the columns `user_id`, `item_id` and `score`, or
    an `.npz` with the arrays `scores`, of shape (users, items), `user_ids` and `item_ids`. Users
    and items are in any order; those that the split does not have are ignored.

    Users and items of the function are numbers of the split, and -inf stands for a missing score. A
    candidate without a score raises InputError, because a partial list does not give a rank.
    """
    rows = (_read_score_matrix if path.suffix == ".npz" else _read_score_table)(path, split)

    def score(users: Int) -> Scores:
        scores: Scores = rows(users)
        absent = np.isneginf(scores)
        absent[split.train[users].nonzero()] = False
        if absent.any():
            row, item = np.argwhere(absent)[0]
            user = users[row]
            count = np.count_nonzero(absent[row])
            raise InputError(
                f"no score of item {split.item_ids[item]} for user {split.user_ids[user]}; every "
                "item that a user has not seen in training needs one "
                f"({count:,} of {split.n_candidates[user]:,} lack it)",
                path=path,
            )
        return scores

    return score


def _read_score_matrix(path: Path, split: Split) -> ScoreFunction:
    """Read scores from arrays; return a function of users, with columns as in the split."""
    names = ("scores", "user_ids", "item_ids")
    arrays = read_npz(path, SCORES_DESCRIBED, names)
    scores, user_ids, item_ids = (arrays[name] for name in names)
    with place_of(path):
        for name, ids in (("user_ids", user_ids), ("item_ids", item_ids)):
            require_unique(name, id_column(ids, name, ids.size))
    kind = scores.dtype
    shape = (user_ids.size, item_ids.size)
    if kind.kind != "f" or kind.itemsize not in (4, 8) or scores.shape != shape:
        problem = f"scores are {kind} of shape {scores.shape}; expected floats of shape {shape}"
        raise InputError(problem, path=path)
    rows = positions(split.evaluated_ids, user_ids)
    columns = positions(split.item_ids, item_ids)
    require_all(path, "user", rows >= 0, split.evaluated_ids)
    require_all(path, "item", columns >= 0, split.item_ids)
    native = kind.newbyteorder("=")
    # Rows are converted when they are needed, so that large files fit in memory.
    return lambda wanted: scores[rows[wanted]][:, columns].astype(native, copy=False)


def _read_score_table(path: Path, split: Split) -> ScoreFunction:
    """Read scores from a table; return a function of users, with -inf for pairs without a score."""
    table = _read_external_table(path, SCORES_DESCRIBED, (USER, ITEM, SCORE))
    score = table.ordered_numbers(SCORE).astype(np.float64)
    pair = []
    # Each column is freed once it is an array, so that long tables fit in memory.
    for name, ids in ((USER, split.evaluated_ids), (ITEM, split.item_ids)):
        codes, names = table.codes(name)
        pair.append(positions(names, ids).astype(np.int32)[codes])
        del table.columns[name]
    user, item = pair
    inside = (user >= 0) & (item >= 0)
    user = user[inside]
    item = item[inside]
    score = score[inside]
    scores = csr_array((score, (user, item)), shape=(split.held_out.size, split.item_ids.size))
    if scores.nnz < score.size:
        duplicate = first_duplicate(user, item)
        twice = split.item_ids[item[duplicate]]
        owner = split.user_ids[user[duplicate]]
        raise InputError(f"duplicate score of item {twice} for user {owner}", path=path)

    def rows(users: Int) -> Scores:
        stored_scores = scores[users].tocoo()
        dense = np.full(stored_scores.shape, -np.inf)
        dense[stored_scores.row, stored_scores.col] = stored_scores.data
        return dense

    return rows


def require_candidates(split: Split, path: str) -> None:
    """Raise InputError for a user whose only candidate is the held-out item."""
    full = np.flatnonzero(split.n_candidates < 2)
    if full.size:
        user = split.user_ids[full[0]]
        items = f"each of the {split.item_ids.size:,} items"
        problem = f"user {user} has an event with {items}; ranking needs another candidate"
        raise InputError(problem, path=path)


def require_all(path: Path, kind: str, present: NDArray[np.bool_], ids: Ids) -> None:
    """Raise InputError unless a file has all users, or all items, of a split."""
    missing = np.flatnonzero(~present)
    if missing.size:
        count = f"{missing.size:,} of {ids.size:,} are missing"
        problem = f"{kind} {ids[missing[0]]} is missing; every {kind} of the split is needed"
        raise InputError(f"{problem} ({count})", path=path)
