"""Grades of relevant items, kept beside their ranks.

Grades follow the users; those of one user follow its items found, best first, and then come those
of the items not found.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sampled_metrics._base.arrays import Float, Int, ranges, starts
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks.checks import require

if TYPE_CHECKING:
    from sampled_metrics.ranks.ranks import Ranks


def check_grades(grades: ArrayLike, min_grade: float, n_better: Int, counts: dict[str, Int]) -> Any:
    """Raise InputError unless grades fit; return them with those of the items found best first.

    `n_better` has the order of the grades given.
    """
    n_found, n_relevant = counts["n_found"], counts["n_relevant"]
    array = np.asarray(grades, dtype=np.float64)
    if array.shape != (n_relevant.sum(),):
        raise InputError(
            f"grades have shape {array.shape}; expected {(int(n_relevant.sum()),)}, one for each "
            "relevant item"
        )
    require("grades", array, np.isfinite(array) & (array > 0.0), "a finite number above 0")
    user = np.repeat(np.arange(n_relevant.size), n_relevant)
    enough = count_enough(user, array, min_grade, n_relevant.size)
    require("grades", enough, enough > 0, f"an item of at least min_grade, {min_grade:g}")
    places = ranges(starts(n_relevant), n_found)
    ordered = array.copy()
    ordered[places] = array[places][np.lexsort((n_better, user[places]))]
    return ordered


def count_enough(user: NDArray[np.integer], grade: Float, min_grade: float, n_users: int) -> Int:
    """Count the items of each user whose grade is above 0 and at least `min_grade`."""
    return np.bincount(user[(grade > 0.0) & (grade >= min_grade)], minlength=n_users)


def of_found(ranks: "Ranks") -> Float | None:
    """Return the grades of the items found."""
    return None if ranks.grades is None else ranks.grades[_found(ranks)]


def of_users(ranks: "Ranks", users: Int) -> Float | None:
    """Return the grades of some users."""
    if ranks.grades is None:
        return None
    return ranks.grades[ranges(starts(ranks.n_relevant)[users], ranks.n_relevant[users])]


def joined(parts: "Sequence[Ranks]") -> dict[str, Any]:
    """Concatenate the grades of several ranks; items without one have grade 1."""
    least = {part.min_grade for part in parts}
    if len(least) > 1:
        raise InputError(f"min_grade differs between parts: {sorted(least)}")
    if all(part.grades is None for part in parts):
        return {"grades": None, "min_grade": least.pop()}
    grades = [
        np.ones(part.n_relevant.sum()) if part.grades is None else part.grades for part in parts
    ]
    return {"grades": np.concatenate(grades), "min_grade": least.pop()}


def without_grades(ranks: "Ranks") -> dict[str, Any]:
    """Return the columns of the items of at least `min_grade`."""
    relevant = np.asarray(ranks.grades) >= ranks.min_grade
    user = np.repeat(np.arange(len(ranks)), ranks.n_relevant)
    items = relevant[_found(ranks)]
    return {
        "n_better": ranks.n_better[items],
        "n_tied": ranks.n_tied[items],
        "n_found": np.bincount(user[_found(ranks)][items], minlength=len(ranks)),
        "n_relevant": np.bincount(user[relevant], minlength=len(ranks)),
    }


def _found(ranks: "Ranks") -> Int:
    """Return the places of the items found among the grades."""
    return ranges(starts(ranks.n_relevant), ranks.n_found)
