"""Results as tables, DataFrames and plots."""

import math
import pickle
import re
import sys

import numpy as np
import pytest

import sampled_metrics as sm
from sampled_metrics._base.text import html_of

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
SCORES = np.random.default_rng(0).normal(size=(60, 11))
SCORES[:, 0] += 1.0
ITEMS = {"positive": 0, "n_items": 200}


@pytest.fixture(scope="module")
def corrected():
    return sm.correct(SCORES, "hr@10, ap", "sampled, cls", **ITEMS)


@pytest.fixture
def closing():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def drawn(axes, label):
    """Coordinates (x, y) of what has a label."""
    return [line.get_xydata().tolist() for line in axes.lines if line.get_label() == label]


def test_notebooks_show_a_table_with_what_is_said_of_it(corrected):
    page = corrected._repr_html_()
    cells = [re.findall("<td[^>]*>([^<]*)</td>", row) for row in page.split("<tr>")[2:]]
    assert [float(row[4]) for row in cells] == [round(result.value, 5) for result in corrected]
    assert "60 users, 10 negatives drawn uniformly" in page
    assert "<" not in html_of(["a < b"]).removeprefix("<p>").removesuffix("</p>")
    assert str(corrected) == repr(corrected) == str(pickle.loads(pickle.dumps(corrected)))  # noqa: S301
    frame = corrected.to_frame()
    assert frame["value"].tolist() == [result.value for result in corrected]
    assert list(frame.columns[:3]) == ["metric", "estimator", "value"]


def test_numbers_that_do_not_exist_are_dashes():
    (one,) = sm.evaluate(sm.Ranks([100], [3], [0]), "ap").parts()[0]
    assert math.isnan(one["std_error"])
    assert "nan" not in str(sm.evaluate(sm.Ranks([100], [3], [0]), "ap"))


def test_many_orders_are_a_row_for_each_pair():
    data, metrics = {"A": SCORES, "B": SCORES[::-1], "C": SCORES}, [f"hr@{k}" for k in range(1, 12)]
    orders, _, _, ranges = sm.compare(data, metrics, "sampled", **ITEMS).parts()
    assert [set(row.values()) for row in orders] == [{*pair, "?"} for pair in ("AB", "AC", "BC")]
    found = sm.correct(SCORES, metrics, **ITEMS)
    ends = {f"{x.range_low:.4f} to {x.range_high:.4f}" for x in found}
    assert [row.pop("") for row in ranges] == ["A", "B", "C"]
    assert set(ranges[0].values()) == ends


@pytest.mark.usefixtures("closing")
def test_plot_of_estimates(corrected):
    panels = corrected.plot(exact={"hit@10": 0.25})
    for axes, (sampled, cls) in zip(panels, (corrected[:2], corrected[2:]), strict=True):
        assert drawn(axes, "range") == [[[cls.range_low, 0], [cls.range_high, 0]]]
        assert [[x for x, _ in points] for points in drawn(axes, "cls")] == [[cls.value]]
        assert axes.get_title("left").startswith(f"{cls.metric}: ")
        # the uncorrected value, or an arrow at the edge beside it
        (((x, _),),) = drawn(axes, "sampled")
        assert x in (sampled.value, 1)
        assert (x == 1) == (sampled.value > axes.get_xlim()[1])
        assert [text.get_text() for text in axes.texts] == [f"{sampled.value:.3g}"] * (x == 1)
    assert [drawn(axes, "exact") for axes in panels] == [[[[0.25, 0]]], []]
    (legend,) = panels[0].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["range", "sampled", "cls", "exact"]
    assert sum(len(drawn(axes, "sampled")) for axes in panels) == 2


@pytest.mark.usefixtures("closing")
def test_plot_of_differences():
    data = {"A": SCORES, "B": SCORES[::-1]}
    sampled = sm.compare(data, "auc", "sampled", **ITEMS)
    exact = sm.compare(data, "auc", relevant=[0] * 60, seen=SCORES < -9)
    axes = sampled.plot(exact=exact)
    (result,) = exact
    assert drawn(axes, "exact") == [[[result.difference, 0]]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["B - A"]
    assert axes.get_title("left") == f"auc: {sampled[0].order}"
    again = exact.plot(axes=axes)
    assert again is axes
    assert drawn(axes, "interval") == [[[result.ci_low, 0], [result.ci_high, 0]]]
    with pytest.raises(sm.InputError, match="the exact results have no b"):
        sampled.plot(exact=sm.evaluate(SCORES, "auc", relevant=[0] * 60, seen=SCORES < -9))
    with pytest.raises(sm.InputError, match="axes must be 1 axes"):
        sampled.plot(axes=[axes, axes])


def test_a_plan_has_no_values():
    ranks = sm.Ranks([100] * 4, [3, 20, 5, 9], [0] * 4)
    planned = sm.plan(ranks, ranks, "recall@10", sizes=[5])
    assert "decides above: the difference from which on a decision is likely" in str(planned)
    with pytest.raises(sm.InputError, match="no values to plot"):
        planned.plot()


def test_without_matplotlib_the_extra_is_named(corrected, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(sm.InputError, match=r"pip install 'sampled-metrics\[plot\]'"):
        corrected.plot()
