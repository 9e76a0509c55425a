"""Results as a table for people, as JSON or CSV for programs.

Functions import pandas and pyarrow themselves, because `--help` should not wait for them.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sampled_metrics._base.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

    from sampled_metrics._base.text import Parts
    from sampled_metrics.evaluation.results import Results

Row = dict[str, Any]
_is_table: ContextVar[bool] = ContextVar("is_table", default=False)


class Format(StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


@contextmanager
def printing(form: object, output: Path | None) -> Iterator[None]:
    """Tell `prints_table` the form of the results of a command."""
    token = _is_table.set(form is Format.TABLE and output is None)
    try:
        yield
    finally:
        _is_table.reset(token)


def prints_table() -> bool:
    """Return whether the command that runs prints results as a table, with their notes."""
    return _is_table.get()


def emit(rows: Sequence[Row], form: Format, output: Path | None) -> None:
    """Print rows of the same keys, or write them to a file, all or nothing.

    Numbers that do not exist are null in JSON and empty in CSV, where lists are joined by
    semicolons.
    """
    from sampled_metrics._base.text import nan_to_none

    if form is Format.TABLE:
        emit_parts([rows], output)
    elif form is Format.JSON:
        emit_text(json.dumps(nan_to_none(rows), indent=2, ensure_ascii=False) + "\n", output)
    else:
        import pandas as pd

        joined = [{key: _joined(value) for key, value in row.items()} for row in nan_to_none(rows)]
        _emit_csv(pd.DataFrame(joined, dtype=object), output)


def _emit_csv(table: "pd.DataFrame", output: Path | None) -> None:
    emit_text(table.to_csv(index=False, lineterminator="\n"), output)


def _joined(value: object) -> object:
    return "; ".join(value) if isinstance(value, list) else value


def emit_parts(parts: "Parts", output: Path | None, explain: bool = False) -> None:
    """Print tables and lines, with explanations if asked to; decided orders bold on a terminal."""
    from sampled_metrics._base.text import format_text

    is_terminal = sys.stdout is not None and sys.stdout.isatty()  # None if it is closed
    bold = output is None and is_terminal and not os.environ.get("NO_COLOR")
    instead = "" if explain else "--explain says how to read this."
    emit_text(format_text(parts, instead=instead, bold=bold), output)


def emit_results(
    results: "Results[Any]", form: Format, output: Path | None, explain: bool, **options: Any
) -> None:
    """Print results as tables for people, with their options, or as rows with their questions."""
    if form is Format.TABLE:
        emit_parts(results.parts(**options), output, explain)
    else:
        from sampled_metrics._base.records import record_to_row

        rows = [{**record_to_row(result), "notes": results.notes} for result in results]
        emit(rows, form, output)


def emit_columns(columns: Mapping[Any, Any], form: Format, output: Path | None) -> None:
    """Print many rows given as arrays of one length; a name ending in .parquet is written so."""
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
    """Print text, or write it to a file, all or nothing."""
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


def wrote(output: Path | None, number: int, noun: str) -> None:
    """Say how many things a file holds that was written, if there is one."""
    if output is not None:
        typer.echo(f"Wrote {output} ({number:,} {noun}{'s' * (number != 1)}).")
