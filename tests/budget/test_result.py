"""Rows, orders and notes of an evaluation on a budget."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sampled_metrics._base.text import format_range
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
    assert rows.loc[0, ["value", "n_asked", "n_candidates"]].tolist() == [
        0.1,
        1000,
        5000,
    ]
    assert rows["ci_low"][0] < 0.1 < rows["ci_high"][0]


def test_orders_corrected_for_pairs() -> None:
    # p of the three pairs by hand: 2 P(t > 2.3), 2 P(t > 10), 2 P(t < -0.5), 20 degrees of freedom
    p = [2 * stats.t.sf(x, 20) for x in (2.3, 10, 0.5)]
    several = result([0.023, 0.1, -0.005])
    alone, corrected = several.compare(correction="none"), several.compare()
    assert [one.p_value for one in alone] == pytest.approx(p)
    assert [one.p_value for one in corrected] == pytest.approx([2 * p[0], 3 * p[1], p[2]])
    assert [one.order for one in alone] == ["b", "b", "undecided"]
    assert [one.order for one in corrected] == ["undecided", "b", "undecided"]
    assert corrected[1].verdict == "C is above A"
    assert corrected[2].verdict == "undecided after 20 scores per user"
    assert (alone[0].value_a, alone[0].value_b, alone[0].n_items) == (0.1, 0.19, 101)


@pytest.mark.parametrize("slack", [0.0, 0.004])
@pytest.mark.parametrize("centre", [-0.08, 0.015, 0.03])
def test_p_value_matches_interval(centre: float, slack: float) -> None:
    p = estimate_p_value(estimate(centre, slack), 0.95)
    reach = stats.t.isf(p / 2, 20.0) * 0.01 + slack
    excluded = abs(centre) > stats.t.ppf(0.975, 20.0) * 0.01 + slack
    assert (p < 0.05) == excluded
    assert reach == pytest.approx(abs(centre))
    clipped = estimate(centre, slack)._replace(low=centre - 0.001)
    assert estimate_p_value(clipped, 0.95) <= max(p, 0.05)


def test_p_value_without_error() -> None:
    assert estimate_p_value(Estimate(0.0, 0.0, 0.0, 0.0, 0.0, 1e6, 0.0), 0.95) == 1.0
    assert estimate_p_value(Estimate(0.1, 0.1, 0.1, 0.1, 0.0, 1e6, 0.1), 0.95) == 0.0


def test_notes_say_what_to_do() -> None:
    text = str(result([0.1, 0.2, 0.0], seconds_per_score=(1e-3,) * 3))
    for phrase in (
        "for B from the audit",
        "b - a: ",
        "C: too few users",
        "of 100 candidates",
        "undecided order",
    ):
        assert phrase in text
    assert "3 x 5,050 scores, about 15 s.\n  That is soon: rank fully" in text
    assert "interval: " not in str(result([0.1, 0.2, 0.1], n_asked=(5000,) * 3))


def test_fully_ranked_users_counted() -> None:
    left = np.array([[0, 0], [0, 1], [0, 0], [0, 0]])
    model = SimpleNamespace(counts=SimpleNamespace(n_left=left))
    audit: Any = SimpleNamespace(model=model, users=np.array([0, 1, 3]))
    assert count_ranked_users(audit) == 2


def notes(*leads: float, **changed: Any) -> list[str]:
    return str(result(list(leads), **changed)).splitlines()


def has(lines: list[str], phrase: str) -> bool:
    return phrase in " ".join(line.strip() for line in lines)


def test_notes_only_where_true() -> None:
    decided, open_ = notes(0.1, 0.2, 0.1), notes(0.1, 0.2, 0.0)
    assert not has(decided, "An undecided order")
    assert has(open_, "An undecided order needs a larger budget")
    assert has(decided, "also corrected for 3 pairs (holm)")
    assert has(decided, "price: A 20, B 20, C 20 scores per user of 100 candidates")
    assert has(decided, "C: too few users were ranked fully")
    enough = notes(0.1, 0.2, 0.1, n_ranked=(15, 15, 15))
    assert not has(enough, "too few users")
    unknown = notes(0.1, 0.2, 0.1, n_ranked=(14, 0, 3))
    assert has(unknown, "proxy: als. A, B, C: too few users")
    same = [[estimate(0.1)], [estimate(0.2)], [estimate(0.3)]]
    assert has(notes(0.1, 0.2, 0.1, estimates=same), "value: from the model.")
    for seconds, is_soon in ((59.0, True), (61.0, False)):
        time = notes(0.1, 0.2, 0.1, seconds_per_score=(seconds / 5050, 0.0, 0.0))
        assert has(time, f"full ranking: 3 x 5,050 scores, about {seconds:.2g} s.")
        assert has(time, "That is soon") == is_soon


def test_notes_of_one_recommender() -> None:
    one: dict[str, Any] = {
        "names": ("A",),
        "estimates": [[estimate(0.1)]],
        "differences": {},
        "n_asked": (1000,),
        "n_ranked": (15,),
        "proxy_helps": (True,),
        "seconds_per_score": (1.0,),
    }
    lines = str(BudgetResult(**{**result([0, 0, 0]).__dict__, **one})).splitlines()
    assert has(lines, "price: 20 scores per user of 100 candidates")
    assert has(lines, "proxy: als.")
    assert has(lines, "full ranking: 5,050 scores, about 5,000 s.")
    assert not has(lines, "order:")
    assert not has(lines, "b - a:")
    assert not has(lines, "That is soon")
    exact = str(BudgetResult(**{**result([0, 0, 0]).__dict__, **one, "n_asked": (5000,)}))
    assert "because all candidates were scored" in exact
    assert "interval:" not in exact


def test_notes_separate_proxy_and_model() -> None:
    """For a proxy that does not help, no larger budget is advised."""
    open_ = notes(0.1, 0.2, 0.1, proxy_helps=(True, True, False))
    assert has(open_, "C: the first scores show little relation to the proxy's order")
    assert not has(open_, "too few users were ranked fully")
    rows = result([0.1, 0.2, 0.1], proxy_helps=(True, False, False)).rows()
    assert [row["proxy_helps"] for row in rows] == [True, False, False]
    assert [row["weak_proxy"] for row in rows] == [False, True, None]


def test_weak_proxy_column() -> None:
    rows = result([0, 0, 0], n_ranked=(14, 14, 15)).rows()
    assert [row["weak_proxy"] for row in rows] == [None, True, False]
    assert [row["n_ranked"] for row in rows] == [14, 14, 15]


@pytest.mark.parametrize(("low", "high"), [(-0.02, 0.3), (-0.3, 0.02), (-0.1, 0.1)])
def test_p_value_of_clipped_interval(low: float, high: float) -> None:
    """The clipped side of the interval is shorter; the other one shows how far it reaches."""
    half = stats.norm.ppf(0.975) * 0.05
    for centre in (0.01, -0.01):
        whole = Estimate(0, centre - half - 0.2, centre + half + 0.2, centre, 0.05, 1e6, 0)
        clipped = whole._replace(low=max(whole.low, low), high=min(whole.high, high))
        reach = max(clipped.high - centre, centre - clipped.low)
        slack = max(0.0, reach - half)
        distance = max(0.0, abs(centre) - slack) / 0.05
        expected = max(2 * stats.norm.sf(distance), 0.05)
        assert estimate_p_value(clipped, 0.95) == pytest.approx(expected, rel=1e-4)


def test_orders_as_a_table() -> None:
    orders = result([0.1, 0.2, -0.01]).compare()
    (table,) = orders.parts()
    assert [(row["a"], row["b"], row["metric"]) for row in table] == [
        (a, b, "recall@10") for a, b in ("AB", "AC", "BC")
    ]
    assert [row["b - a"] for row in table] == [0.1, 0.2, -0.01]
    for row, order in zip(table, orders, strict=True):
        assert row["interval (95 %)"] == format_range(order.ci_low, order.ci_high)
    assert len({row["order"] for row in table}) == 3


def test_result_without_candidates_prints() -> None:
    one = {
        "names": ("A",),
        "estimates": [[estimate(1.0, error=0.0)]],
        "differences": {},
    }
    few = {
        **one,
        "n_asked": (0,),
        "n_candidates": 0,
        "n_ranked": (0,),
        "proxy_helps": (False,),
    }
    assert "candidates" in str(result([0, 0, 0], **few))
