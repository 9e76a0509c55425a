"""Orders in words and tables, of results made by hand."""

from dataclasses import replace

import numpy as np
import pytest

from sampled_metrics._base.errors import InputError
from sampled_metrics.evaluation.compare import Compared
from sampled_metrics.evaluation.compare_text import (
    exact_verdict,
    order_parts,
    sampled_verdict,
)
from sampled_metrics.evaluation.pairing import pair_users
from sampled_metrics.intervals.ranges import Range
from sampled_metrics.intervals.shapes import (
    describe_caveat,
    describe_shape,
    shape_factor,
    shape_name,
)
from sampled_metrics.ranks import Ranks


def compared(**changed):
    usual = {
        "a": "A",
        "b": "B",
        "metric": "recall@10",
        "estimator": "exact",
        "value_a": 0.1,
        "value_b": 0.3,
        "difference": 0.2,
        "std_error": 0.05,
        "ci_low": 0.1,
        "ci_high": 0.3,
        "range_low": 0.1,
        "range_high": 0.3,
        "p_value": 0.01,
        "paired": True,
        "n_users": 500,
        "n_negatives": 100,
    }
    return Compared(**(usual | changed))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"order": "a"}, "A is above B"),
        ({"order": "b", "users_needed": 9}, "B is above A"),
        ({}, "undecided with 500 users"),
        ({"n_users": 1}, "undecided with 1 user"),
        ({"users_needed": 1234}, "undecided with 500 users; about 1,234 would do"),
        (
            {"users_needed": 10**7},
            "undecided with 500 users; about 10,000,000 would do",
        ),
        (
            {"users_needed": 10**7 + 1},
            "undecided with 500 users; more than 10,000,000 would be needed",
        ),
    ],
)
def test_verdicts_of_full_rankings(changed, words):
    assert exact_verdict(compared(**changed)) == words


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (None, "B is above A"),
        (1.04, "B is above A, unless some rank near the top is likelier than a better one; "
         "this proves little"),
        (1.96, "B is above A, unless some rank near the top is 1.9 times as likely as a better "
         "one; this proves little"),
        (2.0, "B is above A, unless some rank near the top is 2.0 times as likely as a better "
         "one"),
        (15.9, "B is above A, unless some rank near the top is 16 times as likely as a better "
         "one"),
        (16.0, "B is above A, unless some rank near the top is more than 16 times as likely as "
         "a better one"),
    ],
)  # fmt: skip
def test_verdicts_of_decided_samples(factor, words):
    nothing = Range(0.0, 1.0, False)
    result = compared(order="b", holds_up_to=factor)
    assert sampled_verdict(result, nothing, nothing) == words
    of_auc = replace(result, metric="auc")
    assert sampled_verdict(of_auc, nothing, nothing) == "B is above A"


@pytest.mark.parametrize(("m", "words"), [(1, "1 uniform negative leaves"),
                                          (2, "2 uniform negatives leave"),
                                          (1000, "1,000 uniform negatives leave")])  # fmt: skip
def test_verdicts_of_undecided_samples(m, words):
    low, high = Range(0.1, 0.25, False), Range(0.2, 0.5, False)
    found = sampled_verdict(compared(n_negatives=m), low, high)
    assert found.startswith(
        f"undecided: {words} recall@10 between 0.100 and 0.250 for A and between 0.200 and 0.500 "
        "for B; "
    )


@pytest.mark.parametrize("count", [1, 30, 31])
def test_many_results_are_a_row_for_each_pair(count):
    results = [
        compared(
            metric=f"recall@{k}",
            order="b" if k % 2 else "undecided",
            users_needed=None,
        )
        for k in range(1, count + 1)
    ]
    table, words = order_parts(results, 0.9, "holm", ["one note.", "another."])
    assert words.endswith("one note.\nanother.")
    assert "decided if the interval of b - a excludes 0" in words
    assert "corrected" not in words
    if count > 30:
        (row,) = table
        signs = {f"recall@{k}": "<" if k % 2 else "?" for k in range(1, count + 1)}
        assert row == {"a": "A", "b": "B"} | signs
        return
    assert len(table) == count
    assert table[0]["b - a (90 %)"].startswith("0.100 to 0.300")
    assert [row["order"] for row in table] == ["B above A", "undecided"][:1] + [
        "B above A" if k % 2 else "undecided" for k in range(2, count + 1)
    ]


@pytest.mark.parametrize(
    ("needed", "shown"), [(None, False), (10**7, True), (10**7 + 1, False)]
)
def test_users_that_would_decide_are_in_brackets(needed, shown):
    results = [compared(users_needed=needed), compared(b="C", paired=False)]
    table, words = order_parts(results, 0.95, "holm", [])
    assert table[0]["order"] == "undecided" + " (10,000,000)" * shown
    assert ("in brackets" in words) == shown
    assert "corrected for 2 pairs (holm)" in words
    assert "paired" not in words
    assert "p_value" not in table[0]
    _, words = order_parts(results[1:], 0.95, "holm", [])
    assert ", not paired" in words
    _, words = order_parts(results, 0.95, "none", [])
    assert "corrected" not in words


def ranks(users, n_rows=0):
    found = Ranks([9] * len(users), [1] * len(users), [0] * len(users), users=users)
    found.__dict__["n_rows"] = n_rows
    return found


def test_users_without_a_partner_are_counted():
    given = {"A": ranks([1, 2, 3]), "B": ranks([2, 3, 4, 5]), "C": ranks([3, 1, 2])}
    found, _, words = pair_users(given)
    assert found == given
    assert words == [
        "A, B: 1 users of A and 2 of B are left out.",
        "B, C: 2 users of B and 1 of C are left out.",
    ]
    two_samples = pair_users({"A": ranks([1]), "B": ranks([2])})
    assert two_samples.notes == []  # none in common


def test_users_are_paired_by_row_if_there_are_as_many_rows():
    without = Ranks([9, 9], [1, 0], [0, 0])
    found, _, words = pair_users({"A": without, "B": ranks([7, 8])})
    assert [each.users.tolist() for each in found.values()] == [[0, 1], [0, 1]]
    assert words == ["Users were paired by row (no user ids given)."]
    assert without.users is None
    with pytest.raises(InputError, match="2 users"):
        pair_users({"A": without, "B": ranks([7, 8, 9])})
    # rows of matrices: users without an item are left out, so that ids differ in number
    found, _, words = pair_users({"A": ranks([0, 2], 3), "B": ranks([0, 1, 2], 3)})
    assert [each.users.tolist() for each in found.values()] == [[0, 2], [0, 1, 2]]
    assert words == ["Users were paired by row (no user ids given)."]
    with pytest.raises(InputError, match="3 users"):
        pair_users({"A": ranks([0, 2], 4), "B": ranks([0, 1, 2], 3)})


@pytest.mark.parametrize(
    ("shape", "factor", "name", "words"),
    [
        (
            "non-increasing",
            1.0,
            "non-increasing",
            "no rank is likelier than a better one",
        ),
        (1, 1.0, "non-increasing", "no rank is likelier than a better one"),
        ("none", np.inf, "none", "whatever the true ranks are"),
        (1.5, 1.5, "1.5", "no rank is more than 1.5 times as likely as a better one"),
        ("2", 2.0, "2", "no rank is more than 2 times as likely as a better one"),
    ],
)
def test_shapes_and_their_factors(shape, factor, name, words):
    assert shape_factor(shape) == factor
    assert shape_name(shape) == name
    assert words in describe_shape(shape)
    known = describe_caveat(shape)
    if factor == np.inf:
        assert known == ""
    else:
        assert known.endswith(f"shape {'2' if factor < 2 else 'none'} assumes less.")


@pytest.mark.parametrize("shape", ["0.99", 0.5, True, "x", None, float("nan"), -2])
def test_what_is_no_shape(shape):
    with pytest.raises(InputError, match="unknown shape"):
        shape_factor(shape)
