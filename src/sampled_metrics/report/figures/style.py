"""The look of all figures: text, and curves distinguishable by colour, grey and line style."""

import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib.style
from matplotlib.figure import Figure

from sampled_metrics.study.cells import EXACT

PAGE_WIDTH = 7.0  # inches
GREY = "#555555"
_SETTINGS = {
    "font.size": 8,
    **dict.fromkeys(("axes.titlesize", "axes.labelsize", "legend.fontsize"), 8),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), 8),
    "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.5,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.minor.width": 0.4,
    "ytick.minor.width": 0.4,
    "hatch.linewidth": 0.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 3.5,
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.w_pad": 0.08,
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    "svg.hashsalt": "sampled-metrics",
    "pdf.fonttype": 42,
}
# Okabe and Ito's colours without yellow, in an order of changing lightness, and one dark red.
_COLOURS = (
    *("#0072b2", "#e69f00", "#009e73", "#cc79a7"),
    *("#d55e00", "#56b4e9", "#882255", "#777777"),
)
_DASHES = (
    (),
    (4.0, 1.2),
    (1.0, 0.9),
    (5.0, 1.2, 1.0, 1.2),
    (8.0, 1.5),
    (2.2, 1.0),
    (5.0, 1.0, 1.0, 1.0, 1.0, 1.0),
    (7.0, 1.0, 2.5, 1.0),
)
_MARKERS = "os^DvPX*"
_HATCHES = ("", "////", "\\\\\\\\", "xxxx", "----", "||||", "++++", "xx--")


def styled() -> AbstractContextManager[None]:
    """Draw with these settings and matplotlib's defaults, ignoring the user's own."""
    return matplotlib.style.context(_SETTINGS, after_reset=True)


def new_figure(height: float, note: str) -> Figure:
    """Page-wide figure of a height in inches, with a small grey line at the foot."""
    figure = Figure(figsize=(PAGE_WIDTH, height))
    if note:
        text = textwrap.fill(note, 140)
        figure.supxlabel(text, x=0.01, ha="left", fontsize=6, color=GREY)
    return figure


def line_styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour and dashes by curve, in the order of `names`.

    The exact metric is black, broad and below the others, so that curves equal to it still show.
    """
    others = [name for name in names if name != EXACT]
    styles: dict[str, dict[str, Any]] = {
        name: {
            "color": _cycled(_COLOURS, i),
            "dashes": _cycled(_DASHES, _shifted(i)),
            "label": shown(name),
        }
        for i, name in enumerate(others)
    }
    exact = {"color": "black", "dashes": (), "linewidth": 2.2, "zorder": 1.5, "label": EXACT}
    return styles | {EXACT: exact}


def markers(names: Sequence[str]) -> dict[str, str]:
    """Marker by curve."""
    return {name: _cycled(_MARKERS, _shifted(i)) for i, name in enumerate(names)}


def bar_styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Fill, hatching and outline by recommender, in the colours of its curve."""
    return {
        name: {
            "facecolor": _cycled(_COLOURS, i),
            "hatch": _cycled(_HATCHES, _shifted(i)),
            "edgecolor": "white",
            "linewidth": 0.3,
            "label": shown(name),
        }
        for i, name in enumerate(names)
    }


def shown(name: object) -> str:
    r"""Escape a name so that matplotlib shows it literally and lists it in the legend.

    >>> print(shown("X"), shown("_a$b"))
    X  _a\$b
    """
    text = str(name)
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def _shifted(i: int) -> int:
    """Place of the dashes, markers and hatches, so that repeated colours get others."""
    return i + i // len(_COLOURS)


def _cycled(values: Sequence[Any], i: int) -> Any:
    return values[i % len(values)]
