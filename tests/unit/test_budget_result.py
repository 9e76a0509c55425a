"""Rows, orders and notes of an evaluation on a budget."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sampled_metrics.budget import BudgetResult, Estimate
from sampled_metrics.budget.result import DEPTH_SHARE, depth_of, p_value


def estimate(centre: float, slack: float = 0.0, error: float = 0.01, value: Any = None) -> Estimate:
    half = stats.t.ppf(0.975, 20.0) * error + slack
    model = centre if value is None else value
    return Estimate(model, centre - half, centre + half, centre, error, 20.0, model)


def result(leads: list[float], **changed: Any) -> BudgetResult:
    """Three recommenders, one metric, with these differences of the pairs AB, AC and BC."""
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
        "n_candidates": 5000,
        "confidence": 0.95,
        "level": 0.95,
        "proxy": "als",
        "depth": (10.0, 500.0, float("nan")),
    }
    return BudgetResult(**{**fields, **changed})


def test_rows_have_the_price_and_the_proxy() -> None:
    rows = result([0.1, 0.2, 0.1]).to_frame()
    assert rows["recommender"].tolist() == ["A", "B", "C"]
    assert rows["weak_proxy"].tolist() == [False, True, None]
    assert rows.loc[0, ["value", "n_asked", "n_candidates"]].tolist() == [0.1, 1000, 5000]
    assert rows["ci_low"][0] < 0.1 < rows["ci_high"][0]


def test_orders_are_corrected_for_several_pairs() -> None:
    # p of the three pairs by hand: 2 P(t > 2.3), 2 P(t > 10), 2 P(t < -0.5), 20 degrees of freedom
    p = [2 * stats.t.sf(x, 20) for x in (2.3, 10, 0.5)]
    several = result([0.023, 0.1, -0.005])
    alone, corrected = several.compare(correction="none"), several.compare()
    assert [one.p_value for one in alone] == pytest.approx(p)
    assert [one.p_value for one in corrected] == pytest.approx([2 * p[0], 3 * p[1], p[2]])
    assert [one.order for one in alone] == ["b", "b", "undecided"]
    assert [one.order for one in corrected] == ["undecided", "b", "undecided"]
    assert corrected[1].verdict == "C is above A"
    assert "put B above C" in corrected[2].verdict
    assert (alone[0].value_a, alone[0].value_b, alone[0].n_items) == (0.1, 0.19, 101)


def test_an_evaluation_that_might_have_stopped_before_has_less_risk_left() -> None:
    early = result([0.023, 0.1, -0.005], confidence=0.9)
    assert [one.p_value for one in early.compare("none")] == pytest.approx(
        [min(1.0, 2 * p.p_value) for p in result([0.023, 0.1, -0.005]).compare("none")]
    )


@pytest.mark.parametrize("slack", [0.0, 0.004])
@pytest.mark.parametrize("centre", [-0.08, 0.015, 0.03])
def test_the_p_value_is_where_the_interval_begins_to_exclude_0(centre: float, slack: float) -> None:
    p = p_value(estimate(centre, slack), 0.95)
    reach = stats.t.isf(p / 2, 20.0) * 0.01 + slack
    excluded = abs(centre) > stats.t.ppf(0.975, 20.0) * 0.01 + slack
    assert (p < 0.05) == excluded
    assert reach == pytest.approx(abs(centre))
    clipped = estimate(centre, slack)._replace(low=centre - 0.001)
    assert p_value(clipped, 0.95) <= max(p, 0.05)


def test_differences_without_error_are_certain() -> None:
    assert p_value(Estimate(0.0, 0.0, 0.0, 0.0, 0.0, 1e6, 0.0), 0.95) == 1.0
    assert p_value(Estimate(0.1, 0.1, 0.1, 0.1, 0.0, 1e6, 0.1), 0.95) == 0.0


def test_notes_say_what_to_do() -> None:
    text = str(result([0.1, 0.2, 0.0], seconds_per_score=(1e-3,) * 3))
    for words in (
        "the audit's for B",
        "b - a: ",
        "C: too few users",
        "of 100 candidates",
        "undecided order",
    ):
        assert words in text
    assert "3 x 5,050 scores, about 15 s.\n  That is soon: rank fully" in text
    assert "interval: " not in str(result([0.1, 0.2, 0.1], n_asked=(5000,) * 3))


def test_depth_of_an_order_by_hand() -> None:
    """All better items are among the first ten places, or there are none."""
    frame = SimpleNamespace(
        n=np.ones((30, 2)), edges=np.array([0, 10, 100]), by_user=lambda rows: rows
    )
    audited = SimpleNamespace(phases=[SimpleNamespace(users=np.arange(30), reached=np.ones(30))])
    for better, expected in ((0, 0.0), (4, 10 * DEPTH_SHARE)):
        found = np.tile([better, 0], (30, 1))
        counts = SimpleNamespace(frame=frame, left=np.zeros((30, 2)), better=found)
        assert depth_of(SimpleNamespace(counts=counts), audited) == pytest.approx(expected)
    counts.left[:] = 1  # nobody's candidates were all scored
    assert np.isnan(depth_of(SimpleNamespace(counts=counts), audited))
