"""A recommender that was trained elsewhere: its scores, read from a file."""

import logging
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from sampled_metrics._base.arrays import EXACT, Ids, Int, first_duplicate
from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.split import Split, require_all
from sampled_metrics.tables.columns import Table
from sampled_metrics.tables.ids import ITEM, USER, Codes, places
from sampled_metrics.tables.reading import read_table, require_file

SCORE = "score"
WHAT = f"scores ({USER}, {ITEM}, {SCORE}), or .npz of scores, user_ids, item_ids"
_log = logging.getLogger(__name__)

Scores: TypeAlias = NDArray[np.floating[Any]]


class External:
    """Scores every item of a split as a recommender does that was trained elsewhere.

    Parameters
    ----------
    path
        The file, for messages.
    split
        Its candidates need a score: all items that a user has not seen in training.
    rows
        Function of users that returns their scores of all items, -inf where there is none; users
        and items by their numbers in the split.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.sparse import csr_array
    >>> users, items = np.array([7, 9]), np.array(["a", "b"])
    >>> split = Split(csr_array([[1.0, 0], [0, 1]]), np.array([1, 0]), users, items, 0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "scores.npz"
    ...     np.savez(path, scores=[[1.0, 2], [3, 4]], user_ids=[9, 7], item_ids=["b", "a"])
    ...     External.read(path, split).score(np.array([0, 1]))
    array([[4., 3.],
           [2., 1.]])
    """

    KIND: ClassVar[str] = "external"

    def __init__(self, path: Path, split: Split, rows: Callable[[Int], Scores]) -> None:
        self.path, self.split, self.rows = path, split, rows

    @classmethod
    def read(cls, path: Path, split: Split) -> Self:
        """Read the scores of the users and items of a split, in any order.

        The file is a table (CSV, TSV or parquet) with columns `user_id`, `item_id` and `score`, or
        an `.npz` with arrays `scores`, of shape (users, items), `user_ids` and `item_ids`, as
        written by `numpy.savez`. The matrix is mapped into memory. Users and items that the split
        does not have are left out, and counted in the log.
        """
        path = Path(path)
        require_file(path, WHAT)
        rows = (_from_matrix if path.suffix == ".npz" else _from_table)(path, split)
        return cls(path, split, rows)

    def score(self, users: Int) -> Scores:
        """Return the scores of all items for some users; shape (len(users), items).

        A candidate without a score is an InputError, because a partial list cannot give a rank.
        """
        scores = self.rows(users)
        absent = np.isneginf(scores)
        if absent.any():
            seen = self.split.train[users]
            absent[np.repeat(np.arange(users.size), np.diff(seen.indptr)), seen.indices] = False
        if absent.any():
            row, item = np.argwhere(absent)[0]
            user, count = users[row], np.count_nonzero(absent[row])
            raise InputError(
                f"no score of item {self.split.item_ids[item]} for user "
                f"{self.split.user_ids[user]}; every item that a user has not seen in training "
                f"needs one ({count:,} of {self.split.n_candidates[user]:,} lack it)",
                path=self.path,
            )
        return scores


def _from_matrix(path: Path, split: Split) -> Callable[[Int], Scores]:
    with _reading(path), np.load(path, allow_pickle=False) as arrays:
        user_ids, item_ids = (_ids(path, arrays, name) for name in ("user_ids", "item_ids"))
    scores = _mapped(path, (user_ids.size, item_ids.size))
    rows = _places(path, "user", split.evaluated_ids, user_ids)
    columns = _places(path, "item", split.item_ids, item_ids)
    users, items = user_ids.size - rows.size, item_ids.size - columns.size
    if users or items:
        counts = f"{users:,} users and {items:,} items"
        _log.info("%s: ignored %s that the split does not have", path, counts)
    kind = scores.dtype.newbyteorder("=")
    return lambda wanted: np.asarray(scores[rows[wanted]][:, columns], kind)


def _mapped(path: Path, shape: tuple[int, int]) -> Scores:
    """Map the matrix into memory, which an archive allows if it is not compressed."""
    with _reading(path), zipfile.ZipFile(path) as archive:
        member = archive.getinfo("scores.npy")
    if member.compress_type != zipfile.ZIP_STORED:
        raise InputError("scores are compressed; write them with numpy.savez", path=path)
    with _reading(path), path.open("rb") as file:
        # The member follows its local header: 30 bytes, which end with the lengths of a name and
        # of an extra field that come next.
        file.seek(member.header_offset)
        file.seek(sum(struct.unpack("<26xHH", file.read(30))), 1)
        end = file.tell() + member.file_size
        version = npy.read_magic(file)
        read_header = npy.read_array_header_1_0 if version < (2, 0) else npy.read_array_header_2_0
        found, by_columns, kind = read_header(file)
        if kind.kind != "f" or kind.itemsize not in (4, 8) or found != shape:
            raise InputError(
                f"scores are {kind} of shape {found}; expected float32 or float64 of shape "
                f"{shape}, the lengths of user_ids and item_ids",
                path=path,
            )
        if file.tell() + kind.itemsize * shape[0] * shape[1] != end:
            raise InputError("scores are truncated", path=path)
        return np.memmap(file, kind, "r", file.tell(), found, "F" if by_columns else "C")


def _ids(path: Path, arrays: Any, name: str) -> Ids:
    """Return an array of ids, each at most once."""
    try:
        ids = arrays[name]
    except ValueError as error:
        remedy = f"{name}.astype(str) turns objects, as pandas keeps text, into text"
        raise InputError(f"{name} cannot be read ({error}); {remedy}", path=path) from error
    if ids.ndim != 1 or ids.dtype.kind not in "iuU":
        wrong = f"{name} are {ids.dtype} of shape {ids.shape}"
        raise InputError(f"{wrong}; expected a list of integers or text", path=path)
    again = first_duplicate(ids)
    if again is not None:
        raise InputError(f"duplicate {ids[again]} in {name}", path=path)
    return ids


def _places(path: Path, kind: str, wanted: Ids, ids: Ids) -> Int:
    """Return the places in a file of all users or items of a split."""
    found = places(wanted, ids)
    require_all(path, kind, found >= 0, wanted)
    return found


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever zipfile, zlib and numpy raise at a damaged file into an InputError."""
    try:
        yield
    except (InputError, MemoryError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"not {WHAT} ({reason})", path=path) from error


def _from_table(path: Path, split: Split) -> Callable[[Int], Scores]:
    """Hold the rows of a table as two int32 and one float64, ordered by user."""
    table = read_table(path, WHAT, (USER, ITEM, SCORE), likely={SCORE: "float64"})
    table.require(USER, ITEM, SCORE)
    rows = len(table)
    # A column is freed as soon as it is an array, because long tables are to fit in memory.
    score = table.finite(SCORE)
    if np.abs(score).max() > EXACT:  # integers, maybe, that are still to be compared as integers
        score = read_table(path, WHAT, (SCORE,)).ordered(SCORE).astype(np.float64)
    del table.columns[SCORE]
    user = _numbers(table, USER, split.evaluated_ids)
    item = _numbers(table, ITEM, split.item_ids)
    known = (user >= 0) & (item >= 0)
    if not known.all():
        user, item, score = user[known], item[known], score[known]
        _log.info(
            "%s: ignored %s of %s rows, of users or items that the split does not have",
            *(path, f"{rows - user.size:,}", f"{rows:,}"),
        )
    if (user[1:] < user[:-1]).any():
        order = np.argsort(user, kind="stable")
        user, item, score = user[order], item[order], score[order]
    start = np.searchsorted(user, np.arange(split.held_out.size + 1, dtype=user.dtype))

    def scores_of(users: Int) -> Scores:
        scores = np.full((users.size, split.item_ids.size), -np.inf)
        for row, wanted in zip(scores, users, strict=True):
            own = slice(start[wanted], start[wanted + 1])
            row[item[own]] = score[own]
            if np.count_nonzero(row > -np.inf) < own.stop - own.start:
                twice = split.item_ids[np.argmax(np.bincount(item[own]) > 1)]
                problem = f"duplicate score of item {twice} for user {split.user_ids[wanted]}"
                raise InputError(problem, path=path)
        return scores

    return scores_of


def _numbers(table: Table, name: str, ids: Ids) -> Codes:
    """Take a column of ids; return their numbers in the split, -1 where it does not have them."""
    codes, names = table.codes(name)
    del table.columns[name]
    return places(names, ids).astype(np.int32)[codes]
