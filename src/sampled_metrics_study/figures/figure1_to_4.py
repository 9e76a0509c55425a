"""Figures 1 to 4: how sampling and corrections change a metric; they need no data."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from sampled_metrics._base.array_types import Float
from sampled_metrics._base.arrays import geometric_sizes
from sampled_metrics._base.threads import one_thread
from sampled_metrics.estimators import estimator_matrix, parse_estimator
from sampled_metrics.metrics import Measure, parse_measure
from sampled_metrics.ranks import Sampling
from sampled_metrics.sampling import pmf
from sampled_metrics_study.figures.style import (
    DASHES,
    DOTTED,
    GREY,
    INK,
    Panels,
    Style,
    annotate,
    draw_curves,
    estimator_styles,
    label_line_ends,
    linear_axis,
    log_axis,
    panels,
    recommender_styles,
)
from sampled_metrics_study.settings import N_ITEMS
from sampled_metrics_study.tables import EXACT, METRICS, PREDICTED_RANKS, SAMPLED, rows_by_value

_WITH = Sampling.WITH_REPLACEMENT
_WITHOUT = Sampling.WITHOUT_REPLACEMENT
SIZES = (1, 10, 100, 1000)  # samples in Figure 3
SHADES = ("#757575", "#606060", "#4b4b4b", "#363636")  # of `SIZES`, which differ in dashes


@one_thread()
def theory() -> dict[int, pd.DataFrame]:
    """Compute the tables of Figures 1 to 4."""
    return {
        1: metric_against_rank(),
        2: toys_against_samples(),
        3: sampled_against_rank(),
        4: corrected_ap(),
    }


def metric_against_rank() -> pd.DataFrame:
    """Compute Figure 1: every metric at the ranks 1 to 200 and at every 20th rank of n = 10,000."""
    ranks = np.r_[1:201, 220 : N_ITEMS + 1 : 20]
    return pd.concat(
        pd.DataFrame({"metric": m.label, "rank": ranks, "value": m.value_at(ranks, N_ITEMS)})
        for m in METRICS
    )


def draw_metric_against_rank(figure: Figure, table: pd.DataFrame) -> None:
    """Draw Figure 1: the metrics at all ranks, where only AUC is visible, and at the first 100."""
    ((whole, top),) = panels(
        figure, 1, 2, 1.6, right=0.62, column_gap=0.3, ylabel="Metric", sharey=True
    )
    last = table["rank"].max()
    first = min(100, last)
    styles = [{"color": INK, "linestyle": dashes} for dashes in DASHES]
    for axes, end in ((whole, last), (top, first)):
        draw_curves(axes, table[table["rank"] <= end], "metric", "rank", styles)
        axes.set(xlabel="Rank", ylim=(-0.03, 1.04))
        linear_axis(axes, end)
    label_line_ends(top.get_lines())
    annotate(whole, 0.56, 0.66, "AUC", color=INK)
    annotate(whole, 0.22, 0.24, "NDCG", color=INK)  # AP and Recall@10 are too near 0 to label
    whole.set_title("All ranks")
    top.set_title(f"First {first:,}")


def toys_against_samples() -> pd.DataFrame:
    """Compute Figure 2: expected sampled metrics of A, B and C, without replacement, m < n."""
    rows = []
    labels = [measure.label for measure in METRICS]
    for m in geometric_sizes(1, N_ITEMS - 1, 121):
        sampled = np.array([measure.sampled_values(m) for measure in METRICS])
        for name, ranks in PREDICTED_RANKS.items():
            means = sampled @ pmf(ranks, N_ITEMS, m, _WITHOUT).mean(axis=0)
            rows += [(label, name, m, mean) for label, mean in zip(labels, means, strict=True)]
    return pd.DataFrame(rows, columns=["metric", "recommender", "n_negatives", "value"])


def draw_toys_against_samples(figure: Figure, table: pd.DataFrame) -> None:
    """Draw Figure 2: expected sampled metrics of the toy recommenders as the sample grows."""
    styles = list(recommender_styles(table["recommender"].unique()).values())
    grid = _draw_by_metric(figure, table, "recommender", "n_negatives", styles, top=0.36)
    for axes in grid.flat:
        axes.axvline(99, color=GREY, label="m of Table 2", **DOTTED)
        log_axis(axes.xaxis, 1, 1 + table["n_negatives"].max())
    _draw_legend(figure, grid[0, 0], handlelength=1.1, columnspacing=0.9, handletextpad=0.4)
    for axes in grid[-1]:
        axes.set_xlabel("Negatives m, of n = 10,000")


def sampled_against_rank() -> pd.DataFrame:
    """Compute Figure 3: expected sampled metrics at ranks 1 to 1,000, with replacement."""
    ranks = np.r_[1:101, 105:1001:5]
    frames = []
    for measure in METRICS:
        values = {f"m = {m}": expected_values(measure, ranks, N_ITEMS, m, _WITH) for m in SIZES}
        values[EXACT] = measure.value_at(ranks, N_ITEMS)
        for name, value in values.items():
            columns = {"metric": measure.label, "curve": name, "rank": ranks, "value": value}
            frames.append(pd.DataFrame(columns))
    return pd.concat(frames)


def expected_values(
    measure: Measure, rank: ArrayLike, n: ArrayLike, m: int, sampling: Sampling | str
) -> Float:
    """Compute the expected sampled metric, eq. 16: sum over i of p(sampled rank = i | r) M(i).

    The parameters `rank` to `sampling` are those of `pmf`. Returns fractions, float64, shape
    (ranks,).

    Examples
    --------
    >>> expected_values(parse_measure("ap"), [1, 2, 3], 3, 1, "with-replacement")
    array([1.  , 0.75, 0.5 ])
    """
    return pmf(rank, n, m, sampling) @ measure.sampled_values(m)


def draw_sampled_against_rank(figure: Figure, table: pd.DataFrame) -> None:
    """Draw Figure 3: expected sampled metrics at each true rank, and the exact metric."""
    dashes_of_sizes = [DASHES[3], DASHES[2], DASHES[1], (0, (5, 1, 1, 1, 1, 1))]
    styles: list[Style] = [
        {"color": color, "linestyle": dashes}
        for color, dashes in zip(SHADES, dashes_of_sizes, strict=True)
    ]
    styles.append({"color": INK, "linewidth": 1.6, "zorder": 1.5})
    labels = table["curve"].str.replace("1000", "1,000").str.lower()
    grid = _draw_by_metric(figure, table.assign(curve=labels), "curve", "rank", styles, right=0.62)
    for axes in grid.flat:
        linear_axis(axes, table["rank"].max())
        if axes.get_title("left") == "AUC":
            annotate(axes, 0.04, 0.72, "the same\nfor all m")
    for axes in grid[:, 1]:
        label_line_ends(axes.get_lines())
    for axes in grid[-1]:
        axes.set_xlabel("True rank, n = 10,000")


def corrected_ap() -> pd.DataFrame:
    """Figure 4: corrected AP at each sampled rank, and expected at each true rank (section 5.4)."""
    measure = parse_measure("ap")
    n_negatives = 100
    names = ("sampled", "rank-estimate", "cls", "bv:1", "bv:0.1", "bv:0.01", "bv:0.001")
    estimators = [parse_estimator(name) for name in names]
    vectors = estimator_matrix(estimators, [measure], N_ITEMS, n_negatives, sampling=_WITH)[0]
    ranks = np.array(geometric_sizes(1, N_ITEMS, 400))
    expectations = vectors @ pmf(ranks, N_ITEMS, n_negatives, _WITH).T

    sampled = np.arange(1, n_negatives + 2)
    curves = []
    for estimator, vector, expectation in zip(estimators, vectors, expectations, strict=True):
        curves.append(("sampled rank", estimator.label, sampled, vector))
        curves.append(("true rank", estimator.label, ranks, expectation))
    curves.append(("true rank", EXACT, ranks, measure.value_at(ranks, N_ITEMS)))
    columns = ("panel", "curve", "rank", "value")
    return pd.concat(pd.DataFrame(dict(zip(columns, one, strict=True))) for one in curves)


def draw_corrected_ap(figure: Figure, table: pd.DataFrame) -> None:
    """Draw Figure 4: corrected AP at each sampled rank, and its expectation at each true rank.

    The first row has all corrections on one scale, like the paper's figure. Below it each
    correction has a row and a scale of its own, in the same colour; the exact curve may
    leave the panel there.
    """
    names = [name for name in table["curve"].unique() if name not in (SAMPLED, EXACT)]
    uncorrected: Style = {
        **estimator_styles([SAMPLED])[SAMPLED],
        "linewidth": 0.8,
        "label": "uncorrected",
    }
    exact: Style = {"color": INK, "linestyle": DASHES[2], "label": "exact", "zorder": 3}
    styles_by_name = estimator_styles(names)
    grid = _panels_of_corrections(figure, len(names))
    for column, (panel, rows) in zip(grid.T, rows_by_value(table, "panel"), strict=True):
        _draw_corrections(column[0], rows, {SAMPLED: uncorrected, EXACT: exact, **styles_by_name})
        for axes, name in zip(column[1:], names, strict=True):
            _draw_corrections(axes, rows, {name: styles_by_name[name], EXACT: exact})
        if panel == "sampled rank":  # an integer
            for line in (line for axes in column for line in axes.get_lines()):
                line.set_drawstyle("steps-mid")
        for axes in column:
            axes.tick_params(bottom=axes is column[-1])
        log_axis(column[0].xaxis, 1, rows["rank"].max())
        column[-1].set_xlabel(panel.capitalize())
    for axes, name in zip(grid[1:, 0], names, strict=True):
        annotate(axes, 1, 1, name, color=styles_by_name[name]["color"], ha="right")
        _set_scale(axes, table.loc[table["curve"] == name, "value"])
    _label_first_row(*grid[0])
    handles = [Line2D([], [], **style) for style in (uncorrected, exact)]
    figure.legend(handles=handles, loc="upper right", ncols=2, columnspacing=1)


def _panels_of_corrections(figure: Figure, n_corrections: int) -> Panels:
    """Lay out two columns of panels: a high first row, and a row for each correction."""
    height = 0.44  # in inches
    return panels(
        figure,
        n_corrections + 1,
        2,
        height,
        first_height=2.2 * height,
        left=0.46,
        top=0.36,
        row_gap=0.14,
        column_gap=0.3,
        ylabel="Average precision",
        sharex="col",
        sharey="row",
    )


def _label_first_row(estimate: Axes, expected_estimate: Axes) -> None:
    """Give the panels of all corrections their titles and the scale of the paper's figure."""
    estimate.set(ylim=(-0.55, 1.05), yticks=[-0.5, 0, 0.5, 1])
    annotate(estimate, 1, 0.22, "all corrections,\nlines as below", ha="right")
    estimate.set_title("Estimate")
    expected_estimate.set_title("Expected estimate")


def _draw_corrections(axes: Axes, rows: pd.DataFrame, styles: dict[str, Style]) -> None:
    """Draw the curves that `styles` names, in its order."""
    present = [name for name in styles if (rows["curve"] == name).any()]
    for name in present:
        draw_curves(axes, rows[rows["curve"] == name], "curve", "rank", [styles[name]])


def _draw_by_metric(
    figure: Figure,
    table: pd.DataFrame,
    name: str,
    x: str,
    styles: Sequence[Style],
    **space: Any,
) -> Panels:
    """Draw the curves of each metric in a panel of its own; return the panels."""
    ylabel = "Expected sampled metric"
    grid = panels(
        figure, 2, 2, 1, column_gap=0.32, ylabel=ylabel, sharex=True, sharey=True, **space
    )
    for axes, (metric, rows) in zip(grid.flat, rows_by_value(table, "metric"), strict=True):
        draw_curves(axes, rows, name, x, styles)
        axes.set(title=metric, ylim=(-0.03, 1.04), yticks=[0, 0.5, 1])
    return grid


def _draw_legend(figure: Figure, axes: Axes, **style: Any) -> None:
    """Put the legend of a panel above all panels, where it covers no data."""
    handles, labels = axes.get_legend_handles_labels()
    figure.legend(handles, labels, loc="upper right", ncols=len(labels), **style)


def _set_scale(axes: Axes, values: "pd.Series[float]") -> None:
    """Set a y axis to the range of some values, with ticks at 0 and at a round number.

    If the lowest value is below 0 by more than a tenth of the highest, a round number of its size
    has ticks on both sides of 0.
    """
    low = min(values.min(), 0.0)
    high = values.max()
    if low < -0.1 * high:
        tick = _round_down(-low)
        ticks = [-tick, 0.0, tick]
    else:
        tick = _round_down(high)
        ticks = [0.0, tick]
    high = max(high, tick)
    margin = 0.08 * (high - low)
    axes.set(ylim=(low - margin, high + margin), yticks=ticks)
    axes.yaxis.set_major_formatter("{x:g}")


def _round_down(number: float) -> float:
    """Round down to 1, 2, 4 or 5 times a power of ten."""
    power = 10.0 ** np.floor(np.log10(number))
    return float(power * max(factor for factor in (1, 2, 4, 5) if factor * power <= 1.001 * number))
