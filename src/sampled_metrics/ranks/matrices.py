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
from sampled_metrics.ranks.item_lists import Marked
from sampled_metrics.ranks.ranking import rank
from sampled_metrics.ranks.ranks import Ranks
from sampled_metrics.ranks.relevant_items import (
    WHAT,
    read_pairs,
    relevant_rows,
    require_different_pairs,
)
from sampled_metrics.tables.columns import ITEM, USER, Table
from sampled_metrics.tables.reading import require_file

_SCORES = "a matrix of scores, users x items"
_SEEN = "seen items, users x items"
_PAIR = ("seen_indptr", "seen_indices")


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
        raise InputError(f"scores of {shape.items} items, expected {n_items}", path=path)
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
            f"scores are {scores.dtype} of shape {scores.shape}; expected numbers, users x items",
            path=path,
        )
    return scores, beside


def _relevant(
    path: Path, relevant: Path | None, beside: dict[str, NDArray[Any]], shape: Shape
) -> Marked:
    if relevant is None and "held_out" not in beside:
        raise InputError("scores need a file of relevant items, --relevant", path=path)
    if relevant is None:
        return _one_each(path, "held_out", beside["held_out"], shape)
    if "held_out" in beside:
        raise InputError(f"held_out and {relevant} both give relevant items", path=path)
    relevant = Path(relevant)
    if relevant.suffix == ".npy":
        require_file(relevant, WHAT)
        return _one_each(relevant, "relevant items", _load(relevant, WHAT), shape)
    table = read_pairs(relevant, WHAT)
    row, item = _numbers(table, shape)
    require_different_pairs(table)
    rows = relevant_rows(table)
    return _marked(row[rows], item[rows], shape)


def _one_each(path: Path, name: str, held_out: NDArray[Any], shape: Shape) -> Marked:
    if held_out.shape != (shape.users,) or held_out.dtype.kind not in "iu":
        raise InputError(
            f"{name}: {held_out.dtype} of shape {held_out.shape}; expected whole numbers, one for "
            f"each of {shape.users} users",
            path=path,
        )
    bad = (held_out < 0) | (held_out >= shape.items)
    if bad.any():
        user = int(np.argmax(bad))
        problem = f"{name}: {held_out[user]} for user {user}, expected 0 to {shape.items - 1}"
        raise InputError(problem, path=path)
    return _marked(np.arange(shape.users), held_out.astype(np.int64), shape)


def _seen(
    path: Path, seen: Path | None, beside: dict[str, NDArray[Any]], shape: Shape
) -> Marked | None:
    own = [name for name in ("seen", *_PAIR) if name in beside]
    if seen is None:
        return _own_seen(path, beside, shape) if own else None
    if own:
        raise InputError(f"{own[0]} and {seen} both give seen items", path=path)
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
    missing = [name for name in _PAIR if name not in beside]
    if missing:
        raise InputError(
            f"missing array {missing[0]}; {' and '.join(_PAIR)} go together", path=path
        )
    indptr, indices = (beside[name] for name in _PAIR)
    ones = np.ones(indices.size, dtype=bool)
    try:
        table = csr_array((ones, indices, indptr), shape=shape)
        table.check_format(full_check=True)
    except (ValueError, TypeError) as error:
        raise InputError(f"{' and '.join(_PAIR)} do not fit: {error}", path=path) from error
    return table


def _fitting(path: Path, table: Any, shape: Shape) -> Marked:
    if table.shape != tuple(shape) or table.dtype.kind not in "biuf":
        raise InputError(
            f"seen items are {table.dtype} of shape {table.shape}; expected bool or numbers of "
            f"shape {tuple(shape)}",
            path=path,
        )
    return table


def _numbers(table: Table, shape: Shape) -> tuple[Int, Int]:
    return table.whole(USER, 0, shape.users - 1), table.whole(ITEM, 0, shape.items - 1)


def _marked(row: Int, item: Int, shape: Shape) -> Marked:
    return csr_array((np.ones(row.size, dtype=bool), (row, item)), shape=shape)


def _load(path: Path, what: str, **options: Any) -> NDArray[Any]:
    try:
        return np.load(path, allow_pickle=False, **options)
    except Exception as error:
        # numpy raises whatever its parsers do, and takes what it does not know for a pickle: its
        # words would lead a reader astray.
        raise InputError(f"not {what}: no whole .npy file of numbers", path=path) from error


def _load_archive(path: Path, what: str, name: str) -> dict[str, NDArray[Any]]:
    if not zipfile.is_zipfile(path):
        raise InputError(f"not {what}: no .npz archive", path=path)
    return read_arrays(path, what, (name,))


def _load_sparse(path: Path) -> Any:
    _load_archive(path, f"{_SEEN}, as scipy.sparse.save_npz writes", "format")
    try:
        return load_npz(path)
    except Exception as error:
        reason = " ".join(str(error).split())
        raise InputError(f"not {_SEEN} ({reason})", path=path) from error
