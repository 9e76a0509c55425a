"""Negatives of pairs with ids of items: which properties are asked about, and which are not."""

import warnings

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import warns_about

USERS, ITEMS, M, SEEN = 500, 800, 40, 25
RNG = np.random.default_rng(6)
POPULARITY = 1.0 / np.arange(5, ITEMS + 5)


def drawn(weights, size, rng, excluded):
    """Draw items of each user without replacement, by the largest of random keys."""
    keys = np.log(weights) + rng.gumbel(size=(USERS, ITEMS))
    keys[excluded] = -np.inf
    return np.argsort(-keys, axis=1)[:, :size]


TASTE = np.exp(RNG.normal(size=(USERS, 5)) @ RNG.normal(size=(5, ITEMS)))
NONE = np.zeros((USERS, ITEMS), bool)
LIKED = drawn(POPULARITY * TASTE, SEEN + 1, RNG, NONE)
HELD = LIKED[:, 0]
SEEN_MASK = NONE.copy()
np.put_along_axis(SEEN_MASK, LIKED, True, axis=1)
UNIFORM = np.ones(ITEMS)


def pairs(negatives, seed=0):
    rng = np.random.default_rng(seed)
    items = np.column_stack([HELD, negatives])
    width = items.shape[1]
    frame = pd.DataFrame(
        {"user_id": np.repeat(np.arange(USERS), width), "item_id": items.ravel()}
    )
    score = rng.normal(size=items.shape) + 2 * (np.arange(width) == 0)
    labels = np.tile([1] + [0] * (width - 1), USERS)
    return frame.assign(score=score.ravel(), label=labels)


def notes(data, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sm.InputWarning)
        given = {"n_items": ITEMS - SEEN, "shape": "none", **options}
        return sm.correct(data, "auc", "sampled", **given).notes


def uniform(seed):
    return drawn(UNIFORM, M, np.random.default_rng(seed), SEEN_MASK)


def test_uniform_negatives_are_not_asked_about():
    """Seen items are popular and drawn less often, which is as it should be."""
    assert [
        note for seed in range(20) for note in notes(pairs(uniform(seed), seed))
    ] == []


def best_of_a_retriever():
    scores = np.where(SEEN_MASK, 0, TASTE * POPULARITY)
    return np.argsort(-scores, axis=1)[:, :20]


def of_the_test_set():
    weights = np.isin(np.arange(ITEMS), HELD) + 1e-9
    return drawn(weights, M, np.random.default_rng(1), SEEN_MASK)


def repeated():
    negatives = uniform(3)
    negatives[::2, 1] = negatives[::2, 0]
    return negatives


def with_held_out_items():
    negatives = uniform(4)
    negatives[:30, 5] = HELD[:30]
    return negatives


def of_popularity():
    return drawn(POPULARITY, M, np.random.default_rng(2), SEEN_MASK)


@pytest.mark.parametrize(
    ("make", "check", "words"),
    [
        (of_popularity, "uniformity", "drawn by popularity"),
        (best_of_a_retriever, "uniformity", "by a retriever"),
        (of_the_test_set, "uniformity", "estimates and the range are too low"),
        (
            lambda: np.tile(uniform(5)[0], (USERS, 1)),
            "shared",
            "have the negatives of another one",
        ),
        (repeated, "duplicates", "250 repeat an item of the user"),
        (with_held_out_items, "held-out item", "30 users have their held-out item"),
    ],
)
def test_properties_that_fail_are_named_in_each_form(make, check, words, tmp_path):
    data = pairs(make())
    data.to_csv(tmp_path / "p.csv", index=False)
    data.to_parquet(tmp_path / "p.parquet")
    for form in (
        data,
        data.to_dict("list"),
        tmp_path / "p.csv",
        tmp_path / "p.parquet",
    ):
        found = [note for note in notes(form) if f"fail the check '{check}'" in note]
        assert len(found) == 1
        assert words in found[0]
    scored = data.drop(columns="label")
    held = {user: [int(item)] for user, item in enumerate(HELD)}
    if check == "uniformity":
        assert any(check in note for note in notes(scored, relevant=held))


def test_draws_with_replacement_may_repeat():
    negatives = RNG.integers(0, ITEMS, size=(USERS, M))
    negatives[negatives == HELD[:, None]] = 0
    negatives[HELD == 0] = np.arange(1, M + 1)
    data = pairs(negatives)
    options = {"n_items": ITEMS, "sampling": "with-replacement"}
    assert not [note for note in notes(data, **options) if "duplicates" in note]
    assert [note for note in notes(data, n_items=ITEMS) if "duplicates" in note]


@pytest.mark.filterwarnings("ignore:.*have the same ranks")
def test_two_recommenders_are_asked_about_by_name():
    data = {"good": pairs(uniform(8)), "bad": pairs(of_popularity())}
    with warns_about("negatives"):
        found = sm.compare(data, "auc", "sampled", n_items=ITEMS - SEEN, shape="none")
    assert [note.partition(":")[0] for note in found.notes] == ["bad, data", "data"]
