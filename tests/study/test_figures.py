"""Figures: their curves, legible texts, and reproducible files."""

import re
from itertools import combinations
from statistics import NormalDist

import matplotlib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from sampled_metrics._base.arrays import keep_apart
from sampled_metrics._base.errors import InputError
from sampled_metrics.ranks import Ranks
from sampled_metrics_study.figures import FIGURES, STYLE, draw
from sampled_metrics_study.figures.errors import errors_against_samples
from sampled_metrics_study.figures.figure1_to_4 import SHADES
from sampled_metrics_study.figures.style import log_axis, shorten_name
from sampled_metrics_study.scorecard import z_scores
from sampled_metrics_study.settings import ExperimentSettings
from tests.study.conftest import REFERENCE

NOTE = "Ranks: 0.001, made up by this test"
CARD = pd.DataFrame(
    [
        (2, "A", "AUC", "Sampled", "deterministic", "0.0100", "0.0000"),
        (3, "_a$b", "AP", "CLS", "random", "0.0300", "0.0200"),
        (3, "_a$b", "AP", "BV 1", "random", "-0.0100", "0.0100"),
        (4, "X vs Y", "AP", "CLS", "near-certain", "0.0000", "0.0000"),
        (4, "X vs Y", "AP", "BV 1", "random", "", "2.0000"),
        (4, "X vs Y", "AUC", "BV 1", "random", "5.0000", "2.0000"),
    ],
    columns=["table", "row", "metric", "column", "kind", "difference", "error"],
)
TABLES = {
    **{n: pd.read_csv(REFERENCE / f"figures/figure{n}.csv") for n in range(1, 7)},
    "errors": pd.read_csv(REFERENCE / "figures/errors.csv"),
    "z": z_scores(CARD),
}


def make_figure(number, table):
    """The figure that `draw` saves, before its texts have places."""
    with matplotlib.rc_context(matplotlib.rc_params_from_file(STYLE)):
        figure = Figure()
        FIGURES[number](figure, table)
        return figure


def render_figure(number, table):
    """The figure that `draw` saves."""
    figure = make_figure(number, table)
    with matplotlib.rc_context(matplotlib.rc_params_from_file(STYLE)):
        figure.draw_without_rendering()
    return figure


@pytest.fixture(scope="module")
def figures():
    tables = {number: table.copy() for number, table in TABLES.items()}
    figures_by_number = {number: render_figure(number, table) for number, table in tables.items()}
    for number, table in tables.items():
        # drawing does not change the table
        pd.testing.assert_frame_equal(table, TABLES[number])
    return figures_by_number


def points(axes):
    """The points of all curves in a panel."""
    return [line.get_xydata().tolist() for line in axes.get_lines()]


def texts_in(axes):
    return [text.get_text() for text in axes.texts]


def assert_drawn(axes, rows, curve, x):
    """Check that every curve of the table is drawn through its points."""
    for name, part in rows.groupby(curve):
        assert part[[x, "value"]].to_numpy().tolist() in points(axes), name


def test_figure_1_has_all_ranks_and_first_100(figures):
    for axes, last in zip(figures[1].axes, (10_000, 100), strict=True):
        assert_drawn(axes, TABLES[1][TABLES[1]["rank"] <= last], "metric", "rank")
        assert (axes.get_xscale(), axes.get_xlim()) == ("linear", (1, last))
        styles = [line.get_drawstyle() for line in axes.get_lines()]
        assert styles == ["default"] * 3 + ["steps-mid"], "Recall@10 jumps"


@pytest.mark.parametrize(
    ("number", "curve", "x", "scale"),
    [(2, "recommender", "n_negatives", "log"), (3, "curve", "rank", "linear")],
)
def test_figures_2_and_3_have_panel_per_metric(figures, number, curve, x, scale):
    for axes, (metric, rows) in zip(
        figures[number].axes, TABLES[number].groupby("metric", sort=False), strict=True
    ):
        assert (axes.get_title("left"), axes.get_xscale()) == (metric, scale)
        ticks = axes.get_yticks()
        assert (ticks.min(), ticks.max()) == (0, 1), "all values that a metric can have"
        assert_drawn(axes, rows, curve, x)


def test_figure_4_has_row_per_correction(figures):
    panels, table = np.reshape(figures[4].axes, (-1, 2)), TABLES[4]
    names = [name for name in table["curve"].unique() if name not in ("Sampled", "Exact")]
    first, *rows = panels
    for axes, kind in zip(first, ("sampled rank", "true rank"), strict=True):
        assert_drawn(axes, table[table["panel"] == kind], "curve", "rank")
        assert axes.get_ylim()[0] < table["value"].min()
    for row, name in zip(rows, names, strict=True):
        for axes, kind in zip(row, ("sampled rank", "true rank"), strict=True):
            is_shown = table["curve"].isin([name, "Exact"])
            assert len(axes.get_lines()) == 1 + (kind == "true rank")
            assert_drawn(axes, table[is_shown & (table["panel"] == kind)], "curve", "rank")
            assert axes.get_yscale() == "linear"
        assert texts_in(row[0]) == [name]


def outline(patch):
    """Heights and edges of the bars of an outline."""
    return (*patch.get_data().values, *patch.get_data().edges)


@pytest.mark.parametrize(("row", "name", "orders"), [(0, "X", 1), (1, "Y", 1), (2, "Z", 2)])
@pytest.mark.parametrize(("column", "kind"), [(0, "all"), (1, "top")])
def test_figure_5_outlines_match_table(figures, row, name, orders, column, kind):
    """Each panel has a recommender before the two others; of Z, ties ranked last are in front."""
    table, panel = TABLES[5], figures[5].axes[2 * row + column]
    assert len(panel.patches) == orders + 2
    outlines = {outline(patch): patch for patch in panel.patches}
    rows = table[(table["panel"] == kind) & (table["recommender"] == name)]
    layers = {}
    for ties, part in rows.groupby("ties"):
        width = part["last_rank"] - part["first_rank"] + 1
        heights = part["users"] * width.max() / width  # per rank, as bins differ in width
        edges = (0.5, *(part["last_rank"] + 0.5))
        layers[ties] = outlines[*heights, *edges].get_zorder()
    assert len(layers) == orders
    assert max(layers, key=layers.get) == ("pessimistic" if orders == 2 else "random")


def test_figure_5_shows_buckets_without_users(figures):
    first, second = figures[5].axes[:2]
    assert [first.get_yscale(), second.get_yscale()] == ["symlog", "linear"]
    assert first.get_ylim()[0] < 0


def test_figure_5_tells_the_users_in_the_worst_bucket(figures):
    """The paper's 1,600 users of Z are those with ties ranked last."""
    told = [text for panel in figures[5].axes for text in texts_in(panel) if "last" in text]
    assert told == ["Z\n1,592 in the last 100"]


def panels_of_figure_6(figures):
    """Yield each panel with the rows of its estimator, by kind."""
    table = TABLES[6]
    for axes, estimator in zip(figures[6].axes, ("Sampled", "BV 0.1"), strict=True):
        yield axes, dict(list(table[table["estimator"] == estimator].groupby("kind")))


FIRST_M = 10  # where the axis of figure 6 begins


def test_figure_6_has_curves_in_their_bands(figures):
    for axes, kinds in panels_of_figure_6(figures):
        assert_drawn(axes, kinds["curve"], "recommender", "n_negatives")
        assert (axes.get_xscale(), axes.get_xlim()) == ("log", (FIRST_M, 1392))
        assert {"X", "Y", "Z", "X 7.75", "Y 8.84", "Z 9.42"} < set(texts_in(axes))
        band = axes.collections[0].get_paths()[0].vertices.tolist()
        corners = pd.concat([kinds["lowest"], kinds["highest"]])[["n_negatives", "value"]]
        assert all(corner in band for corner in corners.to_numpy().tolist())


def test_figure_6_rings_and_lists_where_orders_begin(figures):
    for axes, kinds in panels_of_figure_6(figures):
        ordered = kinds["ordered"]
        rings = ordered[ordered["n_negatives"] > FIRST_M][["n_negatives", "value"]]
        assert rings.to_numpy().tolist() in points(axes)
        (listed,) = [text for text in texts_in(axes) if "order" in text]
        for row in ordered.itertuples():
            where = f"from m = {row.n_negatives}" if row.n_negatives > FIRST_M else "at every m"
            assert f"{row.recommender}: {where}" in listed
        assert f"95 % of runs: {kinds['sure']['n_negatives'].item():,}" in listed


def test_figure_6_marks_the_papers_number_of_negatives(figures):
    for axes, kinds in panels_of_figure_6(figures):
        published = kinds["published"]["n_negatives"].item()
        assert f"paper: {published:,}" in texts_in(axes)
        assert [[published, 0.0]] in points(axes)


@given(st.lists(st.floats(-0.5, 1.5), min_size=1, max_size=8), st.floats(0.01, 0.4))
def test_positions_are_kept_apart_and_within_the_panel(positions, size):
    moved = np.sort(keep_apart(np.array(positions), size))
    assert (np.diff(moved) >= size - 1e-12).all()
    assert moved[0] >= size / 2 - 1e-12
    has_room = size * len(positions) <= 1
    if has_room:
        assert moved[-1] <= 1 - size / 2 + 1e-12


@given(st.lists(st.floats(0.0, 0.1), min_size=1, max_size=4), st.floats(0.01, 0.1))
def test_positions_that_are_apart_stay(gaps, size):
    """The highest one is at most 4 * (0.1 + 0.1) - 0.1 / 2 = 0.75."""
    positions = np.cumsum(size + np.array(gaps)) - size / 2
    assert keep_apart(positions, size) == pytest.approx(positions, abs=1e-12)


@given(st.floats(0.0, 0.09))
def test_two_positions_move_by_the_same_distance(gap):
    moved = keep_apart(np.array([0.5, 0.5 + gap]), 0.1)
    assert np.sort(moved) == pytest.approx([0.45 + gap / 2, 0.55 + gap / 2], abs=1e-12)


@pytest.mark.parametrize(
    ("high", "ticks"),
    [(60, [10, 20, 50]), (999, [10, 20, 50, 100, 200, 500]), (1000, [10, 100, 1000])],
)
def test_log_axis_ticks(high, ticks):
    axes = Figure().subplots()
    log_axis(axes.xaxis, 10, high)
    assert axes.get_xticks().tolist() == ticks
    assert (axes.get_xlim(), axes.get_xticks(minor=True).tolist()) == ((10, high), [])


@given(st.text(st.characters(categories=["L", "N"]), max_size=30), st.integers(5, 30))
def test_shorten_name_keeps_both_ends(name, longest):
    text = shorten_name(name, longest)
    if len(name) <= longest:
        assert text == name
        return
    assert len(text) == longest
    first, last = text.split("\u2026")
    assert name.startswith(first)
    assert name.endswith(last)
    assert len(first) - len(last) in (0, 1)


@pytest.mark.parametrize("factor", [0.013, 0.5, 1.0, 2.2, 9.0])
def test_figure_6_height_fits_curves(factor):
    table = TABLES[6].copy()
    is_value = ~table["kind"].isin(["sure", "published"])
    table.loc[is_value, "value"] *= factor
    for axes, estimator in zip(make_figure(6, table).axes, ("Sampled", "BV 0.1"), strict=True):
        rows = table[(table["estimator"] == estimator) & (table["kind"] == "curve")]
        largest = max(rows["value"].max(), table.loc[table["kind"] == "exact", "value"].max())
        low, high = axes.get_ylim()
        assert low == 0.0
        unit = 10.0 ** np.floor(np.log10(largest))
        assert largest <= high < largest + unit
        assert high / unit == pytest.approx(round(high / unit))


def test_figure_4_row_scale_fits_correction(figures):
    for row in np.reshape(figures[4].axes, (-1, 2))[1:]:
        name = texts_in(row[0])[0]
        values = TABLES[4].loc[TABLES[4]["curve"] == name, "value"]
        for axes in row:
            low, high = axes.get_ylim()
            assert low < min(values.min(), 0.0)
            assert values.max() < high
            assert values.max() - min(values.min(), 0.0) > 0.6 * (high - low), "large enough to see"
            ticks = axes.get_yticks()
            if values.min() < -0.1 * values.max():
                assert ticks[0] == -ticks[-1] < 0
            assert low < ticks[0] <= ticks[-1] < high


def test_legend_is_above_panels(figures):
    for number in (2, 4, 5):
        figure = figures[number]
        (legend,) = figure.legends
        box = legend.get_window_extent()
        assert box.y0 >= max(axes.get_tightbbox().y1 for axes in figure.axes)  # with titles
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
        assert all(axes.get_legend() is None for axes in figure.axes)


def test_figure_3_curves_differ_without_colour(figures):
    for axes in figures[3].axes:
        lines = axes.get_lines()
        looks = {(line.get_linewidth(), str(line._unscaled_dash_pattern)) for line in lines}
        assert len(looks) == len(lines) == 5
    names = {"m = 1", "m = 10", "m = 100", "m = 1,000", "exact"}
    for axes in (figures[3].axes[1], figures[3].axes[3]):
        assert names <= {*texts_in(axes)}
    for axes in figures[4].axes[::2]:
        steps = {line.get_drawstyle() for line in axes.get_lines()}
        assert steps == {"steps-mid"}, "ranks are whole"


@pytest.mark.parametrize("number", [1, 2, 3, 6, "z"])
def test_points_lie_within_axes(figures, number):
    for axes in figures[number].axes:
        (left, right), (low, high) = sorted(axes.get_xlim()), sorted(axes.get_ylim())
        x, y = np.concatenate([np.array(line).reshape(-1, 2) for line in points(axes)]).T
        shown = y[(x >= left) & (x <= right)]
        assert low <= shown.min() <= shown.max() <= high


def test_z_scores_figure_by_hand(figures):
    table, (top, below) = TABLES["z"], figures["z"].axes
    # difference over error of the random cells
    assert table["z"].tolist() == [0.03 / 0.02, -0.01 / 0.01, 5 / 2]
    assert top.patches[0].get_data().values.sum() == 3
    # of three normal ones, those expected in a bin from -1/4 to 1/4
    expected = 3 * (NormalDist().cdf(1 / 4) - NormalDist().cdf(-1 / 4))
    assert top.get_lines()[0].get_ydata().max() == pytest.approx(expected, abs=1e-4)
    assert points(below) == [[[1.5, 0], [-1, 0], [2.5, 1]]]
    labels = [tick.get_text() for tick in below.get_yticklabels()]
    assert labels == [r"Table 3: _a\$b", "Table 4: X vs Y"]


def contrast(colour):
    """Contrast with white as defined in WCAG 2."""
    channels = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 1.05 / (np.dot([0.2126, 0.7152, 0.0722], channels) + 0.05)


def visible(figure):
    """All visible texts; of the ticks, those within the limits of their axis."""
    texts = [*figure.texts]
    for axes in figure.axes:
        texts += [axes.title, axes._left_title, axes._right_title, *axes.texts]
        for axis in (axes.xaxis, axes.yaxis) if axes.axison else ():
            low, high = sorted(axis.get_view_interval())
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            texts += [axis.label, *(t.label1 for t in ticks if low <= t.get_loc() <= high)]
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def test_texts_have_size_and_contrast(figures):
    for figure in figures.values():
        assert figure.get_figwidth() == pytest.approx(8.4 / 2.54, abs=0.01), "a column of a paper"
        assert {text.get_fontsize() for text in visible(figure)} == {7}
        with matplotlib.rc_context(matplotlib.rc_params_from_file(STYLE)):
            assert min(contrast(text.get_color()) for text in visible(figure)) >= 4.5
    assert [*map(contrast, SHADES)] == sorted(map(contrast, SHADES)), "from light to dark"


def assert_no_overlap(figure):
    """No two texts overlap, and all are inside the figure."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [(t.get_text(), Text.get_window_extent(t, renderer)) for t in visible(figure)]
    for (one, a), (other, b) in combinations(boxes, 2):
        inside = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(inside) < 1, f"{one!r} and {other!r} overlap by {inside} pixels"
    width, height = figure.bbox.size
    for text, box in boxes:
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= -1, text


def test_texts_do_not_overlap(figures):
    for figure in figures.values():
        assert_no_overlap(figure)


@pytest.mark.parametrize(("number", "recommenders"), [(5, 1), (5, 9), (6, 1), (6, 12)])
def test_many_long_names_fit_figure(number, recommenders):
    few = TABLES[number]
    names = [f"Recommender-{i}-of-a$b-name-that-is-long-indeed" for i in range(recommenders)]
    tables = [few[few["recommender"] == "XYZ"[i % 3]].assign(recommender=name)
              for i, name in enumerate(names)]  # fmt: skip
    if number == 6:
        tables.append(few[few["kind"] == "ordered"].assign(recommender=" vs ".join(names[:2])))
    figure = render_figure(number, pd.concat(tables))
    assert_no_overlap(figure)
    assert min(axes.bbox.height for axes in figure.axes) > 0.3 * figure.dpi
    assert min(axes.bbox.width for axes in figure.axes) > 1.0 * figure.dpi


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The files of the figure of z-scores."""
    folder = tmp_path_factory.mktemp("figures") / "new"
    draw("z", TABLES["z"], folder / "z", NOTE)
    return contents(folder)


def test_drawn_files_have_the_note_in_their_metadata_only(saved):
    assert sorted(saved) == ["z.pdf", "z.png", "z.svg"]
    for name, form in (("z.svg", NOTE), ("z.png", NOTE), ("z.pdf", f"({NOTE})")):
        assert form.encode() in saved[name]
    assert f"{NOTE}</text>".encode() not in saved["z.svg"]


def test_drawn_files_do_not_depend_on_the_version_of_matplotlib(saved):
    assert not [name for name in saved if matplotlib.__version__.encode() in saved[name]]


def test_drawn_vectors_are_small_and_have_fonts(saved):
    """At most two decimals; one font that readers can select and search."""
    assert not re.findall(rb"<[^>]*\d\.\d{3}", saved["z.svg"])
    assert (saved["z.pdf"].count(b"/FontFile2"), saved["z.pdf"].count(b"/Type3")) == (1, 0)


def test_draw_ignores_and_keeps_user_settings(saved, tmp_path):
    with matplotlib.rc_context({"font.size": 20, "lines.linewidth": 9, "svg.hashsalt": "other"}):
        before = dict(matplotlib.rcParams)
        draw("z", TABLES["z"], tmp_path / "z", NOTE)
        assert dict(matplotlib.rcParams) == before
    assert contents(tmp_path) == saved


def test_draw_failure_keeps_old_file(tmp_path, monkeypatch):
    (tmp_path / "figure1.png").write_bytes(b"old")

    def fail(_canvas, path, **_options):
        path.write_bytes(b"half")
        raise OSError(28, "disk full")

    monkeypatch.setattr(FigureCanvasAgg, "print_png", fail)
    with pytest.raises(InputError, match="disk full"):
        draw(1, TABLES[1], tmp_path / "figure1")
    assert contents(tmp_path) == {"figure1.png": b"old"}


# Errors of estimators.


def test_errors_figure_draws_every_estimator():
    (axes,) = render_figure("errors", TABLES["errors"]).axes
    curves = {
        line.get_label().removesuffix(" (ours)"): line.get_xydata() for line in axes.get_lines()
    }
    assert list(curves) == list(TABLES["errors"]["estimator"].unique())
    for name, points in curves.items():
        rows = TABLES["errors"][TABLES["errors"]["estimator"] == name]
        assert points.tolist() == rows[["n_negatives", "value"]].to_numpy().tolist()


def test_errors_figure_of_auc_alone_is_empty():
    settings = ExperimentSettings(metrics=("auc",), estimators=("sampled",))
    table = errors_against_samples({"A": Ranks.from_ranks([3, 40], n_items=101)}, settings)
    assert table.empty
    figure = render_figure("errors", table)
    assert not figure.axes
    assert figure.texts


def test_errors_figure_of_single_size_and_zero():
    table = pd.DataFrame(
        [("Likely", 10, 0.0), ("Sampled", 10, 0.0)], columns=["estimator", "n_negatives", "value"]
    )
    assert len(render_figure("errors", table).axes) == 1
