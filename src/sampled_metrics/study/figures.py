"""The figures of the paper and of the study as files; those of recommenders on a dataset."""

import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.special import ndtr

from sampled_metrics import evaluation
from sampled_metrics._base.files import replacing, write_table
from sampled_metrics.study.cells import EXACT, SAMPLED
from sampled_metrics.study.drawing import (
    DOTTED,
    GREY,
    INK,
    LIGHT,
    curves,
    linear_axis,
    log_axis,
    looks,
    name_ends,
    panels,
    shown,
    write,
)
from sampled_metrics.study.figures_of_metrics import (
    corrected_ap,
    metric_against_rank,
    sampled_against_rank,
    toys_against_samples,
)
from sampled_metrics.study.printed import groups

logging.getLogger("fontTools").setLevel(logging.WARNING)  # or it lists the tables of each font
STYLE = Path(evaluation.__file__).with_name("plots.mplstyle")
BACKGROUND: dict[str, Any] = {"color": LIGHT, "linewidth": 0.5}
LAST: dict[str, Any] = {**DOTTED, "linewidth": 0.9, "zorder": 3}
OWN: dict[Any, dict[str, Any]] = {  # by order of ties
    "random": {"linewidth": 1.2, "zorder": 2},
    "pessimistic": LAST,
}
LETTER = 0.062  # inches, wide enough for most
RING: dict[str, Any] = {
    "color": INK,
    "linestyle": "",
    "marker": "o",
    "fillstyle": "none",
    "markersize": 5,
    "zorder": 4,
}
LEAST_ERROR = 0.1  # that is drawn, in percent
MOST_PAIRS = 6  # that Figure 6 lists in words
# Metadata: without the day and the version of matplotlib, so that the same table gives the same
# bytes, and with what is noted.
_FORMS = {
    "png": (FigureCanvasAgg, 300, ["Software"], "Description"),
    "svg": (FigureCanvasSVG, 72, ["Date", "Creator"], "Description"),
    "pdf": (FigureCanvasPdf, 72, ["CreationDate", "Creator", "Producer"], "Subject"),
}


def write_figure(number: int | str, table: pd.DataFrame, folder: Path, note: str = "") -> None:
    """Write the table of a figure as CSV, and draw it."""
    name = number
    if isinstance(number, int):
        name = f"figure{number}"
    stem = folder / str(name)
    write_table(table, stem.with_suffix(".csv"), "%.10g")
    draw(number, table, stem, note)


def draw(number: int | str, table: pd.DataFrame, stem: Path, note: str = "") -> None:
    """Draw a figure of its table as `stem`.svg, .pdf and .png, with a note in their metadata."""
    with matplotlib.rc_context(matplotlib.rc_params_from_file(STYLE)):
        figure = Figure()
        FIGURES[number](figure, table)
        for kind, (canvas, dpi, left_out, noted) in _FORMS.items():
            with replacing(stem.with_name(f"{stem.name}.{kind}")) as path:
                figure.dpi = dpi
                # `savefig` draws twice.
                save = getattr(canvas(figure), f"print_{kind}")
                save(path, metadata={**dict.fromkeys(left_out), noted: note or None})
                if kind == "svg":
                    path.write_text(compact(path.read_text("utf-8")), "utf-8")


def compact(svg: str) -> str:
    r"""Leave out superfluous parts of a drawing: third decimals, spaces, names of groups.

    Examples
    --------
    >>> compact('<g id="line2d_1">\n  <path d="M 1.125 2 \nL 3 4 \n" style="fill: none"/>1.125')
    '<g>\n<path d="M1.12 2L3 4" style="fill:none"/>1.125'
    """
    svg = re.sub(r'<g id="[a-z0-9_.]+">', "<g>", svg)
    svg = re.sub(r"<[^>]+>", lambda tag: re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0]), svg)
    svg = re.sub(r' d="[^"]*', lambda path: re.sub(r"\s*([A-Z]|$)\s*", r"\1", path[0]), svg)
    svg = re.sub(r'style="[^"]*', lambda style: re.sub("([:;]) ", r"\1", style[0]), svg)
    return re.sub(r"\s*\n\s*", "\n", svg)


def rank_distribution(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 5: users by predicted rank, over all ranks and over the top ones.

    One row per recommender, with the rest in grey behind it. Ties are in random order; a dotted
    line shows them ranked last, where this differs. Bins may differ by one rank, so users are
    scaled to the widest.
    """
    names = table["recommender"].unique()
    width = 1 + table["last_rank"] - table["first_rank"]
    widest = width.groupby(table["panel"]).transform("max")
    table = table.assign(width=width, height=table["users"] * widest / width)
    grid = panels(
        figure,
        len(names),
        2,
        0.68,
        top=0.36,
        below=0.14,
        beside=0.32,
        width_ratios=(5, 4),
        sharex="col",
        sharey="col",
    )
    for column, (_, rows) in zip(grid.T, groups(table, "panel"), strict=True):
        for i, name in enumerate(names):
            _outlines(column[i], rows, name, f"C{i % 8}")
        last = rows["last_rank"].max()
        linear_axis(column[0], last)
        most = rows["width"].max()
        half = 0.5 * (most < 10)  # so that half a rank is visible at either end
        column[0].set_xlim(1 - half, last + half)
        column[-1].set_xlabel("Predicted rank")
        column[0].set_title("Users per rank" if most == 1 else f"Users per {most} ranks")
    log_axis(grid[0, 0].yaxis, 0.8, 4 * table["users"].max())
    grid[0, 1].set_ylim(0, None)
    ranked_last = table[table["ties"] == "pessimistic"]
    last_bins = ranked_last[ranked_last["panel"] == "all"].groupby("recommender").tail(1)
    for i, name in enumerate(names):
        style = {"color": f"C{i % 8}", "ha": "right"}
        write(grid[i, 1], 0.93, 0.99, shown(name, 16), **style)
        for worst in last_bins[last_bins["recommender"] == name].itertuples():
            words = f"{worst.users:,.0f} in the last {worst.width}\nif ties rank last"
            write(grid[i, 0], 0.86, 0.99, words, **style)  # beside the last ranks
    handles = []
    if len(names) > 1:
        handles.append(Line2D([], [], label="other recommenders", **BACKGROUND))
    if len(ranked_last):
        handles.append(Line2D([], [], label="ties ranked last", color=GREY, **LAST))
    figure.legend(handles=handles, loc="upper right", ncols=2, columnspacing=1)


def _outlines(axes: Axes, rows: pd.DataFrame, name: str, color: str) -> None:
    """Draw the bins of a recommender in front of all bins."""
    is_own = rows["recommender"] == name
    kept = rows[is_own | (rows["ties"] == "random")]
    for (other, ties), points in kept.groupby(["recommender", "ties"]):
        style = BACKGROUND
        if other == name:
            style = OWN[ties] | {"color": color}
        edges = np.append(points["first_rank"], rows["last_rank"].max() + 1) - 0.5
        axes.stairs(points["height"], edges, baseline=None, **style)


def recall_against_samples(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 6: expected Recall@10 against m, and the m from which on pairs are in the right order.

    Dotted lines and the numbers at their ends are exact values; the band of a recommender is the
    range over its random starts.
    """
    parts = dict(groups(table, "estimator"))
    exact = parts.pop(EXACT).set_index("recommender")["value"].to_dict()
    ends = [f"{shown(name, 12)} {value:.2f}" for name, value in exact.items()]
    right = 0.2 + LETTER * max(map(len, ends))
    ylabel = "Expected Recall@10 (%)"
    grid = panels(figure, len(parts), 1, 1.45, right=right, ylabel=ylabel, sharex=True)[:, 0]
    for axes, (estimator, rows) in zip(grid, parts.items(), strict=True):
        _expected_recall(axes, rows, exact, ends)
        first = rows["n_negatives"].min()
        rings = rows[(rows["kind"] == "ordered") & (rows["n_negatives"] > first)]
        axes.plot(rings["n_negatives"], rings["value"], **RING)
        words = _words_of_orders(rows, first)
        if estimator == SAMPLED:  # whose curves fall
            write(axes, 0.99, 0.97, words, ha="right")
            axes.set_title("Uncorrected")
        else:
            write(axes, 0.99, 0.03, words, ha="right", va="bottom")
            axes.set_title(f"Corrected by {estimator}")
    grid[-1].set_xlabel("Negatives m")


def errors_against_samples(figure: Figure, table: pd.DataFrame) -> None:
    """Beside Figure 6: relative errors of all estimators against m, the number to quote thick."""
    if not len(table):
        figure.text(0.02, 0.5, "No metric above 0 but AUC.")
        return
    names = table["estimator"].unique()
    styles = [{"color": INK, "linewidth": 1.8}, *looks(len(names) - 1)]
    ((axes,),) = panels(figure, 1, 1, 2, right=0.85, ylabel="Relative error (%)")
    table = table.assign(value=table["value"].clip(lower=LEAST_ERROR))
    curves(axes, table, "estimator", "n_negatives", styles, clip_on=False)
    first = table["n_negatives"].min()
    log_axis(axes.xaxis, first, max(table["n_negatives"].max(), 2 * first))
    log_axis(axes.yaxis, 0.8 * table["value"].min(), 1.25 * table["value"].max())
    axes.set_xlabel("Negatives m")
    name_ends(axes.get_lines())


def _expected_recall(
    axes: Axes, rows: pd.DataFrame, exact: dict[Any, float], ends: Sequence[str]
) -> None:
    """Draw curves of recommenders by one estimator, and their exact values with texts `ends`."""
    styles = looks(len(exact))
    drawn = rows[rows["kind"] == "curve"]
    curves(axes, drawn, "recommender", "n_negatives", styles, marker=".", clip_on=False)
    log_axis(axes.xaxis, *drawn["n_negatives"].agg(["min", "max"]))
    largest = max(drawn["value"].max(), *exact.values())
    unit = 10.0 ** np.floor(np.log10(largest))
    axes.set_ylim(0, unit * np.ceil(largest / unit))
    bands = rows[rows["kind"].isin(["lowest", "highest"])].pivot(
        index="n_negatives", columns=["recommender", "kind"], values="value"
    )
    dotted = []
    for (name, value), end, style in zip(exact.items(), ends, styles, strict=True):
        color = style["color"]
        dotted.append(axes.axhline(value, color=color, label=end, **DOTTED))
        if name in bands:
            low = bands[name, "lowest"]
            axes.fill_between(
                low.index, low, bands[name, "highest"], color=color, alpha=0.3, linewidth=0
            )
    name_ends(dotted, head="exact:")


def _words_of_orders(rows: pd.DataFrame, first: int) -> str:
    """Say from which m on pairs are in the right order on average."""
    ordered = rows[rows["kind"] == "ordered"].sort_values("n_negatives")
    sure = rows[rows["kind"] == "sure"].set_index("recommender")["n_negatives"]
    if len(ordered) > MOST_PAIRS:
        return "ring: from there on a pair\nis in the right order"
    lines = ["Right order on average:"] * (len(ordered) > 0)
    for pair, m in zip(ordered["recommender"], ordered["n_negatives"], strict=True):
        words = "at every m"
        if m > first:
            words = f"from m = {m:,}"
        space = "\n" if len(pair) > 14 else " "
        lines.append(f"{shown(pair, 28)}:{space}{words}")
        if pair in sure:
            lines.append(f"(95 % of runs: {sure[pair]:,})")
    return "\n".join(lines)


# The published numbers beside ours.


def z_scores(figure: Figure, table: pd.DataFrame) -> None:
    """All z-scores as a histogram beside the standard normal, and below it by table and row."""
    if not len(table):
        figure.text(0.02, 0.5, "No random cell is comparable with the paper's.")
        return
    z = table["z"]
    places, rows = pd.factorize(pd.MultiIndex.from_frame(table[["table", "row"]]))
    names = [f"Table {number}: {shown(name, 24)}" for number, name in rows]
    left = 0.15 + 0.058 * max(map(len, names))
    top, below = panels(figure, 2, 1, 1.3, left=left, below=0.14, sharex=True)[:, 0]
    reach = max(4.0, 0.5 * np.ceil(2 * z.abs().max()))
    at = np.linspace(-reach, reach, 161)
    expected = len(table) * (ndtr(at + 0.25) - ndtr(at - 0.25))
    edges = np.arange(-reach, reach + 0.25, 0.5)
    counts, _ = np.histogram(z, edges)
    most = max(counts.max(), expected.max())
    top.stairs(counts, edges, fill=True, color="C0", alpha=0.5)
    top.plot(at, expected, color=INK)
    write(top, 0.02, 0.98, f"mean {z.mean():.2f},\nsd {z.std():.2f}\n(curve: 0, 1)")
    top.set(ylabel=f"Cells, of {len(table)}", ylim=(0, 1.15 * most))
    below.plot(z, places, "|", color="C0", markersize=6)
    below.set(xlim=(-reach, reach), ylim=(len(names) - 0.4, -0.6))
    below.set_xlabel("ours minus published, in standard errors")
    below.set_yticks(range(len(names)), names)
    below.tick_params(axis="y", length=0)


FIGURES: dict[int | str, Callable[[Figure, pd.DataFrame], None]] = {
    1: metric_against_rank,
    2: toys_against_samples,
    3: sampled_against_rank,
    4: corrected_ap,
    5: rank_distribution,
    6: recall_against_samples,
    "errors": errors_against_samples,
    "z": z_scores,
}
