"""Figures 1 to 4: the effect of sampling and of corrections on a metric, without a dataset."""

from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from sampled_metrics.report.figures.axes import (
    crossings,
    log_axis,
    ring,
    vertical_line,
)
from sampled_metrics.report.figures.style import (
    DASHES,
    GREY,
    INK,
    LIGHT,
    SMALL,
    TOYS,
    line_styles,
    ramp,
)
from sampled_metrics.report.tables import groups
from sampled_metrics.study.cells import EXACT
from sampled_metrics.study.settings import N_ITEMS

TABLE_2_SIZE = 99
TABLE_2 = f"Table 2:\n$m$ = {TABLE_2_SIZE}"
FRACTION = (-0.03, 1.04)
UNCORRECTED = "Sampled"
INDISTINGUISHABLE = 0.005
NARROWEST = 0.07  # share of the axis, of what has room for a letter
_EXACT_STYLE = {"color": INK, "linewidth": 1.8, "zorder": 1.5}


def metric_against_rank(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 1: the metrics at all ranks."""
    axes = figure.subplots()
    for (metric, rows), dashes in zip(groups(table, "metric"), DASHES, strict=False):
        _curve(axes, rows, "rank", color=INK, dashes=dashes, label=metric)
    _whole_decades(axes, 1, int(table["rank"].max()))
    axes.set(xlabel="Predicted rank $r$", ylabel="Metric $M(r)$", ylim=FRACTION)


def _curve(axes: Axes, rows: pd.DataFrame, x: str, **style: Any) -> None:
    """Draw a curve, as steps where the metric jumps from 1 to 0."""
    jumps = set(rows["value"].unique()) == {0.0, 1.0}
    axes.plot(*(rows[x], rows["value"]), drawstyle="steps-mid" if jumps else None, **style)


def _whole_decades(axes: Axes, first: int, last: int) -> None:
    """Set a logarithmic axis that ends with a power of ten just above the last value."""
    power = 10 ** int(np.ceil(np.log10(last)))
    log_axis(axes, first, power if power < 1.01 * last else last)


def toy_against_samples(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 2: expected sampled metrics of toy recommenders as the sample grows.

    Rings mark where the order changes; letters above say the order, best first.
    """
    styles = line_styles(list(table["recommender"].unique()), TOYS)
    panels = _metric_panels(figure, table, "Negatives $m$")
    for axes, (_, rows) in zip(panels, groups(table, "metric"), strict=True):
        for name, points in groups(rows, "recommender"):
            _curve(axes, points, "n_negatives", label=name, **styles[name])
        _whole_decades(axes, 1, int(table["n_negatives"].max()))
        vertical_line(axes, TABLE_2_SIZE, TABLE_2 if axes is panels[1] else "")
        _mark_orders(
            axes, rows.pivot(index="n_negatives", columns="recommender", values="value"), styles
        )
        axes.set(ylim=(-0.03, 1.5), yticks=np.arange(6) / 5)


def _mark_orders(axes: Axes, values: pd.DataFrame, styles: Mapping[str, Any]) -> None:
    """Mark where curves cross, and above them write the order from one crossing to the next."""
    x = np.log10(values.index.to_numpy(dtype=float))
    marks = sorted(
        mark
        for a, b in combinations(values, 2)
        for mark in crossings(x, values[a].to_numpy(), values[b].to_numpy())
    )
    for at, y in marks:
        ring(axes, 10**at, y)
    if not marks:
        return
    for low, high in pairwise([x[0], *(at for at, _ in marks), x[-1]]):
        middle = (low + high) / 2
        order = values.iloc[np.abs(x - middle).argmin()].sort_values(ascending=False)
        if high - low < NARROWEST * (x[-1] - x[0]) or not order.is_unique:
            continue
        for place, name in enumerate(order.index):
            centred = {"ha": "center", "va": "center", "color": styles[name]["color"]}
            axes.text(10**middle, 1.4 - 0.13 * place, name, fontsize=SMALL, **centred)


def _metric_panels(figure: Figure, table: pd.DataFrame, xlabel: str) -> list[Axes]:
    """Return one panel per metric, all with the same axes."""
    grid = figure.subplots(2, 2, sharex=True, sharey=True)
    panels = list(grid.flat)
    for axes, metric in zip(panels, table["metric"].unique(), strict=True):
        axes.set_title(metric, loc="left", fontweight="bold")
    figure.supylabel("Expected metric $E[M(\\tilde{r})]$", fontsize=7)
    for axes in grid[-1]:
        axes.set_xlabel(xlabel)
    at = {"transform": panels[0].transAxes, "va": "bottom", "color": GREY, "fontsize": SMALL}
    panels[0].text(0.04, 0.04, f"$n$ = {N_ITEMS:,}", **at)
    return panels


def sampled_against_rank(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 3: expected sampled metrics at each true rank, beside the exact metric."""
    sizes = [name for name in table["curve"].unique() if name != EXACT]
    colours = dict(zip(sizes, ramp(len(sizes)), strict=True))
    for axes, (_, rows) in zip(
        _metric_panels(figure, table, "True rank $r$"), groups(table, "metric"), strict=True
    ):
        by_curve = dict(groups(rows, "curve"))
        for name, points in by_curve.items():
            style = _EXACT_STYLE if name == EXACT else {"color": colours[name]}
            alike = [key for key in by_curve if _alike(by_curve[key], points)]
            named = _named(alike, list(by_curve))
            label = {"label": named} if name == alike[-1] else {}
            _curve(axes, points, "rank", **style, **label)
        axes.set(ylim=FRACTION)
        _whole_decades(axes, 1, int(table["rank"].max()))


def _alike(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    """Whether two curves cannot be told from each other."""
    return bool(np.abs(a["value"].to_numpy() - b["value"].to_numpy()).max() < INDISTINGUISHABLE)


def _named(curves: Sequence[str], every: Sequence[str]) -> str:
    """Return the label of curves that coincide; numbers are sample sizes.

    Examples
    --------
    >>> _named(["m = 100", "m = 1000"], ["m = 1", "m = 100", "m = 1000", "Exact"])
    '100, 1,000'
    """
    if len(curves) == len(every):
        return "every $m$, exact"
    sizes = [f"{int(name.partition(' = ')[2]):,}" if " = " in name else name for name in curves]
    prefix = "$m$ = " if curves[0] == every[0] else ""
    return prefix + ", ".join(sizes).replace(EXACT, EXACT.lower())


def corrected_ap(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 4: corrected AP at each sampled rank, and its expectation at each true rank.

    One row per correction, beside the uncorrected metric in grey and the exact one in black.
    """
    corrections = [name for name in table["curve"].unique() if name not in (UNCORRECTED, EXACT)]
    colours = _correction_colours(corrections)
    grid = figure.subplots(len(corrections), 2, sharex="col", sharey=True)
    sampled, true = (table[table["panel"] == panel] for panel in ("sampled rank", "true rank"))
    for row, name in enumerate(corrections):
        own, below = {"color": colours[name]}, {"color": LIGHT, "zorder": 1.4}
        styles: dict[str, dict[str, Any]] = {UNCORRECTED: below, EXACT: _EXACT_STYLE, name: own}
        dots: dict[str, Any] = {"marker": ".", "linewidth": 0.5}
        for axes, rows, marks in zip(grid[row], (sampled, true), (dots, {}), strict=True):
            for drawn, points in groups(rows[rows["curve"].isin(styles)], "curve"):
                label = {"label": drawn.lower()} if row == 0 and drawn != name else {}
                _curve(axes, points, "rank", **styles[drawn], **marks, **label)
            log_axis(axes, 0.9, 1.1 * int(rows["rank"].max()))
            axes.set_yscale("symlog", linthresh=0.1, linscale=0.6)
            axes.set(
                ylim=(-0.8, 1.4), yticks=[-0.1, 0, 0.1, 1], yticklabels=["−0.1", "0", "0.1", "1"]
            )
            axes.yaxis.set_minor_locator(NullLocator())
        grid[row, 0].text(
            *(0.97, 0.93, name), **own, transform=grid[row, 0].transAxes, ha="right", va="top"
        )
    grid[0, 0].set_title("Estimate on the sample", loc="left")
    grid[0, 1].set_title("Expected estimate", loc="left")
    grid[-1, 0].set_xlabel("Sampled rank $\\tilde{r}$")
    grid[-1, 1].set_xlabel("True rank $r$")


def _correction_colours(names: list[str]) -> dict[str, str]:
    """Colours of a ramp for the trade-offs, which gamma orders, and others for the rest."""
    ordered = [name for name in names if name.startswith("BV ")]
    rest = [name for name in names if name not in ordered]
    colours = dict(zip(ordered, ramp(len(ordered), "inferno"), strict=True))
    return colours | {name: style["color"] for name, style in line_styles(rest, TOYS[1:]).items()}
