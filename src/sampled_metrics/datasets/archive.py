"""A ratings file inside an archive of MovieLens, read as a stream."""

import hashlib
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.catalogue import ML_1M, MovieLens

_CHUNK = 1 << 20
_UNREADABLE = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class Ratings:
    """A ratings file of MovieLens.

    Attributes
    ----------
    open
        Opens it for reading, from the beginning at each call.
    size
        Its length in bytes.
    path
        Archive and member, for messages.
    dataset
        Which MovieLens it belongs to.
    """

    open: Callable[[], AbstractContextManager[IO[bytes]]]
    size: int
    path: str
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


@contextmanager
def _member(path: Path, name: str, expected: str) -> Iterator[IO[bytes]]:
    try:
        with zipfile.ZipFile(path) as archive, archive.open(name) as file:
            yield file
    except _UNREADABLE as error:
        raise _unreadable(path, error, expected) from error


def _unreadable(path: Path, error: Exception, expected: str) -> InputError:
    return InputError(f"not a readable zip archive ({error}); {expected}", path=path)
