"""Writing files so that a name never holds half a result, reading them with one-line errors."""

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
SEPARATORS = {".csv": ",", ".tsv": "\t"}  # separators by suffix


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    """Yield a temporary path; on success the file takes the place of `path`, else it is removed.

    The data is flushed to disk before the file gets its name. A killed process may leave the
    temporary file, whose name is hidden. A link stays a link; a device or a pipe is appended to.
    """
    path = Path(path)
    try:
        target = Path(os.path.realpath(path))
    except ValueError as error:  # a character that no name has
        raise InputError(f"no name of a file ({error})", path=path) from None
    try:
        if path.is_dir():
            raise InputError("a folder; expected a file to write", path=path)
        write = _appending if _is_stream(path) else _renaming
        with write(target) as temporary:
            yield temporary
    except OSError as error:
        # A copy or a new name has two files, of which the second is written.
        place = Path(error.filename2 or error.filename or path)
        if place != path and place not in target.parents and place.parent != target.parent:
            raise  # another file
        raise InputError(f"cannot be written ({error.strerror})", path=path) from error


@contextmanager
def _renaming(target: Path) -> Iterator[Path]:
    """Write to a temporary file beside `target`, flush it and rename it."""
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
def _appending(path: Path) -> Iterator[Path]:
    """Write to a temporary file and append its content to a device, a pipe or standard output."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        temporary = Path(folder, path.name)
        yield temporary
        with temporary.open("rb") as whole, path.open("ab") as stream:
            shutil.copyfileobj(whole, stream)


def _is_stream(path: Path) -> bool:
    """Return whether a path is a device, a pipe, or a name such as /dev/stdout of an open file."""
    if path.exists() and not path.is_file():
        return True
    return str(path.parent) in {"/dev", "/dev/fd"} or path.is_relative_to("/proc")


def check_output_path(path: Path, suffixes: Sequence[str], inputs: Iterable[object]) -> None:
    """Raise InputError for a file to write whose suffix is of something else, or that is read."""
    if path.suffix.lower() not in ("", *suffixes):
        known = ", ".join(suffixes)
        raise InputError(f"unknown suffix {path.suffix}; known: {known}", path=path)
    for given in inputs:
        if isinstance(given, str | Path) and _is_same(given, path):
            raise InputError("both read and written; give another path", path=path)


def _is_same(a: str | Path, b: Path) -> bool:
    """Return whether two names belong to one file, also by links."""
    try:
        return Path(a).samefile(b)
    except (OSError, ValueError):  # at least one does not exist, or cannot be a name
        return False


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 with Unix line ends, all or nothing."""
    with replace_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def require_file(path: Path, noun: str) -> None:
    """Raise InputError unless `path` is a file that is not empty."""
    with reading_as(path, noun):
        size = path.stat().st_size
        if not path.is_file():
            raise InputError(f"a folder, a pipe or a device; expected {noun}", path=path)
        if not size:
            raise InputError(f"empty; expected {noun}", path=path)


def write_columns(
    path: Path, columns: Mapping[str, Any], metadata: Mapping[bytes, bytes] | None = None
) -> None:
    """Write the arrays that are not None as columns, all or nothing, as the suffix of a path says.

    Parquet files hold the metadata too.
    """
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    suffix = path.suffix.lower()
    if suffix not in (*PARQUET_SUFFIXES, *SEPARATORS):
        found = f"unknown suffix {suffix}" if suffix else "no suffix"
        raise InputError(
            f"{found}; known: {', '.join((*PARQUET_SUFFIXES, *SEPARATORS))}", path=path
        )
    arrays = {name: values for name, values in columns.items() if values is not None}
    with replace_file(path) as temporary:
        if suffix in PARQUET_SUFFIXES:
            parquet.write_table(pa.table(arrays, metadata=metadata), temporary)
        else:
            separator = SEPARATORS[suffix]
            pd.DataFrame(arrays).to_csv(temporary, sep=separator, index=False, lineterminator="\n")


def read_npy(path: Path, noun: str, **options: Any) -> Any:
    """Read the array of an `.npy` file without pickle; errors name it `noun`."""
    with reading_as(path, noun):
        return np.load(path, allow_pickle=False, **options)


def read_npz(
    path: Path, noun: str, names: Sequence[str] = (), others: Sequence[str] | None = None
) -> dict[str, Any]:
    """Read the arrays of an `.npz` file: `names`, and maybe `others`, by default any.

    Errors name the file `noun`.
    """
    arrays: dict[str, Any] = {}
    # numpy leaves a file open that it finds to be damaged, so it does not open it.
    with (
        reading_as(path, noun),
        Path(path).open("rb") as file,
        np.load(file, allow_pickle=False) as data,
    ):
        for name in data.files:
            if others is not None and name not in (*names, *others):
                expected = ", ".join((*names, *others))
                raise InputError(f"found an array {name}; expected {expected}", path=path)
            arrays[name] = np.asarray(data[name])
    for name in names:
        if name not in arrays:
            raise InputError(f"not {noun} (it holds no {name})", path=path)
    return arrays


@contextmanager
def reading_as(path: Path, noun: str) -> Iterator[None]:
    """Turn whatever pandas, numpy, zipfile and zlib raise at a damaged file into an InputError."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"no such file; expected {noun}", path=path) from None
    except InputError:
        raise
    except Exception as error:
        problem = f"not {noun}"
        if isinstance(error, MemoryError) or "malloc" in str(error):
            problem = NO_MEMORY
        words = getattr(error, "strerror", None) or error
        raise InputError(f"{problem} ({words})", path=path) from error
