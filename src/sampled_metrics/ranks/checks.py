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
    _check_users(ranks)
    n_ranked, n_found = ranks.n_better.size, ranks.n_found.sum()
    if n_ranked != n_found:
        raise InputError(f"{n_ranked} ranks of items, but n_found is {n_found} in all")
    _check_items(ranks)


def _check_users(ranks: Ranks) -> None:
    """Raise InputError for the first user whose numbers contradict each other.

    Items that are found are relevant, a ranking ends at or above its last candidate, and relevant
    items that are not found are among the candidates below its end. If the number of candidates is
    0, it is not known, and any depth is possible.
    """
    n_candidates, n_found = ranks.n_candidates, ranks.n_found
    n_relevant, depth = ranks.n_relevant, ranks.depth
    is_unknown = n_candidates == 0
    may_end_there = is_unknown | (depth <= n_candidates)
    has_room_below = is_unknown | (n_relevant - n_found <= n_candidates - depth)

    def require(name: str, is_valid: Bool, expected: str) -> None:
        require_all(name, getattr(ranks, name), is_valid, expected)

    require("n_candidates", n_candidates >= 0, "at least 0 (0: not known)")
    require("n_relevant", n_relevant >= 1, "at least 1")
    require("n_found", (n_found >= 0) & (n_found <= n_relevant), "0 to n_relevant")
    require("depth", (depth >= 0) & may_end_there, "0 to n_candidates")
    require("n_relevant", has_room_below, "at most n_found and the candidates below depth")


def _check_items(ranks: Ranks) -> None:
    """Raise InputError for the first item found with more candidates above or tied than exist."""
    better, tied = ranks.n_better, ranks.n_tied
    user = user_of_item(ranks)
    n_candidates = ranks.n_candidates[user]
    is_above_depth = (better >= 0) & (better < ranks.depth[user])
    is_unknown = n_candidates == 0
    has_place = is_unknown | (better + tied < n_candidates)
    require_all(
        "n_better", better, is_above_depth, "0 to less than its user's n_candidates or depth"
    )
    require_all(
        "n_tied",
        tied,
        (tied >= 0) & has_place,
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
    """Check the grades of relevant items, and sort those of the items found.

    Parameters
    ----------
    relevance
        For each user the grades of the items found, then of the others; shape (sum of n_relevant,).
    order
        Order of the items found, as from `order_by_rank`; shape (items found,).

    Returns
    -------
    ndarray
        The same grades as `relevance`, with those of the items found in this order.
    """
    grades = as_array(relevance, "relevance", np.float64).copy()
    shape = (ranks.n_relevant.sum(),)
    if grades.shape != shape:
        raise InputError(f"relevance has shape {grades.shape}; expected {shape}")
    is_valid = np.isfinite(grades) & (grades > 0.0)
    require_all("relevance", grades, is_valid, "a finite number above 0")
    found_positions = concatenate_ranges(run_starts(ranks.n_relevant), ranks.n_found)
    grades[found_positions] = grades[found_positions][order]
    return grades


def check_levels(ranks: Ranks) -> None:
    """Raise InputError if ranks of two items of a user overlap without being the same.

    Items of a user are best first. An item and those tied with it, `n_tied + 1` in all, are a level
    with the ranks `n_better + 1` to `n_better + n_tied + 1`. So the next item of the user has the
    same counts, or more than `n_better + n_tied` better candidates.
    """
    if (ranks.n_found <= 1).all():
        return
    better = ranks.n_better
    tied = ranks.n_tied
    user = user_of_item(ranks)
    # Of each item but the first, compared with the item before it:
    is_next_user = np.diff(user) > 0
    is_same_level = (np.diff(better) == 0) & (np.diff(tied) == 0)
    is_lower_level = np.diff(better) > tied[:-1]
    # A level has an item too many if the item n_tied + 1 positions before is on it as well.
    level_size = tied + 1
    position = np.arange(user.size)
    before = np.maximum(position - level_size, 0)
    is_wrong = (position >= level_size) & (user[before] == user) & (better[before] == better)
    is_wrong[1:] |= ~(is_next_user | is_same_level | is_lower_level)
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise InputError(
            f"user in row {user[row] + 1}: items with {better[row - 1]} better and {tied[row - 1]} "
            f"tied, {better[row]} better and {tied[row]} tied; ranks of two items overlap; if rows "
            "are visits of a user, each with a ranking of its own, number them in a column "
            "visit_id (visits=)"
        )
