"""Reading CSV, TSV, parquet, DataFrames and files of trec_eval; each failure is one InputError.

Columns have the names of RecTools and RecBole (`user_id`, `item_id`, `score`, `rank`); RecBole's
typed headers (`user_id:token`) lose their types. Rows are counted from 1, without the header.
"""

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import csv as text_reader
from pyarrow import parquet

from sampled_metrics._base.errors import InputError
from sampled_metrics.tables.columns import ITEM, USER, Table, lines

PARQUET = (".parquet", ".pq")
KNOWN = (
    *(USER, ITEM, "rank", "score", "relevance"),
    *("n_candidates", "n_better", "n_tied", "sampled_rank", "repetition"),
    *("n_negatives", "sampling", "label"),
)
_HEAD = 1 << 16
# Names that other libraries give to the columns, in lower case without underscores.
_ALIASES = {
    USER: {"user", "userid", "uid", "useridx", "qid", "queryid"},
    ITEM: {"item", "itemid", "iid", "itemidx", "movie", "movieid", "docid"},
}
_OTHER_KINDS = {
    b"PK\x03\x04": "a spreadsheet or an archive (.xlsx, .zip); save it as CSV",
    b"\xd0\xcf\x11\xe0": "a spreadsheet (.xls); save it as CSV",
    b"PAR1": "parquet; give it a name that ends in .parquet",
    b"\x93NUMPY": "an array of numpy; give it a name that ends in .npy",
}


class Trec(NamedTuple):
    """A kind of file without a header, its columns separated by blanks, as trec_eval reads it.

    Columns that trec_eval ignores, such as the rank in a run, have names that no reader knows.
    """

    what: str
    suffixes: tuple[str, ...]
    columns: tuple[str, ...]
    numbers: tuple[int, ...]  # places of columns of numbers

    def matches(self, path: Path, first: str) -> bool:
        """Return whether a file is of this kind, by its name or its first line."""
        fields = first.split()
        try:
            numbers = [float(fields[place]) for place in self.numbers]
        except (ValueError, IndexError):
            numbers = []
        same = len(numbers) > 0 and len(fields) == len(self.columns)
        return same or path.suffix in self.suffixes


_RUN_COLUMNS = (USER, "Q0", ITEM, "place", "score", "tag")
RUN = Trec("a TREC run (qid Q0 docid rank score tag)", (".run", ".trec"), _RUN_COLUMNS, (3, 4))
QRELS = Trec("qrels (qid iter docid rel)", (".qrels",), (USER, "iter", ITEM, "relevance"), (3,))


def read_table(
    data: Any,
    what: str,
    columns: Sequence[str] = KNOWN,
    *,
    trec: Trec | None = None,
    ids: Sequence[str] = (USER, ITEM),
    separator: str | None = None,
) -> Table:
    """Read a DataFrame or a file: parquet if it is named so, else text, which may be compressed.

    At least one of `columns` must be present; `ids` are those that hold ids. The file may be of a
    format of `trec` instead. Columns of text are separated by a tab if the first line has one, else
    by a comma. Errors call the table `what`.
    """
    if is_frame(data):
        table = _read_frame(data, columns)
    elif Path(data).suffix.lower() in PARQUET:
        table = _read_parquet(Path(data), what, columns)
    else:
        table = _read_text(Path(data), what, columns, trec, ids, separator)
    if not table.columns:
        problem = f"found columns {', '.join(table.names)}"
        if any(";" in name for name in table.names):
            problem = "columns are separated by semicolons, expected commas or tabs"
        elif any(re.match(r"[+-]?\d", name) for name in table.names):  # values, not to be shown
            problem = "no header that names the columns"
        expected = f"expected {what}: some of {', '.join(columns)}"
        raise InputError(f"{problem}; {expected}", path=table.path)
    if not len(table):
        raise InputError(f"no rows; expected {what}", path=table.path)
    return table


def is_frame(data: Any) -> bool:
    """Return whether data is a DataFrame of pandas, which is not imported for the question."""
    return type(data).__name__ == "DataFrame" and hasattr(data, "columns")


def require_file(path: Path, what: str) -> None:
    """Raise InputError unless `path` is a file that is not empty."""
    for bad, problem in (
        (path.is_dir(), "a folder"),
        (not path.exists(), "no such file"),
        (not path.is_file(), "a pipe or device, which cannot be read twice"),
        (path.is_file() and not path.stat().st_size, "empty"),
    ):
        if bad:
            raise InputError(f"{problem}; expected {what}", path=path)


def bare_name(name: str) -> str:
    """Return the name of a column without RecBole's type, as in `user_id:token`."""
    return re.sub(r":(token|float)(_seq)?\Z", "", name.strip())


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


@contextmanager
def _parsing(path: Path, what: str, delimiter: str = "") -> Iterator[None]:
    """Turn what pyarrow raises into an InputError, with the line if a row differs in length."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        lengths = re.search(r"Expected (\d+) columns, got (\d+)", str(error))
        if not (delimiter and lengths):
            kind = what if delimiter else "parquet"
            raise InputError(f"not {kind} ({error}); expected {what}", path=path) from error
        expected, found = map(int, lengths.groups())
        texts = (
            (n, s.split() if delimiter == " " else next(csv.reader([s], delimiter=delimiter), []))
            for n, s in lines(path)
        )
        line = next((n for n, row in texts if len(row) == found), None)
        problem = f"found {found} columns; expected {expected}"
        raise InputError(problem, path=path, line=line) from error


def _read_frame(frame: Any, columns: Sequence[str]) -> Table:
    path = Path("DataFrame")
    names, wanted = selected(path, list(map(str, frame.columns)), columns)
    try:
        read = pa.Table.from_pandas(frame.rename(columns=str)[[*wanted]], preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InputError(f"not a table ({error})", path=path) from error
    return Table(path, {wanted[name]: read[name] for name in wanted}, names)


def _read_parquet(path: Path, what: str, columns: Sequence[str]) -> Table:
    require_file(path, what)
    with _parsing(path, what), parquet.ParquetFile(path) as file:
        names, wanted = selected(path, file.schema_arrow.names, columns)
        read = file.read(columns=list(wanted))
        metadata = file.schema_arrow.metadata or {}
    return Table(path, {wanted[n]: read[n] for n in wanted}, names, metadata=metadata)


def _read_text(
    path: Path,
    what: str,
    columns: Sequence[str],
    trec: Trec | None,
    ids: Sequence[str],
    separator: str | None,
) -> Table:
    first = _first_line(path, what)
    source: Any = str(path)
    is_trec = trec is not None and trec.matches(path, first)
    header = int(not is_trec)
    if trec is not None and is_trec:
        what, separator, fields = trec.what, " ", list(trec.columns)
        with _parsing(path, what, separator), pa.input_stream(source) as stream:
            text = stream.read().removeprefix(b"\xef\xbb\xbf")
        text = re.sub(rb"^ | (?=\r?$)", b"", re.sub(rb"[ \t]+", b" ", text), flags=re.MULTILINE)
        source = pa.BufferReader(text)
    else:
        separator = separator or ("\t" if "\t" in first else ",")
        fields = next(csv.reader([first], delimiter=separator), [])
    names, wanted = selected(path, fields, columns)
    if not wanted:
        return Table(path, {}, names, header)
    encoded = pa.dictionary(pa.int32(), pa.string())
    with _parsing(path, what, separator):
        read = text_reader.read_csv(
            source,
            text_reader.ReadOptions(column_names=None if header else fields),
            text_reader.ParseOptions(delimiter=separator, quote_char=False if is_trec else '"'),
            text_reader.ConvertOptions(
                include_columns=list(wanted),
                column_types={name: encoded for name, bare in wanted.items() if bare in ids},
                null_values=[""],
            ),
        )
    return Table(path, {wanted[name]: read[name] for name in wanted}, names, header)


def _first_line(path: Path, what: str) -> str:
    """Return the first line of a text file that is not empty."""
    require_file(path, what)
    try:
        with pa.input_stream(str(path)) as stream:
            beginning = stream.read(_HEAD)
        kind = next((kind for mark, kind in _OTHER_KINDS.items() if beginning.startswith(mark)), "")
        if not kind and beginning.lstrip()[:1] in {b"{", b"["}:
            kind = "JSON; save it as CSV"
        if kind:
            raise InputError(f"found {kind}; expected {what}", path=path)
        if b"\0" in beginning:
            raise InputError(f"not text; expected {what}", path=path)
        text = beginning.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")
        if not text:
            raise InputError(f"empty; expected {what}", path=path)
        return re.split(rb"[\r\n]", text)[0].decode()
    except (OSError, pa.ArrowInvalid, UnicodeDecodeError) as error:
        raise InputError(f"not text ({error}); expected {what}", path=path) from error
