"""The order of recommenders by an exact metric and by its sampled version, side by side."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

from matplotlib.figure import Figure

from sampled_metrics.report.figures.style import GREY, styled

_COLOURS = ("#b3541e", "#00727a", "#5b3a8c", "#777777")
_LEAST = 0.055  # least distance of two labels, as a fraction of the height


def draw_reversal(values: Mapping[str, tuple[float, float]]) -> Figure:
    """Draw a slope chart from the exact values on the left to the sampled ones on the right.

    Each side has its own scale, because sampled values are several times as large.

    Parameters
    ----------
    values
        Recall@10 of each recommender, exact and sampled, as fractions.
    """
    exact, sampled = (list(side) for side in zip(*values.values(), strict=True))
    with styled():
        figure = Figure(figsize=(5.2, 2.5))
        axes = figure.add_subplot()
        axes.axis("off")
        sides = [_heights(exact), _heights(sampled)]
        for (name, (low, high)), colour, start, end in zip(
            values.items(), cycle(_COLOURS), *sides, strict=False
        ):
            axes.plot([0, 1], [start, end], color=colour, linewidth=3.5, solid_capstyle="round")
            label: dict[str, Any] = {
                "color": colour,
                "va": "center",
                "fontsize": 11,
                "fontweight": "bold",
            }
            axes.text(-0.04, start, f"{100 * low:.1f} %  {name}", ha="right", **label)
            axes.text(1.04, end, f"{name}  {100 * high:.1f} %", ha="left", **label)
        top: dict[str, Any] = {"color": GREY, "fontsize": 9, "va": "bottom"}
        axes.text(-0.04, 1.12, "all items (exact)", ha="right", **top)
        axes.text(1.04, 1.12, "100 random items", ha="left", **top)
        axes.set(xlim=(-0.75, 1.75), ylim=(-0.1, 1.2))
        axes.set_title("Recall@10 on MovieLens 1M, 6,040 users", fontsize=10, pad=8)
        return figure


def _heights(values: Sequence[float]) -> list[float]:
    """Spread values from 0 to 1, their labels at least a line apart."""
    order = sorted(range(len(values)), key=values.__getitem__)
    low, span = min(values), max(max(values) - min(values), 1e-12)
    heights = [0.0] * len(values)
    last = -1.0
    for place in order:
        last = heights[place] = max((values[place] - low) / span, last + 2 * _LEAST)
    return heights
