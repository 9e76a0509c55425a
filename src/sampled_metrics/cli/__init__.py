"""The command line, with one-line errors and exit status 2."""

import inspect
import logging
import re
import signal
import sys
import warnings
from typing import Annotated, Any, get_type_hints

import typer
from typer.models import ArgumentInfo

import sampled_metrics
from sampled_metrics._base.errors import (
    NO_MEMORY,
    InputError,
    InputWarning,
    command_line,
    format_os_error,
    one_line,
)
from sampled_metrics._base.standard_output import standard_output
from sampled_metrics.cli.draws import app as draws
from sampled_metrics.cli.files import guard
from sampled_metrics.cli.output import prints_table
from sampled_metrics.cli.rankings import app as rankings

WRONG_INPUT, INTERRUPTED, TERMINATED = 2, 130, 143
_log = logging.getLogger("sampled_metrics")

HELP = """Metrics of item recommendation under sampling, and their correction.

\b
You have                                     Use
scores of all items, or full rankings        evaluate, compare
sampled ranks, or scores of negatives        correct, compare, report
numbers printed in a paper                   reported, check
a recommender whose scores are expensive     evaluate_on_budget in Python
"""
app = typer.Typer(
    name="sampled-metrics",
    help=HELP,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for commands in (rankings, draws):
    guard(commands)
    for command in commands.registered_commands:
        # Paragraphs flow: their lines end where the terminal does, not where the source does.
        paragraphs = (inspect.getdoc(command.callback) or "").split("\n\n")
        for hint in get_type_hints(command.callback, include_extras=True).values():
            for info in getattr(hint, "__metadata__", ()):
                if isinstance(info, ArgumentInfo):
                    paragraphs.insert(1, f"{info.metavar}: {info.help}")
        command.help = "\n\n".join(paragraphs)
    app.add_typer(commands)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"sampled-metrics {sampled_metrics.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; print an error caused by invalid input as one line."""
    logging.basicConfig(format="%(message)s", handlers=[logging.StreamHandler()], force=True)
    _log.setLevel(logging.INFO)
    warnings.simplefilter("always", InputWarning)
    warnings.showwarning = _show_warning
    # A command that is terminated removes its temporary files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_fail("ended from outside", TERMINATED)))
    try:
        with standard_output(), command_line():
            status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except Exception as error:
        status = _fail(*_described(error))
    sys.exit(status)


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Write the questions of a warning as lines, unless a printed table ends with them."""
    questions = getattr(message, "notes", ())
    if questions and prints_table():
        return
    for line in questions or [str(message)]:
        _log.warning("%s", one_line(line))


def _described(error: Exception) -> tuple[str, int]:
    """Return message and exit status of an expected error; raise any other."""
    match error:
        case InputError():
            return str(error), WRONG_INPUT
        case typer.TyperException():
            message = error.format_message().replace("Value error, ", "")
            message += _example(error) * message.startswith("Missing")
            return " ".join(message.split()), WRONG_INPUT
        case OSError():
            return format_os_error(error), WRONG_INPUT
        case MemoryError():
            return f"{NO_MEMORY}: {error}", WRONG_INPUT
        case typer.Abort():
            return "interrupted", INTERRUPTED
        case ModuleNotFoundError() if not (error.name or "").startswith("sampled_metrics"):
            return f"this needs {error.name}: pip install {error.name}", WRONG_INPUT
    raise error


def _example(error: Any) -> str:
    """Say what a missing option is, with its value in the example of the command."""
    command = getattr(getattr(error, "ctx", None), "command", None)
    example = getattr(command, "epilog", None) or ""
    for name in getattr(getattr(error, "param", None), "opts", ()):
        value = re.search(rf"(?<=\s){name}\s+\S+", example)
        if value is not None:
            return f" {error.param.help.rstrip('.')}, e.g. {value.group()}"
    return f" {example}"


def _fail(message: str, status: int) -> int:
    _log.error(one_line(message))
    return status
