"""Names of columns, and files that are no tables."""

import re
from collections.abc import Sequence
from pathlib import Path

from sampled_metrics._base.errors import InputError
from sampled_metrics.tables.ids import ITEM, USER

KNOWN = (
    *(USER, ITEM, "rank", "score", "relevance"),
    *("n_candidates", "n_better", "n_tied", "sampled_rank", "repetition"),
    *("n_negatives", "sampling", "label"),
)
# What other libraries call the columns, in lower case without underscores.
_ALIASES = {
    USER: {"user", "userid", "uid", "useridx", "qid", "queryid"},
    ITEM: {"item", "itemid", "iid", "itemidx", "movie", "movieid", "docid"},
}
_TYPES = re.compile(r":(token|float)(_seq)?\Z")
_KINDS = {
    b"PK\x03\x04": "a spreadsheet or an archive (.xlsx, .zip); save it as CSV",
    b"\xd0\xcf\x11\xe0": "a spreadsheet (.xls); save it as CSV",
    b"PAR1": "parquet; give it a name that ends in .parquet",
    b"\x93NUMPY": "an array of numpy; give it a name that ends in .npy",
}
_NUMBER = re.compile(r"[+-]?\d")


def bare_name(name: str) -> str:
    """Return the name of a column without RecBole's type, as in `user_id:token`."""
    return _TYPES.sub("", name.strip())


def selected(
    path: Path, names: Sequence[str], columns: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the bare names of all columns, and those of the wanted columns by name.

    A duplicate of a wanted column is an error.
    """
    bare = list(map(bare_name, names))
    for column, aliases in _ALIASES.items():
        if column in columns and column not in bare:
            bare = [
                column if name not in columns and name.lower().replace("_", "") in aliases else name
                for name in bare
            ]
    for column in columns:
        if bare.count(column) > 1:
            raise InputError(f"duplicate column {column}", path=path)
    both = zip(names, bare, strict=True)
    return tuple(bare), {name: column for name, column in both if column in columns}


def refuse_other_kinds(path: Path, beginning: bytes, what: str) -> None:
    """Raise InputError if a file begins as one of a known other kind does."""
    kind = next((kind for mark, kind in _KINDS.items() if beginning.startswith(mark)), None)
    if kind is None and beginning.lstrip()[:1] in {b"{", b"["}:
        kind = "JSON; save it as CSV"
    if kind is not None:
        raise InputError(f"found {kind}; expected {what}", path=path)


def refuse_headless(path: Path, names: Sequence[str], what: str, columns: Sequence[str]) -> None:
    """Raise InputError that names what is missing, without repeating values of the file."""
    expected = f"expected {what}: some of {', '.join(columns)}"
    if any(";" in name for name in names):
        raise InputError(
            "columns are separated by semicolons, expected commas or tabs; " + expected, path=path
        )
    if any(_NUMBER.match(name) for name in names):
        raise InputError(f"no header that names the columns; {expected}", path=path)
    raise InputError(f"found columns {', '.join(names)}; {expected}", path=path)
