import os
import subprocess
import sys
from itertools import combinations, product
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb

from sampled_metrics.report.figures import render, save
from sampled_metrics.report.figures.axes import crossings
from sampled_metrics.report.figures.labels import spread_heights
from sampled_metrics.report.figures.style import ramp
from sampled_metrics.report.scorecard import z_scores
from tests.conftest import ROOT

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
                "ties": ties,
                "first_rank": first,
                "last_rank": first + width - 1,
                "users": users,
            }
        )
        for i, name in enumerate(NAMES)
        for ties, users in (
            ("random", np.arange(first.size)[::-1] * (i + 1) + i),
            ("pessimistic", np.arange(first.size) + 71),
        )
        if ties == "random" or name == "Z"
    ]
    return pd.concat(frames)


def recall_table():
    columns = ["kind", "recommender", "estimator", "n_negatives", "value"]
    m = np.array([10, 30, 100, 1200])
    rows = [
        ("curve", name, estimator, at, value)
        for i, name in enumerate(NAMES)
        for estimator in ("Sampled", "BV 0.1")
        for at, value in zip(m, 0.1 * (i + 1) + 0.01 * np.log(m), strict=True)
    ]
    rows += [
        ("ordered", "popularity vs _a$b", "Sampled", 967, 0.4),
        ("ordered", "popularity vs Z", "Sampled", 500, 0.3),
        ("ordered", "popularity vs _a$b", "BV 0.1", 49, 0.5),
        ("sure", "popularity vs _a$b", "BV 0.1", 130, 0.6),
        ("lowest", "Z", "BV 0.1", 10, 0.3),
        ("lowest", "Z", "BV 0.1", 1200, 0.35),
        ("highest", "Z", "BV 0.1", 10, 0.4),
        ("highest", "Z", "BV 0.1", 1200, 0.45),
        ("exact", "Z", "Exact", 1500, 0.31),
        ("exact", "8", "Exact", 1500, 0.72),
    ]
    return pd.DataFrame(rows, columns=columns)


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
    """Lines through more than the two points of a straight one."""
    return [line for line in axes.get_lines() if len(line.get_xdata()) > 2]


def drawn_through(axes, x, y):
    """The line through these points, which must be one."""
    found = [line for line in curves(axes) if line.get_xydata().tolist() == np.c_[x, y].tolist()]
    assert len(found) == 1
    return found[0]


def assert_drawn(axes, rows, curve, x):
    """Exactly the curves of the table are drawn, at the table's own points."""
    by_name = list(rows.groupby(curve))
    assert len(curves(axes)) == len(by_name)
    return {name: drawn_through(axes, points[x], points["value"]) for name, points in by_name}


def spelled(name):
    return {"_a$b": r" _a\$b"}.get(name, name)


def title(axes):
    return axes.get_title("left")


def scales(axes):
    return axes.get_xscale(), axes.get_yscale()


def words(axes):
    return [text.get_text() for text in axes.texts]


def test_figure_1_has_one_panel_on_a_logarithmic_rank(figures):
    (axes,) = figures[1].axes
    assert_drawn(axes, TABLES[1], "metric", "rank")
    assert (scales(axes), axes.get_xlim()) == (("log", "linear"), (1, 400))
    assert sorted(words(axes)) == sorted(METRICS)


def test_a_metric_that_jumps_is_drawn_as_steps():
    recall = pd.DataFrame({"metric": "Recall@10", "rank": range(1, 21), "value": 1.0})
    recall.loc[recall["rank"] > 10, "value"] = 0.0
    ap = pd.DataFrame({"metric": "AP", "rank": range(1, 21), "value": 1 / np.arange(1, 21)})
    drawn = assert_drawn(
        render(1, pd.concat([recall, ap])).axes[0], pd.concat([recall, ap]), "metric", "rank"
    )
    assert drawn["Recall@10"].get_drawstyle() == "steps-mid"
    assert drawn["AP"].get_drawstyle() == "default"


@pytest.mark.parametrize(
    ("number", "curve", "x", "last"),
    [(2, "recommender", "n_negatives", 10_000), (3, "curve", "rank", 50)],
)
def test_figures_2_and_3_a_panel_for_each_metric(figures, number, curve, x, last):
    table, panels = TABLES[number], figures[number].axes
    assert [title(axes) for axes in panels] == list(METRICS)
    for axes, metric in zip(panels, METRICS, strict=True):
        assert_drawn(axes, table[table["metric"] == metric], curve, x)
        assert scales(axes) == ("log", "linear")
        assert axes.get_xlim() == (1, last)
    assert "$n$ = 10,000" in words(panels[0])


def test_figure_2_marks_where_the_order_changes():
    # A falls from 1 to 0 and B rises from 0 to 1 on a logarithmic axis: they cross at m = 10
    m = np.array([1, 100])
    frames = [
        pd.DataFrame({"metric": metric, "recommender": name, "n_negatives": m, "value": value})
        for metric in METRICS
        for name, value in (("A", [1.0, 0.0]), ("B", [0.0, 1.0]))
    ]
    for axes in render(2, pd.concat(frames)).axes:
        (ring,) = (line for line in axes.get_lines() if line.get_marker() == "o")
        np.testing.assert_allclose(ring.get_xydata(), [[10, 0.5]])
        letters = sorted(
            (x, -y, text.get_text())
            for text in axes.texts
            for x, y in [text.get_position()]
            if y > 1
        )
        assert [letter for *_, letter in letters] == ["A", "B", "B", "A"], "best first, both sides"


def test_figure_2_marks_the_sample_size_of_table_2(figures):
    for axes in figures[2].axes:
        assert [99, 99] in [list(line.get_xdata()) for line in axes.get_lines()]
    assert [[text for text in words(axes) if "99" in text] for axes in figures[2].axes] == [
        [],
        ["Table 2:\n$m$ = 99"],
        [],
        [],
    ]


@pytest.mark.parametrize(
    ("a", "b", "points"),
    [
        ([0, 4], [2, 2], [(1, 2)]),
        ([2, 2], [0, 4], [(1, 2)]),
        ([0, 1], [2, 2], []),
        ([0, 2, 2, 4], [1, 2, 2, 1], [(1.5, 2)]),  # equal from 1 to 2
        ([0, 2, 0], [1, 2, 1], []),  # they touch
        ([0, 2, 0], [1, 1, 1], [(0.5, 1), (1.5, 1)]),
    ],
)
def test_crossings_by_hand(a, b, points):
    x = np.arange(len(a), dtype=float) * (2 if len(a) == 2 else 1)
    assert list(crossings(x, np.array(a, float), np.array(b, float))) == points


def test_figure_3_names_sizes_once_where_curves_coincide():
    rank = np.arange(1, 30)
    value = {"m = 1": 0.9, "m = 10": 0.9, "m = 1000": 0.5, "Exact": 0.1}
    frames = [
        pd.DataFrame({"metric": metric, "curve": name, "rank": rank, "value": at - rank / 300})
        for metric in METRICS
        for name, at in value.items()
    ]
    for axes in render(3, pd.concat(frames)).axes:
        named = {text for text in words(axes) if text != "$n$ = 10,000"}
        assert named == {"$m$ = 1, 10", "1,000", "exact"}
    alike = [frame.assign(value=0.4) for frame in frames]
    for axes in render(3, pd.concat(alike)).axes:
        assert "every $m$, exact" in words(axes)


def test_figure_3_draws_the_exact_metric_below_the_others(figures):
    drawn = assert_drawn(
        figures[3].axes[1], TABLES[3][TABLES[3]["metric"] == "AP"], "curve", "rank"
    )
    exact = drawn.pop("Exact")
    assert exact.get_zorder() < min(line.get_zorder() for line in drawn.values())


def test_figure_4_each_correction_beside_the_uncorrected_metric(figures):
    table, axes = TABLES[4], figures[4].axes
    for row, name in enumerate(CORRECTED[1:]):
        left, right = axes[2 * row : 2 * row + 2]
        among = table[table["curve"].isin([name, "Sampled", "Exact"])]
        assert_drawn(left, among[among["panel"] == "sampled rank"], "curve", "rank")
        assert_drawn(right, among[among["panel"] == "true rank"], "curve", "rank")
        assert {line.get_marker() for line in curves(left)} == {"."}
        low, high = right.get_ylim()
        assert low < -0.5, "what oscillates must show"
        assert high > 1, "rank 1 must show"
        assert name in words(left)


def test_figure_5_outlines_by_recommender_and_by_ties(figures):
    table, axes = TABLES[5], figures[5].axes
    assert [scales(each) for each in axes[:2]] == [("linear", "log"), ("linear", "linear")]
    assert [title(each) for each in axes[:2]] == ["Users per 100 ranks", "Users per 10 ranks"]
    assert axes[0].get_ylim()[0] < 1, "a range of one user must show"
    for row, name in enumerate(NAMES):
        for each, panel in zip(axes[2 * row : 2 * row + 2], ("all", "top"), strict=True):
            assert len(curves(each)) == len(NAMES) + (name == "Z")
            rows = table[(table["panel"] == panel) & (table["recommender"] == name)]
            for _, points in rows.groupby("ties"):
                edges = [0.5, *(points["last_rank"] + 0.5)]
                drawn_through(each, edges, [*points["users"], points["users"].iloc[-1]])
    assert [text for each in axes for text in words(each) if "last" in text] == [
        "ties ranked last: 77 users"
    ]


def test_figure_6_marks_from_where_the_first_pair_is_ordered(figures):
    panels, table = figures[6].axes, TABLES[6]
    assert [title(axes) for axes in panels] == [
        "Uncorrected: 0 to 0.9 %",
        "Corrected by BV 0.1: 0 to 0.9 %",
    ]
    sure = "\n130 in 95 % of runs"
    marks = (("Sampled", 967, 0.4, ""), ("BV 0.1", 49, 0.5, sure))
    for axes, (estimator, m, value, more) in zip(panels, marks, strict=True):
        chosen = (table["kind"] == "curve") & (table["estimator"] == estimator)
        assert_drawn(axes, table[chosen], "recommender", "n_negatives")
        assert [text for text in words(axes) if "ordered" in text] == [
            f"popularity and  _a\\$b ordered from\n$m$ = {m} on average{more}"
        ]
        points = [line.get_xydata().tolist() for line in axes.get_lines()]
        assert [[m, value]] in points
        assert (scales(axes), axes.get_xlim()) == (("log", "linear"), (10, 1200))


def test_figure_6_names_few_curves_beside_them_and_writes_the_exact_values():
    table = TABLES[6][TABLES[6]["recommender"].isin(["Z", "8"])]
    for axes in render(6, table).axes:
        assert sorted(words(axes)) == ["0.31", "0.72", "8", "Z", "exact"]
        ends = [list(line.get_ydata()) for line in axes.get_lines()]
        assert [0.31, 0.31] in ends
        assert [0.72, 0.72] in ends


def test_figure_6_shades_the_band(figures):
    paths = [
        path for axes in figures[6].axes for band in axes.collections for path in band.get_paths()
    ]
    (band,) = (path.vertices.tolist() for path in paths if len(path.vertices))
    corners = [[10, 0.3], [1200, 0.35], [10, 0.4], [1200, 0.45]]
    assert all(corner in band for corner in corners)


def test_figure_6_without_an_ordering_size_has_no_mark():
    table = TABLES[6][TABLES[6]["kind"] == "curve"]
    for axes in render(6, table).axes:
        assert words(axes) == [spelled(name) for name in NAMES]
        assert len(axes.get_lines()) == len(NAMES)


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


def test_z_scores_by_hand():
    table = z_scores(CARD)
    assert table["z"].tolist() == [1.5, -1.0, 2.5]
    assert table["row"].tolist() == ["_a$b", "_a$b", "X vs Y"]


def test_strip_of_z_scores():
    figure = render("z", z_scores(CARD))
    top, below = figure.axes
    assert top.patches[0].get_data().values.sum() == 3
    normal = next(line for line in top.get_lines() if len(line.get_xdata()) > 2)
    assert normal.get_ydata().max() == pytest.approx(3 * 0.19741, abs=1e-4)  # P(|Z| < 0.25)
    ticks = [line.get_xdata().tolist() for line in below.get_lines() if line.get_marker() == "|"]
    assert ticks == [[1.5, -1.0], [2.5]]
    assert [tick.get_text() for tick in below.get_yticklabels()] == [
        r"Table 3:  _a\$b",
        "Table 4: X vs Y",
    ]
    assert_no_overlap(figure)
    assert min(map(contrast, drawn_colours(figure))) >= 4.5


def test_note_at_the_foot_or_nothing(figures):
    for figure in figures.values():
        assert figure.get_supxlabel() == NOTE
    assert render(1, TABLES[1]).get_supxlabel() == ""


def texts_of(figure):
    """All texts that are drawn: of ticks, those within the limits of their axis."""
    yield from figure.texts
    for axes in figure.axes:
        yield from (axes.title, axes._left_title, axes._right_title, *axes.texts)
        for axis in (axes.xaxis, axes.yaxis):
            yield axis.label
            low, high = sorted(axis.get_view_interval())
            ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
            yield from (tick.label1 for tick in ticks if low <= tick.get_loc() <= high)


def visible(figure):
    return [text for text in texts_of(figure) if text.get_visible() and text.get_text().strip()]


def contrast(colour):
    """Contrast with white, by WCAG 2."""
    channels = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return 1.05 / (np.dot([0.2126, 0.7152, 0.0722], channels) + 0.05)


def drawn_colours(figure):
    for axes in figure.axes:
        yield from (line.get_color() for line in axes.get_lines())
    yield from (text.get_color() for text in visible(figure))


def test_contrast_by_hand():
    assert contrast("white") == pytest.approx(1)
    assert contrast("black") == pytest.approx(21)
    assert contrast("#777777") == pytest.approx(4.48, abs=0.01)


def test_lines_and_texts_stand_out_from_white(figures):
    for figure in figures.values():
        assert min(map(contrast, drawn_colours(figure))) >= 4.5


@pytest.mark.parametrize("name", ["viridis", "inferno"])
@pytest.mark.parametrize("number", [1, 2, 4, 9])
def test_ordered_quantities_grow_darker(name, number):
    contrasts = [contrast(colour) for colour in ramp(number, name)]
    assert contrasts == sorted(contrasts)
    assert len(set(contrasts)) == number
    assert contrasts[0] >= 4.5


def test_text_is_legible_in_a_column_of_a_paper(figures):
    for figure in figures.values():
        assert figure.get_size_inches()[0] == pytest.approx(8.5 / 2.54)
        assert min(text.get_fontsize() for text in visible(figure)) >= 6.5


def assert_no_overlap(figure):
    """No text covers another, and all are on the page."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [(text.get_text(), text.get_window_extent(renderer)) for text in visible(figure)]
    for (one, a), (other, b) in combinations(boxes, 2):
        inside = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(inside) < 1, f"{one!r} and {other!r} overlap by {inside} pixels"
    width, height = figure.bbox.size
    for text, box in boxes:
        assert box.x0 >= -1, text
        assert box.y0 >= -1, text
        assert box.x1 <= width + 1, text
        assert box.y1 <= height + 1, text


@pytest.mark.parametrize("number", range(1, 7))
def test_no_text_covers_another(number):
    table = pd.read_csv(ROOT / f"results/reference/figures/figure{number}.csv")
    assert_no_overlap(render(number, table, NOTE))


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
    left, right = figure.axes[-2:]
    assert left.get_xticks().tolist() == [1, 20, 40]
    assert right.get_xticks().tolist() == [1, 5, 10]
    assert [title(axes) for axes in figure.axes[:2]] == ["Users per rank"] * 2
    # the steps of the first and the last rank are as broad as the others
    assert [axes.get_xlim() for axes in (left, right)] == [(0.5, 42.5), (0.5, 10.5)]


def test_sizes_within_one_power_of_ten_have_ticks():
    rows = TABLES[6][(TABLES[6]["kind"] == "curve") & (TABLES[6]["recommender"] == NAMES[0])]
    for last, ticks in ((40, [10, 20]), (60, [10, 20, 50]), (600, [10, 100])):
        sizes = np.tile(np.linspace(10, last, len(rows) // 2).round(), 2)
        figure = render(6, rows.assign(n_negatives=sizes))
        shown = [tick for tick in figure.axes[0].get_xticks() if 10 <= tick <= last]
        assert shown == ticks


@pytest.mark.parametrize(("number", "recommenders"), [(5, 12), (6, 1), (6, 12)])
def test_many_recommenders_of_long_names_stay_on_the_page(number, recommenders):
    names = [f"Recommender-{i}-of-a-name-that-is-long-indeed" for i in range(recommenders)]
    few = TABLES[number]
    tables = [
        few[few["recommender"] == NAMES[i % len(NAMES)]].assign(recommender=name)
        for i, name in enumerate(names)
    ]
    if number == 6:
        pair = " vs ".join(names[:2])
        tables.append(few[few["kind"] == "ordered"].iloc[:1].assign(recommender=pair))
    figure = render(number, pd.concat(tables), NOTE)
    assert_no_overlap(figure)
    assert min(axes.bbox.height for axes in figure.axes) > 0.3 * figure.dpi
    assert min(axes.bbox.width for axes in figure.axes) > 1.0 * figure.dpi


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


def test_labels_are_spread_in_order():
    heights, sizes = np.array([0.9, 0.95, 0.2, 1.0, 0.0]), np.full(5, 0.1)
    placed = spread_heights(heights, sizes, 0.0, 1.0)
    assert np.argsort(placed).tolist() == np.argsort(heights).tolist()
    assert np.diff(np.sort(placed)).min() >= 0.1 - 1e-12
    assert 0.0 <= min(placed) <= max(placed) <= 1.0
    apart = np.array([0.6, 0.3])
    assert spread_heights(apart, sizes[:2]) == pytest.approx(apart)
