"""Figures 5 and 6: recommenders on a dataset."""

from collections.abc import Mapping, Sequence
from math import ceil, floor, log10
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sampled_metrics.estimators import parse_estimator
from sampled_metrics.report.figures.axes import (
    log_axis,
    powers_of_ten,
    rank_axis,
    ring,
    vertical_line,
)
from sampled_metrics.report.figures.labels import label_end
from sampled_metrics.report.figures.style import GREY, LIGHT, SMALL, line_styles, shown
from sampled_metrics.report.tables import groups

ROW_HEIGHT = 0.62  # inches, of a recommender in Figure 5
NARROW = 10  # ranks per range, below which half a rank at either end of the axis is visible
UNCORRECTED = parse_estimator("sampled").label
LONGEST_PAIR = 24  # characters, of two names that have room beside a line
FEW = 4  # curves that have room for their names beside them
LAST = "ties ranked last"


def rank_distribution(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 5: users by predicted rank, over all ranks and over the top ones.

    One row per recommender, before the others in grey; ties are in random order, and dotted where
    ranking them last differs.
    """
    names = list(table["recommender"].unique())
    styles = line_styles(names)
    figure.set_figheight(figure.get_figheight() + ROW_HEIGHT * len(names))
    grid = figure.subplots(len(names), 2, sharex="col", sharey="col", squeeze=False)
    for column, panel in zip(grid.T, ("all", "top"), strict=True):
        rows = table[table["panel"] == panel]
        for axes, name in zip(column, names, strict=True):
            own = {"color": styles[name]["color"]}
            for other in names:
                if other != name:
                    _outline(axes, rows, other, color=LIGHT, linewidth=0.5, zorder=1.4)
            _outline(axes, rows, name, **own)
            _outline(axes, rows, name, "pessimistic", **own, linewidth=0.9, dashes=(1, 0.8))
            if panel == "top":
                at = {"transform": axes.transAxes, "ha": "right", "va": "top"}
                axes.text(0.98, 0.98, shown(name, 22), **own, **at, fontweight="bold")
            else:
                _label_last(axes, rows[rows["recommender"] == name], own["color"])
        _axis_of_ranks(column, rows)
    grid[0, 0].set(yscale="log", ylim=(0.8, None))
    powers_of_ten(grid[0, 0].yaxis)
    grid[0, 1].set_ylim(0, None)


def _outline(axes: Axes, rows: pd.DataFrame, name: str, ties: str = "random", **style: Any) -> None:
    """Draw the number of users in each range of ranks as steps."""
    ranges = rows[(rows["recommender"] == name) & (rows["ties"] == ties)]
    if len(ranges):
        edges = [*(ranges["first_rank"] - 0.5), ranges["last_rank"].iloc[-1] + 0.5]
        users = [*ranges["users"], ranges["users"].iloc[-1]]
        axes.step(edges, users, where="post", **style)


def _label_last(axes: Axes, rows: pd.DataFrame, color: str) -> None:
    """Write how many users are in the last range of ranks if their ties are ranked last."""
    ranges = rows[rows["ties"] == "pessimistic"]
    if not len(ranges):
        return
    first, last, users = ranges[["first_rank", "last_rank", "users"]].iloc[-1]
    axes.annotate(
        f"{LAST}: {users:,} users",
        ((first + last) / 2, users),
        xytext=(2, 2),
        textcoords="offset points",
        ha="right",
        va="bottom",
        color=color,
        fontsize=SMALL,
    )


def _axis_of_ranks(column: Sequence[Axes], rows: pd.DataFrame) -> None:
    width = int((rows["last_rank"] - rows["first_rank"]).iloc[0]) + 1
    rank_axis(column[-1], int(rows["last_rank"].max()))
    if width < NARROW:
        low, high = column[-1].get_xlim()
        column[-1].set_xlim(low - 0.5, high + 0.5)
    column[-1].set_xlabel("Predicted rank $r$")
    column[0].set_title(f"Users per {'rank' if width == 1 else f'{width} ranks'}", loc="left")


def recall_against_samples(figure: Figure, table: pd.DataFrame) -> None:
    """Figure 6: expected Recall@10 against m, and the m from which the first pair is ordered.

    The band of a recommender is the range over its random starts.
    """
    curves = table[table["kind"] == "curve"]
    names = list(curves["recommender"].unique())
    styles = line_styles(names)
    of_pair = table[table["recommender"] == " vs ".join(names[:2])]
    exact = table[table["kind"] == "exact"]
    beside = len(names) <= FEW
    panels = figure.subplots(curves["estimator"].nunique(), 1, sharex=True)
    for axes, (estimator, rows) in zip(panels, groups(curves, "estimator"), strict=True):
        top = _round_up(pd.concat([rows, exact])["value"].max())
        for name, points in groups(rows, "recommender"):
            own = {"clip_on": False, **styles[name]}
            label = {"label": shown(name)} if beside else {}
            axes.plot(points["n_negatives"], points["value"], marker=".", **own, **label)
            if not beside:
                label_end(axes, points["value"].iloc[-1], shown(name), own["color"])
        _band(axes, table[table["estimator"] == estimator], styles)
        _exact_lines(axes, exact, styles, labelled=beside)
        log_axis(axes, int(rows["n_negatives"].min()), int(rows["n_negatives"].max()))
        axes.set_ylim(0, top)
        _mark_order(axes, of_pair[of_pair["estimator"] == estimator], names)
        named = "Uncorrected" if estimator == UNCORRECTED else f"Corrected by {estimator}"
        axes.set_title(f"{named}: 0 to {top:g} %", loc="left")
    panels[-1].set_xlabel("Negatives $m$")
    figure.supylabel("Expected Recall@10 (%)", fontsize=7)


def _round_up(value: float) -> float:
    """Round up to a number of one digit.

    Examples
    --------
    >>> _round_up(9.42), _round_up(31.0)
    (10.0, 40.0)
    """
    unit = 10.0 ** floor(log10(value))
    return unit * ceil(value / unit)


def _exact_lines(
    axes: Axes, exact: pd.DataFrame, styles: Mapping[str, Any], labelled: bool
) -> None:
    """Draw a dotted line at each exact value, and maybe write the values to the right."""
    for name, value in zip(exact["recommender"], exact["value"], strict=True):
        color = styles[name]["color"]
        axes.axhline(value, color=color, linewidth=0.6, linestyle=(0, (1, 1.5)))
        if labelled:
            label_end(axes, value, f"{value:.2f}", color)
    if labelled and len(exact):
        label_end(axes, 1.0001 * exact["value"].max(), "exact", GREY)


def _band(axes: Axes, rows: pd.DataFrame, styles: Mapping[str, Any]) -> None:
    """Shade the range of a recommender's estimates over its starts."""
    for name, style in styles.items():
        low, high = (
            rows[(rows["kind"] == kind) & (rows["recommender"] == name)]
            for kind in ("lowest", "highest")
        )
        axes.fill_between(
            *(low["n_negatives"], low["value"], high["value"]),
            color=style["color"],
            alpha=0.3,
            linewidth=0,
        )


def _mark_order(axes: Axes, rows: pd.DataFrame, names: Sequence[str]) -> None:
    """Mark the sizes from which the pair is ordered on average, and in 95 % of runs."""
    ordered, sure = (rows[rows["kind"] == kind] for kind in ("ordered", "sure"))
    if not len(ordered):
        return
    pair = " and ".join(map(shown, names[:2]))
    if len(pair) > LONGEST_PAIR:
        pair = "the first two"
    m, value = ordered["n_negatives"].item(), ordered["value"].item()
    words = [f"{pair} ordered from", f"$m$ = {m:,} on average"]
    for surely in sure["n_negatives"]:
        words.append(f"{surely:,} in 95 % of runs")
        vertical_line(axes, surely)
    vertical_line(axes, m, "\n".join(words))
    ring(axes, m, value)
