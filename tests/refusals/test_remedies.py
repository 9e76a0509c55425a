"""Files that are read once they have a header, and data whose remedy is an expression.

Expressions are run as the messages show them.
"""

import json
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.results import value_of


@pytest.mark.parametrize("indent", [None, 1])
def test_run_in_json_is_read_as_suggested(indent: int | None, tmp_path: Any) -> None:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"q1": {"d1": 0.9, "d2": 0.3}}, indent=indent))
    with pytest.raises(sm.InputError, match=r"run.json: found JSON.*json.load"):
        sm.evaluate(path, "rr@2", relevant={"q1": ["d2"]})
    run = json.loads(path.read_text())
    assert value_of(sm.evaluate(run, "rr@2", relevant={"q1": ["d2"]})) == 1 / 2


RNG = np.random.default_rng(21)
LISTS_BY_USER = {user: RNG.permutation(40)[:10].tolist() for user in range(30)}
HELD_BY_USER = {user: RNG.permutation(40)[:3].tolist() for user in range(30)}
SCORED = pd.DataFrame(
    [(u, i, -k) for u, items in LISTS_BY_USER.items() for k, i in enumerate(items)],
    columns=["user_id", "item_id", "score"],
)
HELD_PAIRS = [(user, item) for user, items in HELD_BY_USER.items() for item in items]


MEAN_RECALL = np.mean(
    [np.isin(HELD_BY_USER[user], items).mean() for user, items in LISTS_BY_USER.items()]
)


@pytest.mark.filterwarnings("ignore:.*rating is not read")
@pytest.mark.parametrize(
    ("lines", "header"),
    [
        ([f"{u},{i}" for u, i in HELD_PAIRS], "user_id,item_id"),
        ([f"{u}\t{i}\t1.0" for u, i in HELD_PAIRS], "user_id\titem_id\trating"),
        ([f"{u}\t{i}\t5.0\t9783" for u, i in HELD_PAIRS], "user_id\titem_id\trating\ttimestamp"),
    ],
)
def test_relevant_items_are_read_once_they_have_a_header(lines, header, tmp_path):
    path = tmp_path / "test.csv"
    path.write_text("\n".join(lines))
    with pytest.raises(sm.InputError, match="header"):
        sm.evaluate(SCORED, "recall@10", relevant=path)
    path.write_text("\n".join([header, *lines]))
    (result,) = sm.evaluate(SCORED, "recall@10", relevant=path)
    assert result.value == pytest.approx(MEAN_RECALL)


def test_lists_are_read_once_they_have_a_header(tmp_path):
    path = tmp_path / "recs.tsv"
    SCORED.to_csv(path, sep="\t", header=False, index=False)
    with pytest.raises(sm.InputError, match="header"):
        sm.evaluate(path, "recall@10", relevant=HELD_BY_USER)
    SCORED.to_csv(path, sep="\t", index=False)
    (result,) = sm.evaluate(path, "recall@10", relevant=HELD_BY_USER)
    assert result.value == pytest.approx(MEAN_RECALL)


@pytest.mark.parametrize("separator", [" ", "\t", ",", ";"])
def test_lines_of_a_user_and_items_are_refused(separator, tmp_path):
    """The first line is never taken as a header, whose user would be lost."""
    path = tmp_path / "wide.txt"
    rows = [[user, *items] for user, items in LISTS_BY_USER.items()]
    path.write_text("\n".join(separator.join(map(str, row)) for row in rows))
    for options in (
        {"data": path, "relevant": HELD_BY_USER},
        {"data": SCORED, "relevant": path},
        {"data": SCORED, "relevant": HELD_BY_USER, "seen": path},
    ):
        with pytest.raises(sm.InputError, match="no header"):
            sm.evaluate(**options, metrics="recall@10")


ROWS = RNG.normal([2.0] + 99 * [0], size=(200, 100))
ROW_LABELS = np.tile([1] + 99 * [0], 200)


@pytest.mark.parametrize(
    ("data", "positive", "expression"),
    [
        (ROWS[..., None], 0, "scores[..., 0]"),
        (ROWS[None], 0, "scores.reshape(-1, scores.shape[-1])"),
        (ROWS.reshape(-1, 1), 0, "scores.reshape(-1, 1 + n_negatives)"),
        (ROWS.ravel(), ROW_LABELS, "scores.reshape(-1, 1 + n_negatives)"),
    ],
)
def test_flat_scores_are_shaped_as_suggested(data, positive, expression):
    with pytest.raises(sm.InputError, match=re.escape(expression)):
        sm.correct(data, "HR@10", "sampled", positive=positive, n_items=3706)
    names = {"n_negatives": 99, "numpy": np, "scores": data}
    rows = eval(expression, names)  # noqa: S307
    marks = 0
    if np.ndim(positive):
        marks = positive.reshape(rows.shape)
    results = sm.correct(rows, "HR@10", "sampled", positive=marks, n_items=3706)
    assert value_of(results) == np.mean((ROWS[:, 1:] > ROWS[:, :1]).sum(1) < 10)


def test_flat_table_gets_users_as_suggested():
    table = pd.DataFrame({"score": ROWS.ravel(), "label": ROW_LABELS})
    expression = "numpy.arange(len(table)) // (1 + n_negatives)"
    with pytest.raises(sm.InputError, match=re.escape(expression)):
        sm.correct(table, "HR@10", "sampled", n_items=3706)
    names = {"n_negatives": 99, "numpy": np, "table": table}
    table["user_id"] = eval(expression, names)  # noqa: S307
    results = sm.correct(table, "HR@10", "sampled", n_items=3706)
    assert value_of(results) == np.mean((ROWS[:, 1:] > ROWS[:, :1]).sum(1) < 10)


def test_results_of_a_vector_store_are_read_as_suggested():
    """Chroma returns a dictionary of lists of lists."""
    result = {"ids": [["a", "b"], ["c", "d"]], "distances": [[0.1, 0.4], [0.2, 0.3]]}
    expression = "Ranks.from_top_k(data['ids'], relevant)"
    with pytest.raises(sm.InputError, match=re.escape(expression)):
        sm.evaluate(result, "mrr@2", relevant=[["b"], ["x"]])
    names = {"Ranks": sm.Ranks, "data": result, "relevant": [["b"], ["x"]]}
    ranks = eval(expression, names)  # noqa: S307
    assert sm.evaluate(ranks, "mrr@2")[0].value == 0.25
