"""The figures of the paper and of the study, each drawn from its table by one function."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from statistics import NormalDist
from typing import Any

import matplotlib.style
import numpy as np
import pandas as pd
import scipy  # `scipy.optimize` takes long to import, so only where it is used
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.backend_bases import FigureCanvasBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_pdf import FigureCanvasPdf
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from sampled_metrics._base.arrays import Float
from sampled_metrics._base.files import replacing
from sampled_metrics.study.printed import groups
from sampled_metrics.study.tables import EXACT, SAMPLED

INK, GREY, LIGHT = "#1a1a1a", "#555555", "#767676"  # exact values, text, background curves
TOYS = {"A": "#8a1538", "B": "#006d77", "C": "#7a5c00"}
DASHES = ("-", (0, (4, 1.2)), (0, (1.2, 0.9)), (0, (5, 1.2, 1.2, 1.2)))
COLOURS = ("#0072b2", "#b34700", "#007a4d", "#a0327a", "#5b3a8c", "#7a5c00", "#8a1538", "#3d3d3d")
DOTTED: dict[str, Any] = {"linewidth": 0.7, "linestyle": (0, (1, 1.5)), "zorder": 1}
TIED: dict[str, Any] = {**DOTTED, "linewidth": 0.9, "zorder": 3}
BACKGROUND: dict[str, Any] = {"color": LIGHT, "linewidth": 0.5}
# Without the day and the version of matplotlib, so that the same table gives the same bytes.
_FORMS: dict[str, tuple[type[FigureCanvasBase], dict[str, None]]] = {
    "png": (FigureCanvasAgg, {"Software": None}),  # first, because the others change the dpi
    "svg": (FigureCanvasSVG, {"Date": None, "Creator": None}),
    "pdf": (FigureCanvasPdf, {"CreationDate": None, "Creator": None, "Producer": None}),
}


def draw(number: int | str, table: pd.DataFrame, stem: Path, note: str = "") -> None:
    """Draw a figure of its table as `stem`.svg, .pdf and .png, with a note at the foot."""
    with matplotlib.style.context(str(files(__package__) / "figures.mplstyle"), after_reset=True):
        figure = Figure()
        if note:
            figure.supxlabel(note, x=0.01, ha="left", fontsize=6.5, color=GREY)
        FIGURES[number](figure, table)
        figure.get_layout_engine().execute(figure)  # type: ignore[union-attr]
        figure.set_layout_engine("none")
        figure.dpi = matplotlib.rcParams["savefig.dpi"]
        for kind, (canvas, metadata) in _FORMS.items():
            with replacing(stem.with_name(f"{stem.name}.{kind}")) as path:
                # `savefig` draws twice.
                getattr(canvas(figure), f"print_{kind}")(path, metadata=metadata)


# Parts of several figures.


def panels(figure: Figure, height: float, rows: int, columns: int = 1, **share: Any) -> Any:
    """Lay out rows of panels; the height is that of the figure in inches."""
    figure.set_figheight(height)
    return figure.subplots(rows, columns, squeeze=False, **share)


def log_axis(axes: Axes, low: float, high: float, which: str = "x") -> None:
    """Set a logarithmic axis of whole numbers: powers of ten, and 2 and 5 if there is only one."""
    axes.set(**{f"{which}scale": "log", f"{which}lim": (low, high)})
    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(LogLocator(10, subs=(1,) if high >= 10 * low else (1, 2, 5)))
    axis.set_major_formatter("{x:,.0f}")
    axis.set_minor_locator(LogLocator(10, subs=range(2, 10)))
    axis.set_tick_params("minor", label1On=False)


def curve(axes: Axes, x: Any, y: Any, **style: Any) -> None:
    """Draw a curve, as steps where the metric jumps from 1 to 0."""
    axes.plot(x, y, drawstyle="steps-mid" if set(y) == {0.0, 1.0} else None, **style)


def ramp(number: int, name: str = "viridis") -> list[Any]:
    """Colours for ordered quantities, from the lightest to the darkest."""
    lightest, darkest = {"viridis": (0.43, 0.0), "inferno": (0.55, 0.1)}[name]
    return [colormaps[name](place) for place in np.linspace(lightest, darkest, number)]


def style_of(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour and dashes by name; repeated colours get other dashes."""
    return {
        name: {"color": COLOURS[i % 8], "linestyle": DASHES[(i + i // 8) % 4]}
        for i, name in enumerate(names)
    }


def shown(name: object, longest: int = 18) -> str:
    r"""Shorten a name in its middle, and escape what matplotlib would take for a formula.

    Examples
    --------
    >>> print(shown("Neighbours-of-the-item", 11), shown("a$b"))
    Neigh…-item a\$b
    """
    text, end = str(name), (longest - 1) // 2
    if len(text) > longest:
        text = f"{text[: longest - 1 - end]}…{text[-end:]}"
    return text.replace("$", r"\$")


def apart(places: Float, size: float) -> Float:
    """Move places as little as needed to be `size` apart, from 0 to 1 if there is room.

    Examples
    --------
    >>> apart(np.array([0.5, 0.5, 0.9]), 0.2).round(2)
    array([0.4, 0.6, 0.9])
    """
    order, offsets = np.argsort(places, kind="stable"), size * np.arange(len(places))
    fit = scipy.optimize.isotonic_regression(places[order] - offsets).x
    moved = np.empty(len(places))
    moved[order] = fit.clip(0, max(1 - offsets[-1], 0)) + offsets
    return moved


def name_ends(axes: Axes, ends: Sequence[tuple[str, float, float, Any]], line: float) -> None:
    """Write names to the right of where curves end, at least `line` (a share of the axes) apart.

    `ends` are name, x, y and colour; a thin line leads to the end.
    """
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = apart(to_axes.transform([(x, y) for _, x, y, _ in ends])[:, 1], line)
    for (name, x, y, color), height in zip(ends, heights, strict=True):
        leader = {"arrowstyle": "-", "linewidth": 0.35, "relpos": (0, 0.5), "shrinkB": 2}
        place = (x, y), (1.05, height), "data", "axes fraction", leader | {"color": color}
        style: dict[str, Any] = {"color": color, "fontsize": 6.5, "va": "center"}
        axes.annotate(name, *place, annotation_clip=False, **style)


# Figures 1 to 4: the effect of sampling and of corrections on a metric, without a dataset.


def metric_against_rank(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 1: the metrics at all ranks."""
    axes = panels(figure, 1.9, 1)[0, 0]
    for (metric, rows), dashes in zip(groups(table, "metric"), DASHES, strict=True):
        curve(axes, rows["rank"], rows["value"], color=INK, linestyle=dashes, label=metric)
    log_axis(axes, 1, table["rank"].max())
    axes.set(xlabel="Predicted rank $r$", ylabel="Metric $M(r)$", ylim=(-0.03, 1.04))
    axes.legend(loc=(0.4, 0.45), handlelength=3)


def _by_metric(
    figure: Figure, table: pd.DataFrame, height: float, x: str, xlabel: str
) -> Iterator[tuple[Axes, pd.DataFrame]]:
    """Yield one panel per metric with its rows."""
    grid = panels(figure, height, 2, 2, sharex=True, sharey=True)
    figure.supylabel("Expected metric $E[M(\\tilde{r})]$", fontsize=7)
    for axes, (metric, rows) in zip(grid.flat, groups(table, "metric"), strict=True):
        axes.set_title(metric, fontweight="bold")
        log_axis(axes, 1, 10 ** round(np.log10(table[x].max())))
        axes.set(ylim=(-0.03, 1.04), xlabel=xlabel if axes in grid[-1] else "")
        yield axes, rows
    handles, labels = grid[0, 0].get_legend_handles_labels()
    grid[0, 0].legend(handles, labels, loc="lower left", title="$n$ = 10,000", title_fontsize=6.5)


def toys_against_samples(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 2: expected sampled metrics of toy recommenders as the sample grows."""
    for axes, rows in _by_metric(figure, table, 3.2, "n_negatives", "Negatives $m$"):
        styles = zip(groups(rows, "recommender"), DASHES, strict=False)
        for (name, points), dashes in styles:
            style = {"color": TOYS[name], "linestyle": dashes, "label": name}
            curve(axes, points["n_negatives"], points["value"], **style)
        axes.axvline(99, color=GREY, **DOTTED)
        if axes.get_title("left") == "AUC":
            axes.text(99, 0.02, " Table 2", color=GREY, fontsize=6.5)


def sampled_against_rank(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 3: expected sampled metrics at each true rank, beside the exact metric."""
    sizes = [name for name in table["curve"].unique() if name != EXACT]
    styles = {name: {"color": color} for name, color in zip(sizes, ramp(len(sizes)), strict=True)}
    styles[EXACT] = {"color": INK, "linewidth": 1.8, "zorder": 1.5}
    for axes, rows in _by_metric(figure, table, 3.1, "rank", "True rank $r$"):
        for name, points in groups(rows, "curve"):
            label = name.replace("1000", "1,000").replace("m", "$m$")
            curve(axes, points["rank"], points["value"], label=label, **styles[name])


def corrected_ap(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 4: corrected AP at each sampled rank, and its expectation at each true rank.

    One row per correction, beside the uncorrected metric in grey and the exact one in black.
    """
    names = [name for name in table["curve"].unique() if name not in (SAMPLED, EXACT)]
    ordered = [name for name in names if name.startswith("BV")]  # by gamma
    colours = dict(zip(ordered, ramp(len(ordered), "inferno"), strict=True))
    colours |= {"Rank Estimate": "#006d77", "CLS": "#7a5c00"}
    grid = panels(figure, 4.6, len(names), 2, sharex="col", sharey=True)
    for row, name in zip(grid, names, strict=True):
        styles = {SAMPLED: {"color": LIGHT, "zorder": 1.4}, EXACT: {"color": INK, "linewidth": 1.8}}
        styles[name] = {"color": colours[name], "zorder": 3}
        for axes, panel in zip(row, ("sampled rank", "true rank"), strict=True):
            rows = table[(table["panel"] == panel) & table["curve"].isin(styles)]
            dots = {"marker": ".", "linewidth": 0.5} if panel == "sampled rank" else {}
            for drawn, points in groups(rows, "curve"):
                curve(axes, points["rank"], points["value"], label=drawn, **styles[drawn] | dots)
            log_axis(axes, 0.9, 1.1 * rows["rank"].max())
            axes.set_yscale("symlog", linthresh=0.1, linscale=0.6)
            ticks = {"yticks": [-0.1, 0, 0.1, 1], "yticklabels": ["−0.1", "0", "0.1", "1"]}
            axes.set(ylim=(-0.8, 1.4), **ticks)
            axes.yaxis.set_minor_locator(NullLocator())
        corner = {"transform": row[0].transAxes, "ha": "right", "va": "top"}
        row[0].text(0.97, 0.93, name, color=colours[name], **corner)
    grid[0, 0].set_title("Estimate on the sample")
    grid[0, 1].set_title("Expected estimate")
    handles, labels = grid[0, 1].get_legend_handles_labels()
    known = [place for place, label in enumerate(labels) if label in (SAMPLED, EXACT)]
    grid[0, 1].legend(
        [handles[i] for i in known], [labels[i].lower() for i in known], loc="lower left", ncols=2
    )
    grid[-1, 0].set_xlabel("Sampled rank $\\tilde{r}$")
    grid[-1, 1].set_xlabel("True rank $r$")


# Figures 5 and 6: recommenders on a dataset.


def rank_distribution(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 5: users by predicted rank, over all ranks and over the top ones.

    One row per recommender, before the others in grey; ties are in random order, and dotted where
    ranking them last differs.
    """
    names = list(table["recommender"].unique())
    styles = style_of(names)
    grid = panels(figure, 0.6 + 0.62 * len(names), len(names), 2, sharex="col", sharey="col")
    for column, panel in zip(grid.T, ("all", "top"), strict=True):
        rows = table[table["panel"] == panel]
        last, width = rows["last_rank"].max(), 1 + np.ptp(rows.iloc[0][["first_rank", "last_rank"]])
        for axes, name in zip(column, names, strict=True):
            color = styles[name]["color"]
            for (drawn, ties), points in rows.groupby(["recommender", "ties"], sort=False):
                is_own, is_last = drawn == name, ties == "pessimistic"
                own = {"color": color, **(TIED if is_last else {"linewidth": 1.2})}
                if is_own or not is_last:
                    edges = [*(points["first_rank"] - 0.5), points["last_rank"].iloc[-1] + 0.5]
                    style = own if is_own else BACKGROUND
                    axes.stairs(points["users"], edges, baseline=None, **style)
                if is_own and is_last and panel == "all":
                    users = points["users"].iloc[-1]
                    text = axes.text(last, users, f"ranked last: {users:,} users", color=color)
                    text.set(ha="right", va="bottom", fontsize=6.5)
            if panel == "top":
                corner = {"transform": axes.transAxes, "ha": "right", "va": "top"}
                axes.text(0.98, 0.98, shown(name, 22), color=color, fontweight="bold", **corner)
        ticks = MaxNLocator(3, steps=[1, 2, 2.5, 5, 10], integer=True).tick_values(0, last)
        half = 0.5 * (width < 10)  # of a rank, which is then visible at either end
        axes.set(xlim=(1 - half, last + half), xticks=[1, *(t for t in ticks if 1 < t <= last)])
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_xlabel("Predicted rank $r$")
        column[0].set_title(f"Users per {'rank' if width == 1 else f'{width} ranks'}")
    log_axis(grid[0, 0], 0.8, 2 * table["users"].max(), "y")
    grid[0, 1].set_ylim(0, None)


def recall_against_samples(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 6: expected Recall@10 against m, and the m from which the first pair is ordered.

    Dotted lines and the numbers beside them are exact values; the band of a recommender is the
    range over its random starts.
    """
    kinds = dict(groups(table, "kind"))
    names = list(kinds["curve"]["recommender"].unique())
    exact = kinds["exact"].set_index("recommender")["value"]
    styles, estimators = style_of(names), list(groups(kinds["curve"], "estimator"))
    grid = panels(figure, 3.4, len(estimators), sharex=True)[:, 0]
    figure.supylabel("Expected Recall@10 (%)", fontsize=7)
    for axes, (estimator, rows) in zip(grid, estimators, strict=True):
        largest = max(rows["value"].max(), exact.max())
        unit = 10.0 ** np.floor(np.log10(largest))
        top = unit * np.ceil(largest / unit)
        first, end = rows["n_negatives"].min(), rows["n_negatives"].max()
        log_axis(axes, first, end)
        axes.set_ylim(0, top)
        parts = {kind: part[part["estimator"] == estimator] for kind, part in kinds.items()}
        for name, points in groups(rows, "recommender"):
            color, m = styles[name]["color"], points["n_negatives"]
            axes.plot(m, points["value"], marker=".", clip_on=False, **styles[name])
            axes.axhline(exact[name], color=color, **DOTTED)
            if "lowest" in parts:
                low, high = (
                    parts[kind][parts[kind]["recommender"] == name]
                    for kind in ("lowest", "highest")
                )
                band = low["n_negatives"], low["value"].to_numpy(), high["value"].to_numpy()
                axes.fill_between(*band, color=color, alpha=0.3, linewidth=0)
        ends = [(f"{shown(n)} {exact[n]:.2f}", end, exact[n], styles[n]["color"]) for n in names]
        name_ends(axes, ends, min(0.09, 1 / len(names)))
        _mark_order(axes, rows, parts, names)
        title = "Uncorrected" if estimator == SAMPLED else f"Corrected by {estimator}"
        axes.set_title(f"{title}: 0 to {top:g} %; right: exact")
    grid[-1].set_xlabel("Negatives $m$")


def _mark_order(
    axes: Axes, rows: pd.DataFrame, parts: Mapping[str, pd.DataFrame], names: Sequence[str]
) -> None:
    """Mark the m from which on the first pair is ordered on average, and in 95 % of runs."""
    ordered, sure = (parts.get(kind, rows[:0]) for kind in ("ordered", "sure"))
    ordered = ordered[ordered["recommender"] == " vs ".join(names[:2])]
    (first, end), top = axes.get_xlim(), axes.get_ylim()[1]
    for m, value in ordered[["n_negatives", "value"]].to_numpy():
        ring: dict[str, Any] = {"fillstyle": "none", "markersize": 5, "markeredgewidth": 0.9}
        axes.plot(m, value, "o", color=INK, zorder=4, **ring)
        pair = " and ".join(shown(name, 12) for name in names[:2])
        pair = pair.replace(" and ", " and\n") if len(pair) > 20 else pair
        words = [f"{pair} ordered", f"from $m$ = {m:,.0f} on average"]
        words += [f"{surely:,} in 95 % of runs" for surely in sure["n_negatives"]]
        for at in (*sure["n_negatives"], m):
            axes.axvline(at, color=GREY, **DOTTED)
        right = m**2 > end * first
        near = rows["n_negatives"].between(*((m / 8, m) if right else (m, 8 * m)))
        beside = rows.loc[near, "value"]
        above = top - beside.max() > beside.min()  # where there is more room
        place = (0.97 * m if right else 1.05 * m, top if above else 0.03 * top)
        text = axes.text(*place, "\n".join(words), color=GREY, fontsize=6.5)
        text.set(ha="right" if right else "left", va="top" if above else "bottom")
        text.set_bbox({"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8})


# The published numbers beside ours, and the figure of the README.


def z_scores(figure: Figure, table: pd.DataFrame) -> None:
    """All z-scores as bars beside the standard normal, and below them by table and row."""
    rows = list(table.groupby(["table", "row"], sort=False)["z"])
    heights = (1.5, 0.14 * len(rows))
    top, below = panels(figure, 0.2 + sum(heights), 2, sharex=True, height_ratios=heights)[:, 0]
    reach = max(4.0, 0.5 * np.ceil(2 * table["z"].abs().max()))
    edges = np.arange(-reach, reach + 0.25, 0.5)
    counts, *_ = top.hist(table["z"], edges, edgecolor="white", linewidth=0.4)
    at, below_z = np.linspace(-reach, reach, 161), np.vectorize(NormalDist().cdf)
    expected = len(table) * (below_z(at + 0.25) - below_z(at - 0.25))
    top.plot(at, expected, color=INK, label="standard normal")
    top.legend(loc="upper left")
    top.set(ylabel=f"Cells, of {len(table)}", ylim=(0, 1.15 * max(counts.max(), expected.max())))
    for place, (_, z) in enumerate(rows):
        below.plot(z, np.full(len(z), place), "|", color=COLOURS[0], markersize=6)
    below.set(xlabel="(ours − published) / standard error", xlim=(-reach, reach))
    below.set(ylim=(len(rows) - 0.4, -0.6))
    names = [f"Table {number}: {shown(name, 24)}" for (number, name), _ in rows]
    below.set_yticks(range(len(rows)), names, fontsize=6.5)
    below.tick_params(axis="y", length=0)


def reversal(figure: Figure, table: pd.DataFrame) -> None:
    """Slopes from Recall@10 among all items to that among 100; each side has its own scale."""
    axes = panels(figure, 1.6, 1)[0, 0]
    heights = table.set_index("recommender")
    heights = (heights - heights.min()) / (heights.max() - heights.min())
    heights = heights.apply(lambda side: apart(side.to_numpy(), 0.13))
    styles = style_of(list(table["recommender"])).values()
    for row, ends, style in zip(table.itertuples(), heights.to_numpy(), styles, strict=True):
        (left, right), color = ends, style["color"]
        axes.plot([0, 1], [left, right], color=color, linewidth=2)
        text: dict[str, Any] = {"color": color, "va": "center", "fontweight": "bold"}
        name, exact, sampled = row.recommender, f"{row.exact:.1f} %", f"{row.sampled:.1f} %"
        axes.text(-0.04, left, f"{shown(name)}  {exact}", ha="right", **text)
        axes.text(1.04, right, f"{sampled}  {shown(name)}", ha="left", **text)
    for x, head in enumerate(("all items (exact)", "100 random items")):
        axes.text(x, 1.2, head, color=GREY, fontsize=6.5, ha="center")
    axes.set(xlim=(-0.55, 1.55), ylim=(-0.1, 1.25))
    axes.set_title("Recall@10 on MovieLens 1M, 6,040 users", loc="center", pad=7)
    axes.axis("off")


FIGURES: Mapping[int | str, Callable[[Figure, pd.DataFrame], None]] = {
    1: metric_against_rank,
    2: toys_against_samples,
    3: sampled_against_rank,
    4: corrected_ap,
    5: rank_distribution,
    6: recall_against_samples,
    "z": z_scores,
    "reversal": reversal,
}
