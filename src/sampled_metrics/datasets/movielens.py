"""The ratings of MovieLens 1M, read from the publisher's archive and checked line by line."""

import hashlib
import re
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sampled_metrics.datasets.interactions import Interactions
from sampled_metrics.errors import InputError

RATINGS = "ml-1m/ratings.dat"
ARCHIVE_SHA256 = "a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20"
RATINGS_BYTES = 24_594_131
RATINGS_GIT_BLOB = "77a7c4b150f588c23bb9e1f068aa996c0b413695"

_EXPECTED = "user::item::rating::timestamp, four whole numbers"
_LINE = re.compile(rb"\d{1,9}::\d{1,9}::\d{1,9}::\d{1,18}")
_COLUMNS = ("user", "item", "rating", "timestamp")


@dataclass(frozen=True)
class Ratings:
    """`ratings.dat` as it lies in an archive.

    Attributes
    ----------
    content
        The file's bytes.
    name
        Archive and member, for messages.
    """

    content: bytes
    name: str

    @property
    def sha256(self) -> str:
        """SHA-256 of the content, in hexadecimal."""
        return hashlib.sha256(self.content).hexdigest()

    @property
    def is_official(self) -> bool:
        """Whether this is the published file, told by its length and its git blob id."""
        header = f"blob {len(self.content)}\0".encode()
        blob = hashlib.sha1(header + self.content, usedforsecurity=False).hexdigest()
        return len(self.content) == RATINGS_BYTES and blob == RATINGS_GIT_BLOB


def read_archive(path: Path) -> Ratings:
    """Read `ratings.dat` out of a MovieLens 1M archive, by name and in memory.

    Raises
    ------
    InputError
        The file is no zip archive, is damaged, or does not hold the member.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            content = archive.read(RATINGS)
    except KeyError:
        raise InputError(f"{path}: holds no {RATINGS}; expected a MovieLens 1M archive") from None
    except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(
            f"{path}: not a readable zip archive ({error}); expected a MovieLens 1M archive"
        ) from error
    return Ratings(content, f"{path}:{RATINGS}")


def parse_ratings(ratings: Ratings) -> Interactions:
    r"""Read the events of `ratings.dat`: a line each, `user::item::rating::timestamp`.

    Rating values are checked and dropped: any rating is an interaction (section 6).

    Raises
    ------
    InputError
        A line does not hold four whole numbers, a rating is not 1-5, an event occurs twice, or a
        user has fewer than two events. The message names file, line, what was found and expected.

    >>> parse_ratings(Ratings(b"1::10::5::100\n1::20::3::90\n", "example")).timestamp
    array([100,  90])
    """
    table = _read_table(ratings)
    user, item, rating = (table[name].to_numpy() for name in _COLUMNS[:3])
    _require(ratings, (rating >= 1) & (rating <= 5), "a rating from 1 to 5")
    _check_duplicates(ratings, user, item)
    _check_enough_events(ratings, user)
    return Interactions(user, item, table["timestamp"].to_numpy())


def _read_table(ratings: Ratings) -> pa.Table:
    content = ratings.content
    if not content:
        raise InputError(f"{ratings.name}: empty; expected lines of {_EXPECTED}")
    if content.translate(None, b"0123456789:\n"):
        raise _bad_line(ratings)
    try:
        return pyarrow.csv.read_csv(
            pa.py_buffer(content.replace(b"::", b"\t")),
            read_options=pyarrow.csv.ReadOptions(column_names=list(_COLUMNS)),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter="\t", quote_char=False, ignore_empty_lines=False
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={
                    "user": pa.int32(),
                    "item": pa.int32(),
                    "rating": pa.int32(),
                    "timestamp": pa.int64(),
                },
                null_values=[],
            ),
        )
    except pa.ArrowInvalid:
        raise _bad_line(ratings) from None


def _bad_line(ratings: Ratings) -> InputError:
    """Find the first line that breaks the format; only called when one does."""
    for number, line in enumerate(ratings.content.split(b"\n"), start=1):
        if not _LINE.fullmatch(line):
            return _breach(ratings, number, repr(line[:60].decode("latin-1")), _EXPECTED)
    return InputError(f"{ratings.name}: cannot be read as lines of {_EXPECTED}")


def _breach(ratings: Ratings, line: int, found: str, expected: str) -> InputError:
    return InputError(f"{ratings.name}, line {line}: found {found}; expected {expected}")


def _require(ratings: Ratings, holds: np.ndarray, expected: str) -> None:
    if not holds.all():
        line = int(np.argmin(holds)) + 1
        raise _breach(ratings, line, _text_of_line(ratings, line), expected)


def _text_of_line(ratings: Ratings, line: int) -> str:
    return repr(ratings.content.split(b"\n", line)[line - 1].decode("latin-1"))


def _check_duplicates(ratings: Ratings, user: np.ndarray, item: np.ndarray) -> None:
    event = (user.astype(np.int64) << 32) | item
    ordered = np.sort(event)
    if (ordered[1:] != ordered[:-1]).all():
        return
    order = np.argsort(event, kind="stable")
    repeats = np.flatnonzero(event[order][1:] == event[order][:-1])
    first, again = min(
        ((int(order[at]), int(order[at + 1])) for at in repeats), key=lambda pair: pair[1]
    )
    raise _breach(
        ratings,
        again + 1,
        f"{_text_of_line(ratings, again + 1)}, user and item of line {first + 1} again",
        "each user and item once",
    )


def _check_enough_events(ratings: Ratings, user: np.ndarray) -> None:
    ids, line, events = np.unique(user, return_index=True, return_counts=True)
    if (events < 2).any():
        lonely = int(np.argmax(events < 2))
        raise _breach(
            ratings,
            int(line[lonely]) + 1,
            f"the only event of user {ids[lonely]}",
            "at least two events a user, one to train on and one to hold out",
        )
