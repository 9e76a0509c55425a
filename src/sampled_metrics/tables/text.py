"""Tables in text files: CSV and TSV with a header, and the files of trec_eval without one."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.packages import pyarrow as pa
from sampled_metrics._base.packages import pyarrow_csv as reader
from sampled_metrics.tables import arrow
from sampled_metrics.tables.lines import BYTE_ORDER_MARK, filled_lines, first_line, lines
from sampled_metrics.tables.names import ITEM, USER, Names, named
from sampled_metrics.tables.table import Table, table_of

_PART = 16_777_216  # bytes that are searched at a time


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


def read_text(
    path: Path,
    what: str,
    columns: Sequence[str],
    *,
    trec: Trec | None,
    ids: Sequence[str],
    separator: str | None,
) -> Table:
    """Read a text file, which may be of the format `trec`; see `read_table`."""
    first = first_line(path, what)
    if trec is not None and _is_trec(path, first, trec):
        return _read_trec(path, trec, columns, ids)
    if separator is None:
        separator = "\t" if "\t" in first else ","
    fields = next(csv.reader([first], delimiter=separator), [])
    names = named(path, fields, columns)
    if not names.wanted:
        return Table(path, {}, names.all)
    with _parsing(path, what, separator):
        read = reader.read_csv(
            str(path),
            parse_options=reader.ParseOptions(delimiter=separator),
            convert_options=_conversion(names, ids, as_text=_has_hexadecimal(path)),
        )
    floats = _floats_of_row(path, fields, names, separator)
    return table_of(read, path, names, header=1, floats=floats)


def _read_trec(path: Path, trec: Trec, columns: Sequence[str], ids: Sequence[str]) -> Table:
    names = named(path, trec.columns, columns)
    with _parsing(path, trec.what, " "):
        with pa.input_stream(str(path)) as stream:
            text = stream.read().removeprefix(BYTE_ORDER_MARK)
        text = re.sub(rb"[ \t]+", b" ", text)
        text = re.sub(rb"^ | (?=\r?$)", b"", text, flags=re.MULTILINE)
        read = reader.read_csv(
            pa.BufferReader(text),
            reader.ReadOptions(column_names=list(trec.columns)),
            reader.ParseOptions(delimiter=" ", quote_char=False),
            _conversion(names, ids, as_text=_is_hexadecimal(text)),
        )
    return table_of(read, path, names, header=0)


def _is_trec(path: Path, first: str, trec: Trec) -> bool:
    """Return whether a file has the name of a format, or a first line as the format has."""
    if path.suffix in trec.suffixes:
        return True
    fields = first.split()
    if len(fields) != len(trec.columns):
        return False
    numbers = [fields[place] for place in trec.numbers]
    return arrow.fits(arrow.texts_as_arrow(numbers), pa.float64())


def _conversion(names: Names, ids: Sequence[str], *, as_text: bool) -> Any:
    """Return pyarrow's options for the wanted columns: ids as text with codes, others guessed."""
    types = {}
    for name, known in names.wanted.items():
        if known in ids:
            types[name] = pa.dictionary(pa.int32(), pa.string())
        elif as_text:
            types[name] = pa.string()
    return reader.ConvertOptions(
        include_columns=list(names.wanted), column_types=types, null_values=[""]
    )


def _has_hexadecimal(path: Path) -> bool:
    """Return whether a file may hold a number such as 0x10, which pyarrow would read as 16."""
    with pa.input_stream(str(path)) as stream:
        parts = iter(lambda: stream.read(_PART), b"")
        return any(map(_is_hexadecimal, parts))


def _is_hexadecimal(text: bytes) -> bool:
    return b"0x" in text or b"0X" in text


def _floats_of_row(path: Path, fields: Sequence[str], names: Names, separator: str) -> list[str]:
    """Return the columns that are not wanted and hold a decimal point in the first row."""
    if len(names.wanted) == len(fields):
        return []
    second = [text for _, text in islice(filled_lines(path), 1, 2)]
    row = next(csv.reader(second, delimiter=separator), [])
    floats = []
    for name, text in zip(fields, row, strict=False):  # a short row is refused before
        if name not in names.wanted and re.fullmatch(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*", text):
            floats.append(name)
    return floats


@contextmanager
def _parsing(path: Path, what: str, separator: str) -> Iterator[None]:
    """Turn what pyarrow raises into an InputError, with the line if a row differs in length."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        lengths = re.search(r"Expected (\d+) columns, got (\d+)", str(error))
        if lengths is None:
            raise InputError(f"not {what} ({error}); expected {what}", path=path) from error
        expected = int(lengths[1])
        found = int(lengths[2])
        line = _first_line_of_length(path, found, separator)
        problem = f"found {found} columns; expected {expected}"
        raise InputError(problem, path=path, line=line) from error


def _first_line_of_length(path: Path, length: int, separator: str) -> int | None:
    """Return the number of the first line with so many columns."""
    for number, text in lines(path):
        if separator == " ":
            fields = text.split()
        else:
            fields = next(csv.reader([text], delimiter=separator), [])
        if len(fields) == length:
            return number
    return None
