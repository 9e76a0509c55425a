"""Checks of arguments: types, ranges, and agreement with the data."""

import ast

import numpy as np
import pytest

from sampled_metrics._base import arguments
from sampled_metrics._base.arguments import check_arguments, require_same, to_path, whole_number
from sampled_metrics._base.errors import InputError
from tests.conftest import ROOT


def test_whole_number_at_its_bounds_is_taken():
    assert whole_number("k", np.int8(3), 3, 3) == 3


@pytest.mark.parametrize(("least", "most"), [(4, None), (None, 2)])
def test_whole_number_beyond_its_bounds_is_refused(least, most):
    with pytest.raises(InputError, match=f"k is 3, .* {least or most}"):
        whole_number("k", 3, least, most)


@pytest.mark.parametrize(
    "value", [True, np.array(3), np.array([3]), int, 3.0, "3", None, np.bool_(1)]
)
def test_whole_number_of_other_type_is_refused(value):
    with pytest.raises(InputError, match=r"k is .*whole number"):
        whole_number("k", value)


@pytest.mark.parametrize(
    "arguments",
    [{"confidence": 0.0}, {"confidence": 1.0}, {"confidence": "1"}, {"min_relevance": -0.1},
     {"min_relevance": np.inf}, {"complete": 1}, {"seed": -1}, {"n_users": 0}, {"n_items": 1},
     {"block_size": 0}, {"shape": None}],
)  # fmt: skip
def test_check_arguments_out_of_range_is_refused(arguments):
    with pytest.raises(InputError, match=next(iter(arguments))):
        check_arguments(**arguments)


def test_check_arguments_at_bounds_passes():
    check_arguments(confidence=0.999, min_relevance=0, complete=True, seed=0, n_users=1, n_items=2)
    check_arguments(n_users=None, n_items=10**9, sampling=None, ties=None, seed=10**12)
    check_arguments(n_items=None)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"complete": 1}, "complete is of type int, .* bool"),
        ({"confidence": "1"}, "confidence is of type str, .* int or float"),
        ({"ties": 7}, "ties is of type int, .* str"),
        ({"n_items": 10**9 + 1}, "n_items is .* at most 1000000000"),
    ],
)
def test_check_arguments_of_wrong_type_is_refused(arguments, expected):
    with pytest.raises(InputError, match=expected):
        check_arguments(**arguments)


def test_check_arguments_has_a_rule_for_each_use():
    names = set()
    texts = [path.read_text("utf-8") for path in (ROOT / "src").rglob("*.py")]
    for text in texts:
        if "check_arguments(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check_arguments":
                names |= {keyword.arg for keyword in node.keywords if keyword.arg}
    assert names
    assert names <= set(arguments._RULES)


@pytest.mark.parametrize(
    ("option", "data"), [(None, 3), (3, None), (3, 3), (3, [3, 3]), ("a", ["a"])]
)
def test_option_that_agrees_with_the_data_is_taken(option, data):
    require_same("n_items", option, "n", data)


@pytest.mark.parametrize(("data", "summary"), [(4, "4"), ([4, 4], "4"), ([5, 3, 3], "3 to 5")])
def test_option_that_contradicts_the_data_is_refused(data, summary):
    with pytest.raises(InputError, match=f"n {summary}, .*n_items is 3"):
        require_same("n_items", 3, "n", data)


def test_to_path_refuses_numbers():
    assert to_path("a/b") == to_path(to_path("a/b"))
    with pytest.raises(InputError, match="PathLike"):
        to_path(3)
