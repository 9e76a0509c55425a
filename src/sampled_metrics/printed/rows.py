"""Rows of a table of printed metrics, from a file, a DataFrame or dictionaries.

A row is one model on one data set. Its numbers stay text, because their digits show how they were
rounded.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from sampled_metrics._base.arguments import whole_number
from sampled_metrics._base.calls import place_of
from sampled_metrics._base.errors import InputError, cli_option, format_value
from sampled_metrics._base.files import find_line_break, line_break_error, require_file
from sampled_metrics._base.records import Record
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.printed.statement import MOST_ITEMS, parse_number
from sampled_metrics.ranks import Sampling

DESCRIPTION = "a table of printed metrics"
EXACT_PREFIX = "exact "  # before the name of a metric over all items, as in `exact HR@10`
_ALIASES = {"dataset": "data_set", "data": "data_set"}
_DETAILS = ("paper", "year", "source", "kind", "note", "cause")
_MISSING = ("", "-", "–", "—", "nan", "none", "n/a", "na", "n.a.")  # in lower case
_PLAIN_NUMBER = re.compile(r"\d*\.?\d*(e[+-]?\d+)?", re.IGNORECASE)
_SAMPLING = {
    "": Sampling.WITHOUT_REPLACEMENT,
    "without": Sampling.WITHOUT_REPLACEMENT,
    "unknown-uniform": Sampling.WITHOUT_REPLACEMENT,
    "with": Sampling.WITH_REPLACEMENT,
}


@dataclass(frozen=True, eq=False)
class PrintedRow(Record):
    """Printed metrics of one model on one data set.

    Attributes
    ----------
    row
        Number in the table, from 1 without the header.
    source, data_set, model
        Names; rows with the same source and data set are compared with each other.
    printed, exact
        Sampled metrics, and metrics over all items, by name: fractions as text.
    n_items, n_negatives
        n, candidates of a full ranking, and m.
    n_users, runs
        Number of users averaged over, None if not known, and of runs averaged over.
    sampling
        How uniform negatives were drawn; None for negatives drawn by popularity.
    details
        Paper, year, source, its kind, note and cause, where the table has them.
    """

    row: int
    source: str
    data_set: str
    model: str
    printed: Mapping[str, str]
    exact: Mapping[str, str]
    n_items: int
    n_negatives: int
    n_users: int | None = None
    runs: int = 1
    sampling: str | None = Sampling.WITHOUT_REPLACEMENT
    details: Mapping[str, str] = field(default_factory=dict)


def read_printed(
    table: Any, n_items: int | None = None, n_negatives: int | None = None
) -> list[PrintedRow]:
    """Read the rows of a table of printed metrics.

    Parameters
    ----------
    table
        A file, a DataFrame, or dictionaries. Columns are n_items, n_negatives and, if known,
        n_users, runs, sampling, model, data_set and source_id. A sampled metric has a column with
        its name, such as HR@10, and a metric over all items one such as `exact HR@10`; or columns
        `printed` and `exact` contain all numbers of a row, such as `HR@10=0.82 NDCG@10=0.59`.
    n_items, n_negatives
        For rows without these columns.

    Examples
    --------
    >>> row = {"model": "A", "n_items": 3253, "n_negatives": 100, "HR@10": "82.45 %"}
    >>> read_printed([row])[0].printed
    {'HR@10': '0.8245'}
    """
    defaults = {}
    for name, number in (("n_items", n_items), ("n_negatives", n_negatives)):
        if number is not None:
            defaults[name] = str(whole_number(name, number, 1))
    rows = []
    with place_of(table):
        for row, (line, texts) in enumerate(_iterate_rows(table), start=1):
            try:
                rows.append(_parse_row(row, texts, defaults))
            except InputError as error:
                error.row = row
                error.line = line
                raise
        if not rows:
            raise InputError(f"no rows; expected {DESCRIPTION}")
    return rows


def _iterate_rows(table: Any) -> Iterator[tuple[int | None, dict[str, str]]]:
    """Yield the line number of each row, None without a file, and its texts by column."""
    if isinstance(table, str | Path):
        yield from _read_csv_rows(Path(table))
        return
    rows: Any = table
    if isinstance(table, pd.DataFrame):
        rows = table.to_dict("records")
    elif hasattr(table, "__arrow_c_stream__"):
        try:
            rows = pa.table(table).to_pylist()
        except pa.ArrowInvalid as error:
            raise InputError(f"found {type(table).__name__}; expected {DESCRIPTION}") from error
    elif not isinstance(table, Sequence):
        raise InputError(
            f"found {type(table).__name__}; expected {DESCRIPTION}: a file, a DataFrame or rows"
        )
    for row in rows:
        if not isinstance(row, Mapping):
            raise InputError(f"found a row of {type(row).__name__}; expected a dictionary")
        yield None, {str(name): str(value) for name, value in row.items()}


def _read_csv_rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Read a file with a header, separated by commas, or by tabs if the header has one."""
    require_file(path, DESCRIPTION)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    except UnicodeDecodeError as error:
        raise InputError(f"not text ({error}); expected {DESCRIPTION} as CSV") from error
    separator = "\t" if "\t" in lines[0] else ","
    line_break = find_line_break(lines, separator)
    if line_break is not None:
        raise line_break_error(line_break)
    reader = csv.reader(lines, delimiter=separator)
    names = next(reader)
    for cells in filter(None, reader):
        if len(cells) != len(names):
            raise InputError(
                f"found {len(cells)} columns; expected {len(names)}", line=reader.line_num
            )
        yield reader.line_num, dict(zip(names, cells, strict=True))


def _parse_row(row: int, cells: Mapping[str, str], defaults: Mapping[str, str]) -> PrintedRow:
    """Parse the texts of a row by column. Errors name a column.

    `defaults` has values of columns that the row may lack.
    """
    texts = _cleaned_texts(cells, defaults)
    printed = _parse_metrics(texts, "printed", "")
    if not printed:
        raise InputError(
            "no printed metric; expected a column such as HR@10, or printed"
            f"{_suggest_transposing(texts)}"
        )
    n_items = _parse_required_count(texts, "n_items")
    n_negatives = _parse_required_count(texts, "n_negatives")
    if not n_negatives < n_items <= MOST_ITEMS:
        raise InputError(
            f"n_negatives is {n_negatives} and n_items is {n_items}; expected "
            f"n_negatives < n_items <= {MOST_ITEMS:,}"
        )
    sampling_name = texts["sampling"]
    sampling = None
    if sampling_name != "popularity":
        sampling = str(Sampling(_SAMPLING.get(sampling_name, sampling_name)))
    return PrintedRow(
        row=row,
        source=texts["source_id"],
        data_set=texts["data_set"],
        model=texts["model"],
        printed=printed,
        exact=_parse_metrics(texts, "exact", EXACT_PREFIX),
        n_items=n_items,
        n_negatives=n_negatives,
        n_users=_parse_count(texts, "n_users"),
        runs=_parse_count(texts, "runs") or 1,
        sampling=sampling,
        details={name: texts[name] for name in _DETAILS if name in texts},
    )


def _cleaned_texts(cells: Mapping[str, str], defaults: Mapping[str, str]) -> defaultdict[str, str]:
    """Return the texts of a row by column, without blanks around them; "" for missing ones."""
    texts = defaultdict(str, defaults)
    for column, cell in cells.items():
        name = column.strip()
        text = cell.strip()
        if text.lower() not in _MISSING:
            texts[_ALIASES.get(name.lower(), name)] = text
    return texts


def _suggest_transposing(texts: Mapping[str, str]) -> str:
    """Say how to turn a table round whose rows are metrics; nothing if no text is a metric."""
    columns_of_metrics = [name for name, text in texts.items() if _is_metric(text)]
    if not columns_of_metrics:
        return ""
    name = columns_of_metrics[-1]
    return (
        f"; column {name} contains metrics: pass table.set_index({name!r})"
        ".T.reset_index(names='model')"
    )


def _parse_metrics(texts: defaultdict[str, str], column: str, prefix: str) -> dict[str, str]:
    """Collect the numbers of a row by metric, as fractions in text.

    They are in columns named by `prefix` and a metric, such as `exact HR@10`, and in the column
    `column`, such as `HR@10=0.82 NDCG@10=0.59`. Percentages become fractions; plain numbers stay
    as they are.
    """
    numbers: dict[str, str] = {}
    measures_found: set[Measure] = set()
    for name, text in _find_metrics(texts, column, prefix):
        measure = parse_measure(name)
        if measure in measures_found:
            raise InputError(f"{measure} occurs twice; keep one", column=name)
        measures_found.add(measure)
        value, decimals = parse_number(name, text)
        is_plain = _PLAIN_NUMBER.fullmatch(text)  # not a percentage, nor a number with marks
        numbers[name] = text if is_plain else f"{value:.{decimals}f}"
    return numbers


def _find_metrics(texts: defaultdict[str, str], column: str, prefix: str) -> list[tuple[str, str]]:
    """List the names and texts of the metrics of a row; see `_parse_metrics`."""
    found = []
    for name, text in texts.items():
        if name.startswith(prefix) and _is_metric(name.removeprefix(prefix)):
            found.append((name.removeprefix(prefix), text))
    for pair in texts[column].split():
        name, sign, text = pair.partition("=")
        if not sign:
            raise InputError(
                f"found {format_value(pair)}; expected text such as HR@10=0.8245", column=column
            )
        found.append((name, text))
    return found


def _parse_count(texts: defaultdict[str, str], name: str) -> int | None:
    """Parse a whole number, which may have commas between its thousands."""
    text = texts[name]
    if not text:
        return None
    digits = text.replace(",", "").removesuffix(".0")
    if not digits.isdecimal() or int(digits) < 1:
        raise InputError(
            f"found {format_value(text)}; expected a whole number, at least 1", column=name
        )
    return int(digits)


def _parse_required_count(texts: defaultdict[str, str], name: str) -> int:
    """Parse a whole number that must not be missing."""
    count = _parse_count(texts, name)
    if count is None:
        raise InputError(
            f"no {name}; add a column of whole numbers, or pass {name} ({cli_option(name)}) if all "
            "rows have the same"
        )
    return count


@lru_cache(maxsize=256)  # often the same for all rows of a table
def _is_metric(name: str) -> bool:
    try:
        parse_measure(name)
    except InputError:
        return False
    return True
