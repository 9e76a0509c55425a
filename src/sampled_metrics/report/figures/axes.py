"""Axes and marks that the figures share."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import LogLocator, MaxNLocator

from sampled_metrics._base.arrays import Float
from sampled_metrics.report.figures.style import GREY, INK

WHOLE_NUMBERS = "{x:,.0f}"


def rank_axis(axes: Axes, last: int) -> None:
    """Set a linear axis of the ranks from 1 to `last`, with a tick at the first rank."""
    ticks = MaxNLocator(3, steps=[1, 2, 2.5, 5, 10], integer=True).tick_values(0, last)
    axes.set_xlim(1, last)
    axes.set_xticks([1, *(tick for tick in ticks if 1 < tick <= last)])
    axes.xaxis.set_major_formatter(WHOLE_NUMBERS)


def log_axis(axes: Axes, first: float, last: float) -> None:
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
    axis.set_tick_params("minor", label1On=False)


def vertical_line(axes: Axes, x: float, label: str = "") -> None:
    """Draw a dotted vertical line, with a label that `place_labels` writes beside it."""
    line = axes.axvline(x, color=GREY, linewidth=0.7, linestyle=(0, (1, 1.5)), zorder=1)
    if label:
        line.set_label(label)


def ring(axes: Axes, x: float, y: float, color: str = INK) -> None:
    """Draw a ring around a point that is a message of the figure."""
    axes.plot(x, y, "o", color=color, fillstyle="none", markersize=5, markeredgewidth=0.9, zorder=4)


def crossings(x: Float, a: Float, b: Float) -> Iterator[tuple[float, float]]:
    """Yield the points at which two curves, drawn through the same x, change their order.

    `x` must be as on the axis: its logarithm where the axis is logarithmic. Between points where
    the curves are equal they change their order in the middle.

    Examples
    --------
    >>> list(crossings(np.array([0.0, 2.0]), np.array([0.0, 4.0]), np.array([2.0, 2.0])))
    [(1.0, 2.0)]
    """
    signs = np.sign(a - b)
    apart = np.flatnonzero(signs)
    for i, j in pairwise(apart):
        if signs[i] != signs[j]:
            gap, next_gap = a[i] - b[i], a[j] - b[j]
            share = gap / (gap - next_gap) if j == i + 1 else 0.5
            yield float(x[i] + share * (x[j] - x[i])), float(a[i] + share * (a[j] - a[i]))
