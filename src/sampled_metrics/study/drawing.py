"""Parts of several figures: panels, axes, curves and the names at their ends."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from sampled_metrics._base.arrays import Float

INK = "#1a1a1a"  # of exact values
GREY = "#555555"  # of text
LIGHT = "#767676"  # of background curves
DASHES = ("-", (0, (4, 1.2)), (0, (1.2, 0.9)), (0, (5, 1.2, 1.2, 1.2)))
DOTTED: dict[str, Any] = {"linewidth": 0.7, "linestyle": (0, (1, 1.5)), "zorder": 1}
BACKGROUND: dict[str, Any] = {"color": LIGHT, "linewidth": 0.5}
SPACE = {"left": 0.42, "right": 0.17, "top": 0.2, "between": (0.28, 0.22), "ylabel": ""}  # inches


def panels(
    figure: Figure, rows: int, columns: int, space: Mapping[str, Any], **options: Any
) -> Any:
    """Lay out rows of panels in `SPACE`, as changed by `space`; `ylabel` there is of all panels."""
    at = {**SPACE, **space}
    foot = 0.34 + 0.16 * len(figure.texts)
    below, beside = at["between"]
    total = at["top"] + rows * at["height"] + (rows - 1) * below + foot
    width = figure.get_figwidth()
    each = (width - at["left"] - at["right"] - (columns - 1) * beside) / columns
    margins = {
        "left": at["left"] / width,
        "right": 1 - at["right"] / width,
        "bottom": foot / total,
        "top": 1 - at["top"] / total,
        "hspace": below / at["height"],
        "wspace": beside / each,
    }
    for text in figure.texts:
        text.set_y(0.04 / total)
    middle = (margins["bottom"] + margins["top"]) / 2
    figure.text(0.015, middle, at["ylabel"], rotation=90, va="center")
    figure.set_figheight(total)
    return figure.subplots(rows, columns, squeeze=False, gridspec_kw=margins, **options)


def linear_axis(axes: Axes, last: float) -> None:
    """Set an x axis of ranks from 1 to the last."""
    unit = 10.0 ** np.floor(np.log10(last / 4))
    step = next(unit * factor for factor in (1, 2, 5, 10) if 4 * unit * factor >= last)
    ticks = [1, *(tick for tick in np.arange(step, last + 1, step) if tick > 1)]
    axes.set(xlim=(1, last), xticks=ticks)
    axes.xaxis.set_major_formatter("{x:,.0f}")


def log_axis(axes: Axes, low: float, high: float, which: str = "x") -> None:
    """Set a logarithmic axis with up to four ticks at powers of ten, or also at 2 and 5."""
    powers = 10 ** np.arange(max(np.ceil(np.log10(low)), 0), np.log10(high) + 1e-9)
    factors = [1, 2, 5]
    if high >= 100 * low:
        factors = [1]
    ticks = np.outer(powers[:: 1 + (len(powers) > 4)], factors).ravel()
    axes.set(**{f"{which}scale": "log"})
    axes.set(**{f"{which}lim": (low, high), f"{which}ticks": ticks[ticks <= high]})
    axis = getattr(axes, f"{which}axis")
    axis.set_major_formatter("{x:,.0f}")
    axis.set_minor_locator(NullLocator())


def write(axes: Axes, x: float, y: float, text: str, **style: Any) -> None:
    """Write in a panel, at shares of its width and height."""
    axes.text(x, y, text, **{"transform": axes.transAxes, "color": GREY, "va": "top", **style})


def curve(axes: Axes, x: "pd.Series[int]", y: "pd.Series[float]", **style: Any) -> None:
    """Draw a curve, as steps where the metric jumps from 1 to 0."""
    drawstyle = None
    if set(y) == {0.0, 1.0}:
        drawstyle = "steps-mid"
    axes.plot(x, y, drawstyle=drawstyle, **style)


def style_of(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour and dashes by name; repeated colours get other dashes."""
    return {
        name: {"color": f"C{i % 8}", "linestyle": DASHES[(i + i // 8) % 4]}
        for i, name in enumerate(names)
    }


def shown(name: object, longest: int = 18) -> str:
    r"""Shorten a name in its middle, and escape what matplotlib would take for a formula.

    Examples
    --------
    >>> print(shown("Neighbours-of-the-item", 11), shown("a$b"))
    Neigh…-item a\$b
    """
    text = str(name)
    end = (longest - 1) // 2
    if len(text) > longest:
        text = f"{text[: longest - 1 - end]}…{text[-end:]}"
    return text.replace("$", r"\$")


def apart(places: Float, size: float) -> Float:
    """Move places until neighbours are at least `size` apart.

    All stay between `size` / 2 and 1 - `size` / 2 if there is room for them.

    Examples
    --------
    >>> apart(np.array([0.5, 0.5, 0.9]), 0.2).round(2)
    array([0.4, 0.6, 0.9])
    """
    order = np.argsort(places, kind="stable")
    offsets = size * np.arange(len(places))
    free = (places[order] - offsets).clip(size / 2, max(1 - size / 2 - offsets[-1], size / 2))
    up = np.maximum.accumulate(free)
    down = np.minimum.accumulate(free[::-1])[::-1]
    moved = np.empty(len(places))
    moved[order] = (up + down) / 2 + offsets
    return moved


_TO_NAMES = 0.09  # inches from the axes to the names of curves, where thin lines lead to them


def name_ends(axes: Axes, ends: Sequence[tuple[str, float, float, Any]], head: str = "") -> None:
    """Write a name to the right of each curve's end, one below the other, and `head` above them.

    `ends` are name, x, y and colour; a thin line leads to the end.
    """
    figure: Any = axes.figure
    extent = axes.get_window_extent()
    line = 0.125 * figure.dpi / extent.height
    left = 1 + _TO_NAMES * figure.dpi / extent.width
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = apart(to_axes.transform([(x, y) for _, x, y, _ in ends])[:, 1], line)
    for (name, x, y, color), height in zip(ends, heights, strict=True):
        leader = {
            "arrowstyle": "-",
            "linewidth": 0.5,
            "color": color,
            "relpos": (0, 0.5),
            "shrinkA": 0,
            "shrinkB": 0.5,
        }
        place = (x, y), (left, height), "data", "axes fraction", leader
        axes.annotate(name, *place, annotation_clip=False, color=color, va="center")
    write(axes, left, max(heights) + line, head, va="center")
