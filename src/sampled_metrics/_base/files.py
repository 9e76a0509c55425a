"""Writing files so that a name never holds half a result, reading them with one-line errors."""

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from sampled_metrics._base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary path; on success the file takes the place of `path`, else it is removed.

    A link stays a link; a device or a pipe is written to.
    """
    path = Path(path)
    if path.is_dir():
        raise InputError("a folder; expected a file to write", path=path)
    is_stream = path.exists() and not path.is_file()
    target = path if is_stream else Path(os.path.realpath(path))
    name = f".{uuid4().hex[:8]}.{target.name}"
    temporary = target if is_stream else target.with_name(name)
    try:
        if not is_stream:
            target.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        if not is_stream:
            if target.exists():
                shutil.copymode(target, temporary)
            temporary.replace(target)
    except OSError as error:
        places = map(str, (temporary, *target.parents))
        if error.filename is not None and str(error.filename) not in places:  # another file
            raise
        raise InputError(f"cannot be written ({error.strerror})", path=path) from error
    finally:
        if not is_stream and temporary.exists():
            temporary.unlink()


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
    """Read a CSV file with at least `columns`, of which `texts` are not parsed as numbers."""
    import pandas as pd

    with reading_as(path, "CSV"):
        table = pd.read_csv(path, converters=dict.fromkeys(texts, str), **options)
    for name in columns:
        if name not in table.columns:
            raise InputError(f"lacks column {name}; found {', '.join(table)}", path=path)
    return table


def read_array(path: Path, what: str, **options: Any) -> Any:
    """Read the array of an `.npy` file without pickle; errors call it `what`."""
    import numpy as np  # here, because the command line must start fast

    with reading_as(path, what):
        return np.load(path, allow_pickle=False, **options)


def read_arrays(path: Path, what: str, names: Sequence[str] = ()) -> dict[str, Any]:
    """Read all arrays of an `.npz` file, at least `names`; errors call it `what`."""
    import numpy as np

    # numpy leaves a file open that it finds to be damaged, so it does not open it.
    with (
        reading_as(path, what),
        Path(path).open("rb") as file,
        np.load(file, allow_pickle=False) as data,
    ):
        arrays = dict(data)
    for name in names:
        if name not in arrays:
            raise InputError(f"not {what} (it holds no {name})", path=path)
    return arrays


@contextmanager
def reading_as(path: Path, what: str) -> Iterator[None]:
    """Turn whatever pandas, numpy, zipfile and zlib raise at a damaged file into an InputError."""
    try:
        yield
    except FileNotFoundError:
        raise InputError(f"no such file; expected {what}", path=path) from None
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"not {what} ({error})", path=path) from error
