"""What tables of comparisons show: numbers, names, and one row for each pair if they are long.

Their words are in tests/golden/printed.
"""

import pytest

import sampled_metrics as sm
from sampled_metrics.evaluation.compare_text import order_parts, sampled_verdict
from sampled_metrics.intervals.ranges import Range
from tests.helpers.comparisons import make_compared


def table_of(results, confidence=0.95):
    table, *_ = order_parts(results, confidence=confidence, correction="holm", notes=[])
    return table


@pytest.mark.parametrize(
    ("factor", "shown"),
    [(1.96, "1.9"), (2.0, "2.0"), (9.94, "9.9"), (15.9, "16"), (16.0, "more than 16")],
)
def test_factor_of_a_verdict_is_not_above_the_one_that_it_holds_up_to(factor, shown):
    """Rounded down to one decimal below 10; 16 is the largest that is tried."""
    result = make_compared(order="b", holds_up_to=factor)
    assert f" {shown} times" in sampled_verdict(result, Range(0, 1, False), Range(0, 1, False))


def test_order_by_auc_holds_up_to_any_factor():
    result = make_compared(metric="auc", order="b", holds_up_to=16.0)
    nothing = Range(0, 1, False)
    assert sampled_verdict(result, nothing, nothing) == "B is above A"
    (row,) = table_of([result])
    assert row["holds up to"] == "any"


def test_row_of_a_pair_has_the_range_and_the_order():
    results = [
        make_compared(metric="recall@1", order="b", range_low=0.1, range_high=0.3),
        make_compared(metric="recall@2", order="undecided", range_low=-0.1, range_high=0.3),
    ]
    decided, undecided = table_of(results, confidence=0.9)
    assert (decided["b - a (90 %)"], decided["order"]) == ("0.100 to 0.300", "B above A")
    assert (undecided["b - a (90 %)"], undecided["order"]) == ("-0.100 to 0.300", "undecided")


@pytest.mark.parametrize(("n_metrics", "n_rows"), [(30, 30), (31, 1)])
def test_more_than_30_rows_become_one_for_each_pair(n_metrics, n_rows):
    results = [make_compared(metric=f"recall@{k}") for k in range(1, n_metrics + 1)]
    assert len(table_of(results)) == n_rows


@pytest.mark.parametrize(
    ("order", "sign"), [("a", ">"), ("b", "<"), ("undecided", "?")]
)  # fmt: skip
def test_long_table_has_the_sign_of_each_order(order, sign):
    results = [make_compared(metric=f"recall@{k}", order=order) for k in range(1, 32)]
    (row,) = table_of(results)
    assert row == {"a": "A", "b": "B"} | {f"recall@{k}": sign for k in range(1, 32)}


@pytest.mark.parametrize(
    ("needed", "shown"),
    [(None, "undecided"), (10**7, "undecided (10,000,000)"), (10**7 + 1, "undecided")],
)
def test_up_to_ten_million_users_needed_are_in_the_row(needed, shown):
    (row,) = table_of([make_compared(users_needed=needed)])
    assert row["order"] == shown


@pytest.mark.filterwarnings("ignore::sampled_metrics.InputWarning")  # a perfect order
def test_names_that_look_like_verdicts_are_kept():
    best, middle = (sm.Ranks([100] * 400, [better] * 400, [0] * 400) for better in (0, 50))
    like_needed, like_verdict = "A; about 7 would", "undecided ("
    results = sm.compare({like_needed: best, "B": middle, like_verdict: middle}, "ap")
    assert [row["order"] for row in results.parts()[0]] == [
        f"{like_needed} above B",
        f"{like_needed} above {like_verdict}",
        "undecided",
    ]
    assert [result.users_needed for result in results] == [None] * 3
