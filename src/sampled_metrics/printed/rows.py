"""Rows of a table of printed metrics, from a file, a DataFrame or records.

A row is one model on one data set. The numbers are kept as text, because their digits say how far
they were rounded.
"""

import csv
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from sampled_metrics._base.arguments import whole_number
from sampled_metrics._base.errors import InputError, cli_option, format_value, reading
from sampled_metrics._base.files import require_file
from sampled_metrics._base.records import Record
from sampled_metrics.metrics.measures import Measure, parse_measure
from sampled_metrics.printed.statement import MOST_ITEMS, number_of
from sampled_metrics.ranks import Sampling

WHAT = "a table of printed metrics"
EXACT = "exact "  # before the name of a metric over all items, as in `exact HR@10`
_ALIASES = {"dataset": "data_set", "data": "data_set"}
_ABOUT = ("paper", "year", "source", "kind", "note", "cause")
_NOTHING = ("", "-", "–", "nan", "None")
_DRAWN = {
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
        Users averaged over, None if not known, and runs whose mean is printed.
    sampling
        How uniform negatives were drawn; None for negatives drawn by popularity.
    about
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
    about: Mapping[str, str] = field(default_factory=dict)


def read_printed(
    table: Any, n_items: int | None = None, n_negatives: int | None = None
) -> list[PrintedRow]:
    """Read the rows of a table of printed metrics.

    Columns: n_items, n_negatives and, if known, n_users, runs, sampling, model, data_set and
    source_id; the arguments are for rows without n_items or n_negatives. A sampled metric has a
    column of its name, such as HR@10, and a metric over all items one such as `exact HR@10`; or
    columns `printed` and `exact` hold all of a row, such as `HR@10=0.82 NDCG@10=0.59`.

    Examples
    --------
    >>> row = {"model": "A", "n_items": 3416, "n_negatives": 100, "HR@10": "82.45 %"}
    >>> read_printed([row])[0].printed
    {'HR@10': '0.8245'}
    """
    of_all = {}
    for name, number in (("n_items", n_items), ("n_negatives", n_negatives)):
        if number is not None:
            of_all[name] = str(whole_number(name, number, 1))
    rows = []
    with reading(table):
        for number, (line, record) in enumerate(_records(table), start=1):
            try:
                rows.append(_row(number, record, of_all))
            except InputError as error:
                error.row = number
                error.line = line
                raise
        if not rows:
            raise InputError(f"no rows; expected {WHAT}")
    return rows


def _records(table: Any) -> Iterator[tuple[int | None, dict[str, str]]]:
    """Yield the line of each row, None where there are no lines, and its texts by column."""
    if isinstance(table, str | Path):
        yield from _read_file(Path(table))
        return
    records: Any = table
    if isinstance(table, pd.DataFrame):
        records = table.to_dict("records")
    elif hasattr(table, "__arrow_c_stream__"):
        try:
            records = pa.table(table).to_pylist()
        except pa.ArrowInvalid as error:
            raise InputError(f"found {type(table).__name__}; expected {WHAT}") from error
    elif not isinstance(table, Sequence):
        raise InputError(
            f"found {type(table).__name__}; expected {WHAT}: a file, a DataFrame or rows"
        )
    for record in records:
        if not isinstance(record, Mapping):
            raise InputError(f"found a row of {type(record).__name__}; expected a dictionary")
        yield None, {str(name): str(value) for name, value in record.items()}


def _read_file(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Read a file with a header, separated by commas, or by tabs if the header has one."""
    require_file(path, WHAT)
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    except UnicodeDecodeError as error:
        raise InputError(f"not text ({error}); expected {WHAT} as CSV") from error
    reader = csv.reader(lines, delimiter="\t" if "\t" in lines[0] else ",")
    names = next(reader)
    for cells in filter(None, reader):
        if len(cells) != len(names):
            problem = f"found {len(cells)} columns; expected {len(names)}"
            raise InputError(problem, line=reader.line_num)
        yield reader.line_num, dict(zip(names, cells, strict=True))


def _row(number: int, record: Mapping[str, str], of_all: Mapping[str, str]) -> PrintedRow:
    """Parse a record; `of_all` has numbers for records that lack them. Errors name a column."""
    texts = defaultdict(str, of_all)
    for column, value in record.items():
        name = column.strip()
        text = value.strip()
        if text not in _NOTHING:
            texts[_ALIASES.get(name.lower(), name)] = text
    printed = _numbers(texts, "printed", "")
    if not printed:
        raise InputError("no printed metric; expected a column such as HR@10, or printed")
    n_items = _required(texts, "n_items")
    n_negatives = _required(texts, "n_negatives")
    if not n_negatives < n_items <= MOST_ITEMS:
        raise InputError(
            f"n_negatives is {n_negatives} and n_items is {n_items}; expected "
            f"n_negatives < n_items <= {MOST_ITEMS:,}"
        )
    drawn = texts["sampling"]
    sampling = None
    if drawn != "popularity":
        sampling = str(Sampling(_DRAWN.get(drawn, drawn)))
    return PrintedRow(
        row=number,
        source=texts["source_id"],
        data_set=texts["data_set"],
        model=texts["model"],
        printed=printed,
        exact=_numbers(texts, "exact", EXACT),
        n_items=n_items,
        n_negatives=n_negatives,
        n_users=_count(texts, "n_users"),
        runs=_count(texts, "runs") or 1,
        sampling=sampling,
        about={name: texts[name] for name in _ABOUT if name in texts},
    )


def _numbers(texts: defaultdict[str, str], column: str, prefix: str) -> dict[str, str]:
    """Collect numbers as fractions in text, by metric.

    They stand in columns that are called after a metric, behind `prefix`, and in one `column`.
    """
    pairs = []
    for name, text in texts.items():
        if name.startswith(prefix) and _is_metric(name.removeprefix(prefix)):
            pairs.append((name.removeprefix(prefix), text))
    for pair in texts[column].split():
        name, sign, text = pair.partition("=")
        if not sign:
            raise InputError(
                f"found {format_value(pair)}; expected such as HR@10=0.8245", column=column
            )
        pairs.append((name, text))
    numbers: dict[Measure, tuple[str, str]] = {}
    for name, text in pairs:
        measure = parse_measure(name)
        if measure in numbers:
            raise InputError(f"{measure} is there twice; give it once", column=name)
        value, decimals = number_of(name, text)
        if text.endswith("%"):
            text = f"{value:.{decimals}f}"
        numbers[measure] = (name, text)
    return dict(numbers.values())


def _count(texts: defaultdict[str, str], name: str) -> int | None:
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


def _required(texts: defaultdict[str, str], name: str) -> int:
    """Parse a whole number that each row needs."""
    count = _count(texts, name)
    if count is None:
        raise InputError(
            f"no {name}; add a column of whole numbers, or give {name} ({cli_option(name)}) if all "
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
