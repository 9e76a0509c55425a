"""The strip of z-scores: how the published numbers scatter around ours, in standard errors."""

from statistics import NormalDist

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from sampled_metrics._base.arrays import Float
from sampled_metrics.report.figures.style import GREY, INK, RECOMMENDERS, SMALL, shown

WIDTH = 0.5  # of a bar
ROW_HEIGHT = 0.14  # inches


def strip(figure: Figure, table: pd.DataFrame) -> None:
    """Draw all z-scores as bars beside the standard normal, and below them by table and row."""
    rows = list(dict.fromkeys(zip(table["table"], table["row"], strict=True)))
    figure.set_figheight(figure.get_figheight() + ROW_HEIGHT * len(rows))
    reach = max(4.0, WIDTH * np.ceil(table["z"].abs().max() / WIDTH))
    edges = np.arange(-reach, reach + WIDTH / 2, WIDTH)
    top, below = figure.subplots(2, 1, sharex=True, height_ratios=(1.5, ROW_HEIGHT * len(rows)))
    counts = np.histogram(table["z"], edges)[0]
    top.stairs(counts, edges, fill=True, color=RECOMMENDERS[0], edgecolor="white", linewidth=0.4)
    at, expected = _normal(edges, len(table))
    top.plot(at, expected, color=INK, label="standard normal")
    top.set(ylabel=f"Cells, of {len(table)}", ylim=(0, 1.15 * max(counts.max(), expected.max())))
    for place, (number, name) in enumerate(rows):
        z = table.loc[(table["table"] == number) & (table["row"] == name), "z"]
        below.plot(z, np.full(len(z), place), "|", color=RECOMMENDERS[0], markersize=6)
    below.set(
        xlabel="(ours − published) / standard error",
        xlim=(-reach, reach),
        ylim=(len(rows) - 0.4, -0.6),
    )
    below.set_yticks(
        range(len(rows)), [f"Table {number}: {shown(name, 24)}" for number, name in rows]
    )
    below.tick_params(axis="y", length=0, labelsize=SMALL)
    for axes in (top, below):
        axes.axvline(0, color=GREY, linewidth=0.5, zorder=1)


def _normal(edges: Float, cells: int) -> tuple[Float, Float]:
    """Expected number of standard normal values within half a bar of each place."""
    at = np.linspace(edges[0], edges[-1], 161)
    half = (edges[1] - edges[0]) / 2
    below = np.vectorize(NormalDist().cdf)
    return at, cells * (below(at + half) - below(at - half))
