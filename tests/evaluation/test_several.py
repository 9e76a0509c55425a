"""A dictionary of several recommenders, in functions that take the data of one."""

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
pytestmark = pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")


def exact_rank(scores):
    held_out_scores = scores[np.arange(ROWS), HELD_OUT]
    return 1 + (scores > held_out_scores[:, None]).sum(axis=1)


def lists(scores):
    return np.argsort(-scores, axis=1)


def frame(scores):
    top = lists(scores)
    return pd.DataFrame(
        {
            "user_id": np.repeat(np.arange(ROWS), ITEMS),
            "item_id": top.ravel(),
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
}


def test_values_by_user_of_several_recommenders():
    ranks = {name: exact_rank(scores) for name, scores in BOTH.items()}
    values = sm.values_by_user(BOTH, "rr", relevant=HELD_OUT)
    assert values.index.names == ["recommender", "user_id"]
    for name in BOTH:
        assert values.loc[name, "rr"].tolist() == pytest.approx(1 / ranks[name])


TEST = pd.DataFrame({"user_id": np.arange(ROWS), "item_id": HELD_OUT})


@pytest.mark.parametrize("form", FORMS)
def test_each_form_matches_single_recommenders(form):
    data = {name: FORMS[form](scores) for name, scores in BOTH.items()}
    is_table = form in ("frame", "lists", "scores")
    relevant = None if form == "Ranks" else TEST if is_table else HELD_OUT
    results = sm.evaluate(data, "hit@5, rr", relevant=relevant)
    values = {(one.recommender, one.metric): one.value for one in results}
    assert list(values) == [(name, metric) for name in ("ALS", "kNN") for metric in ("hit@5", "rr")]
    for name, scores in BOTH.items():
        rank = exact_rank(scores)
        assert values[name, "hit@5"] == pytest.approx((rank <= 5).mean())
        assert values[name, "rr"] == pytest.approx((1 / rank).mean())


def test_files_by_name(tmp_path: Path):
    paths = {name: tmp_path / f"{name}.npy" for name in BOTH}
    for name, scores in BOTH.items():
        np.save(paths[name], scores)
    results = sm.evaluate(data=paths, metrics="rr", relevant=HELD_OUT)
    expected = [(1 / exact_rank(scores)).mean() for scores in BOTH.values()]
    assert [one.value for one in results] == pytest.approx(expected)


def test_table_names_recommenders():
    results = sm.evaluate(BOTH, "rr, auc", relevant=HELD_OUT)
    first = str(results).splitlines()
    assert first[0].split()[:2] == ["recommender", "metric"]
    assert [line.split()[0] for line in first[2:6]] == ["ALS", "ALS", "kNN", "kNN"]
    assert results.to_frame()["recommender"].tolist() == ["ALS", "ALS", "kNN", "kNN"]
    alone = sm.evaluate(GOOD, "rr", relevant=HELD_OUT)
    assert alone[0].recommender is None
    assert "recommender" not in alone.to_frame()


def test_sampled_ranks():
    results = sm.correct(
        {"ALS": GOOD[:, :11], "kNN": POOR[:, :11]},
        "hit@2",
        "sampled, likely",
        positive=0,
        n_items=900,
    )
    for one in results[::2]:
        scores = BOTH[one.recommender][:, :11]
        rank = 1 + (scores[:, 1:] > scores[:, :1]).sum(axis=1)
        assert (one.estimator, one.value) == ("sampled", (rank <= 2).mean())
    assert [one.recommender for one in results] == ["ALS", "ALS", "kNN", "kNN"]
    assert "kNN" in str(results)


def test_plot_has_line_per_recommender():
    axes = sm.evaluate(BOTH, "rr", relevant=HELD_OUT).plot()
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["ALS", "kNN"]


def test_notes_and_errors_name_recommender():
    results = sm.evaluate({"ALS": GOOD, "kNN": -GOOD}, "hit@30", relevant=HELD_OUT)
    assert any(note.startswith("kNN, ") for note in results.notes)
    with pytest.raises(sm.InputError, match="kNN"):
        sm.evaluate({"ALS": GOOD, "kNN": GOOD[:5]}, "auc", relevant=HELD_OUT)


def test_dictionaries_by_user_are_one_recommender():
    by_user = dict(enumerate(lists(GOOD).tolist()))
    columns = frame(GOOD).to_dict("list")
    for data in (by_user, FORMS["scores"](GOOD), columns):
        (result,) = sm.evaluate(data, "rr", relevant=TEST)
        assert result.recommender is None
        assert result.value == pytest.approx((1 / exact_rank(GOOD)).mean())


def test_plan_needs_two_recommenders():
    ranks = {name: sm.rank(scores, None, HELD_OUT) for name, scores in BOTH.items()}
    results = sm.plan(ranks, metrics="hit@5", sizes=[5])
    expected = sm.plan(ranks["ALS"], ranks["kNN"], "hit@5", sizes=[5])
    assert list(results) == list(expected)
    with pytest.raises(sm.InputError, match="two recommenders"):
        sm.plan({**ranks, "third": ranks["ALS"]})
    with pytest.raises(sm.InputError, match="metrics="):
        sm.plan(ranks, "hit@5")


def test_dok_matrix_is_one_recommender():
    scores = np.array([[0.9, 0.5, 0.1], [0.2, 0.8, 0.4]])
    (result,) = sm.evaluate(dok_array(scores), "hr@1", relevant=[0, 2])
    assert result.value == 1 / 2
    with pytest.raises(sm.InputError):
        sm.plan(dok_array(scores), dok_array(scores), "hr@1")


def test_arrays_of_ranks_by_name_are_recommenders_for_compare_only():
    """As the docstrings say: elsewhere, an array is the list of a user."""
    data = {"ALS": np.array([1, 5, 9]), "kNN": np.array([2, 3, 7])}
    assert sm.compare(data, "hr@2", n_items=50)[0].value_a == pytest.approx(1 / 3)
    with pytest.raises(sm.InputError, match="relevant"):
        sm.evaluate(data, "hr@2", n_items=50)
    with pytest.raises(sm.InputError, match="label"):
        sm.correct(data, "hr@2", "cls", n_items=50, n_negatives=9)
    tables = {name: pd.DataFrame({"rank": ranks}) for name, ranks in data.items()}
    evaluated = sm.evaluate(tables, "hr@2", n_items=50)
    assert [(result.recommender, result.value) for result in evaluated] == [
        ("ALS", pytest.approx(1 / 3)),
        ("kNN", pytest.approx(1 / 3)),
    ]
