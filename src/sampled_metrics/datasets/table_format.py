"""How a table of interactions is written: the columns of its roles, and the separator."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sampled_metrics._base.errors import InputError

ROLES = ("user", "item", "rating", "timestamp")
_NEEDED = ROLES[:2]


@dataclass(frozen=True)
class TableFormat:
    """How a table is written.

    Attributes
    ----------
    columns
        Name of the column of each role, or its place from 0 in a file without header. The default
        is the role's own name, which is required for `user` and `item` only; None leaves a rating
        or a timestamp unread.
    separator
        One character; by default a tab if the first line has one, else a comma.
    """

    columns: Mapping[str, str | int | None] = field(default_factory=dict)
    separator: str | None = None

    @classmethod
    def of(cls, columns: Any, separator: Any) -> "TableFormat":
        """Make a format from settings.

        Raises
        ------
        InputError
            A role is not known, or a column or the separator not allowed.
        """
        if not isinstance(columns, Mapping):
            raise InputError(f"dataset: columns is {columns!r}; allowed: names by role")
        unknown = [role for role in columns if role not in ROLES]
        if unknown:
            raise InputError(
                f"dataset: columns: unknown role {unknown[0]!r}; known: {', '.join(ROLES)}"
            )
        unread = dict.fromkeys(
            role for role in columns if columns[role] is None and role not in _NEEDED
        )
        given = {role: column for role, column in columns.items() if column is not None}
        if not (all(map(_is_name, given.values())) or all(map(_is_place, given.values()))):
            raise InputError(
                f"dataset: columns is {dict(columns)!r}; allowed: names, or places from 0 "
                "for a file without header, not both"
            )
        if any(map(_is_place, given.values())) and not set(_NEEDED) <= set(given):
            raise InputError(
                f"dataset: columns is {dict(columns)!r}; allowed: places of both user and item"
            )
        if len(set(given.values())) < len(given):
            raise InputError(f"dataset: columns is {dict(columns)!r}; allowed: each column once")
        if separator is not None and not (
            isinstance(separator, str) and len(separator) == 1 and separator not in '\r\n"'
        ):
            raise InputError(
                f"dataset: separator is {separator!r}; "
                "allowed: one character, no quote or line break, or null"
            )
        return cls(given | unread, separator)

    @property
    def header(self) -> bool:
        """Whether the first line of a text file names the columns."""
        return not any(map(_is_place, self.columns.values()))

    @property
    def names(self) -> dict[str, str]:
        """Name of the column to read for each role; a place is written as text."""
        roles = ROLES if self.header else self.columns
        columns = {role: self.columns.get(role, role) for role in roles}
        return {role: str(column) for role, column in columns.items() if column is not None}

    @property
    def required(self) -> list[str]:
        """Roles whose column must be present: user, item and those named explicitly."""
        return [role for role in self.names if role in self.columns or role in _NEEDED]


def _is_name(column: object) -> bool:
    return isinstance(column, str)


def _is_place(column: object) -> bool:
    return isinstance(column, int) and not isinstance(column, bool) and column >= 0
