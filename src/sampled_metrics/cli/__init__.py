"""The command line. Invalid input ends with an error in one line and exit status 2."""

import inspect
import logging
import re
import signal
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, Any, get_type_hints

import typer
from typer.models import ArgumentInfo

import sampled_metrics
from sampled_metrics._base.calls import InputWarning, command_line
from sampled_metrics._base.errors import NO_MEMORY, InputError, format_os_error, one_line
from sampled_metrics._base.standard_output import standard_output
from sampled_metrics.cli.draws import draws_app
from sampled_metrics.cli.output import check_output_files, prints_table
from sampled_metrics.cli.rankings import rankings_app

WRONG_INPUT, INTERRUPTED, TERMINATED = 2, 130, 143
_logger = logging.getLogger("sampled_metrics")

HELP = """What sampled recommendation metrics can and cannot tell you.

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


def _help_text(command: Callable[..., Any]) -> str:
    """Return the docstring of a command, with the help of its arguments after the first paragraph.

    typer wraps each paragraph to the width of the terminal.
    """
    summary, *paragraphs = (inspect.getdoc(command) or "").split("\n\n")
    # A parameter is annotated as Annotated[type, option or argument of typer].
    hints = get_type_hints(command, include_extras=True).values()
    annotations = [info for hint in hints for info in getattr(hint, "__metadata__", ())]
    arguments = [
        f"{info.metavar}: {info.help}" for info in annotations if isinstance(info, ArgumentInfo)
    ]
    return "\n\n".join([summary, *arguments, *paragraphs])


for group in (rankings_app, draws_app):
    check_output_files(group)
    for registered in group.registered_commands:
        if registered.callback is not None:
            registered.help = _help_text(registered.callback)
    app.add_typer(group)


def _print_version(is_requested: bool) -> None:
    """Print the version and exit, if the option is given."""
    if is_requested:
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
    """Run the command; print errors caused by invalid input in one line."""
    _print_messages_as_lines()
    # Ending by an exception lets a terminated command remove its temporary files.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_fail("terminated", TERMINATED)))
    try:
        with standard_output(), command_line():
            status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except Exception as error:
        status = _fail(*_describe_error(error))
    sys.exit(status)


def _print_messages_as_lines() -> None:
    """Let the logger and warnings print lines on standard error, without their usual prefixes."""
    logging.basicConfig(format="%(message)s", handlers=[logging.StreamHandler()], force=True)
    _logger.setLevel(logging.INFO)
    warnings.simplefilter("always", InputWarning)
    warnings.showwarning = _show_warning


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning, in a line for each note, unless a printed table ends with these."""
    notes = getattr(message, "notes", ())
    if notes and prints_table():
        return
    for line in notes or [str(message)]:
        _logger.warning("%s", one_line(line))


def _describe_error(error: Exception) -> tuple[str, int]:
    """Return the message and the exit status of an expected error; raise any other error."""
    match error:
        case InputError():
            return str(error), WRONG_INPUT
        case typer.TyperException():
            message = error.format_message().replace("Value error, ", "")
            if message.startswith("Missing"):
                message += _missing_option_help(error)
            return " ".join(message.split()), WRONG_INPUT
        case OSError():
            return format_os_error(error), WRONG_INPUT
        case MemoryError():
            return f"{NO_MEMORY}: {error}", WRONG_INPUT
        case typer.Abort():
            return "interrupted", INTERRUPTED
        case ModuleNotFoundError() if error.name and not error.name.startswith("sampled_metrics"):
            return f"this needs {error.name}: pip install {error.name}", WRONG_INPUT
    raise error


def _missing_option_help(error: Any) -> str:
    """Describe a missing option, with its value in the example of the command.

    For a missing argument, which the example does not name, return the whole example. `error` is a
    MissingParameter of click, of which typer may have its own copy.
    """
    command = getattr(getattr(error, "ctx", None), "command", None)
    example = getattr(command, "epilog", None) or ""
    names = getattr(getattr(error, "param", None), "opts", ())  # such as --n-items
    for name in names:
        option_in_example = re.search(rf"(?<=\s){name}\s+\S+", example)
        if option_in_example is not None:
            return f" {error.param.help.rstrip('.')}, e.g. {option_in_example.group()}"
    return f" {example}"


def _fail(message: str, status: int) -> int:
    """Print an error and return the exit status."""
    _logger.error(one_line(message))
    return status
