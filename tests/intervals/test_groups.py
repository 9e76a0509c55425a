"""Cohorts of users and visits that two samples have in common."""

import numpy as np

from sampled_metrics.intervals.groups import common_cohorts, group_units
from sampled_metrics.ranks import SampledRanks


def test_common_cohorts_of_users_count_pairs_of_ranks():
    users = np.arange(60)
    groups = [
        group_units(SampledRanks(users % n + 1, 50, n_negatives=9, users=users)) for n in (2, 3)
    ]
    common = common_cohorts(*groups)
    assert common.user_of_pair is None
    assert common.n_units.sum() == 60
    # Cohorts differ in the rank and in the fold, which is that of the user in both samples.
    assert common.n_units.size == len({(u % 2, u % 3, groups[0].fold_of_row[u]) for u in users})


def test_common_cohorts_of_visits_name_user_of_each_visit():
    users = np.repeat(np.arange(10, 30), 3)
    visits = np.tile(np.arange(3), 20)
    ranks = np.arange(60) % 4 + 1
    a = SampledRanks(ranks[5:], 50, n_negatives=9, users=users[5:], visits=visits[5:])
    b = SampledRanks(ranks[:-4], 50, n_negatives=9, users=users[:-4], visits=visits[:-4])
    common = common_cohorts(group_units(a), group_units(b))
    assert common.cohort_in_a.tolist() == list(range(51))
    assert common.cohort_in_b.tolist() == list(range(5, 56))
    assert (common.n_units == 1).all()
    # The first user of A is number 0.
    np.testing.assert_array_equal(common.user_of_pair, users[5:-4] - users[5])
