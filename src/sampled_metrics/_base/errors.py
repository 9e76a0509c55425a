"""Errors about invalid input, and warnings about valid input that looks like a mistake.

While a public function runs, three context variables hold what its results will note: warnings and
other notes (`_collections`), the tables whose columns may be left unread (`_tables`) and the names
of the files or recommenders that are being read (`_places`).
"""

import inspect
import re
import reprlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from pathlib import Path
from typing import NamedTuple

NO_MEMORY = "not enough memory"
_MAX_VALUE_LENGTH = 80  # characters of a value in a message
_MAX_MESSAGE_LENGTH = 2000
_MAX_NAMES_LENGTH = 200
_INNER_MODULES = ("sampled_metrics", "contextlib")  # between the caller and a warning
_UNNAMED_TABLES = ("", "data", "ranks")  # names of arguments, not of files
# An argument and its option in a message: "n_items (--n-items)", "missing='last' (--missing last)".
_ARGUMENT_AND_OPTION = re.compile(r"(\w+(?:=(?:'[^']*'|\{[^}]*\}|[\w.]+))?) \((--[a-z][^()]*)\)")
_is_command = False  # whether the command line runs, whose messages name options
_collections: ContextVar[tuple[list["Note"], ...]] = ContextVar("collections", default=())
_tables: ContextVar[tuple[list["WatchedTable"], ...]] = ContextVar("tables", default=())
_places: ContextVar[tuple[str, ...]] = ContextVar("places", default=())


class NoteKind(Enum):
    """What a note of a result is about."""

    WARNING = "warning"  # data that looks like a mistake
    READ_AS = "read as"  # the meaning that data or an option was taken to have
    NOT_READ = "not read"  # columns of a table that no reader has taken


class Note(NamedTuple):
    """A note of a result about its data.

    Attributes
    ----------
    place
        The argument, after the name of the file or recommender if there is one.
    text
        What there is to say about it.
    """

    kind: NoteKind
    place: str
    text: str

    def __str__(self) -> str:
        return one_line(_shorten(f"{self.place}: {self.text}", _MAX_MESSAGE_LENGTH))


class WatchedTable(NamedTuple):
    """A table that is being read; readers remove the columns that they take from `unread`."""

    place: str
    names: tuple[str, ...]
    unread: set[str]


class InputError(ValueError):
    """A file, an argument or a setting is invalid; the message is one line: place, problem, remedy.

    Readers and public functions raise it for any invalid input; docstrings of public functions list
    it.

    Parameters
    ----------
    problem
        What is wrong and, where it is not obvious, what to do.
    path, row, line, column
        File, row of a table from 1 without the header, line of a text file, name of a column.

    Examples
    --------
    >>> print(InputError("duplicate user_id 7", path="X.csv", row=3))
    X.csv, row 3: duplicate user_id 7
    """

    __module__ = "sampled_metrics"  # the public module, which tracebacks show

    def __init__(
        self,
        problem: str,
        *,
        path: Path | str | None = None,
        row: int | None = None,
        line: int | None = None,
        column: str | None = None,
    ) -> None:
        problem = adapt_to_caller(problem)
        super().__init__(problem)
        self.problem = problem
        self.path = path
        self.row = row
        self.line = line
        self.column = column

    def __str__(self) -> str:
        places = {"": self.path, "row ": self.row, "line ": self.line, "column ": self.column}
        place = ", ".join(f"{noun}{value}" for noun, value in places.items() if value is not None)
        message = f"{place}: {self.problem}" if place else self.problem
        return one_line(_shorten(message, _MAX_MESSAGE_LENGTH))


class NoRelevantItemsError(InputError):
    """Data needs relevant items, and none are given."""


@contextmanager
def command_line() -> Iterator[None]:
    """Name options instead of arguments in the messages that are made inside."""
    global _is_command
    before = _is_command
    _is_command = True
    try:
        yield
    finally:
        _is_command = before


def adapt_to_caller(text: str) -> str:
    """Name an argument as the caller wrote it: in Python or, on the command line, as an option.

    Examples
    --------
    >>> adapt_to_caller("give n_items (--n-items)")
    'give n_items'
    >>> with command_line():
    ...     adapt_to_caller("give n_items (--n-items)")
    'give --n-items'
    """
    return _ARGUMENT_AND_OPTION.sub(r"\2" if _is_command else r"\1", text)


def one_line(text: str) -> str:
    """Replace line breaks by blanks, and other characters that cannot be printed by escapes."""
    line = re.sub(r"\s*[\r\n]\s*", " ", text)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


def format_value(value: object) -> str:
    """Write a value for a message; a long one is shortened in the middle."""
    writer = reprlib.Repr()
    writer.maxstring = writer.maxother = writer.maxlong = _MAX_VALUE_LENGTH
    try:
        text = writer.repr(value)
    except ValueError:  # a whole number with more digits than Python writes
        text = f"of type {type(value).__name__}, too long to be written"
    return _shorten(text, _MAX_VALUE_LENGTH)


def format_names(names: Iterable[str]) -> str:
    """Join the names of columns for a message; many are cut off."""
    return ", ".join(names)[:_MAX_NAMES_LENGTH]


def _shorten(text: str, max_length: int) -> str:
    """Replace the middle of a long text by dots."""
    if len(text) <= max_length:
        return text
    half = (max_length - 5) // 2
    return f"{text[:half]} ... {text[-half:]}"


def format_os_error(error: OSError) -> str:
    """Return the file and the problem, without the number of the error."""
    place = "" if error.filename is None else f"{error.filename}: "
    return one_line(f"{place}{error.strerror or error}")


def cli_option(name: str) -> str:
    """Return the command-line option for an argument of Python, such as `--n-items`."""
    return f"--{name.replace('_', '-')}"


class InputWarning(UserWarning):
    """Data is valid, but looks like a mistake.

    Attributes
    ----------
    notes
        The full texts of the warnings that a result stores, where the message only counts them;
        empty for a warning that no result stores.

    Examples
    --------
    >>> import warnings, sampled_metrics as sm
    >>> with warnings.catch_warnings(action="error"):
    ...     sm.correct([1, 2, 2], "auc", n_items=4, n_negatives=3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sampled_metrics.InputWarning: n_items: n_items is 4, the held-out item and its 3...
    """

    __module__ = "sampled_metrics"

    def __init__(self, message: str, notes: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.notes = tuple(notes)


@contextmanager
def reading(data: object) -> Iterator[None]:
    """Name a file or a recommender in errors and warnings about it.

    Data other than a path or a text has no name.
    """
    name = data if isinstance(data, str | Path) else None
    places = _places.get()
    if name is not None:
        places = (*places, str(name))
    token = _places.set(places)
    try:
        yield
    except InputError as error:
        if error.path is None:
            error.path = name or None  # the name of a single recommender may be empty
        raise
    finally:
        _places.reset(token)


def warn_input(argument: str, problem: str) -> None:
    """Warn the caller of a public function about an argument.

    Within `collect_warnings`, the warning is collected instead, once however often it is repeated.
    """
    note = Note(NoteKind.WARNING, _place_of(argument), adapt_to_caller(problem))
    _collect(note)
    if not _collections.get():
        _warn(InputWarning(str(note)))


def _place_of(argument: str) -> str:
    """Name an argument after the file or recommender that is being read, if it has a name."""
    place = next(iter(_places.get()), "")
    if place in (*_UNNAMED_TABLES, argument):
        return argument
    return f"{place}, {argument}"


def warn_all(signs: Iterable[tuple[str, str]]) -> None:
    """Warn the caller of a public function of signs of a mistake, each of an argument."""
    for argument, problem in signs:
        warn_input(argument, problem)


def _warn(warning: InputWarning) -> None:
    """Issue a warning that points at the line of the caller of a public function."""
    frame = inspect.currentframe()
    level = 1
    # Code that is executed from a string may have no module name.
    while frame and frame.f_globals.get("__name__", "").startswith(_INNER_MODULES):
        frame = frame.f_back
        level += 1
    warnings.warn(warning, stacklevel=level)


def note_meaning(argument: str, meaning: str) -> None:
    """Add a note to the results on how data or an option was read, without a warning."""
    _collect(Note(NoteKind.READ_AS, argument, f"read as {adapt_to_caller(meaning)}"))


def _collect(note: Note) -> None:
    """Add a note to all open collections, once to each."""
    for notes in _collections.get():
        if note not in notes:
            notes.append(note)


def warnings_among(notes: Iterable[Note]) -> list[str]:
    """Return the texts of the notes that are warnings."""
    return [str(note) for note in notes if note.kind is NoteKind.WARNING]


@contextmanager
def suppress_warnings() -> Iterator[None]:
    """Issue no warning in the block, and let no collection have its notes."""
    token = _collections.set(([],))
    try:
        with warnings.catch_warnings(action="ignore", category=InputWarning):
            yield
    finally:
        _collections.reset(token)


@contextmanager
def collect_warnings(see: str = "print(result.notes)") -> Iterator[list[Note]]:
    """Collect the warnings and other notes of the block for its result, each once.

    In the end, the list also contains notes about columns that were not read. After
    the block there is one warning: the full text of a single warning, or the number of warnings and
    where to `see` them.
    """
    notes: list[Note] = []
    messages: list[str] = []
    tables: list[WatchedTable] = []
    outer = _collections.get()
    token = _collections.set((*outer, notes))
    table_token = _tables.set((*_tables.get(), tables))
    try:
        yield notes
        messages = warnings_among(notes)
        notes += _describe_unread_columns(tables)
    except InputError:
        # There is no result to store the warnings, which may explain the error.
        if not outer:
            for message in warnings_among(notes):
                _warn(InputWarning(message))
        raise
    finally:
        _collections.reset(token)
        _tables.reset(table_token)
    if messages and not outer:
        summary = messages[0]
        if len(messages) > 1:
            summary = f"{len(messages)} warnings about this input: {see}"
        _warn(InputWarning(summary, messages))


def watch_columns(argument: str, names: Sequence[str], unread: set[str]) -> None:
    """Have the results note the columns of a table that are still `unread` in the end.

    The caller removes names from the set `unread` as it reads their columns.
    """
    table = WatchedTable(_place_of(argument), tuple(names), unread)
    for tables in _tables.get():
        tables.append(table)


def _describe_unread_columns(tables: list[WatchedTable]) -> list[Note]:
    """Write a note for each table with columns that no reader has taken."""
    unread: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for table in tables:
        key = table.place, table.names
        unread[key] = unread.get(key, table.unread) & table.unread
    notes = []
    for (place, names), unread_names in unread.items():
        columns = ", ".join(name for name in names if name in unread_names)
        if columns:
            text = f"not read: {_shorten(columns, _MAX_NAMES_LENGTH)}"
            notes.append(Note(NoteKind.NOT_READ, place, text))
    return notes
