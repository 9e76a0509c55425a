"""The errors that a user of the package can mend."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

NO_MEMORY = "not enough memory"


class InputError(ValueError):
    """A file, an argument or a setting is invalid.

    Readers and public functions raise it for anything that their caller can mend, so their
    docstrings list it only where they say more than that. The message is one line: place, problem,
    remedy.

    Parameters
    ----------
    problem
        What is wrong and, where that is not obvious, what to do about it.
    path
        File in which it was found.
    row, line
        Row of a table, from 1 without the header, and its line in a text file.
    column
        Name of the column.

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
        parts = [] if self.path is None else [str(self.path)]
        if self.row is not None:
            parts.append(f"row {self.row}" + (f" (line {self.line})" if self.line else ""))
        elif self.line is not None:
            parts.append(f"line {self.line}")
        if self.column is not None:
            parts.append(f"column {self.column}")
        place = ", ".join(parts)
        return one_line(f"{place}: {self.problem}" if place else self.problem)


def one_line(text: str) -> str:
    r"""Join lines by blanks and write other characters that cannot be printed as escapes.

    Examples
    --------
    >>> one_line("a\r\n  b\x1b[2J")
    'a b\\x1b[2J'
    """
    line = re.sub(r"\s*[\r\n]\s*", " ", text)
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in line)


class InputWarning(UserWarning):
    """Data is valid, but looks like something else than it is taken for."""

    __module__ = "sampled_metrics"


class UnreachableError(InputError):
    """The publisher's server could not be reached, so nothing can be said of the data."""


@contextmanager
def reading(path: Path | str) -> Iterator[None]:
    """Name a file in errors about its content."""
    try:
        yield
    except InputError as error:
        error.path = path if error.path is None else error.path
        raise
