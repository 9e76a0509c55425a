"""Figures: the curves of their tables, legible and repeatable drawings."""

from itertools import combinations, product
from pathlib import Path

import matplotlib
import matplotlib.style
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from sampled_metrics._base.errors import InputError
from sampled_metrics.study import figures as module
from sampled_metrics.study.figures import FIGURES, draw, ramp
from sampled_metrics.study.scorecard import z_scores
from tests.conftest import ROOT

METRICS = ("AUC", "AP", "NDCG", "Recall@10")
CORRECTED = ("Sampled", "Rank Estimate", "CLS", "BV 1", "BV 0.1", "BV 0.01", "BV 0.001")
NAMES = ("popularity", "_a$b", "Z", "4", "5", "6", "7", "8")
NOTE = "Ranks: made up by this test"
REFERENCE = ROOT / "results/reference"


def rendered(number, table):
    """The figure that `draw` saves."""
    style = Path(module.__file__).with_name("figures.mplstyle")
    with matplotlib.style.context(style, after_reset=True):
        figure = Figure()
        figure.supxlabel(NOTE, x=0.01, ha="left", fontsize=6.5, color="#555555")
        FIGURES[number](figure, table)
        figure.draw_without_rendering()
        return figure


def long(columns, x, xs):
    """Every combination of the columns' values with every x, and a random value in (0, 1)."""
    rows = [(*keys, at) for keys in product(*columns.values()) for at in xs]
    table = pd.DataFrame(rows, columns=[*columns, x])
    return table.assign(value=np.random.default_rng(0).random(len(table)))


def bins(panel, last, width):
    first = np.arange(1, last, width)
    frames = []
    for i, name in enumerate(NAMES):
        users = {"random": np.arange(first.size)[::-1] * (i + 1) + i}
        users |= {"pessimistic": np.arange(first.size) + 71} if name == "Z" else {}
        for ties, count in users.items():
            about = {"panel": panel, "recommender": name, "ties": ties, "first_rank": first}
            frames.append(pd.DataFrame(about | {"last_rank": first + width - 1, "users": count}))
    return pd.concat(frames)


def recall_table():
    rows = []
    for i, name in enumerate(NAMES):
        for estimator, m in product(("Sampled", "BV 0.1"), (10, 30, 100, 1200)):
            rows.append(("curve", name, estimator, m, 0.1 * (i + 1) + 0.01 * np.log(m)))
        rows.append(("exact", name, "Exact", 1500, 0.1 * (i + 1.1)))
        for m in (10, 1200):
            rows.append(("lowest", name, "BV 0.1", m, 0.1 * i + m / 24_000))
            rows.append(("highest", name, "BV 0.1", m, 0.1 * i + 0.1 + m / 24_000))
    rows += [
        ("ordered", "popularity vs _a$b", "Sampled", 967, 0.4),
        ("ordered", "popularity vs Z", "Sampled", 500, 0.3),
        ("ordered", "popularity vs _a$b", "BV 0.1", 49, 0.5),
        ("sure", "popularity vs _a$b", "BV 0.1", 130, 0.6),
    ]
    return pd.DataFrame(rows, columns=["kind", "recommender", "estimator", "n_negatives", "value"])


def corrected_table():
    sampled = long({"panel": ["sampled rank"], "curve": CORRECTED}, "rank", range(1, 21))
    true = long({"panel": ["true rank"], "curve": [*CORRECTED, "Exact"]}, "rank", range(1, 401))
    return pd.concat([sampled.assign(value=sampled["value"] - 0.5), true])


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
    1: long({"metric": METRICS}, "rank", range(1, 401)),
    2: long({"metric": METRICS, "recommender": "ABC"}, "n_negatives", [1, 20, 99, 5000, 9999]),
    3: long({"metric": METRICS, "curve": ["m = 1", "m = 1000", "Exact"]}, "rank", range(1, 51)),
    4: corrected_table(),
    5: pd.concat([bins("all", 700, 100), bins("top", 100, 10)]),
    6: recall_table(),
    "z": z_scores(CARD),
    "reversal": pd.DataFrame({"recommender": ["X", "Z"], "exact": [7.7, 9.4],
                              "sampled": [66.1, 54.2]}),
}  # fmt: skip
TABLES[1].loc[TABLES[1]["metric"] == "Recall@10", "value"] = 1.0 * (np.arange(1, 401) <= 10)


@pytest.fixture(scope="module")
def figures():
    tables = {number: table.copy() for number, table in TABLES.items()}
    drawn = {number: rendered(number, table) for number, table in tables.items()}
    for number, table in tables.items():
        pd.testing.assert_frame_equal(table, TABLES[number])  # drawing leaves it as it was
    return drawn


def assert_drawn(axes, rows, curve, x):
    """Exactly the curves of the table are drawn, at the table's own points."""
    tables = {name: part[[x, "value"]].to_numpy().tolist() for name, part in rows.groupby(curve)}
    lines = {}
    for line in axes.get_lines():
        if len(line.get_xdata()) > 2:  # more than a straight one
            (name,) = (k for k, points in tables.items() if points == line.get_xydata().tolist())
            lines[name] = line
    assert lines.keys() == tables.keys()
    return lines


def words(axes):
    return [text.get_text() for text in axes.texts]


def test_figure_1_draws_a_metric_that_jumps_as_steps(figures):
    (axes,) = figures[1].axes
    drawn = assert_drawn(axes, TABLES[1], "metric", "rank")
    assert (axes.get_xscale(), axes.get_yscale(), axes.get_xlim()) == ("log", "linear", (1, 400))
    styles = {name: line.get_drawstyle() for name, line in drawn.items()}
    assert styles == dict.fromkeys(METRICS, "default") | {"Recall@10": "steps-mid"}


def test_figure_5_outlines_by_recommender_and_by_ties(figures):
    table, axes = TABLES[5], figures[5].axes
    assert [panel.get_yscale() for panel in axes[:2]] == ["log", "linear"]
    titles = [panel.get_title("left") for panel in axes[:2]]
    assert titles == ["Users per 100 ranks", "Users per 10 ranks"]
    assert axes[0].get_ylim()[0] < 1, "a range of one user must show"
    for row, name in enumerate(NAMES):
        for panel, kind in zip(axes[2 * row : 2 * row + 2], ("all", "top"), strict=True):
            drawn = [[*map(list, patch.get_data()[:2])] for patch in panel.patches]
            assert len(drawn) == len(NAMES) + (name == "Z")
            rows = table[(table["panel"] == kind) & (table["recommender"] == name)]
            for _, points in rows.groupby("ties"):
                assert [[*points["users"]], [0.5, *(points["last_rank"] + 0.5)]] in drawn
    last = [text for panel in axes for text in words(panel) if "last" in text]
    assert last == ["ranked last: 77 users"]


def test_figure_6_marks_from_where_the_first_pair_is_ordered(figures):
    panels, table = figures[6].axes, TABLES[6]
    titles = [axes.get_title("left").split(":")[0] for axes in panels]
    assert titles == ["Uncorrected", "Corrected by BV 0.1"]
    marks = (("Sampled", 967, 0.4, ""), ("BV 0.1", 49, 0.5, "\n130 in 95 % of runs"))
    for axes, (estimator, m, value, more) in zip(panels, marks, strict=True):
        chosen = (table["kind"] == "curve") & (table["estimator"] == estimator)
        assert_drawn(axes, table[chosen], "recommender", "n_negatives")
        pair, *exact = sorted(words(axes), key=lambda text: "ordered" not in text)
        assert pair == f"popularity and _a\\$b ordered\nfrom $m$ = {m} on average{more}"
        assert {"Z 0.31", "8 0.81"} < set(exact)
        assert [[m, value]] in [line.get_xydata().tolist() for line in axes.get_lines()]
        assert (axes.get_xscale(), axes.get_xlim()) == ("log", (10, 1200))
    shaded = [band.get_paths()[0].vertices.tolist() for band in panels[1].collections]
    for corner in ([10, 0.2 + 1 / 2400], [1200, 0.25], [10, 0.3 + 1 / 2400], [1200, 0.35]):
        assert any(np.abs(np.array(shaded[2]) - corner).sum(axis=1) < 1e-9), "of Z"


def test_strip_of_z_scores_by_hand(figures):
    table, (top, below) = TABLES["z"], figures["z"].axes
    assert table["z"].tolist() == [1.5, -1.0, 2.5]
    assert sum(bar.get_height() for bar in top.patches) == 3
    assert top.get_lines()[0].get_ydata().max() == pytest.approx(0.59223, abs=1e-4)  # 3 P(|Z|<1/4)
    ticks = [line.get_xdata().tolist() for line in below.get_lines() if line.get_marker() == "|"]
    assert ticks == [[1.5, -1.0], [2.5]]
    labels = [tick.get_text() for tick in below.get_yticklabels()]
    assert labels == [r"Table 3: _a\$b", "Table 4: X vs Y"]


def test_order_by_all_items_beside_that_by_a_sample(figures):
    (axes,) = figures["reversal"].axes
    ends = [line.get_ydata().tolist() for line in axes.get_lines()]
    assert ends == [[0, 1], [1, 0]]
    assert words(axes)[:4] == ["X  7.7 %", "66.1 %  X", "Z  9.4 %", "54.2 %  Z"]


def contrast(colour):
    """Contrast with white, by WCAG 2."""
    channels = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 1.05 / (np.dot([0.2126, 0.7152, 0.0722], channels) + 0.05)


def visible(figure):
    """All texts that are drawn: of ticks, those within the limits of their axis."""
    texts = [*figure.texts]
    for axes in figure.axes:
        texts += [axes.title, axes._left_title, axes._right_title, *axes.texts]
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            texts += [axis.label, *(t.label1 for t in ticks if low <= t.get_loc() <= high)]
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def test_texts_are_legible_and_stand_out_from_white(figures):
    for figure in figures.values():
        assert figure.get_figwidth() == pytest.approx(8.5 / 2.54, abs=0.01), "a column of a paper"
        assert min(text.get_fontsize() for text in visible(figure)) >= 6.5
        assert min(contrast(text.get_color()) for text in visible(figure)) >= 4.5
    for name, number in product(("viridis", "inferno"), (1, 2, 4, 9)):
        contrasts = [contrast(colour) for colour in ramp(number, name)]
        assert contrasts == sorted(set(contrasts))
        assert contrasts[0] >= 4.5 or name == "viridis"


def assert_no_overlap(figure):
    """No text covers another, and all are on the page."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [(t.get_text(), Text.get_window_extent(t, renderer)) for t in visible(figure)]
    for (one, a), (other, b) in combinations(boxes, 2):
        inside = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(inside) < 1, f"{one!r} and {other!r} overlap by {inside} pixels"
    width, height = figure.bbox.size
    for text, box in boxes:
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) >= -1, text


@pytest.mark.parametrize("number", range(1, 7))
def test_no_text_covers_another(number):
    assert_no_overlap(rendered(number, pd.read_csv(REFERENCE / f"figures/figure{number}.csv")))


@pytest.mark.parametrize(("number", "recommenders"), [(5, 9), (6, 1), (6, 12)])
def test_many_recommenders_of_long_names_stay_on_the_page(number, recommenders):
    few = TABLES[number]
    names = [f"Recommender-{i}-of-a-name-that-is-long-indeed" for i in range(recommenders)]
    tables = [few[few["recommender"] == NAMES[i % 8]].assign(recommender=name)
              for i, name in enumerate(names)]  # fmt: skip
    if number == 6:
        pair = few[few["kind"] == "ordered"].iloc[:1]
        tables.append(pair.assign(recommender=" vs ".join(names[:2])))
    figure = rendered(number, pd.concat(tables))
    assert_no_overlap(figure)
    assert min(axes.bbox.height for axes in figure.axes) > 0.3 * figure.dpi
    assert min(axes.bbox.width for axes in figure.axes) > 1.0 * figure.dpi


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_files_whatever_the_users_settings_are(tmp_path):
    draw("z", TABLES["z"], tmp_path / "new" / "z", NOTE)
    saved = contents(tmp_path / "new")
    assert sorted(saved) == ["z.pdf", "z.png", "z.svg"]
    assert not [name for name in saved if matplotlib.__version__.encode() in saved[name]]
    assert b"<text" not in saved["z.svg"], "text as paths"
    with matplotlib.rc_context({"font.size": 20, "lines.linewidth": 9, "svg.hashsalt": "other"}):
        before = dict(matplotlib.rcParams)
        draw("z", TABLES["z"], tmp_path / "again" / "z", NOTE)
        assert dict(matplotlib.rcParams) == before
    assert contents(tmp_path / "again") == saved


def test_a_failure_leaves_no_half_figure(tmp_path, monkeypatch):
    before = {f"figure1.{kind}": b"old" for kind in ("svg", "pdf", "png")}
    for name, content in before.items():
        (tmp_path / name).write_bytes(content)

    print_png = FigureCanvasAgg.print_png

    def fail(canvas, path, **options):
        if not isinstance(path, Path):  # a buffer, to measure text
            return print_png(canvas, path, **options)
        path.write_bytes(b"half")
        raise OSError(28, "disk full")

    monkeypatch.setattr(FigureCanvasAgg, "print_png", fail)
    with pytest.raises(InputError, match="disk full"):
        draw(1, TABLES[1], tmp_path / "figure1")
    assert contents(tmp_path) == before
