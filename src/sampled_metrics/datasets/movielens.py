"""The ratings of MovieLens, read from the publisher's archive and checked line by line.

Any rating is an interaction (section 6 of the paper); its value is checked, and kept only if a
filter needs it.
"""

import hashlib
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.catalogue import ML_1M, Layout, MovieLens
from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.tables.casts import as_numpy

_CHUNK = 1 << 20
_UNREADABLE = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
_COLUMNS = ("user", "item", "rating", "timestamp")


@dataclass(frozen=True)
class Ratings:
    """A ratings file of MovieLens."""

    open: Callable[[], AbstractContextManager[IO[bytes]]]  # from the beginning at each call
    size: int  # in bytes
    path: str  # archive and member, for messages
    dataset: MovieLens = ML_1M

    @property
    def sha256(self) -> str:
        """SHA-256 of the content, in hexadecimal."""
        return self._hashes[0]

    @property
    def is_official(self) -> bool | None:
        """Whether the git blob id is that of the published file; None if not known."""
        official = self.dataset.ratings_git_blob
        return None if official is None else self._hashes[1] == official

    def line(self, row: int) -> int:
        """Return the line, from 1, of an event, from 0."""
        return row + (2 if self.dataset.layout.header else 1)

    @cached_property
    def _hashes(self) -> tuple[str, str]:
        sha256 = hashlib.sha256()
        blob = hashlib.sha1(f"blob {self.size}\0".encode(), usedforsecurity=False)
        with self.open() as file:
            while chunk := file.read(_CHUNK):
                sha256.update(chunk)
                blob.update(chunk)
        return sha256.hexdigest(), blob.hexdigest()


def read_archive(path: Path, dataset: MovieLens = ML_1M) -> Ratings:
    """Return the ratings file of an archive of MovieLens; nothing is unpacked.

    Damage inside the archive is an error only when the file is read.
    """
    expected = f"expected a {dataset.title} archive"
    try:
        with zipfile.ZipFile(path) as archive:
            size = archive.getinfo(dataset.member).file_size
            times = archive.namelist().count(dataset.member)
    except KeyError:
        raise InputError(f"lacks {dataset.member}; {expected}", path=path) from None
    except _UNREADABLE as error:
        raise _unreadable(path, error, expected) from error
    if times > 1:
        raise InputError(f"holds {dataset.member} more than once; expected it once", path=path)
    if size > dataset.largest_member:
        problem = f"{dataset.member} has {size:,} bytes; expected at most"
        raise InputError(f"{problem} {dataset.largest_member:,}", path=path)
    member = partial(_member, path, dataset.member, expected)
    return Ratings(member, size, f"{path}:{dataset.member}", dataset)


def read_ratings(ratings: Ratings, with_rating: bool = False) -> Interactions:
    """Read the events of a ratings file; `with_rating` keeps the ratings.

    The file is decompressed, checked and parsed block by block, so that memory stays near that of
    the result. A line that is not as in its dataset is an InputError with the line.
    """
    layout = ratings.dataset.layout
    with ratings.open() as file:
        header = file.readline() if layout.header else b""
        if header.rstrip(b"\r\n") != layout.header.encode():
            problem = f"found {_quoted(header)}; expected the header {layout.header}"
            raise InputError(problem, path=ratings.path, line=1)
        if ratings.size == len(header):
            raise InputError(f"no ratings; expected lines of {layout.line}", path=ratings.path)
        screened = _Screened(file, layout)
        table = _parse(screened, layout)
    if table is None or screened.foreign or any(table[name].null_count for name in _COLUMNS):
        raise _bad_line(ratings)
    # Popped, so that a column is freed as soon as it is an array.
    columns = {name: table[name] for name in _COLUMNS}
    del table
    rating = as_numpy(columns.pop("rating"))
    allowed = layout.allows(rating)
    if not allowed.all():
        row = int(np.argmin(allowed))
        problem = f"found rating {rating[row]:g}; expected {layout.ratings}"
        raise InputError(problem, path=ratings.path, row=row + 1, line=ratings.line(row))
    user, item, timestamp = (as_numpy(columns.pop(name)) for name in ("user", "item", "timestamp"))
    kept = rating.astype(np.float32) if with_rating else None
    return Interactions(user, item, timestamp, kept, origin=ratings, time_unit="s")


@contextmanager
def _member(path: Path, name: str, expected: str) -> Iterator[IO[bytes]]:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as file:
            yield file
    except _UNREADABLE as error:
        raise _unreadable(path, error, expected) from error


def _unreadable(path: Path, error: Exception, expected: str) -> InputError:
    return InputError(f"not a readable zip archive ({error}); {expected}", path=path)


class _Screened:
    """A file that ends, and is marked `foreign`, at a byte that no ratings file holds.

    pyarrow accepts more numbers than the publisher writes: blanks, hexadecimals, exponents.
    """

    def __init__(self, file: IO[bytes], layout: Layout) -> None:
        point, windows = "." * layout.half_stars, "\r" * bool(layout.header)
        self.file, self.allowed = file, f"0123456789\n{layout.separator}{windows}{point}".encode()
        self.closed = self.foreign = False

    def read(self, size: int = -1) -> bytes:
        block = self.file.read(size)
        self.foreign = self.foreign or bool(block.translate(None, self.allowed))
        return b"" if self.foreign else block

    def close(self) -> None:
        self.closed = True


def _parse(file: _Screened, layout: Layout) -> pa.Table | None:
    """Read the columns; None where a line has another number of them or holds another type."""
    types = {
        "user": pa.int32(),
        "item": pa.int32(),
        "rating": pa.float32() if layout.half_stars else pa.int32(),
        "timestamp": pa.int64(),
    }
    separator, names = layout.separator, list(_COLUMNS)
    if len(separator) == 2:
        # pyarrow's separators have one character, so there is an empty column between two of them.
        names = ["user", "1", "item", "2", "rating", "3", "timestamp"]
        types |= {name: pa.null() for name in "123"}
    try:
        return pyarrow.csv.read_csv(
            pa.PythonFile(file, "r"),
            pyarrow.csv.ReadOptions(column_names=names),
            pyarrow.csv.ParseOptions(
                delimiter=separator[0], quote_char=False, ignore_empty_lines=False
            ),
            pyarrow.csv.ConvertOptions(column_types=types, null_values=[""]),
        )
    except pa.ArrowInvalid:
        return None


def _bad_line(ratings: Ratings) -> InputError:
    """Make the error for the first line that breaks the format."""
    layout = ratings.dataset.layout
    stars = rb"\d{1,2}(\.\d{1,3})?" if layout.half_stars else rb"\d{1,9}"
    between = re.escape(layout.separator.encode())
    form = re.compile(between.join((rb"\d{1,9}", rb"\d{1,9}", stars, rb"\d{1,18}")))
    ends = b"\r\n" if layout.header else b"\n"
    with ratings.open() as file:
        for number, line in enumerate(file, start=1):
            if number >= ratings.line(0) and not form.fullmatch(line.rstrip(ends)):
                quoted = _quoted(line.removesuffix(b"\n"))
                problem = f"found {quoted}; expected {layout.line}"
                return InputError(problem, path=ratings.path, line=number)
    return InputError(f"cannot be read as lines of {layout.line}", path=ratings.path)


def _quoted(line: bytes) -> str:
    return repr(line[:60].decode("latin-1"))
