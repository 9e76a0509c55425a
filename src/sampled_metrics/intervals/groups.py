"""Users of sampled ranks: their folds, groups of about as many candidates, and kinds.

A unit is a user, or a visit where users have several visits. Folds are two random halves of the
users: the vectors of each are fitted to the sampled ranks of the other, see `ranges`. A kind is a
set of units with equal values: those with the same sampled rank, fold and group. Everything about a
range is computed for kinds instead of single units, because there are few different sampled ranks:
a million users with 100 negatives have at most 202 kinds in each group.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.caches import cache_with_owner
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.units import Units
from sampled_metrics.ranks import SampledRanks

# Bracketing vectors depend on the number of candidates n. If it differs, three groups of users with
# vectors of their own are enough: a mean n for all moved the ends by at most 0.006.
_N_GROUPS = 3
_SAME_N = 0.02  # n that differ by less, relative to their mean, are one group


@dataclass(frozen=True, eq=False)
class UserGroups:
    """Rows and units of a sample, by fold and number of candidates.

    Units are of one kind if their only rows have the same sampled rank, fold and group. If some
    unit has several rows, or if units are visits, every unit is a kind of its own, with the same
    number: visits of one user depend on each other, so they must stay apart.

    Attributes
    ----------
    units
        Different units, in ascending order; None without ids, when each row is a unit.
    unit_of_row, fold_of_row, group_of_row
        Index of each row's unit, its fold (0 or 1), and its group of about the same n.
    kind_of_unit
        Number of the kind of each unit; 0, 1, 2, ... if every unit is a kind of its own.
    group_sizes
        Mean n of each group, rounded.
    other_counts
        Units of the other fold at every sampled rank; shape (folds, m + 1). A unit with several
        rows counts as a part at each.
    user_of_unit
        Number of the user of each visit, shape (units,); None if units are users.
    likely_shares
        Likely distributions of sampled ranks that were computed before, by n and last shaped rank.
    """

    units: Units | None
    unit_of_row: Int
    fold_of_row: Int
    group_of_row: Int
    kind_of_unit: Int
    group_sizes: list[int]
    other_counts: Float
    user_of_unit: Int | None = None
    likely_shares: dict[tuple[int, int], Float] = field(default_factory=dict)

    @property
    def n_users(self) -> int:
        """Number of users, who are independent; their visits are not."""
        if self.user_of_unit is None:
            return self.kind_of_unit.size
        return int(self.user_of_unit.max()) + 1


@cache_with_owner
def group_units(sample: SampledRanks) -> UserGroups:
    """Group the rows of a sample, and split users into two folds at random (fixed seed)."""
    units, unit_of_row = sample.different_units()
    user_of_unit = sample.user_of_units()
    rows_of_unit = np.bincount(unit_of_row)
    n = np.broadcast_to(sample.n_items, unit_of_row.shape)
    n_groups = _N_GROUPS if n.max() - n.min() > _SAME_N * n.mean() else 1
    edges = np.unique(np.quantile(n, np.arange(1, n_groups) / n_groups, method="nearest"))
    _, group_of_row = np.unique(np.searchsorted(edges, n, side="right"), return_inverse=True)
    mean_n = np.bincount(group_of_row, n) / np.bincount(group_of_row)
    group_sizes = np.rint(mean_n).astype(np.int64)
    user_of_row = unit_of_row if user_of_unit is None else user_of_unit[unit_of_row]
    n_users = int(user_of_row.max()) + 1
    fold_of_user = generator(0, "folds").permutation(n_users) % 2
    fold_of_row = fold_of_user[user_of_row]
    other_counts = np.zeros((2, sample.n_negatives + 1))
    cells = (1 - fold_of_row, sample.sampled_ranks - 1)
    np.add.at(other_counts, cells, 1.0 / rows_of_unit[unit_of_row])
    kind_of_unit = np.arange(rows_of_unit.size)
    if rows_of_unit.size == unit_of_row.size and user_of_unit is None:
        places = (group_of_row, fold_of_row, sample.sampled_ranks - 1)
        shape = (group_sizes.size, *other_counts.shape)
        kind_of_unit[unit_of_row] = np.ravel_multi_index(places, shape)
    return UserGroups(
        units=units,
        unit_of_row=unit_of_row,
        fold_of_row=fold_of_row,
        group_of_row=group_of_row,
        kind_of_unit=kind_of_unit,
        group_sizes=group_sizes.tolist(),
        other_counts=other_counts,
        user_of_unit=user_of_unit,
    )


def common_users(a: Units | None, b: Units | None) -> tuple[Int, Int] | None:
    """Find the users, or visits, that two evaluations have in common, as indices into both.

    They are in ascending order; None if ids are missing or no user is common. Numbers are compared
    to text as text.

    Examples
    --------
    >>> common_users(Units(np.array(["eve", "ann"])), Units(np.array(["bob", "eve", "ann"])))
    (array([1, 0]), array([2, 1]))
    """
    if a is None or b is None:
        return None
    position = a.positions_in(b)
    _, number = a.ascending()
    place_in_a = np.flatnonzero(position >= 0)
    place_in_a = place_in_a[np.argsort(number[place_in_a])]
    return (place_in_a, position[place_in_a]) if place_in_a.size else None


class CommonKinds(NamedTuple):
    """Units that two samples have in common, by the kinds that they are of in both.

    Attributes
    ----------
    kind_in_a, kind_in_b
        Kind in each sample, for each pair of kinds that occurs.
    n_units
        Number of units of each pair.
    user_of_kind
        User of each pair if units are visits, else None.
    """

    kind_in_a: Int
    kind_in_b: Int
    n_units: Int
    user_of_kind: Int | None = None


def common_kinds(a: UserGroups, b: UserGroups) -> CommonKinds | None:
    """Count the units that two samples have in common by their pairs of kinds; None without any.

    Let Ann, Bob and Eve be of kinds 4, 4 and 7 in A, and of kinds 2, 2 and 2 in B. Then two units
    are of the pair (4, 2), and one is of (7, 2).
    """
    common = common_users(a.units, b.units)
    if common is None:
        return None
    n_kinds = int(b.kind_of_unit.max()) + 1
    pairs = a.kind_of_unit[common[0]] * n_kinds + b.kind_of_unit[common[1]]
    different_pairs, n_units = np.unique(pairs, return_counts=True)
    kind_in_a = different_pairs // n_kinds
    user_of_kind = None
    if a.user_of_unit is not None:
        # Visits are kinds of their own, so that the number of a kind is that of a unit.
        user_of_kind = a.user_of_unit[kind_in_a]
    return CommonKinds(kind_in_a, different_pairs % n_kinds, n_units, user_of_kind)
