"""Dictionaries of recommenders by name: for compare, report and plan, and refused elsewhere."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, dok_array

import sampled_metrics as sm

ROWS, ITEMS = 40, 30
RNG = np.random.default_rng(8)
HELD_OUT = RNG.integers(0, ITEMS, ROWS)
GOOD = RNG.normal(size=(ROWS, ITEMS)) + np.eye(ITEMS)[HELD_OUT]
POOR = RNG.normal(size=(ROWS, ITEMS)) + 0.5 * np.eye(ITEMS)[HELD_OUT]
BOTH = {"ALS": GOOD, "kNN": POOR}
TEST = pd.DataFrame({"user_id": np.arange(ROWS), "item_id": HELD_OUT})
pytestmark = pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")


def exact_rank(scores):
    held_out_scores = scores[np.arange(ROWS), HELD_OUT]
    return 1 + (scores > held_out_scores[:, None]).sum(axis=1)


def lists(scores):
    return np.argsort(-scores, axis=1)


def frame(scores):
    return pd.DataFrame(
        {
            "user_id": np.repeat(np.arange(ROWS), ITEMS),
            "item_id": lists(scores).ravel(),
            "score": np.sort(scores)[:, ::-1].ravel(),
        }
    )


FORMS = {
    "Ranks": lambda scores: sm.rank(scores, None, HELD_OUT),
    "array": lambda scores: scores,
    "matrix": lambda scores: csr_array(scores),
    "wide": pd.DataFrame,
    "frame": frame,
    "lists": lambda scores: dict(enumerate(lists(scores).tolist())),
    "scores": lambda scores: {
        user: dict(enumerate(row)) for user, row in enumerate(scores.tolist())
    },
    "vectors": lambda scores: (scores, np.eye(ITEMS)),
    "function": lambda scores: lambda rows: scores[rows],
}


@pytest.mark.parametrize("form", FORMS)
def test_recommenders_are_refused_and_compared(form):
    """The remedies: compare, or evaluate of each."""
    recommenders = {name: FORMS[form](scores) for name, scores in BOTH.items()}
    is_table = form in ("frame", "lists", "scores")
    relevant = None if form == "Ranks" else TEST if is_table else HELD_OUT
    for function in (sm.evaluate, sm.values_by_user):
        with pytest.raises(sm.InputError, match="compare"):
            function(recommenders, "rr", relevant=relevant)
    (compared,) = sm.compare(recommenders, "rr", relevant=relevant)
    each = {name: sm.evaluate(data, "rr", relevant=relevant) for name, data in recommenders.items()}
    expected = {name: (1 / exact_rank(scores)).mean() for name, scores in BOTH.items()}
    assert {name: results[0].value for name, results in each.items()} == pytest.approx(expected)
    assert {compared.a: compared.value_a, compared.b: compared.value_b} == pytest.approx(expected)


def test_a_single_recommender_by_name_is_refused():
    with pytest.raises(sm.InputError, match="compare"):
        sm.evaluate({"ALS": GOOD}, "rr", relevant=HELD_OUT)


def test_files_by_name_are_refused(tmp_path: Path):
    paths = {name: tmp_path / f"{name}.npy" for name in BOTH}
    for name, scores in BOTH.items():
        np.save(paths[name], scores)
    for data in (paths, {name: str(path) for name, path in paths.items()}):
        with pytest.raises(sm.InputError, match="compare"):
            sm.evaluate(data, "rr", relevant=HELD_OUT)
    compared = sm.compare(paths, "rr", relevant=HELD_OUT)
    assert compared[0].value_a == pytest.approx((1 / exact_rank(GOOD)).mean())


def test_sampled_recommenders_are_refused_and_compared():
    recommenders = {name: scores[:, :11] for name, scores in BOTH.items()}
    options = {"positive": 0, "n_items": 900}
    with pytest.raises(sm.InputError, match="compare"):
        sm.correct(recommenders, "hit@2", "sampled", **options)
    (compared,) = sm.compare(recommenders, "hit@2", "sampled", **options)
    (corrected,) = sm.correct(recommenders["ALS"], "hit@2", "sampled", **options)
    ranks = 1 + (GOOD[:, 1:11] > GOOD[:, :1]).sum(axis=1)
    assert compared.value_a == corrected.value == (ranks <= 2).mean()


RANKS = {"ALS": np.array([1, 5, 9]), "kNN": np.array([2, 3, 7])}


@pytest.mark.parametrize(
    "ranks", [RANKS, {"ALS": [1, 1, 9], "kNN": [2, 2, 7]}], ids=["different", "repeated"]
)
def test_ranks_by_name_are_refused_and_compared(ranks):
    with pytest.raises(sm.InputError, match="compare"):
        sm.evaluate(ranks, "hr@2", n_items=50)
    (compared,) = sm.compare(ranks, "hr@2", n_items=50)
    hits = {name: np.mean(np.array(one) <= 2) for name, one in ranks.items()}
    assert {compared.a: compared.value_a, compared.b: compared.value_b} == pytest.approx(hits)
    with pytest.raises(sm.InputError, match="compare"):
        sm.correct(ranks, "hr@2", "sampled", n_items=50, n_negatives=9)
    (compared,) = sm.compare(ranks, "hr@2", "sampled", n_items=50, n_negatives=9)
    assert {compared.a: compared.value_a, compared.b: compared.value_b} == pytest.approx(hits)


def test_lists_by_user_with_relevant_items_stay_lists():
    (result,) = sm.evaluate(RANKS, "hr@2", relevant={"ALS": [5], "kNN": [7]})
    assert result.value == 1 / 2


def test_dictionaries_by_user_and_of_columns_are_one_recommender():
    by_user = dict(enumerate(lists(GOOD).tolist()))
    for data in (by_user, FORMS["scores"](GOOD), frame(GOOD).to_dict("list")):
        (result,) = sm.evaluate(data, "rr", relevant=TEST)
        assert result.value == pytest.approx((1 / exact_rank(GOOD)).mean())


def test_text_ids_by_user_are_items():
    (result,) = sm.evaluate({"ann": "x", "bob": "y"}, "hr@1", relevant={"ann": "x", "bob": "x"})
    assert result.value == 1 / 2


def test_other_functions_refuse_recommenders():
    for function in (lambda data: sm.rank(data, None, HELD_OUT), sm.RankMeter("rr").update):
        with pytest.raises(sm.InputError, match="compare"):
            function(BOTH)
    ranks = {name: sm.rank(scores, None, HELD_OUT) for name, scores in BOTH.items()}
    assert sm.compare(ranks, "rr")[0].value_a == pytest.approx((1 / exact_rank(GOOD)).mean())


def test_dictionaries_of_ranks_are_refused_or_columns():
    """Their keys are not ranks."""
    by_user = {1: 5, 2: 9}
    with pytest.raises(sm.InputError, match="Series"):
        sm.Ranks.from_ranks(by_user, 50)
    expected = sm.Ranks([50, 50], [4, 8], [0, 0], users=[1, 2])
    for ranks in (pd.Series(by_user), {"user_id": [1, 2], "rank": [5, 9]}):
        assert sm.evaluate(sm.Ranks.from_ranks(ranks, 50), "rr") == sm.evaluate(expected, "rr")
    with pytest.raises(sm.InputError, match="compare"):
        sm.Ranks.from_ranks(RANKS, 50)


def test_plan_takes_two_recommenders_by_name():
    ranks = {name: sm.rank(scores, None, HELD_OUT) for name, scores in BOTH.items()}
    expected = sm.plan(ranks["ALS"], ranks["kNN"], "hit@5", sizes=[5])
    arrays = {name: exact_rank(scores) for name, scores in BOTH.items()}
    for data, n_items in ((ranks, None), (arrays, ITEMS)):
        results = sm.plan(data, metrics="hit@5", sizes=[5], n_items=n_items)
        assert list(results) == list(expected)
    with pytest.raises(sm.InputError, match="two recommenders"):
        sm.plan({**ranks, "third": ranks["ALS"]})
    with pytest.raises(sm.InputError, match="metrics="):
        sm.plan(ranks, "hit@5")
    columns = {name: {"rank": one} for name, one in arrays.items()}
    with pytest.raises(sm.InputError, match="dictionary of both"):
        sm.plan(*columns.values(), "hit@5", n_items=ITEMS, sizes=[5])
    results = sm.plan(columns, metrics="hit@5", n_items=ITEMS, sizes=[5])
    assert list(results) == list(expected)


def test_columns_are_not_compared_as_recommenders():
    """Ranks 1, 4 and 4 of 3 users: hit@3 is 1/3 and, of the other recommender, 2/3."""
    data = {"user_id": [1, 2, 3], "rank": [1, 4, 4]}
    other = {"user_id": [1, 2, 3], "rank": [1, 3, 4]}
    for function in (sm.compare, sm.plan):
        with pytest.raises(sm.InputError, match="by its name"):
            function(data, metrics="hit@3", n_items=9)
    result = sm.compare({"A": data, "B": other}, "hit@3", n_items=9)[0]
    assert (result.value_a, result.value_b) == (1 / 3, 2 / 3)


def test_dok_matrix_is_one_recommender():
    scores = np.array([[0.9, 0.5, 0.1], [0.2, 0.8, 0.4]])
    (result,) = sm.evaluate(dok_array(scores), "hr@1", relevant=[0, 2])
    assert result.value == 1 / 2
    with pytest.raises(sm.InputError):
        sm.plan(dok_array(scores), dok_array(scores), "hr@1")
