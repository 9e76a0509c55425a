"""Bars of ranges and the ticks of their axes."""

import numpy as np
import pandas as pd
import pytest

from sampled_metrics.pages.bars import axis_ticks, range_bars
from sampled_metrics_study.page.contents import draw_ranges


@pytest.mark.parametrize(
    ("high", "mark", "most"), [(0.4, 0.2, 0.404), (0.4, 0.5, 0.505), (0.995, 0.1, 1.0)]
)
def test_range_axis_ends_beyond_last_mark(high, mark, most):
    assert range_bars([(0.1, high), (0.1, 0.11)], [mark, 0.0], 1)["most"] == pytest.approx(most)


@pytest.mark.parametrize("most", [1.0, 0.51, 0.5, 0.26, 0.1, 0.052, 0.0099, 0.0004])
def test_axis_ticks_are_round(most):
    steps = [digit * 10.0**power for power in range(-4, 3) for digit in (1, 2, 5)]
    step = min(step for step in steps if step >= 20 * most * (1 - 1e-12))
    ticks = axis_ticks(most)
    shown = [float(text.removesuffix(" %")) for text, _ in ticks]
    assert shown == pytest.approx(step * np.arange(len(ticks)))
    assert shown[-1] <= 100 * most * (1 + 1e-9) < shown[-1] + step
    assert [place for _, place in ticks] == pytest.approx(
        [tick / most for tick in shown], abs=0.051
    )


RANGES = pd.DataFrame(
    [
        (5, "A", "", 0.1, 0.4),
        (5, "B", "", 0.1, 0.4),
        (5, "C", "", 0.1, 0.4),
        (5, "A", "B", 0.01, 0.2),  # of B - A
        (5, "A", "C", -0.3, -0.1),
        (5, "B", "C", -0.1, 0.0),
    ],
    columns=["n_negatives", "a", "b", "low", "high"],
)


def test_study_bars_decide_orders_that_exclude_zero():
    bars = draw_ranges(RANGES, ["A", "B", "C"], [0.2, 0.3, 0.5])
    assert bars["bars"] == [(0.1, 0.4, 0.2), (0.1, 0.4, 0.3), (0.1, 0.4, 0.5)]
    assert bars["decided"] == ["B above A", "A above C"]
    assert (bars["leaning"], bars["open"]) == ([], 1)
    assert 0.5 < bars["most"] <= 0.51


@pytest.mark.parametrize(("m", "words"), [(1, "1 random item"), (5, "5 random items")])
def test_study_bars_of_one_recommender_decide_nothing(m, words):
    single = draw_ranges(RANGES[:1].assign(n_negatives=m), ["A"], [0.1])
    assert (single["m"], single["decided"], single["open"]) == (words, [], 0)
