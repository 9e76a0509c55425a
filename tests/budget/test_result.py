"""Rows, orders and p-values of an evaluation on a budget."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sampled_metrics.budget import BudgetResult, Estimate
from sampled_metrics.budget.result import count_ranked_users, estimate_p_value


def estimate(centre: float, slack: float = 0.0, error: float = 0.01, value: Any = None) -> Estimate:
    half = stats.t.ppf(0.975, 20.0) * error + slack
    model = centre if value is None else value
    return Estimate(model, centre - half, centre + half, centre, error, 20.0, model)


def result(leads: list[float], **changed: Any) -> BudgetResult:
    """Three recommenders and one metric, with these differences of the pairs AB, AC and BC."""
    pairs = dict(zip([(0, 1), (0, 2), (1, 2)], leads, strict=True))
    fields: dict[str, Any] = {
        "names": ("A", "B", "C"),
        "metrics": ("recall@10",),
        "estimates": [[estimate(0.1)], [estimate(0.2, value=0.19)], [estimate(0.3)]],
        "differences": {pair: [estimate(difference)] for pair, difference in pairs.items()},
        "n_asked": (1000, 1000, 1000),
        "n_held_out": 50,
        "n_users": 50,
        "n_audited": 10,
        "n_ranked": (15, 20, 14),
        "n_candidates": 5000,
        "confidence": 0.95,
        "proxy": "als",
        "proxy_helps": (True, True, True),
    }
    return BudgetResult(**{**fields, **changed})


def test_rows_have_price_and_proxy() -> None:
    rows = result([0.1, 0.2, 0.1]).to_frame()
    assert rows["recommender"].tolist() == ["A", "B", "C"]
    assert rows["weak_proxy"].tolist() == [False, True, None]
    assert rows.loc[0, ["value", "n_asked", "n_candidates"]].tolist() == [0.1, 1000, 5000]
    assert rows["ci_low"][0] < 0.1 < rows["ci_high"][0]


# Differences of 2.3, 10 and -0.5 errors of .01, with 20 degrees of freedom.
THREE_PAIRS = [0.023, 0.1, -0.005]
P_VALUES = [2 * stats.t.sf(errors, 20) for errors in (2.3, 10, 0.5)]


def test_orders_of_pairs_alone() -> None:
    results = result(THREE_PAIRS).compare(correction="none")
    assert [one.p_value for one in results] == pytest.approx(P_VALUES)
    assert [one.order for one in results] == ["b", "b", "undecided"]


def test_orders_corrected_for_pairs() -> None:
    """By Holm: the least p-value times 3, the next times 2."""
    middle, least, most = P_VALUES
    results = result(THREE_PAIRS).compare()
    assert [one.p_value for one in results] == pytest.approx([2 * middle, 3 * least, most])
    assert [one.order for one in results] == ["undecided", "b", "undecided"]


def test_values_and_price_of_a_pair() -> None:
    """1,000 scores for 50 users; 5,000 candidates of 50 users, and their held-out items."""
    first, *_, last = result(THREE_PAIRS).compare()
    assert (first.value_a, first.value_b) == (0.1, 0.19)
    assert first.n_items == 5000 / 50 + 1
    assert "20 scores per user" in last.verdict


@pytest.mark.parametrize("slack", [0.0, 0.004])
@pytest.mark.parametrize("centre", [-0.08, 0.015, 0.03])
def test_p_value_is_where_the_interval_begins_to_contain_zero(centre: float, slack: float) -> None:
    """The interval is centre +- (t error + slack), t of 20 degrees of freedom."""
    error = 0.01
    p_value = estimate_p_value(estimate(centre, slack, error), 0.95)
    t = stats.t.isf(p_value / 2, 20)
    assert t * error + slack == pytest.approx(abs(centre))


def test_p_value_of_a_shorter_side_does_not_decide_more() -> None:
    """Scores allow no less than 0.029; 0.03 lies 3 errors from 0, and the higher end shows it."""
    whole = estimate(0.03, error=0.01)
    assert estimate_p_value(whole._replace(low=0.029), 0.95) == estimate_p_value(whole, 0.95)


@pytest.mark.parametrize(("centre", "p_value"), [(0.0, 1.0), (0.1, 0.0)])
def test_p_value_without_error(centre: float, p_value: float) -> None:
    certain = Estimate(centre, centre, centre, centre, 0.0, 1e6, centre)
    assert estimate_p_value(certain, 0.95) == p_value


def test_fully_ranked_users_counted() -> None:
    left = np.array([[0, 0], [0, 1], [0, 0], [0, 0]])
    model = SimpleNamespace(counts=SimpleNamespace(n_left=left))
    audit: Any = SimpleNamespace(model=model, users=np.array([0, 1, 3]))
    assert count_ranked_users(audit) == 2


@pytest.mark.parametrize(("seconds", "is_soon"), [(59.0, True), (61.0, False)])
def test_full_ranking_within_a_minute_is_advised(seconds: float, is_soon: bool) -> None:
    """It needs the 5,000 scores of candidates and those of the 50 held-out items."""
    text = str(result([0.1, 0.2, 0.1], seconds_per_score=(seconds / 5050, 0.0, 0.0)))
    assert ("soon" in text) == is_soon


def test_larger_budget_is_advised_for_open_orders_only() -> None:
    assert "larger budget" in str(result([0.1, 0.2, 0.0]))
    assert "larger budget" not in str(result([0.1, 0.2, 0.1]))


def test_proxy_is_judged_by_fifteen_fully_ranked_users() -> None:
    """B's value is from the audit, so that its proxy is weak; fewer users cannot tell."""
    rows = result([0, 0, 0], n_ranked=(14, 14, 15)).rows()
    assert [row["n_ranked"] for row in rows] == [14, 14, 15]
    assert [row["weak_proxy"] for row in rows] == [None, True, False]


def test_proxy_that_does_not_help_is_in_its_column() -> None:
    rows = result([0.1, 0.2, 0.1], proxy_helps=(True, False, False)).rows()
    assert [row["proxy_helps"] for row in rows] == [True, False, False]
    assert [row["weak_proxy"] for row in rows] == [False, True, None]


@pytest.mark.parametrize("centre", [0.01, -0.01])
@pytest.mark.parametrize(("low", "high"), [(-0.02, 0.3), (-0.3, 0.02), (-0.1, 0.1)])
def test_p_value_of_clipped_interval(centre: float, low: float, high: float) -> None:
    """The clipped side of the interval is shorter; the other one shows how far it reaches.

    An interval that contains 0 has a p-value of at least 0.05.
    """
    error, z = 0.05, stats.norm.ppf(0.975)
    longer_side = max(high - centre, centre - low)
    slack = max(0.0, longer_side - z * error)
    distance = max(0.0, abs(centre) - slack) / error
    expected = max(2 * stats.norm.sf(distance), 0.05)
    clipped = Estimate(0.0, low, high, centre, error, 1e6, 0.0)
    assert estimate_p_value(clipped, 0.95) == pytest.approx(expected, rel=1e-4)


def test_result_without_candidates_prints() -> None:
    none = {"n_asked": (0,), "n_candidates": 0, "n_ranked": (0,), "proxy_helps": (False,)}
    alone = {"names": ("A",), "estimates": [[estimate(1.0, error=0.0)]], "differences": {}}
    assert "candidates" in str(result([0, 0, 0], **alone, **none))
