"""How a table of interactions is written: the columns of its roles, and the separator."""

from collections.abc import Mapping
from dataclasses import dataclass, field

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


def _is_place(column: object) -> bool:
    return isinstance(column, int) and not isinstance(column, bool) and column >= 0
