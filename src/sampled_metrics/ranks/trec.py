"""Files of trec_eval, runs and qrels: columns separated by blanks, no header."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from sampled_metrics.tables.columns import Table
from sampled_metrics.tables.ids import ITEM, USER
from sampled_metrics.tables.naming import KNOWN
from sampled_metrics.tables.reading import (
    PARQUET,
    head,
    is_frame,
    parse_text,
    parsing,
    read_table,
    require_file,
)

RUN_SUFFIXES = (".run", ".trec")
RUN = "a TREC run (qid Q0 docid rank score tag)"
QRELS = "qrels (qid iter docid rel)"
# Columns that trec_eval ignores have names that no reader knows.
_RUN_COLUMNS = (USER, "Q0", ITEM, "place", "score", "tag")
_QRELS_COLUMNS = (USER, "iter", ITEM, "relevance")


def read_table_or_run(data: Any, what: str) -> Table:
    """Read a table, a DataFrame or a run."""
    if not is_frame(data) and is_run_file(data, what):
        return read_run(data)
    return read_table(data, what)


def is_run_file(path: Path, what: str) -> bool:
    """Return whether a file is a run, by its name or its first line."""
    return _is_file(path, what, RUN_SUFFIXES, is_run)


def is_qrels_file(path: Path, what: str) -> bool:
    """Return whether a file holds qrels, by its name or its first line."""
    return _is_file(path, what, (".qrels",), is_qrels)


def _is_file(path: Path, what: str, suffixes: Sequence[str], fits: Callable[[str], bool]) -> bool:
    require_file(path, what)
    return path.suffix in suffixes or (path.suffix not in PARQUET and fits(head(path, what)))


def is_run(line: str) -> bool:
    """Return whether a file that begins with this line is a run: `q1 Q0 d7 1 12.5 bm25`."""
    fields = line.split()
    return len(fields) == len(_RUN_COLUMNS) and _is_number(fields[3]) and _is_number(fields[4])


def is_qrels(line: str) -> bool:
    """Return whether a file that begins with this line holds qrels: `q1 0 d7 1`."""
    fields = line.split()
    return len(fields) == len(_QRELS_COLUMNS) and _is_number(fields[3])


def read_run(path: Path) -> Table:
    """Read a run as a table of `user_id`, `item_id` and `score`; trec_eval ignores the ranks."""
    return _read(path, RUN, _RUN_COLUMNS)


def read_qrels(path: Path) -> Table:
    """Read qrels as a table of `user_id`, `item_id` and `relevance`."""
    return _read(path, QRELS, _QRELS_COLUMNS)


def _read(path: Path, what: str, names: Sequence[str]) -> Table:
    with parsing(path, what, " "), pa.input_stream(str(path)) as stream:
        text = stream.read()
    columns = parse_text(
        path,
        what,
        {name: name for name in names if name in KNOWN},
        source=pa.BufferReader(_single_spaces(text)),
        column_names=list(names),
        delimiter=" ",
        quote_char=False,
    )
    return Table(path, columns, tuple(names), 0)


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
