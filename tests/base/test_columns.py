"""Columns of whole numbers and of ids, and their first bad row."""

import numpy as np
import pytest

from sampled_metrics._base.columns import (
    id_column,
    integer_array,
    require_all,
    require_unique,
)
from sampled_metrics._base.errors import InputError


def test_integer_array():
    assert integer_array("x", np.array([[1, 2]], np.uint8)).dtype == np.int64
    assert integer_array("x", [], is_column=True).tolist() == []
    assert integer_array("x", np.array([2**63 - 1], np.uint64)).tolist() == [
        2**63 - 1
    ]
    for values in ([[1]], [1.0], [True], np.array([2**63], np.uint64)):
        with pytest.raises(InputError, match=r"^x "):
            integer_array("x", values, is_column=True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, -1], [3, -1]),
        (["a", "7"], ["a", "7"]),
        (np.array(["a", 7, np.int8(3)], object), ["a", "7", "3"]),
        ([], []),
    ],
)
def test_id_column(values, expected):
    assert id_column("x", values, len(expected)).tolist() == expected


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([1.0, 2.0], "x has dtype float64; expected integers"),
        (np.array(["a", None], object), "x holds None; expected integers or text"),
        (np.array([[1, 2]]), r"x has shape \(1, 2\); expected \(2,\)"),
        ([1, 2, 3], r"x has shape \(3,\); expected \(2,\)"),
    ],
)
def test_id_column_of_other_values_is_refused(values, words):
    with pytest.raises(InputError, match=words):
        id_column("x", values, 2)


def test_require_unique_names_first_duplicate():
    with pytest.raises(InputError, match=r"^row 3: duplicate user_id 5$"):
        require_unique("user_id", np.array([5, 4, 5, 4]))
    require_unique("user_id", np.array([5, 4]))


def test_require_all_names_first_bad_row():
    with pytest.raises(
        InputError, match=r"^row 2, column k: found 7; expected less$"
    ):
        require_all("k", np.array([1, 7, 9]), np.array([True, False, False]), "less")
    require_all("k", np.array([1]), np.array([True]), "less")
