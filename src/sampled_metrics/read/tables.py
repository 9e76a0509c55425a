"""Tables: read from files and from any library that exports to Arrow, checked column by column.

A failed check is one InputError with the row, from 1 without the header, and the column.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as pyarrow_csv
from pyarrow import parquet

from sampled_metrics._base.array_types import Bool, Codes, Float, Floats, Ids, Int
from sampled_metrics._base.arrays import order_preserving_floats, pair_codes
from sampled_metrics._base.arrow import (
    Values,
    arrow_to_numpy,
    can_cast,
    decode_categories,
    encode,
    is_bytes,
    is_numeric,
    is_text,
    positions,
    value_type,
)
from sampled_metrics._base.calls import warn_all, watch_columns
from sampled_metrics._base.columns import NO_LABEL, index_ids, is_no_item
from sampled_metrics._base.conversion import (
    refuse_unconverted,
    to_native,
    to_numpy,
)
from sampled_metrics._base.errors import InputError, format_names, format_value
from sampled_metrics._base.files import (
    PARQUET_SUFFIXES,
    find_line_break,
    line_break_error,
    parquet_files,
    reading_as,
)
from sampled_metrics._base.units import Units
from sampled_metrics.checks.tables import signs_of_other_ids
from sampled_metrics.read.kinds import BY_USER, TABLES, Kind, is_arrow_table, kind_of
from sampled_metrics.read.roles import (
    ITEM,
    KNOWN_COLUMNS,
    ROLES,
    USER,
    VISIT,
    assigned_position,
    find_roles,
    is_no_id,
    normalise_name,
    record_names,
)

ColumnNames: TypeAlias = tuple[str, ...]
Expected: TypeAlias = str | Callable[[int], str]  # what is expected, maybe depending on the row

_ID_TYPES = "whole numbers or text"
_MIXED_TYPES_MESSAGE = re.compile(
    r"Could not convert (.*?) with type .* failed for column (.*) with type"
)
_INVALID_ID = r"^$|^\s|\s$|[\x00-\x1f\x7f]|^.{201}"
_LARGEST_INT64 = 2**63 - 1
_HEADER_BYTES = 1 << 16  # of a text file, in which comments and the header are
# How files begin that are no plain text, what they are, and what to do.
_SIGNATURES = (
    (b"PK\x03\x04", "a zip archive; unpack it"),
    (b"\xff\xfe", "text in UTF-16; save it as UTF-8"),
    (b"\xfe\xff", "text in UTF-16; save it as UTF-8"),
    (b"\x1f\x8b", "a gzip file; rename it to end in .gz"),
    (b"PAR1", "a parquet file; rename it to end in .parquet"),
)
_MAX_IGNORED_VALUES = 10  # of a column that trec_eval ignores; ids and numbers have more
_YES = re.compile("yes|true|y|t|like", re.IGNORECASE)  # labels of relevant items


class HeaderError(InputError):
    """A table has no column with a known name; `names` is what its header has."""

    def __init__(self, problem: str, path: Path, names: Sequence[str], is_missing: bool) -> None:
        super().__init__(problem, path=path)
        self.names = names
        self.is_missing = is_missing  # whether the first line is a row


class TrecFormat(NamedTuple):
    """A text format of trec_eval: no header, columns separated by blanks."""

    noun: str
    columns: tuple[str, ...]
    numeric: tuple[int, ...]  # positions of columns of numbers
    ignored: Mapping[str, str]  # ordinal of the column, by name of a column that has few values


RUN = TrecFormat(
    "a TREC run (qid Q0 docid rank score tag)",
    (USER, "Q0", ITEM, "place", "score", "tag"),  # trec_eval ignores Q0, rank and tag
    (3, 4),
    {"Q0": "second", "tag": "sixth"},
)
QRELS = TrecFormat(
    "qrels (qid iter docid rel)",
    (USER, "iter", ITEM, "relevance"),
    (3,),
    {"iter": "second"},
)


@dataclass(frozen=True)
class Table:
    """Columns by their role, each checked when it is read.

    Attributes
    ----------
    path
        Name in errors: a file, or the name of an argument.
    columns
        Columns with a known role, all of one length.
    names
        Names of all columns, as in the file.
    unknown_columns
        Columns without a known role, by name.
    metadata
        Metadata of a parquet file.
    is_rating
        Whether the column `score` is called rating.
    is_by_user, is_by_item
        Whether the table was a dictionary by user, and one of scores by item for each user.
    unread
        Names of columns that were not read yet.
    name_of
        Name of each column with a role, as in the file.
    row_numbers
        Number of each row in the source, from 0, if rows were dropped; None if they were not.

    Examples
    --------
    >>> table = Table.from_arrow(Path("a.csv"), pa.table({"rank": [3, 0]}))
    >>> table.whole_numbers("rank", 1, 9)
    Traceback (most recent call last):
    sampled_metrics.InputError: a.csv, row 2, column rank: found 0; expected whole numbers, 1 to 9
    """

    path: Path
    columns: dict[str, pa.ChunkedArray]
    names: tuple[str, ...]
    unknown_columns: dict[str, pa.ChunkedArray] = field(default_factory=dict)
    metadata: dict[bytes, bytes] = field(default_factory=dict)
    is_rating: bool = False
    is_by_user: bool = False
    is_by_item: bool = False
    unread: set[str] = field(default_factory=set)
    name_of: dict[str, str] = field(default_factory=dict)
    row_numbers: Int | None = None
    encoded: dict[str, tuple[Codes, pa.Array]] = field(default_factory=dict)  # see `codes`

    @classmethod
    def from_arrow(cls, path: Path, table: pa.Table, known: Sequence[str] = KNOWN_COLUMNS) -> Table:
        """Find the roles of the columns of a table.

        The call in progress learns the names of all columns, and which of them are unread: it notes
        those that are still unread in the end.
        """
        names = tuple(table.column_names)
        record_names(names)
        roles = find_roles(names, known)
        name_of = _names_by_role(names, roles, path)
        columns_and_roles = [*zip(names, roles, table.columns, strict=True)]
        columns = {role: column for _, role, column in columns_and_roles if role is not None}
        unknown = {name: column for name, role, column in columns_and_roles if role is None}
        warn_all(signs_of_other_ids(str(path), _find_other_ids(names, columns, unknown)))
        is_rating = normalise_name(name_of.get("score", "")) == "rating"
        # Formats of trec_eval have columns that it ignores as well.
        is_trec = names in (RUN.columns, QRELS.columns)
        unread = set() if is_trec else {*filter(None, names)}  # which readers of columns empty
        if not is_trec:
            watch_columns(str(path), names, unread)
        return cls(
            path=path,
            columns=columns,
            names=names,
            unknown_columns=unknown,
            metadata=table.schema.metadata or {},
            is_rating=is_rating,
            unread=unread,
            name_of=name_of,
        )

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def take(self, is_kept: Bool) -> Table:
        """Return the table with some of its rows, whose errors name the rows of the source.

        The set `unread` is that of both tables.
        """
        if is_kept.all():
            return self
        numbers = np.arange(len(self)) if self.row_numbers is None else self.row_numbers
        mask = pa.array(is_kept)
        return replace(
            self,
            columns={name: column.filter(mask) for name, column in self.columns.items()},
            unknown_columns={
                name: column.filter(mask) for name, column in self.unknown_columns.items()
            },
            row_numbers=numbers[is_kept],
            encoded={},
        )

    def row_number(self, row: int) -> int:
        """Return the number of a row in the source, from 1."""
        return 1 + (row if self.row_numbers is None else int(self.row_numbers[row]))

    def has_item(self) -> Bool:
        """Return which rows have an item; -1 and -100 mark none in a column of whole numbers."""
        codes, ids = self.codes(ITEM)
        if not pa.types.is_integer(ids.type):
            return np.ones(codes.size, bool)
        return ~is_no_item(arrow_to_numpy(ids))[codes]

    def has_label(self) -> Bool:
        """Return which rows have a label; -100 marks none, as in loss functions of PyTorch."""
        label = decode_categories(self.columns["label"]).to_pandas()
        return pd.to_numeric(label, errors="coerce").to_numpy() != NO_LABEL

    def require(self, *names: str) -> None:
        """Raise InputError for columns that are missing."""
        missing = [name for name in names if name not in self.columns]
        if not missing:
            return
        noun = "column" if len(missing) == 1 else "columns"
        remedy = ""
        if self.unknown_columns:
            role = missing[0].removesuffix("_id")
            remedy = (
                f"; if it has another name, pass columns={{{role!r}: NAME}} (--column {role}=NAME)"
            )
        raise InputError(
            f"lacks {noun} {' and '.join(missing)}; found {', '.join(self.names)}{remedy}",
            path=self.path,
        )

    def unit_columns(self) -> ColumnNames:
        """Return the columns of ids of the units of evaluation: users, visits, or both."""
        columns = tuple(name for name in (USER, VISIT) if name in self.columns)
        return columns or (USER,)

    def units(self, columns: ColumnNames | None = None) -> tuple[Codes, Units]:
        """Encode the units of rows as `codes` does.

        Parameters
        ----------
        columns
            Columns of the ids of units: users, visits, or both; by default `unit_columns`.

        Returns
        -------
        unit, units
            The position in `units` of the unit of each row, and the different units.
        """
        columns = columns or self.unit_columns()
        if len(columns) == 1:
            codes, ids = self.codes(columns[0])
            return codes, Units(ids)
        user, user_ids = self.codes(USER)
        visit, visit_ids = self.codes(VISIT)
        unit, different_pairs = pd.factorize(pair_codes(visit, user, len(user_ids)))
        visit_of_unit, user_of_unit = np.divmod(different_pairs, len(user_ids))
        units = Units(user_ids.take(user_of_unit), visit_ids.take(visit_of_unit))
        return unit.astype(np.int32), units

    def has_several_visits(self) -> bool:
        """Return whether some user has several visits."""
        if len(self.unit_columns()) == 1:
            return False
        return len(self.units()[1]) > len(self.codes(USER)[1])

    def whole_numbers(
        self,
        name: str,
        minimum: int | None = None,
        maximum: int | Int | None = None,
        expected: str = "whole numbers",
    ) -> Int:
        """Return a column of whole numbers; the maximum may differ between rows.

        `expected` is what errors call them.
        """
        values = self._numbers(name, expected)
        is_bad, remark = _find_fractions(values)
        if minimum is not None:
            is_bad |= values < minimum
        if maximum is not None:
            is_bad |= values > maximum

        def describe(row: int) -> str:
            expected_type = f"{expected}{remark}"
            if minimum is None:
                return expected_type
            if maximum is None:
                return f"{expected_type}, at least {minimum}"
            return f"{expected_type}, {minimum} to {np.broadcast_to(maximum, values.shape)[row]}"

        self.refuse(name, is_bad, values, describe)
        return values.astype(np.int64, copy=False)

    def zeros_and_ones(self, name: str) -> Bool:
        """Return a column of 1 or 0, or of true and false, as booleans; -1 counts as 0."""
        values = self._numbers(name, "1 or 0")
        self.refuse(name, ~np.isin(values, (-1, 0, 1)), values, "1 or 0")
        return values > 0

    def finite_numbers(self, name: str) -> Float:
        """Return a column of finite numbers as float64."""
        values = self._numbers(name, "finite numbers").astype(np.float64, copy=False)
        self.refuse(name, ~np.isfinite(values), values, "finite numbers")
        return values

    def ordered_numbers(self, name: str) -> Floats:
        """Return floats in the order of finite numbers, see `order_preserving_floats`."""
        values = self._numbers(name, "finite numbers")
        if values.dtype.kind == "i":
            return order_preserving_floats(values)
        return self.finite_numbers(name)

    def ids(self, name: str) -> pa.Array:
        """Return a column of ids: int64 if all are whole numbers as usually written, else text."""
        codes, ids = self.codes(name)
        return pc.take(ids, pa.array(codes))

    def codes(self, name: str) -> tuple[Codes, pa.Array]:
        """Encode a column of ids; also return the distinct ids in the order of first appearance.

        Whole numbers are not usually written with leading zeros: a column that contains `007` stays
        text, where `007` and `7` are different ids.
        """
        if name not in self.encoded:
            self.encoded[name] = self._encode(name)
        return self.encoded[name]

    def _encode(self, name: str) -> tuple[Codes, pa.Array]:
        """Encode a column as `codes` does: whole numbers, also where they are written as text."""
        codes, ids = encode(self._column_of_ids(name))
        if not is_text(ids.type):
            return codes, ids.cast(pa.int64())
        if can_cast(ids, pa.int64()):
            numbers = ids.cast(pa.int64())
            are_usually_written = numbers.cast(ids.type).equals(ids)
            if are_usually_written:
                return codes, numbers
        is_bad = np.asarray(pc.match_substring_regex(ids, _INVALID_ID))
        if is_bad.any():
            row = int(np.argmax(is_bad[codes]))
            raise self._invalid_id_error(name, row, ids[codes[row]].as_py())
        return codes, ids.cast(pa.string())

    def _column_of_ids(self, name: str) -> pa.ChunkedArray:
        """Return a column of text or whole numbers; floats must be whole, and bytes be text."""
        column = self.complete_column(name, _ID_TYPES)
        if is_bytes(column.type) and can_cast(column, pa.string()):
            column = column.cast(pa.string())
        dtype = value_type(column.type)
        if pa.types.is_floating(dtype) or dtype == pa.uint64():
            return pa.chunked_array([self.whole_numbers(name, expected=_ID_TYPES)])
        if not (is_text(dtype) or pa.types.is_integer(dtype)):
            raise self._wrong_type(name, column, _ID_TYPES)
        return column

    def _invalid_id_error(self, name: str, row: int, text: str) -> InputError:
        """Make the error for a text that is no id."""
        expected = "ids of 1 to 200 characters, without control characters or blanks at an end"
        if "\n" in text:
            expected += "; is a quotation mark of the file unclosed?"
        elif not text:
            expected += "; drop rows without an id"
        return self.error(name, row, repr(text) if text else "", expected)

    def positions(self, name: str, among: Ids, expected: str) -> Int:
        """Return the position of each id of a column in `among`, where all must be found."""
        ids = self.ids(name)
        position = positions(ids, among)
        self.refuse(name, position < 0, ids, expected)
        return position

    def refuse(self, name: str, is_bad: Bool, values: Values, expected: Expected) -> None:
        """Raise InputError for the first bad row of a column."""
        if not is_bad.any():
            return
        row = int(np.argmax(is_bad))
        if callable(expected):
            expected = expected(row)
        raise self.error(name, row, values[row], expected)

    def error(self, name: str, row: int, value: object, expected: str) -> InputError:
        """Make the error for a value of a column; `row` counts from 0."""
        text = f"{value:.15g}" if isinstance(value, np.floating) else str(value)[:80]
        return self.error_at(row, f"found {text or 'nothing'}; expected {expected}", name)

    def error_at(self, row: int, problem: str, column: str | None = None) -> InputError:
        """Make the error for a row, which counts from 0."""
        return InputError(problem, path=self.path, row=self.row_number(row), column=column)

    def complete_column(self, name: str, expected: str) -> pa.ChunkedArray:
        """Return a column; raise InputError if it is missing, or if one of its values is."""
        self.require(name)
        self.unread.discard(self.name_of.get(name, ""))
        column = self.columns[name]
        if column.null_count:
            row = int(np.argmax(column.is_null().to_numpy()))
            column_name = self.name_of.get(name, name)
            remedies = {
                "score": f"; drop rows without a score, dropna(subset=[{column_name!r}])",
                "label": f"; if a missing label is 0, fillna({{{column_name!r}: 0}})",
            }
            raise self.error(name, row, "nothing", expected + remedies.get(name, ""))
        return column

    def _numbers(self, name: str, expected: str) -> Int | Float:
        """Return numbers, or text that contains numbers, as int64 if all fit, else as floats."""
        column = decode_categories(self.complete_column(name, expected))
        dtype = column.type
        if not (is_text(dtype) or is_numeric(dtype)):
            raise self._wrong_type(name, column, expected)
        values = pd.to_numeric(column.to_pandas(), errors="coerce").to_numpy()
        if is_text(dtype):
            is_hexadecimal = pc.match_substring(column, "x", ignore_case=True)  # as pandas reads
            is_bad = np.isnan(values) | np.asarray(is_hexadecimal)
            remedy = ""
            if name == "label" and is_bad.all():
                yes = next(filter(_YES.fullmatch, column.unique().to_pylist()), "yes")
                remedy = f"; pass 1 and 0, {self.name_of.get(name, name)} == {yes!r}"
            self.refuse(name, is_bad, column, f"{expected}{remedy}")
        are_whole = values.dtype.kind in "biu"
        if are_whole and values.max(initial=0) <= _LARGEST_INT64:
            return values.astype(np.int64, copy=False)
        return values if values.dtype.kind == "f" else values.astype(np.float64)

    def _wrong_type(self, name: str, column: pa.ChunkedArray, expected: str) -> InputError:
        dtype = f"type {column.type}"
        if is_bytes(column.type):
            dtype = "bytes, not UTF-8"
        if pa.types.is_nested(column.type):
            column_name = self.name_of.get(name, name)
            expected += f"; give each element a row, DataFrame.explode({column_name!r})"
        return InputError(f"found {dtype}; expected {expected}", path=self.path, column=name)


def _names_by_role(names: Sequence[str], roles: Sequence[str | None], path: Path) -> dict[str, str]:
    """Return the name of the column with each role; raise InputError if two have the same one."""
    name_of: dict[str, str] = {}
    for name, role in zip(names, roles, strict=True):
        if role is None:
            continue
        if role in name_of:
            raise InputError(
                f"duplicate column {role}: {name_of[role]} and {name}; drop one", path=path
            )
        name_of[role] = name
    return name_of


def _find_fractions(values: Int | Float) -> tuple[Bool, str]:
    """Mark numbers that are not whole or, if all are, floats too large to be exact.

    The second result is the remark on such floats that ends an error; it is empty for others.
    """
    if values.dtype.kind != "f":
        return np.zeros(values.shape, bool), ""
    is_fraction = np.floor(values) != values
    if is_fraction.any():
        return is_fraction, ""
    dtype: Any = values.dtype
    exact_below = 2.0 / np.finfo(dtype).eps  # the type represents all whole numbers below
    is_inexact = np.abs(values) >= exact_below
    if not is_inexact.any():
        return is_inexact, ""
    return is_inexact, f"; {dtype} represents them exactly only below {exact_below:,.0f}"


def _find_other_ids(
    names: Sequence[str], columns: Mapping[str, Any], unknown: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    """Yield a role of ids that is read, and the name of another column that may contain them.

    Parameters
    ----------
    names
        Names of all columns.
    columns, unknown
        Columns that are read, by role, and others, by name.
    """
    roles = {USER, ITEM}
    if USER not in columns:  # then a second column of visits may be that of users
        roles.add(VISIT)
    for name in unknown:
        for role in roles & columns.keys():
            is_alias = normalise_name(name) in ROLES[role].aliases
            is_assigned = assigned_position(names, role) is not None
            if is_alias and not is_assigned and not is_no_id(name, names):
                yield role, name


def is_by_user(data: object) -> bool:
    """Return whether data is a dictionary by user, or a Series with ids as its index."""
    return data.is_by_user if isinstance(data, Table) else kind_of(data) in BY_USER


def users_of_ranks(data: Any) -> pd.Index | None:
    """Return the ids of users in the index of a Series of ranks, each once; None without any."""
    ids: Any = index_ids(data) if isinstance(data, pd.Series) else None
    if isinstance(ids, pd.MultiIndex):
        raise InputError(
            "the index of ranks has several levels; pass to_numpy() if each row is another user, "
            "or a table of user_id, visit_id and rank"
        )
    if ids is not None and not ids.is_unique:
        raise InputError(
            f"the index of ranks has {ids[int(np.argmax(ids.duplicated()))]} twice; pass "
            "to_numpy() if each row is another user, or a table of user_id and rank"
        )
    return ids


def as_table(
    data: Any,
    noun: str = "ranks, lists or scores",
    name: str = "data",
    value: str = "score",
    trec: TrecFormat = RUN,
    *,
    ranks: str | None = None,
    kind: Kind | None = None,
) -> Table | None:
    """Read data with ids as a table; return None for arrays, matrices and files of them.

    Parameters
    ----------
    noun, name
        What errors call the table, and the name of its argument.
    value
        Column for the numbers of a dictionary by user that contains numbers by item.
    trec
        Format of a text file without a header.
    ranks
        Column for the numbers of a Series by user; by default they are items.
    kind
        The kind of the data, if it is known.
    """
    if isinstance(data, Table):
        return data
    refuse_unconverted(data, name)
    if kind is None:
        kind = kind_of(data)
    if kind is Kind.SERIES and ranks is not None and data.dtype.kind in "iuf":
        return read_table({USER: users_of_ranks(data), ranks: data.to_numpy()}, "ranks")
    if kind in BY_USER:
        frame = _frame_by_user(data, name, value)
        table = Table.from_arrow(Path(name), to_arrow_table(frame, Path(name), noun))
        return replace(table, is_by_user=True, is_by_item=value in frame)
    return read_table(data, noun, trec=trec, name=name) if kind in TABLES else None


def _frame_by_user(data: Any, name: str, value: str) -> pd.DataFrame:
    """Convert a dictionary or a Series by user: one item, a list, or numbers by item.

    The columns are USER, ITEM, and `value`, the role of the numbers, or the rank in lists.
    """
    _refuse_vector_store(data, name)
    users = list(data.keys())
    items_by_user = [_user_items(items, name) for _, items in data.items()]
    are_best_first = value == "score"
    if are_best_first and any(isinstance(items, set | frozenset) for items in items_by_user):
        raise InputError(f"{name}: a set has no order; expected lists, best first")
    if all(isinstance(items, Mapping) for items in items_by_user):
        rows = [(user, *pair) for user, items in data.items() for pair in items.items()]
        frame = pd.DataFrame(rows, columns=[USER, ITEM, value])
    else:
        frame = _frame_of_lists(users, items_by_user, name, are_best_first=are_best_first)
    if frame.empty:
        raise InputError(f"{name}: no items; expected items for each user")
    return frame


def _frame_of_lists(
    users: Sequence[Any], items_by_user: Sequence[Any], name: str, *, are_best_first: bool
) -> pd.DataFrame:
    """Return a row for each item of the list of each user, with its rank if the order counts."""
    lists = pd.Series(items_by_user, dtype=object)
    frame = pd.DataFrame({USER: users, ITEM: lists}).explode(ITEM)
    if are_best_first:
        position = frame.groupby(level=0).cumcount()  # in the list of the user
        frame["rank"] = position + 1
        _refuse_gaps(frame, name)
    frame = frame.dropna(subset=[ITEM])
    frame[ITEM] = frame[ITEM].to_list()  # of the type of the items, not objects
    return frame


def _refuse_vector_store(data: Any, name: str) -> None:
    """Raise InputError for the answer of a vector store: a dictionary with ids of all users."""
    ids = data.get("ids", ())
    if isinstance(ids, list | tuple) and any(isinstance(row, list | tuple) for row in ids):
        raise InputError(
            f"{name}: found a dictionary of ids and more, as vector stores return; pass "
            "Ranks.from_top_k(data['ids'], relevant)"
        )


def _refuse_gaps(frame: pd.DataFrame, name: str) -> None:
    """Raise InputError for None or NaN before another item of a list; at its end they fill it.

    The index of `frame` numbers the lists.
    """
    is_missing = frame[ITEM].isna()
    if not is_missing.any():
        return
    last_item = frame["rank"].where(~is_missing).groupby(frame.index).transform("max")
    is_gap = is_missing & (frame["rank"] < last_item)
    if is_gap.any():
        user, _, rank = frame.loc[is_gap.to_numpy()].iloc[0]
        raise InputError(
            f"{name}: the list of user {user} contains no item (None) at rank {rank}, before "
            "others; drop such entries, or give each an id of its own that no item has, to keep "
            "its place"
        )


def _user_items(items: Any, name: str) -> Any:
    """Return the items of one user in main memory.

    Iterators become lists, and arrays of any library those of numpy, or one item if they have no
    axis. Lists, text and single items are returned unchanged. Refused are lists of tuples, such as
    pairs of an item and a score, and an ItemList of LensKit.
    """
    if isinstance(items, Iterator):
        items = list(items)
    first_items = items[:1] if isinstance(items, list | tuple) else ()
    if any(isinstance(item, tuple) for item in first_items):
        raise InputError(
            f"{name}: found tuples; pass pairs of item and score as dict(pairs), and codes of an "
            "item as one text"
        )
    is_item_list = hasattr(items, "to_df")  # of LensKit
    if is_item_list:
        raise InputError(
            f"{name}: found a dictionary of {type(items).__name__}; pass pandas.concat({{user: "
            f"items.to_df() for user, items in {name}.items()}}, names=['{USER}'])"
        )
    is_array = hasattr(items, "__dlpack__")
    if not is_array:
        return items
    array = to_numpy(items)
    return array if array.ndim else array.item()


def read_table(
    data: object,
    noun: str,
    columns: Sequence[str] = KNOWN_COLUMNS,
    *,
    trec: TrecFormat | None = None,
    ids: Sequence[str] = (USER, ITEM, VISIT),
    separator: str | None = None,
    header: Sequence[str] = (),
    name: str = "data",
) -> Table:
    """Read a file, a table of any library that exports to Arrow, or a dictionary of columns.

    Files are parquet if their suffix says so, else text, maybe compressed: tabs, commas or
    semicolons with a header, or a format of trec_eval. A folder has parquet files.

    Parameters
    ----------
    noun, name
        What errors call the table, and the name of its argument.
    columns
        Roles of columns, of which the table must have at least one.
    trec
        Format of a text file without a header.
    ids
        Columns that are read as text.
    separator
        Separator of a text file; by default it is recognised.
    header
        Names of the columns of a text file whose first line is a row.
    """
    if isinstance(data, Table):
        return data
    is_file = isinstance(data, str | Path)
    path = Path(str(data) if is_file else name)
    if is_file:
        arrow_table = _read_file(path, noun, columns, _TextFormat(trec, ids, separator, header))
    else:
        refuse_unconverted(data, name)
        arrow_table = to_arrow_table(data, path, noun)
    table = Table.from_arrow(path, arrow_table, columns)
    expected = f"expected {noun}: some of {', '.join(columns)}"
    if not table.columns:
        raise _header_error(table, expected, is_file=is_file)
    if not len(table):
        raise InputError(f"no rows; {expected}", path=path)
    return table


def _header_error(table: Table, expected: str, *, is_file: bool) -> HeaderError:
    """Make the error for a table without a column of a known name, or without a header."""
    is_missing = _has_numbers(table.names)
    if is_missing:  # the names are values, which are not shown
        remedy = "add a header line" if is_file else "name the columns"
        problem = f"no header that names the columns; {expected}; {remedy}"
    else:
        problem = f"found columns {format_names(table.names)}; {expected}"
    return HeaderError(problem, table.path, table.names, is_missing=is_missing)


def _has_numbers(cells: Iterable[str]) -> bool:
    """Return whether some cell of a first line is a number, so that the line is a row."""
    return any(re.match(r"[+-]?\d", cell) for cell in cells)


def to_arrow_table(data: Any, path: Path, noun: str) -> pa.Table:
    """Convert a table of any library, or a dictionary of columns, to pyarrow."""
    if not (is_arrow_table(data) or isinstance(data, Mapping)):
        raise InputError(f"found {type(data).__name__}; expected {noun} in a table or a file")
    columns = data if isinstance(data, Mapping) else {}
    for name, column in columns.items():
        if is_arrow_table(column):
            raise InputError(f"{name} is of type {type(column).__name__}; expected one column")
    try:
        return _views_to_text(_arrow_table_of(data))
    except MemoryError:
        raise
    except Exception as error:  # objects of other libraries raise errors of their own
        raise _conversion_error(error, path, _describe_pairs_in_cells(data)) from error


def _arrow_table_of(data: Any) -> pa.Table:
    """Convert a table or columns to pyarrow, or raise any error of its library."""
    if isinstance(data, pd.DataFrame):
        frame = _to_native_columns(_index_to_columns(data)).rename(columns=str)
        return pa.Table.from_pandas(frame, preserve_index=False)
    if isinstance(data, Mapping):
        return pa.table({name: to_numpy(column) for name, column in data.items()})
    return pa.table(data)


def _index_to_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the named levels of its index as columns, unless a column has a name."""
    names = [name for name in frame.index.names if name is not None]
    if not names or set(names) & set(frame.columns):
        return frame
    return frame.reset_index(names)


def _to_native_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with all numbers in the byte order of this machine."""
    swapped = [
        name
        for name, dtype in frame.dtypes.items()
        if isinstance(dtype, np.dtype) and not dtype.isnative
    ]
    native = frame.copy(deep=False)
    for name in swapped:
        native[name] = to_native(frame[name].to_numpy())
    return native


def _describe_pairs_in_cells(data: Any) -> str:
    """Return the end of an error message: how to read lists of pairs in cells, as of Spark."""
    if not isinstance(data, pd.DataFrame) or data.empty:
        return ""
    names = [str(name) for name in data.columns]
    name_of_role = dict(zip(find_roles(names), data.columns, strict=True))
    if USER not in name_of_role:
        return ""
    for name, cell in data.iloc[0].items():
        has_tuples = isinstance(cell, list) and cell and isinstance(cell[0], tuple)
        if has_tuples and len(cell[0]) == 2:
            return (
                f"; for pairs in cells pass {{user: dict(map(tuple, pairs)) for user, pairs in "
                f"zip(data[{name_of_role[USER]!r}], data[{name!r}])}}"
            )
    return ""


def _views_to_text(table: pa.Table) -> pa.Table:
    """Convert string views, which polars writes and pyarrow can do little with, to text."""

    def as_text(views: pa.Array) -> pa.Array:
        if pa.types.is_dictionary(views.type):
            return as_text(views.dictionary).take(views.indices)
        try:
            return views.cast(pa.string())
        except pa.ArrowNotImplementedError:  # in some versions of pyarrow
            return pa.array(views.to_pylist(), pa.string())

    for position, column in enumerate(table.columns):
        has_views = value_type(column.type) == pa.string_view()
        if has_views:
            text = pa.chunked_array(map(as_text, column.chunks), pa.string())
            table = table.set_column(position, table.column_names[position], text)
    return table


def _conversion_error(error: Exception, path: Path, remedy: str) -> InputError:
    """Make the error for data that pyarrow refuses; two sentences name the mixed column."""
    message = ". ".join(map(str, error.args))
    mixed = _MIXED_TYPES_MESSAGE.search(message)
    if mixed is None:
        return InputError(f"not a table ({message}){remedy}", path=path)
    value, column = mixed.groups()
    return InputError(
        f"found {format_value(value.strip(chr(39)))} among others; expected all numbers, or all "
        f"text{remedy}",
        path=path,
        column=column,
    )


class _TextFormat(NamedTuple):
    """How a text file is read; see the parameters of `read_table`."""

    trec: TrecFormat | None
    ids: Sequence[str]
    separator: str | None
    header: Sequence[str]


def _read_file(path: Path, noun: str, columns: Sequence[str], text: _TextFormat) -> pa.Table:
    """Read a parquet file, a folder of parquet files, or a text file."""
    with reading_as(path, noun):
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"is a pipe or a device; expected {noun} in a file", path=path)
        if path.is_dir() or path.suffix.lower() in PARQUET_SUFFIXES:
            if text.header:
                raise InputError("header is for text files; parquet files have names", path=path)
            files = parquet_files(path, noun) if path.is_dir() else [path]
            return _views_to_text(pa.concat_tables(map(_read_parquet, files)))
        try:
            return _read_text(path, noun, columns, text)
        except (UnicodeDecodeError, pa.ArrowInvalid) as error:
            if "utf" not in str(error).lower():
                raise
            raise InputError(
                "not text in UTF-8; save it as UTF-8, such as by iconv -f LATIN1 -t UTF-8",
                path=path,
            ) from error


def _read_parquet(path: Path) -> pa.Table:
    """Read one file, also if the names of folders look like columns of a partitioned table."""
    return parquet.ParquetFile(path).read()


def _read_text(path: Path, noun: str, columns: Sequence[str], text: _TextFormat) -> pa.Table:
    """Read a text file; its first lines may be comments, which begin with # and a blank."""
    with pa.input_stream(str(path)) as stream:
        start = stream.read(_HEADER_BYTES).removeprefix(b"\xef\xbb\xbf")  # byte order mark
    _refuse_other_content(start, path, noun)
    lines = start.splitlines()
    n_comments = len([*takewhile(re.compile(rb"#(\s|$)").match, lines)])
    first_line = next(filter(bytes.strip, lines[n_comments:]), b"").decode()
    if text.trec is not None and _is_trec(first_line, text.trec):
        return _read_trec(path, text.trec, n_comments)
    separator = text.separator
    if separator is None:
        separator = next((sign for sign in "\t,;" if sign in first_line), ",")
    names = next(csv.reader([first_line], delimiter=separator))
    if text.header:
        _refuse_two_headers(text.header, names, columns, path)
        names = list(text.header)
    roles = find_roles(names, columns)
    categories = pa.dictionary(pa.int32(), pa.string())
    types = {name: categories for name, role in zip(names, roles, strict=True) if role in text.ids}
    return _read_separated(path, separator, n_comments, types, text.header)


def _refuse_two_headers(
    header: Sequence[str], first_line: Sequence[str], columns: Sequence[str], path: Path
) -> None:
    """Raise InputError if a file whose header is passed begins with a header, and not a row."""
    names_columns = any(find_roles(first_line, columns)) and not _has_numbers(first_line)
    if names_columns:
        raise InputError(
            f"header is {format_names(header)}, but the first line is "
            f"{format_names(first_line)}; remove one of them",
            path=path,
        )


def _read_trec(path: Path, trec: TrecFormat, n_comments: int) -> pa.Table:
    """Read a file in a format of trec_eval after its comments; all columns are text."""
    frame = pd.read_csv(
        path,
        sep=r"\s+",
        names=list(trec.columns),
        dtype=str,
        skiprows=n_comments,
        quoting=csv.QUOTE_NONE,
        keep_default_na=False,
    )
    _refuse_other_files(frame, trec, path)
    return pa.Table.from_pandas(frame, preserve_index=False)


def _refuse_other_files(frame: pd.DataFrame, trec: TrecFormat, path: Path) -> None:
    """Raise InputError for a table without a header that has the fields of a format by chance.

    Columns that trec_eval ignores have few values, and ids have many. The iteration of qrels is 0
    or Q0 in nearly all files, and a few small numbers in some; a file whose suffix is not `.qrels`
    may be another table of four columns, so there it must be 0 or Q0.
    """
    is_other_table_likely = trec is QRELS and path.suffix != ".qrels"
    most = 0 if is_other_table_likely else _MAX_IGNORED_VALUES
    usual_values = {"0", "Q0"} if trec is QRELS else set()
    for name, ordinal in trec.ignored.items():
        values = {*frame[name]} - usual_values
        if len(values) > most:
            raise InputError(
                f"found {len(values)} values in the {ordinal} column; expected {trec.noun}, or a "
                f"header line that names {USER} and {ITEM}",
                path=path,
            )


def _refuse_other_content(start: bytes, path: Path, noun: str) -> None:
    """Raise InputError if a file begins with anything but plain text."""
    if not start.strip():
        raise InputError(f"empty; expected {noun}", path=path)
    for signature, content in _SIGNATURES:
        if start.startswith(signature):
            raise InputError(f"found {content}", path=path)
    if b"\0" in start:
        raise InputError("found null bytes; if it is text in UTF-16, save it as UTF-8", path=path)
    if ".json" in path.suffixes and start.lstrip()[:1] in (b"{", b"["):
        raise InputError(
            "found JSON; pass what json.load or pandas.read_json returns, or convert it to CSV or "
            "parquet",
            path=path,
        )


def _read_separated(
    path: Path,
    separator: str,
    n_comments: int,
    types: Mapping[str, pa.DataType],
    header: Sequence[str],
) -> pa.Table:
    """Read a text file with a separator; refuse cells with line breaks.

    pyarrow joins the lines of such a cell, or fails with an error that names another cause. Without
    `newlines_in_values` it drops the rest of a block of the file in silence.
    """
    try:
        with _open_text(path) as stream:
            table = pyarrow_csv.read_csv(
                stream,
                pyarrow_csv.ReadOptions(skip_rows=n_comments, column_names=list(header)),
                pyarrow_csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                pyarrow_csv.ConvertOptions(column_types=types, null_values=[""]),
            )
    except pa.ArrowInvalid:
        line = _find_line_break(path, separator, n_comments)
        if line is None:
            raise
        raise line_break_error(line, path) from None
    if _has_line_breaks(table):
        raise line_break_error(_find_line_break(path, separator, n_comments), path)
    return table


def _open_text(path: Path) -> pa.NativeFile:
    """Open a text file that ends with a line break, or its content with one appended.

    Without it, a quotation mark that opens in the last line would leave no line break in its cell.
    It is not appended by a stream that calls Python: pyarrow reads in a thread of its own, which
    aborts the process if it waits for Python when that ends.
    """
    stream = pa.input_stream(str(path))
    if not isinstance(stream, pa.CompressedInputStream):
        with path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            if file.read() == b"\n":
                return stream
    with stream:
        return pa.BufferReader(stream.read() + b"\n")


def _has_line_breaks(table: pa.Table) -> bool:
    """Return whether a cell or a name of a table that was read from text contains a line break."""
    return any(b"\n" in text or b"\r" in text for text in _texts(table))


def _texts(table: pa.Table) -> Iterator[bytes]:
    """Yield the names of a table, joined, and the cells of each block of a column of text."""
    yield "".join(table.column_names).encode()
    for column in table.columns:
        for block in column.chunks:
            values = block.dictionary if pa.types.is_dictionary(block.type) else block
            if is_text(values.type) or pa.types.is_binary(values.type):
                characters = values.buffers()[-1]  # of all cells
                yield characters.to_pybytes() if characters else b""


def _find_line_break(path: Path, separator: str, n_comments: int) -> int | None:
    """Return the number of the first line of a text file where a cell contains a line break."""
    with pa.input_stream(str(path)) as stream:
        lines = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="replace")
        return find_line_break(islice(lines, n_comments, None), separator, start=n_comments + 1)


def _is_trec(line: str, trec: TrecFormat) -> bool:
    """Return whether a line has the fields of a format of trec_eval."""
    fields = line.split()
    if len(fields) != len(trec.columns):
        return False
    numbers = [fields[position] for position in trec.numeric]
    return bool(pd.to_numeric(pd.Series(numbers), errors="coerce").notna().all())
