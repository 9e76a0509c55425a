"""Scores of a recommender that was trained elsewhere, read from a file."""

from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sampled_metrics._base.arrays import Int, first_duplicate, id_column, require_unique
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.files import read_arrays
from sampled_metrics.inputs.products import Score
from sampled_metrics.inputs.tables import ITEM, USER, places, read_table
from sampled_metrics.study.datasets.split import Split, require_all

SCORE = "score"
WHAT = f"scores ({USER}, {ITEM}, {SCORE}), or .npz of scores, user_ids, item_ids"

Scores: TypeAlias = NDArray[np.floating[Any]]


def read_scores(path: Path, split: Split) -> Score:
    """Read scores made elsewhere, as a function of users; -inf stands for a missing score.

    Users and items are numbers in the split. The file is a table (CSV, TSV or parquet) with columns
    `user_id`, `item_id` and `score`, or an `.npz` with arrays `scores`, of shape (users, items),
    `user_ids` and `item_ids`, in any order. Users and items that the split does not have are left
    out. A candidate without a score is an InputError of the function, because a partial list cannot
    give a rank.
    """
    rows = (_of_matrix if path.suffix == ".npz" else _of_table)(path, split)

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


def _of_matrix(path: Path, split: Split) -> Score:
    names = ("scores", "user_ids", "item_ids")
    arrays = read_arrays(path, WHAT, names)
    scores, user_ids, item_ids = (arrays[name] for name in names)
    with reading(path):
        for name, ids in (("user_ids", user_ids), ("item_ids", item_ids)):
            require_unique(name, id_column(name, ids, ids.size))
    kind = scores.dtype
    shape = (user_ids.size, item_ids.size)
    if kind.kind != "f" or kind.itemsize not in (4, 8) or scores.shape != shape:
        problem = f"scores are {kind} of shape {scores.shape}; expected floats of shape {shape}"
        raise InputError(problem, path=path)
    rows = places(split.evaluated_ids, user_ids)
    columns = places(split.item_ids, item_ids)
    require_all(path, "user", rows >= 0, split.evaluated_ids)
    require_all(path, "item", columns >= 0, split.item_ids)
    native = kind.newbyteorder("=")  # some rows at a time, because large files are to fit
    return lambda wanted: scores[rows[wanted]][:, columns].astype(native, copy=False)


def _of_table(path: Path, split: Split) -> Score:
    table = read_table(path, WHAT, (USER, ITEM, SCORE))
    table.require(USER, ITEM, SCORE)
    score = table.ordered(SCORE).astype(np.float64)
    pair = []
    # A column is freed as soon as it is an array, because long tables are to fit in memory.
    for name, ids in ((USER, split.evaluated_ids), (ITEM, split.item_ids)):
        codes, names = table.codes(name)
        pair.append(places(names, ids).astype(np.int32)[codes])
        del table.columns[name]
    user, item = pair
    inside = (user >= 0) & (item >= 0)
    user = user[inside]
    item = item[inside]
    score = score[inside]
    scores = csr_array((score, (user, item)), shape=(split.held_out.size, split.item_ids.size))
    if scores.nnz < score.size:
        again = first_duplicate(user, item)
        twice = split.item_ids[item[again]]
        owner = split.user_ids[user[again]]
        raise InputError(f"duplicate score of item {twice} for user {owner}", path=path)

    def rows(users: Int) -> Scores:
        own = scores[users].tocoo()
        dense = np.full(own.shape, -np.inf)
        dense[own.row, own.col] = own.data
        return dense

    return rows
