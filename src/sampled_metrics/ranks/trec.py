"""Files of trec_eval, runs and qrels: columns separated by blanks, no header."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from sampled_metrics.tables import reading
from sampled_metrics.tables.columns import Table
from sampled_metrics.tables.ids import ITEM, USER
from sampled_metrics.tables.naming import KNOWN


class Format(NamedTuple):
    """A kind of file: what it is, how its name ends, its columns, and the places of numbers.

    Columns that trec_eval ignores, such as the rank in a run, have names that no reader knows.
    """

    what: str
    suffixes: tuple[str, ...]
    columns: tuple[str, ...]
    numbers: tuple[int, ...]

    def fits(self, line: str) -> bool:
        """Return whether a file that begins with this line is of this format."""
        fields = line.split()
        return len(fields) == len(self.columns) and all(_is_number(fields[n]) for n in self.numbers)

    def is_of(self, path: Path, what: str) -> bool:
        """Return whether a file is of this format, by its name or its first line."""
        reading.require_file(path, what)
        if path.suffix in self.suffixes:
            return True
        return path.suffix not in reading.PARQUET and self.fits(reading.head(path, what))


RUN = Format(
    "a TREC run (qid Q0 docid rank score tag)",
    (".run", ".trec"),
    (USER, "Q0", ITEM, "place", "score", "tag"),
    (3, 4),
)
QRELS = Format("qrels (qid iter docid rel)", (".qrels",), (USER, "iter", ITEM, "relevance"), (3,))


def read_table(data: Any, what: str, other: Format) -> Table:
    """Read a table, a DataFrame or a file of another format."""
    if reading.is_frame(data) or not other.is_of(path := Path(data), what):
        return reading.read_table(data, what)
    with reading.parsing(path, other.what, " "), pa.input_stream(str(path)) as stream:
        text = stream.read()
    columns = reading.parse_text(
        path,
        other.what,
        {name: name for name in other.columns if name in KNOWN},
        source=pa.BufferReader(_single_spaces(text)),
        column_names=list(other.columns),
        delimiter=" ",
        quote_char=False,
    )
    return reading.with_rows(Table(path, columns, other.columns, 0), other.what)


def _single_spaces(text: bytes) -> bytes:
    text = text.removeprefix(b"\xef\xbb\xbf")
    if any(mark in text for mark in (b"\t", b"  ", b" \n", b"\n ", b" \r")) or text[:1] == b" ":
        return re.sub(rb"^ | (?=\r?$)", b"", re.sub(rb"[ \t]+", b" ", text), flags=re.MULTILINE)
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
