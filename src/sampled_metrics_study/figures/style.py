"""What figures share: panels, axes, curves and labels at the ends of curves."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from sampled_metrics._base import palette
from sampled_metrics._base.arrays import keep_apart
from sampled_metrics._base.palette import Look, estimator_looks, recommender_looks
from sampled_metrics_study.tables import rows_by_value

Style: TypeAlias = dict[str, Any]  # properties of a line or of a text of matplotlib
Panels: TypeAlias = Any  # an array of Axes, rows x columns

INK = "#1a1a1a"  # for exact values
GREY = "#555555"  # for text
LIGHT = "#767676"  # background curves
FOOT = 0.34  # inches below the lowest panel, for ticks and label of the x axis
DASHES = tuple((0, lengths) if lengths else "-" for lengths in palette.DASHES)
ON_WHITE: Style = {"bbox": {"facecolor": "white", "linewidth": 0, "pad": 0.6}}
DOTTED: Style = {"linewidth": 0.7, "linestyle": (0, (1, 1.5)), "zorder": 1}


def panels(
    figure: Figure,
    rows: int,
    columns: int,
    height: float,
    *,
    first_height: float | None = None,
    left: float = 0.42,
    right: float = 0.17,
    top: float = 0.2,
    row_gap: float = 0.28,
    column_gap: float = 0.22,
    ylabel: str = "",
    **options: Any,
) -> Panels:
    """Lay out a grid of panels, with one label for all y axes.

    All lengths are in inches: heights of panels, margins of the figure, and the gaps between
    rows and columns.
    """
    heights = [height] * rows
    if first_height is not None:
        heights[0] = first_height
    total = top + sum(heights) + (rows - 1) * row_gap + FOOT
    figure.set_figheight(total)
    low = FOOT / total
    high = 1 - top / total
    figure.text(0.015, (low + high) / 2, ylabel, rotation=90, va="center")
    width = figure.get_figwidth()
    panel_width = (width - left - right - (columns - 1) * column_gap) / columns
    figure.subplots_adjust(
        left=left / width,
        right=1 - right / width,
        bottom=low,
        top=high,
        hspace=row_gap * rows / sum(heights),
        wspace=column_gap / panel_width,
    )
    return figure.subplots(rows, columns, squeeze=False, height_ratios=heights, **options)


def linear_axis(axes: Axes, last: float) -> None:
    """Make the x axis linear, with ranks from 1 to `last`."""
    ticks: Any = MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(0, last)
    axes.set(xlim=(1, last), xticks=[1, *ticks[(ticks > 1) & (ticks <= last)]])
    axes.xaxis.set_major_formatter("{x:,.0f}")


def log_axis(axis: XAxis | YAxis, low: float, high: float) -> None:
    """Make an axis logarithmic, with ticks at powers of ten from 1 on.

    Beyond four powers only every other one has a tick. Axes of less than two powers also have ticks
    at 2 and 5 times a power.
    """
    first_power = max(np.ceil(np.log10(low)), 0)
    powers = 10 ** np.arange(first_power, np.log10(high) + 1e-9)  # with the last, if rounded
    if len(powers) > 4:
        powers = powers[::2]
    factors = [1] if high >= 100 * low else [1, 2, 5]
    ticks = np.outer(powers, factors).ravel()
    name = axis.axis_name  # x or y
    axis.axes.set(
        **{f"{name}scale": "log", f"{name}lim": (low, high), f"{name}ticks": ticks[ticks <= high]}
    )
    axis.set_major_formatter("{x:,.0f}")
    axis.minorticks_off()


def recommender_styles(names: Iterable[str]) -> dict[str, Style]:
    """Return the colour and dashes of each recommender, which are the same in all pictures."""
    return _line_styles(recommender_looks(names))


def estimator_styles(names: Iterable[str]) -> dict[str, Style]:
    """Return the colour and dashes of each estimator, which are the same in all pictures."""
    return _line_styles(estimator_looks(names))


def _line_styles(looks: Mapping[str, Look]) -> dict[str, Style]:
    """Return looks on white as Matplotlib takes them."""
    return {
        name: {"color": look.light, "linestyle": look.linestyle} for name, look in looks.items()
    }


def annotate(axes: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Write text in a panel; x and y are fractions of its width and height."""
    axes.text(x, y, text, **{"transform": axes.transAxes, "color": GREY, "va": "top", **style})


def draw_curves(
    axes: Axes, table: pd.DataFrame, name: str, x: str, styles: Iterable[Any], **style: Any
) -> None:
    """Draw the column `value` against the column `x`, with a curve for each value of `name`.

    A curve whose only values are 0 and 1 is drawn in steps.
    """
    for (label, points), style_of_curve in zip(rows_by_value(table, name), styles, strict=False):
        drawstyle = "default"
        if set(points["value"]) == {0.0, 1.0}:
            drawstyle = "steps-mid"
        look = {"label": label, "drawstyle": drawstyle, **style, **style_of_curve}
        axes.plot(points[x], points["value"], **look)


def shorten_name(name: object, longest: int = 18) -> str:
    r"""Shorten a name in the middle, and escape dollar signs, which start a formula in matplotlib.

    Examples
    --------
    >>> print(shorten_name("Neighbours-of-the-item", 11), shorten_name("a$b"))
    Neigh…-item a\$b
    """
    text = str(name)
    end = (longest - 1) // 2
    if len(text) > longest:
        text = f"{text[: longest - 1 - end]}…{text[-end:]}"
    return text.replace("$", r"\$")


def label_line_ends(lines: Sequence[Line2D], head: str = "") -> None:
    """Write the label of each line to the right of its last point, and `head` above all labels.

    Labels do not overlap; a thin line connects each label with its point.
    """
    axes: Any = lines[0].axes
    dpi = axes.figure.dpi
    row = 0.125 * dpi / axes.bbox.height
    left = 1 + 0.09 * dpi / axes.bbox.width
    ends = [(axes.get_xlim()[1], np.asarray(line.get_ydata())[-1]) for line in lines]
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = keep_apart(to_axes.transform(ends)[:, 1], row)
    for line, end, height in zip(lines, ends, heights, strict=True):
        leader = {
            "arrowstyle": "-",
            "linewidth": 0.5,
            "color": line.get_color(),
            "relpos": (0, 0.5),
            "shrinkA": 0,
            "shrinkB": 0.5,
        }
        axes.annotate(
            line.get_label(),
            end,
            (left, height),
            textcoords="axes fraction",
            arrowprops=leader,
            annotation_clip=False,
            color=line.get_color(),
            va="center",
        )
    annotate(axes, left, max(heights) + row, head, va="center")
