"""Output of commands: tables for people, JSON or CSV for programs.

Functions import pandas and pyarrow themselves, so that `--help` does not wait for them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sampled_metrics._base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from sampled_metrics._base.text import Parts
    from sampled_metrics.evaluation.results import Results, Row

_RESULT_SUFFIXES = (".csv", ".json", ".table", ".txt")
_SUFFIXES = {  # of output files, by the function of the command
    "write_report": (".html", ".htm"),
    "sample": (*_RESULT_SUFFIXES, ".parquet"),
    "negatives": (*_RESULT_SUFFIXES, ".parquet"),
}
_is_table: ContextVar[bool] = ContextVar("is_table", default=False)


class Format(StrEnum):
    """Format of results."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def check_output_files(app: typer.Typer) -> None:
    """Make all commands of an application check the name of their output file before they run.

    The suffix has to be known, and the file must not be one that the command reads.
    """
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _with_checked_output(command.callback)


def _with_checked_output(command: Callable[..., None]) -> Callable[..., None]:
    """Wrap a command: check the name of its output file before it runs."""
    suffixes = _SUFFIXES.get(command.__name__, _RESULT_SUFFIXES)

    @wraps(command)
    def run(**parameters: Any) -> None:
        output = parameters.get("output")
        if output is not None:
            from sampled_metrics._base.files import check_output_path

            check_output_path(output, suffixes, _possible_inputs(parameters))
        with _printing(parameters.get("form"), output):
            command(**parameters)

    return run


def _possible_inputs(parameters: Mapping[str, Any]) -> list[Any]:
    """Return the values of all parameters but the output, of which some are files to read."""
    inputs: list[Any] = []
    for name, value in parameters.items():
        if name != "output":
            inputs += value if isinstance(value, list | tuple) else [value]
    return inputs


@contextmanager
def _printing(form: object, output: Path | None) -> Iterator[None]:
    """Remember whether the command prints a table, for `prints_table`."""
    token = _is_table.set(form is Format.TABLE and output is None)
    try:
        yield
    finally:
        _is_table.reset(token)


def prints_table() -> bool:
    """Return whether the running command prints a table, which ends with the notes."""
    return _is_table.get()


def emit(rows: Sequence[Row], form: Format, output: Path | None) -> None:
    """Print rows with the same keys, or write them to a file.

    nan becomes null in JSON and an empty cell in CSV. Lists are joined by semicolons in CSV.
    """
    from sampled_metrics._base.text import nan_to_none

    if form is Format.TABLE:
        emit_parts([rows], output)
    elif form is Format.JSON:
        emit_text(json.dumps(nan_to_none(rows), indent=2, ensure_ascii=False) + "\n", output)
    else:
        import pandas as pd

        flat = [{key: _join_list(value) for key, value in row.items()} for row in nan_to_none(rows)]
        _emit_csv(pd.DataFrame(flat, dtype=object), output)


def _emit_csv(table: pd.DataFrame, output: Path | None) -> None:
    """Print a table as CSV, or write it to a file."""
    emit_text(table.to_csv(index=False, lineterminator="\n"), output)


def _join_list(value: object) -> object:
    """Join the texts of a list; return other values as they are."""
    return "; ".join(value) if isinstance(value, list) else value


def emit_parts(parts: Parts, output: Path | None, explain: bool = False) -> None:
    """Print tables and lines, with explanations if `explain`; orders are bold on a terminal."""
    from sampled_metrics._base.text import format_text

    is_terminal = sys.stdout is not None and sys.stdout.isatty()  # None if it is closed
    is_bold = output is None and is_terminal and not os.environ.get("NO_COLOR")
    instead_of_explanation = "" if explain else "To interpret this table, add --explain."
    emit_text(format_text(parts, instead=instead_of_explanation, bold=is_bold), output)


def join_tables(column: str, parts_by_name: Mapping[str, Parts]) -> Parts:
    """Join tables with the same columns, adding a column of names.

    Lines that several tables share are printed once, after the names they apply to if not all.
    """
    joined_rows: list[Row] = []
    names_by_text: dict[Any, list[str]] = {}
    for name, (rows, *texts) in parts_by_name.items():
        joined_rows += [{column: name, **row} for row in rows]  # type: ignore[dict-item]
        for text in texts:
            names_by_text.setdefault(text, []).append(name)
    joined_texts = []
    for text, names in names_by_text.items():
        applies_to_all = len(names) == len(parts_by_name)
        named = text if applies_to_all else f"{', '.join(names)}: {text}"
        joined_texts.append(type(text)(named))  # an explanation remains one
    return [joined_rows, *joined_texts]


def emit_results(
    results: Results[Any], form: Format, output: Path | None, explain: bool, **options: Any
) -> None:
    """Print results as tables, with their options, or as rows with the warnings as notes."""
    if form is Format.TABLE:
        emit_parts(results.parts(**options), output, explain)
    else:
        from sampled_metrics._base.records import record_to_row

        rows = [{**record_to_row(result), "notes": results.notes} for result in results]
        emit(rows, form, output)


def emit_columns(columns: Mapping[Any, Any], form: Format, output: Path | None) -> None:
    """Print columns of the same length, or write them to a file, which may be parquet."""
    import pandas as pd

    from sampled_metrics._base.files import replace_file

    table = pd.DataFrame(columns)
    if output is not None and output.suffix == ".parquet":
        with replace_file(output) as temporary:
            table.to_parquet(temporary, index=False)
    elif form is Format.CSV:
        _emit_csv(table, output)
    else:
        rows: list[Any] = table.to_dict("records")
        emit(rows, form, output)


def emit_text(text: str, output: Path | None) -> None:
    """Print text, or write it to a file."""
    from sampled_metrics._base.files import write_text

    if output is not None:
        write_text(output, text)
        return
    try:
        typer.echo(text, nl=False)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise InputError(f"standard output: cannot be written ({error.strerror})") from error


def report_written(output: Path | None, number: int, noun: str) -> None:
    """Print the name of the output file and how many rows it has; nothing without a file."""
    if output is not None:
        from sampled_metrics.evaluation.results import quantity

        typer.echo(f"Wrote {output} ({quantity(number, noun)}).")
