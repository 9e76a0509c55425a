"""Questions about what chance alone would hardly give: where they begin, and who is not asked."""

import numpy as np
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import warnings_of

USERS, ITEMS = 200, 300
RNG = np.random.default_rng(12)


def lists_with(hits, users=60, length=20, items=400):
    """Lists of which the first `hits` hold the relevant item, and all items are known."""
    lists = {
        user: [(user * 7 + place) % items for place in range(length)]
        for user in range(users)
    }
    relevant = {
        user: [lists[user][0] if user < hits else -1 - user] for user in range(users)
    }
    return lists, {
        user: [items + 9 if own[0] < 0 else own[0]] for user, own in relevant.items()
    }


@pytest.mark.parametrize(
    ("hits", "users", "length", "asks"),
    [
        (60, 60, 20, True),
        (59, 60, 20, False),
        (49, 49, 20, False),
        (60, 60, 215, False),
    ],
)
def test_lists_that_hold_every_relevant_item(hits, users, length, asks):
    lists, relevant = lists_with(hits, users, length)
    found = warnings_of(sm.evaluate, lists, "hr@10", relevant=relevant)
    assert any("hold every relevant item" in each for each in found) == asks


@pytest.mark.parametrize(("hits", "asks"), [(15, False), (14, True), (0, True)])
def test_lists_with_as_many_relevant_items_as_by_chance(hits, asks):
    """60 lists of 60 of 401 items have 9.0 by chance, so up to 14 is no more."""
    lists, relevant = lists_with(hits, 60, 60)
    known = len(
        {item for items in (*lists.values(), *relevant.values()) for item in items}
    )
    expected = 60 * 60 / known
    assert expected >= 8
    assert (hits <= expected + 2 * np.sqrt(expected)) == asks
    found = warnings_of(sm.evaluate, lists, "hr@10", relevant=relevant)
    assert any("by chance" in each for each in found) == asks


def matrix(users=60):
    return np.random.default_rng(3).normal(size=(users, 40))


def test_rows_of_ids_beside_lists():
    lists = {user: [20, 7 + user % 5, user % 7] for user in range(12)}
    pairs = [[user, (user + 1) % 7] for user in range(12)]
    with pytest.raises(sm.InputError, match="2 numbers"):
        sm.evaluate(lists, "hr@1", relevant=pairs)
    for given, rows in ((pairs[::-1], 12), (pairs[:9], 9)):
        kept = {user: lists[user] for user in range(rows)}
        assert len(sm.evaluate(kept, "hr@1", relevant=given)) == 1
    two_each = [[int(x) for x in RNG.permutation(9)[:2]] for _ in range(12)]
    assert not warnings_of(sm.evaluate, lists, "hr@1", relevant=two_each)


def good(seed=0):
    """Scores by which held-out items are near the top, and these items."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(USERS, ITEMS))
    held = rng.integers(0, ITEMS, USERS)
    scores[np.arange(USERS), held] += 2.5
    return scores, held


def seen_of(held, seed=0):
    seen = np.random.default_rng(seed).random((USERS, ITEMS)) < 0.03
    seen[np.arange(USERS), held] = False
    return seen


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("low", [-9.0, 0.0])
def test_a_good_recommender_that_scores_60_percent_of_the_items(seed, low):
    """Items that are not scored have one score, below all others or among them."""
    scores, held = good(seed)
    is_unscored = np.random.default_rng(seed).random(ITEMS) < 0.4
    scores = np.exp(scores)
    scores[:, is_unscored] = low
    seen = seen_of(held, seed)
    assert not warnings_of(
        sm.evaluate, scores, "recall@10, ap, auc", relevant=held, seen=seen
    )
    lists = {user: np.argsort(-row)[:50].tolist() for user, row in enumerate(scores)}
    assert not warnings_of(
        sm.evaluate, lists, "recall@10", relevant=held[:, None].tolist()
    )
    negatives = np.random.default_rng(seed).integers(0, ITEMS, (USERS, 50))
    rows = np.take_along_axis(scores, np.column_stack([held, negatives]), axis=1)
    rows += 1e-9 * np.random.default_rng(seed).random(
        rows.shape
    )  # ties are in random order
    given = {"n_items": ITEMS, "positive": 0, "shape": "none"}
    assert not warnings_of(sm.correct, rows, "auc", "sampled", **given)


@pytest.mark.parametrize("seed", range(5))
def test_ranks_of_which_40_percent_are_those_of_items_without_a_score(seed):
    """They are anywhere in the last third of the candidates, or in the last place."""
    rng = np.random.default_rng(seed)
    ranks = np.ceil(ITEMS * rng.beta(0.4, 5, USERS)).astype(int)
    for places in (
        rng.integers(ITEMS * 2 // 3, ITEMS + 1, USERS),
        np.full(USERS, ITEMS),
    ):
        ranks[: USERS * 2 // 5] = places[: USERS * 2 // 5]
        assert not warnings_of(sm.evaluate, ranks, "recall@10", n_items=ITEMS)
        drawn = 1 + rng.hypergeometric(ranks - 1, ITEMS - ranks, 50)
        given = {"n_items": ITEMS, "n_negatives": 50, "shape": "none"}
        assert not warnings_of(sm.correct, drawn, "auc", "sampled", **given)
