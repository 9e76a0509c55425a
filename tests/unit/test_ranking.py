import numpy as np
import pytest
from scipy.sparse import csr_array

from sampled_metrics.datasets.split import Split
from sampled_metrics.errors import InputError
from sampled_metrics.ranking import rank_held_out


class Fixed:
    """A recommender whose scores are given."""

    def __init__(self, scores):
        self.scores = np.asarray(scores, dtype=float)
        self.blocks = []

    def score(self, users):
        self.blocks.append(users.size)
        return self.scores[users]


def split_of(train, held_out):
    train = csr_array(np.asarray(train, dtype=float))
    users, items = train.shape
    return Split(train, np.array(held_out), np.arange(users) + 100, np.arange(items) + 500, 0)


def test_by_hand():
    # User 0 has seen item 0. Its held-out item 2 scores 5: item 1 is better, items 3 and 4 tied.
    # User 1 has seen items 1 and 3. Its held-out item 4 scores 2: item 0 is better, 2 is worse.
    scores = [[9, 7, 5, 5, 5], [3, 8, 1, 2, 2]]
    split = split_of([[1, 0, 0, 0, 0], [0, 1, 0, 1, 0]], [2, 4])
    records = rank_held_out(Fixed(scores), split)
    assert records.n_candidates.tolist() == [4, 3]
    assert records.n_better.tolist() == [1, 1]
    assert records.n_tied.tolist() == [2, 0]


def random_case(seed, users=37, items=23):
    rng = np.random.default_rng(seed)
    train = rng.random((users, items)) < 0.2
    held_out = rng.integers(0, items, users)
    train[np.arange(users), held_out] = False
    return rng.integers(0, 6, (users, items)), train, held_out


@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_comparing_one_by_one(seed):
    scores, train, held_out = random_case(seed)
    records = rank_held_out(Fixed(scores), split_of(train, held_out))
    for user, item in enumerate(held_out):
        others = [j for j in range(23) if not train[user, j] and j != item]
        own = scores[user, item]
        assert records.n_candidates[user] == len(others) + 1
        assert records.n_better[user] == sum(scores[user, j] > own for j in others)
        assert records.n_tied[user] == sum(scores[user, j] == own for j in others)


def test_training_items_are_never_candidates():
    scores, train, held_out = random_case(0)
    lifted = np.where(train, 10**6, scores)
    one, two = (rank_held_out(Fixed(case), split_of(train, held_out)) for case in (scores, lifted))
    np.testing.assert_array_equal(one.n_better, two.n_better)
    np.testing.assert_array_equal(one.n_tied, two.n_tied)


@pytest.mark.parametrize("block_size", [1, 2, 10, 36, 37, 1000])
def test_blocks_of_any_size_give_the_same(block_size):
    scores, train, held_out = random_case(1)
    recommender = Fixed(scores)
    whole = rank_held_out(Fixed(scores), split_of(train, held_out))
    blocks = rank_held_out(recommender, split_of(train, held_out), block_size)
    np.testing.assert_array_equal(blocks.n_better, whole.n_better)
    np.testing.assert_array_equal(blocks.n_tied, whole.n_tied)
    assert max(recommender.blocks) == min(block_size, 37)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_score_that_is_not_finite_names_user_and_item(bad):
    scores = np.ones((3, 4))
    scores[2, 1] = bad
    with pytest.raises(InputError, match=f"score of item 501 for user 102 is {bad}; expected a"):
        rank_held_out(Fixed(scores), split_of(np.zeros((3, 4)), [0, 0, 0]), 2)


def test_recommender_of_other_users_or_items():
    split = split_of(np.zeros((3, 4)), [0, 0, 0])
    with pytest.raises(InputError, match="the recommender knows fewer than 3 users"):
        rank_held_out(Fixed(np.ones((2, 4))), split)
    with pytest.raises(InputError, match=r"gives scores of shape \(3, 5\), not \(3, 4\)"):
        rank_held_out(Fixed(np.ones((3, 5))), split)
