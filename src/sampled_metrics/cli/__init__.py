"""The command line, with one-line errors: exit status 2, or 69 if a server is unreachable."""

import atexit
import gc
import inspect
import logging
import signal
import sys
from typing import Annotated, Any

import typer

import sampled_metrics
from sampled_metrics._base.errors import NO_MEMORY, InputError, UnreachableError
from sampled_metrics.cli import logs
from sampled_metrics.cli.budget import app as budget
from sampled_metrics.cli.files import guard
from sampled_metrics.cli.metrics import app as metrics
from sampled_metrics.cli.negatives import app as negatives
from sampled_metrics.cli.own import app as own
from sampled_metrics.cli.pairs import app as pairs
from sampled_metrics.cli.study import app as study

WRONG_INPUT = 2
UNREACHABLE = 69  # EX_UNAVAILABLE of sysexits.h
INTERRUPTED = 130
TERMINATED = 143
STUDY_ONLY = ("implicit", "jinja2", "matplotlib", "pooch", "requests", "snakemake")
# The base of all errors of the command-line library, which typer exports only by its heirs.
_CommandLineError: type[Any] = typer.BadParameter.__mro__[2]

app = typer.Typer(
    name="sampled-metrics",
    help="Metrics of item recommendation under sampling, and their correction.",
    add_completion=False,
    pretty_exceptions_enable=False,
)
for commands in (own, pairs, negatives, metrics, budget):
    for command in commands.registered_commands:
        # Paragraphs flow: their lines end where the terminal does, not where the source does.
        paragraphs = (inspect.getdoc(command.callback) or "").split("\n\n")
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    app.add_typer(commands, name="budget" if commands is budget else None)
app.add_typer(study, name="study")
guard(app)


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
    """Run the command; print an error that the user can mend as one line, without a traceback."""
    # Nearly all objects belong to modules; searching them for garbage takes long.
    gc.set_threshold(100_000)
    atexit.register(gc.freeze)
    logs.configure()
    # Ended from outside, a step still removes what it has half written.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(_fail("ended from outside", TERMINATED)))
    try:
        _require_utf8(sys.argv[1:])
        with logs.warnings_as_messages():
            status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
    except UnreachableError as error:
        status = _fail(str(error), UNREACHABLE)
    except InputError as error:
        status = _fail(str(error))
    except _CommandLineError as error:
        status = _fail(" ".join(error.format_message().split()) + _hint(error))
    except OSError as error:
        status = _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except MemoryError as error:
        status = _fail(f"{NO_MEMORY}: {error}")
    except typer.Abort:
        status = _fail("interrupted", INTERRUPTED)
    except Exception as error:
        status = _unexpected(error)
    sys.exit(status)


def _require_utf8(words: list[str]) -> None:
    """Raise InputError for a name of a file that other libraries could not open."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            raise InputError(f"{word!r} is not UTF-8; rename the file") from None


def _hint(error: Any) -> str:
    """Name the option that stands for a letter, such as `--n-negatives` for `-m`."""
    letter = getattr(error, "option_name", "").lstrip("-")
    options = error.ctx.command.params if error.ctx else []
    names = [each.opts[0] for each in options if (each.help or "").startswith(f"{letter}: ")]
    return f". Did you mean {names[0]}?" if names else ""


def _unexpected(error: Exception) -> int:
    """Log a fault of ours, since Snakemake sends its user to the log; or name a missing package."""
    missing = isinstance(error, ModuleNotFoundError) and (error.name or "").split(".")[0]
    if missing in STUDY_ONLY:
        return _fail(f"this needs {missing}: pip install 'sampled-metrics[study]'")
    logging.getLogger("sampled_metrics").error("unexpected error", exc_info=error)
    return 1


def _fail(message: str, status: int = WRONG_INPUT) -> int:
    logging.getLogger("sampled_metrics").error(message)
    return status
