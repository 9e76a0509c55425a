"""Checks that the counts of `Ranks` are those of a possible ranking."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.array_types import Bool, Float, Int
from sampled_metrics._base.arrays import concatenate_ranges, run_starts
from sampled_metrics._base.columns import require_all
from sampled_metrics._base.conversion import as_array
from sampled_metrics._base.errors import InputError

if TYPE_CHECKING:
    from sampled_metrics.ranks.ranks import Ranks

COUNT_COLUMNS = ("n_candidates", "n_better", "n_tied")
USER_FIELDS = ("n_candidates", "n_found", "n_relevant", "depth")


def check_counts(ranks: Ranks) -> None:
    """Raise InputError with the row and the column of the first impossible count."""
    for names in (USER_FIELDS, ("n_better", "n_tied")):
        lengths = {name: getattr(ranks, name).size for name in names}
        if len(set(lengths.values())) > 1:
            raise InputError(f"columns differ in length: {lengths}")
    n_candidates, n_found = ranks.n_candidates, ranks.n_found
    n_relevant, depth = ranks.n_relevant, ranks.depth

    def require_users(name: str, is_valid: Bool, expected: str) -> None:
        require_all(name, getattr(ranks, name), is_valid, expected)

    require_users("n_candidates", n_candidates >= 0, "at least 0 (0: not known)")
    require_users("n_relevant", n_relevant >= 1, "at least 1")
    require_users("n_found", (n_found >= 0) & (n_found <= n_relevant), "0 to n_relevant")
    is_unknown = n_candidates == 0
    is_possible = is_unknown | (depth <= n_candidates)
    require_users("depth", (depth >= 0) & is_possible, "0 to n_candidates")
    is_possible_below = is_unknown | (n_relevant - n_found <= n_candidates - depth)
    require_users("n_relevant", is_possible_below, "at most n_found and the candidates below depth")
    better, tied = ranks.n_better, ranks.n_tied
    if better.size != n_found.sum():
        raise InputError(f"{better.size} ranks of items, but n_found is {n_found.sum()} in all")
    user = user_of_item(ranks)
    is_above_depth = (better >= 0) & (better < depth[user])
    require_all(
        "n_better", better, is_above_depth, "0 to less than its user's n_candidates or depth"
    )
    is_possible_tie = is_unknown[user] | (better + tied < n_candidates[user])
    require_all(
        "n_tied",
        tied,
        (tied >= 0) & is_possible_tie,
        "at least 0, and n_better + n_tied below n_candidates",
    )


def user_of_item(ranks: Ranks) -> Int:
    """Return the row of the user of each item found."""
    return np.repeat(np.arange(ranks.n_found.size), ranks.n_found)


def order_by_rank(ranks: Ranks) -> Int:
    """Return the order that puts the items of each user best first; users stay in their order."""
    if (ranks.n_found == 1).all():
        return np.arange(ranks.n_better.size)
    return np.lexsort((ranks.n_better, user_of_item(ranks)))


def ordered_grades(ranks: Ranks, relevance: ArrayLike, order: Int) -> Float:
    """Check the grades of relevant items, and put those of the items found in order."""
    grades = as_array(relevance, "relevance", np.float64).copy()
    shape = (ranks.n_relevant.sum(),)
    if grades.shape != shape:
        raise InputError(f"relevance has shape {grades.shape}; expected {shape}")
    is_valid = np.isfinite(grades) & (grades > 0.0)
    require_all("relevance", grades, is_valid, "a finite number above 0")
    of_found_items = concatenate_ranges(run_starts(ranks.n_relevant), ranks.n_found)
    grades[of_found_items] = grades[of_found_items][order]
    return grades


def check_levels(ranks: Ranks) -> None:
    """Raise InputError if ranks of two items of a user overlap without being the same.

    Two items have the same counts, or the second has more than `n_better + n_tied` of the first
    above it. At most `n_tied + 1` items are level.
    """
    better = ranks.n_better
    tied = ranks.n_tied
    user = user_of_item(ranks)
    # Of each item but the first, and the item before it:
    is_same_level = (np.diff(better) == 0) & (np.diff(tied) == 0)
    is_separate = (np.diff(user) > 0) | (np.diff(better) > tied[:-1])
    # An item is one too many if the item n_tied + 1 places before it is level with it.
    position = np.arange(user.size)
    before = np.maximum(position - tied - 1, 0)
    is_wrong = (position > tied) & (user[before] == user) & (better[before] == better)
    is_wrong[1:] |= ~(is_same_level | is_separate)
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise InputError(
            f"user in row {user[row] + 1}: items with {better[row - 1]} better and {tied[row - 1]} "
            f"tied, {better[row]} better and {tied[row]} tied; ranks of two items overlap; if rows "
            "are visits of a user, each with a ranking of its own, number them in a column "
            "visit_id (visits=)"
        )
