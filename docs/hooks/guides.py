"""Pictures of the guides, drawn from made-up data or measurements.

`python docs/hooks/guides.py docs/pictures` draws them again.
"""

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

import sampled_metrics as sm

INK, BLUE, BROWN, GREY = "#1a1a1a", "#0072b2", "#a06000", "#767676"
MEASURED = Path(__file__).parents[1] / "measured"
PANELS = {
    "ml-100k": "MovieLens 100K",
    "ml-1m": "MovieLens 1M",
    "synthetic": "10,000 items",
}
MARKS = {
    "printed": ("x", BROWN, "printed"),
    "as_if_uniform": ("s", GREY, "corrected as if uniform"),
    "value": ("o", BLUE, "with ids and counts"),
}
STYLE = {
    "font.size": 9,
    "svg.fonttype": "none",
    "svg.hashsalt": "sampled-metrics",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": "medium",
}


def figure_of(height: float) -> tuple[Figure, Any]:
    """Return a figure as wide as a page, and its axes."""
    figure = Figure(figsize=(6, height), layout="constrained")
    return figure, figure.subplots()


def draw_range(
    axes: Any, y: float, low: float, high: float, value: float
) -> None:
    """Draw a range as a line, and a value as a circle."""
    axes.plot(
        [low, high],
        [y, y],
        color=BLUE,
        linewidth=9,
        solid_capstyle="butt",
    )
    axes.plot(value, y, "o", color="white", markeredgecolor=INK)


def glossary() -> Figure:
    """Show one held-out item over all items and among negatives."""
    rng = np.random.default_rng(3)
    figure, axes = figure_of(1.8)
    n, rank, m = 500, 61, 20
    others = np.delete(np.arange(1, n + 1), rank - 1)
    negatives = np.sort(rng.choice(others, m, replace=False))
    n_better = int((negatives < rank).sum())
    below = np.linspace(10, n - 10, m + 1)
    beside = np.delete(below, n_better)
    axes.vlines(others, 0.93, 1.07, color="#d5d9df", linewidth=0.8)
    axes.vlines(negatives, 0.9, 1.1, color=INK)
    axes.vlines(beside, -0.1, 0.1, color=INK)
    for x, end in zip(negatives, beside, strict=True):
        axes.plot([x, end], [0.88, 0.12], color=GREY, linewidth=0.3)
    axes.plot([rank, below[n_better]], [0.88, 0.12], color=BROWN)
    axes.plot([rank, below[n_better]], [1, 0], "D", color=BROWN)
    above = f"held-out item: rank {rank} of {n} candidates"
    axes.text(rank, 1.2, above, color=BROWN)
    label = f"sampled rank {n_better + 1} of {m + 1}"
    axes.text(below[n_better], -0.2, label, color=BROWN, va="top")
    axes.text(n, -0.2, f"{m} negatives", ha="right", va="top")
    axes.set_yticks([1, 0], ["over all\nitems", "sampled"])
    axes.set(xlim=(-4, n + 4), ylim=(-0.5, 1.5), xticks=[])
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0)
    return figure


def rankings(power: float) -> tuple[sm.Ranks, sm.SampledRanks]:
    """Return full rankings and ranks among 100 sampled items."""
    rng = np.random.default_rng(2)
    better = (3000 * rng.random(2000) ** power).astype(int)
    exact = sm.Ranks([3000] * 2000, better, [0] * 2000)
    (sampled_ranks,) = sm.draw_sampled_ranks(exact, 100, [rng])
    return exact, sm.SampledRanks(sampled_ranks, 3000, 100)


def modes() -> Figure:
    """Draw the results of one model in both modes of RecBole."""
    exact, sampled = rankings(2.2)
    (full,) = sm.evaluate(exact, "Recall@10")
    usual, likely = sm.correct(
        sampled, "Recall@10", "sampled, likely"
    )
    figure, axes = figure_of(1.5)
    draw_range(
        axes, 1, usual.range_low, usual.range_high, likely.value
    )
    draw_range(axes, 0, full.ci_low, full.ci_high, full.value)
    axes.plot(usual.value, 1, "x", color=BROWN)
    axes.text(
        usual.value,
        0.72,
        "Recall@10 of RecBole",
        color=BROWN,
        ha="center",
        va="top",
    )
    axes.set_yticks([1, 0], ["uni100", "full"])
    axes.set(
        xlim=(0, 1), ylim=(-0.5, 1.5), xlabel="Recall@10 (fraction)"
    )
    axes.set_title(
        "Lines: exact_recall@10_low to _high. Circles: the value"
    )
    return figure


def designs() -> Figure:
    """Show HR@10 by design: printed, corrected, and exact."""
    table = pd.read_csv(MEASURED / "negatives.csv")
    is_shown = (table["m"] == 100) & (table["metric"] == "HR@10")
    is_shown &= table["group"] == "recommenders"
    figure = Figure(figsize=(6.4, 2.6), layout="constrained")
    panels = figure.subplots(1, len(PANELS), sharey=True)
    for axes, (data, title) in zip(
        panels, PANELS.items(), strict=True
    ):
        rows = table[is_shown & (table["data"] == data)]
        rows = rows.set_index("design")
        y = np.arange(len(rows))[::-1]
        ends = rows["value_5"], rows["value_95"]
        axes.axvline(1.0, color=INK, linewidth=0.8)
        axes.hlines(y, *ends, color=BLUE, linewidth=4, alpha=0.35)
        for column, (marker, color, label) in MARKS.items():
            axes.plot(
                rows[f"{column}_50"],
                y,
                marker,
                color=color,
                label=label,
            )
        axes.set(xscale="log", xlim=(0.09, 9), title=title)
        axes.set_xticks(
            [0.1, 0.5, 1, 2, 8], [".1", ".5", "1", "2", "8"]
        )
        axes.set_yticks(y, list(rows.index))
        axes.minorticks_off()
    panels[1].set_xlabel(
        "HR@10 among 100 negatives, of the exact one"
    )
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside upper center",
        ncols=3,
        frameon=False,
    )
    return figure


GUIDES: dict[str, Callable[[], Figure]] = {
    "designs.svg": designs,
    "glossary.svg": glossary,
    "recbole.svg": modes,
}


def svg_of(draw: Callable[[], Figure]) -> bytes:
    """Return a picture as SVG, the same bytes each time."""
    with mpl.rc_context(STYLE):
        figure = draw()
        written = io.BytesIO()
        FigureCanvasSVG(figure).print_svg(
            written, metadata={"Date": None}
        )
    return written.getvalue()


if __name__ == "__main__":
    for name, draw in GUIDES.items():
        (Path(sys.argv[1]) / name).write_bytes(svg_of(draw))
