"""Figure 5: the distribution of the ranks of each recommender."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sampled_metrics._base.array_types import Float, Int
from sampled_metrics._base.arrays import ceil_divide
from sampled_metrics.ranks import Ranks
from sampled_metrics_study.figures.style import (
    DASHES,
    GREY,
    LIGHT,
    ON_WHITE,
    Style,
    annotate,
    linear_axis,
    panels,
    recommender_styles,
    shorten_name,
)
from sampled_metrics_study.tables import rows_by_value

BUCKET = 100  # ranks in a bin; the paper counts the users in the last 100
# With more tied candidates on average over users, Figure 5 shows two orders of the ties.
LEAST_MEAN_TIES = 1
BACKGROUND_STYLE: Style = {"color": LIGHT, "linewidth": 0.5}
FRONT_STYLE: Style = {"linewidth": 1.2, "zorder": 3}
RANDOM_ORDER_STYLE: Style = {"linewidth": 0.7, "linestyle": DASHES[2], "zorder": 2}


def rank_distribution(records: Mapping[str, Ranks]) -> pd.DataFrame:
    """Compute Figure 5: the number of users whose held-out item falls in each bin of ranks.

    `ties` is `random`, the expectation over orders of the ties. Recommenders with many ties also
    have rows with `pessimistic`, where the held-out item is last among its ties. Panel `all`
    divides all ranks into bins of equal width, at most 100 ranks, and panel `top` the first 100
    ranks into ten bins. With fewer than 1,000 candidates bins are ten or a hundred times narrower,
    so that there are at least ten.
    """
    last = max(int(ranks.n_candidates.max()) for ranks in records.values())
    power = 10 ** (len(str(last)) - 1)  # power of ten, at most `last`
    top = max(10, min(100, power))
    edges = {
        "all": equal_bins(last, max(1, min(BUCKET, power // 10))),
        "top": np.arange(0, top + 1, top // 10),
    }
    tables = []
    for name, ranks in records.items():
        policies = ("random", "pessimistic")[: 1 + (ranks.n_tied.mean() > LEAST_MEAN_TIES)]
        for (panel, ends), ties in product(edges.items(), policies):
            columns = {
                "panel": panel,
                "recommender": name,
                "ties": ties,
                "first_rank": ends[:-1] + 1,
                "last_rank": ends[1:],
                "users": users_by_bucket(ranks, ends, ties),
            }
            tables.append(pd.DataFrame(columns))
    return pd.concat(tables)


def equal_bins(last: int, width: int) -> Int:
    """Divide the ranks 1 to `last` into equal bins; return 0 and the last rank of each bin.

    There are as many bins as `width` ranks would fill. A rank on an edge belongs to the bin above,
    as in `numpy.histogram`.

    Examples
    --------
    >>> equal_bins(23, 10)
    array([ 0,  8, 15, 23])
    """
    count = ceil_divide(last, width)
    edges = np.linspace(1, last, count + 1)
    ends = np.ceil(edges).astype(np.int64) - 1
    ends[-1] = last
    return ends


def users_by_bucket(ranks: Ranks, edges: Int | Sequence[int], ties: str) -> Float:
    """Count the users whose held-out item ranks after one edge and not after the next.

    If `ties` is `pessimistic`, the held-out item is last among tied items; otherwise the count is
    the expectation over the orders of the ties.
    """
    first = ranks.worst_rank
    if ties == "random":
        first = ranks.best_rank
    places = ranks.worst_rank - first + 1
    up_to = np.clip(np.asarray(edges)[:, None] - first + 1, 0, places) / places
    return np.diff(up_to.sum(axis=1))


def draw_rank_distribution(figure: Figure, table: pd.DataFrame) -> None:
    """Draw Figure 5: users by predicted rank, over all ranks and over the top ranks.

    Each recommender has a row, with the others in grey behind it. Tied items rank before the
    held-out item, as in the paper's numbers; a thin line shows the random order if it differs.
    Widths of bins may differ by one rank, so counts are scaled to the widest bin.
    """
    names = table["recommender"].unique()
    styles = recommender_styles(names)
    width = 1 + table["last_rank"] - table["first_rank"]
    widest = width.groupby(table["panel"]).transform("max")
    table = table.assign(width=width, height=table["users"] * widest / width)
    names_with_ties = table[table["ties"] == "pessimistic"]["recommender"].unique()
    table["is_thin"] = (table["ties"] == "random") & table["recommender"].isin(names_with_ties)
    grid = panels(
        figure,
        len(names),
        2,
        0.68,
        top=0.36,
        row_gap=0.14,
        column_gap=0.32,
        width_ratios=(5, 4),
        sharex="col",
        sharey="col",
    )
    for column, (_, rows) in zip(grid.T, rows_by_value(table, "panel"), strict=True):
        thin = rows[rows["is_thin"]]
        thick = rows[~rows["is_thin"]]
        for i, name in enumerate(names):
            color = styles[name]["color"]
            for other, points in thick.groupby("recommender"):
                style = FRONT_STYLE | {"color": color} if other == name else BACKGROUND_STYLE
                _draw_outline(column[i], points, style)
            if name in names_with_ties:
                points = thin[thin["recommender"] == name]
                _draw_outline(column[i], points, RANDOM_ORDER_STYLE | {"color": color})
        last_rank = rows["last_rank"].max()
        linear_axis(column[0], last_rank)
        bin_width = rows["width"].max()
        margin = 0.5 if bin_width < 10 else 0.0  # so that half a rank shows at both ends
        column[0].set_xlim(1 - margin, last_rank + margin)
        column[-1].set_xlabel("Predicted rank")
        column[0].set_title("Users per rank" if bin_width == 1 else f"Users per {bin_width} ranks")
    _log_axis_from_zero(grid[0, 0], 4 * table["users"].max())
    grid[0, 1].set_ylim(0, None)
    _label_rows(grid, table)
    handles = []
    if len(names) > 1:
        handles.append(Line2D([], [], label="other recommenders", **BACKGROUND_STYLE))
    if len(names_with_ties):
        label = "ties in random order, not last"
        handles.append(Line2D([], [], label=label, color=GREY, **RANDOM_ORDER_STYLE))
    figure.legend(handles=handles, loc="upper right", ncols=2, columnspacing=1)


def _label_rows(grid: Any, table: pd.DataFrame) -> None:
    """Write the name of each recommender in its panels, and the number of users in its last bin.

    Only recommenders with many ties, which rank before the held-out item, have the number.
    """
    is_last = (table["panel"] == "all") & (table["ties"] == "pessimistic")
    last_bins = table[is_last].groupby("recommender").tail(1).set_index("recommender")
    styles = recommender_styles(table["recommender"].unique())
    for i, name in enumerate(styles):
        style = {"color": styles[name]["color"], "ha": "right"}
        text = shorten_name(name, 16)
        annotate(grid[i, 1], 0.97, 0.99, text, **style)
        if name in last_bins.index:
            worst = last_bins.loc[name]
            text += f"\n{worst['users']:,.0f} in the last {worst['width']}"
        annotate(
            grid[i, 0], 0.87, 0.99, text, zorder=4, **style, **ON_WHITE
        )  # left of the last ranks


def _draw_outline(axes: Axes, points: pd.DataFrame, style: Style) -> None:
    """Draw bins as steps."""
    edges = np.append(points["first_rank"], points["last_rank"].max() + 1) - 0.5
    axes.stairs(points["height"], edges, baseline=None, **style)


def _log_axis_from_zero(axes: Axes, high: float) -> None:
    """Set a y axis that is linear from 0 to 1 and logarithmic above."""
    powers = 10 ** np.arange(np.log10(high))
    axes.set_yscale("symlog", linthresh=1, linscale=0.6)
    axes.set(ylim=(-0.08, high), yticks=[0, *powers])
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.minorticks_off()
