"""Scores of all items, users x items: matrices, vectors, functions and files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import array_api_compat as compat
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike
from scipy import sparse

from sampled_metrics._base.arguments import ALL_CORES, check_arguments, whole_number
from sampled_metrics._base.array_types import AnyArray, Array, Float, Ids, ItemsByUser
from sampled_metrics._base.arrow import arrow_to_numpy
from sampled_metrics._base.calls import note_meaning, place_of, public, warn_all
from sampled_metrics._base.columns import (
    NO_ITEM_NAMES,
    column_ids,
    index_ids,
    is_no_item,
    unique_ids,
)
from sampled_metrics._base.conversion import (
    arrow_column_to_array,
    as_array,
    keeps_own_library,
    numeric_array,
    to_numpy,
)
from sampled_metrics._base.defaults import BLOCK_SIZE, MAX_ITEMS
from sampled_metrics._base.errors import InputError, NoRelevantItemsError
from sampled_metrics._base.files import read_npy, read_npz, require_file
from sampled_metrics._base.sparse import check_sparse, to_scipy_dtype
from sampled_metrics._base.units import Units
from sampled_metrics.checks.items import signs_of_common_item
from sampled_metrics.checks.scores import (
    signs_of_equal_columns,
    signs_of_equal_vectors,
    signs_of_first_column,
    signs_of_sample_columns,
)
from sampled_metrics.ranks import Ranks
from sampled_metrics.read.common_ids import compare_ids
from sampled_metrics.read.comparisons import are_finite, take_rows
from sampled_metrics.read.counting import rank_items
from sampled_metrics.read.early_stop import EarlyStop
from sampled_metrics.read.items import (
    RELEVANT,
    SEEN,
    Items,
    Size,
    has_seen_items,
    items_for_scores,
    read_item_table,
)
from sampled_metrics.read.kinds import FILES, FRAMES, Kind, kind_of, recommenders_error
from sampled_metrics.read.pair_scores import PairScores, takes_pairs
from sampled_metrics.read.products import InnerProducts, ScoreFunction
from sampled_metrics.read.products_by_part import ProductsByPart
from sampled_metrics.read.roles import (
    ITEM,
    USER,
    VISIT,
    NamesByRole,
    check_roles,
    find_roles,
)
from sampled_metrics.read.tables import ColumnNames, Table

_CHECKED_ROWS = 1000  # rows, evenly spaced, in which the first columns are checked
_COMPARED_ROWS = 16  # rows, evenly spaced, in which all columns are compared
_FEWEST_WITH_SEEN = 10  # fewer users or items are an example
_MIN_ROWS = 10  # fewer rows may score relevant items only by chance


class ScoreSource(NamedTuple):
    """Where scores of all items come from.

    Attributes
    ----------
    rows
        Function from row numbers of users to their scores, users x items.
    shape
        Numbers of users and items.
    user_ids, item_ids
        Ids of rows and columns; None if they are numbered.
    sparse_matrix
        The matrix of scores if it is sparse; None for other scores.
    first_columns
        First two columns in some rows of a dense matrix; None for other scores.
    some_rows
        A few rows of a dense matrix; None for other scores.
    pair_width
        Width d of two arrays of one shape: vectors only if some relevant item has the number d or
        more, so that it is no column of such an array; 0 for other scores.
    """

    rows: ScoreFunction
    shape: Size
    user_ids: Any = None
    item_ids: Any = None
    sparse_matrix: sparse.csr_array | None = None
    first_columns: Array | None = None
    some_rows: Array | None = None
    pair_width: int = 0

    def matrix(self) -> Array:
        """Return all scores at once."""
        return as_array(self.rows(np.arange(self.shape[0])), "scores")


def read_scores(data: Any) -> ScoreSource:
    """Read a matrix of scores; see `read_array`. Numbers of one dimension raise InputError."""
    source = read_array(data)
    if isinstance(source, ScoreSource):
        return source
    return _scores_from_matrix(source)  # which refuses them


def pair_error() -> InputError:
    """Make the error for two arrays that are neither ids and scores nor clearly vectors."""
    return InputError(
        "found two arrays of the same kind; use Ranks.from_top_k(ids, relevant, scores=...) or "
        "Ranks.from_factors(users, items, ...)"
    )


def read_array(
    data: Any, noun: str = "ranks, lists or scores", kind: Kind | None = None
) -> ScoreSource | Array:
    """Read numbers of users x items as scores, and numbers of one dimension as an array.

    Data is an array of any library, a list, a column, a sparse matrix (what it does not store is
    0), a DataFrame (whose index and columns are ids unless they number rows and columns from 0),
    or a file, which errors call `noun`: `.npy`, or `.npz` with the array `scores` and maybe ids.
    `kind` is that of the data, if it is known.
    """
    if isinstance(data, ScoreSource):
        return data
    kind = kind or kind_of(data)
    if kind is Kind.RECOMMENDERS:
        raise recommenders_error("rank")
    if kind in FILES:
        return _array_from_file(Path(data), noun)
    if kind is Kind.ARRAY:
        data = arrow_column_to_array(data)
        kind = kind_of(data)  # a column of lists is a list of rows now
    if kind is Kind.SPARSE:
        return _scores_from_sparse(data)
    if kind in FRAMES:
        frame = data if isinstance(data, pd.DataFrame) else pa.table(data).to_pandas()
        refuse_id_column(frame, "scores", "users= or items=")
        matrix = numeric_array(frame, "scores")
        return _scores_from_matrix(matrix, index_ids(frame), column_ids(frame))
    if kind is Kind.MATRIX and keeps_own_library(data):
        return ScoreSource(partial(take_rows, data), tuple(data.shape))
    is_column = kind in (Kind.ARRAY, Kind.SERIES)
    array = numeric_array(data, "data" if is_column else "scores")
    return array if is_column else _scores_from_matrix(array)


def _array_from_file(path: Path, noun: str) -> ScoreSource | Array:
    """Read an array, or the array `scores` of an `.npz` file, with the ids that it may have."""
    require_file(path, noun)
    if path.suffix == ".npy":
        in_blocks = read_npy(path, noun, mmap_mode="r")
        return read_array(in_blocks, noun)
    names = ("user_ids", "item_ids")
    arrays = read_npz(path, "arrays with scores", ("scores",), names)
    return _scores_from_matrix(arrays["scores"], *map(arrays.get, names))


def _scores_from_sparse(data: Any) -> ScoreSource:
    """Take a sparse matrix as scores; what it does not store is 0."""
    check_sparse(data, "scores")
    matrix = sparse.csr_array(to_scipy_dtype(data))
    if matrix.ndim != 2:
        raise InputError(f"scores have shape {matrix.shape}; expected numbers, users x items")
    return ScoreSource(lambda rows: matrix[rows].toarray(), matrix.shape, sparse_matrix=matrix)


def _scores_from_matrix(matrix: Array, user_ids: Any = None, item_ids: Any = None) -> ScoreSource:
    """Take a dense matrix in main memory, or in a file that is mapped into it, as scores."""
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiu" or not matrix.size:
        raise InputError(
            f"scores are {matrix.dtype} of shape {matrix.shape}; expected numbers, users x items"
        )
    checked_step = max(1, len(matrix) // _CHECKED_ROWS)
    compared_step = max(1, len(matrix) // _COMPARED_ROWS)
    return ScoreSource(
        matrix.__getitem__,
        matrix.shape,
        user_ids,
        item_ids,
        first_columns=matrix[::checked_step, :2],
        some_rows=matrix[::compared_step][:_COMPARED_ROWS],
    )


def scores_from_vectors(users: ArrayLike, items: ArrayLike) -> ScoreSource:
    """Use the inner products of user vectors and item vectors as scores.

    Vectors of 32 bits or fewer are multiplied in float32, and close products compared in float64.

    Parameters
    ----------
    users
        Vectors of users, shape (users, d). The index of a DataFrame contains ids unless it numbers
        rows from 0.
    items
        Vectors of items, shape (items, d); or a list of `.npy` files of them, which are read one at
        a time.
    """
    user_ids = _vector_ids("users", users)
    if isinstance(items, list | tuple) and items and all(map(_is_path, items)):
        return _scores_from_parts(users, items, user_ids)
    item_ids = _vector_ids("items", items)
    if all(keeps_own_library(data) and compat.is_torch_array(data) for data in (users, items)):
        # Tensors on a device stay there.
        user_vectors, item_vectors = users.detach(), items.detach()  # type: ignore[union-attr]
    else:
        user_vectors = np.atleast_1d(numeric_array(users, "users"))
        item_vectors = np.atleast_1d(numeric_array(items, "items"))
    d = user_vectors.shape[-1]  # length of a vector
    user_dtype = _require_vectors("users", user_vectors, d)
    item_dtype = _require_vectors("items", item_vectors, d)
    xp = compat.array_namespace(user_vectors, item_vectors)
    dtype = xp.float32 if _fit_in_float32(user_dtype, item_dtype) else xp.float64
    products = InnerProducts(
        xp.astype(user_vectors, dtype, copy=False), xp.astype(item_vectors, dtype, copy=False)
    )
    _require_finite("users", user_vectors, products.user_lengths)
    _require_finite("items", item_vectors, products.item_lengths)
    return ScoreSource(products, (len(user_vectors), len(item_vectors)), user_ids, item_ids)


def _is_path(value: object) -> bool:
    return isinstance(value, str | Path)


def _scores_from_parts(users: ArrayLike, paths: Sequence[Any], user_ids: Any) -> ScoreSource:
    """Take inner products with item vectors in several `.npy` files as scores."""
    user_vectors = np.atleast_1d(numeric_array(users, "users"))
    d = user_vectors.shape[-1]  # length of a vector
    user_dtype = _require_vectors("users", user_vectors, d)
    if not are_finite(user_vectors):
        raise _vectors_error("users", user_vectors)
    parts = [_open_item_vectors(Path(path), d) for path in paths]
    fit_in_float32 = _fit_in_float32(user_dtype, *(part.dtype for part in parts))
    dtype = np.float32 if fit_in_float32 else np.float64
    products = ProductsByPart(user_vectors, parts, dtype)
    return ScoreSource(products, (len(user_vectors), int(products.sizes.sum())), user_ids)


def _open_item_vectors(path: Path, d: int) -> Array:
    """Return vectors of items, shape (items, d), in a file that is mapped into memory."""
    vectors: Array = read_npy(path, "vectors of items", mmap_mode="r")
    if vectors.ndim != 2 or vectors.shape[1] != d or vectors.dtype.kind not in "fiu":
        raise InputError(
            f"found {vectors.dtype} of shape {vectors.shape}; expected vectors of items, numbers "
            f"of shape (items, {d})",
            path=path,
        )
    return vectors


def _fit_in_float32(*dtypes: np.dtype[Any]) -> bool:
    """Return whether float32 holds all numbers of some types, as those of 16 bits or of float32."""
    common_dtype = np.result_type(*dtypes, np.float16)  # a floating type, also for whole numbers
    return common_dtype.itemsize <= 4


def _require_vectors(name: str, vectors: Any, d: int) -> np.dtype[Any]:
    """Raise InputError unless vectors are numbers of shape (n, d); return their type."""
    dtype = to_numpy(vectors[:1]).dtype  # that of numpy, also for tensors
    has_shape = vectors.ndim == 2 and vectors.shape[1] == d
    if dtype.kind not in "fiu" or not has_shape:
        raise _vectors_error(name, vectors)
    return dtype


def _require_finite(name: str, vectors: AnyArray, lengths: Float) -> None:
    """Raise InputError unless vectors are finite, which finite lengths show at once."""
    if not np.isfinite(lengths).all() and not are_finite(vectors):
        raise _vectors_error(name, vectors)


def _vectors_error(name: str, vectors: AnyArray) -> InputError:
    return InputError(
        f"vectors of {name} are {vectors.dtype} of shape {tuple(vectors.shape)}; expected "
        f"finite numbers, of shape ({len(vectors)}, d)"
    )


def _vector_ids(name: str, vectors: Any) -> Any:
    """Return the index of a table if it contains ids; refuse a table with a column of ids."""
    if kind_of(vectors) not in FRAMES:
        return None
    refuse_id_column(vectors, f"vectors of {name}", f"{name}= to Ranks.from_factors")
    return index_ids(vectors)


def refuse_id_column(table: Any, noun: str, argument: str) -> None:
    """Raise InputError for a table of numbers with a column of ids."""
    columns = table.columns if hasattr(table, "columns") else pa.table(table).column_names
    names = [str(column) for column in columns]
    for name, role in zip(names, find_roles(names), strict=True):
        if role in (USER, ITEM, VISIT):
            raise InputError(
                f"{noun} have a column {name}; make it the index, set_index({name!r}), or "
                f"drop it and pass its values by {argument}"
            )


def _count_users(relevant: ItemsByUser, users: ArrayLike | None = None) -> int:
    """Return the number of users.

    It is the length of `relevant` if that has one entry or row for each user, as a list, an array
    or a sparse matrix has, and else the length of `users`. A table, a dictionary or a Series by
    user does not determine the number, as it may lack users.
    """
    kind = kind_of(relevant)
    if kind in (Kind.ARRAY, Kind.MATRIX, Kind.ROWS, Kind.PAIR, Kind.RECORDS):
        return len(relevant)
    if kind is Kind.SPARSE:
        return int(relevant.shape[0])
    if users is not None:
        return as_array(users, "users").size
    error_type = NoRelevantItemsError if relevant is None else InputError
    raise error_type("a function of users needs relevant by position, or the ids of users (users=)")


def scores_from_function(
    score: Any, relevant: ItemsByUser, n_items: int | None = None, users: ArrayLike | None = None
) -> ScoreSource:
    """Use a function as scores: of users, or of users and items.

    Parameters
    ----------
    score
        Function from rows of users to the scores of all items, shape (users, items); or from two
        arrays of one length, users and items, to a score for each pair.
    relevant, users
        Relevant items by position, or ids of users, whose number is that of the users.
    n_items
        Number of items, which a function of pairs needs.
    """
    if kind_of(score) is not Kind.FUNCTION:
        raise InputError(
            f"score is of type {type(score).__name__}; expected a function of users, or of users "
            "and items"
        )
    n_users = _count_users(relevant, users)
    if takes_pairs(score):
        if n_items is None:
            raise InputError("a function of users and items needs n_items")
        n = whole_number("n_items", n_items, 1, MAX_ITEMS)
        return ScoreSource(PairScores(score, n), (n_users, n))
    shape = np.shape(score(np.zeros(min(n_users, 1), np.int64)))
    if len(shape) != 2:
        raise InputError(f"scores have shape {shape}, expected (1, items) for the first user")
    return ScoreSource(score, (n_users, shape[1]))


@public(columns=check_roles)
def ranks_from_scores(
    scores: Any,
    relevant: ItemsByUser = None,
    seen: ItemsByUser = None,
    *,
    users: ArrayLike | None = None,
    visits: ArrayLike | None = None,
    items: ArrayLike | None = None,
    missing: str = "refuse",
    min_relevance: float = 0.0,
    up_to: int | None = None,
    early_stop: EarlyStop | None = None,
    block_size: int = BLOCK_SIZE,
    n_jobs: int = ALL_CORES,
    progress: bool | None = None,
    columns: NamesByRole = None,
) -> Ranks:
    """Rank relevant items among all items that their users have not seen.

    `early_stop` lets rankings end at a depth where this changes no result. Other parameters are
    those of `Ranks.from_scores`.
    """
    check_arguments(
        missing=missing, min_relevance=min_relevance, up_to=up_to, block_size=block_size
    )
    scores = read_scores(scores)
    ranks = _rank_by_scores(
        scores,
        relevant,
        seen,
        units=_units_of_rows(scores, users, visits),
        items=items,
        missing=missing,
        min_relevance=min_relevance,
        up_to=up_to,
        early_stop=early_stop,
        block_size=block_size,
        n_jobs=n_jobs,
        progress=progress,
    )
    return ranks.at_least(min_relevance)


def _units_of_rows(
    scores: ScoreSource, users: ArrayLike | None, visits: ArrayLike | None
) -> Units | None:
    """Return the users of the rows of scores, or their visits; None without ids."""
    n_rows = scores.shape[0]
    if visits is None:
        user_ids = _axis_ids("users", users, scores.user_ids, n_rows)
        return None if user_ids is None else Units(user_ids)
    units = Units.of_rows(users, visits, n_rows)
    if units is not None:
        units.require_unique()
        if scores.user_ids is not None:
            _require_same_ids("users", scores.user_ids, arrow_to_numpy(units.users))
    return units


def _rank_by_scores(
    scores: ScoreSource,
    relevant: ItemsByUser,
    seen: ItemsByUser,
    *,
    units: Units | None,
    items: ArrayLike | None,
    missing: str,
    min_relevance: float,
    **options: Any,
) -> Ranks:
    """Match relevant and seen items with rows and columns of scores, and rank them.

    Parameters
    ----------
    scores
        Scores of n_users x n_items.
    relevant, seen, items, missing, min_relevance
        See `Ranks.from_scores`.
    units
        Users, or visits, of the rows; None if they are numbered.
    **options
        See `rank_items`.
    """
    n_users, n_items = scores.shape
    item_ids = _axis_ids("items", items, scores.item_ids, n_items)
    if item_ids is not None and is_no_item(item_ids).any():
        raise InputError(f"a column of the scores has the id {NO_ITEM_NAMES}, no item; drop it")
    if relevant is None:
        raise NoRelevantItemsError(
            "found scores; pass relevant (--relevant) or, if these are scores of a held-out item "
            "and its negatives, use `correct` with positive (--positive)"
        )
    all_units, all_item_ids = units, item_ids  # also of users and items without scores
    if missing == "last":
        relevant, all_units, all_item_ids = _append_missing_ids(relevant, units, item_ids)
    read_items = partial(
        items_for_scores,
        size=scores.shape,
        units=all_units,
        item_ids=all_item_ids,
        min_relevance=min_relevance,
        skip_unknown=missing == "last",
    )
    relevant_items = read_items(relevant, RELEVANT)
    _check_relevant(scores, relevant_items)
    seen_items = read_items(seen, SEEN) if has_seen_items(seen) else None
    _warn_about_columns(scores, relevant_items, seen_items)
    _require_length("users", units, n_users)
    _require_length("items", item_ids, n_items)
    ranks = rank_items(
        scores.rows,
        relevant_items,
        seen_items,
        shape=scores.shape,
        missing=missing,
        units=all_units,
        items=all_item_ids,
        **options,
    )
    _warn_about_sample(scores, ranks, relevant_items, has_ids=item_ids is not None)
    return ranks


def _check_relevant(scores: ScoreSource, relevant: Items) -> None:
    """Raise InputError, or warn, if relevant items do not fit scores of all items."""
    if relevant.n_users and not relevant.item.size:
        raise InputError("no user has a relevant item; expected at least one")
    if relevant.item.max(initial=0) < scores.pair_width:
        raise pair_error()
    warn_all(signs_of_common_item(relevant))
    if scores.sparse_matrix is not None:
        _require_other_scores(scores.sparse_matrix, relevant)


def _require_length(name: str, ids: Units | Ids | None, size: int) -> None:
    """Raise InputError unless there are as many ids as rows or columns, or none."""
    if ids is not None and len(ids) != size:
        raise InputError(f"{name} has shape {(len(ids),)}; expected {(size,)}")


def _warn_about_columns(scores: ScoreSource, relevant: Items, seen: Items | None) -> None:
    """Warn of a first column that holds no scores, and of items with equal scores."""
    warn_all(
        signs_of_first_column(scores.first_columns, scores.item_ids, relevant=relevant, seen=seen)
    )
    warn_all(_signs_of_copies(scores))


def _warn_about_sample(
    scores: ScoreSource, ranks: Ranks, relevant: Items, *, has_ids: bool
) -> None:
    """Warn if scores seem to be those of held-out items and sampled negatives, not of all items."""
    are_all_candidates = bool((ranks.n_candidates == scores.shape[1]).all())
    have_one_item = relevant.sizes.max(initial=0) == 1
    are_vectors = isinstance(scores.rows, InnerProducts | ProductsByPart)
    if are_all_candidates and have_one_item and not are_vectors:
        is_catalogue = has_ids or isinstance(scores.rows, PairScores)
        warn_all(signs_of_sample_columns(relevant.item, scores.shape[1], is_catalogue))


def _signs_of_copies(scores: ScoreSource) -> Iterator[tuple[str, str]]:
    """Look for equal item vectors, or equal columns of a dense matrix, in main memory."""
    if isinstance(scores.rows, InnerProducts) and not scores.rows.keeps_library:
        yield from signs_of_equal_vectors(to_numpy(scores.rows.items))
    elif scores.some_rows is not None:
        yield from signs_of_equal_columns(scores.some_rows)


def note_missing_seen(n_users: int, n_items: int) -> None:
    """Note that seen items may be candidates, as all users have a score for every item."""
    if min(n_users, n_items) >= _FEWEST_WITH_SEEN:
        note_meaning(
            SEEN,
            f"none, so items seen in training are among the {n_items:,} candidates of each user; "
            "pass them as seen (--seen), or seen='none' (--seen none) if there are none",
        )


def _append_missing_ids(
    relevant: ItemsByUser, units: Units | None, item_ids: Ids | None
) -> tuple[Any, Units | None, Ids | None]:
    """Append the ids of relevant items, and of their users, that the scores lack.

    Returns
    -------
    relevant
        The table that was read, or the data if it has no ids.
    units, item_ids
        Ids of rows and columns, followed by the missing ones; None for axes without ids.
    """
    with place_of(relevant):
        table = read_item_table(relevant, RELEVANT)
        if table is None:
            return relevant, units, item_ids
        if units is not None:
            units = _union_with_column(table, USER, units)
        if item_ids is not None:
            item_ids, _ = _union_with_column(table, ITEM, Units(item_ids)).users_and_visits()
    return table, units, item_ids


def _union_with_column(table: Table, column: str, ids: Units) -> Units:
    """Return the ids of rows or columns of scores, and those of a table that are not among them."""
    columns: ColumnNames = (column,) if ids.visits is None else (USER, VISIT)
    table.require(*columns)
    _, ids_of_table = table.units(columns)
    is_missing = ids_of_table.positions_in(ids) < 0
    if is_missing.all():
        raise InputError(
            f"found {ids_of_table.name(0)}; expected ids of the scores, such as {ids.name(0)}",
            path=table.path,
            column=column,
        )
    compare_ids(column, RELEVANT, ids_of_table.names(), "the scores", ids.names())
    return ids.union(ids_of_table)


def _require_other_scores(matrix: sparse.csr_array, relevant: Items) -> None:
    """Raise InputError if a sparse matrix stores scores of relevant items only."""
    n_stored = np.diff(matrix.indptr)  # scores of each row
    n_relevant = relevant.sizes[: n_stored.size]  # users without scores may follow
    if np.count_nonzero(n_stored) < _MIN_ROWS or (n_stored > n_relevant).any():
        return
    row = np.repeat(np.arange(n_stored.size), n_stored)
    if relevant.has(row, matrix.indices.astype(np.int64)).all():
        raise InputError(
            f"all {row.size:,} scores that the sparse matrix stores are of relevant items; "
            "pass scores of all items, or, if these are ranks from 0 such as LightFM's "
            "predict_rank, Ranks.from_ranks(ranks.data + 1, n_items, users=ranks.tocoo().row)"
        )


def _axis_ids(name: str, option: ArrayLike | None, score_ids: Any, size: int) -> Ids | None:
    """Return the ids of rows or columns from an option or from the scores, which must agree.

    The result is None if neither has any. `size` is the number of the ids of the scores.
    """
    ids = None if score_ids is None else unique_ids(score_ids, f"{name[:-1]}_ids", size)
    if option is None:
        return ids
    column = as_array(option, name)
    option_ids = unique_ids(column, name, column.size)
    if ids is not None:
        _require_same_ids(name, ids, option_ids)
    return option_ids


def _require_same_ids(name: str, ids: Ids, option_ids: Ids) -> None:
    """Raise InputError if an option differs from the ids that the scores have."""
    if not np.array_equal(ids, option_ids):
        raise InputError(
            f"{name} differ from the ids that the scores have, such as {option_ids[0]} and "
            f"{ids[0]}; drop {name}, or pass the scores as an array"
        )
