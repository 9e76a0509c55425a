"""Files: written as a whole or not at all, and read with errors of one line."""

import csv
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from sampled_metrics._base.errors import NO_MEMORY, InputError

PARQUET_SUFFIXES = (".parquet", ".pq")
SEPARATORS = {".csv": ",", ".tsv": "\t"}  # of text files, by suffix


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path; on success the file replaces `path`, else it is removed.

    The data is flushed to disk before the file gets its name. A killed process may leave the
    temporary file behind, with a hidden name. A link stays a link, and its target is replaced. To a
    device or a pipe the data is appended.
    """
    path = Path(path)
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # a character that no file name may have
        raise InputError(f"not a valid file name ({error})", path=path) from None
    try:
        if path.is_dir():
            raise InputError("is a directory; expected a file path", path=path)
        write = _append_to_stream if _is_stream(path) else _rename_to_target
        with write(target) as temporary:
            yield temporary
    except OSError as error:
        if not _is_about_writing(error, path, target):
            raise
        raise InputError(f"cannot be written ({error.strerror})", path=path) from error


def _is_about_writing(error: OSError, path: Path, target: Path) -> bool:
    """Return whether an error is about a file to write, and not about another file.

    It then names `path`, a file in the folder of its `target`, or a folder above; or no file.
    """
    # Errors of copying and renaming name two files; the second is the one that is written.
    named = Path(error.filename2 or error.filename or path)
    return named == path or named.parent == target.parent or named in target.parents


@contextmanager
def _rename_to_target(target: Path) -> Iterator[Path]:
    """Write to a temporary file beside `target`, flush it to disk and rename it."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{uuid4().hex[:8]}.{target.name}")
    try:
        temporary.touch(exist_ok=False)
        yield temporary
        if target.exists():
            shutil.copymode(target, temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def _append_to_stream(path: Path) -> Iterator[Path]:
    """Write to a temporary file, and append its content to a device, a pipe or standard output."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        temporary = Path(folder, path.name)
        yield temporary
        with temporary.open("rb") as whole, path.open("ab") as stream:
            shutil.copyfileobj(whole, stream)


def _is_stream(path: Path) -> bool:
    """Return whether a path is a device, a pipe, or the name of an open file, as /dev/stdout is."""
    if path.exists() and not path.is_file():
        return True
    return str(path.parent) in {"/dev", "/dev/fd"} or path.is_relative_to("/proc")


def check_output_path(path: Path, suffixes: Sequence[str], inputs: Iterable[object]) -> None:
    """Raise InputError if a file to write has an unknown suffix, or is one of the inputs."""
    if path.suffix.lower() not in ("", *suffixes):
        raise InputError(f"unknown suffix {path.suffix}; known: {', '.join(suffixes)}", path=path)
    for source in inputs:
        if isinstance(source, str | Path) and _is_same_file(source, path):
            raise InputError("both read and written; pass another path", path=path)


def _is_same_file(a: str | Path, b: Path) -> bool:
    """Return whether two names, which may be links, belong to one file."""
    try:
        return Path(a).samefile(b)
    except (OSError, ValueError):  # one of them does not exist, or is not a valid name
        return False


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 with Unix line ends."""
    with replace_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def require_file(path: Path, noun: str) -> None:
    """Raise InputError unless `path` is a file with content; the error names it `noun`."""
    with reading_as(path, noun):
        size = path.stat().st_size
        if not path.is_file():
            raise InputError(f"is a folder, a pipe or a device; expected {noun}", path=path)
        if not size:
            raise InputError(f"empty; expected {noun}", path=path)


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder, also for names that no file may have."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # too long, or with a null byte
        return False


def parquet_files(folder: Path, noun: str) -> list[Path]:
    """Return the parquet files of a folder, as Spark and Dask write them, by name.

    Hidden files, and those that begin with an underscore, are left to the program that wrote them.
    """
    files = sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in PARQUET_SUFFIXES and path.name[0] not in "._"
    )
    if not files:
        raise InputError(f"is a folder without parquet files; expected {noun}", path=folder)
    return files


def write_columns(
    path: Path, columns: Mapping[str, Any], metadata: Mapping[bytes, bytes] | None = None
) -> None:
    """Write arrays as the columns of a table: parquet, CSV or TSV, according to the suffix.

    Arrays that are None are omitted. Only parquet files contain the metadata.
    """
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    suffix = path.suffix.lower()
    if suffix not in (*PARQUET_SUFFIXES, *SEPARATORS):
        problem = f"unknown suffix {suffix}" if suffix else "no suffix"
        raise InputError(
            f"{problem}; known: {', '.join((*PARQUET_SUFFIXES, *SEPARATORS))}", path=path
        )
    arrays = {name: values for name, values in columns.items() if values is not None}
    with replace_file(path) as temporary:
        if suffix in PARQUET_SUFFIXES:
            parquet.write_table(pa.table(arrays, metadata=metadata), temporary)
        else:
            separator = SEPARATORS[suffix]
            pd.DataFrame(arrays).to_csv(temporary, sep=separator, index=False, lineterminator="\n")


def read_npy(path: Path, noun: str, **options: Any) -> Any:
    """Read an `.npy` file; errors name it `noun`."""
    with reading_as(path, noun):
        return np.load(path, allow_pickle=False, **options)


def read_npz(
    path: Path, noun: str, names: Sequence[str] = (), others: Sequence[str] | None = None
) -> dict[str, Any]:
    """Read the arrays of an `.npz` file; errors name it `noun`.

    Parameters
    ----------
    names
        Names of arrays that the file must contain.
    others
        Names of further arrays that it may contain; any by default.
    """
    arrays: dict[str, Any] = {}
    # The file is opened here, as numpy does not close a damaged file that it has opened.
    with (
        reading_as(path, noun),
        Path(path).open("rb") as file,
        np.load(file, allow_pickle=False) as data,
    ):
        for name in data.files:
            if others is not None and name not in (*names, *others):
                raise InputError(
                    f"found an array {name}; expected {', '.join((*names, *others))}", path=path
                )
            arrays[name] = np.asarray(data[name])
    for name in names:
        if name not in arrays:
            raise InputError(f"not {noun} (it contains no {name})", path=path)
    return arrays


def find_line_break(lines: Iterable[str], separator: str, start: int = 1) -> int | None:
    """Return the number of the first line whose last cell goes on in the next line.

    Such a cell begins with a quotation mark that its line does not close, so it contains all lines
    up to the next mark. `start` is the number of the first of the lines.
    """
    for number, line in enumerate(lines, start):
        if '"' in line and _opens_quotation(line, separator):
            return number
    return None


def line_break_error(line: int | None, path: Path | None = None) -> InputError:
    """Make the error for a cell of a text file that contains a line break."""
    return InputError(
        "found a cell with a line break; is its quotation mark unclosed? Remove the mark, or "
        "the column",
        path=path,
        line=line,
    )


def _opens_quotation(line: str, separator: str) -> bool:
    """Return whether the last cell of a line begins with a quotation mark that is not closed."""
    reader = csv.reader([line, ""], delimiter=separator)
    next(reader)
    return reader.line_num == 2  # the cell was continued in the second line


@contextmanager
def reading_as(path: Path, noun: str) -> Iterator[None]:
    """Convert any error of reading a file to an InputError, which names the file `noun`.

    pandas, numpy, zipfile and zlib raise errors of many types for a damaged file.
    """
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"no such file; expected {noun}", path=path) from None
    except InputError:
        raise
    except Exception as error:
        is_memory_error = isinstance(error, MemoryError) or "malloc" in str(error)
        problem = NO_MEMORY if is_memory_error else f"not {noun}"
        details = getattr(error, "strerror", None) or error
        raise InputError(f"{problem} ({details})", path=path) from error
