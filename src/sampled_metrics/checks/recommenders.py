"""Signs that two recommenders were not evaluated on the same data, or that one was passed twice."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sampled_metrics._base.array_types import Int
from sampled_metrics._base.units import Units
from sampled_metrics.checks import Signs

_FEWEST_ROWS = 10  # fewer rows may have the same ranks by chance
_SHARE_OF_USERS = 10  # one of so many common users that differ in candidates is a sign
_MEANS_DIFFER = 0.01  # share of the mean number of candidates
_SAME_DATA = ": are these evaluations on the same data?"


class EvaluatedData(NamedTuple):
    """What is compared of the evaluations of two recommenders.

    Attributes
    ----------
    name
        Name of the recommender.
    units
        Its users, or visits of users, each once.
    n_candidates, mean_candidates
        Candidates of each of them, None if one number holds for all; and their mean, 0 if not
        known.
    ranks
        Arrays that are equal for equal ranks; shape (rows,).
    """

    name: str
    units: Units
    n_candidates: Int | None
    mean_candidates: int
    ranks: list[Int]


def signs_in_pair(a: EvaluatedData, b: EvaluatedData, common: tuple[Int, Int] | None) -> Signs:
    """Look for pairs of recommenders that are probably not evaluated on the same data.

    Such pairs differ in the number of candidates of the same users, or have few common users. Equal
    ranks suggest that one recommender was passed twice.

    Parameters
    ----------
    a, b
        The evaluations.
    common
        Positions of the common users in `a.units` and in `b.units`; None without any.
    """
    yield from _signs_in_candidates(a, b, common)
    is_same = all(map(np.array_equal, a.ranks, b.ranks))
    if is_same and min(len(a.ranks[0]), len(b.ranks[0])) >= _FEWEST_ROWS:
        yield "data", f"{a.name} and {b.name} have the same ranks: was one of them passed twice?"
    n_common = 0 if common is None else common[0].size
    n_smaller = min(len(a.units), len(b.units))
    if 2 * n_common < n_smaller:
        yield (
            "data",
            f"{a.name} and {b.name} have {n_common:,} of {n_smaller:,} users in common{_SAME_DATA}",
        )


def _signs_in_candidates(
    a: EvaluatedData, b: EvaluatedData, common: tuple[Int, Int] | None
) -> Signs:
    """Look whether a tenth of the common users, or the means by 1 %, differ in candidates.

    The means alone do not show seen items that differ by one item per user, which can decide an
    order.
    """
    if common is not None:
        signs_of_users = [*_signs_in_candidates_of_users(a, b, common)]
        if signs_of_users:
            yield from signs_of_users
            return
    mean_a, mean_b = a.mean_candidates, b.mean_candidates
    larger, smaller = max(mean_a, mean_b), min(mean_a, mean_b)
    are_known = smaller > 0
    if are_known and larger - smaller > _MEANS_DIFFER * larger:
        yield (
            "data",
            f"{a.name} has {mean_a:,} candidates and {b.name} has {mean_b:,}{_SAME_DATA}",
        )


def _signs_in_candidates_of_users(
    a: EvaluatedData, b: EvaluatedData, common: tuple[Int, Int]
) -> Signs:
    """Look whether a tenth of the common users differ in the number of candidates.

    `common` are their positions in `a.units` and in `b.units`.
    """
    if a.n_candidates is None or b.n_candidates is None:
        return
    in_a, in_b = common
    n_a, n_b = a.n_candidates[in_a], b.n_candidates[in_b]  # of each common user, 0 if not known
    differs = (n_a != n_b) & (n_a > 0) & (n_b > 0)
    n_different = int(np.count_nonzero(differs))
    if n_different and _SHARE_OF_USERS * n_different >= differs.size:
        first = int(np.argmax(differs))
        user = a.units.name(in_a[first])
        yield (
            "data",
            f"{n_different:,} of {differs.size:,} users have different numbers of candidates "
            f"in {a.name} and {b.name}, for example user {user} with {n_a[first]:,} and "
            f"{n_b[first]:,}: rank both with the same seen items (seen=) and catalogue",
        )
