"""A ratings file inside an archive of MovieLens, read as a stream and never held as a whole."""

import hashlib
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import IO

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.catalogue import ML_1M, MovieLens

_CHUNK = 1 << 20
_UNREADABLE = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class Ratings:
    """A ratings file as it lies in an archive.

    Attributes
    ----------
    open
        Opens it for reading, anew at each call.
    size
        Its length in bytes.
    name
        Archive and member, for messages.
    dataset
        Which MovieLens it is of.
    """

    open: Callable[[], AbstractContextManager[IO[bytes]]]
    size: int
    name: str
    dataset: MovieLens = ML_1M

    @classmethod
    def of(cls, content: bytes, name: str, dataset: MovieLens = ML_1M) -> "Ratings":
        """Take bytes in memory for the file."""
        return cls(lambda: nullcontext(io.BytesIO(content)), len(content), name, dataset)

    def __str__(self) -> str:
        return self.name

    @property
    def sha256(self) -> str:
        """SHA-256 of the content, in hexadecimal."""
        return self._hashes[0]

    @property
    def is_official(self) -> bool | None:
        """Whether this is the published file, told by its length and its git blob id.

        None where these are not known.
        """
        if self.dataset.ratings_git_blob is None:
            return None
        same_length = self.size == self.dataset.ratings_bytes
        return same_length and self._hashes[1] == self.dataset.ratings_git_blob

    @property
    def first_line(self) -> int:
        """Number of the line of the first event."""
        return 2 if self.dataset.layout.header else 1

    def place(self, row: int) -> str:
        """File and line of an event, counted here from 0."""
        return f"{self.name}, line {row + self.first_line}"

    def text(self, row: int) -> str:
        """Return the line of an event as it stands there, quoted."""
        with self.open() as file:
            line = next(islice(file, row + self.first_line - 1, None))
        return repr(line.rstrip(b"\r\n").decode("latin-1"))

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
    """Find the ratings file in an archive of MovieLens, by name; nothing is unpacked.

    Raises
    ------
    InputError
        The file is no zip archive or does not hold the member; that it is damaged inside is said
        when it is read.
    """
    expected = f"expected a {dataset.title} archive"
    try:
        with zipfile.ZipFile(path) as archive:
            size = archive.getinfo(dataset.member).file_size
    except KeyError:
        raise InputError(f"{path}: holds no {dataset.member}; {expected}") from None
    except _UNREADABLE as error:
        raise _unreadable(path, error, expected) from error
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
    return InputError(f"{path}: not a readable zip archive ({error}); {expected}")
