"""The ratings of MovieLens, read from the publisher's archive and checked line by line.

Any rating is an interaction (section 6 of the paper); its value is checked, and kept only where a
filter asks for it.
"""

import re
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from sampled_metrics._base.errors import InputError
from sampled_metrics.datasets.archive import Ratings
from sampled_metrics.datasets.catalogue import Layout
from sampled_metrics.datasets.filters import Filters
from sampled_metrics.datasets.interactions import Interactions

_COLUMNS = ("user", "item", "rating", "timestamp")


def parse_ratings(ratings: Ratings) -> Interactions:
    r"""Read the events of a ratings file, of which no filter takes any.

    Raises
    ------
    InputError
        As `read_ratings`; or an event occurs twice, or a user has fewer than two events.

    >>> parse_ratings(Ratings.of(b"1::10::5::100\n1::20::3::90\n", "example")).timestamp
    array([100,  90])
    """
    return Filters().apply(read_ratings(ratings))[0]


def read_ratings(ratings: Ratings, with_rating: bool = False) -> Interactions:
    """Read the events of a ratings file, as it is written in its dataset.

    The file is decompressed, checked and parsed block by block, so that memory stays near that of
    the result.

    Parameters
    ----------
    ratings
        The file.
    with_rating
        Whether to keep the ratings.

    Raises
    ------
    InputError
        A line is not as in the dataset or a rating not of its scale. The message names file, line,
        what was found and what was expected.
    """
    columns = _read_columns(ratings)
    rating = columns.pop("rating").to_numpy()
    layout = ratings.dataset.layout
    allowed = layout.allows(rating)
    if not allowed.all():
        row = int(np.argmin(allowed))
        raise _breach(ratings.place(row), ratings.text(row), layout.ratings)
    # Popped, so that a column is freed once it is one array.
    user, item, timestamp = (columns.pop(name).to_numpy() for name in ("user", "item", "timestamp"))
    return Interactions(
        user, item, timestamp, rating.astype(np.float32) if with_rating else None, origin=ratings
    )


class _Screened:
    """A file that ends, and says so, where a block holds a byte that no ratings file does.

    pyarrow takes more for a number than the publisher writes: blanks, hexadecimals, exponents.
    """

    def __init__(self, file: IO[bytes], allowed: bytes) -> None:
        self.file, self.allowed = file, allowed
        self.closed = self.foreign = False

    def read(self, size: int = -1) -> bytes:
        block = self.file.read(size)
        self.foreign = self.foreign or bool(block.translate(None, self.allowed))
        return b"" if self.foreign else block

    def close(self) -> None:
        self.closed = True


def _read_columns(ratings: Ratings) -> dict[str, Any]:
    layout = ratings.dataset.layout
    with ratings.open() as file:
        header = file.readline() if layout.header else b""
        if header.rstrip(b"\r\n") != layout.header.encode():
            raise _breach(f"{ratings.name}, line 1", _quoted(header), f"the header {layout.header}")
        if ratings.size == len(header):
            raise InputError(f"{ratings.name}: empty; expected lines of {layout.line}")
        screened = _Screened(file, _bytes_of(layout))
        table = _parse(screened, layout)
    if table is None or screened.foreign or any(table[name].null_count for name in _COLUMNS):
        raise _bad_line(ratings)
    return {name: table[name] for name in _COLUMNS}


def _bytes_of(layout: Layout) -> bytes:
    windows = "\r" if layout.header else ""
    point = "." if layout.half_stars else ""
    return f"0123456789\n{layout.separator}{windows}{point}".encode()


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
        # The reader knows separators of one character: between two of those lies an empty column.
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
    """Find the first line that breaks the format; only called when one does."""
    layout = ratings.dataset.layout
    stars = rb"\d{1,2}(\.\d{1,3})?" if layout.half_stars else rb"\d{1,9}"
    between = re.escape(layout.separator.encode())
    form = re.compile(between.join((rb"\d{1,9}", rb"\d{1,9}", stars, rb"\d{1,18}")))
    ends = b"\r\n" if layout.header else b"\n"
    with ratings.open() as file:
        for number, line in enumerate(file, start=1):
            if number >= ratings.first_line and not form.fullmatch(line.rstrip(ends)):
                text = line.removesuffix(b"\n")
                return _breach(f"{ratings.name}, line {number}", _quoted(text), layout.line)
    return InputError(f"{ratings.name}: cannot be read as lines of {layout.line}")


def _quoted(line: bytes) -> str:
    return repr(line[:60].decode("latin-1"))


def _breach(place: str, found: str, expected: str) -> InputError:
    return InputError(f"{place}: found {found}; expected {expected}")
