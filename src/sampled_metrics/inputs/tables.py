"""Tables of files and of any library that lends its memory to Arrow, checked column by column.

Each failure is one InputError with the row, from 1 without the header, and the column.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv as pyarrow_csv
from pyarrow import parquet

from sampled_metrics._base.arrays import (
    EXACT,
    Array,
    Bool,
    Float,
    Floats,
    Ids,
    Int,
    is_table,
    ordered_floats,
)
from sampled_metrics._base.errors import NO_MEMORY, InputError, ask
from sampled_metrics._base.files import require_file

Codes: TypeAlias = NDArray[np.int32]
Values: TypeAlias = "pa.Array | pa.ChunkedArray | Array"
Expected: TypeAlias = str | Callable[[int], str]  # in words, or those of a row

USER, ITEM = "user_id", "item_id"
KNOWN = (
    *(USER, ITEM, "rank", "score", "label", "relevance", "row_id"),
    *("n_candidates", "n_better", "n_tied"),
    *("sampled_rank", "repetition", "n_negatives", "sampling"),
)
# Names of other libraries, in lower case without separators; the first that is there is taken.
ALIASES = {
    USER: ("user", "userid", "uid", "useridx", "qid", "queryid"),
    ITEM: ("item", "itemid", "iid", "itemidx", "movie", "movieid", "docid", "corpusid"),
    "row_id": ("row", "rowid", "impression", "impressionid"),
    "label": ("clicked", "target", "relevant", "isrelevant", "rel"),
    "score": ("prediction", "predictions", "pred", "est", "logit", "logits", "rating"),
}
_ORDERED = {"score", "rank", "sampledrank", "nbetter", "relevance"}  # nothing else is a score
TYPE = re.compile(r":(token|float)(_seq)?\Z")  # RecBole adds it to the name of a column
PARQUET = (".parquet", ".pq")
_IDS = "whole numbers or text"
NUMBERS = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
_NO_IDS = {
    r"[\x00-\x1f\x7f]": "with control characters",
    r"^.{201}": "of more than 200 characters",
    r"^\s|\s$": "with a blank at an end",
}
_CANONICAL = r"^(0|-?[1-9]\d{0,18})$"  # as numbers, 007 and +7 would be the same id as 7
_FOREIGN = {
    b"PK\x03\x04": "a spreadsheet or an archive (.xlsx, .zip); save it as CSV",
    b"\xd0\xcf\x11\xe0": "a spreadsheet (.xls); save it as CSV",
    b"PAR1": "parquet; give it a name that ends in .parquet",
    b"\x93NUMPY": "an array of numpy; give it a name that ends in .npy",
    b"{": "JSON; save it as CSV",
    b"[": "JSON; save it as CSV",
}


class Trec(NamedTuple):
    """A kind of file of trec_eval: no header, columns separated by blanks."""

    noun: str
    suffixes: tuple[str, ...]
    columns: tuple[str, ...]
    numbers: tuple[int, ...]  # places of columns of numbers


RUN_COLUMNS = (USER, "Q0", ITEM, "place", "score", "tag")  # trec_eval ignores Q0, place and tag
RUN = Trec("a TREC run (qid Q0 docid rank score tag)", (".run", ".trec"), RUN_COLUMNS, (3, 4))
QRELS = Trec("qrels (qid iter docid rel)", (".qrels",), (USER, "iter", ITEM, "relevance"), (3,))


@dataclass(frozen=True)
class Table:
    """Columns under the names of this package, checked when they are asked for.

    Examples
    --------
    >>> table = Table.of(Path("r.parquet"), pa.table({"rank": [3, 0]}))
    >>> table.whole("rank", 1, 9)
    Traceback (most recent call last):
    sampled_metrics.InputError: r.parquet, row 2, column rank: found 0; expected 1 to 9
    """

    path: Path
    columns: dict[str, pa.ChunkedArray]  # all of one length
    names: tuple[str, ...]  # all columns, as the table calls them
    others: dict[str, pa.ChunkedArray] = field(default_factory=dict)  # with unknown names
    metadata: dict[bytes, bytes] = field(default_factory=dict)
    is_rating: bool = False  # whether the column `score` was called rating

    @classmethod
    def of(cls, path: Path, read: pa.Table, columns: Sequence[str] = KNOWN) -> Table:
        """Name the columns of a table."""
        names = tuple(read.column_names)
        known: dict[str, pa.ChunkedArray] = {}
        others: dict[str, pa.ChunkedArray] = {}
        found = known_names(names, columns)
        for name, own, column in zip(names, found, read.columns, strict=True):
            if own in known:
                raise InputError(f"duplicate column {own}", path=path)
            (others if own is None else known)[own or name] = column
        for name in others:
            for own in {USER, ITEM} & known.keys():
                if _bare(name) in ALIASES[own]:
                    ask(str(path), f"{own} is read, and not column {name}: which are the ids?")
        is_rating = "score" in found and _bare(names[found.index("score")]) == "rating"
        return cls(path, known, names, others, read.schema.metadata or {}, is_rating)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def require(self, *names: str) -> None:
        """Raise InputError for the first of `names` that is missing."""
        for name in names:
            if name not in self.columns:
                found = ", ".join(self.names)
                raise InputError(f"lacks column {name}; found {found}", path=self.path)

    def whole(
        self, name: str, least: int, most: int | Int | None = None, expected: str | None = None
    ) -> Int:
        """Return a column of whole numbers from `least` to `most`, one bound or one per row."""
        of_rows = np.asarray(most)
        bound = f"at least {least}"
        if most is not None and not of_rows.ndim:
            bound = f"{least} to {most}"
        words = expected or f"whole numbers, {bound}"
        values = self._numbers(name, words)
        if values.dtype.kind == "f":
            is_whole = (np.floor(values) == values) & (np.abs(values) < EXACT)
            self.refuse(name, ~is_whole, values, words)
        values = values.astype(np.int64, copy=False)
        bad = values < least
        if most is not None:
            bad |= values > most
        if of_rows.ndim and bad.any():
            bound = f"{least} to {of_rows[np.argmax(bad)]}"
        if expected is not None:
            bound = f"{expected}, {bound}"
        self.refuse(name, bad, values, bound)
        return values

    def group(self, by_row: bool = False) -> str:
        """Return the column of ids of rows that belong together, of users or else of `row_id`."""
        is_by_row = by_row or USER not in self.columns
        if is_by_row and "row_id" in self.columns:
            return "row_id"
        return USER

    def marks(self, name: str) -> Bool:
        """Return a column of 1 or 0, or of true or false, -1 as 0."""
        values = self._numbers(name, "1 or 0")
        is_mark = np.isin(values, (-1, 0, 1))
        self.refuse(name, ~is_mark, values, "1 or 0")
        return values > 0

    def finite(self, name: str) -> Float:
        """Return a column of finite numbers as float64."""
        values = self._numbers(name, "finite numbers").astype(np.float64, copy=False)
        self.refuse(name, ~np.isfinite(values), values, "finite numbers")
        return values

    def ordered(self, name: str) -> Floats:
        """Return finite numbers as floats in the same order, large integers by their places."""
        values = self._numbers(name, "finite numbers")
        if values.dtype.kind == "i":
            return ordered_floats(values)
        return self.finite(name)

    def order(self) -> Floats:
        """Return numbers that are higher for better rows, by `score` or else by `rank`."""
        if "score" in self.columns:
            return self.ordered("score")
        return -self.ordered("rank")

    def ids(self, name: str) -> pa.Array:
        """Return a column of ids: int64 if all are whole numbers as usually written, else text."""
        codes, names = self.codes(name)
        return pc.take(names, pa.array(codes))

    def codes(self, name: str) -> tuple[Codes, pa.Array]:
        """Encode a column of ids: codes of the rows by first appearance, and the id of each code.

        `007` is not written as a number usually is, so a column that holds it stays text and it
        differs from `7`.
        """
        column = self.present(name, _IDS)
        kind = plain_type(column.type)
        if pa.types.is_floating(kind):
            self._refuse_rounded(name, kind)
        if pa.types.is_floating(kind) or kind == pa.uint64():
            numbers = self.whole(name, -(2**63), expected=_IDS)
            column = pa.chunked_array([numbers])
            kind = pa.int64()
        if not (is_text(kind) or pa.types.is_integer(kind)):
            raise self._wrong_type(name, column, _IDS)
        codes, names = encoded(column)
        if pa.types.is_integer(kind):
            return codes, names.cast(pa.int64())
        names = names.cast(pa.string())
        is_empty = np.asarray(pc.equal(names, ""))
        nothing = np.full(len(codes), "nothing")
        self.refuse(name, is_empty[codes], nothing, _IDS)
        is_number = np.asarray(pc.match_substring_regex(names, _CANONICAL))
        if is_number.all() and fits(names, pa.int64()):
            return codes, names.cast(pa.int64())
        for pattern, problem in _NO_IDS.items():
            bad = np.asarray(pc.match_substring_regex(names, pattern))
            if bad.any():
                row = int(np.argmax(bad[codes]))
                raise self.error_at(row, f"found an id {problem}", name)
        return codes, names

    def _refuse_rounded(self, name: str, kind: pa.DataType) -> None:
        """Raise InputError for ids as floats that are too narrow to tell them apart."""
        exact = {16: 2**11, 32: 2**24}.get(kind.bit_width)
        if exact is not None:
            values = np.abs(self.finite(name))
            self.refuse(name, values >= exact, values, f"ids as integers, as {kind} rounds them")

    def places(self, name: str, among: Ids, expected: str) -> Int:
        """Return the place of each id of a column in `among`; a missing one raises InputError."""
        ids = self.ids(name)
        place = places(ids, among)
        self.refuse(name, place < 0, ids, expected)
        return place

    def refuse(self, name: str, bad: Bool, values: Values, expected: Expected) -> None:
        """Raise InputError for the first bad row; the expectation may depend on it."""
        if not bad.any():
            return
        row = int(np.argmax(bad))
        if callable(expected):
            expected = expected(row)
        raise self.error(name, row, values[row], expected)

    def error(self, name: str, row: int, found: object, expected: str) -> InputError:
        """Make the error for a value; `row` counts from 0."""
        shown = str(found)
        if isinstance(found, np.floating):
            shown = f"{found:.15g}"
        return self.error_at(row, f"found {shown[:80]}; expected {expected}", name)

    def error_at(self, row: int, problem: str, column: str | None = None) -> InputError:
        """Make the error for a row, which counts from 0."""
        return InputError(problem, path=self.path, row=row + 1, column=column)

    def present(self, name: str, expected: str) -> pa.ChunkedArray:
        """Return a column, or raise InputError where it is missing or a value is."""
        self.require(name)
        column = self.columns[name]
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy()))
            raise self.error(name, row, "nothing", expected)
        return column

    def _numbers(self, name: str, expected: str) -> Int | Float:
        """Return numbers, or text that holds numbers, as int64 if all fit, else as float64."""
        column = plain(self.present(name, expected))
        kind = column.type
        if is_text(kind):
            column = self._cast(name, pc.utf8_trim_whitespace(column), expected)
        elif not any(is_number(kind) for is_number in NUMBERS):
            raise self._wrong_type(name, column, expected)
        if not pa.types.is_floating(column.type) and fits(column, pa.int64()):
            return np.asarray(column.cast(pa.int64()))
        return np.asarray(column.cast(pa.float64(), safe=False))

    def _cast(self, name: str, text: pa.ChunkedArray, expected: str) -> pa.ChunkedArray:
        """Cast text to float64, or raise InputError for the first value that is no number."""
        if fits(text, pa.float64()):
            return text.cast(pa.float64())
        rows = range(1, len(text) + 1)
        row = bisect_left(rows, True, key=lambda end: not fits(text[:end], pa.float64()))
        raise self.error(name, row, repr(text[row].as_py()), expected)

    def _wrong_type(self, name: str, column: pa.ChunkedArray, expected: str) -> InputError:
        found = f"type {column.type}"
        if pa.types.is_binary(column.type):
            found = "bytes, not UTF-8"
        return InputError(f"found {found}; expected {expected}", path=self.path, column=name)


def _bare(name: str) -> str:
    """Return a name in lower case, without separators and the type that RecBole adds."""
    return re.sub(r"[-_ ]", "", TYPE.sub("", name.strip()).lower())


def known_names(names: Sequence[str], columns: Sequence[str] = KNOWN) -> list[str | None]:
    """Return the names of columns here, None where none is known; own names come first."""
    bare = [_bare(name) for name in names]
    own = {_bare(column): column for column in columns}
    found = [own.get(name) for name in bare]
    for column, aliases in ALIASES.items():
        if column in found or column not in columns:
            continue
        if column == "score" and _ORDERED.intersection(bare):
            continue
        of_alias = [place for place, name in enumerate(bare) if name in aliases]
        if column in (USER, ITEM):
            for place in of_alias:
                found[place] = column
        elif of_alias:
            first = min(of_alias, key=lambda place: aliases.index(bare[place]))
            found[first] = column
    return found


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is of texts; polars has views."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column that may be encoded."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return kind


def plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without categories, and views of texts as texts."""
    kind = plain_type(column.type)
    return column.cast(pa.string() if kind == pa.string_view() else kind)


def fits(column: Any, kind: pa.DataType) -> bool:
    """Return whether all values can be cast to a type."""
    try:
        column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def as_arrow(values: Values) -> Any:
    """Return an array of numbers or text as one of pyarrow."""
    if isinstance(values, np.ndarray):
        return pa.array(values)
    return values


def as_numpy(column: Values) -> Array:
    """Return numbers or text without missing values as an array."""
    values = np.asarray(column)
    return values.astype(np.str_) if values.dtype.kind == "O" else values


def places(ids: Values, among: Values) -> Int:
    """Return the place of each id in `among`, -1 where it is missing.

    Numbers are compared with text as they are usually written.
    """
    ids = as_arrow(ids)
    among = as_arrow(among)
    if ids.type != among.type:
        ids = ids.cast(pa.string())
        among = among.cast(pa.string())
    found = pc.fill_null(pc.index_in(ids, value_set=among), -1)
    return np.asarray(found).astype(np.int64)


def encoded(column: Values) -> tuple[Codes, pa.Array]:
    """Encode ids: int32 codes, and the distinct ids by first appearance."""
    column = as_arrow(column)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    codes, names = np.asarray(column.indices), plain(column.dictionary)
    used = np.bincount(codes, minlength=len(names)) > 0
    if not used.all():  # a dictionary may hold values that no row has
        codes = (np.cumsum(used) - 1)[codes]
        names = names.filter(pa.array(used))
    return codes.astype(np.int32, copy=False), names


def read_table(
    data: object,
    noun: str,
    columns: Sequence[str] = KNOWN,
    *,
    trec: Trec | None = None,
    ids: Sequence[str] = (USER, ITEM, "row_id"),
    separator: str | None = None,
) -> Table:
    """Read a file, or take a table with `__arrow_c_stream__` or a dictionary of columns.

    Files are parquet if they are named so, else text, which may be compressed: with a header and
    tabs or commas, or of the format `trec`. At least one of `columns` must be present; `ids`
    are kept as text. Errors call the table a `noun`.
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, str | Path):
        path = Path(data)
        require_file(path, noun)
        with _reading(path, noun):
            if path.suffix.lower() in PARQUET:
                read = parquet.read_table(path)
            else:
                read = _read_text(path, noun, columns, trec, ids, separator)
    elif is_table(data) or isinstance(data, Mapping):
        path = Path("DataFrame")
        read = _in_memory(data, path)
    else:
        raise InputError(f"found {type(data).__name__}; expected {noun} in a table or a file")
    table = Table.of(path, read, columns)
    _require_known(path, table.names, noun, columns)
    if len(table) == 0:
        raise InputError(f"no rows; expected {noun}", path=path)
    return table


def _in_memory(data: Any, path: Path) -> pa.Table:
    try:
        if isinstance(data, pd.DataFrame):
            named = [name for name in data.index.names if name is not None]
            if named and not set(named) & set(data.columns):
                data = data.reset_index(named)
            return pa.Table.from_pandas(data.rename(columns=str), preserve_index=False)
        return pa.table(data)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise InputError(f"not a table ({error})", path=path) from error


@contextmanager
def _reading(path: Path, noun: str) -> Any:
    """Turn any error of pyarrow into an InputError."""
    try:
        yield
    except (OSError, MemoryError, pa.ArrowException, UnicodeDecodeError) as error:
        if isinstance(error, MemoryError) or "malloc" in str(error):
            raise InputError(f"{NO_MEMORY} ({error})", path=path) from error
        lengths = re.search(r"Expected (\d+) columns, got (\d+):? ?(#?)", str(error))
        if lengths is not None:
            problem = f"found {lengths[2]} columns; expected {lengths[1]}"
            if lengths[3]:
                problem = f"found a comment (#); expected {lengths[1]} columns"
            raise InputError(problem, path=path) from error
        if isinstance(error, UnicodeDecodeError):
            raise InputError(f"not text in UTF-8; expected {noun}", path=path) from error
        kind = noun
        if path.suffix.lower() in PARQUET:
            kind = "parquet"
        raise InputError(f"not {kind} ({error}); expected {noun}", path=path) from error


def _read_text(
    path: Path,
    noun: str,
    columns: Sequence[str],
    trec: Trec | None,
    ids: Sequence[str],
    separator: str | None,
) -> pa.Table:
    first = _first_line(path, noun, trec)
    if trec is not None and _is_trec(path, first, trec):
        names = list(trec.columns)
        source = _single_blanks(path, len(names))
        options = pyarrow_csv.ReadOptions(column_names=names)
        layout = pyarrow_csv.ParseOptions(delimiter=" ", quote_char=False)
    else:
        first = _first_line(path, noun, None)
        separator = separator or ("\t" if "\t" in first else ",")
        names = next(csv.reader([first], delimiter=separator))
        source = str(path)
        options = pyarrow_csv.ReadOptions()
        layout = pyarrow_csv.ParseOptions(delimiter=separator)
    known = _require_known(path, names, noun, columns)
    types: dict[str, Any] = {}
    is_hexadecimal = _holds(path, b"0x", b"0X")  # which would be read as other numbers
    for name, own in zip(names, known, strict=True):
        if own in ids:
            types[name] = pa.dictionary(pa.int32(), pa.string())
        elif is_hexadecimal and own is not None:
            types[name] = pa.string()
    values = pyarrow_csv.ConvertOptions(column_types=types, null_values=[""])
    return pyarrow_csv.read_csv(source, options, layout, values)


def _first_line(path: Path, noun: str, trec: Trec | None) -> str:
    """Return the line that names the columns or, of a format of trec_eval, the first of data."""
    with pa.input_stream(str(path)) as stream:
        text = stream.read(1 << 16).removeprefix(b"\xef\xbb\xbf").lstrip()
    if trec is not None:
        text = re.sub(rb"\A(#.*\s+)+", b"", text)
    problem = ""
    if not text:
        problem = "empty"
    elif b"\0" in text:
        problem = "not text"
    for mark, kind in _FOREIGN.items():
        if text.startswith(mark):
            problem = f"found {kind}"
    if problem:
        raise InputError(f"{problem}; expected {noun}", path=path)
    return re.split(rb"[\r\n]", text, maxsplit=1)[0].decode()


def _holds(path: Path, *parts: bytes) -> bool:
    """Return whether the text of a file holds any of some parts of two bytes."""
    last = b""
    with pa.input_stream(str(path)) as stream:
        while block := stream.read(1 << 22):
            if any(part in last + block for part in parts):
                return True
            last = block[-1:]
    return False


def _single_blanks(path: Path, n_columns: int) -> pa.BufferReader:
    """Return the text of a file with one blank between columns, without comments."""
    with pa.input_stream(str(path)) as stream:
        text = stream.read().removeprefix(b"\xef\xbb\xbf")
    comments = re.findall(rb"^#.*", text, re.MULTILINE)
    if any(len(line.split()) == n_columns for line in comments):
        ask(str(path), f"{len(comments)} lines begin with #, which makes them comments")
    text = re.sub(rb"^#.*\n?", b"", text, flags=re.MULTILINE)
    text = re.sub(rb"[ \t]+", b" ", text)
    return pa.BufferReader(re.sub(rb"^ | (?=\r?$)", b"", text, flags=re.MULTILINE))


def _is_trec(path: Path, first: str, trec: Trec) -> bool:
    """Return whether a file has the name of a format, or a first line as the format has."""
    if path.suffix in trec.suffixes:
        return True
    fields = first.split()
    if len(fields) != len(trec.columns):
        return False
    numbers = [fields[place] for place in trec.numbers]
    return fits(pa.array(numbers), pa.float64())


def _require_known(
    path: Path, names: Sequence[str], noun: str, columns: Sequence[str]
) -> list[str | None]:
    """Return the names of columns here, or raise InputError if none is known."""
    known = known_names(names, columns)
    if not any(known):
        expected = f"expected {noun}: some of {', '.join(columns)}"
        raise InputError(f"{_problem_of_names(names)}; {expected}", path=path)
    return known


def _problem_of_names(names: Sequence[str]) -> str:
    """Return why a table has no column that is known."""
    if any(";" in name for name in names):
        return "columns are separated by semicolons, expected commas or tabs"
    if "".join(names[:1]).startswith("#"):
        return "the first line is a comment (#), not a header; remove it"
    if any(re.match(r"[+-]?\d", name) for name in names):  # values, not to be shown
        return "no header that names the columns"
    return f"found columns {', '.join(names)}"
