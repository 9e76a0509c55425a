"""Errors about invalid input, and the text of messages."""

import re
import reprlib
from collections.abc import Iterable
from pathlib import Path

NO_MEMORY = "not enough memory"
_MAX_VALUE_LENGTH = 80  # characters of a value in a message
MAX_MESSAGE_LENGTH = 2000
MAX_NAMES_LENGTH = 200
# An argument and its option in a message: "n_items (--n-items)", "missing='last' (--missing last)".
_ARGUMENT_AND_OPTION = re.compile(r"(\w+(?:=(?:'[^']*'|\{[^}]*\}|[\w.]+))?) \((--[a-z][^()]*)\)")


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
        super().__init__(problem)
        self.text = problem  # names arguments with their options: "pass n_items (--n-items)"
        self.names_options = False  # whether messages keep the options, for the command line
        self.path = path
        self.row = row
        self.line = line
        self.column = column

    @property
    def problem(self) -> str:
        """What is wrong and what to do, without the place."""
        return name_arguments(self.text, as_options=self.names_options)

    def __str__(self) -> str:
        places = {"": self.path, "row ": self.row, "line ": self.line, "column ": self.column}
        place = ", ".join(f"{noun}{value}" for noun, value in places.items() if value is not None)
        message = f"{place}: {self.problem}" if place else self.problem
        return one_line(shorten(message, MAX_MESSAGE_LENGTH))


class NoRelevantItemsError(InputError):
    """Data needs relevant items, and there are none."""


def name_arguments(text: str, *, as_options: bool) -> str:
    """Name an argument with its option by one of the two.

    Examples
    --------
    >>> name_arguments("pass n_items (--n-items)", as_options=False)
    'pass n_items'
    >>> name_arguments("pass n_items (--n-items)", as_options=True)
    'pass --n-items'
    """
    return _ARGUMENT_AND_OPTION.sub(r"\2" if as_options else r"\1", text)


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
    return shorten(text, _MAX_VALUE_LENGTH)


def format_names(names: Iterable[str]) -> str:
    """Join the names of columns for a message; many are cut off."""
    return ", ".join(names)[:MAX_NAMES_LENGTH]


def shorten(text: str, max_length: int) -> str:
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
