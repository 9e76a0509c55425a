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


RR = {name: (1 / exact_rank(scores)).mean() for name, scores in BOTH.items()}


def in_form(form):
    """Return both recommenders in a form, and their relevant items."""
    is_table = form in ("frame", "lists", "scores")
    relevant = None if form == "Ranks" else TEST if is_table else HELD_OUT
    return {name: FORMS[form](scores) for name, scores in BOTH.items()}, relevant


@pytest.mark.parametrize("function", [sm.evaluate, sm.values_by_user])
@pytest.mark.parametrize("form", FORMS)
def test_recommenders_by_name_are_refused_with_compare_as_remedy(form, function):
    recommenders, relevant = in_form(form)
    with pytest.raises(sm.InputError, match="compare"):
        function(recommenders, "rr", relevant=relevant)


@pytest.mark.parametrize("form", FORMS)
def test_recommenders_by_name_are_compared(form):
    recommenders, relevant = in_form(form)
    (result,) = sm.compare(recommenders, "rr", relevant=relevant)
    assert {result.a: result.value_a, result.b: result.value_b} == pytest.approx(RR)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", BOTH)
def test_each_recommender_is_evaluated(form, name):
    recommenders, relevant = in_form(form)
    (result,) = sm.evaluate(recommenders[name], "rr", relevant=relevant)
    assert result.value == pytest.approx(RR[name])


def test_a_single_recommender_by_name_is_refused():
    with pytest.raises(sm.InputError, match="compare"):
        sm.evaluate({"ALS": GOOD}, "rr", relevant=HELD_OUT)


@pytest.fixture
def paths(tmp_path: Path):
    for name, scores in BOTH.items():
        np.save(tmp_path / f"{name}.npy", scores)
    return {name: tmp_path / f"{name}.npy" for name in BOTH}


@pytest.mark.parametrize("kind", [Path, str])
def test_files_by_name_are_refused(paths, kind):
    with pytest.raises(sm.InputError, match="compare"):
        sm.evaluate({name: kind(path) for name, path in paths.items()}, "rr", relevant=HELD_OUT)


def test_files_by_name_are_compared(paths):
    (result,) = sm.compare(paths, "rr", relevant=HELD_OUT)
    assert {result.a: result.value_a, result.b: result.value_b} == pytest.approx(RR)


# Among ten negatives, which are columns 1 to 10; the held-out item is column 0.
AMONG_10 = {name: scores[:, :11] for name, scores in BOTH.items()}
OF_AMONG_10 = {"positive": 0, "n_items": 900}


def test_sampled_recommenders_by_name_are_refused():
    with pytest.raises(sm.InputError, match="compare"):
        sm.correct(AMONG_10, "hit@2", "sampled", **OF_AMONG_10)


def test_sampled_recommenders_by_name_are_compared_by_their_hits():
    (result,) = sm.compare(AMONG_10, "hit@2", "sampled", **OF_AMONG_10)
    ranks = 1 + (GOOD[:, 1:11] > GOOD[:, :1]).sum(axis=1)
    assert result.value_a == (ranks <= 2).mean()
    (alone,) = sm.correct(AMONG_10["ALS"], "hit@2", "sampled", **OF_AMONG_10)
    assert alone.value == result.value_a


RANKS = {"ALS": np.array([1, 5, 9]), "kNN": np.array([2, 3, 7])}


# One of three ranks of ALS is at most 2, and one of kNN.
FULL, SAMPLED = {"n_items": 50}, {"estimators": "sampled", "n_items": 50, "n_negatives": 9}


@pytest.mark.parametrize(
    ("function", "options"), [(sm.evaluate, FULL), (sm.correct, SAMPLED)], ids=["full", "sampled"]
)
def test_ranks_by_name_are_refused(function, options):
    with pytest.raises(sm.InputError, match="compare"):
        function(RANKS, "hr@2", **options)


@pytest.mark.parametrize("options", [FULL, SAMPLED], ids=["full", "sampled"])
@pytest.mark.parametrize(
    ("ranks", "hr_als", "hr_knn"),
    [(RANKS, 1 / 3, 1 / 3), ({"ALS": [1, 1, 9], "kNN": [2, 3, 7]}, 2 / 3, 1 / 3)],
    ids=["different", "repeated"],
)
def test_ranks_by_name_are_compared(ranks, hr_als, hr_knn, options):
    (result,) = sm.compare(ranks, "hr@2", **options)
    assert (result.a, result.b) == ("ALS", "kNN")
    assert (result.value_a, result.value_b) == pytest.approx((hr_als, hr_knn))


@pytest.mark.parametrize(
    ("function", "options"), [(sm.evaluate, FULL), (sm.correct, SAMPLED)], ids=["full", "sampled"]
)
def test_repeated_ranks_by_name_are_refused(function, options):
    with pytest.raises(sm.InputError, match="compare"):
        function({"ALS": [1, 1, 9], "kNN": [2, 2, 7]}, "hr@2", **options)


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


BY_RANK = {name: exact_rank(scores) for name, scores in BOTH.items()}


@pytest.mark.parametrize(
    "form",
    [
        lambda name: sm.rank(BOTH[name], None, HELD_OUT),
        lambda name: BY_RANK[name],
        lambda name: {"rank": BY_RANK[name]},
    ],
    ids=["Ranks", "array", "columns"],
)
def test_plan_takes_two_recommenders_by_name(form):
    """The same as both in a row; `Ranks` tell their number of items."""
    n_items = None if isinstance(form("ALS"), sm.Ranks) else ITEMS
    ranks = {name: form(name) for name in BOTH}
    planned = sm.plan(ranks, metrics="hit@5", sizes=[5], n_items=n_items)
    full = planned[-1]
    assert (full.exact_a, full.exact_b) == pytest.approx(
        tuple(np.mean(rank <= 5) for rank in BY_RANK.values())
    )
    in_a_row = sm.plan(*BY_RANK.values(), "hit@5", sizes=[5], n_items=ITEMS)
    assert list(planned) == list(in_a_row)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (({**BY_RANK, "third": BY_RANK["ALS"]},), "two recommenders"),
        ((BY_RANK, "hit@5"), "metrics="),
        (({"rank": BY_RANK["ALS"]}, {"rank": BY_RANK["kNN"]}, "hit@5"), "dictionary of both"),
    ],
    ids=["three", "metrics in the place of b", "columns in a row"],
)
def test_other_dictionaries_of_a_plan_are_refused(arguments, named):
    with pytest.raises(sm.InputError, match=named):
        sm.plan(*arguments, n_items=ITEMS, sizes=[5])


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
