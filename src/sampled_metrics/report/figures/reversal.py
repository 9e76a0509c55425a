"""The order of recommenders by an exact metric and by its sampled version, side by side."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from sampled_metrics._base.arrays import Float
from sampled_metrics.report.figures.labels import settle, spread_heights
from sampled_metrics.report.figures.style import (
    GREY,
    SMALL,
    line_styles,
    new_figure,
    shown,
    styled,
)

HEIGHT = 1.6  # inches
LINE = 0.13  # height of a label, as a share of the axes


def draw_reversal(values: Mapping[str, tuple[float, float]]) -> Figure:
    """Draw a slope chart from the exact values on the left to the sampled ones on the right.

    Each side has its own scale, because sampled values are several times as large.

    Parameters
    ----------
    values
        Recall@10 of each recommender, exact and sampled, as fractions.
    """
    exact, sampled = (_heights(side) for side in zip(*values.values(), strict=True))
    styles = line_styles(list(values))
    with styled():
        figure = new_figure(HEIGHT)
        axes = figure.add_subplot()
        axes.axis("off")
        for (name, (low, high)), start, end in zip(values.items(), exact, sampled, strict=True):
            color = styles[name]["color"]
            axes.plot([0, 1], [start, end], color=color, linewidth=2.0, solid_capstyle="round")
            for side, height, text in (
                (-1, start, f"{shown(name)}  {100 * low:.1f} %"),
                (1, end, f"{100 * high:.1f} %  {shown(name)}"),
            ):
                axes.text(
                    *(0.5 + 0.54 * side, height, text),
                    color=color,
                    ha="right" if side < 0 else "left",
                    va="center",
                    fontweight="bold",
                )
        for x, text in ((0, "all items (exact)"), (1, "100 random items")):
            axes.text(x, 1.2, text, color=GREY, fontsize=SMALL, ha="center")
        axes.set(xlim=(-0.55, 1.55), ylim=(-0.1, 1.25))
        axes.set_title("Recall@10 on MovieLens 1M, 6,040 users", pad=7)
        settle(figure)
        return figure


def _heights(values: Sequence[float]) -> Float:
    """Spread values from 0 to 1, their labels at least a line apart."""
    numbers = np.array(values)
    span = max(float(np.ptp(numbers)), 1e-12)
    return spread_heights((numbers - numbers.min()) / span, np.full(numbers.size, LINE))
