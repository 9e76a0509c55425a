"""Users all of whose candidates are relevant: no pair that AUC could be about."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.caught_warnings import full_messages, warns_about

pytestmark = pytest.mark.filterwarnings("ignore:seen")
SCORES = np.array([[0.1, 0.2, 0.3, 0.0], [0.3, 0.2, 0.1, 0.5], [0.2, 0.3, 0.1, 0.4]])
RELEVANT = np.array([[1, 0, 0, 1], [1, 1, 1, 1], [0, 1, 0, 0]])
OTHER = np.array([[0.3, 0.2, 0.1, 0.0], [0.3, 0.2, 0.1, 0.5], [0.2, 0.1, 0.3, 0.4]])
# User 0: neither 0.1 nor 0.0 is above 0.2 or 0.3. User 2: 0.3 is above two of three.


def auc_of(scores, relevant):
    own, others = scores[relevant > 0], scores[relevant == 0]
    return np.mean(own[:, None] > others)


def test_they_are_left_out_of_auc_alone():
    with warns_about("auc leaves out 1 of 3 users"):
        found = sm.evaluate(SCORES, "auc, recall@1, ap", relevant=RELEVANT)
    assert found[0].value == pytest.approx(np.mean([0.0, 2 / 3]))
    assert found[1].value == pytest.approx(np.mean([0, 1 / 4, 0]))
    assert [one.n_users for one in found] == [2, 3, 3]
    assert "leaves out" in found.notes[0]


def test_error_and_interval_are_those_of_the_other_users():
    with warns_about("leaves out"):
        (found,) = sm.evaluate(SCORES, "auc", relevant=RELEVANT)
    (alone,) = sm.evaluate(SCORES[[0, 2]], "auc", relevant=RELEVANT[[0, 2]])
    assert found.std_error == pytest.approx(alone.std_error)
    assert found.effective_users == pytest.approx(alone.effective_users)


def test_values_by_user_are_nan():
    with warns_about("leaves out"):
        values = sm.values_by_user(SCORES, "auc", relevant=RELEVANT)["auc"]
    pd.testing.assert_series_equal(
        values.reset_index(drop=True), pd.Series([0.0, np.nan, 2 / 3], name="auc")
    )


def test_defaults_of_many_queries(recwarn):
    rng = np.random.default_rng(2)
    scores = rng.normal(size=(1000, 8))
    relevant = (rng.random(scores.shape) < 0.3).astype(int)
    scores += relevant
    relevant[:, 0] = 1
    relevant[7] = 1
    found = sm.evaluate(scores, relevant=relevant)
    others = [user for user in range(1000) if not relevant[user].all()]
    expected = np.mean([auc_of(scores[user], relevant[user]) for user in others])
    assert {one.metric: one.value for one in found}["auc"] == pytest.approx(expected)
    assert any(
        f"{1000 - len(others)} of 1,000 users" in text
        for text in full_messages(recwarn)
    )


def test_comparisons_leave_them_out_in_pairs():
    with warns_about("leaves out"):
        (found,) = sm.compare({"A": SCORES, "B": OTHER}, "auc", relevant=RELEVANT)
    others = [0, 2]
    a, b = (
        np.mean([auc_of(scores[user], RELEVANT[user]) for user in others])
        for scores in (SCORES, OTHER)
    )
    assert (found.value_a, found.value_b) == pytest.approx((a, b))
    assert found.difference == pytest.approx(b - a)
    assert found.n_users == 2


def test_without_any_other_user_auc_is_refused_with_a_remedy():
    with pytest.raises(sm.InputError, match=r"auc is not defined.*leave auc out"):
        sm.evaluate(SCORES[1:2], "auc, ap", relevant=RELEVANT[1:2])
    (found,) = sm.evaluate(SCORES[1:2], "ap", relevant=RELEVANT[1:2])
    assert found.value == 1.0
