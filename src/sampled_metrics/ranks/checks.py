"""Checks of what ranks are made of: columns of counts and ids, which some ranking can have."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arrays import Float, Ids, Int, first_duplicate, fits_int64, integers
from sampled_metrics._base.errors import InputError

if TYPE_CHECKING:
    from sampled_metrics.ranks.ranks import Ranks


def count_column(name: str, values: ArrayLike) -> Int:
    """Return whole numbers as int64, shape (rows,); anything else raises InputError."""
    array = integers(name, values)
    if array.ndim != 1:
        raise InputError(f"{name} has shape {array.shape}; expected one dimension")
    return array


def id_column(name: str, values: ArrayLike, rows: int) -> Ids:
    """Return ids as integers or numpy's str, shape (rows,); anything else raises InputError."""
    array = np.asarray(values)
    if array.dtype.kind == "O":
        other = [value for value in array.flat if not isinstance(value, str | int | np.integer)]
        if other:
            raise InputError(f"{name} holds {other[0]!r}; expected integers or text")
        array = array.astype(np.str_)
    if not array.size:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iuU":
        raise InputError(f"{name} has dtype {array.dtype}; expected integers or text")
    if array.shape != (rows,):
        raise InputError(f"{name} has shape {array.shape}; expected {(rows,)}")
    if not fits_int64(array):
        raise InputError(f"{name} holds {array.max()}, too large for int64; turn them into text")
    return array


def require_unique(name: str, ids: Ids) -> None:
    """Raise InputError for the first row that repeats an id."""
    row = first_duplicate(ids)
    if row is not None:
        raise InputError(f"duplicate {name} {ids[row]}", row=row + 1)


def require(column: str, values: Float | Int, good: NDArray[np.bool_], expected: str) -> None:
    """Raise InputError for the first row that is not `good`; rows are counted from 1."""
    if not good.all():
        row = int(np.argmin(good))
        raise InputError(f"{values[row]}, expected {expected}", row=row + 1, column=column)


def require_same(name: str, option: Any, found_name: str, found: Any) -> None:
    """Raise InputError if an option differs from what the data says, in one value or in several."""
    if option is None or found is None or np.all(np.asarray(found) == option):
        return
    values = np.unique(found)
    said = f"{values[0]}" if values.size == 1 else f"{values[0]} to {values[-1]}"
    flag = f"--{name.replace('_', '-')}"
    raise InputError(f"found {found_name} {said}, but {name} ({flag}) is {option}; leave it out")


def check_counts(
    n_candidates: Int, n_better: Int, n_tied: Int, n_found: Int, n_relevant: Int, depth: Int
) -> dict[str, Int]:
    """Raise InputError unless some ranking has these counts; return items sorted best first."""
    require_lengths(n_candidates=n_candidates, n_found=n_found, n_relevant=n_relevant, depth=depth)
    _check_users(n_candidates, n_found, n_relevant, depth)
    require_lengths(n_better=n_better, n_tied=n_tied)
    if n_better.size != n_found.sum():
        raise InputError(f"{n_better.size} ranks of items, but n_found is {n_found.sum()} in all")
    user = np.repeat(np.arange(n_found.size), n_found)
    require("n_better", n_better, n_better >= 0, "at least 0")
    require("n_tied", n_tied, n_tied >= 0, "at least 0")
    expected = "less than its user's n_candidates or depth"
    require("n_better", n_better, n_better < depth[user], expected)
    n = n_candidates[user]
    fits = (n == 0) | (n_better + n_tied < n)
    require("n_tied", n_tied, fits, "n_better + n_tied below its user's n_candidates")
    if ((user[1:] == user[:-1]) & (n_better[1:] < n_better[:-1])).any():
        order = np.lexsort((n_better, user))
        n_better, n_tied = n_better[order], n_tied[order]
    _check_levels(user, n_better, n_tied)
    return {"n_better": n_better, "n_tied": n_tied}


def require_lengths(**columns: Int) -> None:
    """Raise InputError unless all columns have the same length."""
    sizes = {name: values.size for name, values in columns.items()}
    if len(set(sizes.values())) > 1:
        lengths = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise InputError(f"columns differ in length: {lengths}")


def not_single(ranks: "Ranks") -> InputError:
    """Return what to raise where a user has several relevant items or no full ranking."""
    several = np.flatnonzero(ranks.n_relevant > 1)
    cut = np.flatnonzero((ranks.n_candidates < 2) | (ranks.depth < ranks.n_candidates))
    first = several[0] if several.size else cut[0]
    user = f"user {first + 1 if ranks.users is None else ranks.users[first]}"
    if several.size:
        return InputError(
            f"{user} has {ranks.n_relevant[first]} relevant items ({several.size} users have "
            "several); one held-out item per user is needed"
        )
    return InputError(
        f"the list of {user} ends at rank {ranks.depth[first]} ({cut.size} users have such lists); "
        "full rankings are needed"
    )


def _check_users(n_candidates: Int, n_found: Int, n_relevant: Int, depth: Int) -> None:
    known = n_candidates > 0
    require("n_candidates", n_candidates, n_candidates >= 0, "at least 0 (0: not known)")
    require("n_relevant", n_relevant, n_relevant >= 1, "at least 1")
    require("n_found", n_found, n_found >= 0, "at least 0")
    require("n_found", n_found, n_found <= n_relevant, "at most n_relevant")
    require("depth", depth, depth >= 0, "at least 0")
    require("depth", depth, ~known | (depth <= n_candidates), "at most n_candidates")
    below = n_candidates - depth
    fits = ~known | (n_relevant - n_found <= below)
    expected = "no more than are found or fit between depth and n_candidates"
    require("n_relevant", n_relevant, fits, expected)


def _check_levels(user: Int, better: Int, tied: Int) -> None:
    """Raise InputError unless items of a user share both counts or have separate ranks."""
    beside = user[1:] == user[:-1]
    same = beside & (better[1:] == better[:-1])
    overlap = beside & (better[1:] < (better + tied + 1)[:-1])
    clash = np.where(same, tied[1:] != tied[:-1], overlap)
    if clash.any():
        row = int(np.argmax(clash))
        raise InputError(
            f"ranks of two items overlap: {better[row]} better and {tied[row]} tied, "
            f"{better[row + 1]} better and {tied[row + 1]} tied (user in row {user[row] + 1})"
        )
    first = np.flatnonzero(np.concatenate([np.ones(min(user.size, 1), bool), ~same]))
    items = np.diff(first, append=user.size)
    crowded = items > tied[first] + 1
    if crowded.any():
        level = int(np.argmax(crowded))
        row = int(first[level])
        raise InputError(
            f"{items[level]} items with {better[row]} better and {tied[row]} tied (user in row "
            f"{user[row] + 1}); at most n_tied + 1 items can have such a rank"
        )
