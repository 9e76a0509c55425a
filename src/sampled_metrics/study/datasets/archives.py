"""Events of a dataset: from an archive of MovieLens, checked line by line, or from a table."""

import hashlib
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sampled_metrics._base.errors import InputError
from sampled_metrics.inputs.tables import as_numpy
from sampled_metrics.study.datasets.catalogue import ML_1M, Layout, MovieLens
from sampled_metrics.study.datasets.events import Interactions, read_interactions
from sampled_metrics.study.datasets.settings import DatasetSettings

_COLUMNS = ["user", "item", "rating", "timestamp"]
_QUOTED = 60  # bytes of a wrong line that its error repeats
_UNREADABLE = (OSError, EOFError, RuntimeError, KeyError, zipfile.BadZipFile, zlib.error)


def read_dataset(path: Path, settings: DatasetSettings, with_rating: bool = False) -> Interactions:
    """Read the events of an archive or table without any filter."""
    if settings.published is not None:
        return read_ratings(path, settings.published, with_rating)
    return read_interactions(path, settings.columns, settings.separator, with_rating)


@dataclass(frozen=True)
class Ratings:
    """The ratings file in an archive of MovieLens, read without unpacking."""

    archive: Path
    dataset: MovieLens

    @property
    def path(self) -> str:
        """Archive and member, for errors."""
        return f"{self.archive}:{self.dataset.member}"

    @property
    def first_line(self) -> int:
        """Line, from 1, of the first event."""
        return 1 + bool(self.dataset.layout.header)

    def error_at(self, row: int, problem: str) -> InputError:
        """Make the error for a row, which counts from 0."""
        return InputError(problem, path=self.path, row=row + 1, line=row + self.first_line)

    @contextmanager
    def open(self) -> Iterator[tuple[IO[bytes], int]]:
        """Open the file and return it with its size; a damaged archive is an InputError.

        So are two files of this name, and one much larger than the published file.
        """
        member = self.dataset.member
        most = self.dataset.largest_member
        try:
            with zipfile.ZipFile(self.archive) as archive:
                size = archive.getinfo(member).file_size
                if archive.namelist().count(member) > 1:
                    problem = f"{member} is in the archive more than once; expected it once"
                    raise InputError(problem, path=self.archive)
                # zipfile reads no byte beyond the size that the archive states.
                if size > most:
                    problem = f"{member} has {size:,} bytes; expected at most {most:,}"
                    raise InputError(problem, path=self.archive)
                with archive.open(member) as file:
                    yield file, size
        except _UNREADABLE as error:
            problem = f"not a readable {self.dataset.title} archive ({error})"
            raise InputError(problem, path=self.archive) from error

    def hashes(self) -> tuple[str, str]:
        """Compute the SHA-256 of the content and its hash as a git blob, in hexadecimal."""
        with self.open() as (file, size):
            content = file.read()
        blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        blob.update(content)
        return hashlib.sha256(content).hexdigest(), blob.hexdigest()


def read_ratings(path: Path, dataset: MovieLens = ML_1M, with_rating: bool = False) -> Interactions:
    """Read the events of an archive of MovieLens; `with_rating` keeps the ratings.

    A line that breaks the dataset's layout is an InputError with its number and content.
    """
    ratings = Ratings(path, dataset)
    layout = dataset.layout
    with ratings.open() as (file, size):
        header = b""
        if layout.header:
            header = file.readline()
        if header.rstrip(b"\r\n") != layout.header.encode():
            problem = f"found {_quoted(header)}; expected the header {layout.header}"
            raise InputError(problem, path=ratings.path, line=1)
        if size == len(header):
            raise InputError(f"no ratings; expected lines of {layout.line}", path=ratings.path)
        table = _parse(file.read(), layout)
    if table is None:
        raise _wrong_line(ratings)
    # A column is freed as soon as it is an array, because long files are to fit in memory.
    columns = {name: table[name] for name in _COLUMNS}
    del table
    rating = as_numpy(columns.pop("rating"))
    allowed = layout.allows(rating)
    if not allowed.all():
        row = int(np.argmin(allowed))
        problem = f"found rating {rating[row]:g}; expected one of {layout.ratings}"
        raise ratings.error_at(row, problem)
    kept = None
    if with_rating:
        kept = rating
    del rating
    user, item, timestamp = (as_numpy(columns.pop(name)) for name in ("user", "item", "timestamp"))
    return Interactions(user, item, timestamp, kept, origin=ratings, time_unit="s")


def _parse(content: bytes, layout: Layout) -> pa.Table | None:
    """Read the columns; None if a line is not as in the layout, or the last one has no end."""
    # pyarrow also reads numbers that the publisher never writes: blanks, signs, hexadecimals.
    characters = f"0123456789\n{layout.separator}"
    characters += "." * layout.half_stars + "\r" * bool(layout.header)
    if content.translate(None, characters.encode()) or not content.endswith(b"\n"):
        return None
    types = {"user": pa.int32(), "item": pa.int32(), "timestamp": pa.int64()}
    types["rating"] = pa.float32()
    names = _COLUMNS
    if layout.separator == "::":
        # pyarrow's separators have one character, so there is an empty column in each `::`.
        names = ["user", "1", "item", "2", "rating", "3", "timestamp"]
        types.update(dict.fromkeys("123", pa.null()))
    try:
        table = pyarrow.csv.read_csv(
            pa.BufferReader(content),
            pyarrow.csv.ReadOptions(column_names=names),
            pyarrow.csv.ParseOptions(
                delimiter=layout.separator[0], quote_char=False, ignore_empty_lines=False
            ),
            pyarrow.csv.ConvertOptions(column_types=types, null_values=[""]),
        )
    except pa.ArrowInvalid:
        return None
    if any(table[name].null_count for name in _COLUMNS):
        return None
    return table


def _wrong_line(ratings: Ratings) -> InputError:
    """Make the error for the first line that breaks the layout."""
    layout = ratings.dataset.layout
    rating = rb"\d{1,9}"
    if layout.half_stars:
        rating = rb"\d{1,2}(\.\d{1,3})?"
    separator = re.escape(layout.separator.encode())
    form = re.compile(separator.join((rb"\d{1,9}", rb"\d{1,9}", rating, rb"\d{1,18}")))
    ends = b"\r\n" if layout.header else b"\n"
    with ratings.open() as (file, _):
        for number, line in enumerate(file, start=1):
            is_whole = line.endswith(b"\n")
            if number < ratings.first_line or (is_whole and form.fullmatch(line.rstrip(ends))):
                continue
            quoted = _quoted(line.removesuffix(b"\n"))
            problem = f"found {quoted}; expected {layout.line}"
            if not is_whole:
                problem += ", and a line feed at the end, so the file is cut off"
            return InputError(problem, path=ratings.path, line=number)
    return InputError(f"cannot be read as lines of {layout.line}", path=ratings.path)


def _quoted(line: bytes) -> str:
    return repr(line[:_QUOTED].decode("latin-1"))
