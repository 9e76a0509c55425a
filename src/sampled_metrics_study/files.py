"""Files of the study: tables, JSON, checksums, and sparse tables as arrays."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from sampled_metrics import InputError
from sampled_metrics._base.array_types import Array
from sampled_metrics._base.files import find_line_break, line_break_error, reading_as, write_text
from sampled_metrics._base.sparse import canonical_csr

if TYPE_CHECKING:
    import pandas as pd

SPARSE_ARRAYS = ("shape", "indptr", "indices")  # of a sparse table, without its entries


def checksum(path: str | Path, kind: str = "sha256") -> str:
    """Return the hash of a file, of a kind that `hashlib` knows, in hexadecimal."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, kind).hexdigest()


def write_json(path: Path, content: object) -> None:
    """Write `content` as indented JSON; a failure leaves no partial file."""
    write_text(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """Read JSON."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InputError(f"not JSON ({error})", path=path) from error


def write_table(table: pd.DataFrame, path: Path, number_format: str | None = None) -> None:
    """Write a table as CSV with Unix line ends; `number_format`, such as `%.4f`, formats floats."""
    write_text(path, table.to_csv(index=False, float_format=number_format, lineterminator="\n"))


def read_table(
    path: Path, columns: Sequence[str], texts: Sequence[str] = (), **options: Any
) -> pd.DataFrame:
    """Read a CSV file that must have `columns`; columns in `texts` are read as text."""
    import pandas as pd  # for tables only: the first step of a run has none

    with reading_as(path, "CSV"):
        with path.open(encoding="utf-8-sig", errors="replace") as lines:
            line_break = find_line_break(lines, ",")
        if line_break is not None:
            raise line_break_error(line_break, path)
        table = pd.read_csv(path, converters=dict.fromkeys(texts, str), **options)
    for name in columns:
        if name not in table.columns:
            raise InputError(f"lacks column {name}; found {', '.join(table)}", path=path)
    return table


def sparse_to_arrays(table: scipy.sparse.csr_array, name: str = "") -> dict[str, Any]:
    """Return where a table has entries, as arrays for `numpy.savez`; `name` is their prefix."""
    return {name + part: np.asarray(getattr(table, part)) for part in SPARSE_ARRAYS}


def sparse_from_arrays(
    arrays: Mapping[str, Array], name: str = "", data: Array | None = None
) -> scipy.sparse.csr_array:
    """Return the table that `sparse_to_arrays` took apart; without `data` all its entries are 1."""
    shape, indptr, indices = (arrays[name + part] for part in SPARSE_ARRAYS)
    if any(x.dtype.kind not in "iu" for x in (shape, indptr, indices)):
        raise InputError("damaged sparse matrix: its shape, indptr or indices are not integers")
    if data is None:
        data = np.ones(indices.size)
    return canonical_csr(scipy.sparse.csr_array((data, indices, indptr), tuple(shape)))
