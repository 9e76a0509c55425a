"""Text files, which may be compressed: whether they can be read, and their lines."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.packages import pyarrow as pa

_LONGEST = 80  # characters of a value in a message
BYTE_ORDER_MARK = b"\xef\xbb\xbf"  # of UTF-8, which some editors write
_HEAD = 1 << 16  # bytes, in which the first line ends
_OTHER_KINDS = {
    b"PK\x03\x04": "a spreadsheet or an archive (.xlsx, .zip); save it as CSV",
    b"\xd0\xcf\x11\xe0": "a spreadsheet (.xls); save it as CSV",
    b"PAR1": "parquet; give it a name that ends in .parquet",
    b"\x93NUMPY": "an array of numpy; give it a name that ends in .npy",
}


def require_file(path: Path, what: str) -> None:
    """Raise InputError unless `path` is a file that is not empty."""
    try:
        path.stat()
    except FileNotFoundError:
        raise InputError(f"no such file; expected {what}", path=path) from None
    except (OSError, ValueError) as error:  # too long, or with a character that no name has
        problem = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"no name of a file ({problem}); expected {what}", path=shortened(str(path))
        ) from None
    problem = ""
    if path.is_dir():
        problem = "a folder"
    elif not path.is_file():
        problem = "a pipe or device, which cannot be read twice"
    elif path.stat().st_size == 0:
        problem = "empty"
    if problem:
        raise InputError(f"{problem}; expected {what}", path=path)


def shortened(text: str) -> str:
    """Return a text that is too long for a message without its end."""
    if len(text) > _LONGEST:
        return f"{text[:_LONGEST]}..."
    return text


def first_lines(path: Path, what: str) -> tuple[str, str]:
    """Return the first line of a text file that is not empty, and the beginning of the next."""
    require_file(path, what)
    try:
        with pa.input_stream(str(path)) as stream:
            beginning = stream.read(_HEAD)
        problem = _problem_of(beginning)
        if problem:
            raise InputError(f"{problem}; expected {what}", path=path)
        text = beginning.removeprefix(BYTE_ORDER_MARK).lstrip(b"\r\n")
        first, *rest = re.split(rb"[\r\n]+", text, maxsplit=2)
        return first.decode(), b"".join(rest[:1]).decode(errors="replace")
    except (OSError, pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise InputError(f"not text ({error}); expected {what}", path=path) from error


def _problem_of(beginning: bytes) -> str:
    """Return why a file that begins so does not hold a table of text, with a remedy, if any."""
    for mark, kind in _OTHER_KINDS.items():
        if beginning.startswith(mark):
            return f"found {kind}"
    if beginning.lstrip().startswith((b"{", b"[")):
        return "found JSON; save it as CSV"
    if b"\0" in beginning:
        return "not text"
    if not beginning.removeprefix(BYTE_ORDER_MARK).strip(b"\r\n"):
        return "empty"
    return ""


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbers, from 1, and the text of the lines of a file."""
    with pa.input_stream(str(path)) as stream:
        text = io.TextIOWrapper(io.BufferedReader(stream), "utf-8-sig", errors="replace")
        yield from enumerate(text, start=1)


def filled_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not empty, with their numbers."""
    for number, text in lines(path):
        if text.rstrip("\r\n"):
            yield number, text
