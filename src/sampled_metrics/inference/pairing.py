"""Users that two evaluations have in common, and evaluations that do not look alike."""

from collections.abc import Mapping
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from sampled_metrics._base.arrays import Int
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import Ranks, SampledRanks


def common_users(a: ArrayLike | None, b: ArrayLike | None) -> tuple[Int, Int] | None:
    """Find the users that two evaluations have in common: their rows in both.

    None if ids are missing or no user is common. Numbers are compared to text as text.

    Examples
    --------
    >>> common_users([3, 5, 9], [9, 3, 4])
    (array([0, 2]), array([1, 0]))
    """
    if a is None or b is None:
        return None
    ids = [np.asarray(each) for each in (a, b)]
    if ids[0].dtype.kind != ids[1].dtype.kind:
        ids = [each.astype(str) for each in ids]
    _, first, second = np.intersect1d(ids[0], ids[1], assume_unique=True, return_indices=True)
    return (first, second) if first.size else None


def unlike(evaluations: Mapping[str, Ranks | SampledRanks]) -> list[str]:
    """Say which pairs do not look like evaluations on the same data, and why.

    That is if their numbers of candidates differ by more than 1 %, or if fewer than half of the
    users of the smaller one are common.

    Examples
    --------
    >>> unlike({"A": Ranks([9], [0], [0]), "B": Ranks([20], [0], [0])})
    ['A has 9 candidates and B has 20']
    """
    found = []
    for first, second in combinations(evaluations, 2):
        a, b = evaluations[first], evaluations[second]
        n_a, n_b = a.mean_candidates, b.mean_candidates
        if n_a and n_b and abs(n_a - n_b) > 0.01 * max(n_a, n_b):
            found.append(f"{first} has {n_a:,} candidates and {second} has {n_b:,}")
        if a.users is not None and b.users is not None:
            ids_a, ids_b = np.unique(a.users), np.unique(b.users)
            rows = common_users(ids_a, ids_b)
            common, least = 0 if rows is None else rows[0].size, min(ids_a.size, ids_b.size)
            if 2 * common < least:
                found.append(f"{first} and {second} have {common:,} of {least:,} users in common")
    return found


def require_alike(samples: Mapping[str, SampledRanks]) -> None:
    """Refuse sampled ranks with different numbers of negatives or ways to draw them."""
    for field in ("n_negatives", "sampling"):
        kinds = {str(getattr(sample, field)): name for name, sample in samples.items()}
        if len(kinds) > 1:
            (one, a), (other, b) = list(kinds.items())[:2]
            raise InputError(f"{field} is {one} for {a} and {other} for {b}; draw both alike")
