"""Axes, legends and labels that the figures share."""

from math import ceil
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.figure import Figure
from matplotlib.legend_handler import HandlerTuple
from matplotlib.lines import Line2D
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter

from sampled_metrics.report.figures.style import GREY

MOST_COLUMNS = 5  # of a legend
ROW_HEIGHT = 0.17  # inches, of a legend
LABEL_WIDTH = 0.35  # of a label beside a sample size, at most, as a share of the axis
WHOLE_NUMBERS = "{x:,.0f}"


def legend(figure: Figure, *panels: Axes) -> None:
    """Draw a legend above all panels, with how each of `panels` shows a curve.

    At most five curves per row, fewer where names are long; the figure grows with each row beyond
    two.
    """
    handles = [axes.get_legend_handles_labels()[0] for axes in panels]
    labels = panels[0].get_legend_handles_labels()[1]
    beside: Any = list(zip(*handles, strict=True))
    columns = ceil(len(labels) / ceil(len(labels) / MOST_COLUMNS))
    while True:
        drawn = figure.legend(
            beside,
            labels,
            handler_map={tuple: HandlerTuple(ndivide=None, pad=0.6)},
            loc="outside upper center",
            ncols=columns,
            frameon=False,
            handlelength=3.2 * len(panels) ** 0.75,
        )
        if columns == 1 or drawn.get_window_extent().width <= figure.bbox.width:
            break
        drawn.remove()
        columns -= 1
    rows = ceil(len(labels) / columns)
    figure.set_figheight(figure.get_figheight() + ROW_HEIGHT * max(0, rows - 2))


def rank_axis(axes: Axes, last: int) -> None:
    """Set a linear axis of the ranks from 1 to `last`, with a tick at the first rank."""
    ticks = MaxNLocator(4, steps=[1, 2, 2.5, 5, 10], integer=True).tick_values(0, last)
    axes.set_xlim(1, last)
    axes.set_xticks([1, *(tick for tick in ticks if 1 < tick <= last)])
    axes.xaxis.set_major_formatter(WHOLE_NUMBERS)


def log_axis(axes: Axes, first: int, last: int) -> None:
    """Set a logarithmic horizontal axis of whole numbers."""
    axes.set_xscale("log")
    axes.set_xlim(first, last)
    powers_of_ten(axes.xaxis)


def powers_of_ten(axis: Axis) -> None:
    """Label powers of ten on a logarithmic axis, with small ticks at 2 to 9 times each.

    Within one power of ten, 2 and 5 times it are labelled too. Set the limits before.
    """
    low, high = axis.axes.get_xlim() if isinstance(axis, XAxis) else axis.axes.get_ylim()
    axis.set_major_locator(LogLocator(10, subs=(1,) if high >= 10 * low else (1, 2, 5)))
    axis.set_major_formatter(WHOLE_NUMBERS)
    axis.set_minor_locator(LogLocator(10, subs=range(2, 10)))
    axis.set_minor_formatter(NullFormatter())


def size_line(axes: Axes, size: int) -> None:
    """Draw a dotted line at a sample size."""
    axes.axvline(size, color=GREY, linewidth=0.8, linestyle=":", zorder=1)


def size_label(axes: Axes, size: int, text: str) -> None:
    """Write beside a sample size: on its roomier side, at the foot or the top, off the curves."""
    low, high = axes.get_xlim()
    rightwards = size < np.sqrt(low * high)
    reach = (high / low) ** (LABEL_WIDTH if rightwards else -LABEL_WIDTH)
    span = min(size, size * reach), max(size, size * reach)
    foot, top = (_room(axes, span, edge) for edge in axes.get_ylim())
    axes.annotate(
        text,
        (size, 1.0 if top > foot else 0.0),
        xycoords=axes.get_xaxis_transform(),
        xytext=(4 if rightwards else -4, -3 if top > foot else 4),
        textcoords="offset points",
        ha="left" if rightwards else "right",
        va="top" if top > foot else "bottom",
        color=GREY,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 1},
        zorder=1.2,
    )


def _room(axes: Axes, span: tuple[float, float], level: float) -> float:
    """Distance of the nearest labelled curve from a level within a span of sizes."""
    points = np.hstack([np.array(line.get_data()) for line in _curves(axes)])
    within = (span[0] <= points[0]) & (points[0] <= span[1])
    return float(np.abs(points[1, within] - level).min(initial=np.inf))


def _curves(axes: Axes) -> list[Line2D]:
    return [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
