"""Arrays of another number of dimensions, and rows of users: remedies of refusals work."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.results import value_of

RNG = np.random.default_rng(22)
ROWS = RNG.normal([2.0] + 99 * [0.0], size=(200, 100))
HR = np.mean((ROWS[:, 1:] > ROWS[:, :1]).sum(axis=1) < 10)
OPTIONS = {"n_items": 3706, "positive": 0}


def test_flat_scores_with_labels_are_refused():
    flat, labels = ROWS.ravel(), np.tile([1] + 99 * [0], 200)
    with pytest.raises(
        sm.InputError, match=r"positive.*reshape\(-1, 1 \+ n_negatives\)"
    ):
        sm.correct(flat, "HR@10", "sampled", positive=labels, n_items=3706)
    rows, marks = flat.reshape(-1, 100), labels.reshape(-1, 100)
    found = sm.correct(rows, "HR@10", "sampled", positive=marks, n_items=3706)
    assert value_of(found) == HR


class Run:
    """As a run of ranx: keys and items, but no dictionary."""

    def __init__(self, data):
        self.data = data

    def keys(self):
        return self.data.keys()

    def __getitem__(self, key):
        if isinstance(key, int):
            raise AttributeError("error of another library")
        return self.data[key]

    def __len__(self):
        return len(self.data)


def test_objects_like_dictionaries_are_refused_and_the_remedy_works():
    run = Run({"q1": {"a": 0.9, "b": 0.6}, "q2": {"c": 0.8, "d": 0.7}})
    relevant = {"q1": {"b": 1}, "q2": {"x": 1}}
    with pytest.raises(sm.InputError, match=r"found Run.*dict\("):
        sm.evaluate(run, "rr@2", relevant=relevant)
    assert value_of(sm.evaluate(dict(run), "rr@2", relevant=relevant)) == 0.25


def test_rows_of_users_with_negatives_of_their_own():
    """Two held-out items of each of 100 users, with 99 negatives each."""
    row = np.repeat(np.arange(200), 100)
    pairs = pd.DataFrame(
        {
            "row_id": row,
            "user_id": row // 2,
            "score": ROWS.ravel(),
            "label": np.tile([1] + 99 * [0], 200),
        }
    )
    found = sm.correct(pairs, "HR@10, NDCG@10", "sampled", n_items=3706)
    assert value_of(found) == HR
    assert (found[0].n_users, found[0].n_visits) == (100, 200)
    rank = 1 + (ROWS[:, 1:] > ROWS[:, :1]).sum(axis=1)
    ndcg = np.where(rank <= 10, 1 / np.log2(rank + 1), 0).mean()
    assert found[1].value == pytest.approx(ndcg)
    # without them, as the message says
    pooled = sm.SampledRanks(
        rank, 3706, 99, users=np.repeat(range(100), 2), several_items=True
    )
    with pytest.raises(sm.InputError, match="visits="):
        sm.correct(pooled, "HR@10", "sampled")
    visits = {"users": np.repeat(range(100), 2), "visits": np.arange(200)}
    made = sm.SampledRanks.from_scores(ROWS, n_items=3706, **visits)
    assert value_of(sm.correct(made, "HR@10", "sampled")) == HR
