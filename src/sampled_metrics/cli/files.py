"""Commands that refuse to write over a file that they read, or a format that they do not know."""

from collections.abc import Callable
from functools import wraps
from itertools import chain
from typing import Any

import typer

from sampled_metrics.cli.output import printing

_RESULTS = (".csv", ".json", ".table", ".txt")
_SUFFIXES = {
    "write_report": (".html", ".htm"),
    "sample": (*_RESULTS, ".parquet"),
    "negatives": (*_RESULTS, ".parquet"),
}


def guard(app: typer.Typer) -> None:
    """Make every command of an application check the names of its files before it runs."""
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _guarded(command.callback)


def _guarded(command: Callable[..., None]) -> Callable[..., None]:
    known = _SUFFIXES.get(command.__name__, _RESULTS)

    @wraps(command)
    def run(**parameters: Any) -> None:
        output = parameters.get("output")
        if output is not None:
            from sampled_metrics._base.files import check_output_path

            values = [value for name, value in parameters.items() if name != "output"]
            several = [value if isinstance(value, list | tuple) else [value] for value in values]
            check_output_path(output, known, chain.from_iterable(several))
        with printing(parameters.get("form"), output):
            command(**parameters)

    return run
