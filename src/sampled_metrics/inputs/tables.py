"""Tables of files and of any library that lends its memory to Arrow, checked column by column.

Each failure is one InputError with the row, from 1 without the header, and the column.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as pyarrow_csv
from pyarrow import parquet
from scipy import sparse

from sampled_metrics._base.array_types import Array, Bool, Codes, Float, Floats, Ids, Int
from sampled_metrics._base.arrays import order_preserving_floats
from sampled_metrics._base.conversion import is_arrow_table, records_to_frame, to_numpy
from sampled_metrics._base.errors import InputError, format_value, warn_input, watch_columns
from sampled_metrics._base.files import PARQUET_SUFFIXES, reading_as
from sampled_metrics._base.visits import join_ids
from sampled_metrics.inputs.headerless import suggest_reading
from sampled_metrics.inputs.roles import (
    ITEM,
    KNOWN_COLUMNS,
    ROLES,
    USER,
    VISIT,
    find_roles,
    is_internal_docid,
    named_position,
    normalise_name,
    record_names,
)

ColumnNames: TypeAlias = tuple[str, ...]
Values: TypeAlias = "pa.Array | pa.ChunkedArray | Array"
Expected: TypeAlias = str | Callable[[int], str]  # in words, or those of a row

ARRAYS = (".npy", ".npz")
BY_ITEM = b"by_item"  # in the metadata of a table of dictionaries of numbers by item
_ID_TYPES = "whole numbers or text"
_NO_HEADER = "no header that names the columns"
_QUOTE = "'"
_MIXED_TYPES_MESSAGE = re.compile(
    r"Could not convert (.*?) with type .* failed for column (.*) with type"
)
_INVALID_ID = r"^$|^\s|\s$|[\x00-\x1f\x7f]|^.{201}"


class TrecFormat(NamedTuple):
    """A kind of file of trec_eval: no header, columns separated by blanks."""

    noun: str
    columns: tuple[str, ...]
    numbers: tuple[int, ...]  # places of columns of numbers


RUN_COLUMNS = (USER, "Q0", ITEM, "place", "score", "tag")  # trec_eval ignores Q0, place and tag
RUN = TrecFormat("a TREC run (qid Q0 docid rank score tag)", RUN_COLUMNS, (3, 4))
QRELS = TrecFormat("qrels (qid iter docid rel)", (USER, "iter", ITEM, "relevance"), (3,))


@dataclass(frozen=True)
class Table:
    """Columns under the names of this package, checked when they are asked for.

    Examples
    --------
    >>> table = Table.from_arrow(Path("a.csv"), pa.table({"rank": [3, 0]}))
    >>> table.whole_numbers("rank", 1, 9)
    Traceback (most recent call last):
    sampled_metrics.InputError: a.csv, row 2, column rank: found 0; expected whole numbers, 1 to 9
    """

    path: Path
    columns: dict[str, pa.ChunkedArray]  # all of one length
    names: tuple[str, ...]  # all columns, as the table calls them
    unknown_columns: dict[str, pa.ChunkedArray] = field(default_factory=dict)  # with unknown names
    metadata: dict[bytes, bytes] = field(default_factory=dict)
    is_rating: bool = False  # whether the column `score` was called rating
    unread: set[str] = field(default_factory=set)  # names of columns that nobody has read
    roles: tuple[str | None, ...] = ()  # of all columns

    @classmethod
    def from_arrow(
        cls, path: Path, read: pa.Table, columns: Sequence[str] = KNOWN_COLUMNS
    ) -> Table:
        """Name the columns of a table."""
        names = tuple(read.column_names)
        record_names(names)
        known: dict[str, pa.ChunkedArray] = {}
        others: dict[str, pa.ChunkedArray] = {}
        found = find_roles(names, columns)
        for name, own, column in zip(names, found, read.columns, strict=True):
            if own in known:
                twice = [each for each, role in zip(names, found, strict=True) if role == own]
                problem = f"duplicate column {own}: {' and '.join(twice)}; leave one out"
                raise InputError(problem, path=path)
            (others if own is None else known)[own or name] = column
        for name in others:
            for own in {USER, ITEM} & known.keys():
                is_other = normalise_name(name) in ROLES[own].aliases and not is_internal_docid(
                    name, names
                )
                if named_position(names, own) is None and is_other:
                    warn_input(
                        str(path), f"{own} is read, and not column {name}: which are the ids?"
                    )
        is_rating = "score" in found and normalise_name(names[found.index("score")]) == "rating"
        unread = set()
        if names not in (RUN.columns, QRELS.columns):
            unread = {*filter(None, names)}
            watch_columns(str(path), names, unread)
        metadata = read.schema.metadata or {}
        return cls(path, known, names, others, metadata, is_rating, unread, tuple(found))

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def require(self, *names: str) -> None:
        """Raise InputError for those of `names` that are missing."""
        lacking = [name for name in names if name not in self.columns]
        if lacking:
            noun = "column" if len(lacking) == 1 else "columns"
            found = ", ".join(self.names)
            problem = f"lacks {noun} {' and '.join(lacking)}; found {found}"
            if self.unknown_columns:
                first = lacking[0].removesuffix("_id")
                problem += (
                    f"; one of another name is given by columns={{{first!r}: NAME}} "
                    f"(--column {first}=NAME)"
                )
            raise InputError(problem, path=self.path)

    def whole_numbers(
        self,
        name: str,
        least: int | None = None,
        most: int | Int | None = None,
        expected: str = "whole numbers",
    ) -> Int:
        """Return a column of whole numbers from `least` to `most`, one bound or one per row."""
        values = self._numbers(name, expected)
        bad = np.zeros(values.shape, bool)
        kind: Any = values.dtype
        if kind.kind == "f":
            exact = 2.0 / np.finfo(kind).eps  # the type holds all whole numbers below
            bad |= np.floor(values) != values
            if not bad.any():
                bad |= np.abs(values) >= exact
                expected += f"; {kind} holds them below {exact:,.0f} only" * bool(bad.any())
        if least is not None:
            bad |= values < least
        if most is not None:
            bad |= values > most

        def allowed(row: int) -> str:
            if least is None:
                return expected
            if most is None:
                return f"{expected}, at least {least}"
            return f"{expected}, {least} to {np.broadcast_to(most, values.shape)[row]}"

        self.refuse(name, bad, values, allowed)
        return values.astype(np.int64, copy=False)

    def unit_columns(self) -> ColumnNames:
        """Return the columns of ids that tell units of evaluation: users, visits, or both."""
        columns = tuple(name for name in (USER, VISIT) if name in self.columns)
        return columns or (USER,)

    def units(self, columns: ColumnNames | None = None) -> tuple[Codes, pa.Array]:
        """Encode the ids of units as `codes` does; those of visits of users are joined."""
        if columns is None:
            columns = self.unit_columns()
        codes, ids = self.codes(columns[-1])
        if len(columns) == 1:
            return codes, ids
        user, users = self.codes(USER)
        pairs, different = pd.factorize(codes.astype(np.int64) * len(users) + user)
        of_users = arrow_to_numpy(users)[different % len(users)]
        of_visits = arrow_to_numpy(ids)[different // len(users)]
        return pairs.astype(np.int32), pa.array(join_ids(of_users, of_visits))

    def has_several_visits(self) -> bool:
        """Return whether some user has several visits."""
        if len(self.unit_columns()) == 1:
            return False
        return len(self.units()[1]) > len(self.codes(USER)[1])

    def name_of(self, own: str) -> str:
        """Return how the table calls a column that it has."""
        return self._names_of(own)[0]

    def _names_of(self, own: str) -> list[str]:
        """Return how the table calls a column."""
        roles = self.roles or find_roles(self.names)
        return [name for name, role in zip(self.names, roles, strict=True) if role == own]

    def zeros_and_ones(self, name: str) -> Bool:
        """Return a column of 1 or 0, or of true or false, -1 as 0."""
        values = self._numbers(name, "1 or 0")
        is_mark = np.isin(values, (-1, 0, 1))
        self.refuse(name, ~is_mark, values, "1 or 0")
        return values > 0

    def finite_numbers(self, name: str) -> Float:
        """Return a column of finite numbers as float64."""
        values = self._numbers(name, "finite numbers").astype(np.float64, copy=False)
        self.refuse(name, ~np.isfinite(values), values, "finite numbers")
        return values

    def ordered_numbers(self, name: str) -> Floats:
        """Return finite numbers as floats in the same order, large integers by their places."""
        values = self._numbers(name, "finite numbers")
        if values.dtype.kind == "i":
            return order_preserving_floats(values)
        return self.finite_numbers(name)

    def sort_key(self) -> Floats:
        """Return numbers that are higher for better rows, by `score` or else by `rank`."""
        if "score" in self.columns:
            return self.ordered_numbers("score")
        return -self.ordered_numbers("rank")

    def ids(self, name: str) -> pa.Array:
        """Return a column of ids: int64 if all are whole numbers as usually written, else text."""
        codes, names = self.codes(name)
        return pc.take(names, pa.array(codes))

    def codes(self, name: str) -> tuple[Codes, pa.Array]:
        """Encode a column of ids: codes of the rows by first appearance, and the id of each code.

        `007` is not written as a number usually is, so a column that holds it stays text and it
        differs from `7`.
        """
        column = self.complete_column(name, _ID_TYPES)
        kind = value_type(column.type)
        if pa.types.is_floating(kind) or kind == pa.uint64():
            column = pa.chunked_array([self.whole_numbers(name, expected=_ID_TYPES)])
        elif not (is_text(kind) or pa.types.is_integer(kind)):
            raise self._wrong_type(name, column, _ID_TYPES)
        codes, names = encode(column)
        if not is_text(names.type):
            return codes, names.cast(pa.int64())
        if can_cast(names, pa.int64()):
            numbers = names.cast(pa.int64())
            if numbers.cast(names.type).equals(names):
                return codes, numbers
        bad = np.asarray(pc.match_substring_regex(names, _INVALID_ID))
        if bad.any():
            row = int(np.argmax(bad[codes]))
            text = names[codes[row]].as_py()
            problem = "ids of 1 to 200 characters, without control characters or blanks at an end"
            raise self.error(name, row, text and repr(text), problem)
        return codes, names.cast(pa.string())

    def positions(self, name: str, among: Ids, expected: str) -> Int:
        """Return the place of each id of a column in `among`; a missing one raises InputError."""
        ids = self.ids(name)
        place = positions(ids, among)
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
        shown = f"{found:.15g}" if isinstance(found, np.floating) else str(found)[:80]
        return self.error_at(row, f"found {shown or 'nothing'}; expected {expected}", name)

    def error_at(self, row: int, problem: str, column: str | None = None) -> InputError:
        """Make the error for a row, which counts from 0."""
        return InputError(problem, path=self.path, row=row + 1, column=column)

    def complete_column(self, name: str, expected: str) -> pa.ChunkedArray:
        """Return a column, or raise InputError where it is missing or a value is."""
        self.require(name)
        self.unread.difference_update(self._names_of(name))
        column = self.columns[name]
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy()))
            raise self.error(name, row, "nothing", expected)
        return column

    def _numbers(self, name: str, expected: str) -> Int | Float:
        """Return numbers, or text that holds numbers, as int64 if all fit, else as floats."""
        column = decode_categories(self.complete_column(name, expected))
        kind = column.type
        if not (is_text(kind) or is_numeric(kind)):
            raise self._wrong_type(name, column, expected)
        values = pd.to_numeric(column.to_pandas(), errors="coerce").to_numpy()
        if is_text(kind):
            is_wrong = np.isnan(values)
            is_wrong |= pc.match_substring(column, "x", ignore_case=True)  # 0x10 is read as 16
            self.refuse(name, is_wrong, column, expected)
        if values.dtype.kind in "biu" and values.max(initial=0) <= 2**63 - 1:
            return values.astype(np.int64, copy=False)
        return values if values.dtype.kind == "f" else values.astype(np.float64)

    def _wrong_type(self, name: str, column: pa.ChunkedArray, expected: str) -> InputError:
        found = f"type {column.type}"
        if pa.types.is_binary(column.type):
            found = "bytes, not UTF-8"
        if pa.types.is_nested(column.type):
            expected += f"; give each element a row, DataFrame.explode({name!r})"
        return InputError(f"found {found}; expected {expected}", path=self.path, column=name)


def is_text(kind: pa.DataType) -> bool:
    """Return whether a type is of texts; polars has views."""
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()


def is_numeric(kind: pa.DataType) -> bool:
    """Return whether a type is of numbers, or of true and false."""
    types = pa.types
    is_decimal = types.is_decimal(kind) or types.is_boolean(kind)
    return is_decimal or types.is_integer(kind) or types.is_floating(kind)


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column that may be encoded."""
    if pa.types.is_dictionary(kind):
        return kind.value_type
    return kind


def decode_categories(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column without categories, and views of texts as texts."""
    kind = value_type(column.type)
    if kind != pa.string_view():
        return column.cast(kind)
    if isinstance(column, pa.Array):
        return _views_to_texts(column)
    if pa.types.is_dictionary(column.type):
        parts = [_views_to_texts(part.dictionary).take(part.indices) for part in column.chunks]
    else:
        parts = list(map(_views_to_texts, column.chunks))
    return pa.chunked_array(parts, pa.string())


def _views_to_texts(views: pa.Array) -> pa.Array:
    """Return views of texts as texts, also with versions of pyarrow that cannot cast them."""
    try:
        return views.cast(pa.string())
    except pa.ArrowNotImplementedError:
        return pa.array(views.to_pylist(), pa.string())


def can_cast(column: Any, kind: pa.DataType) -> bool:
    """Return whether all values can be cast to a type."""
    try:
        column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def to_arrow(values: Values) -> Any:
    """Return an array of numbers or text as one of pyarrow."""
    if isinstance(values, np.ndarray):
        native = values.astype(values.dtype.newbyteorder("="), copy=False)
        try:
            return pa.array(native)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:  # of an array of objects
            problem = "found ids of several types; expected all whole numbers, or all text"
            raise InputError(problem) from error
    return values


def arrow_to_numpy(column: Values) -> Array:
    """Return numbers or text without missing values as an array."""
    values = np.asarray(column)
    return values.astype(np.str_) if values.dtype.kind == "O" else values


def positions(ids: Values, among: Values) -> Int:
    """Return the place of each id in `among`, -1 where it is missing.

    Numbers are compared with text as they are usually written.
    """
    ids = to_arrow(ids)
    among = to_arrow(among)
    if ids.type != among.type:
        ids = ids.cast(pa.string())
        among = among.cast(pa.string())
    found = pc.fill_null(pc.index_in(ids, value_set=among), -1)
    return np.asarray(found).astype(np.int64)


def encode(column: Values) -> tuple[Codes, pa.Array]:
    """Encode ids: int32 codes, and the distinct ids by first appearance."""
    column = to_arrow(column)
    if pa.types.is_integer(column.type):  # three times as fast in pandas
        codes, numbers = pd.factorize(np.asarray(column))
        return codes.astype(np.int32), pa.array(numbers)
    column = column.dictionary_encode()
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    codes = np.asarray(column.indices)
    names = decode_categories(column.dictionary)
    used = np.bincount(codes, minlength=len(names)) > 0
    if not used.all():  # a dictionary may hold values that no row has
        codes = (np.cumsum(used) - 1)[codes]
        names = names.filter(pa.array(used))
    return codes.astype(np.int32, copy=False), names


def is_by_user(data: object) -> bool:
    """Return whether data is a dictionary by user, or a Series whose index holds ids."""
    if isinstance(data, pd.Series):
        return not isinstance(data.index, pd.RangeIndex)
    if not isinstance(data, Mapping) or sparse.issparse(data):
        return False
    known = set(find_roles(list(data))) if all(isinstance(key, str) for key in data) else set()
    is_named = {USER, ITEM} <= known or {"score", "label"} <= known
    return not (is_named or known & {"rank", "n_better", "sampled_rank"})


def as_table(
    data: Any,
    noun: str = "ranks, lists or scores",
    name: str = "data",
    value: str = "score",
    trec: TrecFormat = RUN,
) -> Table | None:
    """Return data with ids as a table; None for arrays, matrices and files of them.

    `value` is the column of the numbers that dictionaries hold by item.
    """
    if isinstance(data, list) and data and all(map(_is_named_row, data)):
        data = pd.DataFrame(data)
    data = records_to_frame(data)
    if is_by_user(data):
        frame = _frame_by_user(data, name, value)
        table = Table.from_arrow(Path(name), to_arrow_table(frame, Path(name), noun))
        return replace(table, metadata={BY_ITEM: b""}) if value in frame else table
    is_named = isinstance(data, str | Path) and Path(data).suffix not in ARRAYS
    is_given = isinstance(data, Table) or (isinstance(data, Mapping) and not sparse.issparse(data))
    if is_given or is_named or (is_arrow_table(data) and not is_matrix(data)):
        return read_table(data, noun, trec=trec, name=name)
    return None


def _is_named_row(row: object) -> bool:
    """Return whether a value is a row of a table, a dictionary or a named tuple."""
    return isinstance(row, Mapping) or (isinstance(row, tuple) and hasattr(row, "_fields"))


def is_matrix(data: Any) -> bool:
    """Return whether a table is a matrix: numbers only, in columns without a known name."""
    if not isinstance(data, pd.DataFrame):
        data = pa.table(data).slice(0, 0).to_pandas()
    is_number = all(kind.kind in "biuf" for kind in data.dtypes)
    return is_number and not any(find_roles([str(name) for name in data.columns]))


def _frame_by_user(data: Any, name: str, value: str) -> pd.DataFrame:
    """Return a table of a dictionary or a Series by user: one item, a list, or numbers by item."""
    given = [_read_user_items(own, name) for _, own in data.items()]
    of_ids = data.get("ids", ())
    if isinstance(of_ids, list | tuple) and any(isinstance(ids, list | tuple) for ids in of_ids):
        raise InputError(
            f"{name}: found a dictionary of ids and more, as vector stores return; give "
            "Ranks.from_top_k(data['ids'], relevant)"
        )
    if value == "score" and any(isinstance(own, set | frozenset) for own in given):
        raise InputError(f"{name}: a set has no order; expected lists, best first")
    if all(isinstance(own, Mapping) for own in given):
        rows = [(user, *pair) for user, own in data.items() for pair in own.items()]
        frame = pd.DataFrame(rows, columns=[USER, ITEM, value])
    else:
        lists = pd.Series(given, dtype=object)
        frame = pd.DataFrame({USER: list(data.keys()), ITEM: lists}).explode(ITEM)
        if value == "score":
            frame["rank"] = frame.groupby(level=0).cumcount() + 1
        frame = frame.dropna(subset=[ITEM])
        frame[ITEM] = frame[ITEM].to_list()
    if frame.empty:
        raise InputError(f"{name}: no items; expected items for each user")
    return frame


def _read_user_items(own: Any, name: str) -> Any:
    """Return the items of one user in memory; pairs of an item and a number are refused."""
    if isinstance(own, Iterator):
        own = list(own)
    if isinstance(own, list | tuple) and any(isinstance(item, tuple) for item in own[:1]):
        raise InputError(
            f"{name}: found tuples; give pairs of item and score as dict(pairs), and codes of an "
            "item as one text"
        )
    if not hasattr(own, "__dlpack__"):
        return own
    items = to_numpy(own)
    if not items.ndim:  # one item as a tensor without axes
        return items.item()
    return items


def read_table(
    data: object,
    noun: str,
    columns: Sequence[str] = KNOWN_COLUMNS,
    *,
    trec: TrecFormat | None = None,
    ids: Sequence[str] = (USER, ITEM, VISIT),
    separator: str | None = None,
    name: str = "data",
) -> Table:
    """Read a file, or take a table with `__arrow_c_stream__` or a dictionary of columns.

    Files are parquet if they are named so, else text, which may be compressed: with a header and
    tabs or commas, or of the format `trec`. At least one of `columns` must be present; `ids`
    are kept as text. Errors call the table a `noun`, and by the `name` of its argument.
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, str | Path):
        path = Path(data)
        with reading_as(path, noun):
            if path.exists() and not path.is_file():
                raise InputError(f"is a folder, a pipe or a device; expected {noun}", path=path)
            if path.suffix.lower() in PARQUET_SUFFIXES:
                read = parquet.read_table(path)
            else:
                read = _read_text(path, columns, trec, ids, separator)
    else:
        path = Path(name)
        read = to_arrow_table(records_to_frame(data), path, noun)
    table = Table.from_arrow(path, read, columns)
    expected = f"expected {noun}: some of {', '.join(columns)}"
    if not table.columns:
        problem = _describe_unknown_columns(table.names)
        if isinstance(data, str | Path) and problem == _NO_HEADER:
            expected += suggest_reading(path, "score" if trec is RUN else "rating")
        raise InputError(f"{problem}; {expected}", path=path)
    if not len(table):
        raise InputError(f"no rows; {expected}", path=path)
    return table


def _describe_unknown_columns(names: Sequence[str]) -> str:
    """Return why a table has no column that is known."""
    if any(re.match(r"[+-]?\d", name) for name in names):  # values, not to be shown
        return _NO_HEADER
    return f"found columns {', '.join(names)[:200]}"


def to_arrow_table(data: Any, path: Path, noun: str) -> pa.Table:
    """Return a table of any library, or a dictionary of columns, as one of pyarrow."""
    if not (is_arrow_table(data) or isinstance(data, Mapping)):
        raise InputError(f"found {type(data).__name__}; expected {noun} in a table or a file")
    _refuse_tables_as_columns(data)
    try:
        if isinstance(data, pd.DataFrame):
            named = [name for name in data.index.names if name is not None]
            if named and not set(named) & set(data.columns):
                data = data.reset_index(named)
            return pa.Table.from_pandas(data.rename(columns=str), preserve_index=False)
        if isinstance(data, Mapping):
            data = {name: to_numpy(column) for name, column in data.items()}
        return pa.table(data)
    except MemoryError:
        raise
    except Exception as error:  # objects of other libraries raise errors of their own
        raise _conversion_error(error, path) from error


def _refuse_tables_as_columns(data: Any) -> None:
    if isinstance(data, Mapping):
        for name, column in data.items():
            if is_arrow_table(column):
                raise InputError(f"{name} is of type {type(column).__name__}; expected one column")


def _conversion_error(error: Exception, path: Path) -> InputError:
    """Make the error for data that pyarrow refuses; of a column it has two sentences."""
    problem = ". ".join(map(str, error.args))
    mixed = _MIXED_TYPES_MESSAGE.search(problem)
    if mixed is None:
        return InputError(f"not a table ({problem})", path=path)
    value, column = mixed.groups()
    problem = (
        f"found {format_value(value.strip(_QUOTE))} among others; expected all numbers, or all text"
    )
    return InputError(problem, path=path, column=column)


def _read_text(
    path: Path,
    columns: Sequence[str],
    trec: TrecFormat | None,
    ids: Sequence[str],
    separator: str | None,
) -> pa.Table:
    """Read a text whose first lines may be comments: # and a blank."""
    with pa.input_stream(str(path)) as stream:
        start = stream.read(1 << 16).removeprefix(b"\xef\xbb\xbf")
    if b"\0" in start or not start.strip():
        raise ValueError("no text")
    if ".json" in path.suffixes and start.lstrip()[:1] in (b"{", b"["):
        raise InputError("found JSON; give what json.load or pandas.read_json returns", path=path)
    lines = start.splitlines()
    n_comments = len([*takewhile(re.compile(rb"#(\s|$)").match, lines)])
    first = next(filter(bytes.strip, lines[n_comments:]), b"").decode()
    if trec is not None and _is_trec(first, trec):
        names = list(trec.columns)
        frame = pd.read_csv(
            path,
            sep=r"\s+",
            names=names,
            dtype=str,
            skiprows=n_comments,
            quoting=csv.QUOTE_NONE,
            keep_default_na=False,
        )
        return pa.Table.from_pandas(frame, preserve_index=False)
    if separator is None:
        separator = next((sign for sign in "\t,;" if sign in first), ",")
    names = next(csv.reader([first], delimiter=separator))
    known = find_roles(names, columns)
    text = pa.dictionary(pa.int32(), pa.string())
    types = {name: text for name, own in zip(names, known, strict=True) if own in ids}
    return pyarrow_csv.read_csv(
        path,
        pyarrow_csv.ReadOptions(skip_rows=n_comments),
        pyarrow_csv.ParseOptions(delimiter=separator),
        pyarrow_csv.ConvertOptions(column_types=types, null_values=[""]),
    )


def _is_trec(first: str, trec: TrecFormat) -> bool:
    """Return whether the first line is one of a format of trec_eval."""
    fields = first.split()
    if len(fields) != len(trec.columns):
        return False
    numbers = [fields[place] for place in trec.numbers]
    return bool(pd.to_numeric(pd.Series(numbers), errors="coerce").notna().all())
