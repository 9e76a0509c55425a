"""The state of a call of a public function, and the warnings and notes that it ends with.

`Call` is the only state that functions share without passing it. The decorator `public` opens one
for each call of a public function, in one context variable.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

from sampled_metrics._base.errors import (
    MAX_MESSAGE_LENGTH,
    MAX_NAMES_LENGTH,
    InputError,
    format_names,
    format_value,
    name_arguments,
    one_line,
    shorten,
)
from sampled_metrics._base.threads import Parameters, Result

IN_RESULT = "print(result.notes)"  # where warnings are, if a result stores them
_INNER_MODULES = ("sampled_metrics", "contextlib")  # between the caller and a warning
_UNNAMED_TABLES = ("", "data", "ranks")  # names of arguments, not of files


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
        return one_line(shorten(f"{self.place}: {self.text}", MAX_MESSAGE_LENGTH))


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


class WatchedTable(NamedTuple):
    """A table that is being read; readers remove the columns that they take from `unread`."""

    place: str
    names: tuple[str, ...]
    unread: set[str]


class AssignedColumns(NamedTuple):
    """The argument `columns`: roles that the caller assigned to names of columns.

    Readers add the names of all columns of the tables that they read to `read_names`.
    """

    role_by_name: Mapping[str, str]
    read_names: dict[str, None]


@dataclass(frozen=True, eq=False)
class Call:
    """The state of a call of a public function.

    Attributes
    ----------
    is_command
        Whether the command line asks, so that messages name options instead of arguments.
    is_open
        Whether a public function runs. Outside of all, nothing is noted, and warnings are issued at
        once.
    outer
        The call of the public function that called this one, None if the user did.
    places
        Names of the files and recommenders that are being read, from the outermost on.
    columns
        The argument `columns` of this function, or of an outer one; None without.
    notes
        Warnings and other notes on the data, each once.
    tables
        The tables that are being read, some of whose columns may stay unread.
    """

    is_command: bool = False
    is_open: bool = False
    outer: Call | None = None
    places: tuple[str, ...] = ()
    columns: AssignedColumns | None = None
    notes: list[Note] = field(default_factory=list)
    tables: list[WatchedTable] = field(default_factory=list)

    def full_name(self, argument: str) -> str:
        """Name an argument after the file or recommender that is being read, if it has a name."""
        outermost = next(iter(self.places), "")
        if outermost in (*_UNNAMED_TABLES, argument):
            return argument
        return f"{outermost}, {argument}"

    def add(self, note: Note) -> None:
        """Add a note to this call and to the outer ones, once to each."""
        for call in self._open_calls():
            if note not in call.notes:
                call.notes.append(note)

    def watch(self, table: WatchedTable) -> None:
        """Have this call and the outer ones note the columns of a table that stay unread."""
        for call in self._open_calls():
            call.tables.append(table)

    def _open_calls(self) -> Iterator[Call]:
        """Yield this call and the outer ones, from the innermost on; none outside of all."""
        call: Call | None = self if self.is_open else None
        while call is not None:
            yield call
            call = call.outer

    def require_columns(self) -> None:
        """Raise InputError for a name in the argument `columns` that no table has."""
        if self.columns is None:
            return
        read_names = self.columns.read_names
        for name in self.columns.role_by_name:
            if name not in read_names:
                found = format_names(read_names) or "no table"
                raise InputError(f"columns (--column) name {format_value(name)}; found {found}")

    def all_notes(self) -> list[Note]:
        """Add notes on columns that were not read so far, and return all notes."""
        self.notes.extend(_describe_unread_columns(self.tables))
        self.tables.clear()
        return self.notes


_OUTSIDE = Call()  # of all public functions
_call: ContextVar[Call] = ContextVar("call", default=_OUTSIDE)


def current_call() -> Call:
    """Return the state of the innermost call of a public function."""
    return _call.get()


def public(
    *, columns: Callable[[Any], Mapping[str, str]] | None = None, see: str = ""
) -> Callable[[Callable[Parameters, Result]], Callable[Parameters, Result]]:
    """Decorate a public function: open a `Call`, and warn of what it notes in the end.

    Parameters
    ----------
    columns
        Reads the argument `columns`, roles of columns by name. Each name must be found in some
        table. Errors about it name the file of the first argument, if that is `data`.
    see
        Where the result stores warnings, see `open_call`.

    Examples
    --------
    >>> @public(see=IN_RESULT)
    ... def count(data):
    ...     warn_all(("data", f"found {entry}") for entry in data if entry < 0)
    ...     return len(data), current_call().notes
    >>> with warnings.catch_warnings(action="ignore"):
    ...     size, notes = count([7, -1])
    >>> size, [str(note) for note in notes]
    (2, ['data: found -1'])
    """

    def decorate(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
        takes_data = next(iter(inspect.signature(function).parameters), "") == "data"

        @wraps(function)
        def with_call(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
            names_by_role = kwargs.get("columns")
            if columns is None or names_by_role is None:
                with open_call(see=see):
                    return function(*args, **kwargs)
            data = next(iter(args), kwargs.get("data")) if takes_data else None
            with place_of(data):  # errors about `columns` name its file
                role_by_name = columns(names_by_role)
            with open_call(see=see, columns=AssignedColumns(role_by_name, {})) as call:
                result = function(*args, **kwargs)
                with place_of(data):
                    call.require_columns()
            return result

        return with_call

    return decorate


@contextmanager
def open_call(*, see: str = "", columns: AssignedColumns | None = None) -> Iterator[Call]:
    """Collect the warnings and other notes of the block, each once.

    In the end, the notes of the call include columns that were not read. If no public function
    called this one, the caller is then warned: with the full text of each warning; or, if a result
    stores them and `see` says where, with one warning, which has the full text of a single one or
    the number of several. If the block raises InputError, there is no result to store warnings,
    which may explain the error: each is issued.
    """
    before = _call.get()
    call = Call(
        is_command=before.is_command,
        is_open=True,
        outer=before if before.is_open else None,
        places=before.places,
        columns=before.columns if columns is None else columns,
    )
    token = _call.set(call)
    try:
        yield call
    except InputError:
        if call.outer is None:
            _warn_of_each(warnings_among(call.notes))
        raise
    finally:
        _call.reset(token)
    notes = call.all_notes()
    if call.outer is None:
        _warn_in_the_end(warnings_among(notes), see)


def _warn_in_the_end(messages: Sequence[str], see: str) -> None:
    """Warn of each message or, if `see` says where a result stores them, at most once."""
    if not see:
        _warn_of_each(messages)
    elif messages:
        n_messages = len(messages)
        summary = f"{n_messages} warnings about this input: {see}"
        _warn(InputWarning(messages[0] if n_messages == 1 else summary, messages))


@contextmanager
def place_of(data: object) -> Iterator[None]:
    """Name a file or a recommender in the errors and warnings that are made inside.

    The name is `data` if it is a path or a text; other data has none.
    """
    name = data if isinstance(data, str | Path) else None
    call = _call.get()
    if name is not None:
        call = replace(call, places=(*call.places, str(name)))
    token = _call.set(call)
    try:
        yield
    except InputError as error:
        if error.path is None:
            error.path = name or None  # the name of a single recommender may be empty
        raise
    finally:
        _call.reset(token)


@contextmanager
def command_line() -> Iterator[None]:
    """Name options instead of arguments in the messages that are made inside."""
    token = _call.set(replace(_call.get(), is_command=True))
    try:
        yield
    except InputError as error:
        error.names_options = True
        raise
    finally:
        _call.reset(token)


def adapt_to_caller(text: str) -> str:
    """Name an argument as the caller wrote it: in Python or, on the command line, as an option.

    Examples
    --------
    >>> adapt_to_caller("pass n_items (--n-items)")
    'pass n_items'
    >>> with command_line():
    ...     adapt_to_caller("pass n_items (--n-items)")
    'pass --n-items'
    """
    return name_arguments(text, as_options=_call.get().is_command)


def warn_all(signs: Iterable[tuple[str, str]]) -> None:
    """Warn the caller of a public function of signs of a mistake, each of an argument."""
    call = _call.get()
    for argument, problem in signs:
        note = Note(NoteKind.WARNING, call.full_name(argument), adapt_to_caller(problem))
        call.add(note)
        if not call.is_open:
            _warn(InputWarning(str(note)))


def note_meaning(argument: str, meaning: str) -> None:
    """Add a note to the results on how data or an option was read, without a warning."""
    _call.get().add(Note(NoteKind.READ_AS, argument, f"read as {adapt_to_caller(meaning)}"))


def watch_columns(argument: str, names: Sequence[str], unread: set[str]) -> None:
    """Have the results note the columns of a table that are still `unread` in the end.

    The caller removes names from the set `unread` as it reads their columns.
    """
    call = _call.get()
    call.watch(WatchedTable(call.full_name(argument), tuple(names), unread))


def warnings_among(notes: Iterable[Note]) -> list[str]:
    """Return the texts of the notes that are warnings."""
    return [str(note) for note in notes if note.kind is NoteKind.WARNING]


def _describe_unread_columns(tables: list[WatchedTable]) -> list[Note]:
    """Write a note for each table with columns that no reader has taken.

    A table that was read several times has the columns unread that no time has taken.
    """
    unread_by_table: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for table in tables:  # several entries if one table was read several times
        place_and_names = table.place, table.names
        unread_before = unread_by_table.get(place_and_names, table.unread)
        unread_by_table[place_and_names] = unread_before & table.unread
    notes = []
    for (place, names), unread_names in unread_by_table.items():
        columns = ", ".join(name for name in names if name in unread_names)
        if columns:
            text = f"not read: {shorten(columns, MAX_NAMES_LENGTH)}"
            notes.append(Note(NoteKind.NOT_READ, place, text))
    return notes


def _warn_of_each(messages: Iterable[str]) -> None:
    for message in messages:
        _warn(InputWarning(message))


def _warn(warning: InputWarning) -> None:
    """Issue a warning that points at the line of the caller of a public function."""
    frame = inspect.currentframe()
    level = 1  # of the stack, where 1 is this function
    # Code that is executed from a string may have no module name.
    while frame and frame.f_globals.get("__name__", "").startswith(_INNER_MODULES):
        frame = frame.f_back
        level += 1
    warnings.warn(warning, stacklevel=level)
