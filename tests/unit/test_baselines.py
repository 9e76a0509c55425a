"""The recommenders that know nothing of a user: popularity and a random order."""

import numpy as np
from scipy import stats
from scipy.sparse import csr_array

from sampled_metrics.ranks import rank
from sampled_metrics.recommenders import create


def test_popularity_by_hand():
    train = csr_array([[1.0, 1, 0, 0], [1, 0, 0, 1], [1, 0, 0, 0]])
    model = create("popularity", {}).fit(train)
    # events of the items: 3, 1, 0, 1
    records = rank(model.score, train, [2, 1, 3])
    assert records.n_candidates.tolist() == [2, 2, 3]
    assert records.n_better.tolist() == [1, 0, 0]  # item 3 is above item 2; 1 above 2; 1 is level
    assert records.n_tied.tolist() == [0, 0, 1]


def test_random_scores_are_uniform_and_independent_of_each_other():
    scores = create("random", {"seed": 3}).fit(csr_array((200, 300))).score(np.arange(200))
    assert scores.min() >= 0
    assert scores.max() < 1
    assert np.unique(scores).size == scores.size
    assert stats.kstest(scores.ravel(), "uniform").pvalue > 0.01
    # Correlations of two streams are normal with standard deviation 1/sqrt(300), within 0.01.
    between = np.corrcoef(scores)[np.triu_indices(200, 1)]
    assert abs(between).max() < 5 / np.sqrt(300)


def test_random_scores_of_a_user_depend_on_its_number_and_the_seed_alone():
    small = create("random", {"seed": 3}).fit(csr_array((5, 10)))
    large = create("random", {"seed": 3}).fit(csr_array((900, 10)))
    users = np.array([4, 0])
    np.testing.assert_array_equal(small.score(users), large.score(users))
