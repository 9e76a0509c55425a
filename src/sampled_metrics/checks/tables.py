"""Signs that columns of a table are not what they are read as."""

from __future__ import annotations

from collections.abc import Iterable

from sampled_metrics.checks import Signs


def signs_of_other_ids(place: str, other_ids: Iterable[tuple[str, str]]) -> Signs:
    """Say which columns may contain the ids of a role as well, beside the column that is read."""
    for role, name in other_ids:
        yield place, f"{role} is read, and column {name} is not; which contains the ids?"


def signs_of_sessions(name: str, remedy: str) -> Signs:
    """Say that several ranks of a session without a user may be those of its steps.

    Parameters
    ----------
    name
        The column of sessions.
    remedy
        How to name the column of users then.
    """
    yield (
        "data",
        f"rows with the same {name} are read as relevant items of one ranking; if each has a "
        f"ranking of its own, number them in a column visit_id{remedy}",
    )
