"""Warnings about relevant items: those of a grade below `min_relevance` are not relevant."""

import json

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import warnings_of, warns_about
from tests.helpers.results import value_of

USERS, CANDIDATES = 60, 10
RNG = np.random.default_rng(5)
# Each user has rated ten films: two with 5 stars, and two each with 4, 3, 2 and 1.
STARS = RNG.permuted(np.tile([1, 2, 3, 4, 5], (USERS, 2)), axis=1)
NOISE = RNG.random((USERS, CANDIDATES))
PERFECT = "above all of their other candidates"
RANDOM = "50 % in a random order"


def rated_pairs(label, score):
    return pd.DataFrame(
        {
            "user_id": np.repeat(np.arange(USERS), CANDIDATES),
            "item_id": np.tile(np.arange(CANDIDATES), USERS),
            "label": label.ravel(),
            "score": score.ravel(),
        }
    )


@pytest.mark.parametrize("lowest", [0, 1])
def test_random_scores_of_rated_films_are_not_called_a_leak(lowest):
    """With labels from 1 on, every film has a grade above 0."""
    pairs = rated_pairs(STARS - 1 + lowest, NOISE)
    (message,) = warnings_of(sm.evaluate, pairs, "auc", complete=True, min_relevance=3 + lowest)
    assert RANDOM in message


@pytest.mark.parametrize("lowest", [0, 1])
def test_relevant_films_above_all_others_are_asked_about(lowest):
    """Four stars and more are first, in random order; so are all others below them."""
    pairs = rated_pairs(STARS - 1 + lowest, NOISE + (STARS >= 4))
    options = {"complete": True, "min_relevance": 3 + lowest}
    with warns_about(f"all {4 * USERS} held-out items are {PERFECT}"):
        assert value_of(sm.evaluate(pairs, "auc", **options)) == 1.0


def test_matrix_of_grades_is_asked_about_relevant_ones_only():
    """Unrated items are between four stars and more, which are first, and the others."""
    rng = np.random.default_rng(6)
    grades = np.pad(STARS, ((0, 0), (0, 90)))
    scores = np.where(grades >= 4, 2.0, np.where(grades > 0, -1.0, 0.0))
    scores += rng.random(scores.shape) / 2
    messages = warnings_of(sm.evaluate, scores, "auc", relevant=grades, min_relevance=4)
    assert [PERFECT in message for message in messages].count(True) == 1
    assert not any("largest rank" in message for message in messages)


def test_pool_without_irrelevant_candidates_is_said_to_be_that():
    pairs = rated_pairs(STARS, NOISE)
    with warns_about("all candidates of all 60 users are relevant") as messages:
        assert value_of(sm.evaluate(pairs, "hit@10", complete=True)) == 1.0
    assert not any(PERFECT in message or RANDOM in message for message in messages)


def test_lists_with_every_relevant_item_are_asked_about():
    """The only item with five stars is at rank 2; the item with one star is in no list."""
    lists = {user: [7 * user % 90, 100 + user] for user in range(USERS)}
    relevant = {user: {100 + user: 5, 300: 1} for user in range(USERS)}
    options = {"relevant": relevant, "min_relevance": 4}
    with warns_about("contain every relevant item"):
        assert value_of(sm.evaluate(lists, "rr@2", **options)) == 0.5


# The order is 1, 3, 2 stars, of which 2 and 3 are relevant: NDCG takes the film of one star as a
# gain too.
LISTED, GRADES = {"anna": ["x", "y", "z"]}, {"anna": {"x": 1, "y": 3, "z": 2}}
DISCOUNT_2, DISCOUNT_3 = 1 / np.log2(3), 1 / np.log2(4)
NDCG = (1 + 3 * DISCOUNT_2 + 2 * DISCOUNT_3) / (3 + 2 * DISCOUNT_2 + 1 * DISCOUNT_3)


def test_grades_below_min_relevance_are_gains_of_ndcg_and_no_hits():
    results = sm.evaluate(LISTED, "ndcg@3, rr@3", relevant=GRADES, min_relevance=2)
    assert [result.value for result in results] == pytest.approx([NDCG, 1 / 2])


def test_grades_below_min_relevance_are_noted_as_gains_of_ndcg():
    results = sm.evaluate(LISTED, "ndcg@3, rr@3", relevant=GRADES, min_relevance=2)
    (note,) = results.notes
    assert note.startswith("min_relevance: read as 2")
    assert "ndcg@3" in note
    assert note in " ".join(str(results).split())


@pytest.mark.parametrize(("metric", "least"), [("rr@3", 2), ("ndcg@3", 1)])
def test_min_relevance_that_changes_no_gain_is_not_noted(metric, least):
    assert sm.evaluate(LISTED, metric, relevant=GRADES, min_relevance=least).notes == []


def test_command_notes_grades_below_min_relevance(run, tmp_path):
    pd.DataFrame({"user_id": 1, "item_id": [5, 6, 7]}).to_csv(tmp_path / "a.csv", index=False)
    (tmp_path / "b.qrels").write_text("1 0 5 1\n1 0 6 3\n1 0 7 2\n")
    line = ("evaluate", tmp_path / "a.csv", "--relevant", tmp_path / "b.qrels")
    options = ("--min-relevance", 2, "--metric", "ndcg@3", "--format", "json")
    (row,) = json.loads(run(*line, *options).stdout)
    assert row["value"] == pytest.approx(NDCG)
    (note,) = row["notes"]
    assert note.startswith("min_relevance: read as 2")
