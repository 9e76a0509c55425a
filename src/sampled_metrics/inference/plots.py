"""Plots of results, a panel for each metric."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from sampled_metrics._base.errors import InputError

STYLE = Path(__file__).with_name("plots.mplstyle")
_LOOKS = (  # colour and marker by estimator; no red beside green
    ("#0072b2", "o"),
    ("#a06000", "D"),
    ("#6a4fb3", "^"),
    ("#b0488a", "s"),
    ("#5b6470", "v"),
)
_LINE: dict[str, Any] = {
    "color": "0.82",
    "linewidth": 12,
    "solid_capstyle": "butt",
    "zorder": 1,
}
_MARK: dict[str, Any] = {"linestyle": "", "markersize": 5}
_EXACT = {"linestyle": "", "color": "black", "marker": "|", "markersize": 16, "markeredgewidth": 2}
_ASIDE = 0.14  # between estimators in a line, so that equal ones are seen
_EDGES = {True: (1.0, ">", 1.02), False: (0.0, "<", 0.015)}  # right and left: arrow, number beside
_FAR = 0.6  # distance, by the width of all else, of an uncorrected value drawn at the edge


def draw(table: pd.DataFrame, exact: pd.DataFrame | Mapping[Any, float], axes: Any) -> Any:
    """Draw results in a style of its own, also on axes of the caller; see `Shown.plot`."""
    try:
        import matplotlib as mpl
    except ModuleNotFoundError as error:
        raise InputError("plots need matplotlib: pip install 'sampled-metrics[plot]'") from error
    table, value, line, names = _contents(table)
    known = _exact_values(exact, [*names, "metric"], value)
    metrics = list(table.groupby("metric", sort=False))
    labels = [line, *table["estimator"].unique(), "exact"]
    style = {**mpl.rc_params_from_file(STYLE, use_default_template=False), "font.size": 9}
    with mpl.rc_context({**style, "axes.grid.axis": "x"}):
        own = axes is None
        if own:
            from matplotlib import pyplot

            height = 0.5 * (1 + len(metrics)) + 0.3 * len(table.groupby([*names, "metric"]))
            _, axes = pyplot.subplots(len(metrics), figsize=(6, height), layout="constrained")
        panels = np.array([axes], dtype=object).ravel()
        if len(panels) != len(metrics) or not all(hasattr(panel, "set_ylim") for panel in panels):
            raise InputError(f"axes must be {len(metrics)} axes of Matplotlib, one for each metric")
        for panel, (metric, rows) in zip(panels, metrics, strict=True):
            of_metric = {key[:-1]: number for key, number in known.items() if key[-1] == metric}
            _draw_metric(panel, rows, value, line, names, of_metric)
            panel.set_title(_verdict(str(metric), rows))
        panels[-1].set_xlabel(value)
        _draw_legend(panels, labels, own)
    return axes


def _contents(table: pd.DataFrame) -> tuple[pd.DataFrame, str, str, list[str]]:
    """Find the columns of a table to draw.

    Returns the table with range_low and range_high, the ends of each line; the column of the marks;
    the meaning of lines, range or interval; and the columns that name a line, none for a single
    recommender.
    """
    if "printed" in table:  # a result of `reported`
        table = table.assign(estimator="likely", value=table["likely"].astype(float))
    value = "difference" if "difference" in table else "value"
    if value not in table:
        raise InputError("these results have no values to plot")
    names = []
    if "a" in table:
        names = ["b", "a"]
    elif "recommender" in table and table["recommender"].nunique() > 1:
        names = ["recommender"]
    if "range_low" in table and not (table["estimator"] == "exact").all():
        return table, value, "range", names
    ends = {"range_low": table["ci_low"], "range_high": table["ci_high"]}
    return table.assign(estimator=value, **ends), value, "interval", names


def _draw_legend(panels: NDArray[Any], labels: list[str], own: bool) -> None:
    """Explain the marks of all panels, above a figure of our own, else in the first panel."""
    drawn = {line.get_label(): line for panel in panels for line in reversed(panel.lines)}
    names = [name for name in labels if name in drawn]
    lines = [drawn[name] for name in names]
    if own:
        panels[0].figure.legend(lines, names, loc="outside upper left", ncols=6)
    else:
        panels[0].legend(lines, names)


def _draw_metric(
    axes: Any,
    rows: pd.DataFrame,
    column: str,
    label: str,
    names: list[str],
    exact: Mapping[tuple[Any, ...], float],
) -> None:
    """Draw the results of one metric, a line for each recommender or pair.

    An uncorrected value that is far from all else is an arrow at the edge, with its number.
    """
    estimators = list(rows["estimator"].unique())
    near = rows.loc[rows["estimator"] != "sampled", column]
    places = np.concatenate([rows["range_low"], rows["range_high"], near, [*exact.values()]])
    low = np.nanmin(places)
    high = np.nanmax(places)
    reach = _FAR * (high - low) or np.inf
    across = axes.get_yaxis_transform()
    lines: list[Any] = [((), rows)]
    if names:
        lines = list(rows.groupby(names, sort=False))
    for height, (key, of_line) in enumerate(lines):
        ends = of_line[["range_low", "range_high"]].iloc[0]
        axes.plot(ends, [height, height], label=label, **_LINE)
        for value, estimator in zip(of_line[column], of_line["estimator"], strict=True):
            place = estimators.index(estimator)
            color, marker = _LOOKS[place % len(_LOOKS)]
            look = {"label": estimator, "color": color, **_MARK}
            at = height + _ASIDE * (place - (len(estimators) - 1) / 2)
            if estimator != "sampled" or low - reach <= value <= high + reach:
                axes.plot(value, at, marker=marker, **look)
                continue
            edge, arrow, beside = _EDGES[value > high]
            axes.text(beside, at, f"{value:.3g}", va="center", color=color, transform=across)
            axes.plot(edge, at, marker=arrow, transform=across, clip_on=False, **look)
        if key in exact:
            axes.plot(exact[key], height, label="exact", **_EXACT)
    axes.set_yticks(range(len(lines)), [" - ".join(key) for key, _ in lines])
    axes.set_ylim(len(lines) - 0.5, -0.5)
    if "difference" in rows:
        axes.axvline(0.0, color="0.4", linewidth=1, zorder=0)


def _verdict(metric: str, rows: pd.DataFrame) -> str:
    """Say the result for a metric: the order of a pair, or the range of a recommender."""
    if "order" in rows:
        pairs = rows.drop_duplicates(["a", "b"])
        n_decided = (pairs["order"] != "undecided").sum()
        if len(pairs) > 1:
            return f"{metric}: {n_decided} of {len(pairs)} pairs decided"
        order = pairs["order"].iloc[0]
        if not n_decided:
            return f"{metric}: {order}"
        return f"{metric}: {pairs[order].item()} is better"
    ranges = rows[["range_low", "range_high"]].drop_duplicates()
    if len(ranges) > 1:
        return metric
    low, high = ranges.iloc[0]
    return f"{metric}: {low:.3g} to {high:.3g}"


def _exact_values(
    exact: pd.DataFrame | Mapping[Any, float], names: list[str], value: str
) -> dict[tuple[Any, ...], float]:
    """Return exact values by the names of a line and of a metric."""
    if not isinstance(exact, Mapping):
        for name in (*names, value):
            if name not in exact:
                raise InputError(f"the exact results have no {name}; give values by {names}")
        exact = exact.set_index(names)[value].to_dict()
    return {key if isinstance(key, tuple) else (key,): number for key, number in exact.items()}
