"""Ranks by vectors against scores summed and compared one by one."""

import math

import numpy as np
import pytest
from scipy.sparse import csr_array

from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import rank


def ranked_by_loops(users, items, seen, relevant):
    """Candidates, and better and tied ones of each relevant item, by exactly rounded sums."""
    rows = []
    for user, own in zip(*np.nonzero(relevant), strict=True):
        scores = [math.fsum(users[user] * item) for item in items]
        others = [j for j in range(len(items)) if not seen[user, j] and j != own]
        better = sum(scores[j] > scores[own] for j in others)
        rows.append((user, better, sum(scores[j] == scores[own] for j in others)))
    return [(better, tied) for _, better, tied in sorted(rows)]


def found(ranks):
    return list(zip(ranks.n_better.tolist(), ranks.n_tied.tolist(), strict=True))


def case(seed, d, levels=None):
    """Vectors of 40 users and 70 items, of whole numbers where levels are given."""
    rng = np.random.default_rng(seed)
    sizes = ((40, d), (70, d))
    if levels is None:
        users, items = (rng.standard_normal(size) for size in sizes)
    else:
        users, items = (rng.integers(-levels, levels + 1, size) for size in sizes)
    items[rng.integers(0, 70, 20)] = items[3]
    items[-9:] = users[:2] = 0
    seen = rng.random((40, 70)) < 0.2
    held_out = rng.integers(0, 70, 40)
    held_out[:6] = [3, 69, 3, 69, 65, 3]
    seen[np.arange(40), held_out] = False
    return users, items, seen, held_out


@pytest.mark.parametrize("block_size", [1, 7, 512])
@pytest.mark.parametrize(("d", "levels"), [(1, 2), (5, 1), (3, 1000), (16, None), (100, None)])
def test_agrees_with_comparing_one_by_one(d, levels, block_size):
    users, items, seen, held_out = case(d, d, levels)
    relevant = np.equal.outer(held_out, np.arange(70))
    ranks = rank((users, items), csr_array(seen), held_out, block_size=block_size)
    assert found(ranks) == ranked_by_loops(users, items, seen, relevant)
    assert ranks.n_candidates.tolist() == (~seen).sum(axis=1).tolist()


def test_several_relevant_items():
    users, items, seen, _ = case(0, 4, 2)
    relevant = (np.random.default_rng(1).random(seen.shape) < 0.1) & ~seen
    relevant[5] = False
    ranks = rank((users, items), seen, csr_array(relevant))
    by_scores = rank(lambda rows: users[rows] @ items.T, seen, relevant)
    assert found(ranks) == found(by_scores)
    assert ranks.users.tolist() == by_scores.users.tolist()
    assert sorted(found(ranks)) == sorted(ranked_by_loops(users, items, seen, relevant))


@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_scores_that_only_float64_tells_from_each_other(scale):
    # Items score 1, then less by 1e-15 each, which float32 takes for the same.
    below = np.arange(30) * 2.0**-50
    items = np.stack([scale * (1.0 - below), np.zeros(30)], axis=1)
    users = np.tile([1.0 / scale, 5.0 / scale], (30, 1))
    order = np.random.default_rng(0).permutation(30)
    ranks = rank((users, items[order]), None, np.arange(30))
    assert ranks.n_better.tolist() == order.tolist()
    assert not ranks.n_tied.any()


def test_users_of_a_part_rank_as_among_all():
    users, items, seen, held_out = case(3, 16)
    whole = rank((users, items), seen, held_out)
    rows = np.array([31, 4, 5, 17])
    some = rank((users[rows], items), seen[rows], held_out[rows])
    assert found(some) == found(whole.take(rows))


def test_vectors_that_fit_neither_each_other_nor_the_items():
    users, items = np.ones((2, 3)), np.ones((4, 3))
    for pair, problem in (
        ((users, np.ones((4, 2))), "vectors of users have 3 dimensions, those of items 2"),
        ((users[:1], items), "scores of 1 users and 4 items, expected 2 users and 4 items"),
        ((users, items * np.nan), r"vectors of items are float64 of shape \(4, 3\); expected fin"),
        ((users[0], items), r"vectors of users are float64 of shape \(3,\); expected fin"),
    ):
        with pytest.raises(InputError, match=problem):
            rank(pair, None, [0, 1])
    with pytest.raises(InputError, match="expected 2 users and 5 items"):
        rank((users, items), np.zeros((2, 5), bool), [0, 1])
    with pytest.raises(InputError, match="held-out item of user 1 is 4, expected 0 to 3"):
        rank((users, items), None, [0, 4])
    with pytest.raises(InputError, match="held-out item of user 0 is 9, expected 0 to 3"):
        rank((users, items), None, [9, 0])
    with pytest.raises(InputError, match="held-out item 1 of user 1 is among the seen items"):
        rank((users, items), np.eye(2, 4) > 0, [1, 1])
