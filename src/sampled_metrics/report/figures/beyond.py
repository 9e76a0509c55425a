"""Figures 7 and 8: what methods of evaluation are worth at their price; one column of a page."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sampled_metrics.metrics.measures import parse_measure
from sampled_metrics.report.figures.axes import log_axis, powers_of_ten
from sampled_metrics.report.figures.labels import spread_heights
from sampled_metrics.report.figures.style import (
    COLUMN_WIDTH,
    DASHES,
    INK,
    LIGHT,
    RECOMMENDERS,
    SMALL,
    shown,
)
from sampled_metrics.report.tables import groups

PANEL_HEIGHT = 1.75  # inches
LAST = 1000  # scores per user
_EDGE = 1.06  # of the labels, as a share of the panel's width
_LINE = 0.078  # height of a label, as a share of the panel
_COLOURS = (LIGHT, *(RECOMMENDERS[i] for i in (5, 1, 6, 4, 3, 2, 0)), INK)
_EMPHASIS = "Budget"


def errors(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 7: relative error against scores asked, one panel per metric."""
    for axes, metric, rows in _panels(figure, table, "metric"):
        low, high = rows["value"].min(), rows["value"].max()
        axes.set_yscale("log")
        axes.set_ylim(max(low / 1.5, 0.01), min(high * 1.5, 3000))
        powers_of_ten(axes.yaxis)
        _curves(axes, rows, _styles(table))
        axes.set(title=parse_measure(metric).label, ylabel="Error (%)")


def orders(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 8: probability of the right order against scores asked, one panel per pair."""
    for axes, pair, rows in _panels(figure, table, "pair"):
        axes.set_ylim(-3, 103)
        _curves(axes, rows, _styles(table))
        axes.set(title=shown(pair, longest=40), ylabel="Right orders (%)")


def _panels(figure: Figure, table: pd.DataFrame, by: str) -> list[tuple[Axes, str, pd.DataFrame]]:
    parts = list(groups(table, by))
    figure.set_size_inches(COLUMN_WIDTH, 0.35 + PANEL_HEIGHT * len(parts))
    panels = figure.subplots(len(parts), 1, squeeze=False)[:, 0]
    first = int(table["scores_per_user"].min())
    for axes in panels:
        log_axis(axes, first, LAST)
    panels[-1].set_xlabel("Scores asked per user")
    return [(axes, *part) for axes, part in zip(panels, parts, strict=True)]


def _styles(table: pd.DataFrame) -> dict[str, dict[str, Any]]:
    return {
        group: {
            "color": _COLOURS[number % len(_COLOURS)],
            "dashes": DASHES[number // len(_COLOURS) % len(DASHES)],
            "linewidth": 1.6 if group.startswith(_EMPHASIS) else 0.8,
        }
        for number, group in enumerate(table["group"].unique())
    }


def _curves(axes: Axes, rows: pd.DataFrame, styles: dict[str, dict[str, Any]]) -> None:
    """Draw the curves of each group in its colour, and its name where the last one ends."""
    ends = []
    for group, of_group in groups(rows, "group"):
        last = []
        for _, points in groups(of_group, "method"):
            line = points.sort_values("scores_per_user")
            axes.plot(line["scores_per_user"], line["value"], marker=".", ms=3, **styles[group])
            last.append((line["scores_per_user"].iloc[-1], line["value"].iloc[-1]))
        x, y = sorted(last, key=lambda end: end[1])[len(last) // 2]
        ends.append((group, x, y))
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = to_axes.transform([(x, y) for _, x, y in ends])[:, 1]
    heights = spread_heights(heights, np.full(len(ends), _LINE), 0.0, 1.0)
    for (group, x, y), height in zip(ends, heights, strict=True):
        axes.annotate(
            shown(group, longest=40),
            (x, y),
            xytext=(_EDGE, height),
            textcoords="axes fraction",
            color=styles[group]["color"],
            fontsize=SMALL,
            va="center",
            arrowprops={
                "arrowstyle": "-",
                "color": styles[group]["color"],
                "linewidth": 0.35,
                "relpos": (0.0, 0.5),
                "shrinkB": 2.0,
            },
            annotation_clip=False,
        )
