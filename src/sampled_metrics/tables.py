"""Tables of CSV, TSV, parquet, DataFrames and trec_eval's files; each failure is one InputError.

Columns have the names of RecTools and RecBole (`user_id`, `item_id`, `score`, `rank`); RecBole's
typed headers (`user_id:token`) lose their types. Errors name the row, from 1 without the header,
and the line. Columns hold numbers, times or ids.
"""

import csv
import io
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as text_reader

from sampled_metrics._base import arrow
from sampled_metrics._base.arrays import EXACT, Float, Ids, Int, ordered_floats
from sampled_metrics._base.errors import InputError

USER, ITEM = "user_id", "item_id"
Codes: TypeAlias = NDArray[np.int32]

_IDS = "whole numbers or text"
_TIMES = "numbers, or ISO 8601 dates and times, of one kind in all rows"
_LONGEST_ID = 200
_LONGEST = 80  # characters of a value in a message
# 007 and +7 are not canonical: as numbers they would be the same id as 7.
_CANONICAL = r"^(0|-?[1-9]\d{0,18})$"
_TEXT = (pa.string(), pa.large_string())
_LEAST, _LARGEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_TIME_TYPES = (
    *(pa.int64(), pa.float64()),
    *(pa.timestamp(unit, zone) for zone in (None, "UTC") for unit in ("s", "us", "ns")),
)

PARQUET = (".parquet", ".pq")
KNOWN = (
    *(USER, ITEM, "rank", "score", "relevance"),
    *("n_candidates", "n_better", "n_tied", "sampled_rank", "repetition"),
    *("n_negatives", "sampling", "label"),
)
_HEAD, _PART = 1 << 16, 1 << 24  # bytes
TYPE = re.compile(r":(token|float)(_seq)?\Z")  # that RecBole adds to the name of a column
# Names that other libraries give to the columns, in lower case without underscores.
_ALIASES = {
    USER: {"user", "userid", "uid", "useridx", "qid", "queryid"},
    ITEM: {"item", "itemid", "iid", "itemidx", "movie", "movieid", "docid"},
}
# Names that they give to scores, the first that is there; `rating` is what Spark recommends by.
_SCORES = ("prediction", "predictions", "pred", "est", "logit", "logits", "rating")
_ORDERED = {"score", "rank", "sampled_rank", "n_better", "relevance"}  # nothing else is a score
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


_RUN_COLUMNS = (USER, "Q0", ITEM, "place", "score", "tag")
RUN = Trec("a TREC run (qid Q0 docid rank score tag)", (".run", ".trec"), _RUN_COLUMNS, (3, 4))
QRELS = Trec("qrels (qid iter docid rel)", (".qrels",), (USER, "iter", ITEM, "relevance"), (3,))


@dataclass(frozen=True)
class Table:
    """Columns of a file, checked when they are asked for.

    Examples
    --------
    >>> table = Table(Path("r.parquet"), {"rank": pa.chunked_array([[3, 0]])}, ("rank",))
    >>> table.whole("rank", 1, 9)
    Traceback (most recent call last):
    sampled_metrics.InputError: r.parquet, row 2, column rank: found 0; expected 1 to 9
    """

    path: Path
    columns: dict[str, pa.ChunkedArray]  # all of one length
    names: tuple[str, ...]  # all columns of the file, also those not read
    header: int | None = None  # lines before the first row; None for parquet, which has no lines
    metadata: dict[bytes, bytes] = field(default_factory=dict)  # of parquet
    floats: tuple[str, ...] = ()  # other columns, which hold numbers with decimals

    @classmethod
    def of_columns(cls, path: Path, columns: Mapping[str, pa.Array]) -> "Table":
        """Take arrays of pyarrow under the names that they have for people."""
        arrays = {}
        for name, column in columns.items():
            array = as_arrow(column) if isinstance(column, np.ndarray) else column
            arrays[name] = (
                array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
            )
        names, wanted = selected(path, list(arrays), KNOWN)
        known = {wanted[name]: arrays[name] for name in wanted}
        others = [name for name in arrays if name not in wanted]
        floats = [name for name in others if pa.types.is_floating(arrays[name].type)]
        return cls(path, known, names, floats=tuple(floats))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def with_column(self, name: str, column: pa.ChunkedArray) -> "Table":
        """Return the table with one column more."""
        return replace(self, columns={**self.columns, name: column})

    def require(self, *names: str) -> None:
        """Raise InputError for the first of `names` that is missing."""
        for name in names:
            if name not in self.columns:
                raise self._lacks(name)

    def whole(
        self, name: str, least: int, most: int | Int | None = None, expected: str | None = None
    ) -> Int:
        """Return a column of whole numbers from `least` to `most` as int64.

        `most` is one number, an array with one per row, or None for no bound. Floats that are
        whole numbers are accepted. `expected` are such numbers in words.
        """
        per_row = isinstance(most, np.ndarray)
        bound = f"at least {least}" if per_row or most is None else f"{least} to {most}"
        expected = expected or f"whole numbers, {bound}"
        values = self._numbers(name, expected)
        if values.dtype.kind == "f":
            whole = (np.floor(values) == values) & (np.abs(values) < EXACT)
            self.refuse(name, ~whole, values, expected)
        values = values.astype(np.int64, copy=False)
        limits = np.broadcast_to(_LARGEST if most is None else most, values.shape)
        bad = (values < least) | (values > limits)
        self.refuse(name, bad, values, lambda r: f"{least} to {limits[r]}" if per_row else bound)
        return values

    def marks(self, name: str) -> NDArray[np.bool_]:
        """Return a column of 1 or 0, or of true or false."""
        column = self._complete(name, "1 or 0")
        if pa.types.is_boolean(column.type):
            return as_numpy(arrow.cast(column, pa.uint8())) == 1
        return self.whole(name, 0, 1) == 1

    def finite(self, name: str) -> Float:
        """Return a column of finite numbers as float64."""
        values = self._numbers(name, "finite numbers").astype(np.float64, copy=False)
        self.refuse(name, ~np.isfinite(values), values, "finite numbers")
        return values

    def ordered(self, name: str) -> NDArray[np.floating[Any]]:
        """Return finite numbers as floats in the same order, large integers by their places."""
        column = self._complete(name, "finite numbers")
        whole = pa.types.is_integer(column.type)
        return ordered_floats(as_numpy(column)) if whole else self.finite(name)

    def times(self, name: str) -> tuple[Int | Float, str | None]:
        """Return a column of times as numbers in the same order, and their unit.

        Numbers stay as they are, of unit None. Dates and times become the number of seconds, or of
        a finer unit if the column needs it, since 1970; the unit is numpy's.
        """
        column = self._complete(name, _TIMES)
        if column.type in _TEXT:  # all of one type: the first that fits all, or the first value
            kinds = [kind for kind in _TIME_TYPES if _fits(column[:1], kind)] or [pa.float64()]
            kind = next((kind for kind in kinds if _fits(column, kind)), kinds[-1])
            column = self._cast(name, column, kind, _TIMES)
        elif pa.types.is_date(column.type):
            column = arrow.cast(column, pa.timestamp("s"))
        if pa.types.is_timestamp(column.type):
            return as_numpy(arrow.int64(column)), str(column.type.unit)
        values = self._numbers(name, _TIMES, column)
        self.refuse(name, ~np.isfinite(values), values, _TIMES)
        return values, None

    def ids(self, name: str) -> pa.ChunkedArray:
        """Return a column of ids: int64 if all are whole numbers as usually written, else text.

        `007` is not written as a number usually is, so a column that holds it stays text and it
        differs from `7`.
        """
        codes, names = self.codes(name)
        return pa.chunked_array([arrow.take(names, as_arrow(codes))])

    def codes(self, name: str) -> tuple[Codes, pa.Array]:
        """Encode a column of ids: int32 codes of the rows, and the id of each code.

        Codes count from 0 in the order in which the ids first appear; the ids are those of `ids`.
        """
        column = self._complete(name, _IDS, decode=False)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if pa.types.is_floating(kind) or kind == pa.uint64():
            whole = self.whole(name, _LEAST, expected=_IDS)
            kind, column = pa.int64(), pa.chunked_array([as_arrow(whole)])
        if not (kind in _TEXT or pa.types.is_integer(kind)):
            raise self._wrong_type(name, column, _IDS)
        codes, names = encoded(column)
        if kind not in _TEXT:
            return codes, arrow.int64(names)
        length = as_numpy(arrow.lengths(names))
        has_control = arrow.matches(names, r"[\x00-\x1f\x7f]")
        control = as_numpy(arrow.cast(has_control, pa.uint8()))
        for bad, problem in (
            (length == 0, f"found nothing; expected {_IDS}"),
            (length > _LONGEST_ID, f"found an id of more than {_LONGEST_ID} characters"),
            (control == 1, "found an id with control characters"),
        ):
            if bad.any():
                raise self.error_at(int(np.argmax(bad[codes])), problem, name)
        if arrow.all_match(names, _CANONICAL) and _fits(names, pa.int64()):
            names = arrow.int64(names)
        return codes, names

    def places(self, name: str, among: Ids, expected: str) -> Int:
        """Return the place of each id of a column in `among`; a missing one raises InputError."""
        ids = self.ids(name)
        place = places(ids, among)
        self.refuse(name, place < 0, ids, expected)
        return place

    def refuse(
        self, name: str, bad: NDArray[np.bool_], values: Any, expected: str | Callable[[int], str]
    ) -> None:
        """Raise InputError for the first bad row; what is expected may depend on the row."""
        if bad.any():
            row = int(np.argmax(bad))
            wanted = expected if isinstance(expected, str) else expected(row)
            raise self.error(name, row, values[row], wanted)

    def error(self, name: str, row: int, found: object, expected: str) -> InputError:
        """Make the error for a value; `row` counts from 0."""
        shown = f"{found:.15g}" if isinstance(found, np.floating) else str(found)
        if len(shown) > _LONGEST:  # a stray quote makes one value of many lines
            shown = f"{shown[:_LONGEST]}..."
        return self.error_at(row, f"found {shown}; expected {expected}", name)

    def error_at(self, row: int, problem: str, column: str | None = None) -> InputError:
        """Make the error for a row, which counts from 0."""
        line = None
        if self.header is not None:
            filled = [number for number, text in lines(self.path) if text.rstrip("\r\n")]
            line = filled[self.header + row]
        return InputError(problem, path=self.path, row=row + 1, line=line, column=column)

    def _numbers(self, name: str, expected: str, column: Any = None) -> NDArray[Any]:
        """Return a column of any numbers, or of text that holds numbers, as int64 or float64."""
        column = self._complete(name, expected) if column is None else column
        kind = column.type
        if pa.types.is_integer(kind):
            large = kind == pa.uint64() and arrow.call("max", column).as_py() >= 1 << 63
            whole = pa.float64() if large else pa.int64()
            return as_numpy(arrow.cast(column, whole, safe=False))
        if not (pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
            if pa.types.is_duration(kind) or not _fits(column, pa.string()):
                raise self._wrong_type(name, column, expected)
            text = arrow.call("utf8_trim_whitespace", arrow.cast(column, pa.string()))
            column = self._cast(name, text, pa.float64(), expected)
        return as_numpy(arrow.cast(column, pa.float64(), safe=False))

    def _cast(self, name: str, text: Any, kind: Any, expected: str) -> Any:
        """Cast text, or raise InputError for the first value that does not fit."""
        if _fits(text, kind):
            return arrow.cast(text, kind)
        row = bisect_left(range(len(text)), True, key=lambda row: not _fits(text[: row + 1], kind))
        raise self.error(name, row, repr(text[row].as_py()), expected)

    def _complete(self, name: str, expected: str, decode: bool = True) -> Any:
        """Return a column, or raise InputError where it is missing or a value is."""
        if name not in self.columns:
            raise self._lacks(name)
        column = self.columns[name]
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy()))
            raise self.error(name, row, "nothing", expected)
        dictionary = decode and pa.types.is_dictionary(column.type)
        return arrow.cast(column, column.type.value_type) if dictionary else column

    def _lacks(self, name: str) -> InputError:
        found = ", ".join(self.names)
        return InputError(f"lacks column {name}; found {found}", path=self.path)

    def _wrong_type(self, name: str, column: Any, expected: str) -> InputError:
        found = "bytes, not UTF-8" if pa.types.is_binary(column.type) else f"type {column.type}"
        return InputError(f"found {found}; expected {expected}", path=self.path, column=name)


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
    if isinstance(data, str | Path):
        path = Path(data)
        if path.suffix.lower() in PARQUET:
            table = _read_parquet(path, what, columns)
        else:
            table = _read_text(path, what, columns, trec, ids, separator)
    elif is_frame(data):
        table = _read_frame(data, columns)
    else:
        raise InputError(f"found {type(data).__name__}; expected {what} in a DataFrame or a file")
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
    """Return whether data is a table of pandas, polars or pyarrow, which are not imported."""
    return type(data).__name__ in {"DataFrame", "Table", "RecordBatch"} and hasattr(data, "columns")


def is_pandas(data: Any) -> bool:
    """Return whether a table in memory has the index and the columns of pandas."""
    return is_frame(data) and hasattr(data, "index") and hasattr(data, "reset_index")


def require_file(path: Path, what: str) -> None:
    """Raise InputError unless `path` is a file that is not empty."""
    try:
        path.stat()
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:  # too long, or with a character that no name has
        problem = getattr(error, "strerror", None) or str(error)
        shown = Path(f"{str(path)[:_LONGEST]}...") if len(str(path)) > _LONGEST else path
        raise InputError(f"no name of a file ({problem}); expected {what}", path=shown) from None
    for bad, problem in (
        (path.is_dir(), "a folder"),
        (not path.exists(), "no such file"),
        (not path.is_file(), "a pipe or device, which cannot be read twice"),
        (path.is_file() and not path.stat().st_size, "empty"),
    ):
        if bad:
            raise InputError(f"{problem}; expected {what}", path=path)


def selected(
    path: Path, names: Sequence[str], columns: Sequence[str]
) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the bare names of all columns, and those of the wanted columns by name.

    A duplicate of a wanted column is an error.
    """
    bare = [TYPE.sub("", name.strip()) for name in names]
    for column, aliases in _ALIASES.items():
        if column in columns and column not in bare:
            bare = [
                column if name not in columns and name.lower().replace("_", "") in aliases else name
                for name in bare
            ]
    if "score" in columns and not _ORDERED.intersection(bare):
        lower = [name.lower() for name in bare]
        alias = next((alias for alias in _SCORES if alias in lower), None)
        if alias is not None:
            bare[lower.index(alias)] = "score"
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
    try:
        if not is_pandas(frame):
            return _of_arrow(path, pa.table(frame), columns)
        texts = list(map(str, frame.columns))
        names, wanted = selected(path, texts, columns)
        kinds = [getattr(kind, "kind", "") for kind in frame.dtypes]
        read = pa.Table.from_pandas(frame.rename(columns=str)[[*wanted]], preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise InputError(f"not a table ({error})", path=path) from error
    floats = [n for n, kind in zip(texts, kinds, strict=True) if kind == "f" and n not in wanted]
    known = {wanted[n]: read[n] for n in wanted}
    return _without_header(Table(path, known, names, floats=tuple(floats)), list(wanted))


def _of_arrow(path: Path, read: pa.Table, columns: Sequence[str]) -> Table:
    """Take a table of pyarrow, or of a library that lends its memory to it."""
    names, wanted = selected(path, read.column_names, columns)
    known = {}
    for name in wanted:
        known[wanted[name]] = _in_usual_text(read[name])
    table = Table(path, known, names, floats=_floats(read.schema, wanted))
    return _without_header(table, list(wanted))


def _in_usual_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column whose texts, or categories, are views of polars as texts that all know."""
    if "string_view" not in str(column.type):
        return column
    if not pa.types.is_dictionary(column.type):
        return arrow.cast(column, pa.string())
    chunks = []
    for chunk in column.chunks:
        categories = arrow.cast(chunk.dictionary, pa.string())
        chunks.append(pa.DictionaryArray.from_arrays(chunk.indices, categories))
    return pa.chunked_array(chunks)


def _floats(schema: pa.Schema, wanted: Mapping[str, str]) -> tuple[str, ...]:
    """Return the columns of numbers with decimals that are not wanted."""
    floats = [field.name for field in schema if pa.types.is_floating(field.type)]
    return tuple(name for name in floats if name not in wanted)


def _read_parquet(path: Path, what: str, columns: Sequence[str]) -> Table:
    from pyarrow import parquet  # takes long

    require_file(path, what)
    with _parsing(path, what), parquet.ParquetFile(path) as file:
        names, wanted = selected(path, file.schema_arrow.names, columns)
        read = file.read(columns=list(wanted))
        metadata = file.schema_arrow.metadata or {}
        floats = _floats(file.schema_arrow, wanted)
    known = {wanted[n]: read[n] for n in wanted}
    return Table(path, known, names, metadata=metadata, floats=floats)


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
    fields = first.split()
    is_trec = trec is not None and (
        path.suffix in trec.suffixes
        or (
            len(fields) == len(trec.columns)
            and _fits(pa.array([fields[place] for place in trec.numbers]), pa.float64())
        )
    )
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
    kinds = {n: pa.dictionary(pa.int32(), pa.string()) for n, bare in wanted.items() if bare in ids}
    with _parsing(path, what, separator):
        with pa.input_stream(pa.BufferReader(text) if is_trec else source) as stream:
            parts = iter(lambda: stream.read(_PART), b"")
            # Numbers such as 0x10 would be read as 16.
            if any(b"0x" in part or b"0X" in part for part in parts):
                kinds = dict.fromkeys(wanted, pa.string()) | kinds
        read = text_reader.read_csv(
            source,
            text_reader.ReadOptions(column_names=None if header else fields),
            text_reader.ParseOptions(delimiter=separator, quote_char=False if is_trec else '"'),
            text_reader.ConvertOptions(
                include_columns=list(wanted),
                column_types=kinds,
                null_values=[""],
            ),
        )
    known = {wanted[name]: read[name] for name in wanted}
    floats = () if is_trec else _floats_of_row(path, fields, wanted, separator)
    return _without_header(Table(path, known, names, header, floats=floats), list(wanted))


def _floats_of_row(
    path: Path, fields: Sequence[str], wanted: Mapping[str, str], separator: str
) -> tuple[str, ...]:
    """Return the columns that are not wanted and hold a decimal point in the first row."""
    others = [place for place, name in enumerate(fields) if name not in wanted]
    if not others:
        return ()
    filled = (text for _, text in lines(path) if text.strip())
    next(filled, "")
    row = next(csv.reader(islice(filled, 1), delimiter=separator), [])
    return tuple(
        fields[place]
        for place in others
        if place < len(row) and re.fullmatch(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*", row[place])
    )


def _without_header(table: Table, names: Sequence[str]) -> Table:
    """Return the table, or raise InputError for a row that holds the `names` of its columns."""
    same = np.ones(len(table), dtype=bool)
    for name, column in zip(names, table.columns.values(), strict=True):
        parts = [part.dictionary if hasattr(part, "dictionary") else part for part in column.chunks]
        text = as_arrow(np.array([name]))
        if not any(x.type in _TEXT and arrow.holds(x, text) for x in parts):
            return table
        equal = arrow.call("equal", column, text[0])
        false = arrow.cast(as_arrow(np.array([0])), pa.bool_())[0]  # where a value is missing
        same &= arrow.call("coalesce", equal, false).to_numpy()
    if same.any():
        raise table.error_at(int(np.argmax(same)), "the header again; remove this row")
    return table


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


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbers, from 1, and the text of the lines of a file, which may be compressed."""
    with pa.input_stream(str(path)) as stream:
        text = io.TextIOWrapper(io.BufferedReader(stream), "utf-8-sig", errors="replace")
        yield from enumerate(text, start=1)


# pyarrow imports pandas to convert arrays, lists and scalars of Python, which takes longer than to
# read most files. These do without.
def as_numpy(column: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return numbers or text without missing values as an array, which may be read-only."""
    if column.type in _TEXT:
        return np.asarray(column.to_pylist(), dtype=object)
    return np.from_dlpack(column.combine_chunks() if hasattr(column, "chunks") else column)


def as_arrow(values: NDArray[Any]) -> pa.Array:
    """Return an array of numbers or text as one of pyarrow."""
    if values.dtype.kind == "U":
        return texts_as_arrow(values.tolist())
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    buffer = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), values.size, [None, buffer])


def texts_as_arrow(texts: Sequence[str]) -> pa.Array:
    """Return texts as an array of pyarrow, without pandas, which its own conversion imports."""
    encoded_texts = [text.encode() for text in texts]
    lengths = [len(text) for text in encoded_texts]
    ends = pa.py_buffer(np.cumsum([0, *lengths], dtype=np.int32))
    return pa.StringArray.from_buffers(len(texts), ends, pa.py_buffer(b"".join(encoded_texts)))


def places(ids: Any, among: Any) -> Int:
    """Return the place of each id in `among`, -1 where it is missing; both of pyarrow or numpy.

    Numbers are compared with text as they are usually written.
    """
    ids, among = (as_arrow(c) if isinstance(c, np.ndarray) else c for c in (ids, among))
    if ids.type != among.type:
        ids = arrow.cast(ids, pa.string())
        among = arrow.cast(among, pa.string())
    missing = as_arrow(np.array([-1], dtype=np.int32))[0]
    return as_numpy(arrow.call("coalesce", arrow.places_in(ids, among), missing)).astype(np.int64)


def encoded(column: Any) -> tuple[Codes, pa.Array]:
    """Encode ids, an array of pyarrow or numpy: int32 codes, and the distinct ids."""
    column = as_arrow(column) if isinstance(column, np.ndarray) else column
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    is_encoded = pa.types.is_dictionary(column.type)
    if not len(column):  # pyarrow encodes it as no chunks at all
        return np.empty(0, np.int32), pa.array([], column.type)
    column = (column if is_encoded else arrow.first_codes(column)).unify_dictionaries()
    names = column.chunk(0).dictionary
    codes = np.concatenate([as_numpy(chunk.indices) for chunk in column.chunks])
    if is_encoded:  # a dictionary may hold values that no row has
        used = np.bincount(codes, minlength=len(names)) > 0
        codes, names = (
            (np.cumsum(used) - 1)[codes],
            arrow.take(names, as_arrow(np.flatnonzero(used))),
        )
    return codes.astype(np.int32, copy=False), names


def _fits(column: Any, kind: Any) -> bool:
    """Return whether all values can be cast to a type."""
    try:
        arrow.cast(column, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True
