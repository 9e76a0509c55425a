"""Checks that some ranking can have the counts of `Ranks`."""

from typing import TYPE_CHECKING

import numpy as np

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks.columns import require

if TYPE_CHECKING:
    from sampled_metrics.ranks.ranks import Ranks


def check_counts(
    n_candidates: Int, n_better: Int, n_tied: Int, n_found: Int, n_relevant: Int, depth: Int
) -> dict[str, Int]:
    """Raise InputError unless some ranking has these counts; return items sorted best first."""
    require_lengths(n_candidates=n_candidates, n_found=n_found, n_relevant=n_relevant, depth=depth)
    _check_users(n_candidates, n_found, n_relevant, depth)
    require_lengths(n_better=n_better, n_tied=n_tied)
    if n_better.size != n_found.sum():
        raise InputError(f"{n_better.size} ranks of items, but n_found is {n_found.sum()} in all")
    user = np.repeat(np.arange(n_found.size), n_found)
    require("n_better", n_better, n_better >= 0, "at least 0")
    require("n_tied", n_tied, n_tied >= 0, "at least 0")
    require(
        "n_better", n_better, n_better < depth[user], "less than its user's n_candidates or depth"
    )
    n = n_candidates[user]
    fits = (n == 0) | (n_better + n_tied < n)
    require("n_tied", n_tied, fits, "n_better + n_tied below its user's n_candidates")
    if ((user[1:] == user[:-1]) & (n_better[1:] < n_better[:-1])).any():
        order = np.lexsort((n_better, user))
        n_better, n_tied = n_better[order], n_tied[order]
    _check_levels(user, n_better, n_tied)
    return {"n_better": n_better, "n_tied": n_tied}


def require_lengths(**columns: Int) -> None:
    """Raise InputError unless all columns have the same length."""
    sizes = {name: values.size for name, values in columns.items()}
    if len(set(sizes.values())) > 1:
        lengths = ", ".join(f"{name} {size}" for name, size in sizes.items())
        raise InputError(f"columns differ in length: {lengths}")


def _check_users(n_candidates: Int, n_found: Int, n_relevant: Int, depth: Int) -> None:
    known = n_candidates > 0
    require("n_candidates", n_candidates, n_candidates >= 0, "at least 0 (0: not known)")
    require("n_relevant", n_relevant, n_relevant >= 1, "at least 1")
    require("n_found", n_found, n_found >= 0, "at least 0")
    require("n_found", n_found, n_found <= n_relevant, "at most n_relevant")
    require("depth", depth, depth >= 0, "at least 0")
    require("depth", depth, ~known | (depth <= n_candidates), "at most n_candidates")
    below = n_candidates - depth
    fits = ~known | (n_relevant - n_found <= below)
    expected = "no more than are found or fit between depth and n_candidates"
    require("n_relevant", n_relevant, fits, expected)


def _check_levels(user: Int, better: Int, tied: Int) -> None:
    """Raise InputError unless items of a user share both counts or have separate ranks."""
    beside = user[1:] == user[:-1]
    same = beside & (better[1:] == better[:-1])
    overlap = beside & (better[1:] < (better + tied + 1)[:-1])
    clash = np.where(same, tied[1:] != tied[:-1], overlap)
    if clash.any():
        row = int(np.argmax(clash))
        raise InputError(
            f"ranks of two items overlap: {better[row]} better and {tied[row]} tied, "
            f"{better[row + 1]} better and {tied[row + 1]} tied (user in row {user[row] + 1})"
        )
    first = np.flatnonzero(np.concatenate([np.ones(min(user.size, 1), bool), ~same]))
    items = np.diff(first, append=user.size)
    crowded = items > tied[first] + 1
    if crowded.any():
        level = int(np.argmax(crowded))
        row = int(first[level])
        raise InputError(
            f"{items[level]} items with {better[row]} better and {tied[row]} tied (user in row "
            f"{user[row] + 1}); at most n_tied + 1 items can have such a rank"
        )


def not_single(ranks: "Ranks") -> InputError:
    """Return what to raise where a user has several relevant items or no full ranking."""
    several = np.flatnonzero(ranks.n_relevant > 1)
    if several.size:
        return InputError(
            f"{ranks.user_name(several[0])} has {ranks.n_relevant[several[0]]} relevant items "
            f"({several.size} users have several); one held-out item per user is needed"
        )
    cut = np.flatnonzero((ranks.n_candidates < 2) | (ranks.depth < ranks.n_candidates))
    return InputError(
        f"the list of {ranks.user_name(cut[0])} ends at rank {ranks.depth[cut[0]]} "
        f"({cut.size} users have such lists); full rankings are needed"
    )
