"""The figures of the paper and of the study, each drawn from its table by one function."""

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sampled_metrics import inference
from sampled_metrics._base.files import replacing
from sampled_metrics.study.drawing import (
    BACKGROUND,
    DASHES,
    DOTTED,
    GREY,
    INK,
    LIGHT,
    curve,
    linear_axis,
    log_axis,
    name_ends,
    panels,
    shown,
    style_of,
    write,
)
from sampled_metrics.study.printed import groups
from sampled_metrics.study.tables import EXACT, SAMPLED

logging.getLogger("fontTools").setLevel(logging.WARNING)  # or it lists the tables of each font
STYLE = Path(inference.__file__).with_name("plots.mplstyle")
TOYS = {"A": "#8a1538", "B": "#006d77", "C": "#7a5c00"}
SIZES = ("#0f7d6c", "#1f5fa8", "#6a3fb0", "#8f1560")  # of samples, from few to many
MOST_PAIRS = 6  # that Figure 6 lists in words
BAND = ("lowest", "highest")  # kinds of rows of Figure 6
# Without the day and the version of matplotlib, so that the same table gives the same bytes.
_FORMS: dict[str, tuple[type[FigureCanvasBase], int, dict[str, None]]] = {
    "png": (FigureCanvasAgg, 300, {"Software": None}),
    "svg": (FigureCanvasSVG, 72, {"Date": None, "Creator": None}),
    "pdf": (FigureCanvasPdf, 72, {"CreationDate": None, "Creator": None, "Producer": None}),
}


def draw(number: int | str, table: pd.DataFrame, stem: Path, note: str = "") -> None:
    """Draw a figure of its table as `stem`.svg, .pdf and .png, with a note at the foot."""
    with matplotlib.rc_context(matplotlib.rc_params_from_file(STYLE)):
        figure = Figure()
        if note:
            figure.text(0.02, 0.04, note, color=GREY)
        FIGURES[number](figure, table)
        for kind, (canvas, dpi, metadata) in _FORMS.items():
            with replacing(stem.with_name(f"{stem.name}.{kind}")) as path:
                figure.dpi = dpi
                # `savefig` draws twice.
                getattr(canvas(figure), f"print_{kind}")(path, metadata=metadata)
                if kind == "svg":
                    path.write_text(compact(path.read_text("utf-8")), "utf-8")


def compact(svg: str) -> str:
    r"""Leave out what a drawing does not need: third decimals, spaces, names of groups.

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


# Figures 1 to 4: the effect of sampling and of corrections on a metric, without a dataset.


def metric_against_rank(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 1: the metrics at all ranks, of which all but AUC vanish, and at the first 100."""
    space = {"height": 1.6, "right": 0.62, "between": (0, 0.3), "ylabel": "Metric"}
    grid = panels(figure, 1, 2, space, sharey=True)[0]
    last = table["rank"].max()
    for axes, end in zip(grid, (last, min(100, last)), strict=True):
        rows = table[table["rank"] <= end]
        ends = []
        for (metric, points), dashes in zip(groups(rows, "metric"), DASHES, strict=True):
            curve(axes, points["rank"], points["value"], color=INK, linestyle=dashes)
            ends.append((metric, end, points["value"].iloc[-1], INK))
        axes.set(xlabel="Rank", ylim=(-0.03, 1.04))
        linear_axis(axes, end)
    name_ends(grid[1], ends)
    grid[0].set_title("All ranks")
    grid[1].set_title(f"First {end:,}")


def _by_metric(
    figure: Figure, table: pd.DataFrame, xlabel: str
) -> Iterator[tuple[Axes, pd.DataFrame]]:
    """Yield one panel per metric with its rows; the legend is above all."""
    space = {
        "height": 1,
        "top": 0.36,
        "between": (0.28, 0.32),
        "ylabel": "Expected sampled metric",
    }
    grid = panels(figure, 2, 2, space, sharex=True, sharey=True)
    for axes, (metric, rows) in zip(grid.flat, groups(table, "metric"), strict=True):
        axes.set_title(metric)
        yield axes, rows
    grid[0, 0].set(ylim=(-0.03, 1.04), yticks=[0, 0.5, 1])
    _legend(figure, grid[0, 0], handlelength=1.1, columnspacing=0.9, handletextpad=0.4)
    for axes in grid[-1]:
        axes.set_xlabel(xlabel)


def _legend(figure: Figure, axes: Axes, **style: Any) -> None:
    """Name the curves of a panel above all panels, where there are no data."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", ncols=len(labels), **style)


def toys_against_samples(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 2: expected sampled metrics of toy recommenders as the sample grows."""
    for axes, rows in _by_metric(figure, table, "Negatives m, of n = 10,000"):
        for (name, points), dashes in zip(groups(rows, "recommender"), DASHES, strict=False):
            style = {"color": TOYS[name], "linestyle": dashes, "label": name}
            curve(axes, points["n_negatives"], points["value"], **style)
        axes.axvline(99, color=GREY, **DOTTED)
        log_axis(axes, 1, 1 + table["n_negatives"].max())
        if axes.get_title("left") == "AUC":
            axes.text(130, 0.02, "m of Table 2", color=GREY)


def sampled_against_rank(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 3: expected sampled metrics at each true rank, beside the exact metric."""
    sizes = [name for name in table["curve"].unique() if name != EXACT]
    styles: dict[str, dict[str, Any]]
    styles = {name: {"color": color} for name, color in zip(sizes, SIZES, strict=False)}
    styles[EXACT] = {"color": INK, "linewidth": 1.8, "zorder": 1.5, "linestyle": (0, (1, 0.6))}
    last = table["rank"].max()
    for axes, rows in _by_metric(figure, table, "True rank, of n = 10,000"):
        for name, points in groups(rows, "curve"):
            label = name.replace("1000", "1,000").lower()
            curve(axes, points["rank"], points["value"], label=label, **styles[name])
        linear_axis(axes, last)


def corrected_ap(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 4: corrected AP at each sampled rank, and its expectation at each true rank.

    One row per correction, beside the uncorrected metric and the exact one. Each row has the scale
    of its correction, which is otherwise too small to be seen; other curves may begin above.
    """
    names = [name for name in table["curve"].unique() if name not in (SAMPLED, EXACT)]
    styles: Sequence[dict[str, Any]] = (
        {"color": LIGHT, "linewidth": 0.8, "label": "uncorrected"},
        {"color": "C0", "label": "corrected"},
        {"color": INK, "linestyle": DASHES[2], "label": "exact"},
    )
    space = {"height": 0.56, "top": 0.36, "between": (0.14, 0.3), "left": 0.46}
    space["ylabel"] = "Average precision, a scale for each row"
    grid = panels(figure, len(names), 2, space, sharex="col", sharey="row")
    titles = {"sampled rank": "Estimate", "true rank": "Expected estimate"}
    for column, (panel, title) in zip(grid.T, titles.items(), strict=True):
        rows = dict(groups(table[table["panel"] == panel], "curve"))
        for axes, name in zip(column, names, strict=True):
            for drawn, style in zip((SAMPLED, name, EXACT), styles, strict=True):
                if drawn in rows:
                    curve(axes, rows[drawn]["rank"], rows[drawn]["value"], **style)
            if panel == "sampled rank":
                write(axes, 1, 1, name, color="C0", ha="right")
            axes.tick_params(bottom=axes is column[-1])
        log_axis(column[0], 1, rows[SAMPLED]["rank"].max())
        column[0].set_title(title)
        column[-1].set_xlabel(panel.capitalize())
    for axes, name in zip(grid[:, 0], names, strict=True):
        _scale(axes, table.loc[table["curve"] == name, "value"])
    _legend(figure, grid[0, 1], columnspacing=1)


def _scale(axes: Axes, values: "pd.Series[float]") -> None:
    """Set a y axis to the range of some values, with a tick at 0 and one at the next unit."""
    low = min(values.min(), 0.0)
    high = values.max()
    unit = 10.0 ** np.floor(np.log10(high))
    size = high - low
    axes.set(
        ylim=(low - 0.1 * size, high + 0.3 * size), yticks=[0, unit * np.floor(high / unit + 1e-9)]
    )
    axes.yaxis.set_major_formatter("{x:g}")


# Figures 5 and 6: recommenders on a dataset.


def rank_distribution(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 5: users by predicted rank, over all ranks and over the top ones.

    One row per recommender, before the others in grey; ties are in random order, and dotted where
    ranking them last differs. Bins may differ by one rank, so users are scaled to the widest.
    """
    styles = style_of(list(table["recommender"].unique()))
    options: dict[str, Any] = {"sharex": "col", "sharey": "col", "width_ratios": (5, 4)}
    space = {"height": 0.68, "top": 0.36, "between": (0.14, 0.32)}
    grid = panels(figure, len(styles), 2, space, **options)
    for column, panel in zip(grid.T, ("all", "top"), strict=True):
        rows = table[table["panel"] == panel]
        widths = 1 + rows["last_rank"] - rows["first_rank"]
        last = rows["last_rank"].max()
        width = widths.max()
        rows = rows.assign(height=rows["users"] * width / widths)
        for axes, (name, style) in zip(column, styles.items(), strict=True):
            is_own = rows["recommender"] == name
            is_random = rows["ties"] == "random"
            own = {"color": style["color"], "linewidth": 1.2}
            own_last = {**own, **DOTTED, "linewidth": 0.9, "zorder": 3}
            looks = [
                (~is_own & is_random, BACKGROUND),
                (is_own & is_random, own),
                (is_own & ~is_random, own_last),
            ]
            for part, look in looks:
                for _, points in rows[part].groupby("recommender"):
                    edges = [*(points["first_rank"] - 0.5), last + 0.5]
                    axes.stairs(points["height"], edges, baseline=None, **look)
            text = shown(name, 16)
            worst = rows.loc[is_own & ~is_random, "users"]
            if panel == "all":
                text = ""
                if len(worst):
                    words = f"in the last {widths.iloc[-1]}\nif ties rank last"
                    text = f"{worst.iloc[-1]:,.0f} {words}"
            place = {"all": 0.86, "top": 0.93}[panel]  # beside the last ranks
            write(axes, place, 0.99, text, color=style["color"], ha="right")
        linear_axis(column[0], last)
        half = 0.5 * (width < 10)  # of a rank, which is then visible at either end
        column[0].set_xlim(1 - half, last + half)
        column[-1].set_xlabel("Predicted rank")
        title = f"Users per {width} ranks"
        if width == 1:
            title = "Users per rank"
        column[0].set_title(title)
    log_axis(grid[0, 0], 0.8, 4 * table["users"].max(), "y")
    grid[0, 1].set_ylim(0, None)
    others = Line2D([], [], label="other recommenders", **BACKGROUND)
    last = Line2D([], [], color=GREY, label="ties ranked last", **{**DOTTED, "linewidth": 0.9})
    lines = [others] * (len(styles) > 1) + [last] * (table["ties"].nunique() > 1)
    figure.legend(handles=lines, loc="upper right", ncols=2, columnspacing=1)


def recall_against_samples(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 6: expected Recall@10 against m, and the m from which on pairs are in the right order.

    Dotted lines and the numbers at their ends are exact values; the band of a recommender is the
    range over its random starts.
    """
    kinds = dict(groups(table, "kind"))
    names = list(kinds["curve"]["recommender"].unique())
    exact = kinds["exact"].set_index("recommender")["value"]
    styles = style_of(names)
    estimators = list(groups(kinds["curve"], "estimator"))
    labels = {name: f"{shown(name, 12)} {exact[name]:.2f}" for name in names}
    space: dict[str, Any] = {"height": 1.45, "ylabel": "Expected Recall@10 (%)"}
    space["right"] = 0.2 + 0.062 * max(map(len, labels.values()))
    grid = panels(figure, len(estimators), 1, space, sharex=True)[:, 0]
    for axes, (estimator, rows) in zip(grid, estimators, strict=True):
        largest = max(rows["value"].max(), exact.max())
        unit = 10.0 ** np.floor(np.log10(largest))
        first = rows["n_negatives"].min()
        end = rows["n_negatives"].max()
        log_axis(axes, first, end)
        axes.set_ylim(0, unit * np.ceil(largest / unit))
        parts = {kind: part[part["estimator"] == estimator] for kind, part in kinds.items()}
        bands = {kind: dict(groups(parts.get(kind, rows[:0]), "recommender")) for kind in BAND}
        for name, points in groups(rows, "recommender"):
            color = styles[name]["color"]
            m = points["n_negatives"]
            axes.plot(m, points["value"], marker=".", clip_on=False, **styles[name])
            axes.axhline(exact[name], color=color, **DOTTED)
            if name in bands[BAND[0]]:
                low, high = (bands[kind][name] for kind in BAND)
                band = low["n_negatives"], low["value"].to_numpy(), high["value"].to_numpy()
                axes.fill_between(*band, color=color, alpha=0.3, linewidth=0)
        ends = [(labels[name], end, exact[name], styles[name]["color"]) for name in names]
        name_ends(axes, ends, head="exact:")
        ordered, sure = (parts.get(kind, rows[:0]) for kind in ("ordered", "sure"))
        crossings = ordered.loc[ordered["n_negatives"] > first, ["n_negatives", "value"]]
        ring: dict[str, Any] = {"color": INK, "zorder": 4, "fillstyle": "none", "markersize": 5}
        axes.plot(*crossings.T.to_numpy(), "o", **ring)
        words = _words_of_orders(ordered, sure, first)
        if estimator == SAMPLED:  # whose curves fall
            write(axes, 0.99, 0.97, words, ha="right", va="top")
            axes.set_title("Uncorrected")
        else:
            write(axes, 0.99, 0.03, words, ha="right", va="bottom")
            axes.set_title(f"Corrected by {estimator}")
    grid[-1].set_xlabel("Negatives m")


def _words_of_orders(ordered: pd.DataFrame, sure: pd.DataFrame, first: int) -> str:
    """Say from which m on pairs are in the right order on average."""
    if len(ordered) > MOST_PAIRS:
        return "ring: from there on a pair\nis in the right order"
    lines = ["Right order on average:"] * (len(ordered) > 0)
    for _, pair, _, m, _ in ordered.sort_values("n_negatives").itertuples(index=False):
        words = "at every m"
        if m > first:
            words = f"from m = {m:,}"
        space = " "
        if len(pair) > 14:
            space = "\n"
        lines.append(f"{shown(pair, 28)}:{space}{words}")
        surely = sure.loc[sure["recommender"] == pair, "n_negatives"]
        lines += [f"(95 % of runs: {m:,})" for m in surely]
    return "\n".join(lines)


# The published numbers beside ours.


def z_scores(figure: Figure, table: pd.DataFrame) -> None:
    """All z-scores as a histogram beside the standard normal, and below it by table and row."""
    if not len(table):
        figure.text(0.02, 0.5, "No random cell is comparable with the paper's.")
        return
    rows = table[["table", "row"]].drop_duplicates().itertuples(index=False)
    names = [f"Table {number}: {shown(name, 24)}" for number, name in rows]
    space = {"height": 1.3, "left": 0.15 + 0.058 * max(map(len, names)), "between": (0.14, 0)}
    top, below = panels(figure, 2, 1, space, sharex=True)[:, 0]
    reach = max(4.0, 0.5 * np.ceil(2 * table["z"].abs().max()))
    edges = np.arange(-reach, reach + 0.25, 0.5)
    counts = np.histogram(table["z"], edges)[0]
    top.stairs(counts, edges, fill=True, color="C0", alpha=0.5)
    at = np.linspace(-reach, reach, 161)
    below_z = np.vectorize(NormalDist().cdf)
    expected = len(table) * (below_z(at + 0.25) - below_z(at - 0.25))
    top.plot(at, expected, color=INK)
    moments = f"mean {table['z'].mean():.2f},\nsd {table['z'].std():.2f}\n(curve: 0, 1)"
    write(top, 0.02, 0.98, moments)
    top.set(ylabel=f"Cells, of {len(table)}", ylim=(0, 1.15 * max(counts.max(), expected.max())))
    places = table.groupby(["table", "row"], sort=False).ngroup()
    below.plot(table["z"], places, "|", color="C0", markersize=6)
    below.set(xlabel="ours minus published, in standard errors", xlim=(-reach, reach))
    below.set(ylim=(len(names) - 0.4, -0.6))
    below.set_yticks(range(len(names)), names)
    below.tick_params(axis="y", length=0)


FIGURES: Mapping[int | str, Callable[[Figure, pd.DataFrame], None]] = {
    1: metric_against_rank,
    2: toys_against_samples,
    3: sampled_against_rank,
    4: corrected_ap,
    5: rank_distribution,
    6: recall_against_samples,
    "z": z_scores,
}
