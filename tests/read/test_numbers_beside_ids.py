"""Numbers without users beside scores whose columns have ids: refused unless they are positions."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from tests.helpers.cases import Call, Case, assert_ends_as_expected, each_case, evaluate, meter
from tests.helpers.results import refusal_message, value_of

# Items 1, 2 and 2 of users 1, 2 and 3 are at ranks 1, 1 and 3; the columns of these numbers,
# counted from 0, at ranks 2, 2 and 1.
SCORES = np.array([[0.9, 0.2, 0.1], [0.1, 0.9, 0.2], [0.3, 0.1, 0.8]])
IDS = [1, 2, 3]
FRAME = pd.DataFrame(SCORES, index=IDS, columns=IDS)
TEXT = FRAME.rename(columns=str)
HELD_OUT = [1, 2, 2]
BY_ID = (1 + 1 + 1 / 3) / 3
BY_COLUMN = (1 / 2 + 1 / 2 + 1) / 3

NUMBERS = {
    "list": HELD_OUT,
    "array": np.array(HELD_OUT),
    "column": np.array(HELD_OUT)[:, None],
    "lists": [[item] for item in HELD_OUT],
    "series": pd.Series(HELD_OUT),
    "series of lists": pd.Series([[item] for item in HELD_OUT]),
}
SOURCES: dict[str, tuple[Any, dict[str, Any]]] = {
    "frame": (FRAME, {}),
    "frame with text": (TEXT, {}),
    "columns alone": (pd.DataFrame(SCORES, columns=IDS), {}),
    "items=": (SCORES, {"items": IDS}),
    "vectors": ((pd.DataFrame(SCORES, IDS), pd.DataFrame(np.eye(3), IDS)), {}),
    "shuffled from 0": (pd.DataFrame(SCORES, columns=[2, 0, 1]), {}),
}


@pytest.mark.parametrize("form", NUMBERS)
@pytest.mark.parametrize("source", SOURCES)
def test_numbers_beside_other_numbers_are_refused(source: str, form: str) -> None:
    scores, ids = SOURCES[source]
    message = refusal_message(sm.rank, scores, None, NUMBERS[form], **ids)
    assert "a table, a dictionary or a Series by user" in message
    seen = [[number] for number in HELD_OUT]
    assert "seen" in refusal_message(sm.rank, scores, seen, {1: 1}, **ids)


POSITIONS: dict[str, tuple[Any, dict[str, Any]]] = {
    "array": (SCORES, {}),
    "numbered frame": (pd.DataFrame(SCORES), {}),
    "own numbers": (SCORES, {"items": [0, 1, 2], "users": IDS}),
    "own numbers as text": (pd.DataFrame(SCORES, IDS, [*"012"]), {}),
    "text": (pd.DataFrame(SCORES, [*"uvw"], [*"abc"]), {}),
    "large numbers": (pd.DataFrame(SCORES, IDS, [70, 80, 90]), {}),
    "users alone": (SCORES, {"users": [30, 10, 20]}),
}


@pytest.mark.parametrize("form", NUMBERS)
@pytest.mark.parametrize("source", POSITIONS)
def test_numbers_that_are_no_ids_are_columns(source: str, form: str) -> None:
    scores, ids = POSITIONS[source]
    ranks = sm.rank(scores, None, NUMBERS[form], **ids)
    assert value_of(sm.evaluate(ranks, "rr")) == pytest.approx(BY_COLUMN)


def test_marks_beside_ids_are_by_row_and_column() -> None:
    marks = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 0]])
    for form in (marks, marks.astype(bool), marks.tolist()):
        assert value_of(sm.evaluate(FRAME, "rr", relevant=form)) == pytest.approx(BY_ID)
        assert sample(FRAME, form)() == pytest.approx(BY_ID)
        assert meter({"scores": FRAME, "positive": form})() == pytest.approx(BY_ID)


def test_name_of_a_column_is_no_number() -> None:
    assert sample(TEXT, "2")() == pytest.approx((1 / 2 + 1 + 1 / 3) / 3)  # its second column


NAMED = FRAME.rename(columns=lambda item: f"B{item}")
NAMES = [f"B{item}" for item in HELD_OUT]
NUMBERED = NAMED.reset_index(drop=True)
TABLE = pd.DataFrame({"user_id": IDS, "item_id": HELD_OUT})


def budget(recommender: Any, relevant: Any, seen: Any) -> Call:
    """Return the exact metric of an evaluation on a budget that pays for all scores."""
    named = {"recommender": recommender, "metrics": "rr", "relevant": relevant, "seen": seen}
    arguments = {**named, "budget": 3}
    return Call(sm.evaluate_on_budget, arguments, lambda result: result.estimates[0][0].value)


def sample(data: Any, positive: Any) -> Call:
    named = {"data": data, "metrics": "rr", "estimators": "sampled", "positive": positive}
    return Call(sm.correct, {**named, "n_items": 9, "shape": "none"})


TABLE_BY_USER = TABLE.set_index("user_id")["item_id"]
BY_USER = dict(zip(IDS, HELD_OUT, strict=True))
NAMES_BY_USER = dict(zip(IDS, NAMES, strict=True))
UNSEEN = (1 + 1 + 1 / 2) / 3  # the ranks without item 3 of user 1, and item 1 of the others

CASES = [
    Case("table", evaluate(FRAME, relevant=HELD_OUT), "a table", {"relevant": TABLE}, BY_ID),
    Case("dictionary", evaluate(FRAME, relevant=HELD_OUT), "a dictionary", {"relevant": BY_USER},
         BY_ID),
    Case("series", evaluate(FRAME, relevant=pd.Series(HELD_OUT)), "a Series by user",
         {"relevant": TABLE_BY_USER}, BY_ID),
    Case("array", evaluate(FRAME, relevant=HELD_OUT), "scores without ids, as an array",
         {"data": SCORES}, BY_COLUMN),
    Case("text", evaluate(NAMED, relevant=NAMES), "text.*a Series by user",
         {"relevant": pd.Series(NAMES_BY_USER)}, BY_ID),
    Case("lists of text", evaluate(NAMED, relevant=[[name] for name in NAMES]),
         "text.*a dictionary", {"relevant": {u: [n] for u, n in NAMES_BY_USER.items()}}, BY_ID),
    Case("text beside numbered rows", evaluate(NUMBERED, relevant=pd.Series(NAMES)),
         "text.*a dictionary", {"relevant": dict(enumerate(NAMES))}, BY_ID),
    Case("budget", budget(FRAME, [[1], [2], [2]], [[0], [0], [0]]), "a table",
         {"relevant": TABLE, "seen": {1: [3], 2: [1], 3: [1]}}, UNSEEN),
    Case("sample", sample(FRAME, HELD_OUT), "an array", {"data": SCORES}, BY_COLUMN),
    Case("one column", sample(FRAME, 1), "an array", {"data": SCORES}, (1 / 2 + 1 + 1 / 3) / 3),
    Case("meter", meter({"scores": FRAME, "positive": HELD_OUT}), "an array",
         {"batches": [{"scores": SCORES, "positive": HELD_OUT}]}, BY_COLUMN),
]  # fmt: skip


@each_case(CASES)
def test_refusal_names_what_is_read(case: Case) -> None:
    assert_ends_as_expected(case)
