import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import rank


class Fixed:
    """A recommender whose scores are given."""

    def __init__(self, scores):
        self.scores = np.asarray(scores)
        self.blocks = []

    def score(self, users):
        self.blocks.append(users.size)
        return self.scores[users]


def ranked(scores, seen, held_out, **options):
    return rank(Fixed(scores).score, csr_array(np.asarray(seen)), held_out, **options)


NAMED = {"users": [100, 101, 102], "items": [500, 501, 502, 503]}


def test_by_hand():
    # User 0 has seen item 0. Its held-out item 2 scores 5: item 1 is better, items 3 and 4 tied.
    # User 1 has seen items 1 and 3. Its held-out item 4 scores 2: item 0 is better, 2 is worse.
    scores = [[9, 7, 5, 5, 5], [3, 8, 1, 2, 2]]
    records = ranked(scores, [[1, 0, 0, 0, 0], [0, 1, 0, 1, 0]], [2, 4])
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
    records = ranked(scores, train, held_out)
    for user, item in enumerate(held_out):
        others = [j for j in range(23) if not train[user, j] and j != item]
        own = scores[user, item]
        assert records.n_candidates[user] == len(others) + 1
        assert records.n_better[user] == sum(scores[user, j] > own for j in others)
        assert records.n_tied[user] == sum(scores[user, j] == own for j in others)


def test_training_items_are_never_candidates():
    scores, train, held_out = random_case(0)
    lifted = np.where(train, 10**6, scores)
    one, two = (ranked(case, train, held_out) for case in (scores, lifted))
    np.testing.assert_array_equal(one.n_better, two.n_better)
    np.testing.assert_array_equal(one.n_tied, two.n_tied)


@pytest.mark.parametrize("block_size", [1, 2, 10, 36, 37, 1000])
def test_blocks_of_any_size_give_the_same(block_size):
    scores, train, held_out = random_case(1)
    recommender = Fixed(scores)
    whole = ranked(scores, train, held_out)
    blocks = rank(recommender.score, csr_array(train), held_out, block_size=block_size)
    np.testing.assert_array_equal(blocks.n_better, whole.n_better)
    np.testing.assert_array_equal(blocks.n_tied, whole.n_tied)
    assert max(recommender.blocks) == min(block_size, 37)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_score_that_is_not_finite_names_user_and_item(bad):
    scores = np.ones((3, 4))
    scores[2, 1] = bad
    nobody = np.zeros((3, 4))
    with pytest.raises(InputError, match=f"score of item 501 for user 102 is {bad}; expected a fi"):
        ranked(scores, nobody, [0, 0, 0], block_size=2, **NAMED)
    with pytest.raises(InputError, match=f"score of item 1 for user 2 is {bad}; expected a finite"):
        ranked(scores, nobody, [0, 0, 0])
    with pytest.raises(InputError, match=f"score of item 1 for user 2 is {bad}; expected a finite"):
        rank(Fixed(scores).score, None, np.eye(3, 4, dtype=bool))


def test_minus_infinity_is_no_candidate():
    # Six items less the seen one, less the two at -inf of which one is seen: four candidates.
    scores = [[-np.inf, -np.inf, 3, 3, 1, 9]]
    records = ranked(scores, [[1, 0, 0, 0, 0, 0]], [2])
    assert (records.n_candidates[0], records.n_better[0], records.n_tied[0]) == (4, 1, 1)
    assert ranked(scores, [[1, 0, 0, 0, 0, 1]], [4]).n_candidates.tolist() == [3]


@pytest.mark.parametrize(
    ("held_out", "message"),
    [
        ([0, 1, 3], "held-out item 503 of user 102 is among the seen items, so it is no candidate"),
        ([0, 2, 0], "held-out item 502 of user 101 has score -inf, so it is no candidate"),
        ([0, 1, 4], "held-out item of user 102 is 4, expected 0 to 3"),
        ([-1, 1, 0], "held-out item of user 100 is -1, expected 0 to 3"),
        ([0.0, 1.0, 2.0], r"held-out items are float64 of shape \(3,\); expected one integer"),
    ],
)
def test_held_out_item_that_cannot_be_ranked(held_out, message):
    scores, seen = np.ones((3, 4)), np.zeros((3, 4), dtype=bool)
    scores[1, 2], seen[2, 3] = -np.inf, True
    with pytest.raises(InputError, match=message):
        ranked(scores, seen, held_out, **NAMED)


def test_recommender_of_other_users_or_items():
    with pytest.raises(InputError, match=r"scores have shape \(3, 5\), expected \(3, 4\)"):
        ranked(np.ones((3, 5)), np.zeros((3, 4)), [0, 0, 0])
    with pytest.raises(InputError, match=r"scores have shape \(4,\), expected \(1, 4\)"):
        rank(lambda _: np.ones(4), None, [0])
    with pytest.raises(InputError, match="scores have dtype <U1, expected numbers"):
        rank(lambda users: np.full((users.size, 2), "a"), None, [0])


def test_errors_of_the_scorer_pass_unchanged():
    error = IndexError("of the scorer itself")

    def score(_):
        raise error

    with pytest.raises(IndexError) as caught:
        rank(score, None, [0])
    assert caught.value is error


def test_one_candidate_is_no_ranking():
    with pytest.raises(InputError) as caught:
        ranked([[1, 2]], [[1, 0]], [1])
    assert (caught.value.row, caught.value.column) == (1, "n_candidates")


def test_shapes_that_do_not_fit():
    with pytest.raises(InputError, match="seen items of 2 users, expected 3"):
        ranked(np.ones((3, 4)), np.zeros((2, 4)), [0, 0, 0])
    with pytest.raises(InputError, match="seen item of user 0 is 4, expected 0 to 3"):
        rank(Fixed(np.ones((3, 4))).score, np.eye(3, 6, 4) > 0, np.eye(3, 4) > 0)
    with pytest.raises(InputError, match="block_size is 0, expected at least 1"):
        ranked(np.ones((1, 2)), np.zeros((1, 2)), [0], block_size=0)
    assert len(rank(lambda _: np.ones((0, 0)), None, [])) == 0


def test_several_relevant_items_by_hand():
    # User 0: item 3 scores 7 below 9; items 1 and 2 score 5 below 9 and 7, tied with each other
    # and with item 4. User 1 has no relevant item. User 2 has not seen its item 0, the best.
    scores = np.array([[9, 5, 5, 7, 5], [1, 2, 3, 4, 5], [4, 3, 2, 1, 0]])
    relevant = [[0, 1, 1, 1, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]]
    seen = np.array([[0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 1, 1]], dtype=bool)
    ranks = rank(Fixed(scores).score, seen, csr_array(relevant))
    assert ranks.users.tolist() == [0, 2]
    assert ranks.n_found.tolist() == [3, 1]
    assert ranks.n_better.tolist() == [1, 2, 2, 0]
    assert ranks.n_tied.tolist() == [0, 2, 2, 0]
    assert ranks.n_relevant.tolist() == [3, 1]
    assert ranks.n_candidates.tolist() == ranks.depth.tolist() == [5, 3]


@pytest.mark.parametrize("block_size", [1, 36, 512])
@pytest.mark.parametrize("seed", range(3))
def test_several_relevant_items_agree_with_comparing_one_by_one(seed, block_size):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, (70, 23)).astype(np.float32)
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    seen = rng.random(scores.shape) < 0.2
    open_ = ~seen & np.isfinite(scores)
    relevant = (rng.random(scores.shape) < 0.1) & open_
    ranks = rank(Fixed(scores).score, csr_matrix(seen), csr_array(relevant), block_size=block_size)
    users = ranks.users
    assert users.tolist() == np.flatnonzero(relevant.any(axis=1)).tolist()
    assert ranks.n_candidates.tolist() == open_[users].sum(axis=1).tolist()
    row, item = np.nonzero(relevant[users])
    assert ranks.n_found.tolist() == np.bincount(row).tolist()
    best_first = np.lexsort((-scores[users[row], item], row))
    row, item = row[best_first], item[best_first]
    for place, (user, own) in enumerate(zip(users[row], item, strict=True)):
        others = [j for j in range(23) if open_[user, j] and j != own]
        assert ranks.n_better[place] == sum(scores[user, j] > scores[user, own] for j in others)
        assert ranks.n_tied[place] == sum(scores[user, j] == scores[user, own] for j in others)


def test_one_relevant_item_each_is_a_held_out_item():
    scores, train, held_out = random_case(2)
    relevant = np.zeros(scores.shape, dtype=bool)
    relevant[np.arange(37), held_out] = True
    ranks = rank(Fixed(scores).score, train, relevant)
    records = ranked(scores, train, held_out)
    for column in ("n_candidates", "n_better", "n_tied"):
        np.testing.assert_array_equal(getattr(ranks, column), getattr(records, column))


def test_stored_zeros_and_repeated_entries_of_sparse_arrays():
    zero = csr_array((np.array([0.0, 1.0]), np.array([1, 2]), np.array([0, 2])), shape=(1, 4))
    twice = csr_array((np.array([1.0, 1.0]), np.array([2, 2]), np.array([0, 2])), shape=(1, 4))
    scores = Fixed([[1, 9, 8, 0]])
    for seen, n_better, n_candidates in ((zero, 1, 3), (twice, 1, 3)):
        records = rank(scores.score, seen, [0])
        assert (records.n_better[0], records.n_candidates[0]) == (n_better, n_candidates)
    assert rank(scores.score, None, zero).n_better.tolist() == [1]
    assert rank(scores.score, None, twice).n_relevant.tolist() == [1]
    assert (zero.nnz, twice.nnz) == (2, 2)


def test_scores_are_not_written_to():
    scores = np.array([[1.0, 2.0, 3.0]])
    scores.setflags(write=False)
    assert rank(lambda _: scores, np.array([[False, True, False]]), [0]).n_better == [1]
    assert scores.tolist() == [[1, 2, 3]]


def test_whole_number_scores():
    assert rank(lambda _: np.array([[1, 2, 2**53]]), None, [1]).n_better.tolist() == [1]


@pytest.mark.parametrize("low", [2**62, -(2**62), 2**53])
def test_integers_that_no_float_holds_are_compared_as_integers(low):
    scores = np.array([[low + 1, low, low + 2, low], [0, 1, -1, 0]])
    ranks = rank(lambda users: scores[users], None, [1, 0])
    assert (ranks.n_better.tolist(), ranks.n_tied.tolist()) == ([2, 1], [1, 1])
    seen = np.array([[True, False, False, False], [False] * 4])
    ranks = rank(lambda users: scores[users], seen, [1, 0])
    assert (ranks.n_candidates.tolist(), ranks.n_better.tolist()) == ([3, 4], [1, 1])
    several = np.array([[True, True, False, False], [False] * 4])
    assert rank(lambda users: scores[users], None, several).n_better.tolist() == [1, 2]


def test_unsigned_scores_above_int64():
    scores = np.array([[2**64 - 1, 2**64 - 2, 0]], dtype=np.uint64)
    assert rank(lambda _: scores, None, [1]).n_better.tolist() == [1]
