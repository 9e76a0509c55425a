"""Users of sampled ranks: their folds, size groups and cohorts.

- A row is one sampled rank, of one held-out item.
- A unit is a user, or a visit where users have several visits. It may have several rows.
- Folds are two random halves of the users: the vectors of each are fitted to the sampled ranks of
  the other, see `ranges`.
- A size group has rows with about the same number of candidates n.
- A cohort is a set of units that a range treats alike: those with the same size group, fold and
  sampled rank. Everything about a range is computed for cohorts instead of single units, because
  there are few different sampled ranks: a million users with 100 negatives are at most 202 cohorts
  in each size group.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import pair_codes
from sampled_metrics._base.caches import cache_with_owner
from sampled_metrics._base.random_streams import generator
from sampled_metrics._base.units import Units
from sampled_metrics.intervals.brackets import likely_mixture
from sampled_metrics.intervals.constants import SAME_SIZE, SIZE_GROUPS
from sampled_metrics.intervals.kernels import Kernel
from sampled_metrics.ranks import SampledRanks

N_FOLDS = 2


@dataclass(frozen=True, eq=False)
class UserGroups:
    """Rows and units of a sample, by fold, size group and cohort.

    If each unit is a user with one row, the cohort of size group g, fold f and sampled rank s is
    number (g * 2 + f) * (m + 1) + s - 1. If some unit has several rows, or if units are visits,
    every unit is a cohort of its own, with the same number: visits of one user depend on each
    other, so they must stay apart.

    Attributes
    ----------
    units
        Different units, in ascending order; None without ids, when each row is a unit.
    unit_of_row, fold_of_row, group_of_row
        Index of each row's unit, its fold (0 or 1), and its size group; shape (rows,).
    cohort_of_unit
        Number of the cohort of each unit; shape (units,).
    n_of_group
        Mean n of each size group, rounded.
    counts_of_other_fold
        Units of the other fold at every sampled rank; shape (folds, m + 1). A unit with several
        rows counts as a part at each.
    user_of_unit
        Number of the user of each visit, shape (units,); None if units are users.
    """

    units: Units | None
    unit_of_row: Int
    fold_of_row: Int
    group_of_row: Int
    cohort_of_unit: Int
    n_of_group: list[int]
    counts_of_other_fold: Float
    user_of_unit: Int | None = None
    # Filled by `likely_shares`: by n and the last shaped rank.
    _fitted_shares: dict[tuple[int, int], Float] = field(default_factory=dict, repr=False)

    @property
    def n_users(self) -> int:
        """Number of users, who are independent; their visits are not."""
        if self.user_of_unit is None:
            return self.cohort_of_unit.size
        return int(self.user_of_unit.max()) + 1

    @property
    def has_shared_cohorts(self) -> bool:
        """Whether units with equal ranks are one cohort: if each is a user with one row."""
        return self.user_of_unit is None and self.cohort_of_unit.size == self.unit_of_row.size


@cache_with_owner
def group_units(sample: SampledRanks) -> UserGroups:
    """Group the rows of a sample, and split users into two folds at random (fixed seed).

    Examples
    --------
    Four users and the sampled ranks 1 ... 5. Users with sampled rank s in fold f are of the cohort
    5 f + s - 1: the second and the fourth are of the same.

    >>> groups = group_units(SampledRanks([1, 1, 3, 1], n_items=50, n_negatives=4))
    >>> groups.fold_of_row, groups.cohort_of_unit
    (array([1, 0, 1, 0]), array([5, 0, 7, 0]))
    """
    units, unit_of_row = sample.different_units()
    user_of_unit = sample.user_of_units()
    user_of_row = unit_of_row if user_of_unit is None else user_of_unit[unit_of_row]
    fold_of_row = _draw_folds(user_of_row)
    group_of_row, n_of_group = _group_by_size(np.broadcast_to(sample.n_items, unit_of_row.shape))
    n_units = int(unit_of_row.max()) + 1
    cohort_of_unit = np.arange(n_units)  # of its own, unless units may share one
    has_one_row_per_user = user_of_unit is None and n_units == unit_of_row.size
    if has_one_row_per_user:
        cohort_of_unit[unit_of_row] = np.ravel_multi_index(
            (group_of_row, fold_of_row, sample.sampled_ranks - 1),
            (len(n_of_group), N_FOLDS, sample.n_negatives + 1),
        )
    return UserGroups(
        units=units,
        unit_of_row=unit_of_row,
        fold_of_row=fold_of_row,
        group_of_row=group_of_row,
        cohort_of_unit=cohort_of_unit,
        n_of_group=n_of_group,
        counts_of_other_fold=_count_other_fold(sample, unit_of_row, fold_of_row),
        user_of_unit=user_of_unit,
    )


def _count_other_fold(sample: SampledRanks, unit_of_row: Int, fold_of_row: Int) -> Float:
    """Count the units of the other fold at every sampled rank; shape (folds, m + 1).

    A unit with r rows counts 1 / r at the sampled rank of each.
    """
    n_rows_of_unit = np.bincount(unit_of_row)
    other_fold_of_row = 1 - fold_of_row
    counts = np.zeros((N_FOLDS, sample.n_negatives + 1))
    cell_of_row = (other_fold_of_row, sample.sampled_ranks - 1)
    np.add.at(counts, cell_of_row, 1.0 / n_rows_of_unit[unit_of_row])
    return counts


def _draw_folds(user_of_row: Int) -> Int:
    """Split users into two halves at random (fixed seed); return the fold of each row, 0 or 1."""
    n_users = int(user_of_row.max()) + 1
    fold_of_user = generator(0, "folds").permutation(n_users) % N_FOLDS
    return fold_of_user[user_of_row]


def _group_by_size(n_of_row: Int) -> tuple[Int, list[int]]:
    """Group rows by the number of candidates: one group, or about thirds where it differs.

    Returns
    -------
    group_of_row, n_of_group
        Size group of each row, and the rounded mean n of each group.

    Examples
    --------
    >>> _group_by_size(np.array([100, 101, 100]))
    (array([0, 0, 0]), [100])
    >>> _group_by_size(np.arange(100, 190, 10))
    (array([0, 0, 0, 1, 1, 2, 2, 2, 2]), [110, 135, 165])
    """
    n_differs = n_of_row.max() - n_of_row.min() > SAME_SIZE * n_of_row.mean()
    n_groups = SIZE_GROUPS if n_differs else 1
    quantiles = np.arange(1, n_groups) / n_groups
    edges = np.unique(np.quantile(n_of_row, quantiles, method="nearest"))
    third_of_row = np.searchsorted(edges, n_of_row, side="right")
    _, group_of_row = np.unique(third_of_row, return_inverse=True)  # without empty groups
    mean_n = np.bincount(group_of_row, n_of_row) / np.bincount(group_of_row)
    return group_of_row, np.rint(mean_n).astype(np.int64).tolist()


def likely_shares(groups: Sequence[UserGroups], n: int, table: Kernel) -> list[Float]:
    """Return the distributions of sampled ranks that each fold has, by the ranks of the other fold.

    See `likely_mixture`. They depend on the sample, n and the last shaped rank of the kernel only,
    and the groups keep those fitted before: metrics and both ends of a range share them.

    Parameters
    ----------
    groups
        Groups of samples with equal numbers of negatives; those not fitted yet are fitted together.
    n, table
        Number of candidates, and the kernel of the class for it.

    Returns
    -------
    list of ndarray
        Of each sample; shape (folds, bins of the kernel).
    """
    key = (n, table.last_shaped)
    unfitted = [of_sample for of_sample in groups if key not in of_sample._fitted_shares]
    if unfitted:
        counts = np.stack([of_sample.counts_of_other_fold for of_sample in unfitted])
        shares = likely_mixture(table.sum_by_bin(counts), table).shares
        for of_sample, shares_of_folds in zip(unfitted, shares, strict=True):
            of_sample._fitted_shares[key] = shares_of_folds
    return [of_sample._fitted_shares[key] for of_sample in groups]


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
    index_in_b = a.positions_in(b)  # of each unit of a; below 0 if it is not there
    _, order_of_unit = a.ascending()
    common_in_a = np.flatnonzero(index_in_b >= 0)
    if not common_in_a.size:
        return None
    common_in_a = common_in_a[np.argsort(order_of_unit[common_in_a])]
    return common_in_a, index_in_b[common_in_a]


class CommonCohorts(NamedTuple):
    """Units that two samples have in common, counted by their cohorts in both.

    Attributes
    ----------
    cohort_in_a, cohort_in_b
        Cohort in each sample, for each pair of cohorts that occurs; shape (pairs,).
    n_units
        Number of units of each pair; shape (pairs,).
    user_of_pair
        User of each pair if units are visits, else None.
    """

    cohort_in_a: Int
    cohort_in_b: Int
    n_units: Int
    user_of_pair: Int | None = None


def common_cohorts(a: UserGroups, b: UserGroups) -> CommonCohorts | None:
    """Count the units that two samples have in common by their pairs of cohorts; None without any.

    Let Ann, Bob and Eve be of cohorts 4, 4 and 7 in A, and of cohorts 2, 2 and 2 in B. Then two
    units are of the pair (4, 2), and one is of (7, 2).
    """
    common = common_users(a.units, b.units)
    if common is None:
        return None
    unit_in_a, unit_in_b = common
    cohort_in_a, cohort_in_b, n_units = _count_pairs(
        a.cohort_of_unit[unit_in_a], b.cohort_of_unit[unit_in_b]
    )
    user_of_pair = None
    if a.user_of_unit is not None:
        # Visits are cohorts of their own, so that the number of a cohort is that of a unit.
        user_of_pair = a.user_of_unit[cohort_in_a]
    return CommonCohorts(cohort_in_a, cohort_in_b, n_units, user_of_pair)


def _count_pairs(first: Int, second: Int) -> tuple[Int, Int, Int]:
    """Count equal pairs of whole numbers; return the different pairs in order, and their counts.

    Examples
    --------
    >>> _count_pairs(np.array([4, 4, 7]), np.array([2, 2, 2]))
    (array([4, 7]), array([2, 2]), array([2, 1]))
    """
    width = int(second.max()) + 1
    codes, counts = np.unique(pair_codes(first, second, width), return_counts=True)
    different_first, different_second = np.divmod(codes, width)
    return different_first, different_second, counts
