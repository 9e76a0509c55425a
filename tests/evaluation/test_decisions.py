"""Orders of pairs from their p-values and ranges, by hand."""

import numpy as np
import pytest

from sampled_metrics.evaluation.compare import (
    _common_values,
    decide_orders,
    mean_difference,
    strict_level,
)
from sampled_metrics.intervals.means import Moments
from tests.evaluation.test_orders import compared

PRIOR = Moments.from_values([0.0, 1.0])


def pairs(p_values, metric="ap", low=0.1, high=0.3):
    """Results of A and B, A and C, B and C."""
    names = (("A", "B"), ("A", "C"), ("B", "C"))
    return [
        compared(a=a, b=b, metric=metric, p_value=p, range_low=low, range_high=high)
        for (a, b), p in zip(names, p_values, strict=True)
    ]


@pytest.mark.parametrize(
    ("correction", "p_values"),
    [
        ("none", [0.01, 0.04, 0.03]),
        (
            "holm",
            [0.03, 0.06, 0.06],
        ),  # 3 * 0.01, 2 * 0.03, and 0.04, which is not below
    ],
)
@pytest.mark.parametrize("confidence", [0.98, 0.95, 0.9])
def test_orders_are_decided_below_the_risk_by_metric(
    correction, p_values, confidence
):
    other = pairs([0.2, 0.3, 0.001], "auc")
    results = [*pairs([0.01, 0.04, 0.03]), *other]
    found = decide_orders(results, correction, confidence)
    assert [each.p_value for each in found[:3]] == pytest.approx(p_values)
    orders = ["b" if p < 1 - confidence else "undecided" for p in p_values]
    assert [each.order for each in found[:3]] == orders
    assert [each.order for each in found[3:]] == ["undecided", "undecided", "b"]
    assert [(each.a, each.b, each.metric) for each in found] == [
        (each.a, each.b, each.metric) for each in results
    ]


def test_estimators_of_a_pair_count_once():
    """Two results of each pair, by two estimators: Holm's factor is 3, not 6."""
    twice = [each for each in pairs([0.01, 0.2, 0.3]) for _ in range(2)]
    found = decide_orders(twice, "holm", 0.95)
    assert [each.p_value for each in found] == pytest.approx([0.03] * 2 + [0.4] * 4)
    assert [each.order for each in found] == ["b"] * 2 + ["undecided"] * 4


@pytest.mark.parametrize(
    ("low", "high", "order"),
    [
        (0.1, 0.3, "b"), (-0.3, -0.1, "a"), (-0.1, 0.1, "undecided"), (0.0, 0.1, "undecided"),
        (-0.1, 0.0, "undecided"),
    ],
)  # fmt: skip
def test_the_range_has_the_sign_of_an_order(low, high, order):
    found = decide_orders(pairs([0.001] * 3, low=low, high=high), "none", 0.95)
    assert [each.order for each in found] == [order] * 3
    assert (
        found[0].order_of_estimates == "b"
    )  # by the interval of the estimates, 0.1 to 0.3
    back = compared(ci_low=-0.3, ci_high=-0.1)
    assert back.order_of_estimates == "a"
    assert compared(ci_low=-0.3, ci_high=0.1).order_of_estimates == "undecided"


@pytest.mark.parametrize(
    ("alone", "corrected", "level"),
    [
        (0.01, 0.03, 1 - 0.05 / 3),
        (0.01, 0.01, 0.95),
        (0.0, 0.0, 0.95),
        (1.0, 1.0, 0.95),
    ],
)
def test_confidence_that_a_correction_asks_for(alone, corrected, level):
    assert strict_level(corrected, alone, 0.95) == pytest.approx(level)


@pytest.mark.parametrize(("n_a", "n_b"), [(40, 40), (40, 25)])
def test_means_of_differences(n_a, n_b):
    rng = np.random.default_rng(3)
    a, b = rng.random(n_a), rng.random(n_b)
    found = mean_difference(a, b, paired=False, prior=PRIOR, confidence=0.95)
    n = min(n_a, n_b)
    error = np.sqrt((a.var() / n_a + b.var() / n_b) * n / (n - 1))
    assert found[:2] == pytest.approx((b.mean() - a.mean(), error))
    assert found.n_users == n
    assert found.ci_low < found.value < found.ci_high
    assert _common_values(a, b, None) == (a, b)
    rows = np.array([3, 1]), np.array([0, 7])
    of_a, of_b = _common_values(a, b, rows)
    assert (of_a.tolist(), of_b.tolist()) == ([a[3], a[1]], [b[0], b[7]])
    if n_a == n_b:
        paired = mean_difference(a, b, paired=True, prior=PRIOR, confidence=0.95)
        assert paired[:2] == pytest.approx(
            ((b - a).mean(), (b - a).std() / np.sqrt(n - 1))
        )
        equal = mean_difference(
            a, a + 1e-15, paired=True, prior=PRIOR, confidence=0.95
        )
        assert equal[:2] == (0.0, 0.0)  # but for rounding
