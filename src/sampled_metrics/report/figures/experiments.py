"""Figures 5 and 6: recommenders on a dataset."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sampled_metrics.estimators import parse_estimator
from sampled_metrics.report.figures.axes import (
    legend,
    log_axis,
    powers_of_ten,
    rank_axis,
    size_label,
    size_line,
)
from sampled_metrics.report.figures.style import bar_styles, line_styles, markers, shown
from sampled_metrics.report.tables import groups

LONGEST_PAIR = 24  # characters that still fit beside a sample size
NARROW = 10  # ranks per bin, below which half a rank at either end of the axis is visible
UNCORRECTED = parse_estimator("sampled").label


def rank_distribution(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 5: users by predicted rank, over all ranks and over the top ones."""
    left, right = figure.subplots(1, 2)
    for axes, panel, draw in ((left, "all", _outlines), (right, "top", _bars)):
        rows = table[table["panel"] == panel]
        draw(axes, rows)
        rank_axis(axes, int(rows["last_rank"].max()))
        width = int((rows["last_rank"] - rows["first_rank"]).iloc[0]) + 1
        if width < NARROW:
            low, high = axes.get_xlim()
            axes.set_xlim(low - 0.5, high + 0.5)
        axes.set(xlabel="Predicted rank $r$", ylabel=f"Users per {_ranks(width)}")
    left.set(title="All ranks", yscale="log", ylim=(0.8, None))
    powers_of_ten(left.yaxis)
    right.set_title(f"Top {table.loc[table['panel'] == 'top', 'last_rank'].max()} ranks")
    legend(figure, left, right)


def _ranks(width: int) -> str:
    return "rank" if width == 1 else f"{width} ranks"


def _outlines(axes: Axes, rows: pd.DataFrame) -> None:
    styles = line_styles(list(rows["recommender"].unique()))
    for name, bins in groups(rows, "recommender"):
        edges = [*(bins["first_rank"] - 0.5), bins["last_rank"].iloc[-1] + 0.5]
        users = [*bins["users"], bins["users"].iloc[-1]]
        axes.step(edges, users, where="post", **styles[name])


def _bars(axes: Axes, rows: pd.DataFrame) -> None:
    """Draw bars side by side within their range of ranks."""
    styles = bar_styles(list(rows["recommender"].unique()))
    for i, (name, bins) in enumerate(groups(rows, "recommender")):
        widths = 0.84 * (bins["last_rank"] + 1 - bins["first_rank"])
        middle = (bins["first_rank"] + bins["last_rank"]) / 2
        left = middle + widths * (i / len(styles) - 0.5)
        axes.bar(left, bins["users"], widths / len(styles), align="edge", **styles[name])
    axes.grid(visible=False, axis="x")


def recall_against_samples(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 6: expected Recall@10 against m, and the m from which the first pair is ordered."""
    curves = table[table["kind"] == "curve"]
    pair = " vs ".join(curves["recommender"].unique()[:2])
    ordered = table[(table["kind"] == "ordered") & (table["recommender"] == pair)]
    estimators = curves["estimator"].unique()
    panels = figure.subplots(1, len(estimators))
    for axes, estimator in zip(panels, estimators, strict=True):
        rows = curves[curves["estimator"] == estimator]
        _recall_curves(axes, rows)
        for row in ordered[ordered["estimator"] == estimator].itertuples():
            _mark_order(axes, row, pair)
        named = "Uncorrected" if estimator == UNCORRECTED else f"Corrected ({estimator})"
        axes.set(title=named, xlabel="Sample size $m$")
    panels[0].set_ylabel("Expected Recall@10 (%)")
    legend(figure, panels[0])


def _recall_curves(axes: Axes, rows: pd.DataFrame) -> None:
    names = list(rows["recommender"].unique())
    styles, shapes = line_styles(names), markers(names)
    for name, points in groups(rows, "recommender"):
        style = styles[name] | {"marker": shapes[name], "markeredgewidth": 0, "clip_on": False}
        axes.plot(points["n_negatives"], points["value"], **style)
    log_axis(axes, int(rows["n_negatives"].min()), int(rows["n_negatives"].max()))
    axes.set_ylim(0, 1.05 * rows["value"].max())


def _mark_order(axes: Axes, row: Any, pair: str) -> None:
    """Draw a ring where the pair's order becomes correct, and the sample size beside it."""
    m = row.n_negatives
    size_line(axes, m)
    axes.plot(m, row.value, "o", color="black", fillstyle="none", markersize=8, zorder=4)
    named = shown(pair) if len(pair) <= LONGEST_PAIR else "the first two"
    size_label(axes, m, f"Order of {named}\ncorrect from $m$ = {m:,}")
