"""`rank` of scores, vectors and functions against hand counts and pairwise comparison."""

import math
import operator
from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix

import sampled_metrics as sm
from sampled_metrics._base.errors import InputError
from sampled_metrics.evaluation.rank import rank

# Equal vectors are meant: ties are counted exactly.
pytestmark = pytest.mark.filterwarnings("ignore:.*equal another")


def by_rows(scores):
    scores = np.asarray(scores)
    return lambda users: scores[users]


def counts(ranks):
    return list(zip(ranks.n_better.tolist(), ranks.n_tied.tolist(), strict=True))


def one_by_one(scores, candidates, relevant):
    """Count better and tied candidates of each relevant item, best first for each user."""
    rows = []
    for user, item in zip(*np.nonzero(relevant), strict=True):
        row = scores[user]
        others = [j for j in range(len(row)) if candidates[user, j] and j != item]
        better = sum(row[j] > row[item] for j in others)
        rows.append((user, better, sum(row[j] == row[item] for j in others)))
    return [(better, tied) for _, better, tied in sorted(rows)]


def test_rank_by_hand():
    # User 0 has seen item 0. Its held-out item 2 scores 5: item 1 is better, items 3 and 4 tied.
    # User 1 has seen items 1 and 3. Its held-out item 4 scores 2: item 0 is better, 2 is worse.
    # User 2 has seen item 0, and items 0 and 1 have score -inf: four candidates.
    scores = [[9, 7, 5, 5, 5, 0], [3, 8, 1, 2, 2, 1], [-np.inf, -np.inf, 3, 3, 1, 9]]
    seen = csr_array([[1, 0, 0, 0, 0, 1], [0, 1, 0, 1, 0, 1], [1, 0, 0, 0, 0, 0]])
    ranks = rank(by_rows(scores), seen, [2, 4, 2])
    assert ranks.n_candidates.tolist() == [4, 3, 4]
    assert counts(ranks) == [(1, 2), (1, 0), (1, 1)]


def test_rank_several_items_by_hand():
    # User 0: item 3 scores 7 below 9; items 1 and 2 score 5 below 9 and 7, tied with each other
    # and with item 4. User 1 has no relevant item. User 2 has not seen its item 0, the best.
    scores = np.array([[9, 5, 5, 7, 5], [1, 2, 3, 4, 5], [4, 3, 2, 1, 0]])
    relevant = [[0, 1, 1, 1, 0], [0, 0, 0, 0, 0], [1, 0, 0, 0, 0]]
    seen = np.array([[0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 0, 0, 1, 1]], dtype=bool)
    ranks = rank(by_rows(scores), seen, csr_array(relevant))
    assert ranks.users.tolist() == [0, 2]
    assert ranks.n_found.tolist() == ranks.n_relevant.tolist() == [3, 1]
    assert counts(ranks) == [(1, 0), (2, 2), (2, 2), (0, 0)]
    assert ranks.n_candidates.tolist() == ranks.depth.tolist() == [5, 3]


@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("seed", range(2))
def test_rank_matches_pairwise_comparison(seed, single):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, (70, 23)).astype(np.float32)
    scores[rng.random(scores.shape) < 0.1] = -np.inf
    seen = rng.random(scores.shape) < 0.2
    relevant = rng.random(scores.shape) < 0.1
    if single:
        relevant = np.equal.outer(rng.integers(0, 23, 70), np.arange(23))
        scores[relevant] = rng.integers(0, 6, 70)
        seen &= ~relevant
    scores[seen] += 9  # seen items are not candidates, even with high scores
    candidates = ~seen & np.isfinite(scores)
    relevant &= candidates
    blocks = []

    def score(users):
        blocks.append(users.size)
        return scores[users]

    expected = one_by_one(scores, candidates, relevant)
    for block_size in (1, 36, 512):
        blocks.clear()
        options = {"block_size": block_size}
        ranks = rank(score, csr_matrix(seen), csr_array(relevant), **options)
        assert max(blocks) == min(block_size, len(ranks))
        assert ranks.users.tolist() == np.flatnonzero(relevant.any(axis=1)).tolist()
        n_candidates = candidates[ranks.users].sum(axis=1).tolist()
        assert ranks.n_candidates.tolist() == n_candidates
        assert counts(ranks) == expected, block_size
        if single:
            held_out = rank(score, seen, relevant.argmax(axis=1), **options)
            assert counts(held_out) == expected, block_size
            assert held_out.n_candidates.tolist() == n_candidates


LISTS = {
    "columns": ([2, 0], [[2], [0]]),
    "one without": ([2, -1], [[2], []]),
    "None": ([None, 3], [[], [3]]),
    "lists": ([[1, 2], [0]], [[1, 2], [0]]),
    "lists of equal length": ([[1, 2, 4], [1, 0, 3]], [[1, 2, 4], [1, 0, 3]]),
    "rows of a matrix": ([[0, 0, 1, 0, 1], [1, 0, 0, 0, 0]], [[2, 4], [0]]),
}


@pytest.mark.parametrize("form", LISTS)
@pytest.mark.parametrize("kind", ["matrix", "function", "vectors"])
def test_rank_lists_match_evaluate(form, kind):
    lists, columns = LISTS[form]
    rng = np.random.default_rng(3)
    vectors = rng.random((2, 3)), rng.random((5, 3))
    scores = np.einsum("uf,if->ui", *vectors)
    score = {"matrix": scores, "function": by_rows(scores), "vectors": vectors}[kind]
    relevant = np.zeros((2, 5), dtype=bool)
    for user, items in enumerate(columns):
        relevant[user, items] = True
    for seen in (None, np.zeros((2, 5), dtype=bool)):
        ranks = rank(score, seen, lists)
        expected = one_by_one(scores, np.ones((2, 5), bool), relevant)
        assert sorted(counts(ranks)) == sorted(expected)
        values = sm.values_by_user(ranks, "recall@2,ap").to_numpy()
        expected = sm.values_by_user(scores, "recall@2,ap", relevant=lists).to_numpy()
        assert values.tolist() == expected.tolist()


def test_rank_grades_in_lists_match_evaluate():
    scores, grades = np.array([[0.9, 0.5, 0.1]]), [[1, 2, 3]]
    values = sm.values_by_user(rank(scores, None, grades), "ndcg@3")
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    worst = 1 + 2 / math.log2(3) + 3 / 2
    assert values["ndcg@3"].tolist() == pytest.approx([worst / ideal], abs=1e-15)


def test_rank_sparse_zeros_and_duplicates():
    # a stored entry is seen, even a zero
    zero = csr_array(([0.0, 1.0], [1, 2], [0, 2]), shape=(1, 4))
    twice = csr_array(([1.0, 1.0], [2, 2], [0, 2]), shape=(1, 4))
    score = by_rows([[1, 9, 8, 0]])
    for marked, n_candidates in ((zero, 2), (twice, 3)):
        ranks = rank(score, marked, [0])
        assert ranks.n_candidates[0] == n_candidates
        assert ranks.n_better[0] == n_candidates - 2
        assert rank(score, None, marked).n_relevant.tolist() == [1]
    assert (zero.nnz, twice.nnz) == (2, 2)


def test_rank_does_not_change_scores():
    scores = np.array([[1.0, 2.0, 3.0]])
    scores.setflags(write=False)
    ranks = rank(lambda _: scores, np.array([[False, True, False]]), [0])
    assert ranks.n_better.tolist() == [1]


@pytest.mark.parametrize("low", [2**62, -(2**62), 2**53])
def test_rank_large_integers_are_exact(low):
    scores = np.array([[low + 1, low, low + 2, low], [0, 1, -1, 0]])
    assert counts(rank(by_rows(scores), None, [1, 0])) == [(2, 1), (1, 1)]
    seen = np.array([[True, False, False, False], [False] * 4])
    assert counts(rank(by_rows(scores), seen, [1, 0])) == [(1, 1), (1, 1)]
    several = np.array([[True, True, False, False], [False] * 4])
    assert rank(by_rows(scores), None, several).n_better.tolist() == [1, 2]
    unsigned = np.array([[2**64 - 1, 2**64 - 2, 0]], dtype=np.uint64)
    assert rank(by_rows(unsigned), None, [1]).n_better.tolist() == [1]


def vectors(seed, d, levels=None):
    """Return vectors of 40 users and 70 items; whole numbers up to `levels`, if not None."""
    rng = np.random.default_rng(seed)
    sizes = ((40, d), (70, d))
    if levels is None:
        users, items = (rng.standard_normal(size) for size in sizes)
    else:
        users, items = (rng.integers(-levels, levels + 1, size) for size in sizes)
    items[rng.integers(0, 70, 20)] = items[3]
    items[-9:] = users[:2] = 0
    relevant = np.equal.outer(np.r_[[3, 69, 3, 69, 65, 3], rng.integers(0, 70, 34)], np.arange(70))
    return users, items, (rng.random((40, 70)) < 0.2) & ~relevant, relevant


@pytest.mark.parametrize("block_size", [7, 512])
@pytest.mark.parametrize(("d", "levels"), [(1, 2), (5, 1), (3, 1000), (16, None), (100, None)])
def test_rank_vectors_match_exactly_rounded_sums(d, levels, block_size):
    users, items, seen, relevant = vectors(d, d, levels)
    scores = np.array([[math.fsum(user * item) for item in items] for user in users])
    held_out = relevant.argmax(axis=1)
    ranks = rank((users, items), csr_array(seen), held_out, block_size=block_size)
    assert counts(ranks) == one_by_one(scores, ~seen, relevant)
    rows = np.array([31, 4, 5, 17])  # some users rank as among all users
    some = rank((users[rows], items), seen[rows], held_out[rows])
    assert counts(some) == counts(ranks.take(rows))


ONES, NOBODY = np.ones((3, 4)), np.zeros((3, 4), dtype=bool)
NAN, INF, MASKED, SEEN = ONES.copy(), ONES.copy(), ONES.copy(), NOBODY.copy()
NAN[2, 1], INF[2, 1], MASKED[1, 2], SEEN[2, 3] = np.nan, np.inf, -np.inf, True
PAIR = (np.ones((2, 3)), np.ones((4, 3)))


@pytest.mark.parametrize(
    ("score", "seen", "relevant", "message"),
    [
        (by_rows(NAN), NOBODY, [0, 0, 0], "score of item 501 for user 102 is nan"),
        (by_rows(INF), None, np.eye(3, 4) > 0, "score of item 501 for user 102 is inf"),
        (by_rows(ONES), SEEN, [0, 1, 3], "item 503 of user 102 .*seen"),
        (by_rows(MASKED), SEEN, [0, 2, 0], "item 502 of user 101 has score -inf"),
        (by_rows(ONES), SEEN, [0, 1, 4], "row 3, column relevant: found 4; .* 0 to 3"),
        (by_rows(ONES), SEEN, [0.0, 1.0, 2.0], "relevant"),
        (by_rows(np.ones((3, 5))), NOBODY, [0, 0, 0], r"seen items .*\(3, 4\)"),
        (lambda _: np.ones(4), NOBODY, [0, 0, 0], "scores have shape .4,."),
        (lambda _: np.full((3, 4), "a"), None, [0, 0, 0], "scores have dtype <U1"),
        (by_rows(ONES), NOBODY[:2], [0, 0, 0], r"seen items .*\(2, 4\)"),
        (by_rows(ONES), np.eye(3, 6, 4) > 0, np.eye(3, 4) > 0, r"seen items .*\(3, 6\)"),
        (by_rows(ONES), ~np.eye(3, 4, dtype=bool), [0, 1, 2],
         "row 1, column n_candidates: found 1"),
        ((np.ones((3, 3)), np.ones((4, 2))), None, [0, 0, 0], "vectors of items"),
        ((np.ones(3), np.ones((4, 3))), None, [0, 0, 0], "vectors of users"),
        (PAIR, None, [0, 0, 0], r"relevant items .*\(3,\)"),
    ],
)  # fmt: skip
def test_rank_wrong_arguments_are_refused(score, seen, relevant, message):
    with pytest.raises(InputError, match=message):
        rank(score, seen, relevant, users=[100, 101, 102], items=[500, 501, 502, 503])


def test_rank_blocks_without_users_are_refused():
    with pytest.raises(InputError, match="block_size"):
        rank(by_rows(ONES), None, [0, 0, 0], block_size=0)


def test_rank_item_without_a_vector_is_refused():
    with pytest.raises(InputError, match="row 1, column relevant"):
        rank(PAIR, None, [9, 0])


def test_rank_errors_of_the_function_are_not_caught():
    with pytest.raises(ZeroDivisionError):
        rank(lambda _: 1 / 0, None, [0])


def test_rank_of_nobody_is_empty():
    assert len(rank(lambda _: np.ones((0, 0)), None, [])) == 0


@pytest.mark.parametrize(
    "relevant", [[-1] * 3, np.full(3, -1), [None] * 3, [[], [], []], np.zeros((3, 4)), NOBODY]
)
def test_rank_without_relevant_items_is_refused(relevant):
    with pytest.raises(InputError, match="relevant"):
        rank(by_rows(ONES), None, relevant)


def exact_products(users, items):
    """Return inner products in exact arithmetic, shape (users, items)."""
    return [[sum(map(operator.mul, map(Fraction, u), map(Fraction, v))) for v in items.tolist()]
            for u in users.tolist()]  # fmt: skip


@pytest.mark.parametrize("scale", [1.0, 2.0**-500, 2.0**400])
@pytest.mark.parametrize("several", [False, True])
def test_rank_near_ties_of_whole_numbers_are_exact(scale, several):
    """Sums of products up to 2^52 are exact, and many of them differ by 1 only."""
    rng = np.random.default_rng(1)
    users = 2.0**24 + rng.integers(0, 3, (9, 8))
    items = 2.0**24 + rng.integers(0, 3, (60, 8))
    items[40:] = rng.permuted(items[20:40], axis=1)
    items[:10] = items[10:20]
    exact = exact_products(users, items)
    relevant = rng.random((9, 60)) < 0.2 if several else rng.integers(0, 60, 9)
    ranks = rank((scale * users, items), None, relevant)
    better, tied = [], []
    for scores, of_user in zip(exact, relevant, strict=True):
        items_of_user = np.flatnonzero(of_user) if several else [of_user]
        for value in sorted((scores[item] for item in items_of_user), reverse=True):
            better.append(sum(score > value for score in scores))
            tied.append(sum(score == value for score in scores) - 1)
    assert ranks.n_better.tolist() == better
    assert ranks.n_tied.tolist() == tied
    assert max(tied) > 0


@pytest.mark.parametrize("seed", range(5))
def test_rank_near_ties_of_fractions_are_within_rounding(seed):
    """Ranks are exact up to the rounding of one sum; equal vectors are tied in any block."""
    rng = np.random.default_rng(seed)
    users = rng.normal(size=(12, 7))
    items = np.repeat(rng.normal(size=(6, 7)), 12, axis=0)
    ulps = rng.integers(-8, 9, items.shape) * (rng.random(items.shape) < 0.5)
    items += ulps * np.spacing(items)
    items[::3] = items[1::3]
    held_out = rng.integers(0, 72, 12)
    ranks = rank((users, items), None, held_out)
    for block_size in (1, 5):
        other = rank((users, items), None, held_out, block_size=block_size)
        assert np.array_equal(ranks.n_better, other.n_better)
        assert np.array_equal(ranks.n_tied, other.n_tied)
    exact = exact_products(users, items)
    sizes = exact_products(np.abs(users), np.abs(items))
    for user, item in enumerate(held_out):
        rounding = [7 * Fraction(2) ** -52 * size for size in sizes[user]]
        above = [score - exact[user][item] for score in exact[user]]
        surely = sum(x > r for x, r in zip(above, rounding, strict=True))
        maybe = sum(x >= -r for x, r in zip(above, rounding, strict=True)) - 1
        same = (items == items[item]).all(axis=1).sum() - 1
        assert surely <= ranks.n_better[user]
        assert same <= ranks.n_tied[user]
        assert ranks.n_better[user] + ranks.n_tied[user] <= maybe


def test_rank_lists_of_seen_and_relevant_items():
    scores = np.array([[0.9, 0.8, 0.1, 0.3], [0.2, 0.7, 0.4, 0.1]])
    # Without items 0 and 1, item 3 of the first user is the best, and item 2 of the second.
    for score in (scores, scores.tolist(), lambda users: scores[users]):
        ranks = rank(score, [[0, 1], [1]], [[3], [2]])
        assert ranks.n_better.tolist() == [0, 0]
        assert ranks.n_candidates.tolist() == [2, 3]
    with pytest.raises(InputError, match="scores"):
        rank([[0.1, 0.2], [0.3]], None, [[0], [0, 1]])


def test_rank_infinite_products():
    """A product of -inf is not a candidate, like such a score; inf and NaN are refused."""
    items = np.array([[-1e200, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [-1e200, 0.0]])
    users = np.array([[1e200, 0.0], [1.0, 0.0], [0.0, 1.0]])
    seen = csr_array([[0, 0, 0, 1, 1], [0, 0, 0, 0, 1], [0, 0, 0, 0, 0]])
    ranks = rank((users, items), seen, [1, 0, 1])
    assert ranks.n_candidates.tolist() == [2, 4, 5]
    assert counts(ranks) == [(1, 0), (3, 0), (0, 4)]
    with pytest.raises(InputError, match="item 0"):
        rank((users, items), seen, [0, 0, 1])
    user = np.array([[1e200, 1e200]])
    for huge, message in (([1e200, 0.0], "is inf"), ([1e200, -1e200], "is nan")):
        items = np.array([[1.0, 0.0], huge])
        with pytest.raises(InputError, match=f"score of item 1 for user 0 {message}"):
            rank((user, items), None, [0])


@pytest.mark.parametrize("item", [-3, -2, 4, 5])
@pytest.mark.parametrize("name", ["relevant", "seen"])
def test_rank_unknown_items_are_refused(name, item):
    items = {"relevant": [[1], [2]], "seen": [[3], [3]], name: [[3], [item]]}
    message = f"row 2, column {name}: found {item}; .* 0 to 3"
    with pytest.raises(InputError, match=message):
        rank(by_rows(np.ones((2, 4))), items["seen"], items["relevant"])


def test_rank_function_is_called_for_users_with_items():
    scores = np.random.default_rng(0).random((3, 5))
    calls = []

    def score(users):
        calls.append(users.tolist())
        return scores[users]

    rank(score, np.zeros((3, 5), dtype=bool), [[1], [2, 3], [0]])
    assert calls == [[0], [0, 1, 2]]
    for no_items in ([], None):
        calls.clear()
        ranks = rank(score, None, [no_items, [2, 3], [0]])
        assert calls == [[0], [1, 2]]
        assert ranks.users.tolist() == [1, 2]


@pytest.mark.parametrize("positive", [[0.0, 1.0], [0], [[0, 1]], 5, -6, [0, 5], "0", True])
def test_correct_wrong_positive_is_refused(positive):
    with pytest.raises(InputError, match="positive"):
        sm.correct(np.eye(2, 5), "hr@1", positive=positive, n_items=50)


@pytest.mark.parametrize(
    ("positive", "ranks"), [(0, [1, 3]), (-1, [5, 2]), ([0, 4], [1, 2]), (4, [5, 2])]
)
def test_correct_positive_by_hand(positive, ranks):
    scores = np.array([[9.0, 5.0, 4.0, 3.0, 1.0], [6.0, 9.0, 1.0, 2.0, 8.0]])
    options = {"positive": positive, "n_items": 50, "shape": "none"}
    results = sm.correct(scores, "rr", "sampled", **options)
    assert results[0].value == pytest.approx(np.mean([1 / rank for rank in ranks]))
