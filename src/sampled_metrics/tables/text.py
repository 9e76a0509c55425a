"""Tables in text files: CSV and TSV with a header, and the files of trec_eval without one."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from sampled_metrics._base.errors import InputError
from sampled_metrics._base.packages import pyarrow as pa
from sampled_metrics._base.packages import pyarrow_csv as reader
from sampled_metrics.tables import arrow
from sampled_metrics.tables.lines import BYTE_ORDER_MARK, first_lines, lines
from sampled_metrics.tables.names import ITEM, USER, Names, named
from sampled_metrics.tables.table import Table

_PART = 16_777_216  # bytes that are searched at a time
_DECIMAL = re.compile(r"\s*[-+]?\d*\.\d+([eE][-+]?\d+)?\s*")


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
    first, second = first_lines(path, what)
    header = 1
    given: list[str] | None = None  # names of columns that a file without a header has
    quote: str | bool = '"'
    if trec is not None and _is_trec(path, first, trec):
        header = 0
        quote = False
        what = trec.what
        separator = " "
        fields = given = list(trec.columns)
    else:
        if separator is None:
            separator = "\t" if "\t" in first else ","
        fields = _fields(first, separator)
    is_float = [bool(_DECIMAL.fullmatch(text)) for text in _fields(second, separator)]
    names = named(path, fields, columns, is_float)
    if not names.wanted:
        return Table(path, {}, names.all)
    with _parsing(path, what, separator):
        source = _with_single_blanks(path) if given else str(path)
        read = reader.read_csv(
            source,
            reader.ReadOptions(column_names=given),
            reader.ParseOptions(delimiter=separator, quote_char=quote),
            _conversion(path, names, ids),
        )
    return Table.of(path, names, read, header=header)


def _fields(line: str, separator: str) -> list[str]:
    """Return the values of a line."""
    if separator == " ":
        return line.split()
    return next(csv.reader([line], delimiter=separator), [])


def _with_single_blanks(path: Path) -> pa.BufferReader:
    """Return the text of a file whose columns are separated by any blanks, by one each."""
    with pa.input_stream(str(path)) as stream:
        text = stream.read().removeprefix(BYTE_ORDER_MARK)
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
    return arrow.fits(arrow.texts_as_arrow(numbers), pa.float64())


def _conversion(path: Path, names: Names, ids: Sequence[str]) -> Any:
    """Return pyarrow's options for the wanted columns: ids as text with codes, others guessed.

    Others are text if there may be a number such as 0x10, which pyarrow would read as 16.
    """
    with pa.input_stream(str(path)) as stream:
        parts = iter(lambda: stream.read(_PART), b"")
        has_hexadecimal = any(b"0x" in part or b"0X" in part for part in parts)
    types = {}
    for name, known in names.wanted.items():
        if known in ids:
            types[name] = pa.dictionary(pa.int32(), pa.string())
        elif has_hexadecimal:
            types[name] = pa.string()
    return reader.ConvertOptions(
        include_columns=list(names.wanted), column_types=types, null_values=[""]
    )


@contextmanager
def _parsing(path: Path, what: str, separator: str) -> Iterator[None]:
    """Turn what pyarrow raises into an InputError, with the line if a row differs in length."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        lengths = re.search(r"Expected (\d+) columns, got (\d+)", str(error))
        if lengths is None:
            raise InputError(f"not {what} ({error}); expected {what}", path=path) from error
        expected, found = lengths.groups()
        problem = f"found {found} columns; expected {expected}"
        for line, text in lines(path):
            if len(_fields(text, separator)) == int(found):
                raise InputError(problem, path=path, line=line) from error
        raise InputError(problem, path=path) from error
