"""Scores of all items, users x items: matrices, vectors, functions, files."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import array_api_compat as compat
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike
from scipy import sparse

from sampled_metrics._base.arguments import (
    ALL_CORES,
    check_arguments,
    is_function,
    n_threads,
    whole_number,
)
from sampled_metrics._base.array_types import Array, Ids, Int
from sampled_metrics._base.arrays import CACHE_ENTRIES, blocks, count_by_score
from sampled_metrics._base.columns import unique_ids
from sampled_metrics._base.conversion import (
    arrow_column_to_array,
    is_arrow_table,
    is_on_device,
    numeric_array,
    to_array,
    to_numpy,
)
from sampled_metrics._base.defaults import MAX_ITEMS
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.files import read_npy, read_npz, require_file
from sampled_metrics._base.sparse import check_sparse, to_scipy_dtype
from sampled_metrics.inputs.comparisons import count_above, take_rows
from sampled_metrics.inputs.counting import RankCounts, rank_items
from sampled_metrics.inputs.items import RELEVANT, SEEN, Items, Size, items_for_scores
from sampled_metrics.inputs.pair_scores import PairScores, takes_pairs
from sampled_metrics.inputs.products import InnerProducts, ScoreFunction
from sampled_metrics.inputs.roles import ITEM, USER, VISIT, find_roles
from sampled_metrics.inputs.warnings import (
    warn_about_batches,
    warn_about_common_item,
    warn_about_first_column,
    warn_about_padding,
)

_SAMPLED_ROWS = 1000  # rows that a column is looked at in
_MIN_ROWS = 10  # rows; fewer end alike, or score relevant items only, by chance


class ScoreSource(NamedTuple):
    """Scores of all items.

    Attributes
    ----------
    rows
        Function from row numbers of users to their scores, shape (some, items).
    shape
        Users x items.
    user_ids, item_ids
        Ids of rows and columns; None for their numbers.
    stored
        The matrix of scores, if it is sparse; None for other scores.
    begin
        First two columns of some rows of a dense matrix; None for other scores.
    """

    rows: ScoreFunction
    shape: Size
    user_ids: Any = None
    item_ids: Any = None
    stored: sparse.csr_array | None = None
    begin: Array | None = None

    def matrix(self) -> Array:
        """Return all scores at once."""
        return to_array("scores", self.rows(np.arange(self.shape[0])))


def read_scores(data: Any) -> ScoreSource:
    """Take a matrix: dense of any library, sparse (0 where nothing is stored), a DataFrame, a file.

    The index and the columns of a DataFrame are ids unless they are running numbers.
    """
    if isinstance(data, ScoreSource):
        return data
    data = open_array(data)
    if isinstance(data, Path):
        return _scores_from_npz(data)
    if sparse.issparse(data):
        return _scores_from_sparse(data)
    if is_arrow_table(data) and not isinstance(data, pd.DataFrame):
        data = pa.table(data).to_pandas()
    if isinstance(data, pd.DataFrame):
        _refuse_column_of_ids(data, "scores", "users= or items=")
        users, items = (
            None if isinstance(axis, pd.RangeIndex) else axis for axis in (data.index, data.columns)
        )
        return _scores_from_matrix(numeric_array(data, "scores"), users, items)
    if is_on_device(data) and data.ndim == 2:
        return ScoreSource(partial(take_rows, data), tuple(data.shape))
    return _scores_from_matrix(numeric_array(data, "scores"))


def _scores_from_sparse(data: Any) -> ScoreSource:
    check_sparse(data, "scores")
    table = sparse.csr_array(to_scipy_dtype(data))
    if table.ndim != 2:
        raise InputError(f"scores have shape {table.shape}; expected numbers, users x items")
    return ScoreSource(lambda rows: table[rows].toarray(), table.shape, stored=table)


def _scores_from_matrix(matrix: Array, user_ids: Any = None, item_ids: Any = None) -> ScoreSource:
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or not matrix.size:
        found = f"scores are {matrix.dtype} of shape {matrix.shape}"
        raise InputError(f"{found}; expected numbers, users x items")
    step = max(1, len(matrix) // _SAMPLED_ROWS)
    begin = matrix[::step, :2]
    return ScoreSource(matrix.__getitem__, matrix.shape, user_ids, item_ids, begin=begin)


def open_array(data: Any, noun: str = "ranks, lists or scores") -> Any:
    """Return the array of an `.npy` file, which is read block by block, or of a column of Arrow.

    Anything else stays as it is.
    """
    if not isinstance(data, str | Path):
        return arrow_column_to_array(data)
    path = Path(data)
    require_file(path, noun)
    if path.suffix == ".npy":
        return read_npy(path, noun, mmap_mode="r")
    return path


def _scores_from_npz(path: Path) -> ScoreSource:
    """Read an `.npz` with `scores` and maybe ids."""
    arrays = read_npz(path, "arrays with scores", ("scores",), ("user_ids", "item_ids"))
    return _scores_from_matrix(arrays["scores"], arrays.get("user_ids"), arrays.get("item_ids"))


def scores_from_vectors(users: ArrayLike, items: ArrayLike) -> ScoreSource:
    """Take vectors of users and of items, whose inner products are the scores.

    An index of a DataFrame holds ids unless it is of running numbers. Numbers of 32 bits or fewer
    are multiplied in float32, and close ones compared in float64.
    """
    left, right = users, items
    ids = [_vector_ids(*named) for named in (("users", users), ("items", items))]
    if all(is_on_device(data) and compat.is_torch_array(data) for data in (users, items)):
        left, right = users.detach(), items.detach()  # type: ignore[union-attr]
    else:
        left = np.atleast_1d(numeric_array(users, "users"))
        right = np.atleast_1d(numeric_array(items, "items"))
    xp = compat.array_namespace(left, right)
    kinds = [to_numpy(vectors[:1]).dtype for vectors in (left, right)]
    for name, vectors, kind in (("users", left, kinds[0]), ("items", right, kinds[1])):
        is_table = vectors.ndim == 2 and vectors.shape[1] == left.shape[-1]
        if kind.kind not in "fiu" or not is_table or not xp.all(xp.isfinite(vectors)):
            found = f"vectors of {name} are {vectors.dtype} of shape {tuple(vectors.shape)}"
            raise InputError(f"{found}; expected finite numbers, of shape ({len(vectors)}, d)")
    is_short = np.result_type(*kinds, np.float16).itemsize <= 4
    number = xp.float32 if is_short else xp.float64
    made = [xp.astype(vectors, number, copy=False) for vectors in (left, right)]
    return ScoreSource(InnerProducts(*made), (len(left), len(right)), *ids)


def _vector_ids(name: str, vectors: Any) -> Any:
    """Return the index of a DataFrame if it holds ids; refuse a table with a column of ids."""
    if not is_arrow_table(vectors):
        return None
    _refuse_column_of_ids(vectors, f"vectors of {name}", f"{name}= to Ranks.from_factors")
    index = getattr(vectors, "index", None)
    return None if isinstance(index, pd.RangeIndex) else index


def _refuse_column_of_ids(table: Any, noun: str, option: str) -> None:
    """Refuse a table of numbers of which one column holds ids."""
    columns = table.columns if hasattr(table, "columns") else pa.table(table).column_names
    names = [str(column) for column in columns]
    for column, own in zip(names, find_roles(names), strict=True):
        if own in (USER, ITEM, VISIT):
            raise InputError(
                f"{noun} have a column {column}; make it the index, set_index({column!r}), or "
                f"drop it and give its values by {option}"
            )


def is_one_dimensional(data: Any) -> bool:
    """Return whether data has one dimension: an array, or a list of numbers."""
    if isinstance(data, list | tuple):
        return not any(hasattr(row, "__len__") for row in data)
    return len(array_shape(data)) == 1


def array_shape(data: Any) -> tuple[int, ...]:
    """Return the shape of an array of any library, () of anything else."""
    shape = getattr(data, "shape", ())
    return shape if isinstance(shape, tuple) else ()


def count_users(relevant: Any, users: ArrayLike | None = None) -> int:
    """Return the number of users, by their ids or by relevant items by position."""
    if isinstance(relevant, Sequence) and not isinstance(relevant, str):
        return len(relevant)
    relevant = arrow_column_to_array(relevant)
    if isinstance(relevant, list):
        return len(relevant)
    if len(array_shape(relevant)) > 0 and not is_arrow_table(relevant):
        return int(relevant.shape[0])
    if users is not None:
        return to_array("users", users).size
    raise InputError("a function of users needs relevant by position, or users, their ids")


def scores_from_function(
    score: Any, relevant: Any, n_items: int | None = None, users: ArrayLike | None = None
) -> ScoreSource:
    """Take a function of rows of users; the scores of the first tell the number of items.

    Or one of arrays of users and items, a score for each pair, with the number of items.
    """
    if not is_function(score):
        raise InputError(
            f"score is of type {type(score).__name__}; expected a function of users, or of users "
            "and items"
        )
    n_users = count_users(relevant, users)
    if takes_pairs(score):
        if n_items is None:
            raise InputError("a function of users and items needs n_items")
        number = whole_number("n_items", n_items, 1, MAX_ITEMS)
        return ScoreSource(PairScores(score, number), (n_users, number))
    shape = np.shape(score(np.zeros(min(n_users, 1), np.int64)))
    if len(shape) != 2:
        raise InputError(f"scores have shape {shape}, expected (1, items) for the first user")
    return ScoreSource(score, (n_users, shape[1]))


def count_scores(
    scores: ScoreSource,
    relevant: Any = None,
    seen: Any = None,
    *,
    users: ArrayLike | None = None,
    items: ArrayLike | None = None,
    min_relevance: float = 0.0,
    **options: Any,
) -> RankCounts:
    """Rank relevant items among all items that their users have not seen; see `rank_items`."""
    n_users, n_items = scores.shape
    user_ids = _axis_ids("users", users, scores.user_ids, n_users)
    item_ids = _axis_ids("items", items, scores.item_ids, n_items)
    if relevant is None:
        raise InputError(
            "found scores; give relevant (--relevant) or, if these are scores of a held-out item "
            "and its negatives, use `correct` with positive (--positive)"
        )
    of_scores: Any = (scores.shape, user_ids, item_ids, min_relevance)
    wanted = items_for_scores(relevant, RELEVANT, *of_scores)
    if wanted.n_users and not wanted.item.size:
        raise InputError("no user has a relevant item; expected at least one who has")
    warn_about_common_item(wanted)
    if scores.stored is not None:
        _require_other_items(scores.stored, wanted)
    not_candidates = None
    if seen is not None:
        not_candidates = items_for_scores(seen, SEEN, *of_scores)
    warn_about_first_column(scores, wanted, not_candidates)
    for name, ids, size in (("users", user_ids, n_users), ("items", item_ids, n_items)):
        if ids is not None and len(ids) != size:
            raise InputError(f"{name} has shape {ids.shape}; expected {(size,)}")
    return rank_items(
        scores.rows, wanted, not_candidates, users=user_ids, items=item_ids, **options
    )


def _require_other_items(table: sparse.csr_array, relevant: Items) -> None:
    """Raise InputError if a sparse matrix scores relevant items only."""
    n_stored = np.diff(table.indptr)
    if np.count_nonzero(n_stored) < _MIN_ROWS or (n_stored > relevant.sizes).any():
        return
    row = np.repeat(np.arange(n_stored.size), n_stored)
    if relevant.has(row, table.indices.astype(np.int64)).all():
        raise InputError(
            f"all {row.size:,} scores that the sparse matrix stores are of relevant items; "
            "give scores of all items, or, if these are ranks from 0 such as LightFM's "
            "predict_rank, Ranks.from_ranks(ranks.data + 1, n_items, users=ranks.tocoo().row)"
        )


def _unique_column(name: str, given: ArrayLike) -> Ids:
    """Return ids, each once, of any number of rows or columns."""
    column = to_array(name, given)
    return unique_ids(name, column, column.size)


def _axis_ids(name: str, given: ArrayLike | None, of_scores: Any, size: int) -> Ids | None:
    """Return ids of rows or columns, which an option gives or the scores have, or None."""
    own = None
    if of_scores is not None:
        own = unique_ids(f"{name[:-1]}_ids", of_scores, size)
    if given is None:
        return own
    ids = _unique_column(name, given)
    if own is not None and not np.array_equal(own, ids):
        raise InputError(
            f"{name} differ from the ids that the scores have, such as {ids[0]} and {own[0]}; "
            f"leave {name} out, or give the scores as an array"
        )
    return ids


class RowCounts(NamedTuple):
    """Candidates of each row, and the numbers above each held-out item and level with it."""

    candidates: Int
    better: Int
    tied: Int
    n_found: Int  # held-out items of each row
    lost: Int  # held-out items without a score

    @property
    def rows(self) -> Int:
        """Row of each held-out item."""
        return np.repeat(np.arange(self.n_found.size), self.n_found)


def count_in_rows(
    scores: Any,
    positive: ArrayLike,
    *,
    is_full: bool = False,
    missing: str = "refuse",
    n_jobs: int = ALL_CORES,
) -> RowCounts:
    """Count the scores of each row that are above the one of a held-out item, or equal to it.

    `positive` is its column, one for all rows or one per row, negative from the end; or labels of
    the shape of the scores, 1 for held-out items. Rows of scores of all items are `is_full`, and a
    score of -inf is no candidate; else held-out items are counted among the negatives only. With
    `missing` = "last", held-out items with a score of -inf are behind all others. Negatives of -inf
    at the end of a row are padding, and no negatives, unless `missing` says that they are last.

    Examples
    --------
    >>> count_in_rows(np.array([[0.5, 0.7, 0.5, 0.1]]), 0)[:3]
    (array([4]), array([1]), array([1]))
    """
    check_arguments(missing=missing)
    if scores.ndim != 2 or scores.shape[1] < 2:
        raise _wrong_shape(scores)
    row, column = held_out_positions(positive, scores.shape)
    users, width = scores.shape
    found = count_above(scores, (row, column), n_threads(n_jobs))
    is_lost = np.isneginf(found.own)
    lost = np.bincount(row[is_lost], minlength=users)
    n_padded = np.zeros(users, np.int64)
    if not (is_full or is_lost.any()):
        n_padded = _count_padding(scores, found.gaps, row, column)
    n_refused = found.bad
    if missing == "refuse":
        n_refused = found.bad + (lost if is_full else found.gaps - n_padded)
    elif np.count_nonzero(n_padded) >= _MIN_ROWS and (n_padded == found.gaps).all():
        warn_about_padding(n_padded)
    for user in np.flatnonzero(n_refused)[:1]:
        _refuse_scores(scores, int(user), row, column, is_full and missing == "refuse")
    n_found = np.bincount(row, minlength=users)
    better = found.better
    tied = found.tied
    candidates = width - found.gaps + lost
    tied[is_lost] = lost[row[is_lost]] - 1
    if not is_full:
        warn_about_batches(row, column, width)
        among_own = count_by_score(row, found.own)
        candidates = width - n_found + 1
        if missing == "refuse":
            candidates -= n_padded
        better = np.where(is_lost, candidates[row] - 1, better - among_own[0])
        tied = np.where(is_lost, 0, tied - among_own[1])
    return RowCounts(candidates, better, tied, n_found, lost)


def _wrong_shape(scores: Any) -> InputError:
    """Make the error for scores that are not rows of several."""
    found = f"scores are {scores.dtype} of shape {scores.shape}"
    instead = ""
    if scores.ndim == 2 and len(scores) > 1:
        instead = ", such as scores.reshape(-1, 1 + n_negatives)"
    return InputError(f"{found}; expected numbers, shape (users, 1 + negatives){instead}")


def _count_padding(scores: Any, gaps: Int, row: Int, column: Int) -> Int:
    """Count the scores of -inf behind the last negative of each row, if all of its are there.

    Rows without any negative have no padding.
    """
    found = np.zeros_like(gaps)
    n_held = np.bincount(row, minlength=gaps.size)
    width = scores.shape[1]
    with_gaps = np.flatnonzero(gaps)
    for some in blocks(with_gaps.size, width, CACHE_ENTRIES):
        rows = with_gaps[some]
        first = np.isneginf(to_numpy(take_rows(scores, rows))).argmax(axis=1)
        place = np.full(gaps.size, width)
        place[rows] = first
        n_own = np.bincount(row[column > place[row]], minlength=gaps.size)[rows]
        is_end = width - first - n_own == gaps[rows]
        is_end &= gaps[rows] < width - n_held[rows]
        found[rows[is_end]] = gaps[rows[is_end]]
    return found


def pad_rows(rows: Any) -> Any:
    """Return lists of numbers of different lengths as a matrix filled up with -inf."""
    if not isinstance(rows, list | tuple) or not all(hasattr(own, "__len__") for own in rows):
        return rows
    sizes = np.array([len(own) for own in rows])
    if not sizes.size or sizes.min() < 2 or sizes.min() == sizes.max():
        return rows
    matrix = np.full((sizes.size, sizes.max()), -np.inf)
    for row, own in zip(matrix, rows, strict=True):
        values = numeric_array(own, "scores")
        if values.ndim != 1:
            return rows
        row[: values.size] = values
    return matrix


def _refuse_scores(scores: Any, user: int, row: Int, column: Int, is_full: bool) -> None:
    """Raise InputError for the first score of a row that is no number, or of no candidate."""
    values = to_numpy(scores[user : user + 1, :])[0]
    is_bad = ~(values < np.inf)
    if is_full:  # other items may be no candidates
        own = column[row == user]
        is_bad[own] |= values[own] == -np.inf
    else:
        is_bad |= values == -np.inf
    place = int(np.argmax(is_bad))
    problem = f"the score in column {place} is {values[place]}; expected finite numbers"
    if values[place] == -np.inf:
        problem += (
            ", or -inf behind the last negative of a row that has fewer, or missing='last' "
            "(--missing last) for items that an answer leaves out"
        )
    elif np.isnan(values[place:]).all() and not is_full:
        problem += "; pad rows with fewer negatives with -inf at their end"
    raise InputError(problem, row=user + 1)


def held_out_positions(positive: ArrayLike, shape: tuple[int, ...]) -> tuple[Int, Int]:
    """Return rows and columns of held-out items, given by columns or by labels."""
    if sparse.issparse(positive):
        check_sparse(positive, "positive")
    column = to_array("positive", arrow_column_to_array(positive))
    users, width = shape
    if column.shape == shape and ((column == 0) | (column == 1)).all():
        without = np.flatnonzero(~column.any(axis=1))
        if without.size:
            problem = "positive has no item; leave out rows without one"
            raise InputError(problem, row=int(without[0]) + 1)
        row, place = np.nonzero(column)
        return row, place
    is_whole = column.dtype.kind in "iu" and column.shape in {(), (users,)}
    if not (is_whole and ((column >= -width) & (column < width)).all()):
        found = f"{column.dtype} of shape {column.shape}"
        if not column.ndim:
            found = str(column)
        expected = f"one of the columns 0 to {width - 1}, or labels of 0 and 1, {shape}"
        if column.shape == shape and column.ndim and column.dtype.kind in "iuf":
            expected += (
                "; for grades put Ranks.from_scores(scores, grades) of the batches together by "
                "Ranks.concatenate"
            )
        raise InputError(f"positive is {found}; expected {expected}")
    return np.arange(users), np.broadcast_to(column, users) % width
