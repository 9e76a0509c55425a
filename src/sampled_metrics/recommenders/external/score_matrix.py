"""Scores made elsewhere, as a matrix with the ids of its rows and columns (`.npz`)."""

import dataclasses
import logging
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from sampled_metrics._base.arrays import Ids, Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.split import Split
from sampled_metrics.ranks import Ranks
from sampled_metrics.ranks.ranking import Scores
from sampled_metrics.recommenders.external import alignment
from sampled_metrics.tables import ids
from sampled_metrics.tables.reading import require_file

WHAT = "scores (.npz of scores, user_ids, item_ids)"
_HEADERS: dict[Any, Any] = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
}
_log = logging.getLogger(__name__)


def from_score_matrix(path: Path, split: Split) -> Ranks:
    """Rank held-out items by a matrix of scores, users x items, either in any order.

    The matrix is read row after row from the archive, compressed or not, and never held as a
    whole, unless it is stored column by column (Fortran order). Users and items that the split
    does not have are left out; the log says how many. Candidates need a finite score; that of a
    seen item may be -inf too.

    Raises
    ------
    InputError
        The file is no such archive, it lacks a user or an item of the split, a candidate has no
        score.
    """
    require_file(path, WHAT)
    with _reading(path):
        archive = zipfile.ZipFile(path)
    with archive:
        user_ids, item_ids = (_ids(path, archive, name) for name in ("user_ids", "item_ids"))
        with _reading(path):
            stream = archive.open("scores.npy")
        with stream:
            matrix = _Matrix(path, stream, (user_ids.size, item_ids.size))
            rows = _places(path, "user", split.user_ids, user_ids)
            columns = _places(path, "item", split.item_ids, item_ids)
            _log_ignored(path, user_ids.size - rows.size, item_ids.size - columns.size)
            # Users in the order of the file, so that it is read but once.
            order = np.argsort(rows)
            records = alignment.rank_complete(
                path,
                lambda users: matrix.read(rows[order[users]], columns),
                dataclasses.replace(
                    split,
                    train=split.train[order],
                    held_out=split.held_out[order],
                    user_ids=split.user_ids[order],
                ),
            )
    back = np.argsort(order)
    return records.take(back)


class _Matrix:
    """Rows of the matrix in an open archive."""

    def __init__(self, path: Path, stream: IO[bytes], shape: tuple[int, int]) -> None:
        self.path, self.stream = path, stream
        with _reading(path):
            header = _HEADERS[npy.read_magic(stream)](stream)
        found, by_columns, self.dtype = header
        if self.dtype.kind != "f" or self.dtype.itemsize not in (4, 8) or found != shape:
            raise InputError(
                f"{path}: scores are {self.dtype} of shape {found}; allowed: float32 or float64 of "
                f"shape {shape}, as user_ids and item_ids say"
            )
        self.begin, self.shape = stream.tell(), shape
        self.whole = self._read_whole() if by_columns else None

    def read(self, rows: Int, columns: Int) -> Scores:
        """Read some rows, in ascending order, and take some columns of them."""
        scores: Scores = np.empty((rows.size, columns.size), self.dtype.newbyteorder("="))
        for target, row in zip(scores, rows, strict=True):
            target[:] = self._row(int(row))[columns]
        return scores

    def _row(self, number: int) -> Scores:
        if self.whole is not None:
            return self.whole[number]
        items = self.shape[1]
        width = items * self.dtype.itemsize
        with _reading(self.path):
            self.stream.seek(self.begin + number * width)
            return np.frombuffer(self.stream.read(width), self.dtype, items)

    def _read_whole(self) -> Scores:
        with _reading(self.path):
            return np.frombuffer(self.stream.read(), self.dtype).reshape(self.shape, order="F")


def _ids(path: Path, archive: zipfile.ZipFile, name: str) -> Ids:
    with _reading(path), archive.open(f"{name}.npy") as stream:
        kind = _HEADERS[npy.read_magic(stream)](stream)[2]
    if kind.hasobject:
        raise InputError(
            f"{path}: {name} are Python objects, as pandas keeps text; allowed: whole numbers or "
            f"text of numpy, {name}.astype(str)"
        )
    with _reading(path), archive.open(f"{name}.npy") as stream:
        found = npy.read_array(stream, allow_pickle=False)
    if found.ndim != 1 or found.dtype.kind not in "iuU":
        raise InputError(
            f"{path}: {name} are {found.dtype} of shape {found.shape}; "
            "allowed: a list of whole numbers or text"
        )
    known, times = np.unique(found, return_counts=True)
    if known.size < found.size:
        twice = known[np.argmax(times > 1)]
        raise InputError(f"{path}: {name}: {twice} stands there more than once; allowed: once")
    return found


def _places(path: Path, kind: str, wanted: Ids, given: Ids) -> Int:
    places = ids.places(alignment.id_column(wanted), alignment.id_column(given))
    alignment.require_all(path, kind, places >= 0, wanted)
    return places


def _log_ignored(path: Path, users: int, items: int) -> None:
    if users or items:
        counts = f"{users:,} users and {items:,} items"
        _log.info("%s: ignored %s that the split does not have", path, counts)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Turn whatever zipfile, zlib and numpy raise at a damaged file into one line."""
    try:
        yield
    except MemoryError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(f"{path}: not {WHAT}: {reason}") from error
