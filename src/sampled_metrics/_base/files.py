"""Writing files so that a name never holds half a result, reading them with one-line errors."""

import errno
import glob
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sampled_metrics._base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd
try:
    import fcntl
except ImportError:  # Windows, where the files of killed processes are not swept
    fcntl = None  # type: ignore[assignment]

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path; on success the file takes the place of `path`, else it is removed.

    It is flushed to disk before it is renamed, so that a name never holds half a result. A link
    stays a link; a device or a pipe is written to.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError("a folder; expected a file to write", path=path)
    with _naming(path), (_streaming if _is_stream(path) else _renaming)(path) as temporary:
        yield temporary


def sweep(path: Path) -> None:
    """Remove temporary files of `path` that a killed process has left."""
    name, suffix = glob.escape(path.name), glob.escape(path.suffix)
    for left in path.parent.glob(f".{name}.????????{suffix}"):
        with suppress(OSError), left.open("rb") as file:
            _lock(file.fileno())
            left.unlink()


def write_text(path: Path, text: str) -> None:
    """Write `text` as UTF-8 with Unix line ends, all or nothing."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, content: object) -> None:
    """Write `content` as indented JSON, all or nothing."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Read JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"not JSON ({error})", path=path) from error


def write_table(table: "pd.DataFrame", path: Path, number_format: str | None = None) -> None:
    """Write a table as CSV with Unix line ends; `number_format` is for floats, such as `%.4f`."""
    write_text(path, table.to_csv(index=False, float_format=number_format, lineterminator="\n"))


def read_table(
    path: Path, columns: Sequence[str], texts: Sequence[str] = (), **options: Any
) -> "pd.DataFrame":
    """Read a CSV file with at least `columns`; `options` are those of pandas.

    Values of the columns `texts` are kept as they are written, also if they look like numbers.
    """
    import pandas as pd

    try:
        table = pd.read_csv(path, converters=dict.fromkeys(texts, str), **options)
    except FileNotFoundError:
        raise InputError("no such file; expected CSV", path=path) from None
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise InputError(f"not CSV ({error})", path=path) from error
    for name in columns:
        if name not in table.columns:
            found = ", ".join(table.columns)
            raise InputError(f"lacks column {name}; found {found}", path=path)
    return table


def read_array(path: Path, what: str, **options: Any) -> Any:
    """Read the array of an `.npy` file without pickle; `what` it should be is for messages."""
    import numpy as np

    try:
        return np.load(path, allow_pickle=False, **options)
    except FileNotFoundError:
        raise InputError(f"no such file; expected {what}", path=path) from None
    except Exception as error:
        # numpy takes what it does not know for a pickle, so its message would mislead.
        raise InputError(f"not {what}: no whole .npy file of numbers", path=path) from error


def read_arrays(path: Path, what: str, names: Sequence[str] = ()) -> dict[str, Any]:
    """Read all arrays of an `.npz` file, at least `names`, without pickle.

    `what` is what the file should be, for messages.
    """
    import numpy as np  # here, because the command line must start fast

    try:
        # numpy leaves a file open that it finds to be damaged, so it does not open it.
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as data:
            arrays = dict(data)
    except FileNotFoundError:
        raise InputError(f"no such file; expected {what}", path=path) from None
    except Exception as error:
        # A damaged archive makes numpy raise whatever zipfile, zlib, tokenize and ast do.
        raise InputError(f"not {what} ({error})", path=path) from error
    for name in names:
        if name not in arrays:
            raise InputError(f"not {what} (it holds no {name})", path=path)
    return arrays


@contextmanager
def _renaming(path: Path) -> Iterator[Path]:
    target = Path(os.path.realpath(path))
    if target.is_symlink():
        raise InputError("a link that leads back to itself", path=path)
    target.parent.mkdir(parents=True, exist_ok=True)
    sweep(target)
    handle, name = tempfile.mkstemp(target.suffix, f".{target.name}.", target.parent)
    temporary = Path(name)
    try:
        with suppress(OSError):  # some file systems have no locks
            _lock(handle)
        yield temporary
        temporary.chmod(_mode(target))
        os.fsync(handle)
        temporary.replace(target)
        with suppress(OSError):  # or do not let folders be flushed
            _flush_folder(target.parent)
    finally:
        os.close(handle)
        temporary.unlink(missing_ok=True)


@contextmanager
def _streaming(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        temporary = Path(folder, path.name)
        yield temporary
        with temporary.open("rb") as whole, path.open("ab") as stream:
            shutil.copyfileobj(whole, stream)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Name the file in errors of writing it, such as that of a full disk."""
    try:
        yield
    except OSError as error:
        target = Path(os.path.realpath(path))
        elsewhere = error.filename and Path(error.filename).parent not in (path, *target.parents)
        if error.errno is None or (elsewhere and error.errno not in _FULL):
            raise
        raise InputError(f"cannot be written ({os.strerror(error.errno)})", path=path) from error


def _is_stream(path: Path) -> bool:
    """Return whether a path is a device, a pipe, or a name such as /dev/stdout of an open file."""
    if path.exists() and not path.is_file():
        return True
    return str(path.parent) in {"/dev", "/dev/fd"} or path.is_relative_to("/proc")


def _lock(handle: int) -> None:
    """Lock an open file until it is closed; OSError if another process has done so."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _flush_folder(folder: Path) -> None:
    """Have the system write the names in a folder to disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _mode(path: Path) -> int:
    """Return the permissions of a file, or those of a new one."""
    if path.exists():
        return stat.S_IMODE(path.stat().st_mode)
    current = os.umask(0)
    os.umask(current)
    return 0o666 & ~current
