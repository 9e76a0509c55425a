"""Calls of public functions: whom they warn, how they name places, and what threads see of them."""

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics._base.calls import (
    IN_RESULT,
    InputWarning,
    adapt_to_caller,
    command_line,
    current_call,
    open_call,
    place_of,
    public,
    warn_all,
)
from sampled_metrics._base.errors import InputError
from sampled_metrics._base.threads import map_in_threads


def warn(*problems):
    warn_all(("data", problem) for problem in problems)


def test_errors_name_innermost_file():
    with pytest.raises(InputError) as caught, place_of("outer"), place_of("inner"):
        raise InputError("wrong")
    assert caught.value.path == "inner"
    with pytest.raises(InputError) as caught, place_of("outer"), place_of(7):
        raise InputError("wrong")
    assert caught.value.path == "outer"


def test_warnings_name_files_and_recommenders_only():
    with pytest.warns(InputWarning) as caught, place_of("A"), place_of([1, 2]):
        warn("what is it?")
    assert [str(each.message) for each in caught] == ["A, data: what is it?"]


@pytest.mark.parametrize(
    ("text", "in_python", "on_the_command_line"),
    [
        ("pass n_items (--n-items)", "pass n_items", "pass --n-items"),
        ("or shape=2 (--shape 2)", "or shape=2", "or --shape 2"),
        ("missing='last' (--missing last)", "missing='last'", "--missing last"),
        ("columns={'user': A} (--column user=A)", "columns={'user': A}", "--column user=A"),
        ("n (number of items)", "n (number of items)", "n (number of items)"),
    ],
)
def test_messages_name_argument_or_option(text, in_python, on_the_command_line):
    assert adapt_to_caller(text) == str(InputError(text)) == in_python
    with command_line():
        assert adapt_to_caller(text) == on_the_command_line
    with pytest.raises(InputError) as caught, command_line():
        raise InputError(text)
    assert str(caught.value) == on_the_command_line


def test_result_announces_its_warnings_and_other_functions_issue_each():
    with pytest.warns(InputWarning) as one, open_call(see=IN_RESULT) as call:
        warn("odd", "even", "odd")
    assert [str(note) for note in call.notes] == ["data: odd", "data: even"]
    assert [each.message.notes for each in one] == [("data: odd", "data: even")]
    with pytest.warns(InputWarning) as each_one, open_call():
        warn("odd", "even", "odd")
    assert [str(each.message) for each in each_one] == ["data: odd", "data: even"]


def test_outer_call_has_warnings_of_inner_one():
    @public()
    def inner():
        warn("odd")

    with pytest.warns(InputWarning) as caught, open_call() as call:
        inner()
    assert len(caught) == len(call.notes) == 1


def test_refusal_issues_warnings_that_may_explain_it():
    @public(see=IN_RESULT)
    def refuse():
        warn("odd", "even")
        raise InputError("wrong")

    with pytest.warns(InputWarning) as caught, pytest.raises(InputError):
        refuse()
    assert [str(each.message) for each in caught] == ["data: odd", "data: even"]


def test_warning_points_at_line_of_caller():
    with pytest.warns(InputWarning) as caught:
        sm.correct([1, 2, 2], "auc", n_items=4, n_negatives=3)
    assert [each.filename for each in caught] == [__file__]


def test_threads_see_the_call():
    def name_item(item):
        warn(f"found {item}")
        return adapt_to_caller("n_items (--n-items)"), current_call().places

    with (
        pytest.warns(InputWarning) as caught,
        command_line(),
        open_call(see=IN_RESULT) as call,
        place_of("A"),
    ):
        seen = [*map_in_threads(name_item, range(4), threads=2)]
    assert seen == [("--n-items", ("A",))] * 4
    assert sorted(note.text for note in call.notes) == [f"found {item}" for item in range(4)]
    assert len(caught) == 1


TABLE = pd.DataFrame({"who": [1, 1, 2, 2], "what": [1, 2, 1, 2], "score": [0.9, 0.1, 0.2, 0.3]})


def test_names_of_columns_hold_in_the_functions_that_a_function_calls():
    columns = {"user": "who", "item": "what"}
    held_out = pd.DataFrame({"who": [1, 2], "what": [1, 1]})
    (result,) = sm.evaluate(TABLE, "hr@1", relevant=held_out, columns=columns)
    assert result.value == 0.5  # item 1 is first for user 1, second for user 2
    with pytest.raises(InputError, match="wher"):
        sm.evaluate(TABLE, "hr@1", relevant=held_out, columns={**columns, "label": "wher"})


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")
def test_wrong_name_is_refused_before_expensive_scores():
    asked = []

    def score(users, items):
        asked.append(items)
        return np.zeros(len(users))

    with pytest.raises(InputError, match="wher"):
        sm.evaluate_on_budget(
            score, "hr@1", relevant={"a": [1]}, seen={"a": [2]}, columns={"item": "wher"}
        )
    assert not asked
