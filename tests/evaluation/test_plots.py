"""Plots of results: a named line for each row, metrics as the caller wrote them, shared axes."""

import re
import sys
import warnings
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics.evaluation import plots
from sampled_metrics.metrics import parse_measure

matplotlib = pytest.importorskip("matplotlib")


matplotlib.use("agg")

USERS = 300
RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=(USERS, 150))
SCORES[:, 0] += 1.5
SAMPLED = SCORES[:, :51]
PRINTED = {"n_items": 3416, "n_negatives": 100, "n_users": 6040}


def full(steps):
    """Return ranks in which user i has rank i modulo `steps`."""
    return sm.Ranks([150] * USERS, np.arange(USERS) % steps, [0] * USERS)


def budget():
    rng = np.random.default_rng(1)
    held_out = rng.integers(0, 150, USERS)
    return sm.evaluate_on_budget(
        lambda users, items: SCORES[users, items],
        "HR@10, MRR@10",
        relevant=held_out,
        seen=np.zeros(SCORES.shape),
    )


RESULTS = {  # a call, the metrics as the caller wrote them, the names of the lines
    "evaluate": (
        lambda: sm.evaluate(full(40), "HR@10, MRR"), ["HR@10", "MRR"], ["300 users"],
    ),
    "correct": (
        lambda: sm.correct(SAMPLED, "hit@5, MAP", positive=0, n_items=2000),
        ["hit@5", "MAP"], ["300 users"],
    ),
    "compare full": (
        lambda: sm.compare({"A": full(20), "B": full(40), "C": full(60)}, "HR@10"),
        ["HR@10"], ["B - A", "C - A", "C - B"],
    ),
    "compare sampled": (
        lambda: sm.compare({"A": SAMPLED, "B": SAMPLED[:, ::-1]}, "MRR", positive=0,
                           n_items=2000),
        ["MRR"], ["B - A"],
    ),
    "budget": (budget, ["HR@10", "MRR@10"], ["300 users"]),
    "reported": (
        lambda: sm.reported({"HR@10": "0.8245", "NDCG@10": "0.5905"}, **PRINTED),
        ["HR@10", "NDCG@10"], ["6,040 users"],
    ),
    "check": (
        lambda: sm.check([
            {"model": "A", "HR@5": "0.7235", "HR@10": "0.8245", **PRINTED},
            {"model": "B", "HR@5": "0.7013", "HR@10": "0.8013", **PRINTED},
            {"model": "C", "HR@5": "0.7235", "HR@10": "0.8145", **PRINTED},
        ]),
        ["HR@10"], ["A", "B", "C"],
    ),
}  # fmt: skip


@pytest.fixture(autouse=True)
def _close():
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def plot(make):
    """Return the result, and the panels of its plot."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sm.InputWarning)
        result = make()
    return result, np.atleast_1d(np.array(result.plot(), dtype=object))


@pytest.mark.parametrize("name", RESULTS)
def test_each_metric_has_a_panel_with_the_name_of_the_caller(name):
    make, metrics, _ = RESULTS[name]
    _, panels = plot(make)
    assert [panel.get_title("left").split(":")[0] for panel in panels] == metrics
    assert panels[-1].get_xlabel().endswith("(fraction)")


@pytest.mark.parametrize("name", RESULTS)
def test_each_row_has_a_named_line_with_a_bar(name):
    make, _, lines = RESULTS[name]
    for panel in plot(make)[1]:
        assert [text.get_text() for text in panel.get_yticklabels()] == lines
        bars = [line for line in panel.lines if line.get_label().startswith(("range", "interval"))]
        assert len(bars) == len(lines)


@pytest.mark.parametrize("name", RESULTS)
def test_first_bar_of_a_panel_has_the_ends_of_the_table(name):
    """Differences are drawn with the sign of B - A, so only their size is compared."""
    make, metrics, _ = RESULTS[name]
    result, panels = plot(make)
    table = result.to_frame()
    for panel, metric in zip(panels, metrics, strict=True):
        is_metric = table["metric"].map(parse_measure) == parse_measure(metric)
        first = table[is_metric].iloc[0]
        ends = ("range_low", "range_high") if "range_low" in table else ("ci_low", "ci_high")
        bar = next(
            line for line in panel.lines if line.get_label().startswith(("range", "interval"))
        )
        assert sorted(abs(bar.get_xdata())) == pytest.approx(
            sorted(abs(first[end]) for end in ends)
        )


@pytest.mark.parametrize("name", RESULTS)
def test_every_axis_shows_zero(name):
    for panel in plot(RESULTS[name][0])[1]:
        low, high = panel.get_xlim()
        assert low <= 0.0 < high


def test_check_plot_has_line_per_model():
    result, (panel,) = plot(RESULTS["check"][0])
    for height, row in enumerate(result.to_frame().itertuples()):
        (bar,) = [
            line for line in panel.lines
            if line.get_label() == "range" and line.get_ydata()[0] == height
        ]  # fmt: skip
        assert list(bar.get_xdata()) == pytest.approx([row.range_low, row.range_high])


@pytest.fixture
def one_difference():
    """A share 10 / 20 of A's users has a hit, and 10 / 30 of B's."""
    result, (panel,) = plot(lambda: sm.compare({"A": full(20), "B": full(30)}, "HR@10"))
    return result, panel


def test_differences_have_the_sign_of_the_table(one_difference):
    result, panel = one_difference
    assert result[0].difference == pytest.approx(10 / 30 - 10 / 20)
    (mark,) = [line for line in panel.lines if line.get_label() == "difference"]
    assert list(mark.get_xdata()) == [result[0].difference]


def test_difference_is_named_and_its_order_in_the_title(one_difference):
    _, panel = one_difference
    assert [text.get_text() for text in panel.get_yticklabels()] == ["B - A"]
    assert panel.get_title("left") == "HR@10: A above B"


def test_exact_difference_has_the_sign_of_the_table(one_difference):
    result, _ = one_difference
    panel = result.plot(exact=result)
    (mark,) = [line for line in panel.lines if line.get_label() == "exact"]
    assert list(mark.get_xdata()) == [result[0].difference]


def test_bars_that_contain_zero_look_different():
    result, (panel,) = plot(
        lambda: sm.compare({"A": full(20), "B": full(30), "C": full(31)}, "HR@10")
    )
    contain_zero = defaultdict(list)
    for height, pair in enumerate(result):
        (bar,) = [
            line
            for line in panel.lines
            if list(line.get_ydata()) == [height, height] and line.get_linewidth() > 5
        ]
        contain_zero[bar.get_label(), bar.get_linestyle()].append(pair.ci_low <= 0 <= pair.ci_high)
    assert sorted(contain_zero.values()) == [[False, False], [True]]
    (legend,) = panel.figure.legends
    assert len(legend.get_texts()) == 3  # both bars, and the difference


@pytest.mark.parametrize(
    ("name", "printed"),
    [("reported", [[0.8245], [0.5905]]), ("check", [[0.8245, 0.8013, 0.8145]])],
)
def test_printed_values_are_hollow_rings(name, printed):
    _, panels = plot(RESULTS[name][0])
    for panel, values in zip(panels, printed, strict=True):
        rings = [line for line in panel.lines if line.get_label() == "printed"]
        assert [list(ring.get_xdata()) for ring in rings] == [[value] for value in values]
        assert {ring.get_fillstyle() for ring in rings} == {"none"}
        assert panel.get_xlim()[1] > max(values)


def test_title_of_a_printed_number_has_it_and_the_range_of_the_exact_one():
    result, panels = plot(RESULTS["reported"][0])
    title = panels[0].get_title("left")
    printed, high, *_ = (float(number) for number in re.findall(r"\d\.\d+", title))
    assert printed == 0.8245
    assert high == pytest.approx(result[0].range_high, abs=5e-4)


def test_row_without_a_range_says_so():
    rows = [
        {"model": "A", "HR@5": "0.7235", "HR@10": "0.8245", **PRINTED},
        {"model": "B", "HR@5": "0.9013", "HR@10": "0.8013", **PRINTED},
    ]
    result, (panel,) = plot(lambda: sm.check(rows))
    assert [row.range_low is None for row in result] == [False, True]
    assert [(text.get_text(), text.xy[1]) for text in panel.texts] == [("no range: bounds", 1)]


@pytest.mark.parametrize("name", ["evaluate", "correct", "reported"])
def test_title_shows_likely(name):
    result, panels = plot(RESULTS[name][0])
    row = result.to_frame().iloc[0]
    number = row["likely"] if name == "reported" else row["value"]
    assert f" {number:.3g} (" in panels[0].get_title("left")


@pytest.mark.long
def test_plan_plot_is_curve_of_probability():
    result, panels = plot(lambda: sm.plan(full(20), full(40), "HR@10, NDCG@10", sizes=[1, 5, 20]))
    for panel, metric in zip(panels, ("HR@10", "NDCG@10"), strict=True):
        (curve,) = [line for line in panel.lines if line.get_label() == metric]
        assert list(curve.get_ydata()) == [
            row.probability for row in result if row.metric == metric
        ]
        *sampled, of_all = curve.get_xdata()
        assert sampled == [1, 5, 20]
        assert of_all > 20
        ticks = [text.get_text() for text in panel.get_xticklabels()]
        assert ticks == ["1", "5", "20", "all"]
        assert [0.95, 0.95] in [list(line.get_ydata()) for line in panel.lines]  # the goal


FEW_SCORES = np.random.default_rng(0).normal(size=(60, 11))
FEW_SCORES[:, 0] += 1.0
ITEMS = {"positive": 0, "n_items": 200}


@pytest.fixture(scope="module")
def corrected():
    return sm.correct(FEW_SCORES, "hr@10, ap", "sampled, cls", **ITEMS)


def points_of_label(axes, label):
    """Return the coordinates (x, y) of everything with a label."""
    return [line.get_xydata().tolist() for line in axes.lines if line.get_label() == label]


def test_estimates_are_on_the_line_of_their_range(corrected):
    panels = corrected.plot()
    for axes, (sampled, cls) in zip(panels, (corrected[:2], corrected[2:]), strict=True):
        assert points_of_label(axes, "range") == [[[cls.range_low, 0], [cls.range_high, 0]]]
        (((x_of_sampled, _),),) = points_of_label(axes, "sampled")
        (((x_of_cls, _),),) = points_of_label(axes, "cls")
        assert (x_of_sampled, x_of_cls) == (sampled.value, cls.value)
        assert x_of_sampled < axes.get_xlim()[1]


def test_panels_of_estimates_are_titled_by_metric(corrected):
    titles = [axes.get_title("left").partition(":")[0] for axes in corrected.plot()]
    assert titles == ["hr@10", "ap"]


def test_exact_value_is_drawn_for_its_metric_alone(corrected):
    of_hit, of_ap = corrected.plot(exact={"hit@10": 0.25})
    assert points_of_label(of_hit, "exact") == [[[0.25, 0]]]
    assert points_of_label(of_ap, "exact") == []


def test_marks_of_all_panels_are_in_one_legend(corrected):
    panels = corrected.plot(exact={"hit@10": 0.25})
    (legend,) = panels[0].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["range", "sampled", "cls", "exact"]


@pytest.fixture
def differences():
    """Differences of two recommenders: among negatives, and exact ones."""
    data = {"A": FEW_SCORES, "B": FEW_SCORES[::-1]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sm.InputWarning)  # one item for all users
        sampled = sm.compare(data, "auc", "sampled", **ITEMS)
        exact = sm.compare(data, "auc", relevant=[0] * 60, seen=FEW_SCORES < -9)
    return sampled, exact


def test_exact_difference_is_beside_the_sampled_one(differences):
    sampled, exact = differences
    axes = sampled.plot(exact=exact)
    assert points_of_label(axes, "exact") == [[[exact[0].difference, 0]]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["B - A"]
    assert [0.0, 0.0] in [list(line.get_xdata()) for line in axes.lines]  # no difference


class Unconvertible:
    def __array__(self, dtype=None, copy=None):
        raise TypeError("no array")


def test_axes_that_are_no_array_are_refused(corrected):
    with pytest.raises(sm.InputError, match="axes"):
        corrected.plot(axes=Unconvertible())


def test_results_are_drawn_on_given_axes(differences):
    sampled, exact = differences
    axes = sampled.plot()
    assert exact.plot(axes=axes) is axes
    (result,) = exact
    assert points_of_label(axes, "interval with 0") == [[[result.ci_low, 0], [result.ci_high, 0]]]


def test_exact_results_of_another_function_are_refused(differences):
    of_one = sm.evaluate([[0.9, 0.5, 0.1]], "auc", relevant=[0])
    with pytest.raises(sm.InputError, match="results"):
        differences[0].plot(exact=of_one)


def test_another_number_of_axes_is_refused(differences):
    axes = differences[0].plot()
    with pytest.raises(sm.InputError, match="1 axes"):
        differences[0].plot(axes=[axes, axes])


def test_metrics_share_axis_from_zero():
    ranks = sm.Ranks([100] * 39 + [101], [*range(40)], [0] * 40)
    panels = sm.evaluate(ranks, "hr@10, ndcg@10, auc").plot()
    hit, ndcg, auc = (panel.get_xlim() for panel in panels)
    assert hit == ndcg
    assert hit[0] == auc[0] == 0
    assert hit[1] < 0.6  # as HR@10 is 1/4: 10 of 40 users
    assert [text.get_text() for text in panels[0].get_yticklabels()] == ["40 users"]


def test_negative_differences_fit_axis():
    places = np.arange(500) ** 2 // 2600  # mostly near the top
    better, worse = (sm.Ranks([100] * 500, places + more, [0] * 500) for more in (0, 3))
    (result,) = compared = sm.compare({"A": better, "B": worse}, "auc")
    low, high = compared.plot().get_xlim()
    assert low < result.range_low < result.range_high < 0.0 < high


def test_missing_matplotlib_is_named(corrected, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(sm.InputError, match="pip install matplotlib"):
        corrected.plot()


def row(**changed):
    usual = {
        "a": "A",
        "b": "B",
        "metric": "ap",
        "order": "undecided",
        "estimator": "likely",
        "difference": 0.25,
        "range_low": 0.125,
    }
    return usual | {"range_high": 0.5} | changed


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([row()], "ap: undecided"),
        ([row(order="a")], "ap: A above B"),
        ([row(order="b"), row(order="b", estimator="cls")], "ap: B above A"),
        ([row(order="b"), row(b="C")], "ap: 1 of 2 pairs decided"),
        ([row(order="b"), row(b="C", order="a"), row(a="C")], "ap: 2 of 3 pairs decided"),
    ],
)
def test_title_of_comparison(rows, title):
    axes = plots.draw(pd.DataFrame(rows), {}, None)
    assert axes.get_title("left") == title


def test_title_of_range():
    columns = ["a", "b", "order", "difference"]
    ranges = pd.DataFrame([row(), row(estimator="cls")]).drop(columns=columns)
    axes = plots.draw(ranges.assign(value=[0.25, 0.3]), {}, None)
    assert axes.get_title("left") == "ap: 0.250 (0.125 to 0.500)"
    two = ranges.assign(value=0.25, recommender=["A", "B"], estimator="likely")
    assert plots.draw(two, {}, None).get_title("left") == "ap"


def test_rows_without_names_are_drawn_by_number():
    about = {"n_items": 500, "n_negatives": 50, "n_users": 200}
    table = pd.DataFrame([{"HR@10": "0.80", **about}, {"HR@10": "0.60", **about}])
    labels = [label.get_text() for label in sm.check(table).plot().get_yticklabels()]
    assert labels == ["1", "2"]


SEVERAL = pd.DataFrame(
    [
        {"recommender": name, "metric": metric, "estimator": estimator, "value": value,
         "range_low": 0.2, "range_high": 0.4}
        for name in "AB" for metric in ("ap", "auc")
        for estimator, value in (("sampled", 0.9), ("cls", 0.3))
    ]
)  # fmt: skip


def test_each_recommender_has_a_line_from_above():
    for axes in plots.draw(SEVERAL, {}, None):
        assert [label.get_text() for label in axes.get_yticklabels()] == ["A", "B"]
        assert axes.get_ylim() == (1.5, -0.5)
        assert points_of_label(axes, "range") == [[[0.2, 0], [0.4, 0]], [[0.2, 1], [0.4, 1]]]


def test_estimates_of_a_recommender_are_beside_each_other():
    """At 0.07 above and below its line."""
    for axes in plots.draw(SEVERAL, {}, None):
        heights = {
            estimator: [y for ((_, y),) in points_of_label(axes, estimator)]
            for estimator in ("sampled", "cls")
        }
        assert heights["sampled"] == pytest.approx([-0.07, 0.93])
        assert heights["cls"] == pytest.approx([0.07, 1.07])


def test_exact_values_are_on_the_lines_of_their_recommenders():
    of_ap, of_auc = plots.draw(SEVERAL, {("A", "ap"): 0.25, ("B", "auc"): 0.35}, None)
    assert points_of_label(of_ap, "exact") == [[[0.25, 0]]]
    assert points_of_label(of_auc, "exact") == [[[0.35, 1]]]


def test_ranges_are_behind_the_marks():
    for axes in plots.draw(SEVERAL, {("A", "ap"): 0.25, ("B", "auc"): 0.35}, None):
        order = {line.get_label(): line.get_zorder() for line in axes.lines}
        assert order["range"] < min(order["sampled"], order["cls"], order["exact"])


def test_figure_grows_with_metrics_and_recommenders():
    """In inches: a half, a half for each of two metrics, and 0.3 for each of four lines."""
    first, _ = plots.draw(SEVERAL, {}, None)
    _, height = first.figure.get_size_inches()
    assert height == pytest.approx(3 * 0.5 + 4 * 0.3)
