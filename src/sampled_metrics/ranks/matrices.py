"""Score matrices: `.npy` and `.npz`, with relevant and seen items as files beside them."""

import zipfile
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz

from sampled_metrics._base.arrays import Float, Ids, Int
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.files import read_arrays
from sampled_metrics.ranks.columns import id_column, require_unique
from sampled_metrics.ranks.item_lists import Marked
from sampled_metrics.ranks.lists import warn_of_seen_items
from sampled_metrics.ranks.ranking import rank
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.relevant_items import WHAT, Pairs, read_pairs, relevant_rows
from sampled_metrics.tables.columns import ITEM, USER, Table
from sampled_metrics.tables.ids import column_of, places
from sampled_metrics.tables.reading import require_file

_SCORES = "a matrix of scores, users x items"
_SEEN = "seen items, users x items"
_RELEVANT = "relevant items, users x items"
_WHICH_RELEVANT = (
    "scores need a file of relevant items, --relevant; `correct` with --positive takes those of a "
    "held-out item and its negatives"
)
_PAIR = ("seen_indptr", "seen_indices")

Arrays: TypeAlias = dict[str, NDArray[Any]]
Shape: TypeAlias = tuple[int, ...]


def from_matrix(
    path: Path,
    relevant: Path | None,
    seen: Path | None,
    n_items: int | None,
    min_grade: float = 0.0,
) -> Ranks:
    """Rank relevant items by a matrix of scores, users x items; -inf is no candidate.

    Parameters
    ----------
    path
        `.npy`, read block by block, or `.npz` with an array `scores`, read as a whole. An `.npz`
        may also hold `held_out` (columns, shape (users,)), and `seen` (bool, users x items) or
        `seen_indptr` and `seen_indices` (compressed sparse rows), and `user_ids` and `item_ids`,
        which tables then hold in the place of row and column numbers from 0.
    relevant
        `.npy` with a column for each user, `.npz` as scipy's `save_npz` writes, or a table or qrels
        of rows and columns, unless `path` holds `held_out`.
    seen
        `.npz` as scipy's `save_npz` writes, `.npy` of bool, or a table of rows and columns.
    n_items
        Columns that the matrix must have, where given.
    min_grade
        See `rank`; grades are a column `relevance`.
    """
    scores, others = _read_scores(path)
    if n_items is not None and n_items != scores.shape[1]:
        raise InputError(f"scores of {scores.shape[1]} items, expected {n_items}", path=path)
    axes = _axes(path, others, scores.shape)
    wanted, is_graded = _relevant(path, relevant, others, axes, min_grade)
    known = _seen(path, seen, others, axes)
    with reading(path):
        least = min_grade if is_graded else None
        _, users, items = axes
        ranks = rank(
            lambda rows: scores[rows], known, wanted, users=users, items=items, min_grade=least
        )
    if known is None and (ranks.n_candidates == scores.shape[1]).all():
        warn_of_seen_items(*scores.shape)
    return ranks


class Axes(NamedTuple):
    """Shape of a matrix of scores, and the ids of its users and items, None if they have none."""

    shape: Shape
    users: Ids | None
    items: Ids | None


def _axes(path: Path, others: Arrays, shape: Shape) -> Axes:
    ids: list[Ids | None] = []
    for name, size in (("user_ids", shape[0]), ("item_ids", shape[1])):
        with reading(path):
            each = id_column(name, others[name], size) if name in others else None
            if each is not None:
                require_unique(name, each)
            ids.append(each)
    return Axes(shape, *ids)


def load_scores(path: Path, what: str) -> Arrays:
    """Return the arrays of an `.npz`, or that of an `.npy` as `scores`."""
    require_file(path, what)
    if path.suffix == ".npy":
        return {"scores": _load(path, what, mmap_mode="r")}
    return _load_archive(path, "arrays with scores", "scores")


def _read_scores(path: Path) -> tuple[NDArray[Any], Arrays]:
    """Return the scores and the other arrays of the file."""
    others = load_scores(path, _SCORES)
    scores = others.pop("scores")
    if scores.ndim != 2 or scores.dtype.kind not in "fiu" or not scores.size:
        raise InputError(
            f"scores are {scores.dtype} of shape {scores.shape}; expected numbers, users x items",
            path=path,
        )
    return scores, others


def _relevant(
    path: Path, relevant: Path | None, others: Arrays, axes: Axes, min_grade: float
) -> tuple[Marked, bool]:
    """Return the relevant items, and whether their values are grades."""
    shape = axes.shape
    held_out = others.get("held_out")
    if relevant is None:
        if held_out is None:
            raise InputError(_WHICH_RELEVANT, path=path)
        marked, named = _one_each(path, "held_out", held_out, shape), path
    elif held_out is not None:
        raise InputError(f"held_out and {relevant} both give relevant items", path=path)
    elif relevant.suffix == ".npy":
        require_file(relevant, WHAT)
        marked = _one_each(relevant, "relevant items", _load(relevant, WHAT), shape)
        named = relevant
    elif relevant.suffix == ".npz":
        marked = read_sparse(relevant, _RELEVANT)
        if marked.shape != shape:
            problem = f"{WHAT} have shape {marked.shape}, the scores {shape}"
            raise InputError(problem, path=relevant)
        return marked, min_grade > 0.0
    else:
        table = read_pairs(relevant, WHAT)
        row, item = _numbers(table, axes)
        Pairs.of(table)  # refuses duplicates
        rows, grade = relevant_rows(table, min_grade)
        return _marked(row[rows], item[rows], shape, grade), grade is not None
    if min_grade > 0.0:
        raise InputError("--min-grade needs grades, a column relevance", path=named)
    return marked, False


def _one_each(path: Path, name: str, held_out: NDArray[Any], shape: Shape) -> Marked:
    n_users, n_items = shape
    if held_out.shape != (n_users,) or held_out.dtype.kind not in "iu":
        raise InputError(
            f"{name}: {held_out.dtype} of shape {held_out.shape}; expected whole numbers, one for "
            f"each of {n_users} users",
            path=path,
        )
    bad = (held_out < 0) | (held_out >= n_items)
    if bad.any():
        user = int(np.argmax(bad))
        problem = f"{name}: {held_out[user]} for user {user}, expected 0 to {n_items - 1}"
        raise InputError(problem, path=path)
    return _marked(np.arange(n_users), held_out.astype(np.int64), shape)


def _seen(path: Path, seen: Path | None, others: Arrays, axes: Axes) -> Marked | None:
    """Return the seen items of the matrix's own file or of another, None without either."""
    shape = axes.shape
    own = [name for name in ("seen", *_PAIR) if name in others]
    if seen is None:
        if not own:
            return None
        marked = others["seen"] if own[0] == "seen" else _compressed(path, others, shape)
    elif own:
        raise InputError(f"{own[0]} and {seen} both give seen items", path=path)
    else:
        path = Path(seen)
        marked = _read_seen(path, axes)
    if marked.shape != shape or marked.dtype.kind not in "biuf":
        raise InputError(
            f"seen items are {marked.dtype} of shape {marked.shape}; expected bool or numbers of "
            f"shape {shape}",
            path=path,
        )
    return marked


def _compressed(path: Path, others: Arrays, shape: Shape) -> csr_array:
    missing = [name for name in _PAIR if name not in others]
    if missing:
        raise InputError(
            f"missing array {missing[0]}; {' and '.join(_PAIR)} go together", path=path
        )
    indptr, indices = (others[name] for name in _PAIR)
    try:
        marked = csr_array((np.ones(indices.size, dtype=bool), indices, indptr), shape=shape)
        marked.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"{' and '.join(_PAIR)} do not fit: {error}", path=path) from error
    return marked


def _read_seen(path: Path, axes: Axes) -> Any:
    require_file(path, _SEEN)
    if path.suffix == ".npy":
        return _load(path, _SEEN)
    if path.suffix != ".npz":
        return _marked(*_numbers(read_pairs(path, _SEEN), axes), axes.shape)
    return read_sparse(path)


def read_sparse(path: Path, what: str = _SEEN) -> Any:
    """Read a matrix, users x items, as scipy's `save_npz` writes it."""
    require_file(path, what)
    _load_archive(path, f"{what}, as scipy.sparse.save_npz writes", "format")
    try:
        return load_npz(path)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InputError(f"not {what} ({reason})", path=path) from error


def _numbers(table: Table, axes: Axes) -> tuple[Int, Int]:
    """Return the row and column numbers of pairs, of their ids if the scores have ids."""
    columns = zip((USER, ITEM), (axes.users, axes.items), axes.shape, strict=True)
    row, item = (
        table.whole(name, 0, size - 1) if ids is None else _places(table, name, ids)
        for name, ids, size in columns
    )
    return row, item


def _places(table: Table, name: str, ids: Ids) -> Int:
    found = table.ids(name)
    place = places(found, column_of(ids))
    if (place < 0).any():
        row = int(np.argmax(place < 0))
        raise table.error(name, row, found[row], "an id of the scores")
    return place


def _marked(row: Int, item: Int, shape: Shape, grade: Float | None = None) -> csr_array:
    values = np.ones(row.size, dtype=bool) if grade is None else grade
    return csr_array((values, (row, item)), shape=shape)


def _load(path: Path, what: str, **options: Any) -> NDArray[Any]:
    try:
        return np.load(path, allow_pickle=False, **options)
    except Exception as error:
        # numpy takes what it does not know for a pickle, so its message would mislead.
        raise InputError(f"not {what}: no whole .npy file of numbers", path=path) from error


def _load_archive(path: Path, what: str, name: str) -> Arrays:
    if not zipfile.is_zipfile(path):
        raise InputError(f"not {what}: no .npz archive", path=path)
    return read_arrays(path, what, (name,))
