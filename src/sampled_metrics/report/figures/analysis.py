"""Figures 1 to 4: the effect of sampling and of corrections on a metric, without a dataset."""

from math import ceil, log10

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sampled_metrics.report.figures.axes import (
    legend,
    log_axis,
    rank_axis,
    size_label,
    size_line,
)
from sampled_metrics.report.figures.style import line_styles
from sampled_metrics.report.tables import groups

TOP = 100
TABLE_2_SIZE = 99
FRACTION = (-0.03, 1.03)
EXPECTED_RANGE = (-0.02, 0.25)  # of Figure 4, without the first ranks and the uncorrected curve


def metric_against_rank(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 1: the metrics at all ranks, and at the top ones."""
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, last in ((left, int(table["rank"].max())), (right, TOP)):
        _lines(axes, table[table["rank"] <= last], "metric", "rank")
        rank_axis(axes, last)
        axes.set(xlabel="Predicted rank $r$", ylim=FRACTION)
    left.set(title="All ranks", ylabel="Metric $M(r)$")
    right.set_title(f"Top {TOP} ranks")
    legend(figure, left)


def toy_against_samples(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 2: expected sampled metrics of toy recommenders as the sample grows."""
    panels = _metric_panels(figure, table, "recommender", "n_negatives", "Sample size $m$")
    for axes in panels:
        log_axis(axes, 1, 10 ** ceil(log10(table["n_negatives"].max())))
        size_line(axes, TABLE_2_SIZE)
    size_label(panels[0], TABLE_2_SIZE, f"$m$ = {TABLE_2_SIZE} (Table 2)")


def sampled_against_rank(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 3: expected sampled metrics at each true rank, beside the exact metric."""
    for axes in _metric_panels(figure, table, "curve", "rank", "True rank $r$"):
        rank_axis(axes, int(table["rank"].max()))


def _metric_panels(
    figure: Figure, table: pd.DataFrame, curve: str, x: str, xlabel: str
) -> list[Axes]:
    """Draw one panel per metric, all with the same axes, and return them."""
    grid = figure.subplots(2, 2, sharex=True, sharey=True)
    panels = list(grid.flat)
    for axes, (metric, rows) in zip(panels, groups(table, "metric"), strict=True):
        _lines(axes, rows, curve, x)
        axes.set(title=metric, ylim=FRACTION)
    for axes in grid[:, 0]:
        axes.set_ylabel(r"Expected metric $E[M(\tilde{r})]$")
    for axes in grid[-1]:
        axes.set_xlabel(xlabel)
    legend(figure, panels[0])
    return panels


def corrected_ap(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 4: corrected AP at each sampled rank, and its expectation at each true rank."""
    left, right = figure.subplots(1, 2)
    for axes, panel in ((left, "sampled rank"), (right, "true rank")):
        rows = table[table["panel"] == panel]
        _lines(axes, rows, "curve", "rank")
        log_axis(axes, 1, int(rows["rank"].max()))
    left.set(
        title="On the sample",
        xlabel=r"Sampled rank $\tilde{r}$",
        ylabel=r"Corrected metric $\widehat{\mathrm{AP}}(\tilde{r})$",
    )
    right.set(
        title=f"In expectation (axis cut at {EXPECTED_RANGE[1]})",
        xlabel="True rank $r$",
        ylabel=r"Expectation $E[\widehat{\mathrm{AP}}(\tilde{r})]$",
        ylim=EXPECTED_RANGE,
    )
    legend(figure, right)


def _lines(axes: Axes, rows: pd.DataFrame, curve: str, x: str) -> None:
    """Draw a curve for each value of the column `curve`, in the order of the table."""
    styles = line_styles(list(rows[curve].unique()))
    for name, points in groups(rows, curve):
        axes.plot(points[x], points["value"], **styles[name])
