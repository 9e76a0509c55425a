"""The look of all figures: sizes, text, and colours with a contrast of at least 4.5 on white."""

import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import matplotlib.style
from matplotlib import colormaps
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

COLUMN_WIDTH = 8.5 / 2.54  # inches, of a two-column paper
TEXT_SIZE, SMALL = 7.0, 6.5  # points
INK, GREY, LIGHT = "#1a1a1a", "#555555", "#767676"  # exact values, text, background curves
_SETTINGS = {
    "font.size": TEXT_SIZE,
    **dict.fromkeys(("axes.titlesize", "axes.labelsize", "legend.fontsize"), TEXT_SIZE),
    **dict.fromkeys(("xtick.labelsize", "ytick.labelsize"), SMALL),
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.labelpad": 2.0,
    "axes.linewidth": 0.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlepad": 3.0,
    "axes.titley": 1.0,
    "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.hspace": 0.02,
    "figure.constrained_layout.w_pad": 0.03,
    "figure.constrained_layout.wspace": 0.03,
    "grid.color": "#e2e2e2",
    "grid.linewidth": 0.4,
    "lines.linewidth": 1.2,
    "lines.markersize": 2.5,
    "pdf.fonttype": 42,
    "savefig.dpi": 300,
    "svg.fonttype": "path",
    "svg.hashsalt": "sampled-metrics",
    "xtick.major.pad": 2.0,
    "xtick.major.size": 2.5,
    "xtick.major.width": 0.5,
    "xtick.minor.size": 1.5,
    "xtick.minor.width": 0.4,
    "ytick.major.pad": 2.0,
    "ytick.major.size": 2.5,
    "ytick.major.width": 0.5,
    "ytick.minor.size": 1.5,
    "ytick.minor.width": 0.4,
}
# Names without an order.
RECOMMENDERS = (
    *("#0072b2", "#b34700", "#007a4d", "#a0327a"),
    *("#5b3a8c", "#7a5c00", "#8a1538", "#3d3d3d"),
)
TOYS = ("#8a1538", "#006d77", "#7a5c00")
DASHES = (
    (),
    (4.0, 1.2),
    (1.2, 0.9),
    (5.0, 1.2, 1.2, 1.2),
    (8.0, 1.5),
    (2.2, 1.0),
    (5.0, 1.0, 1.2, 1.0, 1.2, 1.0),
    (7.0, 1.0, 2.5, 1.0),
)


def styled() -> AbstractContextManager[None]:
    """Draw with these settings and matplotlib's defaults, ignoring the user's own."""
    return matplotlib.style.context(_SETTINGS, after_reset=True)


def new_figure(height: float, note: str = "") -> Figure:
    """Column-wide figure of a height in inches, maybe with a small grey line at the foot."""
    figure = Figure(figsize=(COLUMN_WIDTH, height))
    if note:
        text = textwrap.fill(note, 75)
        figure.supxlabel(text, x=0.01, ha="left", fontsize=SMALL, color=GREY)
    return figure


def ramp(number: int, name: str = "viridis") -> list[str]:
    """Colours for ordered quantities, from the lightest to the darkest, of a map of matplotlib.

    The maps `viridis` and `inferno` grow lighter from 0 to 1; their upper ends lack contrast.
    """
    lightest, darkest = {"viridis": (0.43, 0.0), "inferno": (0.55, 0.1)}[name]
    step = (darkest - lightest) / max(number - 1, 1)
    return [to_hex(colormaps[name](lightest + i * step)) for i in range(number)]


def line_styles(
    names: Sequence[str], colours: Sequence[str] = RECOMMENDERS
) -> dict[str, dict[str, Any]]:
    """Colour and dashes by name, for names without an order."""
    return {
        name: {
            "color": colours[i % len(colours)],
            # repeated colours get other dashes
            "dashes": DASHES[(i + i // len(colours)) % len(DASHES)],
        }
        for i, name in enumerate(names)
    }


def shown(name: object, longest: int = 18) -> str:
    r"""Shorten a name in its middle, and escape it so that matplotlib shows it literally.

    A space before an underscore makes matplotlib take it for the name of a curve.

    Examples
    --------
    >>> print(shown("Neighbours-of-the-item", 11), shown("_a$b"))
    Neigh…-item  _a\$b
    """
    text = str(name)
    if len(text) > longest:
        end = (longest - 1) // 2
        text = text[: longest - 1 - end] + "…" + text[-end:]
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")
