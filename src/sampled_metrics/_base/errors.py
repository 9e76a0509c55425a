"""Errors caused by invalid input, and questions about valid input that looks like a mistake."""

import inspect
import re
import reprlib
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import NamedTuple

NO_MEMORY = "not enough memory"
NOT_READ = "not read: "  # begins a note about columns of a table
READ_AS = "read as "  # begins a note about the meaning of numbers
VISIT_SEPARATOR = (
    "\x1f"  # between the ids of a user and of a visit, which hold no control characters
)
_MOST_OF_VALUE = 80  # characters of a value in a message
_MOST_OF_MESSAGE = 2000
_MOST_OF_COLUMNS = 200
_OURS = ("sampled_metrics", "contextlib")  # modules between a public function and a warning
_NAMELESS = ("", "data", "ranks")  # tables that are no files
_collections: ContextVar[tuple[list[str], ...]] = ContextVar("collections", default=())
_tables: ContextVar[tuple[list["TableNote"], ...]] = ContextVar("tables", default=())
_places: ContextVar[tuple[str, ...]] = ContextVar("places", default=())


class TableNote(NamedTuple):
    """Which columns of a table are not read, as far as is known; `unread` shrinks."""

    where: str
    names: tuple[str, ...]
    unread: set[str]


class InputError(ValueError):
    """A file, an argument or a setting is invalid; the message is one line: place, problem, remedy.

    Readers and public functions raise it for any invalid input; their docstrings do not list it.

    Parameters
    ----------
    problem
        The fault and, where it is not obvious, the remedy.
    path, row, line, column
        File, row of a table from 1 without the header, line of a text file, name of a column.

    Examples
    --------
    >>> print(InputError("duplicate user_id 7", path="X.csv", row=3))
    X.csv, row 3: duplicate user_id 7
    """

    __module__ = "sampled_metrics"  # its public place, which tracebacks show

    def __init__(
        self,
        problem: str,
        *,
        path: Path | str | None = None,
        row: int | None = None,
        line: int | None = None,
        column: str | None = None,
    ) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path
        self.row = row
        self.line = line
        self.column = column

    def __str__(self) -> str:
        found = {"": self.path, "row ": self.row, "line ": self.line, "column ": self.column}
        places = [f"{kind}{place}" for kind, place in found.items() if place is not None]
        message = self.problem
        if places:
            message = f"{', '.join(places)}: {message}"
        return one_line(_shortened(message, _MOST_OF_MESSAGE))


def one_line(text: str) -> str:
    """Join lines by blanks and write other characters that cannot be printed as escapes."""
    line = re.sub(r"\s*[\r\n]\s*", " ", text.replace(VISIT_SEPARATOR, ", visit "))
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


def format_value(value: object) -> str:
    """Write a value for a message, of long ones both ends."""
    writer = reprlib.Repr()
    writer.maxstring = writer.maxother = writer.maxlong = _MOST_OF_VALUE
    try:
        text = writer.repr(value)
    except ValueError:  # a whole number of more digits than Python writes
        text = f"of type {type(value).__name__}, too long to be written"
    return _shortened(text, _MOST_OF_VALUE)


def _shortened(text: str, most: int) -> str:
    """Leave out the middle of a long text."""
    if len(text) <= most:
        return text
    half = (most - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"


def format_os_error(error: OSError) -> str:
    """Return the file and the problem, without the number of the error."""
    place = "" if error.filename is None else f"{error.filename}: "
    return one_line(f"{place}{error.strerror or error}")


def cli_option(name: str) -> str:
    """Return the option of the command line for an argument of Python."""
    return f"--{name.replace('_', '-')}"


class InputWarning(UserWarning):
    """Data is valid, but looks like a mistake.

    Attributes
    ----------
    notes
        The questions in full that a result keeps, which the message may only count; none of a
        warning that no result keeps.

    Examples
    --------
    >>> import warnings, sampled_metrics as sm
    >>> with warnings.catch_warnings(action="error"):
    ...     sm.correct([1, 2, 2], "auc", n_items=4, n_negatives=3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sampled_metrics.InputWarning: n_items: n_items (--n-items) is 4, the held-out item and its 3...
    """

    __module__ = "sampled_metrics"

    def __init__(self, message: str, notes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.notes = tuple(notes)


@contextmanager
def reading(path: object) -> Iterator[None]:
    """Name a file or a recommender in errors and questions about it; other data has no name."""
    name = path if isinstance(path, str | Path) else None
    places = _places.get()
    if name is not None:
        places = (*places, str(name))
    token = _places.set(places)
    try:
        yield
    except InputError as error:
        if error.path is None:
            error.path = name or None  # a single recommender may have no name
        raise
    finally:
        _places.reset(token)


def warn_input(argument: str, problem: str) -> None:
    """Warn the caller of a public function about an argument; the same question only once.

    Where results keep their warnings, `collect_warnings` collects them and warns of all at once.
    """
    place = next(iter(_places.get()), "")  # the recommender or file that is read
    where = argument
    if place not in _NAMELESS:
        where = f"{place}, {argument}"
    question = one_line(_shortened(f"{where}: {problem}", _MOST_OF_MESSAGE))
    _collect(question)
    if not _collections.get():
        _warn(InputWarning(question))


def _warn(warning: InputWarning) -> None:
    """Warn the caller of a public function."""
    frame = inspect.currentframe()
    level = 1
    # Code that is executed may have no name.
    while frame and frame.f_globals.get("__name__", "").startswith(_OURS):
        frame = frame.f_back
        level += 1
    warnings.warn(warning, stacklevel=level)


def note_meaning(argument: str, meaning: str) -> None:
    """Have the results note how numbers are read, without a warning."""
    _collect(one_line(f"{argument}: {READ_AS}{meaning}"))


def _collect(text: str) -> None:
    """Add a text to all collections, each once."""
    for texts in _collections.get():
        if text not in texts:
            texts.append(text)


def _questions(texts: list[str]) -> list[str]:
    """Return the texts that are no notes about the meaning of numbers."""
    return [text for text in texts if f": {READ_AS}" not in text]


@contextmanager
def suppress_warnings() -> Iterator[list[str]]:
    """Collect the questions inside, and ask none."""
    asked: list[str] = []
    token = _collections.set((asked,))
    try:
        with warnings.catch_warnings(action="ignore", category=InputWarning):
            yield asked
    finally:
        _collections.reset(token)


@contextmanager
def collect_warnings(see: str = "print(result.notes)") -> Iterator[list[str]]:
    """Collect the questions that are asked inside, each once, and columns that are not read.

    In the end, warn of the questions once: of one in full, of several by their number and where
    to `see` them.
    """
    asked: list[str] = []
    questions: list[str] = []
    tables: list[TableNote] = []
    outer = _collections.get()
    token = _collections.set((*outer, asked))
    token_of_tables = _tables.set((*_tables.get(), tables))
    try:
        yield asked
        questions = _questions(asked)
        asked += _not_read(tables)
    except InputError:
        # No result keeps the questions, which may say why.
        if not outer:
            for question in _questions(asked):
                _warn(InputWarning(question))
        raise
    finally:
        _collections.reset(token)
        _tables.reset(token_of_tables)
    if questions and not outer:
        message = questions[0]
        if len(questions) > 1:
            message = f"{len(questions)} warnings about this input: {see}"
        _warn(InputWarning(message, questions))


def watch_columns(argument: str, names: Sequence[str], unread: set[str]) -> None:
    """Have the results note the columns of a table that are not read in the end.

    The caller takes names out of the set `unread` as it reads them.
    """
    place = next(iter(_places.get()), "")
    where = argument
    if place not in (*_NAMELESS, argument):
        where = f"{place}, {argument}"
    for tables in _tables.get():
        tables.append(TableNote(where, tuple(names), unread))


def _not_read(tables: list[TableNote]) -> list[str]:
    """Write the columns that no reading of a table has taken."""
    unread: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for table in tables:
        key = table.where, table.names
        unread[key] = unread.get(key, table.unread) & table.unread
    return [
        one_line(f"{where}: {NOT_READ}{_shortened(', '.join(columns), _MOST_OF_COLUMNS)}")
        for (where, names), left in unread.items()
        if (columns := [name for name in names if name in left])
    ]
