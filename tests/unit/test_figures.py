import os
import subprocess
import sys
from itertools import pairwise, product
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

from sampled_metrics.report.figures import render, save

METRICS = ("AUC", "AP", "NDCG", "Recall@10")
CORRECTED = ("Sampled", "Rank Estimate", "CLS", "BV 1", "BV 0.1", "BV 0.01", "BV 0.001")
NAMES = ("popularity", "_a$b", "Z", "4", "5", "6", "7", "8")
NOTE = "Ranks: made up by this test"


def long(columns, x, xs, seed=0):
    """Every combination of the columns' values with every x, and a random value in (0, 1)."""
    names = list(columns)
    rows = [(*keys, at) for keys in product(*columns.values()) for at in xs]
    table = pd.DataFrame(rows, columns=[*names, x])
    return table.assign(value=np.random.default_rng(seed).random(len(table)))


def bins(panel, last, width):
    first = np.arange(1, last, width)
    frames = [
        pd.DataFrame(
            {
                "panel": panel,
                "recommender": name,
                "first_rank": first,
                "last_rank": first + width - 1,
                "users": np.arange(first.size)[::-1] * (i + 1) + i,
            }
        )
        for i, name in enumerate(NAMES)
    ]
    return pd.concat(frames)


def recall_table():
    curves = long(
        {"kind": ["curve"], "recommender": NAMES, "estimator": ["Sampled", "BV 0.1"]},
        "n_negatives",
        [10, 30, 100, 1200],
    )
    ordered = [
        ("ordered", "popularity vs _a$b", "Sampled", 967, 0.4),
        ("ordered", "popularity vs Z", "Sampled", 500, 0.3),
        ("ordered", "popularity vs _a$b", "BV 0.1", 49, 0.5),
    ]
    return pd.concat([curves, pd.DataFrame(ordered, columns=curves.columns)])


def corrected_table():
    sampled = long({"panel": ["sampled rank"], "curve": CORRECTED}, "rank", range(1, 21))
    true = long({"panel": ["true rank"], "curve": [*CORRECTED, "Exact"]}, "rank", range(1, 401))
    return pd.concat([sampled.assign(value=sampled["value"] - 0.5), true])


TABLES = {
    1: long({"metric": METRICS}, "rank", range(1, 401)),
    2: long({"metric": METRICS, "recommender": "ABC"}, "n_negatives", [1, 20, 99, 5000, 9999]),
    3: long({"metric": METRICS, "curve": ["m = 1", "m = 1000", "Exact"]}, "rank", range(1, 51)),
    4: corrected_table(),
    5: pd.concat([bins("all", 700, 100), bins("top", 100, 10)]),
    6: recall_table(),
}


@pytest.fixture(scope="module")
def figures():
    tables = {number: table.copy() for number, table in TABLES.items()}
    drawn = {number: render(number, table, NOTE) for number, table in tables.items()}
    for number, table in tables.items():
        pd.testing.assert_frame_equal(table, TABLES[number])  # drawing leaves it as it was
    return drawn


def curves(axes):
    """Lines by the name in the legend: a name that begins with _ is not matplotlib's own."""
    lines = {line.get_label(): line for line in axes.get_lines()}
    return {name: line for name, line in lines.items() if not name.startswith("_")}


def spelled(name):
    return {"_a$b": r" _a\$b"}.get(name, name)


def assert_drawn(axes, rows, curve, x):
    """Exactly the curves of the table are drawn, at the table's own points."""
    drawn = curves(axes)
    expected = {spelled(name): points for name, points in rows.groupby(curve)}
    assert set(drawn) == set(expected)
    for name, points in expected.items():
        np.testing.assert_array_equal(drawn[name].get_xdata(), points[x])
        np.testing.assert_array_equal(drawn[name].get_ydata(), points["value"])


def labels(axes):
    return axes.get_title(), axes.get_xlabel(), axes.get_ylabel()


def scales(axes):
    return axes.get_xscale(), axes.get_yscale()


def legend_of(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def words(axes):
    return [text.get_text() for text in axes.texts]


def test_figure_1_all_ranks_and_the_top_hundred(figures):
    left, right = figures[1].axes
    table = TABLES[1]
    assert labels(left) == ("All ranks", "Predicted rank $r$", "Metric $M(r)$")
    assert labels(right)[:2] == ("Top 100 ranks", "Predicted rank $r$")
    assert_drawn(left, table, "metric", "rank")
    assert_drawn(right, table[table["rank"] <= 100], "metric", "rank")
    assert left.get_xlim() == (1, 400)
    assert right.get_xlim() == (1, 100)
    assert left.get_xticks().tolist() == [1, 100, 200, 300, 400]
    assert scales(left) == scales(right) == ("linear", "linear")
    assert legend_of(figures[1]) == list(METRICS)


@pytest.mark.parametrize(
    ("number", "curve", "x", "xlabel", "scale", "limits"),
    [
        (2, "recommender", "n_negatives", "Sample size $m$", "log", (1, 10_000)),
        (3, "curve", "rank", "True rank $r$", "linear", (1, 50)),
    ],
)
def test_figures_2_and_3_a_panel_for_each_metric(figures, number, curve, x, xlabel, scale, limits):
    table, panels = TABLES[number], figures[number].axes
    assert [axes.get_title() for axes in panels] == list(METRICS)
    for axes, metric in zip(panels, METRICS, strict=True):
        assert_drawn(axes, table[table["metric"] == metric], curve, x)
        assert scales(axes) == (scale, "linear")
        assert axes.get_xlim() == limits
    assert [axes.get_xlabel() for axes in panels] == ["", "", xlabel, xlabel]
    assert panels[0].get_ylabel() == panels[2].get_ylabel() == r"Expected metric $E[M(\tilde{r})]$"
    assert legend_of(figures[number]) == list(table[curve].unique())


def test_figure_2_marks_the_sample_size_of_table_2(figures):
    for axes in figures[2].axes:
        assert [99, 99] in [list(line.get_xdata()) for line in axes.get_lines()]
    assert [words(axes) for axes in figures[2].axes] == [["$m$ = 99 (Table 2)"], [], [], []]


def test_figure_3_draws_the_exact_metric_below_and_black(figures):
    drawn = curves(figures[3].axes[1])
    exact = drawn.pop("Exact")
    assert to_rgb(exact.get_color()) == (0, 0, 0)
    assert exact.get_zorder() < min(line.get_zorder() for line in drawn.values())


def test_figure_4_by_sampled_rank_and_by_true_rank(figures):
    left, right = figures[4].axes
    table = TABLES[4]
    assert_drawn(left, table[table["panel"] == "sampled rank"], "curve", "rank")
    assert_drawn(right, table[table["panel"] == "true rank"], "curve", "rank")
    assert scales(left) == scales(right) == ("log", "linear")
    assert (left.get_xlim(), right.get_xlim()) == ((1, 20), (1, 400))
    assert left.get_ylim()[0] < -0.4, "what oscillates must not be cut on the left"
    assert right.get_ylim() == (-0.02, 0.25)
    ap = r"\widehat{\mathrm{AP}}(\tilde{r})"
    assert labels(left)[1:] == (r"Sampled rank $\tilde{r}$", f"Corrected metric ${ap}$")
    assert labels(right)[1:] == ("True rank $r$", f"Expectation $E[{ap}]$")
    assert "axis cut at 0.25" in right.get_title()
    assert legend_of(figures[4]) == [*CORRECTED, "Exact"]


def test_figure_5_outlines_over_all_ranks(figures):
    left = figures[5].axes[0]
    assert labels(left) == ("All ranks", "Predicted rank $r$", "Users per 100 ranks")
    assert scales(left) == ("linear", "log")
    assert left.get_xlim() == (1, 700)
    assert left.get_ylim()[0] < 1, "a bin of one user must show"
    rows = TABLES[5][TABLES[5]["panel"] == "all"]
    for name, points in rows.groupby("recommender"):
        line = curves(left)[spelled(name)]
        assert line.get_xdata().tolist() == [0.5, *(points["last_rank"] + 0.5)]
        assert list(line.get_ydata()[:-1]) == points["users"].tolist()


def test_figure_5_bars_over_the_top_ranks(figures):
    right = figures[5].axes[1]
    assert labels(right) == ("Top 100 ranks", "Predicted rank $r$", "Users per 10 ranks")
    assert scales(right) == ("linear", "linear")
    rows = TABLES[5][TABLES[5]["panel"] == "top"]
    bars = {container.get_label(): container.patches for container in right.containers}
    assert list(bars) == [spelled(name) for name in NAMES]
    for name, points in rows.groupby("recommender"):
        assert [bar.get_height() for bar in bars[spelled(name)]] == points["users"].tolist()
    for first, group in zip(range(1, 101, 10), zip(*bars.values(), strict=True), strict=True):
        edges = [(bar.get_x(), bar.get_x() + bar.get_width()) for bar in group]
        assert first <= edges[0][0] + 0.5
        assert edges[-1][1] <= first + 9.5
        assert all(a[1] == pytest.approx(b[0]) for a, b in pairwise(edges)), "side by side"


def test_figure_6_marks_from_where_the_first_pair_is_ordered(figures):
    panels = figures[6].axes
    table = TABLES[6]
    assert [axes.get_title() for axes in panels] == ["Uncorrected", "Corrected (BV 0.1)"]
    assert panels[0].get_ylabel() == "Expected Recall@10 (%)"
    marks = (("Sampled", 967, 0.4), ("BV 0.1", 49, 0.5))
    for axes, (estimator, m, value) in zip(panels, marks, strict=True):
        chosen = (table["kind"] == "curve") & (table["estimator"] == estimator)
        assert_drawn(axes, table[chosen], "recommender", "n_negatives")
        assert words(axes) == [f"Order of popularity vs _a\\$b\ncorrect from $m$ = {m}"]
        points = [line.get_xydata().tolist() for line in axes.get_lines()]
        assert [[m, value]] in points
        assert axes.get_xlabel() == "Sample size $m$"
        assert (scales(axes), axes.get_xlim()) == (("log", "linear"), (10, 1200))
    assert legend_of(figures[6]) == [spelled(name) for name in NAMES]


def test_figure_6_without_an_ordering_size_has_no_mark():
    table = TABLES[6][TABLES[6]["kind"] == "curve"]
    for axes in render(6, table).axes:
        assert words(axes) == []
        assert len(axes.get_lines()) == len(NAMES)


@pytest.mark.parametrize(("falling", "top"), [(True, True), (False, False)])
def test_figure_6_puts_the_words_where_no_curve_is(falling, top):
    m = np.array([10, 20, 50, 100, 200, 500, 1000])
    value = np.linspace(90, 10, m.size) if falling else np.linspace(30, 90, m.size)
    table = pd.DataFrame(
        {"kind": "curve", "recommender": "X", "estimator": "CLS", "n_negatives": m, "value": value}
    )
    pair = table.assign(recommender="Y", value=table["value"] * 0.97)
    both = [
        pd.concat([table, pair]).assign(estimator=estimator) for estimator in ("Sampled", "BV 0.1")
    ]
    at = 900 if falling else 30
    ordered = pd.DataFrame(
        [("ordered", "X vs Y", estimator, at, 20.0) for estimator in ("Sampled", "BV 0.1")],
        columns=table.columns,
    )
    figure = render(6, pd.concat([*both, ordered]))
    for axes in figure.axes:
        (text,) = axes.texts
        assert (text.get_va() == "top") is top
        assert text.get_ha() == ("right" if falling else "left")


def test_curves_of_a_panel_differ_in_colour_and_in_line(figures):
    for axes in (axes for figure in figures.values() for axes in figure.axes):
        drawn = list(curves(axes).values())
        colours = {line.get_color() for line in drawn}
        dashes = {line._unscaled_dash_pattern[1] for line in drawn if line.get_label() != "Exact"}
        assert len(colours) == len(drawn)
        assert len(dashes) == sum(line.get_label() != "Exact" for line in drawn)


def test_note_at_the_foot_or_nothing(figures):
    for figure in figures.values():
        assert figure.get_supxlabel() == NOTE
        assert figure._supxlabel.get_fontsize() == 6
    assert render(1, TABLES[1]).get_supxlabel() == ""


def test_page_wide_with_text_of_8_points(figures):
    for figure in figures.values():
        assert figure.get_size_inches()[0] == 7.0
        axes = figure.axes[0]
        texts = [axes.title, axes.xaxis.label, axes.yaxis.label, *figure.legends[0].get_texts()]
        assert {text.get_fontsize() for text in texts} == {8.0}


def test_nothing_overlaps_the_curves_or_leaves_the_page(figures):
    for figure in figures.values():
        renderer = FigureCanvasAgg(figure).get_renderer()
        figure.draw_without_rendering()
        page = figure.get_tightbbox(renderer)
        assert min(page.x0, page.y0) >= -0.01
        assert page.x1 <= figure.get_size_inches()[0] + 0.01
        box = figure.legends[0].get_window_extent(renderer)
        assert not any(box.overlaps(axes.get_window_extent(renderer)) for axes in figure.axes)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


FEW = TABLES[5][TABLES[5]["recommender"].isin(NAMES[:2])]  # quickly drawn


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """What figure 5 is written as."""
    folder = tmp_path_factory.mktemp("figures") / "new"
    save(render(5, FEW, NOTE), folder / "figure5")
    return contents(folder)


def test_ticks_of_ranks_are_whole_numbers():
    figure = render(5, pd.concat([bins("all", 43, 1), bins("top", 11, 1)]))
    assert figure.axes[0].get_xticks().tolist() == [1, 20, 40]
    assert figure.axes[1].get_xticks().tolist() == [1, 5, 10]
    assert [axes.get_ylabel() for axes in figure.axes] == ["Users per rank"] * 2
    # the bars and steps of the first and the last rank are as broad as the others
    assert [axes.get_xlim() for axes in figure.axes] == [(0.5, 42.5), (0.5, 10.5)]


def test_sizes_within_one_power_of_ten_have_ticks():
    rows = TABLES[6][(TABLES[6]["kind"] == "curve") & (TABLES[6]["recommender"] == NAMES[0])]
    for last, ticks in ((40, [10, 20]), (60, [10, 20, 50]), (600, [10, 100])):
        figure = render(6, rows.assign(n_negatives=np.linspace(10, last, len(rows)).round()))
        shown = [tick for tick in figure.axes[0].get_xticks() if 10 <= tick <= last]
        assert shown == ticks


@pytest.mark.parametrize(("number", "recommenders"), [(5, 12), (6, 1), (6, 12)])
def test_many_recommenders_of_long_names_stay_on_the_page(number, recommenders):
    names = [f"Recommender-{i}-of-a-name-that-is-long-indeed" for i in range(recommenders)]
    few = TABLES[number]
    of_one = few[few["recommender"] == NAMES[0]]
    tables = [of_one.assign(recommender=name) for name in names]
    if number == 6:
        pair = " vs ".join(names[:2])
        tables.append(few[few["kind"] == "ordered"].iloc[:1].assign(recommender=pair))
    figure = render(number, pd.concat(tables), NOTE)
    FigureCanvasAgg(figure).draw()
    box, page = figure.legends[0].get_window_extent(), figure.bbox
    assert page.x0 <= box.x0 < box.x1 <= page.x1
    for axes in figure.axes:
        panel = axes.get_tightbbox()
        assert page.x0 - 1 <= panel.x0 < panel.x1 <= page.x1 + 1
        assert panel.y1 <= box.y0
        assert axes.bbox.height > page.height / 4
        for words in axes.texts:
            assert words.get_window_extent().x1 <= page.x1


def test_three_small_files_that_do_not_name_matplotlibs_version(saved):
    assert sorted(saved) == ["figure5.pdf", "figure5.png", "figure5.svg"]
    assert max(map(len, saved.values())) < 400_000
    assert not [name for name in saved if matplotlib.__version__.encode() in saved[name]]
    assert b"<text" not in saved["figure5.svg"], "text as paths"


def test_settings_of_the_user_neither_matter_nor_change(saved, tmp_path):
    with matplotlib.rc_context({"font.size": 20, "lines.linewidth": 9, "svg.hashsalt": "other"}):
        before = dict(matplotlib.rcParams)
        save(render(5, FEW, NOTE), tmp_path / "figure5")
        assert dict(matplotlib.rcParams) == before
    assert contents(tmp_path) == saved


SCRIPT = """
import sys
from pathlib import Path
import pandas as pd
from sampled_metrics.report.figures import render, save
save(render(5, pd.read_pickle(sys.argv[1]), sys.argv[2]), Path(sys.argv[3]))
"""


def test_the_same_bytes_from_another_process(saved, tmp_path):
    table, stem = tmp_path / "table.pkl", tmp_path / "there" / "figure5"
    FEW.to_pickle(table)
    command = [sys.executable, "-c", SCRIPT, table, NOTE, stem]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": "7"})
    assert contents(stem.parent) == saved


def test_a_failure_leaves_no_half_figure(tmp_path, monkeypatch):
    figure = render(1, TABLES[1])
    before = {f"figure1.{kind}": b"old" for kind in ("svg", "pdf", "png")}
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)

    def fail(path, **_):
        path.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(figure, "savefig", fail)
    with pytest.raises(OSError, match="disk full"):
        save(figure, tmp_path / "figure1")
    assert contents(tmp_path) == before


def test_reversal_draws_both_orders():
    from sampled_metrics.ranks.reading import read_by_name
    from sampled_metrics.report.figures.reversal import draw_reversal
    from sampled_metrics.study.sample_sizes import recall_exact_and_sampled

    paths = sorted((Path(__file__).parents[2] / "results/reference/ranks").glob("*.parquet"))
    pairs = recall_exact_and_sampled(read_by_name(paths))
    assert sorted(pairs, key=lambda name: pairs[name][0]) == ["X", "Y", "Z"]
    assert sorted(pairs, key=lambda name: pairs[name][1]) == ["Z", "Y", "X"]
    lines = draw_reversal(pairs).axes[0].lines
    rises = [line.get_ydata()[1] - line.get_ydata()[0] for line in lines]
    assert rises[0] > 0 > max(rises[1:])
