"""Score matrices: `.npy` and `.npz`, with relevant and seen items as files beside them."""

import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError, reading
from sampled_metrics._base.files import read_arrays
from sampled_metrics.ranks.ranking import Marked, rank
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.relevant_items import WHAT, read_pairs, refuse_repeated, relevant_rows
from sampled_metrics.tables.columns import ITEM, USER, Table
from sampled_metrics.tables.reading import require_file

_SCORES = "a matrix of scores, users x items"
_SEEN = "seen items, users x items"
_TRIPLE = ("seen_indptr", "seen_indices")


class Shape(NamedTuple):
    """Users and items of a matrix, which ids in other files must keep to."""

    users: int
    items: int


def from_matrix(path: Path, relevant: Path | None, seen: Path | None, n_items: int | None) -> Ranks:
    """Rank relevant items by a matrix of scores, users x items; -inf is no candidate.

    Parameters
    ----------
    path
        `.npy`, read block by block, or `.npz` with an array `scores` and, if wanted, `held_out`
        (columns, shape (users,)) and `seen` (bool, users x items) or `seen_indptr` and
        `seen_indices` (compressed sparse rows), read as a whole.
    relevant
        `.npy` with a column for each user, or a table or qrels of row and column numbers from 0,
        unless `path` holds `held_out`.
    seen
        `.npz` as scipy's `save_npz` writes, `.npy` of bool, or a table of row and column numbers.
    n_items
        Columns that the matrix must have, where given.

    Raises
    ------
    InputError
        A file is not what it should be, a number is out of range, a score is NaN or +inf.
    """
    scores, beside = _read_scores(path)
    shape = Shape(*scores.shape)
    if n_items is not None and n_items != shape.items:
        raise InputError(f"{path}: scores of {shape.items} items; allowed: {n_items}")
    wanted = _relevant(path, relevant, beside, shape)
    known = _seen(path, seen, beside, shape)
    with reading(path):
        return rank(lambda users: scores[users], known, wanted)


def _read_scores(path: Path) -> tuple[NDArray[Any], dict[str, NDArray[Any]]]:
    require_file(path, _SCORES)
    if path.suffix == ".npy":
        scores, beside = _load(path, _SCORES, mmap_mode="r"), {}
    else:
        beside = _load_archive(path, "arrays with scores", "scores")
        scores = beside.pop("scores")
    if scores.ndim != 2 or scores.dtype.kind not in "fiu" or not scores.size:
        raise InputError(
            f"{path}: scores are {scores.dtype} of shape {scores.shape}; "
            "allowed: numbers, users x items"
        )
    return scores, beside


def _relevant(
    path: Path, relevant: Path | None, beside: dict[str, NDArray[Any]], shape: Shape
) -> Marked:
    if relevant is None and "held_out" not in beside:
        raise InputError(f"{path} holds scores: a file of relevant items is needed")
    if relevant is None:
        return _one_each(path, "held_out", beside["held_out"], shape)
    if "held_out" in beside:
        raise InputError(f"{path} holds held_out already; allowed: one of it and {relevant}")
    relevant = Path(relevant)
    if relevant.suffix == ".npy":
        require_file(relevant, WHAT)
        return _one_each(relevant, "the vector", _load(relevant, WHAT), shape)
    table = read_pairs(relevant, WHAT)
    row, item = _numbers(table, shape)
    refuse_repeated(table, row, item)
    rows = relevant_rows(table)
    return _marked(row[rows], item[rows], shape)


def _one_each(path: Path, name: str, held_out: NDArray[Any], shape: Shape) -> Marked:
    if held_out.shape != (shape.users,) or held_out.dtype.kind not in "iu":
        raise InputError(
            f"{path}: {name} is {held_out.dtype} of shape {held_out.shape}; "
            f"allowed: whole numbers, one for each of {shape.users} users"
        )
    _require_range(path, f"{name}, user", held_out, shape.items)
    return _marked(np.arange(shape.users), held_out.astype(np.int64), shape)


def _seen(
    path: Path, seen: Path | None, beside: dict[str, NDArray[Any]], shape: Shape
) -> Marked | None:
    own = [name for name in ("seen", *_TRIPLE) if name in beside]
    if seen is None:
        return _own_seen(path, beside, shape) if own else None
    if own:
        raise InputError(f"{path} holds {own[0]} already; allowed: one of it and {seen}")
    seen = Path(seen)
    require_file(seen, _SEEN)
    if seen.suffix == ".npz":
        return _fitting(seen, _load_sparse(seen), shape)
    if seen.suffix == ".npy":
        return _fitting(seen, _load(seen, _SEEN), shape)
    return _marked(*_numbers(read_pairs(seen, _SEEN), shape), shape)


def _own_seen(path: Path, beside: dict[str, NDArray[Any]], shape: Shape) -> Marked:
    if "seen" in beside:
        return _fitting(path, beside["seen"], shape)
    missing = [name for name in _TRIPLE if name not in beside]
    if missing:
        raise InputError(
            f"{path}: lacks array {missing[0]}; allowed: both of {' and '.join(_TRIPLE)}"
        )
    indptr, indices = (beside[name] for name in _TRIPLE)
    ones = np.ones(indices.size, dtype=bool)
    try:
        table = csr_array((ones, indices, indptr), shape=shape)
        table.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"{path}: seen_indptr and seen_indices do not fit: {error}") from error
    return table


def _fitting(path: Path, table: Any, shape: Shape) -> Marked:
    if table.shape != tuple(shape) or table.dtype.kind not in "biuf":
        raise InputError(
            f"{path}: seen items are {table.dtype} of shape {table.shape}; "
            f"allowed: bool or numbers of shape {tuple(shape)}"
        )
    return table


def _numbers(table: Table, shape: Shape) -> tuple[Int, Int]:
    return table.whole(USER, 0, shape.users - 1), table.whole(ITEM, 0, shape.items - 1)


def _marked(row: Int, item: Int, shape: Shape) -> Marked:
    return csr_array((np.ones(row.size, dtype=bool), (row, item)), shape=shape)


def _require_range(path: Path, where: str, values: NDArray[Any], end: int) -> None:
    bad = (values < 0) | (values >= end)
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{path}: {where} {row}: found {values[row]}; allowed: 0 to {end - 1}")


def _load(path: Path, what: str, **options: Any) -> NDArray[Any]:
    try:
        return np.load(path, allow_pickle=False, **options)
    except Exception as error:
        # numpy raises whatever its parsers do, and takes what it does not know for a pickle: its
        # words would lead a reader astray.
        raise InputError(f"{path}: not {what}: no whole .npy file of numbers") from error


def _load_archive(path: Path, what: str, name: str) -> dict[str, NDArray[Any]]:
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path}: not {what}: no .npz archive")
    return read_arrays(path, what, (name,))


def _load_sparse(path: Path) -> Any:
    _load_archive(path, f"{_SEEN}, as scipy.sparse.save_npz writes", "format")
    try:
        return load_npz(path)
    except Exception as error:
        raise InputError(f"{path}: not {_SEEN} ({' '.join(str(error).split())})") from error
