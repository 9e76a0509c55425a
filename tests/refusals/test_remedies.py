"""Sentences of refused data name the argument, what was found, and the call or the form to take."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm

SCORES = np.random.default_rng(0).random((6, 9))
HELD = list(range(6))
UNSEEN = np.zeros(SCORES.shape)
PRINTED = {"n_items": 3416, "n_negatives": 100, "HR@10": "0.8245"}
LISTS = {"ann": ["a", "b"], "bob": ["b", "c"]}


def damaged(values: np.ndarray) -> Any:
    matrix = csr_array(values)
    matrix.indices = matrix.indices + 99
    return matrix


def special(**attributes: Any) -> Any:
    return SimpleNamespace(shape=(6, 9), **attributes)


def evaluate(data: Any, **options: Any) -> Callable[[], Any]:
    return lambda: sm.evaluate(data, "auc", **{"relevant": HELD, **options})


def correct(data: Any, **options: Any) -> Callable[[], Any]:
    return lambda: sm.correct(data, "auc", n_items=9, **options)


def budget(**options: Any) -> Callable[[], Any]:
    return lambda: sm.evaluate_on_budget(
        SCORES, "hr@1", relevant=HELD, seen=UNSEEN, **options
    )


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (evaluate(damaged(SCORES)), "scores: damaged sparse matrix"),
        (evaluate(SCORES, seen=damaged(SCORES)), "seen: damaged sparse matrix"),
        (
            evaluate(SCORES, relevant=damaged(SCORES)),
            "relevant: damaged sparse matrix",
        ),
        (
            evaluate(LISTS, relevant={"1.0": ["a"]}),
            "no list for any relevant user; the first list is of user ann",
        ),
        (
            evaluate(
                LISTS, relevant={"ann": ["a"], "bob": ["c"]}, seen=np.array([1, 3])
            ),
            "grades, users x items",
        ),
        (
            evaluate(LISTS, relevant={"ann": ["a"]}),
            "are lists --complete (complete=True)?",
        ),
        (
            correct(
                pd.DataFrame(
                    {"user_id": [1, 1], "weight": [0.3, 0.2], "label": [1, 0]}
                )
            ),
            "lacks column score; found user_id, weight, label",
        ),
        (correct([1, 2, 3], n_negatives=5, ties="odd"), "unknown tie policy 'odd'"),
        (budget(items="items.csv"), "items is 'items.csv', expected a whole number"),
        (budget(items=8), "items is 8; expected 9, the number of all items"),
        (
            lambda: sm.check(special(collect=0)),
            "found SimpleNamespace; expected a table of printed",
        ),
        (
            lambda: sm.check_negatives(
                special(collect=0, lazy=0), {1: [2]}, {1: [3]}
            ),
            "negatives: found SimpleNamespace",
        ),
    ],
)
def test_errors_of_data(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(sm.InputError) as caught:
        call()
    assert words in str(caught.value)


def test_ids_in_a_file_that_nobody_else_has_name_the_file(tmp_path: Path) -> None:
    seen = tmp_path / "seen.csv"
    seen.write_text("user_id,item_id\n1.0,7\n2.0,8\n")
    with pytest.warns(sm.InputWarning) as caught:
        sm.check_negatives({1: [3], 2: [4]}, {1: [5], 2: [6]}, seen)
    assert str(caught[0].message).startswith(
        f"{seen}, seen: 0 of 2 ids of the users of seen"
    )


@pytest.mark.parametrize("form", ["table", "batch"])
def test_a_table_of_arrow_is_checked_as_its_rows(form: str) -> None:
    rows = [PRINTED, {**PRINTED, "HR@10": None, "HR@5": "0.6913"}]
    table = pa.Table.from_pylist([{"HR@5": None, **row} for row in rows])
    given = table if form == "table" else table.to_batches()[0]
    found = [(one.printed, one.range_low, one.range_high) for one in sm.check(given)]
    expected = [
        (one.printed, one.range_low, one.range_high) for one in sm.check(rows)
    ]
    assert found == expected
