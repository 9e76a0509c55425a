"""Results as tables, DataFrames and plots."""

import math
import pickle
import re
import sys

import numpy as np
import pandas as pd
import pytest

import sampled_metrics as sm
from sampled_metrics._base.text import format_html, format_range
from sampled_metrics.evaluation import plots
from sampled_metrics.evaluation.acts_like import ActsLike
from sampled_metrics.evaluation.results import quantity, quantity_range

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
    return [
        line.get_xydata().tolist() for line in axes.lines if line.get_label() == label
    ]


def test_the_number_to_quote_is_bold_in_notebooks():
    rng = np.random.default_rng(0)
    ranks = 1 + rng.binomial(99, rng.random(600) ** 4)
    found = sm.correct(ranks, "hr@10", "sampled, likely", n_items=900, n_negatives=99)
    bold = re.findall("<b>([^<]*)</b>", found._repr_html_())
    assert [text.strip() for text in bold] == ["likely", f"{found[1].value:.3g}"]
    assert "\ue000" not in str(found)
    printed = sm.reported("HR@10=0.47 NDCG@10=0.25", n_items=3000, n_negatives=99)
    bold = re.findall("<b>([^<]*)</b>", printed._repr_html_())
    assert [float(text) for text in bold] == [
        float(f"{one.likely:.3g}") for one in printed
    ]


def test_notebooks_show_a_table_with_what_is_said_of_it(corrected):
    page = corrected._repr_html_()
    cells = [
        re.findall("<td[^>]*>([^<]*)</td>", row) for row in page.split("<tr>")[2:]
    ]
    assert [float(row[3]) for row in cells] == [
        float(f"{result.value:.3g}") for result in corrected
    ]
    assert "60 users, 10 negatives drawn uniformly" in page
    assert "<" not in format_html(["a < b"]).removeprefix("<p>").removesuffix("</p>")
    assert (
        str(corrected)
        == repr(corrected)
        == str(pickle.loads(pickle.dumps(corrected)))  # noqa: S301
    )
    frame = corrected.to_frame()
    assert frame["value"].tolist() == [result.value for result in corrected]
    assert list(frame.columns[:3]) == ["metric", "estimator", "value"]


def test_numbers_that_do_not_exist_are_dashes():
    (one,) = sm.evaluate(sm.Ranks([100], [3], [0]), "ap").parts()[0]
    assert math.isnan(one["std_error"])
    assert "nan" not in str(sm.evaluate(sm.Ranks([100], [3], [0]), "ap"))


@pytest.mark.filterwarnings("ignore:.*have the same ranks")
def test_many_orders_are_a_row_for_each_pair():
    data, metrics = (
        {"A": SCORES, "B": SCORES[::-1], "C": SCORES},
        [f"hr@{k}" for k in range(1, 12)],
    )
    orders, _, _, ranges, *_ = sm.compare(data, metrics, "sampled", **ITEMS).parts()
    assert [set(row.values()) for row in orders] == [
        {*pair, "?"} for pair in ("AB", "AC", "BC")
    ]
    found = sm.correct(SCORES, metrics, **ITEMS)
    ends = {format_range(x.range_low, x.range_high) for x in found}
    assert [row.pop("") for row in ranges] == ["A", "B", "C"]
    assert set(ranges[0].values()) == ends


@pytest.mark.usefixtures("closing")
def test_plot_of_estimates(corrected):
    panels = corrected.plot(exact={"hit@10": 0.25})
    for axes, (sampled, cls) in zip(
        panels, (corrected[:2], corrected[2:]), strict=True
    ):
        assert drawn(axes, "range") == [[[cls.range_low, 0], [cls.range_high, 0]]]
        assert [[x for x, _ in points] for points in drawn(axes, "cls")] == [
            [cls.value]
        ]
        assert axes.get_title("left").startswith(f"{cls.metric}: ")
        (((x, _),),) = drawn(axes, "sampled")
        assert x == sampled.value < axes.get_xlim()[1]
    assert [drawn(axes, "exact") for axes in panels] == [[[[0.25, 0]]], []]
    (legend,) = panels[0].figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [
        "range",
        "sampled",
        "cls",
        "exact",
    ]
    assert sum(len(drawn(axes, "sampled")) for axes in panels) == 2


@pytest.mark.usefixtures("closing")
@pytest.mark.filterwarnings(
    "ignore::sampled_metrics.InputWarning"
)  # one item for all users
def test_plot_of_differences():
    data = {"A": SCORES, "B": SCORES[::-1]}
    sampled = sm.compare(data, "auc", "sampled", **ITEMS)
    exact = sm.compare(data, "auc", relevant=[0] * 60, seen=SCORES < -9)
    axes = sampled.plot(exact=exact)
    (result,) = exact
    assert drawn(axes, "exact") == [[[result.difference, 0]]]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["B - A"]
    assert axes.get_title("left") == f"auc: {sampled[0].order}"
    assert [0.0, 0.0] in [
        list(line.get_xdata()) for line in axes.lines
    ]  # no difference
    assert axes.get_xlabel() == "difference (fraction)"
    again = exact.plot(axes=axes)
    assert again is axes
    assert drawn(axes, "interval") == [[[result.ci_low, 0], [result.ci_high, 0]]]
    with pytest.raises(sm.InputError, match="results"):
        sampled.plot(
            exact=sm.evaluate(SCORES, "auc", relevant=[0] * 60, seen=SCORES < -9)
        )
    with pytest.raises(sm.InputError, match="1 axes"):
        sampled.plot(axes=[axes, axes])


@pytest.mark.usefixtures("closing")
def test_metrics_share_an_axis_that_begins_at_zero():
    ranks = sm.Ranks([100] * 39 + [101], [*range(40)], [0] * 40)
    panels = sm.evaluate(ranks, "hr@10, ndcg@10, auc").plot()
    hit, ndcg, auc = (panel.get_xlim() for panel in panels)
    assert hit == ndcg
    assert hit[0] == auc[0] == 0
    assert [text.get_text() for text in panels[0].get_yticklabels()] == ["40 users"]


@pytest.mark.usefixtures("closing")
def test_differences_below_zero_have_an_axis_of_their_width():
    places = np.arange(500) ** 2 // 2600  # mostly near the top
    better, worse = (
        sm.Ranks([100] * 500, places + more, [0] * 500) for more in (0, 3)
    )
    (result,) = compared = sm.compare({"A": better, "B": worse}, "auc")
    low, high = compared.plot().get_xlim()
    assert -0.1 < low < 0.0 < -result.range_high < -result.range_low < high


def test_without_matplotlib_the_package_is_named(corrected, monkeypatch):
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


@pytest.mark.usefixtures("closing")
@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ([row()], "ap: undecided"),
        ([row(order="a")], "ap: A above B"),
        ([row(order="b"), row(order="b", estimator="cls")], "ap: B above A"),
        ([row(order="b"), row(b="C")], "ap: 1 of 2 pairs decided"),
        (
            [row(order="b"), row(b="C", order="a"), row(a="C")],
            "ap: 2 of 3 pairs decided",
        ),
    ],
)
def test_titles_of_comparisons(rows, title):
    axes = plots.draw(pd.DataFrame(rows), {}, None)
    assert axes.get_title("left") == title


@pytest.mark.usefixtures("closing")
def test_titles_of_ranges():
    columns = ["a", "b", "order", "difference"]
    ranges = pd.DataFrame([row(), row(estimator="cls")]).drop(columns=columns)
    axes = plots.draw(ranges.assign(value=[0.25, 0.3]), {}, None)
    assert axes.get_title("left") == "ap: 0.25 (0.125 to 0.500)"
    two = ranges.assign(value=0.25, recommender=["A", "B"], estimator="likely")
    assert plots.draw(two, {}, None).get_title("left") == "ap"


@pytest.mark.usefixtures("closing")
def test_plots_of_several_recommenders_have_a_line_for_each():
    rows = [
        {"recommender": name, "metric": metric, "estimator": estimator, "value": value,
         "range_low": 0.2, "range_high": 0.4}
        for name in "AB" for metric in ("ap", "auc")
        for estimator, value in (("sampled", 0.9), ("cls", 0.3))
    ]  # fmt: skip
    exact = {("A", "ap"): 0.25, ("B", "auc"): 0.35}
    panels = plots.draw(pd.DataFrame(rows), exact, None)
    for axes, metric in zip(panels, ("ap", "auc"), strict=True):
        assert [label.get_text() for label in axes.get_yticklabels()] == ["A", "B"]
        assert axes.get_ylim() == (1.5, -0.5)
        assert drawn(axes, "range") == [
            [[0.2, height], [0.4, height]] for height in (0, 1)
        ]
        assert [[y for _, y in points] for points in drawn(axes, "cls")] == [
            [0.07],
            [1.07],
        ]
        above = [points[0] for points in drawn(axes, "sampled")]
        assert above == [[0.9, pytest.approx(-0.07)], [0.9, pytest.approx(0.93)]]
        place = {"ap": [[[0.25, 0]]], "auc": [[[0.35, 1]]]}[metric]
        assert drawn(axes, "exact") == place
        order = {line.get_label(): line.get_zorder() for line in axes.lines}
        assert order["range"] < min(order["sampled"], order["cls"], order["exact"])
    assert [axes.get_xlabel() for axes in panels] == ["", "value (fraction)"]
    width, height = panels[0].figure.get_size_inches()
    assert (width, height) == (6, pytest.approx(0.5 * 3 + 0.3 * 4))


def test_extents_counts_and_acts_like_in_words():
    assert [quantity(n, "user") for n in (0, 1, 2, 6040)] == [
        "0 users", "1 user", "2 users", "6,040 users",
    ]  # fmt: skip
    assert [quantity_range(n, "user") for n in ([], [0], [1], [5, 5], [943, 6040, 1000])] == [
        "", "", "1 user", "5 users", "943 to 6,040 users",
    ]  # fmt: skip
    for metric, rank, words in (
        ("recall@10", 17, "recall@17"),
        ("f1@10", 8, "f1@8"),
        ("ap", 5, "rank 5 (not 2)"),
        ("ndcg@10", 17, "rank 17 (not 3)"),
        ("rr@1", 4, "rank 4 (not 2)"),
        ("auc", None, "auc"),
        ("ap", None, "no rank"),
    ):
        assert str(ActsLike.from_rank(metric, rank, 1000)) == words
    assert ActsLike.from_rank("ndcg", 9, 3).exact_rank == 3
    assert ActsLike.from_rank("ndcg", 9, 2).exact_rank == 2
