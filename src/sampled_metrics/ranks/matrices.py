"""Score matrices: `.npy` and `.npz`, with relevant and seen items as files beside them."""

import zipfile
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz

from sampled_metrics._base.arrays import Float, Ids, Int
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.files import read_array, read_arrays
from sampled_metrics.ranks.checks import id_column, require, require_unique
from sampled_metrics.ranks.counting import Marked
from sampled_metrics.ranks.lists import warn_of_seen_items
from sampled_metrics.ranks.options import Ranked
from sampled_metrics.ranks.ranking import rank
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.relevant_items import WHAT, Pairs, read_pairs, relevant_rows
from sampled_metrics.tables.columns import Table
from sampled_metrics.tables.ids import ITEM, USER
from sampled_metrics.tables.reading import require_file

_SCORES = "a matrix of scores, users x items"
_SEEN = "seen items, users x items"
_RELEVANT = "relevant items, users x items"
_IDS = {"user_ids": 0, "item_ids": 1}  # names of arrays, and the axis of each
_PAIR = ("seen_indptr", "seen_indices")

Arrays: TypeAlias = dict[str, NDArray[Any]]


class Axes(NamedTuple):
    """Shape of a matrix of scores, and the ids of its users and items, None if they have none."""

    shape: tuple[int, ...]
    users: Ids | None
    items: Ids | None


def from_matrix(path: Path, ranked: Ranked) -> Ranks:
    """Rank relevant items by a matrix of scores, users x items; -inf is no candidate.

    The scores are `.npy`, read block by block, or `.npz` with an array `scores`, read as a whole.
    An `.npz` may also hold `held_out` (columns, shape (users,)), and `seen` (bool, users x items)
    or `seen_indptr` and `seen_indices` (compressed sparse rows), and `user_ids` and `item_ids`,
    which tables then hold in the place of row and column numbers from 0.

    Other files of relevant items are `.npy` with a column for each user, `.npz` as scipy's
    `save_npz` writes, or a table or qrels of rows and columns; those of seen items are such an
    `.npz` or table, or `.npy` of bool.
    """
    others = load_scores(path, _SCORES)
    scores = others.pop("scores")
    with reading(path):
        if scores.ndim != 2 or scores.dtype.kind not in "fiu" or not scores.size:
            raise InputError(
                f"scores are {scores.dtype} of shape {scores.shape}; expected numbers, users x "
                "items"
            )
        if ranked.n_items not in (None, scores.shape[1]):
            raise InputError(f"scores of {scores.shape[1]} items, expected {ranked.n_items}")
        axes = Axes(scores.shape, *(_ids(others, name, scores.shape) for name in _IDS))
        relevant, is_graded = _relevant(path, ranked, others, axes)
        seen = _seen(path, ranked.seen, others, axes)
        ranks = rank(
            lambda rows: scores[rows],
            seen,
            relevant,
            users=axes.users,
            items=axes.items,
            min_grade=ranked.min_grade if is_graded else None,
        )
    if seen is None and (ranks.n_candidates == scores.shape[1]).all():
        warn_of_seen_items(*scores.shape)
    return ranks


def load_scores(path: Path, what: str) -> Arrays:
    """Return the arrays of an `.npz`, or that of an `.npy` as `scores`."""
    require_file(path, what)
    if path.suffix == ".npy":
        return {"scores": read_array(path, what, mmap_mode="r")}
    return _load_archive(path, "arrays with scores", "scores")


def read_sparse(path: Path, what: str = _SEEN) -> Any:
    """Read a matrix, users x items, as scipy's `save_npz` writes it."""
    require_file(path, what)
    _load_archive(path, f"{what}, as scipy.sparse.save_npz writes", "format")
    try:
        return load_npz(path)
    except Exception as error:
        raise InputError(f"not {what} ({error})", path=path) from error


def _ids(others: Arrays, name: str, shape: tuple[int, ...]) -> Ids | None:
    if name not in others:
        return None
    ids = id_column(name, others[name], shape[_IDS[name]])
    require_unique(name, ids)
    return ids


def _relevant(path: Path, ranked: Ranked, others: Arrays, axes: Axes) -> tuple[Marked, bool]:
    """Return the relevant items, and whether their values are grades."""
    own = others.get("held_out")
    if ranked.relevant is None:
        if own is None:
            raise InputError(
                "scores need a file of relevant items, --relevant; `correct` with --positive takes "
                "those of a held-out item and its negatives"
            )
        return _one_each("held_out", own, axes, ranked.min_grade), False
    if own is not None:
        raise InputError(f"held_out and {ranked.relevant} both give relevant items")
    path = Path(ranked.relevant)
    with reading(path):
        if path.suffix == ".npy":
            require_file(path, WHAT)
            columns = read_array(path, WHAT)
            return _one_each("relevant items", columns, axes, ranked.min_grade), False
        if path.suffix == ".npz":
            marked = read_sparse(path, _RELEVANT)
            if marked.shape != axes.shape:
                raise InputError(f"{WHAT} have shape {marked.shape}, the scores {axes.shape}")
            return marked, ranked.min_grade > 0.0
    table = read_pairs(path, WHAT)
    row, item = _numbers(table, axes)
    Pairs.of(table)  # refuses duplicates
    rows, grade = relevant_rows(table, ranked.min_grade)
    return _marked(row[rows], item[rows], axes, grade), grade is not None


def _one_each(name: str, columns: NDArray[Any], axes: Axes, min_grade: float) -> Marked:
    n_users, n_items = axes.shape
    if min_grade > 0.0:
        raise InputError("--min-grade needs grades, a column relevance")
    if columns.shape != (n_users,) or columns.dtype.kind not in "iu":
        raise InputError(
            f"{name}: {columns.dtype} of shape {columns.shape}; expected whole numbers, one for "
            f"each of {n_users} users"
        )
    require(name, columns, (columns >= 0) & (columns < n_items), f"0 to {n_items - 1}")
    return _marked(np.arange(n_users), columns.astype(np.int64), axes)


def _seen(path: Path, seen: Path | None, others: Arrays, axes: Axes) -> Marked | None:
    """Return the seen items of the matrix's own file or of another, None without either."""
    own = [name for name in ("seen", *_PAIR) if name in others]
    if seen is None:
        if not own:
            return None
        marked = others["seen"] if own[0] == "seen" else _compressed(others, axes)
    elif own:
        raise InputError(f"{own[0]} and {seen} both give seen items")
    else:
        path = Path(seen)
        marked = _read_seen(path, axes)
    if marked.shape != axes.shape or marked.dtype.kind not in "biuf":
        raise InputError(
            f"seen items are {marked.dtype} of shape {marked.shape}; expected bool or numbers of "
            f"shape {axes.shape}",
            path=path,
        )
    return marked


def _compressed(others: Arrays, axes: Axes) -> csr_array:
    for name in _PAIR:
        if name not in others:
            raise InputError(f"missing array {name}; {' and '.join(_PAIR)} go together")
    indptr, indices = (others[name] for name in _PAIR)
    try:
        marked = csr_array((np.ones(indices.size, bool), indices, indptr), shape=axes.shape)
        marked.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"{' and '.join(_PAIR)} do not fit: {error}") from error
    return marked


def _read_seen(path: Path, axes: Axes) -> Any:
    require_file(path, _SEEN)
    if path.suffix == ".npy":
        return read_array(path, _SEEN)
    if path.suffix != ".npz":
        return _marked(*_numbers(read_pairs(path, _SEEN), axes), axes)
    return read_sparse(path)


def _numbers(table: Table, axes: Axes) -> tuple[Int, Int]:
    """Return the row and column numbers of pairs, of their ids if the scores have ids."""
    columns = zip((USER, ITEM), (axes.users, axes.items), axes.shape, strict=True)
    row, item = (
        table.whole(name, 0, size - 1)
        if ids is None
        else table.places(name, ids, "an id of the scores")
        for name, ids, size in columns
    )
    return row, item


def _marked(row: Int, item: Int, axes: Axes, grade: Float | None = None) -> csr_array:
    values = np.ones(row.size, dtype=bool) if grade is None else grade
    return csr_array((values, (row, item)), shape=axes.shape)


def _load_archive(path: Path, what: str, name: str) -> Arrays:
    if not zipfile.is_zipfile(path):
        raise InputError(f"not {what}: no .npz archive", path=path)
    return read_arrays(path, what, (name,))
