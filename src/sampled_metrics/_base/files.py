"""Writing files so that a name never holds half a result, reading them with one-line errors."""

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sampled_metrics._base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success it takes its place, else it is removed."""
    path = Path(path)
    if path.is_dir():
        raise InputError("a folder; expected a file to write", path=path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(
            dir=path.parent, prefix=f".{path.name}.", suffix=path.suffix
        )
    except OSError as error:
        raise InputError(f"cannot be written ({error.strerror})", path=path) from error
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


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


def read_table(path: Path, columns: Sequence[str], **options: Any) -> "pd.DataFrame":
    """Read a CSV file with at least `columns`; `options` are those of pandas."""
    import pandas as pd

    try:
        table = pd.read_csv(path, **options)
    except FileNotFoundError:
        raise InputError("no such file; expected CSV", path=path) from None
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise InputError(f"not CSV ({' '.join(str(error).split())})", path=path) from error
    for name in columns:
        if name not in table.columns:
            found = ", ".join(table.columns)
            raise InputError(f"lacks column {name}; found {found}", path=path)
    return table


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
        reason = " ".join(str(error).split())
        raise InputError(f"not {what} ({reason})", path=path) from error
    for name in names:
        if name not in arrays:
            raise InputError(f"not {what} (it holds no {name})", path=path)
    return arrays


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
