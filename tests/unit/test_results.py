"""Results as tables, DataFrames and plots."""

import math
import pickle
import re
import sys

import numpy as np
import pytest
from scipy.sparse import csr_array

import sampled_metrics as sm
from sampled_metrics._base.text import html_of
from sampled_metrics.inference.pair import Pair
from sampled_metrics.inference.population import Population

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


def test_a_row_for_each_result(corrected):
    frame = corrected.to_frame()
    assert frame["value"].tolist() == [result.value for result in corrected]
    assert list(frame.columns[:3]) == ["metric", "estimator", "value"]


def test_notebooks_show_a_table_with_what_is_said_of_it(corrected):
    page = corrected._repr_html_()
    cells = [re.findall("<td[^>]*>([^<]*)</td>", row) for row in page.split("<tr>")[2:]]
    assert [float(row[3]) for row in cells] == [round(result.value, 5) for result in corrected]
    assert "60 users, 10 negatives drawn uniformly" in page
    assert "<" not in html_of(["a < b"]).removeprefix("<p>").removesuffix("</p>")
    assert str(corrected) == repr(corrected)


def test_numbers_that_do_not_exist_are_dashes():
    (one,) = sm.evaluate(sm.Ranks([100], [3], [0]), "ap").parts()[0]
    assert math.isnan(one["std_error"])
    assert "nan" not in str(sm.evaluate(sm.Ranks([100], [3], [0]), "ap"))


@pytest.mark.usefixtures("closing")
def test_plot_of_estimates(corrected):
    axes = corrected.plot(exact={"hit@10": 0.25})
    assert drawn(axes, "range") == [
        [[result.range_low, height], [result.range_high, height]]
        for height, result in enumerate(corrected[::2])
    ]
    places = drawn(axes, "cls")
    assert [round(y) for ((_, y),) in places] == [0, 1]
    assert [x for ((x, _),) in places] == [result.value for result in corrected[1::2]]
    assert drawn(axes, "exact") == [[[0.25, 0]]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["hit@10", "ap"]
    assert len(axes.get_legend().get_texts()) == 4


@pytest.mark.usefixtures("closing")
def test_plot_of_differences():
    data = {"A": SCORES, "B": SCORES[::-1]}
    sampled = sm.compare(data, "auc", "sampled", **ITEMS)
    exact = sm.compare(data, "auc", relevant=[0] * 60)
    axes = sampled.plot(exact=exact)
    (result,) = exact
    assert drawn(axes, "exact") == [[[result.difference, 0]]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["B - A: auc"]
    again = exact.plot(axes=axes)
    assert again is axes
    assert drawn(axes, "interval") == [[[result.ci_low, 0], [result.ci_high, 0]]]
    with pytest.raises(sm.InputError, match="the exact results have no b"):
        sampled.plot(exact=sm.evaluate(SCORES, "auc", relevant=[0] * 60))


@pytest.mark.usefixtures("closing")
def test_a_budget_has_the_same():
    scorers = {name: lambda users, items: SCORES[users, items] for name in "AB"}
    seen = csr_array(SCORES.shape)
    found = sm.evaluate_on_budget(scorers, seen, np.zeros(60, int), budget=10, metrics=["ap"])
    assert found._repr_html_().count("<table>") == 2
    assert str(found.compare()).startswith("a    b    metric")
    axes = found.plot(exact={("B", "ap"): 0.5})
    assert drawn(axes, "exact") == [[[0.5, 1]]]
    assert len(drawn(axes, "interval")) == 2


def test_a_copy_prints_the_same(corrected):
    assert str(pickle.loads(pickle.dumps(corrected))) == str(corrected)  # noqa: S301 - made here


def test_a_plan_has_no_values():
    power = Population.power(100, 0.5), Population.power(100, 0.3)
    planned = sm.plan(Pair(*power, 3000, drawn=True), "recall@10", "sampled", largest=5)
    assert "n_negatives: from there on the order is right" in str(planned)
    with pytest.raises(sm.InputError, match="no values to plot"):
        planned.plot()


def test_without_matplotlib_the_extra_is_named(corrected, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(sm.InputError, match=r"pip install 'sampled-metrics\[plot\]'"):
        corrected.plot()


def test_unlike_evaluations_are_questioned():
    a, b = (sm.Ranks([n] * 40, [3] * 40, [0] * 40) for n in (100, 120))
    with pytest.warns(sm.InputWarning, match="a has 100 candidates and b has 120"):
        sm.compare({"a": a, "b": b}, "ap")


def test_ten_names_and_two_errors():
    assert len(sm.__all__) == 12
    assert all(getattr(sm, name) for name in sm.__all__)
